"""Texts of values: how they are written, what a person may type instead, and which formats are refused."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise, product
from string import Formatter
from typing import Any
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sequences.exceptions import InvalidScope, InvalidSequence, InvalidText
from sequences.formats import Clash, Format, Numbered, Parsed
from sequences.formats.clashes import SideBySide
from sequences.formats.digits import CROCKFORD
from sequences.formats.periods import DATE_PARTS, Period
from sequences.formats.template import Writer

from .test_periods import periods

NEVER, YEAR, MONTH = Period(), Period(kind="year"), Period(kind="month")
BRITISH = Period(kind="fiscal-year", fiscal_start=(4, 6))
DAY = date(2026, 3, 5)
LITERALS = ["", "-", "INV-", "/", " ", "7", "20", "o", "u", "%s", "{{", "}}", "Nr. ", "ß"]
SEPARATORS = ["-", " / ", "u-", "{{"]
DASHES = "-\u2010\u2011\u2013\u2014\u2212\uff0d"
LOOK_ALIKES = {"0": "Oo", "1": "IiLl"}
SOME = settings(max_examples=25, deadline=None)  # whether a format is accepted may take a tenth of a second
SIDE_BY_SIDE = re.compile(r"\{scope\}[^u/-]*\{value|\{value[^u/-]*\{scope")
"""Where the value may need its zeros, as only its length shows where the scope ends."""


def of(template: str, period: Period = NEVER, **more: Any) -> Format:
    """The format of a sequence from 1 to 38 digits, unless others are wanted."""
    return Format(template=template, period=period, **{"maximum": 10**38 - 1, **more})


def wide(text: str) -> str:
    """The same in the wide characters that go with Chinese and Japanese."""
    return "".join(chr(ord(character) + 0xFEE0) for character in text)


def written(form: Format, value: int, scope: str | None = None, day: date = DAY) -> str:
    """The text of a value."""
    return form.text(value, scope, day, form.period.name(day))


@st.composite
def templates(draw: st.DrawFn) -> str:
    """A template with a value, and any other fields and literals around it."""
    dates = draw(st.lists(st.sampled_from([*DATE_PARTS, "period"]), max_size=3, unique=True))
    scope = draw(st.sampled_from([[], ["scope"]]))
    fields = draw(st.permutations(["value", *dates, *scope]))
    checks = draw(st.sampled_from([[], [], ["check:luhn"], ["check:damm"]]))
    value = draw(st.sampled_from(["value", "value:04d", "value:012d", "value:crockford", "value:06crockford"]))
    literals = st.sampled_from(draw(st.sampled_from([LITERALS, SEPARATORS])))
    named = [value if field == "value" else field for field in [*fields, *checks]]
    return "".join(f"{draw(literals)}{{{field}}}" for field in named) + draw(literals)


@st.composite
def formats(draw: st.DrawFn) -> Format:
    """A format that can be made."""
    start, step = draw(st.sampled_from([(1, 1), (1, 1), (0, 1), (1001, 1), (5, 10), (1000, 7)]))
    maximum = draw(st.sampled_from([9_999, 10**38 - 1]))
    try:
        return of(draw(templates()), draw(periods), start=start, step=step, maximum=maximum)
    except InvalidSequence:
        return of("{period}-{scope}-{value}-{yy}{check:damm}", MONTH)


accepted = formats().filter(lambda form: form.clash() is None)
scopes = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8) | st.text("A1- ", min_size=1)


@st.composite
def numbered(draw: st.DrawFn) -> tuple[Format, int, str | None, date]:
    """A format, and a value, scope and day that it is for."""
    form = draw(accepted)
    most = (form.maximum - form.start) // form.step
    value = form.start + form.step * draw(st.integers(0, min(most, 100)) | st.integers(0, most))
    scope = draw(scopes) if form.uses_scope else None
    day = draw(st.dates(date(2000, 1, 1), date(2099, 12, 31)) | st.dates(date(1001, 1, 1), date(9998, 12, 31)))
    try:
        form.check_scope(scope)
        form.check_day(day)
    except ValueError:
        assume(False)
    return form, value, scope, day


def pieces(template: str, parts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each piece of a text and the field it is for, "" for a literal."""
    for literal, field, _, _ in Formatter().parse(template):
        yield "", literal
        if field:
            yield field, parts[field]


