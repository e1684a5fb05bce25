"""Texts: how a value is written for people, such as "INV-2026-000042", and how what people type is read.

Here is the key FORMAT of a sequence, and `Format` is the class to use. Two values never have the same text, or
`Format.clash` shows two that have. This package computes alone: it knows neither the store nor the settings.

`template` takes FORMAT apart, into the value's `digits`, the fields of the document's `dates`, and the rest, and puts
it together again. `reading` is for what people type, and `clashes` for two values with one text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import NamedTuple
from unicodedata import normalize

from ..exceptions import DateRefused, InvalidItem, InvalidScope, InvalidSequence
from .clashes import Clash, Numbered, SideBySide, clash_of_periods, meet, places_of
from .dates import ANY_DAY
from .digits import Digits
from .periods import Period
from .reading import Parsed, Reader
from .template import FIELDS, Template, Writer, problems

__all__ = ["FIELDS", "Clash", "Format", "Inserts", "Numbered", "Parsed", "Written", "may_meet", "may_repeat"]

TEMPLATES_REMEMBERED = 64

_NEVER = Period()


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

    @cached_property
    def uses_scope(self) -> bool:
        """Whether the text tells scopes apart."""
        return "scope" in self._template.specs

    @cached_property
    def uses_dates(self) -> bool:
        """Whether the text has the period or a part of the date."""
        return bool(self._template.dates)

    @property
    def widest(self) -> int | None:
        """The last number that fits the width, or None without one. Longer values are written in full."""
        digits = self._template.digits
        return len(digits.alphabet) ** digits.width - 1 if digits.width else None

    def text(self, value: int, scope: str | None, day: date | None, period_name: str) -> str:
        """Write a value of a scope for a document of this day and period.

        The caller has checked them, see `check_scope` and `check_day`. Without a day the period tells the parts of the
        date. Raises ValueError if FORMAT has parts that change within the period.
        """
        if self.template == "{value}":
            return str(value)
        if day is None:
            day = self._writer.dates.day_in(period_name)
        if day is None:
            raise ValueError(
                f"date is missing; {self.where} has parts of the date that change within a period: give the date."
            )
        return "".join(self._writer.texts(value, scope, day, period_name))

    def check_scope(self, scope: str | None) -> None:
        """Raise InvalidScope for a scope that could not be read back; only if FORMAT has {scope}."""
        if not self.uses_scope:
            return
        if scope is None:
            raise InvalidScope(f"The scope is None; {self.where} has {{scope}}: give a text.")
        written = "".join(self._writer.sample(self.start, scope))
        if scope != scope.strip() or normalize("NFKC", written) != written:
            raise InvalidScope(
                f"The scope is {scope!r}; {self.where} has {{scope}}, so it must have no white space at its ends and "
                f"be in Unicode's form NFKC: {normalize('NFKC', scope).strip()!r}."
            )

    def check_day(self, day: date) -> None:
        """Raise DateRefused for a day that {yy} could not tell from one in the years 2000 to 2099."""
        if "yy" in self._template.specs and not 2000 <= day.year <= 2099:
            raise DateRefused(f"date is {day}; it must be in the years 2000 to 2099, as {self.where} has {{yy}}.")

    def parse(self, text: str) -> Parsed:
        """Read a text as a person types it.

        Letters of the format may have another case, white space may be anywhere but inside a scope, zeros before the
        value may be missing, any dash may stand for '-', and white space too if FORMAT has no {scope}. Characters may
        be in the wide and other forms that NFKC makes equal. In Crockford's digits O is 0, and I and L are 1. The scope
        is taken as it is.

        Raises InvalidText, which says what is wrong: another form, a date that does not exist, a value that the
        sequence never gives, a wrong check digit.
        """
        return self._reader.parse(text)

    def clash(self) -> Clash | None:
        """Find two with the same text: different in value and scope, or in their period; None if there are none.

        Two scopes have the same texts if FORMAT has no {scope}: see `uses_scope`.
        """
        return (self._beside and self._beside.clash) or clash_of_periods(self._writer)

    def _problems(self) -> Iterator[str]:
        yield from problems(self._template, in_periods=self.period.kind != "never")
        if self._beside and self._beside.run_together and not self._beside.clash:
            yield (
                "between {scope} and {value} it must have a character that cannot be read as a digit of the value, "
                "such as '-'"
            )

    @cached_property
    def _template(self) -> Template:
        return Template(self.template)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self._template, self.period, range(self.start, self.maximum + 1, self.step))

    @cached_property
    def _beside(self) -> SideBySide | None:
        return SideBySide(self._writer) if self.uses_scope else None

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._writer, needs_zeros=self._beside is not None and self._beside.touch)


def may_meet(one: Format, other: Format, scope: str | None, other_scope: str | None) -> bool:
    """Whether a text of one scope may be one of another scope by another FORMAT; None stands for any scope.

    Two that are alike do not meet if no value is in both. "No" is certain, "yes" may be too careful.
    """
    are_alike = one.template == other.template and (not one.uses_scope or scope == other_scope)
    if are_alike and (one.maximum < other.start or other.maximum < one.start):
        return False
    return meet(places_of(one._writer, scope), places_of(other._writer, other_scope))


class Written(NamedTuple):
    """A FORMAT, and the values that it writes."""

    form: Format
    values: range


def may_repeat(one: Written, other: Written, scope: str | None) -> bool:
    """Whether two values of one scope may have the same text, as people read it, each by another FORMAT.

    They do not where all texts are read alike, so that a text has one value, nor where all texts of one are longer.
    "No" is certain, "yes" may be too careful.
    """
    rows = [places_of(form._writer, scope) for form, _ in (one, other)]
    are_alike = rows[0] == rows[1] and one.form._template.dates == other.form._template.dates
    if are_alike or not (one.values and other.values):
        return False
    (shortest, longest), (least, most) = map(_lengths, (one, other), rows)
    return longest >= least and most >= shortest and meet(*rows)


def _lengths(written: Written, row: Sequence[object]) -> tuple[int, int]:
    """The length of the first text, as short as people may write it, and of the last one, both but for one place."""
    digits, values = written.form._template.digits, written.values
    return len(row) + len(Digits(digits.alphabet).write(values[0])), len(row) + len(digits.write(values[-1]))


class Inserts:
    """Writes other texts of the values of a sequence (see `actions.value_text`)."""

    def __init__(self, format: Format) -> None:  # noqa: A002 - the key FORMAT
        self._format = format
        self._writer = lru_cache(TEMPLATES_REMEMBERED)(self._made)

    def write(self, template: str, value: int, scope: str | None, day: date | None, period_name: str) -> str:
        """A text of a value. Raises InvalidItem for a period or parts of the date that the sequence does not have."""
        if template == "{text}":
            return self._format.text(value, scope, day, period_name)
        writer = self._writer(template)
        if "period" in writer.template.dates and self._format.period.kind == "never":
            raise InvalidItem(f"{template!r} has {{period}}, which has no meaning without PERIOD.")
        day = day or writer.dates.day_in(period_name)
        if day is None:
            raise InvalidItem(f"{template!r} has a part of the date, which the sequence does not keep: leave it out.")
        return "".join(writer.texts(value, scope, day, period_name))

    def sample(self, template: str) -> str:
        """A text of any value. Raises InvalidItem, as `write` does."""
        period = self._format.period
        day = ANY_DAY if self._format.uses_dates or period.kind != "never" else None
        return self.write(template, self._format.start, "ABC", day, period.name(ANY_DAY))

    def _made(self, template: str) -> Writer:
        return Writer(Template(template), self._format.period, range(0), text=self._format.text)
