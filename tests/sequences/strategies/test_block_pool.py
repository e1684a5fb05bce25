"""The blocks of one scope: what is served and when the next one is fetched, without a counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sequences.commit.retries import Deadline
from sequences.exceptions import SequenceExhausted, SequenceUnavailable
from sequences.strategies import block_pool
from sequences.strategies.block_pool import Block, BlockPool, Fetch
from sequences.strategies.given_back import Beginning
from tests.sequences.support import Clock

USED_UP = SequenceExhausted("No value is left.")


class Ahead:
    """A fetch in another thread, that is done or not, with a block or none."""

    def __init__(self, block: Block | None, *, done: bool = True) -> None:
        self.blocks = [block] if block else []
        self.done = done

    def wait(self, deadline: object) -> bool:
        return self.done

    def take(self) -> Block | None:
        return self.blocks.pop() if self.blocks else None


class Stub:
    """What a pool of 2, 4, 6 and so on asks for: what was given back, blocks, and fetches ahead."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.beginnings = [Beginning("a change", "this life")]
        self.above: list[int | None] = []
        self.asked: list[tuple[str, int]] = []
        self.next = 2
        self.units = 1.0
        self.ahead: Callable[[Block], Any] = Ahead
        self.born: str | None = "born"
        self.is_used_up = False

    def begin(self, last: int | None, deadline: Deadline) -> Beginning:
        self.above.append(last)
        return self.beginnings.pop(0)

    def block(self, count: int) -> Block:
        """The next block of the counter."""
        values = range(self.next, self.next + 2 * count, 2)
        self.next = values[-1] + 2
        return Block(values, self.units, self.born)

    def fetch(self, count: int, deadline: Deadline) -> Block:
        self.asked.append(("fetch", count))
        if self.is_used_up:
            raise USED_UP
        return self.block(count)

    def prefetch(self, count: int) -> Any:
        self.asked.append(("ahead", count))
        return self.ahead(self.block(count))

    def pool(self, **sizes: int) -> BlockPool:
        """A new pool, with blocks of 4."""
        assigner: Any = SimpleNamespace(
            option={"block_size": 4, "max_block_size": 16, **sizes},
            numbers=SimpleNamespace(step=2),
            timing=SimpleNamespace(clock=self.clock),
        )
        return BlockPool(assigner, self.begin, self.fetch, self.prefetch, now=7.0)


@pytest.fixture
def stub(clock: Clock) -> Stub:
    """A counter that has given nothing."""
    return Stub(clock)


def served(pool: BlockPool) -> list[int]:
    """The values of the next half, which are served now."""
    half = pool.next_half(Deadline())
    pool.serving = iter(half)
    return list(half)


