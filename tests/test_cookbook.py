"""The cookbook: each recipe is run as the page shows it, and does what the page promises of it, also in trouble."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from uuid import uuid4

import boto3
import django
import pytest
from boto3.dynamodb.conditions import Key
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, models, transaction
from django.test import AsyncRequestFactory, modify_settings, override_settings
from django.test.utils import isolate_apps
from pytest_django import Settings
from rest_framework.test import APIRequestFactory, force_authenticate

from project.proof.faults.control import Proxy
from project.proof.faults.plans import Rule
from sequences import find, get_item, get_last_value, get_next_value, items, put_next
from sequences.changes import advance
from sequences.dynamodb import silence
from sequences.exceptions import (
    AccessRefused,
    AlsoRefused,
    ItemExists,
    SequenceExhausted,
    SequenceFrozen,
    SequenceUnavailable,
    TableRestored,
)
from sequences.ops import doctor
from sequences.signals import nearly_used_up, value_allocated
from sequences.storage import table_name
from sequences.testing import engine_at, moto_engine, sequence_tables
from tests.restoring import restore, save
from tests.test_docs import FENCED, MANAGE, PAGES, shown

PAGE = "docs/cookbook.md"
RECIPES, MOST_WORDS = 20, 2_800
CRONTAB = re.compile(r"^0 4 \* \* \* cd \S+ && (python manage\.py .*) > audit\.txt \|\| cat audit\.txt$")

Blocks = list[tuple[str, str]]
Cook = Callable[[str], Any]
DAY = date(2026, 3, 5)


def recipes() -> dict[str, Blocks]:
    """The fenced blocks below each heading, each with its language; what all recipes share is under ""."""
    first, *parts = re.split(r"^## (.*)$", PAGES[PAGE], flags=re.MULTILINE)
    return {"": FENCED.findall(first)} | dict(zip(parts[::2], map(FENCED.findall, parts[1::2]), strict=True))


def code_of(heading: str) -> str:
    """The Python of a recipe, after what all recipes share."""
    found = recipes()
    return "\n".join(text for language, text in [*found[""], *found[heading]] if language == "python")


def commands_of(heading: str) -> list[str]:
    """The commands of a recipe, those of a crontab too, without `python manage.py`."""
    blocks = recipes()[heading]
    console = [command for language, text in blocks if language == "console" for command, _ in shown(text)]
    nightly = [CRONTAB.findall(text.strip())[0] for language, text in blocks if not language]
    return [MANAGE.sub("", command) for command in console + nightly]


def does(command: str) -> str:
    """What a command of `manage.py` prints."""
    output = io.StringIO()
    call_command(*shlex.split(command), stdout=output)
    return output.getvalue()


@pytest.fixture
def cook(endpoint: str, table_prefix: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Cook:
    """Runs the code of a recipe, makes its tables, and gives its names. The doctor waits for a slow machine."""
    monkeypatch.setattr(doctor, "PATIENCE_SECONDS", 60.0)

    def cook(heading: str) -> Any:
        names = SimpleNamespace(__name__="tests.shop.recipe")
        exec(code_of(heading), vars(names))
        settings.SEQUENCES = names.SEQUENCES
        settings.SEQUENCES_CLIENTS = getattr(names, "SEQUENCES_CLIENTS", {})
        call_command("create_tables", verbosity=0)
        return names

    return cook


@pytest.fixture
def installed() -> Iterator[None]:
    """An app for the models of a recipe."""
    with modify_settings(INSTALLED_APPS={"append": "tests.shop"}):
        yield


@pytest.fixture
def cook_models(installed: None, cook: Cook, transactional_db: None) -> Iterator[Cook]:
    """The same for a recipe with a model, whose table is there until the end of the test."""
    made: list[type[models.Model]] = []

    def cook_models(heading: str) -> Any:
        with isolate_apps("tests.shop"):
            names = cook(heading)
        found = [each for each in vars(names).values() if inspect.isclass(each) and issubclass(each, models.Model)]
        for model in found:
            with connection.schema_editor() as editor:
                editor.create_model(model)
            made.append(model)
        return names

    yield cook_models
    for model in made:
        with connection.schema_editor() as editor:
            editor.delete_model(model)


@contextmanager
def faults(proxy: Proxy, *rules: Rule, seconds: float = 2.0) -> Iterator[None]:
    """Let the requests of the body go through the proxy, with these faults, and so many seconds for each call."""
    hasty = {name: {**entry, "OPTIONS": {"deadline": seconds}} for name, entry in django_settings.SEQUENCES.items()}
    with engine_at(proxy.endpoint), override_settings(SEQUENCES=hasty):
        proxy.follow(*rules)
        yield
        proxy.calm()


LOST = Rule(fault="lose-close", operation="TransactWriteItems")
"""Each write with a token is stored, and its answer is lost."""
REFUSED = Rule(fault="AccessDeniedException", operation="TransactWriteItems")


def test_the_page() -> None:
    """It has twenty recipes, each with something to run, in few words."""
    found = recipes()
    assert len(found) == RECIPES + 1
    assert [heading for heading, blocks in found.items() if not blocks] == []
    assert len(PAGES[PAGE].split()) <= MOST_WORDS
    used = Path(__file__).read_text(encoding="utf-8")
    assert [heading for heading in found if f'"{heading}"' not in used] == []


def test_keys_and_an_index(cook: Cook) -> None:
    """The key and the key of the index have the number; a tenant's other rows stay apart; the digits are a limit."""
    file_ticket = cook("Keys such as TICKET#42, and an index").file_ticket
    table = boto3.resource("dynamodb").Table(table_name("shop"))
    table.put_item(Item={"pk": "TENANT#acme", "sk": "PROFILE"})
    assert [file_ticket("acme", "Paper", "ada"), file_ticket("acme", "Ink", "bob")] == [1, 2]
    assert file_ticket("best", "Toner", "ada") == 1
    assert "Item" in table.get_item(Key={"pk": "TENANT#acme", "sk": "TICKET#0000000002"})
    of_ada = table.query(IndexName="gsi1", KeyConditionExpression=Key("gsi1pk").eq("USER#ada"))["Items"]
    assert sorted((row["title"], row["gsi1sk"]) for row in of_ada) == [
        ("Paper", "TICKET#0000000001"),
        ("Toner", "TICKET#0000000001"),
    ]
    advance("desk", to=9_999_999_999, scope="acme", by="ana", reason="a look at the end")
    with pytest.raises(SequenceExhausted):
        file_ticket("acme", "One more", "ada")


