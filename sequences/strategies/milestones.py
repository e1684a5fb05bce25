"""Milestones: the values that a counter had when the last hours, eighths of a day and days began, kept in its row.

    d20411 = 340    the last value when the 20411th day since 1970 began (UTC)
    e163288, h489865    the same for three hours, and for one

The first write in an hour sets those that are missing, in the request that counts anyway. A milestone that is not there
means that nothing was counted in its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..expressions import SINCE, Milestones, Wire
from ..types import Scope
from .lru import LRU

__all__ = ["RULERS", "SINCE", "MilestoneMemory", "Ruler", "begun_at", "kept_at", "milestones_in", "moved", "put_again"]

HOUR = 3_600
MOST_OUTDATED = 8  # a row of 1 KB has room for these beside those of a month and for values of 15 digits
LARGEST_VALUE = 10**15 - 1  # larger values make the row larger than 1 KB, and each write costs 2 units then


class Ruler(NamedTuple):
    """Milestones at equal distances: how their names begin, their distance in seconds, and how many are read."""

    letter: str
    seconds: int
    read: int

    def names(self, now: float, *, more: int = 0) -> list[str]:
        """Those that are read at a moment, the newest first, and `more` on both sides."""
        newest = int(now) // self.seconds
        return [f"{self.letter}{number}" for number in range(newest + more, newest - self.read - more, -1)]


RULERS = (Ruler("d", 24 * HOUR, 31), Ruler("e", 3 * HOUR, 9), Ruler("h", HOUR, 2))
"""30 days and an hour go back to one milestone more, as they begin between two."""


def begun_at(now: float) -> tuple[str, ...]:
    """The milestones whose time a moment is in."""
    return _begun(int(now) // HOUR)


@lru_cache(4)
def _begun(hour: int) -> tuple[str, ...]:
    return tuple(f"{ruler.letter}{hour * HOUR // ruler.seconds}" for ruler in RULERS)


def kept_at(now: float) -> frozenset[str]:
    """The milestones that a row keeps: those that are read, and one more, as the clocks of two processes may differ."""
    return _kept(int(now) // HOUR)


@lru_cache(4)
def _kept(hour: int) -> frozenset[str]:
    return frozenset(name for ruler in RULERS for name in ruler.names(hour * HOUR, more=1))


def milestones_in(row: Iterable[str]) -> Iterator[str]:
    """The names of the milestones among the attributes of a row."""
    return (name for name in row if name[0] in "deh" and name[1:].isdecimal())


def moved(row: Mapping[str, Any], by: int) -> dict[str, int]:
    """The milestones of a row after values were skipped, so that these do not count as handed out."""
    return {name: row[name] + by for name in milestones_in(row) if isinstance(row[name], int)} if by else {}


def put_again(row: Wire, milestones: Milestones | None, *, last_value: int, now: int) -> Wire:
    """The milestones in a counter that is put whole: those it has and keeps, and those that begin now."""
    kept = {name: row[name] for name in milestones_in(row) if name in kept_at(now)}
    if SINCE in row:
        kept[SINCE] = row[SINCE]
    if milestones is None or not milestones.begun:
        return kept
    return {**{name: {"N": str(last_value)} for name in milestones.begun}, SINCE: {"N": str(now)}, **kept}


class MilestoneMemory:
    """What this process knows of the milestones of a sequence's counters, so that few writes have to set some."""

    def __init__(self, before_start: int) -> None:
        self.crowded: dict[Scope, tuple[str, ...]] = {}
        """Scopes whose rows have many outdated milestones. Processes that write once and end leave them."""
        self._before_start = before_start
        self._known: LRU[tuple[int, tuple[str, ...]]] = LRU()  # the hour that has its milestones, and outdated ones

    def forget(self) -> None:
        """Forget everything about every scope."""
        self._known.clear()

    def forget_scope(self, scope: Scope) -> None:
        """Forget everything about one scope."""
        self._known.forget(scope)

    def is_current(self, scope: Scope, now: float) -> bool:
        """Whether the counter is known to have the milestones of this hour."""
        known = self._known.get(scope)
        return known is not None and known[0] == int(now) // HOUR

    def due(self, scope: Scope, now: int, seen: int | None) -> Milestones | None:
        """What the next write of a counter at `seen` does to its milestones; mostly nothing."""
        known = self._known.get(scope)
        hour = now // HOUR
        if known == (hour, ()) or (seen or self._before_start) > LARGEST_VALUE:
            return None
        begun = () if known and known[0] == hour else _begun(hour)
        outdated = tuple(name for name in known[1] if name not in begun) if known else ()
        if outdated:
            self.too_many(scope)
        return Milestones(begun=begun, outdated=outdated, before_start=self._before_start)

    def too_many(self, scope: Scope) -> tuple[str, ...]:
        """The outdated milestones of a crowded row, once, for who removes them. If that fails, others find them."""
        if known := self._known.get(scope):
            self._known.put(scope, (known[0], ()))
        return self.crowded.pop(scope, ())

    def began(self, scope: Scope, now: float) -> None:
        """Note that a write has set the milestones of this hour."""
        self._known.put(scope, (int(now) // HOUR, ()))

    def learn(self, scope: Scope, row: Iterable[str], now: float) -> None:
        """Note which milestones a row has."""
        names = set(milestones_in(row))
        outdated = tuple(names - kept_at(now))
        self._known.put(scope, (int(now) // HOUR if names.issuperset(begun_at(now)) else -1, outdated))
        if len(outdated) > MOST_OUTDATED:
            self.crowded[scope] = outdated
