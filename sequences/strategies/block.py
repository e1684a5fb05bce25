"""Reserve a block of values with one addition and serve it from memory."""

from __future__ import annotations

import _thread
import atexit
import logging
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from operator import length_hint
from typing import Any

from ..commits import Entry, Writer
from ..exceptions import SequenceError, SequenceExhausted
from ..groups import GLANCE_SECONDS
from ..leader import TOOK_TOO_LONG
from ..retries import Deadline
from ..types import SequenceConfig
from .atomic import Addition
from .base import whole
from .counters import CounterStrategy, ReservingStrategy

__all__ = ["BlockAllocator"]

logger = logging.getLogger(__name__)

BLOCKS_HELD = 4096
MOST_FETCHES = 8
BRIEF_SECONDS, LONG_SECONDS = 1.0, 60.0  # a block used up faster than this is doubled, slower than that is halved


class BlockAllocator(ReservingStrategy):
    """Reserve `block_size` values by one addition to the counter, and serve them from this process's memory.

    Guarantees:

    1. A value is handed out once, across threads, processes and forks: a block belongs to the process that reserved
       it.
    2. Within a process, a value is larger than those it handed out before, unless more than a block is asked for at
       once: such a range comes from the counter.
    3. In steady state no caller waits: the next block is fetched when half of one is used.
    4. With an idempotency token at most one item is stored, across processes and days.

    What it does not do: values are not in the order of the calls across processes, and what a stopped process had
    left is a gap (it logs how many when it stops in order). `last_value` is the end of the last block reserved.

    A block used up within a second is followed by one of twice the size, up to `max_block_size` (100 blocks when 0).

    Cost: 1 request and 1 write unit a block; for an item as AtomicCounter's.
    """

    needs_transactions = False
    ordered_across_processes = False
    joins_reservations = False
    requests = "1/block_size a value; 1 more an item"
    units = "1/block_size WU a value; 1 WU more an item (4 with a token, + 1 RU)"

    options = {
        **CounterStrategy.options,
        "block_size": whole(100, 1, "a whole number above 0"),
        "max_block_size": whole(0, 0, "a whole number, 0 for 100 blocks"),
    }

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        self._serving: dict[str | None, Iterator[int]] = {}
        self._supplies: dict[str | None, _Supply] = {}
        self._lock = threading.RLock()
        self._fetches: list[_Fetch] = []
        atexit.register(_report_unused, weakref.ref(self))

    def reserver(self) -> Writer:
        return Addition(self)

    def next_value(self, scope: str | None) -> int:
        return self._next(scope)

    def _next(self, scope: str | None, deadline: Deadline | None = None) -> int:
        try:
            # `next` of a range's iterator is one step under the interpreter's lock: no two threads get the same value.
            return next(self._serving[scope])
        except (KeyError, StopIteration):
            return self._refill(scope, deadline or self.deadline())

    def forget(self) -> None:
        super().forget()
        with self._lock:
            self._supplies.clear()
            self._serving.clear()

    def _refill(self, scope: str | None, deadline: Deadline) -> int:
        self.bind(deadline.send)
        supply = self._supply(scope)
        try:
            if not supply.lock.acquire(timeout=max(deadline.left, 0.0)):
                raise deadline.give_up(TOOK_TOO_LONG)
            for value in self._serving.get(scope, ()):  # another thread may have refilled it meanwhile
                return value
            before = self._serving.get(scope)
            serving = iter(supply.next_half(deadline))
            value = next(serving)
            self._serve(scope, supply, serving, before)
            return value
        finally:
            if supply.lock._is_owned():  # type: ignore[attr-defined]  # a signal may have struck before or after
                supply.lock.release()

    def _supply(self, scope: str | None) -> _Supply:
        with self._lock:
            supply = self._supplies.get(scope)
            if supply is None:
                supply = self._supplies[scope] = _Supply(self, scope)
                self._bound_memory()
            return supply

    def _serve(self, scope: str | None, supply: _Supply, values: Iterator[int], before: Iterator[int] | None) -> None:
        """Serve these values from now on, unless the table was made again meanwhile, or a signal's handler was here."""
        with self._lock:
            if self._supplies.get(scope) is supply and self._serving.get(scope) is before:
                self._serving[scope] = values

    def _bound_memory(self) -> None:
        """Let go of the block held longest; what it has left becomes a gap."""
        if len(self._supplies) > BLOCKS_HELD:
            oldest = next(iter(self._supplies))
            del self._supplies[oldest]
            self._serving.pop(oldest, None)

    def reserve_entry(self, scope: str | None, count: int, deadline: Deadline) -> Entry:
        """Values from memory; more than a block at once come from the counter."""
        if count > self.option["block_size"]:
            return super().reserve_entry(scope, count, deadline)
        values = [self._next(scope, deadline) for _ in range(count)]
        supply = self._supplies.get(scope)
        entry = Entry(count=count, write_units=count * supply.units_per_value if supply else 0.0)
        entry.settle(values)
        return entry

    def fetch(self, scope: str | None, count: int, deadline: Deadline) -> Entry:
        """Reserve one block by the counter, a smaller one where MAXIMUM is near."""
        try:
            return super().reserve_entry(scope, count, deadline)
        except SequenceExhausted:
            if count == 1:
                raise
            return self.fetch(scope, count // 2, deadline)

    def prefetch(self, scope: str | None, count: int) -> _Fetch | None:
        """Reserve a block in another thread, for which nobody waits yet; None while many are at it."""
        self._fetches = [fetch for fetch in self._fetches if not fetch.done]
        if len(self._fetches) >= MOST_FETCHES:
            return None
        fetch = _Fetch(self, scope, count)
        self._fetches.append(fetch)
        fetch.start()
        return fetch

    @property
    def unused(self) -> int:
        """How many reserved values this process holds and has not handed out."""
        held = sum(length_hint(serving) for serving in list(self._serving.values()))
        return held + sum(supply.unserved for supply in list(self._supplies.values()))


class _Fetch:
    """One block on its way, in a thread and with a deadline of its own.

    A signal's handler may throw an exception into the thread that starts it or waits for it, or take values itself:
    a bare thread, a lock and the steps of a list survive that, which `threading.Thread` and futures do not.
    """

    def __init__(self, strategy: BlockAllocator, scope: str | None, count: int) -> None:
        self._fetch = partial(strategy.fetch, scope, count)
        self._deadline = strategy.deadline
        self._running = threading.Lock()
        self.blocks: list[Entry] = []
        self.done = False

    def start(self) -> None:
        self._running.acquire()
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self.blocks.append(self._fetch(self._deadline()))
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

    def take(self) -> Entry | None:
        """The block, for one taker; None if it could not be had, or was taken."""
        with suppress(IndexError):
            return self.blocks.pop()
        return None


class _Supply:
    """The blocks of one scope: the half that comes next, and the block that is being fetched."""

    def __init__(self, strategy: BlockAllocator, scope: str | None) -> None:
        self.lock = threading.RLock()  # a signal handler may take a value while its thread refills
        self.units_per_value = 0.0
        self._strategy = strategy
        self._scope = scope
        self._halves: deque[range] = deque()
        self._fetching: _Fetch | None = None
        self._size: int = strategy.option["block_size"]
        self._most: int = strategy.option["max_block_size"] or 100 * self._size
        self._began = strategy.timing.clock()

    @property
    def unserved(self) -> int:
        fetched = list(self._fetching.blocks) if self._fetching else []
        return sum(len(block.values) for block in fetched) + sum(len(half) for half in self._halves)

    def next_half(self, deadline: Deadline) -> range:
        """The next values to serve. Starts fetching the next block when the second half of this one begins."""
        with suppress(IndexError):
            half = self._halves.popleft()
            self._resize()
            self._fetching = self._strategy.prefetch(self._scope, self._size)
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
        entry = fetching.take() if fetching else None
        entry = entry or self._strategy.fetch(self._scope, self._size, deadline)
        self.units_per_value = entry.write_units / entry.count
        assert isinstance(entry.values, range)
        return entry.values

    def _resize(self) -> None:
        """Let the size follow the rate: a block should last between a second and a minute."""
        now = self._strategy.timing.clock()
        lasted, self._began = now - self._began, now
        if lasted < BRIEF_SECONDS:
            self._size = min(self._size * 2, self._most)
        elif lasted > LONG_SECONDS:
            self._size = max(self._size // 2, self._strategy.option["block_size"])


def _report_unused(reference: weakref.ref[BlockAllocator]) -> None:
    """Say at the end of the process what it leaves unused."""
    strategy = reference()
    if strategy is not None and strategy.unused:
        logger.info("sequence %s: %d reserved values stay unused", strategy.alias, strategy.unused)
