"""How far a scope had counted at a moment, between the points that are known."""

import pytest

from sequences.rows.course import Course


@pytest.mark.parametrize(
    ("moment", "last_value", "is_exact"),
    [
        (5, None, True),
        (10, 1, True),
        (15, 6, False),
        (20, 11, True),
        (25, 11, True),
        (30, 11, True),
        (99, 11, True),
    ],
)
def test_the_value_at_a_moment(moment: float, last_value: int | None, is_exact: bool) -> None:
    """A value is exact at a point, before all, after all, and while nothing changed; else it is read in between."""
    assert Course([(10, 1), (20, 11), (30, 11)]).value_at(moment) == (last_value, is_exact)
