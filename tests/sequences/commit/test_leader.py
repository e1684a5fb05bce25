"""The work of a leader, step by step: whom it takes along, what it sends, what it makes of a refusal, whom it wakes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from sequences.actions import Check
from sequences.commit import leader as leader_module
from sequences.commit.leader import Leader, _at_fault, _may_concern_one
from sequences.commit.requests import Committer, Decision, Pending, PreparedWrite, PutRequest, Refusal, ReserveRequest
from sequences.commit.retries import Deadline
from sequences.commit.waiters import Queue, Waiter
from sequences.exceptions import (
    AccessRefused,
    CancellationReason,
    GaveUp,
    InvalidItem,
    NotWritten,
    OutcomeUnknown,
    SequenceError,
    SequenceExhausted,
    StorageError,
    StorageRefused,
    Throttled,
    WriteCancelled,
)
from tests.sequences.support import Clock

RIDER = Check("customers", {"pk": "Ann"})
AWAY, LOST = NotWritten("away"), OutcomeUnknown("lost")


def cancelled(*codes: str) -> WriteCancelled:
    """A refusal with a reason for each action."""
    return WriteCancelled("no", tuple(CancellationReason(code) for code in codes))


OTHERS, CONFLICT = cancelled("ConditionalCheckFailed"), cancelled("TransactionConflict")
HIDDEN = cancelled("ConditionalCheckFailed", "TransactionConflict")


class Line(Committer):
    """A committer whose writes have these outcomes, and a queue of callers with the requests in it."""

    most_actions = 100

    def __init__(self, clock: Clock, *counts: int, outcomes: Sequence[StorageError | None] = ()) -> None:
        self.clock = clock
        self.outcomes = list(outcomes)
        self.told: list[tuple[Any, ...]] = []
        self.decision: Decision | None = None
        self.refuses: list[Pending[Any]] = []
        self.in_line = False
        self.values: tuple[int, ...] = (4,)
        self.waiters = [self.waiter(count) for count in counts]
        self.queue = Queue(self.waiters[0])
        self.queue.batch.waiters[:] = self.waiters
        self.leader = Leader(self, "ABC", self.queue, threading.Lock())
        self.batch: Any = self.leader.batch

    def waiter(self, count: int = 1, *, size: int = 10) -> Waiter:
        """A caller with so many requests."""
        deadline = Deadline(timing=self.clock.timing(uniform=lambda low, high: high), seconds=10.0)
        deadline.send = self.send  # type: ignore[method-assign]
        return Waiter([Pending(PutRequest(item={}, size=size)) for _ in range(count)], deadline)

    @property
    def pendings(self) -> list[Pending[Any]]:
        """The requests of those in the batch at first."""
        return [pending for one in self.waiters for pending in one.pendings]

    def write(self, *pendings: Pending[Any], values: tuple[int, ...] = (4,)) -> PreparedWrite:
        """A write of these requests."""
        return PreparedWrite(operation="put_item", request={}, pendings=pendings, values=values, token="")

    def send(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        self.told.append(("send", operation))
        if self.outcomes and (error := self.outcomes.pop(0)):
            raise error
        return {"ConsumedCapacity": {"CapacityUnits": 3.0}}

    def exclusively(self, scope: Any, deadline: Deadline) -> AbstractContextManager[bool]:
        self.told.append(("turn", scope))
        return nullcontext(self.in_line)

    def prepare(self, scope: Any, pendings: Sequence[Pending[Any]], deadline: Deadline) -> PreparedWrite | None:
        self.told.append(("prepare", len(pendings)))
        return self.write(*pendings, values=self.values) if pendings else None

    def committed(self, scope: Any, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        self.told.append(("committed", len(write.pendings)))
        for pending in write.pendings:
            pending.settle([4])

    def decide(self, refusal: Refusal) -> Decision:
        return self.decision or Decision(refusal)

    def refused(self, refusal: Refusal) -> None:
        self.told.append(("refused", refusal.scope, refusal.undecided))
        for pending in self.refuses:
            pending.refuse(InvalidItem("It is at fault."))


def unknown(pending: Pending[Any]) -> bool | None:
    """Whether a request was told that its outcome is unknown; None if it gave up on nothing."""
    return pending.answer.outcome_unknown if isinstance(pending.answer, GaveUp) else None


class TestTaking:
    @pytest.mark.parametrize(("most", "taken"), [(3, 1), (4, 2), (5, 3), (9, 3)])
    def test_as_many_as_fit(self, clock: Clock, most: int, taken: int) -> None:
        """Callers are taken along in their order while the actions of all of them fit into one write."""
        line = Line(clock, 2)
        line.most_actions = most
        line.queue.waiting.extend(line.waiter() for _ in range(3))
        line.leader._take_along()
        assert (len(line.batch.waiters), len(line.queue.waiting)) == (1 + taken, 3 - taken)

    def test_as_large_as_fit(self, clock: Clock) -> None:
        """Together they have no more than 4 MB, and whoever does not fit holds up those behind."""
        line = Line(clock, 1)
        large, larger, small = (line.waiter(size=size) for size in (3_000_000, 999_991, 1))
        line.queue.waiting.extend([large, larger, small])
        line.leader._take_along()
        assert line.batch.waiters == [line.waiters[0], large]
        larger.size -= 1
        line.leader._take_along()
        assert line.batch.waiters == [line.waiters[0], large, larger]
        assert list(line.queue.waiting) == [small]

    def test_nobody_after_it_was_replaced(self, clock: Clock) -> None:
        """A leader that another one has replaced takes nobody along."""
        line = Line(clock, 1)
        line.queue.waiting.append(line.waiter())
        line.queue.batch = Queue(line.waiter()).batch
        line.leader._take_along()
        assert len(line.queue.waiting) == 1

    def test_who_is_written(self, clock: Clock) -> None:
        """Requests without answer or refusal; of those that share a key the first; while units are short, fewer."""
        line = Line(clock, 2, 4)
        answered, refused, first, second, other, last = line.pendings
        answered.settle([1])
        refused.refuse(InvalidItem(""))
        for pending in (first, second):
            pending.request.own_key = {"pk": {"S": "one"}}
        assert line.leader._unanswered() == [first, other, last]
        line.queue.shortage.most = 2
        assert line.leader._unanswered() == [first, other]
        line.batch.most = 1
        assert line.leader._unanswered() == [first]


class TestPreparing:
    def test_a_write(self, clock: Clock) -> None:
        """The write is noted before it is sent, unless another leader has taken over or somebody has given up."""
        line = Line(clock, 2)
        line.leader._prepare()
        assert line.batch.write is not None
        line.batch.write = None
        line.queue.batch = Queue(line.waiter()).batch
        line.leader._prepare()
        assert line.batch.write is None

    def test_nobody_is_left(self, clock: Clock) -> None:
        """Who was refused by an interrupted leader learns that the outcome is unknown; nothing is prepared."""
        line = Line(clock, 1)
        line.pendings[0].refuse(InvalidItem(""))
        line.leader._prepare()
        assert unknown(line.pendings[0]) is True
        assert line.told == []

    def test_all_are_refused(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who is refused while a write is prepared is told so for certain."""
        line = Line(clock, 1)
        line.refuses = line.pendings

        def prepare(*_: object) -> None:
            line.refused(Refusal("ABC", line.write(), OTHERS, Deadline()))

        monkeypatch.setattr(line, "prepare", prepare)
        assert line.leader._attempt() is None
        assert isinstance(line.pendings[0].answer, InvalidItem)

    @pytest.mark.parametrize(("values", "again"), [((4,), False), ((4, 5), False), ((5,), True)])
    def test_beside_an_undecided_write(self, clock: Clock, values: tuple[int, ...], again: bool) -> None:
        """A new write must exclude the undecided ones; otherwise the first of them is sent again."""
        line = Line(clock, 2)
        undecided = line.write(*line.pendings, values=(3, 4))
        line.batch.undecided = (undecided,)
        line.values = values
        line.leader._prepare()
        assert (line.batch.write is undecided) is again

    def test_an_undecided_write_alone(self, clock: Clock) -> None:
        """Without any request to write an undecided write is sent again, though its callers have their answers."""
        line = Line(clock, 1)
        undecided = line.write(*line.pendings)
        line.batch.undecided = (undecided,)
        line.pendings[0].settle([1])
        line.leader._prepare()
        assert line.batch.write is undecided


