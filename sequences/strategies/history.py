"""The history of a sequence: one row for each guarded change, written in the transaction of the change itself.

A row is never changed and never deleted. Beside the rows is the note that a switch is under way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from .. import dynamodb, expressions
from ..exceptions import InvalidSequence, TableMissing
from ..expressions import KeySchema
from ..retries import read
from ..types import Change, Dated, Scope
from .layout import Send

__all__ = ["History"]

FIELDS = ("kind", "of_scope", "period", "by", "reason", "before", "after", "token")
LINES_A_PAGE = 1000
FOLLOW_SECONDS = 60.0
"""How long a process may go on following items after the end of a switch."""


class History:
    """The history of one sequence, in a table with the keys of counters. It is one partition, in the order of time."""

    def __init__(self, alias: str, schema: KeySchema, items_table: str) -> None:
        self.alias = alias
        self._schema = schema
        self._items_table = items_table
        self._following_until = 0.0

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
        fields = {
            "kind": change.kind,
            "of_scope": change.scope,
            "period": change.period or None,
            "by": change.by,
            "reason": change.reason,
            "before": change.before,
            "after": change.after,
            "token": token,
        }
        told = {name: value for name, value in fields.items() if value is not None}
        return expressions.put_if_absent(self.schema, {**self._key(change, token), **dynamodb.marshal(told)})

    def has(self, change: Change, token: str, send: Send) -> bool:
        """Whether a change is stored. One consistent read."""
        return "Item" in send("get_item", expressions.read_item(self.schema.table, self._key(change, token)))

    def _key(self, change: Change, token: str) -> dict[str, Any]:
        at = change.at.isoformat(timespec="microseconds")
        return {"sequence": {"S": self.partition}, "scope": {"S": f"{at}#{token}"}}

    def page(self, cursor: str | None, limit: int) -> tuple[list[Change], str | None]:
        """Some changes, the newest first, and the cursor of the next page. One query."""
        after = {"sequence": {"S": self.partition}, "scope": {"S": cursor}} if cursor else None
        request = expressions.query_numbers(
            self.schema, self.partition, newest_first=True, limit=limit, after=after, attributes=FIELDS
        )
        answer = read("query", request, client=self.schema.client)
        changes = [self._change(dynamodb.unmarshal(row)) for row in answer["Items"]]
        return changes, answer.get("LastEvaluatedKey", {}).get("scope", {}).get("S")

    def scopes_since(self, moment: datetime, send: Send) -> dict[str, Scope]:
        """The scopes of the changes since a moment, by the keys of their lines. One query for each MB of lines."""
        found: dict[str, Scope] = {}
        after = {"sequence": {"S": self.partition}, "scope": {"S": moment.isoformat(timespec="microseconds")}}
        while after:
            request = expressions.query_numbers(
                self.schema,
                self.partition,
                newest_first=False,
                limit=LINES_A_PAGE,
                after=after,
                attributes=("of_scope", "period"),
            )
            answer = send("query", request)
            rows = map(dynamodb.unmarshal, answer["Items"])
            found.update({row["scope"]: Dated.of(row.get("of_scope"), row.get("period", "")) for row in rows})
            after = answer.get("LastEvaluatedKey", {})
        return found

    def _change(self, row: Mapping[str, Any]) -> Change:
        return Change(
            sequence=self.alias,
            scope=row.get("of_scope"),
            kind=row["kind"],
            by=row["by"],
            at=datetime.fromisoformat(row["scope"].partition("#")[0]),
            reason=row["reason"],
            before=row.get("before"),
            after=row.get("after"),
            period=row.get("period", ""),
        )

    # The note that a switch is under way.

    @property
    def switch_key(self) -> dict[str, Any]:
        """The key of the note."""
        return {"sequence": {"S": f"#switch#{self.alias}"}, "scope": {"S": "#"}}

    def switch(self, send: Send | None = None) -> Mapping[str, Any]:
        """The note about the last switch, empty if there was none; `to` names the strategy while it is under way."""
        send = send or partial(read, client=self.schema.client)
        return dynamodb.unmarshal(
            send("get_item", expressions.read_item(self.schema.table, self.switch_key)).get("Item", {})
        )

    def is_switching(self, send: Send) -> bool:
        """Whether a switch is under way, so that counters follow items. A yes is remembered for FOLLOW_SECONDS."""
        if time.monotonic() < self._following_until:
            return True
        try:
            switching = self.is_apart and "to" in self.switch(send)
        except TableMissing:  # no change was ever made
            return False
        if not switching:
            return False
        self._following_until = time.monotonic() + FOLLOW_SECONDS
        return True
