"""One caller's work for its group: take others along, prepare a write, send it until its outcome is known.

Here live a waiting caller (`Call`), what is under way in a scope (`Batch`, `Queue`), and the one that sees to it
(`Leader`). Who becomes leader, and what the others do meanwhile, is `groups`' work.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from . import dynamodb
from .commits import MOST_BYTES, Entry, Write, Writer
from .exceptions import (
    NotWritten,
    OutcomeUnknown,
    SequenceError,
    SequenceExhausted,
    StorageError,
    StorageRefused,
    WriteCancelled,
)
from .retries import Deadline, heals, may_hide

__all__ = ["LATE_SECONDS", "TOOK_TOO_LONG", "Batch", "Call", "Leader", "Queue"]

LATE_SECONDS = 0.8  # what a leader gets beyond a caller's deadline, to tell it exactly how its write ended
TOOK_TOO_LONG = StorageError("The calls before this one took too long.")


class Call:
    """One caller's entries, kept together in one write, and the latch that the caller waits at."""

    __slots__ = ("actions", "deadline", "entries", "gone", "latch", "left", "size")

    def __init__(self, entries: Sequence[Entry], deadline: Deadline) -> None:
        self.entries = entries
        self.deadline = deadline
        self.gone = False  # it asks for nothing any more
        self.left = False  # and has handed over what it led
        self.actions = sum(entry.actions for entry in entries)
        self.size = sum(entry.size for entry in entries)
        self.latch = threading.Lock()
        self.latch.acquire()

    @property
    def answered(self) -> bool:
        return None not in [entry.answer for entry in self.entries]

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
        for entry in self.entries:
            entry.settle(gave_up)

    def wake(self) -> None:
        with suppress(RuntimeError):  # woken already
            self.latch.release()


class Batch:
    """The calls that a leader sees to, and their write that is under way; the next leader gets a batch of its own."""

    __slots__ = ("calls", "singly", "unknown", "write")

    def __init__(self, calls: list[Call], write: Write | None = None, *, singly: bool = False) -> None:
        self.calls = calls
        self.write = write
        self.unknown = write is not None  # whether the write may be stored already
        self.singly = singly

    def left_behind(self) -> Batch | None:
        """What another leader must go on with, whatever becomes of this one; None if nobody waits for it."""
        calls = [call for call in self.calls if call.waits]
        return Batch(calls, self.write, singly=self.singly) if calls else None


class Queue:
    """The calls of one scope: the one that leads, those that it has taken into its batch, and those that wait.

    `shared` says that the last batch was of several calls.
    """

    __slots__ = ("batch", "leader", "shared", "waiting")

    def __init__(self, leader: Call) -> None:
        self.leader = leader
        self.batch = Batch([leader])
        self.shared = False
        self.waiting: deque[Call] = deque()

    def next_leader(self) -> Call | None:
        """Appoint the one who waits longest, with all that the last leader left behind; None if nobody waits."""
        waiting = self.waiting
        while waiting and not waiting[0].waits:
            waiting.popleft()
        batch = self.batch.left_behind() or (Batch([waiting[0]]) if waiting else None)
        if batch is None:
            return None
        self.batch, self.leader = batch, batch.calls[0]
        if waiting and waiting[0] is self.leader:
            waiting.popleft()  # last: an exception from a signal must lose nobody
        return self.leader


