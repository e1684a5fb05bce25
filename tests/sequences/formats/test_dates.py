"""Which day the digits of a text say, and how few days are compared for that."""

from __future__ import annotations

from datetime import date
from unittest import mock

import pytest

from sequences.formats.dates import Dates
from sequences.formats.periods import Period

APRIL = Period(kind="fiscal-year", fiscal_start=(4, 1))
NAMED_EARLY = Period(kind="fiscal-year", fiscal_start=(4, 1), fiscal_named_by="start")
NEVER = Period()


class TestDayOf:
    @pytest.mark.parametrize(
        ("period", "digits", "day"),
        [
            (NEVER, {"year": "1999"}, date(1999, 1, 1)),
            (NEVER, {"year": "1999", "month": "12", "day": "31"}, date(1999, 12, 31)),
            (NEVER, {"yy": "99", "quarter": "2"}, date(2099, 4, 1)),
            (NEVER, {"week_year": "1999", "week": "01"}, date(1999, 1, 4)),
            (NEVER, {"month": "02", "day": "29"}, date(2024, 2, 29)),
            (Period(kind="month"), {"period": "199902"}, date(1999, 2, 1)),
            (APRIL, {"period": "1999", "month": "03"}, date(1999, 3, 1)),
            (APRIL, {"period": "1999", "month": "05"}, date(1998, 5, 1)),
            (APRIL, {"fiscal_year": "1999", "month": "05"}, date(1998, 5, 1)),
            (NAMED_EARLY, {"fiscal_year": "1999", "month": "03"}, date(2000, 3, 1)),
            (NEVER, {"year": "2026", "month": "02", "day": "30"}, None),
            (NEVER, {"year": "2026", "month": "13"}, None),
            (NEVER, {"week": "54"}, None),
        ],
    )
    def test_the_first_day(self, period: Period, digits: dict[str, str], day: date | None) -> None:
        """It is the first day of the year that is named, or of one beside it, on which each field has these digits."""
        assert Dates(tuple(digits), period).day_of(digits) == day

    def test_a_whole_date(self) -> None:
        """A text that says year, month and day is compared with one day."""
        dates = Dates(("year", "month", "day"), NEVER)
        with mock.patch.object(dates, "texts", wraps=dates.texts) as texts:
            assert dates.day_of({"year": "2026", "month": "12", "day": "31"}) == date(2026, 12, 31)
        assert texts.call_count == 1


class TestDayIn:
    @pytest.mark.parametrize(
        ("field", "kind", "name", "day"),
        [
            ("month", "month", "2026-03", date(2026, 3, 1)),
            ("day", "month", "2026-03", None),
            ("quarter", "year", "2026", None),
            ("period", "year", "2026", date(2026, 1, 1)),
        ],
    )
    def test_whether_the_days_are_alike(self, field: str, kind: str, name: str, day: date | None) -> None:
        """A period stands for its days where all of them have the same text."""
        assert Dates((field,), Period(kind=kind)).day_in(name) == day

    def test_all_time(self) -> None:
        """Without periods any day stands for all where no field is written, and none is compared where one is."""
        assert Dates((), NEVER).day_in("") == date(1000, 1, 1)
        dates = Dates(("week",), NEVER)
        with mock.patch.object(dates, "texts", side_effect=AssertionError):
            assert dates.day_in("") is None


class TestAlike:
    @pytest.mark.parametrize(("field", "period"), [("week", NEVER), ("period", Period(kind="year"))])
    def test_nothing_to_tell_apart(self, field: str, period: Period) -> None:
        """Without periods, or where the text has them, no day is compared."""
        dates = Dates((field,), period)
        with mock.patch.object(dates, "texts", side_effect=AssertionError):
            assert dates.alike is None

    def test_two_periods(self) -> None:
        """The first two days are told that have one text in different periods."""
        assert Dates(("month",), Period(kind="year")).alike == (date(2024, 1, 1), date(2025, 1, 1))
