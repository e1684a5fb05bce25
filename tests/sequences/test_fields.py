"""Numbers in Django models: before the first save, when the transaction is committed, and after a crash in between."""

from __future__ import annotations

import copy
import datetime
import io
import logging
import re
from contextlib import suppress
from datetime import date
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.checks import CheckMessage
from django.core.management import CommandError, call_command
from django.core.serializers import deserialize
from django.db import IntegrityError, connection, models, transaction
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.migrations.writer import MigrationWriter
from django.db.models import Value
from django.db.models.functions import Lower
from django.db.models.signals import post_save, pre_save
from django.forms import modelform_factory
from django.test.utils import CaptureQueriesContext, isolate_apps
from pytest_django import Settings
from rest_framework.serializers import ModelSerializer

from sequences import get_last_value, put_next_each
from sequences.changes import advance, freeze
from sequences.exceptions import (
    DateRefused,
    InvalidPeriod,
    InvalidScope,
    SequenceError,
    SequenceExhausted,
    SequenceFrozen,
    SequenceUnavailable,
    SequenceWentBack,
    TableMissing,
)
from sequences.fields import (
    SequenceField,
    SequenceManager,
    SequenceQuerySet,
    number_on_commit,
    number_rows,
    numbering,
    sequence_field,
    sequence_fields,
)
from sequences.registry import strategies
from tests import shop as shop_app
from tests.sequences.support import stored, tapped

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_installed_shop")]


class NoReceipts:
    """A router that keeps receipts in a database of their own."""

    def allow_migrate(self, db: str, app_label: str, model_name: str = "", **_: Any) -> bool | None:
        """Keep them out of the default database."""
        return False if model_name == "receipt" and db == "default" else None


class Crash(BaseException):
    """The end of a process, as its code sees it."""


def roll_back(model: Any) -> None:
    """Save a row in a transaction that is rolled back."""
    with transaction.atomic():
        model.objects.create(customer="rolled back")
        transaction.set_rollback(True)


def numbers(model: Any) -> list[Any]:
    """The numbers of all rows, in the order in which the rows were made."""
    return list(model._base_manager.order_by("pk").values_list("number", flat=True))


class TestBeforeTheSave:
    def test_a_new_row_is_numbered(self, shop: ModuleType) -> None:
        """Rows get the numbers of their sequence, in the order in which they are saved."""
        first, second = shop.Order.objects.create(customer="A"), shop.Order(customer="B")
        second.save()
        assert [first.number, second.number] == numbers(shop.Order) == [1001, 1002]

    def test_who_sees_the_number(self, shop: ModuleType) -> None:
        """A row gets its number while it is saved: after `pre_save` and before `post_save`."""
        seen: list[Any] = []

        def see(instance: Any, **_: object) -> None:
            seen.append(instance.number)

        for signal in (pre_save, post_save):
            signal.connect(see, sender=shop.Order)
        try:
            shop.Order.objects.create(customer="A")
        finally:
            for signal in (pre_save, post_save):
                signal.disconnect(see, sender=shop.Order)
        assert seen == [None, 1001]

    def test_a_second_save_takes_no_number(self, shop: ModuleType) -> None:
        """A row that is saved again keeps its number, and nothing is sent."""
        order = shop.Order.objects.create(customer="A")
        with tapped() as wire:
            order.save()
        assert wire.sent == []
        assert (order.number, get_last_value("orders")) == (1001, 1001)

    def test_an_update_takes_no_number(self, shop: ModuleType) -> None:
        """An object without a number that stands for a stored row is refused by the column, and takes no number."""
        order = shop.Order.objects.create(customer="A")
        with pytest.raises(IntegrityError, match="NOT NULL"):
            shop.Order(pk=order.pk, customer="B").save()
        assert get_last_value("orders") == 1001

    def test_a_given_number_is_kept(self, shop: ModuleType) -> None:
        """A number that is set before the save is stored, and none is taken."""
        assert shop.Order.objects.create(customer="A", number=7).number == 7
        assert get_last_value("orders") is None

    def test_each_scope_counts_on_its_own(self, shop: ModuleType) -> None:
        """A scope by a foreign key is the key of the related row."""
        orders = shop.Order.objects.bulk_create([shop.Order(customer="A"), shop.Order(customer="B")])
        made = [shop.Delivery.objects.create(order=orders[index]) for index in (0, 1, 0)]
        assert [delivery.number for delivery in made] == [1, 1, 2]
        assert get_last_value("deliveries", scope=str(orders[0].pk)) == 2

    def test_an_empty_scope_is_refused(self, shop: ModuleType) -> None:
        """A row without the value that is its scope is not saved, takes no number, and the error names the field."""
        with pytest.raises(
            InvalidScope, match=r"^shop.Delivery.number is numbered by 'order', which is empty in a new row: set it"
        ):
            shop.Delivery().save()
        assert numbers(shop.Delivery) == []

    def test_a_rollback_leaves_a_gap(self, shop: ModuleType) -> None:
        """The number of a row that is rolled back is not given again."""
        roll_back(shop.Order)
        shop.Order.objects.create(customer="B")
        assert numbers(shop.Order) == [1002]

    def test_a_failed_save_is_tried_again_with_its_number(self, shop: ModuleType) -> None:
        """An object that could not be stored keeps its number for the next save."""
        order = shop.Order(customer=None)
        with pytest.raises(IntegrityError, match="NOT NULL"):
            order.save()
        order.customer = "A"
        order.save()
        assert numbers(shop.Order) == [1001]

    def test_a_number_that_the_column_cannot_hold_is_refused(self, shop: ModuleType) -> None:
        """A number of more than 63 bits is an error with the remedy, and the row is not saved."""
        advance("orders", to=2**63 - 2, by="tests", reason="the last number but one of the column")
        assert shop.Order.objects.create(customer="A").number == 2**63 - 1
        with pytest.raises(SequenceExhausted, match=r"numbers up to 9223372036854775807.*'MAXIMUM'"):
            shop.Order.objects.create(customer="B")
        assert numbers(shop.Order) == [2**63 - 1]

    def test_fixtures_keep_their_numbers(self, shop: ModuleType) -> None:
        """Loading stored rows takes no numbers, not even for a row without one."""
        row = {"model": "shop.invoice", "pk": 5, "fields": {"customer": "A", "number": None}}
        for loaded in deserialize("python", [row]):
            loaded.save()
        assert numbers(shop.Invoice) == [None]


