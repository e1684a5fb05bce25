"""The arithmetic of a sequence: its values are START, and on by STEP up to MAXIMUM."""

from __future__ import annotations

from typing import Any

import pytest

from sequences.commit.requests import Pending, ReserveRequest
from sequences.exceptions import InvalidSequence, SequenceExhausted
from sequences.rows.numbers import LARGEST, Numbers, whole_number


def numbers(*, start: int = 1001, step: int = 10, maximum: int = 1041, **more: Any) -> Numbers:
    """Five values from 1001 by 10, unless others are wanted."""
    return Numbers(alias="orders", start=start, step=step, maximum=maximum, **more)


def test_what_to_raise() -> None:
    """Where MAXIMUM is reached, its width bounds a padded sort key too, and no other one."""
    assert str(numbers().exhausted()).endswith("raise MAXIMUM.")
    assert str(numbers(padded=True).exhausted()).endswith("raise MAXIMUM and the digits of sort_key.")


@pytest.mark.parametrize(
    ("start", "step", "values"), [(1, 1, [1, 2, 3]), (1001, 10, [1001, 1011, 1021]), (0, 7, [0, 7, 14])]
)
def test_the_first_values(start: int, step: int, values: list[int]) -> None:
    """A scope without values continues with START, then START plus STEP."""
    sequence = numbers(start=start, step=step)
    assert list(sequence.after(sequence.before_start, 3)) == values


def test_the_values_after_another() -> None:
    """After a value come those that are a STEP apart, as many as are wanted."""
    assert list(numbers().after(1021, 2)) == [1031, 1041]
    assert list(numbers().after(1021, 0)) == []


@pytest.mark.parametrize(
    ("last_value", "counts", "fitting"),
    [
        (991, [2, 3], 2),
        (991, [2, 4], 1),
        (991, [2, 2, 2, 1], 2),
        (1031, [1, 1], 1),
        (1030, [1], 1),
        (1031, [], 0),
    ],
)
def test_the_requests_that_fit(last_value: int, counts: list[int], fitting: int) -> None:
    """Of requests that come together the first are served for which there are values up to MAXIMUM."""
    pendings = [Pending(ReserveRequest(count=count)) for count in counts]
    assert list(numbers().fitting(pendings, last_value)) == pendings[:fitting]


@pytest.mark.parametrize(
    ("counts", "values", "last"),
    [([1, 1, 1], [1001, 1011, 1021], 1021), ([2, 1, 2], [1001, 1021, 1031], 1041), ([3], [1001], 1021)],
)
def test_the_first_value_of_each_request(counts: list[int], values: list[int], last: int) -> None:
    """Requests that come together get their values one after the other, each as many as it counts."""
    pendings = [Pending(ReserveRequest(count=count)) for count in counts]
    found, last_value = numbers().firsts(pendings, 991)
    assert (list(found), last_value) == (values, last)


@pytest.mark.parametrize(("last_value", "count"), [(1041, 1), (1032, 1), (991, 6)])
def test_none_that_fits(last_value: int, count: int) -> None:
    """A first request for which there are not enough values is told that MAXIMUM is reached."""
    with pytest.raises(SequenceExhausted, match="'orders' has reached its maximum 1041: raise MAXIMUM"):
        numbers().fitting([Pending(ReserveRequest(count=count))], last_value)


@pytest.mark.parametrize("value", [0, 1001, LARGEST])
def test_a_whole_number(value: int) -> None:
    """A number of the settings may have 38 digits."""
    assert whole_number("START", value, 0) == value


@pytest.mark.parametrize("value", [-1, LARGEST + 1, True, 1.0, "1", None])
def test_no_whole_number(value: Any) -> None:
    """What is no whole number in the bounds is refused, and the key is named."""
    with pytest.raises(InvalidSequence, match=r"^START is .*; it must be a whole number from 0 to 38 digits"):
        whole_number("START", value, 0)
