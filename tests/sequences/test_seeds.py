"""Sequences that are put past the numbers of a column: by a migration, and by a command that also proves it.

The rows get their numbers from the database, as `Value`: a number that is set on an object moves the counter by itself.
"""

from __future__ import annotations

import datetime
from types import ModuleType
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.state import ProjectState
from django.db.models import Value
from pytest_django import Settings

from sequences import changes, get_last_value, put_next
from sequences.changes import advance, history
from sequences.changes.columns import highest_numbers
from sequences.exceptions import InvalidChange
from sequences.operations import SeedSequence
from tests.sequences.support import written

WHO: dict[str, Any] = {"by": "ana", "reason": "earlier numbers"}


def customer_of(order: Any) -> str:
    """The scope of a row."""
    return str(order.customer)


def seed(alias: str, column: str, *more: str) -> str:
    """What `sequences seed` prints."""
    return written("sequences", "seed", alias, "--column", column, "--by", "ana", "--reason", "earlier numbers", *more)


@pytest.mark.django_db(transaction=True)
class TestMigration:
    @pytest.fixture(autouse=True)
    def _at_the_end(self, shop: ModuleType) -> Any:
        """The migrations of the shop are all applied after a test, whatever it did."""
        yield
        call_command("migrate", "shop", verbosity=0)

    def test_new_rows_come_after_the_old_ones(self, shop: ModuleType) -> None:
        """After the migration each counter is past the numbers of its column, in each scope."""
        call_command("migrate", "shop", "0001", verbosity=0)
        orders = [shop.Order.objects.create(customer="A", number=Value(number)) for number in (5000, 17)]
        for order, number in zip([*orders, orders[0]], (7, 3, 2), strict=True):
            shop.Delivery.objects.create(order=order, number=Value(number))
        call_command("migrate", "shop", verbosity=0)
        assert shop.Order.objects.create(customer="B").number == 5001
        assert [shop.Delivery.objects.create(order=order).number for order in orders] == [8, 4]

    def test_backwards_and_again(self, shop: ModuleType) -> None:
        """Backwards nothing happens, and the next time the counter does not go back."""
        order = shop.Order.objects.create(customer="A", number=Value(5000))
        for target in ("0001", "0002"):
            call_command("migrate", "shop", target, verbosity=0)
        order.delete()
        for target in ("0001", "0002"):
            call_command("migrate", "shop", target, verbosity=0)
        assert get_last_value("orders") == 5000

    def test_without_rows_nothing_is_counted(self, shop: ModuleType) -> None:
        """An empty column leaves the sequence at its beginning."""
        for target in ("0001", "0002"):
            call_command("migrate", "shop", target, verbosity=0)
        assert get_last_value("orders") is None

    @pytest.mark.parametrize("scope", [None, "customer", customer_of])
    def test_numbers_below_zero(self, shop: ModuleType, scope: Any) -> None:
        """Every sequence begins above the numbers below 0, so they are left out, in each scope."""
        shop.Order.objects.create(customer="A", number=Value(-1))
        apply(SeedSequence("deliveries", "order", "number", scope=scope))
        assert get_last_value("deliveries", scope=scope and "A") is None

    def test_number_zero(self, shop: ModuleType) -> None:
        """A sequence may begin with 0, so a column that holds it counts."""
        shop.Order.objects.create(customer="A", number=Value(0))
        assert list(highest_numbers(shop.Order.objects.all(), "number", None)) == [(None, None, 0)]

    def test_each_period_has_its_own_numbers(self, shop: ModuleType) -> None:
        """The date of the field says in which period a row is numbered: one year does not move another."""
        for year, number in ((2024, 900), (2025, 3), (2025, 7)):
            row = shop.Contract.objects.create(signed_on=datetime.date(year, 6, 1))
            shop.Contract.objects.filter(pk=row.pk).update(number=number)
        changes.seed("contracts", shop.Contract.objects.all(), field="number", **WHO)
        assert [get_last_value("contracts", period=str(year)) for year in (2024, 2025)] == [900, 7]

    def test_a_function_that_says_no_scope(self, shop: ModuleType) -> None:
        """None is a scope as another one, where a function says so."""
        shop.Order.objects.create(customer="A", number=Value(5000))
        changes.seed("orders", shop.Order.objects.all(), field="number", scope=lambda row: None, **WHO)
        assert get_last_value("orders") == 5000

    def test_a_period_that_no_date_says(self, shop: ModuleType) -> None:
        """Numbers whose period is not known move nothing, until somebody names it."""
        shop.Order.objects.create(customer="A", number=Value(77))
        rows = shop.Order.objects.all()
        with pytest.raises(InvalidChange, match="name the period"):
            changes.seed("contracts", rows, field="number", **WHO)
        changes.seed("contracts", rows, field="number", period="2025", **WHO)
        assert get_last_value("contracts", period="2025") == 77

    def test_rows_without_a_scope(self, shop: ModuleType) -> None:
        """Rows whose scope is empty are left out: no row is numbered there."""
        for number, customer in ((5, ""), (9, "B")):
            shop.Order.objects.create(number=Value(number), customer=customer)
        apply(SeedSequence("deliveries", "order", "number", scope="customer"))
        assert get_last_value("deliveries", scope="B") == 9

    def test_sqlmigrate(self, shop: ModuleType) -> None:
        """`sqlmigrate` prints what the migration does, and does nothing."""
        shop.Order.objects.create(customer="A", number=Value(5000))
        printed = written("sqlmigrate", "shop", "0002")
        assert "-- Put the sequence 'orders' past the numbers in Order.number\n" in printed
        assert "Delivery.number, in each scope" in printed
        assert get_last_value("orders") is None

    def test_a_router_that_keeps_the_app_away(self, shop: ModuleType, settings: Settings) -> None:
        """On a database to which the model does not migrate, nothing is done."""
        shop.Order.objects.create(customer="A", number=Value(5))
        settings.DATABASE_ROUTERS = [f"{__name__}.NoShop"]
        apply(SeedSequence("deliveries", "order", "number"))
        assert get_last_value("deliveries") is None

    def test_a_function_as_scope(self, shop: ModuleType) -> None:
        """Rows whose scope a function tells are read one by one."""
        for number, customer in ((5, "A"), (9, "B"), (3, "A")):
            shop.Order.objects.create(number=Value(number), customer=customer)
        apply(SeedSequence("deliveries", "order", "number", scope=customer_of))
        assert [get_last_value("deliveries", scope=scope) for scope in "AB"] == [5, 9]

    def test_a_strategy_without_a_counter(self, shop: ModuleType) -> None:
        """A sequence of SortKeyMaximum goes on after the column, too."""
        shop.Order.objects.create(customer="A", number=Value(5))
        apply(SeedSequence("receipts", "order", "number"))
        assert put_next("receipts", {}).value == 6

    def test_the_history_tells_of_it(self, shop: ModuleType) -> None:
        """The history says which migration has seeded the sequence; one that found nothing to do says nothing."""
        shop.Order.objects.create(customer="A", number=Value(5000))
        for _ in range(2):
            apply(SeedSequence("orders", "order", "number"))
        ((change,), _) = history("orders")
        assert (change.kind, change.by, change.before, change.after) == ("seed", "migration of shop", None, 5000)
        assert change.reason == "Put the sequence 'orders' past the numbers in order.number"

    @pytest.mark.parametrize(("scope", "each"), [(None, ""), ("customer", ", in each scope")])
    def test_what_it_says_of_itself(self, scope: str | None, each: str) -> None:
        """`sqlmigrate` says which sequence it moves, and past what."""
        said = SeedSequence("orders", "Order", "number", scope=scope).describe()
        assert said == f"Put the sequence 'orders' past the numbers in Order.number{each}"

    def test_what_is_written(self) -> None:
        """A migration file has the arguments as they were given, and a name that tells what it does."""
        operation = SeedSequence("orders", "Order", "number", scope="customer")
        assert operation.deconstruct() == ("SeedSequence", ("orders", "Order", "number"), {"scope": "customer"})
        assert operation.migration_name_fragment == "seed_orders"
        assert operation.reversible


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def test_it_seeds_each_scope(self, shop: ModuleType) -> None:
        """The command puts the sequence of a SequenceField past its column, in each scope."""
        order = shop.Order.objects.create(customer="A", number=Value(5000))
        shop.Delivery.objects.create(order=order, number=Value(9))
        assert "orders without scope: seed from nothing to 5000, by ana at " in seed("orders", "shop.Order.number")
        seed("deliveries", "shop.Delivery.number")
        assert shop.Delivery.objects.create(order=order).number == 10

    def test_it_proves_that_a_sequence_is_past_its_column(self, shop: ModuleType) -> None:
        """With --check it moves nothing, and fails if a next number is not above the column."""
        shop.Order.objects.create(customer="A", number=Value(5000))
        with pytest.raises(CommandError, match=r"not past their numbers: 1\. Run this without --check\."):
            seed("orders", "shop.Order.number", "--check")
        assert get_last_value("orders") is None
        advance("orders", to=4999, by="ana", reason="one too low")
        with pytest.raises(CommandError, match="not past their numbers: 1"):
            seed("orders", "shop.Order.number", "--check")
        advance("orders", to=5000, by="ana", reason="just right")
        assert "would be: orders without scope: seed at 5000, " in seed("orders", "shop.Order.number", "--check")

    def test_rows_without_numbers_are_left_out(self, shop: ModuleType) -> None:
        """A column of NULLs has no end, and the command says that nothing was to do."""
        shop.Invoice._base_manager.create(customer="A")
        shop.Invoice.objects.update(number=None)
        assert seed("invoices", "shop.Invoice.number") == "No scope has to change.\n"
        shop.Receipt.objects.create(day=datetime.date(2026, 1, 1))
        shop.Receipt.objects.update(number=None)
        assert seed("receipts", "shop.Receipt.number") == "No scope has to change.\n"
        assert seed("receipts", "shop.Receipt.number", "--format", "json") == "[]\n"

    def test_a_year_that_cannot_be(self, shop: ModuleType) -> None:
        """The error names a number of the row with a typing error as its year, and what to do."""
        shop.Contract.objects.create(signed_on=datetime.date(2026, 1, 1))
        shop.Contract.objects.update(signed_on=datetime.date(206, 1, 1))
        with pytest.raises(CommandError, match=r"^A row has the number 1 in 'number', and date is 0206-.* Correct its"):
            seed("contracts", "shop.Contract.number")

    @pytest.mark.parametrize(
        "column", ["number", "shop.Order", "shop.Nothing.number", "shop.Order.nothing", "shop.Order.number.nothing"]
    )
    def test_an_unknown_column(self, shop: ModuleType, column: str) -> None:
        """The error says how a column is named."""
        with pytest.raises(CommandError, match=r"^[^(]*[^.]\. Name a column as shop\.Order\.number\.$"):
            seed("orders", column)

    def test_a_model_of_another_database(
        self, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A column is read in the database in which its model is written, unless another one is named."""
        read: list[str] = []

        def note(_: str, rows: Any, **given: Any) -> list[Any]:
            read.append(rows.db)
            return []

        monkeypatch.setattr("sequences.management.changes.seeded", note)
        settings.DATABASE_ROUTERS = [f"{__name__}.Elsewhere"]
        seed("orders", "shop.Order.number")
        seed("orders", "shop.Order.number", "--database", "default")
        assert read == ["elsewhere", "default"]

    def test_an_unknown_database(self) -> None:
        """The command says which there are."""
        with pytest.raises(CommandError, match=r"--database: invalid choice: 'nowhere' \(choose from .*default"):
            seed("orders", "shop.Order.number", "--database", "nowhere")

    def test_another_column(self, shop: ModuleType) -> None:
        """A column that is no SequenceField is refused, with what to use for it."""
        with pytest.raises(CommandError, match=r"shop\.Order\.id is no SequenceField.*use SeedSequence"):
            seed("orders", "shop.Order.id")

    def test_a_scope_beside_a_column(self, shop: ModuleType) -> None:
        """A column has the scope of each row, so that one cannot be named."""
        with pytest.raises(CommandError, match="leave --scope out"):
            seed("orders", "shop.Order.number", "--scope", "A")

    def test_a_column_of_another_sequence(self, shop: ModuleType) -> None:
        """A column that another sequence numbers is refused: one of the two names is a mistake."""
        with pytest.raises(CommandError, match=r"numbered by 'orders', not by 'deliveries'"):
            seed("deliveries", "shop.Order.number")


class NoShop:
    """A router that migrates nothing of the shop."""

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool | None:
        """Keep the shop away from every database."""
        return False if app_label == "shop" else None


class Elsewhere:
    """A router of a project whose rows are in another database."""

    def db_for_write(self, *_: object, **__: object) -> str:
        """Say where."""
        return "elsewhere"


def apply(operation: SeedSequence) -> None:
    """Migrate by one operation."""
    migration = type("Seed", (Migration,), {"operations": [operation]})("seed", "shop")
    with connection.schema_editor() as editor:
        migration.apply(ProjectState.from_apps(apps), editor)
