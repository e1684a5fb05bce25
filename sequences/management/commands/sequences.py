"""`manage.py sequences`: the audit, and the tables that describe the strategies and their options.

`sequences.audit` does the audit. This module has its arguments, and the words of its report.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.management.color import Style

from sequences.audit import AuditReport, Findings, audit, list_scopes
from sequences.capabilities import options_table, strategies_table
from sequences.exceptions import OperationNotSupported, SequenceError
from sequences.registry import strategies
from sequences.services import check_scope
from sequences.strategies.base import Strategy
from sequences.strategies.layout import scope_text
from sequences.terminal import progress
from sequences.types import Scope

__all__ = ["Command"]

TABLES = {
    "strategies": ("what each strategy guarantees and costs", strategies_table),
    "options": ("the keys of OPTIONS", options_table),
}


class Command(BaseCommand):
    help = "Audits whether every value of a sequence has a stored item, and shows what the strategies guarantee."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        proof = commands.add_parser("audit", help="read every item; exit 1 if something is unexplained")
        proof.add_argument("alias", nargs="?", help="a key of the setting SEQUENCES; without it, all of them")
        proof.add_argument("--scope", help=f"one scope, {scope_text(None)!r} for none; without it, all scopes")
        proof.add_argument("--format", choices=["text", "json"], default="text")
        for name, (about, _) in TABLES.items():
            table = commands.add_parser(name, help=about)
            table.add_argument("--format", choices=["markdown"], default="markdown")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["command"] == "audit":
            self._audit(options["alias"], options["scope"], as_json=options["format"] == "json")
        else:
            _, table = TABLES[options["command"]]
            self.stdout.write(table())

    def _audit(self, alias: str | None, scope: str | None, *, as_json: bool) -> None:
        if scope is not None and alias is None:
            raise CommandError("--scope needs a sequence: name it, as in `sequences audit tickets --scope ABC`.")
        self.unlisted: list[str] = []
        unexplained = 0
        show = _JsonList(self.stdout.write) if as_json else _Lines(self.stdout.write, self.style)
        try:
            for report in self._reports([alias] if alias else list(strategies), scope):
                unexplained += report.unexplained
                show.report(report)
        except SequenceError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before the end: the rest was not audited.") from None
        show.end()
        if unexplained or self.unlisted:
            raise CommandError(" ".join([*self.unlisted, f"Unexplained findings: {unexplained}."]))

    def _reports(self, aliases: list[str], scope: str | None) -> Iterator[AuditReport]:
        """One report after another. A sequence that cannot list its scopes is named at the end."""
        for alias in aliases:
            strategy = strategies[alias]
            try:
                for each in _scopes(strategy, scope):
                    yield _audited(strategy, each)
            except OperationNotSupported as error:
                self.unlisted.append(f"{error} For the audit: `sequences audit {alias} --scope SCOPE`.")


def _scopes(strategy: Strategy, scope: str | None) -> Iterator[Scope]:
    if scope is None:
        yield from list_scopes(strategy)
    elif scope == scope_text(None):
        yield None
    else:
        check_scope(scope)
        yield scope


def _audited(strategy: Strategy, scope: Scope) -> AuditReport:
    """The report on one scope. A terminal shows how many of its rows are read."""
    title = f"{strategy.alias} {scope_text(scope)}"
    with progress() as advance:
        return audit(strategy, scope, progress=lambda done, wanted: advance(title, done, max(done, wanted)))


class _JsonList:
    """Writes reports as one JSON list, each as soon as it is there."""

    def __init__(self, write: Callable[[str], Any]) -> None:
        self.write = write
        self.before = "["

    def report(self, report: AuditReport) -> None:
        self.write(self.before + json.dumps({**asdict(report), "unexplained": report.unexplained}))
        self.before = ","

    def end(self) -> None:
        self.write("[]" if self.before == "[" else "]")


class _Lines:
    """Writes reports as lines of text: one for each scope, and below it one for each finding."""

    def __init__(self, write: Callable[[str], Any], style: Style) -> None:
        self.write, self.style = write, style
        self.scopes = self.items = 0
        self.notes: dict[str, None] = {}  # an ordered set

    def report(self, report: AuditReport) -> None:
        self.scopes += 1
        self.items += report.carried
        good, bad = self.style.SUCCESS("all explained"), self.style.ERROR(f"{report.unexplained} unexplained")
        self.write(f"{_title(report)}: {bad if report.unexplained else good}")
        for line in _findings(report):
            self.write(f"  {line}")
        self.notes |= dict.fromkeys(report.notes)

    def end(self) -> None:
        for note in self.notes:
            self.write(f"note: {note}")
        self.write(f"Scopes: {self.scopes}, items: {self.items}.")


def _title(report: AuditReport) -> str:
    scope = " ".join(filter(None, ["without scope" if report.scope is None else report.scope, report.period]))
    last = "nothing handed out" if report.last_value is None else f"last value {report.last_value}"
    found = f"{report.carried} stored, {report.missing} missing, {report.voids.total} void"
    return f"{report.sequence} {scope} ({report.strategy}): {last}, {found}, {report.markers} markers"


def _findings(report: AuditReport) -> Iterator[str]:
    if report.went_back_to is not None:
        yield f"counter: went back to {report.went_back_to}, after {report.last_value} was handed out"
    for gap in report.gaps.listed:
        values = f"{gap.first}" if gap.count == 1 else f"{gap.first} to {gap.last} ({gap.count} values)"
        yield f"gap: {values}{' at the end' if gap.last == report.last_value else ''}"
    yield from _more("gaps", report.gaps)
    for void in report.voids.listed:
        signed = f"by {void.by} at {void.at}" if void.by and void.at else "without a signature"
        yield f"void: {void.value} {signed}: {void.reason or 'no reason given'}"
    yield from _more("voids", report.voids)
    for stray in report.strays.listed:
        yield f"stray row: {stray.sort_key} is {stray.problem}"
    yield from _more("stray rows", report.strays)
    for orphan in report.orphans.listed:
        yield f"marker without its item: token {orphan.token!r}, value {orphan.value}: {orphan.problem}"
    yield from _more("markers without their items", report.orphans)


def _more(what: str, findings: Findings[Any]) -> Iterator[str]:
    if findings.total > len(findings.listed):
        yield f"{findings.total - len(findings.listed)} more {what}"
