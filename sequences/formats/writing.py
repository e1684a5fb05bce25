"""Writing a text: each piece of a template for a value, its scope, and the document's day and period."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cached_property

from .dates import ANY_DAY, Dates
from .digits import digits_in
from .periods import DATE_PARTS, Period
from .template import Piece, Template

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