class TestBulk:
    def test_one_request_numbers_all_rows(self, shop: ModuleType) -> None:
        """bulk_create takes the numbers of all its rows by one request, in their order, and keeps those set before."""
        rows = [shop.Order(customer=str(index), number=5 if index == 1 else None) for index in range(300)]
        shop.Order.objects.create(customer="first")  # makes a process look at the table, once
        with tapped() as wire:
            shop.Order.objects.bulk_create(rows, batch_size=10)
        assert wire.operations == ["UpdateItem"]
        assert numbers(shop.Order) == [1001, 1002, 5, *range(1003, 1301)]

    def test_one_request_for_each_scope(self, shop: ModuleType) -> None:
        """Rows of two scopes take two requests, also by the manager of a related row."""
        orders = [shop.Order.objects.create(customer="A") for _ in range(2)]
        for order in orders:
            shop.Delivery.objects.create(order=order)
        with tapped() as wire:
            shop.Delivery.objects.bulk_create([shop.Delivery(order=orders[index % 2]) for index in range(6)])
            orders[0].delivery_set.bulk_create([shop.Delivery(order=orders[0]) for _ in range(2)])
        assert wire.operations == ["UpdateItem"] * 3
        assert numbers(shop.Delivery) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 6]

    def test_a_wrong_row_takes_no_numbers(self, shop: ModuleType) -> None:
        """If one row has no scope, none of them takes a number."""
        order = shop.Order.objects.create(customer="A")
        with pytest.raises(InvalidScope, match="which is empty"):
            shop.Delivery.objects.bulk_create([shop.Delivery(order=order), shop.Delivery()])
        assert get_last_value("deliveries", scope=str(order.pk)) is None

    def test_a_manager_of_ones_own_stays(self, shop: ModuleType) -> None:
        """Only a model without a manager gets the one that numbers in bulk."""
        plain, managed = model_with(sequence="orders"), model_with(sequence="orders", rows=models.Manager())
        assert [(type(manager), manager.auto_created) for manager in plain._meta.managers] == [(SequenceManager, True)]
        assert [type(manager) for manager in managed._meta.managers] == [models.Manager]

    def test_a_child_of_a_plain_model(self, shop: ModuleType) -> None:
        """A model that inherits the manager that Django made for its parent gets the one that numbers."""
        with isolate_apps("tests.shop"):
            body = {"__module__": "tests.shop.models", "Meta": type("Meta", (), {"app_label": "shop"})}
            parent: Any = type("Plain", (models.Model,), {**body})
            child: Any = type("Numbered", (parent,), {**body, "number": SequenceField(sequence="orders", unique=True)})
        assert isinstance(child.objects, SequenceManager)
        assert not isinstance(parent.objects, SequenceManager)
        assert found(child) == []

    def test_a_manager_of_ones_own_may_number(self, shop: ModuleType) -> None:
        """A manager that is built from SequenceQuerySet satisfies the checks."""
        rows: Any = models.Manager.from_queryset(type("Rows", (SequenceQuerySet,), {}))()
        assert found(model_with(sequence="orders", unique=True, rows=rows)) == []


