"""Texts: how a value is written for people, such as "INV-2026-000042", and how what people type is read.

Here is the key FORMAT of a sequence. Two values never have the same text, or `Format.clash` shows two that have. This
module computes alone: it knows neither the store nor the settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import chain, takewhile
from string import Formatter
from typing import NamedTuple
from unicodedata import normalize

from .exceptions import InvalidScope, InvalidSequence, InvalidText
from .periods import DATE_PARTS, Period

__all__ = ["FIELDS", "Clash", "Format", "Numbered", "Parsed"]

FIELDS = ("value", "scope", "period", *DATE_PARTS, "check")
"""What may stand in braces in FORMAT."""

LONGEST_TEXT = 500  # characters that a person may type; a scope has up to 255
LONGEST_FORMAT = 200
DECIMAL = "0123456789"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

_Write = Callable[[int, str | None, date, str], str]
_VALUE_SPEC = re.compile(r"(?:0([1-9][0-9]?)(d|crockford))?|(crockford)")
_TYPED = {DECIMAL: "[0-9]", CROCKFORD: "[0-9A-TV-Za-tv-z]"}
_DASHES = "-\u2010\u2012\u2013\u2014\u2015\u2212"  # what is left of them after NFKC
_NO_DIGITS = re.compile("[^0-9]")
_LOOK_ALIKES = str.maketrans("OIL", "011")
_AS_BASE_32 = str.maketrans(CROCKFORD, "0123456789ABCDEFGHIJKLMNOPQRSTUV")
_SPACE = r"\s*+"
_NEVER = Period()
_ANY_DAY = date(2026, 3, 5)
_CYCLE = (date(2024, 1, 1), date(2053, 1, 1))  # after 28 years the days of the week come again


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


class _Piece(NamedTuple):
    """One piece of FORMAT: a literal text, or a field with its spec."""

    literal: str
    field: str
    spec: str


@dataclass(frozen=True, kw_only=True)
class Format:
    """The text of each value of a sequence, by a template as of `str.format`.

    Fields are {value}, {value:06d} with zeros before it, {value:crockford} and {value:06crockford} in Crockford's base
    32, {scope}, {period}, the parts of the document's date that `DATE_PARTS` names, and {check:luhn} or {check:damm},
    a check digit over the date parts and the value in the order in which they stand; it stands after them. It does not
    cover scope and literal text.

    Raises InvalidSequence, which begins with `where`, for a template that cannot be used. One that gives the same text
    to two values can be made; `clash` shows them. {yy} is for the years 2000 to 2099, see `check_day`.
    """

    template: str = "{value}"
    period: Period = _NEVER
    start: int = 1
    step: int = 1
    maximum: int
    where: str = "FORMAT"

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise InvalidSequence(f"{self.where} is {self.template!r}; {problem}.")

    # What the template is made of.

    @cached_property
    def _pieces(self) -> tuple[_Piece, ...]:
        """The pieces in their order. Raises ValueError for unbalanced braces."""
        pieces: list[_Piece] = []
        for literal, field, spec, conversion in Formatter().parse(self.template):
            if literal:
                pieces.append(_Piece(literal, "", ""))
            if field is not None:  # "{}" has the name " ", as without a name it would be a literal
                pieces.append(_Piece("", field or " ", f"{spec}!{conversion}" if conversion else spec or ""))
        return tuple(pieces)

    @cached_property
    def _fields(self) -> Mapping[str, str]:
        """The spec of each field."""
        return {piece.field: piece.spec for piece in self._pieces if piece.field}

    @cached_property
    def uses_scope(self) -> bool:
        """Whether the text tells scopes apart."""
        return "scope" in self._fields

    @cached_property
    def uses_dates(self) -> bool:
        """Whether the text has the period or a part of the date."""
        return not self._fields.keys().isdisjoint([*DATE_PARTS, "period"])

    @cached_property
    def width(self) -> int:
        """The least number of digits that a value is written with; 0 if FORMAT has none."""
        found = _VALUE_SPEC.fullmatch(self._fields["value"])
        return int(found[1] or 0) if found else 0

    @property
    def widest(self) -> int | None:
        """The last number that fits the width, or None without one. Longer values are written in full."""
        return len(self._alphabet) ** self.width - 1 if self.width else None

    @cached_property
    def _alphabet(self) -> str:
        return CROCKFORD if self._fields["value"].endswith("crockford") else DECIMAL

    # What makes it unusable.

    def _problems(self) -> Iterator[str]:
        if not isinstance(self.template, str) or len(self.template) > LONGEST_FORMAT:
            yield f"it must be a text of up to {LONGEST_FORMAT} characters"
        try:
            fields = [piece.field for piece in self._pieces if piece.field]
        except ValueError:
            yield "it must have a field in each pair of braces; a brace itself is written twice, as '{{'"
            return
        yield from self._field_problems(fields)
        literals = "".join(piece.literal for piece in self._pieces)
        if not literals.isprintable() or normalize("NFKC", literals) != literals:
            yield f"its text must be printable and as Unicode's form NFKC has it, {normalize('NFKC', literals)!r}"
        if "check" in fields:
            yield from self._check_problems(fields)
        if self._runs_together and self._shifted is None:
            yield (
                "between {scope} and {value} it must have a character that cannot be read as a digit of the value, "
                "such as '-'"
            )

    def _field_problems(self, fields: list[str]) -> Iterator[str]:
        for field in fields:
            if field not in FIELDS:
                yield f"it has the unknown field {{{field.strip()}}}; known are {', '.join(FIELDS)}"
            if fields.count(field) > 1:
                yield f"it must have {{{field}}} once"
        if "value" not in fields:
            yield "it must have {value}"
        if "period" in fields and self.period.kind == "never":
            yield "{period} has no meaning without PERIOD"
        for field, spec in self._fields.items():
            if not _spec_fits(field, spec):
                yield f"{{{field}:{spec}}} must be {_wanted_spec(field)}"
        if self.width > 38:
            yield "a value has up to 38 digits"

    def _check_problems(self, fields: list[str]) -> Iterator[str]:
        covered = [field for field in fields if field not in ("scope", "check")]
        if any(fields.index(field) > fields.index("check") for field in covered):
            yield "{check} must stand after the value and the parts of the date, which it covers"
        if self._alphabet == CROCKFORD and self._fields["check"] == "damm":
            yield "{check:damm} is for decimal digits; {check:luhn} can check Crockford's"
        try:
            self._check_digit("0")
        except ImportError:
            yield "{check} needs the package python-stdnum: pip install django-dynamodb-sequences[check]"

    # Writing.

    def text(self, value: int, scope: str | None, day: date | None, period_name: str) -> str:
        """Write a value of a scope for a document of this day and period.

        The caller has checked them, see `check_scope` and `check_day`. Without a day the period tells the parts of the
        date. Raises ValueError if FORMAT has parts that change within the period.
        """
        if self.template == "{value}":
            return str(value)
        return "".join(self._texts(value, scope, day or self._day_in(period_name), period_name))

    def _day_in(self, period_name: str) -> date:
        """A day of a period whose days all have the same text."""
        first = self.period.first_day(period_name)
        parts = [DATE_PARTS[field] for field in self._dates if field != "period"]
        if not parts:
            return first
        days = takewhile(lambda day: self.period.name(day) == period_name, _days(first, date.max))
        if self.period.kind == "never" or len({tuple([part(self.period, day) for part in parts]) for day in days}) > 1:
            raise ValueError(
                f"date is missing; {self.where} has parts of the date that change within a period: give the date."
            )
        return first

    def _texts(self, value: int, scope: str | None, day: date, period_name: str) -> list[str]:
        """Each piece as it is written."""
        texts = [write(value, scope, day, period_name) for write in self._writers]
        if self._check_at is not None:
            covered = [write(value, scope, day, period_name) for write in self._covered]
            texts[self._check_at] = self._check_digit("".join(covered))
        return texts

    @cached_property
    def _writers(self) -> tuple[_Write, ...]:
        return tuple(map(self._writer, self._pieces))

    @cached_property
    def _covered(self) -> tuple[_Write, ...]:
        """What gives the digits that the check digit covers."""
        covered = [piece for piece in self._pieces if piece.field not in ("", "scope", "check")]
        return tuple(map(self._digit_writer, covered))

    def _digit_writer(self, piece: _Piece) -> _Write:
        """The function that writes one piece without what is no digit of it: "20261" for the period 2026-Q1."""
        if piece.field == "period":
            return lambda value, scope, day, name: _NO_DIGITS.sub("", name)
        return self._writer(piece)

    @cached_property
    def _check_at(self) -> int | None:
        return next((index for index, piece in enumerate(self._pieces) if piece.field == "check"), None)

    def _writer(self, piece: _Piece) -> _Write:
        """The function that writes one piece; the check digit is put in later."""
        match piece.field:
            case "" | "check":
                return lambda value, scope, day, name: piece.literal
            case "value":
                return lambda value, scope, day, name: self._digits(value)
            case "scope":
                return lambda value, scope, day, name: scope or ""
            case "period":
                return lambda value, scope, day, name: name
        part = DATE_PARTS[piece.field]
        return lambda value, scope, day, name: part(self.period, day)

    def _digits(self, value: int) -> str:
        digits = str(value) if self._alphabet is DECIMAL else _crockford(value)
        return digits.rjust(self.width, "0")

    def _number(self, digits: str) -> int:
        return int(digits) if self._alphabet is DECIMAL else int(digits.translate(_AS_BASE_32), 32)

    @cached_property
    def _check_digit(self) -> Callable[[str], str]:
        """The function from the covered digits to the check digit. Raises ImportError without python-stdnum."""
        if self._fields["check"] == "damm":
            from stdnum import damm

            return damm.calc_check_digit
        from stdnum import luhn

        return lambda covered: luhn.calc_check_digit(covered, self._alphabet)

    def check_scope(self, scope: str | None) -> None:
        """Raise InvalidScope for a scope that could not be read back; only if FORMAT has {scope}."""
        if not self.uses_scope:
            return
        if scope is None:
            raise InvalidScope(f"The scope is None; {self.where} has {{scope}}: give a text.")
        written = self.text(self.start, scope, _ANY_DAY, self.period.name(_ANY_DAY))
        if scope != scope.strip() or normalize("NFKC", written) != written:
            raise InvalidScope(
                f"The scope is {scope!r}; {self.where} has {{scope}}, so it must have no white space at its ends and "
                f"be in Unicode's form NFKC: {normalize('NFKC', scope).strip()!r}."
            )

    def check_day(self, day: date) -> None:
        """Raise ValueError for a day that {yy} could not tell from one in the years 2000 to 2099."""
        if "yy" in self._fields and not 2000 <= day.year <= 2099:
            raise ValueError(f"date is {day}; it must be in the years 2000 to 2099, as {self.where} has {{yy}}.")

    # Reading.

    def parse(self, text: str) -> Parsed:
        """Read a text as a person types it.

        Letters of the format may have another case, white space may be anywhere but inside a scope, zeros before the
        value may be missing, any dash may stand for '-', and white space too if FORMAT has no {scope}. Characters may
        be in the wide and other forms that NFKC makes equal. In Crockford's digits O is 0, and I and L are 1. The scope
        is taken as it is.

        Raises InvalidText, which says what is wrong: another form, a date that does not exist, a value that the
        sequence never gives, a wrong check digit.
        """
        typed = self._read(text)
        value = self._number(typed["value"])
        if not self._gives(value):
            raise InvalidText(f"{text!r} has the value {value}; the values are {self._values}.")
        day = self._day_of({field: typed[field] for field in self._dates})
        if day is None:
            raise InvalidText(f"{text!r} has a date that does not exist.")
        scope, period = typed.get("scope"), self.period.name(day)
        written = self._texts(value, scope, day, period)
        parts = {piece.field: part for piece, part in zip(self._pieces, written, strict=True) if piece.field}
        if parts.get("check") != typed.get("check"):
            raise InvalidText(f"{text!r} has a wrong check digit: a character is wrong, or two are swapped.")
        known = period if self._period_clash is None else None
        return Parsed(value=value, scope=scope, period=known, parts=parts, text="".join(written))

    def _read(self, text: str) -> dict[str, str]:
        """The digits of each field, and the scope."""
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            raise InvalidText(f"A text of a value has up to {LONGEST_TEXT} characters.")
        found = self._pattern.fullmatch(normalize("NFKC", text))
        if not found:
            raise InvalidText(f"{text!r} has another form than {self._example!r}.")
        return {field: self._digits_typed(field, part) for field, part in found.groupdict().items()}

    def _digits_typed(self, field: str, part: str) -> str:
        """The digits of a field, as the sequence writes them; a scope is taken as it is."""
        if field == "scope":
            return part
        if field in ("value", "check") and self._alphabet is CROCKFORD:
            return re.sub(r"\s", "", part).upper().translate(_LOOK_ALIKES)
        return _NO_DIGITS.sub("", part)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        tokens = chain.from_iterable(map(self._tokens, self._pieces))
        return re.compile(f"{_SPACE}{_SPACE.join(tokens)}{_SPACE}")

    def _tokens(self, piece: _Piece) -> list[str]:
        """The patterns of a piece, between which white space may stand."""
        digit = _TYPED[self._alphabet]
        match piece.field:
            case "":
                return [self._typed_literal(character) for character in piece.literal if not character.isspace()]
            case "scope":
                return [r"(?P<scope>\S(?:.*\S)?)"]
            case "check":
                return [f"(?P<check>{digit})"]
            case "value":
                more = f"{{{len(self._digits(self.start)) - 1}}}" if self._is_beside_scope else "*"
                return [f"(?P<value>{digit}(?:{_SPACE}{digit}){more})"]
        sample = self._writer(piece)(0, None, _ANY_DAY, self.period.name(_ANY_DAY))
        tokens = [_TYPED[DECIMAL] if character.isdigit() else self._typed_literal(character) for character in sample]
        return [f"(?P<{piece.field}>{_SPACE.join(tokens)})"]

    def _typed_literal(self, character: str) -> str:
        """White space may stand for a dash where it cannot belong to a scope."""
        return _typed(character) if self.uses_scope or character not in _DASHES else rf"(?:{_typed(character)}|(?<=\s))"

    @cached_property
    def _dates(self) -> tuple[str, ...]:
        """The fields that depend on the date."""
        return tuple(field for field in self._fields if field in DATE_PARTS or field == "period")

    @cached_property
    def _example(self) -> str:
        return self.text(self.start, "ABC", _ANY_DAY, self.period.name(_ANY_DAY))

    def _gives(self, value: int) -> bool:
        """Whether it is a value of the sequence."""
        return self.start <= value <= self.maximum and (value - self.start) % self.step == 0

    @property
    def _values(self) -> str:
        step = f" by {self.step}" if self.step > 1 else ""
        return f"{self.start} to {self.maximum}{step}"

    def _day_of(self, parts: Mapping[str, str]) -> date | None:
        """A day that has all these parts; None if there is none."""
        writers = [(self._digit_writer(_Piece("", field, "")), text) for field, text in parts.items()]
        for day in _candidates(parts):
            if all(write(0, None, day, self.period.name(day)) == text for write, text in writers):
                return day
        return None

    # Whether two have the same text.

    def clash(self) -> Clash | None:
        """Find two with the same text: different in value and scope, or in their period; None if there are none.

        Two scopes have the same texts if FORMAT has no {scope}; that is told by `uses_scope`, and not here.
        """
        if self._runs_together:
            return self._shifted
        if self._period_clash is None:
            return None
        one, other = self._period_clash
        names = self.period.name(one), self.period.name(other)
        scope = "A" if self.uses_scope else None
        text = self.text(self.start, scope, one, names[0])
        return Clash(text, Numbered(self.start, scope, names[0]), Numbered(self.start, scope, names[1]))

    @cached_property
    def _period_clash(self) -> tuple[date, date] | None:
        """Two days in different periods whose parts in FORMAT are the same.

        Parts that tell the year repeat within two years that follow each other, and other parts within 28 years, so
        what does not happen in these years never happens.
        """
        if self.period.kind == "never" or "period" in self._fields:
            return None
        parts = [DATE_PARTS[field] for field in self._dates]
        first: dict[tuple[str, ...], date] = {}
        for day in _days(*_CYCLE):
            earlier = first.setdefault(tuple([part(self.period, day) for part in parts]), day)
            if self.period.name(earlier) != self.period.name(day):
                return earlier, day
        return None

    @cached_property
    def _between(self) -> tuple[int, int]:
        """The places of scope and value, the first of them first."""
        left, right = sorted(index for index, piece in enumerate(self._pieces) if piece.field in ("scope", "value"))
        return left, right

    @cached_property
    def _is_beside_scope(self) -> bool:
        """Whether nothing between scope and value shows where one of them ends."""
        if not self.uses_scope:
            return False
        left, right = self._between
        digit = re.compile(rf"\s|{_TYPED[self._alphabet]}")
        between = self._texts(self.start, "A", _ANY_DAY, self.period.name(_ANY_DAY))[left + 1 : right]
        return all(any(map(digit.match, _cases(character))) for character in "".join(between))

    @cached_property
    def _runs_together(self) -> bool:
        """Whether a scope may end, or begin, like a longer value."""
        return self._is_beside_scope and len(self._digits(self.start)) != len(self._digits(self.maximum))

    @cached_property
    def _shifted(self) -> Clash | None:
        """Two whose texts are the same because the scope of one ends, or begins, with digits of the other's value.

        With "{scope}{year}{value}" in 2026: "A" and 20261 are written as "A2026" and 1 are, "A202620261". The longer
        value is made of the shorter one, of what stands between, and of some digits.
        """
        return next((clash for short in self._samples() for clash in self._shifted_from(short)), None)

    def _samples(self) -> Iterator[int]:
        """The first value, and the first of each length."""
        bounds = [self.start, *(len(self._alphabet) ** power for power in range(1, 39))]
        for bound in bounds:
            value = bound + (self.start - bound) % self.step
            if self.start <= value <= self.maximum:
                yield value

    def _shifted_from(self, short: int) -> Iterator[Clash]:
        """Longer values whose text is also that of this one, in a longer scope."""
        left, right = self._between
        scope_first = self._pieces[left].field == "scope"
        period = self.period.name(_ANY_DAY)
        texts = self._texts(short, "A", _ANY_DAY, period)
        digits, middle = self._digits(short), "".join(texts[left + 1 : right])
        extensions = _extensions(middle, self._digits, scope_first=scope_first)
        values = (self._value_of(more + digits if scope_first else digits + more) for more in extensions)
        for value in filter(None, values):
            longer = self._texts(value, "A", _ANY_DAY, period)
            rest = "".join(longer[left : right + 1])
            size = len(rest) - len(middle) - len(digits)
            scope = rest[:size] if scope_first else rest[-size:]
            text = "".join(longer)
            if self.text(short, scope, _ANY_DAY, period) == text:
                yield Clash(text, Numbered(value, "A", period), Numbered(short, scope, period))

    def _value_of(self, digits: str) -> int | None:
        """The value that is written with these digits; None if there is none."""
        if not all(digit in self._alphabet for digit in digits):
            return None
        value = self._number(digits)
        return value if self._gives(value) and self._digits(value) == digits else None


def _spec_fits(field: str, spec: str) -> bool:
    if field == "value":
        return _VALUE_SPEC.fullmatch(spec) is not None
    return spec in ("luhn", "damm") if field == "check" else spec == ""


def _wanted_spec(field: str) -> str:
    if field == "value":
        return "{value}, or with a width {value:06d}, {value:crockford} or {value:06crockford}"
    return "{check:luhn} or {check:damm}" if field == "check" else f"{{{field}}}"


def _extensions(middle: str, digits: Callable[[int], str], *, scope_first: bool) -> Iterator[str]:
    """Digits by which a longer value may differ from a shorter one beside `middle`: parts of it, and then more."""
    sizes = range(1, len(middle))
    yield from (middle[-size:] if scope_first else middle[:size] for size in sizes)
    some = chain([""] if middle else [], (digits(number).lstrip("0") for number in range(1, 1000)))
    yield from (number + middle if scope_first else middle + number for number in some)


def _typed(character: str) -> str:
    """The pattern of what may be typed for one character."""
    if character in _DASHES:
        return f"[{re.escape(_DASHES)}]"
    return f"[{''.join(map(re.escape, _cases(character)))}]"


def _cases(character: str) -> list[str]:
    return [case for case in sorted({character, character.lower(), character.upper()}) if len(case) == 1]


def _crockford(value: int) -> str:
    digits = ""
    while value:
        value, low = divmod(value, 32)
        digits = CROCKFORD[low] + digits
    return digits or "0"


def _candidates(parts: Mapping[str, str]) -> Iterator[date]:
    """The days that may have these parts."""
    months = [int(parts["month"])] if "month" in parts else range(1, 13)
    days = [int(parts["day"])] if "day" in parts else range(1, 32)
    for year in _years(parts):
        for month in months:
            for day in days:
                try:
                    yield date(year, month, day)
                except ValueError:
                    pass


def _years(parts: Mapping[str, str]) -> list[int] | range:
    if "yy" in parts:
        return [2000 + int(parts["yy"])]
    for field in ("year", "period", "week_year", "fiscal_year"):
        if field in parts:
            year = int(parts[field][:4])
            return [year] if field == "year" else [year, year - 1, year + 1]
    return range(_CYCLE[0].year, _CYCLE[1].year)


def _days(first: date, end: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range((end - first).days))
