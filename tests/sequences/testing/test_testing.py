"""The test kit within this process: engines, tables, test cases and the check for gaps."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import textwrap
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import boto3
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.test import SimpleTestCase, TestCase, override_settings

from project.paths import ROOT
from sequences import dynamodb, get_last_value, get_next_value, get_next_values, put_next
from sequences.dynamodb import making
from sequences.dynamodb.configuration import ClientOptions
from sequences.dynamodb.expressions import MARKER_EXPIRY
from sequences.exceptions import (
    InvalidPeriod,
    InvalidSequence,
    NotConfigured,
    NotWritten,
    StorageRefused,
    TableMissing,
)
from sequences.ops.tables import create_tables
from sequences.registry import strategies
from sequences.testing import (
    SequenceTablesMixin,
    assert_gapless,
    committed,
    embedded_engine,
    engine_at,
    engines,
    moto_engine,
    plugin,
    sequence_tables,
    tables,
)
from sequences.testing.callers import at_once, put_some, take_some
from sequences.testing.embedded import EngineError
from sequences.testing.tables import stored_rows
from tests.sequences.support import SEQUENCES, delete_row, names_that, set_counter, tapped

ALL = override_settings(SEQUENCES=SEQUENCES)
COUNTING = {"counting": SEQUENCES["atomic"]}
REMEMBERING = ["sort-key", "transactional"]  # they remember the last value, and leave no gap
PAGE = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module", autouse=True)
def _orders_with_scopes() -> Iterator[None]:
    """The sequences of the sample, but orders in the default tables, and in scopes."""
    orders = {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "START": 1001}
    with override_settings(SEQUENCES={"tickets": settings.SEQUENCES["tickets"], "orders": orders}):
        yield


@pytest.fixture
def all_sequences() -> Iterator[None]:
    """Every configuration, in tables on moto for one test."""
    yearly = {"yearly": {**SEQUENCES["atomic"], "PERIOD": "year"}}
    with override_settings(SEQUENCES={**SEQUENCES, **yearly}), moto_engine(), sequence_tables():
        yield


@pytest.mark.parametrize(("named", "used"), [("eu-west-1", "eu-west-1"), ("", "us-east-1")])
def test_the_region(named: str, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Region of the environment stays, and there is one without it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", named)
    with moto_engine():
        assert os.environ["AWS_DEFAULT_REGION"] == used


class TestMoto:
    @pytest.mark.parametrize("name", ["sort-key", "transactional-from-1001-by-10", "block"])
    def test_every_life_begins_anew(self, name: str) -> None:
        """Two tests, one after the other in one process, both get the first values, whatever strategies remember."""
        told = []
        for _ in range(2):
            with ALL, moto_engine(), sequence_tables():
                told.append(put_some(name, "ABC", 3))
        step = SEQUENCES[name].get("STEP", 1)
        start = SEQUENCES[name].get("START", 1)
        assert told == [[start, start + step, start + 2 * step]] * 2

    @pytest.mark.parametrize("name", ["sort-key", "transactional", "atomic"])
    def test_threads(self, name: str, all_sequences: None) -> None:
        """16 threads get values that are unique, and gapless if the strategy is. Alone moto would break it."""
        values = [value for part in at_once(16, lambda _: put_some(name, "ABC", 3)) for value in part]
        assert len(set(values)) == 48
        if name in names_that("gapless"):
            assert_gapless(name, scope="ABC")

    @pytest.mark.parametrize("region", [None, "eu-central-1"])
    def test_the_environment_does_not_matter(self, region: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        """Endpoints, profiles and credentials of the environment are not used, and are there again afterwards."""
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", NOWHERE)
        monkeypatch.setenv("AWS_PROFILE", "nobody's")
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        if region:
            monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        for name in ("AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN"):
            monkeypatch.setenv(name, "nobody's")
        before = dict(os.environ)
        with moto_engine(), sequence_tables():
            assert os.environ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] == "true"
            assert os.environ["AWS_DEFAULT_REGION"] == (region or "us-east-1")
            assert "nobody's" not in os.environ.values()
            assert get_next_value("orders") == 1001
            assert dynamodb.account().endswith(region or "us-east-1")
        assert os.environ == before

    def test_other_clients_do_not_matter(self) -> None:
        """Every client of SEQUENCES_CLIENTS leads to moto, whatever its endpoint, profile, role and Region."""
        far = {"ENDPOINT": NOWHERE, "REGION": "eu-west-3", "PROFILE": "nobody's", "ROLE": "arn:aws:iam::1:role/nobody"}
        counting = {"far": {**SEQUENCES["atomic"], "CLIENT": "far"}}
        for _ in range(2):
            with moto_engine(), override_settings(SEQUENCES_CLIENTS={"far": far}, SEQUENCES=counting):
                with sequence_tables() as made:
                    assert take_some("far", "ABC", 2) == [1, 2]
                    assert stored_rows(made)["sequences"]
                assert dynamodb.shared_client().list_tables()["TableNames"] == []

    def test_nothing_remains(self, engine_of_before: str) -> None:
        """After the test the sequences use the engine of before again, with what it has."""
        assert take_some("orders", "ABC", 2) == [1001, 1002]
        before = strategies["orders"]
        with moto_engine():
            assert strategies["orders"] is not before
        with moto_engine(), sequence_tables():
            assert take_some("orders", "ABC", 1) == [1001]
        assert take_some("orders", "ABC", 1) == [1003]

    @pytest.fixture
    def engine_of_before(self, tables: str) -> str:
        """The engine of all tests."""
        return tables


class TestTables:
    @pytest.fixture(autouse=True)
    def _on_moto(self) -> Iterator[None]:
        """An empty moto."""
        with moto_engine():
            yield

    def test_other_sequences_have_tables_at_once(self) -> None:
        """A test that overrides SEQUENCES can use its own sequences at once; the same override again goes on."""
        new = override_settings(SEQUENCES={"new": {**SEQUENCES["sort-key"], "TABLE": "new_items", "START": 7}})
        with sequence_tables():
            with new:
                assert put_some("new", "ABC", 2) == [7, 8]
            with new:
                assert put_some("new", "ABC", 2) == [9, 10]

    def test_missing_tables_can_be_tested(self) -> None:
        """Under another TABLE_PREFIX nothing is made, so that a test can show what happens then."""
        with sequence_tables(), override_settings(TABLE_PREFIX="nowhere_"), pytest.raises(TableMissing):
            get_next_value("orders")

    def test_an_invalid_setting_is_told_to_its_user(self) -> None:
        """A test may configure something invalid: no table is made, and the call that uses it raises."""
        wrong = override_settings(SEQUENCES={"wrong": {"STRATEGY": "nobody's"}})
        with sequence_tables(), wrong, pytest.raises(InvalidSequence, match="nobody's"):
            get_next_value("wrong")

    def test_a_table_that_does_not_fit_is_told_to_its_user(self) -> None:
        """Settings may be overridden by others for which a table has the wrong keys: the call that uses it raises."""
        other = {"wrong": {**SEQUENCES["sort-key-padded"], "TABLE": "tickets"}}
        with sequence_tables(), override_settings(SEQUENCES=other), pytest.raises(StorageRefused):
            put_next("wrong", {})

    def test_all_are_deleted_at_the_end(self) -> None:
        """The tables that were made are deleted at the end, also those of overridden settings, and if a test did so."""
        with sequence_tables() as made:
            with override_settings(SEQUENCES=SEQUENCES):
                tables = dynamodb.shared_client().list_tables()["TableNames"]
                assert sorted(made) == sorted(tables)
                assert len(made) == 4
            dynamodb.delete_table(made[0])
        assert dynamodb.shared_client().list_tables()["TableNames"] == []
        with override_settings(SEQUENCES=COUNTING), pytest.raises(TableMissing):
            get_next_value("counting")


class TestNextTests:
    """What a test leaves to the next one of its process."""

    @pytest.fixture(params=[moto_engine, pytest.param(embedded_engine, marks=pytest.mark.needs_engine)])
    def kit(self, request: pytest.FixtureRequest) -> Callable[[], AbstractContextManager[None]]:
        """An engine with tables, as the fixtures have it."""

        @contextmanager
        def kit() -> Iterator[None]:
            with request.param(), sequence_tables():
                yield

        return kit

    def test_clients_are_made_once(self, kit: Callable[[], AbstractContextManager[None]]) -> None:
        """The next test with the same settings waits for no client, and one with other settings gets its own."""
        engines._making.cache_clear()
        for options, made in (({}, 1), ({}, 0), ({"POOL_SIZE": 7}, 1), ({}, 0)):
            others = override_settings(SEQUENCES_CLIENTS={"default": options})
            with mock.patch.object(making, "_make_client", wraps=making._make_client) as make, others, kit():
                get_next_value("orders")
            assert make.call_count == made

    def test_a_client_that_a_test_has_made_again(self, kit: Callable[[], AbstractContextManager[None]]) -> None:
        """A client that is made during a test, as after a change of the environment, is not that of the next test."""
        with kit():
            before = dynamodb.shared_client()
            dynamodb.reset()
            assert dynamodb.shared_client() is not before
        with kit():
            assert dynamodb.shared_client() is before

    def test_a_wrapped_client(self, kit: Callable[[], AbstractContextManager[None]]) -> None:
        """What a test has wrapped is not in the way of the next one."""
        passed = mock.Mock(return_value=None)

        def wrap(send: making.Send) -> making.Send:
            return lambda operation, request: passed(operation) or send(operation, request)

        with kit():
            dynamodb.wrap_sending(wrap)
            get_next_value("orders")
            passed.assert_called()
        passed.reset_mock()
        with kit():
            get_next_value("orders")
        passed.assert_not_called()

    def test_a_client_that_could_not_be_made(self, kit: Callable[[], AbstractContextManager[None]]) -> None:
        """A failure is not remembered."""
        engines._making.cache_clear()
        away = mock.patch.object(making, "_make_client", side_effect=NotConfigured("away"))
        with away, kit(), pytest.raises(NotConfigured, match="away"):
            get_next_value("orders")
        with kit():
            assert get_next_value("orders") == 1001

    def test_tables_of_somebody_else_stay(self, kit: Callable[[], AbstractContextManager[None]]) -> None:
        """A table that was there before is used as it is: it is neither changed nor deleted."""
        with kit():
            assert take_some("orders", "ABC", 1) == [1001]
            with tapped() as wire, sequence_tables() as made:
                assert made == []
                assert {"CreateTable", "UpdateTimeToLive", "DescribeTimeToLive"} & set(wire.operations) == set()
                assert take_some("orders", "ABC", 1) == [1002]
            assert take_some("orders", "ABC", 1) == [1003]


class TestTablesOnMoto:
    def test_tables_are_made_once(self) -> None:
        """For the next test with the same settings no table is made; those that it has expire their markers."""
        for made in (None, 0):
            spied = mock.patch.object(tables, "create_tables", wraps=create_tables)
            with moto_engine(), spied as create, sequence_tables() as names:
                assert made in (None, create.call_count)
                assert dynamodb.expire_items(strategies["orders"].markers.schema.table, "other") == MARKER_EXPIRY
                assert sorted(names) == sorted(dynamodb.shared_client().list_tables()["TableNames"])

    def test_what_a_test_does_to_a_table(self) -> None:
        """Rows, a deleted table, and a table or a bucket of its own are gone in the next test."""
        for _ in range(2):
            with moto_engine(), sequence_tables() as names:
                assert put_some("orders", "ABC", 1) == [1001]
                dynamodb.delete_table(names[0])
                boto3.client("s3").create_bucket(Bucket="mine")
                assert len(boto3.client("s3").list_buckets()["Buckets"]) == 1
                own = {"own_table": {**SEQUENCES["sort-key"], "TABLE": "own_table"}}
                with override_settings(SEQUENCES=own):
                    assert put_some("own_table", "ABC", 1) == [1]

    def test_other_settings(self) -> None:
        """Other sequences, or another prefix, have tables of their own, with their keys."""
        for key, prefix in (("sort-key", "a_"), ("sort-key-padded", "a_"), ("sort-key-padded", "b_")) * 2:
            items = {"items": {**SEQUENCES[key], "TABLE": "the_items"}}
            with override_settings(SEQUENCES=items, TABLE_PREFIX=prefix), moto_engine(), sequence_tables() as names:
                assert put_some("items", "ABC", 1) == [1]
                assert f"{prefix}the_items" in names

    def test_each_copy_is_another_table(self) -> None:
        """What this process or its host remembers of a table is not taken for the next one, although names agree."""
        lives = []
        for _ in range(2):
            with moto_engine(), sequence_tables():
                get_next_value("orders")
                lives.append(strategies["orders"].lives.known_as)
        assert lives[0] != lives[1]


class TestRowsOfTheClass(SequenceTablesMixin, TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        put_some("orders", "ABC", 2)
        take_some("orders", "ABC", 1)

    def setUp(self) -> None:
        super().setUp()
        self.values = put_some("orders", "ABC", 2)

    def test_one(self) -> None:
        """What the class stored is there in every test, and the values go on after it."""
        assert self.values == [1004, 1005]
        assert get_last_value("orders", scope="ABC") == 1005

    test_two = test_one


@override_settings(SEQUENCES={name: SEQUENCES[name] for name in REMEMBERING})
class TestMemoryOfTheClass(SequenceTablesMixin, TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        for name in REMEMBERING:
            put_some(name, "ABC", 2)

    def test_one(self) -> None:
        """What strategies remember of one test's values is forgotten in the next."""
        for name in REMEMBERING:
            put_some(name, "ABC", 3)
            assert_gapless(name, scope="ABC")

    test_two = test_one


