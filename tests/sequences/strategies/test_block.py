"""Blocks: served once across threads and forks, fetched before they are needed, as large as the rate wants."""

from __future__ import annotations

import _thread
import atexit
import gc
import logging
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any
from unittest import mock

import pytest

from sequences import changes, dynamodb, get_last_value, get_next_value, get_next_values, put_next
from sequences.commit.retries import Deadline
from sequences.exceptions import (
    InvalidSequence,
    OutcomeUnknown,
    SequenceExhausted,
    SequenceFrozen,
    SequenceUnavailable,
)
from sequences.registry import strategies
from sequences.services.arguments import reserving
from sequences.strategies import BlockAllocator, Strategy, block, block_pool, held_blocks
from sequences.testing.callers import at_once, take_some
from tests.sequences.support import Clock, Meeting, Processes, Wire, make, read_counter, unused, wait_until

pytestmark = pytest.mark.usefixtures("configured")


@pytest.fixture
def allocator(install: Callable[..., Strategy], clock: Clock) -> BlockAllocator:
    """The allocator of the sequence "block", with blocks of 10 and a clock that stands still."""
    strategy = install("block", clock=clock, block_size=10)
    assert isinstance(strategy, BlockAllocator)
    return strategy


def test_without_the_interpreters_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two threads could get one value, the strategy is refused."""
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(InvalidSequence, match=r"\['STRATEGY'\]: .* by the interpreter's lock \(GIL\), which is off"):
        make("block")


def reserved(scope: str) -> int:
    """The end of the last block that was reserved."""
    last_value = read_counter("block", scope).get("last_value", 0)
    assert isinstance(last_value, int)
    return last_value


class Fetches:
    """The fetches of an allocator: each may be held back, or fail."""

    def __init__(self, allocator: BlockAllocator, monkeypatch: pytest.MonkeyPatch) -> None:
        self.original = allocator.fetch
        self.sizes: list[int] = []
        self.threads: list[threading.Thread] = []
        self.done = 0
        self.fail = 0
        self.open = threading.Event()
        self.open.set()
        self.allocator = allocator
        monkeypatch.setattr(allocator, "fetch", self)

    @property
    def settled(self) -> bool:
        """Whether no fetch is under way."""
        return all(fetch.done for fetch in self.allocator._fetches) and self.done == len(self.sizes)

    def __call__(self, scope: str | None, count: int, deadline: Deadline) -> object:
        self.sizes.append(count)
        self.threads.append(threading.current_thread())
        try:
            assert self.open.wait(30)
            if self.fail:
                self.fail -= 1
                raise SequenceUnavailable("the engine was away", attempts=1, seconds=1.0)
            return self.original(scope, count, deadline)
        finally:
            self.done += 1


@pytest.fixture
def fetches(allocator: BlockAllocator, monkeypatch: pytest.MonkeyPatch) -> Fetches:
    """The fetches of the allocator."""
    return Fetches(allocator, monkeypatch)


class TestFetching:
    def test_one_request_a_block(self, allocator: BlockAllocator, scope: str, wire: Wire) -> None:
        """A block is reserved by one request, and its values come from memory; before the first the items are asked."""
        assert take_some("block", scope, 5) == [1, 2, 3, 4, 5]
        assert wire.operations == ["Query", "GetItem", "UpdateItem"]
        assert get_last_value("block", scope=scope) == 10

    def test_nobody_waits(self, allocator: BlockAllocator, scope: str, fetches: Fetches) -> None:
        """When half of a block is used the next one is fetched by another thread, while the second half is served."""
        assert take_some("block", scope, 5) == [1, 2, 3, 4, 5]
        assert fetches.done == 1
        fetches.open.clear()
        assert take_some("block", scope, 5) == [6, 7, 8, 9, 10]
        assert fetches.done == 1
        wait_until(lambda: len(fetches.sizes) == 2)
        assert fetches.threads[1] is not threading.current_thread()
        fetches.open.set()
        wait_until(lambda: fetches.done == 2)
        assert take_some("block", scope, 1) == [11]
        assert len(fetches.sizes) == 2

    def test_in_steady_state(self, allocator: BlockAllocator, scope: str, fetches: Fetches) -> None:
        """In steady state no caller fetches a block itself."""
        for _ in range(200):
            get_next_value("block", scope=scope)
            wait_until(lambda: fetches.settled)
        assert fetches.threads.count(threading.current_thread()) == 1
        assert len(fetches.threads) > 1

    def test_threads(self, allocator: BlockAllocator, scope: str) -> None:
        """16 threads at once get every value of the blocks once."""
        told = at_once(16, lambda _: take_some("block", scope, 100))
        values = sorted(value for part in told for value in part)
        assert values == list(range(1, 1601))

    def test_a_failing_fetch(self, allocator: BlockAllocator, scope: str, fetches: Fetches) -> None:
        """A fetch that failed in the background is done again by the caller who needs the block."""
        take_some("block", scope, 5)
        fetches.fail = 1
        assert take_some("block", scope, 5) == [6, 7, 8, 9, 10]
        wait_until(lambda: fetches.done == 2)
        assert take_some("block", scope, 1) == [11]

    def test_a_fetch_that_fails_for_the_caller(self, allocator: BlockAllocator, scope: str, fetches: Fetches) -> None:
        """A caller whose own fetch fails gets the error; the next caller tries again, and no value is lost."""
        fetches.fail = 1
        with pytest.raises(SequenceUnavailable, match="away"):
            get_next_value("block", scope=scope)
        assert take_some("block", scope, 11) == list(range(1, 12))

    def test_a_fetch_that_takes_too_long(self, allocator: BlockAllocator, scope: str, fetches: Fetches) -> None:
        """A caller that waits behind another caller's fetch gives up at the deadline, and takes no value."""
        fetches.open.clear()
        with ThreadPoolExecutor(1) as thread:
            first = thread.submit(get_next_value, "block", scope=scope)
            wait_until(lambda: fetches.sizes)
            with pytest.raises(SequenceUnavailable, match="nothing was stored"):
                allocator.reserve(scope, 1, Deadline(seconds=0.05))
            fetches.open.set()
            assert first.result() == 1
        assert get_next_value("block", scope=scope) == 2

    def test_a_fetch_ahead_that_takes_too_long(self, allocator: BlockAllocator, scope: str, fetches: Fetches) -> None:
        """A caller that waits too long for the block fetched ahead gives up, and the block stays for other callers."""
        take_some("block", scope, 5)
        fetches.open.clear()
        take_some("block", scope, 5)
        with pytest.raises(SequenceUnavailable, match="nothing was stored"):
            allocator.reserve(scope, 1, Deadline(seconds=0.05))
        fetches.open.set()
        wait_until(lambda: fetches.settled)
        assert get_next_value("block", scope=scope) == 11
        assert len(fetches.sizes) == 2

    @pytest.mark.parametrize("count", [3, 7, 10])
    def test_many_at_once(self, allocator: BlockAllocator, scope: str, count: int) -> None:
        """Many values at once are larger than those handed out before, and smaller than those that follow."""
        before = take_some("block", scope, 4)
        together = list(get_next_values(count, "block", scope=scope))
        after = take_some("block", scope, 30)
        told = [*before, *together, *after]
        assert len(together) == count
        assert told == sorted(set(told))

    def test_more_than_a_block_at_once(self, allocator: BlockAllocator, scope: str, wire: Wire) -> None:
        """More values than a block are one range, by one request, and none of them is served again."""
        before = take_some("block", scope, 4)
        wire.clear()
        together = get_next_values(25, "block", scope=scope)
        assert wire.operations == ["UpdateItem"]
        after = take_some("block", scope, 30)
        assert together == range(together[0], together[0] + 25)
        assert len({*before, *together, *after}) == 4 + 25 + 30

    @pytest.mark.needs_engine
    def test_its_share_of_the_units(self, allocator: BlockAllocator, scope: str, wire: Wire) -> None:
        """An item pays its share of the block's write unit beside its own."""
        assert put_next("block", {}, scope=scope).write_units == pytest.approx(1.1)


