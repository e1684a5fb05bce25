"""The blocks of one scope: served in halves, fetched ahead, and sized by the rate of use."""

import _thread
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import InitVar, dataclass, replace
from operator import length_hint

from ..commit.commit_queues import GLANCE_SECONDS, is_inner
from ..commit.retries import Deadline
from ..commit.waiters import TOOK_TOO_LONG
from ..exceptions import SequenceError, SequenceExhausted
from ..rows.assignments import Assigner
from .given_back import Beginning

BRIEF_SECONDS, LONG_SECONDS = 1.0, 60.0  # a block that lasts less is doubled, one that lasts more is halved


@dataclass(frozen=True, slots=True)
class Block:
    """Reserved values, the write units that they cost, and the mark of the birth of their counter."""

    values: range
    write_units: float
    born: str | None = None


class Fetch:
    """One block that another thread fetches, with a deadline of its own.

    A signal handler may raise an exception in the thread that starts or awaits it, or may take values itself. A bare
    thread, a lock and single list operations survive that; `threading.Thread` and futures do not.
    """

    def __init__(self, fetch: Callable[[Deadline], Block], new_deadline: Callable[[], Deadline]) -> None:
        self._fetch = fetch
        self._new_deadline = new_deadline
        self._running = threading.Lock()
        self.blocks: list[Block] = []
        self.done = False

    def start(self) -> bool:
        """Begin; return False if no thread can be started now."""
        self._running.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # there are too many threads, or the interpreter ends
            return False
        return True

    def _run(self) -> None:
        try:
            self.blocks.append(self._fetch(self._new_deadline()))
        except SequenceError:
            pass  # the caller that needs the block fetches it again, and gets the error
        finally:
            self.done = True
            self._running.release()

    def wait(self, deadline: Deadline) -> bool:
        """Wait until it is done or the deadline passes; return whether it is done."""
        while not self.done and not deadline.over:
            if self._running.acquire(timeout=min(max(deadline.left, 0.0), GLANCE_SECONDS)):
                self._running.release()
        return self.done

    def take(self) -> Block | None:
        """The block, once; None if the fetch failed or another caller has taken it."""
        with suppress(IndexError):
            return self.blocks.pop()
        return None


@dataclass(eq=False, repr=False)
class BlockPool:
    """The values of one scope: those that are served now, the half block after them, and the block on its way."""

    assigner: InitVar[Assigner]
    begin: Callable[[int | None, Deadline], Beginning]
    fetch: Callable[[int, Deadline], Block]
    prefetch: Callable[[int], Fetch | None]
    now: InitVar[float]

    def __post_init__(self, assigner: Assigner, now: float) -> None:
        self.block_size: int = assigner.option["block_size"]
        self.most: int = assigner.option["max_block_size"] or 100 * self.block_size
        self.step, self.clock = assigner.numbers.step, assigner.timing.clock
        self.serving: Iterator[int] = iter(())
        self.last: int | None = None
        """The highest value that was handed out; while some are served, the last of them."""
        self.used = self.compared = now
        """When a value was taken, and when the counter was last compared with them (seconds of the watch)."""
        self.lock = threading.RLock()  # a signal handler may take a value while its thread refills
        self.units_per_value = 0.0
        self.begun: Beginning | None = None
        self._halves: deque[range] = deque()
        self._fetching: Fetch | None = None
        self._size = self.block_size
        self._began = self.clock()

    @property
    def unserved(self) -> int:
        fetched = list(self._fetching.blocks) if self._fetching else []
        served = length_hint(self.serving)
        return served + sum(len(block.values) for block in fetched) + sum(len(half) for half in self._halves)

    def next_half(self, deadline: Deadline) -> range:
        """The next values to serve: first what others gave back, which is lower than what the counter gives.

        When the last half begins, fetches the next block. When the counter is used up, looks again what others gave.
        """
        if self.begun is None:
            self._take_given_back(deadline)
        half = self._waiting_half() or self._half_of_block(deadline)
        self.last = half[-1]
        return half

    def _take_given_back(self, deadline: Deadline) -> None:
        self.begun = self.begin(self.last, deadline)
        self._halves.extend(self.begun.ranges)

    def _waiting_half(self) -> range | None:
        with suppress(IndexError):
            half = self._halves.popleft()
            if not self._halves and not self._fetching:
                if self.units_per_value:  # not of what others gave back: it says nothing of the rate
                    self._resize()
                self._fetching = self.prefetch(self._size)
            return half
        return None

    def _half_of_block(self, deadline: Deadline) -> range:
        try:
            block = self._fetched(deadline)
        except SequenceExhausted:
            self._take_given_back(deadline)
            if half := self._waiting_half():
                return half
            raise
        middle = (len(block) + 1) // 2
        if len(block) > 1:
            self._halves.append(block[middle:])
        return block[:middle]

    def cease(self) -> range:
        """Take out what is served now."""
        rest = list(self.serving)  # all at once, under the interpreter's lock, as `next` is
        if not rest:
            return range(0)
        self.last = rest[0] - self.step
        return range(rest[0], rest[-1] + self.step, self.step)

    def hold_back(self, value: int) -> None:
        """Serve nothing before the next half is asked for, which begins with this value that nobody got.

        If a later value was taken meanwhile, this one stays unused.
        """
        with self.lock:
            if rest := self.cease():
                self._halves.appendleft(rest)
            if value != self.last:
                return
            follows = self._halves and self._halves[0].start == value + self.step
            stop = self._halves.popleft().stop if follows else value + self.step
            self._halves.appendleft(range(value, stop, self.step))
            self.last = value - self.step

    def withdraw(self, deadline: Deadline) -> list[range]:
        """Take out what is not served, also the block that is being fetched, if it comes in time."""
        ranges = [self.cease()]
        with suppress(IndexError):
            while True:
                ranges.append(self._halves.popleft())
        fetching = self._fetching
        block = fetching.take() if fetching and fetching.wait(deadline) else None
        return [*ranges, block.values] if block else ranges

    def _fetched(self, deadline: Deadline) -> range:
        """The block that was fetched ahead, or a new one if that failed. A late block stays for other callers."""
        fetching = self._fetching
        if fetching and not fetching.done and is_inner():  # it may wait for this thread: its values stay unused
            fetching = None
        if fetching and not fetching.wait(deadline):
            raise deadline.give_up(TOOK_TOO_LONG)
        block = fetching.take() if fetching else None
        self._fetching = None
        block = block or self.fetch(self._size, deadline)
        if self.begun and not self.begun.born:
            self.begun = replace(self.begun, born=block.born)
        self.units_per_value = block.write_units / len(block.values)
        return block.values

    def _resize(self) -> None:
        """Adjust the size to the rate of use: a block should last between a second and a minute."""
        now = self.clock()
        lasted, self._began = now - self._began, now
        if lasted < BRIEF_SECONDS:
            self._size = min(self._size * 2, self.most)
        elif lasted > LONG_SECONDS:
            self._size = max(self._size // 2, self.block_size)
