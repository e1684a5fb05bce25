"""Texts of numbers in Django models: written with the number, kept as they are, and found by what people type."""

from __future__ import annotations

import datetime
import re
from types import ModuleType
from typing import Any

import pytest
from django.contrib import admin
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.migrations.writer import MigrationWriter
from django.test.utils import CaptureQueriesContext, isolate_apps
from pytest_django import Settings

from sequences import get_last_value
from sequences.exceptions import InvalidText
from sequences.fields import (
    SearchByText,
    SequenceField,
    SequenceTextField,
    number_rows,
    sequence_fields,
    text_fields,
    write_texts,
)
from tests import shop as shop_app
from tests.sequences.support import tapped

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_installed_shop")]

LAST_YEAR, THIS_YEAR = datetime.date(2025, 12, 31), datetime.date(2026, 1, 1)


def with_format(settings: Settings, sequence: str, **changed: Any) -> None:
    """Change the configuration of a sequence, as a new release of the application does."""
    settings.SEQUENCES = {**shop_app.SEQUENCES, sequence: {**shop_app.SEQUENCES[sequence], **changed}}


def texts(model: Any, name: str) -> list[Any]:
    """The stored texts, in the order in which the rows were made."""
    return list(model._base_manager.order_by("pk").values_list(name, flat=True))


