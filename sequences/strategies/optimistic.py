"""Read the counter, write it on the condition that it is still as it was read; the item follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import expressions
from ..commits import Entry, Write, Writer
from ..exceptions import WriteCancelled
from ..retries import Deadline, new_token
from .base import one_of
from .counters import CounterStrategy, CounterWriter, ReservingStrategy

__all__ = ["OptimisticCounter"]


class OptimisticCounter(ReservingStrategy):
    """Read the counter consistently, write the next value on the condition that it is unchanged, then put the item.

    Guarantees:

    1. A value is handed out once: of two writers that read the same value, one fails and starts over, until the
       deadline.
    2. Of two calls of which one ended before the other began, the later gets the larger value.
    3. A lost answer to the counter's write costs no value: the counter carries the token of its last write.
    4. With an idempotency token at most one item is stored, across processes and days.

    What remains: a process that stops between the counter and the item leaves a gap; so may a lost answer if another
    process wrote the counter before it was repeated, and two repeats of one request at the same moment.

    `OPTIONS={"write": "update" | "put"}` chooses `UpdateItem` or `PutItem` for the counter; the guarantees are the
    same.

    Cost: 1 read unit and 1 write unit (once more for each lost race) for n values, 1 a KB for the item.
    """

    needs_transactions = False
    ordered_across_processes = True
    requests = "2/n for n values, 2 more a lost race; 1 more an item"
    units = "1/n WU + 1/n RU for n values; 1 WU more an item (4 with a token, + 1 RU)"

    options = {**CounterStrategy.options, "write": one_of("update", "put")}

    def reserver(self) -> Writer:
        return _ReadThenWrite(self)


class _ReadThenWrite(CounterWriter):
    """Takes values by a read and a conditional write."""

    def prepare(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> Write:
        strategy, life = self.strategy, self.strategy.life
        read_units = strategy.meet(scope, deadline.send)
        state = strategy.counter_state(scope, deadline.send)
        last_value = strategy.before_start if state.last_value is None else state.last_value
        fitting = strategy.fitting(entries, last_value)
        for entry in fitting:
            entry.read_units += (read_units + state.read_units) / len(fitting)
        row = strategy.row(last_value + strategy.config.step * sum(entry.count for entry in fitting), new_token())
        build, operation = (
            (expressions.put_counter, "put_item")
            if strategy.option["write"] == "put"
            else (expressions.advance_counter, "update_item")
        )
        request = build(strategy.counter_table, strategy.counter_key(scope), row, seen=state.last_value)
        return Write(
            operation=operation,
            request={**request, **expressions.REPORT_UNITS},
            entries=tuple(fitting),
            values=(row.last_value,),
            token=row.token,
            life=life,
        )

    def stored(self, scope: str | None, write: Write, answer: Mapping[str, Any]) -> None:
        self.taken(scope, write, write.values[0])

    def cancelled(self, scope: str | None, write: Write, error: WriteCancelled, deadline: Deadline) -> None:
        """Our own token: stored before. Otherwise another writer was faster, and the counter is read again."""
        if (error.reasons[0].old or {}).get("token") == write.token:
            self.stored(scope, write, {})
