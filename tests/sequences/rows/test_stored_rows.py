"""Under which keys rows are stored, literally: in deployed tables another key would lose every counter and token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sequences import dynamodb, get_next_value, put_next
from sequences.dynamodb.expressions import read_item

pytestmark = pytest.mark.usefixtures("configured")


def row(table: str, **key: str | int) -> Mapping[str, Any]:
    """The row that is stored under a key, empty if there is none."""
    answer = dynamodb.call("get_item", read_item(dynamodb.table_name(table), dynamodb.marshal(key)))
    return dynamodb.unmarshal(answer.get("Item", {}))


def test_a_counter(scope: str) -> None:
    """A counter is named by its sequence and its scope; no scope is "#"."""
    get_next_value("atomic", scope=scope)
    counter = row("sequences", sequence="atomic", scope=scope)
    assert (counter["last_value"], counter["highest"]) == (1, 1)
    get_next_value("atomic")
    assert row("sequences", sequence="atomic", scope="#")["last_value"] >= 1


def test_a_counter_beside_items(scope: str) -> None:
    """A counter in the table of the items is at sort key 0 of a partition of its own."""
    put_next("transactional-beside", {}, scope=scope)
    assert row("sequence_items", pk=f"#counter#transactional-beside#{scope}", sk=0)["last_value"] == 1


@pytest.mark.parametrize(
    ("name", "table", "sort_key"), [("sort-key", "sequence_items", 1), ("sort-key-padded", "padded_items", "000001")]
)
def test_an_item(name: str, table: str, sort_key: int | str, scope: str) -> None:
    """An item is at its value, as a number or with zeros before it."""
    put_next(name, {"title": "the one"}, scope=scope)
    assert row(table, pk=f"{name}#{scope}", sk=sort_key)["title"] == "the one"


@pytest.mark.parametrize("name", ["sort-key", "transactional", "atomic"])
def test_a_marker(name: str, scope: str) -> None:
    """A marker is at the first 120 bits of its token's SHA-256, in a partition of its own."""
    put_next(name, {}, scope=scope, idempotency_token="t")
    marker = row("sequence_items", pk=f"#marker#{name}#{scope}", sk=1182414590178032186622698045265100646)
    assert (marker["token"], marker["value"]) == ("t", 1)
