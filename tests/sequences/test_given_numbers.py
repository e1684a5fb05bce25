"""Numbers that are set by hand or imported: the counter moves past them, so that no later row collides with one."""

from __future__ import annotations

import datetime
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest
from django.core.management import call_command
from django.core.serializers import deserialize
from django.db import IntegrityError, transaction
from django.db.models import F, Value
from pytest_django import Settings

from sequences import dynamodb, get_last_value, get_next_value, series
from sequences.changes import freeze, history
from sequences.exceptions import InvalidPeriod, InvalidScope, SequenceFrozen, SequenceUnavailable
from sequences.fields import sequence_field, sequence_fields
from sequences.fields.sequence_field import loaded_here
from sequences.registry import strategies
from tests import shop as shop_app
from tests.sequences.support import tapped

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_installed_shop")]

DAY = datetime.date(2026, 3, 5)


def numbers(model: Any) -> list[Any]:
    """The numbers of all rows, in the order in which the rows were made."""
    return list(model._base_manager.order_by("pk").values_list("number", flat=True))


def load(*rows: dict[str, Any]) -> None:
    """Load rows as `loaddata` does: in one transaction."""
    with transaction.atomic():
        for loaded in deserialize("python", rows):
            loaded.save()


def order(number: Any, pk: int | None = None) -> dict[str, Any]:
    """An order in a fixture."""
    return {"model": "shop.order", "pk": pk, "fields": {"customer": "A", "number": number}}


def bill(number: int, day: datetime.date | None) -> dict[str, Any]:
    """A bill in a fixture."""
    return {"model": "shop.bill", "pk": number, "fields": {"customer": "A", "issued_on": day, "number": number}}


