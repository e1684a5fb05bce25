"""What every strategy is: its capability flags, its options, and the writing of items with their markers.

A strategy decides which value comes next (`place`); this module turns that into one write, and reads what a refused
write says about each item. It makes one attempt at a time: who is written together and when it is tried again is
`groups`' work.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from django.utils.module_loading import import_string

from .. import dynamodb, expressions
from ..commits import Entry, Write, Writer
from ..exceptions import (
    IdempotencyMismatch,
    InvalidItem,
    InvalidSequence,
    ItemExists,
    OperationNotSupported,
    Reason,
    SequenceExhausted,
    StorageRefused,
    WriteCancelled,
)
from ..expressions import MARKER_EXPIRY, Layout
from ..groups import Groups
from ..retries import CANCELLATIONS_THAT_HEAL, DEADLINE_SECONDS, Deadline, Timing, new_token, read
from ..turns import take_turn
from ..types import Allocation, Counter, SequenceConfig

__all__ = [
    "Option",
    "Place",
    "Proved",
    "Recent",
    "Send",
    "Strategy",
    "checked_options",
    "flag",
    "one_of",
    "positive",
    "scope_text",
    "whole",
]

V = TypeVar("V")
Send = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Sends one request, once or until it is answered, and returns the answer."""

NO_SCOPE = "#"  # how the scope None is stored; scopes do not begin with it
SCOPES_REMEMBERED = 4096
WEEK_SECONDS = 7 * 24 * 3600


def scope_text(scope: str | None) -> str:
    """How a scope is stored."""
    return NO_SCOPE if scope is None else scope


class Recent(Generic[V]):
    """What is remembered of the scopes used last: safe across threads, and bounded."""

    def __init__(self, most: int = SCOPES_REMEMBERED) -> None:
        self._most = most
        self._lock = threading.RLock()  # a signal handler may put while its thread does
        self._values: OrderedDict[str | None, V] = OrderedDict()

    def get(self, scope: str | None) -> V | None:
        return self._values.get(scope)

    def put(self, scope: str | None, value: V) -> None:
        with self._lock:
            self._values[scope] = value
            self._values.move_to_end(scope)
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def forget(self, scope: str | None) -> None:
        with self._lock:
            self._values.pop(scope, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, slots=True)
class Option:
    """One key of OPTIONS: its default, what it must be, and the words for an error."""

    default: Any
    accepts: Callable[[Any], bool]
    wanted: str


def one_of(*choices: str) -> Option:
    """An option with a few choices, the first of which is the default."""
    return Option(choices[0], choices.__contains__, f"one of {', '.join(map(repr, choices))}")


def flag(default: bool) -> Option:
    """An option that is on or off."""
    return Option(default, lambda value: isinstance(value, bool), "True or False")


def positive(default: float) -> Option:
    """An option that is a number above 0."""
    return Option(
        default,
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value > 0,
        "a number above 0",
    )


def whole(default: int, least: int, wanted: str) -> Option:
    """An option that is a whole number of at least `least`."""
    return Option(default, lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= least, wanted)


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value)


@dataclass(frozen=True, slots=True)
class Proved:
    """A scope's last value, and when a write or a read last proved it (monotonic seconds)."""

    last_value: int
    at: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where entries go: their values, what finding out cost, and the counter's own action if it has one."""

    entries: Sequence[Entry]
    values: Sequence[int]
    read_units: float = 0.0
    counter: Mapping[str, Any] | None = None
    token: str = ""


