"""Values that a process gives back when it stops, kept in the row of their counter until another process begins there.

The counter itself never goes back. The values wait in one attribute of its row, with the life of the table: a restored
row must not give them again. Both writes are on the condition that the row is as it was read, so that one process gets
the values, once, even if a write arrives twice: by the token that every write of a counter leaves in it, and by the
last value, as an addition that arrives again brings back its token.

A process remembers what it took: a row that offers it again went back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import dynamodb
from ..commit.retries import Deadline, new_token, write_once
from ..dynamodb.expressions import BORN, CHANGED, GIVEN_BACK
from ..exceptions import WriteCancelled
from ..rows import operator_errors
from ..rows.lru import LRU, SCOPES_CHECKED
from ..rows.reading import stored_row
from ..rows.stored_counter import StoredCounter
from ..types import Scope

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

    def is_of(self, row: Mapping[str, Any]) -> bool:
        """Whether a counter is the one that was found, and no operator has changed it since."""
        return row.get(CHANGED) == self.changed and self.born in (None, row.get(BORN))


class GivenBack:
    """The values that were given back in the scopes of one sequence."""

    def __init__(self, counter: StoredCounter) -> None:
        self._counter = counter
        self._taken: LRU[Beginning] = LRU(SCOPES_CHECKED)

    def forget(self) -> None:
        """Forget what was taken in every scope."""
        self._taken.clear()

    def take(self, scope: Scope, deadline: Deadline, *, above: int | None = None) -> Beginning:
        """Take what was given back in a scope and is higher than `above`, in ascending order.

        The rest stays for other processes. One read, and one write if there is something. Raises what the next
        reservation would raise, such as SequenceFrozen, and SequenceWentBack if the row offers again what was taken.
        """
        counter, send = self._counter, deadline.read
        counter.memory.check_items(scope, send)
        while True:
            row = dynamodb.unmarshal(counter.state(scope, send).row or {})
            life = self._life(deadline)
            if self.offers_again(scope, row):
                raise operator_errors.offered_again(counter.alias, scope, known=row["last_value"])
            usable = self._usable(row, life)
            ranges = tuple(one for one in usable if above is None or one.start > above)
            begun = Beginning(row.get(CHANGED), life, ranges, row.get(BORN))
            if not begun.ranges:
                return begun
            token = new_token()
            left = [_text(one) for one in usable if one not in ranges]
            try:
                self._write(scope, row, deadline, token, **_kept(life, left))
            except WriteCancelled as error:
                if error.after_unknown:  # perhaps they were taken: nobody may take them from here
                    return replace(begun, ranges=())
                deadline.try_again(error)
            else:
                begun = replace(begun, born=begun.born or token)
                self._remember(scope, begun)
                return begun

    def offers_again(self, scope: Scope, row: Mapping[str, Any]) -> bool:
        """Whether a row offers values that this process took from it and did not give back: then the row went back."""
        taken = self._taken.get(scope)
        if taken is None or row.get(BORN) != taken.born:
            return False
        offered = map(_range, self._texts(row, taken.life))
        return any(_overlap(one, other) for one in offered for other in taken.ranges)

    def _remember(self, scope: Scope, begun: Beginning) -> None:
        before = self._taken.get(scope)
        if before and (before.life, before.born) == (begun.life, begun.born):
            begun = replace(begun, ranges=(*before.ranges, *begun.ranges)[-MOST_RANGES:])
        self._taken.put(scope, begun)

    def _forget_given(self, scope: Scope, ranges: Sequence[range]) -> None:
        """Remember of what was taken only what is not given back: the beginnings of its ranges."""
        if taken := self._taken.get(scope):
            first = min(one.start for one in ranges)
            kept = (range(one.start, min(one.stop, first), one.step) for one in taken.ranges)
            self._taken.put(scope, replace(taken, ranges=tuple(filter(len, kept))))

    def give(self, scope: Scope, ranges: Sequence[range], since: Beginning, deadline: Deadline) -> bool:
        """Give values back that nobody got. Returns whether they are: not after a change by an operator, to another
        counter than theirs, in another life of the table, or beside too many others. Two requests and a
        `DescribeTable`, for 1 read and 1 write unit.
        """
        self._forget_given(scope, ranges)
        while True:
            row = stored_row(self._counter.table, self._counter.key(scope), deadline.read)
            # After the read: in a table that is made again later, no row has this token.
            life = self._life(deadline, anew=True)
            texts = [*self._texts(row, life), *map(_text, ranges)]
            is_same = life == since.life and since.is_of(row)
            if not (life and since.born and is_same) or len(texts) > MOST_RANGES:
                return False
            try:
                self._write(scope, row, deadline, new_token(), **_kept(life, texts))
            except WriteCancelled as error:
                if error.after_unknown:  # they may be given back, and even taken: never twice
                    return False
                deadline.try_again(error)
            else:
                return True

    def _write(self, scope: Scope, row: Mapping[str, Any], deadline: Deadline, token: str, **changes: Any) -> None:
        """Change the row if it is as it was read. A freeze leaves the token alone."""
        changes["sets"] = {**changes.get("sets", {}), "token": token}
        unchanged = {"token": row["token"], "last_value": row.get("last_value"), "frozen": None}
        request = self._counter.rows.change(scope, unchanged=unchanged, if_missing={BORN: token}, **changes)
        write_once("update_item", request, token=token, deadline=deadline)

    def _life(self, deadline: Deadline, *, anew: bool = False) -> str:
        """The identity of the life of the counters' table; empty if the engine does not tell it."""
        counter = self._counter
        return dynamodb.life_of(counter.table, send=deadline.send, anew=anew, alias=counter.rows.schema.client).identity

    def _texts(self, row: Mapping[str, Any], life: str) -> list[str]:
        kept = row.get(GIVEN_BACK)
        return list(kept["ranges"]) if isinstance(kept, Mapping) and life and kept.get("life") == life else []

    def _usable(self, row: Mapping[str, Any], life: str) -> list[range]:
        """The ranges in a row that are values of the sequence as it is configured now, without those that are not."""
        numbers = self._counter.numbers
        found = map(_range, self._texts(row, life))
        fitting = (one for one in found if one.step == numbers.step and not numbers.problem(one[0]))
        return sorted((one for one in fitting if one[-1] <= numbers.maximum), key=lambda one: one.start)


def _kept(life: str, texts: Sequence[str]) -> dict[str, Any]:
    """The change of a row after which it offers these values alone."""
    return {"sets": {GIVEN_BACK: {"life": life, "ranges": texts}}} if texts else {"removes": [GIVEN_BACK]}


def _text(one: range) -> str:
    return f"{one.start}:{one.stop}:{one.step}"


def _range(text: str) -> range:
    return range(*map(int, text.split(":")))


def _overlap(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)
