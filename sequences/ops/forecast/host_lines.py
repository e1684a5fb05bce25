"""The line of hosts, played: who lines up at a scope, waits for the turn, and leaves (`strategies.host_line`).

Left out are places that are lost with their process, and rows that expire.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ...commit.retries import Deadline
from ...rows.host_line import (
    LINGER_SECONDS,
    LONGEST_TURN,
    LONGEST_WAIT,
    LOOK_SECONDS,
    MOST_LOST,
    PAUSE_SECONDS,
    WAIT_SECONDS,
    WON,
)
from .clock import Clock, Steps
from .table import Result, SimulatedTable, Write

__all__ = ["HostLine", "Row"]


@dataclass(slots=True)
class Row:
    """The row of a line: the places that are taken, the last that was given back, and the last value that was left."""

    taken: int = 0
    given_back: int = 0
    last_value: int | None = None


class HostLine:
    """The line of hosts at a scope, as one process sees it."""

    def __init__(self, table: SimulatedTable, scope: Hashable, row: Row, chance: random.Random) -> None:
        self._table = table
        self._clock: Clock = table.clock
        self._key: Hashable = ("line", scope)
        self._row = row
        self._chance = chance
        self._lost = False
        self._lost_more = 0.0
        self._lines_up = False
        self._place = self._given_back = 0
        self._met_others_at = 0.0
        self._looked_at = table.clock.now
        self._wrote_at: float | None = None

    def lost(self, items: int) -> None:
        """`HostLine.lost`."""
        self._lost = True
        self._lost_more += items
        if self._lost_more >= MOST_LOST and not self._lines_up:
            self._lines_up, self._met_others_at = True, self._clock.now

    def won(self) -> None:
        """`HostLine.won`."""
        self._lost, self._lost_more = False, max(0.0, self._lost_more - WON)
        self._wrote_at = self._clock.now

    def enter(self, wanted_at: float, deadline: Deadline) -> Steps[int | None]:
        """Wait for the turn, if this process lines up; the last value that the host before left."""
        now = self._clock.now
        wrote_at, self._wrote_at = self._wrote_at, None
        if wrote_at is not None and wanted_at - wrote_at > PAUSE_SECONDS:
            self._looked_at = now
        elif not self._lines_up and now - self._looked_at > LOOK_SECONDS:
            row = yield from self._look(0.5)
            self._looked_at = self._met_others_at = now
            self._lines_up = row.taken > row.given_back
        if not self._lines_up:
            return None
        return (yield from self._await_turn(deadline))

    @property
    def in_line(self) -> bool:
        return self._place > 0

    def leave(self, last_value: int | None) -> Steps[None]:
        """Give the turn back, and leave the line if nobody else is there."""
        if not self._lines_up:
            return
        place, self._place = self._place, 0
        if place:
            yield from self._give_back(place, None if self._lost else last_value)
        now = self._clock.now
        if place and (self._row.taken > place or place > self._given_back + 1):
            self._met_others_at = now
        self._given_back = place
        if now - self._met_others_at > LINGER_SECONDS:
            self._lines_up, self._looked_at = False, now

    def _await_turn(self, deadline: Deadline) -> Steps[int | None]:
        before, moved_at, half = -1, self._clock.now, deadline.left / 2
        while deadline.left > half:
            row = (yield from self._look(1)) if self._place else (yield from self._take())
            ahead = self._place - 1 - row.given_back
            if ahead < 0:
                self._place = 0
                continue
            if ahead == 0:
                return row.last_value
            if row.given_back != before:
                before, moved_at = row.given_back, self._clock.now
            if self._clock.now - moved_at > LONGEST_TURN * ahead:
                return None
            bound = min(LONGEST_WAIT, WAIT_SECONDS * ahead)
            yield max(0.0, min(self._chance.uniform(bound / 2, bound), deadline.left - half))
        return None

    def _look(self, units: float) -> Steps[Row]:
        """Read the row, as it is when the table sees the request."""
        row = self._row
        found = yield from self._table.look({self._key: units}, lambda: Row(row.taken, row.given_back, row.last_value))
        return found or Row(row.taken, row.given_back)

    def _take(self) -> Steps[Row]:
        """Take the next place; the row as it is then."""
        found = Row()

        def apply() -> None:
            nonlocal found
            self._row.taken += 1
            found = Row(self._row.taken, self._row.given_back, self._row.last_value)

        yield from self._write(apply)
        self._place = found.taken
        return found

    def _give_back(self, place: int, last_value: int | None) -> Steps[None]:
        def apply() -> None:
            self._row.given_back = max(self._row.given_back, place)
            self._row.last_value = last_value

        yield from self._write(apply)

    def _write(self, apply: Callable[[], None]) -> Steps[Result]:
        return self._table.write(Write({self._key: 1}, [self._key], False, lambda: True, apply))
