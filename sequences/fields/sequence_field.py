"""Numbers in ordinary Django models: a field that fills itself, before the row is saved or after it is committed.

The rows are in Django's database, the counter is in DynamoDB, and no transaction spans both. `SequenceField` therefore
takes its number first, and a rollback leaves a gap. With `on_commit=True` the row comes first, and gets its number by
`number_on_commit` when it can no longer be rolled back. `number_rows` numbers what a crash left behind.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.core.checks import CheckMessage
from django.core.checks import Warning as Advice
from django.db import models, router, transaction
from django.db.models.signals import class_prepared, post_save
from django.dispatch import receiver

from ..exceptions import InvalidPeriod, InvalidScope, SequenceExhausted
from ..services import get_next_values, put_next_many
from .checks import CheckedField

__all__ = [
    "LARGEST_NUMBER",
    "SequenceField",
    "SequenceManager",
    "SequenceQuerySet",
    "number_on_commit",
    "number_rows",
    "sequence_fields",
]

LARGEST_NUMBER = 2**63 - 1  # what a column of 8 bytes holds
ROWS_AT_ONCE = 500


class SequenceField(CheckedField):
    """A number of a sequence, which the row gets before it is first saved.

    An SQL rollback leaves a gap: the number is taken before the row is stored, and never given again. Rows that must
    have no gap say `on_commit=True`. Then the column is NULL until the transaction is committed, and the row gets its
    number right after that (see `number_on_commit`).

    A number is given once, and follows time within its scope, as the strategy of the sequence guarantees. A value that
    is set before the save is kept, and takes none. After a failed save the object keeps its number for the next try.
    The field is not editable: forms leave it out, REST serializers only read it, and the administration shows it in
    `readonly_fields`.

    `scope` is None, the name of a field of the model, or a function from the row to a scope. A scope by a foreign key
    is the key of the related row, as text. `date` is the name of the field with the document's date, for a sequence
    with a PERIOD; without it, a row is numbered in the period of today.

    Cost: one request a row. `bulk_create` takes the numbers of all its rows by one request for each scope and date,
    with the manager that a model without one of its own gets; build your own from `SequenceQuerySet`.
    Saving raises InvalidScope for an empty scope, InvalidPeriod for an empty date, SequenceExhausted for a number of
    more than 63 bits, and what `get_next_values` raises. System checks (sequences.E101 to E105, W101 and W102) find
    wrong arguments before that.
    """

    description = "A number of a sequence"

    def __init__(
        self,
        *args: Any,
        sequence: str,
        scope: str | Callable[[Any], str | None] | None = None,
        date: str | None = None,
        on_commit: bool = False,
        **kwargs: Any,
    ) -> None:
        self.sequence = sequence
        self.scope = scope
        self.date = date
        self.on_commit = on_commit
        kwargs["editable"] = False
        if on_commit:
            kwargs["null"] = True
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["editable"]
        kwargs["sequence"] = self.sequence
        if self.scope is not None:
            kwargs["scope"] = self.scope
        if self.date is not None:
            kwargs["date"] = self.date
        if self.on_commit:
            kwargs["on_commit"] = True
            del kwargs["null"]
        return name, path, args, kwargs

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Give a new row its number; if that follows the commit, refuse a row that could never get one."""
        if add and not self.on_commit:
            self.fill([model_instance])
        elif add and not callable(self.scope):
            self.scope_of(model_instance)
        return super().pre_save(model_instance, add)

    def fill(self, rows: Iterable[models.Model]) -> None:
        """Give each row without a number the next one of its scope, by one request for each scope and date."""
        empty = [row for row in rows if getattr(row, self.attname) is None]
        for (scope, day), members in self.by_place(empty).items():
            values = get_next_values(len(members), self.sequence, scope=scope, date=day)
            if values[-1] > LARGEST_NUMBER:
                raise SequenceExhausted(
                    f"{self}: the column holds numbers up to {LARGEST_NUMBER}, and the next one is {values[-1]}: "
                    f"set SEQUENCES[{self.sequence!r}]['MAXIMUM'] to what the column holds."
                )
            for row, value in zip(members, values, strict=True):
                setattr(row, self.attname, value)

    def by_place(
        self, rows: Iterable[models.Model]
    ) -> dict[tuple[str | None, datetime.date | None], list[models.Model]]:
        """The rows by their scopes and dates, each in the order in which they come."""
        found: dict[tuple[str | None, datetime.date | None], list[models.Model]] = {}
        for row in rows:
            found.setdefault((self.scope_of(row), self.date_of(row)), []).append(row)
        return found

    def date_of(self, row: models.Model) -> datetime.date | None:
        """The document's date of a row, None for today. Raises InvalidPeriod if the field that says it is empty."""
        if self.date is None:
            return None
        column: Any = row._meta.get_field(self.date)
        day: datetime.date | None = column.to_python(getattr(row, self.date))
        if day is None:
            raise InvalidPeriod(
                f"{self} is numbered by the period of {self.date!r}, which is empty: set it before you save the row."
            )
        return day

    def scope_of(self, row: models.Model) -> str | None:
        """The scope in which a row is numbered. Raises InvalidScope if the field that says it is empty."""
        if self.scope is None:
            return None
        if callable(self.scope):
            return self.scope(row)
        value = getattr(row, _column(row, self.scope))
        if value is None or value == "":
            raise InvalidScope(f"{self} is numbered by {self.scope!r}, which is empty: set it before you save the row.")
        return str(value)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return [*super().check(**kwargs), *self._check_manager()]

    def _check_manager(self) -> list[CheckMessage]:
        manager = self.model._default_manager
        if isinstance(manager.get_queryset(), SequenceQuerySet):
            return []
        todo = "leaves its rows without numbers" if self.on_commit else "takes one request for each row"
        hint = "Build it from sequences.fields.SequenceQuerySet, or take SequenceManager."
        problem = f"By the manager {manager.name!r}, bulk_create {todo}."
        return [Advice(problem, hint=hint, obj=self, id="sequences.W102")]


