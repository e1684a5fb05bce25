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
