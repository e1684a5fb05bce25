"""The change of a scope's lines: what they are afterwards, and what is written.

They must be right, in order, no lower than before, and apart from all other texts. All changes of a sequence's lines
are written one after another, so that each is compared with what is stored.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import cached_property
from itertools import chain
from typing import Any

from ..dynamodb.expressions import BORN, CHANGED, GIVEN_BACK, SINCE, VERSION
from ..exceptions import InvalidChange, InvalidScope, InvalidSequence, OperationNotSupported
from ..formats import Format, may_meet
from ..formats.periods import KINDS, Period
from ..formats.template import has_letters
from ..registry import configured, strategies
from ..rows.lines import Line, Lines, neighbours
from ..rows.numbers import LARGEST
from ..rows.options import Option, one_of, whole
from ..rows.tallies import ALWAYS
from ..services.texts import following
from ..strategies import Strategy
from ..strategies.lines import ScopeLines
from ..strategies.snapshot import ScopeSnapshot
from ..types import Dated, Scope, parted
from .apply import Action, ChangeNote

LONGEST_CODE = 100
MOST_LINES = 100
_KEPT = ("start", "step", "period", "strategy", "valid_from")
_LEAST = {"start": 0, "step": 1, "maximum": 1, "warn_at": 1}
_DATE = Option(None, lambda value: type(value) is date, "a date, or None")
_TEXT = Option(None, lambda value: isinstance(value, str), "a text, or None")
_FIELDS: Mapping[str, Option] = {
    **{name: whole(least, least, f"a whole number from {least}", LARGEST) for name, least in _LEAST.items()},
    "valid_from": _DATE,
    "valid_to": _DATE,
    "warn_on": _DATE,
    "format": _TEXT,
    "strategy": _TEXT,
    "period": one_of(*KINDS),
    "code": Option(
        "",
        lambda code: isinstance(code, str) and len(code) <= LONGEST_CODE and (code == "" or code.isprintable()),
        f"a text of up to {LONGEST_CODE} printable characters",
    ),
}

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


def check_lines(new: NewLines) -> None:
    """Raise InvalidChange, which names the line and the field, for lines that may not be."""
    for problem in _problems(new):
        raise InvalidChange(problem)


def _problems(new: NewLines) -> Iterator[str]:
    lines = new.lines.lines
    if len(lines) > MOST_LINES:
        yield f"{new.scope!r} has {len(lines)} lines; a scope has {MOST_LINES} at the most."
    for place, line in enumerate(lines):
        wrong = chain(_wrong_fields(line), _empty(new, line), _out_of_place(new, place), _changed_too_late(new, place))
        yield from (f"Line {place + 1} of {new.scope!r}: {problem}." for problem in wrong)
    yield from _wrong_rules(new)
    for place in range(len(lines)):
        for met in _meeting(new, place):
            yield (
                f"format is {new.strategy(place).config.format!r}; a text could also be one of {met}: let texts begin "
                "with something that no other scope has, such as letters of their own, or put {scope} into it."
            )


def _wrong_fields(line: Line) -> Iterator[str]:
    """What is wrong with a line by itself."""
    for name, field in _FIELDS.items():
        value = getattr(line, name)
        if value is not None and not field.accepts(value):
            yield f"{name} is {value!r}; it must be {field.wanted}"
    if line.valid_from and line.valid_to and line.valid_to < line.valid_from:
        yield f"valid_to is {line.valid_to}; it must not be before valid_from, {line.valid_from}"


def _empty(new: NewLines, line: Line) -> Iterator[str]:
    """A maximum below the start, each as the line or the settings have it."""
    config = line.config(new.settings)
    if config.maximum < config.start:
        yield f"maximum is {config.maximum}; it must be a whole number from {config.start}"


def _out_of_place(new: NewLines, place: int) -> Iterator[str]:
    """What does not fit the settings, or the lines before it."""
    line, kind = new.lines.lines[place], new.settings.period.kind
    if kind == "never" and new.period(line).kind != kind:
        yield f"period is {line.period!r}; the sequence has no PERIOD, so that its items have no place for one"
    elif "partition" in new.settings.options and new.period(line).kind != kind:
        yield f"period is {line.period!r}; it must be {kind!r}: the option 'partition' says where its items are found"
    if place == 0:
        if line.valid_from:
            yield "valid_from must be left out: the first line begins at once"
        return
    former, now = (one.config(new.settings) for one in new.lines.lines[place - 1 : place + 1])
    begun = max((one.valid_from for one in new.lines.lines[:place] if one.valid_from), default=None)
    if line.valid_from and begun and line.valid_from <= begun:
        yield f"valid_from is {line.valid_from}; it must be after {begun}, as a line before it"
    if former.period != now.period:
        return
    if now.step != former.step:
        yield f"step is {now.step}; a scope keeps its step, which is {former.step}"
    if now.start < former.start or (now.start - former.start) % now.step:
        yield f"start is {now.start}; it must be {former.start} or a later value by its step"
    if line.valid_from is None and now.start <= former.maximum and now.start != former.start:
        yield f"start is {now.start}; it must be above the maximum of the line before it, {former.maximum}"


def _changed_too_late(new: NewLines, place: int) -> Iterator[str]:
    """What a line that has begun must keep, because numbers were given by it."""
    line = new.lines.lines[place]
    if place >= len(new.before):
        if line.valid_from and line.valid_from < new.today:
            yield f"valid_from is {line.valid_from}; it must be {new.today} or later"
        return
    before, last = new.before.lines[place], new.seen.last
    if before.valid_from and before.valid_from > new.today:
        return
    if (wrong := [name for name in _KEPT if getattr(before, name) != getattr(line, name)]) and new.has_numbers:
        yield f"{wrong[0]} must stay {getattr(before, wrong[0])!r}: the line has begun. Add another line"
    if place == len(new.before) - 1 and last is not None and line.maximum is not None and line.maximum < last:
        yield f"maximum is {line.maximum}; the last number is {last} already"


def _wrong_rules(new: NewLines) -> Iterator[str]:
    """What makes no strategy: the same errors as for a key of SEQUENCES, in the words of a line."""
    for place, line in enumerate(new.lines.lines):
        try:
            made = new.strategy(place)
        except ImportError as error:
            yield f"strategy is {line.strategy!r}, which cannot be imported: {error}."
        except InvalidSequence as error:
            yield f"Line {place + 1} of {new.scope!r}: {_in_words_of_lines(str(error))}"
        else:
            if made.counter is None:
                yield f"strategy is {made.config.strategy!r}; it must be one with a counter."
            try:
                made.naming.format.check_scope(new.scope)
            except InvalidScope as error:
                yield _in_words_of_lines(str(error))
            if clash := made.config.format is not None and made.naming.format.clash():
                yield f"format is {made.config.format!r}; {clash.text!r} is of {clash.one} and of {clash.other}."
    names = {line.config(new.settings).strategy for line in new.lines.lines}
    if len(names) > 1:
        yield f"strategy: all lines of {new.scope!r} count in one way, not by {' and by '.join(sorted(names))}."


def _meeting(new: NewLines, place: int) -> Iterator[str]:
    """The other scopes, lines and sequences that could write a text of a line."""
    made = new.strategy(place)
    if made.config.format is None:
        return
    form = made.naming.format
    for name, other, scope in _others(new, place):
        is_own = scope is None and other.uses_scope and other.template == form.template
        if not is_own and may_meet(form, other, new.scope, scope):
            yield name


def _others(new: NewLines, place: int) -> Iterator[tuple[str, Format, str | None]]:
    """The FORMATs of all others, former ones too: of other scopes, of lines that count apart, and by the settings."""
    for scope, lines in new.book.rows.every():
        if scope != new.scope:
            for strategy in new.book.by_each(scope, lines):
                yield from ((f"the scope {scope!r}", form, scope) for form in strategy.naming.forms)
    for other, line in enumerate(new.lines.lines):
        if new.period(line) != new.period(new.lines.lines[place]):
            yield from ((f"line {other + 1}", form, new.scope) for form in new.strategy(other).naming.forms)
    for alias in configured():
        with suppress(InvalidSequence):
            yield from _by_settings(new, alias)


def _by_settings(new: NewLines, alias: str) -> Iterator[tuple[str, Format, None]]:
    """The FORMATs of a sequence, but for bare numbers; of another one, only where it names no scopes."""
    is_own = alias == new.settings.alias
    for form in strategies[alias].naming.forms:
        is_named = form.uses_scope or has_letters(form.template)
        is_of_this_scope = is_own and new.scope is None and not form.uses_scope
        if is_named and not is_of_this_scope and (is_own or not form.uses_scope):
            yield f"{alias!r} by its settings", form, None


def _in_words_of_lines(error: str) -> str:
    """An error about a key of SEQUENCES in the words of a line."""
    return re.sub(r"SEQUENCES\['[^']*'\](\['OPTIONS'\])?\['(\w+)'\]", lambda found: found[2].lower(), error)
