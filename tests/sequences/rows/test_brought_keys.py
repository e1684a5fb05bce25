"""The keys that items bring, by where a sequence keeps its value."""

import re
from typing import Any

import pytest

from sequences.dynamodb import BLANK
from sequences.exceptions import InvalidItem
from sequences.rows.put_requests import BroughtKeys
from sequences.strategies import Strategy
from tests.sequences.support import make

pytestmark = pytest.mark.usefixtures("configured")

TEXT, NUMBER = {"S": "any"}, {"N": "7"}


def keys(**options: Any) -> BroughtKeys:
    """Those of a sequence with these options."""
    strategy: Strategy = make("atomic", **options)
    return BroughtKeys(strategy.layout)


def test_a_value_in_the_sort_key() -> None:
    """An item under its value brings no key, and no attribute that the sequence writes."""
    assert keys().of({"title": TEXT}) is None
    for name in ("pk", "sk", "token", "marker_expires_at"):
        with pytest.raises(InvalidItem, match=f"'{name}', which the sequence writes itself"):
            keys().of({name: TEXT})


def test_a_value_in_the_partition_key() -> None:
    """An item whose partition key has its value brings its sort key, of the right type."""
    inside = keys(value_in="partition_key", partition="order-{value}", key_types=["S", "N"])
    assert inside.of({"sk": NUMBER}) is None
    with pytest.raises(InvalidItem, match="no 'sk', which is in the key"):
        inside.of({})
    with pytest.raises(InvalidItem, match="'pk', which the sequence writes itself"):
        inside.of({"pk": TEXT, "sk": NUMBER})


def test_a_value_in_an_attribute() -> None:
    """An item with its value in an attribute brings its whole key, and not that attribute."""
    beside = keys(value_in="attribute", value_name="number", key_types=["S", "N"])
    assert beside.of({"pk": TEXT, "sk": NUMBER}) == {"pk": TEXT, "sk": NUMBER}
    with pytest.raises(InvalidItem, match="'number', which the sequence writes itself"):
        beside.of({"pk": TEXT, "sk": NUMBER, "number": NUMBER})
    with pytest.raises(InvalidItem, match="'pk'"):
        beside.of({"pk": {"S": "#reserved"}, "sk": NUMBER})


def test_what_kind_a_key_must_be() -> None:
    """The message says whether a text or a number is wanted."""
    beside = keys(value_in="attribute", value_name="number", key_types=["S", "N"])
    with pytest.raises(InvalidItem, match="'sk' must be a number, as"):
        beside.of({"pk": TEXT, "sk": TEXT})
    with pytest.raises(InvalidItem, match="'pk' must be a text, as"):
        beside.of({"pk": NUMBER, "sk": NUMBER})


def test_a_number_that_looks_reserved() -> None:
    """Only the text of a partition key is compared with what is reserved; a sort key may be any text."""
    beside = keys(value_in="attribute", value_name="number", key_types=["S", "S"])
    assert beside.of({"pk": TEXT, "sk": {"S": "#1"}})
    with pytest.raises(InvalidItem, match="begins with '#', which is reserved"):
        beside.of({"pk": {"S": "#"}, "sk": TEXT})


@pytest.mark.parametrize("name", ["by", "at", "reason"])
def test_a_void_that_looks_signed(name: str) -> None:
    """An attribute `void` of the application must not read like what the sequence withdraws."""
    assert keys().of({"void": {"M": {"other": TEXT}}}) is None
    with pytest.raises(InvalidItem, match=f"attribute 'void' has '{name}'"):
        keys().of({"void": {"M": {name: TEXT}}})


def test_an_item_with_a_key_of_its_own() -> None:
    """A single item may bring its whole key, with its value in an attribute that is the sequence's then."""
    assert keys().of({"pk": TEXT, "sk": NUMBER, "title": TEXT}) == {"pk": TEXT, "sk": NUMBER}
    for name in ("value", "token", "marker_expires_at"):
        with pytest.raises(InvalidItem, match=f"'{name}', which the sequence writes itself: leave it out"):
            keys().of({"pk": TEXT, "sk": NUMBER, name: NUMBER})
    assert keys().of({"value": NUMBER}) is None
    with pytest.raises(InvalidItem, match="'pk', which the sequence writes itself"):
        keys(value_name="sk").of({"pk": TEXT, "sk": NUMBER})


def test_what_else_is_written() -> None:
    """The text and the digest of an item are the sequence's, where they have names."""
    named = keys(text_name="text", DIGEST="digest")
    for name in ("text", "digest"):
        assert keys().of({name: TEXT}) is None
        with pytest.raises(InvalidItem, match=f"'{name}', which the sequence writes itself"):
            named.of({name: TEXT})


def test_a_key_that_has_the_value() -> None:
    """A key must be known before the value is, and the message says what to do."""
    with pytest.raises(InvalidItem, match="'pk' is in its key, so that its value must be known before: leave VALUE"):
        keys().of({"pk": {BLANK: "{text}"}, "sk": NUMBER})


INDEXED: dict[str, Any] = {"INDEXES": {"by-day": {"day": "S", "number": "N"}}}


@pytest.mark.parametrize(
    "item",
    [{}, {"day": TEXT, "number": NUMBER}, {"day": {BLANK: "{text}"}, "number": {BLANK: ""}}],
    ids=["not in it", "in it", "with its value"],
)
def test_keys_of_an_index(item: dict[str, Any]) -> None:
    """An item without them is not in the index; the value is a number there, and its texts are texts."""
    assert keys(**INDEXED).of(item) is None


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"day": NUMBER}, "'day' must be a text, as it is a key of the index 'by-day'."),
        ({"number": TEXT}, "'number' must be a number, as it is a key of the index 'by-day'."),
        ({"day": {BLANK: ""}}, "'day' must be a text, as it is a key of the index 'by-day'."),
        ({"number": {BLANK: "{text}"}}, "'number' must be a number, as it is a key of the index 'by-day'."),
        ({"day": {"S": ""}}, "'day' is empty, but it is a key of the index 'by-day': leave it out."),
    ],
)
def test_what_is_no_key_of_an_index(item: dict[str, Any], said: str) -> None:
    """What DynamoDB does not take there is refused, with the name of the index."""
    with pytest.raises(InvalidItem, match=f"^The item's {re.escape(said)}$"):
        keys(**INDEXED).of(item)


def test_an_attribute_void_that_is_no_map() -> None:
    """It is the application's own."""
    assert keys().of({"void": TEXT}) is None
