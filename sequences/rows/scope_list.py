"""The list of the scopes of a sequence, for those whose rows are no list: a row for each scope, beside the history."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .. import dynamodb
from ..commit.requests import Pending
from ..dynamodb import expressions
from ..exceptions import NotWritten, StorageRefused, WriteCancelled
from ..types import Scope, parted, scope_of_text, scope_text
from .history import History
from .layout import Send
from .lru import LRU, SCOPES_CHECKED
from .reading import sorted_page

logger = logging.getLogger(__name__)


class ScopeList:
    """The list of one sequence's scopes: one partition of the table of its history, in the order of their names.

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
        begin = beginning_of(prefix, period)
        rows, following = sorted_page(self._history.schema, self._partition, cursor, limit, begin=begin)
        return [parted(scope_of_text(row["scope"])) for row in rows], following

    @property
    def _partition(self) -> str:
        return f"#scopes#{self._history.alias}"

    def _key(self, scope: Scope) -> Mapping[str, Any]:
        return {"sequence": {"S": self._partition}, "scope": {"S": scope_text(scope)}}


def beginning_of(prefix: str, period: str) -> str:
    """How the stored texts of the scopes begin that have this prefix and period."""
    return f"#{period}#{prefix}" if period else prefix
