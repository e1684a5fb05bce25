"""Cursors: signed positions, so that each belongs to one list and nobody can make one up."""

from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer

__all__ = ["signed", "unsigned"]


def signed(position: int | None, salt: str) -> str | None:
    """The cursor of a position in the list that `salt` names; None for the end."""
    return None if position is None else Signer(salt=salt).sign(str(position))


def unsigned(cursor: str | None, salt: str) -> int | None:
    """The position of a cursor of this list; None is the beginning.

    Raises Django's ValidationError about `cursor` for any other text.
    """
    if cursor is None:
        return None
    try:
        return int(Signer(salt=salt).unsign(cursor))
    except BadSignature as error:
        raise ValidationError({"cursor": "This is not a cursor of this list. Start again without one."}) from error