class TestHalves:
    def test_half_a_block_at_a_time(self, stub: Stub) -> None:
        """The next block is fetched ahead when the second half begins, and only the first one is waited for."""
        pool = stub.pool()
        assert (pool.used, pool.compared, pool.last, pool.unserved) == (7.0, 7.0, None, 0)
        assert [served(pool), stub.asked] == [[2, 4], [("fetch", 4)]]
        assert (pool.last, pool.units_per_value, pool.unserved) == (4, 0.25, 4)
        assert [served(pool), stub.asked[1:]] == [[6, 8], [("ahead", 8)]]
        assert pool.unserved == 2 + 8
        assert [served(pool), served(pool), stub.asked[2:]] == [[10, 12, 14, 16], [18, 20, 22, 24], [("ahead", 16)]]
        assert stub.above == [None]

    @pytest.mark.parametrize(("size", "first"), [(1, [2]), (3, [2, 4])])
    def test_odd_blocks(self, stub: Stub, size: int, first: list[int]) -> None:
        """The first half is the larger one, and one value is no two halves."""
        pool = stub.pool(block_size=size)
        assert served(pool) == first
        assert len(pool._halves) == (size > 1)

    def test_what_others_gave_back(self, stub: Stub) -> None:
        """It is served first, as it is lower; it says nothing of the rate at which values are used."""
        stub.beginnings = [Beginning("a change", "this life", (range(2, 6, 2), range(8, 10, 2)))]
        stub.next = 20
        pool = stub.pool()
        assert [served(pool), stub.asked] == [[2, 4], []]
        assert [served(pool), stub.asked] == [[8], [("ahead", 4)]]
        assert served(pool) == [20, 22]

    @pytest.mark.parametrize(("own", "born"), [(None, "born"), ("its own", "its own")])
    def test_the_birth_of_its_counter(self, stub: Stub, own: str | None, born: str) -> None:
        """The first block tells it, unless the beginning did."""
        stub.beginnings = [Beginning("a change", "this life", born=own)]
        pool = stub.pool()
        served(pool)
        assert pool.begun == Beginning("a change", "this life", born=born)

    def test_the_end(self, stub: Stub) -> None:
        """When the counter is used up, it takes what others gave back since, above its own; then it is the end."""
        pool = stub.pool()
        served(pool)
        stub.ahead = lambda block: None
        assert served(pool) == [6, 8]
        stub.is_used_up = True
        stub.beginnings = [Beginning("a change", "this life", (range(12, 14, 2),)), Beginning("a change", "this life")]
        assert served(pool) == [12]
        with pytest.raises(SequenceExhausted):
            served(pool)
        assert stub.above == [None, 8, 12]


class TestAhead:
    def pool(self, stub: Stub, ahead: Callable[[Block], Any]) -> BlockPool:
        """A pool whose next block is being fetched like this."""
        stub.ahead = ahead
        pool = stub.pool()
        assert [served(pool), served(pool)] == [[2, 4], [6, 8]]
        return pool

    @pytest.mark.parametrize("ahead", [lambda block: None, lambda block: Ahead(None)])
    def test_one_that_failed(self, stub: Stub, ahead: Callable[[Block], Any]) -> None:
        """The caller fetches the block itself."""
        pool = self.pool(stub, ahead)
        assert len(served(pool)) == 4
        assert [kind for kind, _ in stub.asked] == ["fetch", "ahead", "fetch"]

    def test_one_that_is_late(self, stub: Stub) -> None:
        """A caller gives up on it at its deadline, and it stays for the others."""
        late = Ahead(stub.block(4), done=False)
        stub.next = 2
        pool = self.pool(stub, lambda block: late)
        for _ in range(2):
            with pytest.raises(SequenceUnavailable):
                served(pool)
        late.done = True
        assert served(pool) == [2, 4]

    @pytest.mark.parametrize(("done", "kinds"), [(True, 2), (False, 3)])
    def test_inside_a_request(self, stub: Stub, monkeypatch: pytest.MonkeyPatch, done: bool, kinds: int) -> None:
        """A signal's handler waits for none that may wait for its thread, and takes one that is there."""
        pool = self.pool(stub, lambda block: Ahead(block, done=done))
        monkeypatch.setattr(block_pool, "is_inner", lambda: True)
        assert len(served(pool)) == 4
        assert len(stub.asked) == kinds


class TestSizes:
    @pytest.mark.parametrize(
        ("lasted", "sizes"),
        [
            (0.5, [4, 8, 16, 16, 16]),
            (1.0, [4, 4, 4, 4, 4]),
            (60.0, [4, 4, 4, 4, 4]),
        ],
    )
    def test_how_long_a_block_lasts(self, stub: Stub, clock: Clock, lasted: float, sizes: list[int]) -> None:
        """One that lasts less than a second is followed by a larger one, up to the largest."""
        pool = stub.pool()
        for _ in range(4):
            served(pool)
            clock.now += lasted
            served(pool)
        assert [count for _, count in stub.asked] == sizes

    def test_a_slow_one(self, stub: Stub, clock: Clock) -> None:
        """One that lasts more than a minute is followed by one of half the size, not below the smallest."""
        pool, sizes = stub.pool(max_block_size=100), [4]
        for lasted in (0.5, 0.5, 0.5, 60.5, 60.5, 60.5, 60.5):
            served(pool)
            clock.now += lasted
            served(pool)
            sizes.append(pool._size)
        assert sizes == [4, 8, 16, 32, 16, 8, 4, 4]


