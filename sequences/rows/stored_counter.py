"""The stored counters of a sequence: how one that went back is noticed, and how one that is behind is moved.

How a counter is written is not here: that is where the strategies differ.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .. import dynamodb
from ..commit.retries import Deadline, new_token, write_once
from ..dynamodb import expressions
from ..dynamodb.expressions import BORN, GIVEN_BACK, CounterRow
from ..exceptions import SequenceError, WriteCancelled
from ..types import Counter, Scope
from . import operator_errors
from .assignments import Assigner
from .counter_memory import CounterMemory
from .counter_rows import Closings, CounterRows, CounterState, require_gaps
from .layout import Send
from .lines import LinesChanged
from .tallies import ALWAYS, known_from_start

logger = logging.getLogger(__name__)


class StoredCounter:
    """The counters of one sequence's scopes: their rows, checked by what this process remembers of them.

    A counter that went back is refused (SequenceWentBack) if there is evidence of a higher value: its attribute
    `highest`, which every write stores beside `last_value`; the highest value that the processes of this host have
    seen; a marker; or the newest item with a token. A process looks for that item once for each scope, before it first
    counts there (one query, 1 read unit or more; `check_items` turns it off). A counter that was deleted, or set back
    together with `highest`, begins again if there is no other evidence.
    """

    def __init__(self, assigner: Assigner) -> None:
        config, check_items = assigner.config, assigner.option["check_items"]
        self.alias, self.layout, self.numbers = assigner.alias, assigner.layout, assigner.numbers
        self.lives, self.following, self.wall = assigner.lives, assigner.following, assigner.wall
        self.table = dynamodb.table_name(assigner.option["counter_table"])
        self.version = config.version if config.series else None
        """The version of the lines by which it counts, 0 for the settings; None in a sequence without SERIES."""
        self.rows = CounterRows(self.table, self.layout, self.numbers, name=config.counted_as, wall=self.wall)
        self.key = self.rows.key
        watched = self.lives.schemas if check_items else ()
        self.lives.schemas = list(dict.fromkeys([self.rows.schema, *watched]))
        self.closings = Closings(self.alias, self.rows, self.wall)
        self.memory = CounterMemory(self.rows, self.layout, self.numbers, self.lives, check_items=check_items)
        self.evidence, self.tallies = self.memory.evidence, self.memory.tallies

    def state(self, scope: Scope, send: Send, *, even_frozen: bool = False, even_behind: bool = False) -> CounterState:
        """The counter now, by one consistent read. Raises SequenceFrozen and SequenceWentBack, unless told not to.

        While a switch is under way, a counter that is behind the stored items follows them.
        """
        seen = self.evidence.known(scope)  # before the read: other threads may move the counter meanwhile
        state = self.rows.state(scope, send)
        if not even_frozen:
            self.closings.require_thawed(scope, state)
        if self.is_outdated(state) and not even_frozen:
            raise LinesChanged(
                f"The lines of {scope!r} in {self.alias!r} have changed. Nothing was written: repeat it. If that is "
                "refused, too, their row is older than the counter: `manage.py sequences series` stores lines again."
            )
        known = state.should_be(seen)
        if known is None:
            return state
        if self.lives.changed(send):
            self.memory.check_items(scope, send)
            return self.state(scope, send, even_frozen=even_frozen, even_behind=even_behind)
        if self._may_follow(state, send):
            state = self._beyond_items(scope, state, send, even_frozen=even_frozen)
            if self.last_value(state) >= known:
                return state
        if even_behind:
            return state
        raise operator_errors.went_back(self.alias, scope, found=state.last_value, known=known)

    def is_outdated(self, state: CounterState) -> bool:
        """Whether the lines of the scope have changed since this counter was made."""
        return self.version is not None and state.version > self.version

    def guarded(self, write: dict[str, Any]) -> dict[str, Any]:
        """A write of a counter on the condition that the lines of its scope are still those of this version."""
        return write if self.version is None else expressions.with_lines(write, self.version)

    def first_look(self, scope: Scope, send: Send) -> float:
        """What a process looks at before it first counts in a scope; return the read units. Raises SequenceFrozen."""
        read_units = self.memory.check_items(scope, send)
        if self.evidence.known(scope) is None:
            read_units += self.closings.require_open(scope, send)
        return read_units

    def _may_follow(self, state: CounterState, send: Send) -> bool:
        """Whether items that the counter does not know may come from the other strategy of a switch."""
        untouched = state.highest is None or state.highest == state.last_value
        return untouched and self.layout.in_collections and self.following.of_late(send)

    def _beyond_items(
        self, scope: Scope, state: CounterState, send: Send, *, even_frozen: bool = False
    ) -> CounterState:
        """The state with the highest stored item, so that the next write moves the counter past it."""
        find = self.layout.top if even_frozen else self.layout.highest
        number, read_units, *_ = find(scope, send)
        return replace(state, stored=number, read_units=state.read_units + read_units)

    def last_value(self, state: CounterState) -> int:
        """The last value of a state, also of items that the counter follows; the value before START if it has none."""
        last_value = self.numbers.before_start if state.last_value is None else state.last_value
        return last_value if state.stored is None else self.numbers.reaching(state.stored, last_value)

    def row(self, last_value: int, token: str) -> CounterRow:
        """The attributes that a write stores in the counter."""
        return CounterRow(last_value=last_value, token=token, updated_at=int(self.wall()))

    def tidy(self, scope: Scope, send: Send) -> None:
        """Remove outdated tallies if a process that writes once and ends would leave too many.

        One write for several such processes. What fails here is left to the next one.
        """
        outdated = self.tallies.too_many(scope)
        if not outdated:
            return
        least = {"last_value": self.numbers.before_start}
        request = self.rows.change(scope, unchanged={}, at_least=least, removes=outdated)
        with suppress(SequenceError):
            send("update_item", request)

    def standing(self, scope: Scope, send: Send) -> CounterState:
        """The counter now; if it is behind stored items, with the highest of them, which the next write passes."""
        state, behind = self.state(scope, send), self.memory.behind(scope)
        if behind is None:
            return state
        expected = self.following.of_late(send)
        state = self._beyond_items(scope, state, send)
        if state.stored is None:
            state = replace(state, stored=behind)
        self.memory.caught_up(scope)
        if not expected and state.last_value != self.last_value(state):
            logger.warning(
                "sequence %s scope %s: the counter was at %s, but %s is stored: moved it to %d",
                self.alias, scope, state.last_value, state.stored, self.last_value(state),
            )  # fmt: skip
        return state

    def catch_up(self, scope: Scope, send: Send) -> None:
        """If the counter is behind stored items, move it past them."""
        behind = self.memory.behind(scope)
        if behind is None:
            return
        state = self.standing(scope, send)
        require_gaps(self.alias, scope, state)
        reached = self.last_value(state)
        if reached != self.last_value(replace(state, stored=None)):
            row = self.row(reached, new_token())
            request = expressions.advance_counter(self.table, self.key(scope), row, seen=state.last_value)
            try:
                send("update_item", self.guarded(expressions.unless_gapless(request)))
            except WriteCancelled:
                self.memory.fell_behind(scope, behind)  # another process has moved it; the next call looks again

    def advance_to(
        self, scope: Scope, value: int, deadline: Deadline, *, gapless: bool, only_new: bool, drops: bool
    ) -> int | None:
        """Move the counter up to `value`, or to the last value of the sequence below it. Never move it down.

        What was given back is not given any more. If it `drops`, that is so, too, where the counter stays.
        With `only_new` a counter that has a value stays where it is. Returns its last value now. A lost race is
        followed by another read, until the deadline. Raises SequenceExhausted for a value above MAXIMUM, and
        PeriodClosed for a counter that would begin in a closed period; and RulesChanged, unless it is for a `gapless`
        strategy, for one that was switched to such a one.
        """
        while True:
            state = self.state(scope, deadline.read)
            if not gapless:
                require_gaps(self.alias, scope, state)
            last_value = self.last_value(state)
            row = self.row(self.numbers.up_to(value, last_value), new_token())
            drops = drops or GIVEN_BACK in (state.row or {})
            stays = row.last_value == last_value and not (drops and value >= self.numbers.start)
            if stays or (only_new and state.last_value is not None):
                return state.last_value
            if row.last_value > self.numbers.maximum:
                raise self.numbers.exhausted()
            request = _advance(self, scope, state, row, deadline.read)
            request = request if gapless else expressions.unless_gapless(request)
            try:
                write_once("update_item", request, token=row.token, deadline=deadline)
            except WriteCancelled as error:
                deadline.try_again(error)
            else:
                self.evidence.note(scope, row.last_value)
                return row.last_value

    def delete(self, scope: Scope, deadline: Deadline) -> bool:
        """Delete the counter, and what this process remembers of the scope. Return whether there was one.

        One that begins meanwhile is another one, and stays. Another process that remembers a value of the scope refuses
        the next one (SequenceWentBack). One read, and one write if it is there.
        """
        row = self.rows.state(scope, deadline.read).row or {}
        request = expressions.delete_counter(self.table, self.key(scope), born=row.get(BORN, {}).get("S"))
        try:
            write_once("delete_item", request, token="", deadline=deadline)
        except WriteCancelled as error:
            if frozen := (error.reasons[0].old or {}).get("frozen"):
                raise operator_errors.frozen(self.alias, scope, frozen) from error
            return error.after_unknown
        finally:
            self.memory.forget_scope(scope)
        return True

    def shown(self, scope: Scope, send: Send) -> Counter:
        """One counter as lists show it, by one consistent read, also if it went back."""
        state = self.state(scope, send, even_frozen=True, even_behind=True)
        last_value = state.last_value if state.stored is None else self.last_value(state)
        return self.rows.listed(scope, dynamodb.unmarshal(state.row or {}), last_value)


def _advance(counter: StoredCounter, scope: Scope, state: CounterState, row: CounterRow, send: Send) -> dict[str, Any]:
    """The request that moves a counter from this state to a row without giving a value. Raises PeriodClosed."""
    tallied, numbers = dynamodb.unmarshal(state.row or {}), counter.numbers
    since = ALWAYS if known_from_start(tallied, numbers.before_start, numbers.step) else None
    request = expressions.advance_counter(
        counter.table, counter.key(scope), row, seen=state.last_value, since=since, drops=True
    )
    opening = counter.closings.opening(scope, state, send)
    return expressions.while_open(request, opening.closing) if opening else request
