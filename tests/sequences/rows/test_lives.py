"""What a process remembers holds for one table life: a table that is deleted and made again counts from START."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import override_settings
from moto import mock_aws

from sequences import dynamodb, put_next
from sequences.commit.retries import Deadline
from sequences.dynamodb import client
from sequences.dynamodb.expressions import KeySchema
from sequences.exceptions import (
    AccessRefused,
    NotWritten,
    OutcomeUnknown,
    SequenceUnavailable,
    SequenceWentBack,
    TableMissing,
)
from sequences.registry import strategies
from sequences.rows.lives import TableLives
from sequences.rows.soundness import judge
from sequences.strategies import sort_key
from sequences.testing.callers import at_once, put_some, take_some
from tests.sequences.support import COUNTERS, SEQUENCES, SORT_KEYS, Wire, lock_name, make, set_counter

NAMES = [*COUNTERS, *SORT_KEYS]
RESERVING = [name for name in COUNTERS if "transactional" not in name]


@pytest.fixture
def own_tables(configured: str) -> Iterator[str]:
    """Tables of one test alone, which it may delete."""
    prefix = f"{configured}{uuid4().hex[:6]}_"
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
    def test_by_another_process(self, name: str, own_tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """In tables that another process made again numbers begin at START: no gap, and no refusal."""
        first = put_some(name, "a", 11)
        make_tables_again()
        monkeypatch.setattr(sort_key, "TAIL_SECONDS", -1.0)  # no tail is remembered
        assert put_some(name, "a", 1)[0] in (first[0], *(first[-1] + n for n in range(1, 9) if "block" in name))
        assert put_some(name, "b", 1) == first[:1]

    @pytest.mark.parametrize("name", RESERVING)
    def test_values_without_items(self, name: str, own_tables: str) -> None:
        """After `create_tables` values without items begin at START at once, whatever was remembered."""
        assert take_some(name, "a", 10) == list(range(1, 11))
        delete_tables()
        call_command("create_tables", verbosity=0)
        assert take_some(name, "a", 3) == [1, 2, 3]

    def test_the_second_half_of_a_block(self, own_tables: str) -> None:
        """The second half of a block is not begun once the process knows that the tables were made again."""
        assert take_some("block", "a", 4) == [1, 2, 3, 4]
        make_tables_again()
        dynamodb.forget_lives()
        assert take_some("block", "a", 1) == [1]

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
        for _ in range(2):  # rules that another test stored without the identity are mended by the first
            strategies["block"].stop()  # a thread that looks would ask, too
            wire.clear()
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

        def call(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
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
        for _ in range(2):
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

    @pytest.mark.parametrize(
        ("error", "seconds"), [(AccessRefused("no"), 60), (OutcomeUnknown("lost"), 1), (NotWritten("away"), 1)]
    )
    def test_it_cannot_be_read(
        self, configured: str, scope: str, error: Exception, seconds: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If the engine does not report a TableId, numbers go on; it is asked again, but not for every number.

        After a second, if it only did not answer: until then a fresh process knows nothing of what others have given.
        """
        put_some("sort-key", f"{scope}-2", 1)  # the first number of all stores the rules, and asks for that
        asked = 0
        send = dynamodb.call

        def call(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
            nonlocal asked
            if operation == "describe_table":
                asked += 1
                raise error
            return send(operation, request, **limits)

        monkeypatch.setattr(dynamodb, "call", call)
        now = dynamodb.elapsed()
        monkeypatch.setattr(client, "elapsed", lambda: now)
        dynamodb.forget_lives()
        assert put_some("sort-key", scope, 3) == [1, 2, 3]
        assert asked == 1
        for passed, times in ((0.9 * seconds, 1), (0.1 * seconds, 2)):
            now += passed
            put_some("sort-key", scope, 1)
            assert asked == times

    @pytest.mark.needs_engine
    def test_credentials_do_not_matter(self, configured: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Processes whose credentials rotate go on taking turns with the others: a turn is named for the table."""
        dynamodb.forget_lives()
        before = lock_name("sort-key", scope)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anotherkey")
        strategies.reset()
        assert lock_name("sort-key", scope) == before
        assert "anotherkey" not in before

    @pytest.mark.needs_engine
    def test_the_name_of_a_turn(self, configured: str, scope: str) -> None:
        """Releases of the application share their turns: a turn is named, literally, for its tables and its scope."""
        dynamodb.forget_lives()
        names = []
        for table in strategies["transactional"].lives.tables:
            about = dynamodb.call("describe_table", {"TableName": table})["Table"]
            identity = about.get("TableId") or about["CreationDateTime"]  # DynamoDB Local has no TableId
            names.append(f"{dynamodb.account()}|{table}|{about['TableArn']}|{identity}")
        assert lock_name("transactional", scope) == f"{names[0]}|{names[1]}|transactional#{scope}"

    def test_a_turn_belongs_to_one_life(self, own_tables: str) -> None:
        """A table that is made again has turns, and so hints, of its own."""
        before = lock_name("sort-key", "a")
        delete_tables()
        call_command("create_tables", verbosity=0)
        assert lock_name("sort-key", "a") != before


class TestForgetting:
    @pytest.fixture
    def forgotten(self) -> list[str]:
        """The current life at each time that something is forgotten."""
        return []

    @pytest.fixture
    def lives(self, configured: str, forgotten: list[str]) -> TableLives:
        """The lives of one table."""
        rules = Mock()
        config = strategies["sort-key"].config
        lives: TableLives = TableLives(
            [KeySchema(table="a table")],
            lambda: forgotten.append(identity(lives)),
            config,
            rules,
            needs_transactions=False,
        )
        look_up(lives, "first")
        return lives

    def test_before_and_after(self, lives: TableLives, forgotten: list[str]) -> None:
        """All is forgotten before another life is current, and again what threads remembered meanwhile."""
        look_up(lives, "second")
        assert forgotten == ["first", "second"]

    def test_the_same_life(self, lives: TableLives, forgotten: list[str]) -> None:
        """Nothing is forgotten at the first look-up, or when a later one finds the same life."""
        look_up(lives, "first")
        assert forgotten == []

    @pytest.mark.parametrize("time", [1, 2])
    def test_two_threads(self, lives: TableLives, forgotten: list[str], time: int) -> None:
        """A thread that finds another life while one forgets waits for it, and does not forget once more."""
        asked, note = Mock(), lives.forget
        other = threading.Thread(target=lives.bind, args=(asked,))

        def forget() -> None:
            note()
            if len(forgotten) == time:
                other.start()
                other.join(0.1)
                assert other.is_alive()

        lives.forget = forget
        look_up(lives, "second")
        other.join(30)
        assert forgotten == ["first", "second"]
        assert not asked.called


class TestTheFirstLook:
    @pytest.fixture
    def unknown(self, configured: str) -> TableLives:
        """Lives that nobody has looked up."""
        dynamodb.forget_lives()
        config = strategies["sort-key"].config
        return TableLives([KeySchema(table="a table")], lambda: None, config, Mock(), needs_transactions=False)

    def test_callers_that_meet(self, unknown: TableLives) -> None:
        """One of them asks, for all."""
        asked: list[str] = []

        def send(operation: str, request: object) -> Mapping[str, Any]:
            asked.append(operation)
            time.sleep(0.05)
            return {"Table": {"TableId": "first"}}

        at_once(8, lambda _: unknown.bind(send, Deadline()))
        assert asked == ["describe_table"]

    def test_a_caller_whose_time_is_over(self, unknown: TableLives) -> None:
        """It is told that nothing was stored, and what the first one asks is not taken for unknown."""
        asking, told = threading.Event(), threading.Event()

        def send(operation: str, request: object) -> Mapping[str, Any]:
            asking.set()
            assert told.wait(30)
            return {"Table": {"TableId": "first"}}

        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(unknown.bind, send, Deadline())
            assert asking.wait(30)
            deadline = Deadline(seconds=0.01)
            with pytest.raises(SequenceUnavailable, match=r"took too long\. .* nothing was stored"):
                unknown.bind(deadline.send, deadline)
            told.set()
            first.result(30)
        assert identity(unknown) == "first"


def look_up(lives: TableLives, identity: str) -> None:
    """Look up the lives anew, on an engine whose table has this identity."""
    dynamodb.forget_lives()
    lives.bind(lambda operation, request: {"Table": {"TableId": identity}})
    assert bool(lives.known_as) is bool(identity)


@pytest.mark.usefixtures("configured")
def test_sound_tables_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the tables may be written is judged again only when one of them is another."""
    judged = Mock(wraps=judge)
    monkeypatch.setattr("sequences.rows.lives.judge", judged)
    lives = make("atomic").lives
    for _ in range(2):
        lives.bind(dynamodb.call)
    assert judged.call_count == 1


def identity(lives: TableLives) -> str:
    """The `TableId` of the current life."""
    return lives.current[0].identity.rpartition("|")[2]


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


@pytest.fixture(scope="class")
def mocked() -> Iterator[None]:
    """The sequences, and no engine but moto, for all tests of a class as in a project that is tested on it."""
    with pytest.MonkeyPatch.context() as patch, override_settings(SEQUENCES=SEQUENCES, TABLE_PREFIX="moto_"):
        patch.delenv("AWS_ENDPOINT_URL_DYNAMODB", raising=False)
        strategies.reset()
        yield
    strategies.reset()


class TestMoto:
    @pytest.mark.parametrize("name", ["sort-key", "transactional", "block"])
    def test_every_mock_begins_anew(self, mocked: None, name: str) -> None:
        """Under plain `mock_aws` with `create_tables` each mock gives 1, 2, 3, with nothing else called."""
        for _ in range(2):
            with mock_aws():
                call_command("create_tables", verbosity=0)
                if name in RESERVING:
                    assert take_some(name, "b", 2) == [1, 2]
                assert put_some(name, "a", 3) == [1, 2, 3]
