"""Drafts: rows without numbers, until they are issued; then without gaps, and once."""

from __future__ import annotations

import datetime
import io
import logging
import re
from types import ModuleType
from typing import Any

import pytest
from django.contrib import admin, messages
from django.contrib.messages import get_messages
from django.contrib.messages.storage.fallback import FallbackStorage
from django.core.exceptions import FieldDoesNotExist
from django.core.management import call_command
from django.db import connection, models, transaction
from django.db.migrations.writer import MigrationWriter
from django.db.models import Value
from django.test.utils import CaptureQueriesContext, isolate_apps
from pytest_django import Settings

from sequences import get_last_value
from sequences.exceptions import DateRefused, InvalidPeriod, SequenceUnavailable
from sequences.fields import SequenceField, issue_number, issue_numbers, numbering
from tests import shop as shop_app
from tests.sequences.support import tapped

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_installed_shop")]

TODAY = datetime.date(2026, 3, 5)


@pytest.fixture
def bill(shop: ModuleType) -> Any:
    """A draft that may be issued."""
    return shop.Bill.objects.create(customer="A", issued_on=TODAY)


class ByReplica:
    """A router of a project that reads from a replica, which is away."""

    def db_for_read(self, *_: object, **__: object) -> str:
        return "replica"

    def db_for_write(self, *_: object, **__: object) -> str:
        return "default"


def stored(bill: Any) -> tuple[int | None, str | None]:
    """The number and the text in the row of a bill."""
    number, text = type(bill).objects.values_list("number", "number_text").get(pk=bill.pk)
    return number, text


def last() -> int | None:
    """The last number of the bills."""
    return get_last_value("bills", period="2026")


class TestADraft:
    def test_it_has_no_number(self, shop: ModuleType) -> None:
        """A row is saved, changed and made in bulk without number, text or date, and nothing is sent."""
        with tapped() as wire:
            draft = shop.Bill.objects.create(customer="A")
            draft.customer = "B"
            draft.save()
            shop.Bill.objects.bulk_create([shop.Bill(customer="C")])
        assert wire.sent == []
        assert [stored(each) for each in shop.Bill.objects.all()] == [(None, None)] * 2

    def test_it_needs_no_scope(self) -> None:
        """A draft may be stored before it is known where it will be numbered."""
        model = model_with(sequence="invoices", assign="manual", scope="place")
        assert model._meta.get_field("number").pre_save(model(place=""), add=True) is None

    def test_drafts_are_found(self, shop: ModuleType, bill: Any) -> None:
        """`awaiting_number` gives the rows without a number; none of a model whose rows always have one."""
        issued = shop.Bill.objects.create(customer="B", issued_on=TODAY)
        issued.issue_number()
        shop.Order.objects.create(customer="A")
        assert list(shop.Bill.objects.awaiting_number()) == [bill]
        assert list(shop.Bill.objects.filter(customer="B").awaiting_number()) == []
        assert list(shop.Order.objects.awaiting_number()) == []


