"""A counter that moves with the items: what is remembered of it, and when it is read again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.exceptions import CancellationReason
from sequences.rows.assignments import Hint
from sequences.rows.counter_rows import CounterState
from sequences.strategies.transactional import TransactionalCounter
from tests.sequences.support import Clock, make

pytestmark = pytest.mark.usefixtures("configured")


@pytest.fixture
def strategy(clock: Clock) -> TransactionalCounter:
    """A strategy that has counted nothing, at 5000 seconds since 1970."""
    made = make("transactional", clock=clock, wall=Clock(5000.0))
    assert isinstance(made, TransactionalCounter)
    return made


@pytest.fixture
def states(strategy: TransactionalCounter, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """How the counter is read; each read takes the first of these states, and is noted in its place."""
    states: list[Any] = []

    def state(scope: str, send: object, **how: bool) -> CounterState:
        found: CounterState = states.pop(0)
        states.append((scope, how))
        return found

    monkeypatch.setattr(strategy.counter, "state", state)
    return states


class TestKnown:
    def known(self, strategy: TransactionalCounter) -> CounterState | None:
        """What is remembered for a request."""
        return strategy._known("ABC", [Pending(PutRequest(item={}))])

    def test_a_counter_that_was_written(self, strategy: TransactionalCounter, clock: Clock) -> None:
        """Nothing is known at first; after a write its last value is, and when that was."""
        assert self.known(strategy) is None
        strategy.committed("ABC", 7)
        assert self.known(strategy) == CounterState(7, 7, at=clock.now)
        assert strategy.hint("ABC") == Hint(7, clock.now)
        strategy.forget()
        assert self.known(strategy) is None

    def test_behind_the_items(self, strategy: TransactionalCounter, monkeypatch: pytest.MonkeyPatch) -> None:
        """A counter that is behind stored items is read."""
        strategy.committed("ABC", 7)
        monkeypatch.setattr(strategy.counter.memory, "behind", lambda scope: 0)
        assert self.known(strategy) is None

    @pytest.mark.parametrize("wants", [True, False])
    def test_its_tallies(
        self, strategy: TransactionalCounter, clock: Clock, monkeypatch: pytest.MonkeyPatch, wants: bool
    ) -> None:
        """It is read where its tallies are wanted, by the time at which it was remembered."""
        asked: list[tuple[Any, ...]] = []

        def wants_row(*given: Any) -> bool:
            asked.append(given)
            return wants

        strategy.committed("ABC", 7)
        clock.now += 600
        monkeypatch.setattr(strategy.counter.tallies, "wants_row", wants_row)
        assert (self.known(strategy) is None) is wants
        assert asked == [("ABC", 5000.0, 4400.0)]

    @pytest.mark.parametrize(("seen", "known"), [(7, True), (8, False)])
    def test_others_have_counted_on(
        self, strategy: TransactionalCounter, monkeypatch: pytest.MonkeyPatch, seen: int, known: bool
    ) -> None:
        """It is read where a process of the host has seen more."""
        strategy.committed("ABC", 7)
        monkeypatch.setattr(strategy.counter.evidence, "known", lambda scope: seen)
        assert (self.known(strategy) is not None) is known

    def test_a_period_that_is_closing(self, strategy: TransactionalCounter) -> None:
        """It is read where its period is to be closed at a moment."""
        strategy._remember("ABC", CounterState(7, 7, closing={"since": 9000}))
        assert self.known(strategy) is None

    @pytest.mark.parametrize("broken", [True, False])
    def test_the_order_of_dates(self, strategy: TransactionalCounter, broken: bool) -> None:
        """It is read where a request would break the order of the dates that are known."""
        order: Any = SimpleNamespace(is_broken=lambda pendings, state: broken)
        strategy._date_order = order
        strategy.committed("ABC", 7)
        assert (self.known(strategy) is None) is broken


class TestHints:
    @pytest.mark.parametrize(("given", "taken"), [(6, False), (7, True), (8, True)])
    def test_of_other_processes(self, strategy: TransactionalCounter, given: int, taken: bool) -> None:
        """A hint is as old as it says, and ignored where more is known."""
        assert strategy.hint("ABC") is None
        strategy.counter.evidence.note("ABC", 7)
        strategy.accept_hint("ABC", Hint(given, 3.0))
        assert strategy.hint("ABC") == (Hint(given, 3.0) if taken else None)

    @pytest.mark.parametrize(
        ("given", "state"), [(0, CounterState(None, None, at=3.0)), (5, CounterState(5, 5, at=3.0))]
    )
    def test_in_a_new_scope(self, strategy: TransactionalCounter, given: int, state: CounterState) -> None:
        """Where nothing is known any hint is taken; the value before START says that there is no counter."""
        strategy.accept_hint("ABC", Hint(given, 3.0))
        assert strategy._states.get("ABC") == state


class TestLostRaces:
    def test_the_answer_tells(self, strategy: TransactionalCounter, states: list[Any], clock: Clock) -> None:
        """The counter is known from the answer, and not read."""
        reason = CancellationReason("no", {"last_value": 8, "highest": 8})
        strategy.counter_moved("ABC", reason, strategy.deadline().send)
        assert strategy._states.get("ABC") == CounterState(8, 8, at=clock.now)
        assert strategy.counter.evidence.known("ABC") == 8
        assert states == []

    @pytest.mark.parametrize(
        "old",
        [
            None,
            {"highest": 8},
            {"last_value": 8, "frozen": {"by": "ana"}},
            {"last_value": 8, "closing": {"since": 9000}},
            {"last_value": 8, "highest": 9},
            {"last_value": 6, "highest": 6},
        ],
    )
    def test_the_answer_is_strange(self, strategy: TransactionalCounter, states: list[Any], old: Any) -> None:
        """One that is frozen, closing, gone or lower than what is known is read."""
        strategy.counter.evidence.note("ABC", 7)
        states.append(CounterState(9, 9))
        strategy.counter_moved("ABC", CancellationReason("no", old), strategy.deadline().send)
        assert states == [("ABC", {})]
        assert strategy.hint("ABC") is not None

    def test_other_lines(
        self, strategy: TransactionalCounter, states: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One whose lines have changed is read."""
        monkeypatch.setattr(strategy.counter, "is_outdated", lambda state: True)
        states.append(CounterState(9, 9))
        strategy.counter_moved("ABC", CancellationReason("no", {"last_value": 8}), strategy.deadline().send)
        assert states == [("ABC", {})]

    def test_a_number_that_is_taken(self, strategy: TransactionalCounter) -> None:
        """The counter is behind that number, and is read."""
        strategy.committed("ABC", 7)
        strategy.number_taken("ABC", Pending(PutRequest(item={})), 8)
        assert strategy.hint("ABC") is None
        assert strategy.counter.memory.behind("ABC") == 8

    def test_a_change(self, strategy: TransactionalCounter) -> None:
        """After a change it is read, and the value to which it was moved is known."""
        strategy.committed("ABC", 7)
        strategy.changed("ABC", 9)
        assert strategy.hint("ABC") is None
        assert strategy.counter.evidence.known("ABC") == 9


@pytest.mark.parametrize(("stored", "last_value"), [(None, 7), (12, 12)])
def test_the_last_value(strategy: TransactionalCounter, states: list[Any], stored: int | None, last_value: int) -> None:
    """It is the counter's, or the highest item's while that is ahead, also of a frozen scope."""
    states.append(CounterState(7, 7, stored=stored))
    assert strategy.last_value("ABC") == last_value
    assert states == [("ABC", {"even_frozen": True})]


def test_a_scope_without_values(strategy: TransactionalCounter, states: list[Any]) -> None:
    """It has no last value."""
    states.append(CounterState(None, None))
    assert strategy.last_value("ABC") is None