@pytest.mark.needs_engine
class TestMemoryOnTheEngine(TestMemoryOfTheClass):
    """The same with tables that are made anew for each test."""

    sequence_engine = "embedded"


@override_settings(SEQUENCES=COUNTING)
class TestSettingsOfTheClass(SequenceTablesMixin, SimpleTestCase):
    def test_one(self) -> None:
        """Settings of the class are those of its tables, which are empty for each test."""
        assert get_next_values(2, "counting") == range(1, 3)

    test_two = test_one


class Prepared(SimpleTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.prepared = True


@override_settings(SEQUENCES=COUNTING)
class TestOtherClasses(SequenceTablesMixin, Prepared):
    def test_all_are_set_up(self) -> None:
        """The mixin hands on what the other classes of a test case prepare."""
        assert self.prepared


def test_an_engine_that_nobody_knows() -> None:
    """A test case whose engine is misspelled fails, with the engines that there are."""

    class Misspelled(SequenceTablesMixin, SimpleTestCase):
        sequence_engine = "mongo"  # type: ignore[assignment]

        def test_nothing(self) -> None:
            """It never runs."""

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Misspelled).run(result)
    ((_, error),) = result.errors
    assert "Misspelled.sequence_engine is 'mongo'; it is 'moto' or 'embedded'." in error
    assert result.testsRun == 0