class TestWriting:
    @pytest.mark.parametrize(
        ("template", "text"),
        [
            ("{value}", "42"),
            ("ORD-{value}", "ORD-42"),
            ("{value:06d}", "000042"),
            ("{value:crockford}", "1A"),
            ("{value:06crockford}", "00001A"),
            ("{scope}-{value}", "ABC-42"),
            ("INV-{period}-{value:06d}", "INV-2026-03-000042"),
            ("{year}/{month}/{day}/{value}", "2026/03/05/42"),
            ("{yy}Q{quarter}-{value}", "26Q1-42"),
            ("{week_year}-W{week}-{value}", "2026-W10-42"),
            ("FY{fiscal_year}-{value}", "FY2026-42"),
            ("{value}-{check:damm}", "42-7"),
            ("{value}-{check:luhn}", "42-2"),
            ("{{{value}}} 100 %", "{42} 100 %"),
        ],
    )
    def test_fields(self, template: str, text: str) -> None:
        """Each field stands for a part of the value, of its scope, or of the document's date."""
        assert written(of(template, MONTH), 42, "ABC") == text

    def test_iso_weeks(self) -> None:
        """A week belongs to the ISO year of its Thursday, which may be another year than that of the day."""
        form = of("{week_year}-W{week}-{value}")
        assert written(form, 1, day=date(2027, 1, 3)) == "2026-W53-1"
        assert written(form, 1, day=date(2024, 12, 30)) == "2025-W01-1"

    def test_a_value_beyond_its_width(self) -> None:
        """A width is the least number of digits: a longer value is written in full."""
        form = of("{value:03d}")
        assert form.widest == 999
        assert written(form, 1000) == "1000"

    @pytest.mark.parametrize(
        ("template", "widest"),
        [("{value}", None), ("{value:crockford}", None), ("{value:02crockford}", 1023)],
    )
    def test_the_last_value_that_fits(self, template: str, widest: int | None) -> None:
        """The last value that fits is the highest one of so many digits; without a width there is none."""
        assert of(template).widest == widest

    @pytest.mark.parametrize(
        ("template", "uses_scope", "uses_dates"),
        [("{value}", False, False), ("{scope}-{value}", True, False), ("{period}-{value}", False, True)]
        + [(f"{{{part}}}-{{value}}", False, True) for part in DATE_PARTS],
    )
    def test_what_it_depends_on(self, template: str, uses_scope: bool, uses_dates: bool) -> None:
        """A format says whether its texts tell scopes apart, and whether they depend on the date."""
        form = of(template, YEAR)
        assert (form.uses_scope, form.uses_dates) == (uses_scope, uses_dates)

    @pytest.mark.parametrize(
        ("template", "period", "name", "text"),
        [
            ("{value}", NEVER, "", "42"),
            ("INV-{value}", NEVER, "", "INV-42"),
            ("{period}-{value}", MONTH, "2026-02", "2026-02-42"),
            ("{year}/{month}-{quarter}-{value}", MONTH, "2026-02", "2026/02-1-42"),
            ("{fiscal_year}-{value}", BRITISH, "2026", "2026-42"),
            ("{week}-{day}-{value}", Period(kind="day"), "2027-01-01", "53-01-42"),
        ],
    )
    def test_without_a_date(self, template: str, period: Period, name: str, text: str) -> None:
        """The period alone is enough for what all its days have in common."""
        assert of(template, period).text(42, None, None, name) == text

    @pytest.mark.parametrize(
        ("template", "period", "name"),
        [
            ("{year}-{value}", NEVER, ""),
            ("{month}-{value}", YEAR, "2026"),
            ("{year}-{value}", BRITISH, "2026"),
            ("{week}-{value}", MONTH, "2026-02"),
            ("{yy}{week}-{value}", YEAR, "2024"),
        ],
    )
    def test_a_date_that_is_missing(self, template: str, period: Period, name: str) -> None:
        """What changes within the period needs the date."""
        with pytest.raises(ValueError, match="date is missing; FORMAT has parts of the date"):
            of(template, period).text(42, None, None, name)

    def test_the_day_of_a_period_is_found_once(self) -> None:
        """Texts without a date compare the days of their period once, and then remember it."""
        yearly = of("INV-{year}-{value}", YEAR)
        with mock.patch.object(Period, "name", autospec=True, side_effect=Period.name) as name:
            assert yearly.text(1, None, None, "2026") == "INV-2026-1"
            asked = name.call_count
            assert asked >= 365
            assert yearly.text(2, None, None, "2026") == "INV-2026-2"
            assert name.call_count == asked

    def test_the_check_digit_covers_dates_and_value(self) -> None:
        """The check digit is that of the digits of date parts and value in their order, without literals and scope."""
        text = written(of("{scope}9-{period}/9-{value:04d}-{check:damm}", Period(kind="quarter")), 42, "A7")
        assert text == f"A79-2026-Q1/9-0042-{written(of('{value}{check:damm}'), 202610042)[-1]}"

    @pytest.mark.parametrize("day", [date(1999, 12, 31), date(2100, 1, 1)])
    def test_two_digits_of_a_year(self, day: date) -> None:
        """With {yy} only days of the years 2000 to 2099 are accepted, which it tells apart; others take any day."""
        with pytest.raises(ValueError, match=r"^date is .*years 2000 to 2099"):
            of("{yy}-{value}").check_day(day)
        for edge in (date(2000, 1, 1), date(2099, 12, 31)):
            of("{yy}-{value}").check_day(edge)
        of("{year}-{value}").check_day(day)

    @pytest.mark.parametrize("scope", [None, " A", "A\u2003", "\uff21", "\u0301A"])
    def test_scopes_that_cannot_be_read_back(self, scope: str | None) -> None:
        """A scope in a text has no white space at its ends, and no character that NFKC replaces."""
        with pytest.raises(InvalidScope, match=r"SEQUENCES has \{scope\}"):
            of("e{scope}-{value}", where="SEQUENCES").check_scope(scope)
        of("{value}").check_scope(scope)

    @pytest.mark.parametrize("scope", ["A", "a b", "É", "1-2", "#1", "日本"])
    def test_scopes_that_can_be_read_back(self, scope: str) -> None:
        """Any other scope is accepted."""
        of("{scope}-{value}").check_scope(scope)


