"""The blocks of one scope: served by halves, fetched ahead, and as large as the rate asks for."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ..commit_queues import GLANCE_SECONDS
from ..exceptions import SequenceError
from ..retries import Deadline
from ..waiters import TOOK_TOO_LONG

__all__ = ["Block", "Fetch", "Supply"]

BRIEF_SECONDS, LONG_SECONDS = 1.0, 60.0  # a block used up faster than this is doubled, slower than that is halved


@dataclass(frozen=True, slots=True)
class Block:
    """Reserved values, and the write units that they took."""

    values: range
    write_units: float


class Fetch:
    """One block on its way, in a thread and with a deadline of its own.

    A signal's handler may throw an exception into the thread that starts it or waits for it, or take values itself:
    a bare thread, a lock and the steps of a list survive that, which `threading.Thread` and futures do not.
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
            pass  # the caller who needs the block fetches it again, and is told
        finally:
            self.done = True
            self._running.release()

    def wait(self, deadline: Deadline) -> bool:
        """Whether it is done before the deadline."""
        while not self.done and not deadline.over:
            if self._running.acquire(timeout=min(max(deadline.left, 0.0), GLANCE_SECONDS)):
                self._running.release()
        return self.done

    def take(self) -> Block | None:
        """The block, for one taker; None if it could not be had, or was taken."""
        with suppress(IndexError):
            return self.blocks.pop()
        return None


class Supply:
    """The blocks of one scope: the half that comes next, and the block that is being fetched."""

    def __init__(
        self,
        fetch: Callable[[int, Deadline], Block],
        prefetch: Callable[[int], Fetch | None],
        *,
        block_size: int,
        most: int,
        clock: Callable[[], float],
    ) -> None:
        self.lock = threading.RLock()  # a signal handler may take a value while its thread refills
        self.units_per_value = 0.0
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
        """The next values to serve. Starts fetching the next block when the second half of this one begins."""
        with suppress(IndexError):
            half = self._halves.popleft()
            self._resize()
            self._fetching = self._prefetch(self._size)
            return half
        block = self._fetched(deadline)
        middle = (len(block) + 1) // 2
        if len(block) > 1:
            self._halves.append(block[middle:])
        return block[:middle]

    def _fetched(self, deadline: Deadline) -> range:
        """The block that was fetched meanwhile; another one if that failed. A late one stays for others."""
        fetching = self._fetching
        if fetching and not fetching.wait(deadline):
            raise deadline.give_up(TOOK_TOO_LONG)
        block = fetching.take() if fetching else None
        block = block or self._fetch(self._size, deadline)
        self.units_per_value = block.write_units / len(block.values)
        return block.values

    def _resize(self) -> None:
        """Let the size follow the rate: a block should last between a second and a minute."""
        now = self._clock()
        lasted, self._began = now - self._began, now
        if lasted < BRIEF_SECONDS:
            self._size = min(self._size * 2, self._most)
        elif lasted > LONG_SECONDS:
            self._size = max(self._size // 2, self._least)
