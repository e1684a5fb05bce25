"""A column for the text of a number, such as "INV-2026-000042", which stays as it was when it was given."""

from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models import F

from ..exceptions import InvalidSequence
from ..registry import strategies
from .places import PlacedField

if TYPE_CHECKING:
    _Text = models.CharField[str | None, str | None]
else:
    _Text = models.CharField  # cannot be subscribed when it runs


class SequenceTextField(_Text):
    """The text of the `SequenceField` that `of` names, as the FORMAT of its sequence writes it.

    It is written in the same moment as the number, for the scope, the period and the date that the number was given
    in, and never again: not if FORMAT changes, nor if the row gets another date. It is NULL while the row has no
    number. A text that is set before the save is kept. It is unique unless `unique=False` is said, and not editable.
    `get_by_text` of the model's manager finds a row by it.

    Rows that had their numbers before the column was made get their texts by `write_texts`.
    Cost: none beside the number's. It holds 255 characters, or `max_length`: with a longer text the database refuses
    the row. System checks (sequences.E106 and E107) find an `of` that is no number of the same table, and texts that
    cannot be unique.
    """

    description = "The text of a number of a sequence"

    def __init__(self, *args: Any, of: str, **kwargs: Any) -> None:
        self.of = of
        given = {"max_length": 255, "unique": True, **kwargs}
        super().__init__(*args, **{**given, "null": True, "blank": True, "editable": False})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        for own in ("null", "blank", "editable"):
            del kwargs[own]
        path = path.replace("sequences.fields.text_field.", "sequences.fields.")
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
            format_ = strategies[number.sequence].naming.format
        except FieldDoesNotExist as error:
            hint = "Name the SequenceField that stands in the same model."
            return [Error(str(error), hint=hint, obj=self, id="sequences.E106")]
        except (InvalidSequence, TypeError):
            return []  # the number's own check reports it
        missing = [
            *(["{scope}"] if number.scope is not None and not format_.uses_scope else []),
            *(["{period}"] if number.in_periods and not format_.uses_dates else []),
        ]
        if not self.unique or not missing:
            return []
        fields = " and no ".join(missing)
        problem = f"Two rows may have the same text: the FORMAT of {number.sequence!r} has no {fields}."
        return [Error(problem, hint="Add it to FORMAT, or set unique=False.", obj=self, id="sequences.E107")]


def text_fields(model: type[models.Model]) -> list[SequenceTextField]:
    """The fields with the texts of a model's numbers, those of its parents too."""
    return [field for field in model._meta.concrete_fields if isinstance(field, SequenceTextField)]


def texts_of(number: PlacedField) -> list[SequenceTextField]:
    """The fields with the texts of this number."""
    return [field for field in text_fields(number.model) if field.of == number.name]
