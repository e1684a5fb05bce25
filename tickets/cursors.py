"""Cursors of the lists: a signed position belongs to one list.

The name of a list says which list it is, in which order, and what is filtered: a cursor is of no use in another one.
"""

from collections.abc import Callable
from typing import TypeVar

from django.core.exceptions import ValidationError

from sequences.rest.cursors import signed, unsigned
from tickets.exceptions import InvalidInput
from tickets.tables import Position, Row, Slice
from tickets.types import Page

PAGE_SIZE = 50
LARGEST_PAGE = 200

T = TypeVar("T")


def page_of(found: Slice, name: str, from_row: Callable[[Row], T]) -> Page[T]:
    """A page of the named list, with the cursors of the pages beside it."""
    return Page(
        results=tuple([from_row(row) for row in found.rows]),
        next_cursor=cursor_at(found.next, name),
        previous_cursor=cursor_at(found.previous, name),
    )


def cursor_at(position: Position | None, name: str) -> str | None:
    """The cursor of a position in the named list; None beyond its ends."""
    if position is None:
        return None
    return signed(-1 - position.number if position.backwards else position.number, _salt(name))


def position_of(cursor: str | None, name: str) -> Position | None:
    """The position of a cursor of the named list; None is the beginning. Raises InvalidInput for any other text."""
    try:
        signed_number = unsigned(cursor, _salt(name))
    except ValidationError as error:
        raise InvalidInput(error) from error
    if signed_number is None:
        return None
    return Position(signed_number) if signed_number >= 0 else Position(-1 - signed_number, backwards=True)


def _salt(name: str) -> str:
    return f"tickets.cursor.{name}"
