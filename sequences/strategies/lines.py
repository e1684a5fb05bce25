"""The strategy of a scope that has rules of its own: made like the sequence's, by what its lines say.

Lines are read when a process first counts in a scope, and again when a write shows that they have changed: its
condition has their version. So a number costs the same with lines as without. Where lines refuse a call before its
write, they are read again first, at most once a second.
"""

import math
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

from django.utils.module_loading import import_string

from ..exceptions import InvalidSequence, InvalidText, SequenceError, SequenceExhausted
from ..formats import Format, Parsed
from ..formats.reading import LONGEST
from ..rows.line_rows import KnownLines, LineRows
from ..rows.lines import Line, Lines, LinesChanged, check_period
from ..rows.lru import LRU, SCOPES_CHECKED, SCOPES_REMEMBERED
from ..rows.numbers import highest
from ..types import Counter, Dated, Scope, SequenceConfig, parted
from .base import Strategy
from .first_look import FirstLook
from .scopes import CounterScopes

MOST_STRATEGIES = 1024  # of about 12 KB each
READ_ALL_SECONDS = 30.0
"""After which the lines of all scopes are read anew, for a text that none of them reads."""


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
        self.config = config
        self._strategy: Strategy = weakref.proxy(strategy)
        self.rows = LineRows(config)
        self.clock = strategy.timing.clock
        self.texts = LineTexts(self)
        self.known = KnownLines(self.rows, self.clock, lambda: self._strategy.deadline().read)
        self._used_up: LRU[tuple[int, int]] = LRU(SCOPES_CHECKED)  # the version of lines, and the last that is
        self._made = lru_cache(MOST_STRATEGIES)(self._make)
        self._all: weakref.WeakSet[Strategy] = weakref.WeakSet()
        strategy.forget_too.append(self.forget)
        strategy.scopes = _Scopes(strategy, self)

    def forget(self) -> None:
        """Read all lines again, and forget what the strategies remember."""
        self.known.clear()
        self._used_up.clear()
        self.texts.forget()
        for strategy in list(self._all):
            strategy.forget()

    def stop(self) -> None:
        """End what runs on its own in the strategies."""
        for strategy in list(self._all):
            strategy.stop()

    def of(self, scope: str | None) -> Lines:
        """The lines of a scope. One read, once in a process."""
        return self.known.of(scope)

    def read_again(self, scope: str | None) -> None:
        """Read the lines of a scope anew when they are used next, and those of all scopes for a text."""
        self.known.forget(scope)
        self.texts.forget()

    def shown(self, counter: Counter) -> Counter:
        """A counter of a list with what is used of its own lines."""
        lines = self.of(counter.scope)
        counter = replace(counter, name=lines.name)
        place, day = self._place(lines, self.day(), counter.period)
        if place is None:
            return counter
        last_value = counter.last_value if isinstance(counter.last_value, int) else None  # somebody may store a text
        if lines.follows(place):
            self._note(counter.counted_in, lines, place, day, last_value)
        numbers = self.at(counter.scope, lines, self._reached(counter.scope, lines, place, day), day).numbers
        return replace(counter, percent_used=numbers.percent_used(last_value))

    def _place(self, lines: Lines, day: date, period: str | None) -> tuple[int | None, date]:
        """The line for documents of a day or of a period, and a day in that; no line for a period of before them."""
        if period is None:
            return (lines.at(day) if lines else None), day
        settings = self.config
        place = lines.in_period(period, settings, day)
        if place is None or not period:
            return place, day
        return place, lines.lines[place].config(settings).period.first_day(period)

    def strategy(
        self, scope: str | None, day: date | None = None, period: str | None = None, *, even_ended: bool = False
    ) -> Strategy | None:
        """The strategy of a scope for documents of a day, today's without one, or of a period; None without lines.

        The period "" stands for lines without periods. Raises SequenceExhausted for a day after the last line;
        `even_ended` takes that line.
        """
        gives = period is None and not even_ended
        lines = self.of(scope)
        first, at = self._place(lines, self.day(day), period)
        place = None if first is None else self._reached(scope, lines, first, at)
        ends = not self._strategy.naming.takes(scope) if place is None else gives and lines.has_ended(place, at)
        if ends and self.known.are_newer(scope, lines.version):
            return self.strategy(scope, day, period, even_ended=even_ended)
        if place is None:
            return None
        if gives:
            lines.check_day(place, at)
        return self.at(scope, lines, place, at)

    def at(self, scope: str | None, lines: Lines, place: int, day: date) -> Strategy:
        """The strategy by one of the lines, as it counts on a day."""
        return self._made(scope, lines, place, lines.first_alike(place, self.config, day))

    def by_each(self, scope: str | None, lines: Lines) -> Iterator[Strategy]:
        """The strategy by each line of a scope, the last one first, to read with."""
        today = self.day()
        return (self.at(scope, lines, place, today) for place in reversed(range(len(lines))))

    def goes_on(self, used: Strategy, counted: Scope, error: SequenceError) -> bool:
        """Whether a call that ended like this is to be repeated: its lines have changed, or the next one takes over."""
        scope = parted(counted)[0]
        if not isinstance(error, LinesChanged | SequenceExhausted):
            return False
        if isinstance(error, LinesChanged):
            if self.of(scope).version <= used.config.version:  # else another request of the call has read them anew
                self.known.forget(scope)
            return self.of(scope).version > used.config.version  # or they are older than the counter: restored
        place = used.config.line
        if place is None or not self.of(scope).follows(place):
            self._used_up.forget(counted)  # the call may have wanted more than any line has: the counter tells it
            return self.known.are_newer(scope, used.config.version)
        self._used_up.put(counted, (used.config.version, place))
        return True

    def _reached(self, scope: str | None, lines: Lines, place: int, day: date) -> int:
        """The place of the line that has taken over from one that is used up. One read, once in a process."""
        if not lines.follows(place):
            return place
        made = self.at(scope, lines, place, day)
        counted = Dated.of(scope, made.config.period.name(day))
        noted = self._used_up.get(counted)
        if noted is None or noted[0] != lines.version:
            assert made.counter is not None
            state = made.counter.rows.state(counted, made.deadline().read)  # who writes judges it
            noted = self._note(counted, lines, place, day, highest(state.last_value, state.highest))
        return lines.after(place, noted[1])

    def _note(self, counted: Scope, lines: Lines, place: int, day: date, last_value: int | None) -> tuple[int, int]:
        """Note which lines have no number left after this value, of those from `place` on. What is noted stays."""
        scope, known = parted(counted)[0], self._used_up.get(counted)
        used_up = known[1] if known and known[0] == lines.version else -1
        while lines.follows(place) and self.at(scope, lines, place, day).numbers.is_used_up(last_value):
            used_up, place = max(used_up, place), place + 1
        noted = lines.version, used_up
        self._used_up.put(counted, noted)
        return noted

    def day(self, given: date | None = None) -> date:
        """The document's date; without one the day of now, in the sequence's time zone."""
        strategy = self._strategy
        return strategy.config.period.date_of(given, strategy.wall())

    def _make(self, scope: str | None, lines: Lines, place: int, first: int) -> Strategy:
        """A strategy by the rules of a line. It begins where the first line begins that counts in the same counter."""
        parent = self._strategy
        line = lines.lines[place]
        config = line.config(parent.config)
        read = [one for one in config.also_read if one in line.former or ("{scope}" in one) is (scope is not None)]
        begin = config.start
        start = lines.lines[first].config(parent.config).start
        config = replace(config, start=start, also_read=tuple(read), version=lines.version, line=place)
        made: Strategy = import_string(config.strategy)(config, timing=parent.timing, wall=parent.wall, parent=parent)
        made.naming.earlier = [*_earlier(lines.lines[first : place + 1], parent.config, made.naming.format)]
        if begin > start:
            made.before_range = begin - config.step
            made.scope_list = FirstLook(made, parent.scope_list.keep, made.before_range)
        self._all.add(made)
        return made


