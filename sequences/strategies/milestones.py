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
ALWAYS = 0  # for `since`
MOST_IN_A_ROW = 48  # those that are read, and some outdated ones: a row of 1 KB has room for them with 15 digits each
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


def moved(row: Mapping[str, Any], by: int, before_start: int) -> dict[str, int]:
    """The milestones of a row after values were skipped, so that these do not count as handed out.

    Where one shows that all was counted since START, `since` goes on to say so.
    """
    known = {name: row[name] for name in milestones_in(row) if isinstance(row[name], int)} if by else {}
    from_start = {SINCE: ALWAYS} if before_start in known.values() else {}
    return {**{name: value + by for name, value in known.items()}, **from_start}


def put_again(row: Wire, milestones: Milestones | None, *, last_value: int, now: int) -> Wire:
    """The milestones in a counter that is put whole: those it has and keeps, and those that begin now."""
    kept = {name: row[name] for name in milestones_in(row) if name in kept_at(now)}
    if SINCE in row:
        kept[SINCE] = row[SINCE]
    if milestones is None or not milestones.begun:
        return kept
    return {**{name: {"N": str(last_value)} for name in milestones.begun}, SINCE: {"N": str(now)}, **kept}


class _Known(NamedTuple):
    """What is known of a row: the hour whose milestones it has, the milestones it keeps, and outdated ones."""

    hour: int
    kept: tuple[str, ...]
    outdated: tuple[str, ...] = ()


class MilestoneMemory:
    """What this process knows of the milestones of a sequence's counters, so that few writes have to set some."""

    def __init__(self, before_start: int) -> None:
        self.crowded: dict[Scope, tuple[str, ...]] = {}
        """Scopes whose rows have many outdated milestones. Processes that write once and end leave them."""
        self._before_start = before_start
        self._known: LRU[_Known] = LRU()

    def forget(self) -> None:
        """Forget everything about every scope."""
        self._known.clear()

    def forget_scope(self, scope: Scope) -> None:
        """Forget everything about one scope."""
        self._known.forget(scope)

    def knows(self, scope: Scope) -> bool:
        """Whether anything is known of the counter's row."""
        return self._known.get(scope) is not None

    def is_current(self, scope: Scope, now: float) -> bool:
        """Whether the counter is known to have the milestones of this hour."""
        known = self._known.get(scope)
        return known is not None and known.hour == int(now) // HOUR

    def due(self, scope: Scope, now: int, seen: int | None) -> Milestones | None:
        """What the next write of a counter at `seen` does to its milestones; mostly nothing."""
        known, hour = self._known.get(scope), now // HOUR
        is_current = known is not None and known.hour == hour
        if (is_current and known and not known.outdated) or (seen or self._before_start) > LARGEST_VALUE:
            return None
        begun = () if is_current else _begun(hour)
        kept = _kept(hour)
        outdated = tuple(name for name in (*known.kept, *known.outdated) if name not in kept) if known else ()
        if outdated:
            self.too_many(scope)
        return Milestones(begun=begun, outdated=outdated, before_start=self._before_start)

    def too_many(self, scope: Scope) -> tuple[str, ...]:
        """The outdated milestones of a crowded row, once, for who removes them. If that fails, others find them."""
        if known := self._known.get(scope):
            self._known.put(scope, known._replace(outdated=()))
        return self.crowded.pop(scope, ())

    def began(self, scope: Scope, now: float) -> None:
        """Note that a write has done what was due in this hour."""
        known = self._known.get(scope)
        self._note(scope, {*(known.kept if known else ()), *begun_at(now)} & kept_at(now), now)

    def learn(self, scope: Scope, row: Iterable[str], now: float) -> None:
        """Note which milestones a row has."""
        self._note(scope, set(milestones_in(row)), now)

    def _note(self, scope: Scope, names: set[str] | frozenset[str], now: float) -> None:
        kept = tuple(name for name in kept_at(now) if name in names)  # these texts are shared by all scopes
        outdated = tuple(names - kept_at(now))
        hour = int(now) // HOUR if names.issuperset(begun_at(now)) else -1
        self._known.put(scope, _Known(hour, kept, outdated))
        if outdated and len(names) > MOST_IN_A_ROW:
            self.crowded[scope] = outdated
