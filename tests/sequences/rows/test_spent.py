"""The capacity units that numbers took."""

from __future__ import annotations

from sequences.rows.answers import Spent
from sequences.types import Allocation


def stored(write_units: float, read_units: float) -> Allocation:
    """A number that took so much."""
    return Allocation(
        sequence="orders",
        scope=None,
        value=1,
        attempts=1,
        replayed=False,
        write_units=write_units,
        read_units=read_units,
    )


def test_what_numbers_took() -> None:
    """The units of all numbers add up, and each took its share of them."""
    spent = Spent()
    spent.add(stored(4.0, 0.0))
    assert (spent.numbers, spent.each) == (1, (4.0, 0.0))
    spent.add(stored(2.0, 1.0))
    assert (spent.numbers, spent.write, spent.read) == (2, 6.0, 1.0)
    assert spent.each == (3.0, 0.5)
