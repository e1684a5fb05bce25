"""The check of the markers of one scope: each needs the items that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...rows.reading import MOST_IN_A_BATCH, Row, stored_tokens
from ...strategies.base import Strategy
from ...types import Scope, parted
from .own_keys import OwnKeys
from .report import Findings, Orphan

__all__ = ["OF_A_MARKER", "MarkerCheck"]

OF_A_MARKER = ("token", "value", "count", "items", "own_keys", "period")
"""The attributes that the check reads."""


class MarkerCheck:
    """How many markers a scope has in its period, and which of them are orphans."""

    def __init__(self, strategy: Strategy, scope: Scope, own_keys: OwnKeys) -> None:
        self._schema, self._numbers = strategy.schema, strategy.numbers
        self._partition, self._token_name = strategy.layout.partition(scope), strategy.layout.token_name
        self._period = parted(scope)[1]
        self._own_keys = own_keys
        self.count = 0
        self.orphans: Findings[Orphan] = Findings()

    def page(self, rows: Sequence[Row]) -> None:
        """Check one page of markers: each of this period needs an item with its value and its token."""
        rows = [row for row in rows if row.get("period", "") == self._period and self._is_own(row)]
        self.count += len(rows)
        values = {value for row in rows for value in _members(row, self._numbers.step)}
        tokens = stored_tokens(self._schema, self._partition, values, self._token_name) if values else {}
        for row in rows:
            if "count" in row:
                continue  # of values that were taken before their items are stored
            self._check(row, tokens)

    def _check(self, row: Row, tokens: Mapping[int, str]) -> None:
        token = str(row.get("token", ""))
        if not isinstance(row.get("value"), int):
            self.orphans.add(Orphan(token=token, value=None, problem="the marker has no value"))
        for value in _members(row, self._numbers.step):
            if value not in tokens and self._own_keys.may_be_of(row):
                continue
            if problem := _orphaned(token, value, tokens):
                self.orphans.add(Orphan(token=token, value=value, problem=problem))

    def _is_own(self, marker: Row) -> bool:
        """Whether a marker is of this Region: those of others may be here before their items are."""
        value = marker.get("value")
        return not (isinstance(value, int) and self._numbers.is_of_others(value))


def _members(marker: Row, step: int) -> list[int]:
    """The values of a marker under which a row must be: those of its items without keys of their own."""
    first, count, own_keys = marker.get("value"), marker.get("items", 1), marker.get("own_keys", ())
    if not isinstance(first, int) or "count" in marker:
        return []
    return [first + step * place for place in range(min(count, MOST_IN_A_BATCH)) if place not in own_keys]


def _orphaned(token: str, value: int, tokens: Mapping[int, str]) -> str:
    """What is wrong with an item of a marker; empty if it is right."""
    if value not in tokens:
        return "no item is stored under this value"
    return "" if tokens[value] == token else "the item under this value belongs to another request"
