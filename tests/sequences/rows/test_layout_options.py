"""Which options of a layout go together, and what is said of those that do not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sequences.dynamodb.expressions import MARKER_EXPIRY, KeySchema
from sequences.exceptions import InvalidSequence
from sequences.rows.layout import VALUE_IN, ItemLayout

Changes = dict[str, Any]


def options(*, keys: Changes | None = None, **changes: Any) -> ItemLayout:
    """Those of a sequence whose values are sort keys, with other `keys` of its table or other options."""
    given: Changes = {"alias": "orders", "template": "{sequence}#{scope}", "own_keys": True, "in_periods": False}
    return ItemLayout(**{**given, "schema": KeySchema(table="items", **(keys or {})), **changes})


INSIDE: Changes = {"value_in": "partition_key", "template": "order-{value}"}
BESIDE: Changes = {"value_in": "attribute", "template": "{sequence}"}
SINGLE: Changes = {"keys": {"sort_name": ""}}
NUMBER: Changes = {"keys": {"partition_type": "N"}}
NAMES = "must be neither a key attribute nor 'token_name' nor 'value_name'"
OTHERS = "must be neither a key attribute nor 'token_name'"
NO_VALUE = "must be a text with one '{value}' in it, as 'order-{value}' or '{scope}-{value:06d}'"
NEAR_VALUE = "must not begin with '#', and must have no digit and no '{name}' beside the value"
EXPIRY = f"must not be {MARKER_EXPIRY!r}: DynamoDB deletes what has an old one"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"template": "{scope}-{period}", "in_periods": True},
        {"keys": {"sort_type": "S", "padded_width": 6}},
        {"template": "{scope}", **NUMBER},
        {"own_keys": False},
        INSIDE,
        {**INSIDE, **SINGLE},
        {**INSIDE, "template": "{value}", **NUMBER},
        {**INSIDE, "template": "{scope}/{value:06d}/{sequence}"},
        BESIDE,
        {**BESIDE, **SINGLE, "value_name": "number"},
        {"value_name": "pk"},
        {"text_name": "text", "digest_name": "digest"},
    ],
    ids=repr,
)
def test_what_goes_together(changes: Changes) -> None:
    """Each way to keep a value has its options."""
    assert options(**changes)


@pytest.mark.parametrize(
    ("changes", "option", "wanted"),
    [
        (SINGLE, "key_names", "must be two names, as ('pk', 'sk'): the value is in the sort key"),
        ({"keys": {"sort_type": "S"}}, "key_types", "must end with 'S' if there is a 'sort_key', otherwise with 'N'"),
        ({"template": "orders"}, "partition", 'must be a text with "{scope}" in it'),
        ({"template": "#{scope}"}, "partition", "must not begin with '#', which is reserved"),
        (NUMBER, "partition", "must be '{scope}': the partition key is a number"),
        ({**BESIDE, "own_keys": False}, "value_in", "must be 'sort_key': this strategy counts the sort keys"),
        ({**INSIDE, "own_keys": False}, "value_in", "must be 'sort_key': this strategy counts the sort keys"),
        ({**INSIDE, **NUMBER}, "partition", "must be '{value}': the partition key is a number"),
        ({**INSIDE, "template": "order"}, "partition", NO_VALUE),
        ({**INSIDE, "template": "{value}-{value}"}, "partition", NO_VALUE),
        ({**INSIDE, "template": "#{value}"}, "partition", NEAR_VALUE),
        ({**INSIDE, "template": "1{value}"}, "partition", NEAR_VALUE),
        ({**INSIDE, "template": "{scope}{value}"}, "partition", NEAR_VALUE),
        ({**INSIDE, "template": "{value}0"}, "partition", NEAR_VALUE),
        ({**INSIDE, "template": "{value}{scope}"}, "partition", NEAR_VALUE),
        ({"in_periods": True}, "partition", "must have {period} in it"),
        ({"template": "{scope}{period}"}, "partition", "has {period} in it, but there is no PERIOD"),
        ({"template": "{scope}{value}"}, "partition", "has {value}, which stands for nothing"),
        ({"template": "{scope}{b}{a}{}"}, "partition", "has {a}, which stands for nothing"),
        ({**INSIDE, "template": "{value}-{value:x}"}, "partition", "has {value:x}, which stands for nothing"),
        ({"keys": {"sort_name": "pk"}}, "key_names", "must be different names"),
        ({"value_name": MARKER_EXPIRY}, "value_name", EXPIRY),
        ({"token_name": MARKER_EXPIRY}, "token_name", EXPIRY),
        ({"text_name": MARKER_EXPIRY}, "text_name", EXPIRY),
        ({"token_name": "sk"}, "token_name", "must not be a key attribute"),
        ({"text_name": "pk"}, "text_name", NAMES),
        ({"text_name": "token"}, "text_name", NAMES),
        ({"text_name": "value"}, "text_name", NAMES),
        ({"value_name": "token"}, "value_name", OTHERS),
        ({**BESIDE, "value_name": "sk"}, "value_name", OTHERS),
    ],
)
def test_what_does_not(changes: Changes, option: str, wanted: str) -> None:
    """The message names the option, and says what it must be."""
    wrong = f"SEQUENCES['orders']['OPTIONS'][{option!r}] {wanted}."
    with pytest.raises(InvalidSequence, match=f"^{re.escape(wrong)}$"):
        options(**changes)


@pytest.mark.parametrize("name", ["void", MARKER_EXPIRY, "token", "text", "value", "pk", "sk"])
def test_the_name_of_the_digest(name: str) -> None:
    """It is no other attribute's."""
    wrong = f"SEQUENCES['orders']['DIGEST'] is '{name}': another attribute has this name."
    with pytest.raises(InvalidSequence, match=f"^{re.escape(wrong)}$"):
        options(text_name="text", digest_name=name)


@pytest.mark.parametrize(
    ("changes", "may"),
    [({}, True), ({"own_keys": False}, False), ({"value_name": "sk"}, False), (BESIDE, False), (INSIDE, False)],
    ids=repr,
)
def test_whether_an_item_may_bring_its_key(changes: Changes, may: bool) -> None:
    """A single item of a collection may, if the strategy allows it, and if its value has an attribute of its own."""
    assert options(**changes).may_own_key is may


def test_where_the_items_are() -> None:
    """Only values that are sort keys make a collection."""
    assert VALUE_IN == ("sort_key", "partition_key", "attribute")
    assert options().in_collections
    assert options().key_names == ("pk", "sk")
    assert not options(**INSIDE).in_collections
    assert options(**SINGLE, **BESIDE).key_names == ("pk",)
