"""Other texts of a value, by templates that also have {text} for the text of the value (see `actions.value_text`)."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from ..exceptions import InvalidItem
from . import Format
from .dates import ANY_DAY
from .template import Template
from .writing import Writer

TEMPLATES_REMEMBERED = 64


class Inserts:
    """Writes the other texts of the values of one sequence."""

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
