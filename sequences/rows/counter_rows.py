"""The rows of counters and of closed periods: where they are, what they say, and how lists show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate, chain
from typing import Any

from .. import dynamodb
from ..commit.requests import Pending, PutRequest
from ..dynamodb import expressions
from ..dynamodb.expressions import (
    BORN,
    CHANGED,
    CLOSING,
    GAPLESS_AFTER,
    GIVEN_BACK,
    LAST_DOCUMENT,
    SINCE,
    VERSION,
    KeySchema,
    Wire,
)
from ..exceptions import InvalidSequence, StorageRefused
from ..formats.periods import Period, days_of
from ..types import Counter, Dated, Scope, parted, scope_of_text, scope_text
from . import operator_errors
from .layout import ItemLayout, Send
from .numbers import Numbers, highest, is_below
from .reading import MOST_IN_A_BATCH, pages, read_rows, sorted_page, stored_row
from .tallies import RULERS, tallies_in

CLOSED = "closed"
"""What a frozen counter says of a closed period, beside who closed it, when and why."""
AGAIN = "again"
"""What it says of looks that have found it frozen: when the first one was (`at`), and the `token` of the last one."""
_COUNTING = ("last_value", "highest", "frozen", CLOSING, LAST_DOCUMENT, VERSION)


def counter_schema(table: str, client: str) -> KeySchema:
    """The keys of a table of counters; markers may be in one, too."""
    return KeySchema(table=table, partition_name="sequence", sort_name="scope", sort_type="S", client=client)


@dataclass(frozen=True, slots=True)
class CounterState:
    """A counter as it was read at `at` (monotonic seconds).

    `highest` is the last value of our last write, whatever somebody has done to `last_value` since. `stored` is the
    highest stored item that the counter has to pass, if it is behind one. `frozen` says by whom, since when and why.
    `row` is the counter as it is stored, if it was read. `document` has the date and the value of the last document,
    where DATE_ORDER keeps them, and they are known. `version` is the one of the lines of its scope. `closing` says by
    whom, why and `since` which moment the period is closed, if that was said before that moment.
    """

    last_value: int | None
    highest: int | None
    read_units: float = 0.0
    at: float = 0.0
    stored: int | None = None
    frozen: Mapping[str, Any] | None = None
    version: int = 0
    row: Wire | None = field(default=None, repr=False)
    document: Mapping[str, Any] | None = None
    closing: Mapping[str, Any] | None = None

    @classmethod
    def of_row(cls, row: Wire, read_units: float = 0.0) -> CounterState:
        """The state of a stored counter, as attribute values. Raises StorageRefused, as `of` does."""
        counting = {name: row[name] for name in _COUNTING if name in row}
        return cls.of(dynamodb.unmarshal(counting), read_units, row)

    @classmethod
    def of(cls, item: Mapping[str, Any], read_units: float = 0.0, row: Wire | None = None) -> CounterState:
        """The state of a stored counter. Raises StorageRefused for values that are not whole numbers."""
        frozen = item.get("frozen")  # the counter's `highest` is out of reach then: see `freeze` in `changing`
        last_value, highest = item.get("last_value"), (item if frozen is None else frozen).get("highest")
        if {type(last_value), type(highest)} - {int, type(None)}:
            raise StorageRefused(f"The counter {dict(item)} has no whole numbers: repair its last_value and highest.")
        more = {"document": item.get(LAST_DOCUMENT), "closing": item.get(CLOSING), "version": item.get(VERSION, 0)}
        return cls(last_value, highest, read_units, frozen=frozen, row=row, **more)

    def should_be(self, seen: int | None) -> int | None:
        """The least value that the counter should have, if it is lower; otherwise None.

        That is the higher one of its own `highest` and of `seen`, a value that was handed out.
        """
        known = highest(self.highest, seen)
        return known if is_below(self.last_value, known) else None


def frozen_at(
    now: float, frozen: Mapping[str, Any] | None, closing: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """By whom, since when and why a counter is frozen, or its period is closed by now; None if neither is so."""
    if frozen is None and closing and closing["since"] <= now:
        return {**closing, CLOSED: True}
    return frozen


def require_gaps(alias: str, scope: Scope, state: CounterState) -> None:
    """Raise RulesChanged for a counter that was switched to a gapless strategy: no other one moves it."""
    if after := (state.row or {}).get(GAPLESS_AFTER):
        raise operator_errors.gapless(alias, scope, after=after["N"])


class CounterRows:
    """The rows of the counters of one sequence, as they are stored: nothing here judges them."""

    def __init__(
        self, table: str, layout: ItemLayout, numbers: Numbers, *, name: str, wall: Callable[[], float]
    ) -> None:
        if table == layout.schema.table and layout.schema.partition_type == "N":
            where = f"SEQUENCES[{numbers.alias!r}]['OPTIONS']['counter_table']"
            raise InvalidSequence(f"{where} must be another table: the items' partition key is a number.")
        self.name = name
        """Under which the rows are."""
        self.beside_items = table == layout.schema.table
        """Whether the counters are in the table of the items."""
        self.schema = layout.schema if self.beside_items else counter_schema(table, layout.schema.client)
        self.table = table
        self._numbers = numbers
        self._wall = wall

    def key(self, scope: Scope) -> dict[str, Any]:
        """The counter's key: in the table of counters, or beside the items under a key that items cannot have."""
        if self.beside_items:
            return self.schema.key(f"#counter#{self.name}#{scope_text(scope)}", 0)
        return {"sequence": {"S": self.name}, "scope": {"S": scope_text(scope)}}

    def change(self, scope: Scope, **how: Any) -> dict[str, Any]:
        """An update of a scope's counter; `how` is as for `change_row`."""
        return expressions.change_row(self.table, self.key(scope), **how)

    def state(self, scope: Scope, send: Send) -> CounterState:
        """The counter now, by one consistent read."""
        answer = send("get_item", expressions.read_item(self.table, self.key(scope)))
        return CounterState.of_row(answer.get("Item", {}), dynamodb.used_units(answer))

    def of_scopes(self, scopes: Sequence[Scope], send: Send) -> dict[Scope, Mapping[str, Any]]:
        """The stored counters of at most 100 scopes, empty where none is stored. Those that the engine leaves out are
        missing. One consistent request."""
        rows = read_rows(self.table, [*map(self.key, scopes)], [*_COUNTING, GIVEN_BACK, CHANGED, BORN], send)
        return {scope: row for scope, row in zip(scopes, rows, strict=True) if row is not None}

    def has_given(self, scope: str | None, kinds: Sequence[Period], send: Send) -> bool:
        """Whether a scope has given a number in any period of these kinds. Counters beside the items are not listed.

        One query for each year in which the sequence counts, and one request for a hundred periods of these years.
        """
        names = list({kind.name(day) for year in self._years() for day in days_of(year) for kind in kinds})
        batches = (names[first : first + MOST_IN_A_BATCH] for first in range(0, len(names), MOST_IN_A_BATCH))
        found = (self.of_scopes([Dated.of(scope, name) for name in batch], send) for batch in batches)
        return any("last_value" in row for rows in found for row in rows.values())

    def _years(self) -> Iterator[int]:
        """The years whose periods have counters, in their order."""
        cursor = "#"
        while not self.beside_items and (rows := sorted_page(self.schema, self.name, cursor, 1, begin="#")[0]):
            year = parted(scope_of_text(rows[0]["scope"]))[1][:4]
            yield int(year)
            cursor = f"#{year}~"  # after all names of periods of this year

    def page(self, cursor: str | None, limit: int, *, begin: str = "") -> tuple[list[Counter], str | None]:
        """Some counters from their table whose stored scopes begin like this, in their order, by one Query."""
        now = self._wall()
        tallies = [name for ruler in RULERS for name in ruler.names(now)]
        attributes = ("last_value", "updated_at", "frozen", CLOSING, SINCE, *tallies)
        rows, following = sorted_page(self.schema, self.name, cursor, limit, *attributes, begin=begin)
        return [self.listed(scope_of_text(row["scope"]), row, row.get("last_value")) for row in rows], following

    def listed(self, counted_in: Scope, row: Mapping[str, Any], last_value: int | None) -> Counter:
        """A counter as lists show it. Somebody may have stored what is no number: it is shown, too."""
        scope, period = parted(counted_in)
        frozen = frozen_at(self._wall(), row.get("frozen"), row.get(CLOSING))
        tallies = {name: row[name] for name in (SINCE, *tallies_in(row)) if isinstance(row.get(name), int)}
        return Counter(
            sequence=self._numbers.alias,
            scope=scope,
            period=period,
            last_value=last_value,
            updated_at=datetime.fromtimestamp(row["updated_at"], UTC) if "updated_at" in row else None,
            frozen=operator_errors.signature(frozen) if frozen else None,
            percent_used=self._numbers.percent_used(last_value) if isinstance(last_value, int) else 0,
            tallies=tallies,
        )