def test_invoices_by_tenant_and_year(cook: Cook, proxy: Proxy) -> None:
    """Each tenant and year begins at 1; an order gets one invoice, also if an answer is lost, and after New Year."""
    issue = cook("Invoices by tenant and year").issue_invoice
    assert issue("ACME", 7, DAY) == "ACME-2026-00001"
    assert issue("BEST", 8, DAY) == "BEST-2026-00001"
    assert issue("ACME", 9, date(2027, 1, 1)) == "ACME-2027-00001"
    with faults(proxy, Rule(fault="lose-close", operation="TransactWriteItems", count=1), seconds=30.0):
        assert issue("ACME", 10, DAY) == "ACME-2026-00002"
    assert issue("ACME", 10, date(2027, 1, 1)) == "ACME-2026-00002"
    assert issue("ACME", 11, DAY) == "ACME-2026-00003"


class Celery(ModuleType):
    """A stand-in for Celery: a broker that delivers each task twice, as the worker dies before it acknowledges."""

    def __init__(self) -> None:
        super().__init__("celery")
        self.failures: list[Exception] = []
        self.after_failure: Callable[[], None] = lambda: None

    def shared_task(self, *, acks_late: bool, bind: bool, autoretry_for: tuple[type[Exception], ...], **_: Any) -> Any:
        """A task with `delay`, which returns what each of its deliveries has returned."""
        assert acks_late
        assert bind

        def task(function: Callable[..., Any]) -> Any:
            def deliver(request: Any, *arguments: Any) -> Any:
                try:
                    return function(SimpleNamespace(request=request), *arguments)
                except autoretry_for as error:
                    self.failures.append(error)
                    self.after_failure()
                    return deliver(request, *arguments)

            def delay(*arguments: Any) -> list[Any]:
                request = SimpleNamespace(id=str(uuid4()))
                return [deliver(request, *arguments) for _ in range(2)]

            return SimpleNamespace(delay=delay)

        return task