@pytest.mark.parametrize("step", [Leader._take_along, Leader._prepare, Leader._release])
def test_under_the_lock(clock: Clock, step: Callable[[Leader], None]) -> None:
    """What others look at, too, changes under their lock."""
    line = Line(clock, 1)
    line.queue.waiting.append(line.waiter())
    line.leader.lock = mock.MagicMock()
    step(line.leader)
    assert line.leader.lock.__enter__.call_count == line.leader.lock.__exit__.call_count == 1


class TestSending:
    def test_a_stored_write(self, clock: Clock) -> None:
        """Each request of it is charged its share, and who was refused meanwhile is told."""
        line = Line(clock, 3)
        one, two, refused = line.pendings
        refused.refuse(InvalidItem("It is at fault."))
        write = line.batch.write = line.write(one, two)
        line.batch.undecided = (line.write(refused),)
        line.queue.shortage.most = 4
        assert line.leader._attempt() is None
        assert [(pending.attempts, pending.write_units) for pending in line.pendings] == [(1, 1.5), (1, 1.5), (0, 0.0)]
        assert (one.answer, isinstance(refused.answer, InvalidItem)) == ([4], True)
        assert (line.batch.write, line.batch.undecided) == (None, ())
        assert line.queue.shortage.most == 8
        assert line.told == [("send", write.operation), ("committed", 2)]

    @pytest.mark.parametrize(
        ("outcome", "kept", "undecided"), [(AWAY, False, False), (LOST, True, True), (CONFLICT, False, False)]
    )
    def test_one_that_failed(self, clock: Clock, outcome: StorageError, kept: bool, undecided: bool) -> None:
        """A write that may be stored is kept; after another failure a new one takes newcomers along."""
        line = Line(clock, 1, outcomes=[outcome])
        assert line.leader._attempt() is outcome
        assert (line.batch.write is not None, bool(line.batch.undecided)) == (kept, undecided)
        assert line.pendings[0].answer is None

    @pytest.mark.parametrize(("may_be_stored", "told"), [(False, None), (True, True)])
    def test_one_that_is_refused_for_good(self, clock: Clock, may_be_stored: bool, told: bool | None) -> None:
        """A permanent error is the answer; of one that another server says, the outcome is unknown."""
        error = StorageRefused("no")
        error.outcome_unknown = may_be_stored
        line = Line(clock, 1, outcomes=[error])
        assert line.leader._attempt() is None
        assert unknown(line.pendings[0]) is told
        assert told or line.pendings[0].answer is error
        assert line.batch.write is None

    @pytest.mark.parametrize("on", [False, True])
    def test_metrics(self, clock: Clock, monkeypatch: pytest.MonkeyPatch, on: bool) -> None:
        """While metrics are on, each send and each failure is told."""
        line = Line(clock, 1, outcomes=[AWAY])
        line.leader.own.deadline.sequence = "stub"
        told: list[object] = []
        stub = SimpleNamespace(on=on, sending=told.append, failed=lambda *failed: told.append(failed))
        monkeypatch.setattr(leader_module, "metrics", stub)
        assert line.leader._attempt_exclusively() is AWAY
        assert told == ([tuple(line.pendings), ("stub", AWAY)] if on else [])


