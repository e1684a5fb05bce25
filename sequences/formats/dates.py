"""The fields of the date: what they have on a day, and which day a text is for."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cached_property, lru_cache
from itertools import takewhile

from .digits import digits_in
from .periods import DATE_PARTS, Period

DATE_FIELDS: Mapping[str, Callable[[Period, date], str]] = {"period": Period.name, **DATE_PARTS}
"""The text of each field of the date on a day."""

ANY_DAY = date(2026, 3, 5)
"""The day of samples."""

PERIODS_REMEMBERED = 16

_CYCLE = range(2024, 2053)  # after 28 years the days of the week come again


class Dates:
    """The fields of the date in a FORMAT, in their order."""

    def __init__(self, fields: tuple[str, ...], period: Period) -> None:
        self.fields, self.period = fields, period
        self._texts = [DATE_FIELDS[field] for field in fields]
        self.day_in = lru_cache(PERIODS_REMEMBERED)(self._day_in)  # the days of a year take a millisecond to compare

    def texts(self, day: date) -> tuple[str, ...]:
        """The text of each field on a day."""
        return tuple([text(self.period, day) for text in self._texts])

    def _day_in(self, name: str) -> date | None:
        """A day of a period whose days all have the same text; None if they have not. Raises InvalidPeriod."""
        first = self.period.first_day(name)
        if not self.fields:
            return first
        following = (first + timedelta(days=number) for number in range((date.max - first).days))
        days = takewhile(lambda day: self.period.name(day) == name, following)
        is_same = self.period.kind != "never" and len(set(map(self.texts, days))) == 1
        return first if is_same else None

    def day_of(self, digits: Mapping[str, str]) -> date | None:
        """A day on which each field has these digits; None if there is none."""
        wanted = "".join(digits[field] for field in self.fields)  # each has digits of a fixed number
        return next((day for day in _candidates(digits) if "".join(map(digits_in, self.texts(day))) == wanted), None)

    @cached_property
    def alike(self) -> tuple[date, date] | None:
        """Two days in different periods with the same text; None if the fields tell periods apart.

        Fields that tell the year repeat within two years that follow each other, and other fields within 28 years, so
        what does not happen in these years never happens.
        """
        if self.period.kind == "never" or "period" in self.fields:
            return None
        first: dict[tuple[str, ...], date] = {}
        for day in _candidates({}):
            earlier = first.setdefault(self.texts(day), day)
            if self.period.name(earlier) != self.period.name(day):
                return earlier, day
        return None


def _candidates(digits: Mapping[str, str]) -> Iterator[date]:
    """The days that may have these digits in their fields."""
    months = [int(digits["month"])] if "month" in digits else range(1, 13)
    days = [int(digits["day"])] if "day" in digits else range(1, 32)
    for year in _years(digits):
        for month in months:
            for day in days:
                try:
                    yield date(year, month, day)
                except ValueError:
                    pass


def _years(digits: Mapping[str, str]) -> list[int] | range:
    if "yy" in digits:
        return [2000 + int(digits["yy"])]
    for field in ("year", "period", "week_year", "fiscal_year"):
        if field in digits:
            year = int(digits[field][:4])
            return [year, year - 1, year + 1]
    return _CYCLE
