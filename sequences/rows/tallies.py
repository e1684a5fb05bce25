"""Tallies: how many values a counter gave on each of the last days and in each of the last hours, kept in its row.

    d20411 = 340    values given on the 20411th day since 1970 (UTC)
    h489865 = 12    values given in the 489865th hour

Each write that gives values adds to the tallies of its day and its hour. A tally that is not there is 0. The first
write of a process in an hour also removes those that are too old.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..dynamodb.expressions import SINCE, Tally, Wire
from ..types import Scope
from .lru import LRU

HOUR = 3_600
ALWAYS = 0  # for `since`
MOST_IN_A_ROW = 66  # those that are kept, and some outdated ones: a row of 1 KB has room for them


class Ruler(NamedTuple):
    """Tallies of equal times: how their names begin, for how many seconds each is, and how many are read."""

    letter: str
    seconds: int
    read: int

    def names(self, now: float, *, more: int = 0) -> list[str]:
        """Those that are read at a moment, the newest first, and `more` on both sides."""
        newest = int(now) // self.seconds
        return [f"{self.letter}{number}" for number in range(newest + more, newest - self.read - more, -1)]


_TALLY = re.compile(r"[dh]\d+")
RULERS = (Ruler("d", 24 * HOUR, 31), Ruler("h", HOUR, 25))
"""30 days and 24 hours take one tally more, as they begin in the midst of one."""


def hour_of(now: float) -> int:
    """The number of the hour since 1970."""
    return int(now) // HOUR


@lru_cache(4)
def _current(hour: int) -> tuple[str, str]:
    """The tallies of an hour; its day's comes first."""
    day, hours = RULERS
    return f"{day.letter}{hour * HOUR // day.seconds}", f"{hours.letter}{hour}"


@lru_cache(4)
def kept_in(hour: int) -> frozenset[str]:
    """The tallies that a row keeps: those that are read, and one more, as the clocks of two processes may differ."""
    return frozenset(name for ruler in RULERS for name in ruler.names(hour * HOUR, more=1))


def tallies_in(row: Iterable[str]) -> Iterator[str]:
    """The names of the tallies among the attributes of a row."""
    return filter(_TALLY.fullmatch, row)


def known_from_start(row: Mapping[str, Any], before_start: int, step: int) -> bool:
    """Whether a counter's tallies tell of all that it has given."""
    last_value = row.get("last_value")
    days = [row[name] for name in tallies_in(row) if name[0] == RULERS[0].letter]
    given = sum(count for count in days if isinstance(count, int))
    return last_value in (None, before_start + step * given) or row.get(SINCE) == ALWAYS


def put_again(row: Wire, tally: Tally, now: int) -> Wire:
    """The tallies in a counter that is put whole: those of the row that it keeps, and what is given now."""
    kept = {name: row[name] for name in tallies_in(row) if name in kept_in(hour_of(now))}
    for name in (tally.day, tally.hour):
        before = int(kept[name]["N"]) if name in kept else 0
        kept[name] = {"N": str(before + tally.given)}
    return {**kept, SINCE: row.get(SINCE, {"N": str(now)})}


class _Known(NamedTuple):
    """What is known of a row: the hour of our last write, tallies that are kept, outdated ones, and if that is all."""

    hour: int
    kept: tuple[str, ...]
    outdated: tuple[str, ...] = ()
    is_all: bool = False


_NOTHING = _Known(-1, ())


def _shared(names: set[str], kept: frozenset[str]) -> tuple[str, ...]:
    """Those names that are kept, as texts that the memories of all scopes share."""
    return tuple(name for name in kept if name in names)


class TallyMemory:
    """What this process knows of the tallies in the counters of a sequence, so that outdated ones go."""

    def __init__(self) -> None:
        self.crowded: dict[Scope, tuple[str, ...]] = {}
        """Scopes whose rows have many outdated tallies. Processes that write once and end leave them."""
        self._known: LRU[_Known] = LRU()
        self.forget, self.forget_scope = self._known.clear, self._known.forget

    def wants_row(self, scope: Scope, now: float, remembered_at: float) -> bool:
        """Whether to read the counter though its last value is remembered, as its row was never seen.

        That is so in the first write of a process, unless somebody wrote in this hour, and in its next hour.
        """
        known = self._known.get(scope)
        if known is None:
            return hour_of(now) != hour_of(remembered_at)
        return not known.is_all and known.hour != hour_of(now)

    def next(self, scope: Scope, now: int, given: int, row: Iterable[str] | None = None) -> Tally:
        """What the next write does to the tallies, when it gives so many values, after a look at this row, if any."""
        if row is not None and (self._known.get(scope) or _NOTHING).hour != hour_of(now):
            self.learn(scope, row, now)
        known, hour = self._known.get(scope) or _NOTHING, now // HOUR
        day_name, hour_name = _current(hour)
        if known.hour == hour and not known.outdated:
            return Tally(day_name, hour_name, given)
        names, kept = {day_name, hour_name, *known.kept, *known.outdated}, kept_in(hour)
        self._known.put(scope, _Known(hour, _shared(names, kept), is_all=known.is_all))
        self.crowded.pop(scope, None)
        return Tally(day_name, hour_name, given, is_first=known.hour != hour, outdated=tuple(names - kept))

    def learn(self, scope: Scope, row: Iterable[str], now: float) -> None:
        """Note which tallies a row has after a write of this process, which comes next or has just been made."""
        names, kept = set(tallies_in(row)), kept_in(hour_of(now))
        hour, outdated = (self._known.get(scope) or _NOTHING).hour, tuple(names - kept)
        self._known.put(scope, _Known(hour, _shared(names, kept), outdated, is_all=True))
        if len(names) > MOST_IN_A_ROW:
            self.crowded[scope] = outdated

    def too_many(self, scope: Scope) -> tuple[str, ...]:
        """The outdated tallies of a crowded row, once, for who removes them. If that fails, others find them."""
        outdated = self.crowded.pop(scope, ())
        if outdated and (known := self._known.get(scope)):
            self._known.put(scope, known._replace(outdated=()))
        return outdated
