"""Read the counter and write it if it is unchanged; then store the item."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..commit.requests import Committer, Pending, PreparedWrite, Refusal
from ..commit.retries import Deadline, new_token
from ..dynamodb import expressions
from ..dynamodb.expressions import CounterRow
from ..rows.counter_rows import CounterState
from ..rows.options import one_of
from ..rows.stored_counter import StoredCounter
from ..rows.tallies import put_again, tallies_in
from ..types import Scope
from .counter_strategy import CounterCommitter, CounterStrategy


class OptimisticCounter(CounterStrategy):
    """Read the counter consistently, write the next value on the condition that it is unchanged, then put the item.

    Guarantees:

    1. A value is handed out once: of two writers that read the same value, one fails and tries again, until the
       deadline.
    2. Numbers follow time: a call that starts after another has finished gets a higher value.
    3. A lost answer to the counter's write costs no value unless another process writes the counter before the
       repeat: the counter has the token of its last write.
    4. With an idempotency token at most one item is stored, across processes and days.

    What remains: values may stay unused, as with AtomicCounter. A process that stops between counter and item leaves a
    gap. So may a lost answer, if another process writes the counter before the repeat, and two repeats at a time.

    `OPTIONS={"write": "update" | "put"}` chooses `UpdateItem` or `PutItem` for the counter, with the same guarantees.

    Cost: 1 read unit and 1 write unit for n values, both again for each lost race; for an item as AtomicCounter.
    """

    idea = "the counter if nobody has changed it, then the item"
    needs_transactions = False
    ordered_across_processes = True
    requests = "2/n for n values, 2 more for a lost race; 1 more for an item"
    units = "1/n WU + 1/n RU for n values; 1 WU more for an item (4 with a token, + 1 RU)"

    options = {**CounterStrategy.options, "write": one_of("update", "put")}

    def committer(self) -> Committer:
        return _ReadThenWrite(self.counter, by_put=self.option["write"] == "put")


class _ReadThenWrite(CounterCommitter):
    """Takes values by a read and a conditional write."""

    def __init__(self, counter: StoredCounter, *, by_put: bool) -> None:
        super().__init__(counter)
        self._by_put = by_put

    def prepare(self, scope: Scope, pendings: Sequence[Pending[Any]], deadline: Deadline) -> PreparedWrite:
        counter, numbers, life = self.counter, self.counter.numbers, self.counter.lives.current
        read_units = counter.first_look(scope, deadline.send)
        state = self.read(scope, deadline)
        last_value = counter.last_value(state)
        fitting = numbers.fitting(pendings, last_value)
        for pending in fitting:
            pending.charge(read_units=(read_units + state.read_units) / len(fitting))
        given = sum(pending.request.count for pending in fitting)
        row = counter.row(last_value + numbers.step * given, new_token())
        write = counter.guarded(expressions.unless_gapless(self._write(scope, state, row, given)))
        return PreparedWrite(
            operation="put_item" if self._by_put else "update_item",
            request=expressions.single_write(write),
            pendings=tuple(fitting),
            values=(row.last_value,),
            token=row.token,
            life=life,
        )

    def _write(self, scope: Scope, state: CounterState, row: CounterRow, given: int) -> dict[str, Any]:
        table, key, now = self.counter.table, self.counter.key(scope), row.updated_at
        stored = state.row or {}
        tally = self.counter.tallies.next(scope, now, given, stored)
        if not self._by_put:
            return expressions.with_tally(expressions.advance_counter(table, key, row, seen=state.last_value), tally)
        tallies, counted = put_again(stored, tally, now), set(tallies_in(stored))
        read = {name: value for name, value in stored.items() if name not in counted}
        return expressions.put_counter(table, key, row, seen=state.last_value, read=read, tallies=tallies)

    def committed(self, scope: Scope, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        self.taken(scope, write, write.values[0])

    def refused(self, refusal: Refusal) -> None:
        """If the counter has our own token, an earlier send was stored. Otherwise another writer won: read it again."""
        if (refusal.error.reasons[0].old or {}).get("token") == refusal.write.token:
            self.committed(refusal.scope, refusal.write, {})