def take_elsewhere(endpoint: str) -> int:
    """Take a value in another process, with what it inherits."""
    assert os.environ["AWS_ENDPOINT_URL_DYNAMODB"] == endpoint
    return get_next_value("orders")


@pytest.mark.needs_engine
class TestEmbedded:
    @pytest.mark.usefixtures("sequence_tables_on_engine")
    @pytest.mark.parametrize("run", [1, 2])
    def test_other_processes_see_it(self, run: int) -> None:
        """Another process takes the value that follows ours, from the first one in each test."""
        assert get_next_value("orders") == 1001
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as others:
            elsewhere = others.submit(take_elsewhere, os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
            assert elsewhere.result(timeout=30) == 1002
        assert get_next_value("orders") == 1003

    def test_one_engine_for_all(self) -> None:
        """The tests of a process share one engine."""
        with embedded_engine():
            first = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
        with embedded_engine():
            assert os.environ["AWS_ENDPOINT_URL_DYNAMODB"] == first

    def test_under_a_test_case(self) -> None:
        """A test case may ask for it."""

        class Embedded(SequenceTablesMixin, SimpleTestCase):
            sequence_engine = "embedded"

            def test_it(self) -> None:
                """Its environment names the engine."""
                assert "AWS_ENDPOINT_URL_DYNAMODB" in os.environ
                assert get_next_value("orders") == 1001

        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Embedded).run(result)
        assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_an_engine_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine is missing, nothing replaces it silently: the error says what to do."""
    monkeypatch.setattr("sequences.testing.embedded.find_binary", lambda: None)
    engines._started.cache_clear()
    with pytest.raises(EngineError, match=r"The embedded engine is not installed.*or use moto"), embedded_engine():
        pass


def test_an_engine_by_its_address(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine is used at its address although the environment ignores addresses."""
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    with engine_at(endpoint):
        assert dynamodb.account().startswith(endpoint)
        assert os.environ["AWS_ENDPOINT_URL_DYNAMODB"] == endpoint
        assert os.environ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] == "false"
        assert os.environ["AWS_ACCESS_KEY_ID"] == os.environ["AWS_SECRET_ACCESS_KEY"] == "testing"


