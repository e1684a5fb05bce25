"""How far the date of a document may be from today: both limits, and each alone."""

from __future__ import annotations

from datetime import UTC, date, datetime
from unittest.mock import Mock

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.exceptions import DateRefused
from sequences.formats.periods import Period
from sequences.rows.dates import DateLimits

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp()
FIRST, LAST = date(2026, 3, 3), date(2026, 3, 6)


def limits(**days: int) -> DateLimits:
    """Those of a sequence on the fifth of March."""
    return DateLimits("orders", days, Period(), lambda: NOON)


@pytest.mark.parametrize(
    ("days", "day", "first", "last", "span"),
    [
        ({"past": 2, "future": 1}, date(2026, 3, 2), FIRST, LAST, "from 2026-03-03 to 2026-03-06"),
        ({"past": 2, "future": 1}, date(2026, 3, 7), FIRST, LAST, "from 2026-03-03 to 2026-03-06"),
        ({"past": 2}, date(2026, 3, 2), FIRST, None, "from 2026-03-03"),
        ({"future": 1}, date(2026, 3, 7), None, LAST, "to 2026-03-06"),
        (
            {"past": 0, "future": 0},
            date(2026, 3, 4),
            date(2026, 3, 5),
            date(2026, 3, 5),
            "from 2026-03-05 to 2026-03-05",
        ),
    ],
)
def test_a_day_beyond(days: dict[str, int], day: date, first: date | None, last: date | None, span: str) -> None:
    """The refusal has the limits that there are, for people and for programs."""
    refused = limits(**days).refusal(day)
    assert refused is not None
    assert str(refused).startswith(f"The document is dated {day}, and 'orders' takes dates {span} (DATES).")
    assert (refused.first, refused.last) == (first, last)
    with pytest.raises(DateRefused):
        limits(**days).require(day)


@pytest.mark.parametrize(
    ("days", "taken"),
    [({"past": 2, "future": 1}, [FIRST, LAST]), ({"past": 2}, [FIRST, date.max]), ({"future": 1}, [date.min, LAST])],
)
def test_a_day_within(days: dict[str, int], taken: list[date]) -> None:
    """The first and the last day are within; a limit that is not there bounds nothing, and neither does no date."""
    for day in taken:
        assert limits(**days).refusal(day) is None
        limits(**days).require(day)
    limits(**days).require(None)


def test_several_requests() -> None:
    """Those beyond are refused, unless they are repeats, which are answered; the others go on."""
    days = (FIRST, date(2026, 3, 2), None, date(2026, 3, 7))
    given, deadline = [Pending(PutRequest(item={}, day=day)) for day in days], Mock()
    repeat = Mock()
    repeat.side_effect = lambda scope, one, _: one.settle([7]) if one is given[3] else None
    assert limits(past=2, future=1).allowed("A", given, repeat, deadline) == [given[0], given[2]]
    assert isinstance(given[1].answer, DateRefused)
    assert given[3].answer == [7]
    assert [call.args for call in repeat.call_args_list] == [
        ("A", given[1], deadline),
        ("A", given[3], deadline),
    ]
