"""Which numbers are values of a sequence, and which changes explain that some are missing."""

from datetime import UTC, datetime

import pytest

from sequences.ops.audit.values import explained
from sequences.rows.numbers import Numbers
from sequences.types import Change


def numbers(step: int = 1) -> Numbers:
    """The values of a sequence."""
    return Numbers(alias="orders", start=1, step=step, maximum=1000)


def change(before: int | None, after: int | None) -> Change:
    """A change that skips the values above `before`, up to `after`."""
    day = datetime(2026, 3, 4, tzinfo=UTC)
    return Change(
        sequence="orders", scope=None, kind="advance", by="ann", at=day, reason="moved", before=before, after=after
    )


@pytest.mark.parametrize(
    ("first", "last", "changes", "gaps"),
    [
        (3, 5, [], [(3, 5, "")]),
        (3, 5, [change(2, 5)], [(3, 5, "ann")]),
        (3, 5, [change(3, 5)], [(3, 3, ""), (4, 5, "ann")]),
        (3, 5, [change(2, 4)], [(3, 4, "ann"), (5, 5, "")]),
        (3, 5, [change(2, 2)], [(3, 5, "")]),
        (3, 5, [change(2, None)], [(3, 5, "")]),
        (1, 5, [change(None, 5)], [(1, 5, "ann")]),
        (3, 5, [change(2, 9)], [(3, 5, "ann")]),
    ],
)
def test_what_explains_missing_values(
    first: int, last: int, changes: list[Change], gaps: list[tuple[int, int, str]]
) -> None:
    """A change explains the values above the one before it, up to the one after it, and no other ones."""
    found = list(explained(first, last, changes, numbers()))
    assert [(gap.first, gap.last, gap.by or "") for gap in found] == gaps
    assert sum(gap.count for gap in found) == last - first + 1


def test_steps_count_once() -> None:
    """Gaps of a sequence with a STEP begin and end at its values."""
    found = list(explained(11, 41, [change(11, 31)], numbers(step=10)))
    assert [(gap.first, gap.last, gap.count) for gap in found] == [(11, 11, 1), (21, 31, 2), (41, 41, 1)]


@pytest.mark.parametrize(("number", "value"), [(0, -9), (1, 1), (10, 1), (11, 11), (25, 21)])
def test_the_last_value_up_to_a_number(number: int, value: int) -> None:
    """The highest value that is not above a number; the one before START if there is none."""
    assert numbers(step=10).up_to(number, -9) == value
