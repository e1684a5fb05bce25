"""The audit of columns finds numbers that are missing, given twice or never, and says where the rows are."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections, transaction
from django.db.models import Field
from pytest_django import Settings

from sequences import dynamodb, get_next_value, get_next_values, put_next, series
from sequences.changes import advance, seed, void
from sequences.fields import SequenceField, number_rows
from sequences.ops.audit import column_check, columns
from sequences.ops.audit.background import start_audit
from sequences.ops.audit.column_check import audit_columns
from sequences.ops.audit.columns import columns_of
from sequences.ops.audit.report import ColumnReport
from sequences.ops.audit.results import AuditResult, KeptAudits, latest_audits
from sequences.registry import strategies
from sequences.rows import item_reader
from sequences.series import Line
from sequences.types import Dated, Scope
from tests.sequences.support import await_audits

pytestmark = pytest.mark.django_db(transaction=True)

SIGNED: dict[str, Any] = {"by": "ann", "reason": "a test"}
WHERE = "in the database 'default'"


@pytest.fixture(autouse=True)
def _without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is on its way to its row."""
    monkeypatch.setattr(column_check, "WAIT_SECONDS", 0.0)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages end in the middle of everything."""
    monkeypatch.setattr(columns, "ROWS_A_PAGE", 2)


def audited(*arguments: str) -> tuple[str, int]:
    """What the audit prints, and its exit code."""
    output = io.StringIO()
    try:
        call_command("sequences", "audit", *arguments, stdout=output, no_color=True)
    except CommandError as error:
        return output.getvalue(), error.returncode
    return output.getvalue(), 0


def reports(*arguments: str) -> list[dict[str, Any]]:
    """The reports on columns, as JSON."""
    printed, _ = audited(*arguments, "--format", "json")
    return [report for report in json.loads(printed) if "where" in report]


def report(alias: str) -> dict[str, Any]:
    """The only report on columns."""
    (one,) = reports(alias)
    return one


def gaps(one: dict[str, Any]) -> list[tuple[int, int, str, str]]:
    """The gaps of a report, each with by whom and why."""
    return [(gap["first"], gap["last"], gap["by"], gap["reason"]) for gap in one["gaps"]["listed"]]


def order_by_hand(*numbers: int) -> list[int]:
    """Store orders behind the sequence's back, and return their keys."""
    with connection.cursor() as cursor:
        for number in numbers:
            cursor.execute("INSERT INTO shop_order (customer, number) VALUES ('A', %s)", [number])
        cursor.execute("SELECT id FROM shop_order ORDER BY id DESC LIMIT %s", [len(numbers)])
        return [key for (key,) in cursor.fetchall()][::-1]


def without_unique(model: Any, *numbers: int | None, **more: Any) -> None:
    """Store rows as a database without constraints may have them."""
    table, fields = model._meta.db_table, {"customer": "x", **more}
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table}")
        for key, number in enumerate(numbers, 1):
            names, marks = ", ".join(["id", "number", *fields]), ", ".join(["%s"] * (2 + len(fields)))
            cursor.execute(f"INSERT INTO temp.{table} ({names}) VALUES ({marks})", [key, number, *fields.values()])


@pytest.fixture(autouse=True)
def _no_temporary_tables(transactional_db: None) -> Iterator[None]:
    """Temporary tables hide the others until the end of a test."""
    yield
    with connection.cursor() as cursor:
        for name in ("shop_order", "shop_invoice", "shop_receipt"):
            cursor.execute(f"DROP TABLE IF EXISTS temp.{name}")


