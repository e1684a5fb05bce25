"""`manage.py sequences audit`: its arguments, and the words of its report. `sequences.ops.audit` does the audit."""

from __future__ import annotations

import csv
import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.management.color import Style
from django.db import connections

from sequences.exceptions import OperationNotSupported
from sequences.management.arguments import Options, add_prefix, add_scope, login, one_scope
from sequences.ops.audit import AuditReport, audit, findings_in_words
from sequences.ops.audit.column_check import audit_columns
from sequences.ops.audit.columns import Column, Where
from sequences.ops.audit.listing import COLUMNS, Line, cells
from sequences.ops.audit.report import ColumnReport, title_in_words
from sequences.ops.audit.results import AuditResult, KeptAudits, results_of
from sequences.ops.terminal import progress
from sequences.registry import strategies
from sequences.services.arguments import check_scope
from sequences.strategies.base import Strategy
from sequences.types import Dated, Scope, parted, scope_text

CHOICES = ("scope", "period", "prefix")


def add_audit(parser: ArgumentParser) -> None:
    """The arguments of the audit."""
    parser.add_argument("alias", nargs="?", help="a key of the setting SEQUENCES; without it, all of them")
    scopes = parser.add_mutually_exclusive_group()
    add_scope(scopes, "all scopes")
    add_prefix(scopes)
    parser.add_argument("--period", help='one period, such as "2026"; without it, all periods')
    parser.add_argument(
        "--database",
        action="append",
        default=[],
        choices=list(connections),
        help="where the rows of models are, also more than once; without it, where each model is written",
    )
    parser.add_argument(
        "--format", choices=list(FORMATS), default="text", help="csv lists every void and every gap, for an auditor"
    )
    parser.add_argument("--keep", action="store_true", help="keep the result, as the administration shows it")
    parser.add_argument("--by", default=login(), help="who audits, for --keep; your login name")


def run_audit(command: BaseCommand, options: Options) -> None:
    """Audit, and write the reports. Raises SequenceError, and CommandError if something is unexplained."""
    alias, given = options["alias"], [name for name in CHOICES if options[name]]
    if alias is None and given:
        raise CommandError(f"--{given[0]} needs a sequence: name it, as in `sequences audit tickets --scope ABC`.")
    unexplained, unlisted = 0, list[str]()
    show = FORMATS[options["format"]](command.stdout.write, command.style)
    reports = _reports([alias] if alias else list(strategies), options, show, unlisted)
    results: dict[object, AuditResult] = {}
    try:
        for report, result in results_of(reports, options["by"]):
            unexplained += report.unexplained
            show.report(report)
            if options["keep"]:
                _take_over(results, report, result, options)
        for result in results.values():
            KeptAudits(strategies[result.sequence]).keep(result)
    except KeyboardInterrupt:
        raise CommandError("Stopped before the end: the rest was not audited.", returncode=130) from None
    show.end()
    if unexplained or unlisted:
        raise CommandError(" ".join([*unlisted, f"Unexplained findings: {unexplained}."]))


def _reports(aliases: list[str], options: Options, show: _Format, unlisted: list[str]) -> Iterator[AuditReport]:
    """One report after another. A sequence that cannot list its scopes is named in `unlisted`."""
    for alias in aliases:
        strategy = strategies[alias]
        where = Where(strategy, options["database"])
        for line in where.in_words():
            show.begin(line)
        try:
            for each in chosen(strategy, options) if where.in_items else ():
                yield _audited(strategies.by_lines(strategy, each), each, show)
        except OperationNotSupported as error:
            which = "--scope SCOPE --period PERIOD" if strategy.layout.in_periods else "--scope SCOPE"
            unlisted.append(f"{error} For the audit: `sequences audit {alias} {which}`.")
        if where.columns:
            yield from _of_columns(strategy, where.columns, options, show)


def _of_columns(
    strategy: Strategy, columns: Sequence[Column], options: Options, show: _Format
) -> Iterator[AuditReport]:
    """The reports on the scopes that the columns have, and that the sequence lists if it can."""
    try:
        known = list(chosen(strategy, options))
    except OperationNotSupported:
        known = []
    with progress() as advance:
        yield from audit_columns(
            strategy,
            columns,
            known,
            **{name: options[name] for name in CHOICES if options[name]},
            progress=lambda done: advance(f"{strategy.alias} rows", done, done),
            found=lambda place, finding: show.finding(strategy.alias, place, finding),
        )


