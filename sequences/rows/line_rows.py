"""The rows that keep the lines of a sequence's scopes: one for each scope, and one that counts the changes of all.

    ("#series#invoices", "##")          version 7, and whether a line ever had a PERIOD of its own
    ("#series#invoices", "branch-7")    version 5, with the lines, and the name that people see

A change writes both: two changes that are planned at the same time are written one after the other. It also leaves its
version in the counters of the scope. A write by former lines fails on its condition, which knows only a lower version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..dynamodb.expressions import KeySchema
from ..types import SequenceConfig, named_scope, scope_text
from .counter_rows import counter_schema
from .layout import Send
from .lines import Line, Lines
from .lru import LRU, SCOPES_CHECKED
from .reading import pages, read_rows, sorted_page, stored_row

_HEAD = "##"  # no scope has this text; "#" stands for the sequence without scope
SCOPES_A_PAGE = 100
_OWN_PERIODS = "own_periods"
_FIELDS = ("lines", "version", "name")


def series_schema(config: SequenceConfig) -> KeySchema:
    """The keys of the table that SERIES names."""
    return counter_schema(dynamodb.table_name(config.series), config.client)


class LineRows:
    """The lines of one sequence, in a table with the keys of counters. They are one partition, sorted by scope."""

    def __init__(self, config: SequenceConfig) -> None:
        self.schema = series_schema(config)
        self._partition = f"#series#{config.alias}"

    def of(self, scope: str | None, send: Send) -> Lines:
        """The lines of a scope; none where the settings hold. One consistent read, 1 read unit for up to 4 KB."""
        return _lines(stored_row(self.schema.table, self._key(scope), send))

    def of_many(self, scopes: Iterable[str | None], send: Send) -> dict[str | None, Lines]:
        """The lines of at most 100 scopes, without those that the engine leaves out. One consistent request."""
        wanted = list(dict.fromkeys(scopes))
        rows = read_rows(self.schema.table, [*map(self._key, wanted)], _FIELDS, send)
        return {scope: _lines(row) for scope, row in zip(wanted, rows, strict=True) if row is not None}

    def version(self, send: Send) -> int:
        """How many changes there were. One consistent read."""
        return int(stored_row(self.schema.table, self._head, send).get("version", 0))

    def has_own_periods(self, send: Send) -> bool:
        """Whether a line ever had another PERIOD than the settings. One consistent read."""
        return bool(stored_row(self.schema.table, self._head, send).get(_OWN_PERIODS))

    def page(self, cursor: str | None, limit: int) -> tuple[list[tuple[str | None, Lines]], str | None]:
        """Some scopes with their lines, sorted, and the cursor of the next page. One query."""
        rows, following = sorted_page(self.schema, self._partition, cursor, limit, *_FIELDS)
        return [(named_scope(row["scope"]), _lines(row)) for row in rows if row["scope"] != _HEAD], following

    def every(self) -> Iterator[tuple[str | None, Lines]]:
        """All scopes with their lines. One query for SCOPES_A_PAGE of them."""
        for rows in pages(self.schema, self._partition, SCOPES_A_PAGE, *_FIELDS):
            yield from ((named_scope(row["scope"]), _lines(row)) for row in rows if row["scope"] != _HEAD)

    def changed(
        self, scope: str | None, before: Lines, after: Lines, head: int, *, own_periods: bool
    ) -> Iterator[Mapping[str, Any]]:
        """The actions that store the lines of a scope, if nothing has changed since they were `before`.

        `head` is the number of changes that were seen then; with `own_periods` a line has another PERIOD than the
        settings.
        """
        table, one = self.schema.table, {"version": after.version}
        sets, noted = {**one, "lines": [line.row for line in after.lines]}, {_OWN_PERIODS: True} if own_periods else {}
        yield expressions.change_row(table, self._head, unchanged={"version": head or None}, sets={**one, **noted})
        if after.name != before.name:
            sets["name"] = after.name
        unchanged = {"version": before.version or None}
        yield expressions.change_row(table, self._key(scope), unchanged=unchanged, sets=sets)

    def named(self, scope: str | None, name: str) -> Mapping[str, Any]:
        """The action that stores the name of a scope, which may have no lines. No number depends on it."""
        return expressions.change_row(self.schema.table, self._key(scope), unchanged={}, sets={"name": name})

    @property
    def _head(self) -> dict[str, Any]:
        return {"sequence": {"S": self._partition}, "scope": {"S": _HEAD}}

    def _key(self, scope: str | None) -> dict[str, Any]:
        return {**self._head, "scope": {"S": scope_text(scope)}}


def _lines(row: Mapping[str, Any]) -> Lines:
    lines = tuple(map(Line.of_row, row.get("lines", ())))
    return Lines(lines, int(row.get("version", 0)), row.get("name", ""))


READ_AGAIN_SECONDS = 3600.0
"""After which lines are read anew: a counter that nobody has written since they changed cannot show their version."""
FOLLOW_SECONDS = 1.0
"""After which lines are read anew where they refuse a call: another process may have changed them."""


class KnownLines:
    """The lines of one sequence's scopes. `send` makes what a read is sent by, which ends with the call's deadline."""

    def __init__(self, rows: LineRows, clock: Callable[[], float], send: Callable[[], Send]) -> None:
        self._rows, self._clock, self._send = rows, clock, send
        self._known: LRU[tuple[Lines, float]] = LRU(SCOPES_CHECKED)
        self.clear, self.forget = self._known.clear, self._known.forget

    def of(self, scope: str | None) -> Lines:
        """The lines of a scope. One read, once in a process."""
        return self._read_within(READ_AGAIN_SECONDS, scope)

    def are_newer(self, scope: str | None, version: int) -> bool:
        """Whether there are newer lines than those of this version, which refuse a call. One read a second."""
        return self._read_within(FOLLOW_SECONDS, scope).version > version

    def read(self, scope: str | None) -> Lines:
        """The lines of a scope as they are stored now, by which this process goes on. One read."""
        at = self._clock()
        lines = self._rows.of(scope, self._send())
        self._known.put(scope, (lines, at))
        return lines

    def read_many(self, scopes: Iterable[str | None]) -> None:
        """Read the lines of at most a hundred scopes that are not known. One request."""
        unknown = [scope for scope in scopes if self._known.get(scope) is None]
        for scope, lines in self._rows.of_many(unknown, self._send()).items():
            self._known.put(scope, (lines, self._clock()))

    def _read_within(self, seconds: float, scope: str | None) -> Lines:
        """The lines of a scope as they were read within the last seconds."""
        found = self._known.get(scope)
        return found[0] if found and self._clock() - found[1] <= seconds else self.read(scope)
