"""How rows that had no number get one: what is said of those that get none."""

from typing import Any
from unittest.mock import Mock

import pytest

from sequences.exceptions import InvalidScope
from sequences.fields.numbering import _Run


@pytest.mark.parametrize(
    ("keys", "named"),
    [([7], "7"), ([1, 2, 3, 4, 5], "1, 2, 3, 4, 5"), ([1, 2, 3, 4, 5, 6, 7], "1, 2, 3, 4, 5 and 2 more")],
)
def test_the_rows_of_an_error(keys: list[int], named: str) -> None:
    """An error of some rows is kept with their keys, at most five; the others go on."""
    field: Any = Mock()
    field.model._meta.label = "shop.Bill"
    run, error = _Run(field, "default"), InvalidScope("no")
    with run.going_on(keys):
        raise error
    assert run.failed == [error]
    assert error.__notes__ == [f"Not numbered: shop.Bill {named}."]
