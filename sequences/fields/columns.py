"""The columns of a model: one for numbers, which says where a row is numbered, and one for the text of a number.

The text, such as "INV-2026-000042", stays as it was when it was given.
"""

import datetime
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models import F

from ..exceptions import InvalidPeriod, InvalidScope, InvalidSequence, InvalidText
from ..registry import strategies
from ..services.arguments import check_scope
from ..services.texts import readings
from .row_values import column_of, dates_itself, is_computed, is_generated, named, value_of

if TYPE_CHECKING:
    _BigInteger = models.BigIntegerField[int | None, int | None]
    _Text = models.CharField[str | None, str | None]
else:
    _BigInteger, _Text = models.BigIntegerField, models.CharField  # cannot be subscribed when they run

Place = tuple[str | None, datetime.date | None]
"""The scope of a row, and the document's date, None for today."""


class _OfOneModel:
    """A column that is plain in every other model that gets a copy of it: packages for history make such copies."""

    plain: type["models.Field[Any, Any]"]

    def contribute_to_class(self, *args: Any, **kwargs: Any) -> None:
        former = getattr(self, "model", None)
        if former is None or former._meta.abstract:
            super().contribute_to_class(*args, **kwargs)  # type: ignore[misc]
        else:
            self.__class__ = self.plain  # type: ignore[assignment]
            self.contribute_to_class(*args, **kwargs)


class PlacedField(_OfOneModel, _BigInteger):
    """A column for the numbers of a sequence, whose `scope` and `date` say where each row is numbered."""

    plain = models.BigIntegerField

    def __init__(
        self,
        *args: Any,
        sequence: str,
        scope: str | Callable[[Any], str | None] | None = None,
        date: str | None = None,
        on_commit: bool = False,
        assign: Literal["automatic", "manual"] = "automatic",
        **kwargs: Any,
    ) -> None:
        self.sequence = sequence
        self.scope = scope
        self.date = date
        self.on_commit = on_commit
        self.assign = assign
        kwargs["editable"] = False
        if self.waits:
            kwargs["null"] = True
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["editable"]
        kwargs["sequence"] = self.sequence
        defaults = {"scope": None, "date": None, "on_commit": False, "assign": "automatic"}
        kwargs |= {name: getattr(self, name) for name, value in defaults.items() if getattr(self, name) != value}
        if self.waits:
            del kwargs["null"]
        return name, path.replace("sequences.fields.sequence_field.", "sequences.fields."), args, kwargs

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
    def texts(self) -> list["SequenceTextField"]:
        """The fields with the text of this number."""
        return [field for field in text_fields(self.model) if field.of == self.name]

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
        """The document's date of a row, None for today. Raises InvalidPeriod if the field that says it is empty.

        A row that is inserted, and whose date fills itself (`auto_now_add`, `auto_now`), has the date of today. Where
        no field says the date, a row with a number is of the period that its text tells.
        """
        if self.date is None:
            return self._day_of_text(row) if self.in_periods else None
        if dates_itself(row, self.date):
            return None
        day: datetime.date | None = value_of(row, self.date)
        if day is None:
            raise InvalidPeriod(
                f"{self} is numbered by the period of {self.date!r}, which is empty in {named(row)}: set it first."
            )
        if isinstance(day, datetime.datetime):  # rows of one day are numbered together
            return strategies[self.sequence].naming.period.date_of(day, 0.0)
        return day

    def _day_of_text(self, row: models.Model) -> datetime.date | None:
        """The first day of the period in which a row was numbered, by the text that it has; None without one."""
        values, naming = row.__dict__, strategies[self.sequence].naming
        known = (values.get(text.attname) for text in self.texts if values.get(self.attname) is not None)
        for text in (one for one in known if isinstance(one, str)):
            with suppress(InvalidPeriod, InvalidText):  # one of a line of SERIES may be of another kind
                if period := readings(text, self.sequence)[0].period:
                    return naming.period.first_day(period)
        return None

    def tells_period(self, row: models.Model) -> bool:
        """Whether a row says in which period it was numbered, if the sequence has periods."""
        day = self._day_of_text(row) if self.date is None else value_of(row, self.date)
        return not self.in_periods or day is not None

    def scope_of(self, row: models.Model) -> str | None:
        """The scope in which a row is numbered. Raises InvalidScope if the field that says it is empty."""
        if self.scope is None:
            return None
        if callable(self.scope):
            return self.scope(row)
        value = value_of(row, self.scope)
        if value is None or value == "":
            raise InvalidScope(f"{self} is numbered by {self.scope!r}, which is empty in {named(row)}: set it first.")
        return str(value)

    def require_saved(self, row: models.Model, stored: models.Model) -> None:
        """Refuse a row whose scope or date is not saved, as the stored one is numbered. Raises ValueError."""
        for name in (one for one in (self.scope, self.date) if isinstance(one, str)):
            if value_of(row, name) != value_of(stored, name):
                raise ValueError(f"{name!r} of {named(row)} is not saved yet: save the row, and then issue {self}.")

    def require_place(self, row: models.Model) -> None:
        """Refuse a row that could not get its number later. Until then a function may find its scope, and a date come.

        The database may compute either. Asks nothing, and so looks at no rules of single scopes (SERIES).
        Raises InvalidScope and DateRefused.
        """
        naming, has_lines = strategies[self.sequence].naming, strategies.has_lines(self.sequence)
        if self._knows_scope(row):
            check_scope(scope := self.scope_of(row))
            if not has_lines:
                naming.require_scope(scope)
        if self.date is None or not naming.takes_dates or dates_itself(row, self.date):
            return
        if (given := value_of(row, self.date)) is not None:
            day = naming.period.date_of(given, 0.0)
            if not has_lines:
                naming.require_day(day)

    def _knows_scope(self, row: models.Model) -> bool:
        if isinstance(self.scope, str):
            column = row._meta.get_field(self.scope)
            return not is_generated(row, column) and not is_computed(getattr(row, column_of(row, self.scope)))
        return self.scope is None

    def dated(self, place: Place) -> Place:
        """The place with the day of today, if it has none and the sequence needs one: before midnight and after are
        two periods, and a number and its text are of one."""
        scope, day = place
        return scope, strategies.of(self.sequence, scope, day).naming.dated(scope, day)[1]


