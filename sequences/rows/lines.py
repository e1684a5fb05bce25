"""The lines of a scope: rules that are data, such as ranges that follow each other, each with a FORMAT of its own.

    5000 to 5999   "B7-{value}"    until June
    8000 to 8999   "B7/{value}"    from 1 July on

Where they are stored is in `line_rows`. What a line leaves open is as the entry of SEQUENCES has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from itertools import count
from typing import Any

from ..exceptions import InvalidPeriod, RulesChanged, SequenceExhausted
from ..formats.periods import KINDS, Period
from ..types import SequenceConfig

_DATES = ("valid_from", "valid_to", "warn_on")


class LinesChanged(RulesChanged):
    """The lines of a scope changed after this process read them. The call is repeated by those that hold now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """The rules of one scope from a date on, or after the line before it is used up.

    None stands for what the settings say: `format`, `start`, `step`, `maximum`, `period` and `strategy` (a dotted path)
    are as the keys of SEQUENCES. The first line begins at once; each later one at `valid_from`, or without a date when
    the line before it has reached its maximum. Documents that are dated after `valid_to` are refused. From the number
    `warn_at` on the line counts as nearly used up, and from the day `warn_on` on the doctor names it. `code` is any
    text that must stand beside the number, such as Portugal's ATCUD. `former` has FORMATs that the line had before,
    whose texts are still read.
    """

    format: str | None = None
    start: int | None = None
    step: int | None = None
    maximum: int | None = None
    period: str | None = None
    strategy: str | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    warn_at: int | None = None
    warn_on: date | None = None
    code: str = ""
    former: tuple[str, ...] = ()

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Line:
        """A line as it is stored. What a later version has added is left out."""
        known = {field.name: row[field.name] for field in fields(cls) if field.name in row}
        dates = {name: date.fromisoformat(known[name]) for name in _DATES if name in known}
        return cls(**{**known, **dates, "former": tuple(known.get("former", ()))})

    @property
    def row(self) -> dict[str, Any]:
        """The line as it is stored: what it says, such as a start at 0, and dates as texts."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        texts = {name: day.isoformat() for name in _DATES if (day := said[name])}
        return {name: told for name, told in {**said, **texts, "former": [*self.former]}.items() if told or told == 0}

    def config(self, settings: SequenceConfig) -> SequenceConfig:
        """The entry of SEQUENCES with the rules of this line. Raises nothing: who makes a strategy of it checks it."""
        kind = self.period or settings.period.kind
        options = dict(settings.options)
        if kind == "never" and settings.period.kind != "never":
            options["partition"] = "{sequence}##{scope}"
        format_ = self.format or settings.format
        before = (settings.format, *settings.also_read) if kind == settings.period.kind else ()
        read = dict.fromkeys((*self.former, *before))
        return replace(
            settings,
            strategy=self.strategy or settings.strategy,
            start=settings.start if self.start is None else self.start,
            step=self.step or settings.step,
            maximum=self.maximum or settings.maximum,
            period=replace(settings.period, kind=kind),
            format=format_,
            also_read=tuple(one for one in read if one not in (None, format_)),
            options=options,
            warn_at=self.warn_at,
            warn_on=self.warn_on,
        )


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a scope in their order, and the version that tells one state of them from the next.

    `name` is what people call the scope, empty if that is the scope itself.
    """

    lines: tuple[Line, ...] = ()
    version: int = 0
    name: str = ""

    def __len__(self) -> int:
        return len(self.lines)

    def at(self, day: date) -> int:
        """The place of the last line that has begun on a day."""
        begun = (place for place, line in enumerate(self.lines) if line.valid_from and line.valid_from <= day)
        return max(begun, default=0)

    def after(self, place: int, used_up: int) -> int:
        """The place of the line that has taken over from this one, if those up to `used_up` have no number left."""
        while place <= used_up and self.follows(place):
            place += 1
        return place

    def has_ended(self, place: int, day: date) -> bool:
        """Whether a day is after the last one of a line."""
        last = self.lines[place].valid_to
        return last is not None and last < day

    def check_day(self, place: int, day: date) -> None:
        """Raise SequenceExhausted for a day after the last one of a line."""
        if self.has_ended(place, day):
            last = self.lines[place].valid_to
            raise SequenceExhausted(f"The last line is valid until {last}, and the date is {day}: add another line.")

    def follows(self, place: int) -> bool:
        """Whether another line takes over as soon as this one is used up."""
        return place + 1 < len(self.lines) and self.lines[place + 1].valid_from is None

    def in_period(self, name: str, settings: SequenceConfig, day: date) -> int | None:
        """The place of the last line that begins by a period, such as "2026", or by a day for "", without periods.

        None for a period of before all lines. A line without a date begins when the one before it is used up (see
        `after`).
        """
        for place, line in reversed([*enumerate(self.lines)]):
            period, begin = line.config(settings).period, line.valid_from
            has_begun = (period.name(begin) <= name if name else begin <= day) if begin else place == 0
            if has_begun and _is_of(period, name):
                return place
        return None

    def first_alike(self, place: int, settings: SequenceConfig, day: date) -> int:
        """The place of the first line that counts in the same counter as this one on a day."""
        period = self.lines[place].config(settings).period
        begins = period.first_day(period.name(day))
        first = place
        while first and self.lines[first - 1].config(settings).period == period:
            begin = self.lines[first].valid_from
            if begin and begin <= begins:
                break
            first -= 1
        return first


def check_period(settings: Period, name: str) -> None:
    """Raise InvalidPeriod for what is the name of no period, of the settings or of a line."""
    kinds = [settings, *(replace(settings, kind=kind) for kind in KINDS[1:])]
    if not any(_is_of(kind, name) for kind in kinds):
        settings.check(name)


def _is_of(period: Period, name: str) -> bool:
    with suppress(InvalidPeriod):
        period.check(name)
        return True
    return False


def neighbours(period: Period, day: date) -> list[str]:
    """The names of the period of a day, of the one before and of the one after it."""
    if period.kind == "never":
        return [""]
    name = period.name(day)
    first = period.first_day(name)
    later = (period.name(first + timedelta(days=number)) for number in count(1))
    return [name, period.name(first - timedelta(days=1)), next(one for one in later if one != name)]
