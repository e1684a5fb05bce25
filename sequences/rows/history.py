"""The history of a sequence: one row for each guarded change, written in the transaction of the change itself.

A row is never changed and never deleted. Beside the history is the list of scopes.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any

from .. import dynamodb
from ..commit.requests import Pending
from ..dynamodb import expressions
from ..dynamodb.expressions import KeySchema
from ..exceptions import InvalidChange, InvalidSequence, NotWritten, StorageRefused, WriteCancelled
from ..types import Change, Dated, Scope, parted, scope_of_text, scope_text
from .layout import Send
from .lru import LRU, SCOPES_CHECKED
from .reading import pages, sorted_page

FIELDS = ("kind", "of_scope", "period", "by", "reason", "before", "after")
LINES_A_PAGE = 1000

_PLACE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00#[0-9a-f]{32}")


class History:
    """The history of one sequence, in a table with the keys of counters. It is one partition, in the order of time."""

    def __init__(self, alias: str, schema: KeySchema, items_table: str) -> None:
        self.alias = alias
        self._schema = schema
        self._items_table = items_table

    @property
    def is_apart(self) -> bool:
        """Whether the history is not in the table of the items, whose keys are others."""
        return self._schema.table != self._items_table

    @property
    def schema(self) -> KeySchema:
        """The table of the history. Raises InvalidSequence if it would be the table of the items."""
        if not self.is_apart:
            where = f"SEQUENCES[{self.alias!r}]['OPTIONS']['history_table']"
            raise InvalidSequence(f"{where} must be another table than {self._items_table!r}, which holds the items.")
        return self._schema

    @property
    def partition(self) -> str:
        return f"#history#{self.alias}"

    def put(self, change: Change, token: str) -> dict[str, Any]:
        """The action that stores a change. Its row has the token of the change, by which a repeat is recognised."""
        fields = {**dataclasses.asdict(change), "of_scope": change.scope, "period": change.period or None}
        told = {name: fields[name] for name in FIELDS if fields[name] is not None}
        row = dynamodb.marshal({**told, "token": token})
        return expressions.put_if_absent(self.schema, {**self._key(change, token), **row})

    def has(self, change: Change, token: str, send: Send) -> bool:
        """Whether a change is stored. One consistent read."""
        return "Item" in send("get_item", expressions.read_item(self.schema.table, self._key(change, token)))

    def _key(self, change: Change, token: str) -> dict[str, Any]:
        at = change.at.isoformat(timespec="microseconds")
        return {"sequence": {"S": self.partition}, "scope": {"S": f"{at}#{token}"}}

    def page(self, cursor: str | None, limit: int) -> tuple[list[Change], str | None]:
        """Some changes, the newest first, and the cursor of the next page. One query. Raises InvalidChange.

        A cursor is the key of the page's last line, after the name of the sequence.
        """
        after = None if cursor is None else self._place(cursor)
        rows, place = sorted_page(self.schema, self.partition, after, limit, *FIELDS, newest_first=True)
        return [self._change(row) for row in rows], place and f"{self.alias}#{place}"

    def every(self) -> Iterator[Change]:
        """All changes, the newest first. One query for each MB of the history."""
        for page in pages(self.schema, self.partition, LINES_A_PAGE, *FIELDS, newest_first=True):
            yield from map(self._change, page)

    def of(self, scope: Scope) -> Iterator[Change]:
        """The changes of one scope, at the same cost."""
        return (change for change in self.every() if Dated.of(change.scope, change.period) == scope)

    def _place(self, cursor: str) -> str:
        """The key of the line at which a page ended."""
        begin = f"{self.alias}#"
        if not isinstance(cursor, str) or not cursor.startswith(begin) or not _PLACE.fullmatch(cursor, len(begin)):
            raise InvalidChange(
                f"cursor is {cursor!r}; it must be one that a page of this history has given, or left out."
            )
        return cursor.removeprefix(begin)

    def scopes_since(self, moment: datetime, send: Send) -> dict[str, Scope]:
        """The scopes of the changes since a moment, by the keys of their lines. One query for each MB of lines."""
        begin = {"sequence": {"S": self.partition}, "scope": {"S": moment.isoformat(timespec="microseconds")}}
        read_pages = pages(self.schema, self.partition, LINES_A_PAGE, "of_scope", "period", after=begin, send=send)
        rows = chain.from_iterable(read_pages)
        return {row["scope"]: Dated.of(row.get("of_scope"), row.get("period", "")) for row in rows}

    def _change(self, row: Mapping[str, Any]) -> Change:
        told = {"of_scope": None, "period": "", "before": None, "after": None, **row}
        at = datetime.fromisoformat(row["scope"].partition("#")[0])
        fields = {name: told[name] for name in FIELDS if name != "of_scope"}
        return Change(sequence=self.alias, scope=told["of_scope"], at=at, **fields)


logger = logging.getLogger(__name__)


class ScopeList:
    """The list of the scopes of a sequence whose rows are no list: one partition, in the order of their names.

    A scope is listed before its first value is stored. So the list has every scope that has a value, and perhaps one
    whose first value was refused. A sequence that does not `keep` it has an empty one.
    """

    def __init__(self, history: History, *, keep: bool) -> None:
        self.keep = keep and history.is_apart
        self._history = history
        self._listed: LRU[bool] = LRU(SCOPES_CHECKED)
        self._has_told = False

    def forget(self) -> None:
        """Look for every scope again."""
        self._listed.clear()

    def add(self, scope: Scope, send: Send, charged: Pending[Any], *, is_new: bool = False) -> None:
        """List a scope; the request is charged for it. `is_new` says that the scope has no value yet.

        Costs one request and one write unit once in the life of a scope, and one request and half a read unit in each
        other process that stores a value. A table that is missing, or refused to this role, makes no write of a value
        fail: it is logged once. Raises NotWritten and OutcomeUnknown, after which it is tried again.
        """
        if not self.keep or self._listed.get(scope):
            return
        try:
            charged.charge(**self.put(scope, send, is_new=is_new))
        except StorageRefused as error:
            if not self._has_told:
                self._has_told = True
                logger.warning("sequence %s: the scope %r is not in its list: %s", self._history.alias, scope, error)
        self._listed.put(scope, True)

    def put(self, scope: Scope, send: Send, *, is_new: bool = False) -> dict[str, float]:
        """List a scope, whatever this process knows of it; return the units. Raises StorageRefused, as `add` others."""
        table, key, units = self._history.schema.table, self._key(scope), {}
        if not is_new:
            found = send("get_item", {**expressions.read_item(table, key), "ConsistentRead": False})
            units["read_units"] = dynamodb.used_units(found)
            if "Item" in found:
                return units
        try:
            answer = send("put_item", expressions.single_write({"TableName": table, "Item": key}))
        except WriteCancelled as error:  # it met another write of the row
            raise NotWritten(f"The list of scopes: {error}") from error
        return {**units, "write_units": dynamodb.used_units(answer)}

    def page(
        self, cursor: str | None, limit: int, *, prefix: str = "", period: str = ""
    ) -> tuple[list[tuple[str | None, str]], str | None]:
        """Some scopes, each with its period, and the cursor of the next page. One query."""
        begin = scope_text(Dated.of(prefix, period))
        rows, following = sorted_page(self._history.schema, self._partition, cursor, limit, begin=begin)
        return [parted(scope_of_text(row["scope"])) for row in rows], following

    @property
    def _partition(self) -> str:
        return f"#scopes#{self._history.alias}"

    def _key(self, scope: Scope) -> Mapping[str, Any]:
        return {"sequence": {"S": self._partition}, "scope": {"S": scope_text(scope)}}
