"""What a thread takes of the calls that wait for it, and whom it answers; without threads and an engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from sequences.asynchronous import _LastValue, _Put, _Reserve
from sequences.asynchronous.gatherings import (
    Call,
    Gathering,
    Gatherings,
    _answer,
    _do,
    _served,
    _wake,
    gatherings,
)
from sequences.commit.requests import Pending, PutRequest, values_of
from sequences.commit.retries import Deadline
from sequences.exceptions import InvalidItem, SequenceExhausted, SequenceUnavailable
from sequences.services.puts import PutCall
from sequences.types import Allocation
from tests.sequences.support import Clock

WRONG, BUG = InvalidItem("Too large."), ValueError("a bug")
USED_UP = SequenceExhausted("No value is left.")
GAVE_UP = SequenceUnavailable("The engine is away.", attempts=1, seconds=1.0)
STORED = Allocation(sequence="stub", scope="ABC", value=1, attempts=1, replayed=False, write_units=1.0, read_units=0.0)


class Step(Call):
    """A call that takes some actions and bytes of a write, and is served as a test says."""

    serving: Callable[[Sequence[Any]], None]

    def __init__(self, *, actions: int = 1, size: int = 0, together: float = 10, requests: int = 1) -> None:
        strategy: Any = mock.sentinel.strategy
        pendings = [Pending(PutRequest(item={})) for _ in range(requests)]
        super().__init__(strategy, "ABC", Deadline(timing=Clock().timing()), pendings)
        self.actions, self.size, self.most_together = actions, size, together

    @classmethod
    def serve(cls, calls: Sequence[Any]) -> None:
        cls.serving(calls)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event loop in which calls are made; it never runs."""
    loop: Any = mock.Mock(is_closed=lambda: False, create_future=lambda: SimpleNamespace(done=lambda: False))
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)


@pytest.mark.usefixtures("loop")
class TestTaking:
    def take(self, *calls: Step) -> tuple[list[Any], int]:
        """Which calls are taken at once, and how many are left."""
        gathering = Gathering((Step, mock.sentinel.strategy, "ABC"))
        gathering.waiting.extend(calls)
        taken = gathering.take()
        assert all(call.taken is (call in taken) for call in calls)
        return [calls.index(call) for call in taken], len(gathering.waiting)

    def test_as_many_as_fit(self) -> None:
        """They come in their order, while the actions of all fit into the write of the first; the first one always."""
        assert self.take() == ([], 0)
        assert self.take(Step(actions=4), Step(actions=6), Step()) == ([0, 1], 1)
        assert self.take(Step(actions=5), Step(actions=6), Step()) == ([0], 2)
        assert self.take(Step(actions=99), Step()) == ([0], 1)
        assert self.take(Step(together=0), Step(together=0)) == ([0], 1)
        assert self.take(*(Step(together=float("inf")) for _ in range(50))) == ([*range(50)], 0)

    def test_as_large_as_fit(self) -> None:
        """Together they have no more than 4 MB."""
        assert self.take(Step(size=3_000_000), Step(size=1_000_000), Step(size=1)) == ([0, 1], 1)
        assert self.take(Step(size=3_000_000), Step(size=1_000_001)) == ([0], 1)

    def test_whom_nobody_awaits(self) -> None:
        """A call that is gone, or whose event loop is closed, is left out."""
        gone, closed = Step(), Step()
        gone.gone = True
        closed.loop = mock.Mock(is_closed=lambda: True)
        assert self.take(gone, Step(), closed, Step()) == ([1, 3], 0)