def test_a_task(cook: Cook, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is delivered twice, and repeated after an error, files one ticket; another task files another."""
    celery = Celery()
    monkeypatch.setitem(sys.modules, "celery", celery)
    task = cook("A Celery task").file_ticket
    assert task.delay("ABC", "Paper") == [1, 1]
    assert task.delay("ABC", "Paper") == [2, 2]
    celery.after_failure = proxy.calm
    with faults(proxy, LOST):
        assert task.delay("ABC", "Ink") == [3, 3]
    assert celery.failures
    assert [item.value for item in items("tickets", scope="ABC")] == [1, 2, 3]


def test_a_command(cook: Cook, tmp_path: Path) -> None:
    """A command that runs again keeps the numbers, and stores what was missing."""
    command = cook("A management command").Command()
    path = tmp_path / "tickets.csv"
    path.write_text("id,title\n7,Paper\n8,Ink\n", encoding="utf-8")
    output = io.StringIO()
    call_command(command, str(path), stdout=output)
    path.write_text("id,title\n7,Paper\n8,Ink\n9,Toner\n", encoding="utf-8")
    call_command(command, str(path), stdout=output)
    assert output.getvalue() == "7: ABC-1\n8: ABC-2\n7: ABC-1\n8: ABC-2\n9: ABC-3\n"
    assert get_item("tickets", 3, scope="ABC").item == {"id": "9", "title": "Toner"}  # type: ignore[union-attr]


def test_signals(cook: Cook, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """A mail is sent from 90 % on, and once for a percent; a receiver that raises takes no number from the caller."""
    settings.ADMINS = [("Ana", "ana@example.com")]
    names = cook("Signals")
    allocated: list[int] = []

    def fails(values: list[int], **_: Any) -> None:
        allocated.extend(values)
        raise RuntimeError("It fails.")

    value_allocated.connect(fails)
    try:
        assert get_next_value("coupons") == 1
        assert mail.outbox == []
        advance("coupons", to=898, by="ana", reason="nearly there")
        assert [get_next_value("coupons") for _ in range(4)] == [899, 900, 901, 902]
    finally:
        value_allocated.disconnect(fails)
        nearly_used_up.disconnect(names.warn)
    assert allocated == [1, 899, 900, 901, 902]
    assert "It fails." in caplog.text
    assert [(one.subject.removeprefix(settings.EMAIL_SUBJECT_PREFIX), one.body) for one in mail.outbox] == [
        ("coupons: 90 % used", "The last number is 1000.")
    ]


def test_after_the_commit(cook_models: Cook, proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    """A rollback files nothing; after a failure the column is empty, and a repeat fills it with one ticket."""
    names = cook_models("After the commit of a transaction")
    order = names.place_order("Ada")
    assert names.Order.objects.get(pk=order.pk).ticket == 1
    with transaction.atomic():
        names.place_order("Bob")
        transaction.set_rollback(True)
    assert get_last_value("tickets", scope="SHOP") == 1
    with transaction.atomic():
        put_next("tickets", {"order": 7}, scope="SHOP")
        transaction.set_rollback(True)
    assert get_last_value("tickets", scope="SHOP") == 2
    with faults(proxy, LOST):
        names.place_order("Cleo")
    assert "Error calling" in caplog.text
    for waiting in names.Order.objects.filter(ticket=None):
        names.file_ticket(waiting)
    assert [*names.Order.objects.order_by("pk").values_list("customer", "ticket")] == [("Ada", 1), ("Cleo", 3)]
    assert get_last_value("tickets", scope="SHOP") == 3


def test_rest_with_a_model(cook_models: Cook, settings: Settings) -> None:
    """A repeat gets its order; another body, another person, another key and no key do not."""
    names = cook_models("Django REST framework with a model")
    settings.REST_FRAMEWORK = names.REST_FRAMEWORK
    view = names.Orders.as_view({"post": "create"}, permission_classes=[])  # the sample's are closed
    people = {name: User.objects.create_user(name) for name in ("ada", "bob")}

    def post(customer: str, key: str | None = "8f14e45f", person: str = "ada") -> Any:
        request = APIRequestFactory().post(
            "/orders/", {"customer": customer}, headers={"Idempotency-Key": key} if key else {}
        )
        force_authenticate(request, people[person])
        return view(request)

    first, again = post("Ada"), post("Ada")
    assert (
        (first.status_code, first.data) == (again.status_code, again.data) == (201, {"number": 1001, "customer": "Ada"})
    )
    assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
    refused = post("Bob")
    assert (refused.status_code, json.loads(refused.content)["code"]) == (422, "idempotency_mismatch")
    assert post("Ada", "x" * 300).status_code == 400
    assert [post("Ada", person="bob").data["number"], post("Ada", "c9f0").data["number"]] == [1002, 1003]
    assert [post("Ada", None).data["number"], post("Ada", None).data["number"]] == [1004, 1005]
    assert names.Order.objects.count() == 5
    names.Order.objects.filter(number=1001).update(customer="Eve")
    assert post("Ada").status_code == 422
    with pytest.raises(IntegrityError):
        names.Order.objects.create(customer="Ada", request=names.Order.objects.latest("pk").request)
    assert post("Ada", "d40b").data["number"] == 1007


def test_an_asynchronous_view(cook: Cook, db: None) -> None:
    """Awaiting requests get different numbers, a repeat its own, and another person's key is another one."""
    view = cook("An asynchronous view").file_ticket

    def request(title: str, key: str, person: str = "ada") -> Any:
        request = AsyncRequestFactory().post("/", {"title": title}, headers={"Idempotency-Key": key})

        async def auser() -> User:
            return User(username=person)

        request.auser = auser
        return view(request, "ABC")

    async def requests() -> list[int]:
        first = await asyncio.gather(*(request(f"{number}", f"{number}") for number in range(3)))
        task = asyncio.create_task(request("gone", "gone"))
        await asyncio.sleep(0)
        task.cancel()
        later = [await request("2", "2"), await request("2", "2", "bob"), await request("gone", "gone")]
        return [json.loads(answer.content)["number"] for answer in [*first, *later]]

    numbers = asyncio.run(requests())
    assert sorted(numbers[:3]) == [1, 2, 3]
    assert numbers[3] == numbers[2]
    assert sorted(numbers[4:]) == [4, 5]
    assert [item.value for item in items("tickets", scope="ABC")] == [1, 2, 3, 4, 5]


def test_an_unknown_outcome(cook: Cook, proxy: Proxy) -> None:
    """A lost answer is repeated later, and finds its ticket; what is certain is raised."""
    names, later = cook("When the outcome is unknown"), list[tuple[str, str]]()
    names.repeat_later = lambda *arguments: later.append(arguments)
    assert names.file_ticket("Paper", "1") == 1
    with faults(proxy, LOST):
        assert names.file_ticket("Ink", "2") is None
    with (
        faults(proxy, REFUSED, seconds=30.0),
        pytest.raises(AccessRefused),
    ):
        names.file_ticket("Toner", "3")
    assert later == [("Ink", "2")]
    assert names.file_ticket(*later[0]) == 2
    assert [item.item["title"] for item in items("tickets", scope="ABC")] == ["Paper", "Ink"]


def gave_up() -> SequenceUnavailable:
    """The error of a call while nothing answers."""
    with pytest.raises(SequenceUnavailable) as raised:
        put_next("tickets", {}, scope="ABC")
    return raised.value


def test_shorter_deadlines(cook: Cook, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A web process gives up early while nothing answers, and then at once; a worker goes on with the same rows."""
    assert not hasattr(cook("Shorter deadlines for web processes"), "SEQUENCES_CLIENTS")
    assert put_next("tickets", {}, scope="ABC").value == 1
    monkeypatch.setenv("PROCESS", "web")
    monkeypatch.setattr(silence, "ASK_SECONDS", 60.0)  # however slow the machine is, no call here asks again
    assert cook("Shorter deadlines for web processes").SEQUENCES_CLIENTS
    assert put_next("tickets", {}, scope="ABC").value == 2
    with engine_at(proxy.endpoint):
        proxy.partition()
        errors = [gave_up() for _ in range(4)]
        proxy.heal()
    assert max(error.seconds for error in errors) < 10
    assert "has answered nothing for" in str(errors[-1])
    assert errors[-1].attempts == 1


def test_an_import(cook: Cook) -> None:
    """Items come under their numbers; a repeat stores what is missing; a number that is taken is named."""
    take_over = cook("An import that brings its numbers").take_over
    rows = [{"number": number, "title": f"old {number}"} for number in (4711, 12, 13)]
    assert sorted(take_over(rows[:2])) == [12, 4711]
    assert take_over(rows) == [13]
    assert put_next("tickets", {"title": "new"}, scope="ABC").value == 4712
    with pytest.raises(ItemExists, match="12"):
        take_over([{"number": 12, "title": "another"}])


def test_closing_a_year(cook: Cook) -> None:
    """Every tenant's year is closed, and no other, also for one that had no invoice in it; the year can be opened."""
    cook("Close a year")

    def issue(tenant: str, year: int = 2026) -> str:
        return put_next("invoices", {}, scope=tenant, date=date(year, 3, 5)).text

    assert [issue("ACME"), issue("BEST"), issue("ACME", 2027)] == [
        "ACME-2026-00001",
        "BEST-2026-00001",
        "ACME-2027-00001",
    ]
    close, audit = commands_of("Close a year")
    does(close)
    assert "BEST 2026" in does(audit)
    for tenant in ("ACME", "BEST", "LATE"):
        with pytest.raises(SequenceFrozen, match="the audit is done"):
            issue(tenant)
    assert issue("ACME", 2027) == "ACME-2027-00002"
    does("sequences reopen invoices --period 2026 --reason corrected")
    assert issue("ACME") == "ACME-2026-00002"


@pytest.mark.needs_engine  # moto gives no TableId, by which a restored table is known
def test_after_a_restore(cook: Cook, settings: Settings, endpoint: str) -> None:
    """Restored tables are refused until the commands were run; then numbers go on above the margin."""
    cook("After a restore")
    for scope in ("ABC", "XYZ"):
        put_next("tickets", {}, scope=scope)
    prefix = f"t{uuid4().hex[:12]}_"
    saved = save(endpoint)
    assert put_next("tickets", {}, scope="ABC").value == 2
    restore(saved, endpoint, prefix)
    settings.TABLE_PREFIX = prefix
    with pytest.raises(TableRestored):
        put_next("tickets", {}, scope="ABC")
    recover, doctor, audit = commands_of("After a restore")
    does(recover)
    does(doctor)
    assert "tickets XYZ" in does(audit)
    assert [put_next("tickets", {}, scope=scope).value for scope in ("ABC", "XYZ")] == [1002, 1002]


def test_lambda(cook: Cook, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that come again are not filed twice, and those that failed are named."""
    monkeypatch.setattr(django, "setup", lambda: None)
    handler = cook("AWS Lambda").handler
    records = [{"messageId": f"{number}", "body": json.dumps({"title": f"{number}"})} for number in range(3)]
    assert handler({"Records": records[:2]}, None) == {"batchItemFailures": []}
    with faults(proxy, LOST):
        assert handler({"Records": records[2:]}, None) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert handler({"Records": records}, None) == {"batchItemFailures": []}
    assert [item.item["title"] for item in items("tickets", scope="ABC")] == ["0", "1", "2"]


def test_scopes(cook: Cook) -> None:
    """The scopes with a prefix are listed, frozen and thawed, and the commands may be repeated."""
    cook("List and freeze scopes")
    for scope in ("EU-1", "EU-2", "US-1"):
        put_next("tickets", {}, scope=scope)
    show, freeze, thaw = commands_of("List and freeze scopes")
    shown = does(show)
    assert [scope in shown for scope in ("EU-1", "EU-2", "US-1")] == [True, True, False]
    for _ in range(2):
        does(freeze)
    for scope in ("EU-1", "EU-2"):
        with pytest.raises(SequenceFrozen):
            put_next("tickets", {}, scope=scope)
    assert put_next("tickets", {}, scope="EU-3").value == 1
    assert put_next("tickets", {}, scope="US-1").value == 2
    for _ in range(2):
        does(thaw)
    assert put_next("tickets", {}, scope="EU-1").value > 1


def test_pytest(settings: Settings) -> None:
    """The test of the page passes on the tables that it asks for. `test_guard.py` has tests that ask for none."""
    found = recipes()
    (_, shared), (_, plugin), (_, test) = *found[""], *found["Tests with pytest"]
    names: dict[str, Any] = {}
    exec(f"{shared}\n{plugin}\n{test}", names)
    assert names["pytest_plugins"] == ["sequences.testing.plugin"]
    asking = names["test_tickets_have_no_gap"]
    assert [(mark.name, mark.args) for mark in asking.pytestmark] == [("usefixtures", ("sequence_tables",))]
    settings.SEQUENCES = names["SEQUENCES"]
    with moto_engine(), sequence_tables():
        asking()


def test_drafts(cook_models: Cook) -> None:
    """A draft takes no number; what was issued and not numbered is repaired; the others stay drafts."""
    names = cook_models("Drafts")
    dropped, first, second = (names.Invoice.objects.create(tenant="ACME") for _ in range(3))
    dropped.delete()
    waiting = names.Invoice.objects.create(tenant="ACME")
    assert names.issue(second, DAY) == 1
    first.issued_on = DAY
    first.save()  # the process died here
    names.repair()
    names.repair()
    texts = dict(names.Invoice.objects.values_list("pk", "number_text"))
    assert texts == {second.pk: "ACME-2026-00001", first.pk: "ACME-2026-00002", waiting.pk: None}


def test_a_total(cook: Cook) -> None:
    """The total agrees with the items; at the limit nothing is stored, and no number is used."""
    names = cook("A total in the same transaction")
    names.MOST = 2
    assert [names.file_ticket("ABC", "Paper"), names.file_ticket("ABC", "Ink")] == [1, 2]
    with pytest.raises(AlsoRefused) as refused:
        names.file_ticket("ABC", "Toner")
    assert refused.value.old == {"pk": "total ABC", "sk": 0, "tickets": 2}
    names.MOST = 3
    assert names.file_ticket("ABC", "Toner") == 3
    assert "3 stored, 0 missing" in does("sequences audit tickets")


def test_finding(cook: Cook) -> None:
    """Texts with other dashes and zeros lead to the same item; others say what is wrong, or that there is none."""
    search = cook("Find what people type").search
    for number in range(1, 43):
        put_next("invoices", {"order": number}, scope="ACME", date=DAY)
    assert search("ACME-2026-42") == search(" acme–2026–00042") == {"order": 42}  # noqa: RUF001
    assert search("ACME-2026-99") == "There is no such invoice."
    assert find("acme-2026-42", "invoices") is None
    assert search("ACME-2026-4x2").startswith("'ACME-2026-4X2'")


def test_an_audit_every_night(cook: Cook) -> None:
    """It succeeds and keeps its result; where an item is missing, it fails and says so."""
    cook("An audit every night")
    for _ in range(3):
        put_next("tickets", {}, scope="ABC")
    (audit,) = commands_of("An audit every night")
    does(audit)
    table = boto3.resource("dynamodb").Table(table_name("tickets"))
    table.delete_item(Key={"pk": "tickets#ABC", "sk": 2})
    report = io.StringIO()
    with pytest.raises(CommandError, match="Unexplained findings: 1"):
        call_command(*shlex.split(audit), stdout=report)
    assert "gap: 2" in report.getvalue()
    assert "1 finding is unexplained" in does("sequences doctor")
