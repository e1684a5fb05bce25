"""What is sent to make tables, to change how items expire, and to tell the lives of tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from pytest_django import Settings

from sequences.dynamodb import client, tables
from sequences.dynamodb.lives import Copies
from sequences.dynamodb.tables import TableOptions, create_table, keys_in, life_of
from sequences.exceptions import (
    AccessRefused,
    InvalidSequence,
    NotConfigured,
    NotWritten,
    OutcomeUnknown,
    StorageError,
    StorageRefused,
    TableMissing,
)
from tests.sequences.support import Clock

KEYS: Any = {"pk": "S", "sk": "N"}
KEY_SCHEMA = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
DEFINED = [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}]
SHAPE = {"KeySchema": KEY_SCHEMA, "AttributeDefinitions": DEFINED}
INDEX = {
    "IndexName": "by_day",
    "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
DAY = {"AttributeName": "day", "AttributeType": "S"}


class InUse(Exception):
    """What a client of boto3 raises for a table that exists."""


@pytest.fixture
def boto(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """A client of boto3 that notes what is asked of it."""
    boto = mock.Mock(exceptions=mock.Mock(ResourceInUseException=InUse))
    monkeypatch.setattr(client, "shared_client", mock.Mock(return_value=boto))
    return boto


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """What is called in place of a request."""
    sent = mock.Mock()
    monkeypatch.setattr(client, "call", sent)
    return sent


@pytest.fixture
def time(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still, for tables too."""
    monkeypatch.setattr(tables, "time", SimpleNamespace(monotonic=clock, sleep=clock.sleep))
    monkeypatch.setattr(client, "elapsed", clock)
    return clock


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No life is known before a test, and none after it."""
    monkeypatch.setattr(client, "account", lambda alias: f"the place of {alias}")
    client.lives("default").forget()
    yield
    client.lives("default").forget()


class TestCreating:
    def test_a_plain_table(self, boto: mock.Mock) -> None:
        """It is asked for with its keys, and waited for; then former lives are forgotten."""
        epoch = client.lives().epoch
        assert create_table("tickets", KEYS) is True
        boto.create_table.assert_called_once_with(TableName="tickets", **SHAPE, BillingMode="PAY_PER_REQUEST")
        boto.get_waiter.assert_called_once_with("table_exists")
        limits = {"Delay": 1, "MaxAttempts": 120}
        boto.get_waiter().wait.assert_called_once_with(TableName="tickets", WaiterConfig=limits)
        assert not boto.update_continuous_backups.called
        assert client.lives().epoch != epoch

    def test_every_option(self, boto: mock.Mock) -> None:
        """Each option has its place in the request, and limits hold for the indexes, too."""
        options = TableOptions(
            most_reads=1,
            most_writes=2,
            warm_reads=3,
            warm_writes=4,
            protected=True,
            recoverable=True,
            kms_key="a key",
            tags={"team": "sales"},
            indexes={"by_day": {"day": "S"}},
        )
        create_table("tickets", KEYS, options=options)
        throughput = {
            "OnDemandThroughput": {"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 2},
            "WarmThroughput": {"ReadUnitsPerSecond": 3, "WriteUnitsPerSecond": 4},
        }
        boto.create_table.assert_called_once_with(
            TableName="tickets",
            KeySchema=KEY_SCHEMA,
            AttributeDefinitions=[*DEFINED, DAY],
            GlobalSecondaryIndexes=[INDEX | throughput],
            BillingMode="PAY_PER_REQUEST",
            **throughput,
            DeletionProtectionEnabled=True,
            SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "a key"},
            Tags=[{"Key": "team", "Value": "sales"}],
        )
        boto.update_continuous_backups.assert_called_once_with(
            TableName="tickets", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )

    def test_a_table_that_exists(self, boto: mock.Mock) -> None:
        """It stays as it is, and its life goes on."""
        boto.create_table.side_effect = InUse
        epoch = client.lives().epoch
        assert create_table("tickets", KEYS, options=TableOptions(recoverable=True)) is False
        assert not boto.get_waiter.called
        assert client.lives().epoch == epoch

    def test_a_missing_index(self, boto: mock.Mock, time: Clock) -> None:
        """It is asked for once, and looked at each second until it is ready."""
        boto.create_table.side_effect = InUse
        stands: list[dict[str, Any]] = [
            {},
            *({"GlobalSecondaryIndexes": [{"IndexName": "by_day", "IndexStatus": "CREATING"}]},) * 2,
            {"GlobalSecondaryIndexes": [{"IndexName": "by_day", "IndexStatus": "ACTIVE"}]},
        ]
        boto.describe_table.side_effect = [{"Table": {**SHAPE, **stand}} for stand in stands]
        assert create_table("tickets", KEYS, options=TableOptions(indexes={"by_day": {"day": "S"}})) is False
        boto.describe_table.assert_called_with(TableName="tickets")
        boto.update_table.assert_called_once_with(
            TableName="tickets",
            AttributeDefinitions=[*DEFINED, DAY],
            GlobalSecondaryIndexUpdates=[{"Create": INDEX}],
        )
        assert time.sleeps == [1, 1]

    def test_an_index_that_takes_long(self, boto: mock.Mock, time: Clock) -> None:
        """After two minutes somebody must come again."""
        boto.create_table.side_effect = InUse
        index = {"IndexName": "by_day", "IndexStatus": "CREATING"}
        boto.describe_table.return_value = {"Table": {**SHAPE, "GlobalSecondaryIndexes": [index]}}
        with pytest.raises(NotWritten, match="'by_day' of 'tickets' is still being made"):
            create_table("tickets", KEYS, options=TableOptions(indexes={"by_day": {"day": "S"}}))
        assert sum(time.sleeps) == 121


def test_deleting(sent: mock.Mock) -> None:
    """A table is deleted by its name, and its life forgotten."""
    epoch = client.lives().epoch
    tables.delete_table("tickets")
    sent.assert_called_once_with("delete_table", {"TableName": "tickets"})
    assert client.lives().epoch != epoch


def test_names(settings: Settings) -> None:
    """Names begin with the prefix of the settings, if there is one."""
    settings.TABLE_PREFIX = "our_"
    assert tables.table_name("tickets") == "our_tickets"
    del settings.TABLE_PREFIX
    assert tables.table_name("tickets") == "tickets"


@pytest.mark.parametrize("prefix", [None, 5, ["a"], "prod/", "\u00e4_", "a\n"])
def test_a_prefix_that_cannot_be(settings: Settings, prefix: Any) -> None:
    """What cannot begin a table's name makes none: a missing variable of the environment is no "None"."""
    settings.TABLE_PREFIX = prefix
    with pytest.raises(InvalidSequence, match=re.escape(f"The setting TABLE_PREFIX is {prefix!r}; it must be a text")):
        tables.table_name("tickets")


