"""How far a scope had counted at a moment, between the points that are known."""

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from sequences.dynamodb.expressions import SINCE
from sequences.rows.course import (
    Course,
    course_of_counter,
    course_of_items,
    first_probes,
    further_probes,
    moment_of,
)
from sequences.rows.numbers import Numbers
from sequences.types import Counter

HOUR, MIDNIGHT = 3_600, 20_411 * 86_400
NOW = MIDNIGHT + 12.5 * HOUR
NUMBERS = Numbers(alias="orders", start=1, step=1, maximum=10**6)
THREE = {1: 10.0, 11: 20.0, 21: 30.0}


@pytest.mark.parametrize(
    ("moment", "last_value", "is_exact"),
    [
        (5, None, True),
        (10, 1, True),
        (15, 6, False),
        (20, 11, True),
        (25, 11, True),
        (30, 11, True),
        (40, 12, True),
        (99, 12, True),
    ],
)
def test_the_value_at_a_moment(moment: float, last_value: int | None, is_exact: bool) -> None:
    """A value is exact at a point, before all, after all, and while nothing changed; else it is read in between."""
    assert Course([(10, 1), (20, 11), (30, 11), (40, 12)]).value_at(moment) == (last_value, is_exact)


def counter(last_value: Any, updated: float | None = None, **tallies: int) -> Counter:
    """A counter with these tallies, that was written last at that moment."""
    updated_at = None if updated is None else datetime.fromtimestamp(updated, UTC)
    return Counter(sequence="orders", scope="A", last_value=last_value, updated_at=updated_at, tallies=tallies)


def course(last_value: Any, updated: float | None = None, **tallies: int) -> Course:
    """The course of such a counter."""
    found = course_of_counter(counter(last_value, updated, **tallies), NUMBERS, NOW)
    assert found is not None
    return found


class TestCounters:
    def test_hours_and_days(self) -> None:
        """The values at which each hour and each day began are exact, and the last write is known."""
        updated = NOW - 600
        found = course(7, updated, d20411=3, d20410=4, h489876=1, h489875=2)
        begins = {MIDNIGHT - 86_400: 0, MIDNIGHT: 4, MIDNIGHT + 11 * HOUR: 4, MIDNIGHT + 12 * HOUR: 6, NOW: 7}
        assert {moment: found.value_at(moment) for moment in begins} == {at: (n, True) for at, n in begins.items()}
        assert [found.value_at(updated - 1), found.value_at(updated + 1)] == [(6, True), (7, True)]
        assert (found.last_at, found.since) == (updated, None)

    def test_what_was_given_before(self) -> None:
        """Of the time before there were tallies nothing is known."""
        since = MIDNIGHT + 6 * HOUR
        found = course(103, NOW - 60, d20411=3, **{SINCE: since})
        assert [found.value_at(since - 1), found.value_at(since), found.value_at(NOW)] == [
            (None, True),
            (100, True),
            (103, True),
        ]
        assert (found.since, found.points[0]) == (since, (since, 100))

    def test_skipped_values(self) -> None:
        """They were given at no time: it was so much higher before."""
        found = course(103, NOW - 60, d20411=3, **{SINCE: 0})
        assert (found.value_at(MIDNIGHT), found.value_at(MIDNIGHT - 86_400), found.since) == ((100, True),) * 2 + (
            None,
        )

    def test_a_counter_without_tallies(self) -> None:
        """It gave nothing since it was written last; without that moment only the present is known."""
        assert course(103, NOW - 60).since == NOW - 60
        assert course(103, NOW + 60).since == NOW
        unknown = course(103)
        assert (unknown.since, unknown.last_at) == (NOW, None)
        assert [unknown.value_at(NOW - 1), unknown.value_at(NOW)] == [(None, True), (103, True)]

    def test_no_value(self) -> None:
        """A scope that has given nothing stands before its first value; what is no number has no course."""
        assert course(None).points == [(-math.inf, 0)]
        assert course_of_counter(counter("many"), NUMBERS, NOW) is None


class TestItems:
    def test_those_from_the_first_on(self) -> None:
        """The course jumps by one value at each time, and before the first there was none."""
        found = course_of_items({1: 10.0, 3: 20.0}, NUMBERS, 5, 99.0)
        assert found == Course([(-math.inf, 0), (10.0, 0), (10.0, 1), (20.0, 2), (20.0, 3), (99.0, 5)])

    def test_those_that_begin_later(self) -> None:
        """Nothing is known of the time before them; the time of the last value is."""
        found = course_of_items({3: 20.0, 5: 30.0}, NUMBERS, 5, 99.0)
        points = [(20.0, 2), (20.0, 3), (30.0, 4), (30.0, 5), (99.0, 5)]
        assert found == Course(points, last_at=30.0, since=20.0)

    def test_times_that_fall(self) -> None:
        """The longest part that never falls counts."""
        found = course_of_items({1: 10.0, 2: 50.0, 3: 20.0, 4: 20.0}, NUMBERS, 4, 99.0)
        assert found is not None
        assert [value for _, value in found.points] == [0, 0, 1, 2, 3, 3, 4, 4]
        assert course_of_items({}, NUMBERS, 4, 99.0) is None


class TestProbes:
    def test_the_first(self) -> None:
        """They double their distance from the last number, down to the first; of many numbers they are no more."""
        assert first_probes(1, 20) == [1, 4, 12, 16, 18, 19, 20]
        assert first_probes(7, 7) == [7]
        assert first_probes(1, 513) == [1, 257, 385, 449, 481, 497, 505, 509, 511, 512, 513]
        assert first_probes(0, 10**9)[-4:] == [10**9 - 100, 10**9 - 10, 10**9 - 1, 10**9]
        assert [len(first_probes(0, last)) for last in (10**3, 10**9, 2**80)] == [11] * 3

    @pytest.mark.parametrize(
        ("times", "moments", "most", "probes"),
        [
            (THREE, [15.0], 3, [3, 6, 8]),
            (THREE, [20.0], 9, [2, 3, 4, 5, 6, 7, 8, 9, 10]),
            (THREE, [15.0], 8, [2, 3, 4, 5, 6, 7, 8, 9]),
            (THREE, [15.0, 25.0], 4, [4, 7, 14, 17]),
            (THREE, [15.0, 15.0, 25.0], 3, [4, 7, 16]),
            (THREE, [10.0, 5.0, 35.0], 3, []),
            ({1: 10.0, 2: 20.0}, [15.0], 3, []),
            ({1: 10.0, 3: 20.0}, [15.0], 3, [2]),
        ],
    )
    def test_the_next(self, times: dict[int, float], moments: list[float], most: int, probes: list[int]) -> None:
        """They are spread between the numbers around each moment, as many as it has a share of."""
        assert further_probes(times, moments, most) == probes


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("1970-01-01T01:00:10+01:00", 10.0),
        ("1970-01-01T00:00:10", 10.0),
        ("1970-01-02", 86_400.0),
        (0, 0.0),
        (Decimal("7.5"), 7.5),
        (253_402_300_799, 253_402_300_799.0),
        (253_402_300_800, None),
        (-1, None),
        ("1969-12-31", None),
        ("yesterday", None),
        (True, None),
        (7.5, None),
        (None, None),
    ],
)
def test_the_time_of_an_item(value: object, moment: float | None) -> None:
    """It is an ISO text, in UTC unless it says otherwise, or a number of seconds, up to the year 9999."""
    assert moment_of(value) == moment