class TestBeforeTheSave:
    def test_the_text_comes_with_the_number(self, shop: ModuleType) -> None:
        """The text has the period of the row's date; it is stored, and on the object."""
        made = [shop.Contract.objects.create(signed_on=day) for day in (LAST_YEAR, THIS_YEAR)]
        assert [one.number for one in made] == [1, 1]
        assert [one.number_text for one in made] == texts(shop.Contract, "number_text")
        assert texts(shop.Contract, "number_text") == ["CT-2025-0001", "CT-2026-0001"]

    def test_a_column_before_the_number(self, shop: ModuleType) -> None:
        """The order in which the columns stand is of no matter."""
        field, number = SequenceTextField(of="number"), SequenceField(sequence="contracts", date="day")
        model = made_of(text=field, day=models.DateField(), number=number)
        row: Any = model(day=THIS_YEAR)
        (text,) = text_fields(model)
        assert text.pre_save(row, add=True) == row.text == "CT-2026-0001"
        assert row.number == 1

    def test_bulk_create(self, shop: ModuleType) -> None:
        """One request numbers the rows of a year, and writes their texts."""
        shop.Contract.objects.create(signed_on=THIS_YEAR)
        with tapped() as wire:
            shop.Contract.objects.bulk_create([shop.Contract(signed_on=THIS_YEAR) for _ in range(3)])
        assert wire.operations == ["UpdateItem"]
        assert texts(shop.Contract, "number_text") == [f"CT-2026-000{number}" for number in (1, 2, 3, 4)]

    def test_a_number_that_is_set(self, shop: ModuleType) -> None:
        """A number that is set before the save has a text, also one that comes as a text; a text that is set stays."""
        shop.Contract.objects.create(signed_on=THIS_YEAR, number=7)
        shop.Contract.objects.create(signed_on=THIS_YEAR, number="8")
        shop.Contract.objects.bulk_create([shop.Contract(signed_on=THIS_YEAR, number=9, number_text="old 9")])
        assert texts(shop.Contract, "number_text") == ["CT-2026-0007", "CT-2026-0008", "old 9"]

    def test_the_number_and_its_text_are_of_one_year(
        self, shop: ModuleType, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A row without a date that is numbered at midnight has the text of the year in which its number counts."""
        days = iter([datetime.datetime(2025, 12, 31, 23, 59, tzinfo=datetime.UTC)])
        model = made_of(number=SequenceField(sequence="contracts"), text=SequenceTextField(of="number"))
        row: Any = model()
        (field,) = sequence_fields(model)
        monkeypatch.setattr(
            "sequences.formats.periods.Period.date_of",
            lambda self, given, now: given or next(days, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)).date(),
        )
        field.fill([row])
        assert row.text == "CT-2025-0001"
        assert get_last_value("contracts", period="2025") == 1

    def test_it_is_unique(self, shop: ModuleType) -> None:
        """A second row with the same number in the same year is refused."""
        shop.Contract.objects.create(signed_on=THIS_YEAR, number=7)
        with pytest.raises(IntegrityError, match="number_text"):
            shop.Contract.objects.create(signed_on=THIS_YEAR, number=7)


class TestItStays:
    def test_another_date(self, shop: ModuleType) -> None:
        """A row that gets another date keeps the text under which it is known."""
        contract = shop.Contract.objects.create(signed_on=LAST_YEAR)
        contract.signed_on = THIS_YEAR
        contract.save()
        assert texts(shop.Contract, "number_text") == [contract.number_text] == ["CT-2025-0001"]

    def test_another_format(self, shop: ModuleType, settings: Settings) -> None:
        """A new FORMAT is for new rows."""
        contract = shop.Contract.objects.create(signed_on=THIS_YEAR)
        former = settings.SEQUENCES["contracts"]["FORMAT"]
        with_format(settings, "contracts", FORMAT="{period}/{value:06d}", ALSO_READ=[former])
        contract.save()
        shop.Contract.objects.create(signed_on=THIS_YEAR)
        assert texts(shop.Contract, "number_text") == ["CT-2026-0001", "2026/000002"]
        assert shop.Contract.objects.get_by_text("ct 2026 1") == contract

    def test_a_stale_object(self, shop: ModuleType) -> None:
        """An object that was read before its row was numbered does not erase number and text."""
        with transaction.atomic():
            statement = shop.Statement.objects.create()
            stale = shop.Statement.objects.get()
        stale.save()
        assert texts(shop.Statement, "text") == [statement.text]
        assert texts(shop.Statement, "number") == [1]


class TestCopies:
    @pytest.mark.parametrize("adding", [True, False])
    def test_a_copy_gets_its_own_text(self, shop: ModuleType, adding: bool) -> None:
        """A copy whose number was taken away gets the next one, and the text of that."""
        copy = shop.Contract.objects.create(signed_on=LAST_YEAR)
        copy.pk, copy._state.adding, copy.number = None, adding, None
        copy.save()
        assert (copy.number, copy.number_text) == (2, "CT-2025-0002")
        assert texts(shop.Contract, "number_text") == ["CT-2025-0001", "CT-2025-0002"]

    def test_a_copy_is_a_draft(self, shop: ModuleType) -> None:
        """The copy of an issued row has neither number nor text until it is issued."""
        copy = shop.Bill.objects.create(customer="A", issued_on=LAST_YEAR)
        copy.issue_number()
        copy.pk = copy.number = None
        copy.save()
        assert (copy.number, copy.number_text) == (None, None)
        assert (copy.issue_number(), copy.number_text) == (2, "INV-2025-000002")


class TestAfterTheCommit:
    def test_the_text_follows_with_the_number(self, shop: ModuleType) -> None:
        """Within the transaction there is no text; after it the row and the object have it."""
        with transaction.atomic():
            statement = shop.Statement.objects.create()
            assert statement.text is None
        assert [statement.text] == texts(shop.Statement, "text")
        assert re.fullmatch(r"INV-20\d\d-000001", str(statement.text))

    def test_several_wait_together(self, shop: ModuleType) -> None:
        """Rows without a text are many, and no two of them are the same."""
        with transaction.atomic():
            shop.Statement.objects.bulk_create([shop.Statement() for _ in range(3)])
            assert texts(shop.Statement, "text") == [None, None, None]
        assert len(set(texts(shop.Statement, "text"))) == 3

    def test_after_a_crash(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """`number_rows` writes the text that belongs to the first attempt, also in the next year."""
        (field,) = sequence_fields(shop.Statement)
        with monkeypatch.context() as patch:
            patch.setattr(models.QuerySet, "update", _crash)
            with pytest.raises(KeyboardInterrupt):
                shop.Statement.objects.create()
        year = datetime.date.today().year  # noqa: DTZ011 - the year in which the row was numbered
        monkeypatch.setattr(field, "date_of", lambda row: datetime.date(year + 1, 1, 1))
        assert list(number_rows(field).values()) == [1]
        assert texts(shop.Statement, "text") == [f"INV-{year}-000001"]


class TestEarlierNumbers:
    def test_they_get_their_texts(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows that are older than the column get texts by their dates, page by page, and a second time nothing."""
        monkeypatch.setattr("sequences.fields.numbering.ROWS_AT_ONCE", 2)
        shop.Contract.objects.bulk_create([shop.Contract(signed_on=LAST_YEAR) for _ in range(5)])
        shop.Contract.objects.exclude(number=2).update(number_text=None)
        shop.Contract.objects.filter(number=2).update(number_text="kept")
        (field,) = sequence_fields(shop.Contract)
        with tapped() as wire:
            assert [write_texts(field), write_texts(field)] == [4, 0]
        assert wire.sent == []
        assert texts(shop.Contract, "number_text") == ["CT-2025-0001", "kept", *(f"CT-2025-000{n}" for n in (3, 4, 5))]

    def test_a_row_that_is_wrong(self, shop: ModuleType) -> None:
        """The command names it, and the other rows have their texts."""
        made = [shop.Contract.objects.create(signed_on=LAST_YEAR) for _ in range(3)]
        shop.Contract.objects.update(number_text=None)
        shop.Contract.objects.filter(pk=made[1].pk).update(signed_on=datetime.date(206, 5, 5))
        with pytest.raises(CommandError, match=rf"0206.* Without a text: shop\.Contract {made[1].pk}\.$"):
            call_command("number_rows", "shop.Contract")
        assert texts(shop.Contract, "number_text") == ["CT-2025-0001", None, "CT-2025-0003"]

    def test_a_day_that_is_not_known(self, shop: ModuleType) -> None:
        """Rows that were numbered by the day of their save stay without a text: their year is not known."""
        shop.Statement.objects.create()
        shop.Statement.objects.update(text=None)
        (field,) = sequence_fields(shop.Statement)
        assert write_texts(field) == 0
        assert texts(shop.Statement, "text") == [None]

    def test_the_command_writes_them(self, shop: ModuleType) -> None:
        """`number_rows` writes them, too."""
        shop.Contract.objects.create(signed_on=LAST_YEAR)
        shop.Contract.objects.update(number_text=None)
        call_command("number_rows", "shop.Contract", verbosity=0)
        assert texts(shop.Contract, "number_text") == ["CT-2025-0001"]


class TestReading:
    @pytest.fixture
    def contract(self, shop: ModuleType) -> Any:
        """The second contract of 2026, among others."""
        days = [LAST_YEAR, LAST_YEAR, THIS_YEAR, THIS_YEAR]
        return shop.Contract.objects.bulk_create([shop.Contract(signed_on=day) for day in days])[-1]

    @pytest.mark.parametrize("typed", ["CT-2026-0002", "ct 2026 2", " ct\u20132026\u20132 ", "CT-2026-000002"])
    def test_what_people_type(self, shop: ModuleType, contract: Any, typed: str) -> None:
        """A row is found by any way of writing its text, with one query and no request."""
        with tapped() as wire, CaptureQueriesContext(connection) as queries:
            assert shop.Contract.objects.get_by_text(typed) == contract
        assert (len(queries), wire.sent) == (1, [])

    def test_a_text_of_an_earlier_format(self, shop: ModuleType, contract: Any, settings: Settings) -> None:
        """After a change of FORMAT a row is found as it is printed."""
        with_format(settings, "contracts", FORMAT="{period}/{value:06d}")
        assert shop.Contract.objects.get_by_text("CT-2026-0002 ") == contract

    def test_a_number_that_is_not_there(self, shop: ModuleType, contract: Any) -> None:
        """A right text without a row is the model's own error; another queryset does not find the row."""
        with pytest.raises(shop.Contract.DoesNotExist):
            shop.Contract.objects.get_by_text("CT-2026-0003")
        with pytest.raises(shop.Contract.DoesNotExist):
            shop.Contract.objects.filter(signed_on=LAST_YEAR).get_by_text("CT-2026-0002")

    @pytest.mark.parametrize("typed", ["hello", "", "CT-2026-", None])
    def test_another_form(self, shop: ModuleType, contract: Any, typed: Any) -> None:
        """What cannot be a number of the sequence has another error than one that is not there."""
        with pytest.raises(InvalidText):
            shop.Contract.objects.get_by_text(typed)

    def test_the_field_is_named(self, shop: ModuleType, contract: Any) -> None:
        """The field may be named; a wrong name and a model without one are errors that say what there is."""
        assert shop.Contract.objects.get_by_text("CT-2026-0002", "number_text") == contract
        with pytest.raises(FieldDoesNotExist, match=r"shop.Contract; it has number_text\."):
            shop.Contract.objects.get_by_text("CT-2026-0002", "txet")
        with pytest.raises(FieldDoesNotExist, match=r"shop.Order; it has none\."):
            shop.Order.objects.get_by_text("1001")

    @pytest.mark.parametrize(("typed", "count"), [("CT-2026-0002", 1), ("ct-2026-2", 1), ("2026", 2), ("hello", 0)])
    def test_the_administration_searches(
        self, shop: ModuleType, contract: Any, rf: Any, typed: str, count: int
    ) -> None:
        """A page finds rows by a part of the stored text, and by what people type."""

        class Contracts(SearchByText, admin.ModelAdmin):  # type: ignore[type-arg]
            search_fields = ("number_text",)

        page = Contracts(shop.Contract, admin.site)
        found, _ = page.get_search_results(rf.get("/"), shop.Contract.objects.all(), typed)
        assert found.count() == count
        assert contract in found or not count
        assert page.check() == []

    def test_several_texts(self, shop: ModuleType) -> None:
        """A row of a model with two texts, which may repeat, is found by each of them."""
        number, text = SequenceField(sequence="contracts"), SequenceTextField(of="number", unique=False)
        other, other_text = SequenceField(sequence="orders"), SequenceTextField(of="other")
        model: Any = made_of(number=number, text=text, other=other, other_text=other_text)
        with connection.schema_editor() as editor:
            editor.create_model(model)
        try:
            model.objects.bulk_create([model(text="CT-2026-0007", other_text=one) for one in ("1001", "1002")])
            page = type("Page", (SearchByText, admin.ModelAdmin), {"search_fields": ("pk",)})(model, admin.site)
            found = [page.get_search_results(None, model.objects.all(), typed)[0] for typed in ("ct 2026 7", "01002")]
            assert [len(rows) for rows in found] == [2, 1]
        finally:
            with connection.schema_editor() as editor:
                editor.delete_model(model)


def made_of(**columns: Any) -> type[models.Model]:
    """A model of the shop with these columns."""
    with isolate_apps("tests.shop"):
        meta = type("Meta", (), {"app_label": "shop"})
        return type("Numbered", (models.Model,), {"__module__": "tests.shop.models", "Meta": meta, **columns})


def found(**columns: Any) -> list[CheckMessage]:
    """What the checks find about the fields of such a model."""
    fields = [
        field for field in made_of(**columns)._meta.fields if isinstance(field, SequenceField | SequenceTextField)
    ]
    return [message for field in fields for message in field.check()]


class TestChecks:
    @pytest.fixture(autouse=True)
    def _sequences(self, shop: ModuleType, settings: Settings) -> None:
        """The sequences of the shop, and one with a period and no FORMAT."""
        settings.SEQUENCES = {**shop_app.SEQUENCES, "plain": {**shop_app.SEQUENCES["orders"], "PERIOD": "year"}}

    @pytest.mark.parametrize("name", ["Contract", "Statement"])
    def test_right_arguments(self, shop: ModuleType, name: str) -> None:
        """Fields that are right are silent."""
        model = getattr(shop, name)
        assert [message for field in model._meta.fields for message in field.check()] == []

    @pytest.mark.parametrize(
        ("sequence", "text", "id_", "problem", "hint"),
        [
            ("contracts", {"of": "nubmer"}, "E106", "has no field named 'nubmer'", "Name the SequenceField"),
            ("contracts", {"of": "place"}, "E106", "of='place' is no SequenceField of shop.Numbered", "the same model"),
            ("contracts", None, "W103", "no column keeps the period", "SequenceTextField(of='number')"),
            ("plain", {"of": "number"}, "E107", "the FORMAT of 'plain' has no {period}", "set unique=False"),
        ],
    )
    def test_wrong_arguments(self, sequence: str, text: Any, id_: str, problem: str, hint: str) -> None:
        """The check names what is wrong, and what to do."""
        columns = {"place": models.TextField(), "number": SequenceField(sequence=sequence)}
        given = columns if text is None else {**columns, "text": SequenceTextField(**text)}
        (message,) = [message for message in found(**given) if message.id == f"sequences.{id_}"]
        assert problem in message.msg
        assert hint in (message.hint or "")

    @pytest.mark.parametrize(("sequence", "missing"), [("orders", "{scope}"), ("plain", "{scope} and no {period}")])
    def test_texts_of_scopes(self, sequence: str, missing: str) -> None:
        """A FORMAT that does not tell scopes apart cannot have unique texts."""
        columns = {"place": models.TextField(), "number": SequenceField(sequence=sequence, scope="place")}
        messages = found(**columns, text=SequenceTextField(of="number"))
        assert [message.msg for message in messages if message.id == "sequences.E107"] == [
            f"Two rows may have the same text: the FORMAT of {sequence!r} has no {missing}."
        ]
        assert "sequences.E107" not in [
            message.id for message in found(**columns, text=SequenceTextField(of="number", unique=False))
        ]

    @pytest.mark.parametrize(
        ("format_", "scope", "said"),
        [
            ("INV-{value}", "place", {"E103": "Add {scope} to FORMAT, or leave the scope out."}),
            ("{scope}-{value}", None, {"E103": "Give the field a scope, or leave {scope} out of FORMAT."}),
            ("{scope}-{value}", "place", {}),
        ],
    )
    def test_a_remedy_helps(self, settings: Settings, format_: str, scope: str | None, said: dict[str, str]) -> None:
        """Where a FORMAT does not tell scopes apart, no hint leads to texts that may repeat."""
        settings.SEQUENCES = {"told": {**shop_app.SEQUENCES["orders"], "FORMAT": format_}}
        messages = found(
            number=SequenceField(sequence="told", scope=scope),
            place=models.TextField(),
            text=SequenceTextField(of="number"),
        )
        errors = [message for message in messages if message.id and message.id.startswith("sequences.E")]
        assert {str(message.id).partition(".")[2]: message.hint for message in errors} == said

    def test_the_remedy_for_periods(self, settings: Settings) -> None:
        """A FORMAT that does not tell periods apart is wrong without a column for texts, too."""
        settings.SEQUENCES = {"told": {**shop_app.SEQUENCES["orders"], "FORMAT": "INV-{value}", "PERIOD": "year"}}
        messages = found(number=SequenceField(sequence="told"), text=SequenceTextField(of="number"))
        assert [message.hint for message in messages if message.id == "sequences.E107"] == ["Add it to FORMAT."]

    def test_a_sequence_that_is_not_there(self) -> None:
        """That is said once, about the number."""
        messages = found(number=SequenceField(sequence="nothing"), text=SequenceTextField(of="number"))
        assert [message.id for message in messages if message.id != "sequences.W101"] == ["sequences.E101"]

    def test_a_number_of_a_parent(self, shop: ModuleType) -> None:
        """A text stands in the table of its number: not in that of a child."""
        with isolate_apps("tests.shop"):
            body = {"__module__": "tests.shop.models", "Meta": type("Meta", (), {"app_label": "shop"})}
            child: Any = type("Child", (shop.Invoice,), {**body, "text": SequenceTextField(of="number")})
        assert [message.id for message in child._meta.get_field("text").check()] == ["sequences.E106"]

    @pytest.mark.parametrize(
        ("given", "written"),
        [
            ({}, "(max_length=255, of='number', unique=True)"),
            ({"max_length": 40, "unique": False}, "(max_length=40, of='number', unique=False)"),
        ],
    )
    def test_what_a_migration_has(self, given: Any, written: str) -> None:
        """A migration has the arguments of the field, and none that the field sets itself."""
        field = SequenceTextField(of="number", **given)
        assert MigrationWriter.serialize(field)[0] == f"sequences.fields.SequenceTextField{written}"
        assert field.clone().deconstruct() == field.deconstruct()


def _crash(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
