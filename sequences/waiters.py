"""Who waits for a write: a caller (`Waiter`), those written together (`Batch`), and all of a scope (`Queue`)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .commits import Pending, PreparedWrite
from .exceptions import StorageError
from .retries import Deadline

__all__ = ["LATE_SECONDS", "TOOK_TOO_LONG", "Batch", "Idle", "Queue", "Sending", "Unknown", "Waiter"]

LATE_SECONDS = 0.8  # what a leader gets beyond a waiter's deadline, to tell it exactly how its write ended
TOOK_TOO_LONG = StorageError("The calls before this one took too long.")


class Waiter:
    """One caller's requests, kept together in one write, and the latch at which the caller waits."""

    __slots__ = ("actions", "deadline", "gone", "latch", "left", "pendings", "size")

    def __init__(self, pendings: Sequence[Pending[Any]], deadline: Deadline) -> None:
        self.pendings = pendings
        self.deadline = deadline
        self.gone = False  # it asks for nothing any more
        self.left = False  # and has handed over what it led
        self.actions = sum(pending.request.actions for pending in pendings)
        self.size = sum(pending.request.size for pending in pendings)
        self.latch = threading.Lock()
        self.latch.acquire()

    @property
    def answered(self) -> bool:
        return None not in [pending.answer for pending in self.pendings]

    @property
    def waits(self) -> bool:
        """Whether somebody is there who still wants an answer."""
        return not (self.lost or self.answered)

    @property
    def lost(self) -> bool:
        """Whether this caller has left without an answer, or is where its deadline does not reach it."""
        return self.gone or self.deadline.left < -2 * LATE_SECONDS

    def give_up(self, error: StorageError, *, outcome_unknown: bool = False) -> None:
        """Answer what is not answered yet: the deadline has passed."""
        gave_up = self.deadline.give_up(error, outcome_unknown=outcome_unknown)
        for pending in self.pendings:
            pending.settle(gave_up)

    def wake(self) -> None:
        with suppress(RuntimeError):  # woken already
            self.latch.release()


@dataclass(frozen=True, slots=True)
class Idle:
    """No write is under way: the next one takes along whoever waits."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A write that is certainly not stored yet: it may be given up for another one."""

    write: PreparedWrite


@dataclass(frozen=True, slots=True)
class Unknown:
    """A write that may be stored: it is sent again as it is until that is known."""

    write: PreparedWrite


class Batch:
    """The waiters that a leader sees to, and the state of their write; the next leader gets a batch of its own.

    `most` bounds how many requests one write takes: 1 while it is looked for which of them is at fault.
    """

    __slots__ = ("most", "state", "waiters")

    def __init__(
        self, waiters: list[Waiter], state: Idle | Sending | Unknown | None = None, *, most: int | None = None
    ) -> None:
        self.waiters = waiters
        self.state = state or Idle()
        self.most = most

    @property
    def write(self) -> PreparedWrite | None:
        return None if isinstance(self.state, Idle) else self.state.write

    @property
    def outcome_unknown(self) -> bool:
        return isinstance(self.state, Unknown)

    def left_behind(self) -> Batch | None:
        """What another leader must go on with, whatever becomes of this one; None if nobody waits for it."""
        waiters = [waiter for waiter in self.waiters if waiter.waits]
        return Batch(waiters, Unknown(self.write) if self.write else Idle(), most=self.most) if waiters else None


class Queue:
    """The waiters of one scope: the one that leads, those in its batch, and those that come after.

    `shared` says that the last batch was of several waiters.
    """

    __slots__ = ("batch", "leader", "shared", "waiting")

    def __init__(self, leader: Waiter) -> None:
        self.leader = leader
        self.batch = Batch([leader])
        self.shared = False
        self.waiting: deque[Waiter] = deque()

    def next_leader(self) -> Waiter | None:
        """Appoint the one who waits longest, with all that the last leader left behind; None if nobody waits."""
        waiting = self.waiting
        while waiting and not waiting[0].waits:
            waiting.popleft()
        batch = self.batch.left_behind() or (Batch([waiting[0]]) if waiting else None)
        if batch is None:
            return None
        self.batch, self.leader = batch, batch.waiters[0]
        if waiting and waiting[0] is self.leader:
            waiting.popleft()  # last: an exception from a signal must lose nobody
        return self.leader
