"""How the values of a sequence are written, and which there are: START, STEP, MAXIMUM, FORMAT and PERIOD."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..exceptions import InvalidScope, InvalidText
from ..formats import Format, Parsed
from ..types import Dated, Scope, SequenceConfig, parted
from .dates import DateLimits
from .numbers import Numbers


class Naming:
    """The numbers of a sequence, their texts, and the periods in which they count. `wall` is the engine's clock."""

    def __init__(self, config: SequenceConfig, padded_width: int, wall: Callable[[], float]) -> None:
        self.period = config.period
        others = tuple(start for region, start in config.starts.items() if region != config.stripe)
        maximum = min(config.maximum, 10**padded_width - 1) if padded_width else config.maximum
        self.format = _format(config, others, maximum)
        self._also_read = tuple(
            replace(self.format, template=template, where=f"SEQUENCES[{config.alias!r}]['ALSO_READ']")
            for template in config.also_read
        )
        self.numbers = Numbers(
            alias=config.alias,
            start=config.start,
            step=config.step,
            maximum=maximum,
            padded=padded_width > 0,
            widest=self.format.widest,
            others=others,
            warn_at=config.warn_at,
            of_line=config.line is not None,
        )
        self.uses_dates = config.period.kind != "never" or self.format.uses_dates
        """Whether the period or the text of a value depends on the document's date."""
        self.limits = DateLimits(config.alias, config.dates, config.period, wall) if config.dates else None
        self.takes_dates = self.uses_dates or config.date_order == "refuse" or self.limits is not None
        """Whether a document has a date at all."""
        self.is_plain = config.period.kind == "never" and config.format is None
        """Whether a scope alone says where a value counts and how it is written."""
        self._has_format = config.format is not None
        self._tells_scopes = config.format is None or self.format.uses_scope or config.line is not None
        """Whether no two scopes have the same texts. Lines are compared with those of all other scopes."""
        self._wall = wall
        self.earlier: Sequence[tuple[int, Format]] = ()
        """The last values of earlier lines in the same counter, the lowest first, and their FORMATs."""

    def text(self, value: int, scope: Scope, day: datetime.date | None) -> str:
        """A value as FORMAT writes it. Raises ValueError if it needs a day and there is none."""
        plain, period = parted(scope)
        return self.form_of(value).text(value, plain, day, period)

    def text_or_number(
        self, value: int, scope: Scope, day: datetime.date | None = None, form: Format | None = None
    ) -> str:
        """A value as FORMAT, or another `form`, writes it; the number alone if that needs a day or scope not given."""
        plain, period = parted(scope)
        form = form or self.form_of(value)
        if not self.takes(plain) or (form.uses_scope and plain is None):  # the scope counted by a FORMAT of before
            return str(value)
        try:
            return form.text(value, plain, day, period)
        except ValueError:
            return str(value)

    def form_of(self, value: int) -> Format:
        """The FORMAT of a value: the present one, or the one of an earlier line in whose range the value is."""
        return next((form for last, form in self.earlier if value <= last), self.format)

    @property
    def forms(self) -> tuple[Format, ...]:
        """FORMAT, and those of ALSO_READ; none for a sequence without FORMAT."""
        return (self.format, *self._also_read) if self._has_format else self._also_read

    def readings(self, text: str) -> list[Parsed]:
        """What a text may say: by FORMAT, and by each of ALSO_READ. Raises InvalidText where none reads it."""
        found, wrong = list[Parsed](), list[InvalidText]()
        for form in (self.format, *self._also_read):
            try:
                found.append(form.parse(text))
            except InvalidText as error:
                wrong.append(error)
        try:
            if not found:
                raise wrong[0]
            return found
        finally:
            del wrong  # else an error would hold this frame, and that the error, with all who have called

    def takes(self, scope: str | None) -> bool:
        """Whether the texts tell this scope from others, so that it can count."""
        return scope is None or self._tells_scopes

    def require_scope(self, scope: str | None, *, even_former: bool = False) -> None:
        """Raise InvalidScope for a scope that the texts cannot tell from others.

        One that counted by a FORMAT of before, which is in ALSO_READ, is read with `even_former`.
        """
        if even_former and any(form.uses_scope is (scope is not None) for form in self._also_read):
            return
        if not self.takes(scope):
            raise InvalidScope(
                f"The scope is {scope!r}; the FORMAT of {self.numbers.alias!r} has no {{scope}}, so two scopes would "
                "have the same texts: add it to FORMAT, or leave the scope out."
            )
        self.format.check_scope(scope)

    def require_day(self, day: datetime.date) -> None:
        """Raise DateRefused for a day that FORMAT cannot write, or that is beyond DATES."""
        self.format.check_day(day)
        if self.limits:
            self.limits.require(day)

    def dated(
        self, scope: str | None, date: datetime.date | None, period: str | None = None, *, even_former: bool = False
    ) -> tuple[Scope, datetime.date | None]:
        """The scope in the period of the document's date, and that date if the sequence needs one.

        The default is today; a `period` may be named in its place. Raises InvalidPeriod, InvalidScope for a scope that
        is not in FORMAT (see `require_scope`), ValueError for a date that the sequence does not use, and DateRefused
        for one of another millennium, or century where FORMAT has {yy}.
        """
        self.require_scope(scope, even_former=even_former)
        if period is not None:
            self.period.check(period)
            return Dated.of(scope, period), None
        if not self.takes_dates:
            if date is not None and not self.numbers.of_line:
                raise ValueError(
                    f"{self.numbers.alias!r} has no PERIOD, and no date in its FORMAT: leave the date out."
                )
            return scope, None
        day = self.period.date_of(date, self._wall())
        self.format.check_day(day)
        return Dated.of(scope, self.period.name(day)), day


def _format(config: SequenceConfig, others: tuple[int, ...], maximum: int) -> Format:
    return Format(
        template="{value}" if config.format is None else config.format,
        period=config.period,
        start=min([config.start, *others]),
        step=1 if others else config.step,  # the values of every Region are written and read everywhere
        maximum=maximum,
        where=f"SEQUENCES[{config.alias!r}]['FORMAT']",
    )
