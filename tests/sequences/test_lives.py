"""What a process remembers holds for one table life: a table that is deleted and made again counts from START."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings
from moto import mock_aws

from sequences import dynamodb, put_next
from sequences.exceptions import AccessRefused, NotWritten, OutcomeUnknown, SequenceWentBack, TableMissing
from sequences.registry import strategies
from tests.sequences.support import COUNTERS, SEQUENCES, SORT_KEYS, Wire, lock_name, put_some, set_counter, take_some

NAMES = [*COUNTERS, *SORT_KEYS]
RESERVING = [name for name in COUNTERS if "transactional" not in name]


@pytest.fixture
def own_tables(configured: str) -> Iterator[str]:
    """Tables of one test alone, which it may delete."""
    prefix = f"{configured}own_"
    with override_settings(TABLE_PREFIX=prefix):
        call_command("create_tables", verbosity=0)
        yield prefix


def tables() -> set[str]:
    """The tables of all sequences."""
    return {table for name in NAMES for table in strategies[name].lives.tables}


def delete_tables() -> None:
    """Delete them all, as somebody else would: this process is not told."""
    for table in tables():
        dynamodb.shared_client().delete_table(TableName=table)


def make_tables_again(meanwhile: Callable[[], None] = lambda: None) -> None:
    """Make them again, as somebody else would."""
    client = dynamodb.shared_client()
    shapes = [client.describe_table(TableName=table)["Table"] for table in tables()]
    delete_tables()
    meanwhile()
    for shape in shapes:
        client.create_table(
            TableName=shape["TableName"],
            KeySchema=shape["KeySchema"],
            AttributeDefinitions=shape["AttributeDefinitions"],
            BillingMode="PAY_PER_REQUEST",
        )


class TestMadeAgain:
    @pytest.mark.parametrize("name", NAMES)
    def test_by_this_process(self, name: str, own_tables: str) -> None:
        """After `create_tables` numbers begin at START at once, whatever was remembered."""
        first = put_some(name, "a", 12)
        delete_tables()
        call_command("create_tables", verbosity=0)
        assert put_some(name, "a", 12) == first

    @pytest.mark.parametrize("name", NAMES)
    def test_by_another_process(self, name: str, own_tables: str) -> None:
        """In tables that another process made again numbers begin at START: no gap, and no refusal."""
        first = put_some(name, "a", 11)
        make_tables_again()
        time.sleep(0.3)  # longer than a tail is remembered
        assert put_some(name, "a", 1)[0] in (first[0], *(first[-1] + n for n in range(1, 9) if "block" in name))
        assert put_some(name, "b", 1) == first[:1]

    @pytest.mark.parametrize("name", RESERVING)
    def test_values_without_items(self, name: str, own_tables: str) -> None:
        """In tables that another process made again, values without items begin at START."""
        assert take_some(name, "a", 10) == list(range(1, 11))
        delete_tables()
        call_command("create_tables", verbosity=0)
        assert take_some(name, "a", 3) == [1, 2, 3]

    @pytest.mark.parametrize("name", NAMES)
    def test_missing_meanwhile(self, name: str, own_tables: str) -> None:
        """A process whose request finds a table missing forgets at once what it remembered."""

        def meet() -> None:
            with pytest.raises(TableMissing):
                put_next(name, {}, scope="b")

        first = put_some(name, "a", 3)
        make_tables_again(meet)
        assert put_some(name, "a", 3) == first


class TestIdentity:
    def test_it_is_asked_once(self, configured: str, scope: str, wire: Wire) -> None:
        """A process asks once for each table, not for each number, scope or strategy."""
        dynamodb.forget_lives()
        for name in NAMES:
            put_some(name, scope, 2)
            put_some(name, f"{scope}-2", 1)
        assert wire.operations.count("DescribeTable") == len(tables())

    @pytest.fixture
    def unreadable(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
        """A function that says whether the engine keeps the identity of tables to itself."""
        hidden = False
        send = dynamodb.call

        def call(operation: str, request: Mapping[str, Any], **limits: float) -> dict[str, Any]:
            if hidden and operation == "describe_table":
                raise NotWritten("throttled")
            return send(operation, request, **limits)

        def hide(wanted: bool) -> None:
            nonlocal hidden
            hidden = wanted

        monkeypatch.setattr(dynamodb, "call", call)
        return hide

    @pytest.mark.parametrize("unreadable_first", [False, True])
    def test_a_counter_that_went_back_meanwhile(
        self, configured: str, scope: str, unreadable: Callable[[bool], None], unreadable_first: bool
    ) -> None:
        """A table whose identity cannot be read for a while is not taken for another: no value is given twice."""
        dynamodb.forget_lives()
        unreadable(unreadable_first)
        assert take_some("atomic", scope, 5) == [1, 2, 3, 4, 5]
        set_counter("atomic", scope, last_value=2, highest=2)
        unreadable(not unreadable_first)
        with pytest.raises(SequenceWentBack):
            take_some("atomic", scope, 1)

    @pytest.mark.parametrize("name", ["sort-key", "atomic"])
    def test_a_table_that_was_missing(self, name: str, own_tables: str, unreadable: Callable[[bool], None]) -> None:
        """A table that was missing meanwhile is another one, even if its identity cannot be read."""

        def meet() -> None:
            with pytest.raises(TableMissing):
                put_next(name, {}, scope="b")
            unreadable(True)

        first = put_some(name, "a", 3)
        make_tables_again(meet)
        assert put_some(name, "a", 3) == first

    @pytest.mark.parametrize("error", [AccessRefused("no"), OutcomeUnknown("lost")])
    def test_it_cannot_be_read(
        self, configured: str, scope: str, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If the engine does not report a TableId, numbers go on; it is asked again, but not for every number."""
        asked = 0
        send = dynamodb.call

        def call(operation: str, request: Mapping[str, Any], **limits: float) -> dict[str, Any]:
            nonlocal asked
            if operation == "describe_table":
                asked += 1
                raise error
            return send(operation, request, **limits)

        monkeypatch.setattr(dynamodb, "call", call)
        dynamodb.forget_lives()
        assert put_some("sort-key", scope, 3) == [1, 2, 3]
        assert asked == 1
        after_a_minute = time.monotonic() + 61
        monkeypatch.setattr(time, "monotonic", lambda: after_a_minute)
        put_some("sort-key", scope, 1)
        assert asked == 2

    def test_credentials_do_not_matter(self, configured: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Processes whose credentials rotate go on taking turns with the others: a turn is named for the table."""
        dynamodb.forget_lives()
        before = lock_name("sort-key", scope)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another key")
        strategies.reset()
        assert lock_name("sort-key", scope) == before
        assert "another key" not in before

    def test_a_turn_belongs_to_one_life(self, own_tables: str) -> None:
        """A table that is made again has turns, and so hints, of its own."""
        before = lock_name("sort-key", "a")
        delete_tables()
        call_command("create_tables", verbosity=0)
        assert lock_name("sort-key", "a") != before


class TestLateWrites:
    @pytest.mark.parametrize("name", ["sort-key", "transactional", "atomic"])
    def test_what_another_life_proves(self, name: str, own_tables: str, wire: Wire) -> None:
        """A write that ends after the table was made again says nothing about the new table."""

        def meanwhile() -> None:
            make_tables_again()
            dynamodb.forget_lives()
            strategies[name].lives.bind(dynamodb.call)

        take = take_some if name == "atomic" else put_some
        take(name, "a", 3)
        write = {"sort-key": "PutItem", "transactional": "TransactWriteItems", "atomic": "UpdateItem"}[name]
        wire.after(write, meanwhile)
        take(name, "a", 1)
        assert take(name, "a", 1) == [1]


@pytest.fixture(scope="module")
def mocked() -> Iterator[None]:
    """The sequences, and no engine but moto, for all tests of a module as in a project that is tested on it."""
    with pytest.MonkeyPatch.context() as patch, override_settings(SEQUENCES=SEQUENCES, TABLE_PREFIX="moto_"):
        patch.delenv("AWS_ENDPOINT_URL_DYNAMODB", raising=False)
        strategies.reset()
        yield
    strategies.reset()


class TestMoto:
    @pytest.mark.parametrize("run", [1, 2, 3])
    @pytest.mark.parametrize("name", [name for name in NAMES if name != "transactional-beside"])
    def test_every_mock_begins_anew(self, mocked: None, name: str, run: int) -> None:
        """Under plain `mock_aws` with `create_tables` each test gets 1, 2, 3, with nothing else called."""
        with mock_aws():
            call_command("create_tables", verbosity=0)
            if name in RESERVING:
                assert take_some(name, "b", 2) == [1, 2]
            assert put_some(name, "a", 3) == [1, 2, 3]
