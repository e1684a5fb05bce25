"""The values of one scope up to its last one: which sort keys they are, which are missing, which a change skipped."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial

from ...commit.retries import read
from ...exceptions import InvalidSequence, TableMissing
from ...registry import strategies
from ...rows.counter_rows import CounterState
from ...rows.numbers import Numbers
from ...rows.reading import pages
from ...strategies.base import Strategy
from ...types import Change, Scope, parted
from .report import AuditReport, Gap


def explained(first: int, last: int, changes: Sequence[Change], numbers: Numbers) -> Iterator[Gap]:
    """The missing values from `first` to `last` as gaps, divided where a change that skipped values begins or ends."""
    step = numbers.step
    while first <= last:
        change = next((one for one in changes if _skipped(one, first, numbers)), None)
        ends = [change.after] if change else [one.before for one in changes]
        end = min([last, *(one for one in ends if one is not None and first <= one)])
        count = (end - first) // step + 1
        signed = {"by": change.by, "at": change.at.isoformat(), "reason": change.reason} if change else {}
        yield Gap(first=first, last=first + (count - 1) * step, count=count, **signed)
        first += count * step


def skips(changes: Iterable[Change]) -> list[Change]:
    """The changes that skipped numbers."""
    return [change for change in changes if change.after is not None and change.after != change.before]


def _skipped(change: Change, value: int, numbers: Numbers) -> bool:
    before = numbers.before_start if change.before is None else change.before
    return change.after is not None and before < value <= change.after


class Values:
    """Compares what is stored, in its order, with the values up to the last one at the start.

    The report says what was found, and `found` is called with every gap, in their order. Costs a read, and the
    sequence's history if there is a gap. Raises InvalidScope.
    """

    kind: type[AuditReport] = AuditReport
    """The class of the report."""

    def __init__(self, strategy: Strategy, scope: Scope, found: Callable[[Gap], None]) -> None:
        strategy.layout.check_scope(scope)
        self.strategy, self.scope, self.found = strategy, scope, found
        self._send = partial(read, client=strategy.config.client)
        plain, period = parted(scope)
        book = strategies.lines(strategy.alias)  # which has read the lines of the scope already
        self.report = self.kind(
            sequence=strategy.alias,
            scope=plain,
            period=period,
            strategy=type(strategy).__name__,
            gaps_explained=not strategy.gapless,
            name=book.of(plain).name if book else "",
        )
        self.numbers, self.schema = strategy.numbers, strategy.schema
        self.counter = self._read_counter()
        self.counter_follows = False
        self.bound = _highest(self.counter) if self.counter else None
        self.last_value = (
            self._highest_stored() if self.bound is None else self.numbers.up_to(self.bound, self.numbers.before_start)
        )
        self.expected = self.numbers.start

    @property
    def wanted(self) -> int:
        """How many values there are to check."""
        return (self.last_value - self.numbers.before_start) // self.numbers.step

    def _problem(self, number: int | None) -> str:
        """Why a number is not a value of this sequence (up to `bound`); empty if it is one."""
        if number is None:
            width = self.schema.padded_width
            return f"not a number of {width} digits" if width else "not a whole number"
        if problem := self.numbers.problem(number):
            return problem
        if self.bound is not None and number > self.bound:
            return f"above the counter, which is at {max(self.bound, 0)}"
        return ""

    def _read_counter(self) -> CounterState | None:
        """The stored counter, even if it went back; None for strategies without counters."""
        counter = self.strategy.counter
        return counter.rows.state(self.scope, self._send) if counter else None

    def _highest_stored(self) -> int:
        """The highest sort key that is a value."""
        found = pages(self.schema, self.strategy.layout.partition(self.scope), 10, newest_first=True)
        numbers = (self.schema.number_or_none(row) for page in found for row in page)
        values = (number for number in numbers if number is not None and not self.numbers.problem(number))
        return next(values, self.numbers.before_start)

    def _raise_bound(self, numbers: Iterable[int | None]) -> None:
        """Read the counter again if there are values above it: they may have been handed out since.

        While a switch is under way all items count, as the counter follows them.
        """
        highest = max((number for number in numbers if number is not None and not self._is_foreign(number)), default=0)
        if self.bound is not None and highest > self.bound:
            counter = self._read_counter()
            self.bound = max(self.bound, _highest(counter)) if counter else self._highest_stored()
            if counter and highest > self.bound and self.strategy.following.of_late(self._send):
                self.bound, self.counter_follows = None, True
                self.last_value = self._highest_stored()

    def _is_foreign(self, number: int | None) -> bool:
        return number is not None and self.numbers.is_of_others(number)

    def _carries(self, value: int) -> None:
        """Note that a value is stored, and that those before it are missing."""
        if value <= self.last_value:
            self._missing_before(value)
            self.expected = value + self.numbers.step
            self.report.carried += 1

    def _missing_before(self, value: int) -> None:
        if value > self.expected:
            first, last = self.expected, value - self.numbers.step
            for each in explained(first, last, self.changes, self.numbers):
                for gap in [each] if each.by else self._judged(each):
                    self._missing(gap)

    def _judged(self, gap: Gap) -> Iterable[Gap]:
        """A gap that no change explains, as one or more gaps with what else is known of them."""
        return [gap]

    def _missing(self, gap: Gap) -> None:
        report = self.report
        report.gaps.add(gap)
        report.missing += gap.count
        if gap.by:
            report.explained_gaps += 1
            report.skipped += gap.count
        self.found(gap)

    def _end(self) -> None:
        """Note what is missing above the highest stored value, how far the scope has counted, and if it went back."""
        self._missing_before(self.last_value + self.numbers.step)
        self.report.last_value = self.last_value if self.last_value >= self.numbers.start else None
        state = self.counter
        if state and state.highest is not None and _highest(state) != state.last_value:
            self.report.went_back_to = state.last_value or 0

    @cached_property
    def changes(self) -> list[Change]:
        """The changes that skipped numbers, the latest first."""
        with suppress(InvalidSequence, TableMissing):  # no change was ever made
            return skips(self.strategy.history.of(self.scope))
        return []


def _highest(state: CounterState) -> int:
    """The highest value that a counter is known to have handed out; -1 if there is none."""
    return max(-1 if value is None else value for value in (state.last_value, state.highest))
