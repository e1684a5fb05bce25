"""The order of documents by their dates: which come too late, and what they are told."""

from __future__ import annotations

from datetime import date
from unittest.mock import Mock

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.exceptions import DateRefused
from sequences.rows.counter_rows import CounterState
from sequences.rows.dates import DateOrder

LAST = CounterState(7, 7, document={"date": "2026-03-05", "value": 7})
NONE = CounterState(None, None)


def pending(day: int) -> Pending[PutRequest]:
    """A document of a day in March."""
    return Pending(PutRequest(item={}, day=date(2026, 3, day)))


@pytest.mark.parametrize(
    ("days", "state", "is_broken"),
    [([5, 6], LAST, False), ([6, 4], LAST, True), ([], LAST, False), ([4], NONE, False)],
)
def test_whether_one_is_late(days: list[int], state: CounterState, is_broken: bool) -> None:
    """A document of the day of the last one is not; before the first one none is."""
    order = DateOrder("orders", Mock())
    assert order.is_broken(map(pending, days), state) is is_broken


def test_those_that_are_kept() -> None:
    """They are in the order of their dates, and of one day as they came. A late one is a repeat, or is refused."""
    repeat, deadline = Mock(), Mock()
    order, given = DateOrder("orders", repeat), [pending(day) for day in (9, 5, 4, 9, 6)]
    kept = order.kept("A", given, LAST, deadline)
    assert kept == [given[place] for place in (1, 4, 0, 3)]
    assert order.span(kept) == ("2026-03-05", "2026-03-09")
    assert order.span(kept[:1]) == ("2026-03-05", "2026-03-05")
    repeat.assert_called_once_with("A", given[2], deadline)
    assert [one.refusal is None for one in given] == [True, True, False, True, True]
    refused = given[2].refusal
    assert isinstance(refused, DateRefused)
    assert (refused.first, refused.last) == (date(2026, 3, 5), None)
    assert str(refused).startswith(
        "The document is dated 2026-03-04, but number 7 of 'orders', scope 'A', is dated 2026-03-05, and documents are "
    )