class TestCancelled:
    @pytest.mark.parametrize(
        ("error", "undecided", "again"),
        [
            (CONFLICT, False, True),
            (CONFLICT, True, True),
            (HIDDEN, True, True),
            (HIDDEN, False, False),
            (OTHERS, True, False),
        ],
    )
    def test_what_is_tried_again(self, clock: Clock, error: WriteCancelled, undecided: bool, again: bool) -> None:
        """What heals by itself, or may hide that an earlier send is stored, is tried again; the rest is looked at."""
        line = Line(clock, 1)
        write = line.batch.write = line.write(*line.pendings)
        line.batch.undecided = (write,) if undecided else ()
        assert line.leader._cancelled(write, error) is error
        assert [one[0] for one in line.told] == ([] if again else ["refused"])
        assert line.batch.write is (write if again and undecided else None)

    @pytest.mark.parametrize("refuses", [False, True])
    def test_a_lost_race(self, clock: Clock, refuses: bool) -> None:
        """After a lost race it is tried again; a request at fault is told so, and the others go on at once."""
        line = Line(clock, 2)
        line.refuses = line.pendings[:1] if refuses else []
        write = line.batch.write = line.write(*line.pendings)
        assert line.leader._cancelled(write, OTHERS) is (None if refuses else OTHERS)
        assert [isinstance(pending.answer, InvalidItem) for pending in line.pendings] == [refuses, False]

    def test_a_refusal_that_shows_an_earlier_one(self, clock: Clock) -> None:
        """A refusal may show that an earlier write is stored: then its requests are answered."""
        line = Line(clock, 2)
        write, earlier = line.write(*line.pendings), line.write(line.pendings[0])
        line.decision = Decision(Refusal("ABC", write, OTHERS, Deadline()), stored=earlier)
        assert line.leader._cancelled(write, OTHERS) is None
        assert [pending.answer for pending in line.pendings] == [[4], None]
        assert line.told == [("committed", 1)]

    def test_what_stays_undecided(self, clock: Clock) -> None:
        """What a refusal leaves undecided is kept, and those in it are told nothing for certain."""
        line = Line(clock, 2)
        write, earlier = line.write(*line.pendings), line.write(line.pendings[0])
        line.batch.undecided = (earlier, write)
        refusal = Refusal("ABC", write, OTHERS, Deadline(), (earlier,))
        line.decision, line.refuses = Decision(refusal, undecided=(earlier,)), line.pendings
        assert line.leader._cancelled(write, OTHERS) is None
        assert line.batch.undecided == (earlier,)
        assert [pending.answer is None for pending in line.pendings] == [True, False]
        assert line.told == [("refused", "ABC", (earlier,))]

    @pytest.mark.parametrize("undecided", [False, True])
    def test_a_look_that_fails(self, clock: Clock, monkeypatch: pytest.MonkeyPatch, undecided: bool) -> None:
        """A refused write is not sent again where a look at its reasons fails: who gives up is told it is not stored.

        Of one that may be stored by an earlier send, nobody is told so.
        """
        line = Line(clock, 1, outcomes=[OTHERS])
        write = line.batch.write = line.write(*line.pendings)
        line.batch.undecided = (write,) if undecided else ()
        for look in ("decide", "refused"):
            monkeypatch.setattr(line, look, mock.Mock(side_effect=Throttled("no")))
        assert isinstance(line.leader._attempt(), Throttled)
        assert line.batch.write is (write if undecided else None)
        line.batch.expire(AWAY, attempts=1, everybody=True)
        assert unknown(line.pendings[0]) is undecided


