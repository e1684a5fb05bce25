"""For migrations: put a sequence past the numbers that a column holds already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.migrations.operations.base import Operation

from .changes import seed

__all__ = ["SeedSequence"]


class SeedSequence(Operation):
    """Put a sequence past the highest number of a column, in each scope (see `changes.seed`).

    Every later number is higher than those of the column. A sequence only moves up, so the migration may run again, and
    after a rollback it stays where it is. Backwards nothing happens. A column without numbers sends nothing.

    `scope` is as in the column's `SequenceField`: None, the name of a field, or a function from the row to a scope.

    Cost: one query to the database, and for each scope what `seed` costs. Raises what `seed` raises. Stop the processes
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
            seed(
                self.sequence,
                rows.all(),
                field=self.field_name,
                scope=self.scope,
                by=f"migration of {app_label}",
                reason=self.describe(),
            )

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Nothing: numbers that were handed out stay so."""

    def describe(self) -> str:
        """What `sqlmigrate` prints."""
        each = "" if self.scope is None else ", in each scope"
        return f"Put the sequence {self.sequence!r} past the numbers in {self.model_name}.{self.field_name}{each}"

    @property
    def migration_name_fragment(self) -> str:
        return f"seed_{self.sequence.lower().replace('-', '_')}"
