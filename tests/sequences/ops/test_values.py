"""The missing values of a scope, and the changes that explain them."""

from datetime import UTC, datetime

import pytest

from sequences.ops.audit.report import Gap
from sequences.ops.audit.values import explained
from sequences.rows.numbers import Numbers
from sequences.types import Change

AT = datetime(2026, 1, 2, tzinfo=UTC)
ONES = Numbers(alias="orders", start=1, step=1, maximum=99)
FROM_ZERO = Numbers(alias="orders", start=0, step=1, maximum=99)
TENS = Numbers(alias="orders", start=11, step=10, maximum=999)


def change(before: int | None, after: int, by: str = "ada") -> Change:
    """A change that skipped the values above `before`, up to `after`."""
    return Change(
        sequence="orders", scope="A", kind="advance", by=by, at=AT, reason=f"to {after}", before=before, after=after
    )


@pytest.mark.parametrize(
    ("numbers", "changes", "first", "last", "gaps"),
    [
        (ONES, [], 3, 8, [(3, 8, 6, "")]),
        (ONES, [], 3, 3, [(3, 3, 1, "")]),
        (ONES, [], 4, 3, []),
        (ONES, [change(4, 6)], 3, 8, [(3, 4, 2, ""), (5, 6, 2, "ada"), (7, 8, 2, "")]),
        (ONES, [change(3, 6)], 3, 8, [(3, 3, 1, ""), (4, 6, 3, "ada"), (7, 8, 2, "")]),
        (ONES, [change(2, 8)], 3, 8, [(3, 8, 6, "ada")]),
        (ONES, [change(1, 9)], 3, 8, [(3, 8, 6, "ada")]),
        (ONES, [change(None, 4)], 1, 8, [(1, 4, 4, "ada"), (5, 8, 4, "")]),
        (ONES, [change(8, 9), change(1, 2)], 3, 8, [(3, 8, 6, "")]),
        (
            ONES,
            [change(6, 7, "bob"), change(3, 4)],
            3,
            7,
            [(3, 3, 1, ""), (4, 4, 1, "ada"), (5, 6, 2, ""), (7, 7, 1, "bob")],
        ),
        (ONES, [change(3, 6, "bob"), change(3, 4)], 4, 6, [(4, 6, 3, "bob")]),
        (FROM_ZERO, [change(None, 0)], 0, 2, [(0, 0, 1, "ada"), (1, 2, 2, "")]),
        (TENS, [], 21, 51, [(21, 51, 4, "")]),
        (TENS, [change(21, 45)], 21, 51, [(21, 21, 1, ""), (31, 41, 2, "ada"), (51, 51, 1, "")]),
        (TENS, [change(25, 41)], 11, 51, [(11, 21, 2, ""), (31, 41, 2, "ada"), (51, 51, 1, "")]),
    ],
)
def test_gaps_end_where_a_change_begins_or_ends(
    numbers: Numbers, changes: list[Change], first: int, last: int, gaps: list[tuple[int, int, int, str]]
) -> None:
    """What a change skipped is a gap of its own with its signature; the newest of several counts."""
    assert [*explained(first, last, changes, numbers)] == [
        Gap(
            first=begin,
            last=end,
            count=count,
            by=by,
            at=AT.isoformat() if by else "",
            reason=next(one.reason for one in changes if one.by == by) if by else "",
        )
        for begin, end, count, by in gaps
    ]
