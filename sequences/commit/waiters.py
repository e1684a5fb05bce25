"""Who waits for a write: one caller (`Waiter`), those written together (`Batch`), all of a scope (`Queue`)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..exceptions import StorageError
from .requests import Pending, PreparedWrite
from .retries import Deadline

UNITS_PER_SECOND = 1000  # of a partition
LONGEST_SHORTAGE = 1.0  # seconds
ENOUGH = 100  # requests, the most that a transaction holds
LATE_SECONDS = 0.8  # how long a waiter past its deadline still waits for its leader to report the outcome
TOOK_TOO_LONG = StorageError("The calls before this one took too long.")


class Waiter:
    """One caller with its requests, which one batch takes together, and the latch at which the caller waits."""

    __slots__ = ("actions", "deadline", "following", "gone", "latch", "left", "pendings", "size")

    def __init__(self, pendings: Sequence[Pending[Any]], deadline: Deadline) -> None:
        self.pendings = pendings
        self.deadline = deadline
        self.gone = False  # the caller wants no answer any more
        self.left = False  # and has left the queue, or handed over the lead
        self.following: Waiter | None = None  # whom this caller wakes when it leaves
        self.actions = self.size = 0
        for pending in pendings:
            self.actions += pending.request.actions
            self.size += pending.request.size
        self.latch = threading.Lock()
        self.latch.acquire()

    @property
    def answered(self) -> bool:
        for pending in self.pendings:  # noqa: SIM110 - callers ask this often, and `all` takes twice the time
            if pending.answer is None:
                return False
        return True

    @property
    def waits(self) -> bool:
        """Whether the caller is there and still wants an answer."""
        return not (self.lost or self.answered)

    @property
    def lost(self) -> bool:
        """Whether this caller has left, or is so far past its deadline that its thread must be stuck."""
        return self.gone or self.deadline.left < -2 * LATE_SECONDS

    def give_up(self, error: StorageError, *, outcome_unknown: bool = False) -> None:
        """Answer the unanswered requests with an error: the deadline has passed."""
        gave_up = self.deadline.give_up(error, outcome_unknown=outcome_unknown)
        for pending in self.pendings:
            pending.settle(gave_up)

    def wake(self) -> None:
        with suppress(RuntimeError):  # already awake
            self.latch.release()


@dataclass(slots=True, eq=False)
class Batch:
    """The waiters that one leader serves, and their writes. The next leader gets a batch of its own.

    `write` is sent next; without one the next write takes as many waiters as it can hold. An earlier send of the writes
    in `undecided` may still arrive; at most one of them can be stored. `most` limits the requests in one write. It is 1
    while the leader searches for the request that is at fault.
    """

    waiters: list[Waiter]
    write: PreparedWrite | None = None
    undecided: tuple[PreparedWrite, ...] = ()
    most: int | None = None

    @property
    def may_be_stored(self) -> set[Pending[Any]]:
        """The requests in the undecided writes."""
        return {pending for write in self.undecided for pending in write.pendings}

    def add_undecided(self) -> None:
        """A send of its write may still arrive."""
        if self.write is not None and self.write not in self.undecided:
            self.undecided = (*self.undecided, self.write)

    def drop_unless_undecided(self) -> None:
        """Drop the write, so that the next one takes newcomers too, unless an earlier send of it may be stored."""
        if self.write not in self.undecided:
            self.write = None

    @property
    def left(self) -> float:
        """The seconds until the first request is at its deadline, and has to be told so: no pause is longer."""
        waiting = (
            (pending.deadline or waiter.deadline).left
            for waiter in self.waiters
            for pending in waiter.pendings
            if pending.answer is None
        )
        return min(waiting, default=0.0)  # without any after another leader has taken over

    def expire(self, error: StorageError, *, attempts: int, everybody: bool = False) -> None:
        """Give up on requests past their deadline, or on all, after so many attempts. The write goes on for others.

        Each gets its refusal or else the error, and learns whether it may be stored, as it is undecided.
        """
        undecided = self.may_be_stored
        for waiter in self.waiters:
            for pending in waiter.pendings:
                deadline = pending.deadline or waiter.deadline
                if pending.answer is None and (everybody or deadline.over):
                    deadline.attempts = attempts
                    unknown = pending in undecided
                    pending.settle(deadline.give_up(pending.refusal or error, outcome_unknown=unknown))

    def settle_refused(self, *, outcome_unknown: bool = False) -> None:
        """Answer the requests that are refused, and in no undecided write."""
        for waiter in self.waiters:
            for pending in waiter.pendings:
                if (error := pending.refusal) is not None and pending not in self.may_be_stored:
                    pending.settle(waiter.deadline.give_up(error, outcome_unknown=True) if outcome_unknown else error)

    def left_behind(self) -> Batch | None:
        """The batch with which the next leader goes on; None if nobody waits for it."""
        waiters = [waiter for waiter in self.waiters if waiter.waits]
        if not waiters:
            return None
        self.add_undecided()
        return replace(self, waiters=waiters)


@dataclass(slots=True, eq=False)
class Shortage:
    """How long a partition lacks the units for a write that it refused, as far as this process can know.

    A partition gains UNITS_PER_SECOND. Who was refused waits for the time in which it gains what the write takes. From
    the second refusal on, the time doubles: others use these units, too, or the table has a lower limit. `most` limits
    the requests in one write, so that they may fit into what there is. It doubles with every write.
    """

    most: int | None = None
    _times: float = 0.5

    def refused(self, units: int) -> float:
        """The seconds after which a refused write of so many units is worth another attempt."""
        times, self._times = max(1.0, self._times), self._times * 2
        return min(LONGEST_SHORTAGE, units / UNITS_PER_SECOND * times)

    def end(self) -> None:
        """A write was taken."""
        self._times = 0.5
        if self.most is not None:
            self.most = 2 * self.most if self.most < ENOUGH else None


class Queue:
    """The waiters of one scope: the leader, its batch, and those that wait for a later write.

    After a batch the leader is its last caller, which only hands over the lead.
    """

    __slots__ = ("batch", "leader", "shortage", "waiting")

    def __init__(self, leader: Waiter) -> None:
        self.leader = leader
        self.batch = Batch([leader])
        self.waiting: deque[Waiter] = deque()
        self.shortage = Shortage()

    @property
    def unled(self) -> bool:
        """Whether nobody works for the waiters: the leader is lost, or its batch is over and the lead not taken."""
        return self.leader.lost or not self.batch.waiters

    def next_leader(self) -> Waiter | None:
        """Make the longest-waiting caller the leader, of the batch left behind or a new one; None if nobody waits."""
        waiting = self.waiting
        while waiting and not waiting[0].waits:
            waiting.popleft()
        left_behind = self.batch.left_behind() if self.batch.waiters else None
        batch = left_behind or (Batch([waiting[0]]) if waiting else None)
        if batch is None:
            return None
        self.batch, self.leader = batch, batch.waiters[0]
        if waiting and waiting[0] is self.leader:
            waiting.popleft()  # last: an exception from a signal handler must not lose a waiter
        return self.leader
