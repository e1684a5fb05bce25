"""Creating tables: their shape, how markers expire, and what is forgotten when they are made again."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from sequences import dynamodb, get_next_value
from sequences.dynamodb.expressions import MARKER_EXPIRY
from sequences.exceptions import InvalidSequence, NotWritten, StorageRefused, TableMissing
from sequences.ops.tables import create_tables, indexes_of, schemas_of, usable
from sequences.registry import strategies

PATH = "sequences.strategies"
SEQUENCES: dict[str, dict[str, Any]] = {
    "block": {"STRATEGY": f"{PATH}.block.BlockAllocator", "OPTIONS": {"block_size": 8}},
    "padded": {
        "STRATEGY": f"{PATH}.sort_key.SortKeyMaximum",
        "TABLE": "padded_items",
        "OPTIONS": {"sort_key": "{value:010d}", "key_names": ("place", "number")},
    },
}


@pytest.fixture(autouse=True)
def _two_sequences(endpoint: str, table_prefix: str, settings: Settings) -> None:
    """Two sequences, which need three tables that do not exist yet."""
    settings.SEQUENCES = SEQUENCES


@pytest.fixture
def foreign(table_prefix: str) -> str:
    """The items' table of the first sequence, from which items with `expires_at` are deleted."""
    table = dynamodb.table_name("sequence_items")
    dynamodb.create_table(table, {"pk": "S", "sk": "N"})
    dynamodb.expire_items(table, "expires_at")
    return table


def shape(name: str) -> list[tuple[str, str]]:
    """The keys of a table with their types."""
    table = dynamodb.call("describe_table", {"TableName": dynamodb.table_name(name)})["Table"]
    types = {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]}
    return [(one["AttributeName"], types[one["AttributeName"]]) for one in table["KeySchema"]]


def expiry(table: str) -> str:
    """The attribute by which items are deleted; empty if none are."""
    description = dynamodb.call("describe_time_to_live", {"TableName": table})["TimeToLiveDescription"]
    return str(description.get("AttributeName", "")) if description["TimeToLiveStatus"] == "ENABLED" else ""


@pytest.mark.parametrize(
    ("strategy", "options", "tables"),
    [
        ("atomic.AtomicCounter", {}, ["sequence_items", "sequences"]),
        ("atomic.AtomicCounter", {"counter_table": "sequence_items"}, ["sequence_items", "sequences"]),
        ("atomic.AtomicCounter", {"counter_table": "counters"}, ["sequence_items", "counters"]),
        ("sort_key.SortKeyMaximum", {"marker_table": "marks"}, ["sequence_items", "marks", "sequences"]),
        ("sort_key.SortKeyMaximum", {"history_table": "changes"}, ["sequence_items", "changes"]),
        ("sort_key.SortKeyMaximum", {"history_table": "sequence_items"}, ["sequence_items"]),
        ("atomic.AtomicCounter", {"marker_table": "sequences"}, ["sequence_items", "sequences"]),
    ],
)
def test_the_tables_of_a_sequence(
    strategy: str, options: dict[str, Any], tables: list[str], settings: Settings
) -> None:
    """A sequence has a table of items, of counters, of markers and of its history, and names each of them once."""
    settings.SEQUENCES = {"one": {"STRATEGY": f"{PATH}.{strategy}", "OPTIONS": options}}
    named = [schema.table for schema in schemas_of(strategies["one"])]
    assert named == [dynamodb.table_name(table) for table in tables]


def test_a_missing_table_has_no_life(table_prefix: str) -> None:
    """Asking for the life of a missing table raises TableMissing."""
    with pytest.raises(TableMissing):
        dynamodb.life_of("no_such_table", send=dynamodb.call)


def test_an_engine_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a table where nobody listens is refused in our words."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
    strategies.reset()
    with pytest.raises(NotWritten, match="create_table"):
        dynamodb.create_table("a_table", {"pk": "S", "sk": "N"})
    strategies.reset()


def test_shapes() -> None:
    """A table has the configured key names; its sort key is a number, or text where numbers are padded."""
    created = create_tables()
    assert created == dict.fromkeys(map(dynamodb.table_name, ("sequence_items", "sequences", "padded_items")), True)
    assert shape("sequence_items") == [("pk", "S"), ("sk", "N")]
    assert shape("padded_items") == [("place", "S"), ("number", "S")]
    assert shape("sequences") == [("sequence", "S"), ("scope", "S")]


