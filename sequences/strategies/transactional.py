"""The counter and the item in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import expressions
from ..commits import Entry, Write
from ..exceptions import Reason
from ..retries import Deadline, new_token
from ..types import SequenceConfig
from .base import Place, Proved, Recent, Send
from .counters import CounterState, CounterStrategy

__all__ = ["TransactionalCounter"]


class TransactionalCounter(CounterStrategy):
    """Move the counter, if it is still as seen, and put the item, if it does not exist, in one `TransactWriteItems`.

    Guarantees:

    1. A value is used if and only if its item is stored; there are no gaps, whatever fails.
    2. If an item with the key that the caller gave exists, no value is used and the caller gets ItemExists.
    3. With an idempotency token one request stores one item, across processes and days, and a lost answer costs
       nothing.
    4. Of two puts in a scope of which one ended before the other began, the later has the larger value.
    5. A number already taken by an imported row is noticed: the counter is moved past the highest stored value.

    An item that holds both key attributes of its table is stored under them and gets its value as the attribute
    `value`; any other item is stored under its value. The counter lives in the table `counter_table`, or beside the
    items if that is the items' own table.

    Cost: one request for a group of up to 99 items; 2 write units a KB for each item, its marker and, once a group,
    the counter. The counter is read (1 read unit) only when it is not remembered; a lost race returns it.
    """

    gapless = True
    supports_reserve = False
    needs_transactions = True
    ordered_across_processes = True
    exactly_once = True
    writes_together = True
    takes_own_keys = True
    most_actions = 99
    requests = "1 to 2 alone, 1/n in a group of n"
    units = "2 WU + 2/n WU for the counter in a group of n (4 + 2/n with a token) + up to 1 RU"

    def __init__(self, config: SequenceConfig, **clocks: object) -> None:
        super().__init__(config, **clocks)
        self._states: Recent[CounterState] = Recent()

    def forget(self) -> None:
        super().forget()
        self._states.clear()

    def place(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> Place:
        """A remembered counter may be out of date without harm: the write is conditional on it."""
        read_units = self.meet(scope, deadline.send)
        self.catch_up(scope, deadline.send)
        state = self._states.get(scope) or self.counter_state(scope, deadline.send)
        last_value = self.before_start if state.last_value is None else state.last_value
        fitting = self.fitting(entries, last_value)
        step = self.config.step
        values = range(last_value + step, last_value + step * (len(fitting) + 1), step)
        row = self.row(values[-1], new_token())
        action = expressions.advance_counter(self.counter_table, self.counter_key(scope), row, seen=state.last_value)
        return Place(fitting, values, read_units + state.read_units, action, row.token)

    def placed(self, scope: str | None, write: Write) -> None:
        self._remember(scope, CounterState(write.values[-1], write.values[-1]))

    def _remember(self, scope: str | None, state: CounterState) -> None:
        self._states.put(scope, replace(state, at=self.timing.clock()))
        if state.last_value is not None:
            self.seen(scope, state.last_value)

    def known(self, scope: str | None) -> Proved | None:
        state = self._states.get(scope)
        if state is None:
            return None
        return Proved(self.before_start if state.last_value is None else state.last_value, state.at)

    def learn(self, scope: str | None, proved: Proved) -> None:
        """A hint below what this process has seen is older than it looks."""
        seen = self.highest_seen(scope)
        if seen is None or proved.last_value >= seen:
            last_value = None if proved.last_value == self.before_start else proved.last_value
            self._states.put(scope, CounterState(last_value, last_value, at=proved.at))

    def counter_moved(self, scope: str | None, reason: Reason, send: Send) -> None:
        """A lost race: the answer says how the counter is now; it is read only when it seems to have gone back."""
        state = CounterState.of(reason.old or {})
        if state.last_value is None or state.should_be(self.highest_seen(scope)) is not None:
            self._states.forget(scope)
            state = self.counter_state(scope, send)  # gone or gone back, unless another thread moved it meanwhile
        self._remember(scope, state)

    def number_taken(self, scope: str | None, entry: Entry, value: int) -> None:
        super().number_taken(scope, entry, value)
        self._states.forget(scope)
