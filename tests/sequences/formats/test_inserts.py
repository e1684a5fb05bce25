"""Other texts of a value, which have its text, its parts and the parts of its date in them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sequences.exceptions import InvalidItem
from sequences.formats import Format, Inserts
from sequences.formats.periods import Period

DAY = date(2026, 3, 5)
PLAIN = Inserts(Format(template="T-{value:03d}", maximum=999))
YEARLY = Inserts(Format(template="{period}-{value:03d}", period=Period(kind="year"), maximum=999))


@pytest.mark.parametrize(
    ("inserts", "template", "of", "text"),
    [
        (PLAIN, "{text}", (7, "a", None, ""), "T-007"),
        (PLAIN, "<{text}> {value} {scope}", (7, "a", None, ""), "<T-007> 7 a"),
        (PLAIN, "{scope}/{value}", (7, None, None, ""), "/7"),
        (PLAIN, "{month}/{value}", (7, None, DAY, ""), "03/7"),
        (YEARLY, "{text} of {month}", (7, None, DAY, "2026"), "2026-007 of 03"),
        (YEARLY, "{text} of {year}", (7, None, None, "2026"), "2026-007 of 2026"),
    ],
)
def test_what_is_written(inserts: Inserts, template: str, of: tuple[Any, ...], text: str) -> None:
    """Each field is written as in FORMAT, and {text} is the value's text. A period may tell the parts of the date."""
    assert inserts.write(template, *of) == text


@pytest.mark.parametrize(
    ("inserts", "template", "of", "words"),
    [
        (PLAIN, "{period}/{value}", (7, None, DAY, ""), "has {period}, which has no meaning without PERIOD"),
        (PLAIN, "{year}/{value}", (7, None, None, ""), "has a part of the date, which the sequence does not keep"),
        (YEARLY, "{month}/{value}", (7, None, None, "2026"), "has a part of the date, which the sequence does not"),
    ],
)
def test_what_is_refused(inserts: Inserts, template: str, of: tuple[Any, ...], words: str) -> None:
    """A period or a part of the date is refused where nothing says it."""
    with pytest.raises(InvalidItem) as refused:
        inserts.write(template, *of)
    assert f"{template!r} {words}" in str(refused.value)


def test_the_text_alone() -> None:
    """The text of a value is never written for another day than its own."""
    monthly = Inserts(Format(template="{period}/{month}-{value}", period=Period(kind="year"), maximum=999))
    assert monthly.write("{text}", 7, None, DAY, "2026") == "2026/03-7"
    with pytest.raises(ValueError, match="date is missing"):
        monthly.write("{text}", 7, None, None, "2026")


def test_a_sample() -> None:
    """A sample is the text of the first value; where the sequence keeps no date, parts of it are refused there, too."""
    assert PLAIN.sample("{scope}:{text}") == "ABC:T-001"
    assert YEARLY.sample("{text} of {month}") == "2026-001 of 03"
    assert Inserts(Format(template="{year}-{value}", maximum=9)).sample("{month}/{value}") == "03/1"
    with pytest.raises(InvalidItem):
        PLAIN.sample("{month}/{value}")
