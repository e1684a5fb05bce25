"""One deadline for a call: 10 s are 10 s, at most one second more, whatever the engine does."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from sequences import (
    aget_next_value,
    aput_next,
    asynchronous,
    dynamodb,
    get_last_value,
    get_next_value,
    get_next_values,
    put_next,
    put_next_many,
    put_next_together,
    services,
)
from sequences.commit.requests import Pending, PutRequest
from sequences.commit.retries import GRACE_SECONDS, Deadline
from sequences.commit.waiters import LATE_SECONDS
from sequences.exceptions import GaveUp, NotWritten, OutcomeUnknown
from sequences.registry import Registry, strategies
from sequences.rows import assignments, host_queue
from sequences.services import puts
from sequences.strategies import Strategy
from tests.sequences.support import Clock, Impostor, make, mark_listed, wait_until

NAMES = ["atomic", "optimistic-update", "block", "transactional", "sort-key"]
RESERVING = ["atomic", "optimistic-update", "block"]
SECONDS = 0.5
"""The deadline of every call here."""
STALL = 4.0
"""What a busy machine may take away from a test that waits for a socket."""
ITEMS = [{"n": n} for n in range(250)]
TOKENS = [f"token {n}" for n in range(250)]

Call = Callable[[str, str], object]
Hasty = Callable[..., Strategy]
CALLS: dict[str, Call] = {
    "put": lambda name, scope: put_next(name, {}, scope=scope),
    "put with a token": lambda name, scope: put_next(name, {}, scope=scope, idempotency_token="a token"),
    "put many": lambda name, scope: put_next_many(name, ITEMS, scope=scope),
    "put many with tokens": lambda name, scope: put_next_many(name, ITEMS, scope=scope, idempotency_tokens=TOKENS),
    "look": lambda name, scope: get_last_value(name, scope=scope),
}
TAKES: dict[str, Call] = {
    "take": lambda name, scope: get_next_value(name, scope=scope),
    "take many": lambda name, scope: get_next_values(1000, name, scope=scope),
}


def seconds_until_it_gives_up(call: Call, name: str, scope: str, clock: Callable[[], float] = time.monotonic) -> float:
    """How long a call takes that has to give up."""
    began = clock()
    with pytest.raises(GaveUp):
        call(name, scope)
    return clock() - began


@pytest.fixture
def hasty(install: Callable[..., Strategy], clock: Clock) -> Hasty:
    """Give the strategy of a name a short deadline by the clock of the test, and let it know its tables."""

    def shorten(name: str, seconds: float = SECONDS) -> Strategy:
        strategy = install(name, clock=clock, deadline=seconds)
        strategy.lives.bind(dynamodb.call)
        return strategy

    return shorten


@pytest.fixture
def dripping(impostor: type[Impostor]) -> None:
    """An engine that answers a byte at a time, each well within the time-out between two bytes."""
    dynamodb.shared_client()
    impostor.pause = 0.1


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An engine that accepts connections and never reads from them."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{listener.getsockname()[1]}")
        dynamodb.reset()
        dynamodb.shared_client()
        yield
    dynamodb.reset()


def answering_after(clock: Clock, pauses: Mapping[str, float]) -> Callable[..., dict[str, Any]]:
    """An engine that answers some operations after so many seconds, with nothing, and is too busy for the others."""

    def engine(operation: str, request: Mapping[str, Any], *, seconds: float = 3.0, **options: Any) -> dict[str, Any]:
        if operation not in pauses:
            clock.now += min(seconds, 0.2)
            raise NotWritten("busy")
        clock.now += min(seconds, pauses[operation])
        if seconds < pauses[operation]:
            raise OutcomeUnknown("no answer")
        return {"Items": []}

    return engine


class TestOneBudget:
    @pytest.mark.parametrize(("name", "call"), [*product(NAMES, CALLS.values()), *product(RESERVING, TAKES.values())])
    def test_a_busy_engine(
        self, name: str, scope: str, call: Call, hasty: Hasty, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Marker look-ups, reads, reservations, writes and pauses share one deadline; so do values without items."""
        hasty(name)
        monkeypatch.setattr(dynamodb, "call", answering_after(clock, {}))
        assert seconds_until_it_gives_up(call, name, scope, clock) <= SECONDS + 1

    def test_many_slow_look_ups(self, scope: str, hasty: Hasty, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """The markers of many items are looked up within one deadline, however slowly each is answered."""
        hasty("atomic")
        monkeypatch.setattr(dynamodb, "call", answering_after(clock, {"get_item": 0.2}))
        assert seconds_until_it_gives_up(CALLS["put many with tokens"], "atomic", scope, clock) <= SECONDS + 1

    def test_a_late_reservation(self, scope: str, hasty: Hasty, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """A reservation gets what the look-up and the reads before it have left of the deadline."""
        hasty("atomic", 2.0)
        monkeypatch.setattr(dynamodb, "call", answering_after(clock, {"get_item": 1.9, "query": 0.4}))
        assert seconds_until_it_gives_up(CALLS["put with a token"], "atomic", scope, clock) <= 3.0


class TestOneRequest:
    @pytest.mark.parametrize("name", ["sort-key", "atomic", "transactional"])
    @pytest.mark.parametrize("call", CALLS)
    def test_an_answer_in_drops(
        self, name: str, scope: str, call: str, install: Callable[..., Strategy], dripping: None
    ) -> None:
        """A request ends in bounded time also when the engine sends a byte now and then."""
        install(name, deadline=SECONDS)
        assert seconds_until_it_gives_up(CALLS[call], name, scope) <= SECONDS + 1 + STALL

    def test_an_engine_that_does_not_read(self, deaf: None) -> None:
        """A request ends in bounded time also when the engine does not take it in."""
        item = {"text": {"S": "x" * 32_000_000}}  # more than the system keeps for the other side
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            dynamodb.call("put_item", {"TableName": "items", "Item": item}, seconds=2.0)  # to sign it takes a part
        assert time.monotonic() - began <= 3.0 + STALL


def test_less_than_a_second(install: Callable[..., Strategy], scope: str) -> None:
    """A deadline may be less than a second."""
    assert install("atomic", deadline=0.5).deadline().left <= 0.5


FIRST_CALLS: dict[str, tuple[str, Call]] = {
    "put": ("sort-key", CALLS["put"]),
    "put together": ("sort-key", lambda name, scope: put_next_together(name, ITEMS[:2], scope=scope)),
    "take": ("atomic", TAKES["take"]),
    "take many": ("atomic", TAKES["take many"]),
    "await a put": ("sort-key", lambda name, scope: asyncio.run(aput_next(name, {}, scope=scope))),
    "await a value": ("atomic", lambda name, scope: asyncio.run(aget_next_value(name, scope=scope))),
}


@pytest.mark.parametrize(("name", "call"), FIRST_CALLS.values(), ids=FIRST_CALLS)
def test_the_first_call(
    configured: str, scope: str, name: str, call: Call, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadline of a call begins with it, not when its strategy is made."""
    strategy = make(name, clock=clock, deadline=SECONDS)
    took = SECONDS + GRACE_SECONDS + 0.125

    def slowly(registry: Registry, alias: str) -> Strategy:
        clock.now += took
        return strategy

    for module in (services, puts, asynchronous, assignments):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.delitem(strategies._made, name, raising=False)
    monkeypatch.setattr(Registry, "_make", slowly)
    with pytest.raises(GaveUp) as caught:
        call(name, scope)
    del strategies._made[name]
    assert caught.value.seconds >= took
    assert not caught.value.outcome_unknown


class TestGroups:
    def test_throttled_and_then_silent(
        self, scope: str, hasty: Hasty, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Callers that come one after the other into a write that is never answered each keep their own deadline."""
        began, deadlines, told = clock.now, dict[int, Deadline](), set[int]()

        def pass_by(seconds: float, own: int) -> None:
            """Let time pass, while callers come, and are told that theirs is over; the one that waits here is not."""
            until = clock.now + seconds
            while clock.now < until:
                clock.now = min(until, clock.now + 0.05)
                come = {n for n in range(12) if clock.now >= began + n * SECONDS / 12}
                wait_until(lambda come=come: come <= deadlines.keys())  # type: ignore[misc]
                over = {n for n, deadline in list(deadlines.items()) if deadline.left < -0.9}
                wait_until(lambda over=over: over - {own} <= told)  # type: ignore[misc]

        def engine(operation: str, request: Mapping[str, Any], *, seconds: float, **options: Any) -> dict[str, Any]:
            if operation == "query":
                return {"Items": []}
            if clock.now < began + 0.9 * SECONDS:
                raise NotWritten("throttled")
            pass_by(min(seconds, 3.0), caller.number)
            raise OutcomeUnknown("no answer")

        def put(number: int) -> float:
            wait_until(lambda: clock.now >= began + number * SECONDS / 12)
            caller.number, pending = number, Pending(PutRequest(item={}))
            timing = clock.timing(sleep=lambda seconds: pass_by(seconds, number))
            deadlines[number] = deadline = Deadline(timing=timing, seconds=SECONDS)
            strategy.items.submit(scope, [pending], deadline)
            assert isinstance(pending.answer, GaveUp)
            told.add(number)
            return deadline.spent

        strategy, caller = hasty("sort-key"), threading.local()
        mark_listed("sort-key", scope)
        monkeypatch.setattr(host_queue, "LOOK_SECONDS", math.inf)
        monkeypatch.setattr(dynamodb, "call", engine)
        with ThreadPoolExecutor(12) as threads:
            took = list(threads.map(put, range(12)))
        assert max(took) <= SECONDS + 1

    def test_a_leader_with_more_time(
        self, scope: str, hasty: Hasty, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A caller keeps its own deadline in a write whose leader has a later one."""
        strategy, busy, told = hasty("sort-key"), threading.Event(), threading.Event()
        mark_listed("sort-key", scope)

        def engine(operation: str, request: Mapping[str, Any], *, seconds: float, **options: Any) -> dict[str, Any]:
            if operation == "query":
                return {"Items": []}
            if operation == "put_item":
                busy.set()
                wait_until(lambda: strategy.items._queues[scope].waiting)
                raise NotWritten("throttled")
            silent = min(seconds, 3.0)
            clock.now += min(silent, SECONDS + LATE_SECONDS)
            assert told.wait(60)
            clock.now += max(0.0, silent - SECONDS - LATE_SECONDS)
            raise OutcomeUnknown("no answer")

        def put(seconds: float) -> float:
            pending, deadline = Pending(PutRequest(item={})), Deadline(timing=clock.timing(), seconds=seconds)
            strategy.items.submit(scope, [pending], deadline)
            assert isinstance(pending.answer, GaveUp)
            assert pending.answer.outcome_unknown
            return deadline.spent

        monkeypatch.setattr(dynamodb, "call", engine)
        with ThreadPoolExecutor(1) as threads:
            leader = threads.submit(put, 4.0)
            assert busy.wait(60)
            assert put(SECONDS) <= SECONDS + 1
            told.set()
            assert leader.result() <= 5.0

    def test_the_write_goes_on_for_the_others(self, scope: str, hasty: Hasty, clock: Clock) -> None:
        """When the leader's deadline passes with its answer lost, the others of its write still get their numbers."""
        strategy = hasty("sort-key")
        mark_listed("sort-key", scope)
        send, lost = dynamodb.call, threading.Event()

        def engine(operation: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
            answer = send(operation, request, **{**options, "seconds": 30.0})
            if operation == "query" or lost.is_set():
                return answer
            lost.set()
            wait_until(lambda: len(strategy.items._queues[scope].waiting) == 3)
            clock.now += SECONDS
            raise OutcomeUnknown("the answer was lost")

        def put(title: str) -> object:
            try:
                return put_next("sort-key", {"title": title}, scope=scope).value
            except GaveUp as gave_up:
                return gave_up.outcome_unknown

        with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(4) as threads:
            patch.setattr(dynamodb, "call", engine)
            first = threads.submit(put, "first")
            assert lost.wait(60)
            strategy.option["deadline"] = 30.0
            others = [threads.submit(put, f"{n}") for n in range(3)]
            assert first.result() is True
            assert sorted(str(other.result()) for other in others) == ["2", "3", "4"]
        assert strategy.last_value(scope) == 4
