"""Counters that are put past earlier numbers: by `advance_to`, by a migration, and by a command that also proves it."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.state import ProjectState
from pytest_django import Settings

from sequences import advance_to, get_last_value, get_next_value, put_next
from sequences.exceptions import OperationNotSupported, SequenceContention, SequenceExhausted, SequenceWentBack
from sequences.operations import SeedSequence
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.testing.callers import take_some
from tests.sequences.support import COUNTERS, STEPPING, Clock, Wire, names_that, read_counter, set_counter

RESERVING = [name for name in names_that("supports_reserve") if name in {*COUNTERS, *STEPPING}]


def written(command: str, *arguments: str) -> str:
    """What a management command prints."""
    output = io.StringIO()
    call_command(command, *arguments, stdout=output)
    return output.getvalue()


def customer_of(order: Any) -> str:
    """The scope of a row."""
    return str(order.customer)


@pytest.mark.usefixtures("configured")
class TestAdvance:
    @pytest.mark.parametrize("name", [*COUNTERS, *STEPPING])
    def test_the_next_value_is_higher(self, name: str, scope: str) -> None:
        """The next item gets the first value of the sequence that is above the given one."""
        put_next(name, {}, scope=scope)
        step, start = strategies[name].config.step, strategies[name].config.start
        advance_to(start + 50 * step + step // 2, name, scope=scope)
        assert put_next(name, {}, scope=scope).value == start + 51 * step

    @pytest.mark.parametrize("name", [*COUNTERS, *STEPPING])
    def test_a_counter_never_goes_back(self, name: str, scope: str) -> None:
        """A value that is not above the counter writes nothing."""
        advance_to(5000, name, scope=scope)
        before = read_counter(name, scope)
        assert advance_to(4999, name, scope=scope) == advance_to(5000, name, scope=scope) == before["last_value"]
        assert read_counter(name, scope) == before

    def test_it_is_remembered(self, scope: str) -> None:
        """A counter that is set back after it was advanced is refused."""
        advance_to(10, "atomic", scope=scope)
        set_counter("atomic", scope, last_value=5, highest=5)
        with pytest.raises(SequenceWentBack):
            get_next_value("atomic", scope=scope)

    def test_below_the_start(self, scope: str) -> None:
        """A sequence that begins above the value begins at START."""
        assert advance_to(1000, "atomic-from-1001-by-10", scope=scope) is None
        assert get_next_value("atomic-from-1001-by-10", scope=scope) == 1001

    @pytest.mark.parametrize("name", RESERVING)
    def test_values_in_memory_are_dropped(self, name: str, scope: str) -> None:
        """This process hands out none of the lower values that it has reserved."""
        take_some(name, scope, 1)
        highest = strategies[name].config.start + strategies[name].config.step * 3
        advance_to(highest, name, scope=scope)
        assert get_next_value(name, scope=scope) > highest

    def test_a_race_is_tried_again(self, scope: str, wire: Wire) -> None:
        """If another process counts between the read and the write, the counter still ends past the value."""
        wire.before("UpdateItem", lambda: set_counter("atomic", scope, last_value=3, highest=3, token="another"))
        assert advance_to(10, "atomic", scope=scope) == 10
        assert wire.operations.count("UpdateItem") == 2

    def test_a_lost_answer_is_found_again(self, scope: str, wire: Wire) -> None:
        """If the answer to the write is lost, the same write is sent again, and recognised."""
        wire.lose("UpdateItem")
        assert advance_to(10, "atomic", scope=scope) == 10
        first, second = wire.bodies("UpdateItem")
        assert first == second

    def test_races_that_do_not_end(
        self, scope: str, wire: Wire, clock: Clock, install: Callable[..., Strategy]
    ) -> None:
        """At the deadline it gives up, and nothing of it was written."""
        install("atomic", clock=clock)

        def move(n: int) -> Callable[[], None]:
            return lambda: set_counter("atomic", scope, last_value=n, highest=n, token="another")

        wire.before("UpdateItem", *map(move, range(1, 100)))
        with pytest.raises(SequenceContention):
            advance_to(1000, "atomic", scope=scope)
        assert read_counter("atomic", scope)["last_value"] < 100

    def test_a_counter_that_went_back(self, scope: str) -> None:
        """A counter that somebody set back is refused, and not moved."""
        take_some("atomic", scope, 5)
        set_counter("atomic", scope, last_value=2)
        with pytest.raises(SequenceWentBack):
            advance_to(10, "atomic", scope=scope)

    def test_above_the_maximum(self, scope: str, install: Callable[..., Strategy]) -> None:
        """A value above MAXIMUM is refused, and the counter stays."""
        install("atomic", MAXIMUM=100)
        with pytest.raises(SequenceExhausted, match="raise MAXIMUM"):
            advance_to(101, "atomic", scope=scope)
        assert get_last_value("atomic", scope=scope) is None

    def test_a_strategy_without_a_counter(self, scope: str) -> None:
        """SortKeyMaximum counts its items, and the error says what to do."""
        with pytest.raises(OperationNotSupported, match=r"no counter to move.*Store the item"):
            advance_to(10, "sort-key", scope=scope)

    @pytest.mark.parametrize("value", [-1, True, 1.0, "1", None])
    def test_a_wrong_value(self, value: Any, wire: Wire) -> None:
        """A value that is negative or no whole number is refused unsent."""
        with pytest.raises(ValueError, match=r"^value is .*; it must be a whole number from 0\.$"):
            advance_to(value, "atomic")
        assert wire.sent == []


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
        orders = [shop.Order.objects.create(customer="A", number=number) for number in (5000, 17)]
        for order, number in zip([*orders, orders[0]], (7, 3, 2), strict=True):
            shop.Delivery.objects.create(order=order, number=number)
        call_command("migrate", "shop", verbosity=0)
        assert shop.Order.objects.create(customer="B").number == 5001
        assert [shop.Delivery.objects.create(order=order).number for order in orders] == [8, 4]

    def test_backwards_and_again(self, shop: ModuleType) -> None:
        """Backwards nothing happens, and the next time the counter does not go back."""
        order = shop.Order.objects.create(customer="A", number=5000)
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
        shop.Order.objects.create(customer="A", number=-1)
        apply(SeedSequence("deliveries", "order", "number", scope=scope))
        assert get_last_value("deliveries", scope=scope and "A") is None

    def test_rows_without_a_scope(self, shop: ModuleType) -> None:
        """Rows whose scope is empty are left out: no row is numbered there."""
        for number, customer in ((5, ""), (9, "B")):
            shop.Order.objects.create(number=number, customer=customer)
        apply(SeedSequence("deliveries", "order", "number", scope="customer"))
        assert get_last_value("deliveries", scope="B") == 9

    def test_sqlmigrate(self, shop: ModuleType) -> None:
        """`sqlmigrate` prints what the migration does, and does nothing."""
        shop.Order.objects.create(customer="A", number=5000)
        printed = written("sqlmigrate", "shop", "0002")
        assert "-- Put the sequence 'orders' past the numbers in Order.number\n" in printed
        assert "Delivery.number, in each scope" in printed
        assert get_last_value("orders") is None

    def test_a_router_that_keeps_the_app_away(self, shop: ModuleType, settings: Settings) -> None:
        """On a database to which the model does not migrate, nothing is done."""
        shop.Order.objects.create(customer="A", number=5)
        settings.DATABASE_ROUTERS = [f"{__name__}.NoShop"]
        apply(SeedSequence("deliveries", "order", "number"))
        assert get_last_value("deliveries") is None

    def test_a_function_as_scope(self, shop: ModuleType) -> None:
        """Rows whose scope a function tells are read one by one."""
        for number, customer in ((5, "A"), (9, "B"), (3, "A")):
            shop.Order.objects.create(number=number, customer=customer)
        apply(SeedSequence("deliveries", "order", "number", scope=customer_of))
        assert [get_last_value("deliveries", scope=scope) for scope in "AB"] == [5, 9]

    def test_a_strategy_without_a_counter(self, shop: ModuleType) -> None:
        """A sequence of SortKeyMaximum cannot be seeded, and the migration fails with the remedy."""
        shop.Order.objects.create(customer="A", number=5)
        with pytest.raises(OperationNotSupported, match="Store the item"):
            apply(SeedSequence("receipts", "order", "number"))

    def test_what_is_written(self) -> None:
        """A migration file has the arguments as they were given, and a name that tells what it does."""
        operation = SeedSequence("orders", "Order", "number", scope="customer")
        assert operation.deconstruct() == ("SeedSequence", ("orders", "Order", "number"), {"scope": "customer"})
        assert operation.migration_name_fragment == "seed_orders"
        assert operation.reversible


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def test_it_seeds_each_scope(self, shop: ModuleType) -> None:
        """The command puts the counter of a SequenceField past its column, in each scope."""
        order = shop.Order.objects.create(customer="A", number=5000)
        shop.Delivery.objects.create(order=order, number=9)
        assert written("seed_sequence", "shop.Order.number") == (
            "orders without scope: the column ends at 5000, the next number is 5001\n"
        )
        written("seed_sequence", "shop.Delivery.number")
        assert shop.Delivery.objects.create(order=order).number == 10

    def test_it_proves_that_a_counter_is_past_its_column(self, shop: ModuleType) -> None:
        """With --check it moves nothing, and fails if a next number is not above the column."""
        shop.Order.objects.create(customer="A", number=5000)
        with pytest.raises(CommandError, match=r"Counters behind their column: 1\. Run this without --check\."):
            written("seed_sequence", "shop.Order.number", "--check")
        assert get_last_value("orders") is None
        advance_to(4999, "orders")
        with pytest.raises(CommandError, match="behind their column: 1"):
            written("seed_sequence", "shop.Order.number", "--check")
        advance_to(5000, "orders")
        assert "the next number is 5001" in written("seed_sequence", "shop.Order.number", "--check")

    def test_rows_without_numbers_are_left_out(self, shop: ModuleType) -> None:
        """A column of NULLs has no end, and nothing is printed."""
        shop.Invoice._base_manager.create(customer="A")
        shop.Invoice.objects.update(number=None)
        assert written("seed_sequence", "shop.Invoice.number") == ""
        shop.Receipt.objects.create(day=datetime.date(2026, 1, 1))
        shop.Receipt.objects.update(number=None)
        assert written("seed_sequence", "shop.Receipt.number") == ""

    @pytest.mark.parametrize("column", ["number", "shop.Order", "shop.Nothing.number", "shop.Order.nothing"])
    def test_an_unknown_column(self, shop: ModuleType, column: str) -> None:
        """The error says how a column is named."""
        with pytest.raises(CommandError, match=r"Name a column as shop\.Order\.number\.$"):
            written("seed_sequence", column)

    def test_another_column(self, shop: ModuleType) -> None:
        """A column that is no SequenceField is refused, with what to use for it."""
        with pytest.raises(CommandError, match=r"shop\.Order\.id is no SequenceField.*use SeedSequence"):
            written("seed_sequence", "shop.Order.id")


class NoShop:
    """A router that migrates nothing of the shop."""

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool | None:
        """Keep the shop away from every database."""
        return False if app_label == "shop" else None


def apply(operation: SeedSequence) -> None:
    """Migrate by one operation."""
    migration = type("Seed", (Migration,), {"operations": [operation]})("seed", "shop")
    with connection.schema_editor() as editor:
        migration.apply(ProjectState.from_apps(apps), editor)
