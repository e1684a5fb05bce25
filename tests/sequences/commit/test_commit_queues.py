"""Group commit without an engine: who leads, what is sent again, when callers give up, and what a crash leaves.

A `Ledger` replaces a strategy, and a `Line` replaces the connection to the engine: a test says how each request ends.
The tests at the end use real strategies on the engine.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from sequences import dynamodb, get_next_value, put_next, put_next_many
from sequences.commit import commit_queues
from sequences.commit.commit_queues import GLANCE_SECONDS, CommitQueues
from sequences.commit.leader import Leader
from sequences.commit.requests import MOST_BYTES, Committer, Pending, PreparedWrite, PutRequest, Refusal
from sequences.commit.retries import Deadline, Timing
from sequences.commit.waiters import LATE_SECONDS, Batch, Queue, Shortage, Waiter
from sequences.exceptions import (
    AccessRefused,
    CancellationReason,
    IdempotencyMismatch,
    InvalidItem,
    NotWritten,
    OutcomeUnknown,
    SequenceContention,
    SequenceError,
    SequenceUnavailable,
    StorageRefused,
    TableMissing,
    Throttled,
    WriteCancelled,
)
from sequences.registry import strategies
from sequences.testing.callers import at_once
from sequences.types import Allocation, Scope, parted
from tests.sequences.support import Clock, Wire, stored, wait_until

LOST_RACE = WriteCancelled("somebody was faster", (CancellationReason("ConditionalCheckFailed"),))
CONFLICT = WriteCancelled("two transactions met", (CancellationReason("TransactionConflict"),))
NOT_SENT = NotWritten("never sent")
THROTTLES = [Throttled("throttled"), WriteCancelled("throttled", (CancellationReason("ThrottlingError"),))]
LOST = OutcomeUnknown("the answer was lost")
TOGETHER = ["sort-key", "sort-key-padded", "transactional", "transactional-beside", "one-file"]


class Ledger(Committer):
    """A committer that numbers requests from 1 and refuses items that hold "bad"."""

    most_actions = 100

    def __init__(self) -> None:
        self.last_value = 0
        self.prepared: list[list[Pending[Any]]] = []
        self.crash: Exception | None = None
        self.refusal: SequenceError | None = None
        self.turns = 0

    def exclusively(self, scope: Scope, deadline: Deadline) -> AbstractContextManager[bool]:
        self.turns += 1
        return super().exclusively(scope, deadline)

    def prepare(self, scope: Scope, pendings: Sequence[Pending[Any]], deadline: Deadline) -> PreparedWrite:
        if self.crash:
            crash, self.crash = self.crash, None
            raise crash
        self.prepared.append(list(pendings))
        values = tuple(range(self.last_value + 1, self.last_value + 1 + len(pendings)))
        request = {"scope": scope, "items": [pending.request.item for pending in pendings], "values": values}
        return PreparedWrite(operation="write", request=request, pendings=tuple(pendings), values=values, token="")

    def committed(self, scope: Scope, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        self.last_value = write.values[-1]
        for pending, value in zip(write.pendings, write.values, strict=True):
            allocation = Allocation(
                sequence="ledger",
                scope=parted(scope)[0],
                value=value,
                attempts=pending.attempts,
                replayed=False,
                write_units=pending.write_units,
                read_units=0.0,
            )
            pending.settle(allocation)

    def refused(self, refusal: Refusal) -> None:
        """A lost race: everybody goes round again, unless the look at what won is refused."""
        if self.refusal:
            raise self.refusal


class Line:
    """Replaces the engine: it records each request and ends it as planned, and successfully after the plan."""

    def __init__(self) -> None:
        self.requests: list[Mapping[str, Any]] = []
        self.plan: list[Exception | Callable[[], object]] = []
        self.always: Exception | None = None
        self.open = threading.Event()
        self.open.set()
        self.busy = threading.Event()

    def __call__(self, operation: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        self.requests.append(request)
        self.busy.set()
        assert self.open.wait(timeout=30)
        if any(item["bad"] for item in request["items"]):
            raise StorageRefused("an item is bad")
        planned = self.plan.pop(0) if self.plan else self.always
        if isinstance(planned, Exception):
            raise planned
        if planned:
            planned()
        return {"ConsumedCapacity": {"CapacityUnits": float(len(request["items"]))}}

    @property
    def items(self) -> list[list[str]]:
        """The names of the items of each request."""
        return [[item["name"] for item in request["items"]] for request in self.requests]


class House:
    """Commit queues over a ledger and a line, with callers in their own threads."""

    def __init__(self, line: Line, clock: Clock, threads: ThreadPoolExecutor) -> None:
        self.line, self.clock, self.threads = line, clock, threads
        self.ledger = Ledger()
        self.bounds: list[tuple[float, float]] = []
        self.timing = clock.timing(uniform=self._uniform, first_pause=1.0, longest_pause=64.0)
        self.seconds = 1000.0
        self.queues = CommitQueues(self.ledger)

    def _uniform(self, low: float, high: float) -> float:
        self.bounds.append((low, high))
        return high / 2

    def put(self, name: str, *, scope: str | None = "s", bad: bool = False, **fields: Any) -> Pending[PutRequest]:
        """Store one item in this thread; the answered request."""
        pending = wanted(name, bad=bad, **fields)
        self.queues.submit(scope, [pending], self.deadline())
        return pending

    def deadline(self) -> Deadline:
        """The deadline of a call that begins now."""
        return Deadline(timing=self.timing, seconds=self.seconds)

    def join(self, name: str, **fields: Any) -> Future[Pending[PutRequest]]:
        """Store one item in another thread, which is waiting behind the others when this returns."""
        before = self.waiting
        future = self.threads.submit(self.put, name, **fields)
        wait_until(lambda: self.waiting == before + 1)
        return future

    @property
    def waiting(self) -> int:
        return sum(len(queue.waiting) for queue in self.queues._queues.values())

    @contextmanager
    def busy(self, name: str = "first", **fields: Any) -> Iterator[Future[Pending[PutRequest]]]:
        """While the body runs, a write of this item is under way; it ends as the plan says after it."""
        self.line.open.clear()
        self.line.busy.clear()
        future = self.threads.submit(self.put, name, **fields)
        assert self.line.busy.wait(timeout=30)
        yield future
        self.line.open.set()

    @contextmanager
    def held(self, name: str) -> Iterator[threading.Event]:
        """While the body runs, and until the event, the caller of this item has its answer but does not leave."""
        go, leave = threading.Event(), self.queues._leave

        def hold(scope: Scope, waiter: Waiter) -> None:
            if waiter.pendings[0].request.item["name"] == name:
                assert go.wait(timeout=30)
            leave(scope, waiter)

        self.queues._leave = hold  # type: ignore[method-assign]
        try:
            yield go
        finally:
            go.set()


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    """The line to the engine."""
    line = Line()
    monkeypatch.setattr(dynamodb, "call", line)
    return line


@pytest.fixture
def house(line: Line, clock: Clock) -> Iterator[House]:
    """Commit queues over a ledger and a line."""
    with ThreadPoolExecutor(128) as threads:
        yield House(line, clock, threads)
        line.open.set()


def wanted(name: str, *, bad: bool = False, **fields: Any) -> Pending[PutRequest]:
    """A request for an item of this name."""
    return Pending(PutRequest(item={"name": name, "bad": bad}, **fields))


def value(pending: Pending[PutRequest]) -> int:
    """The value that a request got."""
    assert isinstance(pending.answer, Allocation)
    return pending.answer.value


def awake(waiters: list[Waiter]) -> list[bool]:
    """Which of these callers were woken."""
    return [waiter.latch.acquire(blocking=False) for waiter in waiters]


class TestWhoLeads:
    def test_a_lone_caller(self, house: House) -> None:
        """A lone caller is written at once, by one request, without a pause."""
        assert value(house.put("a")) == 1
        assert house.line.items == [["a"]]
        assert house.clock.sleeps == []

    def test_those_who_come_meanwhile(self, house: House) -> None:
        """Callers that come while a write is under way are written together, in the order in which they came."""
        with house.busy() as first:
            others = [house.join(f"{n}") for n in range(10)]
        assert [value(future.result()) for future in [first, *others]] == list(range(1, 12))
        assert house.line.items == [["first"], [f"{n}" for n in range(10)]]

    def test_those_who_come_after_a_group(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """While the callers of a group wake each other, new callers wait, and the next write takes them all."""
        monkeypatch.setattr(commit_queues, "GLANCE_SECONDS", 60.0)
        with house.held("b") as go, house.busy() as first:
            group = [house.join("a"), house.join("b")]
            house.line.open.set()
            others = [first, group[0]]
            values = [value(future.result()) for future in others]
            after = [house.join("c"), house.join("d")]
            go.set()
        assert values + [value(future.result()) for future in [group[1], *after]] == [1, 2, 3, 4, 5]
        assert house.line.items == [["first"], ["a", "b"], ["c", "d"]]

    @pytest.mark.parametrize("held", ["a", "b", "c"])
    def test_a_caller_that_does_not_leave(self, house: House, held: str) -> None:
        """Whoever follows a caller that does not go on, in the group or after it, looks for itself and goes on."""
        with house.held(held), house.busy():
            group = {name: house.join(name) for name in "abc"}
            house.line.open.set()
            wait_until(lambda: len(house.line.requests) == 2)
            after = house.threads.submit(house.put, "after")
            assert value(after.result(timeout=30)) == 5
            for name in set(group) - {held}:
                group[name].result(timeout=30)
        assert house.line.items == [["first"], ["a", "b", "c"], ["after"]]

    def test_a_call_inside_a_call(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """A call that a signal handler makes inside a group of its own thread is written alone, at once, in no turn."""
        prepare, inner = house.ledger.prepare, list[Pending[PutRequest]]()

        def interrupted(*arguments: Any) -> PreparedWrite:
            if not inner:
                inner.append(wanted("inner"))
                house.queues.submit("s", inner, house.deadline())
            return prepare(*arguments)

        monkeypatch.setattr(house.ledger, "prepare", interrupted)
        assert value(house.put("outer")) == 2
        assert value(inner[0]) == 1
        assert house.line.items == [["inner"], ["outer"]]
        assert house.ledger.turns == 1

    def test_charges_add_up(self) -> None:
        """What a request costs is the sum of what it was charged."""
        pending = wanted("a")
        for _ in range(2):
            pending.charge(write_units=1.5, read_units=0.5)
        assert (pending.write_units, pending.read_units) == (3.0, 1.0)

    def test_the_lead_is_handed_over_under_the_lock(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody joins a queue while it is handed over: it may be dropped then."""
        hand_over, locked = house.queues._hand_over, list[bool]()

        def watched(scope: Scope, queue: Queue) -> None:
            locked.append(house.queues._lock.locked())
            hand_over(scope, queue)

        monkeypatch.setattr(house.queues, "_hand_over", watched)
        house.put("a")
        assert locked == [True]

    def test_a_group_is_woken_under_the_lock(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody leaves a group, or takes its lead, while the order is made in which its callers wake each other."""
        wake, locked = Waiter.wake, list[bool]()

        def watched(waiter: Waiter) -> None:
            locked.append(house.queues._lock.locked())
            wake(waiter)

        monkeypatch.setattr(Waiter, "wake", watched)
        with house.busy():
            group = [house.join(name) for name in "abc"]
        for one in group:
            one.result(timeout=30)
        assert (len(locked), all(locked)) == (3, True)

    def test_within_a_turn(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """A write is prepared and sent within the committer's turn, and each attempt takes a turn of its own."""
        prepare, events = house.ledger.prepare, list[str]()

        @contextmanager
        def turn(*_: object) -> Iterator[bool]:
            events.append("begin")
            yield False
            events.append("end")

        def noted(*arguments: Any) -> PreparedWrite:
            events.append("prepare")
            return prepare(*arguments)

        def refuse() -> None:
            events.append("send")
            raise NOT_SENT

        monkeypatch.setattr(house.ledger, "exclusively", turn)
        monkeypatch.setattr(house.ledger, "prepare", noted)
        house.line.plan = [refuse, lambda: events.append("send")]
        house.put("a")
        assert events == ["begin", "prepare", "send", "end"] * 2

    def test_who_loses_in_a_line(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a queue of hosts a lost race is run again in the same turn, but not for long: others wait for it."""
        turns: list[bool] = []

        @contextmanager
        def turn(*_: object) -> Iterator[bool]:
            turns.append(True)
            yield True

        monkeypatch.setattr(house.ledger, "exclusively", turn)
        house.timing = replace(house.timing, first_pause=0.01)
        house.line.plan = [LOST_RACE, CONFLICT]
        assert value(house.put("a")) == 1
        assert len(turns) == 1
        house.timing = replace(house.timing, first_pause=10.0)
        house.line.plan = [LOST_RACE, CONFLICT]
        assert value(house.put("b")) == 2
        assert len(turns) == 3

    def test_who_is_answered_is_woken(self, house: House) -> None:
        """The callers that a leader answered wake each other; they need not wait until they look.

        The last of them that is still there hands over the lead.
        """
        leader, gone, one, two, late = (Waiter([wanted(name)], house.deadline()) for name in "abcde")
        queue = house.queues._queues["s"] = Queue(leader)
        queue.batch.waiters += [gone, one, two, late]
        gone.gone = late.gone = True
        Leader(house.ledger, "s", queue, threading.Lock()).run()
        assert awake([one, two]) == [True, False]
        house.queues._leave("s", leader)
        house.queues._leave("s", one)
        assert awake([two]) == [True]
        assert queue.leader is two
        house.queues._leave("s", two)
        assert house.queues._queues == {}

    def test_who_leaves_a_batch(self, house: House) -> None:
        """A caller that gives up while the leader writes for it is no longer in the queue, and leaves all as it is."""
        leader, carried, waiting = (Waiter([wanted(name)], house.deadline()) for name in "abc")
        queue = house.queues._queues["s"] = Queue(leader)
        queue.batch.waiters.append(carried)
        queue.waiting.append(waiting)
        house.queues._leave("s", carried)
        assert (queue.leader, [*queue.waiting]) == (leader, [waiting])
        house.queues._leave("s", waiting)
        assert not queue.waiting

    def test_who_is_awake_may_be_woken(self, house: House) -> None:
        """A caller that is woken twice, with its answer and with the lead, is awake."""
        waiter = Waiter([], house.deadline())
        waiter.wake()
        waiter.wake()
        assert waiter.latch.acquire(blocking=False)

    def test_units_are_shared(self, house: House) -> None:
        """The units of a group are shared by its requests, and so are its attempts."""
        with house.busy():
            others = [house.join(f"{n}") for n in range(4)]
        for future in others:
            answer = future.result().answer
            assert isinstance(answer, Allocation)
            assert (answer.attempts, answer.write_units) == (1, 1.0)

    def test_scopes_do_not_wait_for_each_other(self, house: House) -> None:
        """A caller of another scope is written while a write of the first is under way."""
        with house.busy(scope="s"):
            other = house.threads.submit(house.put, "b", scope="t")
            wait_until(lambda: len(house.line.requests) == 2)
            house.line.open.set()
            other.result()

    def test_nothing_is_kept_for_idle_scopes(self, house: House) -> None:
        """A scope takes no memory when nobody waits for it."""
        for n in range(100):
            house.put("a", scope=f"{n}")
        assert house.queues._queues == {}

    def test_without_joining(self, house: House) -> None:
        """CommitQueues that do not join write each caller alone, at the same time."""
        house.queues = CommitQueues(house.ledger, joins=False)
        with house.busy() as first:
            second = house.threads.submit(house.put, "b")
            wait_until(lambda: len(house.line.requests) == 2)
        assert house.line.items == [["first"], ["b"]]
        first.result()
        second.result()

    def test_several_entries_stay_together(self, house: House) -> None:
        """The requests of one caller are written together and in their order."""
        pendings = [wanted(f"{n}") for n in range(5)]
        house.queues.submit("s", pendings, house.deadline())
        assert [value(pending) for pending in pendings] == [1, 2, 3, 4, 5]
        assert len(house.line.requests) == 1


class TestLimits:
    def test_a_hundred_actions(self, house: House) -> None:
        """A write has at most 100 actions; a caller that does not fit is in the next one."""
        with house.busy() as first:
            others = [house.join(f"{n}") for n in range(103)]
        for future in [first, *others]:
            future.result()
        assert [len(items) for items in house.line.items] == [1, 100, 3]
        assert [value(future.result()) for future in others] == list(range(2, 105))

    def test_fifty_with_markers(self, house: House) -> None:
        """A write has at most 50 items with a marker each."""
        with house.busy() as first:
            others = [house.join(f"{n}", token=f"{n}") for n in range(53)]
        for future in [first, *others]:
            future.result()
        assert [len(items) for items in house.line.items] == [1, 50, 3]

    def test_four_megabytes(self, house: House) -> None:
        """A write has at most 4 MB."""
        with house.busy() as first:
            others = [house.join(f"{n}", size=MOST_BYTES // 4) for n in range(6)]
        for future in [first, *others]:
            future.result()
        assert house.line.items == [["first"], ["0", "1", "2", "3"], ["4", "5"]]

    def test_nobody_overtakes(self, house: House) -> None:
        """A small item does not overtake a large one that does not fit any more."""
        with house.busy() as first:
            sizes = [3_000_000, 2_000_000, 10]
            others = [house.join(f"{n}", size=size) for n, size in enumerate(sizes)]
        for future in [first, *others]:
            future.result()
        assert house.line.items == [["first"], ["0"], ["1", "2"]]

    @pytest.mark.parametrize("shared", ["token", "key"])
    def test_a_token_or_a_key_twice(self, house: House, shared: str) -> None:
        """Two requests with the same token, or with the same key of their own, never share a write."""
        with house.busy() as first:
            others = [
                house.join(
                    f"{n}",
                    token="a token" if shared == "token" else f"token {n}",
                    own_key={"pk": {"S": "a key" if shared == "key" else f"key {n}"}},
                )
                for n in range(2)
            ]
        for future in [first, *others]:
            future.result()
        assert house.line.items == [["first"], ["0"], ["1"]]


class TestWhatIsSentAgain:
    def test_an_ambiguous_answer(self, house: House) -> None:
        """After a lost answer the identical request is sent again, even if others came meanwhile."""
        house.line.plan = [LOST, LOST]
        with house.busy() as first:
            second = house.join("b")
        assert [value(first.result()), value(second.result())] == [1, 2]
        assert house.line.items == [["first"], ["first"], ["first"], ["b"]]
        assert house.line.requests[0] is house.line.requests[1] is house.line.requests[2]

    def test_a_certain_refusal_takes_in_others(self, house: House) -> None:
        """After a certain error, callers that came meanwhile are in the next write."""
        house.line.plan = [NOT_SENT]
        with house.busy() as first:
            second = house.join("b")
        assert [value(first.result()), value(second.result())] == [1, 2]
        assert house.line.items == [["first"], ["first", "b"]]

    @pytest.mark.parametrize("throttled", THROTTLES)
    def test_capacity_units_are_awaited_in_the_turn(self, house: House, throttled: Exception) -> None:
        """A throttled leader keeps its turn, waits for the time in which the units come, and takes newcomers along."""
        house.line.plan = [throttled] * 4
        with house.busy(size=10_000) as first:  # 10 units, 20 in a transaction
            second = house.join("b", size=30_000)
        assert [value(first.result()), value(second.result())] == [1, 2]
        assert house.line.items == [["first"], *[["first", "b"]] * 4]
        assert house.clock.sleeps == pytest.approx([0.01, 0.04, 0.08, 0.16])
        assert house.bounds == [(0.5, 1)] * 4
        assert house.ledger.turns == 1

    @pytest.mark.parametrize("throttled", THROTTLES, ids=["alone", "in-transaction"])
    def test_a_shortage_until_the_deadline(self, house: House, throttled: Exception) -> None:
        """The last attempt is that after the last wait: past its deadline nobody sends again. No race was lost."""
        house.seconds, house.line.always = 0.25, throttled
        assert isinstance(house.put("a", size=125 * 1024).answer, SequenceUnavailable)
        assert house.clock.sleeps[:2] == [0.125, 0.125]
        assert len(house.line.requests) == 3

    def test_a_long_shortage(self, house: House) -> None:
        """The turn ends before others would take it for lost. The next attempt is a smaller one, with a full pause."""
        house.line.plan = [THROTTLES[0]] * 5
        with house.busy(size=50_000) as first:
            others = [house.join(name, size=50_000) for name in "bcd"]
        assert [value(first.result()), *(value(other.result()) for other in others)] == [1, 2, 3, 4]
        assert [len(items) for items in house.line.items] == [1, 4, 4, 4, 2, 2, 2]
        assert house.ledger.turns > 2

    def test_how_long_units_are_awaited(self) -> None:
        """The first two refusals wait for the units of the write, the next ones twice as long each, until a write."""
        shortage = Shortage()
        assert [shortage.refused(50) for _ in range(8)] == [0.05, 0.05, 0.1, 0.2, 0.4, 0.8, 1, 1]
        shortage.end()
        assert [shortage.refused(50) for _ in range(3)] == [0.05, 0.05, 0.1]

    @pytest.mark.parametrize("most", [[30, 60, 120, None], [50, 100, None, None]])
    def test_how_many_fit(self, most: list[int | None]) -> None:
        """After a long shortage each write may hold twice as many as the one before, until it holds all."""
        shortage, held = Shortage(), list[int | None]()
        shortage.most = most[0]
        for _ in range(4):
            held.append(shortage.most)
            shortage.end()
        assert held == most

    def test_a_write_ends_a_shortage(self, house: House) -> None:
        """The leader tells the queue of its writes."""
        house.line.plan = [lambda: None, *THROTTLES]
        with house.busy():
            (queue,) = house.queues._queues.values()
            house.join("b")
        wait_until(lambda: not house.queues._queues)
        assert queue.shortage.refused(50) == queue.shortage.refused(50) == 0.05

    @pytest.mark.parametrize("certain", [NOT_SENT, CONFLICT])
    def test_a_certain_refusal_after_an_ambiguous_one(self, house: House, certain: Exception) -> None:
        """A certain error does not decide the outcome of an earlier send: the same write is sent again."""
        house.line.plan = [LOST, certain]
        with house.busy() as first:
            second = house.join("b")
        assert [value(first.result()), value(second.result())] == [1, 2]
        assert house.line.items == [["first"], ["first"], ["first"], ["b"]]
        assert house.line.requests[0] is house.line.requests[2]

    @pytest.mark.parametrize("lost", [[], [LOST]])
    def test_a_lost_race_is_prepared_anew(self, house: House, lost: list[OutcomeUnknown]) -> None:
        """After a condition failed the write is prepared anew, with those who came meanwhile."""
        house.line.plan = [*lost, LOST_RACE]
        with house.busy() as first:
            second = house.join("b")
        assert [value(first.result()), value(second.result())] == [1, 2]
        assert house.line.items == [["first"]] * (1 + len(lost)) + [["first", "b"]]

    def test_a_failing_read_is_done_again(self, house: House) -> None:
        """A read that fails while a write is prepared is done again."""
        house.ledger.crash = LOST
        assert value(house.put("a")) == 1
        assert house.line.items == [["a"]]

    def test_attempts_are_counted(self, house: House) -> None:
        """An allocation says how many writes with its item were sent."""
        house.line.plan = [NOT_SENT, LOST, LOST_RACE]
        answer = house.put("a").answer
        assert isinstance(answer, Allocation)
        assert answer.attempts == 4


class TestPauses:
    def test_full_jitter(self, house: House) -> None:
        """Each pause is a random time between 0 and a bound; the bound doubles up to the longest pause."""
        house.line.plan = [NOT_SENT] * 9
        house.put("a")
        lows, highs = zip(*house.bounds, strict=True)
        assert set(lows) == {0}
        assert highs[0] <= 2 * house.timing.first_pause
        assert list(highs) == [min(highs[0] * 2**n, house.timing.longest_pause) for n in range(9)]
        assert house.clock.sleeps == [high / 2 for high in highs]

    @pytest.mark.parametrize("failure", [NOT_SENT, THROTTLES[0]], ids=["alone", "throttled"])
    def test_until_the_first_deadline(self, house: House, failure: Exception) -> None:
        """A leader pauses no longer than the first of its requests waits: that one learns for sure how it ended."""
        house.line.plan = [failure] * 9
        house.timing = replace(house.timing, first_pause=64.0)
        hasty = wanted("hasty")
        hasty.deadline = Deadline(timing=house.timing, seconds=0.01)
        patient = wanted("patient")
        house.queues.submit("s", [patient, hasty], house.deadline())
        assert value(patient) == 1
        assert isinstance(hasty.answer, SequenceUnavailable)
        assert not hasty.answer.outcome_unknown
        assert hasty.answer.seconds == pytest.approx(0.01, abs=1e-6)

    def test_the_default_is_random(self) -> None:
        """By default two callers pause for different times."""
        clock = Clock()
        timing = clock.timing()
        assert len({timing.uniform(0, 1) for _ in range(10)}) > 1


class TestBadItems:
    def test_one_bad_item(self, house: House) -> None:
        """A bad item among 20 gets its error; the others are numbered in their order without a hole."""
        pendings = [wanted(f"{n}", bad=n == 7) for n in range(20)]
        house.queues.submit("s", pendings, house.deadline())
        assert isinstance(pendings.pop(7).answer, StorageRefused)
        assert [value(pending) for pending in pendings] == list(range(1, 20))

    def test_one_bad_caller(self, house: House) -> None:
        """A bad item of one caller is not answered to another caller."""
        with house.busy() as first:
            before, bad, after = house.join("a"), house.join("b", bad=True), house.join("c")
        assert isinstance(bad.result().answer, StorageRefused)
        assert [value(future.result()) for future in (first, before, after)] == [1, 2, 3]

    @pytest.mark.parametrize("error", [TableMissing("no table"), AccessRefused("no")])
    def test_what_hits_all(self, house: House, error: StorageRefused) -> None:
        """An error that no single item causes goes to all callers, after one request."""
        with house.busy() as first:
            others = [house.join(f"{n}") for n in range(5)]
            house.line.plan = [LOST_RACE, error]
        assert {future.result().answer for future in [first, *others]} == {error}
        assert len(house.line.requests) == 2

    def test_a_race_that_is_not_explained(self, house: House) -> None:
        """If the read after a lost race is refused, the caller gets that error, and nothing is sent again."""
        house.line.plan = [LOST_RACE]
        house.ledger.refusal = refusal = AccessRefused("no")
        assert house.put("a").answer is refusal
        assert house.line.items == [["a"]]

    def test_after_an_ambiguous_answer(self, house: House) -> None:
        """A permanent refusal of a write that may be stored leaves its outcome unknown."""
        house.line.plan = [LOST, StorageRefused("no")]
        answer = house.put("a").answer
        assert isinstance(answer, SequenceUnavailable)
        assert answer.outcome_unknown


class TestGivingUp:
    @pytest.mark.parametrize(
        ("error", "kind", "unknown"),
        [
            (LOST_RACE, SequenceContention, False),
            (CONFLICT, SequenceContention, False),
            (NOT_SENT, SequenceUnavailable, False),
            (LOST, SequenceUnavailable, True),
        ],
    )
    def test_at_the_deadline(self, house: House, error: Exception, kind: type[SequenceError], unknown: bool) -> None:
        """At the deadline the error says contention or not, how often, how long, and whether it may be stored."""
        house.line.always = error
        answer = house.put("a").answer
        assert type(answer) is kind
        assert isinstance(answer, SequenceContention | SequenceUnavailable)
        assert answer.outcome_unknown is unknown
        assert answer.attempts == len(house.line.requests) == len(house.clock.sleeps)
        assert answer.seconds == sum(house.clock.sleeps) >= 1000.0
        assert answer.__cause__ is error
        assert str(error) in str(answer)
        assert ("may have been stored" in str(answer)) is unknown
        assert house.queues._queues == {}

    def test_a_refusal_after_an_ambiguous_answer(self, house: House) -> None:
        """Once an answer was lost the outcome stays unknown, whatever error the last attempt had."""
        house.line.plan, house.line.always = [LOST], NOT_SENT
        answer = house.put("a").answer
        assert isinstance(answer, SequenceUnavailable)
        assert answer.outcome_unknown

    def test_a_lost_race_makes_it_certain(self, house: House) -> None:
        """A condition that failed on another's item decides a lost answer: nothing was stored."""
        house.line.plan, house.line.always = [LOST, LOST_RACE], NOT_SENT
        answer = house.put("a").answer
        assert isinstance(answer, SequenceUnavailable)
        assert not answer.outcome_unknown

    @pytest.mark.parametrize(("last", "unknown"), [(NOT_SENT, False), (LOST, True)])
    def test_a_silent_engine(
        self, house: House, monkeypatch: pytest.MonkeyPatch, last: Exception, unknown: bool
    ) -> None:
        """Nobody in the group waits for the deadline. Whose write may arrive hears that it may be stored."""

        def fall_silent() -> None:
            monkeypatch.setattr(dynamodb, "is_silent", lambda client: True)
            raise last

        house.line.plan = [NOT_SENT, fall_silent]
        with house.busy() as first:
            second = house.join("b")
        answers = [first.result().answer, second.result().answer]
        assert [getattr(answer, "outcome_unknown", None) for answer in answers] == [unknown, unknown]
        assert house.line.items == [["first"], ["first", "b"]]
        assert house.clock.sleeps[1:] == [0]
        assert house.queues._queues == {}

    def test_who_comes_after_a_silent_engine(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who waits behind a write that may be stored was not in it, and hears that nothing of his was stored."""

        def fall_silent() -> None:
            monkeypatch.setattr(dynamodb, "is_silent", lambda client: True)
            raise LOST

        house.line.plan = [fall_silent]
        with house.busy() as first:
            second = house.join("b")
        answers = [first.result().answer, second.result().answer]
        assert [getattr(answer, "outcome_unknown", None) for answer in answers] == [True, False]
        assert house.line.items == [["first"]]

    def test_waiting_while_the_engine_is_silent(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """A caller behind a write without an answer does not wait for its end, and is not written."""
        with house.busy() as first:
            monkeypatch.setattr(dynamodb, "is_silent", lambda client: True)
            answer = house.put("late").answer
        assert isinstance(answer, SequenceUnavailable)
        assert not answer.outcome_unknown
        assert value(first.result()) == 1
        assert house.line.items == [["first"]]

    def test_at_least_one_attempt(self, house: House) -> None:
        """A caller that joins nobody makes one attempt, even if its deadline has passed."""
        house.queues, house.seconds = CommitQueues(house.ledger, joins=False), 0.0
        assert value(house.put("late")) == 1

    def test_waiting_in_the_queue(self, house: House) -> None:
        """A caller that waits behind others until its deadline leaves, and is not written."""
        house.timing = Timing()
        with house.busy() as first:
            house.seconds = 0.05
            answer = house.put("late").answer
            assert [*next(iter(house.queues._queues.values())).waiting] == []
        first.result()
        assert isinstance(answer, SequenceUnavailable)
        assert not answer.outcome_unknown
        assert house.line.items == [["first"]]
        assert house.queues._queues == {}

    def test_waiting_for_a_write_under_way(self, house: House) -> None:
        """A caller in a write at its deadline gets the outcome, if the write ends soon after."""

        def take_too_long() -> None:
            house.clock.now += house.seconds + LATE_SECONDS / 2
            time.sleep(2 * GLANCE_SECONDS)

        house.timing = replace(house.timing, first_pause=0.0)
        house.line.plan = [NOT_SENT, take_too_long]
        with house.busy() as first:
            second = house.join("b")
        assert [value(first.result()), value(second.result())] == [1, 2]
        assert house.line.items == [["first"], ["first", "b"]]

    def test_nobody_leaves_while_a_leader_takes_along(self, house: House) -> None:
        """A late caller leaves the queue before or after a leader takes waiters out of it, and not meanwhile."""
        with house.busy() as first:
            late = house.join("late")
            with house.queues._lock:
                house.clock.now += house.seconds
                time.sleep(2 * GLANCE_SECONDS)
                assert house.waiting == 1
            assert isinstance(late.result().answer, SequenceUnavailable)
        first.result()

    def test_nobody_is_taken_along_while_one_leaves(self, house: House) -> None:
        """A leader takes waiters out of the queue before or after somebody leaves it, and not meanwhile."""
        with house.busy() as first:
            other = house.join("b")
            house.line.plan = [NOT_SENT]
            with house.queues._lock:
                house.line.open.set()
                time.sleep(0.2)
                assert house.waiting == 1
        assert [value(future.result()) for future in (first, other)] == [1, 2]
        assert house.line.items == [["first"], ["first", "b"]]

    def test_only_the_late_give_up(self, house: House) -> None:
        """While a write is refused for long, later callers go on after the first gave up."""
        house.line.plan = [NOT_SENT] * 3
        with house.busy() as first:
            house.clock.now += 999.0
            second = house.join("b")
        answer = first.result().answer
        assert isinstance(answer, SequenceUnavailable)
        assert value(second.result()) == 1

    def test_a_write_of_unknown_outcome_is_not_torn(self, house: House) -> None:
        """A late caller leaves a write that may be stored, with an unknown outcome; the write goes on unchanged."""
        house.line.plan = [NOT_SENT, *[LOST] * 8]
        with house.busy() as first:
            house.clock.now += 900.0
            second = house.join("b")
        answer = first.result().answer
        assert isinstance(answer, SequenceUnavailable)
        assert answer.outcome_unknown
        assert value(second.result()) == 2
        assert set(map(tuple, house.line.items[1:])) == {("first", "b")}
        assert house.queues._queues == {}

    def test_who_came_after_a_write_of_unknown_outcome(self, house: House) -> None:
        """A caller that came after a write was sent whose outcome stays unknown knows that nothing of it is stored."""
        house.line.always = LOST
        with house.busy() as first:
            second = house.join("b")
        unknown = []
        for future in (first, second):
            answer = future.result().answer
            assert isinstance(answer, SequenceUnavailable)
            unknown.append(answer.outcome_unknown)
        assert unknown == [True, False]
        assert set(map(tuple, house.line.items)) == {("first",)}

    def test_who_is_late_in_a_write_under_way(self, house: House) -> None:
        """If the leader gets no answer from the engine, a caller gets an unknown outcome at its deadline."""
        ended = threading.Event()

        def never_ending() -> None:
            house.clock.now += house.seconds + 1.5 * LATE_SECONDS
            assert ended.wait(30)

        house.timing = replace(house.timing, first_pause=0.0)
        house.line.plan = [NOT_SENT, never_ending]
        with house.busy() as first:
            second = house.join("b")
        answer = second.result().answer
        assert isinstance(answer, SequenceUnavailable)
        assert answer.outcome_unknown
        ended.set()
        first.result()
        assert house.queues._queues == {}

    def test_who_is_late_before_the_write(self, house: House) -> None:
        """A caller that leaves a batch before its write is sent is not in that write."""
        house.timing = replace(house.timing, first_pause=0.0)
        house.line.plan = [NOT_SENT]
        with house.busy() as first:
            house.seconds = 100.0
            second = house.join("b")
            prepare, go_on = house.ledger.prepare, threading.Event()

            def slowly(scope: Scope, pendings: Sequence[Pending[Any]], deadline: Deadline) -> PreparedWrite:
                write = prepare(scope, pendings, deadline)
                house.clock.now += house.seconds + 1.5 * LATE_SECONDS
                assert go_on.wait(30)
                return write

            house.ledger.prepare = slowly  # type: ignore[method-assign]
        answer = second.result().answer
        go_on.set()
        first.result()
        assert isinstance(answer, SequenceUnavailable)
        assert not answer.outcome_unknown
        assert "b" not in [name for names in house.line.items for name in names]


class TestCrashes:
    def test_a_crash_while_sending(self, house: House) -> None:
        """The write of a leader that crashed is sent again unchanged, by the next waiter of its batch."""
        with house.busy() as first:
            second = house.join("b")
            house.line.plan = [NOT_SENT, ZeroDivisionError("a crash")]
            house.line.busy.clear()
        with pytest.raises(ZeroDivisionError):
            first.result()
        assert value(second.result()) == 2
        assert house.line.items == [["first"], ["first", "b"], ["first", "b"]]
        assert house.queues._queues == {}

    def test_a_crash_while_preparing(self, house: House) -> None:
        """Waiters in the batch of a leader that crashed before its write are written by the next leader."""
        with house.busy() as first:
            others = [house.join(name) for name in "bcd"]
            house.line.plan = [NOT_SENT]
            house.ledger.crash = ZeroDivisionError("a crash")
        with pytest.raises(ZeroDivisionError):
            first.result()
        assert [value(future.result()) for future in others] == [1, 2, 3]

    def test_the_queue_is_handed_over(self, house: House) -> None:
        """Waiters in the queue behind a leader that crashed are written by the next leader."""
        with house.busy() as first:
            others = [house.join(name) for name in "bcd"]
            house.line.plan = [ZeroDivisionError("a crash")]
        with pytest.raises(ZeroDivisionError):
            first.result()
        assert [value(future.result()) for future in others] == [1, 2, 3]
        assert house.queues._queues == {}

    def test_a_leader_that_is_interrupted_while_it_leaves(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """A leader that is interrupted while it leaves still leaves: its scope takes no memory, its thread may join."""
        hand_over, struck = house.queues._hand_over, [KeyboardInterrupt()]

        def interrupted(scope: Scope, queue: Queue) -> None:
            if struck:
                raise struck.pop()
            hand_over(scope, queue)

        monkeypatch.setattr(house.queues, "_hand_over", interrupted)
        with pytest.raises(KeyboardInterrupt):
            house.put("a")
        assert house.queues._queues == {}
        assert not commit_queues._thread.inside

    def test_a_leader_that_is_gone(self, house: House) -> None:
        """A waiter takes over from a leader that left without handing over, or is far past its deadline."""
        for name in ("gone", "late"):
            leader = Waiter([wanted(name)], house.deadline())
            house.queues._queues["s"] = Queue(leader)
            leader.gone = name == "gone"
            if name == "late":
                leader.deadline.seconds = -10.0
            assert isinstance(house.put(f"after the {name} one").answer, Allocation)
            assert house.queues._queues == {}

    def test_a_leader_that_is_replaced_while_it_prepares(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """What a leader prepared when another has taken over is not sent, and not left for the other to send."""
        leader = Waiter([wanted("a")], house.deadline())
        queue, prepare = Queue(leader), house.ledger.prepare
        working, batch = Leader(house.ledger, "s", queue, threading.Lock()), queue.batch

        def replaced(*given: Any) -> PreparedWrite:
            write = prepare(*given)
            queue.batch = Batch([leader])
            return write

        monkeypatch.setattr(house.ledger, "prepare", replaced)
        working.run()
        assert house.line.requests == []
        assert batch.write is None

    @pytest.mark.parametrize("gone", [False, True])
    def test_who_was_given_up_for_lost(self, house: House, gone: bool) -> None:
        """A leader that comes back after another took over does not know the outcome of its write."""
        lost, other = (Waiter([wanted("lost")], house.deadline()) for _ in range(2))
        queue = Queue(other)
        other.gone = gone
        lost.deadline.seconds = -10.0
        house.queues._wait("s", queue, lost)
        answer = lost.pendings[0].answer
        assert isinstance(answer, SequenceUnavailable)
        assert answer.outcome_unknown

    def test_who_was_refused_by_a_leader_that_was_interrupted(self, house: House) -> None:
        """A request that a lost leader refused without an answer is told that its outcome is unknown; none is sent."""
        pending = wanted("refused")
        pending.refuse(InvalidItem("no"))
        house.queues.submit("s", [pending], house.deadline())
        assert isinstance(pending.answer, SequenceUnavailable)
        assert pending.answer.outcome_unknown
        assert house.line.requests == []

    def test_who_was_taken_along_and_still_stands_in_the_queue(self, house: House) -> None:
        """A caller in both the queue and the batch of an interrupted leader gives up with an unknown outcome."""
        leader, late = (Waiter([wanted("late")], house.deadline()) for _ in range(2))
        queue = Queue(leader)
        write = PreparedWrite(operation="write", request={}, pendings=(), values=(), token="")
        queue.batch = Batch([leader, late], undecided=(write,))
        queue.waiting.append(late)
        late.deadline.seconds = -LATE_SECONDS / 2
        house.queues._wait("s", queue, late)
        assert not late.answered
        late.deadline.seconds = -LATE_SECONDS
        house.queues._wait("s", queue, late)
        answer = late.pendings[0].answer
        assert isinstance(answer, SequenceUnavailable)
        assert answer.outcome_unknown

    def test_a_glance_just_after_the_answer(self, house: House) -> None:
        """A caller that looks for its leader just after it was answered leaves the queue of others alone."""
        leader, late, other = (Waiter([], house.deadline()) for _ in range(3))
        queue = house.queues._queues["s"] = Queue(leader)
        queue.batch.waiters.append(late)
        house.queues._leave("s", leader)
        assert house.queues._queues == {}
        after = house.queues._queues["s"] = Queue(other)
        house.queues._wait("s", queue, late)
        house.queues._wait("s", queue, late)
        assert house.queues._queues == {"s": after}

    def test_a_caller_that_is_interrupted_while_it_waits(self, house: House, ctrl_c: Callable[[], None]) -> None:
        """A waiting caller that is interrupted, as by Ctrl-C, is not written, and those behind it are."""

        def interrupt() -> None:
            wait_until(lambda: house.waiting == 1)
            ctrl_c()

        house.line.plan = [NOT_SENT]
        with house.busy() as first:
            house.threads.submit(interrupt)
            with pytest.raises(KeyboardInterrupt):
                house.put("interrupted")
            after = house.threads.submit(house.put, "after")
            wait_until(lambda: house.waiting >= 1)
        first.result()
        assert isinstance(after.result().answer, Allocation)
        assert house.line.items == [["first"], ["first", "after"]]

    def test_a_caller_that_is_interrupted_while_it_is_written(self, house: House, ctrl_c: Callable[[], None]) -> None:
        """A caller that is interrupted in a batch is not written after its leader leaves without an answer for it."""
        interrupted = threading.Event()

        def refuse_meanwhile() -> None:
            ctrl_c()
            interrupted.wait(30)
            house.ledger.crash = ZeroDivisionError("a crash")
            raise NOT_SENT

        def release() -> None:
            wait_until(lambda: house.waiting == 1)
            house.line.open.set()

        house.line.plan = [NOT_SENT, refuse_meanwhile]
        with house.busy() as first:
            house.threads.submit(release)
            with pytest.raises(KeyboardInterrupt):
                house.put("interrupted")
            interrupted.set()
        with pytest.raises(ZeroDivisionError):
            first.result()
        assert isinstance(house.put("after").answer, Allocation)
        assert house.queues._queues == {}

    @pytest.fixture
    def ctrl_c(self, house: House) -> Iterator[Callable[[], None]]:
        """Interrupts the test's own thread, which waits for a minute otherwise."""

        def interrupt(signal_number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        house.timing, house.seconds = Timing(first_pause=0.0), 60.0
        original = signal.signal(signal.SIGALRM, interrupt)
        yield lambda: os.kill(os.getpid(), signal.SIGALRM)
        signal.signal(signal.SIGALRM, original)


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("name", TOGETHER)
class TestOnTheEngine:
    def test_threads_share_requests(self, name: str, scope: str, wire: Wire) -> None:
        """32 threads at once need fewer write requests than they store items."""
        at_once(32, lambda _: put_next(name, {}, scope=scope))
        writes = [operation for operation in wire.operations if operation in ("PutItem", "TransactWriteItems")]
        assert sorted(stored(name, scope)) == list(range(1, 33))
        assert len(writes) < 32

    def test_a_large_item_among_twenty(self, name: str, scope: str) -> None:
        """An item that is too large gets its error alone; the others are numbered without a hole."""
        items = [{"title": "x" * (410_000 if n == 7 else 10), "n": n} for n in range(20)]
        with pytest.raises((StorageRefused, InvalidItem), match="size"):
            put_next_many(name, items, scope=scope)
        rows = stored(name, scope)
        assert sorted(rows) == list(range(1, 20))
        assert [rows[value]["n"] for value in sorted(rows)] == [n for n in range(20) if n != 7]

    def test_a_large_item_of_another_caller(self, name: str, scope: str) -> None:
        """Threads that are written together with an item that is too large all get their numbers."""

        def put(n: int) -> int | None:
            try:
                return put_next(name, {"title": "x" * (410_000 if n == 7 else 10)}, scope=scope).value
            except SequenceError:
                return None

        told = at_once(20, put)
        assert told[7] is None
        assert sorted(value for value in told if value is not None) == list(range(1, 20))
        assert sorted(stored(name, scope)) == list(range(1, 20))

    def test_a_used_token_among_others(self, name: str, scope: str) -> None:
        """A repeat and a mismatch in the middle of a group get their answers; the others are numbered in order."""
        put_next(name, {"n": 0}, scope=scope, idempotency_token="a")
        put_next(name, {"n": 0}, scope=scope, idempotency_token="b")
        with pytest.raises(IdempotencyMismatch):
            put_next_many(
                name,
                [{"n": n} for n in (1, 0, 2, 3, 4)],
                scope=scope,
                idempotency_tokens=["c", "a", "b", "d", None],
            )
        rows = stored(name, scope)
        assert [rows[value]["n"] for value in sorted(rows)] == [0, 0, 1, 3, 4]
        assert sorted(rows) == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize("tokens", [None, [f"t{n}" for n in range(5)]])
    def test_a_lost_answer_to_a_group(self, name: str, scope: str, wire: Wire, tokens: list[str] | None) -> None:
        """A group whose answer is lost is sent again byte for byte, and stored once."""
        wire.lose("TransactWriteItems", times=2)
        allocations = put_next_many(name, [{"n": n} for n in range(5)], scope=scope, idempotency_tokens=tokens)
        first, *others = wire.bodies("TransactWriteItems")
        assert others == [first, first]
        assert [allocation.value for allocation in allocations] == [1, 2, 3, 4, 5]
        assert not any(allocation.replayed for allocation in allocations)
        assert sorted(stored(name, scope)) == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize("tokens", [None, [f"t{n}" for n in range(5)]])
    def test_a_lost_answer_without_a_request_token(
        self, name: str, scope: str, wire: Wire, tokens: list[str] | None
    ) -> None:
        """Exactness does not rest on the engine's ten minutes of memory for a request: numbers are written without."""
        wire.lose("TransactWriteItems")
        allocations = put_next_many(name, [{"n": n} for n in range(5)], scope=scope, idempotency_tokens=tokens)
        bodies = wire.bodies("TransactWriteItems")
        assert ["ClientRequestToken" in body for body in bodies] == [False] * len(bodies)
        assert len(bodies) > 1
        assert [allocation.value for allocation in allocations] == [1, 2, 3, 4, 5]
        assert not any(allocation.replayed for allocation in allocations)
        assert sorted(stored(name, scope)) == [1, 2, 3, 4, 5]
        assert put_next(name, {}, scope=scope).value == 6


def test_a_call_inside_a_request(configured: str, scope: str, wire: Wire) -> None:
    """A call that a signal handler makes inside a request waits for no other thread: that one may wait for its own."""
    sending, done, inner = threading.Event(), threading.Event(), list[int]()
    threads = ThreadPoolExecutor(1)

    def hold() -> None:
        sending.set()
        assert done.wait(timeout=30)

    def interrupt() -> None:
        wire.before("UpdateItem", hold)
        threads.submit(put_next, "atomic", {}, scope=scope)
        assert sending.wait(timeout=30)
        inner.append(get_next_value("atomic", scope=scope))
        done.set()

    wire.before("PutItem", interrupt)
    with threads:
        assert put_next("atomic", {}, scope=scope).value == 1
    assert inner == [2]


def test_the_strategies_that_write_together(configured: str) -> None:
    """The configurations above are those whose class has `writes_together`."""
    assert {type(strategies[name]) for name in TOGETHER} == {
        type(strategies[name]) for name in strategies if strategies[name].writes_together
    }
