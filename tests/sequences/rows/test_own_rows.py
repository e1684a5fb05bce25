"""Which rows a sequence keeps for itself, told by their tables and partition keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sequences.dynamodb.expressions import KeySchema
from sequences.rows.places import OwnRows

ROWS = OwnRows("orders", KeySchema(table="items", partition_name="pk"), ["counters", "items"])
KINDS = ["audits", "closed", "counter", "history", "line", "marker", "rules", "scopes", "series", "switch"]


def problem(table: str, key: Mapping[str, Any], kind: str = "Update") -> str:
    """Why an action must not write this row."""
    return ROWS.problem({kind: {"TableName": table, "Item" if kind == "Put" else "Key": key}})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("table", "name"), [("items", "pk"), ("counters", "sequence")])
def test_reserved_rows(kind: str, table: str, name: str) -> None:
    """Rows of each kind are the sequence's own in every table, also those of a scope, and in a Region."""
    for end in ("", "#ABC", "@eu-west-1"):
        partition = f"#{kind}#orders{end}"
        said = f"{partition!r} of {table!r} is a row that 'orders' keeps for itself: name a row of your own"
        assert problem(table, {name: {"S": partition}}) == said
        assert problem(table, {name: {"S": partition}}, "Put") == said
        assert problem(table, {name: {"S": partition}}, "ConditionCheck") == ""
        assert problem("elsewhere", {name: {"S": partition}}) == ""


@pytest.mark.parametrize("partition", ["#counter#orders-2", "#counter#others", "counter#orders", ""])
def test_other_rows(partition: str) -> None:
    """What other sequences and the application have may be written."""
    assert problem("items", {"pk": {"S": partition}}) == ""
    assert problem("counters", {"sequence": {"S": partition}}) == ""


@pytest.mark.parametrize(("partition", "is_own"), [("orders", True), ("orders@eu-west-1", True), ("orders-2", False)])
def test_counters(partition: str, is_own: bool) -> None:
    """In a table of counters the name of the sequence is its own, and beside items it is not."""
    assert bool(problem("counters", {"sequence": {"S": partition}})) is is_own
    assert problem("items", {"pk": {"S": partition}}) == ""


def test_other_keys() -> None:
    """A key of another name, or a number, is no key of ours."""
    assert problem("items", {"id": {"S": "#counter#orders"}}) == ""
    assert problem("items", {"pk": {"N": "7"}}) == ""
