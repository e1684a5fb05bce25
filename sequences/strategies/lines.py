"""The strategy of a scope that has rules of its own: made like the sequence's, by what its lines say.

Lines are read when a process first counts in a scope, and again when a write shows that they have changed: its
condition has their version. So a number costs the same with lines as without.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from typing import Any

from django.utils.module_loading import import_string

from ..commit.requests import Pending
from ..commit.retries import new_token, read
from ..dynamodb import expressions
from ..exceptions import (
    InvalidSequence,
    InvalidText,
    NotWritten,
    SequenceError,
    SequenceExhausted,
    WriteCancelled,
)
from ..formats import Parsed
from ..rows.layout import Send
from ..rows.line_rows import LineRows
from ..rows.lines import Lines, LinesChanged
from ..rows.lru import LRU, SCOPES_CHECKED
from ..rows.scope_list import ScopeList
from ..types import Change, Dated, Scope, parted
from .base import Strategy

__all__ = ["FirstLook", "ScopeLines"]

READ_AGAIN_SECONDS = 3600.0
"""After which lines are read anew: a counter that nobody has written since they changed cannot show their version."""
MOST_STRATEGIES = 1024  # of about 12 KB each


class ScopeLines:
    """The lines of one sequence's scopes, and the strategies that are made by them."""

    def __init__(self, strategy: Strategy) -> None:
        config = strategy.config
        where = f"SEQUENCES[{config.alias!r}]['SERIES']"
        if strategy.counter is None:
            raise InvalidSequence(
                f"{where}: {type(strategy).__name__} has no counter, whose row tells that rules have changed. Take "
                "TransactionalCounter, to which `manage.py sequences switch` goes from SortKeyMaximum."
            )
        if config.starts:
            raise InvalidSequence(f"{where}: START by Regions does not go together with rules for each scope.")
        self._strategy: Strategy = weakref.proxy(strategy)
        self.rows = LineRows(config.alias, config.series, config.client)
        self._known: LRU[tuple[Lines, float]] = LRU(SCOPES_CHECKED)
        self._used_up: LRU[int] = LRU(SCOPES_CHECKED)
        self._made = lru_cache(MOST_STRATEGIES)(self._make)
        self._all: weakref.WeakSet[Strategy] = weakref.WeakSet()
        strategy.forget_too.append(self.forget)

    def forget(self) -> None:
        """Read all lines again, and forget what the strategies remember."""
        self._known.clear()
        self._used_up.clear()
        for strategy in list(self._all):
            strategy.forget()

    def stop(self) -> None:
        """End what runs on its own in the strategies."""
        for strategy in list(self._all):
            strategy.stop()

    def of(self, scope: str) -> Lines:
        """The lines of a scope. One read, once in a process."""
        found, clock = self._known.get(scope), self._strategy.timing.clock
        if found is None or clock() - found[1] > READ_AGAIN_SECONDS:
            at = clock()
            found = self.rows.of(scope, partial(read, deadline=self._strategy.deadline())), at
            self._known.put(scope, found)
        return found[0]

    def read_again(self, scope: str) -> None:
        """Read the lines of a scope anew when they are used next."""
        self._known.forget(scope)

    def strategy(self, scope: str, day: date | None = None, period: str | None = None) -> Strategy | None:
        """The strategy of a scope for documents of a day, today's without one, or of a period; None without lines.

        Raises SequenceExhausted for a day that no line is for.
        """
        lines = self.of(scope)
        if not lines:
            return None
        day = self._day(day)
        if period is None:
            place = self._reached(scope, lines, lines.at(day), day)
            lines.check_day(place, day)
        else:
            place = lines.in_period(period, lines.lines[-1].config(self._strategy.config).period)
            day = lines.lines[place].config(self._strategy.config).period.first_day(period) if period else day
            place = self._reached(scope, lines, place, day)
        return self.at(scope, lines, place, day)

    def at(self, scope: str, lines: Lines, place: int, day: date) -> Strategy:
        """The strategy by one of the lines, as it counts on a day."""
        return self._made(scope, lines, place, lines.first_alike(place, self._strategy.config, day))

    def by_each(self, scope: str, lines: Lines) -> Iterator[Strategy]:
        """The strategy by each line of a scope, the last one first, to read with."""
        today = self._day(None)
        return (self.at(scope, lines, place, today) for place in reversed(range(len(lines))))

    def readings(self, text: str, scope: str | None) -> Iterator[Parsed]:
        """What a text says by the lines of a scope, or by all lines of the sequence; nothing where none reads it."""
        scopes = self.rows.every() if scope is None else [(scope, self.of(scope))]
        for named, lines in scopes:
            for strategy in self.by_each(named, lines):
                with suppress(InvalidText):
                    yield from (replace(one, scope=named) for one in strategy.naming.readings(text))

    def goes_on(self, used: Strategy, counted: Scope, error: SequenceError) -> bool:
        """Whether a call that ended like this is to be repeated: its lines have changed, or the next one takes over."""
        scope = parted(counted)[0]
        if scope is None or not isinstance(error, LinesChanged | SequenceExhausted):
            return False
        if isinstance(error, LinesChanged):
            self._known.forget(scope)
            return True
        place = used.config.line
        if place is None or not self.of(scope).follows(place):
            return False
        self._used_up.put(counted, max(place, self._used_up.get(counted) or 0))
        return True

    def _reached(self, scope: str, lines: Lines, place: int, day: date) -> int:
        """The place of the line that has taken over from one that is used up. One read, once in a process."""
        if not lines.follows(place):
            return place
        made = self.at(scope, lines, place, day)
        counted = Dated.of(scope, made.config.period.name(day))
        used_up = self._used_up.get(counted)
        if used_up is None:
            used_up, last_value = place - 1, made.last_value(counted)
            while last_value is not None and lines.follows(used_up + 1):
                if self.at(scope, lines, used_up + 1, day).numbers.maximum >= last_value + made.numbers.step:
                    break
                used_up += 1
            self._used_up.put(counted, used_up)
        return lines.after(place, used_up)

    def _day(self, day: date | None) -> date:
        strategy = self._strategy
        return strategy.config.period.date_of(day, strategy.wall())

    def _make(self, scope: str, lines: Lines, place: int, first: int) -> Strategy:
        """A strategy by the rules of a line. It begins where the first line begins that counts in the same counter."""
        parent = self._strategy
        config = lines.lines[place].config(parent.config)
        begin = config.start
        start = lines.lines[first].config(parent.config).start
        config = replace(config, start=start, series="", version=lines.version, line=place)
        made: Strategy = import_string(config.strategy)(config, timing=parent.timing, wall=parent.wall, parent=parent)
        if begin > start:
            made.scope_list = FirstLook(made, parent.scope_list.keep, begin - config.step)
        self._all.add(made)
        return made


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
        """List a scope, and begin the range of its line. One read more in each process, and one write in all."""
        super().add(scope, send, charged, is_new=is_new)
        if self._begun.get(scope):
            return
        has_moved = False
        while (last_value := self._last_value(scope, send)) is None or last_value < self._before_range:
            has_moved = self._begin(scope, last_value, send)
        self._begun.put(scope, True)
        if has_moved and not self._strategy.supports_reserve:  # it has its numbers by the counter of before
            raise NotWritten("The range of a line has begun: the write is prepared again.")

    def _last_value(self, scope: Scope, send: Send) -> int | None:
        last_value: int | None = self._strategy.counter.state(scope, send).last_value
        return last_value

    def _begin(self, scope: Scope, last_value: int | None, send: Send) -> bool:
        """Move the counter past the ranges of earlier lines, with a line in the history that explains the gap.

        Returns False after a lost race.
        """
        strategy, counter, token = self._strategy, self._strategy.counter, new_token()
        row = counter.row(self._before_range, token)
        advance = counter.guarded(
            expressions.advance_counter(counter.table, counter.key(scope), row, seen=last_value, drops=True)
        )
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
        actions = [advance, strategy.history.put(change, token)]
        try:
            send("transact_write_items", expressions.transaction(actions, request_token=token))
        except WriteCancelled:
            return False
        counter.evidence.note(scope, self._before_range)  # so that a remembered counter is read again
        return True
