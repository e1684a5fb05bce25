"""Where a row is numbered: in which scope, and for which date."""

import datetime
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from django.db import models

from ..exceptions import InvalidPeriod, InvalidScope, InvalidSequence
from ..registry import strategies

if TYPE_CHECKING:
    _BigInteger = models.BigIntegerField[int | None, int | None]
else:
    _BigInteger = models.BigIntegerField  # cannot be subscribed when it runs

Place = tuple[str | None, datetime.date | None]
"""The scope of a row, and the document's date, None for today."""


class PlacedField(_BigInteger):
    """A column for the numbers of a sequence, whose `scope` and `date` say where each row is numbered."""

    sequence: str
    scope: str | Callable[[Any], str | None] | None
    date: str | None
    on_commit: bool
    assign: str

    @property
    def waits(self) -> bool:
        """Whether a row is stored without its number, which follows a commit."""
        return self.on_commit or self.assign == "manual"

    @property
    def in_periods(self) -> bool:
        """Whether the sequence begins again in each period; False for a sequence that cannot be used."""
        try:
            return strategies[self.sequence].layout.in_periods
        except (InvalidSequence, TypeError):
            return False

    @property
    def tells_day(self) -> bool:
        """Whether the row says all that the text of its number needs, so that it can be written later."""
        return self.date is not None or not strategies[self.sequence].naming.uses_dates

    def by_place(self, rows: Iterable[models.Model]) -> dict[Place, list[models.Model]]:
        """The rows by their scopes and dates, each in the order in which they come."""
        found: dict[Place, list[models.Model]] = {}
        for row in rows:
            found.setdefault(self.place_of(row), []).append(row)
        return found

    def place_of(self, row: models.Model) -> Place:
        """The scope and the date of a row. Raises what `scope_of` and `date_of` raise."""
        return self.scope_of(row), self.date_of(row)

    def date_of(self, row: models.Model) -> datetime.date | None:
        """The document's date of a row, None for today. Raises InvalidPeriod if the field that says it is empty."""
        if self.date is None:
            return None
        column: Any = row._meta.get_field(self.date)
        day: datetime.date | None = column.to_python(getattr(row, self.date))
        if day is None:
            raise InvalidPeriod(
                f"{self} is numbered by the period of {self.date!r}, which is empty in {_named(row)}: set it first."
            )
        return day

    def scope_of(self, row: models.Model) -> str | None:
        """The scope in which a row is numbered. Raises InvalidScope if the field that says it is empty."""
        if self.scope is None:
            return None
        if callable(self.scope):
            return self.scope(row)
        value = getattr(row, column_of(row, self.scope))
        if value is None or value == "":
            raise InvalidScope(f"{self} is numbered by {self.scope!r}, which is empty in {_named(row)}: set it first.")
        return str(value)

    def dated(self, place: Place) -> Place:
        """The place with the day of today, if it has none and the sequence needs one: before midnight and after are
        two periods, and a number and its text are of one."""
        scope, day = place
        return scope, strategies.of(self.sequence, scope, day).naming.dated(scope, day)[1]


def _named(row: models.Model) -> str:
    return "a new row" if row.pk is None else f"row {row.pk}"


def column_of(row: models.Model | type[models.Model], name: str) -> str:
    """The column of a field. A foreign key's own name would sort by what the other model is sorted by."""
    return str(getattr(row._meta.get_field(name), "attname", name))
