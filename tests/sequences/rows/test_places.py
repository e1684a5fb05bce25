"""Where the rows of a sequence are, by its options."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pytest_django import Settings

from sequences.exceptions import InvalidSequence
from sequences.registry import parse_config
from sequences.rows.places import Places, item_layout, places_of, sort_key_of
from sequences.strategies import Strategy

OPTIONS = {name: option.default for name, option in Strategy.options.items()}


def places(**options: Any) -> Places:
    """Those of a sequence with these options."""
    return places_of(parse_config("orders", {"STRATEGY": "s.A", "TABLE": "items"}), OPTIONS | options)


@pytest.fixture(autouse=True)
def _prefix(settings: Settings) -> None:
    """Before the names of all tables."""
    settings.TABLE_PREFIX = "p_"


def test_the_keys_of_items() -> None:
    """A value is a number, or a text of so many digits after its prefix; the table may have one key alone."""
    items = places().items
    assert (items.table, items.keys, items.padded_width, items.sort_prefix) == (
        "p_items",
        {"pk": "S", "sk": "N"},
        0,
        "",
    )
    padded = places(sort_key="T#{value:06d}").items
    assert (padded.keys, padded.padded_width, padded.sort_prefix) == ({"pk": "S", "sk": "S"}, 6, "T#")
    inside = {"value_in": "partition_key", "sort_key": "T#{value:06d}"}
    assert places(**inside, key_names=["id"]).items.keys == {"id": "S"}
    assert places(**inside).items.padded_width == 0
    assert places(key_types=["N", "N"], counter_table="counters").items.keys == {"pk": "N", "sk": "N"}


@pytest.mark.parametrize("types", [["S"], ["S", "N", "N"]])
def test_types_that_do_not_fit(types: list[str]) -> None:
    """There is a type for each name."""
    wrong = f"SEQUENCES['orders']['OPTIONS']['key_types'] is {types!r}; it must have a type for each of ('pk', 'sk')."
    with pytest.raises(InvalidSequence, match=f"^{re.escape(wrong)}$"):
        places(key_types=types)


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{value:06d}", ("", 6)),
        ("T#{value:038d}", ("T#", 38)),
        ("{value:039d}", None),
        ("{value:00d}", None),
        ("T1{value:06d}", None),
        ("{value:06d}T", None),
        ("{scope}{value:06d}", None),
        ("{value}", None),
        (7, None),
    ],
)
def test_a_sort_key(template: Any, found: tuple[str, int] | None) -> None:
    """Its digits stand last, after a text that ends with no digit."""
    assert sort_key_of(template) == found


@pytest.mark.parametrize(
    ("options", "markers", "history", "counters"),
    [
        ({}, "p_items", "p_sequences", "p_items"),
        ({"counter_table": "counters"}, "p_items", "p_counters", "p_counters"),
        ({"counter_table": "items"}, "p_items", "p_sequences", "p_items"),
        ({"marker_table": "marks", "history_table": "changes"}, "p_marks", "p_changes", "p_items"),
        ({"marker_table": "items", "history_table": "items"}, "p_items", "p_items", "p_items"),
        ({"key_types": ["N", "N"]}, "p_sequences", "p_sequences", "p_items"),
        ({"key_types": ["N", "N"], "counter_table": "counters"}, "p_counters", "p_counters", "p_counters"),
        ({"key_types": ["N", "N"], "marker_table": "marks"}, "p_marks", "p_sequences", "p_items"),
    ],
)
def test_the_other_rows(options: dict[str, Any], markers: str, history: str, counters: str) -> None:
    """Markers are beside the items if their key is a text, and the history is in the table of counters."""
    found = places(**options)
    assert (found.markers.table, found.history.table, found.counters) == (markers, history, counters)
    assert found.others == [markers, history, counters]
    assert found.numbering == {"p_items", markers, counters}
    assert found.counters_apart is (counters != "p_items")
    assert [one.table for one in found.written] == list(dict.fromkeys(["p_items", markers]))
    assert (found.markers == found.items) is (markers == "p_items")


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"marker_table": "items"}, "marker_table"),
        ({"counter_table": "items"}, "counter_table"),
        ({"counter_table": "items", "marker_table": "items"}, "marker_table"),
    ],
)
def test_numbers_as_partition_keys(options: dict[str, Any], option: str) -> None:
    """Markers have no keys beside such items, and the option to change is named."""
    wrong = rf"^SEQUENCES\['orders'\]\['OPTIONS'\]\['{option}'\] must be another table: the items' partition key is a"
    with pytest.raises(InvalidSequence, match=wrong):
        places(key_types=["N", "N"], **options)


def test_the_layout() -> None:
    """It has the options, and a period in its partitions where the sequence has one."""
    plain = parse_config("orders", {"STRATEGY": "s.A", "TABLE": "items"})
    yearly = parse_config("orders", {"STRATEGY": "s.A", "TABLE": "items", "PERIOD": "year", "DIGEST": "digest"})
    made = item_layout(plain, places().items, OPTIONS, takes_own_keys=True)
    assert (made.template, made.in_periods, made.own_keys) == ("{sequence}#{scope}", False, True)
    dated = item_layout(yearly, places().items, OPTIONS | {"text_name": "text"}, takes_own_keys=False)
    assert (dated.template, dated.in_periods, dated.own_keys) == ("{sequence}#{period}#{scope}", True, False)
    assert (dated.text_name, dated.digest_name) == ("text", "digest")
    own = parse_config("orders", {"STRATEGY": "s.A", "OPTIONS": {"partition": "o-{scope}"}})
    assert item_layout(own, places().items, OPTIONS, takes_own_keys=True).template == "o-{scope}"
