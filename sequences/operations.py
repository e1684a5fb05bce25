"""For migrations: put a sequence past the numbers that a column, a table or another sequence holds already."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.core import mail
from django.db import router
from django.db.backends.base.creation import TEST_DATABASE_PREFIX
from django.db.migrations.operations.base import Operation

from .changes import seed
from .changes.columns import numbers_of_sql

__all__ = ["SeedSequence"]

LONGEST_SQL = 300  # in the history


class SeedSequence(Operation):
    """Put a sequence past the highest number of a column, or past what an SQL query tells (see `changes.seed`).

    Every later number is higher than those. A sequence only moves up, so the migration may run again, and after a
    rollback it stays where it is. Backwards nothing happens. A column without numbers sends nothing.

    A column is named by its model and its field. `scope` is as in its `SequenceField`: None, the name of a field, or a
    function from the row to a scope.

    `sql` is a query in the database that is migrated: `SELECT max(number) FROM legacy_order` tells one number, and
    `SELECT name, last FROM counters` one for each scope. It sends nothing where it finds no row or NULL, where its
    table does not exist, as in a new database (a warning is logged), or in a test database: one that has the name that
    Django gives it, by the connection's TEST["NAME"], by SQLite's name for one in memory, or by `test_` before its own
    name while Django's test environment is set up.

    Cost: one query to the database, and for each scope what `seed` costs. Raises what `seed` raises, ValueError for a
    query of more columns or of no whole number, and Django's database errors. Stop the processes that use a
    `BlockAllocator` before: they hand out the rest of their blocks.
    """

    reduces_to_sql = False
    reversible = True

    def __init__(
        self,
        sequence: str,
        model_name: str = "",
        field_name: str = "",
        scope: str | Callable[[Any], str | None] | None = None,
        *,
        sql: str = "",
    ) -> None:
        by_column = bool(model_name and field_name)
        if by_column == bool(sql) or (sql and (model_name or field_name or scope is not None)):
            raise ValueError("SeedSequence takes the names of a model and its field, or sql alone.")
        self.sequence = sequence
        self.model_name = model_name
        self.field_name = field_name
        self.scope = scope
        self.sql = sql

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Nothing: the models stay as they are."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        connection = schema_editor.connection
        put_past = partial(seed, self.sequence, by=f"migration of {app_label}", reason=self.describe())
        if not self.sql:
            model = to_state.apps.get_model(app_label, self.model_name)
            if self.allow_migrate_model(connection.alias, model):
                put_past(model._base_manager.using(connection.alias).all(), field=self.field_name, scope=self.scope)
        elif router.allow_migrate(connection.alias, app_label) and not _is_test_database(connection):
            for scope, number in numbers_of_sql(connection, self.sql):
                put_past(number, scope=scope)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Nothing: numbers that were handed out stay so."""

    def describe(self) -> str:
        """What `sqlmigrate` prints."""
        each = "" if self.scope is None else ", in each scope"
        numbers = f"{self.model_name}.{self.field_name}{each}" if not self.sql else " ".join(self.sql.split())
        return f"Put the sequence {self.sequence!r} past the numbers in {numbers[:LONGEST_SQL]}"

    @property
    def migration_name_fragment(self) -> str:
        return f"seed_{self.sequence.lower().replace('-', '_')}"


def _is_test_database(connection: Any) -> bool:
    """Whether Django made this database for tests: `create_test_db` gives the connection its name, and then migrates.

    A name that begins with "test_" may be one of a real database. Then `mail.outbox` is there only in tests.
    """
    name = connection.settings_dict["NAME"]
    if name == connection.creation._get_test_db_name():  # by TEST["NAME"], or in the memory of SQLite
        return True
    return str(name).startswith(TEST_DATABASE_PREFIX) and hasattr(mail, "outbox")