class TestReading:
    def test_every_part(self) -> None:
        """A text gives back value, scope, period, and every part as it stands in the text."""
        assert of("{scope}/{year}-{month}/{value:04d}-{check:luhn}", YEAR).parse("abc/2026-03/0042-9") == Parsed(
            value=42,
            scope="abc",
            period="2026",
            parts={"scope": "abc", "year": "2026", "month": "03", "value": "0042", "check": "9"},
            text="abc/2026-03/0042-9",
        )

    @pytest.mark.parametrize(
        "typed",
        [
            "INV-2026-000042",
            "inv-2026-42",
            "  INV - 2026 - 000 042\t",
            "INV\u20132026\u2212000042",
            wide("INV-2026-00") + "0042",
            "INV-2026-00000042",
            "Inv 2026 42",
        ],
    )
    def test_what_people_type(self, typed: str) -> None:
        """Case, white space, missing or more zeros, other dashes or none, and wide characters make no difference."""
        parsed = of("INV-{period}-{value:06d}", YEAR).parse(typed)
        assert (parsed.value, parsed.period, parsed.text) == (42, "2026", "INV-2026-000042")

    @pytest.mark.parametrize("typed", ["Nr.42", "nr. 42", "nr. 42".rjust(500)])
    def test_white_space_of_the_format(self, typed: str) -> None:
        """White space of the format may be missing, and a text with more of it has up to 500 characters."""
        assert of("Nr. {value}").parse(typed).value == 42

    @pytest.mark.parametrize("typed", ["Z10-0", "z1O-0", "ZIO-0", "zlo-0", "Zi 0-0"])
    def test_look_alikes(self, typed: str) -> None:
        """In Crockford's digits O is 0, and I and L are 1."""
        assert of("{value:crockford}-{check:luhn}").parse(typed).text == "Z10-0"

    @pytest.mark.parametrize("typed", ["2026-Q3-7", "2026 q3 7", "2026\u2013Q 3-7"])
    def test_the_dash_in_a_period(self, typed: str) -> None:
        """The dash and the letter of a period are those of any text."""
        form = of("{period}-{value}", Period(kind="quarter"))
        assert form.parse(typed).text == "2026-Q3-7"
        with pytest.raises(InvalidText, match="another form"):
            form.parse("2026Q3-7")

    def test_a_dash_beside_a_scope_must_be_there(self) -> None:
        """White space stands for no dash in a format with a scope, as it may be a part of the scope."""
        assert of("{scope}-{value}").parse("A 1-2 3") == of("{scope}-{value}").parse("A 1-23")
        with pytest.raises(InvalidText, match="another form than 'ABC-1'"):
            of("{scope}-{value}").parse("ABC 1")

    def test_a_scope_is_taken_as_it_is(self) -> None:
        """Case and white space within a scope are left alone, as they may tell scopes apart."""
        assert of("{scope}-{value}").parse("  a B-c - 7").scope == "a B-c"

    @pytest.mark.parametrize(
        ("template", "period", "text", "read"),
        [
            ("{value}", NEVER, "7", ""),
            ("{year}{month}-{value}", MONTH, "202603-7", "2026-03"),
            ("{yy}-{value}", YEAR, "26-7", "2026"),
            ("{year}-{week}-{month}-{value}", MONTH, "2026-01-01-7", "2026-01"),
            ("{year}-{month}-{value}", Period(kind="quarter"), "2026-08-7", "2026-Q3"),
            ("{week_year}{week}-{value}", YEAR, "202653-7", None),
            ("{value}", YEAR, "7", None),
        ],
    )
    def test_the_period(self, template: str, period: Period, text: str, read: str | None) -> None:
        """The period is that of the date parts; where they do not tell it, it is unknown."""
        assert of(template, period).parse(text).period == read

    @pytest.mark.parametrize(
        ("template", "text", "words"),
        [
            ("INV-{value}", "42", "another form than 'INV-1001'"),
            ("INV-{value}", "INV-", "another form"),
            ("INV-{value}", "INV-42x", "another form"),
            ("7-{value}", "8-1001", "another form"),
            ("7-{value}", "7~1001", "another form"),
            ("{scope}-{value}", "-1001", "another form than 'ABC-1001'"),
            ("{value:crockford}", "U", "another form"),
            ("{value}", "٤٢", "another form"),
            ("{value}", "", "another form"),
            ("{value}", None, "has up to 500 characters"),
            ("{value}", "1" * 501, "has up to 500 characters"),
            ("{year}{month}{day}-{value}", "20260229-1001", "a date that does not exist"),
            ("{month}-{value}", "13-1001", "a date that does not exist"),
            ("{week_year}{week}-{value}", "202553-1001", "a date that does not exist"),
            ("{year}{month}Q{quarter}-{value}", "202603Q2-1001", "a date that does not exist"),
            ("{year}-{value}", "0000-1001", "a date that does not exist"),
            ("{value}", "991", "the value 991; the values are 1001 to 9999 by 10"),
            ("{value}", "1002", "the value 1002; the values are"),
            ("{value}", "10001", "the value 10001; the values are"),
            ("{value}{check:damm}", "10013", "a wrong check digit"),
        ],
    )
    def test_what_is_refused(self, template: str, text: Any, words: str) -> None:
        """What is no text of a value is refused, with what is wrong."""
        with pytest.raises(InvalidText) as error:
            of(template, start=1001, step=10, maximum=9999).parse(text)
        assert words in str(error.value)

    def test_which_values_there_are(self) -> None:
        """The message about a value that is never given has the first and the last value, and STEP if it is not 1."""
        with pytest.raises(InvalidText, match=r"has the value 8; the values are 1 to 7\.$"):
            of("{value}", maximum=7).parse("8")
        with pytest.raises(InvalidText, match=r"has the value 8; the values are 1 to 7 by 2\.$"):
            of("{value}", step=2, maximum=7).parse("8")

    def test_the_right_check_digit_is_kept_secret(self) -> None:
        """Who types a wrong check digit is not told the right one, and cannot pass by the message."""
        right = written(of("{value}-{check:damm}"), 1234)
        for digit in "0123456789":
            if digit != right[-1]:
                with pytest.raises(InvalidText) as error:
                    of("{value}-{check:damm}").parse(f"1234-{digit}")
                assert right[-1] not in str(error.value).replace(f"'1234-{digit}'", "")


