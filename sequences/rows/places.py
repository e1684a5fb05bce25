"""Where the rows of a sequence are, as its options say, and which of them it keeps for itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import dynamodb
from ..dynamodb.expressions import KeySchema, KeyType
from ..exceptions import InvalidSequence
from ..formats.digits import MOST_DIGITS
from ..types import SequenceConfig
from .counter_rows import counter_schema
from .layout import ItemLayout
from .options import Option, boolean, is_name

COUNTER_OPTIONS: Mapping[str, Option] = {
    "counter_table": Option("sequences", is_name, "the name of a table"),
    "check_items": boolean(True),
}
"""The options of a strategy that has counters."""

PARTITION_IN_PERIODS = "{sequence}#{period}#{scope}"
"""The default of the option `partition` for a sequence with a PERIOD."""


@dataclass(frozen=True)
class Places:
    """Where the rows of one sequence are: the keys of items, markers and history, and the table of counters."""

    items: KeySchema
    markers: KeySchema
    history: KeySchema
    counters: str
    lines: str = ""
    """The table with the rules of scopes; empty without SERIES."""

    @property
    def counters_apart(self) -> bool:
        """Whether counters have a table without items, which lists the scopes."""
        return self.counters != self.items.table

    @property
    def written(self) -> list[KeySchema]:
        """The tables that a write with a token meets, each once."""
        return [self.items] if self.markers.table == self.items.table else [self.items, self.markers]

    @property
    def others(self) -> list[str]:
        """The tables of the rows that are not items."""
        return [self.markers.table, self.history.table, self.counters, *([self.lines] if self.lines else [])]

    @property
    def numbering(self) -> set[str]:
        """The tables whose rows say which numbers are taken."""
        return {self.items.table, self.markers.table, self.counters}


def places_of(config: SequenceConfig, option: Mapping[str, Any]) -> Places:
    """Where the rows are by these options. Raises InvalidSequence for options that contradict each other."""
    items = _items(config, option)
    counters = dynamodb.table_name(option.get("counter_table", config.table))
    lines = dynamodb.table_name(config.series) if config.series else ""
    return Places(items, _markers(config.alias, items, option), _history(config, items, option), counters, lines)


def _items(config: SequenceConfig, option: Mapping[str, Any]) -> KeySchema:
    """The keys of the items. Raises InvalidSequence for types that do not fit the names."""
    names = option["key_names"]
    prefix, width = (sort_key_of(option["sort_key"]) if option["value_in"] == "sort_key" else None) or ("", 0)
    default: tuple[KeyType, ...] = ("S", "S" if width else "N")
    types: Sequence[KeyType] = option["key_types"] or default[: len(names)]
    if len(types) != len(names):
        where = f"SEQUENCES[{config.alias!r}]['OPTIONS']['key_types']"
        raise InvalidSequence(f"{where} is {types!r}; it must have a type for each of {names!r}.")
    return KeySchema(
        table=dynamodb.table_name(config.table),
        partition_name=names[0],
        sort_name=names[1] if len(names) == 2 else "",
        padded_width=width,
        sort_prefix=prefix,
        partition_type=types[0],
        sort_type=types[-1],
        client=config.client,
    )


def sort_key_of(template: Any) -> tuple[str, int] | None:
    """The text before the value and the digits of the value, in a template as 'TICKET#{value:010d}'; None for another.

    The keys sort as texts, so the value stands last in them, and the text before it ends with no digit.
    """
    if not isinstance(template, str):
        return None
    found = re.fullmatch(r"([^{}]*)(?<![0-9])\{value:0([1-9][0-9]?)d\}", template)
    return (found[1], int(found[2])) if found and int(found[2]) <= MOST_DIGITS else None


def _markers(alias: str, items: KeySchema, option: Mapping[str, Any]) -> KeySchema:
    """The keys of the markers: beside the items, or beside the counters if the items' partition key is a number."""
    table, beside_items = option["marker_table"], items.partition_type == "S"
    if table is None and beside_items:
        return items
    name = dynamodb.table_name(table or option.get("counter_table", COUNTER_OPTIONS["counter_table"].default))
    if name != items.table:
        return counter_schema(name, items.client)
    if not beside_items:
        wrong = "counter_table" if table is None and "counter_table" in option else "marker_table"
        where = f"SEQUENCES[{alias!r}]['OPTIONS'][{wrong!r}]"
        raise InvalidSequence(f"{where} must be another table: the items' partition key is a number.")
    return items


def _history(config: SequenceConfig, items: KeySchema, option: Mapping[str, Any]) -> KeySchema:
    """The keys of the history: in the table of counters, unless that is the table of the items."""
    given, default = option["history_table"], COUNTER_OPTIONS["counter_table"].default
    tables = [
        dynamodb.table_name(name) for name in ([given] if given else [option.get("counter_table"), default]) if name
    ]
    apart = [table for table in tables if table != items.table]
    return counter_schema((apart or tables)[0], config.client)


def item_layout(
    config: SequenceConfig, items: KeySchema, option: Mapping[str, Any], *, takes_own_keys: bool
) -> ItemLayout:
    """How a value becomes the key of its item, and what the sequence writes into it."""
    in_periods = config.period.kind != "never"
    default = PARTITION_IN_PERIODS if in_periods else option["partition"]
    return ItemLayout(
        alias=config.alias,
        schema=items,
        template=config.options.get("partition", default),
        value_in=option["value_in"],
        value_name=option["value_name"],
        token_name=option["token_name"],
        text_name=option["text_name"],
        digest_name=config.digest,
        indexes=config.indexes,
        own_keys=takes_own_keys,
        in_periods=in_periods,
    )


class OwnRows:
    """The rows of one sequence that are not its items, which what rides with an item must leave alone.

    Their tables and partition keys tell them from others. `items` are the keys of the items' table. `others` are the
    tables of counters, markers, history and lines, with the keys of counters unless one is the table of the items.
    """

    def __init__(self, alias: str, items: KeySchema, others: Iterable[str]) -> None:
        self._alias = alias
        kinds = "audits|closed|counter|history|line|marker|rules|scopes|series|switch"
        reserved = rf"#(?:{kinds})#{alias}(?:[#@]|\Z)"
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
