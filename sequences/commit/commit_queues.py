"""Group commit: one caller writes for all callers of a scope in this process that come at the same time.

    caller A  --joins, leads--> [write A]------------------> hands over
    caller B        --joins, waits------------\
    caller C           --joins, waits----------+-> B leads: [write B C D]
    caller D              --joins, waits------/

There is no timer and no thread of our own. A lone caller leads at once and waits for nobody. The callers of a group
wake each other, one after the other, and the last one hands over the lead: so threads do not compete to run, and those
that call again at once are in the next group together. A `Committer` knows what a write contains and what its
answer means. This module knows who leads and who waits; `leader` knows when a write is sent again.

The guarantees, each with a test:

1. A request is answered exactly once, and its caller gets that answer, whichever waiter was the leader.
2. While an earlier send of a write may still arrive, none of its requests gets a certain answer or another number,
   until something stored decides it (see `leader`).
3. A request that fails alone (a bad item, a used token) does not harm the others: they get values without it.
4. Within a process, callers get values in the order in which they come.
5. A scope takes no memory when nobody waits for it, and a leader that was interrupted is replaced.
6. A caller gets its answer by its deadline, or `LATE_SECONDS` later; the write of the others goes on without it.
"""

import threading
from collections.abc import Sequence
from typing import Any

from .. import dynamodb
from ..types import Scope
from .leader import Leader
from .requests import Committer, Pending
from .retries import Deadline
from .waiters import LATE_SECONDS, TOOK_TOO_LONG, Queue, Waiter

GLANCE_SECONDS = 0.25  # how often a waiting caller looks whether what it waits for is still to come


class _ThreadState(threading.local):
    """Whether this thread is inside a group: leads it, waits in it, or holds the lock."""

    inside = False


_thread = _ThreadState()


def is_inner() -> bool:
    """Whether a signal's handler calls inside a group or a request of its own thread: others may wait for that."""
    return _thread.inside or dynamodb.in_request()


class CommitQueues:
    """The commit queues of one committer in this process: the waiters of every scope."""

    def __init__(self, committer: Committer, *, joins: bool = True) -> None:
        self._committer = committer
        self._joins = joins
        self._lock = threading.Lock()
        self._queues: dict[Scope, Queue] = {}

    def submit(self, scope: Scope, pendings: Sequence[Pending[Any]], deadline: Deadline) -> None:
        """Return when every request is answered, by this caller as the leader of a group or by another leader.

        A signal handler may make a call while its thread is inside a group or a request. That call cannot wait for its
        own thread, nor for another one that may want a lock which its own thread holds in the request. So it is written
        alone, without the turn that its own thread may have; the conditions of the writes keep both correct.
        """
        waiter = Waiter(pendings, deadline)
        alone = is_inner()
        if alone or not self._joins:
            Leader(self._committer, scope, Queue(waiter), threading.Lock(), takes_turns=not alone).run()
            return
        try:
            try:
                _thread.inside = True
                self._serve(scope, waiter)
            finally:
                self._leave(scope, waiter)
        finally:
            if not waiter.left:  # an exception from a signal struck inside the first
                self._leave(scope, waiter)

    def _serve(self, scope: Scope, waiter: Waiter) -> None:
        with self._lock:
            queue = self._queues.get(scope)
            waits = queue is not None
            if queue is None:
                queue = self._queues[scope] = Queue(waiter)
            else:
                queue.waiting.append(waiter)
        while not waiter.answered:
            if queue.leader is waiter:
                Leader(self._committer, scope, queue, self._lock).run(waited=waits)
            else:
                self._wait(scope, queue, waiter)

    def _wait(self, scope: Scope, queue: Queue, waiter: Waiter) -> None:
        """Wait for an answer or for the lead, at most GLANCE_SECONDS; then look at the leader and the deadline.

        A leader that is lost or does not hand over is replaced. A waiter past its deadline gives up, and so does one
        that nobody has written yet while DynamoDB is silent.
        """
        left = waiter.deadline.left
        if waiter.latch.acquire(timeout=min(GLANCE_SECONDS, left if left > 0 else max(left + LATE_SECONDS, 0.001))):
            return
        with self._lock:
            if queue.leader is waiter or waiter.answered:
                return
            if queue.unled:
                self._hand_over(scope, queue)
            if (waiter.deadline.over or waiter.deadline.in_silence) and queue.leader is not waiter:
                self._give_up(queue, waiter)

    def _give_up(self, queue: Queue, waiter: Waiter) -> None:
        """Give up at the deadline: at once in the queue, in a batch after the leader had `LATE_SECONDS` to answer.

        A waiter that is in neither the queue nor the batch led once and was replaced: it does not know how its write
        ended. An interrupted leader may have put a waiter into its batch that is still in the queue.
        """
        if waiter in queue.waiting and waiter not in queue.batch.waiters:
            queue.waiting.remove(waiter)
            waiter.give_up(TOOK_TOO_LONG)
        elif waiter.deadline.left <= -LATE_SECONDS:
            batch = queue.batch
            unknown = bool(batch.write or batch.undecided) or waiter not in batch.waiters
            waiter.give_up(TOOK_TOO_LONG, outcome_unknown=unknown)

    def _leave(self, scope: Scope, waiter: Waiter) -> None:
        """Leave the queue, wake who follows, and hand over the lead if this caller had it. Safe to call twice.

        A signal handler may store an item in between: while the lock is held, this thread must count as inside.
        """
        waiter.gone = True
        with self._lock:
            if waiter.following is not None:
                waiter.following.wake()
            queue = self._queues.get(scope)
            if queue is not None:
                if queue.leader is waiter or queue.leader.lost:
                    self._hand_over(scope, queue)
                elif not waiter.answered and waiter in queue.waiting:
                    queue.waiting.remove(waiter)
        _thread.inside = False
        waiter.left = True

    def _hand_over(self, scope: Scope, queue: Queue) -> None:
        following = queue.next_leader()
        if following is not None:
            following.wake()
        elif self._queues.get(scope) is queue:
            del self._queues[scope]
