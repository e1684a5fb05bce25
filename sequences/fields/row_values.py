"""What a row that is saved will have in its columns, as far as that is known before."""

from typing import Any

from django.db import models
from django.db.models.expressions import DatabaseDefault


def named(row: models.Model) -> str:
    """What errors call a row."""
    return "a new row" if row.pk is None else f"row {row.pk}"


def value_of(row: models.Model, name: str) -> Any:
    """What a row will have in a column, in the form in which the database gives it; None if only the database knows."""
    column: Any = row._meta.get_field(name)
    if is_generated(row, column):
        return None
    value = getattr(row, column.attname)
    if value is None and column.is_relation:  # the other row may have been saved since it was set here
        value = getattr(column.get_cached_value(row, None), column.target_field.attname, None)
    if isinstance(value, DatabaseDefault):
        value = column.db_default
    return None if is_computed(value) else column.to_python(value)


def dates_itself(row: models.Model, name: str) -> bool:
    """Whether the date of a row is the day of its save, whatever the object has: of a copy it is another row's."""
    column: Any = row._meta.get_field(name)
    is_automatic = getattr(column, "auto_now_add", False) or getattr(column, "auto_now", False)
    return is_automatic and (row._state.adding or row.pk is None)


def is_generated(row: models.Model, column: Any) -> bool:
    """Whether the database computes a column (GeneratedField) of a row that it does not have yet."""
    return bool(column.generated and row._state.adding)


def is_computed(value: Any) -> bool:
    """Whether only the database knows what an expression says."""
    return hasattr(value, "resolve_expression")


def column_of(row: models.Model | type[models.Model], name: str) -> str:
    """The column of a field. A foreign key's own name would sort by what the other model is sorted by."""
    return str(getattr(row._meta.get_field(name), "attname", name))