class TestByHand:
    def test_the_next_rows_come_after_it(self, shop: ModuleType) -> None:
        """Numbers that somebody uses ahead of the sequence are not given again."""
        shop.Order.objects.create(customer="A")
        for number in (1002, 1003, 1004, 1005, 1006):
            shop.Order.objects.create(customer="import", number=number)
        assert [shop.Order.objects.create(customer="B").number for _ in range(2)] == [1007, 1008]

    def test_what_it_costs(self, shop: ModuleType) -> None:
        """A number above all that are known costs a read and a write, and another one nothing."""
        made = shop.Order.objects.create(customer="A")
        with tapped() as wire:
            row = shop.Order.objects.create(customer="A", number=5000)
        assert wire.operations == ["GetItem", "UpdateItem"]
        with tapped() as wire:
            row.save()
            shop.Order.objects.create(customer="A", number="4000")
            shop.Order.objects.create(customer="A", number=-5)
            made.number, made.pk = 4999, None
            made.save()
        assert wire.sent == []
        assert get_last_value("orders") == 5000

    def test_a_process_that_knows_nothing(self, alone_on_its_host: None, shop: ModuleType) -> None:
        """A number below the counter costs one read where the counter is not known, and moves nothing."""
        shop.Order.objects.create(customer="A")
        shop.Order.objects.all().delete()
        strategies["orders"].forget()
        with tapped() as wire:
            for number in (1000, 1001):
                shop.Order.objects.create(customer="A", number=number)
        assert wire.operations == ["GetItem"]
        assert get_last_value("orders") == 1001

    def test_in_its_scope_and_period(self, shop: ModuleType) -> None:
        """Only the counter of the row's scope moves, or that of its period."""
        orders = shop.Order.objects.bulk_create([shop.Order(customer="A"), shop.Order(customer="B")])
        shop.Delivery.objects.create(order=orders[0], number=9)
        assert [shop.Delivery.objects.create(order=each).number for each in orders] == [10, 1]
        shop.Contract.objects.create(signed_on=datetime.date(2025, 6, 1), number=9)
        days = (datetime.date(2025, 7, 1), datetime.date(2026, 7, 1))
        assert [shop.Contract.objects.create(signed_on=day).number for day in days] == [10, 1]

    @pytest.mark.parametrize("adding", [True, False])
    def test_a_copy_in_another_scope(self, shop: ModuleType, adding: bool) -> None:
        """A copy that keeps its number counts where it is then; one in its own scope asks nothing."""
        orders = [shop.Order.objects.create(customer=name) for name in "AB"]
        copy = shop.Delivery.objects.create(order=orders[0])
        copy.pk, copy._state.adding, copy.order = None, adding, orders[1]
        copy.save()
        assert shop.Delivery.objects.create(order=orders[1]).number == 2
        copy.number = 9
        with tapped() as wire:
            shop.Delivery.objects.filter(pk=copy.pk).delete()
            copy.number, copy.pk, copy._state.adding = 1, None, adding
            copy.save()
        assert wire.sent == []

    def test_by_its_text(self, shop: ModuleType) -> None:
        """Where no column has the date, a number counts in the period that its text tells."""
        shop.Statement.objects.create(number=9, text="INV-2025-000009")
        assert [get_last_value("bills", period=period) for period in ("2025", None)] == [9, None]
        assert shop.Statement.objects.create().number == 1

    def test_bulk_create(self, shop: ModuleType) -> None:
        """The highest of the rows counts, before the others take theirs: none of them collides."""
        shop.Order.objects.create(customer="A")
        given = [shop.Order(customer="A", number=number) for number in (1002, 1005, 1003)]
        with tapped() as wire:
            shop.Order.objects.bulk_create([shop.Order(customer="B"), *given])
        assert wire.operations == ["GetItem", "UpdateItem", "UpdateItem"]
        assert numbers(shop.Order) == [1001, 1006, 1002, 1005, 1003]

    def test_a_failed_save_is_tried_again(self, shop: ModuleType, settings: Settings) -> None:
        """The number that an object got from the sequence is none that was set."""
        settings.SEQUENCES = with_blocks()
        row = shop.Order(customer="A")
        (field,) = sequence_fields(shop.Order)
        field.pre_save(row, add=True)
        with tapped() as wire:
            row.save()
        assert wire.sent == []

    def test_a_number_that_the_sequence_never_reaches(self, shop: ModuleType, settings: Settings) -> None:
        """A number above MAXIMUM is in the way of none, and does not use the sequence up."""
        settings.SEQUENCES = {**shop_app.SEQUENCES, "orders": {**shop_app.SEQUENCES["orders"], "MAXIMUM": 2000}}
        shop.Order.objects.create(customer="A", number=900_000)
        assert shop.Order.objects.create(customer="B").number == 1001

    def test_an_expression(self, shop: ModuleType) -> None:
        """A number that the database computes is not known, and moves nothing."""
        shop.Order.objects.create(customer="A", number=Value(5000))
        assert get_last_value("orders") is None
        assert numbers(shop.Order) == [5000]

    @pytest.mark.parametrize("name", ["Order", "Invoice"])
    def test_a_number_that_the_column_cannot_hold(self, shop: ModuleType, name: str) -> None:
        """It is refused before the counter moves, which would never come back."""
        model = getattr(shop, name)
        with pytest.raises(ValueError, match=f"shop.{name}.number is set to {2**63}; the column holds"):
            model.objects.create(customer="A", number=2**63)
        assert get_last_value(f"{name.lower()}s") is None
        model.objects.create(customer="A", number=2**63 - 1)

    def test_refused(self, shop: ModuleType) -> None:
        """What cannot be counted past is not stored: in a scope that is frozen, and in none."""
        shop.Order.objects.create(customer="A")
        freeze("orders", by="tests", reason="the books are closed")
        with pytest.raises(SequenceFrozen):
            shop.Order.objects.create(customer="A", number=5000)
        with pytest.raises(InvalidScope):
            shop.Delivery.objects.create(number=5)
        assert numbers(shop.Order) == [1001]


def with_blocks() -> dict[str, Any]:
    """The sequences of the shop, with orders from blocks."""
    blocks = {"STRATEGY": "sequences.strategies.block.BlockAllocator", "OPTIONS": {"watch_seconds": 3600}}
    return {**shop_app.SEQUENCES, "orders": {**blocks, "START": 1001}}


