"""The rules of a sequence: the settings by which its rows are written, and what becomes of each that changes.

Where they are kept, and when a process looks, is in `rules_row`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import dynamodb
from ..types import SequenceConfig
from .layout import ItemLayout
from .places import Places
from .soundness import Verdict

GOOD, CAREFUL, UNSOUND = Verdict.GOOD, Verdict.CAREFUL, Verdict.UNSOUND
COUNT_ALIKE = {"AtomicCounter", "OptimisticCounter", "BlockAllocator"}

RESTORED = "TableId"
"""The key of a difference that no setting makes: the row was written in another table, and copied."""

Told = Mapping[str, Any]
"""The rules by their keys: those of an entry of SEQUENCES, and of its OPTIONS."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of a key that changes while rows are stored: refused (UNSOUND), told (CAREFUL), or taken (GOOD).

    `unless` gives another verdict for some changes, from the former and the present rules.
    """

    verdict: Verdict
    why: str
    unless: Callable[[Told, Told], Verdict | None] = lambda former, now: None


class Difference(NamedTuple):
    """A key that changed, its former and its present value, and what becomes of that."""

    key: str
    former: Any
    now: Any
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.key} was {self.former!r} and is {self.now!r} ({self.why})"

    @property
    def why(self) -> str:
        """Why it matters."""
        if self.key == RESTORED:
            return "a table that was restored or copied may be older than numbers that were given"
        return RULES[self.key].why


def _count_alike(former: Told, now: Told) -> Verdict | None:
    names = {class_name(former), class_name(now)}
    return GOOD if len(names) == 1 or names <= COUNT_ALIKE else None


def _still_read(former: Told, now: Told) -> Verdict | None:
    """Texts that were issued are read as before. Without FORMAT none was, but the numbers alone."""
    if former["FORMAT"] is None:
        return CAREFUL
    return GOOD if former["FORMAT"] in now["ALSO_READ"] else None


def _more_are_read(former: Told, now: Told) -> Verdict | None:
    return GOOD if {*former["ALSO_READ"]} <= {now["FORMAT"], *now["ALSO_READ"]} else None


def class_name(rules: Told) -> str:
    """The name of the strategy's class."""
    return str(rules["STRATEGY"]).rpartition(".")[2]


