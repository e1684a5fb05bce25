"""A queue of hosts at a scope for which they race: a row of the table gives out places, first come, first served.

The host lock lets the processes of one host take turns. Processes of different hosts race by the conditions of their
writes. Where all write without a pause, the one that won last knows the last value first, and wins again: the others
may lose until their deadlines. So who loses a race with several items, which costs more than a turn, or MOST_LOST races
in a row, or more than one in six for long, takes a place in the line. Who writes without a pause looks every
LOOK_SECONDS whether somebody waits there, and lines up behind.

    host A   takes place 7, has the turn --gives it back, leaves the last value
    host B        takes place 8, waits -------- has the turn --gives it back
    host A                  takes place 9, waits ------------- has the turn

Who met nobody in the line for LINGER_SECONDS leaves it and races again.

The line only saves races: the condition of each write decides what is stored. So nobody waits for more than half of the
time that its call has left, nor for a place that is not given back for LONGEST_TURN, as after a crash. A line that
cannot be used is done without.

The last value that a host leaves saves the next one a read. It counts for the same tables, in the same lives, and the
same partition, and for BELIEVED_SECONDS: rows may be deleted or restored, and a value ahead of them would make a gap.

Cost of a turn: 2 write units in a partition of its own, and a read unit for each look while others have their turns.
Who lines up never pays nothing but half a read unit every LOOK_SECONDS of writing without a pause. The row is beside
the markers, and expires a day after its last use.

It is a ticket lock; see Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
Multiprocessors", section 2.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import dynamodb
from ..commit.retries import GRACE_SECONDS, Deadline
from ..dynamodb import expressions
from ..dynamodb.expressions import KeySchema
from ..exceptions import StorageError
from ..types import Scope, scope_text
from .lru import LRU

MOST_LOST = 2
WON = 0.2  # of a lost race
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 0.1  # in which others win, if they want to
LINGER_SECONDS = 1.0
LONGEST_TURN = 1.0
WAIT_SECONDS = 0.004  # between two looks, for each place ahead
LONGEST_WAIT = 0.2
EXPIRY_SECONDS = 86_400
BELIEVED_SECONDS = 2.0  # by the engine's clock, whose dates are whole seconds
TURN_UNITS = 2.0  # to take a place, and to give it back

Line = Mapping[str, Any] | None
"""The row of a line; None if there is none, or if it cannot be used."""


@dataclass(slots=True)
class _Place:
    """What a process knows of the line at a scope.

    `lost` says whether it lost the last race. `lost_more` is how many items it has lost races with, less WON for each
    write. `wrote_at` is when it stored something, None since it wants to write again.
    """

    lost: bool = False
    lost_more: float = 0.0
    lines_up: bool = False
    given_back: int = 0
    met_others_at: float = 0.0
    looked_at: float = 0.0
    wrote_at: float | None = None


@dataclass(slots=True)
class Turn:
    """The last value that the host before left, then the one to leave; None without one. And what the turn has cost.

    `place` is the number of this process in the line, 0 outside of it.
    """

    counted_in: str = ""
    place: int = 0
    last_value: int | None = None
    write_units: float = 0.0
    read_units: float = 0.0

    @property
    def fingerprint(self) -> str:
        """What the row of the line says about the tables and the partition."""
        return hashlib.sha256(self.counted_in.encode()).hexdigest()[:16]


@dataclass(eq=False, repr=False)
class HostQueue:
    """The queues of hosts at the scopes of one sequence, as this process sees them. Nothing is sent again."""

    name: str
    schema: KeySchema
    clock: Callable[[], float]
    wall: Callable[[], float]
    _places: LRU[_Place] = field(default_factory=LRU, init=False)

    def key(self, scope: Scope) -> dict[str, Any]:
        """The key of a line's row. No scope's items can have it."""
        return self.schema.key(f"#line#{self.name}#{scope_text(scope)}", 0)

    def lost(self, scope: Scope, items: int = 1) -> None:
        """This process lost a race with so many items."""
        place = self._places.get(scope) or self._new_place(scope)
        place.lost = True
        place.lost_more += items
        if place.lost_more >= MOST_LOST and not place.lines_up:
            place.lines_up, place.met_others_at = True, self.clock()

    def won(self, scope: Scope) -> None:
        """This process stored something."""
        if place := self._places.get(scope):
            place.lost, place.lost_more = False, max(0.0, place.lost_more - WON)
            place.wrote_at = self.clock()

    @contextmanager
    def turn(self, scope: Scope, counted_in: str, wanted_at: float, deadline: Deadline) -> Iterator[Turn]:
        """Have a turn during the block, if this process lines up. `wanted_at` is when it began to wait for its host.

        `counted_in` names the tables, in their lives, and the partition to which a last value belongs.

        The turn is given back after the block: another process of the host would wait for it in vain. So who loses a
        race in its turn tries again within the block.
        """
        turn = Turn(counted_in=counted_in)
        self._look(scope, wanted_at, turn, deadline)
        place = self._places.get(scope)
        if place is None or not place.lines_up:
            yield turn
            return
        self._await_turn(scope, turn, deadline)
        try:
            yield turn
        finally:
            self._give_back(scope, place, turn, deadline)

    def _new_place(self, scope: Scope) -> _Place:
        place = _Place(looked_at=self.clock())
        self._places.put(scope, place)
        return place

    def _look(self, scope: Scope, wanted_at: float, turn: Turn, deadline: Deadline) -> None:
        """Look whether somebody waits, after LOOK_SECONDS without a pause between a write and the wish for the next."""
        now, place = self.clock(), self._places.get(scope) or self._new_place(scope)
        wrote_at, place.wrote_at = place.wrote_at, None
        if wrote_at is not None and wanted_at - wrote_at > PAUSE_SECONDS:
            place.looked_at = now
        elif now - place.looked_at > LOOK_SECONDS and not (place.lines_up or deadline.over):
            line = self._read(scope, turn, deadline, consistent=False) or {}
            place.looked_at = place.met_others_at = now
            place.lines_up = line.get("taken", 0) > line.get("given_back", 0)

    def _await_turn(self, scope: Scope, turn: Turn, deadline: Deadline) -> None:
        """Take a place, and wait until the one before is given back.

        Go on without the turn after half of the time, which leaves the other half for races, and when none is given
        back for as many LONGEST_TURN as there are ahead.
        """
        before, moved_at, half = -1, self.clock(), deadline.left / 2
        while deadline.left > half:
            line = self._read(scope, turn, deadline) if turn.place else self._take(scope, turn, deadline)
            if line is None:
                return
            given_back = line.get("given_back", 0)
            ahead = turn.place - 1 - given_back
            if ahead < 0:  # overtaken by those who took this process for lost
                turn.place = 0
                continue
            if ahead == 0:
                turn.last_value = self._believed(line, turn)
                return
            if given_back != before:
                before, moved_at = given_back, self.clock()
            if self.clock() - moved_at > LONGEST_TURN * ahead:
                return
            bound = min(LONGEST_WAIT, WAIT_SECONDS * ahead)
            deadline.timing.sleep(max(0.0, min(deadline.timing.uniform(bound / 2, bound), deadline.left - half)))

    def _believed(self, line: Mapping[str, Any], turn: Turn) -> int | None:
        """The last value that the host before has just left; None if it may be higher than what the table has.

        A value of other tables, or one that was left before rows were deleted or restored, would make a gap.
        """
        age = self.wall() - line.get("left_at", 0) / 1000
        believed = line.get("counted_in") == turn.fingerprint and abs(age) <= BELIEVED_SECONDS
        return line.get("last_value") if believed else None

    def _take(self, scope: Scope, turn: Turn, deadline: Deadline) -> Line:
        expires = int(self.wall()) + EXPIRY_SECONDS
        request = expressions.take_place(self.schema.table, self.key(scope), expires=expires)
        line = self._sent("update_item", request, turn, deadline)
        turn.place = line["taken"] if line else 0
        turn.write_units += TURN_UNITS if line else 0.0
        return line

    def _give_back(self, scope: Scope, place: _Place, turn: Turn, deadline: Deadline) -> None:
        """Give the place back, and leave the line if this process has met nobody there for LINGER_SECONDS."""
        line: Line = None
        if turn.place:
            table, key = self.schema.table, self.key(scope)
            left: dict[str, Any] = {}
            if turn.last_value is not None and not place.lost:
                left = {"last_value": turn.last_value, "left_at": int(self.wall() * 1000)}
                left["counted_in"] = turn.fingerprint
            request = expressions.give_place_back(table, key, place=turn.place, left=left)
            line = self._sent("update_item", request, turn, deadline)
        now = self.clock()
        if line and (line["taken"] > turn.place or turn.place > place.given_back + 1):
            place.met_others_at = now
        place.given_back = turn.place
        if now - place.met_others_at > LINGER_SECONDS:
            place.lines_up, place.looked_at = False, now

    def _read(self, scope: Scope, turn: Turn, deadline: Deadline, *, consistent: bool = True) -> Line:
        request = {**expressions.read_item(self.schema.table, self.key(scope)), "ConsistentRead": consistent}
        return self._sent("get_item", request, turn, deadline)

    def _sent(self, operation: str, request: Mapping[str, Any], turn: Turn, deadline: Deadline) -> Line:
        """The line in the answer; None without one."""
        try:
            seconds = min(LONGEST_TURN, max(deadline.left, GRACE_SECONDS))
            answer = dynamodb.call(operation, request, seconds=seconds, client=deadline.client)
        except StorageError:  # the call goes on without the line
            return None
        if operation == "get_item":
            turn.read_units += dynamodb.used_units(answer)
        return dynamodb.unmarshal(answer.get("Item" if operation == "get_item" else "Attributes", {})) or None
