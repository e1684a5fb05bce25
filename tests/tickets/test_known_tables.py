"""The tables that belong to an SQL database: others in their place are refused by the preparation and by workers."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from unittest import mock
from uuid import uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from gunicorn.workers.base import Worker
from pytest_django import Settings

import project.worker
from project import environment
from project.commands.prepare import ACCEPT_TABLES, prepare_tables
from sequences import dynamodb
from sequences.dynamodb.lives import Copies, TableLife
from sequences.exceptions import NotWritten, TableRestored
from sequences.registry import strategies
from tests.restoring import restore, save
from tickets import health
from tickets.known_tables import OtherTables, require_known
from tickets.models import KnownTable
from tickets.project_services import create_project
from tickets.services import create_ticket


def prepare() -> None:
    """Prepare the tables as a run in production does."""
    prepare_tables(in_development=False)


@pytest.fixture
def _prepared(db: None, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SQL database knows its tables, and there is a ticket in them."""
    monkeypatch.setattr(sys, "argv", ["prepare"])
    prepare()
    create_project(key="ABC", name="Alphabet", by="ann")
    create_ticket("ABC", title="Printer on fire", reporter="ann")


def mistype(settings: Settings) -> str:
    """Give the settings another TABLE_PREFIX, under which no table is."""
    prefix = f"t{uuid4().hex[:12]}_"
    settings.TABLE_PREFIX = prefix
    return prefix


@pytest.mark.usefixtures("_prepared")
class TestPrepare:
    def test_the_same_tables(self) -> None:
        """Later runs, and web workers, go on."""
        assert {row.name for row in KnownTable.objects.all()} == {"tickets", "sales", "sequences"}
        prepare()
        require_known()

    def test_a_mistyped_prefix(self, settings: Settings, endpoint: str) -> None:
        """It is refused before any table is made, and the message names the tables that are missed."""
        mistype(settings)
        with pytest.raises(OtherTables, match=r"sales, .*: sales was \S+sales\|\S+ and is missing.*--accept-tables"):
            prepare()
        assert save(endpoint) == {}

    def test_it_is_meant(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the argument the new tables are made, and are those of the database from then on."""
        mistype(settings)
        monkeypatch.setattr(sys, "argv", ["prepare", ACCEPT_TABLES])
        prepare()
        monkeypatch.undo()
        require_known()

    def test_restored(self, settings: Settings, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Restored tables are refused; with the argument, too, until their sequences are recovered."""
        saved = save(endpoint)
        restore(saved, endpoint, mistype(settings))
        with pytest.raises(OtherTables, match=r"go by docs/restore\.md"):
            prepare()
        monkeypatch.setattr(sys, "argv", ["prepare", ACCEPT_TABLES])
        with pytest.raises(TableRestored):
            prepare()

    def test_replaced(self, settings: Settings, endpoint: str) -> None:
        """A table with the same name that has another life is another table."""
        restore({"sequences": save(endpoint)["sequences"]}, endpoint, settings.TABLE_PREFIX)
        strategies.forget()
        dynamodb.forget_lives()
        with pytest.raises(OtherTables, match="than sequences: sequences was"):
            require_known()

    def test_a_sequence_less(self, settings: Settings) -> None:
        """A table that no sequence uses any more is not missed."""
        settings.SEQUENCES = {"tickets": settings.SEQUENCES["tickets"]}
        require_known()

    def test_nobody_knows(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """A site starts where DynamoDB does not describe its tables, and where the SQL database is away."""
        mistype(settings)
        with monkeypatch.context() as patch:
            patch.setattr(dynamodb, "call", mock.Mock(side_effect=NotWritten("slow")))
            require_known()
        monkeypatch.setattr(KnownTable.objects, "values_list", mock.Mock(side_effect=OperationalError("away")))
        require_known()

    def test_a_global_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each Region has a copy with an ARN of its own: nothing is compared, wherever a worker starts."""
        life = TableLife("place", "another ARN", 0, Copies(("eu-central-1", "us-east-1")))
        monkeypatch.setattr(dynamodb, "life_of", lambda *_, **__: life)
        require_known()

    def test_development(self, settings: Settings) -> None:
        """A development run owns its data, and takes whatever tables there are."""
        mistype(settings)
        prepare_tables(in_development=True)
        require_known()


def begun_here(task: Callable[[], None], name: str) -> "Future[None]":
    """What asks in the thread of the test, and so sees its rows."""
    done = Future[None]()
    try:
        task()
        done.set_result(None)
    except ImproperlyConfigured as error:
        done.set_exception(error)
    return done


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> project.worker.BufferingWorker:
    """A worker whose site is loaded already, and whose lines are in `log.said`."""
    monkeypatch.setattr(Worker, "load_wsgi", lambda self: None)
    worker, said = object.__new__(project.worker.BufferingWorker), list[str]()
    worker.log = SimpleNamespace(critical=lambda text, *values: said.append(text % values), said=said)
    return worker


def test_an_sql_database_that_hangs(
    worker: project.worker.BufferingWorker, monkeypatch: pytest.MonkeyPatch, tables: str
) -> None:
    """A web process starts, as the accounts may be away for all of them."""
    over = threading.Event()
    monkeypatch.setattr(project.worker, "SQL_SECONDS", 0.01)
    monkeypatch.setattr("tickets.known_tables.require_known", over.wait)
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", environment.PRODUCTION)
    worker.load_wsgi()
    over.set()


@pytest.mark.usefixtures("_prepared")
def test_a_web_worker(
    worker: project.worker.BufferingWorker, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In production gunicorn ends with one line that says why, and leaves no connection to the SQL database behind."""
    mistype(settings)
    said, closed = worker.log.said, mock.Mock()
    monkeypatch.setattr(project.worker, "connections", SimpleNamespace(close_all=closed))
    monkeypatch.setattr(health, "begun", begun_here)
    worker.load_wsgi()
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", environment.PRODUCTION)
    with pytest.raises(SystemExit):
        worker.load_wsgi()
    assert "Not started. The accounts in this SQL database belong to other tables" in said[0]
    closed.assert_called_once()
