"""The leader's work: take waiters into its batch, prepare a write, send it until its outcome is known.

`commit_queues` decides who becomes the leader and what the others do meanwhile.

A send without an answer may still arrive, and the conditions that refuse its repeat may hold by then. So this is the
rule: **while an earlier send of a write may still arrive, none of its requests gets a certain answer, and none is
written under another number, until something stored decides it.** What decides is a row under one of its numbers, a
marker of its requests, or its counter. The leader looks for that decision: it puts the requests that are not at fault
under the first number of the undecided write, which at most one of the two can have.

    W  = [A B] from 4 on   --sent, no answer---------------------------------------> 4 is taken: never stored
    W  again                      |--refused: the condition of A does not hold
    W' = [B]   from 4 on                          |--stored: B has 4, and A is refused for certain

If W arrives first, 4 has the token of W: A and B are stored. For requests at their deadlines the outcome is unknown.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

from .. import dynamodb
from ..exceptions import (
    InvalidItem,
    NotWritten,
    OutcomeUnknown,
    SequenceError,
    SequenceExhausted,
    StorageError,
    StorageRefused,
    WriteCancelled,
)
from ..metrics import metrics
from ..types import Scope
from .host_lock import LONGEST_WAIT
from .requests import MOST_BYTES, Committer, Pending, PreparedWrite, PutRequest, Refusal
from .retries import is_retryable, is_throttled, may_conceal
from .waiters import TOOK_TOO_LONG, Queue, Waiter

HELD_SECONDS = LONGEST_WAIT * 0.8  # after which a turn of the host is given back before others overtake it


class Leader:
    """One waiter's work for its batch: it writes for itself and for others until its own requests are answered."""

    def __init__(
        self, committer: Committer, scope: Scope, queue: Queue, lock: threading.Lock, *, takes_turns: bool = True
    ) -> None:
        self.committer = committer
        self.scope = scope
        self.queue = queue
        self.lock = lock
        self.own = queue.leader
        self.batch = queue.batch
        self.takes_turns = takes_turns

    @property
    def leads(self) -> bool:
        """Whether no other waiter has taken over; False only after this leader was thought lost."""
        return self.queue.batch is self.batch

    def run(self, *, waited: bool = False) -> None:
        """Write until its own requests are answered. A leader that did not wait before makes at least one attempt.

        While DynamoDB is silent there is no other, and the whole batch gives up.
        """
        over = self._is_over(TOOK_TOO_LONG) if waited else not self.leads
        while not over:
            failure = self._attempt_exclusively()
            if failure is not None and not self.own.answered:
                self.own.deadline.pause(0.0 if self.own.deadline.in_silence else self.batch.left)
            over = self._is_over(failure)

    def _is_over(self, failure: StorageError | None) -> bool:
        """Let go those who are answered, and after a failure those whose time is over. Whether that ends its work."""
        if not self.leads:
            return True
        if failure is not None:
            self.batch.expire(failure, attempts=self.own.deadline.attempts, everybody=self.own.deadline.in_silence)
        self._release()
        return self.own.answered

    def _attempt_exclusively(self) -> StorageError | None:
        """Attempt one write, and wait for its capacity units: who gave the turn away would lose them to others.

        In a queue of hosts a lost race is run again in the turn, too, for others would wait before.
        """
        turn = self.committer.exclusively(self.scope, self.own.deadline) if self.takes_turns else nullcontext(False)
        with turn as in_line:
            held_since = self.own.deadline.spent
            while True:
                if self.queue.waiting and self.batch.write is None:
                    self._take_along()  # also those who came while another process had its turn
                failure = self._attempt()
                if failure is None:
                    return None
                if metrics.on:
                    metrics.failed(self.own.deadline.sequence, failure)
                short, lost = is_throttled(failure), in_line and isinstance(failure, WriteCancelled)
                if not (short or lost) or self.batch.left <= 0:
                    return failure
                if self.own.deadline.spent - held_since > HELD_SECONDS:
                    if short:
                        self.queue.shortage.most = max(1, len(self._unanswered()) // 2)
                    return failure
                if short:
                    self._await_units()
                else:
                    self.own.deadline.pause(self.batch.left)

    def _await_units(self) -> None:
        """Wait until the partition may have the units of a transaction of these requests."""
        units = 2 * sum(pending.request.units for pending in self._unanswered())
        seconds = self.queue.shortage.refused(units)
        self.own.deadline.wait(min(seconds * self.own.deadline.timing.uniform(0.5, 1), self.batch.left))

    def _take_along(self) -> None:
        waiting = self.queue.waiting
        room = self.committer.most_actions - sum(waiter.actions for waiter in self.batch.waiters)
        space = MOST_BYTES - sum(waiter.size for waiter in self.batch.waiters)
        with self.lock:
            while waiting and self.leads and waiting[0].actions <= room and waiting[0].size <= space:
                room, space = room - waiting[0].actions, space - waiting[0].size
                self.batch.waiters.append(waiting[0])
                waiting.popleft()  # last: an exception from a signal handler must not lose a waiter

    def _unanswered(self) -> list[Pending[Any]]:
        """The requests to write: without answer or refusal; of those that share a token or a key, the first."""
        found: list[Pending[Any]] = []
        identities: set[str] = set()
        for waiter in self.batch.waiters:
            for pending in waiter.pendings:
                if pending.answer is not None or pending.refusal:
                    continue
                if identities.isdisjoint(own := pending.request.identities):
                    identities.update(own)
                    found.append(pending)
        return found[: self.batch.most][: self.queue.shortage.most]

    def _attempt(self) -> StorageError | None:
        """Prepare a write if none is under way, and send it; return the error after which to try again."""
        try:
            if self.batch.write is None:
                self._prepare()
            return self._send(self.batch.write) if self.batch.write else None
        except (NotWritten, OutcomeUnknown) as error:  # from a read before or after the write
            return error
        except SequenceError as error:
            self._refuse(error)
        return None

    def _prepare(self) -> None:
        """Record the write before it is sent: a new leader goes on with this write and prepares no other one.

            leader    --prepares W1--|                  |--sees that it was replaced, sends nothing
            another                  |--takes over, W2--|

        A waiter that gave up meanwhile is not written: the next round prepares a write without it.
        """
        pendings, undecided = self._unanswered(), self.batch.undecided
        write = self.committer.prepare(self.scope, pendings, self.own.deadline) if pendings else None
        if undecided and not (write and all(map(write.excludes, undecided))):
            write = undecided[0]  # it is alone, or its number is taken: another send of it tells
        if write is None:  # without requests another leader has refused them, and was interrupted
            self.batch.settle_refused(outcome_unknown=not pendings)
            return
        with self.lock:
            gave_up = [pending for pending in write.pendings if pending.answer is not None]
            if self.leads and (write in undecided or not gave_up):
                self.batch.write = write

    def _send(self, write: PreparedWrite) -> StorageError | None:
        for pending in write.pendings:
            pending.attempts += 1
        if metrics.on:
            metrics.sending(write.pendings)
        try:
            answer = self.own.deadline.send(write.operation, write.request)
        except OutcomeUnknown as error:
            self.batch.add_undecided()
            return error
        except NotWritten as error:
            self.batch.drop_unless_undecided()
            return error
        except WriteCancelled as error:
            return self._cancelled(write, error)
        except StorageRefused as error:
            if error.outcome_unknown:
                self.batch.add_undecided()
            raise
        share = dynamodb.used_units(answer) / len(write.pendings)
        for pending in write.pendings:
            pending.write_units += share
        self._stored(write, answer)
        self.queue.shortage.end()
        return None

    def _stored(self, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        """Answer the requests of a stored write, and those that were refused while others were undecided."""
        self.committer.committed(self.scope, write, answer)
        self.batch.undecided = ()
        self.batch.settle_refused()
        self.batch.write = None  # last: a signal may come before this, and the next leader must know of the write

    def _cancelled(self, write: PreparedWrite, error: WriteCancelled) -> StorageError | None:
        if is_retryable(error.reasons) or (self.batch.undecided and may_conceal(error.reasons)):
            self.batch.drop_unless_undecided()
            return error
        before = len(self._unanswered())
        refusal = Refusal(self.scope, write, error, self.own.deadline, self.batch.undecided)
        try:
            decision = self.committer.decide(refusal)
            if decision.stored is None:
                self.batch.undecided = decision.undecided
                self.committer.refused(decision.refusal)
        except (NotWritten, OutcomeUnknown):
            self.batch.drop_unless_undecided()  # who gives up now learns that it is not stored
            raise
        if decision.stored is not None:
            self._stored(decision.stored, {})
            return None
        self.batch.settle_refused()
        self.batch.write = None
        return error if len(self._unanswered()) == before else None

    def _refuse(self, error: SequenceError) -> None:
        """Answer the requests that a permanent error concerns.

        If any one of many may be at fault, send them one by one to find it.
        """
        write, undecided = self.batch.write, self.batch.may_be_stored
        pendings: Sequence[Pending[Any]] = write.pendings if write else self._unanswered()
        if isinstance(error, SequenceExhausted):
            pendings = [pending for pending in pendings if pending.request.count >= pendings[0].request.count]
        if len(pendings) > 1 and undecided.isdisjoint(pendings) and _may_concern_one(error, pendings):
            self.batch.most = 1
        else:
            for pending in pendings:
                unknown = pending in undecided
                answer = (
                    self.own.deadline.give_up(error, outcome_unknown=True) if unknown else _at_fault(error, pending)
                )
                pending.settle(answer)
        self.batch.write = None

    def _release(self) -> None:
        """Take the answered waiters out of the batch, and wake the first: each wakes the next one when it leaves.

        If nobody is left in the batch, the last of them hands over the lead.
        """
        with self.lock:
            leaving, staying = list[Waiter](), list[Waiter]()
            for waiter in self.batch.waiters:
                if not waiter.answered:
                    staying.append(waiter)
                elif waiter is not self.own and not waiter.gone:
                    leaving.append(waiter)
            self.batch.waiters = staying
            if not leaving:
                return
            for waiter, following in pairwise(leaving):
                waiter.following = following
            if self.leads and not self.batch.waiters:
                self.queue.leader = leaving[-1]
            leaving[0].wake()


def _may_concern_one(error: SequenceError, pendings: Sequence[Pending[Any]]) -> bool:
    """Whether one request may be at fault: its item, or an action that rides with it and names a table of its own."""
    riders = any(pending.request.also for pending in pendings)
    return isinstance(error, StorageRefused) if riders else type(error) is StorageRefused


def _at_fault(error: SequenceError, pending: Pending[Any]) -> SequenceError:
    """What a caller gets for a write that was refused whole: InvalidItem if what they brought is at fault.

    An engine need not say which action is invalid. The keys of the tables are right, unless nobody may look at them.
    """
    request = pending.request
    if not isinstance(error, StorageRefused) or error.code != dynamodb.INVALID or not isinstance(request, PutRequest):
        return error
    if dynamodb.is_about_keys(error) and not request.also:
        return error
    brought = ["The item", *(f"also[{index}]" for index in range(len(request.also)))]
    return InvalidItem(f"{' or '.join(brought)} cannot be stored: {error}")