class TestRoundTrips:
    @SOME
    @given(numbered())
    def test_a_text_gives_back_what_it_was_made_of(self, what: tuple[Format, int, str | None, date]) -> None:
        """Whatever is written by an accepted format is read back."""
        form, value, scope, day = what
        text = written(form, value, scope, day)
        parsed = form.parse(text)
        assert (parsed.value, parsed.scope, parsed.period) == (value, scope, form.period.name(day))
        assert parsed.text == text == "".join(part for _, part in pieces(form.template, dict(parsed.parts)))

    @SOME
    @given(numbered(), st.data())
    def test_what_people_type_instead(self, what: tuple[Format, int, str | None, date], data: st.DataObject) -> None:
        """Another case, white space, other zeros, dashes, look-alikes and wide characters change nothing."""
        form, value, scope, day = what
        text = written(form, value, scope, day)
        parts = pieces(form.template, dict(form.parse(text).parts))
        typed = "".join(mistyped(data, form, field, part) for field, part in parts)
        assert form.parse(typed) == form.parse(text)

    @SOME
    @given(accepted)
    def test_no_two_have_one_text(self, form: Format) -> None:
        """Different values, scopes or periods never have the same text."""
        owners: dict[str, Numbered] = {}
        values = [form.start + form.step * place for place in (0, 1, 9, 10, 11, 12, 99, 100, 110, 111, 1000, 2020)]
        days = [date(2025, 12, 31), *map(date.fromisoformat, ["2026-01-01", "2026-04-05", "2026-04-06", "2054-01-01"])]
        names = ["A", "1", "1A", "A1", "11", "A-", "20", "A20", "26"] if form.uses_scope else [None]
        for value, scope, day in product(values, names, days):
            if value <= form.maximum:
                this = Numbered(value, scope, form.period.name(day))
                assert owners.setdefault(written(form, value, scope, day), this) == this


