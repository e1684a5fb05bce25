"""The blocks of one scope: served in halves, fetched ahead, and sized by the rate of use."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from ..commit_queues import GLANCE_SECONDS
from ..exceptions import SequenceError
from ..retries import Deadline
from ..waiters import TOOK_TOO_LONG
from .given_back import Beginning

__all__ = ["Block", "Fetch", "Supply"]

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

    def start(self) -> None:
        self._running.acquire()
        _thread.start_new_thread(self._run, ())

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


class Supply:
    """The supply of values of one scope: the half block that comes next, and the block that is being fetched."""

    def __init__(
        self,
        begin: Callable[[Deadline], Beginning],
        fetch: Callable[[int, Deadline], Block],
        prefetch: Callable[[int], Fetch | None],
        *,
        block_size: int,
        most: int,
        clock: Callable[[], float],
    ) -> None:
        self.lock = threading.RLock()  # a signal handler may take a value while its thread refills
        self.units_per_value = 0.0
        self.begun: Beginning | None = None
        self._begin = begin
        self._fetch = fetch
        self._prefetch = prefetch
        self._halves: deque[range] = deque()
        self._fetching: Fetch | None = None
        self._size = self._least = block_size
        self._most = most
        self._clock = clock
        self._began = clock()

    @property
    def unserved(self) -> int:
        fetched = list(self._fetching.blocks) if self._fetching else []
        return sum(len(block.values) for block in fetched) + sum(len(half) for half in self._halves)

    def next_half(self, deadline: Deadline) -> range:
        """The next values to serve: first what others gave back, which is lower than what the counter gives.

        When the last half begins, starts to fetch the next block.
        """
        if self.begun is None:
            self.begun = self._begin(deadline)
            self._halves.extend(self.begun.ranges)
        with suppress(IndexError):
            half = self._halves.popleft()
            if not self._halves:
                if self.units_per_value:  # not of what others gave back: it says nothing of the rate
                    self._resize()
                self._fetching = self._prefetch(self._size)
            return half
        block = self._fetched(deadline)
        middle = (len(block) + 1) // 2
        if len(block) > 1:
            self._halves.append(block[middle:])
        return block[:middle]

    def withdraw(self, deadline: Deadline) -> list[range]:
        """Take out what is not served, also the block that is being fetched, if it comes in time."""
        ranges = []
        with suppress(IndexError):
            while True:
                ranges.append(self._halves.popleft())
        fetching = self._fetching
        block = fetching.take() if fetching and fetching.wait(deadline) else None
        return [*ranges, block.values] if block else ranges

    def _fetched(self, deadline: Deadline) -> range:
        """The block that was fetched ahead, or a new one if that failed. A late block stays for other callers."""
        fetching = self._fetching
        if fetching and not fetching.wait(deadline):
            raise deadline.give_up(TOOK_TOO_LONG)
        block = fetching.take() if fetching else None
        block = block or self._fetch(self._size, deadline)
        if self.begun and not self.begun.born:
            self.begun = replace(self.begun, born=block.born)
        self.units_per_value = block.write_units / len(block.values)
        return block.values

    def _resize(self) -> None:
        """Adjust the size to the rate of use: a block should last between a second and a minute."""
        now = self._clock()
        lasted, self._began = now - self._began, now
        if lasted < BRIEF_SECONDS:
            self._size = min(self._size * 2, self._most)
        elif lasted > LONG_SECONDS:
            self._size = max(self._size // 2, self._least)
