"""Migrations that take numbers over by SQL: in new, full and test databases, and in projects of somebody else."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.db import OperationalError, connection
from django.db.migrations.writer import MigrationWriter
from django.db.utils import ConnectionHandler
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from project.paths import ROOT
from sequences import get_last_value, operations
from sequences.changes import history
from sequences.changes.columns import numbers_of_sql
from sequences.operations import SeedSequence
from sequences.testing.embedded import Engine
from tests.sequences.test_model_pages import migration
from tests.sequences.test_seeds import apply
from tests.test_docs import FENCED, PAGES

LEGACY = "SELECT max(number) FROM legacy_order"


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is taken for a real one."""
    monkeypatch.setattr("sequences.operations._is_test_database", lambda connection: False)


@pytest.fixture
def legacy(transactional_db: None) -> Iterator[Any]:
    """A table without a model; called with rows, it stores them."""

    def store(*rows: tuple[Any, Any]) -> None:
        with connection.cursor() as cursor:
            for row in rows:
                cursor.execute("INSERT INTO legacy_order (place, number) VALUES (%s, %s)", row)

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE legacy_order (place varchar(10), number numeric)")
    yield store
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE legacy_order")


@pytest.mark.usefixtures("real")
class TestBySql:
    def test_one_number(self, shop: ModuleType, legacy: Any) -> None:
        """The sequence goes on after the number that the query finds, and the history says which query."""
        legacy(("A", 5000), ("B", 17))
        for _ in range(2):
            apply(SeedSequence("orders", sql=LEGACY))
        assert get_last_value("orders") == 5000
        ((change,), _) = history("orders")
        assert (change.by, change.reason) == (
            "migration of shop",
            f"Put the sequence 'orders' past the numbers in {LEGACY}",
        )

    def test_a_number_for_each_scope(self, shop: ModuleType, legacy: Any) -> None:
        """Two columns are a scope and a number; of several rows of a scope the highest counts."""
        legacy(("A", 7), ("B", 9), ("A", 5), ("", 99), (None, 98), ("C", -1), ("D", None))
        apply(SeedSequence("deliveries", sql="SELECT place, number FROM legacy_order"))
        assert [get_last_value("deliveries", scope=scope) for scope in (*"ABCD", None)] == [7, 9, None, None, None]

    def test_numbers_below_zero(self, shop: ModuleType) -> None:
        """Every sequence begins above the numbers below 0; one may begin with 0, so that counts."""
        assert list(numbers_of_sql(connection, "SELECT -1")) == []
        assert list(numbers_of_sql(connection, "SELECT 0")) == [(None, 0)]

    def test_no_number(self, shop: ModuleType, legacy: Any) -> None:
        """Where the query finds NULL or no row, nothing is sent."""
        for sql in (LEGACY, "SELECT number FROM legacy_order"):
            apply(SeedSequence("orders", sql=sql))
        assert get_last_value("orders") is None

    def test_a_table_that_does_not_exist(self, shop: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
        """In a new database the old table is missing: that is logged, and the migration goes on in its transaction."""
        with caplog.at_level(logging.WARNING, "sequences"), CaptureQueriesContext(connection) as queries:
            apply(SeedSequence("orders", sql=LEGACY))
        assert get_last_value("orders") is None
        assert f"Nothing is taken over by '{LEGACY}': no such table: legacy_order" in caplog.text
        assert any(query["sql"].startswith("ROLLBACK TO SAVEPOINT") for query in queries)  # which PostgreSQL needs

    def test_a_mistake_is_no_missing_table(self, shop: ModuleType, legacy: Any) -> None:
        """A column that does not exist is an error."""
        with pytest.raises(OperationalError, match="no such column: nummer"):
            apply(SeedSequence("orders", sql="SELECT max(nummer) FROM legacy_order"))

    @pytest.mark.parametrize(
        ("sql", "said"),
        [
            ("SELECT 1, 2, 3", "finds 3 columns; it must be one for a number, or two: scope, number"),
            ("SELECT 'many'", "finds 'many'; it must be a whole number"),
            ("SELECT 1.5", r"finds 1\.5; it must be a whole number"),
        ],
    )
    def test_what_is_no_number(self, shop: ModuleType, sql: str, said: str) -> None:
        """An answer that cannot be a number, or that has too many columns, is refused with the query."""
        with pytest.raises(ValueError, match=said):
            apply(SeedSequence("orders", sql=sql))

    def test_a_router_that_keeps_the_app_away(self, shop: ModuleType, legacy: Any, settings: Settings) -> None:
        """On a database to which the app does not migrate, nothing is asked."""
        legacy(("A", 5000))
        settings.DATABASE_ROUTERS = ["tests.sequences.test_seeds.NoShop"]
        apply(SeedSequence("orders", sql=LEGACY))
        assert get_last_value("orders") is None


class TestTestDatabase:
    def test_it_is_left_alone(self, shop: ModuleType, legacy: Any) -> None:
        """Numbers of the database of this test, as Django made it, go nowhere."""
        legacy(("A", 5000))
        apply(SeedSequence("orders", sql=LEGACY))
        assert get_last_value("orders") is None

    @pytest.mark.parametrize(
        ("name", "in_settings", "in_tests", "is_one"),
        [
            ("file:memorydb_default?mode=memory&cache=shared", None, False, True),
            ("test_shop", None, True, True),
            ("test_shop", None, False, False),  # a real database may have such a name
            ("other", "other", False, True),
            ("shop", None, True, False),
            ("shop", "other", True, False),
        ],
    )
    def test_it_is_recognised_by_its_name(
        self, monkeypatch: pytest.MonkeyPatch, name: str, in_settings: str | None, in_tests: bool, is_one: bool
    ) -> None:
        """Django names it by TEST["NAME"], for SQLite's memory, or with "test_", which counts in tests alone."""
        if not in_tests:
            monkeypatch.delattr(mail, "outbox")
        entry = {"ENGINE": "django.db.backends.sqlite3", "NAME": name, "TEST": {"NAME": in_settings}}
        assert operations._is_test_database(ConnectionHandler({"default": entry})["default"]) == is_one


class TestWritten:
    def test_what_is_written(self) -> None:
        """A migration file has the query as it was given; `sqlmigrate` prints it in one line, cut where it is long."""
        operation = SeedSequence("orders", sql="SELECT max(number)\n  FROM legacy_order")
        assert operation.deconstruct() == ("SeedSequence", ("orders",), {"sql": operation.sql})
        assert MigrationWriter.serialize(operation.sql)[0] == repr(operation.sql)
        assert operation.describe() == f"Put the sequence 'orders' past the numbers in {LEGACY}"
        assert len(SeedSequence("orders", sql=LEGACY * 100).describe()) < 400

    @pytest.mark.parametrize(("scope", "each"), [(None, ""), ("place", ", in each scope")])
    def test_what_is_said_of_a_column(self, scope: str | None, each: str) -> None:
        """It names the column, and says whether each scope is meant; what it does cannot be written as SQL."""
        operation = SeedSequence("paid-Orders", "Order", "number", scope)
        assert operation.describe() == f"Put the sequence 'paid-Orders' past the numbers in Order.number{each}"
        assert operation.migration_name_fragment == "seed_paid_orders"
        assert (operation.reversible, operation.reduces_to_sql) == (True, False)

    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"model_name": "Order"},
            {"model_name": "Order", "field_name": "number", "sql": LEGACY},
            {"model_name": "Order", "sql": LEGACY},
            {"scope": "place", "sql": LEGACY},
        ],
    )
    def test_what_cannot_be_meant(self, given: dict[str, str]) -> None:
        """A column or a query: neither, or both, is an error."""
        with pytest.raises(ValueError, match="takes the names of a model and its field, or sql alone"):
            SeedSequence("orders", **given)