class TestBlocks:
    @pytest.fixture(autouse=True)
    def _blocks(self, shop: ModuleType, settings: Settings) -> None:
        """Orders are numbered from blocks of a hundred."""
        settings.SEQUENCES = with_blocks()

    def test_a_number_within_a_block(self, shop: ModuleType) -> None:
        """A number of the block that this process holds is not given by it."""
        shop.Order.objects.create(customer="A")
        shop.Order.objects.create(customer="import", number=1002)
        assert shop.Order.objects.create(customer="B").number > 1002

    def test_other_processes_learn_of_it(self, shop: ModuleType) -> None:
        """A line in the history makes other processes drop their blocks; a second number below needs none."""
        get_next_value("orders")
        shop.Order.objects.create(customer="import", number=1050)
        with tapped() as wire:
            shop.Order.objects.create(customer="import", number=1049)
        assert wire.sent == []
        ((line,), _) = history("orders")
        assert (line.kind, line.by, line.reason) == ("seed", "shop.Order.number", "a number that was set by hand")

    def test_tables_that_were_made_anew(self, shop: ModuleType) -> None:
        """What is remembered of tables that are gone does not count."""
        shop.Order.objects.create(customer="import", number=1050)
        for table in (dynamodb.table_name("sequences"), dynamodb.table_name("sequence_items")):
            dynamodb.delete_table(table)
        call_command("create_tables", verbosity=0)
        assert get_next_value("orders") == 1001
        shop.Order.objects.create(customer="import", number=1049)
        assert get_next_value("orders") > 1049


@pytest.fixture(params=["sort_key.SortKeyMaximum", "transactional.TransactionalCounter"])
def _without_gaps(request: pytest.FixtureRequest, shop: ModuleType, settings: Settings) -> None:
    """Invoices and bills are numbered by each strategy without gaps."""
    gapless = {"STRATEGY": f"sequences.strategies.{request.param}"}
    settings.SEQUENCES = {
        **shop_app.SEQUENCES,
        **{name: {**shop_app.SEQUENCES[name], **gapless} for name in ("invoices", "bills")},
    }


@pytest.mark.usefixtures("_without_gaps")
class TestAfterACommit:
    def test_the_next_rows_come_after_it(self, shop: ModuleType) -> None:
        """Rows that are numbered when they are committed do not collide with a number that somebody set."""
        shop.Invoice.objects.create(customer="A")
        for number in (2, 3, 7):
            shop.Invoice.objects.create(customer="import", number=number)
        assert [shop.Invoice.objects.create(customer="B").number for _ in range(2)] == [8, 9]

    def test_what_is_skipped_is_explained(self, shop: ModuleType) -> None:
        """The history says which field brought the number, and the audit accepts what lies below it."""
        shop.Invoice.objects.create(customer="import", number=7)
        shop.Invoice.objects.create(customer="A")
        ((line,), _) = history("invoices")
        assert (line.kind, line.after, line.by) == ("seed", 7, "shop.Invoice.number")
        call_command("sequences", "audit", "invoices")  # of items and rows; it raises for what is unexplained

    def test_what_it_costs(self, shop: ModuleType) -> None:
        """A number that this host knows to be given costs nothing."""
        shop.Invoice.objects.bulk_create([shop.Invoice(customer="A", number=number) for number in (3, 9, 5)])
        with tapped() as wire:
            shop.Invoice.objects.create(customer="A", number=8)
        assert wire.sent == []
        (changes, _) = history("invoices")
        assert [line.after for line in changes] == [9]

    def test_a_draft_that_is_stored_with_a_number(self, shop: ModuleType) -> None:
        """It has its text at once, in the period of its date, and the next one comes after it."""
        bill = shop.Bill.objects.create(customer="A", issued_on=DAY, number=7)
        other = shop.Bill.objects.create(customer="B", issued_on=DAY)
        assert [bill.number_text, bill.issue_number(), other.issue_number()] == ["INV-2026-000007", 7, 8]

    def test_a_draft_that_gets_its_number_by_hand(self, shop: ModuleType) -> None:
        """A number that is set later counts as one that was there at first."""
        bill, other = (shop.Bill.objects.create(customer=name, issued_on=DAY) for name in "AB")
        bill.number = 7
        bill.save(update_fields=["number", "number_text"])
        assert [bill.number_text, other.issue_number()] == ["INV-2026-000007", 8]

    def test_fixtures(self, shop: ModuleType) -> None:
        """What `loaddata` brings counts after its commit."""
        load({"model": "shop.invoice", "pk": 1, "fields": {"customer": "A", "number": 7}})
        assert shop.Invoice.objects.create(customer="B").number == 8

    def test_a_draft_without_a_date(self, shop: ModuleType) -> None:
        """A number needs the period in which it counts."""
        with pytest.raises(InvalidPeriod):
            shop.Bill.objects.create(customer="A", number=7)


