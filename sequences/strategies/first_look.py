"""The first look of a process at a scope by a later line: it moves the counter to where the range of that begins."""

import weakref
from datetime import UTC, datetime
from typing import Any

from ..commit.requests import Pending
from ..commit.retries import new_token
from ..dynamodb import expressions
from ..exceptions import NotWritten, WriteCancelled
from ..rows.counter_rows import CounterState
from ..rows.history import ScopeList
from ..rows.layout import Send
from ..rows.lru import LRU, SCOPES_CHECKED
from ..types import Change, Scope, parted
from .base import Strategy

LONGEST_PAUSE = 0.1  # after a write that was refused: another process moves the counter, too, or units lack


class FirstLook(ScopeList):
    """A list of scopes that also moves the counter to where the range of a line begins, before its first number."""

    def __init__(self, strategy: Strategy, keep: bool, before_range: int) -> None:
        super().__init__(strategy.history, keep=keep)
        self._strategy = weakref.proxy(strategy)
        self._before_range = before_range
        self._begun: LRU[bool] = LRU(SCOPES_CHECKED)

    def forget(self) -> None:
        super().forget()
        self._begun.clear()

    def add(self, scope: Scope, send: Send, charged: Pending[Any], *, is_new: bool = False) -> None:
        """List a scope, and begin the range of its line. One read more in each process, and one write in all.

        Raises SequenceExhausted if the range has not enough values for the charged request: then it does not begin.
        """
        super().add(scope, send, charged, is_new=is_new)
        if self._begun.get(scope):
            return
        strategy, has_moved = self._strategy, False
        counter, timing = strategy.counter, strategy.timing
        while (state := counter.state(scope, send)).last_value is None or state.last_value < self._before_range:
            strategy.numbers.fitting([charged], self._before_range)
            try:
                self._begin(scope, state, send)
            except WriteCancelled:
                timing.sleep(timing.uniform(0, LONGEST_PAUSE))
            else:
                has_moved = True
        self._begun.put(scope, True)
        if has_moved and not strategy.supports_reserve:  # it has its numbers by the counter of before
            raise NotWritten("The range of a line has begun: the write is prepared again.")

    def _begin(self, scope: Scope, state: CounterState, send: Send) -> None:
        """Move the counter past the ranges of earlier lines, with a line in the history that explains the gap.

        Raises PeriodClosed.
        """
        strategy, counter, token = self._strategy, self._strategy.counter, new_token()
        row, last_value = counter.row(self._before_range, token), state.last_value
        advance = expressions.advance_counter(counter.table, counter.key(scope), row, seen=last_value, drops=True)
        opening = counter.closings.opening(scope, state, send)
        if opening:
            advance = expressions.while_open(advance, opening.closing)
        plain, period = parted(scope)
        change = Change(
            sequence=strategy.alias,
            scope=plain,
            period=period,
            kind="series",
            by="sequences",
            at=datetime.fromtimestamp(strategy.wall(), UTC),
            reason=f"The next line begins at {self._before_range + strategy.numbers.step}.",
            before=last_value,
            after=self._before_range,
        )
        actions = [counter.guarded(advance), strategy.history.put(change, token)]
        if opening:
            actions.append(opening.unchanged)
        send("transact_write_items", expressions.transaction(actions, request_token=token))
        counter.evidence.note(scope, self._before_range)  # so that a remembered counter is read again