class TestIssue:
    def test_at_once(self, bill: Any) -> None:
        """Outside a transaction the number and the text are there when the call returns."""
        assert bill.issue_number() == bill.number == 1
        assert stored(bill) == (1, "INV-2026-000001") == (1, bill.number_text)

    @pytest.mark.usefixtures("unhurried")
    def test_what_it_costs(self, shop: ModuleType, bill: Any) -> None:
        """One row costs what one item costs; a row that has its number costs nothing."""
        bill.issue_number()
        other = shop.Bill.objects.create(customer="B", issued_on=TODAY)
        with tapped() as wire, CaptureQueriesContext(connection) as queries:
            other.issue_number()
        assert wire.operations == ["TransactWriteItems"]
        assert [query["sql"].split()[0] for query in queries] == ["SELECT", "SELECT", "BEGIN", "UPDATE", "COMMIT"]
        with tapped() as wire, CaptureQueriesContext(connection) as queries:
            assert other.issue_number() == 2
        assert (wire.sent, len(queries)) == ([], 0)

    def test_in_a_transaction(self, bill: Any) -> None:
        """Within a transaction the number is not known; after the commit the object has it."""
        with transaction.atomic():
            assert bill.issue_number() is None
            assert last() is None
        assert (bill.number, stored(bill)) == (1, (1, "INV-2026-000001"))

    def test_a_rollback_leaves_no_gap(self, bill: Any) -> None:
        """A transaction that is rolled back takes no number."""
        with transaction.atomic():
            bill.issue_number()
            transaction.set_rollback(True)
        assert (bill.number, last()) == (None, None)
        assert bill.issue_number() == 1

    def test_a_draft_of_a_replica(self, bill: Any, settings: Settings) -> None:
        """A draft that was read from a replica is issued where its model is written."""
        settings.DATABASE_ROUTERS = [f"{__name__}.ByReplica"]
        bill._state.db = "replica"
        assert bill.issue_number() == 1
        settings.DATABASE_ROUTERS = []
        assert stored(bill)[0] == 1

    def test_again_by_another_process(self, shop: ModuleType, bill: Any) -> None:
        """An object that another process read before gives the same number, and takes none."""
        stale = shop.Bill.objects.get()
        assert [bill.issue_number(), stale.issue_number(), stale.number_text] == [1, 1, "INV-2026-000001"]
        assert last() == 1

    def test_a_stale_draft_is_saved(self, shop: ModuleType, bill: Any) -> None:
        """A form that was opened before the bill was issued does not make it a draft again."""
        stale = shop.Bill.objects.get()
        bill.issue_number()
        stale.customer = "B"
        stale.save()
        assert stored(bill) == (1, "INV-2026-000001")
        assert stale.issue_number() == 1

    def test_after_a_crash(self, shop: ModuleType, bill: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A repeat gives the number that was taken before the crash, and those after it stay."""
        with monkeypatch.context() as patch:
            patch.setattr(models.QuerySet, "update", _crash)
            with pytest.raises(KeyboardInterrupt):
                bill.issue_number()
        assert (stored(bill), last()) == ((None, None), 1)
        assert shop.Bill.objects.create(customer="B", issued_on=TODAY).issue_number() == 2
        assert shop.Bill.objects.get(pk=bill.pk).issue_number() == 1
        assert last() == 2

    def test_the_engine_is_away(
        self, bill: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The caller gets the error; after a commit it is logged, and the row stays a draft."""
        monkeypatch.setattr(numbering, "put_next_each", _unavailable)
        monkeypatch.setattr(logging.getLogger("django"), "propagate", True)
        with pytest.raises(SequenceUnavailable):
            bill.issue_number()
        with transaction.atomic():
            bill.issue_number()
        assert "The engine is away" in caplog.text
        assert stored(bill) == (None, None)

    def test_a_row_that_cannot_be_issued(self, shop: ModuleType) -> None:
        """A row without its date is refused within the transaction; one that is not saved, or not there, too."""
        with transaction.atomic(), pytest.raises(InvalidPeriod, match="'issued_on', which is empty"):
            shop.Bill.objects.create(customer="A").issue_number()
        for unsaved in (shop.Bill(issued_on=TODAY), shop.Bill(pk=77, issued_on=TODAY)):
            with pytest.raises(ValueError, match=r"shop.Bill is not saved yet"):
                unsaved.issue_number()
        gone = shop.Bill.objects.create(customer="A", issued_on=TODAY)
        shop.Bill.objects.all().delete()
        with pytest.raises(shop.Bill.DoesNotExist):
            gone.issue_number()
        assert last() is None

    @pytest.mark.parametrize("day", [None, datetime.date(2025, 3, 5)])
    def test_a_date_that_is_not_saved(self, shop: ModuleType, day: datetime.date | None) -> None:
        """A row is numbered as it is stored: one that says another date is refused, and takes no number."""
        bill = shop.Bill.objects.create(customer="A", issued_on=day)
        bill.issued_on = TODAY
        with pytest.raises(ValueError, match=r"'issued_on' of row \d+ is not saved yet: save the row, and then issue"):
            bill.issue_number()
        assert stored(bill) == (None, None)
        bill.save()
        assert (bill.issue_number(), bill.number_text) == (1, "INV-2026-000001")

    def test_the_field_is_named(self, shop: ModuleType, bill: Any) -> None:
        """The field may be named; a wrong name is an error that says what there is, as for a model without drafts."""
        with pytest.raises(FieldDoesNotExist, match=r"shop.Bill with assign='manual'; it has number\."):
            bill.issue_number("nubmer")
        assert bill.issue_number("number") == 1
        with pytest.raises(FieldDoesNotExist, match=r"it has none\."):
            issue_number(shop.Order.objects.create(customer="A"))
        assert not hasattr(shop.Order, "issue_number")

    def test_a_method_of_ones_own(self, shop: ModuleType) -> None:
        """A model that has a method of this name keeps it."""
        assert model_with(sequence="bills", assign="manual", issue_number="mine").issue_number == "mine"

    def test_a_model_without_drafts(self, shop: ModuleType) -> None:
        """It has no such method."""
        assert not hasattr(shop.Receipt, "issue_number")


class TestMany:
    def test_many_at_once(self, shop: ModuleType) -> None:
        """The drafts of a queryset are issued together, in the order of their keys; other rows stay."""
        bills = shop.Bill.objects.bulk_create(
            [shop.Bill(customer="AB"[index % 2], issued_on=TODAY) for index in range(100)]
        )
        bills[2].issue_number()
        with tapped() as wire:
            found = shop.Bill.objects.filter(customer="A").issue_numbers()
        assert list(found.values()) == list(range(2, 51))
        assert wire.operations.count("TransactWriteItems") == 1
        assert shop.Bill.objects.awaiting_number().count() == 50
        assert shop.Bill.objects.filter(customer="A").issue_numbers() == {}

    def test_they_are_read_where_they_are_written(self, shop: ModuleType, bill: Any, settings: Settings) -> None:
        """A replica for reading may not have the newest drafts yet: it is not asked."""
        settings.DATABASE_ROUTERS = [f"{__name__}.ByReplica"]
        assert shop.Bill.objects.issue_numbers() == {bill.pk: 1}

    def test_in_a_transaction(self, shop: ModuleType, bill: Any) -> None:
        """Within a transaction nothing is taken before the commit."""
        with transaction.atomic():
            assert shop.Bill.objects.issue_numbers() == {}
            assert last() is None
        assert stored(bill) == (1, "INV-2026-000001")

    def test_in_the_order_of_their_dates(self, shop: ModuleType, settings: Settings) -> None:
        """With DATE_ORDER rows issued together get numbers by their dates; a late one stays a draft."""
        settings.SEQUENCES = {**shop_app.SEQUENCES, "bills": {**shop_app.SEQUENCES["bills"], "DATE_ORDER": "refuse"}}
        days = [TODAY + datetime.timedelta(days=n) for n in (2, 0, 1)]
        bills = [shop.Bill.objects.create(customer="A", issued_on=day) for day in days]
        shop.Bill.objects.issue_numbers()
        assert [stored(each)[0] for each in bills] == [3, 1, 2]
        late, following = (shop.Bill.objects.create(customer="B", issued_on=day) for day in (TODAY, days[0]))
        with pytest.raises(DateRefused, match="dated 2026-03-07") as refused:
            shop.Bill.objects.issue_numbers()
        assert f"Not numbered: shop.Bill {late.pk}." in refused.value.__notes__
        assert [stored(each)[0] for each in (late, following)] == [None, 4]

    @pytest.mark.parametrize("by_command", [False, True])
    def test_in_the_order_of_their_dates_on_all_pages(
        self, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch, by_command: bool
    ) -> None:
        """With DATE_ORDER no draft is refused for one that is issued with it, however many there are."""
        settings.SEQUENCES = {**shop_app.SEQUENCES, "bills": {**shop_app.SEQUENCES["bills"], "DATE_ORDER": "refuse"}}
        monkeypatch.setattr(numbering, "ROWS_AT_ONCE", 2)
        days = [TODAY + datetime.timedelta(days=n) for n in (4, 2, 3, 2, 0)]
        bills = [shop.Bill.objects.create(customer="A", issued_on=day) for day in days]
        if by_command:
            call_command("number_rows", "shop.Bill", "--drafts", stdout=io.StringIO())
        else:
            shop.Bill.objects.issue_numbers()
        assert [stored(each)[0] for each in bills] == [5, 2, 4, 3, 1]

    def test_the_command_leaves_drafts_alone(self, shop: ModuleType, bill: Any) -> None:
        """`number_rows` is for what a crash left, and numbers drafts only if it is asked to."""
        output = io.StringIO()
        call_command("number_rows", stdout=output)
        assert stored(bill) == (None, None)
        assert "shop.Bill" not in output.getvalue()
        call_command("number_rows", "shop.Bill", "--drafts", stdout=output)
        assert "shop.Bill.number: 1 rows numbered" in output.getvalue()
        assert stored(bill) == (1, "INV-2026-000001")


class TestTheAdministration:
    @pytest.fixture
    def said(self, shop: ModuleType, rf: Any, admin_user: Any) -> Any:
        """What a page says after the action."""

        class Bills(admin.ModelAdmin):  # type: ignore[type-arg]
            actions = [issue_numbers]

        request = rf.post("/")
        request.user, request.session = admin_user, {}
        request._messages = FallbackStorage(request)
        page: Any = Bills(shop.Bill, admin.site)
        action, _, description = page.get_actions(request)["issue_numbers"]
        assert (page.check(), description) == ([], "Issue numbers")

        def act() -> list[tuple[int, str]]:
            action(page, request, shop.Bill.objects.all())
            return [(message.level, str(message)) for message in get_messages(request)]

        return act

    def test_the_chosen_rows_are_issued(self, shop: ModuleType, said: Any, bill: Any) -> None:
        """The action numbers the drafts that were chosen, and says how many."""
        assert said() == [(messages.SUCCESS, "1 numbers issued.")]
        assert stored(bill) == (1, "INV-2026-000001")

    def test_in_a_transaction(self, said: Any, bill: Any) -> None:
        """Where each request is a transaction, the numbers follow its commit."""
        with transaction.atomic():
            assert said() == [(messages.SUCCESS, "The numbers follow when this request is committed.")]
            assert last() is None
        assert stored(bill) == (1, "INV-2026-000001")

    def test_an_error_is_shown(self, shop: ModuleType, said: Any) -> None:
        """The page says why a row cannot be issued."""
        shop.Bill.objects.create(customer="A")
        ((level, text),) = said()
        assert level == messages.ERROR
        assert "'issued_on', which is empty" in text

    def test_a_number_that_a_constraint_refuses(self, shop: ModuleType, said: Any, bill: Any) -> None:
        """The page says which row has no number, where another row has its text already."""
        shop.Bill.objects.bulk_create([shop.Bill(customer="B", number=Value(1), number_text="INV-2026-000001")])
        ((level, text),) = said()
        assert level == messages.ERROR
        assert text.endswith(f" Not numbered: shop.Bill {bill.pk}.")

    def test_only_for_people_who_may_change(self, shop: ModuleType) -> None:
        """The action asks for the permission to change the rows."""
        assert vars(issue_numbers)["allowed_permissions"] == ["change"]


def model_with(*, issue_number: Any = None, **given: Any) -> Any:
    """A model of the shop with such a field."""
    with isolate_apps("tests.shop"):
        meta = type("Meta", (), {"app_label": "shop"})
        body = {"__module__": "tests.shop.models", "Meta": meta, "place": models.TextField()}
        more = {} if issue_number is None else {"issue_number": issue_number}
        return type("Numbered", (models.Model,), {**body, "number": SequenceField(**given), **more})


class TestChecks:
    def test_right_arguments(self, shop: ModuleType) -> None:
        """A draft that is right is silent."""
        assert [message for field in shop.Bill._meta.fields for message in field.check()] == []

    @pytest.mark.parametrize(
        ("given", "id_", "problem", "hint"),
        [
            ({"assign": "by hand"}, "E108", "assign='by hand' is unknown", "'automatic' or 'manual'"),
            ({"assign": "manual", "on_commit": True}, "E108", "on_commit=True numbers every row", "Leave one of them"),
            ({"assign": "manual", "primary_key": True}, "E104", "cannot wait", "Leave primary_key or assign='manual'"),
            ({"assign": "manual", "sequence": "orders"}, "E102", "assign='manual' wants numbers", "leave assign out"),
            ({"assign": "manual", "sequence": "own"}, "E102", "assign='manual' stores records", "Leave 'value_in' out"),
        ],
    )
    def test_wrong_arguments(
        self, shop: ModuleType, settings: Settings, given: Any, id_: str, problem: str, hint: str
    ) -> None:
        """The check names what is wrong, and what to do."""
        options = {"value_in": "attribute", "key_names": ["id"]}
        own = {**shop_app.SEQUENCES["invoices"], "TABLE": "own_keys", "OPTIONS": options}
        settings.SEQUENCES = {**shop_app.SEQUENCES, "own": own}
        messages_ = model_with(**{"sequence": "invoices", "unique": True, **given})._meta.get_field("number").check()
        (message,) = [message for message in messages_ if message.id == f"sequences.{id_}"]
        assert re.search(problem, message.msg)
        assert hint in message.hint

    def test_what_a_migration_has(self) -> None:
        """A migration has the arguments of the field, and none that the field sets itself."""
        field = SequenceField(sequence="bills", assign="manual")
        written = "sequences.fields.SequenceField(assign='manual', sequence='bills')"
        assert MigrationWriter.serialize(field)[0] == written
        assert field.clone().deconstruct() == field.deconstruct()


def _crash(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def _unavailable(*_: object, **__: object) -> None:
    raise SequenceUnavailable("The engine is away.", attempts=1, seconds=10.0)
