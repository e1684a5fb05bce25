"""Cursors of lists: what a position becomes, and which list it belongs to."""

import pytest

from sequences.rest.cursors import signed
from tickets.cursors import cursor_at, page_of, position_of
from tickets.exceptions import InvalidInput
from tickets.tables import Position, Slice
from tickets.types import Page

POSITIONS = [Position(0), Position(7), Position(0, backwards=True), Position(7, backwards=True)]


@pytest.mark.parametrize("position", [None, *POSITIONS])
def test_a_cursor_leads_back_to_its_position(position: Position | None) -> None:
    """Each position has its own cursor; no cursor is the beginning of the list."""
    assert position_of(cursor_at(position, "list"), "list") == position


def test_a_cursor_belongs_to_one_list() -> None:
    """A cursor of another list is refused, as is any other text."""
    for cursor in (cursor_at(Position(7), "other"), "7", ""):
        with pytest.raises(InvalidInput):
            position_of(cursor, "list")


@pytest.mark.parametrize(("number", "position"), [*zip([0, 7, -1, -8], POSITIONS, strict=True)])
def test_a_cursor_of_a_former_release_leads_to_its_place(number: int, position: Position) -> None:
    """What is signed, and under which name, stays: a program may go on with a cursor after an update."""
    assert position_of(signed(number, "tickets.cursor.list"), "list") == position


def test_a_page_has_the_cursors_of_the_pages_beside_it() -> None:
    """A page knows where the list goes on in both directions, and nothing where it ends."""
    found = Slice(rows=({"sk": 4}, {"sk": 5}), newest_first=False, begins=3, end=5)
    page: Page[int] = page_of(found, "list", lambda row: row["sk"])
    assert page.results == (4, 5)
    assert (page.next_cursor, page.previous_cursor) == (
        cursor_at(Position(5), "list"),
        cursor_at(Position(4, backwards=True), "list"),
    )
    whole = page_of(Slice(rows=(), newest_first=True, begins=None, end=None), "list", lambda row: row)
    assert (whole.next_cursor, whole.previous_cursor) == (None, None)