RULES: Mapping[str, Rule] = {
    "STRATEGY": Rule(
        UNSOUND,
        "each counts in another place or promises something else; AtomicCounter, OptimisticCounter and BlockAllocator "
        "may replace each other",
        _count_alike,
    ),
    "TABLE": Rule(UNSOUND, "the items and markers stay in the former table"),
    "START": Rule(
        UNSOUND,
        "values below a lower one were never given; those below a higher one are no values any more, so use `advance` "
        "instead",
    ),
    "STEP": Rule(UNSOUND, "former values are off the new step, or values between them are missing"),
    "PERIOD": Rule(UNSOUND, "scopes have other counters then, which begin at START"),
    "FISCAL_START": Rule(UNSOUND, "the name of a fiscal year stands for other days"),
    "FISCAL_NAMED_BY": Rule(UNSOUND, "the name of a fiscal year stands for other days"),
    "counter_table": Rule(UNSOUND, "the counters stay in the former table, and new ones begin at START"),
    "partition": Rule(UNSOUND, "the items stay in the former partitions"),
    "key_names": Rule(UNSOUND, "the items stay under the former keys"),
    "key_types": Rule(UNSOUND, "the items stay under the former keys"),
    "value_in": Rule(UNSOUND, "the items stay under the former keys"),
    "sort_key": Rule(
        UNSOUND, "the items stay under the former keys, and texts of different widths do not sort as numbers"
    ),
    "marker_table": Rule(UNSOUND, "repeats of requests from before are not recognised, and store a second item"),
    "history_table": Rule(CAREFUL, "the history and the reasons of gaps stay in the former table"),
    "FORMAT": Rule(
        UNSOUND, "what was issued could not be found by its text: name the former FORMAT in ALSO_READ", _still_read
    ),
    "ALSO_READ": Rule(UNSOUND, "what was issued could not be found by its text", _more_are_read),
    "SERIES": Rule(
        UNSOUND,
        "the rules of single scopes stay in the former table",
        lambda former, now: None if former["SERIES"] else GOOD,
    ),
    "token_name": Rule(CAREFUL, "an audit takes the markers of former items for orphans until they expire"),
    "value_name": Rule(CAREFUL, "items with own keys keep their value under the former name"),
    "text_name": Rule(GOOD, "former items keep their text under the former name"),
    "MAXIMUM": Rule(GOOD, "it only says where the sequence ends; what is above a lower one is not found by its number"),
    "TIME_ZONE": Rule(GOOD, "it only says which day it is now"),
    "CLIENT": Rule(GOOD, "it is the way to the rows; what is reached there counts"),
    "HOME_REGION": Rule(GOOD, "it only says who may write"),
    "ACCEPT": Rule(GOOD, "it only takes risks"),
    "DIGEST": Rule(GOOD, "former items keep their digest under the former name, or have none"),
    "GIVEN": Rule(GOOD, "it only allows"),
    "DATES": Rule(GOOD, "it only refuses"),
    "DATE_ORDER": Rule(GOOD, "the order holds from the moment on when every process has it"),
    "INDEXES": Rule(GOOD, "an index is made of the items as they are"),
    "ignore_in_repeat": Rule(GOOD, "a repeat from before may be refused, and stores nothing"),
    "marker_seconds": Rule(GOOD, "a marker keeps the time that it was stored with"),
    "deadline": Rule(GOOD, "no row depends on it"),
    "group": Rule(GOOD, "no row depends on it"),
    "scopes": Rule(GOOD, "it only lists"),
    "check_items": Rule(GOOD, "it only looks for evidence"),
    "write": Rule(GOOD, "both ways write the same row"),
    "block_size": Rule(GOOD, "each block is taken from the counter, whatever its size"),
    "max_block_size": Rule(GOOD, "each block is taken from the counter, whatever its size"),
    "watch_seconds": Rule(GOOD, "no row depends on it"),
    "scope_must_exist": Rule(GOOD, "it only refuses"),
    "time_name": Rule(GOOD, "it only reads"),
}
"""What becomes of each key that changes while rows of the former value are stored, and why."""


def rules_of(kind: type, config: SequenceConfig, option: Mapping[str, Any], places: Places, layout: ItemLayout) -> Told:
    """The rules by which a strategy of this class writes: the keys that are not always GOOD.

    Tables are named without TABLE_PREFIX.
    """
    schema, period = places.items, config.period
    rules: dict[str, Any] = {
        "STRATEGY": f"{kind.__module__}.{kind.__qualname__}",
        "TABLE": config.table,
        "START": dict(config.starts) or config.start,
        "STEP": config.step,
        "PERIOD": period.kind,
        "FORMAT": config.format,
        "ALSO_READ": [*config.also_read],
        "SERIES": config.series or None,
        "partition": layout.template,
        "key_names": list(schema.names),
        "key_types": list(schema.keys.values()),
        "value_in": layout.value_in,
        "value_name": layout.value_name,
        "token_name": layout.token_name,
        "marker_table": _plain(places.markers.table),
    }
    if period.kind == "fiscal-year":
        rules["FISCAL_START"] = "{:02d}-{:02d}".format(*period.fiscal_start)
        rules["FISCAL_NAMED_BY"] = period.fiscal_named_by
    if schema.padded_width:
        rules["sort_key"] = f"{schema.sort_prefix}{{value:0{schema.padded_width}d}}"
    if places.history.table != schema.table:
        rules["history_table"] = _plain(places.history.table)
    if "counter_table" in option:
        rules["counter_table"] = _plain(places.counters)
    return rules


def _plain(table: str) -> str:
    return table.removeprefix(dynamodb.table_name(""))


def differences(former: Told, now: Told) -> list[Difference]:
    """The keys that both know and that differ, the worst first. What only one of them has comes with another key."""
    found = []
    for key in (key for key in RULES if key in former and key in now and former[key] != now[key]):
        verdict = RULES[key].unless(former, now) or RULES[key].verdict
        if key != "STRATEGY" or class_name(former) != class_name(now):
            found.append(Difference(key, former[key], now[key], verdict))
    return sorted(found, key=lambda one: [UNSOUND, CAREFUL, GOOD].index(one.verdict))
