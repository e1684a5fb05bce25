"""The change of a scope's lines: what they are afterwards, and what is written. `line_checks` says which may be.

All changes of a sequence's lines are written one after another, so that each is compared with what is stored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..dynamodb.expressions import BORN, CHANGED, GIVEN_BACK, SINCE, VERSION
from ..exceptions import OperationNotSupported
from ..formats.periods import Period
from ..registry import strategies
from ..rows.lines import Line, Lines, neighbours
from ..rows.numbers import highest
from ..rows.tallies import ALWAYS
from ..services.texts import following
from ..strategies import Strategy
from ..strategies.lines import ScopeLines
from ..strategies.snapshot import ScopeSnapshot
from ..types import Dated, Scope, parted
from .apply import Action, ChangeNote

Build = Callable[[Lines], Sequence[Line]]
"""Makes the lines after a change of those before it. Raises InvalidChange."""


def book_of(sequence: str) -> ScopeLines:
    """The lines of a sequence. Raises OperationNotSupported for one without SERIES."""
    book = strategies.lines(sequence)
    if book is None:
        raise OperationNotSupported(
            f"{sequence!r} has no rules for single scopes: name a table for them in SEQUENCES[{sequence!r}]['SERIES']."
        )
    return book


class NewLines:
    """The lines of a scope before and after a change."""

    def __init__(self, book: ScopeLines, build: Build, seen: ScopeSnapshot, name: str = "") -> None:
        self.scope, self.seen, self.book = parted(seen.scope)[0], seen, book
        self.settings = strategies[seen.strategy.alias].config
        self.today = self.settings.period.date_of(None, seen.strategy.wall())
        self._head = book.rows.version(seen.send)
        self.before = book.rows.of(self.scope, seen.send)
        self._counters = self._read_counters()
        version = 1 + max([self._head, *(row.get(VERSION, 0) for row in self._counters.values())])
        self.lines = Lines(tuple(self._begun(build(self.before))), version, name or self.before.name)

    def _begun(self, lines: Sequence[Line]) -> Iterator[Line]:
        """The lines, after one by the settings for a scope that has counted by these so far."""
        if not self.before and self.has_numbers:
            one = self.settings
            yield Line(format=one.format, start=one.start, step=one.step, maximum=one.maximum, period=one.period.kind)
            lines = [replace(line, valid_from=line.valid_from or self.today) for line in lines]
        yield from lines

    def _read_counters(self) -> Mapping[Scope, Mapping[str, Any]]:
        """The counters of the scope now, and in the periods before and after, by each kind of period. One request."""
        scopes = [Dated.of(self.scope, name) for period in self._periods for name in neighbours(period, self.today)]
        assert self.seen.counter is not None
        return self.seen.counter.rows.of_scopes(scopes, self.seen.send)

    @property
    def _periods(self) -> list[Period]:
        """The kinds of periods in which the scope may have counted."""
        kinds = {self.settings.period.kind, *(line.period for line in self.before.lines if line.period), "never"}
        return [replace(self.settings.period, kind=kind) for kind in sorted(kinds)]

    @cached_property
    def has_numbers(self) -> bool:
        """Whether the scope has given a number: in these periods, or in any other one that is listed."""
        assert self.seen.counter is not None
        rows, is_dated = self.seen.counter.rows, self.settings.period.kind != "never"
        is_known = any("last_value" in row for row in self._counters.values())
        return is_known or (is_dated and rows.has_given(self.scope, self._periods, self.seen.send))

    def period(self, line: Line) -> Period:
        """The period in which a line counts."""
        return line.config(self.settings).period

    def last(self, line: Line) -> int | None:
        """The last number in the counters of a line, now and in the periods before and after."""
        scopes = [Dated.of(self.scope, name) for name in neighbours(self.period(line), self.today)]
        stored = self.seen.last if self.seen.scope in scopes else None
        return highest(stored, *(self._counters.get(scope, {}).get("last_value") for scope in scopes))

    def strategy(self, place: int) -> Strategy:
        """The strategy by one of the lines. Raises InvalidSequence, and ImportError for one that is not there."""
        return self.book.at(self.scope, self.lines, place, self.today)

    def texts(self, count: int) -> list[str]:
        """The texts of the next numbers by the line that holds today, and by those that follow when it is used up."""
        place = self.lines.at(self.today)
        found = self._texts_by(place, count)
        while len(found) < count and self.lines.follows(place):
            place += 1
            found += self._texts_by(place, count - len(found))
        return found

    def _texts_by(self, place: int, count: int) -> list[str]:
        """The texts of the next numbers by one line, fewer where it ends."""
        strategy = self.strategy(place)
        counted = Dated.of(self.scope, strategy.naming.period.name(self.today))
        return following(strategy, counted, self._counters.get(counted, {}).get("last_value"), count, self.today)

    def actions(self, note: ChangeNote) -> tuple[Action, ...]:
        """What is written: the lines, and their version in the counters that may be written next."""
        own = any(self.period(line) != self.settings.period for line in self.lines.lines)
        stored = self.book.rows.changed(self.scope, self.before, self.lines, self._head, own_periods=own)
        return (*stored, *(self._touch(scope, note) for scope in dict.fromkeys(self._touched())))

    def _touched(self) -> Iterator[Scope]:
        """The counters that there are, and those that documents of this period and of the next one may begin."""
        for line in self.lines.lines:
            now, *others = neighbours(self.period(line), self.today)
            yield from (Dated.of(self.scope, name) for name in (now, *others[1:]))
        yield from (scope for scope, row in self._counters.items() if row)

    def _touch(self, scope: Scope, note: ChangeNote) -> Action:
        """Refuse every write by former lines, and drop blocks that were taken by them."""
        assert self.seen.counter is not None
        return self.seen.counter.rows.change(
            scope,
            unchanged={},
            sets={VERSION: self.lines.version, CHANGED: note.token},
            if_missing={BORN: note.token, **({} if "last_value" in self._counters.get(scope, {}) else {SINCE: ALWAYS})},
            removes=[GIVEN_BACK],
        )
