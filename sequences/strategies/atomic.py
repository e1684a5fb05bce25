"""One atomic addition returns the new value; then the item is stored under it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..commit.requests import Committer, Pending, PreparedWrite, Refusal
from ..commit.retries import Deadline, new_token
from ..dynamodb import expressions
from ..dynamodb.expressions import BORN, SINCE
from ..rows.counter_rows import CounterState
from ..rows.lru import LRU
from ..rows.stored_counter import StoredCounter
from ..types import Scope
from .counter_strategy import CounterCommitter, CounterStrategy


class AtomicCounter(CounterStrategy):
    """Add to the counter by one `UpdateItem`, which returns the new value, and then put the item under it.

    Guarantees:

    1. A value is handed out once: DynamoDB applies the additions to one item one after another, and loses none.
    2. Numbers follow time: a call that starts after another has finished gets a higher value.
    3. n values cost one request, and callers of one process that ask at the same time share one.
    4. With an idempotency token at most one item is stored, across processes and days.

    What remains: values may stay unused.

    - A process that stops between addition and put leaves a gap.
    - A lost answer to an addition leaves a gap if another process adds before the repeat. Otherwise the counter still
      has the token of the addition, and nothing is lost.
    - Two repeats of one request at the same moment may both take a value.

    Source:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.AtomicCounters

    Cost: 1 write unit for the addition, and 1 a KB for the item. With a token: 1 read unit to look for the marker,
    2 write units a KB for the item, and 2 for the marker.
    """

    idea = "one atomic addition to a counter, then the item"
    needs_transactions = False
    ordered_across_processes = True
    requests = "1/n for n values; 1 more for an item"
    units = "1/n WU for n values; 1 WU more for an item (4 with a token, + 1 RU)"

    def committer(self) -> Committer:
        return Addition(self.counter)


class Addition(CounterCommitter):
    """Takes values by one atomic addition to the counter.

    In `births` it notes the mark of the birth of the counter that values come from: of two in one scope, the first.
    """

    def __init__(self, counter: StoredCounter, births: LRU[str] | None = None) -> None:
        super().__init__(counter)
        self._births = births
        self._fitting: LRU[int] = LRU()  # for how many of those who wait there are values left

    def prepare(self, scope: Scope, pendings: Sequence[Pending[Any]], deadline: Deadline) -> PreparedWrite:
        counter, numbers, life = self.counter, self.counter.numbers, self.counter.lives.current
        read_units = counter.first_look(scope, deadline.send)
        fitting = numbers.fitting(pendings, numbers.before_start)
        if fits := self._fitting.get(scope):
            self._fitting.forget(scope)
            fitting = fitting[:fits]
        for pending in fitting:
            pending.charge(read_units=read_units / len(fitting))
        given = sum(pending.request.count for pending in fitting)
        amount = numbers.step * given
        token, now = new_token(), int(counter.wall())
        request = expressions.add_to_counter(
            counter.table,
            counter.key(scope),
            amount=amount,
            before_start=numbers.before_start,
            room=numbers.maximum - amount,
            highest_seen=counter.evidence.known(scope),
            token=token,
            now=now,
        )
        request = expressions.with_tally(expressions.unless_gapless(request), counter.tallies.next(scope, now, given))
        request = counter.guarded(request)
        return PreparedWrite(
            operation="update_item", request=request, pendings=tuple(fitting), values=(), token=token, life=life
        )

    def committed(self, scope: Scope, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        row = answer["Attributes"]
        if SINCE in row and self.counter.lives.are_still(write.life):
            self.counter.tallies.learn(scope, row, self.counter.wall())
        self._settle(scope, write, CounterState.of_row(row), row.get(BORN, {}).get("S"))

    def _settle(self, scope: Scope, write: PreparedWrite, state: CounterState, born: str | None) -> None:
        """Give the values of an addition to a counter with this mark of its birth."""
        if born and self._births is not None and self._births.get(scope) is None:
            self._births.put(scope, born)
        assert state.last_value is not None
        self.taken(scope, write, state.last_value)

    def refused(self, refusal: Refusal) -> None:
        """If the counter has our own token, an earlier send was stored. Otherwise it went back or is used up."""
        counter, scope, write = self.counter, refusal.scope, refusal.write
        old = refusal.error.reasons[0].old or {}
        if old.get("token") == write.token:
            self._settle(scope, write, CounterState.of(old), old.get(BORN))
            return
        # Those who get none learn it after the others have theirs: they may move the counter to the next range.
        last_value = counter.last_value(self.read(scope, refusal.deadline))
        self._fitting.put(scope, len(counter.numbers.fitting(write.pendings, last_value)))