def _earlier(lines: Sequence[Line], settings: SequenceConfig, form: Format) -> Iterator[tuple[int, Format]]:
    """The last values of lines whose numbers are below those of the next one, and their FORMATs."""
    for line, later in pairwise(lines):
        one = line.config(settings)
        if later.valid_from is None or one.maximum < later.config(settings).start:
            yield one.maximum, replace(form, template=one.format or "{value}", start=one.start, maximum=one.maximum)


class _Scopes(CounterScopes):
    """The scopes of a sequence with lines, as people look at them: what is used is of their own lines."""

    def __init__(self, strategy: Strategy, lines: ScopeLines) -> None:
        assert strategy.counter is not None
        super().__init__(strategy, strategy.counter)
        self._lines = lines

    def page(
        self, cursor: str | None, limit: int, *, prefix: str = "", period: str = ""
    ) -> tuple[list[Counter], str | None]:
        """As of every sequence; another request has the lines of a hundred scopes."""
        counters, following = super().page(cursor, limit, prefix=prefix, period=period)
        counters = [one for one in counters if one.last_value is not None or one.frozen]
        self._lines.known.read_many(one.scope for one in counters)
        return [self._lines.shown(one) for one in counters], following

    def check_period(self, period: str) -> None:
        """As of every sequence; the periods of lines count, too."""
        check_period(self.naming.period, period)

    def one(self, listed: str | tuple[str | None, str] | None) -> Counter:
        return self._lines.shown(super().one(listed))


