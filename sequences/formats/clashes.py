"""The search for two values with one text, and whether texts of two FORMATs may be the same, as people read them.

For that each FORMAT becomes a row of characters: a literal one, any digit of a date, or one or more digits of the
value. Two rows are walked side by side, in any case, without white space. So "no" is certain, but for white space that
is typed in place of a dash; "yes" may come from values or dates that never meet.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from .dates import ANY_DAY, DATE_FIELDS
from .digits import CROCKFORD, DASHES, DECIMAL, MOST_DIGITS, Digits
from .template import Writer

_DIGITS, _CROCKFORD = frozenset(DECIMAL), frozenset(CROCKFORD.casefold() + "oil")
_AS_DASH = dict.fromkeys(map(ord, DASHES), "-")


class Numbered(NamedTuple):
    """What has a text: a value, its scope, and its period, "" without periods."""

    value: int
    scope: str | None
    period: str

    def __str__(self) -> str:
        scope = "" if self.scope is None else f" of the scope {self.scope!r}"
        period = f" of the period {self.period!r}" if self.period else ""
        return f"{self.value}{scope}{period}"


class Clash(NamedTuple):
    """Two that have the same text."""

    text: str
    one: Numbered
    other: Numbered


def clash_of_periods(writer: Writer) -> Clash | None:
    """The first value in two periods that its text does not tell apart; None if it tells them."""
    days = writer.dates.alike
    if days is None:
        return None
    value, scope = writer.values.start, "A" if "scope" in writer.template.specs else None
    one, other = (Numbered(value, scope, writer.period.name(day)) for day in days)
    day, _ = days
    return Clash("".join(writer.texts(value, scope, day, one.period)), one, other)


class SideBySide:
    """A scope and a value, and what stands between them, in the order in which FORMAT has them."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._values, self._digits = writer, writer.values, writer.template.digits
        scope, value = writer.template.place("scope"), writer.template.place("value")
        first, last = sorted((scope, value))
        self._scope_first, self._all = first == scope, slice(first, last + 1)

    @cached_property
    def touch(self) -> bool:
        """Whether nothing between them shows where one of them ends."""
        return self._digits.may_read(self._between(self._values.start))

    @cached_property
    def run_together(self) -> bool:
        """Whether a scope may end, or begin, like a longer value."""
        first, last = self._digits.write(self._values.start), self._digits.write(self._values.stop - 1)
        return self.touch and len(first) != len(last)

    @cached_property
    def clash(self) -> Clash | None:
        """Two whose texts are the same because the scope of one ends, or begins, with digits of the other's value.

        With "{scope}{year}{value}" in 2026: "A" and 20261 are written as "A2026" and 1 are, "A202620261". The longer
        value is made of the shorter one, of what stands between, and of some digits.
        """
        samples = self._samples() if self.run_together else ()
        return next((clash for short in samples for clash in self._clashes(short)), None)

    def _between(self, value: int) -> str:
        return "".join(self._writer.sample(value, None)[self._all][1:-1])

    def _row(self, *texts: str) -> str:
        """Texts between the scope and the end of the value, in the order in which they stand."""
        return "".join(texts if self._scope_first else reversed(texts))

    def _samples(self) -> Iterator[int]:
        """The first value, and the first of each length."""
        powers = (len(self._digits.alphabet) ** power for power in range(1, MOST_DIGITS))
        for bound in chain([self._values.start], powers):
            value = bound + (self._values.start - bound) % self._values.step
            if value in self._values:
                yield value

    def _clashes(self, short: int) -> Iterator[Clash]:
        """Longer values that have this text, too, in a longer scope."""
        period = self._writer.period.name(ANY_DAY)
        digits, between = self._digits.write(short), self._between(short)
        end = self._row(between, digits)
        for value in filter(None, map(self._value_of, self._longer(between, digits))):
            texts = self._writer.sample(value, "A")
            text, whole = "".join(texts), "".join(texts[self._all])
            scope = whole.removesuffix(end) if self._scope_first else whole.removeprefix(end)
            if "".join(self._writer.sample(short, scope)) == text:
                yield Clash(text, Numbered(value, "A", period), Numbered(short, scope, period))

    def _longer(self, between: str, digits: str) -> Iterator[str]:
        """Digits with more beside them: a part of what stands between, or all of it, and then more."""
        for size in range(1, len(between)):
            yield self._row(between[-size:] if self._scope_first else between[:size], digits)
        numbers = map(Digits(self._digits.alphabet).write, range(1, 1000))
        for number in chain([""] if between else [], numbers):
            yield self._row(number, between, digits)

    def _value_of(self, digits: str) -> int | None:
        """The value that is written with these digits; None if there is none."""
        if set(digits) - set(self._digits.alphabet):
            return None
        value = self._digits.read(digits)
        return value if value in self._values and self._digits.write(value) == digits else None


class _Place(NamedTuple):
    """One character of a text: which ones may stand there (None for any), and whether more of them may follow."""

    characters: frozenset[str] | None
    repeats: bool = False

    def meets(self, other: "_Place") -> bool:
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
    for character in "".join(text.casefold().translate(_AS_DASH).split()):
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
