"""Periods: which day a document belongs to, what its period is called, and the keys of a sequence that say so."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from sequences.exceptions import InvalidPeriod, InvalidSequence
from sequences.formats.periods import KINDS, Period

BERLIN, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
ZONES = [ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kathmandu")]
BRITISH = Period(kind="fiscal-year", fiscal_start=(4, 6))

PATIENT = settings(deadline=None)  # facts, never timings

fiscal_starts = st.dates(date(2001, 1, 1), date(2001, 12, 31)).map(lambda day: (day.month, day.day))
periods = st.builds(
    Period,
    kind=st.sampled_from(KINDS),
    fiscal_start=fiscal_starts,
    fiscal_named_by=st.sampled_from(["start", "end"]),
    zone=st.sampled_from(ZONES),
)
days = st.dates(date(1001, 1, 1), date(9998, 12, 31))


def configured(**entry: Any) -> Period:
    """The period of an entry with these keys."""
    return Period.of_config("SEQUENCES['invoices']", entry)


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("never", ""),
            ("day", "2026-03-05"),
            ("month", "2026-03"),
            ("quarter", "2026-Q1"),
            ("year", "2026"),
            ("fiscal-year", "2026"),
        ],
    )
    def test_what_a_period_is_called(self, kind: str, name: str) -> None:
        """A period is called by the numbers of its date, the largest first."""
        assert Period(kind=kind).name(date(2026, 3, 5)) == name

    def test_quarters(self) -> None:
        """A quarter begins with January, April, July and October."""
        names = [Period(kind="quarter").name(date(2026, month, 1))[-2:] for month in range(1, 13)]
        assert names == ["Q1"] * 3 + ["Q2"] * 3 + ["Q3"] * 3 + ["Q4"] * 3

    @pytest.mark.parametrize(
        ("named_by", "before", "after"), [("end", "2026", "2027"), ("start", "2025", "2026")], ids=["end", "start"]
    )
    def test_fiscal_years(self, named_by: str, before: str, after: str) -> None:
        """A fiscal year changes on its first day, and is named by the year in which it ends or begins."""
        period = Period(kind="fiscal-year", fiscal_start=(4, 6), fiscal_named_by=named_by)
        assert (period.name(date(2026, 4, 5)), period.name(date(2026, 4, 6))) == (before, after)

    @pytest.mark.parametrize("named_by", ["start", "end"])
    def test_a_fiscal_year_that_is_a_calendar_year(self, named_by: str) -> None:
        """A fiscal year from January begins and ends in one calendar year, and is named by it."""
        period = Period(kind="fiscal-year", fiscal_named_by=named_by)
        assert {period.name(date(2026, 1, 1)), period.name(date(2026, 12, 31))} == {"2026"}

    @PATIENT
    @given(period=periods, one=days, other=days)
    def test_names_sort_as_time_does(self, period: Period, one: date, other: date) -> None:
        """The names of one kind have the same length, and a later day never has a lower one."""
        early, late = period.name(min(one, other)), period.name(max(one, other))
        assert len(early) == len(late)
        assert early <= late

    @PATIENT
    @given(period=periods.filter(lambda period: period.kind != "never"), day=days)
    def test_a_period_begins_once(self, period: Period, day: date) -> None:
        """The first day of a period is in it, is not after any of its days, and the day before is in another one."""
        first = period.first_day(period.name(day))
        assert first <= day
        assert period.name(first) == period.name(day) != period.name(first - timedelta(days=1))

    def test_all_time_has_a_first_day(self) -> None:
        """Without periods all days are one, which begins with the first day that is accepted."""
        assert Period().first_day("") == date(1000, 1, 1)


class TestNamed:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("name", "wanted"),
        [("", "never"), ("2026-03-05", "day"), ("2026-03", "month"), ("2026-Q1", "quarter"), ("2026", "year")],
    )
    def test_a_former_period(self, kind: str, name: str, wanted: str) -> None:
        """The name tells the kind; a fiscal year stays one, and all else stays as it is."""
        wanted = kind if (kind, wanted) == ("fiscal-year", "year") else wanted
        assert Period(kind=kind, zone=BERLIN).named(name) == Period(kind=wanted, zone=BERLIN)

    def test_what_is_no_name(self) -> None:
        """It changes nothing."""
        assert Period(kind="month").named("2026-3") == Period(kind="month")


class TestCheck:
    @PATIENT
    @given(period=periods, day=days)
    def test_every_name_is_known(self, period: Period, day: date) -> None:
        """The name of any day's period is the name of a period."""
        period.check(period.name(day))

    @pytest.mark.parametrize(
        ("kind", "name", "example"),
        [
            ("never", "2026", "left out"),
            ("day", "2026-02-29", "a day such as '2026-03-05'"),
            ("day", "2026-3-5", "a day such as '2026-03-05'"),
            ("month", "2026-13", "a month such as '2026-03'"),
            ("month", "2026-03\n", "a month such as '2026-03'"),
            ("quarter", "2026-Q5", "a quarter such as '2026-Q1'"),
            ("quarter", "2026-1", "a quarter such as '2026-Q1'"),
            ("year", "", "a year such as '2026'"),
            ("year", "0999", "a year such as '2026'"),
            ("year", "٢٠٢٦", "a year such as '2026'"),
            ("year", 2026, "a year such as '2026'"),
            ("year", None, "a year such as '2026'"),
            ("fiscal-year", "26", "a fiscal year such as '2026'"),
        ],
    )
    def test_what_is_no_period(self, kind: str, name: Any, example: str) -> None:
        """Anything else is refused with an example of a name."""
        with pytest.raises(InvalidPeriod) as error:
            Period(kind=kind).check(name)
        assert repr(name) in str(error.value)
        assert example in str(error.value)


