"""What a process remembers of values that were handed out."""

from __future__ import annotations

from unittest import mock

from sequences.rows.evidence import Evidence
from sequences.rows.lives import TableLives
from sequences.rows.numbers import Numbers


def evidence(*others: int) -> Evidence:
    """The evidence of one process; `others` are the first values of other Regions."""
    numbers = Numbers(alias="orders", start=1, step=1 + len(others), maximum=99, others=others)
    return Evidence(numbers, mock.Mock(spec=TableLives, are_known=False), lambda scope: "place")


def test_it_only_rises() -> None:
    """A lower value that is confirmed later changes nothing; a higher one counts."""
    known = evidence()
    for value, highest in ((5, 5), (3, 5), (7, 7)):
        known.note("ABC", value)
        assert known.known("ABC") == highest
    assert known.known("XYZ") is None


def test_other_regions_do_not_count() -> None:
    """A value of another Region is not remembered here, and one of this Region is."""
    known = evidence(2)
    known.note(None, 4)
    assert known.known(None) is None
    known.note(None, 3)
    assert known.known(None) == 3
