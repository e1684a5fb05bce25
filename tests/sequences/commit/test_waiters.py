"""Who waits for a write: what each is told, who goes on when a leader is lost, and who leads next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sequences.commit.requests import Pending, PreparedWrite, PutRequest
from sequences.commit.retries import Deadline
from sequences.commit.waiters import ENOUGH, TOOK_TOO_LONG, Batch, Queue, Shortage, Waiter
from sequences.exceptions import GaveUp, InvalidItem, NotWritten
from tests.sequences.support import Clock

LATE = NotWritten("Nobody answered.")


def deadline(clock: Clock, seconds: float = 10.0) -> Deadline:
    """A deadline that begins now."""
    return Deadline(timing=clock.timing(), seconds=seconds)


def waiter(clock: Clock, count: int = 1, seconds: float = 10.0) -> Waiter:
    """A caller with so many requests."""
    return Waiter([Pending(PutRequest(item={}, size=5)) for _ in range(count)], deadline(clock, seconds))


def write(*waiters: Waiter) -> PreparedWrite:
    """A write for the requests of these callers."""
    pendings = tuple(pending for one in waiters for pending in one.pendings)
    return PreparedWrite(operation="", request={}, pendings=pendings, values=(), token="")


def answers(one: Waiter) -> list[Any]:
    """What the requests of a caller were told; of giving up, whether the outcome is unknown, and after what."""
    told: Sequence[Any] = [pending.answer for pending in one.pendings]
    return [
        (each.outcome_unknown, each.attempts, each.__cause__) if isinstance(each, GaveUp) else each for each in told
    ]


class TestWaiter:
    def test_what_it_takes(self, clock: Clock) -> None:
        """A caller takes the actions and the bytes of all its requests, and begins unanswered and asleep."""
        pendings = [Pending(PutRequest(item={}, size=3, token=token)) for token in ("", "one")]
        one = Waiter(pendings, deadline(clock))
        assert (one.actions, one.size) == (3, 6)
        assert (one.gone, one.left, one.following, one.latch.locked()) == (False, False, None, True)
        for _ in range(2):
            one.wake()
        assert not one.latch.locked()

    def test_who_waits(self, clock: Clock) -> None:
        """A caller waits until all its requests are answered, or it has gone."""
        one, other = waiter(clock, 2), waiter(clock)
        told = []
        for pending in one.pendings:
            told.append((one.answered, one.waits))
            pending.settle(LATE)
        assert [*told, (one.answered, one.waits)] == [(False, True), (False, True), (True, False)]
        other.gone = True
        assert (other.lost, other.waits, other.answered) == (True, False, False)

    def test_who_is_lost(self, clock: Clock) -> None:
        """A caller that has no answer 1.6 seconds after its deadline is stuck."""
        one = waiter(clock)
        clock.now += 11.59
        assert (one.lost, one.waits) == (False, True)
        clock.now += 0.02
        assert (one.lost, one.waits) == (True, False)

    @pytest.mark.parametrize("how", [{}, {"outcome_unknown": False}, {"outcome_unknown": True}])
    def test_giving_up(self, clock: Clock, how: dict[str, bool]) -> None:
        """What has no answer gets the error, which says that nothing is stored unless that is unknown."""
        one = waiter(clock, 2)
        stored = InvalidItem("An answer of before.")
        one.pendings[0].settle(stored)
        one.give_up(TOOK_TOO_LONG, **how)
        assert answers(one) == [stored, (how.get("outcome_unknown", False), 0, TOOK_TOO_LONG)]


class TestBatch:
    def test_undecided_writes(self, clock: Clock) -> None:
        """A write that may arrive is noted once, and is kept to be sent again; another one is dropped."""
        one, two = waiter(clock), waiter(clock)
        batch = Batch([one, two])
        batch.add_undecided()
        assert (batch.undecided, batch.may_be_stored) == ((), set())
        first = batch.write = write(one)
        for _ in range(2):
            batch.add_undecided()
        assert (batch.undecided, batch.may_be_stored) == ((first,), {*one.pendings})
        batch.drop_unless_undecided()
        assert batch.write is first
        batch.write = write(two)
        batch.drop_unless_undecided()
        assert batch.write is None
        second = batch.write = write(two)
        batch.add_undecided()
        assert batch.undecided == (first, second)

    def test_how_long_a_pause_may_be(self, clock: Clock) -> None:
        """It ends at the first deadline of a request without an answer; without any there is none."""
        one, two = waiter(clock, 2, seconds=3.0), waiter(clock, seconds=5.0)
        batch = Batch([one, two])
        one.pendings[1].deadline = deadline(clock, seconds=2.0)
        left = []
        for pending in (one.pendings[1], *one.pendings[:1], *two.pendings):
            left.append(batch.left)
            pending.settle(InvalidItem(""))
        assert [*left, batch.left] == [2.0, 3.0, 5.0, 0.0]

    def test_everybody_is_told(self, clock: Clock) -> None:
        """At the deadline those in an undecided write are told that it may be stored; before it only if all are."""
        for everybody in (False, True):
            one, two = waiter(clock), waiter(clock)
            batch = Batch([one, two], undecided=(write(one),))
            batch.expire(LATE, attempts=2, **({"everybody": True} if everybody else {}))
            told = [[(True, 2, LATE)], [(False, 2, LATE)]]
            assert [answers(one), answers(two)] == (told if everybody else [[None], [None]])

    @pytest.mark.parametrize("everybody", [False, True])
    def test_requests_with_deadlines_of_their_own(self, clock: Clock, everybody: bool) -> None:
        """Each request is told at its own deadline or its caller's, by its own refusal if there is one."""
        one = waiter(clock, 4, seconds=5.0)
        answered, own, refused, unknown = one.pendings
        answered.settle(stored := InvalidItem("An answer of before."))
        own.deadline = deadline(clock, seconds=9.0)
        refused.refuse(refusal := InvalidItem("It is at fault."))
        batch = Batch([one], undecided=(replace(write(one), pendings=(unknown,)),))
        clock.now += 4
        batch.expire(LATE, attempts=3, everybody=False)
        assert answers(one) == [stored, None, None, None]
        clock.now += 1
        batch.expire(LATE, attempts=3, everybody=everybody)
        assert answers(one) == [stored, (False, 3, LATE) if everybody else None, (False, 3, refusal), (True, 3, LATE)]

    @pytest.mark.parametrize("how", [{}, {"outcome_unknown": True}])
    def test_the_refused_are_told(self, clock: Clock, how: dict[str, bool]) -> None:
        """Who is refused and in no undecided write gets its error, or learns that the outcome is unknown."""
        one, two, three = waiter(clock), waiter(clock), waiter(clock)
        refusals = [InvalidItem("One."), InvalidItem("Two.")]
        for caller, refusal in zip((one, two), refusals, strict=True):
            caller.pendings[0].refuse(refusal)
        Batch([one, two, three], undecided=(write(two),)).settle_refused(**how)
        assert answers(one) == ([(True, 0, refusals[0])] if how else [refusals[0]])
        assert answers(two) == answers(three) == [None]

    def test_what_is_left_behind(self, clock: Clock) -> None:
        """The next leader goes on with those that still wait, and with the write, which may have been sent."""
        one, two = waiter(clock), waiter(clock)
        batch = Batch([one, two], write=(first := write(one, two)), most=1)
        one.gone = True
        after = batch.left_behind()
        assert after is not None
        assert (after.waiters, after.write, after.undecided, after.most) == ([two], first, (first,), 1)
        two.pendings[0].settle(InvalidItem(""))
        assert batch.left_behind() is None