class TestExpiry:
    def test_markers_expire(self) -> None:
        """Items' tables let go of markers by their own attribute; the table of counters keeps everything."""
        create_tables()
        tables = [dynamodb.table_name(name) for name in ("sequence_items", "padded_items", "sequences")]
        assert [expiry(table) for table in tables] == [MARKER_EXPIRY, MARKER_EXPIRY, ""]

    def test_a_table_that_deletes_items_is_refused(self, foreign: str) -> None:
        """Expiry by an attribute that items may have is refused with the remedy, and not changed."""
        with pytest.raises(StorageRefused, match=r"deletes items by 'expires_at'.*--move-expiry"):
            create_tables()
        with pytest.raises(CommandError, match="--move-expiry"):
            call_command("create_tables", verbosity=0)
        assert expiry(foreign) == "expires_at"

    def test_expiry_is_moved_when_asked(self, foreign: str) -> None:
        """With --move-expiry items are deleted no more, and markers are; from then on all is well."""
        call_command("create_tables", "--move-expiry", verbosity=0)
        assert expiry(foreign) == MARKER_EXPIRY
        assert set(create_tables().values()) == {False}

    def test_an_expiry_that_cannot_be_moved_at_once(self, foreign: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the engine wants its hour between two changes, items are safe, and the message says to come again."""
        expire_items = dynamodb.expire_items

        def refuse_a_change(table: str, attribute: str, client: str) -> str:
            if table == foreign and not expiry(table):
                raise StorageRefused("Time to live has been modified multiple times within a fixed interval")
            return expire_items(table, attribute, client)

        monkeypatch.setattr(dynamodb, "expire_items", refuse_a_change)
        with pytest.raises(StorageRefused, match=r"deletes no items by 'expires_at' any more.* run .* again"):
            create_tables(move_expiry=True)
        assert expiry(foreign) == ""


class TestMemory:
    def test_tables_that_exist(self) -> None:
        """Where nothing is created that is said, and values that are reserved are served on."""
        create_tables()
        assert get_next_value("block", scope="a") == 1
        assert set(create_tables().values()) == {False}
        assert get_next_value("block", scope="a") == 2

    def test_tables_that_are_made_anew(self) -> None:
        """Where a table is created, what was remembered of the one before it is forgotten."""
        create_tables()
        assert get_next_value("block", scope="a") == 1
        dynamodb.delete_table(dynamodb.table_name("sequences"))
        create_tables()
        assert get_next_value("block", scope="a") == 1


def test_the_table_of_series(settings: Settings) -> None:
    """It comes last."""
    settings.SEQUENCES = {"one": {**SEQUENCES["block"], "SERIES": "series"}}
    named = [schema.table for schema in schemas_of(strategies["one"])]
    assert named == [dynamodb.table_name(table) for table in ("sequence_items", "sequences", "series")]


class TestIndexes:
    """Indexes of the items' table of sequences that share it."""

    def indexes(self, settings: Settings, *given: dict[str, Any]) -> Any:
        """The indexes of the table of all sequences, of which each has some."""
        entry = {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum"}
        settings.SEQUENCES = {f"n{number}": {**entry, "INDEXES": one} for number, one in enumerate(given)}
        settings.SEQUENCES["elsewhere"] = {**entry, "TABLE": "other_items", "INDEXES": {"by-place": {"place": "S"}}}
        made = [strategies[name] for name in settings.SEQUENCES]
        return indexes_of(made, dynamodb.table_name("sequence_items"), "default")

    def test_those_of_all_sequences(self, settings: Settings) -> None:
        """The table has them all, each once."""
        one, other = {"by-status": {"status": "S", "sk": "N"}}, {"by-day": {"day": "S"}}
        assert self.indexes(settings, one, {**one, **other}, {}) == {**one, **other}
        assert self.indexes(settings, {}) == {}

    @pytest.mark.parametrize("keys", [{"sk": "N", "status": "S"}, {"status": "N", "sk": "N"}, {"status": "S"}])
    def test_two_that_disagree(self, settings: Settings, keys: dict[str, str]) -> None:
        """An index has its keys in one order, with one type each; the error names the later sequence."""
        with pytest.raises(InvalidSequence) as error:
            self.indexes(settings, {"by-status": {"status": "S", "sk": "N"}}, {"by-status": keys})
        table = dynamodb.table_name("sequence_items")
        where = "SEQUENCES['n1']['INDEXES']['by-status']"
        assert str(error.value) == f"{where} has other keys than another sequence gives it in {table!r}."


def test_the_sequences_that_can_be_used(settings: Settings) -> None:
    """Those whose settings are right; none where SEQUENCES is wrong as a whole."""
    settings.SEQUENCES = {"wrong": {"STRATEGY": "nobody's"}, **SEQUENCES, "other": {}}
    assert [strategy.alias for strategy in usable()] == [*SEQUENCES]
    settings.SEQUENCES = ["block"]
    assert list(usable()) == []


def test_a_table_with_other_keys() -> None:
    """It is refused when the tables are made, and stays as it is."""
    dynamodb.create_table(dynamodb.table_name("sequence_items"), {"id": "S"})
    with pytest.raises(StorageRefused, match="id"):
        create_tables()
    assert shape("sequence_items") == [("id", "S")]


def test_a_table_of_another_client(settings: Settings) -> None:
    """Its name says whose it is."""
    settings.SEQUENCES = {"far": {**SEQUENCES["block"], "CLIENT": "far"}}
    settings.SEQUENCES_CLIENTS = {"far": {}}
    made = create_tables()
    assert made == dict.fromkeys(
        [f"{dynamodb.table_name(name)} of client far" for name in ("sequence_items", "sequences")], True
    )