@dataclass(frozen=True, slots=True)
class WithLines:
    """A scope with its lines, and how their texts begin: that tells at once for most texts that they are no such."""

    scope: str | None
    lines: Lines
    begins: tuple[str, ...]


@dataclass(slots=True)
class _Known:
    """The scopes with lines, and when they were read."""

    scopes: tuple[WithLines, ...] = ()
    at: float = -math.inf


class LineTexts:
    """Reads texts by the lines of one sequence's scopes."""

    def __init__(self, book: ScopeLines) -> None:
        self._book: ScopeLines = weakref.proxy(book)
        self.forget()

    def forget(self) -> None:
        """Read the lines of all scopes anew when a text needs them."""
        self._known = _Known()  # what is being read meanwhile goes into the former one

    def of(self, text: str, scope: str | None) -> list[Parsed]:
        """What a text says by the lines of a scope; empty where none reads it."""
        return list(self._said(text, scope, self._book.of(scope)))

    def of_any(self, text: str) -> list[Parsed]:
        """What a text says by the lines of any scope; empty where none reads it.

        The lines of up to SCOPES_REMEMBERED scopes are kept. For a text that none of them reads they are read anew, by
        one query for a hundred scopes, at most every READ_ALL_SECONDS. For so long a text by a line that another
        process made may not be read. Of more scopes none is kept: each such text costs these queries.
        """
        known, now = self._known, self._book.clock()
        said = self._said_in(known.scopes, text)
        if said or now - known.at <= READ_ALL_SECONDS:
            return said
        scopes = tuple(WithLines(scope, lines, self._begins(scope, lines)) for scope, lines in self._book.rows.every())
        if len(scopes) <= SCOPES_REMEMBERED:
            known.scopes, known.at = scopes, now
        return self._said_in(scopes, text)

    def _begins(self, scope: str | None, lines: Lines) -> tuple[str, ...]:
        configs = [line.config(self._book.config) for line in lines.lines]
        templates = {template or "" for config in configs for template in (config.format, *config.also_read)}
        return tuple(_bare(one.replace("{scope}", scope or "").partition("{")[0]) for one in templates)

    def _said_in(self, scopes: Iterable[WithLines], text: str) -> list[Parsed]:
        bare = _bare(str(text)[:LONGEST])
        likely = (one for one in scopes if bare.startswith(one.begins))
        return [parsed for one in likely for parsed in self._said(text, one.scope, one.lines)]

    def _said(self, text: str, scope: str | None, lines: Lines) -> Iterator[Parsed]:
        """What a text says by some lines. One that names another scope is none of theirs."""
        for strategy in self._book.by_each(scope, lines):
            with suppress(InvalidText):
                found = strategy.naming.readings(text)
                yield from (replace(one, scope=scope) for one in found if one.scope in (None, scope))


def _bare(text: str) -> str:
    """The letters and digits of a text, alike for all ways in which people may type it."""
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold().upper()))
