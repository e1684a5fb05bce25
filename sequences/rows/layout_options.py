"""Where items are stored, as the options of a sequence say it, and which of these options do not go together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..dynamodb import Indexes, expressions
from ..dynamodb.expressions import KeySchema
from ..exceptions import InvalidSequence

VALUE_IN = ("sort_key", "partition_key", "attribute")
"""Where an item has its value; the default first."""

VALUE = re.compile(r"\{value(?::0(\d+)d)?\}")
"""The value in a template, with its width if it is written with zeros before it."""


@dataclass(frozen=True, kw_only=True)
class LayoutOptions:
    """The options that say where the items of one sequence are. Raises InvalidSequence if they do not go together.

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

    def __post_init__(self) -> None:
        for option, wanted in self._problems():
            raise InvalidSequence(f"SEQUENCES[{self.alias!r}]['OPTIONS'][{option!r}] {wanted}.")
        taken = ("void", expressions.MARKER_EXPIRY, self.token_name, self.text_name, self.value_name, *self.key_names)
        if self.digest_name and self.digest_name in taken:
            raise InvalidSequence(
                f"SEQUENCES[{self.alias!r}]['DIGEST'] is {self.digest_name!r}: another attribute has this name."
            )

    def _problems(self) -> Iterator[tuple[str, str]]:
        """The options that do not fit the others, and what they must be."""
        if self.value_in == "sort_key":
            yield from self._collection_problems()
        elif not self.own_keys:
            yield "value_in", "must be 'sort_key': this strategy counts the sort keys"
        elif self.value_in == "partition_key":
            yield from self._partition_problems()
        if self.in_periods != ("{period}" in self.template):
            wanted = "must have {period} in it" if self.in_periods else "has {period} in it, but there is no PERIOD"
            yield "partition", wanted
        if unknown := [field for field in re.findall(r"\{[^{}]*\}", self.template) if not self._stands_for(field)]:
            yield "partition", f"has {min(unknown)}, which stands for nothing"
        yield from self._name_problems()

    def _stands_for(self, field: str) -> bool:
        """Whether a field of the template stands for something."""
        is_value = self.value_in == "partition_key" and VALUE.fullmatch(field)
        return bool(is_value) or field in ("{sequence}", "{scope}", "{period}")

    def _name_problems(self) -> Iterator[tuple[str, str]]:
        if len(set(self.key_names)) < len(self.key_names):
            yield "key_names", "must be different names"
        for option in ("value_name", "token_name", "text_name"):
            if getattr(self, option) == expressions.MARKER_EXPIRY:
                yield option, f"must not be {expressions.MARKER_EXPIRY!r}: DynamoDB deletes what has an old one"
        if self.token_name in self.key_names:
            yield "token_name", "must not be a key attribute"
        if self.text_name in (self.token_name, self.value_name, *self.key_names):
            yield "text_name", "must be neither a key attribute nor 'token_name' nor 'value_name'"
        if self.value_name == self.token_name or (self.value_in == "attribute" and self.value_name in self.key_names):
            yield "value_name", "must be neither a key attribute nor 'token_name'"

    def _collection_problems(self) -> Iterator[tuple[str, str]]:
        if not self.schema.sort_name:
            yield "key_names", "must be two names, as ('pk', 'sk'): the value is in the sort key"
        if not self.schema.sorts_numbers:
            yield "key_types", "must end with 'S' if there is a 'sort_key', otherwise with 'N'"
        if "{scope}" not in self.template:
            yield "partition", 'must be a text with "{scope}" in it'
        if self.template.startswith("#"):
            yield "partition", "must not begin with '#', which is reserved"
        if self.schema.partition_type == "N" and self.template != "{scope}":
            yield "partition", "must be '{scope}': the partition key is a number"

    def _partition_problems(self) -> Iterator[tuple[str, str]]:
        parts = VALUE.split(self.template)
        if self.schema.partition_type == "N" and self.template != "{value}":
            yield "partition", "must be '{value}': the partition key is a number"
        if len(parts) != 3:
            yield "partition", "must be a text with one '{value}' in it, as 'order-{value}' or '{scope}-{value:06d}'"
        elif parts[0].startswith("#") or re.search(r"[}0-9]$", parts[0]) or re.match(r"[{0-9]", parts[2]):
            yield "partition", "must not begin with '#', and must have no digit and no '{name}' beside the value"

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the table's key attributes."""
        return self.schema.names

    @cached_property
    def may_own_key(self) -> bool:
        """Whether a single item of a collection may bring its own key."""
        return self.in_collections and self.own_keys and self.value_name not in self.key_names

    @property
    def in_collections(self) -> bool:
        """Whether the items of a scope are one collection, in the order of their values."""
        return self.value_in == "sort_key"
