"""Whether texts of two FORMATs may be the same, as people read them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sequences.exceptions import InvalidSequence, InvalidText
from sequences.formats import Format, Written, may_meet, may_repeat
from sequences.formats.periods import Period

LITERALS = st.text("aAbB1-/ _", max_size=3)


@st.composite
def formats(draw: Callable[..., Any]) -> Format:
    """A FORMAT of random literals and fields."""
    value = draw(st.sampled_from(["{value}", "{value:03d}", "{value:crockford}"]))
    others = draw(st.lists(st.sampled_from(["{scope}", "{year}", "{yy}"]), max_size=2, unique=True))
    fields = draw(st.permutations([value, *others]))
    try:
        return Format(template="".join(draw(LITERALS) + field for field in fields) + draw(LITERALS), maximum=10**9)
    except InvalidSequence:
        reject()


def read_by(other: Format, scope: str, one: Format, value: int) -> int | None:
    """The value that another FORMAT reads in the text of a value of "a1", if that is its own text, of this scope."""
    text = "".join(one._writer.texts(value, "a1", date(2026, 3, 5), ""))
    with suppress(InvalidText):
        parsed = other.parse(text)
        if parsed.scope in (None, scope) and parsed.text.casefold() == text.casefold():
            return parsed.value
    return None


class TestApart:
    @settings(max_examples=150, deadline=None)
    @given(formats(), formats(), st.lists(st.integers(1, 10**6), min_size=1, max_size=20))
    def test_texts_that_never_meet(self, one: Format, other: Format, values: list[int]) -> None:
        """Where two FORMATs are said to be apart, no text of one is read as one of the other."""
        if may_meet(one, other, "a1", "b2"):
            return
        for value in values:
            assert read_by(other, "b2", one, value) is None

    @pytest.mark.parametrize(
        ("one", "other", "meet"),
        [
            ("A-{value}", "B-{value}", False),
            ("A-{value}", "a - {value:06d}", True),
            ("{scope}-{value}", "{scope}-{value}", False),
            ("A{value}", "A{year}{value}", True),
            ("A{value}-", "A{value}", False),
            ("{value:crockford}", "X{value}", True),
            ("{period}/{value}", "{year}/{value}", True),
            ("{year}/{value}", "1999/{value}", True),
            ("A1-{value}", "A2-{value}", False),
            ("AA{value}", "A{value}", False),
            ("X{value}", "{value}", False),
            ("{value:crockford}", "O{value}", True),
            ("{value:crockford}", "~{value}", False),
            ("A{value}-{check:luhn}", "A{value}-7", True),
            ("A{value}-{check:luhn}", "A{value}-77", False),
            ("A\u2013{value}", "A-{value}", True),
            ("A~{value}", "A-{value}", False),
        ],
    )
    def test_pairs(self, one: str, other: str, meet: bool) -> None:
        """Letters, digits, dates and scopes are told apart as people read them."""
        year = Period(kind="year")
        first, second = (Format(template=each, period=year, maximum=10**9) for each in (one, other))
        assert may_meet(first, second, "a", "b") is meet
        assert may_meet(second, first, "b", "a") is meet

    @pytest.mark.parametrize(("other", "meet"), [("ABC-{value}", True), ("ABC/{value}", False)])
    def test_any_scope(self, other: str, meet: bool) -> None:
        """Any text may stand in the place of a scope that is not known."""
        first, second = Format(template="{scope}-{value}", maximum=10**9), Format(template=other, maximum=10**9)
        assert may_meet(first, second, None, "b") is meet
        assert may_meet(second, first, "b", None) is meet

    def test_ranges(self) -> None:
        """One FORMAT with ranges that have no value in both is no clash."""
        low, high, both = (Format(template="A-{value}", start=start, maximum=start + 9) for start in (1, 11, 10))
        for one, other, meet in ((low, high, False), (low, both, True), (high, both, True)):
            assert may_meet(one, other, "a", "b") is may_meet(other, one, "b", "a") is meet

    @pytest.mark.parametrize(("scope", "meet"), [("a", False), ("a1", True)])
    def test_ranges_of_scopes(self, scope: str, meet: bool) -> None:
        """Ranges tell apart the values of one scope, and not those of two: 1 in "a1" is written as 11 in "a"."""
        low, high = (Format(template="{scope}{value}", start=start, maximum=start + 8) for start in (1, 11))
        assert may_meet(low, high, scope, "a") is meet


class TestOneScope:
    @settings(max_examples=150, deadline=None)
    @given(formats(), formats(), st.integers(1, 250))
    def test_texts_of_two_values(self, one: Format, other: Format, last: int) -> None:
        """Where values up to the last one and later ones have no text in common, none of the one is read as another."""
        before, after = range(1, last + 1), range(last + 1, 300)
        if may_repeat(Written(one, before), Written(other, after), "a1"):
            return
        for value in before:
            assert read_by(other, "a1", one, value) not in after

    @pytest.mark.parametrize(
        ("one", "other", "repeat"),
        [
            ("B1{value}", "B{value}", True),
            ("B{value}", "b{value:06d}", False),
            ("B{value}", "B-{value}", False),
            ("B{value}", "C{value}", False),
            ("{value}1", "1{value}", True),
            ("{value}", "{value:crockford}", True),
            ("B{value}{check:luhn}", "B{value}", True),
            ("{year}-{value}", "{year}-{value:06d}", False),
            ("{yy}{month}{day}-{value}", "{day}{month}{yy}-{value}", True),
        ],
    )
    def test_pairs(self, one: str, other: str, repeat: bool) -> None:
        """What is read alike tells one value; other places for its digits do not."""
        forms = [Format(template=each, period=Period(kind="day"), maximum=10**9) for each in (one, other)]
        first, second = (Written(form, range(1, 10**9 + 1)) for form in forms)
        assert may_repeat(first, second, "a") is may_repeat(second, first, "a") is repeat

    @pytest.mark.parametrize(("last", "start", "repeat"), [(0, 1, False), (500, 501, False), (10**9, 501, True)])
    def test_lengths(self, last: int, start: int, repeat: bool) -> None:
        """Ranges whose texts are of other lengths are apart, and so is what has no value."""
        one, other = (Format(template=each, maximum=10**9) for each in ("B{value}", "B2026{value:04d}"))
        before, after = Written(one, range(1, last + 1)), Written(other, range(start, 10**9))
        assert may_repeat(before, after, None) is repeat