def mistyped(data: st.DataObject, form: Format, field: str, part: str) -> str:
    """What a person may type for a piece of a text."""
    if field == "scope":
        return part
    if field == "value" and not SIDE_BY_SIDE.search(form.template) and data.draw(st.booleans()):
        part = data.draw(st.sampled_from(["", "0", "00"])) + (part.lstrip("0") or "0")
    if part == "-" and not field and not form.uses_scope and data.draw(st.booleans()):
        return " "
    likes = LOOK_ALIKES if "crockford" in form.template and field in ("value", "check") else {}
    return "".join(data.draw(st.sampled_from(typed_for(character, likes.get(character, "")))) for character in part)


def typed_for(character: str, likes: str) -> list[str]:
    """What a person may type for one character."""
    cases = {character, character.lower(), character.upper()}
    broad = [wide(character)] if "!" <= character <= "~" else []
    dashes = DASHES if character == "-" else ""
    return [*(case for case in cases if len(case) == 1), f" {character}", f"{character}\u00a0", *broad, *dashes, *likes]


class TestCheckDigits:
    @SOME
    @given(st.integers(0, 10**12))
    def test_damm(self, value: int) -> None:
        """A wrong digit, or two neighbours that are swapped, are refused with damm, also across date and value."""
        form = of("{year}{month}-{value:04d}-{check:damm}", start=0)
        digits = written(form, value).replace("-", "")
        for wrong in [*with_a_wrong_digit(digits, "0123456789"), *with_neighbours_swapped(digits)]:
            with pytest.raises(InvalidText):
                form.parse(f"{wrong[:6]}-{wrong[6:-1]}-{wrong[-1]}")

    @SOME
    @given(st.integers(0, 10**12))
    def test_luhn(self, value: int) -> None:
        """A wrong digit is refused with luhn."""
        form = of("{value}{check:luhn}", start=0)
        for wrong in with_a_wrong_digit(written(form, value), "0123456789"):
            with pytest.raises(InvalidText, match="check digit"):
                form.parse(wrong)

    @SOME
    @given(st.integers(0, 10**12))
    def test_luhn_over_crockfords_digits(self, value: int) -> None:
        """A wrong digit is refused with luhn over Crockford's digits, unless it looks alike."""
        form = of("{value:crockford}{check:luhn}", start=0)
        for wrong in with_a_wrong_digit(written(form, value), CROCKFORD):
            with pytest.raises(InvalidText, match="check digit"):
                form.parse(wrong)


