"""What the strategies with a counter share: where it lives, how it is read, and how it is caught going back.

Not here: how a counter is written; that is what the strategies differ in.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from .. import dynamodb, expressions
from ..exceptions import SequenceError, SequenceWentBack, StorageRefused, WriteCancelled
from ..expressions import CounterRow
from ..groups import Entry, Groups, Write, Writer
from ..retries import new_token, read
from ..types import Counter, SequenceConfig
from .base import Option, Place, Recent, Strategy, scope_text

__all__ = ["COUNTER_KEY_NAMES", "CounterState", "CounterStrategy", "CounterWriter", "ReservingStrategy"]

logger = logging.getLogger(__name__)

COUNTER_KEY_NAMES = ("sequence", "scope")


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
        if not isinstance(last_value, int | None) or not isinstance(highest, int | None):
            raise StorageRefused(f"The counter {dict(item)} holds no whole number: repair its last_value.")
        return cls(last_value, highest, read_units)


class CounterStrategy(Strategy):
    """A strategy whose last value is stored in a counter of its own.

    A counter that went back is refused (SequenceWentBack), not followed: `highest` is written beside `last_value` by
    every write of ours, so setting back `last_value` alone is found by any process, and each process also remembers
    the highest value that it has seen of the scopes it used last.
    """

    options: ClassVar[Mapping[str, Option]] = {
        **Strategy.options,
        "counter_table": Option("sequences", lambda v: isinstance(v, str) and v != "", "the name of a table"),
    }

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        self.counter_table = dynamodb.table_name(self.option["counter_table"])
        self._floors: Recent[int] = Recent()
        self._behind: Recent[bool] = Recent()

    def counter_key(self, scope: str | None) -> dict[str, Any]:
        """The counter's key: in the table of counters, or beside the items under a key that no item can have."""
        if self.counter_table == self.layout.table:
            return self.layout.key(f"#counter#{self.alias}#{scope_text(scope)}", 0)
        return {"sequence": {"S": self.alias}, "scope": {"S": scope_text(scope)}}

    def counter_state(self, scope: str | None, send: Callable[..., Mapping[str, Any]] | None = None) -> CounterState:
        """The counter as it is, by one consistent read. Raises SequenceWentBack."""
        send = send or dynamodb.call
        floor = self._floors.get(scope)  # as it was before the read: other threads may move the counter meanwhile
        answer = send("get_item", expressions.read_item(self.counter_table, self.counter_key(scope)))
        state = CounterState.of(dynamodb.unmarshal(answer.get("Item", {})), dynamodb.used_units(answer))
        known = max(state.highest or 0, floor or 0)
        if known and (state.last_value is None or state.last_value < known):
            raise SequenceWentBack(
                f"The counter of {self.alias!r}, scope {scope!r}, says {state.last_value}, but {known} was handed out: "
                f"somebody set it back. Set last_value to at least {known} in the table {self.counter_table!r}."
            )
        return state

    def seen(self, scope: str | None, last_value: int) -> None:
        """Remember a value of the counter, below which it must not be found again."""
        if last_value > (self._floors.get(scope) or 0):
            self._floors.put(scope, last_value)

    @property
    def before_start(self) -> int:
        return self.config.start - self.config.step

    def row(self, last_value: int, token: str) -> CounterRow:
        return CounterRow(last_value=last_value, token=token, updated_at=int(self.wall()))

    def number_taken(self, scope: str | None, entry: Entry, value: int) -> None:
        """An imported row has this number: the counter is behind what is stored, and is moved before the next value."""
        entry.value = None
        self._behind.put(scope, True)

    def catch_up(self, scope: str | None) -> None:
        """Move a counter that is behind an imported row past the highest stored value, unless it moved by itself."""
        if self._behind.get(scope) is None:
            return
        state = self.counter_state(scope)
        highest, _ = self.highest_stored(scope)
        last_value = self.before_start if state.last_value is None else state.last_value
        if highest is not None and highest > last_value:
            reached = last_value - (last_value - highest) // self.config.step * self.config.step
            request = expressions.advance_counter(
                self.counter_table, self.counter_key(scope), self.row(reached, new_token()), seen=state.last_value
            )
            try:
                dynamodb.call("update_item", request)
            except WriteCancelled:
                return  # another process moved it; look again
            logger.warning(
                "sequence %s scope %s: the counter was at %s, but %d is stored: moved it to %d",
                self.alias, scope, state.last_value, highest, reached,
            )  # fmt: skip
        self._behind.forget(scope)

    def last_value(self, scope: str | None) -> int | None:
        return self.counter_state(scope, send=read).last_value

    def counters(self, cursor: str | None, limit: int) -> tuple[list[Counter], str | None]:
        """One Query of the table of counters; counters beside the items are listed by the option "scopes"."""
        if self.counter_table == self.layout.table:
            return super().counters(cursor, limit)
        after = {"sequence": {"S": self.alias}, "scope": {"S": cursor}} if cursor else None
        layout = expressions.Layout(table=self.counter_table, partition_name="sequence", sort_name="scope")
        request = expressions.query_numbers(
            layout, self.alias, newest_first=False, limit=limit, after=after, attributes=("last_value", "updated_at")
        )
        answer = read("query", request)
        rows = [dynamodb.unmarshal(item) for item in answer["Items"]]
        following = answer.get("LastEvaluatedKey", {}).get("scope", {}).get("S")
        return [self._counter(row) for row in rows], following

    def _counter(self, row: Mapping[str, Any]) -> Counter:
        return Counter(
            sequence=self.alias,
            scope=None if row["scope"] == scope_text(None) else row["scope"],
            last_value=row.get("last_value"),
            updated_at=datetime.fromtimestamp(row["updated_at"], UTC) if "updated_at" in row else None,
        )


