"""The places of rows, the conditions on them, and what is read of the renamed projects."""

from typing import Any

import pytest

from sequences.actions import Update
from sequences.exceptions import CancellationReason, WriteCancelled
from tickets import tables
from tickets.store import places
from tickets.store.places import as_read, place_in_register, require_failed_condition, setting
from tickets.tables import Position, Slice


def test_an_update_names_what_it_uses() -> None:
    """What is set, removed, and in the condition has its name; only the condition's own values are given beside."""
    update = setting(
        "ABC", 7, {"a": 1, "b": 2}, removed=["c", "d"], condition="#a = :was AND #e = :x", given={"was": 0}
    )
    assert update == Update(
        "tickets",
        {"pk": "ABC", "sk": 7},
        update="SET #a = :a, #b = :b REMOVE #0, #1",
        condition="#a = :was AND #e = :x",
        names={"#a": "a", "#b": "b", "#e": "e", "#0": "c", "#1": "d"},
        values={":a": 1, ":b": 2, ":was": 0},
    )
    bare = setting("ABC", 7, {"a": 1})
    assert (bare.update, bare.condition, bare.names, bare.values) == ("SET #a = :a", None, {"#a": "a"}, {":a": 1})


@pytest.mark.parametrize(
    ("row", "version", "condition", "given"),
    [
        ({}, None, "attribute_not_exists(#version)", {}),
        ({}, 1, "attribute_not_exists(#version)", {}),
        ({}, 2, "attribute_not_exists(#version) AND #version = :wanted", {"wanted": 2}),
        ({"version": 3}, None, "#version = :was", {"was": 3}),
        ({"version": 3}, 3, "#version = :was", {"was": 3}),
        ({"version": 3}, 4, "#version = :was AND #version = :wanted", {"was": 3, "wanted": 4}),
    ],
)
def test_the_condition_that_a_row_is_as_it_was_read(
    row: Any, version: int | None, condition: str, given: dict[str, int]
) -> None:
    """A row has the version that was read and the one that was wanted: of another one the condition fails."""
    assert as_read(row, version) == (condition, given)


def test_the_register_has_the_order_of_the_alphabet() -> None:
    """The places of keys are in the order of the keys, and a short key comes before those that begin with it."""
    keys = ["A0", "AB", "AB0", "ABC", "B1", "ZZ", "ZZZZZZZZZZ"]
    found = [place_in_register(key) for key in keys]
    assert found == sorted(found)
    assert (place_in_register(""), place_in_register("         0"), place_in_register("        0 ")) == (0, 1, 37)
    assert place_in_register("ZZZZZZZZZZ") == 37**10 - 1


def test_a_write_that_no_condition_stopped_says_nothing() -> None:
    """Only where a condition failed the rows are known; another reason is raised again."""
    failed, other = CancellationReason(code="ConditionalCheckFailed"), CancellationReason(code="ValidationError")
    for reasons in ((failed,), (other, failed)):
        require_failed_condition(WriteCancelled("no", reasons))
    with pytest.raises(WriteCancelled):
        require_failed_condition(WriteCancelled("no", (other, other)))


def test_all_renamed_projects_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: each page begins where the one before ended."""
    asked = list[Any]()

    def query(self: Any, partition: str, attributes: Any, *, at: Position | None, **options: Any) -> Slice:
        asked.append((partition, attributes, at))
        end = {None: 5, Position(5): 9}.get(at)
        return Slice(rows=({"sk": len(asked)},), newest_first=False, begins=None, end=end)

    monkeypatch.setattr(tables.Rows, "query", query)
    assert [row["sk"] for row in places._read_renames()] == [1, 2, 3]
    wanted = ("#renames", ("partition", "key", "keys"))
    assert asked == [(*wanted, None), (*wanted, Position(5)), (*wanted, Position(9))]
