"""The arithmetic of a sequence: its values are START, and on by STEP up to MAXIMUM."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sequences.commit.requests import Pending, ReserveRequest
from sequences.exceptions import InvalidSequence, SequenceExhausted
from sequences.rows.numbers import Numbers, whole_number


def numbers(*, start: int = 1001, step: int = 10, maximum: int = 1041, **more: Any) -> Numbers:
    """Five values from 1001 by 10, unless others are wanted."""
    return Numbers(alias="orders", start=start, step=step, maximum=maximum, **more)


def test_what_to_raise() -> None:
    """Where MAXIMUM is reached, its width bounds a padded sort key too, and no other one; of a line, its maximum."""
    assert str(numbers().exhausted()).endswith("raise MAXIMUM.")
    assert str(numbers(padded=True).exhausted()).endswith("raise MAXIMUM and the digits of sort_key.")
    assert str(numbers(of_line=True).exhausted()).endswith("1041: add a line, or raise the maximum of this one.")


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


@pytest.mark.parametrize("value", [0, 1001, 10**38 - 1])
def test_a_whole_number(value: int) -> None:
    """A number of the settings may have 38 digits."""
    assert whole_number("START", value, 0) == value


@pytest.mark.parametrize("value", [-1, 10**38, True, 1.0, "1", None])
def test_no_whole_number(value: Any) -> None:
    """What is no whole number in the bounds is refused, and the key is named."""
    with pytest.raises(InvalidSequence, match=r"^START is .*; it must be a whole number from 0 to 38 digits"):
        whole_number("START", value, 0)


@pytest.mark.parametrize(("widest", "limit"), [(None, 1041), (1039, 1039), (9999, 1041)])
def test_the_limit(widest: int | None, limit: int) -> None:
    """A sequence ends at MAXIMUM, or before a value is wider than FORMAT has it."""
    assert numbers(widest=widest).limit == limit


@pytest.mark.parametrize(("last", "used_up"), [(None, False), (991, False), (1031, False), (1032, True), (1041, True)])
def test_used_up(last: int | None, used_up: bool) -> None:
    """Nothing is left where another STEP leads beyond MAXIMUM; another Region's value leaves what is above it."""
    assert numbers().is_used_up(last) is used_up
    assert [numbers(others=(1004,)).is_used_up(value) for value in (1034, 1041, 1044)] == [False, True, True]


@pytest.mark.parametrize(("start", "value"), [(1, 90), (2, 91), (91, 99)])
def test_nearly_used_up(start: int, value: int) -> None:
    """A sequence is nearly used up from the value on with which 90 % of all are used, or from the one of `warn_at`."""
    assert numbers(start=start, step=1, maximum=100).nearly_used_up == value
    assert numbers(start=start, step=1, maximum=100, warn_at=7).nearly_used_up == 7


@pytest.mark.parametrize(("value", "percent"), [(None, 0), (991, 0), (1001, 20), (1031, 80), (1041, 100), (1051, 100)])
def test_how_much_is_used(value: int | None, percent: int) -> None:
    """How much is used counts from the value before START to the limit, and never more than all."""
    assert numbers().percent_used(value) == percent


def test_how_much_of_nothing_is_used() -> None:
    """Where START is above the limit, all is used as soon as there is a value."""
    assert numbers(maximum=991).percent_used(991) == 0
    assert numbers(maximum=991).percent_used(992) == 100
    assert numbers(maximum=993).percent_used(992) == 50


def test_what_is_not_used_wholly() -> None:
    """A hundredth that is only begun does not count."""
    assert numbers(start=1, step=1, maximum=1000).percent_used(999) == 99


def test_a_value_that_is_checked() -> None:
    """A value of this Region or of another one is taken up to MAXIMUM."""
    shared = numbers(others=(1004, 1007))
    for value in (1001, 1004, 1007, 1014, 1041):
        assert shared.checked(value) == value
        assert shared.gives(value) is True
    assert shared.problem(1001) == ""


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1000, "value is 1000, and 'orders' never gives that: it is below START, which is 1001."),
        (994, "value is 994, and 'orders' never gives that: it is below START, which is 1001."),
        (1005, "value is 1005, and 'orders' never gives that: it is not on STEP, which is 10 from 1001."),
        (1044, "value is 1044, and 'orders' never gives that: it is above MAXIMUM, which is 1041."),
        (1051, "value is 1051, and 'orders' never gives that: it is above MAXIMUM, which is 1041."),
        (True, "value is True; it must be a whole number."),
        (1001.0, "value is 1001.0; it must be a whole number."),
        ("1001", "value is '1001'; it must be a whole number."),
    ],
)
def test_a_value_that_is_never_given(value: Any, why: str) -> None:
    """What is no value of any Region is refused, and the reason is told."""
    with pytest.raises(ValueError, match=rf"^{re.escape(why)}$"):
        numbers(others=(1004,)).checked(value)
    assert numbers(others=(1004,)).gives(value) is False


@pytest.mark.parametrize(
    ("number", "up_to", "reaching"),
    [(985, 1001, 1001), (1001, 1001, 1001), (1002, 1001, 1011), (1010, 1001, 1011), (1011, 1011, 1011)],
)
def test_the_values_around_a_number(number: int, up_to: int, reaching: int) -> None:
    """From a value on, the highest one up to a number and the lowest one that reaches it are a whole STEP away."""
    assert numbers().up_to(number, 1001) == up_to
    assert numbers(step=1).up_to(number, 1001) == max(number, 1001)
    assert numbers().reaching(number, 1001) == reaching


@pytest.mark.parametrize(("number", "following"), [(0, 1001), (991, 1001), (1000, 1001), (1001, 1011), (1010, 1011)])
def test_the_value_that_follows(number: int, following: int) -> None:
    """After a number comes the lowest value above it, and at first START."""
    assert numbers().following(number) == following
