"""The proof that a scope's values are all carried: what is missing, withdrawn or astray among its items.

`audit` reads one scope by pages, in bounded memory, and writes nothing. It proves the values up to the last
value as it was when the audit began; writers may go on meanwhile. How a report is shown is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sequences import expressions
from sequences.dynamodb import unmarshal
from sequences.exceptions import NotWritten, ScopeNotFound
from sequences.expressions import Layout
from sequences.retries import Deadline, read
from sequences.strategies.base import Strategy
from sequences.strategies.stored_counter import CounterState

__all__ = ["AuditReport", "Findings", "Gap", "Orphan", "Stray", "Void", "audit", "list_scopes"]

ROWS_A_PAGE = 1000
MARKERS_A_PAGE = 100  # as many as one BatchGetItem takes
SCOPES_A_PAGE = 100
MOST_LISTED = 1000
SIGNATURE = ("by", "at", "reason")

T = TypeVar("T")
Row = Mapping[str, Any]
Progress = Callable[[int, int], None]
"""Is told how many rows were read so far, and how many values there are to prove."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Values that no item carries: `count` of them, from `first` to `last`, both included."""

    first: int
    last: int
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """A value that was used and withdrawn: who did it, when and why, as the item's attribute `void` says.

    Under that name, anything without one of `by`, `at` and `reason` is the application's own.
    """

    value: int
    by: str
    at: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Stray:
    """A row of the collection whose sort key is no value that the sequence handed out."""

    sort_key: str
    problem: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Orphan:
    """A marker without its item: a repeat of its request would be answered with a value that is not its."""

    token: str
    value: int | None
    problem: str


@dataclass(kw_only=True, slots=True)
class Findings(Generic[T]):
    """All findings of one kind, counted; the first thousand of them, listed."""

    total: int = 0
    listed: list[T] = field(default_factory=list)

    def add(self, finding: T) -> None:
        """Count it, and list it while there is room: memory stays bounded however bad things are."""
        self.total += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append(finding)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditReport:
    """What was found in one scope. `last_value` is the highest value to prove, None if there was none.

    `went_back_to` is what the counter says if that is less than it handed out. A void that nobody signed is
    unexplained. `notes` say what the audit cannot see, and why gaps are no fault where `gaps_explained`.
    """

    sequence: str
    scope: str | None
    strategy: str
    last_value: int | None
    carried: int
    missing: int
    markers: int
    went_back_to: int | None
    gaps_explained: bool
    gaps: Findings[Gap]
    voids: Findings[Void]
    strays: Findings[Stray]
    orphans: Findings[Orphan]
    unsigned_voids: int
    notes: tuple[str, ...]

    @property
    def unexplained(self) -> int:
        """How many findings nobody accounts for; 0 is the proof."""
        gaps = 0 if self.gaps_explained else self.gaps.total
        went_back = self.went_back_to is not None
        return gaps + self.strays.total + self.orphans.total + self.unsigned_voids + went_back


def audit(strategy: Strategy, scope: str | None, *, progress: Progress = lambda done, wanted: None) -> AuditReport:
    """Read one scope from end to end and report on it.

    Costs the consistent read units of its items, of its markers, and again of the items that have markers.
    Raises ScopeNotFound where the option `scope_must_exist` is set, SequenceUnavailable and StorageRefused.
    """
    check = _Check(strategy, scope)
    done = 0
    for page in _pages(strategy.layout, strategy.collections.partition(scope), ROWS_A_PAGE, "void"):
        check.rows(page)
        done += len(page)
        progress(done, check.wanted)
    for page in _pages(strategy.layout, strategy.markers.partition(scope), MARKERS_A_PAGE, "token", "value"):
        check.markers(page)
        done += len(page)
        progress(done, check.wanted)
    if done == 0 and strategy.option.get("scope_must_exist"):
        raise ScopeNotFound(f"{scope!r} does not exist in {strategy.alias!r}: nothing is stored for it.")
    return check.report()


def list_scopes(strategy: Strategy) -> Iterator[str | None]:
    """Every scope of a sequence, read by pages. Raises OperationNotSupported where it cannot list them."""
    cursor = None
    while True:
        counters, cursor = strategy.counters(cursor, SCOPES_A_PAGE)
        yield from (counter.scope for counter in counters)
        if cursor is None:
            return


