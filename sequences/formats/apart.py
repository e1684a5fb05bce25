"""Whether texts of two FORMATs may be the same, as people read them: in any case, without white space.

Each FORMAT becomes a row of characters: a literal one, any digit of a date, or one or more digits of the value. Two
rows are walked side by side. So "no" is certain; "yes" may come from values or dates that never meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .dates import DATE_FIELDS
from .digits import CROCKFORD, DECIMAL
from .writing import Writer

_DIGITS, _CROCKFORD = frozenset(DECIMAL), frozenset(CROCKFORD.casefold() + "oil")
_DASHES = dict.fromkeys(map(ord, "\u2010\u2012\u2013\u2014\u2015\u2212"), "-")


class _Place(NamedTuple):
    """One character of a text: which ones may stand there (None for any), and whether more of them may follow."""

    characters: frozenset[str] | None
    repeats: bool = False

    def meets(self, other: _Place) -> bool:
        return self.characters is None or other.characters is None or not self.characters.isdisjoint(other.characters)

    def ends(self, place: int) -> tuple[int, ...]:
        """Where a text may go on after one character of this place."""
        return (place, place + 1) if self.repeats else (place + 1,)


def places_of(writer: Writer, scope: str | None) -> list[_Place]:
    """The characters of the texts of a scope; of any scope for None."""
    template = writer.template
    digits = _DIGITS if template.digits.alphabet is DECIMAL else _CROCKFORD
    texts = writer.sample(writer.values.start, scope)
    found: list[_Place] = []
    for piece, text in zip(template.pieces, texts, strict=True):
        if piece.field in ("value", "check"):
            found.append(_Place(digits, piece.field == "value"))
        elif piece.field == "scope" and scope is None:
            found.append(_Place(None, repeats=True))
        else:
            found.extend(_literals(text, dated=piece.field in DATE_FIELDS))
    return found


def _literals(text: str, *, dated: bool) -> Iterator[_Place]:
    for character in "".join(text.casefold().translate(_DASHES).split()):
        yield _Place(_DIGITS if dated and character.isdigit() else frozenset(character))


def meet(one: Sequence[_Place], other: Sequence[_Place]) -> bool:
    """Whether a text may fit both rows of places."""
    reached, waiting = {(0, 0)}, [(0, 0)]
    while waiting:
        here, there = waiting.pop()
        if here == len(one) or there == len(other):
            if (here, there) == (len(one), len(other)):
                return True
        elif one[here].meets(other[there]):
            following = {(a, b) for a in one[here].ends(here) for b in other[there].ends(there)} - reached
            reached |= following
            waiting += following
    return False