UNITS = 1.0  # of a read of the row
PERIODS_A_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Closings:
    """The closed periods of one sequence, as their rows are now: nothing is remembered of them.

    Each has one row beside the counters, for the scopes that have no number in it yet. The counters that are there when
    a period is closed are frozen, each by a change of its own. A scope that has none is looked up in this row before
    its first number, and the row stays a condition of that write where it is a transaction.
    """

    alias: str
    rows: CounterRows
    wall: Callable[[], float]

    def place(self, period: str) -> tuple[str, dict[str, Any]]:
        """The table and the key of the row of a period."""
        name, schema = f"#closed#{self.rows.name}", self.rows.schema
        beside = schema.key(f"{name}#{period}", 0) if self.rows.beside_items else None
        return schema.table, beside or {"sequence": {"S": name}, "scope": {"S": period}}

    def read(self, period: str, send: Send) -> Mapping[str, Any]:
        """The row of a period, empty if it was never closed. One consistent read.

        While it is closed, `since` says from which moment on (seconds since 1970, 0 for always), and `open` has the
        texts of the scopes that are open again.
        """
        return stored_row(*self.place(period), send)

    def listed(self, send: Send) -> dict[str, int]:
        """From which moment on each period is closed, 0 for always. Rows beside the items cannot be listed."""
        read_pages = pages(self.rows.schema, f"#closed#{self.rows.name}", PERIODS_A_PAGE, "since", send=send)
        return {row["scope"]: row["since"] for row in chain.from_iterable(read_pages) if "since" in row}

    def about(self, scope: Dated, send: Send) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The row of the period of a scope that begins, and what it says of that scope: empty if it stays open.

        Raises PeriodClosed if the scope is closed by now.
        """
        row = self.read(scope.period, send)
        if "since" not in row or scope_text(scope.scope) in row.get("open", ()):
            return row, {}
        about = {name: row[name] for name in ("by", "at", "reason", "since")}
        if closed := frozen_at(self.wall(), None, about):
            raise operator_errors.frozen(self.alias, scope, closed)
        return row, about

    def opening(self, scope: Scope, state: CounterState, send: Send) -> Opening | None:
        """What the first write of a scope in a period depends on; None for a scope that has begun, or has no period.

        Raises PeriodClosed.
        """
        return Opening(self, scope, send) if state.last_value is None and isinstance(scope, Dated) else None

    def require_open(self, scope: Scope, send: Send) -> float:
        """Raise PeriodClosed if a scope that may have no number yet is in a closed period; return the read units."""
        if not isinstance(scope, Dated):
            return 0.0
        self.about(scope, send)
        return UNITS

    def require_thawed(self, scope: Scope, state: CounterState) -> None:
        """Raise SequenceFrozen for a counter that is frozen, and PeriodClosed for one whose period is closed by now."""
        about = frozen_at(self.wall(), state.frozen, state.closing)
        if about is not None:
            raise operator_errors.frozen(self.alias, scope, about)


class Opening:
    """The first write of a scope in a period, on the condition that the period stays as it was read: open.

    Raises PeriodClosed if it is closed.
    """

    read_units = UNITS

    def __init__(self, closings: Closings, scope: Dated, send: Send) -> None:
        self._closings, self._scope = closings, scope
        self._row, about = closings.about(scope, send)
        self.closing: Mapping[str, Any] | None = about or None
        """What the counter notes, if the period will be closed."""

    def fitting(self, pendings: Sequence[Pending[PutRequest]], most: int) -> Sequence[Pending[PutRequest]]:
        """As many requests as fit beside the check, into a transaction of so many actions; the first in any case."""
        sizes = accumulate(pending.request.actions for pending in pendings)
        return [one for one, size in zip(pendings, sizes, strict=True) if size < most] or pendings[:1]

    def check(self, pendings: Sequence[Pending[PutRequest]], most: int) -> Mapping[str, Any] | None:
        """The action that checks it; None beside a request that fills the transaction, for which the look must do."""
        is_full = sum(pending.request.actions for pending in pendings) >= most
        return None if is_full else self.unchanged

    @property
    def unchanged(self) -> Mapping[str, Any]:
        """The action of a transaction that refuses it unless the row of the period is as it was read."""
        as_read = {"token": self._row.get("token")}
        check = expressions.change_row(*self._closings.place(self._scope.period), unchanged=as_read)
        del check["UpdateExpression"]
        return {"ConditionCheck": check}