def with_a_wrong_digit(text: str, alphabet: str) -> Iterator[str]:
    """The text with each character replaced by each other one."""
    for place, right in enumerate(text):
        yield from (text[:place] + digit + text[place + 1 :] for digit in alphabet if digit != right)


def with_neighbours_swapped(text: str) -> Iterator[str]:
    """The text with each two different neighbours swapped."""
    for place, (one, other) in enumerate(pairwise(text)):
        if one != other:
            yield text[:place] + other + one + text[place + 2 :]


class TestClashes:
    @pytest.mark.parametrize(
        ("template", "period", "clash"),
        [
            ("{value}", YEAR, ("1", (1, None, "2024"), (1, None, "2025"))),
            ("{year}-{value}", BRITISH, ("2024-1", (1, None, "2024"), (1, None, "2025"))),
            ("{week_year}-{value}", YEAR, ("2025-1", (1, None, "2024"), (1, None, "2025"))),
            ("{year}-W{week}-{value}", MONTH, ("2024-W05-1", (1, None, "2024-01"), (1, None, "2024-02"))),
            ("{scope}{value}", NEVER, ("A11", (11, "A", ""), (1, "A1", ""))),
            ("{scope}{value:crockford}", NEVER, ("A11", (33, "A", ""), (1, "A1", ""))),
            ("{scope}{year}{value}", NEVER, ("A202620261", (20261, "A", ""), (1, "A2026", ""))),
            ("{scope}{value:03d}", NEVER, ("A1001", (1001, "A", ""), (1, "A1", ""))),
            ("{value:03d}{scope}", NEVER, ("1001A", (1001, "A", ""), (100, "1A", ""))),
            ("{value:02d}{scope}", NEVER, ("101A", (101, "A", ""), (10, "1A", ""))),
            ("{scope}{value}/", NEVER, ("A11/", (11, "A", ""), (1, "A1", ""))),
            ("{scope}11{value}", NEVER, ("A1111", (11, "A", ""), (1, "A1", ""))),
            ("{scope}121{value}", NEVER, ("A121211", (211, "A", ""), (1, "A12", ""))),
            ("{value}121{scope}", NEVER, ("112121A", (112, "A", ""), (1, "21A", ""))),
            ("{value}12{scope}", NEVER, ("11212A", (112, "A", ""), (1, "12A", ""))),
            ("{scope}0{value}", NEVER, ("A0101", (101, "A", ""), (1, "A01", ""))),
            ("{scope}{year}{month}{value}", NEVER, ("A2026032026031", (2026031, "A", ""), (1, "A202603", ""))),
            ("{value}{year}{scope}", NEVER, ("120262026A", (12026, "A", ""), (1, "2026A", ""))),
            ("{scope}/{value}", YEAR, ("A/1", (1, "A", "2024"), (1, "A", "2025"))),
        ],
    )
    def test_examples(self, template: str, period: Period, clash: Any) -> None:
        """A format that does not tell periods apart, or where a scope runs into a value, is shown by two examples."""
        text, one, other = clash
        assert of(template, period).clash() == Clash(text, Numbered(*one), Numbered(*other))

    @pytest.mark.parametrize(
        ("template", "period"),
        [
            ("{period}-{value}", BRITISH),
            ("{fiscal_year}-{value}", BRITISH),
            ("{year}{month}{day}-{value}", BRITISH),
            ("{year}{month}-{value}", Period(kind="fiscal-year", fiscal_start=(4, 1))),
            ("{yy}-{value}", YEAR),
            ("{week_year}{week}-{value}", NEVER),
            ("{year}{month}{value}", Period(kind="quarter")),
            ("{scope}-{year}{value}", YEAR),
            ("{scope}{year}-{value}", YEAR),
        ],
    )
    def test_formats_without_clash(self, template: str, period: Period) -> None:
        """What tells the period in any way, and a character between scope and value, are enough."""
        assert of(template, period).clash() is None

    def test_an_example_with_steps(self) -> None:
        """The examples are values that the sequence gives."""
        clash = of("{value:03d}{scope}", start=3, step=7).clash()
        assert clash == Clash("1011A", Numbered(1011, "A", ""), Numbered(101, "1A", ""))

    @pytest.mark.parametrize(
        ("template", "start", "maximum"),
        [("{scope}{value}", 1, 10), ("{scope}2{value}", 1, 20), ("{value:03d}{scope}", 500, 1200)],
    )
    def test_without_an_example(self, template: str, start: int, maximum: int) -> None:
        """Where the last value is longer than the first, the two must be apart, even if no two values show it."""
        with pytest.raises(InvalidSequence, match="it must have a character that cannot be read as a digit"):
            of(template, start=start, maximum=maximum)
        assert of(template, maximum=9).clash() is None

    def test_no_values_are_tried_in_vain(self) -> None:
        """Where a character stands between scope and value, nobody looks for examples."""
        with mock.patch.object(SideBySide, "_clashes", side_effect=AssertionError):
            assert of("{scope}-{value}").clash() is None

    def test_a_width_that_never_overflows(self) -> None:
        """A value of a fixed length may stand beside the scope, and is then read with its zeros."""
        form = of("{scope}{value:03d}", maximum=999)
        assert form.clash() is None
        assert (form.parse("A1042").scope, form.parse("A1042").value) == ("A1", 42)
        with pytest.raises(InvalidText):
            form.parse("A42")

    @SOME
    @given(formats().filter(lambda form: form.clash() is not None))
    def test_a_clash_is_two_with_one_text(self, form: Format) -> None:
        """What is shown for a refused format are two different values of the sequence, and their text."""
        clash = form.clash()
        assert clash is not None
        assert clash.one != clash.other
        days = [DAY, *(date(2024, 1, 1) + timedelta(days=number) for number in range(10_593))]
        for value, scope, name in (clash.one, clash.other):
            assert (value - form.start) % form.step == 0
            assert form.start <= value <= form.maximum
            assert any(
                form.text(value, scope, day, name) == clash.text for day in days if form.period.name(day) == name
            )

    def test_how_one_is_shown(self) -> None:
        """Messages name the value, with its scope and period if there are some."""
        assert str(Numbered(1, None, "")) == "1"
        assert str(Numbered(1, "A", "2026")) == "1 of the scope 'A' of the period '2026'"