class TestComplete:
    def test_the_first_line_says_where_the_rows_are(self, shop: ModuleType) -> None:
        """Rows that have all numbers are proved, and the first line says which rows."""
        for customer in "ABC":
            shop.Order.objects.create(customer=customer)
        printed, code = audited("orders")
        first, second, last = printed.splitlines()
        assert first == f"orders: its numbers are in the rows of shop.Order.number {WHERE}."
        assert second == (
            "orders without scope (AtomicCounter): last value 1003, 3 in rows, 0 missing, 0 of several rows, "
            "0 rows without a number: all explained"
        )
        assert (last, code) == ("Scopes: 0, items: 0. Scopes of rows: 1, rows: 3.", 0)

    def test_a_sequence_without_fields_is_audited_as_before(self, shop: ModuleType, settings: Settings) -> None:
        """Where no model has the numbers, nothing is said of rows."""
        settings.SEQUENCES = {"others": settings.SEQUENCES["orders"]}
        get_next_value("others")
        printed, code = audited("others")
        assert printed.startswith("others without scope (AtomicCounter): last value 1001, 0 stored, 1 missing, 0 void")
        assert ("rows" in printed, code) == (False, 0)

    @pytest.mark.usefixtures("small_pages")
    def test_many_pages_and_equal_numbers(self, shop: ModuleType) -> None:
        """Pages end between rows with the same number, and between scopes."""
        orders = [shop.Order.objects.create(customer="A") for _ in range(5)]
        for order in orders:
            shop.Delivery.objects.bulk_create([shop.Delivery(order=order) for _ in range(5)])
        found = {one["scope"]: (one["carried"], one["missing"]) for one in reports("deliveries")}
        assert found == {str(order.pk): (5, 0) for order in orders}

    def test_what_is_saved_meanwhile(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row that comes after its counter was read is no stray row."""
        shop.Order.objects.create(customer="A")
        numbered = columns.Column.numbered

        def late(column: Any, rows: Any) -> Any:
            shop.Order.objects.create(customer="B")
            return numbered(column, rows)

        monkeypatch.setattr(columns.Column, "numbered", late)
        one = report("orders")
        assert (one["last_value"], one["carried"], one["strays"]["total"], one["unexplained"]) == (1001, 1, 0, 0)

    def test_values_are_read_in_bounded_requests(self, shop: ModuleType, django_assert_max_num_queries: Any) -> None:
        """A scope costs a query for a page of rows, and none for OFFSET."""
        for _ in range(3):
            shop.Order.objects.create(customer="A")
        with django_assert_max_num_queries(1) as queries:
            audited("orders")
        assert "OFFSET" not in queries[0]["sql"]


class TestMissing:
    def test_a_rollback_is_told_and_no_fault(self, shop: ModuleType) -> None:
        """Numbers that no row has, also at the end, may be rollbacks of a field that takes its number first."""
        for customer in "AB":
            shop.Order.objects.create(customer=customer)
            with transaction.atomic():
                shop.Order.objects.create(customer="rolled back")
                transaction.set_rollback(True)
        printed, code = audited("orders")
        assert "2 in rows, 2 missing" in printed
        assert "  gap: 1002, may be a rollback\n  gap: 1004 at the end, may be a rollback\n" in printed
        assert code == 0

    def test_a_change_explains_what_it_skipped(self, shop: ModuleType) -> None:
        """A gap has its reason from the history, and what is beside it has none."""
        shop.Order.objects.create(customer="A")
        advance("orders", to=1005, by="ana", reason="a new series")
        get_next_values(2, "orders")
        shop.Order.objects.create(customer="B")
        one = report("orders")
        assert gaps(one) == [(1002, 1005, "ana", "a new series"), (1006, 1007, "", "may be a rollback")]
        assert (one["missing"], one["skipped"]) == (6, 4)

    @pytest.mark.usefixtures("small_pages")
    def test_after_a_seed_nothing_is_missing(self, shop: ModuleType) -> None:
        """Earlier rows are there, and what lies between their numbers has the reason of the seed."""
        order_by_hand(1001, 1002, 1005)
        seed("orders", shop.Order.objects.all(), field="number", by="ana", reason="earlier orders")
        printed, code = audited("orders")
        assert "last value 1005, 3 in rows, 0 missing, 2 skipped" in printed
        assert ("gap: 1003 to 1004 (2 values), by ana at " in printed, code) == (True, 0)

    def test_a_scope_without_any_row(self, shop: ModuleType) -> None:
        """A scope that counted, and has no row left, is found by its counter."""
        get_next_value("deliveries", scope="7")
        get_next_value("deliveries", scope="north")
        found = {one["scope"]: (one["carried"], one["missing"]) for one in reports("deliveries")}
        assert found == {"7": (0, 1), "north": (0, 1)}

    def test_items_that_a_change_skipped(self, shop: ModuleType, settings: Settings) -> None:
        """Values below a seed are not called missing, also where no model has the numbers."""
        settings.SEQUENCES = {"others": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"}}
        seed("others", 5000, by="ana", reason="from a counter")
        put_next("others", {})
        printed, code = audited("others")
        assert "last value 5001, 1 stored, 0 missing, 5000 skipped, 0 void" in printed
        assert code == 0


class TestTwice:
    def test_two_rows_of_one_model(self, shop: ModuleType) -> None:
        """A number of two rows is unexplained, and named with both rows; once, however many have it."""
        get_next_values(3, "orders")
        without_unique(shop.Order, 1001, 1002, 1002, 1003)
        printed, code = audited("orders")
        assert "  number of 2 rows: 1002 of shop.Order 2, shop.Order 3\n" in printed
        assert ("3 in rows, 0 missing, 1 of several rows" in printed, code) == (True, 1)

    @pytest.mark.usefixtures("small_pages")
    def test_a_long_list_is_cut(self, shop: ModuleType) -> None:
        """Of many rows with one number the first ones are named, and the others counted."""
        get_next_value("orders")
        without_unique(shop.Order, *[1001] * 12)
        assert "shop.Order 10 and 2 more\n" in audited("orders")[0]

    @pytest.mark.usefixtures("small_pages")
    def test_two_models(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two models that share a sequence have no number in common: the streams of their rows are compared."""
        monkeypatch.setattr(shop.Delivery._meta.get_field("number"), "sequence", "orders")
        monkeypatch.setattr(shop.Delivery._meta.get_field("number"), "scope", None)
        orders = [shop.Order.objects.create(customer="A") for _ in range(3)]
        shop.Delivery.objects.create(order=orders[0])
        second = shop.Delivery.objects.create(order=orders[0])
        shop.Delivery.objects.filter(pk=second.pk).update(number=1002)
        printed, code = audited("orders")
        assert f"shop.Order.number {WHERE} and shop.Delivery.number {WHERE}." in printed
        assert f"number of 2 rows: 1002 of shop.Order {orders[1].pk}, shop.Delivery {second.pk}\n" in printed
        assert ("4 in rows, 1 missing" in printed, code) == (True, 1)

    def test_two_databases(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows of several databases are compared with each other, and named with their databases."""
        key = shop.Order.objects.create(customer="A").pk
        monkeypatch.setitem(connections.databases, "copy", connections.databases["default"])
        connections["copy"] = connection
        try:
            printed, code = audited("orders", "--database", "default", "--database", "copy")
        finally:
            del connections["copy"]
        assert f"shop.Order.number {WHERE} and shop.Order.number in the database 'copy'." in printed
        assert f"number of 2 rows: 1001 of shop.Order {key} in 'default', shop.Order {key} in 'copy'" in printed
        assert code == 1

    def test_an_unknown_database(self, shop: ModuleType) -> None:
        """A database that the settings do not name is refused."""
        with pytest.raises(CommandError, match="invalid choice: 'nowhere'"):
            call_command("sequences", "audit", "orders", "--database", "nowhere")


class TestStray:
    def test_a_number_above_the_counter(self, shop: ModuleType) -> None:
        """A number that the sequence is to give yet is unexplained, and a note says what to do."""
        shop.Order.objects.create(customer="A")
        (key,) = order_by_hand(1003)
        printed, code = audited("orders")
        assert f"  stray row: 1003 of shop.Order {key} is above the counter, which is at 1001\n" in printed
        assert "note: A number above the counter will be given again" in printed
        assert code == 1

    def test_a_number_below_the_start(self, shop: ModuleType) -> None:
        """A number that the sequence never gives is listed, and is no fault."""
        (key,) = order_by_hand(7)
        printed, code = audited("orders")
        assert f"  stray row: 7 of shop.Order {key} is below START, which is 1001\n" in printed
        assert code == 0

    def test_a_counter_that_went_back(self, shop: ModuleType) -> None:
        """A counter that is lower than it was is unexplained, as for items."""
        for _ in range(3):
            shop.Order.objects.create(customer="A")
        table, key = dynamodb.table_name("sequences"), dynamodb.marshal({"sequence": "orders", "scope": "#"})
        values = {"UpdateExpression": "SET last_value = :v", "ExpressionAttributeValues": {":v": {"N": "1001"}}}
        dynamodb.call("update_item", {"TableName": table, "Key": key, **values})
        one = report("orders")
        assert (one["went_back_to"], one["last_value"], one["carried"], one["unexplained"]) == (1001, 1003, 3, 1)


class TestGapless:
    def test_items_and_rows_are_both_audited(self, shop: ModuleType) -> None:
        """A field that follows the commit has items in DynamoDB: they are audited, and then its column."""
        for _ in range(3):
            shop.Invoice.objects.create(customer="A")
        printed, code = audited("invoices")
        first, items, rows, last = printed.splitlines()
        assert first == (
            f"invoices: its items are in DynamoDB, and their numbers in the rows of shop.Invoice.number {WHERE}."
        )
        assert "last value 3, 3 stored, 0 missing, 0 void, 3 markers: all explained" in items
        assert "last value 3, 3 in rows, 0 missing" in rows
        assert (last, code) == ("Scopes: 1, items: 3. Scopes of rows: 1, rows: 3.", 0)

    def test_a_gap_is_unexplained(self, shop: ModuleType) -> None:
        """A row that is gone leaves a number that no row has."""
        invoices = [shop.Invoice.objects.create(customer="A") for _ in range(3)]
        invoices[1].delete()
        printed, code = audited("invoices")
        assert ("  gap: 2\n" in printed, code) == (True, 1)
        assert report("invoices")["gaps"]["listed"] == [
            {"first": 2, "last": 2, "count": 1, "by": "", "at": "", "reason": ""}
        ]

    @pytest.mark.parametrize("items_a_page", [1, 100])
    def test_a_void_explains_a_gap(self, shop: ModuleType, items_a_page: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """A number that was withdrawn in DynamoDB needs no row; its neighbours do, on whatever page its item is."""
        monkeypatch.setattr(item_reader, "ITEMS_A_PAGE", items_a_page)
        for _ in range(6):
            shop.Invoice.objects.create(customer="A")
        shop.Invoice.objects.filter(number__gte=2, number__lte=5).delete()
        void("invoices", 3, by="ana", reason="sent twice")
        one = report("invoices")
        assert gaps(one) == [(2, 2, "", ""), (3, 3, "ana", "sent twice"), (4, 5, "", "")]
        assert one["unexplained"] == 2

    def test_rows_without_a_number(self, shop: ModuleType) -> None:
        """Rows that wait for a number are listed, with the command that numbers them."""
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (id, customer) VALUES (4, 'A')")
        printed, code = audited("invoices")
        assert "1 rows without a number: all explained\n  row without a number: shop.Invoice 4\n" in printed
        assert "note: Rows without a number get one by `manage.py number_rows`." in printed
        assert code == 0

    def test_drafts_are_not_missed(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows that wait until somebody issues them are no findings."""
        key = shop.Invoice.objects.create(customer="A").pk
        monkeypatch.setattr(shop.Invoice._meta.get_field("number"), "assign", "manual", raising=False)
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (id, customer) VALUES (%s, 'A')", [key + 1])
        one = report("invoices")
        assert (one["carried"], one["unnumbered"]["total"]) == (1, 0)

    def test_a_number_on_its_way(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """A number that is stored, and comes to its row within a moment, is no gap."""
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (id, customer) VALUES (4, 'A')")
        field = shop.Invoice._meta.get_field("number")
        update = shop.Invoice._base_manager.get_queryset().__class__.update
        monkeypatch.setattr(shop.Invoice._base_manager._queryset_class, "update", lambda *args, **values: 0)
        number_rows(field, keys=[4])
        assert report("invoices")["unexplained"] == 1
        monkeypatch.setattr(shop.Invoice._base_manager._queryset_class, "update", update)
        monkeypatch.setattr(column_check, "time", mock.Mock(sleep=lambda seconds: number_rows(field, keys=[4])))
        assert report("invoices")["unexplained"] == 0

    @pytest.mark.usefixtures("small_pages")
    def test_a_function_as_scope(self, shop: ModuleType) -> None:
        """Rows whose scope a function tells are read once, and each scope has its report; also one that is named."""
        for year, month in ((2026, 1), (2027, 1), (2026, 2), (2027, 2), (2026, 3)):
            shop.Receipt.objects.create(day=datetime.date(year, month, 1))
        shop.Receipt.objects.filter(day__year=2026, number=2).delete()
        found = {one["scope"]: gaps(one) for one in reports("receipts")}
        assert found == {"2026": [(2, 2, "", "")], "2027": []}
        (one,) = reports("receipts", "--scope", "2027")
        assert (one["scope"], one["carried"]) == ("2027", 2)

    def test_a_result_is_kept_once(self, shop: ModuleType) -> None:
        """What is kept counts a number once, and has what was found in its items and in its rows."""
        invoices = [shop.Invoice.objects.create(customer="A") for _ in range(3)]
        invoices[1].delete()
        assert audited("invoices", "--keep", "--by", "ana")[1] == 1
        (kept,) = latest_audits(strategies["invoices"])
        assert (kept.stored, kept.scopes, kept.unexplained, kept.findings) == (3, 1, 1, ("in rows: gap: 2",))


def test_a_scope_that_cannot_be(shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row for which a function says no scope is listed without one, and the others are audited."""
    field: Field[Any, Any] = shop.Receipt._meta.get_field("number")
    monkeypatch.setattr(field, "scope", lambda row: "" if row.day.year == 2024 else "a place")
    receipts = [shop.Receipt.objects.create(day=datetime.date(year, 1, 1)) for year in (2024, 2025)]
    of_none, of_place = sorted(reports("receipts"), key=lambda one: str(one["scope"] or ""))
    assert of_none["scope"] is None
    assert [one["row"] for one in of_none["unnumbered"]["listed"]] == [f"shop.Receipt {receipts[0].pk}"]
    assert (of_place["scope"], of_place["carried"], of_place["unnumbered"]["total"]) == ("a place", 1, 0)


class TestPeriods:
    @pytest.fixture
    def dated(self, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> SequenceField:
        """The receipts, numbered in the year of their day."""
        settings.SEQUENCES = {**settings.SEQUENCES, "receipts": {**settings.SEQUENCES["receipts"], "PERIOD": "year"}}
        field: Field[Any, Any] = shop.Receipt._meta.get_field("number")
        assert isinstance(field, SequenceField)
        monkeypatch.setattr(field, "scope", None)
        monkeypatch.setattr(field, "date", "day")
        return field

    @pytest.mark.usefixtures("small_pages", "dated")
    def test_each_period_is_audited(self, shop: ModuleType) -> None:
        """A row counts in the period of its date, and a period can be named."""
        for year in (2026, 2027, 2026, 2027, 2026):
            shop.Receipt.objects.create(day=datetime.date(year, 1, 1))
        shop.Receipt.objects.filter(day__year=2026, number=2).delete()
        found = {one["period"]: gaps(one) for one in reports("receipts")}
        assert found == {"2026": [(2, 2, "", "")], "2027": []}
        assert [one["period"] for one in reports("receipts", "--period", "2027")] == ["2027"]

    def test_without_a_date(self, shop: ModuleType, dated: SequenceField, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no column says the period, the rows cannot be compared, and a line says so."""
        monkeypatch.setattr(dated, "date", None)
        printed, _ = audited("receipts")
        said = f"receipts: not compared, as no `date` says the periods of its rows: shop.Receipt.number {WHERE}."
        assert printed.splitlines()[0] == said
        assert "in rows" not in printed

    def test_a_year_that_cannot_be(self, shop: ModuleType, dated: SequenceField) -> None:
        """A row that was given a typing error as its year is listed, and the others are audited."""
        wrong, *_ = [shop.Receipt.objects.create(day=datetime.date(2026, 1, 1)) for _ in range(3)]
        shop.Receipt.objects.filter(pk=wrong.pk).update(day=datetime.date(206, 1, 1))
        of_none, of_year = sorted(reports("receipts"), key=lambda one: str(one["period"]))
        assert [one["problem"] for one in of_none["strays"]["listed"]] == ["of no period: look at the date of its row"]
        assert gaps(of_year) == [(1, 1, "", "")]

    def test_an_empty_date(self, shop: ModuleType, dated: SequenceField) -> None:
        """A row whose date is empty is listed, and compared with nothing."""
        row = shop.Receipt(pk=1, number=4)
        check = column_check.ColumnCheck(strategies["receipts"], None, columns_of("receipts"), lambda finding: None)
        check.take(columns.Row(4, columns_of("receipts")[0], row))
        (stray,) = check.finished().strays.listed
        assert (stray.sort_key, stray.problem) == ("4 of shop.Receipt 1", "of no period: look at the date of its row")


class TestRules:
    """Scopes with rules of their own (SERIES)."""

    @pytest.fixture
    def by_year(self, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """The receipts, all in one scope, numbered in the year of their day, or as the rules of the scope say."""
        more = {"PERIOD": "year", "SERIES": "sequences"}
        settings.SEQUENCES = {**settings.SEQUENCES, "receipts": {**settings.SEQUENCES["invoices"], **more}}
        field: Any = shop.Receipt._meta.get_field("number")
        monkeypatch.setattr(field, "scope", lambda row: "A")
        monkeypatch.setattr(field, "date", "day")

    @pytest.mark.usefixtures("by_year")
    def test_periods(self, shop: ModuleType) -> None:
        """A row counts in the period of its scope's own line: what is missing there, or twice, is found."""
        series.create("receipts", "A", Line(format="A{period}/{value}", period="month"), **SIGNED)
        for month in (1, 2, 1, 2, 2, 1):
            shop.Receipt.objects.create(day=datetime.date(2025 + month, month, 1))
        shop.Receipt.objects.filter(day__month=1, number=2).delete()
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE shop_receipt AS SELECT * FROM main.shop_receipt")
            cursor.execute("UPDATE temp.shop_receipt SET number = 3 WHERE number = 2")
        found = {one["period"]: (gaps(one), one["duplicates"]["total"], one["carried"]) for one in reports("receipts")}
        assert found == {"2026-01": ([(2, 2, "", "")], 0, 2), "2027-02": ([(2, 2, "", "")], 1, 2)}

    def test_start_and_step(self, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only what its own line gives is missing."""
        settings.SEQUENCES = {"invoices": {**settings.SEQUENCES["invoices"], "SERIES": "sequences"}}
        monkeypatch.setattr(shop.Invoice._meta.get_field("number"), "scope", "customer")
        series.create("invoices", "A", Line(format="A{value}", start=5000, step=10), **SIGNED)
        for _ in range(4):
            shop.Invoice.objects.create(customer="A")
        assert gaps(report("invoices")) == []
        shop.Invoice.objects.filter(number=5010).delete()
        assert gaps(report("invoices")) == [(5010, 5010, "", "")]

    @pytest.mark.usefixtures("by_year")
    def test_a_day_that_no_line_is_for(self, shop: ModuleType) -> None:
        """A row that was given a day after the last line is listed, and the others are audited."""
        line = Line(format="A{period}/{value}", valid_to=datetime.date(2025, 6, 30))
        series.create("receipts", "A", line, **SIGNED)
        wrong, *_ = [shop.Receipt.objects.create(day=datetime.date(2025, 1, 1)) for _ in range(2)]
        shop.Receipt.objects.filter(pk=wrong.pk).update(day=datetime.date(2126, 1, 1))
        of_none, of_year = sorted(reports("receipts"), key=lambda one: str(one["period"]))
        assert [one["problem"] for one in of_none["strays"]["listed"]] == ["of no period: look at the date of its row"]
        assert gaps(of_year) == [(1, 1, "", "")]


class TestLists:
    def test_csv_has_a_line_for_each_finding(self, shop: ModuleType) -> None:
        """A list for an auditor: gaps with their reasons, numbers of several rows, rows without a number."""
        get_next_values(4, "orders")
        without_unique(shop.Order, 1001, 1003, 1003, 1004)
        printed, _ = audited("orders", "--format", "csv")
        lines = [{name: text for name, text in line.items() if text} for line in csv.DictReader(io.StringIO(printed))]
        assert lines == [
            {"sequence": "orders", "kind": "gap", "first": "1002", "last": "1002", "text": "1002"}
            | {"reason": "may be a rollback"},
            {"sequence": "orders", "kind": "duplicate", "first": "1003", "last": "1003", "text": "1003"}
            | {"reason": "shop.Order 2, shop.Order 3"},
        ]

    def test_csv_of_rows_without_a_number(self, shop: ModuleType) -> None:
        """A row without a number has a line with its name."""
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop_invoice (id, customer) VALUES (4, 'A')")
        (line,) = csv.DictReader(io.StringIO(audited("invoices", "--format", "csv")[0]))
        assert (line["kind"], line["first"], line["reason"]) == ("unnumbered", "", "shop.Invoice 4")

    def test_what_is_listed_is_bounded(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond the first findings there is a count."""
        monkeypatch.setattr("sequences.ops.audit.report.MOST_LISTED", 1)
        get_next_values(3, "orders")
        without_unique(shop.Order, 1001, 1001, 1003, 1003)
        printed, _ = audited("orders")
        assert "1 more numbers of several rows" in printed

    def test_progress_is_told(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """The number of rows is shown, page by page."""
        monkeypatch.setattr(columns, "ROWS_A_PAGE", 2)
        for _ in range(5):
            shop.Order.objects.create(customer="A")
        told: list[int] = []
        (one,) = audit_columns(strategies["orders"], columns_of("orders"), [None], progress=told.append)
        assert isinstance(one, ColumnReport)
        assert told == [2, 4]


class TestColumns:
    def test_children_and_proxies_are_read_once(self, shop: ModuleType) -> None:
        """A field belongs to the model that declares it."""
        assert [str(column) for column in columns_of("invoices")] == [f"shop.Invoice.number {WHERE}"]

    def test_a_router_that_keeps_a_model_away(self, shop: ModuleType, settings: Settings) -> None:
        """A database that does not have the model is not asked."""
        settings.DATABASE_ROUTERS = ["tests.sequences.test_seeds.NoShop"]
        assert columns_of("orders") == []

    def test_a_table_that_is_missing(self, shop: ModuleType) -> None:
        """A database error is one sentence."""
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE shop_order RENAME TO shop_other")
            with pytest.raises(CommandError, match="no such table: shop_order"), transaction.atomic():
                call_command("sequences", "audit", "orders", stdout=io.StringIO())
            seed = ["seed", "orders", "--column", "shop.Order.number", "--check", "--reason", "a test"]
            with pytest.raises(CommandError, match="no such table: shop_order"), transaction.atomic():
                call_command("sequences", *seed, stdout=io.StringIO())
            transaction.set_rollback(True)

    def test_places_of_periods(self, shop: ModuleType) -> None:
        """A scope that is known has a report, also without rows."""
        (one,) = audit_columns(strategies["orders"], columns_of("orders"), [Dated(None, "2026")])
        assert (one.period, one.carried) == ("2026", 0)


def in_background(alias: str, scope: Scope = None) -> AuditResult:
    """The result of an audit as the administration begins it."""
    kept = KeptAudits(strategies[alias])
    start_audit(kept.strategy, scope, "ada")
    await_audits()
    _, result = kept.look(scope)
    assert result is not None
    return result


def test_a_prefix(shop: ModuleType) -> None:
    """Of scopes that begin with a text the rows are read, also where the sequence lists none."""
    for pk in (11, 12, 21):
        shop.Delivery.objects.create(order=shop.Order.objects.create(pk=pk, customer="A"))
    assert [one["scope"] for one in reports("deliveries", "--prefix", "1")] == ["11", "12"]
    strategies["deliveries"].forget()
    found = audit_columns(strategies["deliveries"], columns_of("deliveries"), [], prefix="2")
    assert [one.scope for one in found] == ["21"]


class TestInTheBackground:
    def test_a_column_with_the_numbers(self, shop: ModuleType) -> None:
        """The rows are read where the sequence has no items: a gap is no fault, and a number of two rows is one."""
        shop.Order.objects.bulk_create([shop.Order(customer="A") for _ in range(3)])
        shop.Order.objects.get(number=1002).delete()
        result = in_background("orders")
        assert (result.stored, result.missing, result.unexplained, result.last_value) == (2, 1, 0, 1003)

    def test_items_and_rows(self, shop: ModuleType) -> None:
        """A number that an item has and no row is found, as the command finds it."""
        for name in "ABC":
            shop.Invoice.objects.create(customer=name)
        shop.Invoice.objects.get(number=2).delete()
        result = in_background("invoices")
        assert (result.stored, result.missing, result.gaps, result.unexplained) == (3, 1, 1, 1)
        assert result.findings == ("in rows: gap: 2",)

    def test_one_scope(self, shop: ModuleType) -> None:
        """Of a scope and period only their own rows are read."""
        for year in (2025, 2026, 2026):
            shop.Contract.objects.create(signed_on=datetime.date(year, 1, 1))
        assert in_background("contracts", Dated(None, "2026")).stored == 2

    def test_a_database_that_is_away(self, shop: ModuleType) -> None:
        """An error of the database ends the audit, and its page tells it."""
        shop.Order.objects.create(customer="A")
        with mock.patch.object(columns.Column, "numbered", side_effect=OperationalError("no such database")):
            kept = KeptAudits(strategies["orders"])
            start_audit(kept.strategy, None, "ada")
            await_audits()
        run, result = kept.look(None)
        assert run is not None
        assert (run.problem, result) == ("no such database", None)