class TestRefusing:
    def test_one_of_many(self, clock: Clock) -> None:
        """Where one of many may be at fault they are sent one by one, and the one that is refused has the error."""
        line = Line(clock, 2)
        line.batch.write = line.write(*line.pendings)
        error = StorageRefused("no")
        line.leader._refuse(error)
        assert (line.batch.most, line.batch.write) == (1, None)
        assert [pending.answer for pending in line.pendings] == [None, None]
        line.leader._refuse(error)
        assert [pending.answer for pending in line.pendings] == [error, None]

    def test_all_of_them(self, clock: Clock) -> None:
        """An error that concerns all is the answer of all; those whose write may be stored learn that."""
        line = Line(clock, 3)
        line.batch.undecided = (line.write(line.pendings[1]),)
        error = AccessRefused("no")
        line.leader._refuse(error)
        assert [unknown(pending) for pending in line.pendings] == [None, True, None]
        assert line.pendings[0].answer is line.pendings[2].answer is error
        assert line.batch.most is None

    def test_those_for_whom_too_few_are_left(self, clock: Clock) -> None:
        """At the end of a sequence only those are refused that take as many values as the first, or more."""
        line = Line(clock, 4)
        for pending, count in zip(line.pendings, (3, 2, 3, 4), strict=True):
            pending.request.count = count
        line.leader._refuse(SequenceExhausted("no"))
        assert [pending.answer is not None for pending in line.pendings] == [True, False, True, True]

    @pytest.mark.parametrize(
        ("error", "alone", "riding"),
        [
            (StorageRefused("no"), True, True),
            (AccessRefused("no"), False, True),
            (SequenceExhausted("no"), False, False),
        ],
    )
    def test_whom_an_error_may_concern(self, error: SequenceError, alone: bool, riding: bool) -> None:
        """A refusal of any kind may be about one caller's action, and only a plain one about one caller's item."""
        plain, with_rider = Pending(PutRequest(item={})), Pending(PutRequest(item={}, also=(RIDER,)))
        assert _may_concern_one(error, [plain, plain]) is alone
        assert _may_concern_one(error, [plain, with_rider]) is riding

    @pytest.mark.parametrize(("also", "said"), [((), "The item"), ((RIDER, RIDER), "The item or also[0] or also[1]")])
    def test_what_a_caller_brought(self, also: tuple[Any, ...], said: str) -> None:
        """What the engine calls invalid is what the caller brought, which is named."""
        error = _invalid("Too deep")
        answer = _at_fault(error, Pending(PutRequest(item={}, also=also)))
        assert isinstance(answer, InvalidItem)
        assert f"{answer}" == f"{said} cannot be stored: Too deep"

    def test_what_no_caller_brought(self) -> None:
        """Other errors, those about the keys of a table, and those of values without items stay as they are."""
        put, keys = Pending(PutRequest(item={})), _invalid("The provided key element does not match the schema")
        reserve = Pending(ReserveRequest(count=1))
        for error, pending in (
            (StorageRefused("no"), put),
            (AWAY, put),
            (_invalid("Too deep"), reserve),
            (keys, put),
        ):
            assert _at_fault(error, pending) is error
        assert isinstance(_at_fault(keys, Pending(PutRequest(item={}, also=(RIDER,)))), InvalidItem)


