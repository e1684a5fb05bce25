"""The item collections of a sequence: one for each scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import dynamodb, expressions
from ..expressions import KeySchema

__all__ = ["ItemCollections", "Send", "scope_text"]

Send = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Sends one request, once or with retries, and returns the answer."""

NO_SCOPE = "#"  # how the scope None is stored; no scope begins with it


def scope_text(scope: str | None) -> str:
    """The text that is stored for a scope."""
    return NO_SCOPE if scope is None else scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCollections:
    """The item collections of one sequence. The template gives their partition keys."""

    alias: str
    schema: KeySchema
    template: str

    def partition(self, scope: str | None) -> str:
        """The partition key of a scope's items."""
        return self.template.replace("{sequence}", self.alias).replace("{scope}", scope_text(scope))

    def key(self, scope: str | None, value: int) -> dict[str, Any]:
        """The key of the item with this value."""
        return self.schema.key(self.partition(scope), value)

    def highest(self, scope: str | None, send: Send, *, consistent: bool = True) -> tuple[int | None, float]:
        """The highest sort key of a scope and the read units that it cost. One query of one item."""
        request = expressions.query_numbers(
            self.schema, self.partition(scope), newest_first=True, limit=1, consistent=consistent
        )
        answer = send("query", request)
        found = [self.schema.number(dynamodb.unmarshal(item)) for item in answer["Items"]]
        return (found[0] if found else None), dynamodb.used_units(answer)
