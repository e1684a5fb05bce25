"""The counter and the item in one transaction."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline, new_token
from ..dynamodb import expressions
from ..exceptions import CancellationReason
from ..rows.assignments import Assignment, Hint
from ..rows.counter_rows import CounterState, Opening
from ..rows.dates import DateOrder
from ..rows.layout import Send
from ..rows.lru import LRU
from ..rows.put_requests import own_places
from ..types import Dated, Scope, SequenceConfig
from .counter_strategy import WithCounters


class TransactionalCounter(WithCounters):
    """Move the counter, if it is still as seen, and put the item, if it does not exist, in one `TransactWriteItems`.

    Guarantees:

    1. A value is used if and only if its item is stored; there are no gaps, whatever fails.
    2. If an item with the caller's own key already exists, no value is used and the caller gets ItemExists.
    3. With an idempotency token one request stores one item, across processes and days, and a lost answer costs
       nothing.
    4. Numbers follow time: a put that starts after another has finished gets a higher value.
    5. If an imported row already has the next number, the counter moves past the highest stored number.

    An item with both key attributes of its table is stored under them and gets its value as the attribute `value`. Any
    other item is stored under its value. The counter is in `counter_table`, which may also be the table of the items.

    Cost: one request for a group of up to 99 items; 2 write units a KB for each item, 2 for its marker and, once a
    group, 2 for the counter. The counter is read (1 read unit) only when it is not remembered, or only from
    another process of the machine and since another hour; after a lost race the answer has it.
    """

    idea = "the counter and the item in one transaction"
    gapless = True
    supports_reserve = False
    needs_transactions = True
    ordered_across_processes = True
    exactly_once = True
    writes_together = True
    takes_own_keys = True
    keeps_date_order = True
    most_actions = 99
    requests = "1 to 2 alone, 1/n in a group of n"
    units = "2 WU + 2/n WU for the counter in a group of n (4 + 2/n with a token) + up to 1 RU"

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        self._states: LRU[CounterState] = LRU()
        repeat = self.item_writer.answers.repeat_if_marked
        self._date_order = DateOrder(self.alias, repeat) if config.date_order == "refuse" else None

    def forget(self) -> None:
        super().forget()
        self._states.clear()

    def assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        """Assign values after the remembered counter. It may be outdated: the write is conditional on it."""
        counter, send = self.counter, deadline.send
        read_units = counter.memory.check_items(scope, send)
        known = self._known(scope, pendings)
        state = known or counter.standing(scope, send)
        last_value = counter.last_value(state)
        if self._date_order:
            pendings = self._date_order.kept(scope, pendings, state, deadline)
        opening = counter.closings.opening(scope, state, send)
        if opening:
            pendings = opening.fitting(pendings, self.most_actions)
            read_units += opening.read_units
        fitting = self.numbers.fitting(pendings, last_value) if pendings else ()
        if not fitting:
            return Assignment((), ())
        values, last_value = self.numbers.firsts(fitting, last_value)
        row = counter.row(last_value, new_token())
        given = sum(pending.request.count for pending in fitting)
        tally = counter.tallies.next(scope, row.updated_at, given, None if known else state.row or ())
        action = expressions.advance_counter(counter.table, counter.key(scope), row, seen=state.last_value)
        action, first_day = self._conditioned(action, scope, state, fitting, opening)
        action = counter.guarded(expressions.with_tally(action, tally))
        check = opening.check(fitting, self.most_actions) if opening else None
        return Assignment(fitting, values, read_units + state.read_units, action, row.token, first_day, check)

    def _conditioned(
        self,
        action: dict[str, Any],
        scope: Scope,
        state: CounterState,
        pendings: Sequence[Pending[PutRequest]],
        opening: Opening | None,
    ) -> tuple[dict[str, Any], str]:
        """The counter's action with what else it notes of these requests, and on which conditions; their first date."""
        first_day = ""
        if self.layout.may_own_key:
            own_keys = sum(len(own_places(pending.request)) for pending in pendings)
            after = self.numbers.before_start if state.last_value is None else state.last_value
            action = expressions.with_own_keys(action, own_keys, after=after)
        if self._date_order:
            first_day, last_day = self._date_order.span(pendings)
            action = expressions.with_dates(action, first_day, last_day)
        if isinstance(scope, Dated):
            action = expressions.while_open(action, opening.closing if opening else None)
        return action, first_day

    def _known(self, scope: Scope, pendings: Sequence[Pending[PutRequest]]) -> CounterState | None:
        """The counter as it is remembered; None if it must be read before these requests get values."""
        counter, now = self.counter, self.wall()
        known = self._states.get(scope)
        if known is None or counter.memory.behind(scope) is not None:
            return None
        if counter.tallies.wants_row(scope, now, now - (self.timing.clock() - known.at)):
            return None
        if known.should_be(counter.evidence.known(scope)) is not None:
            return None  # another process of the host has counted on since
        if known.closing or (self._date_order and self._date_order.is_broken(pendings, known)):
            return None
        return known

    def committed(self, scope: Scope, last_value: int) -> None:
        self._remember(scope, CounterState(last_value, last_value))

    def _remember(self, scope: Scope, state: CounterState) -> None:
        self._states.put(scope, replace(state, at=self.timing.clock()))
        if state.last_value is not None:
            self.counter.evidence.note(scope, state.last_value)

    def hint(self, scope: Scope) -> Hint | None:
        state = self._states.get(scope)
        return Hint(self.counter.last_value(state), state.at) if state else None

    def accept_hint(self, scope: Scope, hint: Hint) -> None:
        """Ignore a hint that is lower than a value we have already seen."""
        seen = self.counter.evidence.known(scope)
        if seen is None or hint.last_value >= seen:
            last_value = None if hint.last_value == self.numbers.before_start else hint.last_value
            self._states.put(scope, CounterState(last_value, last_value, at=hint.at))

    def counter_moved(self, scope: Scope, reason: CancellationReason, send: Send) -> None:
        """A lost race: remember the counter from the answer. It is read only if it seems to have gone back."""
        state = CounterState.of(reason.old or {})
        known = self.counter.evidence.known(scope)
        unsure = state.frozen or state.closing or state.last_value is None or state.should_be(known) is not None
        if unsure or self.counter.is_outdated(state):
            state = self.counter.state(scope, send)  # raises if it went back; another thread may have moved it
        self._remember(scope, state)

    def number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int) -> None:
        """A row that the counter does not know has this number: the counter is behind the stored items."""
        self.counter.memory.fell_behind(scope, value)
        self._states.forget(scope)

    def changed(self, scope: Scope, last_value: int | None, *, moves: bool = True) -> None:
        super().changed(scope, last_value, moves=moves)
        self._states.forget(scope)
