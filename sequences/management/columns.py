"""The columns that commands name, such as shop.Order.number."""

from __future__ import annotations

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.core.management.base import CommandError

from sequences.fields import SequenceField


def sequence_field(column: str, alias: str) -> SequenceField:
    """The field of a text such as shop.Order.number. Raises CommandError."""
    model, _, name = column.rpartition(".")
    if "." not in model:
        raise CommandError(f"{column!r} names no column. Name a column as shop.Order.number.")
    try:
        field = apps.get_model(model)._meta.get_field(name)
    except (LookupError, ValueError, FieldDoesNotExist) as error:
        raise CommandError(f"{error} Name a column as shop.Order.number.") from error
    if not isinstance(field, SequenceField):
        raise CommandError(f"{column} is no SequenceField: for another column use SeedSequence in a migration.")
    if field.sequence != alias:
        raise CommandError(f"{column} is numbered by {field.sequence!r}, not by {alias!r}.")
    return field
