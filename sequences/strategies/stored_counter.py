"""The counter of a sequence: where it is stored, how it is read, and how it is caught going back.

Not here: how a counter is written; that is what the strategies differ in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .. import dynamodb, expressions
from ..exceptions import SequenceWentBack, StorageRefused, WriteCancelled
from ..expressions import CounterRow, KeySchema
from ..retries import new_token, read
from ..types import Counter
from .item_collections import ItemCollections, Send, scope_text
from .lives import TableLives
from .lru import LRU
from .numbers import Numbers
from .options import Option, boolean

__all__ = ["COUNTER_KEY_NAMES", "COUNTER_OPTIONS", "CounterState", "StoredCounter"]

logger = logging.getLogger(__name__)

COUNTER_KEY_NAMES = ("sequence", "scope")
COUNTER_OPTIONS: Mapping[str, Option] = {
    "counter_table": Option("sequences", lambda v: isinstance(v, str) and v != "", "the name of a table"),
    "check_items": boolean(True),
}
SCOPES_MET = 65_536  # more than the values remembered: a scope that is met again costs a query
NEWEST_ITEMS = 100


@dataclass(frozen=True, slots=True)
class CounterState:
    """A counter as it was at `at` (monotonic seconds).

    `highest` is what our last write handed out, whoever changed `last_value` since.
    """

    last_value: int | None
    highest: int | None
    read_units: float = 0.0
    at: float = 0.0

    @classmethod
    def of(cls, item: Mapping[str, Any], read_units: float = 0.0) -> CounterState:
        """The state that a stored counter tells. Raises StorageRefused for values that are no whole numbers."""
        last_value, highest = item.get("last_value"), item.get("highest")
        if {type(last_value), type(highest)} - {int, type(None)}:
            raise StorageRefused(f"The counter {dict(item)} holds no whole number: repair its last_value.")
        return cls(last_value, highest, read_units)

    def should_be(self, seen: int | None) -> int | None:
        """What the counter must not be below, if it is: its own `highest`, or a value seen by somebody; else None."""
        known = max((value for value in (self.highest, seen) if value is not None), default=None)
        if known is None or (self.last_value is not None and self.last_value >= known):
            return None
        return known


class StoredCounter:
    """The counters of one sequence's scopes, and what this process knows of them.

    A counter that went back is refused (SequenceWentBack), not followed, wherever something proves it: `highest`,
    which every write of ours stores beside `last_value`; the highest value that this process has seen; a marker; and
    the items, of which the newest that carries our token is looked up once when a process first meets a scope (one
    query, 0.5 to 1 read unit; `check_items` turns it off). A counter that is deleted or set back whole, and whose
    values nothing carries, begins again.
    """

    def __init__(
        self,
        table: str,
        collections: ItemCollections,
        numbers: Numbers,
        lives: TableLives,
        *,
        check_items: bool,
        wall: Callable[[], float],
    ) -> None:
        self.alias = numbers.alias
        self.table = table
        self.collections = collections
        self.numbers = numbers
        self.lives = lives
        lives.tables = [table, *(lives.tables if check_items else [])]
        self._check_items = check_items
        self.wall = wall
        self._met: LRU[bool] = LRU(SCOPES_MET)
        self._highest_seen: LRU[int] = LRU()
        self._behind: LRU[bool] = LRU()

    def forget(self) -> None:
        """Forget all that is remembered of any scope."""
        for memory in (self._met, self._highest_seen, self._behind):
            memory.clear()

    @property
    def beside_items(self) -> bool:
        """Whether the counters are in the items' own table."""
        return self.table == self.collections.schema.table

    def key(self, scope: str | None) -> dict[str, Any]:
        """The counter's key: in the table of counters, or beside the items under a key that no item can have."""
        if self.beside_items:
            return self.collections.schema.key(f"#counter#{self.alias}#{scope_text(scope)}", 0)
        return {"sequence": {"S": self.alias}, "scope": {"S": scope_text(scope)}}

    def state(self, scope: str | None, send: Send) -> CounterState:
        """The counter as it is, by one consistent read. Raises SequenceWentBack."""
        seen = self.highest_seen(scope)  # as it was before the read: other threads may move the counter meanwhile
        answer = send("get_item", expressions.read_item(self.table, self.key(scope)))
        state = CounterState.of(dynamodb.unmarshal(answer.get("Item", {})), dynamodb.used_units(answer))
        known = state.should_be(seen)
        if known is None:
            return state
        if self.lives.changed(send):
            self.meet(scope, send)
            return self.state(scope, send)
        raise SequenceWentBack(
            f"The counter of {self.alias!r}, scope {scope!r}, says {state.last_value}, but {known} was handed out: "
            f"somebody set it back. Set last_value to at least {known} in the table {self.table!r}."
        )

    def last_value(self, state: CounterState) -> int:
        """The last value of a state, that before the first one where there was none yet."""
        return self.numbers.before_start if state.last_value is None else state.last_value

    def row(self, last_value: int, token: str) -> CounterRow:
        """What a write stores on the counter."""
        return CounterRow(last_value=last_value, token=token, updated_at=int(self.wall()))

    def highest_seen(self, scope: str | None) -> int | None:
        """The highest value that this process knows to be handed out."""
        return self._highest_seen.get(scope)

    def seen(self, scope: str | None, value: int) -> None:
        """Remember a value that was handed out: the counter must not be found below it again."""
        highest = self._highest_seen.get(scope)
        if highest is None or value > highest:
            self._highest_seen.put(scope, value)

    def meet(self, scope: str | None, send: Send) -> float:
        """Before this process first counts in a scope, see what its items prove; the read units that it took.

        The items are read before the counter is: an item that is stored has a value that the counter had reached.
        """
        if not self._check_items or self._met.get(scope):
            return 0.0
        carried, read_units = self._highest_carried(scope, send)
        if carried is not None:
            self.seen(scope, carried)
        self._met.put(scope, True)
        return read_units

    def _highest_carried(self, scope: str | None, send: Send) -> tuple[int | None, float]:
        """The highest value among the newest items that carries a token of ours; imported rows carry none."""
        schema, read_units = self.collections.schema, 0.0
        for limit in (1, NEWEST_ITEMS):
            request = expressions.query_numbers(
                schema, self.collections.partition(scope), newest_first=True, limit=limit, attributes=["token"]
            )
            answer = send("query", request)
            read_units += dynamodb.used_units(answer)
            rows = [dynamodb.unmarshal(item) for item in answer["Items"]]
            found = (schema.number_or_none(row) for row in rows if "token" in row)
            carried = next((number for number in found if number is not None), None)
            if carried is not None or not rows:
                break
        return carried, read_units

    def fell_behind(self, scope: str | None) -> None:
        """An imported row has a number that the counter has not reached: move it before the next value is taken."""
        self._behind.put(scope, True)

    def catch_up(self, scope: str | None, send: Send) -> None:
        """Move a counter that is behind an imported row past the highest stored value, unless it moved by itself."""
        if self._behind.get(scope) is None:
            return
        state = self.state(scope, send)
        highest, _ = self.collections.highest(scope, send)
        last_value, step = self.last_value(state), self.numbers.step
        if highest is not None and highest > last_value:
            reached = last_value - (last_value - highest) // step * step
            request = expressions.advance_counter(
                self.table, self.key(scope), self.row(reached, new_token()), seen=state.last_value
            )
            try:
                send("update_item", request)
            except WriteCancelled:
                return  # another process moved it; look again
            logger.warning(
                "sequence %s scope %s: the counter was at %s, but %d is stored: moved it to %d",
                self.alias, scope, state.last_value, highest, reached,
            )  # fmt: skip
        self._behind.forget(scope)

    def page(self, cursor: str | None, limit: int) -> tuple[list[Counter], str | None]:
        """Some counters of the table of counters, in the order of their scopes, by one Query."""
        after = {"sequence": {"S": self.alias}, "scope": {"S": cursor}} if cursor else None
        schema = KeySchema(table=self.table, partition_name="sequence", sort_name="scope")
        request = expressions.query_numbers(
            schema, self.alias, newest_first=False, limit=limit, after=after, attributes=("last_value", "updated_at")
        )
        answer = read("query", request)
        rows = [dynamodb.unmarshal(item) for item in answer["Items"]]
        following = answer.get("LastEvaluatedKey", {}).get("scope", {}).get("S")
        return [self._shown(row) for row in rows], following

    def _shown(self, row: Mapping[str, Any]) -> Counter:
        return Counter(
            sequence=self.alias,
            scope=None if row["scope"] == scope_text(None) else row["scope"],
            last_value=row.get("last_value"),
            updated_at=datetime.fromtimestamp(row["updated_at"], UTC) if "updated_at" in row else None,
        )