class TestStoredRows:
    def test_another_number(self, shop: ModuleType) -> None:
        """A stored row that gets another number moves the counter past it."""
        row = shop.Order.objects.create(customer="A")
        row.number = 2000
        row.save()
        assert shop.Order.objects.create(customer="B").number == 2001

    def test_its_text_follows(self, shop: ModuleType) -> None:
        """The text of another number is written anew, for the date that the row has then, and never later."""
        row = shop.Contract.objects.create(signed_on=datetime.date(2025, 6, 1))
        row.number = 5
        row.save()
        assert shop.Contract.objects.get_by_text("ct 2025 5") == row
        row.signed_on = datetime.date(2026, 6, 1)
        row.save()
        assert row.number_text == "CT-2025-0005"

    def test_its_text_is_stored_with_it(self, shop: ModuleType) -> None:
        """The text follows into the table also where the number alone is saved; a number that stays changes none."""
        row = shop.Contract.objects.create(signed_on=DAY)
        row.number = 5
        row.save(update_fields=["number"])
        assert shop.Contract.objects.get_by_text("ct 2026 5").number_text == row.number_text
        draft = shop.Bill.objects.create(customer="A", issued_on=DAY)
        stale = shop.Bill.objects.get()
        draft.number = 7
        draft.save(update_fields=["number"])
        stale.save(update_fields=["number"])
        assert shop.Bill.objects.get().number_text == draft.number_text == "INV-2026-000007"

    def test_a_row_that_is_saved_over(self, shop: ModuleType) -> None:
        """A new object that replaces a stored row moves the counter past its number, and has the text of that."""
        former = shop.Order.objects.create(customer="A")
        shop.Order(pk=former.pk, customer="B", number=5000).save()
        assert (numbers(shop.Order), get_last_value("orders")) == ([5000], 5000)
        former = shop.Contract.objects.create(signed_on=DAY)
        shop.Contract(pk=former.pk, signed_on=DAY, number=7).save()
        assert shop.Contract.objects.get().number_text == "CT-2026-0007"

    def test_a_number_that_was_not_read(self, shop: ModuleType) -> None:
        """An object that never read its number moves the counter past another one, and its text follows."""
        shop.Order.objects.create(customer="A")
        row = shop.Order.objects.only("customer").get()
        row.number = 5000
        row.save()
        assert get_last_value("orders") == 5000
        shop.Contract.objects.create(signed_on=DAY)
        for number, year in ((7, 2026), (7, 2025), (8, 2025)):
            row = shop.Contract.objects.only("signed_on").get()
            row.signed_on, row.number = DAY.replace(year=year), number
            row.save()
            texts = shop.Contract.objects.values_list("number_text", flat=True)
            assert texts.get() == ("CT-2026-0007" if number == 7 else "CT-2025-0008")

    def test_an_expression(self, shop: ModuleType) -> None:
        """A number that the database computes is stored, and moves nothing."""
        row = shop.Order.objects.create(customer="A")
        row.number = F("number") + 500
        row.save()
        row.refresh_from_db()
        assert (row.number, get_last_value("orders")) == (1501, 1001)

    def test_a_number_that_is_taken_back(self, shop: ModuleType) -> None:
        """A row that has its own number again when it is saved keeps its text."""
        shop.Contract.objects.create(signed_on=datetime.date(2025, 6, 1))
        row = shop.Contract.objects.get()
        for back in (row.refresh_from_db, lambda: setattr(row, "number", 1)):
            row.number = 7
            back()
            row.signed_on = DAY
            row.save()
            assert shop.Contract.objects.get().number_text == "CT-2025-0001"

    def test_a_number_that_came_elsewhere(self, shop: ModuleType) -> None:
        """A row that another process has issued keeps its text, when it is read again and saved."""
        bill = shop.Bill.objects.create(customer="A", issued_on=DAY)
        shop.Bill.objects.get().issue_number()
        bill.refresh_from_db()
        bill.issued_on = datetime.date(2025, 1, 1)
        bill.save()
        assert (bill.number, bill.number_text) == (1, "INV-2026-000001")

    def test_a_row_that_was_read(self, alone_on_its_host: None, shop: ModuleType) -> None:
        """Whoever reads a row, and saves it with the number that it has, asks nothing."""
        shop.Order.objects.create(customer="A")
        strategies["orders"].forget()
        with tapped() as wire:
            for row in (shop.Order.objects.get(), shop.Order.objects.only("customer").get()):
                row.refresh_from_db()
                row.customer, row.number = "B", 1001
                row.save()
        assert wire.sent == []

    def test_lines_that_another_process_made(
        self, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process that only imports rows follows new rules of SERIES, too."""
        settings.SEQUENCES = {"orders": {**shop_app.SEQUENCES["orders"], "SERIES": "series"}}
        call_command("create_tables", verbosity=0)
        shop.Order.objects.create(customer="A", number=2000)
        with monkeypatch.context() as another:
            another.setattr(strategies, "_made", {})
            another.setattr(strategies, "_lines", {})
            series.create("orders", None, series.Line(format="R{value}"), by="ana", reason="a test")
        shop.Order.objects.create(customer="A", number=5000)
        assert get_last_value("orders") == 5000

    def test_no_number(self, shop: ModuleType) -> None:
        """A stored row whose number is taken away gets no other one."""
        row = shop.Order.objects.create(customer="A")
        row.number = None
        with pytest.raises(IntegrityError):
            row.save()
        assert get_last_value("orders") == 1001


class TestFixtures:
    def test_the_counter_is_past_a_fixture(self, shop: ModuleType) -> None:
        """After the commit the counter is past the highest number, by two requests for all rows."""
        shop.Order.objects.create(customer="A")
        with tapped() as wire:
            load(*[order(number) for number in range(1002, 1012)])
        assert wire.operations == ["GetItem", "UpdateItem"]
        assert shop.Order.objects.create(customer="B").number == 1012

    def test_rows_that_are_named_before_they_come(self, shop: ModuleType) -> None:
        """A scope by a row that comes later in the fixture counts, too."""
        delivery = {"model": "shop.delivery", "pk": 1, "fields": {"order": 77, "number": 5}}
        load(delivery, order(3, pk=77))
        assert shop.Delivery.objects.create(order_id=77).number == 6
        assert get_last_value("orders") is None

    @pytest.mark.parametrize(("text", "last"), [("INV-2025-005000", 5000), (None, None), ("5000", None)])
    def test_rows_of_another_period(
        self, shop: ModuleType, text: str | None, last: int | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Rows of an earlier period count in that, as far as they say it, and never in the present one."""
        fields = {"made_at": datetime.datetime(2025, 3, 5, tzinfo=datetime.UTC), "number": 5000, "text": text}
        load({"model": "shop.statement", "pk": 1, "fields": fields})
        assert [get_last_value("bills", period=period) for period in ("2025", None)] == [last, None]
        told = "shop.Statement.number: the scope or period of 1 rows is not known: see `sequences seed`"
        assert caplog.messages == ([] if last else [told])

    def test_rows_that_do_not_say_their_place(self, shop: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
        """The rows beside them count, and the log tells how many do not."""
        days = [DAY, None, datetime.date(206, 3, 5), datetime.date(2025, 3, 5)]
        load(*(bill(number, day) for number, day in enumerate(days, start=1)))
        assert [get_last_value("bills", period=period) for period in ("2026", "2025")] == [1, 4]
        assert "shop.Bill.number: the scope or period of 1 rows is not known: see `sequences seed`" in caplog.messages

    def test_without_a_transaction(self, shop: ModuleType) -> None:
        """A row that is loaded alone counts at once; one that is loaded again counts by its new number."""
        for number in (2000, 2001):
            for loaded in deserialize("python", [order(number, pk=5)]):
                loaded.save()
        assert get_last_value("orders") == 2001

    def test_a_rollback(self, shop: ModuleType) -> None:
        """A fixture that is rolled back moves nothing, as in a test that never commits."""
        with tapped() as wire, transaction.atomic():
            load(order(5000))
            transaction.set_rollback(True)
        assert wire.sent == []

    def test_a_row_of_the_same_transaction(self, shop: ModuleType) -> None:
        """It comes after the numbers of the fixture, which are counted once; a row of another model asks nothing."""
        shop.Order.objects.create(customer="A")
        with transaction.atomic():
            load(order(1002), order(1003))
            with tapped() as wire:
                shop.Invoice.objects.create(customer="A")
            assert wire.sent == []
            with tapped() as wire:
                made = [shop.Order.objects.create(customer="B").number for _ in range(2)]
            assert wire.operations == ["GetItem", "UpdateItem", "UpdateItem", "UpdateItem"]
            load(order(1006))
            made.append(shop.Order.objects.bulk_create([shop.Order(customer="C")])[0].number)
        assert made == [1004, 1005, 1007]

    def test_a_row_that_is_numbered_after_the_commit(self, shop: ModuleType) -> None:
        """It comes after the numbers of the fixture, too, whichever is first in the transaction."""
        with transaction.atomic():
            row = shop.Invoice.objects.create(customer="A")
            load({"model": "shop.invoice", "pk": None, "fields": {"customer": "B", "number": 1}})
        assert (row.number, numbers(shop.Invoice)) == (2, [2, 1])

    def test_a_draft_that_is_issued_after_the_commit(self, shop: ModuleType) -> None:
        """So does a draft."""
        bill = shop.Bill.objects.create(customer="A", issued_on=DAY)
        with transaction.atomic():
            bill.issue_number()
            load({"model": "shop.bill", "pk": None, "fields": {"customer": "B", "issued_on": DAY, "number": 1}})
        assert (bill.number, numbers(shop.Bill)) == (2, [2, 1])

    def test_a_row_that_a_hook_saves(self, shop: ModuleType) -> None:
        """A hook that runs before the fixture is counted makes rows that come after its numbers."""
        made: list[Any] = []
        with transaction.atomic():
            transaction.on_commit(lambda: made.append(shop.Order.objects.create(customer="A").number))
            transaction.on_commit(lambda: made.append(shop.Invoice.objects.create(customer="A").number))
            load(order(1001), {"model": "shop.invoice", "pk": None, "fields": {"customer": "B", "number": 1}})
        assert made == [1002, 2]

    def test_a_savepoint_that_is_rolled_back(self, shop: ModuleType) -> None:
        """What was loaded in it is not counted, also where more was loaded before it; what was before it is."""
        with transaction.atomic():
            load(order(1001))
            with transaction.atomic():
                load(order(5000))
                transaction.set_rollback(True)
            assert shop.Order.objects.create(customer="A").number == 1002
            load(order(1003))
            with transaction.atomic():
                load(order(6000))
                transaction.set_rollback(True)
        assert shop.Order.objects.create(customer="A").number == 1004

    def test_what_waits_for_the_commit(self, shop: ModuleType) -> None:
        """Rows of a fixture wait in their thread alone, until the end of their transaction, even if a hook fails."""
        with ThreadPoolExecutor() as pool, transaction.atomic():
            load(order(1001))
            assert [waiting.field.name for waiting in loaded_here()] == ["number"]
            assert pool.submit(loaded_here).result() == []
            transaction.set_rollback(True)
        assert loaded_here() == []
        with suppress(ZeroDivisionError), transaction.atomic():
            transaction.on_commit(lambda: 1 // 0)
            load(order(1001))
        assert loaded_here() == []

    def test_an_error_that_is_kept(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fixture that could not be counted, and is rolled back, is gone, also while somebody keeps the error."""
        errors: list[Exception] = []

        def unavailable(*_: object) -> None:
            try:
                raise SequenceUnavailable("The engine is away.", attempts=1, seconds=10.0)
            except SequenceUnavailable as error:
                errors.append(error)
                raise

        with monkeypatch.context() as patch, transaction.atomic():
            load(order(5000))
            patch.setattr(sequence_field, "count_past", unavailable)
            shop.Order.objects.create(customer="A")
            transaction.set_rollback(True)
        assert [type(error) for error in errors] == [SequenceUnavailable]
        assert shop.Order.objects.create(customer="A").number == 1002

    def test_a_row_beside_a_wrong_fixture(
        self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is numbered; what is wrong with the fixture is logged after the commit."""
        monkeypatch.setattr(logging.getLogger("django"), "propagate", True)
        with transaction.atomic():
            load(order(2**63 - 1))
            monkeypatch.setattr(sequence_field, "LARGEST_NUMBER", 2**62)
            assert shop.Order.objects.create(customer="B").number == 1001
            assert "Error calling" not in caplog.text
        assert "Error calling count_on_commit" in caplog.text

    def test_a_failure_after_the_commit_is_logged(
        self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The rows of a fixture are stored, also if their sequence is frozen."""
        shop.Order.objects.create(customer="A")
        freeze("orders", by="tests", reason="the books are closed")
        monkeypatch.setattr(logging.getLogger("django"), "propagate", True)
        load(order(5000))
        assert numbers(shop.Order) == [1001, 5000]
        assert "Error calling count_on_commit" in caplog.text