SETTINGS = """
import os

SECRET_KEY = "theirs"
TABLE_PREFIX = os.environ["TABLE_PREFIX"]
INSTALLED_APPS = ["sequences", "theirs"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "theirs.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
ATOMIC = "sequences.strategies.atomic.AtomicCounter"
SEQUENCES = {name: {"STRATEGY": ATOMIC} for name in ("default", "orders", "deliveries")}
"""
MODELS = """
from django.db import models
from sequences.fields import SequenceField

class Order(models.Model):
    customer = models.CharField(max_length=100)
    number = SequenceField(sequence="orders", unique=True)

class Delivery(models.Model):
    order = models.ForeignKey(Order, models.CASCADE)
    number = SequenceField(sequence="deliveries", scope="order")
"""
INITIAL = """
from django.db import migrations, models

class Migration(migrations.Migration):
    operations = [
        migrations.CreateModel("Order", [
            ("id", models.BigAutoField(primary_key=True)),
            ("customer", models.CharField(max_length=100)),
            ("number", models.BigIntegerField(unique=True)),
        ]),
        migrations.CreateModel("Delivery", [
            ("id", models.BigAutoField(primary_key=True)),
            ("order", models.ForeignKey("theirs.Order", models.CASCADE)),
            ("number", models.BigIntegerField()),
        ]),
    ]
"""
# Each project has a process of its own, which begins with what takes long to load.
RUN = """
import json, os, sys
import boto3, django, django.core.management.commands.migrate, django.db.backends.sqlite3.base
import sequences.changes, sequences.fields, sequences.operations, sequences.ops.tables, sequences.strategies.atomic

def run(folder, rows, scopes):
    os.chdir(folder)
    sys.path.insert(0, folder)
    os.environ["TABLE_PREFIX"] += os.path.basename(folder)
    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from sequences import get_last_value

    call_command("create_tables", verbosity=0)
    told = []
    for left in ([], rows):
        call_command("migrate", "theirs", "0001", verbosity=0)
        with connection.cursor() as cursor:
            for sql in left:
                cursor.execute(sql)
        call_command("migrate", verbosity=0)
        call_command("migrate", "theirs", "0001", verbosity=0)
        call_command("migrate", verbosity=0)
        told.append([get_last_value(sequence, scope=scope) for sequence, scope in scopes])
    print(json.dumps(told), flush=True)

for project in json.loads(sys.argv[1]):
    if child := os.fork():
        os.waitpid(child, 0)
    else:
        run(*project)
        break
"""
ORDER = "INSERT INTO theirs_order (id, customer, number) VALUES (1, 'A', 4999)"
DROP_DEFAULT = 'migrations.RunSQL("ALTER TABLE theirs_order ALTER COLUMN number DROP DEFAULT", migrations.RunSQL.noop),'

