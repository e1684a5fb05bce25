"""How the values of a sequence are written, and in which periods they count."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sequences.rows.numbers import LARGEST
from tests.sequences.support import make

pytestmark = pytest.mark.usefixtures("configured")


@pytest.mark.parametrize(
    ("settings_", "plain"),
    [({}, True), ({"FORMAT": "A-{value}"}, False), ({"PERIOD": "year"}, False)],
    ids=["neither", "FORMAT", "PERIOD"],
)
def test_plain(settings_: dict[str, Any], plain: bool) -> None:
    """The scope alone says where a value counts and how it is written, unless there is a FORMAT or a PERIOD."""
    assert make("atomic", **settings_).naming.is_plain is plain


def test_a_year_that_is_written_with_two_digits() -> None:
    """A date in another century is refused, as its text would be that of another year."""
    naming = make("atomic", PERIOD="year", FORMAT="{yy}-{value}").naming
    assert naming.dated(None, date(2026, 3, 5))[1] == date(2026, 3, 5)
    with pytest.raises(ValueError, match="2000 to 2099"):
        naming.dated(None, date(1999, 12, 31))


@pytest.mark.parametrize(
    ("options", "padded", "maximum"),
    [({}, False, LARGEST), ({"key_types": ["S", "S"], "sort_key": "{value:03d}"}, True, 999)],
    ids=["number", "text"],
)
def test_padded_keys(options: dict[str, Any], padded: bool, maximum: int) -> None:
    """The width of a sort key that is a text bounds the numbers."""
    numbers = make("atomic", **options).numbers
    assert (numbers.padded, numbers.maximum) == (padded, maximum)
