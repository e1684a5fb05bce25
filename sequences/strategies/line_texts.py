"""Texts that are read by the lines of scopes: of one scope, or of any."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol
from unicodedata import normalize

from ..exceptions import InvalidText
from ..formats import Parsed
from ..formats.reading import LONGEST
from ..rows.line_rows import LineRows
from ..rows.lines import Lines
from ..rows.lru import SCOPES_REMEMBERED
from ..types import SequenceConfig
from .base import Strategy

READ_ALL_SECONDS = 30.0
"""After which the lines of all scopes are read anew, for a text that none of them reads."""


class Book(Protocol):
    """The lines of a sequence's scopes, as its texts need them: `lines.ScopeLines`."""

    config: SequenceConfig
    rows: LineRows
    clock: Callable[[], float]

    def of(self, scope: str | None) -> Lines:
        """The lines of a scope."""

    def at(self, scope: str | None, lines: Lines, place: int, day: date) -> Strategy:
        """The strategy by one of the lines."""

    def day(self) -> date:
        """The day of now, in the sequence's time zone."""


def by_each(book: Book, scope: str | None, lines: Lines) -> Iterator[Strategy]:
    """The strategy by each line of a scope, the last one first, to read with."""
    today = book.day()
    return (book.at(scope, lines, place, today) for place in reversed(range(len(lines))))


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

    def __init__(self, book: Book) -> None:
        self._book: Book = weakref.proxy(book)
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
        for strategy in by_each(self._book, scope, lines):
            with suppress(InvalidText):
                found = strategy.naming.readings(text)
                yield from (replace(one, scope=scope) for one in found if one.scope in (None, scope))


def _bare(text: str) -> str:
    """The letters and digits of a text, alike for all ways in which people may type it."""
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold().upper()))
