"""Where the items of a sequence are stored: under which keys, and in which attribute they have their value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from .. import dynamodb
from ..dynamodb import Indexes, expressions
from ..dynamodb.expressions import KeySchema
from ..exceptions import InvalidScope, InvalidSequence
from ..types import Scope, parted, scope_text
from . import operator_errors
from .lru import LRU

VALUE_IN = ("sort_key", "partition_key", "attribute")
"""Where an item has its value; the default first."""

_VALUE = re.compile(r"\{value(?::0(\d+)d)?\}")  # in a template, with its width if it is written with zeros before it

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


@dataclass(frozen=True, kw_only=True)
class ItemLayout:
    """The keys of one sequence's items, which attributes the sequence writes into them, and the highest of them.

    Its fields are options of the sequence. Raises InvalidSequence if they do not go together.

    `value_in` is one of VALUE_IN. As "sort_key" the value is the sort key, and the items of a scope are one item
    collection, in the order of their values: its partition key is made of `template`. As "partition_key" the template
    has `{value}`, and the item brings the sort key, if the table has one. As "attribute" the item brings its whole key,
    and has its value in the attribute `value_name`. `own_keys` also allows that for single items of a collection.
    """

    alias: str
    schema: KeySchema
    template: str
    value_in: str = "sort_key"
    value_name: str = "value"
    token_name: str = "token"  # noqa: S105 - the name of an attribute
    own_keys: bool
    text_name: str | None = None
    digest_name: str | None = None
    in_periods: bool
    indexes: Indexes = field(default_factory=dict)
    _partitions: LRU[str] = field(default_factory=LRU, init=False, repr=False, compare=False)
    """The partition keys that were made last: each item of a group needs its scope's."""

    def __post_init__(self) -> None:
        for option, wanted in _problems(self):
            raise InvalidSequence(f"SEQUENCES[{self.alias!r}]['OPTIONS'][{option!r}] {wanted}.")
        taken = ("void", expressions.MARKER_EXPIRY, self.token_name, self.text_name, self.value_name, *self.key_names)
        if self.digest_name and self.digest_name in taken:
            raise InvalidSequence(
                f"SEQUENCES[{self.alias!r}]['DIGEST'] is {self.digest_name!r}: another attribute has this name."
            )

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the table's key attributes."""
        return self.schema.names

    @cached_property
    def may_own_key(self) -> bool:
        """Whether a single item of a collection may bring its own key."""
        return self.in_collections and self.own_keys and self.value_name not in self.key_names

    @cached_property
    def in_collections(self) -> bool:
        """Whether the items of a scope are one collection, in the order of their values."""
        return self.value_in == "sort_key"

    def check_scope(self, scope: Scope) -> None:
        """Raise InvalidScope for a scope whose items cannot be told from those of another one."""
        is_number = self.in_collections and self.schema.partition_type == "N"
        has_none = self.value_in == "partition_key" and "{scope}" not in self.template
        if not (is_number or has_none):
            return
        plain = parted(scope)[0]
        if is_number and not re.fullmatch(r"0|-?[1-9][0-9]{0,37}", plain or ""):
            raise InvalidScope(
                f"The scope is {plain!r}; it must be a whole number without zeros before it, as the partition key of "
                f"the table {self.schema.table!r} is a number."
            )
        if has_none and plain is not None:
            raise InvalidScope(
                f"The scope is {plain!r}; {self.alias!r} has none, as its option 'partition' has no {{scope}}: "
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

    def key(self, scope: Scope, value: int) -> dict[str, Any]:
        """The key attributes that follow from the value; none if each item brings its own key."""
        match self.value_in:
            case "sort_key":
                return self.schema.key(self.partition(scope), value)
            case "partition_key":
                text = _VALUE.sub(lambda found: f"{value:0{found[1] or 0}d}", self.partition(scope))
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
            self.schema, self.partition(scope), newest_first=True, limit=1, attributes=["void"]
        )
        answer = send("query", request)
        read_units = dynamodb.used_units(answer)
        for row in map(dynamodb.unmarshal, answer["Items"]):
            return Top(self.schema.number(row), read_units, frozen_in(row))
        return Top(None, read_units)


def _problems(layout: ItemLayout) -> Iterator[tuple[str, str]]:
    """The options that do not fit the others, and what they must be."""
    if layout.value_in == "sort_key":
        yield from _collection_problems(layout)
    elif not layout.own_keys:
        yield "value_in", "must be 'sort_key': this strategy counts the sort keys"
    elif layout.value_in == "partition_key":
        yield from _partition_problems(layout)
    if layout.in_periods != ("{period}" in layout.template):
        wanted = "must have {period} in it" if layout.in_periods else "has {period} in it, but there is no PERIOD"
        yield "partition", wanted
    fields = {*re.findall(r"\{[^{}]*\}", layout.template)} - {"{sequence}", "{scope}", "{period}"}
    if layout.value_in == "partition_key":
        fields = {one for one in fields if not _VALUE.fullmatch(one)}
    if fields:
        yield "partition", f"has {min(fields)}, which stands for nothing"
    yield from _name_problems(layout)


def _name_problems(layout: ItemLayout) -> Iterator[tuple[str, str]]:
    if len(set(layout.key_names)) < len(layout.key_names):
        yield "key_names", "must be different names"
    for option in ("value_name", "token_name", "text_name"):
        if getattr(layout, option) == expressions.MARKER_EXPIRY:
            yield option, f"must not be {expressions.MARKER_EXPIRY!r}: DynamoDB deletes what has an old one"
    if layout.token_name in layout.key_names:
        yield "token_name", "must not be a key attribute"
    if layout.text_name in (layout.token_name, layout.value_name, *layout.key_names):
        yield "text_name", "must be neither a key attribute nor 'token_name' nor 'value_name'"
    if layout.value_name == layout.token_name or (
        layout.value_in == "attribute" and layout.value_name in layout.key_names
    ):
        yield "value_name", "must be neither a key attribute nor 'token_name'"


def _collection_problems(layout: ItemLayout) -> Iterator[tuple[str, str]]:
    if not layout.schema.sort_name:
        yield "key_names", "must be two names, as ('pk', 'sk'): the value is in the sort key"
    if not layout.schema.sorts_numbers:
        yield "key_types", "must end with 'S' if there is a 'sort_key', otherwise with 'N'"
    if "{scope}" not in layout.template:
        yield "partition", 'must be a text with "{scope}" in it'
    if layout.template.startswith("#"):
        yield "partition", "must not begin with '#', which is reserved"
    if layout.schema.partition_type == "N" and layout.template != "{scope}":
        yield "partition", "must be '{scope}': the partition key is a number"


def _partition_problems(layout: ItemLayout) -> Iterator[tuple[str, str]]:
    parts = _VALUE.split(layout.template)
    if layout.schema.partition_type == "N" and layout.template != "{value}":
        yield "partition", "must be '{value}': the partition key is a number"
    if len(parts) != 3:
        yield "partition", "must be a text with one '{value}' in it, as 'order-{value}' or '{scope}-{value:06d}'"
    elif parts[0].startswith("#") or re.search(r"[}0-9]$", parts[0]) or re.match(r"[{0-9]", parts[2]):
        yield "partition", "must not begin with '#', and must have no digit and no '{name}' beside the value"
