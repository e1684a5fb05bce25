"""Where the items of a sequence are stored: under which keys, and in which attribute they have their value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from .. import dynamodb
from ..dynamodb import expressions
from ..exceptions import InvalidScope
from ..types import Scope, parted, scope_text
from . import operator_errors
from .layout_options import VALUE, LayoutOptions
from .lru import LRU

Send = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Sends one request, once or with retries, and returns the answer."""

SIGNATURE = ("by", "at", "reason")
"""What an attribute `void` of the sequence tells, at least one of them."""


class Top(NamedTuple):
    """The highest stored value of a scope, the read units that it cost, and by whom the scope is frozen there."""

    number: int | None
    read_units: float
    frozen: Mapping[str, Any] | None = None


def frozen_in(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """By whom, since when and why a scope is frozen at this stored row; None if it is not."""
    about = signed_void(row).get("frozen")
    return about if isinstance(about, Mapping) else None


def begins_skip(row: Mapping[str, Any]) -> bool:
    """Whether a range of skipped numbers begins with this stored row."""
    return "until" in signed_void(row)


def signed_void(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Who withdrew a row, when and why; empty if nobody did, or if the attribute is the application's own."""
    about = row.get("void")
    return about if isinstance(about, Mapping) and any(name in about for name in SIGNATURE) else {}


class ItemLayout(LayoutOptions):
    """The keys of one sequence's items, which attributes the sequence writes into them, and the highest of them."""

    def check_scope(self, scope: Scope) -> None:
        """Raise InvalidScope for a scope whose items cannot be told from those of another one."""
        schema, (scope, _) = self.schema, parted(scope)
        if self.in_collections and schema.partition_type == "N" and not _is_canonical(scope):
            raise InvalidScope(
                f"The scope is {scope!r}; it must be a whole number without zeros before it, as the partition key of "
                f"the table {schema.table!r} is a number."
            )
        if self.value_in == "partition_key" and scope is not None and "{scope}" not in self.template:
            raise InvalidScope(
                f"The scope is {scope!r}; {self.alias!r} has none, as its option 'partition' has no {{scope}}: "
                "leave it out."
            )

    def partition(self, scope: Scope) -> str:
        """The partition key of a scope's items, without their value."""
        known = self._partitions.get(scope)
        if known is None:
            plain, period = parted(scope)
            known = self.template.replace("{sequence}", self.alias).replace("{period}", period)
            known = known.replace("{scope}", scope_text(plain))
            self._partitions.put(scope, known)
        return known

    def collection(self, scope: Scope) -> str:
        """What tells a scope's items from all others of the table: what a host remembers of them is named by it."""
        return self.partition(scope) + self.schema.sort_prefix

    @cached_property
    def _partitions(self) -> LRU[str]:
        """The partition keys that were made last: each item of a group needs its scope's."""
        return LRU()

    def key(self, scope: Scope, value: int) -> dict[str, Any]:
        """The key attributes that follow from the value; none if each item brings its own key."""
        match self.value_in:
            case "sort_key":
                return self.schema.key(self.partition(scope), value)
            case "partition_key":
                text = VALUE.sub(lambda found: f"{value:0{found[1] or 0}d}", self.partition(scope))
                return {self.schema.partition_name: {self.schema.partition_type: text}}
            case _:
                return {}

    def key_text(self, scope: Scope, value: int) -> str:
        """The key of a value's item, as people read it, such as "ABC / 42"; empty if an item brings a part of it."""
        key = self.key(scope, value)
        return " / ".join(next(iter(part.values())) for part in key.values()) if len(key) == len(self.key_names) else ""

    def written(self, scope: Scope, value: int, token: str, text: str, *, own_key: bool) -> dict[str, Any]:
        """The attributes that the sequence writes into an item: its key or value, token and text."""
        place = {self.value_name: {"N": str(value)}} if own_key else self.key(scope, value)
        named = {self.text_name: {"S": text}} if self.text_name else {}
        return {**place, self.token_name: {"S": token}, **named}

    def with_digest(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row of an item, as attribute values, with its digest if the sequence keeps one."""
        return {**row, self.digest_name: {"S": self.digest(row)}} if self.digest_name else row

    def digest(self, row: Mapping[str, Any]) -> str:
        """The SHA-256 of a row: of its key and all attributes but `void`, the token and the digest."""
        left_out = {"void", self.token_name, self.digest_name}
        return dynamodb.fingerprint({name: value for name, value in row.items() if name not in left_out})

    def highest(self, scope: Scope, send: Send) -> tuple[int | None, float]:
        """The highest value among a scope's items and the read units that it cost. One query of one item.

        None if there are no items, or if they are not one collection. Raises SequenceFrozen.
        """
        number, read_units, frozen = self.top(scope, send)
        if frozen:
            raise operator_errors.frozen(self.alias, scope, frozen)
        return number, read_units

    def top(self, scope: Scope, send: Send) -> Top:
        """What `highest` returns, also of a frozen scope."""
        if not self.in_collections:
            return Top(None, 0.0)
        request = expressions.query_numbers(
            self.schema,
            self.partition(scope),
            newest_first=True,
            limit=1,
            attributes=["void"],
        )
        answer = send("query", request)
        read_units = dynamodb.used_units(answer)
        for row in map(dynamodb.unmarshal, answer["Items"]):
            return Top(self.schema.number(row), read_units, frozen_in(row))
        return Top(None, read_units)


def _is_canonical(scope: str | None) -> bool:
    return scope is not None and re.fullmatch(r"0|-?[1-9][0-9]{0,37}", scope) is not None
