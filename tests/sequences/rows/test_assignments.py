"""What a strategy says of a write before it goes out."""

from sequences.rows.assignments import Assignment


def test_what_is_not_said() -> None:
    """A strategy without a counter of its own reads nothing and adds no action to the items."""
    plain = Assignment([], [])
    assert (plain.read_units, plain.counter, plain.token, plain.first_day, plain.check) == (0.0, None, "", "", None)
