"""One scenario: a few requests, one write for all of them, and a wire that loses, delays, repeats and refuses.

The leader, the strategies and the item writer are those of the package; the engine and the wire are models, and time
passes only here. After the last request is answered, everything still on its way arrives. Then `violations` compares
all answers with the table.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

from django.utils.module_loading import import_string

from sequences import dynamodb
from sequences.actions import Action, Check, Put, Update
from sequences.commit.leader import Leader
from sequences.commit.requests import Pending
from sequences.commit.retries import Timing, new_token
from sequences.commit.waiters import Queue, Waiter
from sequences.dynamodb import TableLife
from sequences.exceptions import (
    AlsoRefused,
    CancellationReason,
    GaveUp,
    InvalidItem,
    ItemExists,
    NotWritten,
    OutcomeUnknown,
    SequenceError,
    WriteCancelled,
)
from sequences.registry import parse_config
from sequences.strategies import Strategy
from sequences.strategies.block import BlockAllocator
from sequences.types import Allocation, SequenceConfig
from tests.model.engine import Engine

__all__ = ["FATES", "KEYS", "OWN_KEYS", "STRATEGIES", "TAKES_FIRST", "Scenario", "World", "violations"]

SCOPE = "ABC"
STRATEGIES = {
    "sort-key": "sequences.strategies.sort_key.SortKeyMaximum",
    "transactional": "sequences.strategies.transactional.TransactionalCounter",
    "atomic": "sequences.strategies.atomic.AtomicCounter",
    "optimistic": "sequences.strategies.optimistic.OptimisticCounter",
    "block": "sequences.strategies.block.BlockAllocator",
    "one-file": "tests.sequences.one_file.ReadThenPut",
}
OWN_KEYS = ("transactional", "atomic", "optimistic", "block")
"""The strategies that take items with keys of their own."""

TAKES_FIRST = ("atomic", "optimistic", "block")
"""The strategies that take values before they store items."""

KEYS = {"items": ("pk", "sk"), "sequences": ("sequence", "scope"), "rows": ("pk", "sk")}
FLAG, COUNTED = {"pk": "flag", "sk": 0}, {"pk": "counted", "sk": 0}
OWN = {"pk": "own", "sk": 0}

EXPECTED = (AlsoRefused, GaveUp, InvalidItem, ItemExists)
"""What a request may be refused with."""

LOST_SECONDS = 1.0  # until a lost answer is given up

FATES = {
    "ok": "answered",
    "lost": "stored, and the answer is lost",
    "never": "not delivered",
    "late": "delivered before the next write",
    "later": "delivered before the second write after it",
    "last": "delivered when every request is answered",
    "twice": "answered, and delivered again when every request is answered",
    "bare": "answered; a refusal leaves the old rows out",
    "busy": "refused for lack of units",
    "conflict": "refused because of another transaction",
    "unreasoned": "answered; a refusal has no reasons",
}
"""What becomes of one send of a write."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Which requests there are, and what becomes of each send of a write; what follows is answered.

    `kinds` has one kind for each request: "plain" is an item alone, "check" one with a Check on a flag, "grow" one with
    an Update that is invalid while an attribute is missing, "own" one with a key of its own that another item may have,
    and "pair" two items together. `tokens` says whether it has an idempotency token. `joins` is the send before
    which the last request comes; 0 for together with the others. `events` come before the send of their place: what the
    requests depend on turns true ("turn") or false ("back"), another process stores an item ("rival"), or the life of
    the tables becomes known ("known").
    """

    strategy: str
    kinds: tuple[str, ...]
    tokens: tuple[bool, ...]
    joins: int = 0
    fates: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    holds_at_first: bool = True


@cache
def _config(path: str) -> SequenceConfig:
    without_list = {"scopes": None}  # which is written before, and tells nothing of the write
    return parse_config("items", {"STRATEGY": path, "TABLE": "items", "OPTIONS": without_list})


@dataclass
class _Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass(kw_only=True)
class Asked:
    """One request: its name, which its item and its rider bear, and its answer."""

    name: str
    kind: str
    token: str | None
    pending: Pending[Any]

    @property
    def answer(self) -> Any:
        return self.pending.answer


class World:
    """The engine, the wire to it, and the process under test."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.engine = Engine(KEYS, hides=True)
        self.clock = _Clock()
        self.place = f"world {new_token()}"  # of which the processes of this host remember nothing yet
        self.on_their_way: list[tuple[int, str, Mapping[str, Any]]] = []
        self.sends = itertools.count()
        self.quiet = False  # the wire does no harm, and nothing is counted
        self.before_send: Callable[[int], None] = lambda place: None
        self.strategy = self._new_strategy()
        if scenario.holds_at_first:
            self.turn("turn")

    def _new_strategy(self) -> Strategy:
        path = STRATEGIES[self.scenario.strategy]
        timing = Timing(clock=self.clock, sleep=self.clock.sleep, uniform=lambda low, high: high)
        strategy: Strategy = import_string(path)(_config(path), timing=timing, wall=self.clock)
        strategy.lives.bind = lambda send, deadline=None: None  # type: ignore[method-assign]  # there is one life
        strategy.lives.become((TableLife(self.place, "", 0),))
        strategy.item_writer.line = None
        if isinstance(strategy, BlockAllocator):
            strategy.prefetch = lambda scope, count: None  # type: ignore[method-assign]  # no threads
            strategy._watch.start = lambda: None  # type: ignore[method-assign]
        return strategy

    # The wire.

    def call(self, operation: str, request: Mapping[str, Any], **_: object) -> dict[str, Any]:
        """One request of the process under test, or of its rival."""
        self.clock.now += 0.001
        if self.quiet or operation in ("get_item", "query", "batch_get_item", "describe_table"):
            return self.engine.serve(operation, request)
        place = next(self.sends)
        self.before_send(place)
        self._arrive(place)
        fates = self.scenario.fates
        return self._sent(fates[place] if place < len(fates) else "ok", place, operation, request)

    def _sent(self, fate: str, place: int, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        last = 1_000_000
        due = {"late": place + 1, "later": place + 2, "last": last, "twice": last}
        if fate in due:
            self.on_their_way.append((due[fate], operation, request))
        match fate:
            case "busy":
                raise NotWritten("busy")
            case "conflict":
                raise WriteCancelled("conflict", (CancellationReason("TransactionConflict"),))
            case "lost":
                self._serve_in_vain(operation, request)
        if fate in ("lost", "never", "late", "later", "last"):
            self.clock.now += LOST_SECONDS
            raise OutcomeUnknown("lost")
        try:
            return self.engine.serve(operation, request)
        except WriteCancelled as error:
            if fate == "bare":
                bare = tuple(CancellationReason(reason.code, None, reason.message) for reason in error.reasons)
                raise WriteCancelled("bare", bare) from None
            if fate == "unreasoned" and operation == "transact_write_items":
                raise WriteCancelled("unreasoned", (CancellationReason("TransactionCanceled"),)) from None
            raise

    def _serve_in_vain(self, operation: str, request: Mapping[str, Any]) -> None:
        try:
            self.engine.serve(operation, request)
        except WriteCancelled:
            pass

    def _arrive(self, place: int) -> None:
        due = [held for held in self.on_their_way if held[0] <= place]
        self.on_their_way = [held for held in self.on_their_way if held[0] > place]
        for _, operation, request in due:
            self._serve_in_vain(operation, request)

    # What happens meanwhile.

    def turn(self, event: str) -> None:
        """What requests depend on becomes true, or false again; or a rival stores an item."""
        rows, items = self.engine.tables["rows"], self.engine.tables["items"]
        flag, counted, own = ("flag", "0"), ("counted", "0"), ("own", "0")
        match event:
            case "turn":
                rows[flag] = dynamodb.marshal({**FLAG, "is": "on"})
                rows[counted] = dynamodb.marshal({**COUNTED, "n": 1})
                if self._is_foreign(own):
                    items.pop(own, None)
            case "back":
                rows.pop(flag, None)
                rows.pop(counted, None)
                if own not in items:
                    items[own] = dynamodb.marshal({**OWN, "who": "foreign", "value": 0})
            case "known":
                self.strategy.lives.become((TableLife(self.place, "the only life", 0),))
            case "rival":
                self._rival()

    def _is_foreign(self, place: tuple[str, ...]) -> bool:
        return dynamodb.unmarshal(self.engine.tables["items"].get(place, {})).get("who") == "foreign"

    def _rival(self) -> None:
        """Another process stores an item, and nothing of it is lost."""
        before, self.quiet = self.quiet, True
        try:
            strategy = self._new_strategy()
            pending = Pending(strategy.item_writer.request({"who": "rival"}, None))
            strategy.put(SCOPE, [pending], strategy.deadline())
        finally:
            self.quiet = before

    # The requests.

    def asked(self) -> list[Asked]:
        return [
            self._asked("ABC"[n], kind, has_token)
            for n, (kind, has_token) in enumerate(zip(self.scenario.kinds, self.scenario.tokens, strict=True))
        ]

    def _asked(self, name: str, kind: str, has_token: bool) -> Asked:
        token = f"token {name}" if has_token else None
        return Asked(name=name, kind=kind, token=token, pending=Pending(self.request(name, kind, token)))

    def request(self, name: str, kind: str, token: str | None) -> Any:
        item = {"who": name, **(OWN if kind == "own" else {})}
        riders: dict[str, list[Action]] = {
            "check": [Check("rows", FLAG, condition="attribute_exists(pk)")],
            "grow": [Update("rows", COUNTED, update="SET n = n + :one", values={":one": 1})],
        }
        rider: list[Action] = [Put("rows", {"pk": f"rider {name}", "sk": 0})] if kind in riders else []
        more = [{"who": name}] if kind == "pair" else []
        return self.strategy.item_writer.request(item, token, also=[*riders.get(kind, ()), *rider], more=more)

    def run(self) -> list[Asked]:
        """Have every request answered, and let everything arrive."""
        asked = self.asked()
        with mock.patch.object(dynamodb, "call", self.call):
            if self.strategy.writes_together:
                self._run_together(asked)
            else:
                self._run_alone(asked)
            self.quiet = True
            self._arrive(2_000_000)
        return asked

    def _events(self, place: int) -> None:
        events = self.scenario.events
        if place < len(events):
            self.turn(events[place])

    def _run_alone(self, asked: Sequence[Asked]) -> None:
        """One call with all requests, as `put_next_many` makes it."""
        self.before_send = self._events
        self.strategy.put(SCOPE, [each.pending for each in asked], self.strategy.deadline())

    def _run_together(self, asked: Sequence[Asked]) -> None:
        """One caller for each request; the last may join later."""
        queues = self.strategy.items
        late = asked[-1] if self.scenario.joins and len(asked) > 1 else None
        waiters = [Waiter([each.pending], self.strategy.deadline()) for each in asked if each is not late]
        queue = Queue(waiters[0])
        queue.waiting.extend(waiters[1:])
        queues._queues[SCOPE] = queue

        def before_send(place: int) -> None:
            nonlocal late
            if late is not None and place >= self.scenario.joins:
                waiters.append(Waiter([late.pending], self.strategy.deadline()))
                queue.waiting.append(waiters[-1])
                late = None
            self._events(place)

        self.before_send = before_send
        self._lead(queues, queue, waiters)
        if late is not None:  # all were answered before it came
            self.strategy.put(SCOPE, [late.pending], self.strategy.deadline())

    def _lead(self, queues: Any, queue: Queue, waiters: Sequence[Waiter]) -> None:
        while any(not waiter.answered for waiter in waiters):
            leader = queue.leader
            if not leader.answered:
                Leader(queues._committer, SCOPE, queue, threading.Lock(), takes_turns=False).run()
            queues._leave(SCOPE, leader)
        queues._queues.pop(SCOPE, None)


def violations(scenario: Scenario) -> Iterator[str]:
    """What of the scenario's end contradicts a guarantee."""
    world = World(scenario)
    asked = world.run()
    rows = [dynamodb.unmarshal(row) for row in world.engine.tables["items"].values()]
    items = [row for row in rows if "who" in row]
    riders = {row for row, _ in world.engine.tables["rows"]}
    for each in asked:
        yield from _about(world, each, [row for row in items if row["who"] == each.name], riders)
    yield from _about_numbers(world, items)
    for each in asked:
        if each.token:
            yield from _repeated(world, each)


def _number(row: Mapping[str, Any]) -> int:
    return int(row["value"] if row["pk"] == "own" else row["sk"])


def _about(world: World, each: Asked, stored: Sequence[Mapping[str, Any]], riders: set[str]) -> Iterator[str]:
    answer, numbers = each.answer, sorted(map(_number, stored))
    if len(stored) not in (0, each.pending.request.count):
        yield f"{each.name} is stored {len(stored)} times: {numbers}"
    if isinstance(answer, Allocation):
        told = [answer.value, *(one.value for one in each.pending.rest)]
        if numbers != told:
            yield f"{each.name} was told {told}, and is stored as {numbers}"
    elif not isinstance(answer, EXPECTED):
        yield f"{each.name} has an unexpected answer: {answer!r}"
    elif not getattr(answer, "outcome_unknown", False) and stored:
        yield f"{each.name} was refused for certain ({answer!r}), and is stored as {numbers}"
    if each.kind in ("check", "grow") and (f"rider {each.name}" in riders) is not bool(stored):
        yield f"{each.name} and its rider are not stored together"


def _about_numbers(world: World, items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    numbers = sorted(_number(row) for row in items if row["who"] != "foreign")
    if len(set(numbers)) < len(numbers):
        yield f"a number is given twice: {numbers}"
    if world.strategy.gapless and numbers != list(range(1, len(numbers) + 1)):
        yield f"there is a gap: {numbers}"


def _repeated(world: World, each: Asked) -> Iterator[str]:
    """A repeat by another process has the first answer, whatever is true by then, and stores nothing more."""
    with mock.patch.object(dynamodb, "call", world.call):
        world.turn("back" if isinstance(each.answer, Allocation) else "turn")
        world.strategy = world._new_strategy()
        pending = Pending(world.request(each.name, each.kind, each.token))
        world.strategy.put(SCOPE, [pending], world.strategy.deadline())
    stored = [dynamodb.unmarshal(row) for row in world.engine.tables["items"].values()]
    numbers = [_number(row) for row in stored if row.get("who") == each.name]
    if len(numbers) != pending.request.count:
        yield f"{each.name} is stored as {numbers} after a repeat with its token: {pending.answer!r}"
    if isinstance(each.answer, Allocation) and isinstance(pending.answer, Allocation):
        if each.answer.value != pending.answer.value:
            yield f"{each.name} was told {each.answer.value}, and its repeat {pending.answer.value}"
    elif isinstance(pending.answer, SequenceError):
        yield f"the repeat of {each.name} is refused: {pending.answer!r}"