def _pages(
    layout: Layout, partition: str, limit: int, *attributes: str, newest_first: bool = False
) -> Iterator[list[Row]]:
    """An item collection in order, page by page: its keys and the named attributes."""
    after = None
    while True:
        request = expressions.query_numbers(
            layout, partition, newest_first=newest_first, limit=limit, after=after, attributes=attributes
        )
        answer = read("query", request)
        yield [unmarshal(item) for item in answer["Items"]]
        after = answer.get("LastEvaluatedKey")
        if not after:
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class _Series:
    """Which sort keys are values: START, START + STEP, ... as the layout writes them."""

    start: int
    step: int
    layout: Layout

    @property
    def before_start(self) -> int:
        return self.start - self.step

    def number(self, row: Row) -> int | None:
        """The sort key as a whole number; None if it is none, or is not padded as the layout pads it."""
        return self.layout.number_or_none(row)

    def problem(self, number: int | None, *, bound: int | None = None) -> str:
        """Why a number is no value, or none up to `bound`; empty if it is one."""
        if number is None:
            width = self.layout.padded_width
            return f"not a number of {width} digits" if width else "not a whole number"
        if number < self.start:
            return f"below START, which is {self.start}"
        if (number - self.start) % self.step:
            return f"not on STEP, which is {self.step} from {self.start}"
        if bound is not None and number > bound:
            return f"above the counter, which is at {max(bound, 0)}"
        return ""

    def last_up_to(self, number: int) -> int:
        """The last value up to a number; `before_start` if there is none."""
        return max((number - self.start) // self.step * self.step + self.start, self.before_start)


class _Check:
    """The state of one audit, fed with rows in their order."""

    def __init__(self, strategy: Strategy, scope: str | None) -> None:
        self.strategy = strategy
        self.scope = scope
        self.series = _Series(start=strategy.config.start, step=strategy.config.step, layout=strategy.layout)
        self.gaps: Findings[Gap] = Findings()
        self.voids: Findings[Void] = Findings()
        self.strays: Findings[Stray] = Findings()
        self.orphans: Findings[Orphan] = Findings()
        self.carried = self.missing = self.marker_count = self.unsigned_voids = 0
        self.counter = self._counter_state()
        self.bound = _highest(self.counter) if self.counter else None
        self.last_value = self._highest_stored() if self.bound is None else self.series.last_up_to(self.bound)
        self.expected = self.series.start

    @property
    def wanted(self) -> int:
        """How many values there are to prove."""
        return (self.last_value - self.series.before_start) // self.series.step

    def _counter_state(self) -> CounterState | None:
        """The counter as it is stored, also one that went back; None for strategies without counters."""
        counter = self.strategy.counter
        if counter is None:
            return None
        answer = read("get_item", expressions.read_item(counter.table, counter.key(self.scope)))
        return CounterState.of(unmarshal(answer.get("Item", {})))

    def _highest_stored(self) -> int:
        """The highest sort key that is a value."""
        pages = _pages(self.series.layout, self.strategy.collections.partition(self.scope), 10, newest_first=True)
        numbers = (self.series.number(row) for page in pages for row in page)
        found = (number for number in numbers if number is not None and not self.series.problem(number))
        return next(found, self.series.before_start)

    def rows(self, page: Sequence[Row]) -> None:
        """Take in one page of items."""
        numbers = [self.series.number(row) for row in page]
        self._raise_bound(numbers)
        for row, number in zip(page, numbers, strict=True):
            if number == 0 < self.series.start:
                continue  # the row of the scope itself, as a project's
            problem = self.series.problem(number, bound=self.bound)
            if number is None or problem:
                self.strays.add(Stray(sort_key=str(row[self.series.layout.sort_name]), problem=problem))
            else:
                self._carries(number, row)

    def _raise_bound(self, numbers: Iterable[int | None]) -> None:
        """Values above the counter may have been handed out since it was read: read it again, once a page."""
        highest = max((number for number in numbers if number is not None), default=0)
        if self.bound is not None and highest > self.bound:
            self.bound = max(self.bound, _highest(self._counter_state()))

    def _carries(self, value: int, row: Row) -> None:
        if value <= self.last_value:
            self._missing_before(value)
            self.expected = value + self.series.step
            self.carried += 1
        about = row.get("void")  # signed, or the application's own
        if isinstance(about, Mapping) and any(
            name in about for name in SIGNATURE
        ):  # anything else is the application's own
            by, at, reason = (str(about.get(name, "")) for name in SIGNATURE)
            self.voids.add(Void(value=value, by=by, at=at, reason=reason))
            self.unsigned_voids += not (by and at)

    def _missing_before(self, value: int) -> None:
        if value > self.expected:
            count = (value - self.expected) // self.series.step
            self.gaps.add(Gap(first=self.expected, last=value - self.series.step, count=count))
            self.missing += count

    def markers(self, page: Sequence[Row]) -> None:
        """Take in one page of markers: each one's item must be stored under its value and carry its token."""
        self.marker_count += len(page)
        values = {row["value"] for row in page if isinstance(row.get("value"), int)}
        partition = self.strategy.collections.partition(self.scope)
        tokens = _stored_tokens(self.series.layout, partition, values) if values else {}
        for row in page:
            token = str(row.get("token", ""))
            value = row["value"] if isinstance(row.get("value"), int) else None
            problem = _orphaned(token, value, tokens)
            if problem:
                self.orphans.add(Orphan(token=token, value=value, problem=problem))

    def report(self) -> AuditReport:
        """The findings, with what is missing at the tail."""
        self._missing_before(self.last_value + self.series.step)
        return AuditReport(
            sequence=self.strategy.alias,
            scope=self.scope,
            strategy=type(self.strategy).__name__,
            last_value=self.last_value if self.last_value >= self.series.start else None,
            carried=self.carried,
            missing=self.missing,
            markers=self.marker_count,
            went_back_to=_went_back_to(self.counter),
            gaps_explained=not self.strategy.gapless,
            gaps=self.gaps,
            voids=self.voids,
            strays=self.strays,
            orphans=self.orphans,
            unsigned_voids=self.unsigned_voids,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        name = type(self.strategy).__name__
        if self.counter is None:
            yield f"{name} keeps no counter: rows missing above the last value show only by their markers."
        if not self.strategy.gapless and self.missing:
            yield f"{name} takes a value before an item carries it, so that values may stay unused."
        if self.strategy.takes_own_keys and (self.missing or self.orphans.total):
            yield "Items that brought their own keys are not stored under their values: no audit sees them."


def _highest(state: CounterState | None) -> int:
    """The highest value that a counter is known to have handed out; -1 if it handed out none."""
    if state is None:
        return -1
    return max(-1 if value is None else value for value in (state.last_value, state.highest))


def _went_back_to(state: CounterState | None) -> int | None:
    """What a counter says that is lower than it was; None for any other."""
    if state is None or state.highest is None or _highest(state) == state.last_value:
        return None
    return state.last_value or 0


def _orphaned(token: str, value: int | None, tokens: Mapping[int, str]) -> str:
    """What is wrong with a marker's item; empty if nothing is."""
    if value is None:
        return "the marker names no value"
    if value not in tokens:
        return "no item is stored under the value"
    return "" if tokens[value] == token else "the item under the value is another request's"


def _stored_tokens(layout: Layout, partition: str, values: Iterable[int]) -> dict[int, str]:
    """The tokens of the items under at most 100 values; what a batch leaves out is asked for again."""
    wanted: Mapping[str, Any] = {
        layout.table: {
            "Keys": [layout.key(partition, value) for value in values],
            "ConsistentRead": True,
            "ProjectionExpression": "#sort, #token",
            "ExpressionAttributeNames": {"#sort": layout.sort_name, "#token": "token"},
        }
    }
    tokens: dict[int, str] = {}
    deadline = Deadline()
    while wanted:
        answer = read("batch_get_item", {"RequestItems": wanted})
        rows = [unmarshal(item) for item in answer["Responses"].get(layout.table, ())]
        tokens.update({layout.number(row): row.get("token", "") for row in rows})
        wanted = answer.get("UnprocessedKeys") or {}
        if rows:
            deadline = Deadline()
        elif wanted:
            _wait(deadline)
    return tokens


def _wait(deadline: Deadline) -> None:
    deadline.pause()
    if deadline.over:
        raise deadline.give_up(NotWritten("batch_get_item: the engine returns none of the items asked for."))
