"""Drafts: rows that are stored without a number, and get one when they are issued."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models, transaction

from .numbering import database_of, number_objects, number_rows
from .sequence_field import SequenceField, sequence_fields


def issue_number(row: models.Model, field: str | None = None) -> int | None:
    """Give a stored draft its number, and return it; a model with `assign="manual"` has this as a method.

    Outside a transaction the number is taken at once. Inside one it is taken after the commit, set on the object then,
    and None is returned; a rollback takes none. A row that has a number keeps it, and answers with it, in any process.
    `field` names the `SequenceField`, if several of the model are manual.

    If a process dies after the commit, or the engine is away then (which is logged), the row is still a draft. Repeat
    this: the idempotency token is made from the row, so the same number comes, as `number_rows` guarantees, and no gap
    is left. Nothing repeats it by itself, as a draft may wait for ever: keep in a column of your own what was issued.

    Cost: as one item of the sequence with an idempotency token, and two SQL queries; none for a row with a number.
    Raises ValueError for a row that is not saved, InvalidScope and InvalidPeriod for one without scope or date, and at
    once what `put_next_many` raises, and the model's DoesNotExist.
    """
    column, using = _manual(type(row), field), database_of(row)
    if row.pk is None or row._state.adding:
        raise ValueError(f"{row._meta.label} is not saved yet: save the row, and then issue {column}.")
    if getattr(row, column.attname) is None:
        column.dated(column.place_of(row))  # a row that cannot be numbered is refused before the commit

        def issue() -> None:
            number_objects(column, [row], using)
            if getattr(row, column.attname) is None:  # another process was faster
                row.refresh_from_db(using=using, fields=[column.name, *(text.name for text in column.texts)])
                column.note(row)

        _after_commit(issue, using)
    number: int | None = getattr(row, column.attname)
    return number


def issue_rows(model: type[models.Model], keys: list[Any], using: str, field: str | None = None) -> dict[Any, int]:
    """Give the drafts with these primary keys their numbers, and return them by key; {} if they follow a commit."""
    column = _manual(model, field)
    found: dict[Any, int] = {}
    _after_commit(lambda: found.update(number_rows(column, using=using, keys=keys)), using)
    return found


def _after_commit(issue: Any, using: str) -> None:
    """After the commit an error would be taken for the transaction's: it is logged. Without one it is the caller's."""
    transaction.on_commit(issue, using=using, robust=transaction.get_connection(using).in_atomic_block)


def _manual(model: type[models.Model], name: str | None) -> SequenceField:
    """The field of a model that is numbered by hand, or the one of this name. Raises FieldDoesNotExist."""
    manual = [field for field in sequence_fields(model) if field.assign == "manual"]
    named = [field for field in manual if name in (None, field.name)]
    if len(named) != 1:
        known = ", ".join(field.name for field in manual) or "none"
        raise FieldDoesNotExist(f"Name one SequenceField of {model._meta.label} with assign='manual'; it has {known}.")
    return named[0]
