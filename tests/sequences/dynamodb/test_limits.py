"""What is left of the time of a request."""

from types import SimpleNamespace

import pytest

from sequences.dynamodb import limits
from sequences.dynamodb.limits import Budget, _thread, in_request, left, mark_sent, within
from sequences.exceptions import BudgetSpent
from tests.sequences.support import Clock


def test_what_is_left() -> None:
    """A step of a request gets what is left of the whole."""
    with within(50.0):
        assert 40.0 < left(None) <= 50.0


def test_nothing_is_left() -> None:
    """A step of a request that is late gets a moment: a time-out of 0 would mean a socket that never waits."""
    with within(-5.0):
        assert 0 < left(None) < 0.1


def test_one_inside_another() -> None:
    """A request of a signal's handler has a limit of its own, and without one the socket's time-out counts."""
    with within(50.0) as outer:
        with within(90.0):
            assert left(None) > 50.0
        assert _thread.limit is outer
    assert left("its own") == "its own"


def test_what_was_sent() -> None:
    """A request says whether a part of it was sent; without a limit nobody is asked."""
    with within(5.0) as limit:
        assert (limit.sent, in_request()) == (False, True)
        mark_sent()
    assert (limit.sent, in_request()) == (True, False)
    mark_sent()


def test_the_time_of_a_budget(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request may be sent as long as any time is left, and not at the end of it."""
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=clock))
    budget = Budget(seconds=2.0, began=clock.now)
    clock.now += 1.5
    budget.take()
    clock.now += 0.5
    with pytest.raises(BudgetSpent):
        budget.take()
