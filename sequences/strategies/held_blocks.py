"""The blocks that a process holds, a pool for each scope: which are there, which must go, and which are given back."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import itemgetter
from typing import Any
from weakref import WeakSet

from ..commit.retries import Deadline
from ..exceptions import SequenceError, StorageRefused
from ..rows.assignments import Assigner
from ..rows.counter_rows import CounterState
from ..rows.layout import Send
from ..rows.lru import LRU, SCOPES_CHECKED
from ..rows.numbers import highest
from ..rows.stored_counter import StoredCounter
from ..types import Scope
from .block_pool import BlockPool
from .given_back import Beginning, GivenBack
from .watch import Watch

logger = logging.getLogger(__name__)

BLOCKS_HELD = 4096
SCOPES_A_LOOK = 100  # as many as one BatchGetItem takes


@dataclass(eq=False, repr=False)
class HeldBlocks:
    """The pools of one strategy by scope. The clock is the watch's, and `_emptied` is called when no pool is left.

    What others gave back is taken above `_before`, the value before the range of a line.
    """

    _counter: StoredCounter
    _births: LRU[str]
    _new_pool: Callable[[Scope], BlockPool]
    _clock: Callable[[], float]
    _emptied: Callable[[], None]
    _before: Callable[[], int | None]
    lock: Any = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.pools: dict[Scope, BlockPool] = {}
        self.given_back = GivenBack(self._counter)
        self._handed_out: LRU[int] = LRU(SCOPES_CHECKED)  # the highest value, of blocks that are held no more
        self.forget_scope = self._handed_out.forget
        """Forgets what was handed out in a scope that has no value any more."""

    def forget(self) -> None:
        with self.lock:
            self.pools.clear()
            self._births.clear()
            self._handed_out.clear()
            self.given_back.forget()
            self._emptied()

    def pool(self, scope: Scope) -> BlockPool:
        """The pool of a scope; a new one drops the one that was used least recently, if there are too many."""
        with self.lock:
            pool = self.pools.get(scope)
            if pool is None:
                pool = self.pools[scope] = self._new_pool(scope)
                if len(self.pools) > BLOCKS_HELD:  # the unused values become a gap
                    self.drop(min(self.pools, key=lambda one: self.pools[one].used))
            return pool

    def drop(self, scope: Scope) -> None:
        """Serve nothing more of a scope's blocks: their unused values become a gap."""
        with self.lock:
            self._births.forget(scope)
            if pool := self.pools.pop(scope, None):
                pool.cease()
                self.note(scope, pool.last)
            if not self.pools:
                self._emptied()

    def serve(self, scope: Scope, pool: BlockPool, values: Iterator[int], before: Iterator[int]) -> bool:
        """Serve these values next, unless a signal handler refilled the scope; return False if the pool was dropped."""
        with self.lock:
            held = self.pools.get(scope) is pool
            if held and pool.serving is before:
                pool.serving = values
            return held

    def note(self, scope: Scope, value: int | None) -> None:
        """Remember the highest value, so that no lower one is taken of what others give back."""
        if value is not None:
            self._handed_out.put(scope, max(value, self._handed_out.get(scope) or 0))

    def begin(self, scope: Scope, last: int | None, deadline: Deadline) -> Beginning:
        """Look at the counter of a scope, and take what others gave back above all that was served here."""
        self.note(scope, last)
        return self.given_back.take(scope, deadline, above=highest(self._handed_out.get(scope), self._before()))

    def used(self) -> list[tuple[float, Scope]]:
        """The scopes in which a value was taken since their counters were compared, each with that moment."""
        return [(pool.compared, scope) for scope, pool in list(self.pools.items()) if pool.used > pool.compared]

    def known(self, scope: Scope) -> tuple[int | None, float]:
        """A value of a scope that is known to be handed out, and the moment of now."""
        return self._counter.evidence.known(scope), self._clock()

    def judge(self, scope: Scope, row: Mapping[str, Any], seen: int | None, now: float) -> None:
        """Drop the block of a scope whose counter is not as it should be, by what was `known` before it was read."""
        if self._went_back(scope, row, seen):
            self.drop(scope)
        elif pool := self.pools.get(scope):
            pool.compared = now
            if pool.begun and not pool.begun.is_of(row):
                self.drop(scope)

    def _went_back(self, scope: Scope, row: Mapping[str, Any], seen: int | None) -> bool:
        """Whether a counter went back, which is logged; or is damaged, so that it would end each comparison."""
        try:
            if CounterState.of(row).should_be(seen) is None and not self.given_back.offers_again(scope, row):
                return False
            found = "the counter went back"
        except StorageRefused as error:
            found = str(error)
        logger.warning("sequence %s scope %r: its block is dropped: %s", self._counter.alias, scope, found)
        return True

    def give_back(self, deadline: Deadline) -> int:
        """Give back all values that nobody got. Returns how many could not be given back."""
        unused = 0
        for scope, pool in list(self.pools.items()):
            with self.lock:  # so that none of its threads gets any of it
                self.pools.pop(scope, None)
            ranges = _joined(pool.withdraw(deadline))
            self.note(scope, pool.last)
            if ranges and not self._takes_back(scope, ranges, pool.begun, deadline):
                unused += sum(map(len, ranges))
        return unused

    def _takes_back(self, scope: Scope, ranges: list[range], since: Beginning | None, deadline: Deadline) -> bool:
        try:
            return since is not None and self.given_back.give(scope, ranges, since, deadline)
        except SequenceError as error:
            logger.debug("sequence %s: cannot give back: %s", self._counter.alias, error)
            return False

    def held(self, scope: Scope) -> int:
        pool = self.pools.get(scope)
        return pool.unserved if pool else 0