class TestWithoutThreads:
    def test_values_go_on(self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no thread can be started callers fetch the blocks themselves, without a gap; later threads do again."""

        def full(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(_thread, "start_new_thread", full)
            assert take_some("block", scope, 200) == list(range(1, 201))
        assert allocator._fetches == []
        take_some("block", scope, 60)
        wait_until(lambda: bool(allocator._fetches) and all(fetch.done for fetch in allocator._fetches))


class TestInner:
    """Values that a signal's handler takes, where another thread may wait for the one that it interrupted."""

    @pytest.fixture(autouse=True)
    def _inner(self, allocator: BlockAllocator, monkeypatch: pytest.MonkeyPatch) -> None:
        main = threading.current_thread()
        for module in (block, block_pool):
            monkeypatch.setattr(module, "is_inner", lambda: threading.current_thread() is main)

    def test_another_thread_refills(self, allocator: BlockAllocator, scope: str) -> None:
        """It does not wait for that thread: it takes a block of its own, from which all are served then."""
        held, free, pool = threading.Event(), threading.Event(), allocator._held.pool(scope)

        def hold() -> None:
            with pool.lock:
                held.set()
                assert free.wait(30)

        with ThreadPoolExecutor(1) as thread:
            thread.submit(hold)
            assert held.wait(30)
            assert take_some("block", scope, 2) == [1, 2]
            free.set()
        assert take_some("block", scope, 2) == [3, 4]

    def test_a_block_that_is_fetched_ahead(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It does not wait for that block, whose values stay unused, so that none comes after a higher one."""
        main, original, free = threading.current_thread(), allocator.fetch, threading.Event()

        def fetch(scope: str, count: int, deadline: Deadline) -> object:
            assert threading.current_thread() is main or free.wait(30)
            return original(scope, count, deadline)

        monkeypatch.setattr(allocator, "fetch", fetch)
        assert take_some("block", scope, 11) == list(range(1, 12))
        free.set()
        wait_until(lambda: all(fetching.done for fetching in allocator._fetches))
        values = take_some("block", scope, 30)
        assert values == sorted(values)
        assert values[0] == 12


class TestForks:
    def test_nothing_twice(self, allocator: BlockAllocator, scope: str, forked: Processes) -> None:
        """What a process has left of a block stays its own: children fetch blocks themselves."""
        before = take_some("block", scope, 7)
        told = forked.run(take_some, "block", scope, 15)
        after = take_some("block", scope, 15)
        values = [*before, *after, *(value for part in told for value in part)]
        assert len(set(values)) == len(values)
        assert after[:3] == [8, 9, 10]

    def test_a_fork_during_a_fetch(
        self, allocator: BlockAllocator, scope: str, fetches: Fetches, forked: Processes
    ) -> None:
        """A child that is forked while a block is being fetched does not wait for it."""
        take_some("block", scope, 5)
        fetches.open.clear()
        take_some("block", scope, 1)
        wait_until(lambda: len(fetches.sizes) == 2)
        told = forked.run(take_some, "block", scope, 5)
        fetches.open.set()
        values = [value for part in told for value in part]
        assert len(set(values)) == 20
        assert take_some("block", scope, 4) == [7, 8, 9, 10]


class TestSizes:
    def test_they_follow_the_rate(self, allocator: BlockAllocator, scope: str, clock: Clock, fetches: Fetches) -> None:
        """A block used up within a second is followed by a larger one, one that lasts a minute by a smaller one."""
        for seconds, wanted in [(0.5, 20), (0.5, 40), (10, 40), (61, 20), (61, 10), (61, 10)]:
            self._use_a_block(allocator, scope, clock, seconds, fetches)
            assert fetches.sizes[-1] == wanted

    def test_they_are_bounded(
        self, install: Callable[..., Strategy], scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A block does not grow beyond `max_block_size`."""
        clock = Clock()
        strategy = install("block", clock=clock, block_size=10, max_block_size=25)
        assert isinstance(strategy, BlockAllocator)
        fetches = Fetches(strategy, monkeypatch)
        for _ in range(4):
            self._use_a_block(strategy, scope, clock, 0.1, fetches)
        assert fetches.sizes[-1] == 25

    def _use_a_block(
        self, allocator: BlockAllocator, scope: str, clock: Clock, seconds: float, fetches: Fetches
    ) -> None:
        """Let time pass, and take values until the next block is asked for."""
        clock.now += seconds
        before = len(fetches.sizes)
        while len(fetches.sizes) == before or not fetches.settled or len(fetches.sizes) < 2:
            get_next_value("block", scope=scope)
            wait_until(lambda: fetches.settled)

    def test_by_default_they_are_bounded_too(
        self, install: Callable[..., Strategy], scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without `max_block_size` a block grows to 100 times `block_size`, and not beyond."""
        clock = Clock()
        strategy = install("block", clock=clock, block_size=2)
        assert isinstance(strategy, BlockAllocator)
        fetches = Fetches(strategy, monkeypatch)
        for _ in range(8):
            self._use_a_block(strategy, scope, clock, 0.1, fetches)
        assert fetches.sizes[-3:] == [128, 200, 200]


class TestUnused:
    def test_they_are_counted(self, allocator: BlockAllocator, scope: str, fetches: Fetches) -> None:
        """What is reserved and not handed out is counted, a block that is fetched already too."""
        told = take_some("block", scope, 4)
        assert unused(allocator) == reserved(scope) - len(told) == 6
        told += take_some("block", scope, 3)
        wait_until(lambda: fetches.done == 2)
        assert unused(allocator) == reserved(scope) - len(told)

    def test_nothing_to_report(self, allocator: BlockAllocator, logged: pytest.LogCaptureFixture) -> None:
        """A process that reserved nothing says nothing when it stops."""
        with logged.at_level(logging.INFO, "sequences"):
            allocator.give_back()
        assert logged.text == ""

    def test_scopes_are_bounded(self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Blocks of few scopes are held; what an old one had left becomes a gap, and nothing comes twice."""
        monkeypatch.setattr(held_blocks, "BLOCKS_HELD", 4)
        for n in range(10):
            assert take_some("block", f"{scope}-{n}", 2) == [1, 2]
        assert len(allocator._held.pools) == 4
        assert take_some("block", f"{scope}-0", 1) == [11]

    def test_the_scope_used_least_recently(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The block that goes is of the scope that was used least recently, not of the one that began first."""
        monkeypatch.setattr(held_blocks, "BLOCKS_HELD", 4)
        for n in range(10):
            assert take_some("block", scope, 1) == [n + 1]
            take_some("block", f"{scope}-{n}", 1)
        assert take_some("block", f"{scope}-8", 1) == [2]
        assert take_some("block", f"{scope}-1", 1) == [11]


def test_the_registry_serves_one_allocator() -> None:
    """All threads of a process share the blocks."""
    assert len({id(strategy) for strategy in at_once(8, lambda _: strategies["block"])}) == 1


def test_threads_that_come_first(install: Callable[..., Strategy], scope: str) -> None:
    """Threads that ask a new strategy at the same moment are served from one block."""
    for number in range(10):
        install("block", block_size=100)
        at = f"{scope}-{number}"
        taken = at_once(8, lambda _, at=at: get_next_value("block", scope=at))  # type: ignore[misc]
        assert sorted(taken) == list(range(1, 9))


@pytest.mark.parametrize("maximum", [1, 3, 13])
def test_near_the_maximum(install: Callable[..., Strategy], scope: str, maximum: int) -> None:
    """Where no whole block is left, a smaller one is served, up to the last value."""
    install("block", block_size=10, MAXIMUM=maximum)
    assert take_some("block", scope, maximum) == list(range(1, maximum + 1))
    with pytest.raises(SequenceExhausted):
        get_next_value("block", scope=scope)


def test_given_back_before_the_end(install: Callable[..., Strategy], scope: str) -> None:
    """At the end of the sequence a running process takes what others have given back since, and then refuses."""
    other = install("block", block_size=10, MAXIMUM=20)
    assert isinstance(other, BlockAllocator)
    running = reserving(make("block", block_size=10, MAXIMUM=20))
    assert [running.next_value(scope) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert [other.next_value(scope) for _ in range(3)] == [11, 12, 13]
    other.give_back()
    assert [running.next_value(scope) for _ in range(12)] == [*range(6, 11), *range(14, 21)]
    for _ in range(2):
        with pytest.raises(SequenceExhausted):
            running.next_value(scope)


def test_a_block_that_comes_while_all_are_forgotten(allocator: BlockAllocator, scope: str, wire: Wire) -> None:
    """A block is served before what is remembered is forgotten, or after it, and not meanwhile."""
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with allocator._held.lock:
            held.set()
            go_on.wait(30)

    with ThreadPoolExecutor(2) as threads:
        wire.before("UpdateItem", lambda: (threads.submit(hold), held.wait(30)))
        taking = threads.submit(get_next_value, "block", scope=scope)
        assert held.wait(30)
        wait_until(lambda: "UpdateItem" in wire.operations)
        time.sleep(0.2)
        assert not any(pool.unserved > 5 for pool in allocator._held.pools.values())
        go_on.set()
        assert taking.result() == 1


def test_a_value_that_is_held_back(allocator: BlockAllocator, scope: str) -> None:
    """It is served next, unless another thread has taken a later one meanwhile: then numbers go on behind that one."""
    first, second, third = (allocator.next_value(scope) for _ in range(3))
    pool = allocator._held.pools[scope]
    pool.hold_back(third)
    assert allocator.next_value(scope) == third
    pool.hold_back(second)
    assert allocator.next_value(scope) == third + 1
    assert (first, second, third) == (1, 2, 3)


def test_threads_that_meet_at_a_new_scope(allocator: BlockAllocator, scope: str, wire: Wire) -> None:
    """However many threads ask for the first value of a scope at once, one block is reserved for all of them."""
    slow = Meeting(scope)
    slow.first = lambda: time.sleep(0.01)
    values = at_once(4, lambda _: get_next_value("block", scope=slow))
    assert sorted(values) == [1, 2, 3, 4]
    assert wire.operations.count("UpdateItem") == 1


def test_a_block_is_halved(allocator: BlockAllocator, scope: str) -> None:
    """The first half of a fetched block is served, and the second one waits."""
    allocator.next_value(scope)
    assert allocator._held.pools[scope].last == 5


def test_holding_a_value_back_takes_the_lock(allocator: BlockAllocator, scope: str) -> None:
    """No value is put back while another thread takes a half."""
    value = allocator.next_value(scope)
    pool = allocator._held.pools[scope]
    with ThreadPoolExecutor(1) as thread:
        with pool.lock:
            held_back = thread.submit(pool.hold_back, value)
            assert not wait([held_back], 0.1).done
        held_back.result()
    assert allocator.next_value(scope) == value


def test_how_much_is_not_given_back(allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be given back of two scopes is the sum of their unused values."""
    for each in (scope, f"{scope} 2"):
        allocator.next_value(each)
    unused = sum(pool.unserved for pool in allocator._held.pools.values())
    monkeypatch.setattr(allocator._held, "_takes_back", lambda *_: False)
    assert allocator._held.give_back(allocator.deadline()) == unused > 9


def test_a_scope_without_a_block(allocator: BlockAllocator, scope: str) -> None:
    """Nothing is held of a scope in which no value was taken."""
    assert allocator._held.held(scope) == 0


def test_values_of_a_pool_that_another_one_has_replaced(allocator: BlockAllocator, scope: str) -> None:
    """They are not served: the tables were made again meanwhile, or a signal handler has refilled the scope."""
    allocator.next_value(scope)
    pool = allocator._held.pools[scope]
    serving = pool.serving
    allocator._held.serve(scope, pool, iter([99]), before=iter([]))
    assert pool.serving is serving
    allocator._held.drop(scope)
    allocator._held.serve(scope, pool, iter([99]), before=pool.serving)
    assert [*pool.serving] == []


def test_a_freeze_while_a_block_arrives(
    allocator: BlockAllocator, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change nobody gets a value that was reserved before it: not who reserved it, and not who waits for it."""
    stored, go_on, inner = threading.Event(), threading.Event(), mock.Mock(return_value=False)

    def hold() -> None:
        stored.set()
        assert go_on.wait(30)

    wire.after("UpdateItem", hold)
    monkeypatch.setattr(block, "is_inner", inner)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(get_next_value, "block", scope=scope)
        assert stored.wait(30)
        second = threads.submit(get_next_value, "block", scope=scope)
        wait_until(lambda: inner.call_count == 2)
        changes.freeze("block", scope=scope, by="ana", reason="a test")
        go_on.set()
        assert [type(taking.exception()) for taking in (first, second)] == [SequenceFrozen] * 2
    changes.thaw("block", scope=scope, by="ana", reason="a test")
    assert get_next_value("block", scope=scope) == 11


def test_a_drop_while_callers_wait(
    allocator: BlockAllocator, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many callers wait for a block that is dropped, one block is reserved for all of them."""
    pool, inner = allocator._held.pool(scope), mock.Mock(return_value=False)
    monkeypatch.setattr(block, "is_inner", inner)
    with ThreadPoolExecutor(4) as threads:
        with pool.lock:
            taking = [threads.submit(get_next_value, "block", scope=scope) for _ in range(4)]
            wait_until(lambda: inner.call_count == 4)
            allocator._held.drop(scope)
        assert sorted(one.result() for one in taking) == [1, 2, 3, 4]
    assert wire.operations.count("UpdateItem") == 1


class TestEnd:
    """The end of a process."""

    @pytest.fixture
    def ends(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        """Ends a process that has these allocators alone, by the clock."""
        monkeypatch.setattr(block, "elapsed", clock)

        def ends(*references: Any) -> None:
            monkeypatch.setattr(block, "ALLOCATORS", set(references))
            block._give_back_all()

        return ends

    def test_what_is_left(
        self,
        allocator: BlockAllocator,
        ends: Callable[..., None],
        monkeypatch: pytest.MonkeyPatch,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        """It is given back within half a second, and a request of half a second; the rest is logged."""
        deadlines: list[Deadline] = []

        def give_back(deadline: Deadline) -> int:
            deadlines.append(deadline)
            return 3

        monkeypatch.setattr(allocator._held, "give_back", give_back)
        with logged.at_level(logging.INFO, "sequences"):
            ends(weakref.ref(allocator))
        (deadline,) = deadlines
        assert (deadline.seconds, deadline.client, deadline.timing) == (0.5, "default", allocator.timing)
        assert logged.messages == ["sequence block: 3 reserved values stay unused"]

    def test_many_in_a_silence(
        self,
        clock: Clock,
        scope: str,
        ends: Callable[..., None],
        monkeypatch: pytest.MonkeyPatch,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        """However many allocators have blocks while the engine is silent, they take a second together."""
        allocators = [reserving(make("block", clock=clock, block_size=10)) for _ in range(3)]
        for one in allocators:
            one.next_value(scope)

        def unanswered(operation: str, request: object, *, seconds: float, **_: object) -> dict[str, Any]:
            clock.now += seconds
            raise OutcomeUnknown("no answer")

        began = clock.now
        monkeypatch.setattr(dynamodb, "call", unanswered)
        with logged.at_level(logging.INFO, "sequences"):
            ends(*map(weakref.ref, allocators))
        assert clock.now == began + 1.0
        assert logged.messages == ["sequence block: 9 reserved values stay unused"] * 3

    def test_those_that_are_gone(self, ends: Callable[..., None]) -> None:
        """An allocator that nobody uses any more gives nothing back, and nothing of it stays in memory."""
        hooks, made = atexit._ncallbacks(), weakref.ref(make("block"))
        assert made in block.ALLOCATORS
        assert atexit._ncallbacks() == hooks
        gc.collect()
        assert (made(), made in block.ALLOCATORS) == (None, False)
        ends(made)
