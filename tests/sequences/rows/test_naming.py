"""How the values of a sequence are written, and in which periods they count."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from sequences.exceptions import InvalidPeriod, InvalidScope, InvalidText
from sequences.registry import parse_config
from sequences.rows.naming import Naming
from sequences.rows.numbers import LARGEST
from sequences.types import Dated
from tests.sequences.support import make

pytestmark = pytest.mark.usefixtures("configured")


@pytest.mark.parametrize(
    ("settings_", "plain"),
    [({}, True), ({"FORMAT": "A-{value}"}, False), ({"PERIOD": "year"}, False)],
    ids=["neither", "FORMAT", "PERIOD"],
)
def test_plain(settings_: dict[str, Any], plain: bool) -> None:
    """The scope alone says where a value counts and how it is written, unless there is a FORMAT or a PERIOD."""
    assert make("atomic", **settings_).naming.is_plain is plain


def test_a_year_that_is_written_with_two_digits() -> None:
    """A date in another century is refused, as its text would be that of another year."""
    naming = make("atomic", PERIOD="year", FORMAT="{yy}-{value}").naming
    assert naming.dated(None, date(2026, 3, 5))[1] == date(2026, 3, 5)
    with pytest.raises(ValueError, match="2000 to 2099"):
        naming.dated(None, date(1999, 12, 31))


@pytest.mark.parametrize(
    ("options", "padded", "maximum"),
    [({}, False, LARGEST), ({"key_types": ["S", "S"], "sort_key": "{value:03d}"}, True, 999)],
    ids=["number", "text"],
)
def test_padded_keys(options: dict[str, Any], padded: bool, maximum: int) -> None:
    """The width of a sort key that is a text bounds the numbers."""
    numbers = make("atomic", **options).numbers
    assert (numbers.padded, numbers.maximum) == (padded, maximum)


DAY = date(2026, 3, 5)


def naming(*, line: int | None = None, **entry: Any) -> Naming:
    """The naming of a sequence with these settings, or by a line of a scope; today is DAY."""
    config = parse_config("mine", {"STRATEGY": "sequences.strategies.AtomicCounter", **entry})
    return Naming(replace(config, line=line), 0, lambda: datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("entry", "uses", "takes"),
    [
        ({}, False, False),
        ({"FORMAT": "A-{value}"}, False, False),
        ({"FORMAT": "{year}-{value}"}, True, True),
        ({"PERIOD": "year"}, True, True),
        ({"DATE_ORDER": "refuse"}, False, True),
        ({"DATES": {"past": 30}}, False, True),
    ],
)
def test_dates(entry: dict[str, Any], uses: bool, takes: bool) -> None:
    """A document has a date if its period or its text depends on it, or if dates are limited or in order."""
    made = naming(**entry)
    assert (made.uses_dates, made.takes_dates) == (uses, takes)
    assert (made.limits is not None) is ("DATES" in entry)
    assert made.dated("A" if "FORMAT" not in entry else None, None)[1] == (DAY if takes else None)


def test_a_date_that_is_not_used() -> None:
    """It is refused, but not for a line: the dates of documents choose among lines."""
    with pytest.raises(ValueError, match="'mine' has no PERIOD, and no date in its FORMAT: leave the date out"):
        naming().dated("A", DAY)
    assert naming(line=0).dated("A", DAY) == ("A", None)


def test_the_period_of_a_scope() -> None:
    """It is the one of the date, or the one that is named, which must be one."""
    yearly = naming(PERIOD="year")
    assert yearly.dated("A", date(2025, 12, 31)) == (Dated("A", "2025"), date(2025, 12, 31))
    assert yearly.dated(None, None, "2024") == (Dated(None, "2024"), None)
    with pytest.raises(InvalidPeriod):
        yearly.dated("A", None, "24")
    assert naming(FORMAT="{year}-{value}").dated(None, DAY) == (None, DAY)


def test_scopes() -> None:
    """Where FORMAT does not tell scopes apart only the sequence itself counts, but lines are compared with others."""
    single, told = naming(FORMAT="A-{value}"), naming(FORMAT="{scope}-{value}")
    assert [made.takes("A") for made in (single, told, naming(), naming(FORMAT="A-{value}", line=0))] == [
        False,
        True,
        True,
        True,
    ]
    assert single.takes(None)
    with pytest.raises(InvalidScope, match=r"the FORMAT of 'mine' has no \{scope\}"):
        single.dated("A", None)
    with pytest.raises(InvalidScope, match="no white space at its ends"):
        told.dated("A ", None)


def test_texts() -> None:
    """A value is written with its scope, its period and its day; without a day that is needed it is the number."""
    yearly = naming(PERIOD="year", FORMAT="{scope}-{period}-{month}-{value:03d}")
    assert yearly.text(7, Dated("A", "2026"), DAY) == "A-2026-03-007"
    assert yearly.text_or_number(7, Dated("A", "2026"), DAY) == "A-2026-03-007"
    assert yearly.text_or_number(7, Dated("A", "2026")) == "7"
    assert naming().text(7, "A", None) == "7"


def test_the_forms_that_are_read() -> None:
    """A text is read by FORMAT and by each of ALSO_READ; the first says what is wrong where none reads it."""
    made = naming(FORMAT="A-{value}", ALSO_READ=["B-{value:03d}", "B-{value}"])
    assert [form.template for form in made.forms] == ["A-{value}", "B-{value:03d}", "B-{value}"]
    assert [parsed.text for parsed in made.readings("B-007")] == ["B-007", "B-7"]
    assert [parsed.text for parsed in made.readings("A-7")] == ["A-7"]
    with pytest.raises(InvalidText) as wrong:
        made.readings("C-7")
    with pytest.raises(InvalidText) as first:
        made.format.parse("C-7")
    assert str(wrong.value) == str(first.value)


def test_no_form() -> None:
    """Without FORMAT there is none, and the number alone is read."""
    assert naming().forms == ()
    assert [parsed.value for parsed in naming().readings("7")] == [7]


def test_the_numbers() -> None:
    """They are as the settings have them, and end before one is wider than FORMAT has it."""
    numbers = naming(START=5, STEP=5, MAXIMUM=5000, FORMAT="A-{value:03d}").numbers
    assert (numbers.start, numbers.step, numbers.maximum, numbers.widest) == (5, 5, 5000, 999)
    assert (numbers.alias, numbers.padded, numbers.others, numbers.warn_at) == ("mine", False, (), None)


def test_the_numbers_of_regions() -> None:
    """Those of other Regions are known, and written and read here, too."""
    starts = {"us-east-1": 2, "eu-west-1": 1, "eu-central-1": 3}
    config = parse_config("mine", {"STRATEGY": "sequences.strategies.AtomicCounter", "STEP": 3, "FORMAT": "A-{value}"})
    made = Naming(replace(config, start=2, starts=starts, region="us-east-1", warn_at=50), 0, lambda: 0.0)
    assert (made.numbers.start, made.numbers.others, made.numbers.warn_at) == (2, (1, 3), 50)
    assert (made.format.start, made.format.step) == (1, 1)
    assert [made.readings(f"A-{value}")[0].value for value in (1, 2, 3, 4)] == [1, 2, 3, 4]
