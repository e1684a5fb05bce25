"""Cursors: signed positions, so that each belongs to one list and nobody can make one up."""

from collections.abc import Callable
from typing import TypeVar

from django.core.signing import BadSignature, Signer

from tickets.exceptions import InvalidInput
from tickets.tables import Row, Slice
from tickets.types import Page

PAGE_SIZE = 50
LARGEST_PAGE = 100

T = TypeVar("T")


def page_of(found: Slice, name: str, from_row: Callable[[Row], T]) -> Page[T]:
    """A page of the named list, with the cursor of the next one."""
    return Page(results=tuple(from_row(row) for row in found.rows), next_cursor=cursor_at(found.end, name))


def cursor_at(position: int | None, name: str) -> str | None:
    """The cursor of a position in the named list; None for the end."""
    return None if position is None else _signer(name).sign(str(position))


def position_of(cursor: str | None, name: str) -> int | None:
    """The position of a cursor of the named list; None is the beginning. Raises InvalidInput for any other text."""
    if cursor is None:
        return None
    try:
        return int(_signer(name).unsign(cursor))
    except BadSignature as error:
        message = "This is not a cursor of this list. Start again without one."
        raise InvalidInput({"cursor": message}) from error


def _signer(name: str) -> Signer:
    return Signer(salt=f"tickets.cursor.{name}")
