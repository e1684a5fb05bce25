"""Reading a text as people type it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from unicodedata import normalize

from ..exceptions import InvalidText
from .dates import ANY_DAY, DATE_FIELDS
from .digits import DASHES, Digits, cases, digits_in
from .template import Piece, Writer

LONGEST = 500  # characters that a person may type; a scope has up to 255

_SPACE = r"\s*+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a text says: `text` is as the sequence writes it, and `parts` has each field of FORMAT as written there.

    `scope` is None if FORMAT has no {scope}; `period` is None if the text does not tell it, "" without periods.
    """

    value: int
    scope: str | None
    period: str | None
    parts: Mapping[str, str]
    text: str


class Reader:
    """Reads the texts of a writer; if `needs_zeros`, only those whose value has all its zeros."""

    def __init__(self, writer: Writer, *, needs_zeros: bool) -> None:
        self._writer, self._digits, self._needs_zeros = writer, writer.template.digits, needs_zeros
        tokens = chain.from_iterable(map(self._tokens, writer.template.pieces))
        self._pattern = re.compile(f"{_SPACE}{_SPACE.join(tokens)}{_SPACE}")

    def parse(self, text: str) -> Parsed:
        """Read a text. Raises InvalidText, which says what is wrong."""
        typed = self._typed(text)
        value = self._digits.read(typed["value"])
        if value not in self._writer.values:
            raise InvalidText(f"{text!r} has the value {value}; the values are {_shown(self._writer.values)}.")
        day = self._writer.dates.day_of(typed)
        if day is None:
            raise InvalidText(f"{text!r} has a date that does not exist.")
        scope, period = typed.get("scope"), self._writer.period.name(day)
        written = self._writer.texts(value, scope, day, period)
        pieces = zip(self._writer.template.pieces, written, strict=True)
        parts = {piece.field: part for piece, part in pieces if piece.field}
        if parts.get("check") != typed.get("check"):
            raise InvalidText(f"{text!r} has a wrong check digit: a character is wrong, or two are swapped.")
        known = period if self._writer.dates.alike is None else None
        return Parsed(value=value, scope=scope, period=known, parts=parts, text="".join(written))

    def _typed(self, text: str) -> dict[str, str]:
        """The digits of each field, and the scope."""
        if not isinstance(text, str) or len(text) > LONGEST:
            raise InvalidText(f"A text of a value has up to {LONGEST} characters.")
        found = self._pattern.fullmatch(normalize("NFKC", text))
        if not found:
            example = "".join(self._writer.sample(self._writer.values.start, "ABC"))
            raise InvalidText(f"{text!r} has another form than {example!r}.")
        return {field: self._typed_in(field, part) for field, part in found.groupdict().items()}

    def _typed_in(self, field: str, part: str) -> str:
        """The digits of a field, as the sequence writes them; a scope is taken as it is."""
        if field == "scope":
            return part
        return digits_in(part) if field in DATE_FIELDS else self._digits.typed(part)

    def _tokens(self, piece: Piece) -> list[str]:
        """The patterns of a piece, between which white space may stand."""
        digit = self._digits.pattern
        match piece.field:
            case "":
                return [self._literal(character) for character in piece.literal if not character.isspace()]
            case "scope":
                return [r"(?P<scope>\S(?:.*\S)?)"]
            case "check":
                return [f"(?P<check>{digit})"]
            case "value":
                more = f"{{{len(self._digits.write(self._writer.values.start)) - 1}}}" if self._needs_zeros else "*"
                return [f"(?P<value>{digit}(?:{_SPACE}{digit}){more})"]
        sample = DATE_FIELDS[piece.field](self._writer.period, ANY_DAY)
        tokens = [Digits().pattern if character.isdigit() else self._literal(character) for character in sample]
        return [f"(?P<{piece.field}>{_SPACE.join(tokens)})"]

    def _literal(self, character: str) -> str:
        """The pattern of what may be typed for one character: for a dash also white space, if it is not a scope's."""
        if character not in DASHES:
            return f"[{''.join(map(re.escape, cases(character)))}]"
        dash = f"[{re.escape(DASHES)}]"
        return dash if "scope" in self._writer.template.specs else rf"(?:{dash}|(?<=\s))"


def _shown(values: range) -> str:
    step = f" by {values.step}" if values.step > 1 else ""
    return f"{values.start} to {values.stop - 1}{step}"