class TestDates:
    def test_a_date_is_taken_as_it_is(self) -> None:
        """A document of last December belongs to December, whatever the clock says."""
        assert Period(zone=TOKYO).date_of(date(2025, 12, 31), 1.8e9) == date(2025, 12, 31)

    def test_a_moment_is_taken_in_the_zone(self) -> None:
        """A moment with its own time zone belongs to the day that the sequence's zone has then."""
        moment = datetime(2025, 12, 31, 23, 30, tzinfo=UTC)
        assert Period(zone=BERLIN).date_of(moment, 0) == date(2026, 1, 1)

    def test_a_moment_without_zone(self) -> None:
        """A datetime without time zone is in the zone of the sequence already."""
        assert Period(zone=TOKYO).date_of(datetime(2025, 12, 31, 23, 30), 0) == date(2025, 12, 31)  # noqa: DTZ001

    def test_without_a_date_it_is_today(self) -> None:
        """Without a date it is the clock's moment, in the zone of the sequence."""
        now = datetime(2025, 12, 31, 15, 30, tzinfo=UTC).timestamp()
        assert Period(zone=TOKYO).date_of(None, now) == date(2026, 1, 1)
        assert Period().date_of(None, now) == date(2025, 12, 31)

    @PATIENT
    @given(day=days, at=st.times(), zone=st.sampled_from(ZONES), fold=st.sampled_from([0, 1]))
    def test_clocks_that_change(self, day: date, at: time, zone: ZoneInfo, fold: int) -> None:
        """A wall clock's time belongs to its own day, also in the hour that comes twice; and so does that moment."""
        wall = datetime.combine(day, at).replace(fold=fold)
        moment = wall.replace(tzinfo=zone).astimezone(UTC)
        period = Period(zone=zone)
        assert period.date_of(wall, 0) == day
        assert period.date_of(moment, 0) == moment.astimezone(zone).date() == period.date_of(None, moment.timestamp())

    @pytest.mark.parametrize("given", ["2026-03-05", 20260305, True, 1.5, time(12)])
    def test_what_is_no_date(self, given: Any) -> None:
        """A text or a number is refused by the name of the argument."""
        with pytest.raises(ValueError, match=r"^date is .*must be a date, a datetime or None"):
            Period().date_of(given, 0)

    @pytest.mark.parametrize(
        ("period", "day"),
        [
            (Period(), date(999, 12, 31)),
            (Period(zone=TOKYO), datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))),
            (Period(zone=ZONES[2]), datetime.min.replace(tzinfo=UTC)),
            (BRITISH, date(9999, 4, 6)),
            (Period(kind="fiscal-year", fiscal_start=(4, 6), fiscal_named_by="start"), date(1000, 4, 5)),
        ],
    )
    def test_years_have_four_digits(self, period: Period, day: date) -> None:
        """A day whose year, or fiscal year, has not four digits is refused, as names would not sort."""
        with pytest.raises(ValueError, match=r"^date is .*years 1000 to 9999"):
            period.date_of(day, 0)

    def test_the_first_and_the_last_day(self) -> None:
        """The first and the last day of the years with four digits are accepted."""
        for day in (date(1000, 1, 1), date(9999, 12, 31)):
            assert Period().date_of(day, 0) == day