class Leader:
    """One caller's work for its batch: its own call and those that it takes along, until its own is answered."""

    def __init__(self, writer: Writer, scope: str | None, queue: Queue, lock: threading.Lock) -> None:
        self.writer = writer
        self.scope = scope
        self.queue = queue
        self.lock = lock
        self.own = queue.leader
        self.batch = queue.batch

    @property
    def leads(self) -> bool:
        """Whether nobody has taken over; false only for one that was given up for lost."""
        return self.queue.batch is self.batch

    def run(self, *, waited: bool = False) -> None:
        """Write until the own call is answered. Who did not wait for others has at least one attempt."""
        failure: StorageError | None = TOOK_TOO_LONG if waited else None
        while self.leads:
            if failure is not None:
                self._expire(failure)
            self._release()
            if self.own.answered:
                return
            failure = self._attempt_in_turn()
            if failure is not None and not self.own.answered:
                self.own.deadline.pause()

    def _attempt_in_turn(self) -> StorageError | None:
        with self.writer.turn(self.scope):
            if self.batch.write is None:
                self._take_along()  # with those who came while others had their turn
            return self._attempt()

    def _take_along(self) -> None:
        room = self.writer.most_actions - sum(call.actions for call in self.batch.calls)
        space = MOST_BYTES - sum(call.size for call in self.batch.calls)
        waiting = self.queue.waiting
        with self.lock:
            while self.leads and waiting and waiting[0].actions <= room and waiting[0].size <= space:
                room, space = room - waiting[0].actions, space - waiting[0].size
                self.batch.calls.append(waiting[0])
                waiting.popleft()  # last: an exception from a signal must lose nobody
            self.queue.shared = len(self.batch.calls) > 1

    def _pending(self) -> list[Entry]:
        """The unanswered entries; of two that one transaction cannot hold (the same token), the first."""
        pending: dict[object, Entry] = {}
        for call in self.batch.calls:
            for entry in call.entries:
                if entry.answer is None:
                    pending.setdefault(entry.identity, entry)
        return list(pending.values())[: 1 if self.batch.singly else None]

    def _attempt(self) -> StorageError | None:
        """Prepare a write if none is under way, send it, and have it answered; return what may heal."""
        try:
            if self.batch.write is None:
                self._prepare()
            return self._send(self.batch.write) if self.batch.write else None
        except (NotWritten, OutcomeUnknown) as error:  # of a read, before or after the write
            return error
        except SequenceError as error:
            self._refuse(error)
        return None

    def _prepare(self) -> None:
        """Make the write known before it is sent, so that whoever takes over goes on with it and not with another.

            leader    --prepares W1--|                  |--knows that it was replaced, sends nothing
            another                  |--takes over, W2--|

        A caller that has given up meanwhile is not written: the next round prepares without it.
        """
        write = self.writer.prepare(self.scope, self._pending(), self.own.deadline)
        with self.lock:
            if self.leads and all(entry.answer is None for entry in write.entries):
                self.batch.write, self.batch.unknown = write, False

    def _send(self, write: Write) -> StorageError | None:
        for entry in write.entries:
            entry.attempts += 1
        try:
            answer = self.own.deadline.send(write.operation, write.request)
        except OutcomeUnknown as error:
            self.batch.unknown = True
            return error
        except NotWritten as error:
            self._drop_unless_unknown()
            return error
        except WriteCancelled as error:
            return self._cancelled(write, error)
        share = dynamodb.used_units(answer) / len(write.entries)
        for entry in write.entries:
            entry.write_units += share
        self.writer.stored(self.scope, write, answer)
        self.batch.write = None
        return None

    def _drop_unless_unknown(self) -> None:
        """Make room for those who came meanwhile, unless an earlier sending of this write may have been stored."""
        if not self.batch.unknown:
            self.batch.write = None

    def _cancelled(self, write: Write, error: WriteCancelled) -> StorageError | None:
        if heals(error.reasons) or (self.batch.unknown and may_hide(error.reasons)):
            self._drop_unless_unknown()
            return error
        before = len(self._pending())
        try:
            self.writer.cancelled(self.scope, write, error, self.own.deadline)
        except SequenceError:
            self.batch.write, self.batch.unknown = None, False
            raise
        self.batch.write = None  # not before: it may have been found stored, and a signal may strike in between
        return error if len(self._pending()) == before else None

    def _refuse(self, error: SequenceError) -> None:
        """Answer whom a permanent failure hits; when one of many may be to blame, they go on one by one to find it."""
        write, unknown = self.batch.write, self.batch.unknown
        if write and unknown and isinstance(error, StorageError):
            error = self.own.deadline.give_up(error, outcome_unknown=True)
        entries: Sequence[Entry] = write.entries if write else self._pending()
        if isinstance(error, SequenceExhausted):
            entries = [entry for entry in entries if entry.count >= entries[0].count]
        if type(error) is StorageRefused and len(entries) > 1:
            self.batch.singly = True
        else:
            for entry in entries:
                entry.settle(error)
        self.batch.write = None

    def _expire(self, failure: StorageError) -> None:
        """Give up the callers whose deadline has passed; a write that may be stored goes on for the others."""
        unknown = self.batch.write is not None and self.batch.unknown
        for call in self.batch.calls:
            if call.deadline.over and not call.answered:
                call.deadline.attempts = self.own.deadline.attempts
                call.give_up(failure, outcome_unknown=unknown)

    def _release(self) -> None:
        """Let the answered callers go."""
        for call in self.batch.calls:
            if call.answered and call is not self.own:
                call.wake()
        self.batch.calls = [call for call in self.batch.calls if not call.answered]