def test_keys(sent: mock.Mock) -> None:
    """The partition key comes first, whatever order they are told in; nothing is known of keys that are not told."""
    sent.return_value = {"Table": {"KeySchema": KEY_SCHEMA[::-1], "AttributeDefinitions": [DAY, *DEFINED]}}
    assert list(tables.table_keys("tickets", "far").items()) == [("pk", "S"), ("sk", "N")]
    sent.assert_called_once_with("describe_table", {"TableName": "tickets"}, client="far")
    assert keys_in({}) == {}


class TestExpiry:
    @pytest.mark.parametrize(
        ("status", "used"), [("ENABLED", "old"), ("ENABLING", "old"), ("DISABLED", "new"), ("DISABLING", "new")]
    )
    def test_which_attribute(self, sent: mock.Mock, status: str, used: str) -> None:
        """What expires already goes on as it does; else it is set."""
        sent.return_value = {"TimeToLiveDescription": {"TimeToLiveStatus": status, "AttributeName": "old"}}
        assert tables.expire_items("tickets", "new", "far") == used
        wanted = {"Enabled": True, "AttributeName": "new"}
        asked = mock.call("describe_time_to_live", {"TableName": "tickets"}, client="far")
        change = {"TableName": "tickets", "TimeToLiveSpecification": wanted}
        changed = mock.call("update_time_to_live", change, client="far")
        assert sent.call_args_list == ([asked] if used == "old" else [asked, changed])

    def test_no_more(self, sent: mock.Mock) -> None:
        """Items that are kept expire by no attribute."""
        tables.set_expiry("tickets", "old", enabled=False)
        wanted = {"Enabled": False, "AttributeName": "old"}
        change = {"TableName": "tickets", "TimeToLiveSpecification": wanted}
        sent.assert_called_once_with("update_time_to_live", change, client="default")


ABOUT = {**SHAPE, "TableArn": "arn:aws:dynamodb:eu-west-1:1:table/tickets", "TableId": "an id", "CreationDateTime": 7}


def describing(*answers: Mapping[str, Any] | StorageError) -> mock.Mock:
    """What sends requests, and answers so."""
    found = [answer if isinstance(answer, StorageError) else {"Table": answer} for answer in answers]
    return mock.Mock(side_effect=found)