def _invalid(said: str) -> StorageRefused:
    error = StorageRefused(said)
    error.code = "ValidationException"
    return error


class TestTurns:
    def test_a_turn_for_each_attempt(self, clock: Clock) -> None:
        """An attempt takes a turn, and takes along who came before it; what it sends again stays as it is."""
        line = Line(clock, 1, outcomes=[LOST, None])
        line.queue.waiting.append(line.waiter())
        assert line.leader._attempt_exclusively() is LOST
        line.queue.waiting.append(line.waiter())
        assert line.leader._attempt_exclusively() is None
        first = [("turn", "ABC"), ("prepare", 2), ("send", "put_item")]
        assert line.told == [*first, ("turn", "ABC"), ("send", "put_item"), ("committed", 2)]
        assert len(line.queue.waiting) == 1

    def test_without_turns(self, clock: Clock) -> None:
        """A leader that takes no turns asks nobody for one."""
        line = Line(clock, 1)
        line.leader = Leader(line, "ABC", line.queue, threading.Lock(), takes_turns=False)
        line.in_line, line.outcomes = True, [OTHERS]
        assert line.leader._attempt_exclusively() is OTHERS
        assert ("turn", "ABC") not in line.told

    @pytest.mark.parametrize(("in_line", "sends"), [(False, 1), (True, 2)])
    def test_a_lost_race(self, clock: Clock, in_line: bool, sends: int) -> None:
        """In a queue of hosts a lost race is run again in the same turn; otherwise the turn is given away."""
        line = Line(clock, 1, outcomes=[OTHERS])
        line.in_line = in_line
        assert line.leader._attempt_exclusively() is (None if in_line else OTHERS)
        assert line.told.count(("send", "put_item")) == sends
        assert line.told.count(("turn", "ABC")) == 1
        assert len(clock.sleeps) == sends - 1

    def test_other_failures(self, clock: Clock) -> None:
        """After another failure the turn is given away in a queue of hosts, too."""
        line = Line(clock, 1, outcomes=[AWAY])
        line.in_line = True
        assert line.leader._attempt_exclusively() is AWAY

    def test_too_few_units(self, clock: Clock) -> None:
        """What lacks units waits in its turn for what the requests take twice, longer each time, but not too long."""
        line = Line(clock, 3, outcomes=[Throttled("no")] * 9)
        for pending in line.pendings:
            pending.request.size = 20_000
        assert isinstance(line.leader._attempt_exclusively(), Throttled)
        assert clock.sleeps == pytest.approx([0.12, 0.12, 0.24])
        assert line.queue.shortage.most == 1
        assert line.told.count(("turn", "ABC")) == 1

    def test_too_few_units_for_one(self, clock: Clock) -> None:
        """One request always goes."""
        line = Line(clock, 1, outcomes=[Throttled("no")] * 9)
        line.pendings[0].request.size = 300_000
        line.leader._attempt_exclusively()
        assert line.queue.shortage.most == 1

    def test_races_for_too_long(self, clock: Clock) -> None:
        """A turn is given back after 0.4 seconds, whatever the call took before it, and nothing is short."""
        line = Line(clock, 2, outcomes=[OTHERS] * 99)
        line.in_line = True
        clock.now += 5
        assert line.leader._attempt_exclusively() is OTHERS
        assert sum(clock.sleeps[:-1]) < 0.4 < sum(clock.sleeps)
        assert line.queue.shortage.most is None

    def test_at_the_deadline(self, clock: Clock) -> None:
        """At the deadline of a request nobody waits for units."""
        line = Line(clock, 2, outcomes=[Throttled("no")])
        line.pendings[1].deadline = Deadline(timing=clock.timing(), seconds=0.0)
        assert isinstance(line.leader._attempt_exclusively(), Throttled)
        assert clock.sleeps == []