WAYS: dict[str, tuple[list[str], list[tuple[str, str | None]], list[int]]] = {
    "From django-sequences": (
        [
            "CREATE TABLE sequences_sequence (name varchar(100) PRIMARY KEY, last bigint)",
            "INSERT INTO sequences_sequence VALUES ('cases', 41), ('invoices', 7)",
        ],
        [("default", "cases"), ("default", "invoices")],
        [41, 7],
    ),
    "From max(id) + 1": (
        [ORDER, "INSERT INTO theirs_delivery (order_id, number) VALUES (1, 9)"],
        [("orders", None), ("deliveries", "1")],
        [4999, 9],
    ),
    "From a counter table": (
        [
            ORDER,
            "CREATE TABLE counters (name varchar(100), value bigint)",
            "INSERT INTO counters VALUES ('orders', 5000), ('others', 9000)",
            "CREATE TABLE delivery_counters (order_id bigint, value bigint)",
            "INSERT INTO delivery_counters VALUES (1, 12)",
        ],
        [("orders", None), ("deliveries", "1")],
        [5000, 12],
    ),
    "From a PostgreSQL sequence": (
        [
            ORDER,
            "CREATE TABLE theirs_order_number_seq (last_value bigint, is_called boolean)",
            "INSERT INTO theirs_order_number_seq VALUES (5000, true)",
        ],
        [("orders", None)],
        [5000],
    ),
}
"""What each way begins with, and then the scopes and how far they have counted at its end."""


def recipe(way: str) -> str:
    """The migration that the page shows, for the app `theirs`."""
    chapter = PAGES["docs/migrating.md"].partition(f"\n## {way}\n")[2].partition("\n## ")[0]
    (block,) = [
        block for language, block in FENCED.findall(chapter) if language == "python" and "operations = " in block
    ]
    return migration(block).replace("shop", "theirs")


def project_of(folder: Path, way: str) -> Path:
    """Somebody else's project, which goes this way."""
    app = folder / "theirs"
    (app / "migrations").mkdir(parents=True)
    block = recipe(way).replace(DROP_DEFAULT, "")  # in words that SQLite does not have
    files = {"settings": SETTINGS, "models": MODELS, "__init__": "", "migrations/__init__": ""}
    for name, text in {**files, "migrations/0001_initial": INITIAL, "migrations/0002_way": block}.items():
        (app / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def migrated(folder: Path, engine: Engine) -> list[list[list[int | None]]]:
    """The last values after the project of each way is migrated forwards, backwards, and forwards again.

    First its database is empty, and then it has what is left there.
    """
    projects = [
        (str(project_of(folder / f"{number}", way)), left, scopes)
        for number, (way, (left, scopes, _)) in enumerate(WAYS.items())
    ]
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL_DYNAMODB": engine.endpoint,
        "DJANGO_SETTINGS_MODULE": "theirs.settings",
        "PYTHONPATH": str(ROOT),
        "TABLE_PREFIX": f"t{uuid4().hex[:12]}_",
    }
    command = [sys.executable, "-c", RUN, json.dumps(projects)]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert run.stdout.count("\n") == len(WAYS), run.stderr
    return list(map(json.loads, run.stdout.splitlines()))


class TestProjectsOfOthers:
    def test_databases(self, tmp_path: Path, engine: Engine) -> None:
        """They are migrated, again too. Where one is empty no sequence moves; else numbers go on after those it has.

        The empty one has no old table.
        """
        assert migrated(tmp_path, engine) == [[[None] * len(scopes), last] for _, scopes, last in WAYS.values()]

    def test_the_default_of_postgresql_is_dropped(self) -> None:
        """In the migration that takes a PostgreSQL sequence over, the column stops to use it, and then it is read."""
        shown = recipe("From a PostgreSQL sequence")
        assert -1 < shown.find("AlterField") < shown.find(DROP_DEFAULT) < shown.find("SELECT CASE WHEN is_called THEN")
