"""The steps of a caller in a commit queue, one by one, without threads: it joins, waits, gives up and leaves."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from sequences.commit import commit_queues
from sequences.commit.commit_queues import CommitQueues, is_inner
from sequences.commit.requests import Pending, PreparedWrite, PutRequest
from sequences.commit.retries import Deadline
from sequences.commit.waiters import TOOK_TOO_LONG, Batch, Queue, Waiter
from sequences.exceptions import GaveUp, InvalidItem
from tests.sequences.support import Clock


class House:
    """A queue of one scope, with its lock, and leaders that answer and note how they lead."""

    def __init__(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = clock
        self.committer: Any = mock.sentinel.committer
        self.queues = CommitQueues(self.committer)
        self.lock: Any = mock.MagicMock()
        self.queues._lock = self.lock
        self.led: list[Any] = []
        monkeypatch.setattr(commit_queues, "Leader", self.leader)

    def leader(self, committer: object, scope: object, queue: Queue, lock: object, **how: bool) -> Any:
        assert (committer, scope) == (self.committer, "ABC")

        def run(**more: bool) -> None:
            self.led.append((queue.leader, lock is self.lock, is_inner(), how | more))
            for pending in queue.leader.pendings:
                pending.settle(InvalidItem(""))

        return mock.Mock(run=run)

    @property
    def entered(self) -> int:
        """How often the lock was taken and given back."""
        taken, given = self.lock.__enter__.call_count, self.lock.__exit__.call_count
        assert taken == given
        return int(taken)

    def waiter(self, seconds: float = 10.0) -> Waiter:
        """A caller with one request."""
        return Waiter([Pending(PutRequest(item={}))], Deadline(timing=self.clock.timing(), seconds=seconds))

    def queue(self, *waiting: Waiter) -> Queue:
        """The queue, in which these callers wait."""
        queue = self.queues._queues["ABC"] = Queue(self.waiter())
        queue.waiting.extend(waiting)
        return queue


@pytest.fixture
def house(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> House:
    """A house without callers."""
    return House(clock, monkeypatch)


def given_up(waiter: Waiter) -> bool | None:
    """Whether the outcome is unknown to one that gave up; None for another."""
    answer = waiter.pendings[0].answer
    if not isinstance(answer, GaveUp):
        return None
    assert answer.__cause__ is TOOK_TOO_LONG
    return answer.outcome_unknown


class TestSubmitting:
    def test_alone_in_a_scope(self, house: House) -> None:
        """A lone caller leads at once, and leaves nothing behind; the lock is held when it joins and when it leaves."""
        one = house.waiter()
        house.queues.submit("ABC", one.pendings, one.deadline)
        ((leader, own_lock, inner, how),) = house.led
        assert (leader.pendings, own_lock, inner, how) == (one.pendings, True, True, {"waited": False})
        assert (house.queues._queues, house.entered, is_inner()) == ({}, 2, False)

    @pytest.mark.parametrize("inner", [False, True])
    def test_without_a_group(self, house: House, monkeypatch: pytest.MonkeyPatch, inner: bool) -> None:
        """What joins nobody leads alone, with a lock of its own; inside a request it takes no turn, either."""
        one = house.waiter()
        house.queues._joins = inner
        monkeypatch.setattr(commit_queues, "is_inner", lambda: inner)
        house.queues.submit("ABC", one.pendings, one.deadline)
        ((leader, own_lock, _, how),) = house.led
        assert (leader.pendings, own_lock, how) == (one.pendings, False, {"takes_turns": not inner})
        assert (house.queues._queues, house.entered) == ({}, 0)

    def test_after_another(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who finds a leader waits in the queue, until it leads itself."""
        one = house.waiter()
        queue = house.queue()

        def wait(scope: object, found: Queue, waiter: Waiter) -> None:
            assert (found, list(queue.waiting)) == (queue, [waiter])
            queue.leader = waiter

        monkeypatch.setattr(house.queues, "_wait", wait)
        house.queues._serve("ABC", one)
        assert house.led == [(one, True, False, {"waited": True})]

    def test_a_signal_inside(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """A caller that is interrupted while it leaves leaves again."""
        left: list[Waiter] = []

        def leave(scope: object, waiter: Waiter) -> None:
            left.append(waiter)
            waiter.left = len(left) > 1
            if not waiter.left:
                raise KeyboardInterrupt

        monkeypatch.setattr(house.queues, "_leave", leave)
        one = house.waiter()
        with pytest.raises(KeyboardInterrupt):
            house.queues.submit("ABC", one.pendings, one.deadline)
        assert len(left) == 2
        commit_queues._thread.inside = False


class TestWaiting:
    @pytest.mark.parametrize(
        ("seconds", "spent", "timeout"),
        [(10.0, 0.0, 0.25), (0.125, 0.0, 0.125), (1.0, 1.5, 0.25), (1.0, 1.75, 0.05), (1.0, 4.0, 0.001)],
    )
    def test_how_long(self, house: House, seconds: float, spent: float, timeout: float) -> None:
        """It looks every quarter of a second, at its deadline, and after its leader's time; never without a pause."""
        one = house.waiter(seconds)
        latch: Any = mock.Mock()
        one.latch = latch
        house.clock.now += spent
        house.queues._wait("ABC", house.queue(one), one)
        (call,) = latch.acquire.call_args_list
        assert call.kwargs == {"timeout": pytest.approx(timeout, abs=1e-6)}
        assert house.entered == 0

    def waits(self, house: House, queue: Queue, one: Waiter) -> None:
        """One wait that nobody ends."""
        one.latch = mock.Mock(acquire=lambda timeout: False)
        house.queues._wait("ABC", queue, one)
        assert house.entered == 1

    def test_nothing_has_happened(self, house: House) -> None:
        """It waits on, while its leader works."""
        one = house.waiter()
        queue = house.queue(one)
        batch = queue.batch
        self.waits(house, queue, one)
        assert (list(queue.waiting), given_up(one)) == ([one], None)
        assert queue.batch is batch

    def test_a_leader_that_is_lost(self, house: House) -> None:
        """It is replaced by who has waited for longest, who is woken."""
        first, one = house.waiter(), house.waiter()
        queue = house.queue(first, one)
        queue.leader.gone = True
        self.waits(house, queue, one)
        assert (queue.leader, first.latch.locked()) == (first, False)

    @pytest.mark.parametrize("silent", [False, True])
    def test_at_the_deadline(self, house: House, monkeypatch: pytest.MonkeyPatch, silent: bool) -> None:
        """Who is in the queue still gives up, at its deadline or while DynamoDB is silent: nothing is stored."""
        one = house.waiter(10.0 if silent else 0.0)
        queue = house.queue(one)
        monkeypatch.setattr(Deadline, "in_silence", silent)
        self.waits(house, queue, one)
        assert (list(queue.waiting), given_up(one)) == ([], False)

    def test_one_that_leads_now(self, house: House) -> None:
        """Who is the leader by now, or answered, does not give up."""
        one, answered = house.waiter(0.0), house.waiter(0.0)
        queue = house.queue(answered)
        queue.leader = one
        self.waits(house, queue, one)
        assert given_up(one) is None
        answered.pendings[0].settle(InvalidItem(""))
        answered.latch = mock.Mock(acquire=lambda timeout: False)
        house.queues._wait("ABC", queue, answered)
        assert list(queue.waiting) == [answered]


class TestGivingUp:
    @pytest.mark.parametrize(
        ("late", "write", "undecided", "in_batch", "unknown"),
        [
            (0.7, True, False, True, None),
            (0.8, True, False, True, True),
            (0.9, True, False, True, True),
            (0.9, False, True, True, True),
            (0.9, False, False, True, False),
            (0.9, False, False, False, True),
        ],
    )
    def test_in_a_batch(
        self, house: House, late: float, write: bool, undecided: bool, in_batch: bool, unknown: bool | None
    ) -> None:
        """After its leader had its time it is told whether a write may be stored; who led once does not know."""
        house.clock.now = 0.0  # so that the moment is exact
        one = house.waiter(0.0)
        queue = house.queue()
        made = PreparedWrite(operation="", request={}, pendings=(), values=(), token="")
        queue.batch = Batch([one] if in_batch else [], write=made if write else None, undecided=(made,) * undecided)
        house.clock.now += late
        house.queues._give_up(queue, one)
        assert given_up(one) is unknown

    def test_in_both(self, house: House) -> None:
        """Who is in the queue and in a batch, too, waits for that."""
        one = house.waiter(0.0)
        queue = house.queue(one)
        queue.batch.waiters.append(one)
        house.queues._give_up(queue, one)
        assert (given_up(one), list(queue.waiting)) == (None, [one])


class TestLeaving:
    def test_who_follows(self, house: House) -> None:
        """Who leaves wakes who follows it, and hands over the lead if it had it."""
        one, next_one = house.waiter(), house.waiter()
        queue = house.queue(next_one)
        queue.leader, one.following = one, house.waiter()
        queue.batch.waiters.clear()
        house.queues._leave("ABC", one)
        assert (one.gone, one.left, house.entered) == (True, True, 1)
        assert not one.following.latch.locked()
        assert (queue.leader, next_one.latch.locked()) == (next_one, False)

    def test_the_last_one(self, house: House) -> None:
        """After the last one nothing is left, and leaving twice does no harm."""
        one = house.waiter()
        house.queue().leader = one
        house.queues._queues["ABC"].batch.waiters.clear()
        for _ in range(2):
            house.queues._leave("ABC", one)
            assert house.queues._queues == {}

    def test_a_lost_leader(self, house: House) -> None:
        """Who leaves replaces a leader that is lost."""
        one, two = house.waiter(), house.waiter()
        queue = house.queue(two)
        queue.leader.gone = True
        house.queues._leave("ABC", one)
        assert queue.leader is two

    @pytest.mark.parametrize("answered", [False, True])
    def test_one_that_waits(self, house: House, answered: bool) -> None:
        """Who is interrupted while it waits is taken out of the queue; the leader goes on."""
        one, other = house.waiter(), house.waiter()
        queue = house.queue(one, other)
        leader = queue.leader
        if answered:
            one.pendings[0].settle(InvalidItem(""))
        house.queues._leave("ABC", one)
        assert list(queue.waiting) == ([one, other] if answered else [other])
        assert queue.leader is leader

    def test_another_queue(self, house: House) -> None:
        """A queue that nobody leads is taken out only if it is the one of the scope."""
        old = Queue(house.waiter())
        old.leader.gone = True
        new = house.queue()
        house.queues._hand_over("ABC", old)
        assert house.queues._queues == {"ABC": new}