class ReservingStrategy(CounterStrategy):
    """A counter strategy that takes a value first and stores the item under it afterwards.

    With an idempotency token the item and its marker are stored in one transaction, so that a token never gets two
    items. What remains: a process that stops between the two requests, or two repeats at the same moment, leave a
    value unused.
    """

    gapless = False
    supports_reserve = True
    exactly_once = False
    writes_together = False
    joins_reservations: ClassVar[bool] = True

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        self.reservations: Groups = self._groups(self.reserver(), joins=self.joins_reservations)

    @abstractmethod
    def reserver(self) -> Writer:
        """The writer that takes values from the counter."""

    def reserve_entry(self, scope: str | None, count: int) -> Entry:
        """Take `count` values by the counter, together with whoever else asks, and return the answered entry."""
        entry = Entry(count=count)
        self.reservations.submit(scope, [entry])
        if isinstance(entry.answer, SequenceError):
            raise entry.answer
        return entry

    def reserve(self, scope: str | None, count: int) -> range | list[int]:
        return self.reserve_entry(scope, count).values

    def put(self, scope: str | None, entries: Sequence[Entry]) -> None:
        """A repeat is answered by its marker before it takes a value."""
        for entry in entries:
            if entry.marked:
                self.find_repeat(scope, entry)
        fresh = [entry for entry in entries if entry.answer is None]
        if fresh:
            super().put(scope, fresh)

    def place(self, scope: str | None, entries: Sequence[Entry]) -> Place:
        """Values taken for these entries stay theirs until an item is found under one."""
        self.catch_up(scope)
        waiting = [entry for entry in entries if entry.value is None]
        if waiting:
            taken = self.reserve_entry(scope, len(waiting))
            for entry, value in zip(waiting, taken.values, strict=True):
                entry.value = value
                entry.write_units += taken.write_units / len(waiting)
                entry.read_units += taken.read_units / len(waiting)
        return Place(entries, [entry.value for entry in entries if entry.value is not None])


class CounterWriter(Writer):
    """Takes values from one counter for a group of callers, by one write of the counter."""

    most_actions = 10_000

    def __init__(self, strategy: ReservingStrategy) -> None:
        self.strategy = strategy

    def ranges(self, write: Write, last_value: int) -> None:
        """Give each entry its part of the values up to `last_value`, first come, first numbered."""
        step = self.strategy.config.step
        value = last_value - step * (sum(entry.count for entry in write.entries) - 1)
        for entry in write.entries:
            entry.values = entry.answer = range(value, value + step * entry.count, step)
            value += step * entry.count
