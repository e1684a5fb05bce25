"""Answers to requests for items: what a write stored, or what the first request with the token was told."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.exceptions import IdempotencyMismatch
from sequences.formats import Format
from sequences.formats.periods import Period
from sequences.rows.answers import Answers, Markers
from sequences.rows.assignments import Assigner
from sequences.rows.numbers import Numbers
from sequences.types import Allocation, Dated

DAY = date(2026, 3, 5)
SCOPE = Dated("A", "2026")
FORMER = "OLD-{year}-{value}"


@pytest.fixture
def assigner() -> Mock:
    """What is told of values that were handed out."""
    written = Format(template="{scope}-{year}-{value}", period=Period(kind="year"), start=1001, step=10, maximum=9999)
    numbers = Numbers(alias="orders", start=1001, step=10, maximum=9999)
    earlier = replace(written, template="E-{year}-{value}")
    naming = Mock(format=written, form_of=lambda value: earlier if value < 1001 else written)
    return Mock(spec=Assigner, alias="orders", numbers=numbers, naming=naming)


@pytest.fixture
def markers() -> Mock:
    """The markers of the sequence."""
    return Mock(spec=Markers)


@pytest.fixture
def answers(assigner: Mock, markers: Mock) -> Answers:
    """Those of a sequence that counts each year by tens."""
    return Answers(assigner, markers)


def pending(*, items: int = 1, write_units: float = 6.0, **request: Any) -> Pending[PutRequest]:
    """A request for so many items, sent once."""
    made = Pending(PutRequest(item={}, more=(({}, None),) * (items - 1), count=items, day=DAY, **request))
    made.attempts = 2
    made.charge(write_units=write_units, read_units=3.0)
    return made


def told(value: int, *, units: float = 6.0, reads: float = 3.0, **changes: Any) -> Allocation:
    """The allocation of one item."""
    given: dict[str, Any] = {"sequence": "orders", "scope": "A", "value": value, "period": "2026", "attempts": 2}
    given |= {"replayed": False, "text": f"A-2026-{value}", "write_units": units, "read_units": reads}
    return Allocation(**{**given, **changes})


def test_values_and_texts(answers: Answers) -> None:
    """The items of a request have values that follow each other, and each its texts."""
    assert [answers.value(1001, place) for place in range(3)] == [1001, 1011, 1021]
    write = answers.writing(1001, SCOPE, DAY)
    assert [write("{text}"), write("{period}/{month}/{scope}/{value:06d}")] == ["A-2026-1001", "2026/03/A/001001"]
    assert answers.sample("{scope}") == "ABC"


def test_texts_of_an_earlier_line(answers: Answers) -> None:
    """They are by the FORMAT of the line that gave the value."""
    write = answers.writing(991, SCOPE, DAY)
    assert [write("{text}"), write("{text}.pdf"), write("{month}")] == ["E-2026-991", "E-2026-991.pdf", "03"]


def test_one_item(answers: Answers) -> None:
    """Its allocation has its value and text, and all that it cost."""
    one = pending()
    answers.allocate(SCOPE, one, 1001, DAY)
    assert (one.answer, one.rest) == (told(1001), ())


def test_several_items(answers: Answers) -> None:
    """They share what they cost, and each has its own value and text."""
    three = pending(items=3)
    answers.allocate(SCOPE, three, 1001, DAY)
    assert three.answer == told(1001, units=2.0, reads=1.0)
    assert three.rest == (told(1011, units=2.0, reads=1.0), told(1021, units=2.0, reads=1.0))


def test_values_alone(answers: Answers) -> None:
    """A request for values without items has one answer, whatever it counts."""
    five = Pending(PutRequest(item=None, token="t", count=5, day=DAY))
    answers.allocate(SCOPE, five, 1001, DAY)
    assert (five.answer, five.rest) == (told(1001, units=0.0, reads=0.0, attempts=0), ())


def test_a_repeat(answers: Answers, assigner: Mock) -> None:
    """It is told the first answer, in the period, of the day and by the FORMAT of then; its value was handed out."""
    again = pending(items=2, token="t", digest="d")
    marker = {"digest": "d", "value": 1001, "period": "2025", "day": "2025-12-31", "format": FORMER}
    answers.repeat(SCOPE, again, marker)
    former: dict[str, Any] = {"replayed": True, "period": "2025", "units": 3.0, "reads": 1.5}
    assert again.answer == told(1001, text="OLD-2025-1001", **former)
    assert again.rest == (told(1011, text="OLD-2025-1011", **former),)
    assigner.handed_out.assert_called_once_with(Dated("A", "2025"), 1001)


@pytest.mark.parametrize("more", [{}, {"format": "{scope}-{year}-{value}"}, {"format": "{no such}"}], ids=repr)
def test_a_repeat_by_the_present_format(answers: Answers, assigner: Mock, more: dict[str, Any]) -> None:
    """Where a marker has no other FORMAT, or one that cannot be used any more, the present one writes the text."""
    again = pending(token="t", digest="d")
    answers.repeat(SCOPE, again, {"digest": "d", "value": 1001, "period": "2026", **more})
    assert again.answer == told(1001, replayed=True)
    assigner.handed_out.assert_called_once_with(SCOPE, 1001)


def test_a_repeat_without_periods(assigner: Mock, markers: Mock) -> None:
    """A marker without a period is of the scope itself."""
    assigner.naming.format = Format(maximum=9999)
    plain = Answers(assigner, markers)
    again = pending(token="t", digest="d")
    plain.repeat("A", again, {"digest": "d", "value": 1001})
    assert again.answer == told(1001, replayed=True, period="", text="1001")
    assigner.handed_out.assert_called_once_with("A", 1001)


@pytest.mark.parametrize("kind", ["never", "month", "year", "fiscal-year"])
def test_a_repeat_after_the_period_has_changed(assigner: Mock, markers: Mock, kind: str) -> None:
    """Its text has the period of then, whatever PERIOD is now."""
    assigner.naming.format = Format(template="{value}", period=Period(kind=kind), maximum=9999)
    again = pending(token="t", digest="d")
    marker = {"digest": "d", "value": 7, "period": "2025", "day": "2025-12-31", "format": "{period}/{month}/{value}"}
    Answers(assigner, markers).repeat("A", again, marker)
    assert again.answer == told(7, replayed=True, period="2025", text="2025/12/7")


def test_another_item(answers: Answers) -> None:
    """A token that was used for another item is refused, also where the marker has no value."""
    for marker in ({"digest": "other", "value": 1001}, {"digest": "other"}, {}):
        again = pending(token="t", digest="d")
        answers.repeat(SCOPE, again, marker)
        assert isinstance(again.answer, IdempotencyMismatch)
        assert str(again.answer).startswith("The idempotency token 't' was used in 'orders' for another item.")


def test_a_marker_without_a_value(answers: Answers, assigner: Mock) -> None:
    """It answers nothing: the request goes on."""
    again = pending(token="t", digest="d")
    answers.repeat(SCOPE, again, {"digest": "d"})
    assert again.answer is None
    assigner.handed_out.assert_not_called()


def test_who_is_looked_up(answers: Answers, markers: Mock) -> None:
    """Only a request with a token of its caller is, and it is answered if there is a marker."""
    deadline = Mock()
    answers.repeat_if_marked(SCOPE, pending(), deadline)
    markers.find.assert_not_called()
    markers.find.return_value = None
    again = pending(token="t", digest="d")
    answers.repeat_if_marked(SCOPE, again, deadline)
    markers.find.assert_called_once_with(SCOPE, again, deadline)
    assert again.answer is None
    markers.find.return_value = {"digest": "d", "value": 1001, "period": "2026"}
    answers.repeat_if_marked(SCOPE, again, deadline)
    assert again.answer == told(1001, replayed=True)
