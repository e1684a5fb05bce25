"""One atomic addition returns the new value; the item follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import dynamodb, expressions
from ..commits import Entry, Write, Writer
from ..exceptions import SequenceExhausted, WriteCancelled
from ..retries import Deadline, new_token
from .counters import CounterState, CounterWriter, ReservingStrategy

__all__ = ["Addition", "AtomicCounter"]


class AtomicCounter(ReservingStrategy):
    """Add to the counter by one `UpdateItem`, which returns the new value, and then put the item under it.

    Guarantees:

    1. A value is handed out once: additions to one item are serialized by DynamoDB, concurrent ones lose nothing.
    2. Of two calls of which one ended before the other began, the later gets the larger value.
    3. n values cost one request, and callers of one process that ask at the same time share one.
    4. With an idempotency token at most one item is stored, across processes and days.

    What remains: values may stay unused. A process that stops between addition and put leaves a gap; so does a lost
    answer to an addition, if another process added before it was repeated (otherwise the counter's token tells that
    the addition is there, and nothing is lost); and two repeats of one request at the same moment may both take a
    value.

    Source:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.AtomicCounters

    Cost: 1 write unit for the addition, 1 a KB for the item (2, and 2 for the marker, with a token, after a read of 1
    unit).
    """

    needs_transactions = False
    ordered_across_processes = True
    requests = "1/n for n values; 1 more an item"
    units = "1/n WU for n values; 1 WU more an item (4 with a token, + 1 RU)"

    def reserver(self) -> Writer:
        return Addition(self)


class Addition(CounterWriter):
    """Takes values by one atomic addition."""

    def prepare(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> Write:
        strategy, config, life = self.strategy, self.strategy.config, self.strategy.life
        read_units = strategy.meet(scope, deadline.send)
        fitting = strategy.fitting(entries, strategy.before_start)
        for entry in fitting:
            entry.read_units += read_units / len(fitting)
        amount = config.step * sum(entry.count for entry in fitting)
        token = new_token()
        request = expressions.add_to_counter(
            strategy.counter_table,
            strategy.counter_key(scope),
            amount=amount,
            before_start=strategy.before_start,
            room=strategy.maximum - amount,
            floor=strategy.highest_seen(scope),
            token=token,
            now=int(strategy.wall()),
        )
        return Write(
            operation="update_item",
            request=request,
            entries=tuple(fitting),
            values=(),
            token=token,
            life=life,
        )

    def stored(self, scope: str | None, write: Write, answer: Mapping[str, Any]) -> None:
        self._settle(scope, write, dynamodb.unmarshal(answer["Attributes"]))

    def _settle(self, scope: str | None, write: Write, counter: Mapping[str, Any]) -> None:
        last_value = CounterState.of(counter).last_value
        assert last_value is not None
        self.taken(scope, write, last_value)

    def cancelled(self, scope: str | None, write: Write, error: WriteCancelled, deadline: Deadline) -> None:
        """Our own token: stored before. Otherwise the counter went back or is used up: nothing else is refused."""
        old = error.reasons[0].old or {}
        if old.get("token") == write.token:
            self._settle(scope, write, old)
            return
        state = self.strategy.counter_state(scope, deadline.send)
        last_value = self.strategy.before_start if state.last_value is None else state.last_value
        if len(self.strategy.fitting(write.entries, last_value)) < len(write.entries):
            write.entries[-1].settle(
                SequenceExhausted(
                    f"The sequence {self.strategy.alias!r} has reached its maximum {self.strategy.maximum}: "
                    "raise MAXIMUM."
                )
            )
