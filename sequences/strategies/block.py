"""Reserve a block of values by one addition and serve it from memory."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from operator import length_hint
from typing import Any

from ..commits import Committer, Pending, ReserveRequest
from ..exceptions import SequenceError, SequenceExhausted
from ..metrics import metrics
from ..retries import GRACE_SECONDS, Deadline
from ..types import Scope, SequenceConfig
from ..waiters import TOOK_TOO_LONG
from .atomic import Addition
from .counter_strategy import CounterStrategy, values_of
from .given_back import Beginning, GivenBack
from .options import positive, whole
from .supply import Block, Fetch, Supply
from .watch import Watch

__all__ = ["BlockAllocator"]

logger = logging.getLogger(__name__)

BLOCKS_HELD = 4096
MOST_FETCHES = 8
STOP_SECONDS = 1.0 - GRACE_SECONDS  # for giving back, so that nothing of it is under way after a second


class BlockAllocator(CounterStrategy):
    """Reserve `block_size` values by one addition to the counter, and serve them from this process's memory.

    Guarantees:

    1. A value is handed out once, across threads, processes and forks: a block belongs to one process.
    2. Within one process values increase. Exception: a request larger than a block goes straight to the counter.
    3. In steady state no caller waits: the next block is fetched when half of one is used.
    4. With an idempotency token at most one item is stored, across processes and days.

    5. A process that stops in order gives back what it did not use, within a second, and the next one that begins in
       the scope goes on there.

    What it does not do: across processes values do not follow time. The values that a killed process did not use are a
    gap, and so are those that could not be given back, whose count it logs. `last_value` is the end of the last block
    reserved; it never goes back.

    A process follows the guarded changes of others within `watch_seconds` and the time of one request: while it holds
    blocks, a thread looks for new lines in the history, and drops the blocks of their scopes. While looks fail, it
    serves its blocks, and follows when one succeeds.

    If a block is used up within a second, the next one is twice as large, up to `max_block_size` (0 for 100 blocks).

    Cost: 1 request and 1 write unit a block; for an item the same as AtomicCounter. Beside that, for each process 1
    request and 1 read unit when it begins in a scope, and 1 more write unit if there is something to take; 1 read and 1
    write unit when it gives something back; 1 request and 1 read unit every `watch_seconds` while it holds blocks.
    """

    idea = "a block of values, served from memory"
    needs_transactions = False
    ordered_across_processes = False
    joins_reservations = False
    requests = "1/block_size a value; 1 more for an item"
    units = "1/block_size WU a value; 1 WU more for an item (4 with a token, + 1 RU)"

    options = {
        **CounterStrategy.options,
        "block_size": whole(100, 1, "a whole number above 0"),
        "max_block_size": whole(0, 0, "a whole number, 0 for 100 blocks"),
        "watch_seconds": positive(10.0),
    }

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        self._serving: dict[Scope, Iterator[int]] = {}
        self._supplies: dict[Scope, Supply] = {}
        self._lock = threading.RLock()
        self._fetches: list[Fetch] = []
        self._given_back = GivenBack(self.counter)
        self._process = os.getpid()
        self._watch = Watch(
            self.history,
            self._drop,
            seconds=self.option["watch_seconds"],
            wall=self.wall,
            new_deadline=self.deadline,
        )
        atexit.register(_give_back, weakref.ref(self))

    @property
    def units_alone(self) -> tuple[float, float] | None:
        return 1.0 + 1.0 / self.option["block_size"], 0.0

    def committer(self) -> Committer:
        return Addition(self.counter)

    def next_value(self, scope: Scope) -> int:
        return self._next(scope)

    def _next(self, scope: Scope, deadline: Deadline | None = None) -> int:
        try:
            # `next` on a range's iterator is atomic under the interpreter's lock: two threads never get the same value.
            return next(self._serving[scope])
        except (KeyError, StopIteration):
            return self._refill(scope, deadline or self.deadline())

    def forget(self) -> None:
        super().forget()
        with self._lock:
            self._supplies.clear()
            self._serving.clear()
            self.stop()

    def stop(self) -> None:
        self._watch.stop()

    def advance_to(self, scope: Scope, value: int, *, only_new: bool = False) -> int | None:
        """Move the counter up and drop this process's block, whose values may be lower."""
        last_value = super().advance_to(scope, value, only_new=only_new)
        self._drop(scope)
        return last_value

    def changed(self, scope: Scope, last_value: int | None) -> None:
        """Drop this process's block: its values may be lower than the counter now, or the scope may be frozen."""
        super().changed(scope, last_value)
        self._drop(scope)

    def delete_counter(self, scope: Scope) -> bool:
        """Delete the counter and drop this process's block."""
        deleted = super().delete_counter(scope)
        self._drop(scope)
        return deleted

    def _drop(self, scope: Scope) -> None:
        with self._lock:
            self._supplies.pop(scope, None)
            self._serving.pop(scope, None)
            if not self._supplies:
                self.stop()

    def _refill(self, scope: Scope, deadline: Deadline) -> int:
        self.lives.bind(deadline.send, deadline)
        supply = self._supply(scope)
        try:
            if not supply.lock.acquire(timeout=max(deadline.left, 0.0)):
                raise deadline.give_up(TOOK_TOO_LONG)
            for value in self._serving.get(scope, ()):  # if another thread has refilled it meanwhile
                return value
            before = self._serving.get(scope)
            serving = iter(supply.next_half(deadline))
            value = next(serving)
            self._serve(scope, supply, serving, before)
            return value
        finally:
            if supply.lock._is_owned():  # type: ignore[attr-defined]  # a signal handler may have raised before or after
                supply.lock.release()

    def _supply(self, scope: Scope) -> Supply:
        with self._lock:
            supply = self._supplies.get(scope)
            if supply is None:
                supply = self._supplies[scope] = self._new_supply(scope)
                self._bound_memory()
            if self.history.is_apart:
                self._watch.start()
            return supply

    def _new_supply(self, scope: Scope) -> Supply:
        size: int = self.option["block_size"]
        return Supply(
            partial(self._given_back.take, scope),
            partial(self.fetch, scope),
            partial(self.prefetch, scope),
            block_size=size,
            most=self.option["max_block_size"] or 100 * size,
            clock=self.timing.clock,
        )

    def _serve(self, scope: Scope, supply: Supply, values: Iterator[int], before: Iterator[int] | None) -> None:
        """Serve these values next, unless the tables were made again or a signal handler refilled the scope."""
        with self._lock:
            if self._supplies.get(scope) is supply and self._serving.get(scope) is before:
                self._serving[scope] = values

    def _bound_memory(self) -> None:
        """Drop the block that was held longest; its unused values become a gap."""
        if len(self._supplies) > BLOCKS_HELD:
            oldest = next(iter(self._supplies))
            del self._supplies[oldest]
            self._serving.pop(oldest, None)

    def take(self, scope: Scope, count: int, deadline: Deadline) -> Pending[ReserveRequest]:
        """Take values from memory, or from the counter if they are more than a block."""
        if count > self.option["block_size"]:
            return super().take(scope, count, deadline)
        values = [self._next(scope, deadline) for _ in range(count)]
        pending, supply = Pending(ReserveRequest(count=count)), self._supplies.get(scope)
        if supply:
            pending.charge(write_units=count * supply.units_per_value)
        pending.settle(values)
        return pending

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
            metrics.reserved_block(self.alias)
        return Block(values, taken.write_units)

    def prefetch(self, scope: Scope, count: int) -> Fetch | None:
        """Reserve a block in another thread, before anybody needs it; None if many fetches are under way."""
        self._fetches = [fetch for fetch in self._fetches if not fetch.done]
        if len(self._fetches) >= MOST_FETCHES:
            return None
        fetch = Fetch(partial(self.fetch, scope, count), self.deadline)
        self._fetches.append(fetch)
        fetch.start()
        return fetch

    def give_back(self) -> None:
        """Give back all reserved values that nobody got, and log how many could not be. Takes a second at the most.

        A forked child leaves alone what its parent still serves.
        """
        if self._process != os.getpid():
            return
        deadline, unused = Deadline(timing=self.timing, seconds=STOP_SECONDS, client=self.config.client), 0
        for scope, supply in list(self._supplies.items()):
            ranges = self._withdraw(scope, supply, deadline)
            if ranges and not self._takes_back(scope, ranges, supply.begun, deadline):
                unused += sum(map(len, ranges))
        if unused:
            logger.info("sequence %s: %d reserved values stay unused", self.alias, unused)

    def _withdraw(self, scope: Scope, supply: Supply, deadline: Deadline) -> list[range]:
        """Take out what this process still holds of a scope, so that none of its threads gets it any more."""
        with self._lock:
            self._supplies.pop(scope, None)
            serving = self._serving.pop(scope, iter(()))
        rest = list(serving)  # all at once, under the interpreter's lock, as `next` is
        first = [range(rest[0], rest[-1] + self.numbers.step, self.numbers.step)] if rest else []
        return _joined([*first, *supply.withdraw(deadline)])

    def _takes_back(self, scope: Scope, ranges: list[range], since: Beginning | None, deadline: Deadline) -> bool:
        try:
            return since is not None and self._given_back.give(scope, ranges, since, deadline)
        except SequenceError as error:
            logger.debug("sequence %s: cannot give back: %s", self.alias, error)
            return False

    @property
    def unused(self) -> int:
        """How many reserved values this process still holds."""
        return sum(map(self.held, list(self._supplies)))

    def held(self, scope: Scope) -> int:
        """How many reserved values of a scope this process serves from memory."""
        supply = self._supplies.get(scope)
        return length_hint(self._serving.get(scope, ())) + (supply.unserved if supply else 0)


def _give_back(reference: weakref.ref[BlockAllocator]) -> None:
    """Give back, at the end of the process, what it did not use."""
    strategy = reference()
    if strategy is not None:
        strategy.give_back()


def _joined(ranges: Iterable[range]) -> list[range]:
    """The same values in as few ranges as possible."""
    joined: list[range] = []
    for one in filter(len, ranges):
        if joined and joined[-1].stop == one.start:
            one = range(joined.pop().start, one.stop, one.step)  # noqa: PLW2901
        joined.append(one)
    return joined