def test_a_client_that_is_made_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leads to the engine of the test that began it, although no call of that test has waited for it."""
    make, ended, nowhere = making._make_client, threading.Event(), "http://127.0.0.1:7"

    def slowly(options: ClientOptions) -> object:
        time.sleep(0.2)
        try:
            return make(options)
        finally:
            ended.set()

    monkeypatch.setattr(making, "_make_client", slowly)
    with engine_at(nowhere), pytest.raises(NotWritten):
        dynamodb.call("list_tables", {}, seconds=0.01)
    assert ended.wait(30)
    with engine_at(nowhere):
        assert dynamodb.account().startswith(nowhere)


def test_the_example_of_a_commit(shop: ModuleType) -> None:
    """The page's test of a row that is numbered at the commit passes, where nothing is committed."""
    (example,) = re.findall(
        r"^    from sequences.testing import committed\n.*?\n\n(?=\S)", PAGE, re.DOTALL | re.MULTILINE
    )
    names = {"Invoice": shop.Invoice}
    exec(textwrap.dedent(example), names)
    with transaction.atomic():
        names["test_an_invoice_has_its_number"](None, None)
        assert shop.Invoice.objects.create().number is None


def test_each_block_commits_its_own_rows(shop: ModuleType) -> None:
    """Rows get their numbers at the end of the block that saves them, whatever was saved before in the test."""
    with transaction.atomic():
        before = shop.Invoice.objects.create(customer="A")
        blocks = []
        for _ in range(2):
            with committed():
                blocks.append([shop.Invoice.objects.create(customer="B") for _ in range(2)])
        assert [row.number for rows in blocks for row in rows] == [1, 2, 3, 4]
    assert before.number == 5