class TestOnCommit:
    def test_numbered_when_committed(self, shop: ModuleType) -> None:
        """Within the transaction a row has no number; after the commit the row and the object have it."""
        with transaction.atomic():
            invoice = shop.Invoice.objects.create(customer="A")
            assert invoice.number is None
        assert invoice.number == 1
        assert numbers(shop.Invoice) == [1]

    def test_numbered_at_once_without_a_transaction(self, shop: ModuleType) -> None:
        """Without a transaction the row has its number when `save` returns."""
        assert shop.Invoice.objects.create(customer="A").number == 1

    def test_a_rollback_leaves_no_gap(self, shop: ModuleType) -> None:
        """A row that is rolled back, or deleted before the commit, takes no number."""
        roll_back(shop.Invoice)
        with transaction.atomic():
            shop.Invoice.objects.create(customer="B").delete()
            shop.Invoice.objects.create(customer="C")
        assert numbers(shop.Invoice) == [1]
        assert get_last_value("invoices") == 1

    def test_a_change_takes_no_number(self, shop: ModuleType) -> None:
        """A row that is saved again keeps its number."""
        invoice = shop.Invoice.objects.create(customer="A")
        invoice.customer = "B"
        with CaptureQueriesContext(connection) as queries:
            invoice.save()
        assert [query["sql"][:6] for query in queries] == ["UPDATE"]
        assert (invoice.number, get_last_value("invoices")) == (1, 1)

    def test_bulk_create_numbers_in_groups(self, shop: ModuleType) -> None:
        """Rows that are made together are numbered together, in their order, 49 in one write."""
        shop.Invoice.objects.create(customer="A")
        with tapped() as wire:
            made = shop.Invoice.objects.bulk_create([shop.Invoice(customer=str(index)) for index in range(98)])
        assert [invoice.number for invoice in made] == list(range(2, 100))
        assert wire.operations.count("TransactWriteItems") == 2

    def test_the_row_says_the_scope(self, shop: ModuleType) -> None:
        """A function of the row gives the scope, and a strategy without a counter numbers too."""
        days = [datetime.date(2025, 12, 31), datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]
        receipts = shop.Receipt.objects.bulk_create([shop.Receipt(day=day) for day in days])
        assert [receipt.number for receipt in receipts] == [1, 1, 2]
        assert get_last_value("receipts", scope="2026") == 2

    @pytest.mark.parametrize("name", ["CreditNote", "Reminder"])
    def test_children_and_proxies_are_numbered(self, shop: ModuleType, name: str) -> None:
        """A row of a model that inherits the field is numbered as one of its parent."""
        with transaction.atomic():
            row = getattr(shop, name).objects.create(customer="A")
        assert row.number == 1
        assert numbers(shop.Invoice) == [1]

    @pytest.mark.parametrize("place", ["", None])
    def test_an_empty_scope_is_refused(self, place: str | None) -> None:
        """A row without the value that is its scope is not saved: it could never be numbered."""
        field = the_field(model := model_with(sequence="invoices", scope="place", on_commit=True))
        with pytest.raises(InvalidScope, match="is numbered by 'place', which is empty"):
            field.pre_save(model(place=place), add=True)
        assert field.pre_save(model(place=place), add=False) == models.F("number")

    @pytest.mark.parametrize("place", ["#x", "two\nlines", "x" * 256])
    def test_a_scope_that_cannot_be_is_refused(self, place: str) -> None:
        """A row with a text that is no scope is not saved. What a function says counts when the row is numbered."""
        model: Any = model_with(sequence="invoices", scope="place", on_commit=True)
        with pytest.raises(InvalidScope):
            the_field(model).pre_save(model(place=place), add=True)
        late: Any = model_with(sequence="invoices", scope=lambda row: row.place, on_commit=True)
        assert the_field(late).pre_save(late(place=place), add=True) is None

    @pytest.mark.parametrize(
        ("format_", "scope", "place"),
        [
            ("{scope}/{value}", "place", "ACME "),
            ("{scope}/{value}", "place", "\ufb01"),
            ("{scope}/{value}", None, "A"),
            ("INV-{value}", "place", "A"),
        ],
    )
    def test_a_scope_that_the_text_cannot_tell_is_refused(
        self, shop: ModuleType, settings: Settings, format_: str, scope: str | None, place: str
    ) -> None:
        """A row whose text could not be written is not saved; with rules of single scopes its number may come later."""
        told = {**shop_app.SEQUENCES["invoices"], "FORMAT": format_}
        settings.SEQUENCES = {"told": told, "ruled": {**told, "SERIES": "rules"}}
        model: Any = model_with(sequence="told", scope=scope, on_commit=True)
        with tapped() as wire, pytest.raises(InvalidScope, match="told"):
            the_field(model).pre_save(model(place=place), add=True)
        assert wire.sent == []
        ruled: Any = model_with(sequence="ruled", scope=scope, on_commit=True)
        assert the_field(ruled).pre_save(ruled(place=place), add=True) is None

    def test_rows_of_one_transaction(self, shop: ModuleType) -> None:
        """They are numbered together, in the order of their saves; what a savepoint takes back takes no number."""
        with tapped() as wire, transaction.atomic():
            rows = [shop.Invoice.objects.create(id=key, customer="A") for key in (9, 7, 8)]
            with suppress(ZeroDivisionError), transaction.atomic():
                rows.append(shop.Invoice.objects.create(customer="B"))
                raise ZeroDivisionError
            with transaction.atomic():
                rows.append(shop.Invoice.objects.create(id=5, customer="C"))
        assert [row.number for row in rows] == [1, 2, 3, None, 4]
        assert dict(shop.Invoice.objects.values_list("pk", "number")) == {9: 1, 7: 2, 8: 3, 5: 4}
        assert wire.operations.count("TransactWriteItems") == 2  # one for the savepoint that stays

    def test_rows_of_savepoints(self, shop: ModuleType) -> None:
        """Rows between which others are saved in a savepoint come before and after those."""
        with transaction.atomic():
            rows = [shop.Invoice.objects.create(customer="A")]
            rows.append(shop.Invoice.objects.get_or_create(customer="B")[0])
            rows += [shop.Invoice.objects.create(customer=one) for one in ("C", "D")]
        assert [row.number for row in rows] == [1, 2, 3, 4]

    def test_one_whose_scope_cannot_be_found(self, shop: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
        """The others of its transaction are numbered, and the log names it."""
        with transaction.atomic():
            rows = [shop.Receipt.objects.create(day=date(2026, 5, 1)) for _ in range(3)]
            shop.Receipt.objects.filter(pk=rows[1].pk).update(day=date(2027, 5, 1))
            scope = the_field(shop.Receipt).scope
            known = {date(2026, 5, 1): "2026"}
            the_field(shop.Receipt).scope = lambda row: known[row.day]
        the_field(shop.Receipt).scope = scope
        assert [row.number for row in rows] == [1, None, 2]

    def test_a_signal_without_its_arguments(self, shop: ModuleType) -> None:
        """An application may send `post_save` itself, with what Django's own receivers need."""
        order = shop.Order.objects.create(customer="A")
        post_save.send(sender=shop.Order, instance=order, created=True)
        (row,) = without_numbers(shop.Invoice, 1)
        post_save.send(sender=shop.Invoice, instance=row, created=True)
        assert row.number == 1

    def test_keys_as_texts(self, shop: ModuleType) -> None:
        """Named rows are numbered in the order in which they are named, also by the texts of their keys."""
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (id, customer) VALUES (7, 'A'), (9, 'B')")
        assert number_rows(the_field(shop.Invoice), keys=["9", 7, 8]) == {9: 1, 7: 2}

    def test_a_scope_that_the_database_computes(self, shop: ModuleType, settings: Settings) -> None:
        """It is known when the row is numbered."""
        settings.SEQUENCES = {"told": {**shop_app.SEQUENCES["invoices"], "FORMAT": "{scope}/{value}"}}
        model: Any = model_with(sequence="told", scope="place", on_commit=True)
        assert the_field(model).pre_save(model(place=Lower(Value("A"))), add=True) is None

    def test_a_new_row_under_a_former_key(self, shop: ModuleType) -> None:
        """A row takes the key of one that is gone, as after a restore. It is another one by the time of its making."""
        texts = []
        for _ in range(2):
            statement = shop.Statement.objects.create(pk=7)
            texts.append(statement.text)
            statement.delete()
        year = texts[0][4:8]
        assert texts == [f"INV-{year}-000001", f"INV-{year}-000002"]

    def test_rows_whose_keys_are_unknown(self, shop: ModuleType) -> None:
        """Rows whose keys Django does not learn, as with ignore_conflicts, are left to `number_rows`."""
        shop.Invoice.objects.bulk_create([shop.Invoice(customer="A")], ignore_conflicts=True)
        assert numbers(shop.Invoice) == [None]
        number_rows(the_field(shop.Invoice))
        assert numbers(shop.Invoice) == [1]

    def test_the_sequence_keeps_a_record(self, shop: ModuleType) -> None:
        """The item that carries the number names the model, the row and its database."""
        invoice = shop.Invoice.objects.create(customer="A")
        item = stored("invoices", None)[1]
        assert {name: item[name] for name in ("model", "row", "database")} == {
            "model": "shop.invoice",
            "row": str(invoice.pk),
            "database": "default",
        }

    def test_a_failure_after_the_commit_is_logged(
        self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """If the engine does not answer after the commit, the caller goes on with a row without a number."""

        def unavailable(*_: object, **__: object) -> None:
            raise SequenceUnavailable("The engine is away.", attempts=1, seconds=10.0)

        monkeypatch.setattr(numbering, "put_next_each", unavailable)
        monkeypatch.setattr(logging.getLogger("django"), "propagate", True)
        with transaction.atomic():
            invoice = shop.Invoice.objects.create(customer="A")
        assert invoice.number is None
        assert numbers(shop.Invoice) == [None]
        assert "The engine is away" in caplog.text


def without_numbers(model: Any, count: int) -> list[Any]:
    """Rows of a process that stopped right after its commit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "on_commit", lambda *_, **__: None)
        return [model.objects.create(customer="A") for _ in range(count)]


class TestAfterACrash:
    @pytest.fixture
    def crashed(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        """An invoice whose number is taken, and whose row was not told."""
        with monkeypatch.context() as patch:
            patch.setattr(models.QuerySet, "update", _crash)
            with pytest.raises(Crash):
                shop.Invoice.objects.create(customer="A")
        assert numbers(shop.Invoice) == [None]
        assert get_last_value("invoices") == 1
        return shop

    def test_the_row_gets_the_number_that_was_taken_for_it(self, crashed: ModuleType) -> None:
        """The command gives the row its number, even if other rows were numbered since, and takes no other."""
        crashed.Invoice.objects.create(customer="B")
        output = io.StringIO()
        call_command("number_rows", stdout=output)
        assert numbers(crashed.Invoice) == [1, 2]
        assert get_last_value("invoices") == 2
        assert "shop.Invoice.number: 1 rows numbered" in output.getvalue()
        call_command("sequences", "audit", "invoices", verbosity=0, stdout=output)

    def test_a_table_that_is_missing(self, crashed: ModuleType) -> None:
        """The error of the database is a line, after the rows of other models have their numbers."""
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE shop_receipt RENAME TO shop_other")
            with pytest.raises(CommandError, match=r"shop\.Receipt\.number: no such table: shop_receipt"):
                call_command("number_rows", "shop.Receipt", "shop.Invoice", stdout=(output := io.StringIO()))
            transaction.set_rollback(True)
        assert "shop.Invoice.number: 1 rows numbered" in output.getvalue()

    def test_again_is_nothing(self, crashed: ModuleType) -> None:
        """A second run finds no row to number."""
        call_command("number_rows", "shop.Invoice", verbosity=0, stdout=io.StringIO())
        with tapped() as wire:
            assert number_rows(the_field(crashed.Invoice)) == {}
        assert wire.sent == []

    def test_two_repeats_agree(self, crashed: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row that another process numbers at the same moment gets one number from both."""
        field = the_field(crashed.Invoice)
        put = put_next_each

        def while_another(*given: Any, **named: Any) -> Any:
            monkeypatch.setattr(numbering, "put_next_each", put)
            number_rows(field)
            return put(*given, **named)

        monkeypatch.setattr(numbering, "put_next_each", while_another)
        assert list(number_rows(field).values()) == [1]
        assert numbers(crashed.Invoice) == [1]
        assert get_last_value("invoices") == 1

    def test_a_crash_before_the_number(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows of a process that stopped right after its commit are numbered in order, each page in a transaction."""
        monkeypatch.setattr(numbering, "ROWS_AT_ONCE", 2)
        with monkeypatch.context() as patch:
            patch.setattr(transaction, "on_commit", lambda *_, **__: None)
            shop.Invoice.objects.bulk_create([shop.Invoice(customer=str(index)) for index in range(5)])
        with CaptureQueriesContext(connection) as queries:
            assert len(number_rows(the_field(shop.Invoice))) == 5
        assert [query["sql"][:5] for query in queries].count("BEGIN") == 3
        assert numbers(shop.Invoice) == [1, 2, 3, 4, 5]

    def test_a_row_that_a_constraint_refuses(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """It hinders neither the other rows of its scope nor other scopes, and the command names it each time."""
        with monkeypatch.context() as patch:
            patch.setattr(transaction, "on_commit", lambda *_, **__: None)
            first, *_ = [shop.Receipt.objects.create(day=date(year, 5, 1)) for year in (2024, 2025, 2024)]
            foreign = shop.Receipt(day=date(2024, 7, 1), number=1)  # as of another program
            models.Model.save_base(foreign, raw=True)
        for _ in range(2):
            with pytest.raises(CommandError, match=rf"shop.Receipt.number: .*Not numbered: shop.Receipt {first.pk}\."):
                call_command("number_rows", "shop.Receipt", stdout=io.StringIO())
            assert numbers(shop.Receipt) == [None, 1, 2, 1]
        foreign.delete()
        assert number_rows(the_field(shop.Receipt)) == {first.pk: 1}

    def test_rows_without_what_numbers_them(self, shop: ModuleType) -> None:
        """A draft without its date is named, the other is numbered, and every error is told."""
        days = [None, date(2026, 1, 2), None]
        first, _, last = [shop.Bill.objects.create(customer="A", issued_on=day) for day in days]
        with pytest.raises(InvalidPeriod) as error:
            number_rows(the_field(shop.Bill))
        assert numbers(shop.Bill) == [None, 1, None]
        named = [note.rpartition("Not numbered: ")[2] for note in error.value.__notes__]
        assert named == [f"shop.Bill {first.pk}.", f"shop.Bill {last.pk}."]
        assert str(error.value).endswith(f"which is empty in row {first.pk}: set it first.")

    def test_a_number_that_the_column_cannot_hold(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is named with its row, and other scopes are numbered."""
        monkeypatch.setattr(sequence_field, "LARGEST_NUMBER", 1)
        rows = [shop.Receipt.objects.create(day=date(year, 5, 1)) for year in (2024, 2024, 2025)]
        assert numbers(shop.Receipt) == [1, None, 1]
        with pytest.raises(SequenceExhausted, match="the column holds numbers up to 1") as error:
            number_rows(the_field(shop.Receipt))
        assert error.value.__notes__ == [f"Not numbered: shop.Receipt {rows[1].pk}."]

    @pytest.mark.parametrize("by_hook", [False, True])
    def test_the_last_numbers_before_maximum(
        self, shop: ModuleType, settings: Settings, caplog: pytest.LogCaptureFixture, by_hook: bool
    ) -> None:
        """The first rows get them, and the error names the others."""
        limited = {**shop_app.SEQUENCES["invoices"], "MAXIMUM": 3}
        settings.SEQUENCES = {**shop_app.SEQUENCES, "invoices": limited}
        if by_hook:
            with transaction.atomic():
                rows = [shop.Invoice.objects.create(customer="A") for _ in range(5)]
            assert [row.number for row in rows] == [1, 2, 3, None, None]
        rows = rows if by_hook else without_numbers(shop.Invoice, 5)
        with pytest.raises(SequenceExhausted) as error:
            number_rows(the_field(shop.Invoice))
        assert numbers(shop.Invoice) == [1, 2, 3, None, None]
        assert error.value.__notes__ == [f"Not numbered: shop.Invoice {rows[3].pk}, {rows[4].pk}."]

    @pytest.mark.parametrize(
        "error",
        [
            SequenceUnavailable("The engine is away.", attempts=1, seconds=10.0),
            SequenceFrozen("frozen"),
            SequenceWentBack("behind"),
            TableMissing("no table"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_a_later_write_that_fails(
        self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch, error: SequenceError
    ) -> None:
        """Rows get the numbers that are stored for them, in the table and on their objects; the others follow later."""
        rows, strategy = without_numbers(shop.Invoice, 60), strategies["invoices"]
        put, parts = strategy.put, list[int]()

        def put_first(scope: Any, part: Any, deadline: Any) -> None:
            parts.append(len(part))
            if len(parts) > 1:
                raise error
            put(scope, part, deadline)

        with monkeypatch.context() as patch:
            patch.setattr(strategy, "put", put_first)
            with pytest.raises(type(error)):
                numbering.number_objects(the_field(shop.Invoice), rows, "default")
        first, rest = parts
        assert (first + rest, rest > 0) == (60, True)
        expected = [*range(1, first + 1), *[None] * rest]
        assert (numbers(shop.Invoice), [row.number for row in rows]) == (expected, expected)
        assert [*number_rows(the_field(shop.Invoice)).values()] == [*range(first + 1, 61)]

    def test_a_freeze_of_one_scope(self, shop: ModuleType) -> None:
        """None of its rows is numbered, the error names them, and those of other scopes are numbered."""
        shop.Receipt.objects.create(day=date(2024, 5, 1))
        freeze("receipts", scope="2024", by="tests", reason="the books are closed")
        rows = [shop.Receipt.objects.create(day=date(year, 5, 1)) for year in (2024, 2025, 2024)]
        with pytest.raises(SequenceFrozen) as error:
            number_rows(the_field(shop.Receipt))
        assert numbers(shop.Receipt) == [1, None, 1, None]
        assert error.value.__notes__ == [f"Not numbered: shop.Receipt {rows[0].pk}, {rows[2].pk}."]

    def test_an_engine_that_is_away_is_not_asked_again(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is wrong for all scopes ends the run at the first of them."""
        with monkeypatch.context() as patch:
            patch.setattr(transaction, "on_commit", lambda *_, **__: None)
            for year in (2024, 2025):
                shop.Receipt.objects.create(day=date(year, 5, 1))
        asked: list[object] = []

        def unavailable(*given: object, **named: object) -> None:
            asked.append(named["scope"])
            raise SequenceUnavailable("The engine is away.", attempts=1, seconds=10.0)

        monkeypatch.setattr(numbering, "put_next_each", unavailable)
        with pytest.raises(SequenceUnavailable):
            number_rows(the_field(shop.Receipt))
        assert asked == ["2024"]

    def test_rows_that_came_another_way(self, shop: ModuleType) -> None:
        """`number_on_commit` numbers rows that no `save` has seen."""
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (customer) VALUES ('A')")
        invoice = shop.Invoice.objects.get()
        number_on_commit(invoice)
        assert (invoice.number, numbers(shop.Invoice)) == (1, [1])

    @pytest.mark.parametrize("key", [77, "77"])
    def test_a_row_that_is_known_by_its_key(self, shop: ModuleType, key: Any) -> None:
        """`number_on_commit` takes an object that was never read, and numbers its row in the default database."""
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (id, customer) VALUES (77, 'A')")
        invoice = shop.Invoice(pk=key)
        number_on_commit(invoice)
        assert (invoice.number, numbers(shop.Invoice)) == (1, [1])

    def test_a_column_that_may_be_null(self, shop: ModuleType) -> None:
        """Rows that are older than their column are numbered where the command names their model, and only there.

        An object that was read before erases no number.
        """
        model: Any = model_with(sequence="orders", null=True, unique=True)
        with connection.schema_editor() as editor:
            editor.create_model(model)
        try:
            model.objects.bulk_create([model(place="A", day="2026-01-01", number=Value(None))])
            apps.register_model("shop", model)
            stale, said = model.objects.get(), []
            for names in ([], ["shop.Numbered"]):
                call_command("number_rows", *names, stdout=(output := io.StringIO()))
                said.append("shop.Numbered.number: 1 rows numbered" in output.getvalue())
            assert (said, numbers(model)) == ([False, True], [1001])
            stale.save()
            assert numbers(model) == [1001]
        finally:
            del apps.all_models["shop"]["numbered"]
            apps.clear_cache()
            with connection.schema_editor() as editor:
                editor.delete_model(model)

    def test_a_scope_that_cannot_be_found(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """The command names its row, and goes on with the next model."""
        monkeypatch.setattr(transaction, "on_commit", lambda *_, **__: None)
        row = shop.Receipt.objects.create(day=date(2026, 5, 1))
        shop.Statement.objects.create()
        scopes: dict[Any, str] = {}
        monkeypatch.setattr(the_field(shop.Receipt), "scope", lambda row: scopes[row.day])
        with pytest.raises(CommandError, match=rf"KeyError.* Not numbered: shop\.Receipt {row.pk}\.$"):
            call_command("number_rows", stdout=io.StringIO())
        assert (numbers(shop.Receipt), numbers(shop.Statement)) == ([None], [1])

    def test_an_unknown_model_is_an_error(self, shop: ModuleType) -> None:
        """The command says how a model is named."""
        with pytest.raises(CommandError, match=r"Name models as shop\.Invoice\.$"):
            call_command("number_rows", "shop.Nothing")

    @pytest.mark.parametrize("label", ["shop", "shop.Invoice.number"])
    def test_what_names_no_model(self, label: str) -> None:
        """It is named, too."""
        with pytest.raises(CommandError, match=rf"^'{label}' names no model\. Name models as shop\.Invoice\.$"):
            call_command("number_rows", label)

    @pytest.mark.parametrize("names", [["Reminder"], ["CreditNote"], ["Reminder", "CreditNote"]])
    def test_a_model_that_inherits_its_number(self, shop: ModuleType, names: list[str]) -> None:
        """The command numbers the rows of the model that has the column, once."""
        without_numbers(shop.Invoice, 1)
        call_command("number_rows", *[f"shop.{name}" for name in names], stdout=(said := io.StringIO()))
        assert said.getvalue() == "shop.Invoice.number: 1 rows numbered\n"
        assert numbers(shop.Invoice) == [1]

    def test_a_model_without_a_number(self) -> None:
        """It is an error to name one."""
        with pytest.raises(CommandError, match=r"^auth\.User has no SequenceField\.$"):
            call_command("number_rows", "auth.User")

    def test_several_databases(self, shop: ModuleType, settings: Settings) -> None:
        """The command looks for each model where it is written, and for none where its table cannot be."""
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (customer) VALUES ('A')")
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE shop_receipt RENAME TO elsewhere")
        try:
            settings.DATABASE_ROUTERS = [f"{__name__}.NoReceipts"]
            call_command("number_rows", stdout=(said := io.StringIO()))
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE elsewhere RENAME TO shop_receipt")
        assert numbers(shop.Invoice) == [1]
        assert "shop.Invoice.number: 1 rows numbered" in said.getvalue()
        assert "Receipt" not in said.getvalue()

    def test_an_unknown_database(self) -> None:
        """The command says which there are."""
        with pytest.raises(CommandError, match=r"--database: invalid choice: 'nowhere' \(choose from .*default"):
            call_command("number_rows", "--database", "nowhere")


def generated() -> models.GeneratedField:
    """A column that the database computes."""
    return models.GeneratedField(expression=Lower("place"), output_field=models.TextField(), db_persist=True)


def model_with(*, rows: Any = None, **given: Any) -> type[models.Model]:
    """A model of the shop with such a field, and with a manager and columns of its own if they are given."""
    with isolate_apps("tests.shop"):
        own = {name: given.pop(name) for name in [*given] if isinstance(given[name], models.Field)}
        columns = {"place": models.TextField(), "day": models.DateField(), "number": SequenceField(**given), **own}
        meta = type("Meta", (), {"app_label": "shop"})  # that app is installed in some tests alone
        body = {"__module__": "tests.shop.models", "Meta": meta, **columns}
        return type("Numbered", (models.Model,), {**body, "rows": rows} if rows else body)


def found(model: type[models.Model]) -> list[CheckMessage]:
    """What the checks find about the number of a model."""
    return the_field(model).check()


def the_field(model: type[models.Model]) -> SequenceField:
    """The number of a model."""
    (field,) = sequence_fields(model)
    return field


class TestPlaces:
    """Where a row is numbered, as its columns say it before the database has it."""

    def test_a_parent_that_is_saved_later(self, shop: ModuleType) -> None:
        """Rows whose parent got its key after they were made are numbered within it, as Django stores them."""
        order = shop.Order(customer="A")
        rows = [shop.Delivery(order=order) for _ in range(2)]
        with pytest.raises(InvalidScope, match="which is empty"):
            shop.Delivery.objects.bulk_create(rows)
        order.save()
        assert [row.number for row in shop.Delivery.objects.bulk_create(rows)] == [1, 2]
        assert get_last_value("deliveries", scope=str(order.pk)) == 2

    def test_another_form_of_a_value(self, shop: ModuleType) -> None:
        """A value in another form than the database gives it is of the same scope."""
        model: Any = model_with(sequence="orders", scope="code", code=models.UUIDField())
        code = uuid4()
        rows = [model(code=given) for given in (code, code.hex, str(code).upper())]
        the_field(model).fill(rows)
        assert [row.number for row in rows] == [1001, 1002, 1003]
        assert get_last_value("orders", scope=str(code)) == 1003

    def test_a_default_of_the_database(self, shop: ModuleType) -> None:
        """A column that the database fills with a value is that scope; one that it computes is empty until then."""
        fixed: Any = model_with(sequence="orders", scope="code", code=models.TextField(db_default="EU"))
        rows = [fixed(), fixed(code="EU")]
        the_field(fixed).fill(rows)
        assert [row.number for row in rows] == [1001, 1002]
        computed: dict[str, Any] = {"scope": "code", "code": models.TextField(db_default=Lower(Value("EU")))}
        with pytest.raises(InvalidScope, match="is numbered by 'code', which is empty"):
            the_field(model := model_with(sequence="orders", **computed)).fill([model()])
        late = model_with(sequence="invoices", on_commit=True, **computed)
        assert the_field(late).pre_save(late(), add=True) is None

    def test_a_column_that_the_database_computes(self, shop: ModuleType) -> None:
        """A generated column is empty before the save, so that the number can only follow the commit."""
        model = model_with(sequence="orders", scope="code", code=generated())
        with pytest.raises(InvalidScope, match="is numbered by 'code', which is empty in a new row"):
            the_field(model).fill([model()])
        late = model_with(sequence="invoices", scope="code", code=generated(), on_commit=True)
        assert the_field(late).pre_save(late(), add=True) is None
        assert [message.id for message in found(late)] == ["sequences.W101"]

    def test_a_date_that_fills_itself(self, shop: ModuleType, settings: Settings) -> None:
        """A row is numbered by the day of the save, wherever that column stands, also in bulk."""
        settings.SEQUENCES = {"orders": {**shop_app.SEQUENCES["orders"], "PERIOD": "year"}}
        model: Any = model_with(sequence="orders", date="made_at", made_at=models.DateTimeField(auto_now_add=True))
        the_field(model).fill(rows := [model(), model()])
        assert [row.number for row in rows] == [1001, 1002]
        assert get_last_value("orders") == 1002

    @pytest.mark.parametrize("how", ["copy", "bulk"])
    def test_a_date_of_another_row(self, shop: ModuleType, settings: Settings, how: str) -> None:
        """A copy is numbered by the day of its own save, and a row whose date is there by then is counted once."""
        settings.SEQUENCES = {"orders": {**shop_app.SEQUENCES["orders"], "PERIOD": "year"}}
        model: Any = model_with(sequence="orders", date="made_at", made_at=models.DateTimeField(auto_now_add=True))
        field = the_field(model)
        row = model(made_at=datetime.datetime(2020, 5, 1, tzinfo=datetime.UTC))
        row._state.adding = how == "bulk"
        field.fill([row])
        row.made_at = datetime.datetime.now(datetime.UTC)
        with tapped() as wire:
            assert field.pre_save(row, add=True) == 1001
        assert (wire.sent, get_last_value("orders", period="2020")) == ([], None)


class TestPeriods:
    @pytest.fixture(autouse=True)
    def _yearly(self, shop: ModuleType, settings: Settings) -> None:
        """Sequences that begin again each year."""
        yearly = {"PERIOD": "year"}
        made = {name: {**entry, **yearly} for name, entry in shop_app.SEQUENCES.items()}
        settings.SEQUENCES = made

    def test_rows_are_numbered_in_their_years(self) -> None:
        """Each row is numbered in the year of its date, whether that is a date yet or still a text."""
        model: Any = model_with(sequence="orders", date="day")
        rows = [
            model(day=day)
            for day in ("2025-12-31", datetime.date(2026, 1, 1), datetime.date(2025, 12, 31), "2026-01-01")
        ]
        with tapped() as wire:
            the_field(model).fill(rows)
        assert [row.number for row in rows] == [1001, 1001, 1002, 1002]
        assert wire.operations.count("UpdateItem") == 2
        assert get_last_value("orders", period="2025") == 1002

    def test_times_of_one_day_go_together(self, settings: Settings) -> None:
        """Rows with times take one request for each day, in the time zone of the sequence."""
        settings.SEQUENCES = {"orders": {**settings.SEQUENCES["orders"], "TIME_ZONE": "Europe/Berlin"}}
        model: Any = model_with(sequence="orders", date="at", at=models.DateTimeField())
        midnight = datetime.datetime(2025, 12, 31, 23, tzinfo=datetime.UTC)
        rows = [model(at=midnight + datetime.timedelta(minutes=minute)) for minute in (-2, -1, 0, 1)]
        with tapped() as wire:
            the_field(model).fill(rows)
        assert [row.number for row in rows] == [1001, 1002, 1001, 1002]
        assert wire.operations.count("UpdateItem") == 2

    def test_an_empty_date_is_refused(self) -> None:
        """A row without the date that says its period takes no number, and the error names the field."""
        model: Any = model_with(sequence="orders", date="day")
        with pytest.raises(InvalidPeriod, match=r"Numbered.number is numbered by the period of 'day', which is empty"):
            the_field(model).fill([model()])

    def test_after_the_commit(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows that are numbered when they are committed get the numbers of their years, too."""
        field = the_field(shop.Receipt)
        monkeypatch.setattr(field, "scope", None)
        monkeypatch.setattr(field, "date", "day")
        made = [shop.Receipt.objects.create(day=datetime.date(year, 6, 1)) for year in (2025, 2026, 2025)]
        assert [receipt.number for receipt in made] == [1, 1, 2]

    def test_a_year_that_cannot_be(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row with a typing error in its year is not saved; one that is stored already is named, and hinders none."""
        field, wrong = the_field(shop.Receipt), datetime.date(206, 5, 5)
        monkeypatch.setattr(field, "scope", None)
        monkeypatch.setattr(field, "date", "day")
        with pytest.raises(DateRefused, match=r"^date is 0206-05-05; it must be in the years 1000 to 9999"):
            shop.Receipt.objects.create(day=wrong)
        with monkeypatch.context() as patch:
            patch.setattr(transaction, "on_commit", lambda *_, **__: None)
            first, _ = [shop.Receipt.objects.create(day=datetime.date(2026, 6, day)) for day in (1, 2)]
        shop.Receipt.objects.filter(pk=first.pk).update(day=wrong)
        with pytest.raises(DateRefused) as error:
            number_rows(field)
        assert numbers(shop.Receipt) == [None, 1]
        assert error.value.__notes__ == [f"Not numbered: shop.Receipt {first.pk}."]

    @pytest.mark.parametrize("day", [datetime.date(2020, 1, 1), datetime.date(1999, 1, 1)])
    def test_a_day_that_cannot_be(self, shop: ModuleType, settings: Settings, day: datetime.date) -> None:
        """A row that is dated beyond DATES, or whose year its text cannot have, is not saved."""
        limits = {} if day.year < 2000 else {"DATES": {"past": 30}}
        settings.SEQUENCES = {"bounded": {**shop_app.SEQUENCES["invoices"], "FORMAT": "{yy}-{value}", **limits}}
        model: Any = model_with(sequence="bounded", date="day", on_commit=True)
        with pytest.raises(DateRefused, match=str(day)):
            the_field(model).pre_save(model(day=day), add=True)
        today = datetime.date.today()  # noqa: DTZ011 - any day of these
        assert the_field(model).pre_save(model(day=today), add=True) is None

    def test_the_migration_has_the_date(self) -> None:
        """A migration makes the same field."""
        field = SequenceField(sequence="orders", date="day")
        assert field.deconstruct()[3]["date"] == "day"


def _crash(*_: object, **__: object) -> None:
    raise Crash


class TestCopiedColumns:
    def test_a_history_takes_no_number(self, shop: ModuleType) -> None:
        """A copy of the columns in another model, as packages for history make them, holds what it is given."""
        names = ("number", "text")
        copies: Any = {name: copy.copy(shop.Statement._meta.get_field(name)) for name in names}
        with isolate_apps("tests.shop"):
            meta = type("Meta", (), {"app_label": "shop"})
            past: Any = type("Past", (models.Model,), {"__module__": "tests.shop.models", "Meta": meta, **copies})
        assert [type(past._meta.get_field(name)) for name in names] == [models.BigIntegerField, models.CharField]
        assert [past._meta.get_field(name).pre_save(past(), add=True) for name in names] == [None, None]
        assert sequence_fields(past) == []
        assert past(number=7, text="INV-2026-000007").number == 7

    def test_an_abstract_model(self, shop: ModuleType) -> None:
        """The columns of an abstract model number the rows of each of its children."""
        with isolate_apps("tests.shop"):
            meta = type("Meta", (), {"app_label": "shop", "abstract": True})
            body = {"__module__": "tests.shop.models"}
            base: Any = type(
                "Base", (models.Model,), {**body, "Meta": meta, "number": SequenceField(sequence="orders")}
            )
            children = [type(name, (base,), {**body, "Meta": type("Meta", (), {"app_label": "shop"})}) for name in "AB"]
        for child in children:
            the_field(child).fill([row := child()])
            assert row.number == 1001 + children.index(child)


class TestReadOnly:
    def test_forms_leave_it_out(self, shop: ModuleType) -> None:
        """A form of all fields has no number, and its row is numbered."""
        form = modelform_factory(shop.Order, fields="__all__")({"customer": "A", "number": "5"})
        assert list(form.fields) == ["customer"]
        assert form.save().number == 1001

    def test_serializers_only_read_it(self, shop: ModuleType) -> None:
        """A serializer of all fields shows the number and does not take one."""

        class Orders(ModelSerializer[Any]):
            class Meta:
                model = shop.Order
                fields = "__all__"

        serializer = Orders(data={"customer": "A", "number": 5})
        assert serializer.is_valid(), serializer.errors
        serializer.save()
        assert serializer.data["number"] == 1001
        assert serializer.fields["number"].read_only

    def test_the_administration_shows_it(self, shop: ModuleType, rf: Any, admin_user: Any) -> None:
        """In `readonly_fields` it is shown, and never in the form."""

        class Orders(admin.ModelAdmin):  # type: ignore[type-arg]  # takes no argument when it runs
            readonly_fields = ("number",)

        request = rf.get("/")
        request.user = admin_user
        page = Orders(shop.Order, admin.site)
        assert page.get_fields(request) == ["customer", "number"]
        assert list(page.get_form(request).base_fields) == ["customer"]
        assert page.check() == []

    def test_a_row_without_a_number_is_valid(self, shop: ModuleType) -> None:
        """Django's validation of a new row does not ask for the number."""
        shop.Order(customer="A").full_clean()
        shop.Invoice(customer="A").full_clean()


class TestMigrations:
    def test_nothing_to_migrate(self, shop: ModuleType) -> None:
        """The fields in the migrations equal those of the models."""
        changes = MigrationAutodetector(
            MigrationLoader(connection).project_state(), ProjectState.from_apps(apps)
        ).changes(graph=MigrationLoader(connection).graph)
        assert "shop" not in changes

    @pytest.mark.parametrize(
        ("given", "written"),
        [
            ({}, "sequences.fields.SequenceField(sequence='orders')"),
            (
                {"scope": "order", "on_commit": True},
                "sequences.fields.SequenceField(on_commit=True, scope='order', sequence='orders')",
            ),
        ],
    )
    def test_what_is_written(self, given: Any, written: str) -> None:
        """A migration has the arguments of the field, and none that the field sets itself."""
        field = SequenceField(sequence="orders", **given)
        assert MigrationWriter.serialize(field)[0] == written
        assert field.clone().deconstruct() == field.deconstruct()


class TestChecks:
    """Each wrong argument is found by `manage.py check`, with the remedy."""

    @pytest.fixture(autouse=True)
    def _sequences(self, shop: ModuleType, settings: Settings) -> None:
        """The sequences of the shop, and one whose items bring their keys."""
        options = {"value_in": "attribute", "key_names": ["id"]}
        own_keys = {**shop_app.SEQUENCES["invoices"], "TABLE": "own_keys", "OPTIONS": options}
        orders = shop_app.SEQUENCES["orders"]
        more = {
            "with-own-keys": own_keys,
            "yearly": {**orders, "PERIOD": "year"},
            "by-scope": {**orders, "FORMAT": "{scope}-{value}"},
            "by-value": {**orders, "FORMAT": "INV-{value}"},
        }
        settings.SEQUENCES = {**shop_app.SEQUENCES, **more}

    @pytest.mark.parametrize("name", ["Order", "Delivery", "Invoice", "Receipt", "CreditNote", "Reminder"])
    def test_right_arguments(self, shop: ModuleType, name: str) -> None:
        """A field that is right is silent."""
        assert found(getattr(shop, name)) == []

    @pytest.mark.parametrize(("format_", "scope"), [("{scope}-{value}", None), ("INV-{value}", "place")])
    def test_rules_of_single_scopes(
        self, shop: ModuleType, settings: Settings, format_: str, scope: str | None
    ) -> None:
        """With SERIES the rules of a scope say its FORMAT, which no check knows."""
        settings.SEQUENCES = {"ruled": {**shop_app.SEQUENCES["orders"], "FORMAT": format_, "SERIES": "rules"}}
        assert "sequences.E103" not in [message.id for message in found(model_with(sequence="ruled", scope=scope))]

    def test_a_key_of_several_columns(self, shop: ModuleType) -> None:
        """A primary key of scope and number is unique: a row gets it when it is saved, or with others."""
        key = models.CompositePrimaryKey("place", "number")
        model: Any = model_with(sequence="orders", scope="place", pk=key)
        assert found(model) == []
        the_field(model).fill(rows := [model(place="A"), model(place="A")])
        assert [row.pk for row in rows] == [("A", 1001), ("A", 1002)]

    @pytest.mark.parametrize(
        ("given", "id_", "problem", "hint"),
        [
            ({"sequence": "nothing"}, "E101", "There is no sequence 'nothing'", ""),
            ({"sequence": "nothing", "date": "day"}, "E101", "There is no sequence 'nothing'", ""),
            ({"sequence": ["orders"]}, "E101", r"sequence=\['orders'\]", ""),
            ({"sequence": "invoices"}, "E102", "hands out a number only together with", "Set on_commit=True"),
            ({"sequence": "receipts"}, "E102", r"\(SortKeyMaximum\) hands out", "such as AtomicCounter"),
            ({"sequence": "orders", "on_commit": True}, "E102", "AtomicCounter may leave one", "TransactionalCounter"),
            ({"sequence": "with-own-keys", "on_commit": True}, "E102", "which bring no keys", "Leave 'value_in' out"),
            ({"sequence": "orders", "scope": "palce"}, "E103", "scope='palce' is no other column of", "Name another"),
            ({"sequence": "orders", "scope": "number"}, "E103", "scope='number' is no other column", "Name another"),
            (
                {"sequence": "orders", "scope": "code", "code": generated()},
                "E103",
                "scope='code' is computed by the database",
                "set on_commit=True",
            ),
            ({"sequence": "orders", "scope": 7}, "E103", "scope=7 is no other column", "give a function"),
            (
                {"sequence": "by-scope"},
                "E103",
                "'by-scope' has {scope}, and the field names no",
                "Give the field a scope",
            ),
            ({"sequence": "by-value", "scope": "place"}, "E103", "'by-value' has no {scope}", "Add {scope} to FORMAT"),
            ({"sequence": "by-value", "scope": str}, "E103", "'by-value' has no {scope}", "or leave the scope out"),
            ({"sequence": "yearly", "date": "palce"}, "E105", "date='palce' is no date of", "Name a DateField"),
            ({"sequence": "yearly", "date": "place"}, "E105", "date='place' is no date of", "Name a DateField"),
            ({"sequence": "orders", "date": "day"}, "E105", "'orders' has no PERIOD", "a PERIOD"),
            ({"sequence": "yearly", "date": "day", "unique": True}, "W101", "Each period", "Leave unique=True out"),
            ({"sequence": "orders", "default": 1}, "E104", "A default would take the place", "START"),
            ({"sequence": "orders", "db_default": 1}, "E104", "A default would take the place", "START"),
            (
                {"sequence": "invoices", "primary_key": True, "on_commit": True},
                "E104",
                "A primary key cannot wait",
                "Leave",
            ),
            ({"sequence": "orders"}, "W101", "may hold a number twice", "Set unique=True"),
            ({"sequence": "orders", "scope": "place", "unique": True}, "W101", "refuses those", "a UniqueConstraint"),
            ({"sequence": "orders", "scope": "place"}, "W101", "A scope may hold", "UniqueConstraint"),
            (
                {"sequence": "orders", "rows": models.Manager()},
                "W102",
                "takes one request for each",
                "SequenceQuerySet",
            ),
            (
                {"sequence": "invoices", "on_commit": True, "rows": models.Manager()},
                "W102",
                "leaves its rows without",
                "SequenceManager",
            ),
        ],
        ids=lambda given: "-".join(given) if isinstance(given, dict) else given,
    )
    def test_wrong_arguments(self, shop: ModuleType, given: Any, id_: str, problem: str, hint: str) -> None:
        """The check names what is wrong, and what to do. Only an error stops commands."""
        (message,) = [message for message in found(model_with(**given)) if message.id == f"sequences.{id_}"]
        assert message.is_serious() == (id_[0] == "E")
        assert re.search(problem, message.msg)
        assert hint in (message.hint or "")
        assert not message.hint or message.hint.endswith(".")
