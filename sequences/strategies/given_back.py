"""Values that a process gives back when it stops, kept in the row of their counter until another process begins there.

The counter itself never goes back. The values wait in one attribute of its row, with the life of the table: a restored
row must not give them again. Both writes are on the condition that the row is as it was read, by the token that every
write of a counter leaves in it, so that one process gets the values, once, even if a write arrives twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .. import dynamodb, expressions
from ..exceptions import WriteCancelled
from ..expressions import BORN, CHANGED, GIVEN_BACK
from ..retries import Deadline, new_token, read, write_once
from ..types import Scope
from .stored_counter import StoredCounter

__all__ = ["Beginning", "GivenBack"]

MOST_RANGES = 8  # so that the row of a counter stays below 1 KB


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a process found a counter when it began to hold blocks: the mark of the last change by an operator, the life
    of the table, the values that it took because others had given them back, and the mark of the counter's birth.

    Without a counter, or with one of an older version, the first block tells its birth.
    """

    changed: str | None
    life: str
    ranges: tuple[range, ...] = ()
    born: str | None = None


class GivenBack:
    """The values that were given back in the scopes of one sequence."""

    def __init__(self, counter: StoredCounter) -> None:
        self._counter = counter

    def take(self, scope: Scope, deadline: Deadline) -> Beginning:
        """Take all that was given back in a scope, in ascending order. One read, and one write if there is something.

        Raises what the next reservation would raise, such as SequenceFrozen.
        """
        counter, send = self._counter, partial(read, deadline=deadline)
        counter.check_items(scope, send)
        while True:
            row = dynamodb.unmarshal(counter.state(scope, send).row or {})
            life = self._life(deadline)
            begun = Beginning(row.get(CHANGED), life, tuple(self._usable(row, life)), row.get(BORN))
            if not begun.ranges:
                return begun
            token = new_token()
            try:
                self._write(scope, row, deadline, token, removes=[GIVEN_BACK])
            except WriteCancelled as error:
                if error.after_unknown:  # perhaps they were taken: nobody may take them from here
                    return replace(begun, ranges=())
                deadline.try_again(error)
            else:
                return replace(begun, born=begun.born or token)

    def give(self, scope: Scope, ranges: Sequence[range], since: Beginning, deadline: Deadline) -> bool:
        """Give values back that nobody got. Returns whether they are: not after a change by an operator, to another
        counter than theirs, in another life of the table, or beside too many others. Two requests and a
        `DescribeTable`, for 1 read and 1 write unit.
        """
        while True:
            request = expressions.read_item(self._counter.table, self._counter.key(scope))
            row = dynamodb.unmarshal(read("get_item", request, deadline=deadline).get("Item", {}))
            # After the read: in a table that is made again later, no row has this token.
            life = self._life(deadline, anew=True)
            texts = [*self._texts(row, life), *(f"{one.start}:{one.stop}:{one.step}" for one in ranges)]
            is_same = life == since.life and row.get(CHANGED) == since.changed and row.get(BORN) == since.born
            if not (life and since.born and is_same) or len(texts) > MOST_RANGES:
                return False
            try:
                kept = {GIVEN_BACK: {"life": life, "ranges": texts}}
                self._write(scope, row, deadline, new_token(), sets=kept)
            except WriteCancelled as error:
                if error.after_unknown:  # they may be given back, and even taken: never twice
                    return False
                deadline.try_again(error)
            else:
                return True

    def _write(self, scope: Scope, row: Mapping[str, Any], deadline: Deadline, token: str, **changes: Any) -> None:
        """Change the row if it is as it was read. A freeze leaves the token alone."""
        changes["sets"] = {**changes.get("sets", {}), "token": token}
        request = expressions.change_row(
            self._counter.table,
            self._counter.key(scope),
            unchanged={"token": row["token"], "frozen": None},
            if_missing={BORN: token},
            **changes,
        )
        write_once("update_item", request, token=token, deadline=deadline)

    def _life(self, deadline: Deadline, *, anew: bool = False) -> str:
        """The identity of the life of the counters' table; empty if the engine does not tell it."""
        counter = self._counter
        return dynamodb.life_of(counter.table, send=deadline.send, anew=anew, alias=counter.client).identity

    def _texts(self, row: Mapping[str, Any], life: str) -> list[str]:
        kept = row.get(GIVEN_BACK)
        return list(kept["ranges"]) if isinstance(kept, Mapping) and life and kept.get("life") == life else []

    def _usable(self, row: Mapping[str, Any], life: str) -> list[range]:
        """The ranges in a row that are values of the sequence as it is configured now, without those that are not."""
        numbers = self._counter.numbers
        found = [range(*map(int, text.split(":"))) for text in self._texts(row, life)]
        fitting = (one for one in found if one.step == numbers.step and not numbers.problem(one[0]))
        return sorted((one for one in fitting if one[-1] <= numbers.maximum), key=lambda one: one.start)
