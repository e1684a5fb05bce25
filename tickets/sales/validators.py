"""The limits of the fields of orders and invoices. How they are used is described in `tickets.validators`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.utils import timezone

from tickets import validators
from tickets.exceptions import InvalidInput, WrongPart
from tickets.sales.types import Line
from tickets.validators import Key, Schema, Text, Validator, or_null

AMOUNT = "[0-9]{1,9}([.,][0-9]{1,2})?"


def today() -> date:
    """The day that it is in the time zone of the site."""
    return timezone.localdate(timezone=timezone.get_default_timezone())


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; 2.0 is one, as JSON has one kind of numbers."""
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def typed_number(text: Any) -> Any:
    """The number that somebody typed; the same if it is none."""
    return int(text) if isinstance(text, str) and re.fullmatch(r"\s*[0-9]{1,15}\s*", text, re.ASCII) else text


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """A whole number from `least` to `most`."""

    least: int
    most: int

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"A whole number from {self.least} to {self.most:,}."

    @property
    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def clean(self, value: Any) -> int:
        """The number."""
        if not is_whole(value) or not self.least <= value <= self.most:
            raise ValidationError(f"This must be a whole number from {self.least} to {self.most:,}.")
        return int(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Money:
    """An amount of euros and cents from 0 to `most`, a power of ten.

    A binary fraction is refused, as it cannot hold every cent.
    """

    most: Decimal

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f'Euros with up to two decimals, like "12.50", at most {self.most:,}.'

    @property
    def schema(self) -> Schema:
        return {"type": ["string", "integer"], "pattern": self.pattern, "minimum": 0, "maximum": int(self.most)}

    @property
    def pattern(self) -> str:
        """The limits of an amount as text, as a regular expression, for programs."""
        return f"^([0-9]{{1,{self.most.adjusted()}}}([.,][0-9]{{1,2}})?|{self.most}([.,]00?)?)$"

    def clean(self, value: Any) -> Decimal:
        """The amount with two decimals. Both a point and a comma are read as the decimal sign."""
        text = str(int(value)) if is_whole(value) else str(value) if isinstance(value, str | Decimal) else ""
        if not re.fullmatch(AMOUNT, text):
            raise ValidationError('This must be an amount as text with up to two decimals, like "12.50".')
        if not re.fullmatch(self.pattern, text):
            raise ValidationError(f"At most {self.most:,}.")
        return Decimal(text.replace(",", ".")).quantize(Decimal("0.01"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """The date of a document: not before `earliest`, and not in the future."""

    earliest: date
    schema: ClassVar[Schema] = or_null({"type": "string", "format": "date"})

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"A day from {self.earliest} to today; its year says which number comes next."

    def clean(self, value: Any) -> date:
        """The day; today in the time zone of the site if none is given."""
        if value is None:
            return today()
        try:
            day = validators.calendar_day(value) if isinstance(value, str) else value
            if type(day) is not date:
                raise ValueError
        except ValueError as error:
            raise ValidationError("This must be a day, like 2026-03-05.") from error
        if not self.earliest <= day <= today():
            raise ValidationError(f"The date must be from {self.earliest} to {today()}.")
        return day


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """1 to `most` lines; `each` has the validators of their fields."""

    most: int
    each: Mapping[str, Validator]

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"1 to {self.most} lines."

    @property
    def schema(self) -> Schema:
        fields = {name: {**each.schema, "description": each.hint} for name, each in self.each.items()}
        line = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
        return {"type": "array", "items": line, "minItems": 1, "maxItems": self.most}

    def clean(self, value: Any) -> tuple[Line, ...]:
        """The lines in their order."""
        if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
            raise ValidationError("This must be a list of lines.")
        lines = list(value)
        if not 1 <= len(lines) <= self.most:
            raise ValidationError(f"1 to {self.most} lines are allowed, these are {len(lines)}.")
        cleaned, complaints = [], list[WrongPart]()
        for index, line in enumerate(lines):
            try:
                cleaned.append(self._clean_line(line))
            except InvalidInput as error:
                complaints += [
                    WrongPart(f"Line {index + 1}, {validators.readable(field)}: {text}", index, field)
                    for field, texts in error.message_dict.items()
                    for text in texts
                ]
        if complaints:
            raise ValidationError(complaints)
        return tuple(cleaned)

    def _clean_line(self, line: Any) -> Line:
        fields = line if isinstance(line, Mapping) else {}
        unset = dict.fromkeys(self.each)
        return Line(**validators.clean({**unset, **fields}, self.each))


MOST_LINES = 50
LINE: Mapping[str, Validator] = {
    "text": Text(least=1, most=200),
    "quantity": Whole(least=1, most=10_000),
    "price": Money(most=Decimal(1_000_000)),
}
ORDER: Mapping[str, Validator] = {"customer": Text(least=1, most=200), "lines": Lines(most=MOST_LINES, each=LINE)}
EARLIEST = date(2000, 1, 1)
COMPANY: Mapping[str, Validator] = {
    "key": Key(of="company", like="NORD"),
    "name": Text(least=1, most=100),
    "format": Text(least=1, most=100),
    "start": Whole(least=1, most=10**9),
}
OF_COMPANY: Mapping[str, Validator] = {"company": Key(of="company", like="NORD", empty=" Empty for the main company.")}
ISSUE: Mapping[str, Validator] = {"date": Day(earliest=EARLIEST), **OF_COMPANY}
VOID: Mapping[str, Validator] = {"reason": Text(least=1, most=500, lines=True)}
YEAR: Mapping[str, Validator] = {"year": Whole(least=1000, most=9999)}
