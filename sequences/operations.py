"""For migrations: put a counter past the numbers that a column holds already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db import models
from django.db.migrations.operations.base import Operation
from django.db.models import Max

from .services import advance_to

__all__ = ["SeedSequence", "highest_numbers"]


class SeedSequence(Operation):
    """Put the counter of a sequence past the highest number of a column, in each scope.

    Every later number is higher than those of the column. A counter only moves up, so the migration may run again, and
    after a rollback the counter stays where it is. Backwards nothing happens. A column without numbers sends nothing.

    `scope` is that of the column's `SequenceField`: None, the name of a field, or a function from the row to a scope.

    Cost: one query to the database, and for each scope what `advance_to` costs. Raises what `advance_to` raises, so
    OperationNotSupported for `SortKeyMaximum`, which has no counter: it counts its stored items. Stop the processes
    that use a `BlockAllocator` before: they hand out the rest of their blocks.
    """

    reduces_to_sql = False
    reversible = True

    def __init__(
        self,
        sequence: str,
        model_name: str,
        field_name: str,
        scope: str | Callable[[Any], str | None] | None = None,
    ) -> None:
        self.sequence = sequence
        self.model_name = model_name
        self.field_name = field_name
        self.scope = scope

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Nothing: the models stay as they are."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        using = schema_editor.connection.alias
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(using, model):
            rows = model._base_manager.using(using)
            for scope, number in highest_numbers(rows, self.field_name, self.scope):
                advance_to(number, self.sequence, scope=scope)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Nothing: numbers that were handed out stay so."""

    def describe(self) -> str:
        """What `sqlmigrate` prints."""
        each = "" if self.scope is None else ", in each scope"
        return f"Put the sequence {self.sequence!r} past the numbers in {self.model_name}.{self.field_name}{each}"

    @property
    def migration_name_fragment(self) -> str:
        return f"seed_{self.sequence.lower().replace('-', '_')}"


def highest_numbers(
    rows: Any, field_name: str, scope: str | Callable[[Any], str | None] | None
) -> Iterator[tuple[str | None, int]]:
    """The highest number that a column holds in each scope, without the scopes that have none.

    Numbers below 0 are left out: every sequence begins above them. One query; for a function as scope it reads every
    row.
    """
    numbered = rows.filter(**{f"{field_name}__gte": 0})
    if callable(scope):
        highest: dict[str | None, int] = {}
        for row in numbered.iterator():
            place, number = scope(row), getattr(row, field_name)
            highest[place] = max(number, highest.get(place, number))
        yield from highest.items()
    elif scope is None:
        number = numbered.aggregate(highest=Max(field_name))["highest"]
        if number is not None:
            yield None, number
    else:
        groups: models.QuerySet[Any] = numbered.order_by().values_list(scope).annotate(Max(field_name))
        yield from ((str(place), number) for place, number in groups if place is not None and place != "")
