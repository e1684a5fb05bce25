"""Reserve a block of values by one addition and serve it from memory."""

import atexit
import logging
import os
import sys
import weakref
from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

from ..commit.commit_queues import GLANCE_SECONDS, is_inner
from ..commit.requests import Committer, Pending, ReserveRequest, values_of
from ..commit.retries import GRACE_SECONDS, Deadline
from ..commit.waiters import TOOK_TOO_LONG
from ..dynamodb import elapsed
from ..exceptions import InvalidSequence, SequenceError, SequenceExhausted
from ..metrics import metrics
from ..metrics.instruments import BLOCKS
from ..rows.lru import LRU
from ..rows.options import positive, whole
from ..types import Scope, SequenceConfig
from .atomic import Addition
from .block_pool import Block, BlockPool, Fetch
from .counter_strategy import CounterStrategy
from .held_blocks import HeldBlocks, WatchedBlocks

logger = logging.getLogger(__name__)

MOST_FETCHES = 8
LARGEST_BLOCK = 10**9
STOP_SECONDS = 1.0 - GRACE_SECONDS  # for giving back, so that nothing of it is under way after a second
ALLOCATORS = set[weakref.ref["BlockAllocator"]]()
"""Those of this process that are still used."""


class BlockAllocator(CounterStrategy):
    """Reserve `block_size` values by one addition to the counter, and serve them from this process's memory.

    Guarantees:

    1. A value is handed out once, across threads, processes and forks: a block belongs to one process.
    2. Within one process values increase. Exception: what goes straight to the counter, which is a request for more
       than a block, for several values with a token, or for several items of `put_next_together`.
    3. In steady state no caller waits: the next block is fetched when half of one is used.
    4. With an idempotency token at most one item is stored, across processes and days.
    5. A process that stops in order gives back what it did not use, within a second, and the next one that begins in
       the scope goes on there. It takes only what is higher than its own values; also before SequenceExhausted.

    What it does not do: across processes values do not follow time. The values that a killed process did not use are a
    gap, and so are those that could not be given back, whose count it logs. `last_value` is the end of the last block
    reserved; it never goes back.

    A process follows the guarded changes of others, and counters that went back, within `watch_seconds`: see `watch`
    and `held_blocks`.

    If a block is used up within a second, the next one is twice as large, up to `max_block_size` (0 for 100 blocks).

    Cost: 1 request and 1 write unit a block; for an item the same as AtomicCounter. Beside that, for each process 1
    request and 1 read unit when it begins in a scope, and 1 more write unit if there is something to take; 1 read and 1
    write unit when it gives something back; 1 request and 1 read unit every `watch_seconds` while it holds blocks, and
    with it 1 request and a read unit for each scope in which values were taken since.
    """

    idea = "a block of values, served from memory"
    needs_transactions = False
    ordered_across_processes = False
    joins_reservations = False
    requests = "1/block_size a value; 1 more for an item"
    units = "1/block_size WU a value; 1 WU more for an item (4 with a token, + 1 RU)"

    options = {
        **CounterStrategy.options,
        "block_size": whole(100, 1, f"a whole number from 1 to {LARGEST_BLOCK:,}", LARGEST_BLOCK),
        "max_block_size": whole(0, 0, f"a whole number up to {LARGEST_BLOCK:,}, 0 for 100 blocks", LARGEST_BLOCK),
        "watch_seconds": positive(10.0),
    }

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            raise InvalidSequence(
                f"SEQUENCES[{self.alias!r}]['STRATEGY']: BlockAllocator gives a value to one thread by the "
                "interpreter's lock (GIL), which is off here: take AtomicCounter."
            )
        owner = clocks.get("parent") or self
        owner.watched = watched = owner.watched or WatchedBlocks(self, self.counter)
        before, emptied = lambda: self.before_range, watched.emptied
        self._held = HeldBlocks(self.counter, self._births, self._new_pool, elapsed, emptied, before, watched.lock)
        watched.add(self._held)
        self._pools, self._watch = self._held.pools, watched.watch
        self._fetches: list[Fetch] = []
        self._process = os.getpid()
        ALLOCATORS.add(weakref.ref(self, ALLOCATORS.discard))

    def committer(self) -> Committer:
        self._births: LRU[str] = LRU()
        return Addition(self.counter, self._births)

    def next_value(self, scope: Scope, deadline: Deadline | None = None) -> int:
        watch = self._watch
        while True:
            try:
                pool = self._pools[scope]
                blind_at = watch.blind_at  # before the value is taken: a look after that does not vouch for it
                # Atomic for the iterator of a range, under the interpreter's lock: no two threads get the same value.
                value = next(pool.serving)
            except (KeyError, StopIteration):
                deadline = deadline or self.deadline()
                pool, value, blind_at = self._refill(scope, deadline)
            # After the value is taken, so that a process that is stopped in between sees it, too.
            pool.used = now = watch.clock()
            if now < blind_at:
                return value
            pool.hold_back(value)

    def forget(self) -> None:
        super().forget()
        self._held.forget()

    def stop(self) -> None:
        self._watch.stop()

    def changed(self, scope: Scope, last_value: int | None, *, moves: bool = True) -> None:
        """Drop this process's block: its values may be lower than the counter now, or the scope may be frozen."""
        super().changed(scope, last_value, moves=moves)
        self._held.drop(scope)
        if last_value is None:  # it has no value any more
            self._held.forget_scope(scope)

    def _refill(self, scope: Scope, deadline: Deadline) -> tuple[BlockPool, int, float]:
        self.lives.bind(deadline.send, deadline)
        self._watch.catch_up(deadline)
        pool = self._pools.get(scope)
        if pool is None or (self.history.is_apart and not self._watch.runs):
            # Else without this lock: a signal's handler that refills, too, would wait for a thread that waits for it.
            with self._held.lock:
                pool = self._held.pool(scope)
                if self.history.is_apart:
                    self._watch.start()
        alone, blind_at = is_inner(), self._watch.blind_at
        try:
            if not pool.lock.acquire(timeout=max(min(deadline.left, GLANCE_SECONDS if alone else inf), 0.0)):
                if not alone or deadline.over:
                    raise deadline.give_up(TOOK_TOO_LONG)
                self._held.drop(scope)  # the thread that refills it may wait for this one
                return self._refill(scope, deadline)
            for value in pool.serving:  # if another thread has refilled it meanwhile
                return pool, value, blind_at
            if self._pools.get(scope) is pool:
                before = pool.serving
                serving = iter(pool.next_half(deadline))
                value = next(serving)
                if self._held.serve(scope, pool, serving, before):
                    return pool, value, blind_at
        finally:
            if pool.lock._is_owned():  # type: ignore[attr-defined]  # a signal handler may have raised before or after
                pool.lock.release()
        return self._refill(scope, deadline)  # the pool was dropped meanwhile: what was reserved before is a gap

    def _new_pool(self, scope: Scope) -> BlockPool:
        begin, fetch = partial(self._held.begin, scope), partial(self.fetch, scope)
        return BlockPool(self, begin, fetch, partial(self.prefetch, scope), self._watch.clock())

    def reserve_all(self, scope: Scope, pendings: Sequence[Pending[ReserveRequest]], deadline: Deadline) -> None:
        """Serve the values of many callers one after another."""
        for pending in pendings:
            try:
                pending.settle(self.reserve(scope, pending.request.count, pending.deadline or deadline))
            except SequenceError as error:
                pending.settle(error)

    def take(self, scope: Scope, count: int, deadline: Deadline) -> Pending[ReserveRequest]:
        """Take values from memory, or from the counter if they are more than a block."""
        if count > self.option["block_size"]:
            return self.take_in_a_row(scope, count, deadline)
        values = list[int]()
        try:
            while len(values) < count:
                values.append(self.next_value(scope, deadline))
        except SequenceError:  # the caller gets none of them
            if pool := self._pools.get(scope):
                for value in reversed(values):
                    pool.hold_back(value)
            raise
        pending = Pending(ReserveRequest(count=count))
        if pool := self._pools.get(scope):
            pending.charge(write_units=count * pool.units_per_value)
        pending.settle(values)
        return pending

    def take_in_a_row(self, scope: Scope, count: int, deadline: Deadline) -> Pending[ReserveRequest]:
        """Take them, and remember the last one, so that no lower values are taken back after it."""
        taken = super().take_in_a_row(scope, count, deadline)
        self._held.note(scope, values_of(taken)[-1])
        return taken

    def fetch(self, scope: Scope, count: int, deadline: Deadline) -> Block:
        """Reserve one block from the counter, or a smaller one close to MAXIMUM."""
        try:
            taken = super().take(scope, count, deadline)
        except SequenceExhausted:
            if count == 1:
                raise
            return self.fetch(scope, count // 2, deadline)
        values = values_of(taken)
        assert isinstance(values, range)
        if metrics.on:
            metrics.tell(BLOCKS, 1, self.alias)
        return Block(values, taken.write_units, self._births.get(scope))

    def prefetch(self, scope: Scope, count: int) -> Fetch | None:
        """Reserve a block in another thread, before anybody needs it; None if many are, or no thread can be started."""
        self._fetches = [fetch for fetch in self._fetches if not fetch.done]
        if len(self._fetches) >= MOST_FETCHES:
            return None
        fetch = Fetch(partial(self.fetch, scope, count), self.deadline)
        if not fetch.start():
            return None
        self._fetches.append(fetch)
        return fetch

    def give_back(self, seconds: float | None = None) -> None:
        """Give back all reserved values that nobody got, and log how many could not be. Takes a second at the most.

        A process that stops has fewer `seconds`. A forked child leaves alone what its parent still serves.
        """
        if self._process != os.getpid():
            return
        seconds = STOP_SECONDS if seconds is None else seconds
        deadline = Deadline(timing=self.timing, seconds=seconds, client=self.config.client)
        if unused := self._held.give_back(deadline):
            logger.info("sequence %s: %d reserved values stay unused", self.alias, unused)

    def held(self, scope: Scope) -> int:
        return self._held.held(scope)


@atexit.register
def _give_back_all() -> None:
    """Give back, at the end of the process, what it did not use: in a second, however many allocators it has."""
    over = elapsed() + STOP_SECONDS
    for reference in list(ALLOCATORS):
        if allocator := reference():
            allocator.give_back(over - elapsed())
