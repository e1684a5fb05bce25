"""What a process keeps of its scopes is bounded, however many it has seen."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sequences import dynamodb, put_next
from sequences.registry import strategies
from sequences.rows.lru import LRU, SCOPES_REMEMBERED
from tests.sequences.support import Meeting, remember_at_most

MANY = 500
BOUND = 100


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


class TestRecent:
    def test_the_latest_stay(self) -> None:
        """The scopes that were used last are remembered, the others are not."""
        recent: LRU[int] = LRU(most=3)
        for n in range(5):
            recent.put(f"{n}", n)
        assert [recent.get(f"{n}") for n in range(5)] == [None, None, 2, 3, 4]
        assert len(recent) == 3

    def test_the_scope_that_is_dropped_is_handed_on(self) -> None:
        """`dropped` is called with the scope that makes room, and with no other."""
        told: list[object] = []
        recent: LRU[int] = LRU(most=2, dropped=told.append)
        for name in ("a", "b", "a", "c"):
            recent.put(name, 1)
        recent.forget("a")
        assert told == ["b"]

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
        """A thread that forgets a scope, or all, while another one writes comes before or after it, and not between."""
        recent: LRU[int] = LRU()
        scope, threads = Meeting("a"), []

        def forget() -> None:
            threads.append(threading.Thread(target=forget_it, args=(recent,)))
            threads[-1].start()
            threads[-1].join(0.1)

        scope.first = forget
        recent.put(scope, 1)
        for thread in threads:
            thread.join(30)
        assert threads
        assert recent.get("a") is None
