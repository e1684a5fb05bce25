"""The lines of a scope: how they are stored, what they change of the settings, and which holds on a day."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from sequences.exceptions import InvalidPeriod, SequenceExhausted
from sequences.formats.periods import Period
from sequences.registry import parse_config
from sequences.rows.lines import Line, Lines, check_period, neighbours
from sequences.types import SequenceConfig

JANUARY, MARCH, JULY = date(2026, 1, 1), date(2026, 3, 5), date(2026, 7, 1)
FULL = Line(
    format="B7-{value}",
    start=5000,
    step=2,
    maximum=5999,
    period="never",
    strategy="sequences.strategies.AtomicCounter",
    valid_from=JANUARY,
    valid_to=MARCH,
    warn_at=5900,
    warn_on=JULY,
    code="ATCUD",
    former=("A7-{value}",),
)


def settings(**changes: Any) -> SequenceConfig:
    """An entry of SEQUENCES that counts each year."""
    entry = {"STRATEGY": "sequences.strategies.TransactionalCounter", "PERIOD": "year", "FORMAT": "{period}-{value}"}
    return parse_config("invoices", {**entry, **changes})


class TestRow:
    def test_what_is_stored(self) -> None:
        """Dates are texts in a row, and all else is as the line has it."""
        assert FULL.row == {
            "format": "B7-{value}",
            "start": 5000,
            "step": 2,
            "maximum": 5999,
            "period": "never",
            "strategy": "sequences.strategies.AtomicCounter",
            "valid_from": "2026-01-01",
            "valid_to": "2026-03-05",
            "warn_at": 5900,
            "warn_on": "2026-07-01",
            "code": "ATCUD",
            "former": ["A7-{value}"],
        }

    @pytest.mark.parametrize("line", [FULL, Line(), Line(start=0), Line(valid_to=MARCH)], ids=repr)
    def test_it_comes_back(self, line: Line) -> None:
        """A line that is read is the one that was stored, also one that begins at 0."""
        assert Line.of_row(line.row) == line

    def test_what_is_left_open_is_not_stored(self) -> None:
        """The row says nothing of what the settings say."""
        assert Line().row == {}
        assert Line(start=0).row == {"start": 0}

    def test_a_row_of_a_later_version(self) -> None:
        """What this version does not know is left out."""
        assert Line.of_row({"step": 2, "colour": "red"}) == Line(step=2)


class TestConfig:
    def test_what_a_line_says(self) -> None:
        """The rules of a line replace those of the settings, whose texts of another period are not read."""
        config = FULL.config(settings(ALSO_READ=["OLD-{period}-{value}"], START=7))
        assert (config.format, config.also_read) == ("B7-{value}", ("A7-{value}",))
        assert (config.start, config.step, config.maximum) == (5000, 2, 5999)
        assert (config.period, config.strategy) == (Period(kind="never"), "sequences.strategies.AtomicCounter")
        assert (config.warn_at, config.warn_on) == (5900, JULY)
        assert config.options == {"partition": "{sequence}##{scope}"}
        assert Line(start=0).config(settings(START=7)).start == 0

    def test_what_it_leaves_open(self) -> None:
        """All else is as the settings have it, and a line that says nothing changes nothing."""
        given = settings(START=7, STEP=3, MAXIMUM=10**6, ALSO_READ=["OLD-{period}-{value}"], OPTIONS={"group": False})
        assert Line().config(given) == given

    def test_the_texts_that_are_still_read(self) -> None:
        """In the same period the FORMAT of the settings is read, too, and each one once."""
        given = settings(ALSO_READ=["OLD-{period}-{value}"])
        line = Line(format="B7-{period}-{value}", former=("OLD-{period}-{value}", "B7-{period}-{value}"))
        assert line.config(given).also_read == ("OLD-{period}-{value}", "{period}-{value}")
        assert replace(line, period="year").config(given) == line.config(given)
        assert Line(format="M-{value}").config(settings(FORMAT=None)).also_read == ()

    def test_the_partition_without_periods(self) -> None:
        """Only a line that leaves the periods of the settings has its items apart from theirs."""
        assert Line(period="month").config(settings()).options == {}
        assert Line(period="never").config(settings(PERIOD="never", FORMAT="{value}")).options == {}


def test_no_lines() -> None:
    """A scope without lines has the first version, and no name but its own."""
    assert (len(Lines()), Lines().version, Lines().name) == (0, 0, "")


class TestOrder:
    LINES = Lines((Line(valid_from=JANUARY), Line(valid_from=MARCH), Line(), Line(), Line(valid_from=JULY)))

    @pytest.mark.parametrize(
        ("day", "place"),
        [(date(2025, 12, 31), 0), (JANUARY, 0), (date(2026, 3, 4), 0), (MARCH, 1), (date(2026, 6, 30), 1), (JULY, 4)],
    )
    def test_the_line_of_a_day(self, day: date, place: int) -> None:
        """A line holds from its first day on, and one without a date begins on no day."""
        assert self.LINES.at(day) == place
        assert Lines((Line(), *self.LINES.lines)).at(day) == (place + 1 if day >= JANUARY else 0)

    def test_lines_that_begin_on_one_day(self) -> None:
        """The last one of them holds."""
        assert Lines((Line(), Line(valid_from=MARCH), Line(valid_from=MARCH))).at(MARCH) == 2

    @pytest.mark.parametrize(
        ("place", "used_up", "after"), [(1, 0, 1), (1, 1, 2), (1, 2, 3), (1, 3, 3), (1, 4, 3), (3, 3, 3), (0, 0, 0)]
    )
    def test_who_takes_over(self, place: int, used_up: int, after: int) -> None:
        """After a line that is used up comes the next one, if that has no date, and so on."""
        assert self.LINES.after(place, used_up) == after

    def test_who_follows(self) -> None:
        """A line follows as soon as the one before is used up, if it has no date."""
        assert [self.LINES.follows(place) for place in range(5)] == [False, True, True, False, False]

    def test_the_last_day(self) -> None:
        """A line ends after its last day; a document of a later one is refused with it, and one without has no end."""
        lines = Lines((Line(), Line(valid_to=MARCH)))
        assert len(lines) == 2
        assert not lines.has_ended(0, JULY)
        assert not lines.has_ended(1, MARCH)
        lines.check_day(0, JULY)
        lines.check_day(1, MARCH)
        assert lines.has_ended(1, date(2026, 3, 6))
        wrong = "The last line is valid until 2026-03-05, and the date is 2026-03-06: add another line."
        with pytest.raises(SequenceExhausted, match=f"^{re.escape(wrong)}$"):
            lines.check_day(1, date(2026, 3, 6))


class TestPeriods:
    YEARS = Lines((Line(), Line(valid_from=MARCH, period="month"), Line(period="month"), Line(valid_from=JULY)))

    @pytest.mark.parametrize(
        ("name", "place"),
        [("2025", 0), ("2026-02", None), ("2026-03", 1), ("2027-01", 1), ("2026", 3), ("2027", 3), ("", None)],
    )
    def test_the_line_of_a_period(self, name: str, place: int | None) -> None:
        """It is the last one with such periods that begins by it; one without a date only if it is the first."""
        assert self.YEARS.in_period(name, settings(), JULY) == place

    def test_no_periods(self) -> None:
        """A line that never begins again counts in the period without a name."""
        lines = Lines((Line(period="never"), Line(valid_from=MARCH)))
        assert [lines.in_period(name, settings(), JULY) for name in ("", "2026", "2025")] == [0, 1, None]

    def test_no_periods_from_a_day_on(self) -> None:
        """Without periods it is the last line that has begun."""
        lines = Lines((Line(), Line(valid_from=MARCH, period="never"), Line(valid_from=JULY, period="never")))
        days = [date(2026, 1, 1), MARCH, JULY - timedelta(days=1), JULY]
        assert [lines.in_period("", settings(), day) for day in days] == [None, 1, 1, 2]

    @pytest.mark.parametrize(
        ("place", "day", "first"),
        [
            (0, JULY, 0),
            (1, date(2027, 2, 1), 1),
            (1, date(2026, 7, 1), 0),
            (2, date(2026, 7, 1), 0),
            (2, date(2027, 2, 1), 1),
            (3, date(2027, 2, 1), 3),
        ],
    )
    def test_the_first_in_the_same_counter(self, place: int, day: date, first: int) -> None:
        """Lines of one kind of period share a counter, from the one on with which a period begins."""
        lines = Lines((Line(), Line(valid_from=date(2027, 1, 1)), Line(), Line(period="month")))
        lines = replace(lines, lines=(*lines.lines[:3], replace(lines.lines[3], valid_from=date(2027, 1, 15))))
        assert lines.first_alike(place, settings(), day) == first

    def test_one_counter_for_ever(self) -> None:
        """Lines without periods share one counter, whenever they begin."""
        lines = Lines((Line(), Line(valid_from=JANUARY), Line(valid_from=MARCH)))
        assert lines.first_alike(2, settings(PERIOD="never", FORMAT=None), JULY) == 0

    @pytest.mark.parametrize("name", ["2026", "2026-03", "2026-Q1", "2026-03-05"])
    def test_names(self, name: str) -> None:
        """A name may be one of any kind of period, as a line may have another kind than the settings."""
        check_period(Period(kind="never"), name)
        check_period(Period(kind="year"), name)

    def test_no_name(self) -> None:
        """What is the name of no period is refused; the empty one only where the settings have periods."""
        check_period(Period(kind="never"), "")
        for name in ("", "2026-13", "26"):
            with pytest.raises(InvalidPeriod, match="it must be a year such as '2026'"):
                check_period(Period(kind="year"), name)
        with pytest.raises(InvalidPeriod):
            check_period(Period(kind="never"), "26")

    @pytest.mark.parametrize(
        ("period", "day", "names"),
        [
            (Period(), MARCH, [""]),
            (Period(kind="day"), MARCH, ["2026-03-05", "2026-03-04", "2026-03-06"]),
            (Period(kind="month"), MARCH, ["2026-03", "2026-02", "2026-04"]),
            (Period(kind="month"), date(2026, 2, 28), ["2026-02", "2026-01", "2026-03"]),
            (Period(kind="quarter"), MARCH, ["2026-Q1", "2025-Q4", "2026-Q2"]),
            (Period(kind="quarter"), JULY, ["2026-Q3", "2026-Q2", "2026-Q4"]),
            (Period(kind="year"), date(2028, 12, 31), ["2028", "2027", "2029"]),
            (Period(kind="fiscal-year", fiscal_start=(4, 1)), date(2027, 4, 1), ["2028", "2027", "2029"]),
        ],
    )
    def test_neighbours(self, period: Period, day: date, names: list[str]) -> None:
        """The period before and the one after are found from the first day of this one."""
        assert neighbours(period, day) == names