class TestTakingOut:
    def test_what_is_served_ceases(self, stub: Stub) -> None:
        """What is served is taken out, and the last value is the one before it."""
        pool: Any = stub.pool()
        assert pool.cease() == range(0)
        assert pool.last is None
        served(pool)
        assert next(pool.serving) == 2
        assert [pool.cease(), pool.last] == [range(4, 6, 2), 2]
        assert [pool.cease(), pool.last] == [range(0), 2]

    def test_a_value_that_nobody_got(self, stub: Stub) -> None:
        """It is served next, with those that follow it, unless a later one was taken meanwhile."""
        pool = stub.pool()
        served(pool)
        value = next(pool.serving)
        pool.hold_back(value)
        assert (list(pool.serving), pool.last) == ([], 0)
        assert served(pool) == [2, 4]
        first, second = next(pool.serving), next(pool.serving)
        pool.hold_back(first)
        assert pool.last == second
        pool.hold_back(second)
        assert pool.last == 2
        assert served(pool) == [4, 6, 8]

    def test_one_before_a_gap(self, stub: Stub) -> None:
        """Values that do not follow it are a half of their own."""
        stub.beginnings = [Beginning("a change", "this life", (range(2, 4, 2), range(8, 12, 2)))]
        pool = stub.pool()
        served(pool)
        pool.hold_back(next(pool.serving))
        assert [served(pool), served(pool)] == [[2], [8, 10]]

    @pytest.mark.parametrize(("done", "fetched"), [(True, [range(10, 26, 2)]), (False, [])])
    def test_all_that_is_left(self, stub: Stub, done: bool, fetched: Sequence[range]) -> None:
        """What is served, what waits, and the block that is being fetched, if it comes in time."""
        pool = stub.pool()
        served(pool)
        next(pool.serving)
        assert pool.withdraw(Deadline()) == [range(4, 6, 2), range(6, 10, 2)]
        assert (pool.last, pool.unserved) == (2, 0)
        stub.next = 2
        stub.beginnings = [Beginning("a change", "this life")]
        stub.ahead = lambda block: Ahead(block, done=done)
        other = stub.pool()
        served(other)
        served(other)
        assert other.withdraw(Deadline()) == [range(6, 10, 2), *fetched]


class TestFetch:
    def test_what_it_says(self) -> None:
        """A fetch has its block once, and none if it failed."""
        block = Block(range(1, 3), 1.0)
        fetch = Fetch(lambda deadline: block, Deadline)
        fetch._running.acquire()
        fetch._run()
        assert (fetch.done, fetch.take(), fetch.take()) == (True, block, None)
        assert not fetch._running.locked()
        failing = Fetch(_fail, Deadline)
        failing._running.acquire()
        failing._run()
        assert (failing.done, failing.take()) == (True, None)

    def test_it_is_awaited(self) -> None:
        """Who waits looks every quarter of a second, and not beyond its deadline."""
        waits: list[float] = []
        fetch = Fetch(_fail, Deadline)

        def acquire(timeout: float) -> bool:
            waits.append(timeout)
            return False

        lock: Any = SimpleNamespace(acquire=acquire)
        fetch._running = lock
        clock = iter([(False, 0.4), (False, 0.15), (False, -0.1), (True, -0.2)])

        class Looks:
            """A deadline that comes nearer with each look."""

            left = 0.0

            @property
            def over(self) -> bool:
                is_over, self.left = next(clock)
                return is_over

        deadline: Any = Looks()
        assert fetch.wait(deadline) is False
        assert waits == [0.25, 0.15, 0.0]
        fetch.done = True
        assert fetch.wait(deadline) is True


def _fail(deadline: Deadline) -> Block:
    raise SequenceUnavailable("away", attempts=1, seconds=1.0)