class SequenceQuerySet(models.QuerySet[Any]):
    """Rows whose sequence fields `bulk_create` fills: all numbers of a scope by one request."""

    def bulk_create(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> list[Any]:
        """As Django's. Rows that `ignore_conflicts` drops leave gaps.

        With `ignore_conflicts` Django does not learn the keys that the database makes. Rows that are numbered when they
        are committed are then left to `number_rows`.
        """
        rows = list(objs)
        for field in sequence_fields(self.model):
            if not field.on_commit:
                field.fill(rows)
        created = super().bulk_create(rows, *args, **kwargs)
        number_on_commit(*created)
        return created


class SequenceManager(models.Manager.from_queryset(SequenceQuerySet)):  # type: ignore[misc]
    """What a model with a sequence field gets as `objects`, if it has no manager of its own."""


def sequence_fields(model: type[models.Model]) -> list[SequenceField]:
    """The sequence fields of a model, those of its parents too."""
    return [field for field in model._meta.concrete_fields if isinstance(field, SequenceField)]


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
            using = saved[0]._state.db or router.db_for_write(type(saved[0]), instance=saved[0])
            _number_later(field, saved, using)


def number_rows(field: SequenceField, *, using: str = "default", keys: Sequence[Any] | None = None) -> dict[Any, int]:
    """Number the rows whose column is NULL, all or those with these primary keys, in the order of their keys.

    Each number is taken by `put_next_many`, with an idempotency token that is made from the row. So a row gets the same
    number if this is repeated after a crash, in another process, or by two processes at once, as long as its scope
    stays and the marker has not expired (7 days, `marker_seconds`). The sequence's own item names model, row and
    database. A row that is deleted meanwhile leaves its number with that item.
    Returns the numbers by primary key. Raises what `put_next_many` raises; rows before the error are numbered.
    """
    found: dict[Any, int] = {}
    empty = field.model._base_manager.using(using).filter(**{field.name: None}).order_by("pk")
    if keys is None:
        while page := _number_page(field, empty, using):
            found |= page
    else:
        for first in range(0, len(keys), ROWS_AT_ONCE):
            found |= _number_page(field, empty.filter(pk__in=keys[first : first + ROWS_AT_ONCE]), using)
    return found


def _number_page(field: SequenceField, empty: models.QuerySet[Any], using: str) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for (scope, day), rows in field.by_place(empty[:ROWS_AT_ONCE]).items():
        items = [{"model": field.model._meta.label_lower, "row": str(row.pk), "database": using} for row in rows]
        tokens = [_token(field, item) for item in items]
        allocations = put_next_many(field.sequence, items, scope=scope, idempotency_tokens=tokens, date=day)
        numbers = {row.pk: allocation.value for row, allocation in zip(rows, allocations, strict=True)}
        with transaction.atomic(using=using):
            for key, number in numbers.items():
                field.model._base_manager.using(using).filter(pk=key, **{field.name: None}).update(
                    **{field.name: number}
                )
        found |= numbers
    return found


def _token(field: SequenceField, item: dict[str, str]) -> str:
    """The idempotency token of a row: the same in every process, and short whatever the primary key is."""
    return hashlib.sha256("\0".join([*item.values(), field.name]).encode()).hexdigest()


def _number_later(field: SequenceField, rows: Sequence[models.Model], using: str) -> None:
    """Number rows of one database after the commit, and set the numbers on the objects."""
    key = field.model._meta.pk.attname

    def number() -> None:
        numbers = number_rows(field, using=using, keys=[getattr(row, key) for row in rows])
        for row in rows:
            if getattr(row, key) in numbers:
                setattr(row, field.attname, numbers[getattr(row, key)])

    transaction.on_commit(number, using=using, robust=True)


def _column(row: models.Model, name: str) -> str:
    return str(getattr(row._meta.get_field(name), "attname", name))


@receiver(post_save)
def _saved(instance: models.Model, *, created: bool, raw: bool, **_: Any) -> None:
    """One receiver for all models: proxies and children of a model send this signal as themselves."""
    if created and not raw:
        number_on_commit(instance)


@receiver(class_prepared)
def _give_manager(sender: type[models.Model], **_: Any) -> None:
    """Replace the manager that Django makes for a model without one."""
    options = sender._meta
    ours = any(isinstance(field, SequenceField) for field in options.local_fields)
    if ours and [manager.auto_created for manager in options.local_managers] == [True]:
        options.local_managers.clear()
        manager = SequenceManager()
        manager.auto_created = True
        sender.add_to_class("objects", manager)