class TestLife:
    def test_one_that_is_described(self) -> None:
        """It is asked for once, and once more when that is wanted or tables were missing."""
        send = describing(ABOUT, ABOUT, ABOUT)
        life = life_of("tickets", send=send)
        assert life_of("tickets", send=send) is life
        send.assert_called_once_with("describe_table", {"TableName": "tickets"})
        assert (life.place, life.identity) == ("the place of default|tickets", f"{ABOUT['TableArn']}|an id")
        assert (life.copies, life.keys, life.table_id) == (Copies(), (("pk", "S"), ("sk", "N")), "an id")
        assert not life_of("tickets", send=send, anew=True).is_another(life)
        tables.forget_lives()
        assert life_of("tickets", send=send).epoch == life.epoch + 1
        assert send.call_count == 3

    def test_one_that_is_in_use(self, time: Clock) -> None:
        """A table that is used each minute is not asked again; after a pause it is."""
        send = describing(ABOUT, ABOUT)
        for _ in range(5):
            life_of("tickets", send=send)
            time.now += tables.LONGEST_PAUSE - 1
        assert send.call_count == 1
        time.now += 1
        life_of("tickets", send=send)
        assert send.call_count == 2

    def test_a_global_table(self) -> None:
        """Its copies have ids of their own, which tell nothing; nor does an engine without ids."""
        copies = {"Replicas": [{"RegionName": "us-east-1"}]}
        assert life_of("tickets", send=describing(ABOUT | copies)).table_id == ""
        assert life_of("tickets", send=describing({}), anew=True).table_id == ""

    @pytest.mark.parametrize(
        ("place", "is_inside"), [("http://localhost:8000|eu", False), ("https://a.amazonaws.com|eu", True)]
    )
    def test_an_engine_without_ids(self, place: str, is_inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """There the time of creation tells a life from another, within this process if the engine is in it."""
        monkeypatch.setattr(client, "account", lambda alias: place)
        about = {name: value for name, value in ABOUT.items() if name != "TableId"}
        within = f" in {os.getpid()}" if is_inside else ""
        assert life_of("tickets", send=describing(about)).identity == f"{ABOUT['TableArn']}|7{within}"
        assert life_of("tickets", send=describing(ABOUT), anew=True).identity == f"{ABOUT['TableArn']}|an id"

    @pytest.mark.parametrize("error", [NotConfigured, TableMissing])
    def test_what_is_raised(self, error: type[StorageError]) -> None:
        """A table that is missing, and settings that lead nowhere, are errors."""
        with pytest.raises(error):
            life_of("tickets", send=describing(error()))

    @pytest.mark.parametrize(
        ("error", "seconds"), [(NotWritten, 1), (OutcomeUnknown, 1), (StorageRefused, 60), (AccessRefused, 60)]
    )
    def test_an_engine_that_does_not_say(
        self, error: type[StorageError], seconds: float, time: Clock, logged: pytest.LogCaptureFixture
    ) -> None:
        """A life without identity stands for a while, which the log says once."""
        send = describing(error(), error(), ABOUT)
        life = life_of("tickets", send=send)
        assert (life.place, life.identity, life.epoch) == ("the place of default|tickets", "", client.lives().epoch)
        time.now += seconds - 0.5
        assert life_of("tickets", send=send) is life
        assert send.call_count == 1
        for _ in range(2):
            time.now += seconds
            life = life_of("tickets", send=send)
        assert life.identity
        assert [message.startswith("table tickets: cannot be described") for message in logged.messages] == [True]

    @pytest.mark.parametrize("error", [NotWritten, StorageRefused])
    def test_one_that_was_known(self, error: type[StorageError], time: Clock, logged: pytest.LogCaptureFixture) -> None:
        """It stands for a minute, and the log says so."""
        send = describing(ABOUT, error(), ABOUT)
        life = life_of("tickets", send=send)
        assert life_of("tickets", send=send, anew=True) is life
        time.now += 59.5
        assert life_of("tickets", send=send) is life
        assert (send.call_count, len(logged.messages)) == (2, 1)
        time.now += 0.5
        assert life_of("tickets", send=send) == life
        assert send.call_count == 3

    def test_what_is_in_the_way(self, time: Clock) -> None:
        """What is known stands for a minute at most, however often somebody says that; other tables are left alone."""
        tables.ask_again("tickets")
        assert client.lives().by_table == {}
        send = describing(ABOUT, ABOUT)
        life_of("tickets", send=send)
        tables.ask_again("tickets")
        time.now += 59.5
        tables.ask_again("tickets")
        life_of("tickets", send=send)
        assert send.call_count == 1
        time.now += 0.5
        life_of("tickets", send=send)
        assert send.call_count == 2