class TestTemplates:
    @pytest.mark.parametrize(
        ("template", "words"),
        [
            (42, "a text of up to 200 characters"),
            ("", "must have {value}"),
            ("{value}" + "x" * 194, "a text of up to 200 characters"),
            ("{value", "a brace itself is written twice"),
            ("{value}}", "a brace itself is written twice"),
            ("INV-", "must have {value}."),
            ("{value}{}", "unknown field {}; known are value, scope, period, year"),
            ("{value}{hour}", "unknown field {hour}"),
            ("{value.real}", "unknown field {value.real}"),
            ("{value}{value:03d}", "must have {value} once"),
            ("{value}{year}{year}", "must have {year} once"),
            ("{value:6d}", "must be {value}, or with a width {value:06d}, {value:crockford} or {value:06crockford}."),
            ("{value:00d}", "{value:00d} must be"),
            ("{value:>6}", "{value:>6} must be"),
            ("{value!r}", "{value:!r} must be"),
            ("{value:{width}}", "must be {value}"),
            ("{value:039d}", "up to 38 digits"),
            ("{value}{year:05d}", "{year:05d} must be {year}"),
            ("{value}{check}", "must be {check:luhn} or {check:damm}"),
            ("{value}{check:mod97}", "must be {check:luhn} or {check:damm}"),
            ("{check:luhn}{value}", "must stand after the value"),
            ("{value}{check:luhn}{year}", "must stand after the value and the parts of the date"),
            ("{value:crockford}{check:damm}", "{check:luhn} can check Crockford's."),
            ("{period}-{value}", "{period} has no meaning without PERIOD."),
            ("\uff21{value}", "form NFKC has it, 'A'"),
            ("{value}\n", "must be printable"),
            ("{scope} {value}", "between {scope} and {value}"),
            ("{scope}\u0131{value:crockford}", "cannot be read"),
            ("{scope}o{value:crockford}", "cannot be read as a digit of the value, such as '-'"),
        ],
    )
    def test_what_is_refused(self, template: Any, words: str) -> None:
        """A template that cannot be used is refused by the name of its setting, with what it must be."""
        with pytest.raises(InvalidSequence) as error:
            of(template, where="SEQUENCES['invoices']['FORMAT']")
        assert str(error.value).startswith(f"SEQUENCES['invoices']['FORMAT'] is {template!r}; ")
        assert words in str(error.value)

    def test_the_plainest_template(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The value alone is written without looking at anything else."""
        monkeypatch.setattr(Writer, "texts", mock.Mock(side_effect=AssertionError))
        assert of("{value}", YEAR).text(42, None, None, "") == "42"

    def test_the_longest_template(self) -> None:
        """A template has up to 200 characters, and a value up to 38 digits."""
        assert of("{value:038d}").widest == 10**38 - 1
        assert written(of("{value}" + "x" * 193), 7) == "7" + "x" * 193

    def test_scope_and_literal_after_the_check_digit(self) -> None:
        """What the check digit does not cover may stand behind it."""
        form = of("{value}{check:damm}/{scope}.")
        assert form.parse("427/A.").scope == "A"

    @pytest.mark.parametrize("check", ["luhn", "damm"])
    def test_check_digits_need_a_package(self, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without python-stdnum a check digit is refused, with how to install it; all else works."""
        monkeypatch.setitem(sys.modules, "stdnum", None)
        with pytest.raises(InvalidSequence, match=r"pip install django-dynamodb-sequences\[check\]"):
            of(f"{{value}}{{check:{check}}}")
        assert written(of("{value:03d}"), 7) == "007"
