"""The highest sort key plus one: the items themselves are the count, without a counter."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import dynamodb
from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline, read
from ..dynamodb import expressions
from ..exceptions import InvalidSequence, ScopeNotFound
from ..rows import operator_errors
from ..rows.assignments import Assignment, Hint
from ..rows.counter_memory import Evidence
from ..rows.course import Course, course_of_items, course_of_nothing, first_probes, further_probes, moment_of
from ..rows.layout import Send
from ..rows.lru import LRU
from ..rows.numbers import is_below
from ..rows.options import Option, boolean, is_name
from ..types import Counter, Scope, SequenceConfig
from .base import Strategy
from .scopes import Scopes

MOST_PROBES = 90  # of the 100 items that one request may read
TAIL_SECONDS = 0.25  # how long the highest number is remembered


class SortKeyMaximum(Strategy):
    """Find the highest sort key of the scope's item collection, and put the item under the next one if it is free.

    Guarantees, on one Region's table or a strongly consistent global table:

    1. Two items never share a number: the put is conditional on the key being free.
    2. There are no gaps: number n + 1 is only tried when n is known to be stored, and items are never deleted.
    3. With an idempotency token one request stores one item, across processes and days, and a lost answer costs
       nothing.
    4. Numbers follow time: a put that starts after another has finished gets a higher number.
    5. Where the highest rows are gone, as in a restored table or because they were deleted, a put is refused
       (SequenceWentBack) as long as a process of the host remembers a higher number. To go on, `recover` the scope.

    What it does not do: it cannot hand out a value before the item is stored. It does not know of numbers that no
    process of its host has given, and gives them again if their rows are gone. So an application must not delete the
    newest item: make it void instead (`sequences.changes.void`).

    A process remembers the highest number for TAIL_SECONDS after a write confirmed it, and never across table lives.
    A remembered number that is too low costs a read. One that is too high would make a gap, so TAIL_SECONDS must be
    shorter than it takes another process to delete the table and make it again (on AWS, several seconds).

    Cost alone: one `PutItem`, 1 write unit a KB. If the highest number is not remembered, a query comes first. It is
    charged for the whole last item, though it reads only its key: 1 read unit for each 4 KB, so 5 for 20 KB.
    In a group: 1/n requests and 2 write units a KB. With an idempotency token: 2 write units a KB, and 2 for the
    marker. A scope is listed once in its life, for one request and 1 write unit more; each other process looks for it
    there, once, for half a read unit (see `ScopeList`). While hosts race at the scope, 2 write units more for each
    write (see `host_queue`).

    With `OPTIONS={"time_name": "created_at"}`, the attribute in which the items have the time of their making as an ISO
    text or as seconds since 1970, `rates_of` knows how fast the numbers are given.
    """

    idea = "the highest sort key plus one"
    gapless = True
    supports_reserve = False
    needs_transactions = False
    ordered_across_processes = True
    exactly_once = True
    writes_together = True
    counts_by_region = True
    requests = "1 to 2 alone, 1/n in a group of n"
    units = "1 WU (2 in a group, 4 with a token) + up to 1 RU"

    options = {
        **Strategy.options,
        "scope_must_exist": boolean(False),
        "time_name": Option(None, lambda v: v is None or is_name(v), "the name of an attribute, or None"),
    }

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        if config.step != 1 and not config.stripe:
            raise InvalidSequence(
                f"SEQUENCES[{self.alias!r}]['STEP'] must be 1: SortKeyMaximum counts by one, unless each Region "
                "has a START."
            )
        self.evidence: Evidence = Evidence(self.numbers, self.lives, "items", self.layout.collection)
        self.scopes = _TailScopes(self)
        self._tails: LRU[Hint] = LRU()
        self._lost_race_at: LRU[float] = LRU()  # for scopes without a write since

    def forget(self) -> None:
        super().forget()
        self.evidence.forget()
        self._tails.clear()
        self._lost_race_at.clear()

    def assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        tail, read_units = self._tail(scope, deadline.send)
        last_value = self.numbers.up_to(tail, self.numbers.before_start)
        fitting = self.numbers.fitting(pendings, last_value)
        return Assignment(fitting, self.numbers.firsts(fitting, last_value)[0], read_units)

    def _tail(self, scope: Scope, send: Send) -> tuple[int, float]:
        """The highest number, remembered or read, and the read units that it cost."""
        known = self.evidence.known(scope)  # before the read: others may store more meanwhile
        remembered = self._tails.get(scope)
        fresh = remembered and self.timing.clock() - remembered.at <= TAIL_SECONDS
        if remembered and fresh and not is_below(remembered.last_value, known):
            return remembered.last_value, 0.0
        number, read_units = self.layout.highest(scope, send)
        if number is None and self.option["scope_must_exist"]:
            raise ScopeNotFound.of(self.alias, scope, "create it before you use it")
        if is_below(number, known):
            assert known is not None
            if self.lives.changed(send):
                return self._tail(scope, send)
            raise operator_errors.items_went_back(self.alias, scope, found=number, known=known)
        return self.numbers.before_start if number is None else number, read_units

    def committed(self, scope: Scope, last_value: int) -> None:
        self.evidence.note(scope, last_value)
        self._tails.put(scope, Hint(last_value, self.timing.clock()))
        self._lost_race_at.forget(scope)

    def number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int) -> None:
        """A lost race: read the highest number again."""
        self.skipped(scope)

    def skipped(self, scope: Scope) -> None:
        self._lost_race_at.put(scope, self.timing.clock())
        self._tails.forget(scope)

    def changed(self, scope: Scope, last_value: int | None, *, moves: bool = True) -> None:
        super().changed(scope, last_value, moves=moves)
        self.skipped(scope)

    def hint(self, scope: Scope) -> Hint | None:
        return self._tails.get(scope)

    def accept_hint(self, scope: Scope, hint: Hint) -> None:
        """Ignore hints from before our last lost race: they are stale."""
        lost_at = self._lost_race_at.get(scope)
        if lost_at is None or hint.at > lost_at:
            self._tails.put(scope, hint)

    def last_value(self, scope: Scope) -> int | None:
        return self.scopes.look(scope)[0]


class _TailScopes(Scopes):
    """Scopes whose items are the count: the highest one is the last value, and its row says whether it is frozen."""

    def look(self, scope: Scope) -> tuple[int | None, Mapping[str, Any] | None]:
        number, _, frozen = self.layout.top(scope, self.assigner.deadline().read)
        if number is None or number < self.numbers.start:
            return None, frozen
        return self.numbers.up_to(number, self.numbers.before_start), frozen

    def course(self, counter: Counter, now: float, moments: Sequence[float]) -> Course | None:
        """The course by the times of some items: those at doubling distances, and some where the moments lie."""
        last_value, start = counter.last_value, self.numbers.start
        if self.assigner.option["time_name"] is None or self.numbers.others:
            return None
        if last_value is None:
            return course_of_nothing(self.numbers)
        times = self._times(counter.counted_in, first_probes(start, last_value), now)
        if probes := further_probes(times, moments, MOST_PROBES):
            times |= self._times(counter.counted_in, probes, now)
        return course_of_items(times, self.numbers, last_value, now)

    def _times(self, scope: Scope, numbers: Sequence[int], now: float) -> dict[int, float]:
        """When the items of these numbers were made, as far as they say. One request; what it leaves out stays so."""
        name, partition = self.assigner.option["time_name"], self.layout.partition(scope)
        schema, places = self.layout.schema, [(partition, number) for number in numbers]
        request = expressions.read_many(schema, places, attributes=[name], consistent=False)
        answer = read("batch_get_item", request, deadline=self.assigner.deadline())
        rows = [dynamodb.unmarshal(row) for row in answer.get("Responses", {}).get(schema.table, ())]
        found = {schema.number(row): moment_of(row.get(name)) for row in rows}
        return {number: min(at, now) for number, at in found.items() if at is not None}
