"""Periods: the parts of time in which a sequence counts on its own, such as years, by the date of the document.

Here are the keys PERIOD, FISCAL_START, FISCAL_NAMED_BY and TIME_ZONE of a sequence, and plain arithmetic of dates. How
a period is stored beside its scope is not known here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

from django.conf import settings

from ..exceptions import DateRefused, InvalidPeriod, InvalidSequence

KINDS = ("never", "day", "month", "quarter", "year", "fiscal-year")
"""What PERIOD may be; the default first."""

_UTC = ZoneInfo("UTC")
_NAMES = {
    "never": "",
    "day": r"([1-9]\d{3})-(\d\d)-(\d\d)",
    "month": r"([1-9]\d{3})-(\d\d)",
    "quarter": r"([1-9]\d{3})-Q([1-4])",
    "year": r"([1-9]\d{3})",
    "fiscal-year": r"([1-9]\d{3})",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """When a sequence begins again with START, and what each period is called.

    `kind` is one of KINDS. A fiscal year begins on `fiscal_start`, a month and a day, and is named by the calendar year
    in which it begins ("start") or ends ("end"). `zone` says which day a moment belongs to.
    """

    kind: str = "never"
    fiscal_start: tuple[int, int] = (1, 1)
    fiscal_named_by: str = "end"
    zone: ZoneInfo = _UTC

    @classmethod
    def of_config(cls, where: str, entry: Mapping[str, Any]) -> Self:
        """Read the keys of one entry of SEQUENCES, such as "SEQUENCES['invoices']".

        FISCAL_START, FISCAL_NAMED_BY and TIME_ZONE are refused where neither PERIOD nor FORMAT uses them, unless there
        is SERIES, whose lines have days, FORMATs and periods of their own.
        Raises InvalidSequence, which names the wrong key and what it must be.
        """
        kind = entry.get("PERIOD", KINDS[0])
        if kind not in KINDS:
            raise _wrong(where, "PERIOD", kind, f"one of {', '.join(map(repr, KINDS))}")
        _refuse_unused(where, entry, kind)
        named_by = entry.get("FISCAL_NAMED_BY", "end")
        if named_by not in ("start", "end"):
            raise _wrong(where, "FISCAL_NAMED_BY", named_by, "'start' or 'end'")
        start = _fiscal_start(where, entry.get("FISCAL_START", "01-01"))
        zone = _zone(where, entry.get("TIME_ZONE", settings.TIME_ZONE))
        return cls(kind=kind, fiscal_start=start, fiscal_named_by=named_by, zone=zone)

    def date_of(self, given: date | datetime | None, now: float) -> date:
        """The document's date: the day that is given, or the day of `now` (seconds since 1970) for None.

        A date is taken as it is. A datetime with a time zone is converted to the zone of the sequence; one without is
        in that zone already. Raises ValueError for anything else, and DateRefused for a year without four digits.
        """
        if given is None:
            given = datetime.fromtimestamp(now, self.zone)
        if not isinstance(given, date):
            raise ValueError(f"date is {given!r}; it must be a date, a datetime or None.")
        with suppress(OverflowError):
            day = self._day(given)
            if day.year >= 1000 and 1000 <= self.fiscal_year(day) <= 9999:
                return day
        raise DateRefused(f"date is {given}; it must be in the years 1000 to 9999, and so must its fiscal year.")

    def _day(self, given: date | datetime) -> date:
        if not isinstance(given, datetime):
            return given
        return (given if given.utcoffset() is None else given.astimezone(self.zone)).date()

    def name(self, day: date) -> str:
        """What the period of a day is called: "2026-03-05", "2026-03", "2026-Q1", "2026", or "" for "never".

        The names of one kind have the same length, and sort as time does.
        """
        match self.kind:
            case "never":
                return ""
            case "day":
                return day.isoformat()
            case "month":
                return f"{day.year}-{day.month:02d}"
            case "quarter":
                return f"{day.year}-Q{_quarter(day)}"
            case "year":
                return str(day.year)
            case _:
                return str(self.fiscal_year(day))

    def named(self, name: str) -> Self:
        """This one, or one of the first kind that has such names, as a former PERIOD gave them."""
        kinds = (kind for kind in (self.kind, *KINDS) if re.fullmatch(_NAMES[kind], name, re.ASCII))
        return replace(self, kind=next(kinds, self.kind))

    def check(self, name: str) -> None:
        """Raise InvalidPeriod for a text that is not the name of a period of this kind."""
        self.first_day(name)

    def first_day(self, name: str) -> date:
        """The day on which a period begins; for "never" the first that there is. Raises InvalidPeriod."""
        with suppress(ValueError):
            found = re.fullmatch(_NAMES[self.kind], name, re.ASCII) if isinstance(name, str) else None
            if found:
                return self._begin(*map(int, found.groups()))
        wanted = "left out, as this sequence has no periods"
        if self.kind != "never":
            wanted = f"a {self.kind.replace('-', ' ')} such as {self.name(date(2026, 3, 5))!r}"
        raise InvalidPeriod(f"The period is {name!r}; it must be {wanted}.")

    def _begin(self, year: int = 1000, part: int = 1, day: int = 1) -> date:
        match self.kind:
            case "quarter":
                return date(year, 3 * part - 2, 1)
            case "fiscal-year":
                return date(year - self._named_later, *self.fiscal_start)
            case _:
                return date(year, part, day)

    def fiscal_year(self, day: date) -> int:
        """The name of the fiscal year of a day."""
        began = day.year if (day.month, day.day) >= self.fiscal_start else day.year - 1
        return began + self._named_later

    @property
    def _named_later(self) -> int:
        """How many years after its first day a fiscal year is named."""
        return int(self.fiscal_named_by == "end" and self.fiscal_start != (1, 1))


DATE_PARTS: Mapping[str, Callable[[Period, date], str]] = {
    "year": lambda period, day: str(day.year),
    "yy": lambda period, day: f"{day.year % 100:02d}",
    "month": lambda period, day: f"{day.month:02d}",
    "day": lambda period, day: f"{day.day:02d}",
    "week": lambda period, day: f"{day.isocalendar().week:02d}",
    "week_year": lambda period, day: str(day.isocalendar().year),
    "quarter": lambda period, day: str(_quarter(day)),
    "fiscal_year": lambda period, day: str(period.fiscal_year(day)),
}
"""The parts of a date by their names in FORMAT; each has digits of a fixed number. Weeks are those of ISO 8601."""


def days_of(year: int) -> Iterator[date]:
    """The days of a calendar year."""
    return map(date.fromordinal, range(date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal() + 1))


def _quarter(day: date) -> int:
    return (day.month + 2) // 3


def _wrong(where: str, key: str, value: object, wanted: str) -> InvalidSequence:
    return InvalidSequence(f"{where}[{key!r}] is {value!r}; it must be {wanted}.")


def _refuse_unused(where: str, entry: Mapping[str, Any], kind: str) -> None:
    """Raise InvalidSequence for a key that changes nothing."""
    if entry.get("SERIES"):
        return
    text = str(entry.get("FORMAT", "")).replace("{{", "")
    is_fiscal = kind == "fiscal-year" or "{fiscal_year}" in text
    for key in ("FISCAL_START", "FISCAL_NAMED_BY"):
        if key in entry and not is_fiscal:
            raise InvalidSequence(
                f"{where}[{key!r}] has no meaning without PERIOD 'fiscal-year' or {{fiscal_year}} in FORMAT: leave it "
                "out."
            )
    has_date = (
        any(f"{{{part}}}" in text for part in DATE_PARTS) or entry.get("DATE_ORDER") == "refuse" or entry.get("DATES")
    )
    if "TIME_ZONE" in entry and kind == "never" and not has_date:
        raise InvalidSequence(
            f"{where}['TIME_ZONE'] has no meaning without PERIOD, DATE_ORDER, DATES or a date in FORMAT: leave it out."
        )


def _fiscal_start(where: str, given: object) -> tuple[int, int]:
    wanted = "a month and a day that every year has, such as '04-01'"
    try:
        if not isinstance(given, str) or not re.fullmatch(r"\d\d-\d\d", given, re.ASCII):
            raise ValueError
        begin = date.fromisoformat(f"2001-{given}")  # a year without 29 February
    except ValueError:
        raise _wrong(where, "FISCAL_START", given, wanted) from None
    return begin.month, begin.day


def _zone(where: str, given: object) -> ZoneInfo:
    try:
        return ZoneInfo(given)  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError, AttributeError, OSError):
        raise _wrong(where, "TIME_ZONE", given, "a time zone such as 'Europe/Berlin'") from None