class SequenceTextField(_OfOneModel, _Text):
    """The text of the `SequenceField` that `of` names, as the FORMAT of its sequence writes it.

    It is written in the same moment as the number, for the scope, the period and the date that the number was given
    in, and never again: not if FORMAT changes, nor if the row gets another date. It is NULL while the row has no
    number. A text that is set before the save is kept. It is unique unless `unique=False` is said, and not editable.
    `get_by_text` of the model's manager finds a row by it.

    Another number of a stored row has its text anew, and so has a number of a new object that replaces a stored row.
    Where `update_fields` names the number alone, one more SQL query writes the text.

    Rows that had their numbers before the column was made get their texts by `write_texts`.
    Cost: none beside the number's. It holds 255 characters, or `max_length`: with a longer text the database refuses
    the row. System checks (sequences.E106 and E107) find an `of` that is no number of the same table, and texts that
    cannot be unique.
    """

    description = "The text of a number of a sequence"
    plain = models.CharField

    def __init__(self, *args: Any, of: str, **kwargs: Any) -> None:
        self.of = of
        given = {"max_length": 255, "unique": True, **kwargs}
        super().__init__(*args, **{**given, "null": True, "blank": True, "editable": False})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        for own in ("null", "blank", "editable"):
            del kwargs[own]
        path = path.replace("sequences.fields.columns.", "sequences.fields.")
        return name, path, args, {**kwargs, "of": self.of, "unique": self.unique}

    @property
    def number(self) -> PlacedField:
        """The column with the number. Raises FieldDoesNotExist if `of` names none."""
        column = self.model._meta.get_field(self.of)
        if not isinstance(column, PlacedField) or column.model is not self.model:
            raise FieldDoesNotExist(f"of={self.of!r} is no SequenceField of {self.model._meta.label}.")
        return column

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Let the number come first, wherever its column stands. A stale object does not erase the text."""
        self.number.pre_save(model_instance, add)
        text = super().pre_save(model_instance, add)
        return F(self.name) if text is None and not add else text

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return [*super().check(**kwargs), *self._check_of()]

    def _check_of(self) -> list[CheckMessage]:
        try:
            number = self.number
            strategy = strategies[number.sequence]
        except FieldDoesNotExist as error:
            hint = "Name the SequenceField that stands in the same model."
            return [Error(str(error), hint=hint, obj=self, id="sequences.E106")]
        except (InvalidSequence, TypeError):
            return []  # the number's own check reports it
        is_bare = strategy.config.format is None  # scopes that a FORMAT does not tell apart take no numbers at all
        missing = [
            *(["{scope}"] if number.scope is not None and is_bare else []),
            *(["{period}"] if number.in_periods and not strategy.naming.format.uses_dates else []),
        ]
        if not self.unique or not missing:
            return []
        fields = " and no ".join(missing)
        problem = f"Two rows may have the same text: the FORMAT of {number.sequence!r} has no {fields}."
        hint = "Add it to FORMAT, or set unique=False." if is_bare else "Add it to FORMAT."
        return [Error(problem, hint=hint, obj=self, id="sequences.E107")]


def text_fields(model: type[models.Model]) -> list[SequenceTextField]:
    """The fields with the texts of a model's numbers, those of its parents too."""
    return [field for field in model._meta.concrete_fields if isinstance(field, SequenceTextField)]
