"""Which rows a sequence keeps for itself, so that what rides with an item leaves them alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..dynamodb.expressions import KeySchema

_KINDS = "audits|closed|counter|history|line|marker|rules|scopes|switch"


class OwnRows:
    """The rows of one sequence that are not its items, told by their tables and partition keys alone.

    `items` are the keys of the items' table. `others` are the tables of its counters, markers and history, which have
    the keys of counters unless one of them is the table of the items.
    """

    def __init__(self, alias: str, items: KeySchema, others: Iterable[str]) -> None:
        self._alias = alias
        reserved = rf"#(?:{_KINDS})#{alias}(?:[#@]|\Z)"
        counting = re.compile(rf"{reserved}|{alias}(?:@|\Z)")  # after an @ is the Region that counts there
        self._keys = dict.fromkeys(others, ("sequence", counting))
        self._keys[items.table] = items.partition_name, re.compile(reserved)

    def problem(self, action: Mapping[str, Mapping[str, Any]]) -> str:
        """Why an action of a transaction must not write its row; empty if it may. Sends nothing."""
        ((kind, about),) = action.items()
        table = about["TableName"]
        if kind == "ConditionCheck" or table not in self._keys:
            return ""
        name, own = self._keys[table]
        key = (about.get("Key") or about["Item"]).get(name, {})
        if "S" not in key or not own.match(key["S"]):
            return ""
        return f"{key['S']!r} of {table!r} is a row that {self._alias!r} keeps for itself: name a row of your own"
