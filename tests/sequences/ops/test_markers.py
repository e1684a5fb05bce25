"""What markers need, and how many missing values are of items with keys of their own."""

from types import SimpleNamespace
from typing import Any

import pytest

from sequences.ops.audit.markers import OwnKeys, _members, _orphaned


def own_keys(
    counter: dict[str, Any], *, possible: bool = True, takes: bool = True, gapless: bool = True, step: int = 1
) -> OwnKeys:
    """A comparison with this row of a counter."""
    layout, numbers = SimpleNamespace(may_own_key=possible), SimpleNamespace(step=step)
    strategy: Any = SimpleNamespace(takes_own_keys=takes, layout=layout, gapless=gapless, numbers=numbers)
    return OwnKeys(strategy, counter)


class TestOwnKeys:
    @pytest.mark.parametrize(
        ("counter", "gaps", "unjudged", "notes"),
        [
            ({}, [(3, 4)], 1, ["Gaps cannot be judged"]),  # an earlier version counted none
            ({"own_keys": 3}, [(3, 4)], 1, ["Gaps cannot be judged"]),
            ({"own_keys": 3, "own_keys_after": 0}, [(3, 4), (7, 7)], 2, ["Of 3 missing values 3 have items"]),
            ({"own_keys": 4, "own_keys_after": 0}, [(3, 4), (7, 7)], 2, ["Of 3 missing values 3 have items"]),
            ({"own_keys": 2, "own_keys_after": 0}, [(3, 4), (7, 7)], 0, ["Of 3 missing values 2 have items"]),
            ({"own_keys": 0, "own_keys_after": 0}, [(3, 4)], 0, []),
            ({"own_keys": 0, "own_keys_after": 4}, [(3, 4)], 1, ["Gaps up to 4 cannot be judged"]),
            ({"own_keys": 1, "own_keys_after": 3}, [(3, 4)], 1, ["Of 1 missing values 1 have items"]),
            ({"own_keys": 1, "own_keys_after": 2}, [(3, 4)], 0, ["Of 2 missing values 1 have items"]),
            (
                {"own_keys": 1, "own_keys_after": 5},
                [(3, 4), (7, 7)],
                2,
                ["Of 1 missing values 1 have items", "Gaps up to 5 cannot be judged"],
            ),
            ({"own_keys": 3, "own_keys_after": 0}, [], 0, []),
        ],
    )
    def test_gaps_that_they_may_explain(
        self, counter: dict[str, Any], gaps: list[tuple[int, int]], unjudged: int, notes: list[str]
    ) -> None:
        """No more values may be missing than are counted; up to where nobody counted, nobody can tell."""
        found = own_keys(counter)
        for first, last in gaps:
            found.missing(first, last)
        assert found.unjudged_gaps == unjudged
        assert [note.startswith(begin) for note, begin in zip(found.notes(), notes, strict=True)] == [True] * len(notes)

    def test_values_by_tens(self) -> None:
        """Of a gap from 11 to 51 five values are missing, two of them above 31."""
        for after, counted, unjudged in ((1, 5, 1), (1, 4, 0), (31, 2, 1), (31, 1, 0)):
            found = own_keys({"own_keys": counted, "own_keys_after": after}, step=10)
            found.missing(11, 51)
            assert found.unjudged_gaps == unjudged

    @pytest.mark.parametrize("without", [{"possible": False}, {"takes": False}, {"gapless": False}])
    def test_where_there_are_none(self, without: dict[str, bool]) -> None:
        """Nothing is put down to keys of their own where items have none, or where gaps are designed."""
        found = own_keys({"own_keys": 9, "own_keys_after": 3}, **without)
        found.missing(2, 2)
        found.missing(4, 5)
        assert (found.unjudged_gaps, [*found.notes()]) == (0, [])

    def test_markers_of_an_earlier_version(self) -> None:
        """They do not tell which items have keys of their own, so they are counted, and not judged."""
        found = own_keys({})
        assert [found.may_be_of(marker) for marker in ({}, {"items": 2}, {"value": 1})] == [True, False, True]
        (note,) = found.notes()
        assert note == "2 markers of an earlier version do not tell whether their items have their own keys."
        assert own_keys({}, possible=False).may_be_of({}) is False


@pytest.mark.parametrize(
    ("marker", "values"),
    [
        ({"value": 5}, [5]),
        ({"value": 5, "items": 3}, [5, 15, 25]),
        ({"value": 5, "items": 3, "own_keys": {1}}, [5, 25]),
        ({"value": 5, "items": 1000}, [5 + 10 * place for place in range(100)]),
        ({"value": 5, "count": 3}, []),
        ({"value": "5"}, []),
        ({}, []),
    ],
)
def test_the_values_of_a_marker(marker: dict[str, Any], values: list[int]) -> None:
    """Those of its items, at most as many as one write stores; none of values that were taken without items."""
    assert _members(marker, 10) == values


def test_what_a_marker_lacks() -> None:
    """Each of its values needs an item, and one of its own request."""
    assert _orphaned("t1", 5, {4: "t1"}) == "no item is stored under this value"
    assert _orphaned("t1", 5, {5: "t2"}) == "the item under this value belongs to another request"
    assert _orphaned("t1", 5, {5: "t1"}) == ""
