"""`manage.py sequences audit`: its arguments, and the words of its report. `sequences.ops.audit` does the audit."""

from __future__ import annotations

import csv
import json
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol

from django.core.management.base import BaseCommand, CommandError
from django.core.management.color import Style

from sequences.exceptions import OperationNotSupported, SequenceError
from sequences.management.changes import login
from sequences.ops.audit import AuditReport, Gap, Void, audit, findings_in_words, list_scopes
from sequences.ops.audit.listing import COLUMNS, cells
from sequences.ops.audit.results import AuditResult, KeptAudits
from sequences.ops.terminal import progress
from sequences.registry import strategies
from sequences.services.arguments import check_scope
from sequences.strategies.base import Strategy
from sequences.types import Dated, Scope, named_scope, parted, scope_text

__all__ = ["Audits", "add_audit", "chosen"]


def add_audit(parser: ArgumentParser) -> None:
    """The arguments of the audit."""
    parser.add_argument("alias", nargs="?", help="a key of the setting SEQUENCES; without it, all of them")
    parser.add_argument("--scope", help=f"one scope, {scope_text(None)!r} for none; without it, all scopes")
    parser.add_argument("--period", help='one period, such as "2026"; without it, all periods')
    parser.add_argument(
        "--format", choices=list(FORMATS), default="text", help="csv lists every void and every gap, for an auditor"
    )
    parser.add_argument("--keep", action="store_true", help="keep the result, as the administration shows it")
    parser.add_argument("--by", default=login(), help="who audits, for --keep; your login name")


class Audits:
    """The audits of one run of the command."""

    def __init__(self, command: BaseCommand) -> None:
        self.command = command
        self.unlisted: list[str] = []

    def run(self, options: Mapping[str, Any]) -> None:
        """Audit, and write the reports. Raises CommandError if something is unexplained."""
        alias, scope, period = options["alias"], options["scope"], options["period"]
        if alias is None and (scope is not None or period is not None):
            given = "--period" if scope is None else "--scope"
            raise CommandError(f"{given} needs a sequence: name it, as in `sequences audit tickets --scope ABC`.")
        unexplained = 0
        show = FORMATS[options["format"]](self.command.stdout.write, self.command.style)
        kept = _Results(options["by"], period or "", every_scope=scope is None) if options["keep"] else None
        try:
            for report in self._reports([alias] if alias else list(strategies), scope, period, show):
                unexplained += report.unexplained
                show.report(report)
                if kept:
                    kept.add(report)
            if kept:
                kept.keep()
        except SequenceError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before the end: the rest was not audited.") from None
        show.end()
        if unexplained or self.unlisted:
            raise CommandError(" ".join([*self.unlisted, f"Unexplained findings: {unexplained}."]))

    def _reports(
        self, aliases: list[str], scope: str | None, period: str | None, show: _Format
    ) -> Iterator[AuditReport]:
        """One report after another. A sequence that cannot list its scopes is named at the end."""
        for alias in aliases:
            strategy = strategies[alias]
            try:
                for each in chosen(strategy, scope, period):
                    yield _audited(strategy, each, show)
            except OperationNotSupported as error:
                which = "--scope SCOPE --period PERIOD" if strategy.layout.in_periods else "--scope SCOPE"
                self.unlisted.append(f"{error} For the audit: `sequences audit {alias} {which}`.")


class _Results:
    """The results of one run, to be kept: of each scope that was named, or one of every scope of each sequence."""

    def __init__(self, by: str, period: str, *, every_scope: bool) -> None:
        self._by = by
        self._period = period
        self._every_scope = every_scope
        self._began = time.monotonic()
        self._results: dict[object, AuditResult] = {}

    def add(self, report: AuditReport) -> None:
        """Take over a report."""
        now, at = time.monotonic(), datetime.fromtimestamp(strategies[report.sequence].wall(), UTC)
        result = AuditResult.of(report, by=self._by, at=at, seconds=now - self._began)
        self._began = now
        if self._every_scope:
            before = self._results.get(report.sequence)
            self._results[report.sequence] = before.with_scope(result) if before else result.for_all(self._period)
        else:
            self._results[report.sequence, report.scope, report.period] = result

    def keep(self) -> None:
        """Keep them. Raises AuditRefused while the administration audits such a scope."""
        for result in self._results.values():
            KeptAudits(strategies[result.sequence]).keep(result)


def chosen(strategy: Strategy, scope: str | None, period: str | None = None) -> Iterator[Scope]:
    """The scope and the period that arguments name, or every one that the sequence can list.

    Raises InvalidScope and InvalidPeriod.
    """
    named = named_scope(scope)
    check_scope(named)
    if period is not None:
        strategy.naming.period.check(period)
    if scope is not None and (period is not None or not strategy.layout.in_periods):
        yield Dated.of(named, period or "")
        return
    for each in list_scopes(strategy):
        plain, during = parted(each)
        if (scope is None or plain == named) and period in (None, during):
            yield each


def _audited(strategy: Strategy, scope: Scope, show: _Format) -> AuditReport:
    """The report on one scope. A terminal shows how many of its rows are read."""
    title = f"{strategy.alias} {scope_text(scope)}"
    with progress() as advance:
        return audit(
            strategy,
            scope,
            progress=lambda done, wanted: advance(title, done, max(done, wanted)),
            found=lambda finding: show.finding(strategy.alias, scope, finding),
        )


class _Format(Protocol):
    """How reports are written."""

    def __init__(self, write: Callable[[str], Any], style: Style) -> None: ...

    def finding(self, alias: str, scope: Scope, finding: Gap | Void) -> None:
        """A gap or a void, as soon as it is found."""

    def report(self, report: AuditReport) -> None:
        """The report on one scope."""

    def end(self) -> None:
        """There are no more."""


class _Csv:
    """Writes a line for each void and each gap. `last` is a gap's last value, `text` the text of `first`."""

    def __init__(self, write: Callable[[str], Any], style: Style) -> None:
        self._lines = csv.writer(_Lined(write), lineterminator="")
        self._lines.writerow(COLUMNS)

    def finding(self, alias: str, scope: Scope, finding: Gap | Void) -> None:
        self._lines.writerow(cells(strategies[alias], scope, finding))

    def report(self, report: AuditReport) -> None:
        """Nothing more: the findings are written."""

    def end(self) -> None:
        """Nothing: a list has no end."""


class _Lined:
    """A file for `csv`, from a function that writes one line."""

    def __init__(self, write: Callable[[str], Any]) -> None:
        self.write = write


class _JsonList:
    """Writes reports as one JSON list, each as soon as it is there."""

    def __init__(self, write: Callable[[str], Any], style: Style) -> None:
        self.write = write
        self.before = "["

    def finding(self, alias: str, scope: Scope, finding: Gap | Void) -> None:
        """Nothing: the report has the first thousand."""

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

    def finding(self, alias: str, scope: Scope, finding: Gap | Void) -> None:
        """Nothing: the report has the first thousand."""

    def report(self, report: AuditReport) -> None:
        self.scopes += 1
        self.items += report.carried
        good, bad = self.style.SUCCESS("all explained"), self.style.ERROR(f"{report.unexplained} unexplained")
        self.write(f"{_title(report)}: {bad if report.unexplained else good}")
        for line in findings_in_words(report):
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


FORMATS: Mapping[str, type[_Format]] = {"text": _Lines, "json": _JsonList, "csv": _Csv}
