"""The keys that items bring, by where a sequence keeps its value."""

from typing import Any

import pytest

from sequences.exceptions import InvalidItem
from sequences.rows.brought_keys import BroughtKeys
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
