"""The columns of models that hold the numbers of a sequence, read in the order of their numbers, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models, router

from ...fields import SequenceField, sequence_fields
from ...fields.row_values import column_of
from ...strategies.base import Strategy

ROWS_A_PAGE = 2000

Rows = models.QuerySet[Any]


@dataclass(frozen=True)
class Column:
    """The column of a sequence field in one database."""

    field: SequenceField
    using: str

    def __str__(self) -> str:
        return f"{self.field} in the database {self.using!r}"

    @property
    def rows(self) -> Rows:
        """All rows, with the attributes that say where they are numbered."""
        rows = self.field.model._base_manager.using(self.using).order_by()
        if callable(self.field.scope):
            return rows
        return rows.only("pk", *filter(None, (self.field.name, self.field.scope, self.field.date)))

    def scopes(self) -> Iterator[str | None]:
        """The scopes of the rows, each once, page by page. An empty one numbers no row, and is left out."""
        if not isinstance(self.field.scope, str):
            yield None
            return
        name = column_of(self.field.model, self.field.scope)
        scopes = self.rows.values_list(name, flat=True).distinct().order_by(name)
        every = scopes.filter(**{f"{name}__isnull": False})
        yield from (str(one) for one in _paged(every, lambda one: scopes.filter(**{f"{name}__gt": one})) if one != "")

    def of_scope(self, scope: str | None) -> Rows:
        """The rows of a scope, and those that the database takes for them. A function as scope leaves them all."""
        if callable(self.field.scope):
            return self.rows
        if (self.field.scope is None) != (scope is None):
            return self.rows.none()
        try:
            return self.rows.filter(**{self.field.scope: scope}) if self.field.scope else self.rows
        except (ValueError, ValidationError):
            return self.rows.none()  # the column cannot hold such a scope

    def numbered(self, rows: Rows) -> Iterator[Row]:
        """These rows in the order of their numbers, without those that have none."""
        name = self.field.name
        ordered = rows.order_by(name, _key(self.field.model))

        def further(row: models.Model) -> Rows:
            number = getattr(row, name)
            beyond = models.Q(**{f"{name}__gt": number}) | models.Q(pk__gt=row.pk)
            return ordered.filter(beyond, **{f"{name}__gte": number})  # the second condition lets an index be used

        for row in _paged(ordered.filter(**{f"{name}__isnull": False}), further):
            yield Row(getattr(row, name), self, row)

    def unnumbered(self, rows: Rows) -> Iterator[Row]:
        """These rows that have no number, in the order of their keys. No query where the column cannot be empty."""
        ordered = rows.filter(**{f"{self.field.name}__isnull": True}).order_by(_key(self.field.model))
        found = _paged(ordered, lambda row: ordered.filter(pk__gt=row.pk)) if self.field.null else ()
        yield from (Row(0, self, row) for row in found)


class Row(NamedTuple):
    """A row that was read, and its number."""

    number: int
    column: Column
    row: models.Model


def columns_of(sequence: str, databases: Sequence[str] = ()) -> list[Column]:
    """The columns that hold the numbers of a sequence, of all installed models, where routers let them be.

    Without `databases` each model is read where it is written. This sends nothing, and raises nothing.
    """
    found = []
    for model in apps.get_models():
        for field in sequence_fields(model):
            if field.sequence == sequence and field.model is model:  # not of a proxy or a child
                named = databases or [router.db_for_write(model)]
                found += [Column(field, using) for using in named if router.allow_migrate_model(using, model)]
    return found


class Where:
    """Where an audit looks for the numbers of a sequence: in items, in the rows of columns, or in both.

    A column whose rows do not say their period is left out: the day on which a row was saved is in no column.
    """

    def __init__(self, strategy: Strategy, databases: Sequence[str] = ()) -> None:
        every = columns_of(strategy.alias, databases)
        self.strategy = strategy
        self.columns = [one for one in every if one.field.date is not None or not strategy.layout.in_periods]
        self.left_out = [column for column in every if column not in self.columns]

    @property
    def in_items(self) -> bool:
        """Whether each number has an item; one that is taken before a row is saved has none."""
        return not (self.columns and self.strategy.supports_reserve)

    def in_words(self) -> Iterator[str]:
        """Where the numbers are, if they are in columns, and which columns are left out."""
        sequence, where = self.strategy.alias, " and ".join(map(str, self.columns))
        if not self.in_items:
            yield f"{sequence}: its numbers are in the rows of {where}."
        elif self.columns:
            yield f"{sequence}: its items are in DynamoDB, and their numbers in the rows of {where}."
        if self.left_out:
            left_out = " and ".join(map(str, self.left_out))
            yield f"{sequence}: not compared, as no `date` says the periods of its rows: {left_out}."


def _paged(first: Rows, further: Callable[[Any], Rows]) -> Iterator[Any]:
    """What a query finds, page by page: `further` makes the query for what follows the last one of a page."""
    page = list(first[:ROWS_A_PAGE])
    while page:
        yield from page
        page = list(further(page[-1])[:ROWS_A_PAGE]) if len(page) == ROWS_A_PAGE else []


def _key(model: type[models.Model]) -> str:
    assert model._meta.pk is not None
    return str(model._meta.pk.attname)
