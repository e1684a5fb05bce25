"""Numbers for stored rows: after their commit, and after a crash in between."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models, router, transaction

from ..services import put_next_many
from ..types import Allocation
from .sequence_field import SequenceField, sequence_fields

__all__ = ["count_on_commit", "database_of", "number_objects", "number_on_commit", "number_rows", "write_texts"]

ROWS_AT_ONCE = 500


def number_on_commit(*rows: models.Model) -> None:
    """Number these saved rows of one model when their SQL transaction is committed, and set the numbers on the objects.

    Fields with `on_commit=True` do this by themselves in `save` and `bulk_create`; call it for rows that come another
    way. The guarantee is `number_rows`'s. A row that is rolled back, or deleted before the commit, takes no
    number. A failure after the commit is logged and not raised, because the row is stored: `number_rows` numbers it
    later.
    """
    saved = [row for row in rows if row.pk is not None]
    for field in sequence_fields(type(saved[0])) if saved else ():
        if field.on_commit:
            _number_later(field, saved, database_of(saved[0]))


def _number_later(field: SequenceField, rows: Sequence[models.Model], using: str) -> None:
    transaction.on_commit(lambda: number_objects(field, rows, using), using=using, robust=True)


def number_objects(field: SequenceField, rows: Sequence[models.Model], using: str) -> None:
    """Number stored rows of one database as `number_rows` does, and set the numbers and texts on the objects."""
    key = field.model._meta.pk.attname
    numbers = dict(_numbered(field, using, [getattr(row, key) for row in rows]))
    for row in rows:
        if given := numbers.get(getattr(row, key)):
            for name, value in _columns(field, given).items():
                setattr(row, name, value)
            field.note(row)


def database_of(row: models.Model) -> str:
    """The database in which a row is stored, or will be."""
    return row._state.db or router.db_for_write(type(row), instance=row)


def count_on_commit(row: models.Model, using: str) -> None:
    """Move the counters past the numbers that a fixture brings, when the transaction that loads it is committed.

    So a fixture may name rows that come later in it, costs two requests for each scope and date, and asks nothing for a
    test that never commits. A failure is logged, as the rows are stored: `sequences seed --column` does the same.
    """
    for field in sequence_fields(type(row)):
        if getattr(row, field.attname) is not None:
            for _, waiting, *_ in transaction.get_connection(using).run_on_commit:
                if isinstance(waiting, _Loaded) and waiting.field is field:
                    waiting.rows.append(row)
                    break
            else:
                transaction.on_commit(_Loaded(field, [row]), using=using, robust=True)


@dataclass
class _Loaded:
    """The rows of one transaction that came from fixtures."""

    field: SequenceField
    rows: list[models.Model]

    def __post_init__(self) -> None:
        self.__qualname__ = "count_on_commit"  # Django logs this name with an error

    def __call__(self) -> None:
        self.field.count_past(self.rows)


def number_rows(field: SequenceField, *, using: str = "default", keys: Sequence[Any] | None = None) -> dict[Any, int]:
    """Number the rows whose column is NULL, all or those with these primary keys, in the order of their keys.

    With `assign="manual"` these are the drafts: name those that are issued.

    Each number is taken by `put_next_many`, with an idempotency token that is made from the row. So a row gets the same
    number if this is repeated after a crash, in another process, or by two processes at once, as long as its scope
    stays and the marker has not expired (7 days, `marker_seconds`). The sequence's own item names model, row and
    database. A row that is deleted meanwhile leaves its number with that item. The texts of a number are written
    together with it.
    Returns the numbers by primary key. Raises what `put_next_many` raises; rows before the error are numbered.
    """
    return {key: given.value for key, given in _numbered(field, using, keys)}


def write_texts(field: SequenceField, *, using: str = "default") -> int:
    """Write the texts of numbered rows that have none, as those that are older than their `SequenceTextField`.

    Says how many rows it changed. Rows whose `field` is numbered by the day of the save stay as they are, because that
    day is not known any more. Safe to repeat. Cost: two SQL queries for 500 rows, and no request.
    Raises InvalidScope and InvalidPeriod for a row whose scope or date is empty.
    """
    names = [text.name for text in field.texts]
    if not names or not field.tells_day:
        return 0
    rows, last, written = field.model._base_manager.using(using), None, 0
    unwritten = models.Q(*((name, None) for name in names), _connector=models.Q.OR)
    untold = rows.filter(unwritten, **{f"{field.name}__isnull": False}).order_by("pk")
    while page := list((untold if last is None else untold.filter(pk__gt=last))[:ROWS_AT_ONCE]):
        for row in page:
            field.write_texts(row)
        written += rows.bulk_update(page, names)
        last = page[-1].pk
    return written


def _numbered(field: SequenceField, using: str, keys: Sequence[Any] | None) -> Iterator[tuple[Any, Allocation]]:
    """The keys of the rows that get numbers, with what they got, page by page."""
    empty = field.model._base_manager.using(using).filter(**{field.name: None}).order_by("pk")
    if keys is None:
        while page := _number_page(field, empty, using):
            yield from page.items()
    else:
        for first in range(0, len(keys), ROWS_AT_ONCE):
            yield from _number_page(field, empty.filter(pk__in=keys[first : first + ROWS_AT_ONCE]), using).items()


def _number_page(field: SequenceField, empty: models.QuerySet[Any], using: str) -> dict[Any, Allocation]:
    found: dict[Any, Allocation] = {}
    for (scope, day), rows in field.by_place(empty[:ROWS_AT_ONCE]).items():
        items = [{"model": field.model._meta.label_lower, "row": str(row.pk), "database": using} for row in rows]
        tokens = [_token(field, item) for item in items]
        allocations = put_next_many(field.sequence, items, scope=scope, idempotency_tokens=tokens, date=day)
        numbers = {row.pk: allocation for row, allocation in zip(rows, allocations, strict=True)}
        with transaction.atomic(using=using):
            for key, given in numbers.items():
                field.model._base_manager.using(using).filter(pk=key, **{field.name: None}).update(
                    **_columns(field, given)
                )
        found |= numbers
    return found


def _columns(field: SequenceField, given: Allocation) -> dict[str, Any]:
    """What a row gets together with its number."""
    return {field.name: given.value, **{text.name: given.text for text in field.texts}}


def _token(field: SequenceField, item: dict[str, str]) -> str:
    """The idempotency token of a row: the same in every process, and short whatever the primary key is."""
    return hashlib.sha256("\0".join([*item.values(), field.name]).encode()).hexdigest()