def test_fixtures_are_counted(shop: ModuleType, tmp_path: Path) -> None:
    """Each test goes on after the numbers of the fixtures of its class, and after those that it loads itself."""
    paths = [str(tmp_path / f"{number}.json") for number in (1500, 1600, 1700)]
    for pk, path in enumerate(paths, 1):
        fields = {"customer": "A", "number": Path(path).stem}
        Path(path).write_text(json.dumps([{"model": "shop.order", "pk": pk, "fields": fields}]), encoding="utf-8")

    class Loading(SequenceTablesMixin, TestCase):
        fixtures = paths[:1]

        def test_one(self) -> None:
            """The numbers follow."""
            assert shop.Order.objects.create(customer="B").number == 1501
            for path in paths[1:]:
                with committed():
                    call_command("loaddata", path, verbosity=0)
            assert shop.Order.objects.create(customer="B").number == 1701

        test_two = test_one

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Loading).run(result)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])


def test_fixtures_come_before_the_data_of_a_class(shop: ModuleType, tmp_path: Path) -> None:
    """Rows of `setUpTestData` have numbers after those of the fixtures, and so have the rows of each test."""
    path = tmp_path / "orders.json"
    fields = {"customer": "A", "number": 1001}
    path.write_text(json.dumps([{"model": "shop.order", "pk": 1, "fields": fields}]), encoding="utf-8")

    class Loading(SequenceTablesMixin, TestCase):
        fixtures = [str(path)]
        order: Any

        @classmethod
        def setUpTestData(cls) -> None:
            cls.order = shop.Order.objects.create(customer="B")

        def test_one(self) -> None:
            """The numbers follow."""
            assert [self.order.number, shop.Order.objects.create(customer="C").number] == [1002, 1003]

        test_two = test_one

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Loading).run(result)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])


def test_rows_without_gaps(shop: ModuleType) -> None:
    """Where models take values before their rows are saved, the rows are looked at."""
    for name in "ABC":
        shop.Order.objects.create(customer=name)
    assert_gapless("orders")
    shop.Order.objects.get(number=1002).delete()
    with pytest.raises(AssertionError, match=r"'orders' lacks the rows of 1 of 3 values: 1002\.$"):
        assert_gapless("orders")


