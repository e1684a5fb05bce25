"""What a process keeps of its scopes is bounded, however many it has seen."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from sequences import dynamodb, put_next
from sequences.registry import strategies
from sequences.rows import lru
from sequences.rows.lru import LRU, SCOPES_REMEMBERED
from tests.attacks.interruptions import Alarm, Interruption, Place, ringing
from tests.sequences.support import remember_at_most

MANY = 200
BOUND = 40


def empty_engine(operation: str, request: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """An engine that stores everything and has nothing."""
    amount = request.get("ExpressionAttributeValues", {}).get(":amount", {"N": "1"})
    return {"Items": [], "Attributes": {"last_value": amount}, "Table": {"TableId": "the one life"}}


def kept(thing: object, seen: set[int] | None = None) -> int:
    """How many values are held by an object of ours, and by all that it holds."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, Mapping):
        return len(thing) + sum(kept(value, seen) for value in thing.values())
    if isinstance(thing, list | tuple | set | deque):
        return len(thing) + sum(kept(value, seen) for value in thing)
    if type(thing).__module__.startswith("sequences.") and hasattr(thing, "__dict__"):
        return kept(vars(thing), seen)  # an object that lives on: the id of one that does not is soon another's
    return 0


@pytest.mark.parametrize("name", ["atomic", "optimistic-put", "transactional", "block", "sort-key"])
def test_many_scopes(
    name: str, configured: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After many scopes a strategy holds no more than after the first half of them, which was above its bound."""
    caplog.set_level(logging.WARNING, "sequences")
    remember_at_most(BOUND, monkeypatch)
    dynamodb.account()
    monkeypatch.setattr(dynamodb, "call", empty_engine)
    before = kept(strategies[name])
    for n in range(MANY // 2):
        put_next(name, {}, scope=f"{n}", idempotency_token="a token")
    half = kept(strategies[name])
    for n in range(MANY // 2, MANY):
        put_next(name, {}, scope=f"{n}", idempotency_token="a token")
    assert half - before >= BOUND
    assert kept(strategies[name]) == half
    strategies.reset()


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    """An alarm for this test alone."""
    with ringing() as alarm:
        yield alarm


class TestRecent:
    def test_the_latest_stay(self) -> None:
        """The scopes that were used last are remembered, the others are not."""
        recent: LRU[int] = LRU(most=3)
        for n in range(5):
            recent.put(f"{n}", n)
        assert [recent.get(f"{n}") for n in range(5)] == [None, None, 2, 3, 4]
        assert len(recent) == 3

    def test_the_scope_that_is_dropped_is_handed_on(self) -> None:
        """`dropped` is called with the scope that makes room, before and after it is dropped, and with no other."""
        told: list[object] = []
        recent: LRU[int] = LRU(most=2, dropped=told.append)
        for name in ("a", "b", "a", "c"):
            recent.put(name, 1)
        recent.forget("a")
        assert told == ["b", "b"]

    def test_the_bound_by_default(self) -> None:
        """Unless another bound is given, as many scopes are remembered as the constant says."""
        recent: LRU[int] = LRU()
        for n in range(SCOPES_REMEMBERED + 10):
            recent.put(f"{n}", n)
        assert len(recent) == SCOPES_REMEMBERED

    def test_a_scope_in_use_stays(self) -> None:
        """A scope that is written again and again stays while others come and go."""
        recent: LRU[int] = LRU(most=3)
        for n in range(100):
            recent.put("busy", n)
            recent.put(f"{n}", n)
        assert recent.get("busy") == 99

    def test_forgetting(self) -> None:
        """A scope can be forgotten, more than once."""
        recent: LRU[int] = LRU()
        recent.put(None, 1)
        recent.forget(None)
        recent.forget(None)
        assert recent.get(None) is None
        assert len(recent) == 0

    def test_a_scope_that_is_written_again_is_a_late_one(self) -> None:
        """What counts is when a scope was written last, not when it was written first."""
        recent: LRU[int] = LRU(most=3)
        for name in ("busy", "a", "busy", "b", "c"):
            recent.put(name, 1)
        assert [recent.get(name) for name in ("busy", "a", "b", "c")] == [1, None, 1, 1]

    @pytest.mark.parametrize("forget_it", [lambda recent: recent.forget("a"), LRU.clear], ids=["one", "all"])
    def test_forgetting_meanwhile(self, forget_it: Callable[[LRU[int]], None]) -> None:
        """Another thread may forget a scope, or all, between any two steps of a write, as a signal's handler may."""
        found = set()
        for number in itertools.count(1):
            recent: LRU[int] = LRU()
            with Place(number, Interruption(partial(forget_it, recent)), files=(lru.__file__,)) as place:
                recent.put("a", 1)
            if not place.reached:
                break
            found.add(recent.get("a"))
        assert found == {1, None}

    def test_what_another_thread_drops_meanwhile(self) -> None:
        """Between the two calls of `dropped` another thread may have dropped the scope, and the next oldest goes."""
        told: list[object] = []

        def dropped(scope: object) -> None:
            told.append(scope)
            if len(told) == 1:
                recent.forget(scope)  # type: ignore[arg-type]

        recent: LRU[int] = LRU(most=2, dropped=dropped)
        for name in ("a", "b", "c"):
            recent.put(name, 1)
        assert told == ["a", "b"]
        assert [recent.get(name) for name in "abc"] == [None, None, 1]

    def test_what_is_too_much_goes(self) -> None:
        """What threads that met have left beyond the bound goes with the next write."""
        recent: LRU[int] = LRU(most=2)
        recent._values.update({f"{n}": n for n in range(5)})
        recent.put("the last", 1)
        assert [*recent._values] == ["4", "the last"]

    def test_many_threads(self) -> None:
        """Threads that write, read and forget at the same time meet no error, and no more is kept than the bound."""
        recent: LRU[int] = LRU(most=5, dropped=lambda _: None)

        def use(number: int) -> None:
            for n in range(3000):
                recent.put(f"{(n * number) % 17}", n)
                recent.get(f"{n % 17}")
                recent.forget(f"{(n + number) % 17}")

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(use, range(1, 9)))
        recent.put("the last", 1)
        assert len(recent) <= 5

    def test_an_interrupted_write_keeps_nobody_waiting(self, alarm: Alarm) -> None:
        """A signal's handler may wait for another thread that writes, wherever it interrupts a write."""
        recent: LRU[int] = LRU(most=1, dropped=lambda _: None)

        def write_elsewhere() -> None:
            writer = threading.Thread(target=recent.put, args=("b", 2), daemon=True)
            writer.start()
            writer.join(20)
            assert not writer.is_alive()

        for number in itertools.count(1):
            place = Place(number, Interruption(write_elsewhere), files=(lru.__file__,))
            with alarm.within(30), place:
                recent.put("a", 1)
            if not place.reached:
                break
        assert number > 3