@pytest.mark.usefixtures("loop")
class TestAnswering:
    def test_when_it_is_answered(self) -> None:
        """A call is answered when all its requests are; one without requests has its answer elsewhere."""
        call = Step(requests=2)
        told = [call.answered]
        for pending in call.pendings:
            pending.settle(WRONG)
            told.append(call.answered)
        assert told == [False, False, True]
        assert Step(requests=0).answered is False

    def test_an_error_of_a_group(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is the error of every call, the first one; what sequences raise is the answer of its requests, too."""
        for error, answer in ((WRONG, WRONG), (BUG, None)):
            monkeypatch.setattr(Step, "serving", mock.Mock(side_effect=error), raising=False)
            calls = [Step(), Step()]
            _answer(calls)
            _answer([])
            assert [call.error for call in calls] == [error, error]
            assert [call.pendings[0].answer for call in calls] == [answer, answer]
            calls[0].fail(SequenceUnavailable("", attempts=1, seconds=1.0))
            assert calls[0].error is error

    def test_who_is_woken(self) -> None:
        """Each is told once; one that gave up meanwhile is left alone."""
        told: list[int] = []
        calls: list[Any] = [
            SimpleNamespace(served=SimpleNamespace(done=lambda done=done: done, set_result=told.append))
            for done in (False, True, False)
        ]
        _served(calls)
        assert told == [None, None]

    def test_a_loop_that_has_closed(self) -> None:
        """Those of another event loop are woken all the same."""
        closed, going_on = mock.Mock(), mock.Mock()
        closed.call_soon_threadsafe.side_effect = RuntimeError("Event loop is closed")
        calls: list[Any] = [SimpleNamespace(loop=loop) for loop in (closed, going_on, going_on)]
        _wake(calls)
        going_on.call_soon_threadsafe.assert_called_once_with(_served, calls[1:])

    def test_work_is_done_once(self) -> None:
        """What waits in two places is done where it is found first."""
        done: list[int] = []
        waiting: list[Callable[[], object]] = [lambda: done.append(1)]
        for _ in range(2):
            _do(waiting)
        assert done == [1]


@pytest.mark.usefixtures("loop")
class TestThreads:
    @pytest.fixture
    def own(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Gatherings whose lock and threads are noted."""
        own: Any = Gatherings()
        own._lock = mock.MagicMock()
        own._threads = mock.Mock()
        return own

    @pytest.mark.parametrize(("together", "threads"), [(10, 1), (0, 8)])
    def test_how_many_serve_a_scope(self, own: Any, together: int, threads: int) -> None:
        """One thread serves the calls of a scope that go together, and eight those that go alone."""
        for _ in range(20):
            own._join(Step(together=together))
        (gathering,) = own._by_key.values()
        assert (gathering.threads, own._threads.submit.call_count) == (threads, threads)
        assert len(gathering.waiting) == 20
        assert own._lock.__enter__.call_count == 20

    def test_when_it_goes_on(self, own: Any) -> None:
        """A thread goes on while somebody waits; the last one leaves nothing behind."""
        own._join(Step())
        (gathering,) = own._by_key.values()
        own._go_on(gathering)
        assert (gathering.threads, own._threads.submit.call_count) == (1, 2)
        gathering.waiting.clear()
        gathering.threads = 2
        own._go_on(gathering)
        assert own._by_key
        own._go_on(gathering)
        assert own._by_key == {}
        assert own._lock.__enter__.call_count == 4

    @pytest.mark.parametrize("taken", [False, True])
    def test_taking_back(self, own: Any, taken: bool) -> None:
        """A call is taken back unless a thread has begun with it."""
        call = Step()
        call.taken = taken
        assert own._withdraw(call) is (not taken)
        assert (call.gone, own._lock.__enter__.call_count) == (not taken, 1)

    @pytest.mark.parametrize("taken", [False, True])
    def test_giving_up(self, own: Any, taken: bool) -> None:
        """A call that a thread has begun with may be stored; of another one a thread says that it gave up."""
        call = Step()
        call.taken = taken
        own._give_up(call)
        assert isinstance(call.error, SequenceUnavailable)
        assert call.error.outcome_unknown is taken
        assert own._threads.submit.call_count == (not taken)

    @pytest.mark.parametrize(
        ("has_threads", "alive", "here"), [(True, True, False), (False, True, True), (True, False, True)]
    )
    def test_no_thread_can_be_started(
        self, own: Any, monkeypatch: pytest.MonkeyPatch, has_threads: bool, alive: bool, here: bool
    ) -> None:
        """It is done here if there is no thread, or the interpreter ends; otherwise a busy thread finds it."""
        own._threads.submit.side_effect = RuntimeError
        if has_threads:
            own._has_threads.set()
        monkeypatch.setattr(threading, "main_thread", lambda: SimpleNamespace(is_alive=lambda: alive))
        work = mock.Mock()
        own._hand_over(work)
        assert work.call_count == here


@pytest.mark.usefixtures("loop")
class TestCalls:
    def stub(self, *, together: bool = True, group: bool = True) -> Any:
        """A strategy."""
        return SimpleNamespace(
            writes_together=together,
            option={"group": group},
            item_writer=SimpleNamespace(most_actions=99),
            deadline=lambda began: Deadline(seconds=began),
        )

    @pytest.mark.parametrize(
        ("together", "group", "most"), [(True, True, 99), (True, False, 0), (False, True, 0), (False, False, 0)]
    )
    def test_puts(self, together: bool, group: bool, most: int) -> None:
        """Puts go together where one request writes them, unless the option says otherwise, as far as they fit."""
        pendings = [Pending(PutRequest(item={}, token=token, size=5)) for token in ("", "one")]
        puts = PutCall("stub", [], "ABC", None, None)
        puts.strategy, puts.counted = self.stub(together=together, group=group), "ABC"
        puts.pendings, puts.deadline = pendings, Deadline()
        call = _Put(puts)
        assert (call.most_together, call.actions, call.size, call.pendings) == (most, 3, 10, pendings)

    @pytest.mark.parametrize(
        ("answers", "error", "raises"),
        [
            ([STORED, STORED], None, False),
            ([WRONG, WRONG], None, False),
            ([USED_UP, USED_UP], USED_UP, True),
            ([WRONG, USED_UP], USED_UP, True),
            ([STORED, USED_UP], USED_UP, False),
            ([WRONG, WRONG], USED_UP, False),
            ([GAVE_UP, GAVE_UP], GAVE_UP, False),
        ],
    )
    def test_an_error_of_the_whole_call(self, answers: list[Any], error: Exception | None, raises: bool) -> None:
        """It is raised where nothing is stored, unless it gave up, or concerned only others of the group."""
        puts = PutCall("stub", [], "ABC", None, None)
        puts.strategy, puts.counted, puts.deadline = self.stub(), "ABC", Deadline()
        puts.pendings = [Pending(PutRequest(item={})) for _ in answers]
        for pending, answer in zip(puts.pendings, answers, strict=True):
            pending.settle(answer)
        call = _Put(puts)
        call.error = error
        with pytest.raises(SequenceExhausted) if raises else nullcontext():
            call.require()

    @pytest.mark.parametrize(("group", "most"), [(True, float("inf")), (False, 0)])
    def test_values(self, group: bool, most: float) -> None:
        """Values go together, however many, unless the option says otherwise; an error is raised."""
        call = _Reserve(self.stub(group=group), "ABC", 3, 7.0)
        assert (call.most_together, call.pending.request.count, call.deadline.seconds) == (most, 3, 7.0)
        assert call.pending.deadline is call.deadline
        call.pending.settle(WRONG)
        with pytest.raises(InvalidItem):
            values_of(call.pending)

    def test_last_values(self) -> None:
        """Callers that look at the same time share one read."""
        strategy = self.stub()
        strategy.last_value = mock.Mock(return_value=7)
        calls = [_LastValue(strategy, "ABC", Deadline()) for _ in range(3)]
        _LastValue.serve(calls)
        assert [call.last_value for call in calls] == [7, 7, 7]
        strategy.last_value.assert_called_once_with("ABC")


def test_there_is_one_of_a_process() -> None:
    """All event loops of a process share their threads."""
    assert isinstance(gatherings, Gatherings)
    assert gatherings._threads._max_workers == 64
