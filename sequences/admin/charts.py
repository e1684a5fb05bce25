"""A line of counts by day or by hour, as templates draw it: each point has its moment and its count in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from ..rates import Rates

WIDTH, HEIGHT = 300, 72


Chart = Mapping[str, Any]
"""Points at equal distances, oldest first, in units of a drawing; what is not known has none, and parts the `lines`.

`label` says in words how many there were at most, and lately. `first` and `last` name the ends.
"""


def _chart(counts: Sequence[int | None], names: Sequence[str], unit: str) -> Chart | None:
    """The chart of counts, each with the name of its day or hour; None if none is known."""
    most, step = max((count for count in counts if count is not None), default=None), WIDTH / (len(counts) or 1)
    if most is None:
        return None
    places = [
        (round((place + 0.5) * step, 1), HEIGHT - HEIGHT * (count or 0) // (most or 1), count, name)
        for place, (count, name) in enumerate(zip(counts, names, strict=True))
    ]
    stretches = [list(found) for known, found in groupby(places, lambda place: place[2] is not None) if known]
    begin, unknown = step / 2, sum(count is None for count in counts)
    said = [f"{len(counts)} {unit}s: {most} at most in one" + (f", {names[counts.index(most)]}" if most else "")]
    said += [f"{counts[-1]} in this one"] if counts[-1] is not None else []
    said += [f"{unknown} are not known"] if unknown else []
    return {
        "label": ", ".join(said),
        "points": [
            {"x": x, "y": y, "left": round(x - begin, 1), "width": round(step, 1), "count": count, "name": name}
            for x, y, count, name in places
            if count is not None
        ],
        "lines": [" ".join(f"{x},{y}" for x, y, *_ in (*found, found[-1])) for found in stretches],
        "first": names[0],
        "last": names[-1],
        "width": WIDTH,
        "height": HEIGHT,
    }


def by_day(rates: Rates) -> Chart | None:
    """The last 30 days."""
    return _chart(rates.days, _names(len(rates.days), timedelta(days=1), "%Y-%m-%d"), "day")


def by_hour(rates: Rates) -> Chart | None:
    """The last 24 hours."""
    return _chart(rates.hours, _names(len(rates.hours), timedelta(hours=1), "%d %b %H:00"), "hour")


def _names(count: int, each: timedelta, form: str) -> list[str]:
    now = datetime.now(UTC)
    return [(now - each * (count - 1 - place)).strftime(form) for place in range(count)]