class TestRunning:
    def test_until_it_is_answered(self, clock: Clock) -> None:
        """It tries again after a pause, until its own requests are answered."""
        line = Line(clock, 1, outcomes=[AWAY, AWAY])
        line.leader.run()
        assert line.pendings[0].answer == [4]
        assert len(clock.sleeps) == 2

    def test_until_the_deadline(self, clock: Clock) -> None:
        """At the deadline its requests get the last error, with the attempts."""
        line = Line(clock, 1, outcomes=[AWAY] * 999)
        line.leader.run()
        answer = line.pendings[0].answer
        assert isinstance(answer, GaveUp)
        assert (answer.__cause__, answer.attempts) == (AWAY, len(clock.sleeps))
        assert clock.now == pytest.approx(1_000_010.0)

    def test_one_that_waited_for_too_long(self, clock: Clock) -> None:
        """Who waited until its deadline sends nothing; who did not wait makes an attempt however late it is."""
        for waited, sends in ((True, 0), (False, 1)):
            line = Line(clock, 1)
            clock.now += 10
            line.leader.run(waited=waited)
            assert line.told.count(("send", "put_item")) == sends

    def test_in_silence(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """While DynamoDB is silent there is one attempt, without a pause, and then everybody gives up."""
        monkeypatch.setattr(Deadline, "in_silence", True)
        line = Line(clock, 1, 1, outcomes=[AWAY] * 9)
        line.leader.run()
        assert [unknown(pending) for pending in line.pendings] == [False, False]
        assert line.told.count(("send", "put_item")) == 1
        assert clock.sleeps == [0.0]

    def test_after_it_was_replaced(self, clock: Clock) -> None:
        """A leader that was replaced does nothing more."""
        line = Line(clock, 1)
        line.queue.batch = Queue(line.waiter()).batch
        line.leader.run()
        assert line.told == []


class TestReleasing:
    def test_each_wakes_the_next(self, clock: Clock) -> None:
        """Of the answered callers the first is woken, and each knows whom to wake then; the last one leads."""
        line = Line(clock, 1, 1, 1, 1)
        own, one, gone, two = line.waiters
        for pending in line.pendings:
            pending.settle([4])
        gone.gone = True
        line.leader._release()
        assert line.batch.waiters == []
        assert (one.latch.locked(), two.latch.locked()) == (False, True)
        assert (own.following, one.following, two.following) == (None, two, None)
        assert line.queue.leader is two

    def test_some_are_left(self, clock: Clock) -> None:
        """While somebody in the batch has no answer, its leader goes on."""
        line = Line(clock, 1, 1)
        line.pendings[1].settle([4])
        line.leader._release()
        assert line.batch.waiters == line.waiters[:1]
        assert not line.waiters[1].latch.locked()
        assert line.queue.leader is line.waiters[0]

    def test_nobody_leaves(self, clock: Clock) -> None:
        """A leader that alone has its answer leaves the batch, and hands over when it goes."""
        line = Line(clock, 1)
        line.pendings[0].settle([4])
        line.leader._release()
        assert line.batch.waiters == []
        assert line.queue.leader is line.waiters[0]

    def test_after_it_was_replaced(self, clock: Clock) -> None:
        """A leader that was replaced names no other one."""
        line = Line(clock, 1, 1)
        for pending in line.pendings:
            pending.settle([4])
        line.queue.batch = Queue(line.waiter()).batch
        line.leader._release()
        assert line.queue.leader is line.waiters[0]