class TestShortage:
    def test_how_long_it_lasts(self) -> None:
        """The first two times it is what the units take, then twice as long each time, and a second at the most."""
        shortage = Shortage()
        waits = [shortage.refused(100) for _ in range(7)]
        assert waits == pytest.approx([0.1, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0])
        shortage.end()
        assert shortage.refused(100) == pytest.approx(0.1)
        for _ in range(2000):
            assert shortage.refused(1) <= 1.0

    @pytest.mark.parametrize(
        ("most", "following"), [(None, None), (1, 2), (ENOUGH - 1, 2 * ENOUGH - 2), (ENOUGH, None), (2 * ENOUGH, None)]
    )
    def test_how_many_go_together(self, most: int | None, following: int | None) -> None:
        """After a write twice as many go together, until that is more than one transaction takes."""
        shortage = Shortage()
        assert shortage.most is None
        shortage.most = most
        shortage.end()
        assert shortage.most == following


class TestQueue:
    def test_who_leads(self, clock: Clock) -> None:
        """A new queue is led by its first caller, until that is lost or its batch is over."""
        one = waiter(clock)
        queue = Queue(one)
        assert (queue.leader, queue.batch.waiters, queue.unled) == (one, [one], False)
        assert queue.shortage.most is None
        one.gone = True
        assert queue.unled
        one.gone, queue.batch = False, Batch([])
        assert queue.unled

    def test_the_batch_left_behind_comes_first(self, clock: Clock) -> None:
        """Whoever still waits in the batch of before leads next, with that batch; others wait on."""
        one, two, three = waiter(clock), waiter(clock), waiter(clock)
        queue = Queue(one)
        queue.batch.waiters.append(two)
        queue.waiting.append(three)
        one.gone = True
        assert queue.next_leader() is queue.leader is two
        assert (queue.batch.waiters, list(queue.waiting)) == ([two], [three])

    def test_the_longest_waiting_comes_next(self, clock: Clock) -> None:
        """Otherwise it is the first in the queue that still waits, with a batch of its own."""
        one, two, three, four = (waiter(clock) for _ in range(4))
        queue = Queue(one)
        queue.waiting.extend([two, three, four])
        one.gone = two.gone = True
        assert queue.next_leader() is queue.leader is three
        assert (queue.batch.waiters, list(queue.waiting)) == ([three], [four])

    def test_one_that_is_in_both(self, clock: Clock) -> None:
        """A caller that an interrupted leader left in the queue, too, leads once."""
        one, two = waiter(clock), waiter(clock)
        queue = Queue(one)
        queue.batch.waiters.append(two)
        queue.waiting.append(two)
        one.gone = True
        assert queue.next_leader() is two
        assert list(queue.waiting) == []

    def test_nobody_waits(self, clock: Clock) -> None:
        """Without anybody who waits there is no leader."""
        one, two = waiter(clock), waiter(clock)
        queue = Queue(one)
        queue.waiting.append(two)
        one.gone = two.gone = True
        assert queue.next_leader() is None
        assert list(queue.waiting) == []
