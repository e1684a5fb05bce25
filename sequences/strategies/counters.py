"""What the strategies with a counter share: where it lives, how it is read, and how it is caught going back.

Not here: how a counter is written; that is what the strategies differ in.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar

from .. import dynamodb, expressions
from ..commits import Entry, Write, Writer
from ..exceptions import SequenceError, SequenceWentBack, StorageRefused, WriteCancelled
from ..expressions import CounterRow
from ..groups import Groups
from ..retries import Deadline, new_token, read
from ..types import Counter, SequenceConfig
from .base import Option, Place, Recent, Send, Strategy, flag, scope_text

__all__ = ["COUNTER_KEY_NAMES", "CounterState", "CounterStrategy", "CounterWriter", "ReservingStrategy"]

logger = logging.getLogger(__name__)

COUNTER_KEY_NAMES = ("sequence", "scope")
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


class CounterStrategy(Strategy):
    """A strategy whose last value is stored in a counter of its own.

    A counter that went back is refused (SequenceWentBack), not followed, wherever something proves it: `highest`,
    which every write of ours stores beside `last_value`; the highest value that this process has seen; a marker; and
    the items, of which the newest that carries our token is looked up once when a process first meets a scope (one
    query, 0.5 to 1 read unit; `check_items` turns it off). A counter that is deleted or set back whole, and whose
    values nothing carries, begins again.
    """

    options: ClassVar[Mapping[str, Option]] = {
        **Strategy.options,
        "counter_table": Option("sequences", lambda v: isinstance(v, str) and v != "", "the name of a table"),
        "check_items": flag(True),
    }

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        self.counter_table = dynamodb.table_name(self.option["counter_table"])
        self.tables = [self.counter_table, *([self.layout.table] if self.option["check_items"] else [])]
        self._met: Recent[bool] = Recent(SCOPES_MET)
        self._highest_seen: Recent[int] = Recent()
        self._behind: Recent[bool] = Recent()

    def forget(self) -> None:
        for memory in (self._met, self._highest_seen, self._behind):
            memory.clear()

    def counter_key(self, scope: str | None) -> dict[str, Any]:
        """The counter's key: in the table of counters, or beside the items under a key that no item can have."""
        if self.counter_table == self.layout.table:
            return self.layout.key(f"#counter#{self.alias}#{scope_text(scope)}", 0)
        return {"sequence": {"S": self.alias}, "scope": {"S": scope_text(scope)}}

    def counter_state(self, scope: str | None, send: Send) -> CounterState:
        """The counter as it is, by one consistent read. Raises SequenceWentBack."""
        seen = self.highest_seen(scope)  # as it was before the read: other threads may move the counter meanwhile
        answer = send("get_item", expressions.read_item(self.counter_table, self.counter_key(scope)))
        state = CounterState.of(dynamodb.unmarshal(answer.get("Item", {})), dynamodb.used_units(answer))
        known = state.should_be(seen)
        if known is None:
            return state
        if self.reborn(send):
            self.meet(scope, send)
            return self.counter_state(scope, send)
        raise SequenceWentBack(
            f"The counter of {self.alias!r}, scope {scope!r}, says {state.last_value}, but {known} was handed out: "
            f"somebody set it back. Set last_value to at least {known} in the table {self.counter_table!r}."
        )

    def highest_seen(self, scope: str | None) -> int | None:
        """The highest value that this process knows to be handed out."""
        return self._highest_seen.get(scope)

    def seen(self, scope: str | None, value: int) -> None:
        """Remember a value that was handed out: the counter must not be found below it again."""
        highest = self._highest_seen.get(scope)
        if highest is None or value > highest:
            self._highest_seen.put(scope, value)

    def handed_out(self, scope: str | None, value: int) -> None:
        self.seen(scope, value)

    def meet(self, scope: str | None, send: Send) -> float:
        """Before this process first counts in a scope, see what its items prove; the read units that it took.

        The items are read before the counter is: an item that is stored has a value that the counter had reached.
        """
        if not self.option["check_items"] or self._met.get(scope):
            return 0.0
        carried, read_units = self._highest_carried(scope, send)
        if carried is not None:
            self.seen(scope, carried)
        self._met.put(scope, True)
        return read_units

    def _highest_carried(self, scope: str | None, send: Send) -> tuple[int | None, float]:
        """The highest value among the newest items that carries a token of ours; imported rows carry none."""
        read_units = 0.0
        for limit in (1, NEWEST_ITEMS):
            request = expressions.query_numbers(
                self.layout, self.partition(scope), newest_first=True, limit=limit, attributes=["token"]
            )
            answer = send("query", request)
            read_units += dynamodb.used_units(answer)
            rows = [dynamodb.unmarshal(item) for item in answer["Items"]]
            found = (self.layout.number_or_none(row) for row in rows if "token" in row)
            carried = next((number for number in found if number is not None), None)
            if carried is not None or not rows:
                break
        return carried, read_units

    @property
    def before_start(self) -> int:
        return self.config.start - self.config.step

    def row(self, last_value: int, token: str) -> CounterRow:
        return CounterRow(last_value=last_value, token=token, updated_at=int(self.wall()))

    def number_taken(self, scope: str | None, entry: Entry, value: int) -> None:
        """An imported row has this number: the counter is behind what is stored, and is moved before the next value."""
        entry.value = None
        self._behind.put(scope, True)

    def catch_up(self, scope: str | None, send: Send) -> None:
        """Move a counter that is behind an imported row past the highest stored value, unless it moved by itself."""
        if self._behind.get(scope) is None:
            return
        state = self.counter_state(scope, send)
        highest, _ = self.highest_stored(scope, send)
        last_value = self.before_start if state.last_value is None else state.last_value
        if highest is not None and highest > last_value:
            reached = last_value - (last_value - highest) // self.config.step * self.config.step
            request = expressions.advance_counter(
                self.counter_table, self.counter_key(scope), self.row(reached, new_token()), seen=state.last_value
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

    def last_value(self, scope: str | None) -> int | None:
        return self.counter_state(scope, partial(read, deadline=self.deadline())).last_value

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

    def reserve_entry(self, scope: str | None, count: int, deadline: Deadline) -> Entry:
        """Take `count` values by the counter, together with whoever else asks, and return the answered entry."""
        entry = Entry(count=count)
        self.reservations.submit(scope, [entry], deadline)
        if isinstance(entry.answer, SequenceError):
            raise entry.answer
        return entry

    def reserve(self, scope: str | None, count: int, deadline: Deadline) -> range | list[int]:
        self.bind(deadline.send)
        return self.reserve_entry(scope, count, deadline).values

    def put(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> None:
        """A repeat is answered by its marker before it takes a value."""
        self.bind(deadline.send)
        for entry in entries:
            if entry.marked:
                self.find_repeat(scope, entry, deadline)
        fresh = [entry for entry in entries if entry.answer is None]
        if fresh:
            super().put(scope, fresh, deadline)

    def place(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> Place:
        """Values taken for these entries stay theirs until an item is found under one."""
        self.catch_up(scope, deadline.send)
        waiting = [entry for entry in entries if entry.value is None]
        if waiting:
            taken = self.reserve_entry(scope, len(waiting), deadline)
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

    def taken(self, scope: str | None, write: Write, last_value: int) -> None:
        """Give each entry its part of the values up to `last_value`, first come, first numbered."""
        if write.life == self.strategy.life:
            self.strategy.seen(scope, last_value)
        step = self.strategy.config.step
        value = last_value - step * (sum(entry.count for entry in write.entries) - 1)
        for entry in write.entries:
            entry.settle(range(value, value + step * entry.count, step))
            value += step * entry.count
