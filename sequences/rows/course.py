"""How far a scope had counted at which moments, from the tallies of its counter or from the times of its items."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import accumulate
from operator import itemgetter
from typing import Any

from ..dynamodb.expressions import SINCE
from ..types import Counter
from .numbers import Numbers
from .tallies import RULERS, known_from_start

FIRST_STEPS = 9
LATEST_MOMENT = 253_402_300_799  # the end of the year 9999

Point = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Course:
    """The last values at known moments (seconds since 1970), both rising.

    Nothing is known of the time before the first point, which is `since` unless that is None. `last_at` is when the
    last value was given.
    """

    points: Sequence[Point]
    last_at: float | None = None
    since: float | None = None

    def value_at(self, moment: float) -> tuple[int | None, bool]:
        """The last value before a moment, and whether it is exact: otherwise it is read between two points.

        None before the first point.
        """
        place = bisect_left(self.points, moment, key=itemgetter(0))
        if place == len(self.points):
            return self.points[-1][1], True
        (end, high), (begin, low) = self.points[place], self.points[place - 1]
        if end == moment:
            return high, True
        if place == 0:
            return None, True
        if low == high:
            return low, True
        return low + round((high - low) * (moment - begin) / (end - begin)), False


def course_of_nothing(numbers: Numbers) -> Course:
    """The course of a scope that has no value yet."""
    return Course([(-math.inf, numbers.before_start)])


def course_of_counter(counter: Counter, numbers: Numbers, now: float) -> Course | None:
    """The course of a counter by its tallies; None if its last value is no number.

    Skipped values were given at no time: the course is as if the counter had been so much higher before.
    """
    last_value = counter.last_value
    if last_value is None:
        return course_of_nothing(numbers)
    if not isinstance(last_value, int):
        return None
    updated = counter.updated_at.timestamp() if counter.updated_at else now
    since = _since(counter, numbers, updated, now)
    points = sorted(_begins(counter, numbers.step, now, since))
    lowest = reversed(list(accumulate((value for _, value in reversed(points)), min)))
    points = [(at, value) for (at, _), value in zip(points, lowest, strict=True)]
    points += _last_write(points, last_value, numbers.step, min(updated, now))
    return Course(sorted(points), last_at=updated if counter.updated_at else None, since=since)


def _since(counter: Counter, numbers: Numbers, updated: float, now: float) -> float | None:
    """Since when all that was given is known; None if that is always.

    A counter without tallies was last written by an earlier version, and gave nothing since.
    """
    row = {**counter.tallies, "last_value": counter.last_value}
    if known_from_start(row, numbers.before_start, numbers.step):
        return None
    return min(counter.tallies.get(SINCE, updated), now)


def _begins(counter: Counter, step: int, now: float, since: float | None) -> Iterator[Point]:
    """The value when each hour and each day began, from now back by their tallies."""
    for ruler in RULERS:
        value = counter.last_value or 0
        for name in ruler.names(now):
            value -= step * counter.tallies.get(name, 0)
            began = float(int(name[1:]) * ruler.seconds)
            if since is not None and began <= since:
                yield since, value
                break
            yield began, value


def _last_write(points: Sequence[Point], last_value: int, step: int, at: float) -> Iterator[Point]:
    """The last write gave at least one value."""
    place = bisect_right(points, at, key=itemgetter(0))
    before = points[place - 1][1] if place else last_value
    yield at, min(max(last_value - step, before), last_value)
    yield at, last_value


def course_of_items(times: Mapping[int, float], numbers: Numbers, last_value: int, now: float) -> Course | None:
    """The course of items by the times of some, by number; None without any time.

    Times that do not rise with the numbers do not count.
    """
    rising = _rising(times)
    if not rising:
        return None
    points = [point for number, at in rising for point in ((at, number - numbers.step), (at, number))]
    first, since = rising[0]
    begun = [(-math.inf, numbers.before_start)] if first == numbers.start else []
    return Course([*begun, *points, (now, last_value)], last_at=times.get(last_value), since=None if begun else since)


def _rising(times: Mapping[int, float]) -> list[tuple[int, float]]:
    """The most numbers whose times never fall, in order: the longest such part of them."""
    ends: list[float] = []  # of the chains of each length, the least last time
    chains: list[tuple[Any, ...]] = []
    for number, at in sorted(times.items()):
        place = bisect_right(ends, at)
        chain = ((number, at), chains[place - 1] if place else None)
        ends[place : place + 1], chains[place : place + 1] = [at], [chain]
    found, link = [], chains[-1] if chains else None
    while link:
        found.append(link[0])
        link = link[1]
    return found[::-1]


def first_probes(start: int, last_value: int) -> list[int]:
    """The last number, those 1, 2, 4, 8 and so on before it, and the first.

    Among more than 512 numbers the distances grow by a larger factor, so that there are no more of them.
    """
    factor = max(2.0, (last_value - start) ** (1 / FIRST_STEPS))
    distances = (round(factor**step) for step in range(FIRST_STEPS))
    return sorted({start, last_value, *(max(start, last_value - distance) for distance in distances)})


def further_probes(times: Mapping[int, float], moments: Iterable[float], most: int) -> list[int]:
    """At most so many numbers between those whose times are known, where the moments lie."""
    known = _rising(times)
    places = [bisect_left(known, moment, key=itemgetter(1)) for moment in moments]
    gaps = [(known[place - 1][0], known[place][0]) for place in places if 0 < place < len(known)]
    gaps = [(low, high) for low, high in gaps if high - low > 1]
    return sorted({number for gap in set(gaps) for number in _spread(*gap, most * gaps.count(gap) // len(gaps))})


def _spread(low: int, high: int, count: int) -> list[int]:
    """So many numbers between two, at equal distances; all of them if there are not more."""
    if high - low - 1 <= count:
        return list(range(low + 1, high))
    return [low + (high - low) * part // (count + 1) for part in range(1, count + 1)]


def moment_of(value: object) -> float | None:
    """The seconds since 1970 that an item's time says, as an ISO text or a number; None if it says none."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
            value = Decimal((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
        except (OverflowError, ValueError):
            return None
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= LATEST_MOMENT else None