class Strategy(Writer):
    """The algorithm that hands values out, for one sequence and all its scopes, in one process.

    The capability flags below are class attributes; the table of strategies, the admin page and the checks are made of
    them.
    """

    gapless: ClassVar[bool]
    """Is every value up to `last_value` carried by a stored item, whatever fails?"""

    supports_reserve: ClassVar[bool]
    """Can it hand out values before an item carries them (`get_next_value`)?"""

    needs_transactions: ClassVar[bool]
    """Does it need an engine with `TransactWriteItems` even for one item without an idempotency token?"""

    ordered_across_processes: ClassVar[bool]
    """Is a later value always the larger one, even when another process asks?"""

    exactly_once: ClassVar[bool]
    """Does a repeat with the same idempotency token neither store a second item nor use up a value?"""

    takes_own_keys: ClassVar[bool] = False
    """May an item bring its own key, and get its value as an attribute?"""

    writes_together: ClassVar[bool]
    """Are items of one scope that come at the same time written by one request?"""

    requests: ClassVar[str]
    """How many requests does one number take, alone and under pressure?"""

    units: ClassVar[str]
    """How many write and read capacity units does one number of up to 1 KB take?"""

    options: ClassVar[Mapping[str, Option]] = {
        "partition": Option(
            "{sequence}#{scope}",
            lambda value: isinstance(value, str) and "{scope}" in value,
            'a text with "{scope}" in it, and "{sequence}" if other sequences share the table',
        ),
        "key_names": Option(("pk", "sk"), lambda v: _is_names(v) and len(v) == 2, "two names, as ('pk', 'sk')"),
        "sort_key": one_of("number", "padded"),
        "width": Option(10, lambda v: isinstance(v, int) and 1 <= v <= 38, "a whole number from 1 to 38"),
        "ignore_in_repeat": Option((), _is_names, "a list of attribute names"),
        "marker_seconds": whole(WEEK_SECONDS, 1, "a whole number above 0"),
        "deadline": positive(DEADLINE_SECONDS),
        "group": flag(True),
        "scopes": Option(None, lambda v: v is None or isinstance(v, str), "the dotted path of a function"),
    }

    def __init__(
        self, config: SequenceConfig, *, timing: Timing | None = None, wall: Callable[[], float] = dynamodb.now
    ) -> None:
        self.config = config
        self.alias = config.alias
        self.option = checked_options(type(self), config)
        self.timing = timing or Timing()
        self.wall = wall
        self.layout = Layout(
            table=dynamodb.table_name(config.table),
            partition_name=self.option["key_names"][0],
            sort_name=self.option["key_names"][1],
            padded_width=self.option["width"] if self.option["sort_key"] == "padded" else 0,
        )
        self._list_scopes = _imported(config.alias, self.option["scopes"])
        self.maximum = (
            min(config.maximum, 10**self.layout.padded_width - 1) if self.layout.padded_width else config.maximum
        )
        self.tables = [self.layout.table]
        self.life: tuple[str, ...] = ()
        self.items = self._groups(self, joins=self.writes_together)

    def _groups(self, writer: Writer, *, joins: bool) -> Groups:
        return Groups(writer, joins=joins and self.option["group"])

    # What callers use.

    def deadline(self) -> Deadline:
        """A deadline for one call, which begins now."""
        return Deadline(timing=self.timing, seconds=self.option["deadline"])

    def put(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> None:
        """Store each entry's item under the next value, or answer why not."""
        self.bind(deadline.send)
        self.items.submit(scope, entries, deadline)

    def next_value(self, scope: str | None) -> int:
        """Take the next value before an item carries it."""
        return self.reserve(scope, 1, self.deadline())[0]

    def reserve(self, scope: str | None, count: int, deadline: Deadline) -> range | list[int]:
        """Take `count` values before items carry them. Raises OperationNotSupported."""
        raise OperationNotSupported(
            f"The sequence {self.alias!r} ({type(self).__name__}) hands out a value only together with its item: "
            "use put_next."
        )

    @abstractmethod
    def last_value(self, scope: str | None) -> int | None:
        """The highest value handed out; None if there was none yet. Costs one read."""

    def counters(self, cursor: str | None, limit: int) -> tuple[list[Counter], str | None]:
        """One page of this sequence's scopes, in their order, and the cursor of the next. Never a scan.

        The scopes come from the function that the option "scopes" names; each costs one read.
        """
        if self._list_scopes is None:
            raise OperationNotSupported(
                f"{self.alias!r} keeps no list of its scopes. Name a function (cursor, limit) -> (scopes, next cursor) "
                f"in SEQUENCES[{self.alias!r}]['OPTIONS']['scopes'], or ask for one scope."
            )
        scopes, following = self._list_scopes(cursor, limit)
        counters = [Counter(sequence=self.alias, scope=scope, last_value=self.last_value(scope)) for scope in scopes]
        return counters, following

    # What is remembered, and of which life of the tables.

    def bind(self, send: Send) -> None:
        """Forget what is remembered of another life of the tables: they were deleted and made again, or restored."""
        life = tuple([dynamodb.life_of(table, send=send) for table in self.tables])
        if life != self.life:
            self.life = life
            self.forget()

    def reborn(self, send: Send) -> bool:
        """Whether a table was made again since it was asked; what seems to have gone back has then begun anew."""
        before = self.life
        for table in self.tables:
            dynamodb.life_of(table, send=send, anew=True)
        self.bind(send)
        return self.life != before

    def forget(self) -> None:
        """Forget all that is remembered of any scope."""

    # What a strategy decides.

    @abstractmethod
    def place(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> Place:
        """The next values for these entries, or for some of the first of them; it may read."""

    def placed(self, scope: str | None, write: Write) -> None:
        """The write is stored: remember what that proves."""

    def handed_out(self, scope: str | None, value: int) -> None:
        """A marker shows that this value was handed out."""

    def counter_moved(self, scope: str | None, reason: Reason, send: Send) -> None:
        """The counter is not as it was seen; `reason.old` is how it is."""

    @abstractmethod
    def number_taken(self, scope: str | None, entry: Entry, value: int) -> None:
        """An item is stored under this value, and it is not this entry's."""

    # How processes take turns.

    def known(self, scope: str | None) -> Proved | None:
        """The last value of a scope that this process knows for certain, and since when; None if it does not care."""
        return None

    def learn(self, scope: str | None, proved: Proved) -> None:
        """Another process of this machine knows better."""

    @contextmanager
    def turn(self, scope: str | None) -> Iterator[None]:
        """Take a turn at the scope, learn what the last one proved, and leave what this one did."""
        if not (self.writes_together and self.option["group"]):
            yield
            return
        with take_turn(f"{self.life}|{self.partition(scope)}") as turn:
            told, known = turn.last_value(), self.known(scope)
            if told and told[1] <= self.timing.clock() and (known is None or told[1] > known.at):
                self.learn(scope, Proved(*told))
            yield
            known = self.known(scope)
            if known:
                turn.tell(known.last_value, known.at)

    # How items are written.

    def partition(self, scope: str | None) -> str:
        """The partition key of a scope's items."""
        template: str = self.option["partition"]
        return template.replace("{sequence}", self.alias).replace("{scope}", scope_text(scope))

    def marker_partition(self, scope: str | None) -> str:
        """The partition key of a scope's markers, which no scope's own can equal."""
        return f"#marker#{self.alias}#{scope_text(scope)}"

    def prepare(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> Write:
        """One write that stores these items, their markers and, if the values come from a counter, the counter."""
        life = self.life
        place = self.place(scope, entries, deadline)
        actions = [place.counter] if place.counter else []
        roles = [("counter", 0)] if place.counter else []
        for index, (entry, value) in enumerate(zip(place.entries, place.values, strict=True)):
            entry.read_units += place.read_units / len(place.entries)
            actions.append(expressions.put_if_absent(self.layout, self._stored_item(scope, entry, value)))
            roles.append(("item", index))
            if entry.marked:
                actions.append(self._marker(scope, entry, value))
                roles.append(("marker", index))
        single = len(actions) == 1
        request_token = place.token or new_token()
        return Write(
            operation="put_item" if single else "transact_write_items",
            request=expressions.single_put(actions[0])
            if single
            else expressions.transaction(actions, request_token=request_token),
            entries=tuple(place.entries),
            values=tuple(place.values),
            roles=tuple(roles),
            token=request_token,
            life=life,
        )

    def _stored_item(self, scope: str | None, entry: Entry, value: int) -> dict[str, Any]:
        key = entry.own_key and {"value": {"N": str(value)}}
        return {**entry.item, **(key or self.layout.key(self.partition(scope), value)), "token": {"S": entry.token}}

    def marker_key(self, scope: str | None, token: str) -> dict[str, Any]:
        """The key of the marker that remembers which value a token got."""
        return self.layout.key(self.marker_partition(scope), expressions.marker_number(token))

    def _marker(self, scope: str | None, entry: Entry, value: int) -> dict[str, Any]:
        now = int(self.wall())
        fields = {
            "token": entry.token,
            "request": entry.name,
            "value": value,
            "digest": entry.digest,
            MARKER_EXPIRY: now + int(self.option["marker_seconds"]),
        }
        marker = {**self.marker_key(scope, entry.token), **dynamodb.marshal(fields)}
        return expressions.put_marker(self.layout, marker, now=now)

    def stored(self, scope: str | None, write: Write, answer: Mapping[str, Any]) -> None:
        """Answer the entries of a write that is stored."""
        if write.life == self.life:
            self.placed(scope, write)
        for entry, value in zip(write.entries, write.values, strict=True):
            entry.settle(self._allocation(scope, entry, value))

    def _allocation(self, scope: str | None, entry: Entry, value: int, *, replayed: bool = False) -> Allocation:
        return Allocation(
            sequence=self.alias,
            scope=scope,
            value=value,
            attempts=entry.attempts,
            replayed=replayed,
            write_units=entry.write_units,
            read_units=entry.read_units,
        )

    def cancelled(self, scope: str | None, write: Write, error: WriteCancelled, deadline: Deadline) -> None:
        """Read the reasons one by one, each for its action.

        First come those that show this very write: it was stored by an earlier sending whose answer was lost, and as
        a write is stored whole or not at all, one such reason proves it for every entry.
        """
        reasons = list(zip(write.roles, error.reasons, strict=False))
        if any(self._is_ours(write, role, index, reason) for (role, index), reason in reasons):
            self.stored(scope, write, {})
            return
        if write.life != self.life:
            return
        # A repeat fails on its own item and on its marker alike; the marker has the first answer.
        for (role, index), reason in sorted(reasons, key=lambda pair: pair[0][0] != "marker"):
            if reason.code == "None" or reason.code in CANCELLATIONS_THAT_HEAL:
                continue
            if role == "counter" and reason.code != "ConditionalCheckFailed":
                raise StorageRefused(f"The counter cannot be written: {reason.code}: {reason.message}") from error
            if role == "counter":
                self.counter_moved(scope, reason, deadline.send)
            else:
                self._refused_action(scope, role, write.entries[index], write.values[index], reason)

    def _is_ours(self, write: Write, role: str, index: int, reason: Reason) -> bool:
        old = reason.old or {}
        match role:
            case "counter":
                return old.get("token") == write.token
            case "marker":
                return (old.get("request"), old.get("value")) == (write.entries[index].name, write.values[index])
            case _:
                return not write.entries[index].marked and old.get("token") == write.entries[index].token

    def _refused_action(self, scope: str | None, role: str, entry: Entry, value: int, reason: Reason) -> None:
        if reason.code != "ConditionalCheckFailed":
            entry.settle(InvalidItem(f"The item cannot be stored: {reason.code}: {reason.message}"))
        elif role == "marker":
            if reason.old:  # an engine that does not tell it is asked again
                self.repeat(scope, entry, reason.old)
        elif entry.own_key:
            entry.settle(_item_exists(entry))
        else:
            self.number_taken(scope, entry, value)

    def repeat(self, scope: str | None, entry: Entry, marker: Mapping[str, Any]) -> None:
        """Answer a repeated request with the first answer, or refuse it if the item is another one."""
        if marker.get("digest") != entry.digest:
            entry.settle(
                IdempotencyMismatch(
                    f"The idempotency token {entry.token!r} was used in {self.alias!r} for another item. "
                    "Use a new token for a new request, and repeat a request unchanged."
                )
            )
        elif "value" in marker:
            entry.settle(self._allocation(scope, entry, int(marker["value"]), replayed=True))
        if "value" in marker:
            self.handed_out(scope, int(marker["value"]))

    # What is shared by those that read collections.

    def highest_stored(self, scope: str | None, send: Send, *, consistent: bool = True) -> tuple[int | None, float]:
        """The highest sort key of a scope's item collection and the read units it took. One query of one item."""
        request = expressions.query_numbers(
            self.layout, self.partition(scope), newest_first=True, limit=1, consistent=consistent
        )
        answer = send("query", request)
        found = [self.layout.number(dynamodb.unmarshal(item)) for item in answer["Items"]]
        return (found[0] if found else None), dynamodb.used_units(answer)

    def find_repeat(self, scope: str | None, entry: Entry, deadline: Deadline) -> None:
        """Answer an entry whose token has a marker that did not expire. One consistent read."""
        request = expressions.read_item(self.layout.table, self.marker_key(scope, entry.token))
        answer = read("get_item", request, deadline=deadline)
        entry.read_units += dynamodb.used_units(answer)
        marker = dynamodb.unmarshal(answer.get("Item", {}))
        if marker.get(MARKER_EXPIRY, 0) > self.wall():
            self.repeat(scope, entry, marker)

    def fitting(self, entries: Sequence[Entry], last_value: int) -> Sequence[Entry]:
        """The first entries for which there are values up to MAXIMUM. Raises SequenceExhausted if there is none."""
        room = (self.maximum - last_value) // self.config.step
        taken = 0
        for index, entry in enumerate(entries):
            taken += entry.count
            if taken > room:
                if index == 0:
                    raise SequenceExhausted(
                        f"The sequence {self.alias!r} has reached its maximum {self.maximum}: raise MAXIMUM"
                        f"{' and the width of the sort key' if self.layout.padded_width else ''}."
                    )
                return entries[:index]
        return entries

    def digest(self, item: Mapping[str, Any]) -> str:
        """A fingerprint of what a repeat must repeat: the item without the attributes of `ignore_in_repeat`."""
        kept = {name: value for name, value in item.items() if name not in self.option["ignore_in_repeat"]}
        return dynamodb.fingerprint(kept)


def _imported(alias: str, path: str | None) -> Callable[..., Any] | None:
    try:
        return import_string(path) if path else None
    except ImportError as error:
        where = f"SEQUENCES[{alias!r}]['OPTIONS']['scopes']"
        raise InvalidSequence(f"{where}: cannot import {path!r}: {error}") from error


def _item_exists(entry: Entry) -> ItemExists:
    key = dynamodb.unmarshal(entry.own_key or {})
    return ItemExists(f"An item with the key {key} is stored already; no value was used up.")


def checked_options(strategy: type[Strategy], config: SequenceConfig) -> dict[str, Any]:
    """OPTIONS with defaults. Raises InvalidSequence for an unknown name or a wrong value, with what is wanted."""
    known = strategy.options
    where = f"SEQUENCES[{config.alias!r}]['OPTIONS']"
    for name, value in config.options.items():
        if name not in known:
            raise InvalidSequence(
                f"{where}: {strategy.__name__} has no option {name!r}; it has {', '.join(sorted(known))}."
            )
        if not known[name].accepts(value):
            raise InvalidSequence(f"{where}[{name!r}] is {value!r}; it must be {known[name].wanted}.")
    return {name: config.options.get(name, option.default) for name, option in known.items()}
