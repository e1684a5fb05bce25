"""The audit of columns: does every value up to the last one have a row, and no value two?

Where the numbers of a sequence are in Django models, it has no items to read, or items whose numbers are to be in rows
as well. The streams of several columns are merged in the order of their numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import merge
from typing import Any

from ...exceptions import DateRefused, InvalidPeriod, InvalidScope, SequenceExhausted
from ...registry import strategies
from ...rows.item_reader import item_pages
from ...services.arguments import check_scope
from ...strategies.base import Strategy
from ...types import Scope, begins, named_scope, parted, scope_text
from . import columns as pages
from .check import Progress, audit
from .columns import Column, Row, Rows, Where
from .report import AuditReport, ColumnReport, Duplicate, Gap, Stray, Unnumbered, signed
from .values import Values, explained

MOST_ROWS = 10  # that are named for one number
WAIT_SECONDS = 1.0  # in which a number that is stored comes to its row

ColumnFinding = Gap | Duplicate | Unnumbered


def audit_columns(
    strategy: Strategy,
    columns: Sequence[Column],
    known: Iterable[Scope],
    *,
    scope: str | None = None,
    period: str | None = None,
    prefix: str = "",
    progress: Callable[[int], None] = lambda done: None,
    found: Callable[[Scope, ColumnFinding], None] = lambda scope, finding: None,
) -> Iterator[ColumnReport]:
    """A report on each scope of these columns, and on each scope that is `known`, with or without rows.

    `scope` and `period` name one of them, as the command does: "#" for no scope; `prefix` those that begin with a text.
    In memory are a page of each column and the names of the scopes; with a function as scope, what each of them has.

    Cost: a read for each scope and period, two more for rules of its own, and for gaps the history of the sequence, and
    its items there if the columns may have no gaps. All rows of the columns are read, by pages in the order of (number,
    key) in each scope: indexes of these make that fast. Where rows wait for their numbers, it waits a second for those
    that are on their way.
    Raises InvalidScope, SequenceUnavailable, StorageRefused, and Django's database errors.
    """
    run = _Run(strategy, columns, period, prefix, progress, found)
    if any(callable(column.field.scope) for column in columns):
        run.names = {named_scope(scope)} if scope is not None else None
        yield from run.reports([column.rows for column in columns], known)
        return
    places: dict[str | None, list[Scope]] = {}
    for place in known:
        places.setdefault(parted(place)[0], []).append(place)
    if scope is None:
        names = (name for column in columns for name in column.scopes())
        places |= {name: [] for name in names if name not in places and begins(name, prefix)}
    for name, of_name in places.items():
        run.names = {name}
        yield from run.reports([column.of_scope(name) for column in columns], of_name)


def reports_on(
    strategy: Strategy, scope: Scope, progress: Progress = lambda done, wanted: None
) -> Iterator[AuditReport]:
    """The report on the items of a scope, if it has items, and then the one on its rows. See `Where`.

    Costs and raises what `audit` and `audit_columns` do.
    """
    where, (name, period) = Where(strategy), parted(scope)
    if where.in_items:
        yield audit(strategies.by_lines(strategy, scope), scope, progress=progress)
    if where.columns:
        yield from audit_columns(
            strategy,
            where.columns,
            [scope],
            scope=scope_text(name),
            period=period or None,
            progress=lambda done: progress(done, 0),
        )


@dataclass
class _Run:
    """One audit of columns. It reports on some rows at a time: those of `names`, or of all scopes for None."""

    strategy: Strategy
    columns: Sequence[Column]
    period: str | None
    prefix: str
    progress: Callable[[int], None]
    found: Callable[[Scope, ColumnFinding], None]
    names: set[str | None] | None = None
    done: int = 0

    def reports(self, parts: Sequence[Rows], known: Iterable[Scope]) -> Iterator[ColumnReport]:
        """Read the rows, a part for each column, and report on each scope and period of theirs."""
        checks = {place: self._check(place) for place in known}
        pairs = list(zip(self.columns, parts, strict=True))
        if self.strategy.gapless and any(next(column.unnumbered(rows), None) for column, rows in pairs):
            time.sleep(WAIT_SECONDS)
        for row in merge(*(column.numbered(rows) for column, rows in pairs), key=lambda row: row.number):
            if check := self._of(row, checks):
                check.take(row)
        for column, rows in pairs:
            for row in () if column.field.assign == "manual" else column.unnumbered(rows):  # drafts wait
                if check := self._of(row, checks):
                    check.lacks(row)
        yield from (check.finished() for check in checks.values())

    def _of(self, row: Row, checks: dict[Scope, ColumnCheck]) -> ColumnCheck | None:
        """The check of the scope in which a row is numbered; None for one that is not asked for."""
        self.done += 1
        if self.done % pages.ROWS_A_PAGE == 0:
            self.progress(self.done)
        name = row.column.field.scope_of(row.row)
        if (self.names is not None and name not in self.names) or not begins(name, self.prefix):
            return None
        place = self._place(row, name)
        if self.period not in (None, parted(place)[1]):
            return None
        if place not in checks:
            checks[place] = self._check(place)
        return checks[place]

    def _place(self, row: Row, scope: str | None) -> Scope:
        """Where a row is numbered. One without a date that says its period is listed with the scope alone, and one of
        an impossible scope, as a function may give it, without a scope.
        """
        try:
            check_scope(scope)
            if not self.strategy.layout.in_periods:
                return scope
            day = row.column.field.date_of(row.row)
            return strategies.of(self.strategy.alias, scope, day).naming.dated(scope, day)[0]
        except (InvalidPeriod, DateRefused, SequenceExhausted):
            return scope
        except InvalidScope:
            return None

    def _check(self, place: Scope) -> ColumnCheck:
        strategy = strategies.by_lines(self.strategy, place)
        return ColumnCheck(strategy, place, self.columns, partial(self.found, place))


class ColumnCheck(Values):
    """The state of the audit of one scope. It takes the rows in the order of their numbers.

    `found` is called with every gap, every number of several rows and every row without a number.
    Costs what `Values` does. Raises InvalidScope.
    """

    kind = ColumnReport
    report: ColumnReport
    found: Callable[[ColumnFinding], None]

    def __init__(
        self, strategy: Strategy, scope: Scope, columns: Sequence[Column], found: Callable[[ColumnFinding], None]
    ) -> None:
        super().__init__(strategy, scope, found)
        self.report.where = tuple(map(str, columns))
        self.columns = columns
        self.has_no_period = strategy.layout.in_periods and not parted(scope)[1]
        self.count = 0
        self.number: int | None = None
        self.same: list[str] = []
        if self.counter is None:
            self.bound = self.last_value

    def take(self, row: Row) -> None:
        """Take the next row that has a number. Numbers of other Regions are audited there."""
        if self._is_foreign(row.number):
            return
        if row.number != self.number:
            self._end_of_number()
            self.number, self.count, self.same = row.number, 0, []
            self._begin(row)
        self.count += 1
        if len(self.same) < MOST_ROWS:
            self.same.append(self._named(row))

    def lacks(self, row: Row) -> None:
        finding = Unnumbered(row=self._named(row))
        self.report.unnumbered.add(finding)
        self.found(finding)

    def _named(self, row: Row) -> str:
        text = f"{row.column.field.model._meta.label} {row.row.pk}"
        return f"{text} in {row.column.using!r}" if len({one.using for one in self.columns}) > 1 else text

    def _begin(self, row: Row) -> None:
        """Judge a number that comes for the first time."""
        if self.bound is not None and row.number > self.bound and not self.report.above:
            self._raise_bound([row.number])
        problem = self._problem(row.number)
        if self.has_no_period or problem:
            problem = "of no period: look at the date of its row" if self.has_no_period else problem
            self.report.above += not (self.has_no_period or self.numbers.problem(row.number))
            self.report.strays.add(Stray(sort_key=f"{row.number} of {self._named(row)}", problem=problem))
        else:
            self._carries(row.number)

    def _end_of_number(self) -> None:
        if self.number is not None and self.count > 1 and not self.has_no_period:
            finding = Duplicate(value=self.number, count=self.count, rows=tuple(self.same))
            self.report.duplicates.add(finding)
            self.found(finding)

    def _judged(self, gap: Gap) -> Iterator[Gap]:
        """A gap that a rollback may have left; otherwise divided where an item says that its number was withdrawn."""
        if not self.strategy.gapless:
            yield replace(gap, reason="may be a rollback")
            return
        step, first = self.numbers.step, gap.first
        for value, void in self._void_items(gap):
            yield from explained(first, value - step, (), self.numbers)
            yield Gap(first=value, last=value, count=1, **signed(void))
            first = value + step
        yield from explained(first, gap.last, (), self.numbers)

    def _void_items(self, gap: Gap) -> Iterator[tuple[int, Any]]:
        after = None if gap.first == self.numbers.start else gap.first - self.numbers.step
        for page in item_pages(self.strategy, self.scope, after, self._send, newest_first=False):
            ours = [one for one in page if one.value <= gap.last and not self._is_foreign(one.value)]
            yield from ((one.value, one.void) for one in ours if one.void)
            if page and page[-1].value >= gap.last:
                return

    def finished(self) -> ColumnReport:
        self._end_of_number()
        self._end()
        self.report.notes = tuple(self._notes())
        return self.report

    def _notes(self) -> Iterator[str]:
        name = type(self.strategy).__name__
        if self.report.missing > self.report.skipped and not self.strategy.gapless:
            yield f"{name} takes a value before the row is stored: a gap may be a rollback, or be used elsewhere."
        if self.numbers.others:
            yield f"Of the values of {self.strategy.config.stripe} alone: each Region audits its own."
        if self.report.unnumbered.total and self.strategy.gapless:
            yield "Rows without a number get one by `manage.py number_rows`."
        if self.report.above:
            yield "A number above the counter will be given again: `manage.py sequences seed --column` prevents it."
