"""The check of one scope: which values are missing or withdrawn, and which rows do not belong there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from ...commit.retries import read
from ...dynamodb import expressions, unmarshal
from ...exceptions import InvalidSequence, OperationNotSupported, ScopeNotFound, TableMissing
from ...rows.counter_rows import CounterState
from ...rows.layout import SIGNATURE, signed_void
from ...strategies.base import Strategy
from ...types import Change, Scope, parted
from .markers import OF_A_MARKER, MarkerCheck
from .own_keys import OwnKeys
from .reading import Row, changes_of, pages
from .report import AuditReport, Findings, Gap, Stray, Void
from .series import Series, explained

__all__ = ["Check", "audit", "require_collections"]

ROWS_A_PAGE = 1000
MARKERS_A_PAGE = 100  # as many as one BatchGetItem takes

Progress = Callable[[int, int], None]
"""Called with the number of rows read so far, and the number of values to check."""


Found = Callable[[Gap | Void], None]
"""Called with every gap and every void, in their order."""


def audit(
    strategy: Strategy,
    scope: Scope,
    *,
    progress: Progress = lambda done, wanted: None,
    found: Found = lambda finding: None,
) -> AuditReport:
    """Read one scope from end to end and report on it.

    Cost: the consistent read units of its items, of its markers, and again of the items that have markers; if there is
    a gap, those of the sequence's history, too. While a switch is under way, items above the counter count as well.
    Raises OperationNotSupported for items that are not in collections, ScopeNotFound for an empty scope if the option
    `scope_must_exist` is set, SequenceUnavailable and StorageRefused.
    """
    check = Check(strategy, scope, found)
    done = 0
    for count in check.items():
        done += count
        progress(done, check.wanted)
    for page in pages(strategy.markers.schema, strategy.markers.partition(scope), MARKERS_A_PAGE, *OF_A_MARKER):
        check.markers.page(page)
        done += len(page)
        progress(done, check.wanted)
    if done == 0 and strategy.option.get("scope_must_exist"):
        raise ScopeNotFound.of(strategy.alias, scope, "nothing is stored for it")
    return check.report()


def require_collections(strategy: Strategy) -> None:
    """Raise OperationNotSupported for a sequence whose items are not in collections."""
    if not strategy.layout.in_collections:
        raise OperationNotSupported(
            f"The items of {strategy.alias!r} are not in collections (its option 'value_in' is "
            f"{strategy.layout.value_in!r}): the audit cannot list them."
        )


class Check:
    """The state of one audit. It takes the rows in their order.

    `stored` is called with each value that an item carries and that is not void, in the order of `found`.
    Raises OperationNotSupported for items that are not in collections, and InvalidScope.
    """

    def __init__(
        self, strategy: Strategy, scope: Scope, found: Found, stored: Callable[[int], None] = lambda value: None
    ) -> None:
        require_collections(strategy)
        strategy.layout.check_scope(scope)
        self.stored = stored
        self.strategy = strategy
        self.scope = scope
        self.found = found
        self.series = Series(numbers=strategy.numbers, schema=strategy.schema)
        self.gaps: Findings[Gap] = Findings()
        self.voids: Findings[Void] = Findings()
        self.strays: Findings[Stray] = Findings()
        self.carried = self.missing = self.unsigned_voids = self.explained_gaps = 0
        row = self._counter_row()
        self.own_keys = OwnKeys(strategy, row)
        self.markers = MarkerCheck(strategy, scope, self.own_keys)
        self.counter = CounterState.of(row) if strategy.counter else None
        self.counter_follows = False
        self.bound = _highest(self.counter) if self.counter else None
        self.last_value = self._highest_stored() if self.bound is None else self.series.last_up_to(self.bound)
        self.expected = self.series.numbers.start

    @property
    def wanted(self) -> int:
        """How many values there are to check."""
        return (self.last_value - self.series.numbers.before_start) // self.series.numbers.step

    def _counter_row(self) -> Mapping[str, Any]:
        """The stored counter, even if it went back; empty for strategies without counters."""
        counter = self.strategy.counter
        if counter is None:
            return {}
        request = expressions.read_item(counter.table, counter.key(self.scope))
        return unmarshal(read("get_item", request, client=counter.rows.schema.client).get("Item", {}))

    def _highest_stored(self) -> int:
        """The highest sort key that is a value."""
        found = pages(self.series.schema, self.strategy.layout.partition(self.scope), 10, newest_first=True)
        numbers = (self.series.schema.number_or_none(row) for page in found for row in page)
        values = (number for number in numbers if number is not None and not self.series.problem(number))
        return next(values, self.series.numbers.before_start)

    def items(self) -> Iterator[int]:
        """Read and check the items page by page, and tell how many rows each page has."""
        partition = self.strategy.layout.partition(self.scope)
        for page in pages(self.strategy.schema, partition, ROWS_A_PAGE, "void"):
            self.rows(page)
            yield len(page)
        self._missing_before(self.last_value + self.series.numbers.step)

    def rows(self, page: Sequence[Row]) -> None:
        """Check one page of items."""
        numbers = [self.series.schema.number_or_none(row) for row in page]
        self._raise_bound(numbers)
        for row, number in zip(page, numbers, strict=True):
            if number == 0 < self.series.numbers.start:
                continue  # the row of the scope itself, for example a project
            if self._is_foreign(number):
                continue  # another Region's, which is audited there
            problem = self.series.problem(number, bound=self.bound)
            if number is None or problem:
                self.strays.add(Stray(sort_key=str(row[self.series.schema.sort_name]), problem=problem))
            else:
                self._carries(number, row)

    def _raise_bound(self, numbers: Iterable[int | None]) -> None:
        """Read the counter again if a page has values above it: they may have been handed out since.

        While a switch is under way all items count, as the counter follows them.
        """
        highest = max((number for number in numbers if number is not None and not self._is_foreign(number)), default=0)
        if self.bound is not None and highest > self.bound:
            self.bound = max(self.bound, _highest(CounterState.of(self._counter_row())))
            if highest > self.bound and self._is_switching():
                self.bound, self.counter_follows = None, True
                self.last_value = self._highest_stored()

    def _is_switching(self) -> bool:
        return self.strategy.switch_note.is_switching(partial(read, client=self.strategy.config.client))

    def _carries(self, value: int, row: Row) -> None:
        if value <= self.last_value:
            self._missing_before(value)
            self.expected = value + self.series.numbers.step
            self.carried += 1
        if about := signed_void(row):
            by, at, reason = (str(about.get(name, "")) for name in SIGNATURE)
            void = Void(value=value, by=by, at=at, reason=reason)
            self.voids.add(void)
            self.found(void)
            self.unsigned_voids += not (by and at)
        else:
            self.stored(value)

    def _missing_before(self, value: int) -> None:
        if value > self.expected:
            first, last = self.expected, value - self.series.numbers.step
            for gap in explained(first, last, self.skipped, self.series):
                self.gaps.add(gap)
                self.missing += gap.count
                self.explained_gaps += bool(gap.by)
                if not gap.by:
                    self.own_keys.missing(gap.first, gap.last)
                self.found(gap)

    @cached_property
    def skipped(self) -> list[Change]:
        """The changes that skipped numbers, the latest first."""
        return [change for change in self._changes() if change.after is not None and change.after != change.before]

    def _changes(self) -> Iterator[Change]:
        try:
            yield from changes_of(self.strategy.history, self.scope)
        except (InvalidSequence, TableMissing):
            return  # no change was ever made

    def _is_foreign(self, number: int | None) -> bool:
        return number is not None and self.series.numbers.is_of_others(number)

    def report(self) -> AuditReport:
        """The report."""
        scope, period = parted(self.scope)
        return AuditReport(
            sequence=self.strategy.alias,
            scope=scope,
            period=period,
            strategy=type(self.strategy).__name__,
            last_value=self.last_value if self.last_value >= self.series.numbers.start else None,
            carried=self.carried,
            missing=self.missing,
            markers=self.markers.count,
            went_back_to=_went_back_to(self.counter),
            gaps_explained=not self.strategy.gapless,
            gaps=self.gaps,
            voids=self.voids,
            strays=self.strays,
            orphans=self.markers.orphans,
            unsigned_voids=self.unsigned_voids,
            explained_gaps=self.explained_gaps,
            unjudged_gaps=self.own_keys.unjudged_gaps,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        name = type(self.strategy).__name__
        if self.counter is None:
            yield f"{name} keeps no counter: rows missing above the last value are found only by their markers."
        if self.series.numbers.others:
            yield f"Of the values of {self.strategy.config.stripe} alone: each Region audits its own."
        if self.counter_follows:
            yield "While a switch is under way items above the counter count, too: it follows them."
        if not self.strategy.gapless and self.missing:
            yield f"{name} takes a value before it stores the item: values may stay unused."
        yield from self.own_keys.notes()


def _highest(state: CounterState) -> int:
    """The highest value that a counter is known to have handed out; -1 if there is none."""
    return max(-1 if value is None else value for value in (state.last_value, state.highest))


def _went_back_to(state: CounterState | None) -> int | None:
    """The value of a counter that went back; None for any other counter."""
    if state is None or state.highest is None or _highest(state) == state.last_value:
        return None
    return state.last_value or 0
