"""What follows the commit of an SQL transaction: rows get their numbers, and counters move past those of fixtures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import models, transaction

from .numbering import number_objects
from .sequence_field import Loaded, SequenceField, database_of, sequence_fields

Hook = TypeVar("Hook", bound="_Saved | Loaded")


def number_on_commit(*rows: models.Model, using: str | None = None) -> None:
    """Number these saved rows of one model when their SQL transaction is committed, and set the numbers on the objects.

    Fields with `on_commit=True` do this by themselves in `save` and `bulk_create`; call it for rows that come another
    way. The guarantee is `number_rows`'s. Those of a transaction are numbered together, in the order of their saves. A
    row that is rolled back, or deleted before the commit, takes no number. A failure after the commit is logged and not
    raised, because the row is stored: `number_rows` numbers it later. Without `using` the router says where they are.
    """
    saved = [row for row in rows if row.pk is not None]
    for field in sequence_fields(type(saved[0])) if saved else ():
        if field.on_commit:
            _number_later(field, saved, using or database_of(saved[0]))


@dataclass(eq=False)
class _Saved:
    """Rows that a field numbers after the commit, together with those of `following`."""

    field: SequenceField
    rows: Sequence[models.Model]
    using: str
    following: "_Saved | None" = None

    def __post_init__(self) -> None:
        self.__qualname__ = "number_on_commit"  # Django logs this name with an error

    def __call__(self) -> None:
        rows, one = list[models.Model](), self if self.rows else None  # else they were numbered with those before them
        while one is not None:
            rows += one.rows
            one.rows, one = (), one.following
        if rows:
            number_objects(self.field, rows, self.using)


def _number_later(field: SequenceField, rows: Sequence[models.Model], using: str) -> None:
    """Number rows after the commit, with those saved just before in the same savepoint, which goes back as a whole.

    Each save waits by itself, too: a test runs those of one block alone.
    """
    saved = _Saved(field, rows, using)
    if last := _last(_Saved, field, using):
        last.following = saved
    transaction.on_commit(saved, using=using, robust=True)


def _last(kind: type[Hook], field: SequenceField, using: str | None) -> Hook | None:
    """The last of its kind that waits for the commit, if a rollback takes it back together with what is saved now."""
    connection = transaction.get_connection(using)
    for savepoints, one, *_ in reversed(connection.run_on_commit):
        if isinstance(one, kind) and one.field is field:
            return one if savepoints == {*connection.savepoint_ids} else None
    return None


def count_on_commit(row: models.Model, using: str | None) -> None:
    """Move the counters past the numbers that a fixture brings, when the transaction that loads it is committed.

    So a fixture may name rows that come later in it, costs two requests for each scope and date, and asks nothing for a
    test that never commits. A row that takes a number in the same transaction, or in a hook after its commit, lets
    them move before. A failure is logged, as the rows are stored: `sequences seed --column` does the same.
    """
    for field in sequence_fields(type(row)):
        if getattr(row, field.attname) is not None:
            last = _last(Loaded, field, using)
            if last and last.rows:
                last.rows.append(row)
            else:
                transaction.on_commit(Loaded(field, [row]), using=using, robust=True)
