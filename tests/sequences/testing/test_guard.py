"""Tests are safe by default: what asks for no engine sends nothing, neither within a test nor before it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from moto import mock_aws
from pytest_django import Settings

from project.paths import ROOT
from sequences import dynamodb, get_last_value, get_next_value, put_next
from sequences.commit.retries import Deadline
from sequences.ops.tables import create_tables
from sequences.registry import strategies
from sequences.strategies.block_pool import Fetch
from sequences.testing import engine_at, engines, moto_engine, plugin, sequence_tables
from sequences.testing.callers import at_once
from sequences.testing.engines import sending_by
from sequences.testing.plugin import NoEngine, NoEngineAskedFor
from tests.sequences.support import asked_of_boto3

ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"
SEQUENCES = {"orders": {"STRATEGY": "sequences.strategies.AtomicCounter"}}
SETTINGS = f"""
import os
INSTALLED_APPS = ["sequences", "shop"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}}
SEQUENCES = {SEQUENCES}
TABLE_PREFIX = os.environ["PREFIX"]
USE_TZ = True
"""
MIGRATION = """
from django.db import migrations
from sequences.changes import seed

def take_over(apps, schema_editor):
    seed("orders", 99999, by="a migration", reason="takes over")

class Migration(migrations.Migration):
    operations = [migrations.RunPython(take_over, migrations.RunPython.noop)]
"""
TESTS = """
import pytest
from sequences import get_last_value, get_next_value

def test_forgotten():
    get_next_value("orders")

@pytest.mark.real_dynamodb
def test_on_purpose():
    assert get_next_value("orders") == 6

def test_forgotten_after_it():
    get_next_value("orders")

def test_with_tables(sequence_tables_on_engine):
    assert get_next_value("orders") == 1

@pytest.mark.django_db
def test_with_a_database():
    pass
"""


@pytest.fixture
def live(tables: str, settings: Settings) -> str:
    """An engine that the environment names, whose orders stand at 5. The value is the prefix of its tables."""
    settings.SEQUENCES = SEQUENCES
    for _ in range(5):
        get_next_value("orders")
    return tables


@pytest.fixture
def unsent(live: str) -> Iterator[None]:
    """No engine is asked for, and nothing reaches that of the environment."""
    with sending_by(NoEngine()):
        yield
    assert get_last_value("orders") == 5


def take() -> int:
    """A call of a sequence."""
    return get_next_value("orders")


@pytest.mark.usefixtures("unsent")
class TestRefused:
    def test_it_says_what_to_write(self) -> None:
        """The error names the operation, the sequence, the fixture, the mixin and the mark, without a retry."""
        spied = mock.patch.object(plugin, "_refuse", wraps=plugin._refuse)
        with spied as refuse, pytest.raises(NoEngineAskedFor) as caught:
            take()
        assert refuse.call_count == 1
        for name in (
            "describe_table",
            f"'{dynamodb.table_name('sequences')}'",
            "`sequence_tables`",
            "`SequenceTablesMixin`",
            "`real_dynamodb`",
        ):
            assert name in str(caught.value)

    def test_nothing_hides_it(self) -> None:
        """What catches errors does not catch it, so that the test fails that forgot the tables."""
        with pytest.raises(NoEngineAskedFor), suppress(Exception):
            take()

    def test_in_threads(self) -> None:
        """Every thread is refused."""

        def one(_: int) -> bool:
            with pytest.raises(NoEngineAskedFor):
                take()
            return True

        assert all(at_once(4, one))

    @pytest.mark.parametrize(
        "request_of",
        [
            create_tables,
            lambda: dynamodb.call("list_tables", {}),
            lambda: dynamodb.shared_client().list_tables(),
            lambda: put_next("orders", {}),
        ],
        ids=["tables", "call", "client", "item"],
    )
    def test_every_way(self, request_of: Callable[[], object]) -> None:
        """Whatever sends a request is refused, boto3's own client too."""
        with pytest.raises(NoEngineAskedFor):
            request_of()

    def test_an_engine_is_open_within_its_body_alone(self) -> None:
        """An engine of the kit works, and after it requests are refused as before."""
        with moto_engine(), sequence_tables():
            assert take() == 1
        with pytest.raises(NoEngineAskedFor):
            take()

    def test_mock_aws_over_an_address(self) -> None:
        """Where the environment names an address, moto's own decorator catches no request: all are refused."""
        with mock_aws(), pytest.raises(NoEngineAskedFor):
            take()

    def test_without_a_region(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no client can be made, the error is the same."""
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        for request_of in (take, create_tables):
            with pytest.raises(NoEngineAskedFor):
                request_of()


def test_mock_aws_is_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """moto's own decorator goes on to work, as long as its body lasts."""
    monkeypatch.delenv(ENDPOINT, raising=False)
    with sending_by(NoEngine()):
        with mock_aws():
            create_tables()
            assert take() == 1001
        with pytest.raises(NoEngineAskedFor):
            take()


def test_an_address_of_the_test_is_an_engine(live: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that sets the address of an engine itself has named it."""
    named = os.environ[ENDPOINT]
    with engine_at("http://127.0.0.1:9"), sending_by(NoEngine()):
        with pytest.raises(NoEngineAskedFor):
            take()
        monkeypatch.setenv(ENDPOINT, named)
        assert take() == 6


def test_a_client_that_was_looked_at_stays_lean(live: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests send requests as the application does, also after they have looked at boto3's client."""
    settings.SEQUENCES_CLIENTS, named = {}, os.environ[ENDPOINT]
    with engine_at("http://127.0.0.1:9"), sending_by(NoEngine()):
        monkeypatch.setenv(ENDPOINT, named)
        assert dynamodb.shared_client()
        with asked_of_boto3() as asked:
            assert take() == 6
    assert asked.call_count == 0


def test_a_block_that_is_fetched_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """It arrives while its engine is there, so that a later test's engine gets no request of it."""
    ends, block, arrived = threading.Event(), mock.Mock(), list[object]()

    def arrive(deadline: Deadline) -> Any:
        ends.wait(60)
        time.sleep(0.05)
        arrived.append(block)
        return block

    monkeypatch.setattr(strategies, "drop", ends.set)
    fetch = Fetch(arrive, Deadline)
    allocator = mock.Mock(_fetches=[fetch])
    monkeypatch.setattr(engines, "ALLOCATORS", {weakref.ref(allocator)})
    with sending_by(NoEngine()):
        ends.clear()
        fetch.start()
    assert (arrived, fetch.take()) == ([block], block)


@pytest.mark.needs_engine
def test_with_the_plugin(live: str, tmp_path: Path) -> None:
    """With the plugin, migrations before the tests and tests that ask for nothing leave the live table as it is."""
    (tmp_path / "shop" / "migrations").mkdir(parents=True)
    files = {"settings": SETTINGS, "shop/__init__": "", "shop/migrations/__init__": "", "test_shop": TESTS}
    files |= {"shop/migrations/0001_seed": MIGRATION, "conftest": 'pytest_plugins = ["sequences.testing.plugin"]'}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text.replace('"orders")', '"orders")'))
    environment = {**os.environ, "PREFIX": live, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "settings"}
    environment |= {"COLUMNS": "200", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "pytest_django.plugin"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "2 failed, 2 passed, 1 error" in done.stdout, done.stdout
    for name in ("FAILED {}forgotten", "FAILED {}forgotten_after_it", "ERROR {}with_a_database"):
        assert f"{name.format('test_shop.py::test_')} - sequences.testing.plugin.NoEngineAskedFor" in done.stdout
    assert get_last_value("orders") == 6
