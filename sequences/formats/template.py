"""A template taken apart into literal texts and fields, written for a value, and what makes one unusable."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from string import Formatter
from typing import NamedTuple
from unicodedata import normalize

from .dates import ANY_DAY, DATE_FIELDS, Dates
from .digits import CROCKFORD, DECIMAL, MOST_DIGITS, Digits, digits_in
from .periods import DATE_PARTS, Period

FIELDS = ("value", "scope", *DATE_FIELDS, "check")
"""What may stand in braces in FORMAT."""

LONGEST = 200

# What may follow the name of a field, as a pattern and in words; the other fields stand alone.
_SPECS = {
    "value": (
        "(0[1-9][0-9]?(d|crockford)|crockford)?",
        "{value}, or with a width {value:06d}, {value:crockford} or {value:06crockford}",
    ),
    "check": ("luhn|damm", "{check:luhn} or {check:damm}"),
}


class Piece(NamedTuple):
    """A literal text, or a field with its spec."""

    literal: str
    field: str
    spec: str


@dataclass(frozen=True)
class Template:
    """A template, such as "INV-{period}-{value:06d}", and what it is made of."""

    text: str

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces in their order. Raises ValueError for unbalanced braces."""
        pieces: list[Piece] = []
        for literal, field, spec, conversion in Formatter().parse(self.text):
            if literal:
                pieces.append(Piece(literal, "", ""))
            if field is not None:  # "{}" has the name " ", as without a name it would be a literal
                pieces.append(Piece("", field or " ", f"{spec}!{conversion}" if conversion else spec or ""))
        return tuple(pieces)

    @cached_property
    def fields(self) -> list[str]:
        """The fields in their order, one of them perhaps twice. Raises ValueError for unbalanced braces."""
        return [piece.field for piece in self.pieces if piece.field]

    @cached_property
    def specs(self) -> Mapping[str, str]:
        """The spec of each field; literal texts have none."""
        return {piece.field: piece.spec for piece in self.pieces}

    @cached_property
    def digits(self) -> Digits:
        """How the value is written."""
        spec = self.specs["value"]
        return Digits(CROCKFORD if spec.endswith("crockford") else DECIMAL, int(digits_in(spec) or 0))

    @cached_property
    def dates(self) -> tuple[str, ...]:
        """The fields of the date."""
        return tuple(field for field in self.specs if field in DATE_FIELDS)

    def place(self, field: str) -> int:
        """The place of a field among the pieces."""
        return next(place for place, piece in enumerate(self.pieces) if piece.field == field)


_Write = Callable[[int, str | None, date, str], str]


class Writer:
    """Writes the values of a sequence, piece by piece. `text` writes what the field {text} stands for."""

    def __init__(self, template: Template, period: Period, values: range, *, text: _Write | None = None) -> None:
        self.template, self.period, self.values, self._text = template, period, values, text
        self.dates = Dates(template.dates, period)
        self._writers = [self._writer(piece) for piece in template.pieces]
        self._covered = [
            (place, str if piece.field == "value" else digits_in)
            for place, piece in enumerate(template.pieces)
            if piece.field in ("value", *template.dates)
        ]
        self._check_at = template.place("check") if "check" in template.specs else None

    def texts(self, value: int, scope: str | None, day: date, period_name: str) -> list[str]:
        """Each piece as it is written."""
        texts = [write(value, scope, day, period_name) for write in self._writers]
        if self._check_at is not None:
            covered = "".join([digits(texts[place]) for place, digits in self._covered])
            texts[self._check_at] = self._check_digit(covered)
        return texts

    def sample(self, value: int, scope: str | None) -> list[str]:
        """Each piece on any day."""
        return self.texts(value, scope, ANY_DAY, self.period.name(ANY_DAY))

    @cached_property
    def _check_digit(self) -> Callable[[str], str]:
        return self.template.digits.check_digit(self.template.specs["check"])

    def _writer(self, piece: Piece) -> _Write:
        """The function that writes one piece; the check digit is put in later."""
        match piece.field:
            case "" | "check":
                return lambda value, scope, day, name: piece.literal
            case "value":
                write = self.template.digits.write
                return lambda value, scope, day, name: write(value)
            case "scope":
                return lambda value, scope, day, name: scope or ""
            case "period":
                return lambda value, scope, day, name: name
            case "text" if self._text:
                return self._text
        part, period = DATE_PARTS[piece.field], self.period
        return lambda value, scope, day, name: part(period, day)


def problems(template: Template, *, in_periods: bool) -> Iterator[str]:
    """What makes a template unusable. Only the first counts: each takes for granted that there is none before it."""
    if not isinstance(template.text, str) or len(template.text) > LONGEST:
        yield f"it must be a text of up to {LONGEST} characters"
    try:
        yield from _field_problems(template, in_periods=in_periods)
    except ValueError:
        yield "it must have a field in each pair of braces; a brace itself is written twice, as '{{'"
    literals = "".join(piece.literal for piece in template.pieces)
    if not literals.isprintable() or normalize("NFKC", literals) != literals:
        yield f"its text must be printable and as Unicode's form NFKC has it, {normalize('NFKC', literals)!r}"
    yield from _check_problems(template)


def has_letters(template: str) -> bool:
    """Whether texts say by a letter what they number, outside their fields."""
    return re.search(r"[^\W\d_]", re.sub("{.*?}", "", template)) is not None


def text_problems(text: str) -> Iterator[str]:
    """What makes a text unusable that has a value in it, and perhaps the text of the value. Only the first counts."""
    template = Template(text)
    try:
        fields = template.fields
    except (TypeError, ValueError):
        yield "it must be a text with a field in each pair of braces; a brace itself is written twice, as '{{'"
        return
    if not {"value", "text"} & set(fields):
        yield "it must have {value} or {text}"
    known = (*FIELDS, "text")
    yield from (_unknown(field, known) for field in fields if field not in known)
    yield from _spec_problems(template)
    yield from _check_problems(template)


def _unknown(field: str, known: Iterable[str]) -> str:
    return f"it has the unknown field {{{field.strip()}}}; known are {', '.join(known)}"


def _field_problems(template: Template, *, in_periods: bool) -> Iterator[str]:
    fields = template.fields
    for field in fields:
        if field not in FIELDS:
            yield _unknown(field, FIELDS)
        if fields.count(field) > 1:
            yield f"it must have {{{field}}} once"
    if "value" not in fields:
        yield "it must have {value}"
    if "period" in fields and not in_periods:
        yield "{period} has no meaning without PERIOD"
    yield from _spec_problems(template)


def _spec_problems(template: Template) -> Iterator[str]:
    for field, spec in template.specs.items():
        pattern, wanted = _SPECS.get(field, ("", f"{{{field}}}"))
        if not re.fullmatch(pattern, spec):
            yield f"{{{field}:{spec}}} must be {wanted}"
    if "value" in template.specs and template.digits.width > MOST_DIGITS:
        yield f"a value has up to {MOST_DIGITS} digits"


def _check_problems(template: Template) -> Iterator[str]:
    fields = template.fields
    if "check" not in fields:
        return
    if "value" not in fields or not {"scope", "text"}.issuperset(fields[fields.index("check") + 1 :]):
        yield "{check} must stand after the value and the parts of the date, which it covers"
    if template.digits.alphabet is CROCKFORD and template.specs["check"] == "damm":
        yield "{check:damm} is for decimal digits; {check:luhn} can check Crockford's"
    try:
        template.digits.check_digit(template.specs["check"])
    except ImportError:
        yield "{check} needs the package python-stdnum: pip install django-dynamodb-sequences[check]"
