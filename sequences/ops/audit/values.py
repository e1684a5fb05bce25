"""The values of one scope up to its last one: which are missing, and which changes skipped them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from ...commit.retries import read
from ...dynamodb import expressions, unmarshal
from ...exceptions import InvalidSequence, TableMissing
from ...rows.counter_rows import CounterState
from ...rows.reading import pages
from ...strategies.base import Strategy
from ...types import Change, Scope, parted
from .report import Findings, Gap, Stray
from .series import Series, explained

__all__ = ["Values"]


class Values:
    """Compares what is stored, in its order, with the values up to the last one at the start.

    `found` is called with every gap, in their order. Costs a read, and the sequence's history if there is a gap.
    Raises InvalidScope.
    """

    def __init__(self, strategy: Strategy, scope: Scope, found: Callable[[Gap], None]) -> None:
        strategy.layout.check_scope(scope)
        self.strategy = strategy
        self.scope = scope
        self.found = found
        self.series = Series(numbers=strategy.numbers, schema=strategy.schema)
        self.gaps: Findings[Gap] = Findings()
        self.strays: Findings[Stray] = Findings()
        self.carried = self.missing = self.skipped = self.explained_gaps = 0
        self.row = self._counter_row()
        self.counter = CounterState.of(self.row) if strategy.counter else None
        self.counter_follows = False
        self.bound = _highest(self.counter) if self.counter else None
        self.last_value = self._highest_stored() if self.bound is None else self.series.last_up_to(self.bound)
        self.expected = self.series.numbers.start

    @property
    def wanted(self) -> int:
        """How many values there are to check."""
        return (self.last_value - self.series.numbers.before_start) // self.series.numbers.step

    @property
    def went_back_to(self) -> int | None:
        """The value of a counter that went back; None for any other counter."""
        state = self.counter
        if state is None or state.highest is None or _highest(state) == state.last_value:
            return None
        return state.last_value or 0

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

    def _raise_bound(self, numbers: Iterable[int | None]) -> None:
        """Read the counter again if there are values above it: they may have been handed out since.

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

    def _is_foreign(self, number: int | None) -> bool:
        return number is not None and self.series.numbers.is_of_others(number)

    def _carries(self, value: int) -> None:
        """Note that a value is stored, and that those before it are missing."""
        if value <= self.last_value:
            self._missing_before(value)
            self.expected = value + self.series.numbers.step
            self.carried += 1

    def _missing_before(self, value: int) -> None:
        if value > self.expected:
            first, last = self.expected, value - self.series.numbers.step
            for each in explained(first, last, self.changes, self.series):
                for gap in [each] if each.by else self._judged(each):
                    self._missing(gap)

    def _judged(self, gap: Gap) -> Iterable[Gap]:
        """A gap that no change explains, as one or more gaps with what else is known of them."""
        return [gap]

    def _missing(self, gap: Gap) -> None:
        self.gaps.add(gap)
        self.missing += gap.count
        if gap.by:
            self.explained_gaps += 1
            self.skipped += gap.count
        self.found(gap)

    def _in_report(self) -> dict[str, Any]:
        """What each report says, by its name there."""
        scope, period = parted(self.scope)
        return {
            "sequence": self.strategy.alias,
            "scope": scope,
            "period": period,
            "strategy": type(self.strategy).__name__,
            "last_value": self.last_value if self.last_value >= self.series.numbers.start else None,
            "carried": self.carried,
            "missing": self.missing,
            "skipped": self.skipped,
            "went_back_to": self.went_back_to,
            "gaps_explained": not self.strategy.gapless,
            "gaps": self.gaps,
            "strays": self.strays,
            "explained_gaps": self.explained_gaps,
        }

    @cached_property
    def changes(self) -> list[Change]:
        """The changes that skipped numbers, the latest first."""
        return [change for change in self._changes() if change.after is not None and change.after != change.before]

    def _changes(self) -> Iterator[Change]:
        try:
            yield from self.strategy.history.of(self.scope)
        except (InvalidSequence, TableMissing):
            return  # no change was ever made


def _highest(state: CounterState) -> int:
    """The highest value that a counter is known to have handed out; -1 if there is none."""
    return max(-1 if value is None else value for value in (state.last_value, state.highest))