def _take_over(results: dict[object, AuditResult], report: AuditReport, result: AuditResult, options: Options) -> None:
    """Put a result among those to be kept: of each scope that was named, or one of every scope of each sequence."""
    every_scope = not options["scope"] and not options["prefix"]
    key = report.sequence if every_scope else (report.sequence, report.scope, report.period)
    before = results.get(key)
    if before and isinstance(report, ColumnReport) and not report.gaps_explained:
        result = before.with_rows(result)  # of the same scopes again
    elif every_scope:
        result = before.with_scope(result) if before else result.for_all(options["period"] or "")
    results[key] = result


def chosen(strategy: Strategy, options: Options) -> Iterator[Scope]:
    """The scopes and periods that arguments name, or every one that the sequence can list.

    Raises InvalidScope and InvalidPeriod.
    """
    scope, period, prefix = (options[name] for name in CHOICES)
    named = one_scope(options)
    check_scope(named)
    if period is not None:
        by_lines = strategies.of(strategy.alias, named, period=period, even_ended=True)
        (strategy.scopes.check_period if scope is None else by_lines.naming.period.check)(period)
    if scope is not None and (period is not None or not strategy.layout.in_periods):
        yield Dated.of(named, period or "")
        return
    for each in strategy.scopes.every(period or "", prefix=prefix or ""):
        if scope is None or parted(each)[0] == named:
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


class _Format:
    """How reports are written. A format does nothing where it has nothing to say."""

    def __init__(self, write: Callable[[str], Any], style: Style) -> None:
        self.write, self.style = write, style

    def begin(self, where: str) -> None:
        """The audit of a sequence begins whose numbers are in rows: a line says where."""

    def finding(self, alias: str, scope: Scope, finding: Line) -> None:
        """A gap, a void, or what is wrong in a column, as soon as it is found."""

    def report(self, report: AuditReport) -> None:
        """The report on one scope, with the first thousand findings."""

    def end(self) -> None:
        """There are no more."""


class _Csv(_Format):
    """Writes a line for each void, each gap, and what is wrong in columns. `text` is the text of `first`."""

    def __init__(self, write: Callable[[str], Any], style: Style) -> None:
        super().__init__(write, style)
        self._lines = csv.writer(self, lineterminator="")  # which calls `write` for each line
        self._lines.writerow(COLUMNS)

    def finding(self, alias: str, scope: Scope, finding: Line) -> None:
        self._lines.writerow(cells(strategies.by_lines(strategies[alias], scope), scope, finding))


class _JsonList(_Format):
    """Writes reports as one JSON list, each as soon as it is there."""

    before = "["

    def report(self, report: AuditReport) -> None:
        self.write(self.before + json.dumps({**asdict(report), "unexplained": report.unexplained}))
        self.before = ","

    def end(self) -> None:
        self.write("[]" if self.before == "[" else "]")


class _Lines(_Format):
    """Writes reports as lines of text: one for each scope, and below it one for each finding."""

    def __init__(self, write: Callable[[str], Any], style: Style) -> None:
        super().__init__(write, style)
        self.items, self.rows = [0, 0], [0, 0]  # how many scopes, and how many of each in them
        self.notes: dict[str, None] = {}  # an ordered set

    def begin(self, where: str) -> None:
        self.write(where)

    def report(self, report: AuditReport) -> None:
        sums = self.rows if isinstance(report, ColumnReport) else self.items
        sums[0] += 1
        sums[1] += report.carried
        good, bad = self.style.SUCCESS("all explained"), self.style.ERROR(f"{report.unexplained} unexplained")
        self.write(f"{title_in_words(report)}: {bad if report.unexplained else good}")
        for line in findings_in_words(report):
            self.write(f"  {line}")
        self.notes |= dict.fromkeys(report.notes)

    def end(self) -> None:
        for note in self.notes:
            self.write(f"note: {note}")
        rows = f" Scopes of rows: {self.rows[0]}, rows: {self.rows[1]}." if self.rows[0] else ""
        self.write(f"Scopes: {self.items[0]}, items: {self.items[1]}.{rows}")


FORMATS: Mapping[str, type[_Format]] = {"text": _Lines, "json": _JsonList, "csv": _Csv}
