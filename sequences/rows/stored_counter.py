"""The stored counters of a sequence: their keys, how they are read, and how one that went back is noticed.

How a counter is written is not here: that is where the strategies differ.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from .. import dynamodb
from ..commit.retries import Deadline, new_token, read, write_once
from ..dynamodb import expressions
from ..dynamodb.expressions import BORN, GIVEN_BACK, CounterRow, KeySchema, Tally, Wire
from ..exceptions import InvalidSequence, SequenceError, StorageRefused, WriteCancelled
from ..types import Counter, Scope, parted
from . import remedies
from .evidence import Evidence
from .layout import ItemLayout, Send, scope_of_text, scope_text
from .lives import TableLives
from .lru import LRU
from .numbers import Numbers
from .options import Option, boolean
from .switch_note import SwitchNote
from .tallies import ALWAYS, RULERS, SINCE, TallyMemory, known_from_start, tallies_in

__all__ = ["COUNTER_OPTIONS", "CounterState", "StoredCounter", "counter_schema"]

logger = logging.getLogger(__name__)

COUNTER_OPTIONS: Mapping[str, Option] = {
    "counter_table": Option("sequences", lambda v: isinstance(v, str) and v != "", "the name of a table"),
    "check_items": boolean(True),
}
SCOPES_CHECKED = 65_536  # checking the items of a scope again costs a query
NEWEST_ITEMS = 100


def counter_schema(table: str, client: str) -> KeySchema:
    """The keys of a table of counters; markers may be in one, too."""
    return KeySchema(table=table, partition_name="sequence", sort_name="scope", sort_type="S", client=client)


_COUNTING = ("last_value", "highest", "frozen")


@dataclass(frozen=True, slots=True)
class CounterState:
    """A counter as it was read at `at` (monotonic seconds).

    `highest` is the last value of our last write, whatever somebody has done to `last_value` since. `stored` is the
    highest stored item that the counter has to pass, if it is behind one. `frozen` says by whom, since when and why.
    `row` is the counter as it is stored, if it was read.
    """

    last_value: int | None
    highest: int | None
    read_units: float = 0.0
    at: float = 0.0
    stored: int | None = None
    frozen: Mapping[str, Any] | None = None
    row: Wire | None = field(default=None, repr=False)

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
        return cls(last_value, highest, read_units, frozen=frozen, row=row)

    def should_be(self, seen: int | None) -> int | None:
        """The least value that the counter should have, if it is lower; otherwise None.

        That is the higher one of its own `highest` and of `seen`, a value that was handed out.
        """
        known = max((value for value in (self.highest, seen) if value is not None), default=None)
        if known is None or (self.last_value is not None and self.last_value >= known):
            return None
        return known


class StoredCounter:
    """The counters of one sequence's scopes, and what this process remembers of them.

    A counter that went back is refused (SequenceWentBack) if there is evidence of a higher value: its attribute
    `highest`, which every write stores beside `last_value`; the highest value that the processes of this host have
    seen; a marker; or the newest item with a token. A process looks for that item once for each scope, before it first
    counts there (one query, 1 read unit or more; `check_items` turns it off). A counter that was deleted, or set back
    together with `highest`, begins again if there is no other evidence.
    """

    def __init__(
        self,
        table: str,
        layout: ItemLayout,
        numbers: Numbers,
        lives: TableLives,
        switch_note: SwitchNote,
        *,
        region: str = "",
        check_items: bool,
        wall: Callable[[], float],
    ) -> None:
        self.alias = numbers.alias
        self.name = f"{self.alias}@{region}" if region else self.alias
        """Under which the rows are: each Region that has a START of its own has counters of its own."""
        self.table = table
        if table == layout.schema.table and layout.schema.partition_type == "N":
            where = f"SEQUENCES[{self.alias!r}]['OPTIONS']['counter_table']"
            raise InvalidSequence(f"{where} must be another table: the items' partition key is a number.")
        self.layout = layout
        self.numbers = numbers
        self.lives = lives
        self.switch_note = switch_note
        lives.tables = [table, *(lives.tables if check_items else [])]
        self._checks_items = check_items
        self.wall = wall
        self._checked: LRU[bool] = LRU(SCOPES_CHECKED)
        self.evidence = Evidence(
            numbers,
            lives,
            lambda scope: f"counter {self.name} {scope_text(scope)}",
            own=LRU(SCOPES_CHECKED, dropped=self._checked.forget),  # whose value is forgotten is looked at again
        )
        self._behind: LRU[int] = LRU()  # the highest value of an imported row that was in the way
        self.tallies = TallyMemory()

    @property
    def client(self) -> str:
        """The alias of the client by which the counters are reached."""
        return self.layout.schema.client

    def forget(self) -> None:
        """Forget everything about every scope."""
        for memory in (self._checked, self._behind):
            memory.clear()
        self.evidence.forget()
        self.tallies.forget()

    def forget_scope(self, scope: Scope) -> None:
        """Forget everything about one scope."""
        for memory in (self._checked, self._behind):
            memory.forget(scope)
        self.evidence.forget_scope(scope)
        self.tallies.forget_scope(scope)

    @property
    def beside_items(self) -> bool:
        """Whether the counters are in the table of the items."""
        return self.table == self.layout.schema.table

    def key(self, scope: Scope) -> dict[str, Any]:
        """The counter's key: in the table of counters, or beside the items under a key that items cannot have."""
        if self.beside_items:
            return self.layout.schema.key(f"#counter#{self.name}#{scope_text(scope)}", 0)
        return {"sequence": {"S": self.name}, "scope": {"S": scope_text(scope)}}

    def state(self, scope: Scope, send: Send, *, even_frozen: bool = False, even_behind: bool = False) -> CounterState:
        """The counter now, by one consistent read. Raises SequenceFrozen and SequenceWentBack, unless told not to.

        While a switch is under way, a counter that is behind the stored items follows them.
        """
        seen = self.highest_seen(scope)  # before the read: other threads may move the counter meanwhile
        answer = send("get_item", expressions.read_item(self.table, self.key(scope)))
        state = CounterState.of_row(answer.get("Item", {}), dynamodb.used_units(answer))
        if state.frozen and not even_frozen:
            raise remedies.frozen(self.alias, scope, state.frozen)
        known = state.should_be(seen)
        if known is None:
            return state
        if self.lives.changed(send):
            self.check_items(scope, send)
            return self.state(scope, send, even_frozen=even_frozen, even_behind=even_behind)
        if self._may_follow(state, send):
            state = self._beyond_items(scope, state, send, even_frozen=even_frozen)
            if self.last_value(state) >= known:
                return state
        if even_behind:
            return state
        raise remedies.went_back(self.alias, scope, found=state.last_value, known=known)

    def rows(self, scopes: Sequence[Scope], send: Send) -> dict[Scope, Mapping[str, Any]]:
        """The stored counters of at most 100 scopes, empty where none is stored. Those that the engine leaves out are
        missing. One consistent request."""
        if not scopes:
            return {}
        keys = [self.key(scope) for scope in scopes]
        attributes = [*keys[0], *_COUNTING, GIVEN_BACK, BORN]
        answer = send("batch_get_item", expressions.read_keys(self.table, keys, attributes=attributes))
        left_out = answer.get("UnprocessedKeys", {}).get(self.table, {}).get("Keys", ())
        found = {str({name: row[name] for name in keys[0]}): row for row in answer["Responses"].get(self.table, ())}
        wanted = ((scope, key) for scope, key in zip(scopes, keys, strict=True) if key not in left_out)
        return {scope: dynamodb.unmarshal(found.get(str(key), {})) for scope, key in wanted}

    def _may_follow(self, state: CounterState, send: Send) -> bool:
        """Whether items that the counter does not know may come from the other strategy of a switch."""
        untouched = state.highest is None or state.highest == state.last_value
        return untouched and self.layout.in_collections and self.switch_note.is_switching(send)

    def _beyond_items(
        self, scope: Scope, state: CounterState, send: Send, *, even_frozen: bool = False
    ) -> CounterState:
        """The state with the highest stored item, so that the next write moves the counter past it."""
        find = self.layout.top if even_frozen else self.layout.highest
        number, read_units, *_ = find(scope, send)
        return replace(state, stored=number, read_units=state.read_units + read_units)

    def last_value(self, state: CounterState) -> int:
        """The last value of a state, also of items that the counter follows; the value before START if it has none."""
        last_value = self.numbers.before_start if state.last_value is None else state.last_value
        return last_value if state.stored is None else self.numbers.reaching(state.stored, last_value)

    def row(self, last_value: int, token: str) -> CounterRow:
        """The attributes that a write stores in the counter."""
        return CounterRow(last_value=last_value, token=token, updated_at=int(self.wall()))

    def tally(self, scope: Scope, now: int, given: int, state: CounterState | None) -> Tally:
        """What the next write does to the counter's tallies, after this look at it, if there was one."""
        if state is not None and not self.tallies.is_current(scope, now):
            self.tallies.learn(scope, state.row or (), now)
        return self.tallies.next(scope, now, given)

    def tidy(self, scope: Scope, send: Send) -> None:
        """Remove outdated tallies if a process that writes once and ends would leave too many.

        One write for several such processes. What fails here is left to the next one.
        """
        outdated = self.tallies.too_many(scope) if self.tallies.crowded else ()
        if not outdated:
            return
        request = expressions.change_row(
            self.table,
            self.key(scope),
            unchanged={},
            at_least={"last_value": self.numbers.before_start},
            removes=outdated,
        )
        with suppress(SequenceError):
            send("update_item", request)

    def highest_seen(self, scope: Scope) -> int | None:
        """The highest value that was handed out, as far as the processes of this host know."""
        return self.evidence.known(scope)

    def seen(self, scope: Scope, value: int) -> None:
        """Remember a value that was handed out: the counter must not be lower again."""
        self.evidence.note(scope, value)

    def check_items(self, scope: Scope, send: Send) -> float:
        """Before this process first counts in a scope, see which values its items have; return the read units.

        The items are read before the counter, so that the counter has reached the value of every item that is found.
        """
        if not self._checks_items or not self.layout.in_collections or self._checked.get(scope):
            return 0.0
        carried, read_units = self._highest_with_token(scope, send)
        if carried is not None:
            self.seen(scope, carried)
        self._checked.put(scope, True)
        return read_units

    def _highest_with_token(self, scope: Scope, send: Send) -> tuple[int | None, float]:
        """The highest value among the newest items with a token, and the read units. Imported rows have no token."""
        schema, token_name, read_units = self.layout.schema, self.layout.token_name, 0.0
        for limit in (1, NEWEST_ITEMS):
            request = expressions.query_numbers(
                schema, self.layout.partition(scope), newest_first=True, limit=limit, attributes=[token_name]
            )
            answer = send("query", request)
            read_units += dynamodb.used_units(answer)
            rows = [dynamodb.unmarshal(item) for item in answer["Items"]]
            found = (schema.number_or_none(row) for row in rows if token_name in row)
            own = (number for number in found if number is not None and not self.numbers.is_of_others(number))
            carried = next(own, None)
            if carried is not None or not rows:
                break
        return carried, read_units

    def fell_behind(self, scope: Scope, value: int) -> None:
        """Note that a row that the counter does not know has this value, so that it moves past the stored items."""
        self._behind.put(scope, max(value, self._behind.get(scope) or 0))

    def is_behind(self, scope: Scope) -> bool:
        """Whether `fell_behind` was noted, and the counter has not moved since."""
        return self._behind.get(scope) is not None

    def standing(self, scope: Scope, send: Send) -> CounterState:
        """The counter now; if it is behind stored items, with the highest of them, which the next write passes."""
        state, behind = self.state(scope, send), self._behind.get(scope)
        if behind is None:
            return state
        expected = self.switch_note.is_switching(send)
        state = self._beyond_items(scope, state, send)
        if state.stored is None:
            state = replace(state, stored=behind)
        self._behind.forget(scope)
        if not expected and state.last_value != self.last_value(state):
            logger.warning(
                "sequence %s scope %s: the counter was at %s, but %s is stored: moved it to %d",
                self.alias, scope, state.last_value, state.stored, self.last_value(state),
            )  # fmt: skip
        return state

    def catch_up(self, scope: Scope, send: Send) -> None:
        """If the counter is behind stored items, move it past them."""
        if not self.is_behind(scope):
            return
        behind = self._behind.get(scope) or 0
        state = self.standing(scope, send)
        reached = self.last_value(state)
        if reached != self.last_value(replace(state, stored=None)):
            request = expressions.advance_counter(
                self.table, self.key(scope), self.row(reached, new_token()), seen=state.last_value
            )
            try:
                send("update_item", request)
            except WriteCancelled:
                self.fell_behind(scope, behind)  # another process has moved it; the next call looks again

    def advance_to(
        self, scope: Scope, value: int, deadline: Deadline, *, only_new: bool = False, drops: bool = False
    ) -> int | None:
        """Move the counter up to `value`, or to the last value of the sequence below it. Never move it down.

        What was given back is not given any more. If it `drops`, that is so, too, where the counter stays.
        With `only_new` a counter that has a value stays where it is. Returns its last value now. A lost race is
        followed by another read, until the deadline. Raises SequenceExhausted for a value above MAXIMUM.
        """
        while True:
            state = self.state(scope, partial(read, deadline=deadline))
            last_value = self.last_value(state)
            row = self.row(self.numbers.up_to(value, last_value), new_token())
            stays = row.last_value == last_value and not (drops and value >= self.numbers.start)
            if stays or (only_new and state.last_value is not None):
                return state.last_value
            if row.last_value > self.numbers.maximum:
                raise self.numbers.exhausted()
            numbers, tallied = self.numbers, dynamodb.unmarshal(state.row or {})
            since = ALWAYS if known_from_start(tallied, numbers.before_start, numbers.step) else None
            request = expressions.advance_counter(
                self.table, self.key(scope), row, seen=state.last_value, since=since, drops=True
            )
            try:
                write_once("update_item", request, token=row.token, deadline=deadline)
            except WriteCancelled as error:
                deadline.try_again(error)
            else:
                self.seen(scope, row.last_value)
                return row.last_value

    def delete(self, scope: Scope, deadline: Deadline) -> bool:
        """Delete the counter, and what this process remembers of the scope. Return whether there was one.

        Another process that remembers a value of the scope refuses the next one (SequenceWentBack).
        """
        try:
            write_once(
                "delete_item", expressions.delete_counter(self.table, self.key(scope)), token="", deadline=deadline
            )
        except WriteCancelled as error:
            if frozen := (error.reasons[0].old or {}).get("frozen"):
                raise remedies.frozen(self.alias, scope, frozen) from error
            return error.after_unknown
        finally:
            self.forget_scope(scope)
        return True

    def page(self, cursor: str | None, limit: int, *, begin: str = "") -> tuple[list[Counter], str | None]:
        """Some counters from their table whose stored scopes begin like this, in their order, by one Query."""
        after = {"sequence": {"S": self.name}, "scope": {"S": cursor}} if cursor else None
        schema, now = counter_schema(self.table, self.client), self.wall()
        tallies = [name for ruler in RULERS for name in ruler.names(now)]
        attributes = ("last_value", "updated_at", "frozen", SINCE, *tallies)
        request = expressions.query_numbers(
            schema, self.name, newest_first=False, limit=limit, after=after, attributes=attributes
        )
        request = expressions.beginning(request, begin) if begin else request
        answer = read("query", request, client=self.client)
        rows = [dynamodb.unmarshal(item) for item in answer["Items"]]
        following = answer.get("LastEvaluatedKey", {}).get("scope", {}).get("S")
        return [self._shown(scope_of_text(row["scope"]), row, row.get("last_value")) for row in rows], following

    def shown(self, scope: Scope, send: Send) -> Counter:
        """One counter as lists show it, by one consistent read, also if it went back."""
        state = self.state(scope, send, even_frozen=True, even_behind=True)
        last_value = state.last_value if state.stored is None else self.last_value(state)
        return self._shown(scope, dynamodb.unmarshal(state.row or {}), last_value)

    def _shown(self, counted_in: Scope, row: Mapping[str, Any], last_value: int | None) -> Counter:
        """A counter for a page. Somebody may have stored what is no number: the page shows it."""
        scope, period = parted(counted_in)
        tallies = {name: row[name] for name in (SINCE, *tallies_in(row)) if isinstance(row.get(name), int)}
        return Counter(
            sequence=self.alias,
            scope=scope,
            period=period,
            last_value=last_value,
            updated_at=datetime.fromtimestamp(row["updated_at"], UTC) if "updated_at" in row else None,
            frozen=remedies.signature(row["frozen"]) if "frozen" in row else None,
            percent_used=self.numbers.percent_used(last_value) if isinstance(last_value, int) else 0,
            tallies=tallies,
        )