class WatchedBlocks:
    """The blocks of a sequence, and of the lines of its scopes (SERIES): one watch looks for changes of them all."""

    def __init__(self, assigner: Assigner, counter: StoredCounter) -> None:
        self.watch = Watch(assigner, self.drop, self.compare)
        self._counter = counter
        self.lock = threading.RLock()
        self._all: WeakSet[HeldBlocks] = WeakSet()

    def add(self, held: HeldBlocks) -> None:
        """Look after these, too. They have the lock of all, so that none begins while the watch is stopped."""
        with self.lock:
            self._all.add(held)

    def emptied(self) -> None:
        """Stop the watch if nobody holds a block any more."""
        with self.lock:
            if not any(held.pools for held in self._all):
                self.watch.stop()

    def drop(self, scope: Scope) -> None:
        """Serve nothing more of a scope's blocks."""
        for held in self._each():
            held.drop(scope)

    def compare(self, send: Send) -> None:
        """Drop the blocks whose counters went back, were made again, or were changed by a write that arrived late.

        One request, and a read unit for each scope, at most SCOPES_A_LOOK. Those come first that were
        compared longest ago; scopes in which no value was taken since are left out.
        """
        used = [(compared, scope, held) for held in self._each() for compared, scope in held.used()]
        chosen = nsmallest(SCOPES_A_LOOK, used, key=itemgetter(0))
        seen = [held.known(scope) for _, scope, held in chosen]  # before the read: the counters go on
        scopes = [*dict.fromkeys(scope for _, scope, _ in chosen)]  # two lines of a scope may count in one counter
        rows = self._counter.rows.of_scopes(scopes, send)
        for (_, scope, held), known in zip(chosen, seen, strict=True):
            if scope in rows:
                held.judge(scope, rows[scope], *known)

    def _each(self) -> list[HeldBlocks]:
        with self.lock:
            return list(self._all)


def _joined(ranges: Iterable[range]) -> list[range]:
    """The same values in as few ranges as possible."""
    joined: list[range] = []
    for one in filter(len, ranges):
        if joined and joined[-1].stop == one.start:
            one = range(joined.pop().start, one.stop, one.step)  # noqa: PLW2901
        joined.append(one)
    return joined
