"""The pages about models are true: their models, sessions, migrations and commands are run in the app `tests.shop`."""

from __future__ import annotations

import doctest
import io
import re
import shlex
from collections.abc import Callable
from textwrap import indent
from types import ModuleType
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations import RunSQL
from django.db.migrations.state import ProjectState
from django.db.models import Value
from django.test.utils import isolate_apps
from pytest_django import Settings

from sequences import get_next_value
from sequences.fields import sequence_fields
from tests import shop as shop_app
from tests.test_docs import FENCED, MANAGE, PAGES, blocks

pytestmark = pytest.mark.django_db(transaction=True)

MIGRATION = """\
from django.db import migrations

from sequences.fields import SequenceField
from sequences.operations import SeedSequence


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
{}"""
"""What stands around the operations that a page shows alone."""


def chapters(page: str) -> dict[str, list[tuple[str, str]]]:
    """The fenced blocks below each heading of a page, each with its language."""
    parts = re.split(r"^## (.*)$", PAGES[page], flags=re.MULTILINE)[1:]
    return {heading: FENCED.findall(text) for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def run(page: str, blocks: list[tuple[str, str]], names: dict[str, Any]) -> str:
    """Run sessions and commands, apply migrations, and return what the commands print."""
    output, complaints = io.StringIO(), list[str]()
    for language, block in blocks:
        if language == "pycon":
            example = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
            doctest.DocTestRunner().run(example, out=complaints.append, clear_globs=False)
        elif language == "python" and "operations = " in block:
            migrate(migration(block))
        for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE) if language == "console" else ():
            call_command(*shlex.split(MANAGE.sub("", command)), stdout=output)
    assert complaints == []
    return output.getvalue()


def migration(block: str) -> str:
    """The migration that a block shows: in whole, or only its operations."""
    return block if "class Migration" in block else MIGRATION.format(indent(block, "    "))


def migrate(block: str) -> None:
    """Apply the migration that a block shows."""
    names: dict[str, Any] = {}
    exec(block, names)
    shown = names["Migration"].operations  # SQLite drops a default when a field is altered, and has no words for it
    names["Migration"].operations = [one for one in shown if not isinstance(one, RunSQL)]
    with connection.schema_editor() as editor:
        names["Migration"]("shown", "shop").apply(ProjectState.from_apps(apps), editor)


def test_the_models_are_those_of_the_shop(shop: ModuleType) -> None:
    """The models on the page have the fields of the app in which its examples run, and pass the checks."""
    _, source = blocks("docs/models.md", "python")
    names: dict[str, Any] = {"__name__": "tests.shop.models"}
    with isolate_apps("tests.shop"):
        exec(source, names)
    shown = {
        name: model for name, model in names.items() if isinstance(model, type) and issubclass(model, models.Model)
    }
    assert set(shown) == {"Order", "Delivery", "Invoice", "Contract", "Bill"}
    for name, model in shown.items():
        ours = getattr(shop, name)._meta
        assert [field.deconstruct() for field in model._meta.fields if field.name != "order"] == [
            field.deconstruct() for field in ours.fields if field.name != "order"
        ]
        assert model._meta.constraints == ours.constraints
        assert [message for field in sequence_fields(model) for message in field.check()] == []


def test_the_settings_are_those_of_the_shop() -> None:
    """The sequences on the page are configured as in the app in which its examples run."""
    names: dict[str, Any] = {}
    exec(blocks("docs/models.md", "python")[0], names)
    assert names["SEQUENCES"].items() <= shop_app.SEQUENCES.items()


def test_the_sessions_and_the_command_of_models(shop: ModuleType) -> None:
    """The sessions print what they show, and the command finds nothing that is left to number."""
    names = dict(vars(shop))
    printed = [run("docs/models.md", blocks, names) for blocks in chapters("docs/models.md").values()]
    assert "shop.Invoice.number: 0 rows numbered" in "".join(printed)


def from_django_sequences(shop: ModuleType) -> None:
    """Leave the table of django-sequences with two numbers."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE sequences_sequence (name varchar(100) PRIMARY KEY, last bigint)")
        cursor.execute("INSERT INTO sequences_sequence VALUES ('cases', 41), ('invoices', 7)")


def from_max_plus_one(shop: ModuleType) -> None:
    """Leave rows that were numbered without a sequence."""
    order = shop.Order.objects.create(customer="A", number=Value(5000))
    shop.Delivery.objects.create(order=order, number=Value(9))


def from_postgresql(shop: ModuleType) -> None:
    """Leave a relation that can be read as a sequence of PostgreSQL, ahead of its column."""
    shop.Order.objects.create(customer="A", number=Value(4999))
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE shop_order_number_seq (last_value bigint, is_called boolean)")
        cursor.execute("INSERT INTO shop_order_number_seq VALUES (5000, true)")


def from_a_counter_table(shop: ModuleType) -> None:
    """Leave two tables of counters, ahead of their columns."""
    shop.Order.objects.create(customer="A", number=Value(4999))
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE counters (name varchar(100), value bigint)")
        cursor.execute("INSERT INTO counters VALUES ('orders', 5000), ('others', 9000)")
        cursor.execute("CREATE TABLE delivery_counters (order_id bigint, value bigint)")


def from_a_recipe(shop: ModuleType) -> None:
    """Leave nothing: the command has the number."""


WAYS: dict[str, tuple[Callable[[ModuleType], None], str, str | None, int, str]] = {
    "From django-sequences": (
        from_django_sequences,
        "default",
        "cases",
        43,
        "default cases (AtomicCounter): last value 42",
    ),
    "From max(id) + 1": (from_max_plus_one, "orders", None, 5001, "the next number is 5001"),
    "From a counter table": (from_a_counter_table, "orders", None, 5001, "the next number is 5001"),
    "From a PostgreSQL sequence": (from_postgresql, "orders", None, 5001, "the next number is 5001"),
    "From a recipe for DynamoDB": (
        from_a_recipe,
        "orders",
        None,
        4712,
        "orders without scope (AtomicCounter): last value 4711",
    ),
}
"""What each way begins with, and then the sequence, the scope, its next number, and what the last command says."""


def test_every_way_is_tried() -> None:
    """Each chapter of the page is one of the ways, and ends with a command."""
    shown = chapters("docs/migrating.md")
    assert list(shown) == list(WAYS)
    assert [blocks[-1][0] for blocks in shown.values()] == ["console"] * len(WAYS)


@pytest.mark.parametrize("way", WAYS)
def test_the_next_number_is_right(
    way: str, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each way the command says which number was the last, and the next one follows it."""
    monkeypatch.setattr("sequences.operations._is_test_database", lambda connection: False)
    prepare, sequence, scope, following, said = WAYS[way]
    settings.SEQUENCES = {
        **shop_app.SEQUENCES,
        "default": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"},
    }
    call_command("create_tables", verbosity=0)
    prepare(shop)
    try:
        assert said in run("docs/migrating.md", chapters("docs/migrating.md")[way], dict(vars(shop)))
        assert get_next_value(sequence, scope=scope) == following
    finally:
        with connection.cursor() as cursor:
            for table in ("sequences_sequence", "shop_order_number_seq", "counters", "delivery_counters"):
                cursor.execute(f"DROP TABLE IF EXISTS {table}")