class TestConfig:
    def test_the_defaults(self, settings: Settings) -> None:
        """A sequence never begins again, unless it says so, and has the time zone of the project."""
        settings.TIME_ZONE = "Asia/Tokyo"
        assert configured() == Period(kind="never", zone=TOKYO)

    def test_all_keys(self) -> None:
        """PERIOD, FISCAL_START, FISCAL_NAMED_BY and TIME_ZONE say everything."""
        made = configured(
            PERIOD="fiscal-year", FISCAL_START="04-06", FISCAL_NAMED_BY="start", TIME_ZONE="Europe/Berlin"
        )
        assert made == Period(kind="fiscal-year", fiscal_start=(4, 6), fiscal_named_by="start", zone=BERLIN)

    @pytest.mark.parametrize(
        ("key", "value", "wanted"),
        [
            ("PERIOD", "weekly", "one of 'never', 'day', 'month', 'quarter', 'year', 'fiscal-year'"),
            ("PERIOD", ["year"], "one of 'never'"),
            ("FISCAL_START", "02-29", "a month and a day that every year has"),
            ("FISCAL_START", "4-1", "such as '04-01'"),
            ("FISCAL_START", "W14-1", "such as '04-01'"),
            ("FISCAL_START", (4, 1), "such as '04-01'"),
            ("FISCAL_NAMED_BY", "both", "'start' or 'end'"),
            ("TIME_ZONE", "Berlin", "a time zone such as 'Europe/Berlin'"),
            ("TIME_ZONE", "Europe", "a time zone such as"),
            ("TIME_ZONE", "/etc/passwd", "a time zone such as"),
            ("TIME_ZONE", "", "a time zone such as"),
            ("TIME_ZONE", 1, "a time zone such as"),
            ("TIME_ZONE", None, "a time zone such as"),
        ],
    )
    def test_wrong_values(self, key: str, value: Any, wanted: str) -> None:
        """A wrong value is refused by the name of its key, with what it must be."""
        with pytest.raises(InvalidSequence) as error:
            configured(**{"PERIOD": "fiscal-year", key: value})
        assert str(error.value).startswith(f"SEQUENCES['invoices'][{key!r}] is {value!r}; it must be ")
        assert wanted in str(error.value)

    @pytest.mark.parametrize(
        ("key", "value", "without", "used_by"),
        [
            ("FISCAL_START", "04-06", {"PERIOD": "year"}, "{fiscal_year}-{value}"),
            ("FISCAL_NAMED_BY", "start", {"PERIOD": "year", "FORMAT": "{year}-{value}"}, "{fiscal_year}-{value}"),
            ("TIME_ZONE", "Europe/Berlin", {"FORMAT": "{{year}}{value}"}, "{year}-{value}"),
        ],
    )
    def test_keys_without_meaning(self, key: str, value: str, without: dict[str, str], used_by: str) -> None:
        """A key that changes nothing is refused, and accepted where FORMAT uses it, or a line of SERIES may."""
        with pytest.raises(InvalidSequence, match=rf"\['{key}'\] has no meaning without PERIOD.*leave it out"):
            configured(**{key: value}, **without)
        configured(**{key: value, "FORMAT": used_by})
        configured(**{key: value, "SERIES": "series"}, **without)