@pytest.mark.usefixtures("all_sequences")
class TestGapless:
    @pytest.mark.parametrize("name", [name for name in SEQUENCES if "block" not in name])
    def test_no_gap(self, name: str) -> None:
        """Items under all values from START up satisfy it, with and without a scope, whatever the strategy."""
        put_some(name, "ABC", 3)
        assert_gapless(name, scope="ABC")
        put_next(name, {})
        assert_gapless(name)

    def test_missing_items(self) -> None:
        """The values without an item are named."""
        put_some("sort-key", "ABC", 9)
        for value in (1, 3, 4, 5, 8):
            delete_row("sort-key", "ABC", value)
        told = r"'sort-key', scope 'ABC', lacks the items of 5 of 9 values: 1, 3 to 5, 8\.$"
        with pytest.raises(AssertionError, match=told):
            assert_gapless("sort-key", scope="ABC")

    def test_values_without_items(self) -> None:
        """Values that were taken and not stored are missing, also at the end and without a scope."""
        put_next("atomic", {})
        get_next_values(2, "atomic")
        with pytest.raises(AssertionError, match=r"'atomic' lacks the items of 2 of 3 values: 2 to 3\.$"):
            assert_gapless("atomic")

    def test_a_block_in_use(self) -> None:
        """The values of a block that are not used yet are missing: they may stay unused for ever."""
        put_some("block", "ABC", 3)
        with pytest.raises(AssertionError, match=r"5 of 8 values: 4 to 8\.$"):
            assert_gapless("block", scope="ABC")

    def test_many_gaps(self) -> None:
        """Of many gaps the first ten are named."""
        for _ in range(12):
            get_next_value("atomic")
            put_next("atomic", {})
            if get_last_value("atomic") == 20:
                with pytest.raises(AssertionError, match=r"10 of 20 values: 1, 3, .*, 17, 19\.$"):
                    assert_gapless("atomic")
        with pytest.raises(AssertionError, match=r"12 of 24 values: 1, 3, .*, 17, 19, and more\.$"):
            assert_gapless("atomic")

    def test_periods(self) -> None:
        """A sequence with a PERIOD is looked at in the period that is named, or of a date, and messages name it."""
        for day in (date(2025, 12, 31), date(2026, 1, 1), date(2026, 1, 2)):
            put_next("yearly", {}, scope="ABC", date=day)
        get_next_value("yearly", scope="ABC", date=date(2025, 5, 5))
        assert_gapless("yearly", scope="ABC", period="2026")
        assert_gapless("yearly", scope="ABC", date=date(2026, 7, 7))
        with pytest.raises(AssertionError, match=r"'yearly', scope 'ABC', period 2025, lacks .* 1 of 2 values: 2\.$"):
            assert_gapless("yearly", scope="ABC", date=date(2025, 1, 1))
        with pytest.raises(AssertionError, match=r"'yearly', period 2025, has handed out no value"):
            assert_gapless("yearly", period="2025")
        with pytest.raises(InvalidPeriod, match="2026"):
            assert_gapless("yearly", period="26")

    def test_today(self) -> None:
        """Without date and period it looks at the period of today."""
        put_next("yearly", {})
        assert_gapless("yearly")
        put_next("yearly", {}, date=date(1999, 1, 1))
        with pytest.raises(AssertionError, match="period 1999"):
            assert_gapless("yearly", period="1999", scope="other")

    def test_a_date_without_a_period(self) -> None:
        """A date is refused by a sequence that has no use for it, as everywhere."""
        with pytest.raises(ValueError, match="leave the date out"):
            assert_gapless("atomic", date=date(2026, 1, 1))

    def test_nothing_at_all(self) -> None:
        """A scope without values fails, since a misspelled one would always pass."""
        put_some("sort-key", "ABC", 1)
        with pytest.raises(AssertionError, match="'ABX', has handed out no value"):
            assert_gapless("sort-key", scope="ABX")

    def test_a_counter_that_went_back(self) -> None:
        """A counter that was set back fails, although all items are there."""
        put_some("atomic", "ABC", 3)
        set_counter("atomic", "ABC", last_value=1)
        with pytest.raises(AssertionError, match="went back to 1"):
            assert_gapless("atomic", scope="ABC")


def test_the_mixin_after_the_test_case() -> None:
    """Its tables would never be made, and the tests would write to the engine of the environment: it is refused."""
    with pytest.raises(TypeError, match="Wrong has no tables: write SequenceTablesMixin before the test case"):
        type("Wrong", (TestCase, SequenceTablesMixin), {})


def test_a_run_without_a_report() -> None:
    """Where pytest has no terminal, nothing is known of tests that were left out, and the run ends as it was."""
    session = mock.MagicMock(exitstatus=0)
    session.config.pluginmanager.get_plugin.return_value = None
    session.config.stash = {}
    plugin.pytest_sessionfinish(session)
    assert (session.exitstatus, [*session.config.stash.values()]) == (0, [0])
