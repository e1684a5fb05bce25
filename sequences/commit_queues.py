"""Group commit: callers of one scope in one process are written together, by one of them.

    caller A  --joins, leads--> [write A]------------------> hands over
    caller B        --joins, waits------------\
    caller C           --joins, waits----------+-> B leads: [write B C D]
    caller D              --joins, waits------/

There is no timer and no thread of our own: a lone caller leads at once and waits for nobody, and the first one after a
group only lets those run that the group has answered. What a group writes and how an answer is read is a `Committer`'s
knowledge; this module knows who leads, when to try again, and when to give up.

The guarantees, each held by a test:

1. A request is answered exactly once, and its caller gets that answer, whoever led.
2. After an ambiguous error the same write is sent again as it was, until its outcome is known or nobody waits for it.
3. A request that fails alone (a bad item, a used token) does not hurt the others: they are numbered without it.
4. First come, first numbered, within a process.
5. Nothing is kept for a scope that nobody is waiting for, and a leader that was interrupted is replaced.
6. A caller gets its answer by its deadline, or `LATE_SECONDS` later; the write of the others goes on without it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from .commits import Committer, Pending
from .leader import Leader
from .retries import Deadline
from .waiters import LATE_SECONDS, TOOK_TOO_LONG, Queue, Waiter

__all__ = ["GLANCE_SECONDS", "CommitQueues"]

GLANCE_SECONDS = 0.25  # how often a waiting caller looks whether what it waits for is still to come


class _Here(threading.local):
    """Whether this thread is inside a group, where it leads, waits or holds the lock."""

    inside = False


_here = _Here()


class CommitQueues:
    """The waiters of every scope, for one committer in one process."""

    def __init__(self, committer: Committer, *, joins: bool = True) -> None:
        self._committer = committer
        self._joins = joins
        self._lock = threading.Lock()
        self._queues: dict[str | None, Queue] = {}
        self._shared: tuple[str | None, ...] = ()  # the scope whose last write several callers shared

    def submit(self, scope: str | None, pendings: Sequence[Pending[Any]], deadline: Deadline) -> None:
        """Return when every request is answered: by this caller as the leader of a group, or by another leader.

        A call that a signal handler makes while its thread is inside a group cannot wait for that thread: it is
        written alone, and the conditions of the writes keep the two apart.
        """
        waiter = Waiter(pendings, deadline)
        if not self._joins or _here.inside:
            Leader(self._committer, scope, Queue(waiter), threading.Lock()).run()
            return
        try:
            try:
                _here.inside = True
                self._serve(scope, waiter)
            finally:
                self._leave(scope, waiter)
        finally:
            if not waiter.left:  # an exception from a signal struck inside the first
                self._leave(scope, waiter)

    def _serve(self, scope: str | None, waiter: Waiter) -> None:
        with self._lock:
            queue = self._queues.get(scope)
            waits = queue is not None
            if queue is None:
                queue = self._queues[scope] = Queue(waiter)
            else:
                queue.waiting.append(waiter)
            follows_group = not waits and scope in self._shared
        if follows_group:
            _let_others_come()
        while not waiter.answered:
            if queue.leader is waiter:
                Leader(self._committer, scope, queue, self._lock).run(waited=waits)
            else:
                self._wait(scope, queue, waiter)

    def _wait(self, scope: str | None, queue: Queue, waiter: Waiter) -> None:
        """Wait to be answered or to lead; look now and then whether the leader is gone, or the deadline has passed."""
        left = waiter.deadline.left
        if waiter.latch.acquire(timeout=min(GLANCE_SECONDS, left if left > 0 else max(left + LATE_SECONDS, 0.001))):
            return
        with self._lock:
            if queue.leader is waiter or waiter.answered:
                return
            if queue.leader.lost:
                self._hand_over(scope, queue)
            if waiter.deadline.over and queue.leader is not waiter:
                self._give_up(queue, waiter)

    def _give_up(self, queue: Queue, waiter: Waiter) -> None:
        """At the deadline leave the queue, unwritten. Out of a batch: only when its leader had time to answer.

        One that was itself given up for lost does not know what became of its write. A leader that was interrupted
        may have taken a waiter along that still stands in the queue.
        """
        if waiter in queue.waiting and waiter not in queue.batch.waiters:
            queue.waiting.remove(waiter)
            waiter.give_up(TOOK_TOO_LONG)
        elif waiter.deadline.left <= -LATE_SECONDS:
            batch = queue.batch
            waiter.give_up(TOOK_TOO_LONG, outcome_unknown=batch.write is not None or waiter not in batch.waiters)

    def _leave(self, scope: str | None, waiter: Waiter) -> None:
        """Hand over what this caller led, and be waited for no more. May be done twice.

        A signal's handler may put in between: while the lock is held, it must find this thread inside.
        """
        waiter.gone = True
        with self._lock:
            queue = self._queues.get(scope)
            if queue is not None:
                if queue.leader is waiter or queue.leader.lost:
                    self._hand_over(scope, queue)
                elif not waiter.answered and waiter in queue.waiting:
                    queue.waiting.remove(waiter)
        _here.inside = False
        waiter.left = True

    def _hand_over(self, scope: str | None, queue: Queue) -> None:
        following = queue.next_leader()
        if following is not None:
            following.wake()
        elif self._queues.get(scope) is queue:
            del self._queues[scope]
            self._shared = (scope,) if queue.shared else ()


def _let_others_come() -> None:
    """Let those run whom the last group has just answered, so that who comes again shares the next write.

    Else the first to come again would write alone, while all the others wait for it. Where nobody wants to run, this
    takes a microsecond.
    """
    time.sleep(0)
