"""How fast scopes count: numbers in the last hour, day and month, by day and hour, and when they will be used up.

    counters, cursor = strategies["orders"].scopes.page(None, 100)
    rates = rates_of("orders", counters)
    usage_of("orders", counters[0], rates[0]).ends_on

The counters are those of up to 100 scopes; `strategies` is in `sequences.registry`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from .registry import strategies
from .rows.course import Course
from .types import Counter

__all__ = ["DAYS", "HOURS", "Rates", "Usage", "rates_of", "usage_of"]

DAYS = 30
HOURS = 24
HOUR_SECONDS, DAY_SECONDS = 3_600, 86_400
MOST_DAYS_AHEAD = 36_525  # a hundred years
WEIGHT = 5  # an hour or a day is cut more finely than each day of a month


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """How many numbers a scope has given. A figure that is not known is None.

    Numbers that a counter skips do not count. The blocks of a `BlockAllocator` count when they are reserved.
    """

    hour: int | None
    """In the last 60 minutes."""
    day: int | None
    """In the last 24 hours."""
    month: int | None
    """In the last 30 days."""
    days: Sequence[int | None]
    """By UTC day, for 30 days, oldest first; the last is today."""
    hours: Sequence[int | None] = ()
    """By UTC hour, for 24 hours, oldest first; the last is this hour. Empty unless they were asked for."""
    last_at: datetime | None
    """When the last value was given."""
    since: datetime | None
    """Figures of earlier times are not known; None: all of them are, or none."""
    approximate: bool
    """Whether a figure is read between two known points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """How much of its values a scope has used, and when it will have used them all."""

    share: float
    """From 0.0 to 1.0, of the values up to MAXIMUM, or to the width in FORMAT if that is less."""
    ends_on: date | None
    """The day of its last value (UTC) at the pace of the last 30 days.

    None if that pace is not known, or if it takes more than 100 years, or longer than the scope's period.
    """


def rates_of(sequence: str, counters: Sequence[Counter], *, by_hour: bool = False) -> list[Rates]:
    """The rates of the counters of one page of `Scopes.page`, in their order; also `by_hour` if that is wanted.

    For strategies with a counter there is no request: the page has all that is needed. Days are exact. What slides is
    read between two points, which are an hour apart, for the 30 days a day.

    `SortKeyMaximum` with the option `time_name` reads some items of each scope by at most 2 `BatchGetItem`, not
    consistent: at most 11 and 90 items, 0.5 read units each for up to 4 KB. Without it, as for a strategy without a
    counter, nothing is known.

    Raises SequenceUnavailable if the engine does not answer, and InvalidSequence for a name that is not configured.
    """
    strategy = strategies[sequence]
    now = strategy.wall()
    midnights = _begins(now, DAY_SECONDS, DAYS)
    hours = _begins(now, HOUR_SECONDS, HOURS) if by_hour else []
    # The moments whose values are wanted, those that matter most several times.
    moments = [*WEIGHT * [now - HOUR_SECONDS, now - DAY_SECONDS], now - DAYS * DAY_SECONDS, *midnights, *hours]
    courses = (strategy.scopes.course(counter, now, moments) for counter in counters)
    return [_rates(course, now, strategy.numbers.step, midnights, hours) for course in courses]


def _begins(now: float, seconds: int, count: int) -> list[float]:
    """When each of the last days or hours began, the oldest first."""
    newest = int(now) // seconds
    return [float(number * seconds) for number in range(newest - count + 1, newest + 1)]


def _rates(course: Course | None, now: float, step: int, midnights: Sequence[float], hours: Sequence[float]) -> Rates:
    if course is None:
        unknown = {"days": len(midnights) * [None], "hours": len(hours) * [None]}
        return Rates(hour=None, day=None, month=None, last_at=None, since=None, approximate=False, **unknown)
    windows = [course.value_at(now - seconds) for seconds in (HOUR_SECONDS, DAY_SECONDS, DAYS * DAY_SECONDS)]
    last_value = course.points[-1][1]
    hour, day, month = (_count(value, last_value, step) for value, _ in windows)
    days, are_exact = _counts(course, midnights, step)
    oldest = now - DAYS * DAY_SECONDS
    return Rates(
        hour=hour,
        day=day,
        month=month,
        days=days,
        hours=_counts(course, hours, step)[0],
        last_at=_moment(course.last_at),
        since=_moment(course.since) if course.since is not None and course.since > oldest else None,
        approximate=not (are_exact and all(exact for _, exact in windows)),
    )


def _counts(course: Course, begins: Sequence[float], step: int) -> tuple[list[int | None], bool]:
    """How many numbers were given from each of these moments to the next, and up to now, and whether all is exact."""
    found = [course.value_at(moment) for moment in begins]
    ends = [*(value for value, _ in found[1:]), course.points[-1][1]]
    counts = [_count(begin, end, step) for (begin, _), end in zip(found, ends, strict=False)]
    return counts, all(exact for _, exact in found)


def _count(begin: int | None, end: int | None, step: int) -> int | None:
    return None if begin is None or end is None else (end - begin) // step


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def usage_of(sequence: str, counter: Counter, rates: Rates) -> Usage:
    """How much of its values a counter has used, and when all are, at the pace of these rates. No request."""
    strategy = strategies.by_lines(strategies[sequence], counter.counted_in)
    numbers = strategy.numbers
    last_value = counter.last_value if isinstance(counter.last_value, int) else numbers.before_start
    used, all_of_them = last_value - numbers.before_start, max(numbers.limit - numbers.before_start, 1)
    today, ends_on = datetime.fromtimestamp(strategy.wall(), UTC).date(), None
    left = max(numbers.limit - last_value, 0) // numbers.step
    if left == 0:
        ends_on = today
    elif rates.month and left * DAYS <= rates.month * MOST_DAYS_AHEAD:
        ends_on = today + timedelta(days=left * DAYS // rates.month)
    if ends_on and counter.period and strategy.naming.period.name(ends_on) != counter.period:
        ends_on = None
    return Usage(share=min(used / all_of_them, 1.0), ends_on=ends_on)
