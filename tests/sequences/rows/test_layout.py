"""The keys and attributes of items, as their layout says, and what a stored `void` means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.dynamodb import fingerprint, marshal
from sequences.dynamodb.expressions import KeySchema, query_numbers
from sequences.exceptions import InvalidScope, SequenceFrozen
from sequences.rows.layout import ItemLayout, begins_skip, frozen_in, signed_void
from sequences.types import Dated, Scope


def layout(*, keys: dict[str, Any] | None = None, **changes: Any) -> ItemLayout:
    """That of a sequence whose values are sort keys, with other `keys` of its table or other options."""
    given: dict[str, Any] = {"template": "{sequence}#{period}#{scope}", "own_keys": True, "in_periods": True}
    return ItemLayout(**{"alias": "orders", "schema": KeySchema(table="items", **(keys or {})), **given, **changes})


NUMBER: dict[str, Any] = {"keys": {"partition_type": "N"}, "template": "{scope}", "in_periods": False}
INSIDE: dict[str, Any] = {"value_in": "partition_key", "template": "{scope}-{value:04d}", "in_periods": False}
BESIDE: dict[str, Any] = {"value_in": "attribute", "value_name": "number", "template": "x", "in_periods": False}


@pytest.mark.parametrize("scope", ["0", "7", "-7", "1" * 38])
def test_a_scope_that_is_a_number(scope: str) -> None:
    """Where the partition key is a number, the scope is one, as DynamoDB writes it."""
    layout(**NUMBER).check_scope(scope)


@pytest.mark.parametrize("scope", [None, "", "A", "07", "-0", "+7", "7.0", "7\n", "1" * 39, "-"])
def test_a_scope_that_is_no_number(scope: str | None) -> None:
    """What could be another scope's number, or is none, is refused."""
    with pytest.raises(InvalidScope, match="it must be a whole number without zeros before it"):
        layout(**NUMBER).check_scope(scope)
    layout().check_scope(scope)


def test_a_scope_that_no_key_has() -> None:
    """A value in the partition key has a scope beside it only if the template does."""
    single = layout(**{**INSIDE, "template": "order-{value}"})
    single.check_scope(None)
    with pytest.raises(InvalidScope, match=r"'orders' has none, as its option 'partition' has no \{scope\}"):
        single.check_scope("A")
    layout(**INSIDE).check_scope("A")
    layout(**BESIDE).check_scope("A")


@pytest.mark.parametrize(
    ("scope", "partition"),
    [("A", "orders##A"), (None, "orders###"), (Dated("A", "2026"), "orders#2026#A"), (Dated(None, "2"), "orders#2##")],
)
def test_a_partition(scope: Scope, partition: str) -> None:
    """It has the sequence, the period and the scope; what a host remembers has the prefix of sort keys, too."""
    made = layout(keys={"sort_type": "S", "padded_width": 3, "sort_prefix": "T#"})
    assert [made.partition(scope) for _ in range(2)] == [partition] * 2
    assert made.collection(scope) == f"{partition}T#"


@pytest.mark.parametrize(
    ("made", "key", "text"),
    [
        (layout(), {"pk": {"S": "orders##A"}, "sk": {"N": "7"}}, "orders##A / 7"),
        (layout(**NUMBER), {"pk": {"N": "A"}, "sk": {"N": "7"}}, "A / 7"),
        (layout(keys={"sort_name": ""}, **INSIDE), {"pk": {"S": "A-0007"}}, "A-0007"),
        (layout(**{**INSIDE, "template": "{value}"}), {"pk": {"S": "7"}}, ""),
        (layout(**BESIDE), {}, ""),
    ],
    ids=["sort key", "number", "partition key", "part of the key", "attribute"],
)
def test_a_key(made: ItemLayout, key: dict[str, Any], text: str) -> None:
    """It follows from the value, or from the item; people read it only where it follows whole."""
    assert made.key("A", 7) == key
    assert made.key_text("A", 7) == text


def test_what_is_written() -> None:
    """An item gets its key or its value, its token, and its text if that has a name."""
    key = {"pk": {"S": "orders##A"}, "sk": {"N": "7"}}
    assert layout().written("A", 7, "t", "A-7", own_key=False) == {**key, "token": {"S": "t"}}
    named = layout(text_name="text", token_name="request")
    own = {"value": {"N": "7"}, "request": {"S": "t"}, "text": {"S": "A-7"}}
    assert named.written("A", 7, "t", "A-7", own_key=True) == own


def test_a_digest() -> None:
    """It is of all but what the sequence writes later, the token and itself, and only kept where it has a name."""
    row = marshal({"pk": "a", "sk": 7, "title": "one", "token": "t", "void": {"by": "ana"}})
    kept = layout(digest_name="digest")
    digest = fingerprint(marshal({"pk": "a", "sk": 7, "title": "one"}))
    assert kept.with_digest(row) == {**row, "digest": {"S": digest}}
    assert kept.digest(kept.with_digest(row)) == digest
    assert layout().with_digest(row) == row


@pytest.mark.parametrize(
    ("void", "signed", "frozen", "skips"),
    [
        (None, {}, None, False),
        ("text", {}, None, False),
        ({"colour": "red", "until": 9, "frozen": {"by": "ana"}}, {}, None, False),
        ({"by": "ana"}, {"by": "ana"}, None, False),
        ({"at": "noon", "until": 9}, {"at": "noon", "until": 9}, None, True),
        ({"reason": "x", "frozen": {"by": "bob"}}, {"reason": "x", "frozen": {"by": "bob"}}, {"by": "bob"}, False),
        ({"by": "ana", "frozen": True}, {"by": "ana", "frozen": True}, None, False),
    ],
)
def test_a_void(void: Any, signed: Mapping[str, Any], frozen: Mapping[str, Any] | None, skips: bool) -> None:
    """The sequence's own says who, when or why; any other one is the application's."""
    row = {} if void is None else {"void": void}
    assert (signed_void(row), frozen_in(row), begins_skip(row)) == (signed, frozen, skips)


class TestTop:
    def test_the_highest(self) -> None:
        """One query of one item finds the highest value, what it cost, and by whom the scope is frozen there."""
        item = marshal({"pk": "orders##A", "sk": 7, "void": {"by": "ana", "frozen": {"by": "ana", "reason": "x"}}})
        send = Mock(return_value={"Items": [item], "ConsumedCapacity": {"CapacityUnits": 0.5}})
        assert layout().top("A", send) == (7, 0.5, {"by": "ana", "reason": "x"})
        wanted = query_numbers(layout().schema, "orders##A", newest_first=True, limit=1, attributes=["void"])
        send.assert_called_once_with("query", wanted)
        with pytest.raises(SequenceFrozen, match="'orders', scope 'A', is frozen by ana"):
            layout().highest("A", send)
        send.return_value = {"Items": [marshal({"pk": "orders##A", "sk": 7})]}
        assert layout().highest("A", send) == (7, 0.0)

    def test_no_items(self) -> None:
        """Without items there is none; where they are no collection nothing is asked."""
        send = Mock(return_value={"Items": [], "ConsumedCapacity": {"CapacityUnits": 0.5}})
        assert layout().top("A", send) == (None, 0.5, None)
        assert layout().highest("A", send) == (None, 0.5)
        send.reset_mock()
        assert layout(**INSIDE).top("A", send) == (None, 0.0, None)
        send.assert_not_called()
