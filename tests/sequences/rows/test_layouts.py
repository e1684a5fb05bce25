"""Tables of every shape: values in the sort key, in the partition key, or beside the items' own keys."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from sequences import dynamodb, get_last_value, put_next, put_next_many
from sequences.dynamodb.expressions import MARKER_EXPIRY
from sequences.exceptions import (
    InvalidItem,
    InvalidScope,
    InvalidSequence,
    ItemExists,
    OperationNotSupported,
    StorageRefused,
)
from sequences.ops.audit import audit
from sequences.ops.tables import create_tables
from sequences.registry import strategies
from sequences.testing.callers import at_once
from sequences.testing.embedded import Engine
from tests.sequences.support import Wire, tables_of, tapped

COUNTERS = (
    "atomic.AtomicCounter",
    "block.BlockAllocator",
    "optimistic.OptimisticCounter",
    "transactional.TransactionalCounter",
)
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "number-key": {"value_in": "partition_key", "key_names": ["id"], "key_types": ["N"], "partition": "{value}"},
    "text-key": {"value_in": "partition_key", "key_names": ["id"], "partition": "order-{value:06d}"},
    "headed-key": {
        "value_in": "partition_key",
        "key_names": ["id", "part"],
        "key_types": ["S", "S"],
        "partition": "{value}/order",
    },
    "own-text": {"value_in": "attribute", "key_names": ["id"], "value_name": "number", "token_name": "request"},
    "own-number": {"value_in": "attribute", "key_names": ["id"], "key_types": ["N"], "marker_table": "marks"},
    "own-pair": {"value_in": "attribute", "key_names": ["tenant", "id"], "key_types": ["N", "S"]},
}
COLLECTIONS = {"key_names": ["customer", "number"], "key_types": ["N", "N"], "partition": "{scope}"}


def _configured() -> dict[str, dict[str, Any]]:
    made = {
        f"{shape}-{path.partition('.')[0]}": {
            "STRATEGY": f"sequences.strategies.{path}",
            "TABLE": f"{shape}-{path.partition('.')[0]}",
            "START": 11,
            "OPTIONS": options,
        }
        for shape, options in SHAPES.items()
        for path in COUNTERS
    }
    for path in ("sort_key.SortKeyMaximum", *COUNTERS):
        name = f"numbered-{path.partition('.')[0]}"
        made[name] = {
            "STRATEGY": f"sequences.strategies.{path}",
            "TABLE": name,
            "START": 11,
            "OPTIONS": COLLECTIONS,
        }
    return made


SEQUENCES = _configured()
OWN = [name for name in SEQUENCES if name.startswith("own")]
SOME = [*SEQUENCES][::3]  # each shape and each strategy, if not each shape for each strategy
NUMBERED = [name for name in SEQUENCES if name.startswith("numbered")]
KEYED = [name for name in SEQUENCES if "-key-" in name]


@pytest.fixture(scope="module")
def shaped(engine: Engine) -> Iterator[str]:
    """A table of each shape for each strategy. The tests share them. The value is their prefix."""
    with tables_of(SEQUENCES, engine.endpoint) as prefix:
        yield prefix


@pytest.fixture(autouse=True)
def _shaped(shaped: str) -> None:
    """All tests here use these tables."""


@pytest.fixture
def wire() -> Iterator[Wire]:
    """The requests of this process during the test."""
    with tapped() as wire:
        yield wire


@pytest.fixture
def scope(name: str) -> str | None:
    """A scope of its own, where the shape has scopes; a table of numbers has numbers for scopes."""
    if name in NUMBERED:
        return str(uuid4().int % 10**12 + 1)
    return None if name in KEYED else uuid4().hex[:12]


def brought(name: str, number: int = 0) -> dict[str, Any]:
    """The key attributes that an item of this sequence brings."""
    if "own-text" in name:
        return {"id": f"{name} {number} {uuid4()}"}
    if "own-number" in name:
        return {"id": uuid4().int % 10**30}
    if "own-pair" in name:
        return {"tenant": 7, "id": f"{number} {uuid4()}"}
    return {"part": "head"} if "headed" in name else {}


def row(name: str, scope: str | None, item: Mapping[str, Any], value: int) -> dict[str, Any]:
    """The stored item of a value, read by the key that it must have."""
    if name in NUMBERED:
        item = {"customer": int(scope or ""), "number": value}
    keys: dict[str, dict[str, Any]] = {
        "number-key": {"id": value},
        "text-key": {"id": f"order-{value:06d}"},
        "headed-key": {"id": f"{value}/order", "part": "head"},
    }
    key = keys.get(name.rpartition("-")[0]) or {key: item[key] for key in SEQUENCES[name]["OPTIONS"]["key_names"]}
    request = {"TableName": strategies[name].schema.table, "Key": dynamodb.marshal(key), "ConsistentRead": True}
    return dynamodb.unmarshal(dynamodb.call("get_item", request).get("Item", {}))


def value_of(name: str, stored: Mapping[str, Any]) -> Any:
    """The value that an item with its own key has as an attribute."""
    return stored[SEQUENCES[name]["OPTIONS"].get("value_name", "value")]


@pytest.mark.parametrize("name", SEQUENCES)
class TestEveryShape:
    def test_items_are_stored_under_their_values(self, name: str, scope: str | None) -> None:
        """An item is stored where its shape says, with its value and its token in the attributes that are named so."""
        for number in range(3):
            item = {**brought(name, number), "title": "a"}
            told = put_next(name, item, scope=scope)
            stored = row(name, scope, item, told.value)
            assert stored["title"] == "a"
            assert SEQUENCES[name]["OPTIONS"].get("token_name", "token") in stored
            assert name not in OWN or value_of(name, stored) == told.value
            key = [*strategies[name].layout.key(scope, told.value).values()]
            shown = " / ".join(part[kind] for part in key for kind in part)
            brings = name in OWN or name.startswith("headed-key")  # a part of its key, or all of it
            assert strategies[name].layout.key_text(scope, told.value) == ("" if brings else shown)


@pytest.mark.parametrize("name", SOME)
class TestSomeShapes:
    def test_a_repeat(self, name: str, scope: str | None) -> None:
        """A repeat with the same token gets the first value, also from a process that remembers nothing."""
        item, token = brought(name), uuid4().hex
        first = put_next(name, item, scope=scope, idempotency_token=token)
        strategies.forget()
        again = put_next(name, item, scope=scope, idempotency_token=token)
        assert (again.value, again.replayed) == (first.value, True)

    @pytest.mark.parametrize("token", [None, "a token"])
    def test_a_lost_answer(self, name: str, scope: str | None, token: str | None, wire: Wire) -> None:
        """After a lost answer the item is found again: it is stored once, under one value."""
        put_next(name, brought(name), scope=scope)
        transactional = token or "transactional" in name
        wire.lose("TransactWriteItems" if transactional else "PutItem")
        item = brought(name)
        told = put_next(name, item, scope=scope, idempotency_token=token and f"{token} {uuid4()}")
        assert told.attempts == 2
        assert row(name, scope, item, told.value)
        assert get_last_value(name, scope=scope) == told.value or "block" in name

    def test_threads(self, name: str, scope: str | None) -> None:
        """Values of threads differ, and a gapless strategy leaves none out."""
        first = put_next(name, brought(name), scope=scope).value
        told = at_once(8, lambda number: put_next(name, brought(name, number), scope=scope).value)
        assert len(set(told)) == 8
        if strategies[name].gapless:
            assert sorted(told) == list(range(first + 1, first + 9))

    def test_many_at_once(self, name: str, scope: str | None) -> None:
        """Many items get increasing values, and each is stored under its own."""
        items = [brought(name, number) for number in range(5)]
        told = [allocation.value for allocation in put_next_many(name, items, scope=scope)]
        assert told == sorted(set(told))
        assert all(row(name, scope, item, value) for item, value in zip(items, told, strict=True))


@pytest.mark.parametrize("name", KEYED)
class TestInThePartitionKey:
    def test_imported_rows(self, name: str) -> None:
        """A value that an imported row has already is left to it."""
        strategy = strategies[name]
        last_value = put_next(name, brought(name)).value
        taken = {**strategy.layout.key(None, last_value + 1), **dynamodb.marshal({**brought(name), "title": "old"})}
        dynamodb.call("put_item", {"TableName": strategy.schema.table, "Item": taken})
        told = put_next(name, brought(name)).value
        assert told == last_value + 2
        assert row(name, None, {}, last_value + 1)["title"] == "old"

    def test_scopes_are_refused(self, name: str) -> None:
        """A scope whose items could not be told from those of others is refused."""
        with pytest.raises(InvalidScope, match="leave it out"):
            put_next(name, brought(name), scope="A")

    def test_the_key_is_ours(self, name: str) -> None:
        """An item that has the key which follows from its value is refused."""
        with pytest.raises(InvalidItem, match="'id', which the sequence writes itself"):
            put_next(name, {**brought(name), "id": "1"})


@pytest.mark.parametrize("name", OWN)
class TestOwnKeys:
    def test_an_item_that_exists(self, name: str, scope: str | None) -> None:
        """A second item with the same key is refused, and the first one stays."""
        item = {**brought(name), "title": "first"}
        told = put_next(name, item, scope=scope)
        with pytest.raises(ItemExists):
            put_next(name, {**item, "title": "second"}, scope=scope)
        assert row(name, scope, item, told.value)["title"] == "first"

    def test_an_item_without_its_key(self, name: str, scope: str | None) -> None:
        """An item without its key is refused with the attribute's name, and takes no value."""
        put_next(name, brought(name), scope=scope)
        before = get_last_value(name, scope=scope)
        with pytest.raises(InvalidItem, match=r"has no '(id|tenant)'"):
            put_next(name, {}, scope=scope)
        assert get_last_value(name, scope=scope) == before

    def test_a_key_of_another_type(self, name: str, scope: str | None) -> None:
        """A key attribute of another type is refused with the attribute's name."""
        with pytest.raises(InvalidItem, match=r"'id' must be a (text|number)"):
            put_next(name, {**brought(name), "id": b"1"}, scope=scope)

    def test_the_audit_says_that_it_cannot(self, name: str, scope: str | None) -> None:
        """The audit of items that are not in collections is refused."""
        with pytest.raises(OperationNotSupported, match="value_in"):
            audit(strategies[name], scope)


def test_writes_are_spread() -> None:
    """Items with their own keys have partition keys of their own, and their counter is written once for a block."""
    name = "own-text-block"
    with tapped() as wire:
        for number in range(50):
            put_next(name, brought(name, number), scope="spread")
    keys = {body["Item"]["id"]["S"] for body in wire.bodies("PutItem")}
    assert len(keys) == 50
    assert len(wire.bodies("UpdateItem")) <= 1


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("scope", [None, "ABC", "007", "1.5"])
def test_scopes_that_are_no_numbers(name: str, scope: str | None) -> None:
    """Where the partition key is a number, other scopes are refused before anything is written."""
    with pytest.raises(InvalidScope, match="must be a whole number"):
        put_next(name, {}, scope=scope)


def test_reserved_keys() -> None:
    """A key of the caller that could be the one of a counter or a marker is refused."""
    with pytest.raises(InvalidItem, match="begins with '#'"):
        put_next("own-text-atomic", {"id": "#counter#own-text-atomic##"})


def test_markers_of_numbers() -> None:
    """Markers go beside the items; if those have numbers for partition keys, into another table."""
    tables = {
        name: strategies[f"{name}-atomic"].markers.schema.table for name in ("text-key", "own-number", "own-pair")
    }
    assert tables == {
        "text-key": dynamodb.table_name("text-key-atomic"),
        "own-number": dynamodb.table_name("marks"),
        "own-pair": dynamodb.table_name("sequences"),
    }


def test_markers_beside_counters(settings: Settings) -> None:
    """Markers that cannot be beside the items are in the table of the counters, whatever its name is."""
    options = {**COLLECTIONS, "counter_table": "numbers"}
    settings.SEQUENCES = {"one": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "OPTIONS": options}}
    assert strategies["one"].markers.schema.table == dynamodb.table_name("numbers")


WRONG: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "key_names": ("atomic.AtomicCounter", {"key_names": ["id"]}),
    "key_types": ("atomic.AtomicCounter", {"key_types": ["S", "S"]}),
    "key_types ": ("atomic.AtomicCounter", {"key_types": ["S"]}),
    "partition": ("atomic.AtomicCounter", {"partition": "{sequence}"}),
    "partition ": ("atomic.AtomicCounter", {"key_types": ["N", "N"]}),
    "partition  ": ("atomic.AtomicCounter", {"value_in": "partition_key", "partition": "order"}),
    "partition   ": ("atomic.AtomicCounter", {"value_in": "partition_key", "partition": "{scope}{value}"}),
    "partition    ": ("atomic.AtomicCounter", {"value_in": "partition_key", "partition": "1{value}"}),
    "partition     ": ("atomic.AtomicCounter", {"value_in": "partition_key", "partition": "#{value}"}),
    "partition      ": (
        "atomic.AtomicCounter",
        {"value_in": "partition_key", "key_types": ["N", "S"], "partition": "a-{value}"},
    ),
    "value_in": ("sort_key.SortKeyMaximum", {"value_in": "attribute"}),
    "partition       ": ("atomic.AtomicCounter", {"partition": "#marker#{scope}"}),
    "partition        ": ("atomic.AtomicCounter", {"partition": "{scop}#{scope}"}),
    "partition         ": ("atomic.AtomicCounter", {"partition": "{scope}#{value}"}),
    "partition          ": ("atomic.AtomicCounter", {"value_in": "partition_key", "partition": "{scop}-{value}"}),
    "key_names ": ("atomic.AtomicCounter", {"key_names": ["pk", "pk"]}),
    "token_name": ("atomic.AtomicCounter", {"token_name": "pk"}),
    "token_name ": ("atomic.AtomicCounter", {"token_name": MARKER_EXPIRY}),
    "value_name  ": ("atomic.AtomicCounter", {"value_in": "attribute", "value_name": MARKER_EXPIRY}),
    "text_name": ("atomic.AtomicCounter", {"text_name": MARKER_EXPIRY}),
    "value_name": ("atomic.AtomicCounter", {"value_name": "token"}),
    "value_name ": ("atomic.AtomicCounter", {"value_in": "attribute", "value_name": "sk"}),
    "marker_table": (
        "atomic.AtomicCounter",
        {"key_types": ["N", "N"], "partition": "{scope}", "marker_table": "sequence_items"},
    ),
    "counter_table": (
        "atomic.AtomicCounter",
        {"key_types": ["N", "N"], "partition": "{scope}", "counter_table": "sequence_items"},
    ),
    "counter_table ": (
        "atomic.AtomicCounter",
        {
            "key_types": ["N", "N"],
            "partition": "{scope}",
            "counter_table": "sequence_items",
            "marker_table": "marks",
        },
    ),
}


@pytest.mark.parametrize("option", WRONG)
def test_shapes_that_do_not_fit(option: str, settings: Settings) -> None:
    """Options that do not fit each other are refused by the name of the one to change."""
    path, options = WRONG[option]
    settings.SEQUENCES = {"wrong": {"STRATEGY": f"sequences.strategies.{path}", "OPTIONS": options}}
    with pytest.raises(InvalidSequence, match=rf"\['OPTIONS'\]\['{option.strip()}'\]"):
        strategies["wrong"]


def test_a_table_with_other_keys(settings: Settings) -> None:
    """`create_tables` refuses an existing table whose keys are not the configured ones, and names both."""
    wanted = {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "TABLE": "text-key-atomic"}
    settings.SEQUENCES = {"mine": wanted}
    with pytest.raises(StorageRefused, match=r"has the keys id \(S\); .*'mine' is configured for pk \(S\), sk \(N\)"):
        create_tables()


def test_keys_that_look_alike() -> None:
    """Two threads that bring the same key make one item: the other caller is refused."""
    item, refused = brought("own-text-transactional"), list[ItemExists]()
    lock = threading.Lock()

    def put(_: int) -> None:
        try:
            put_next("own-text-transactional", item, scope="alike")
        except ItemExists as error:
            with lock:
                refused.append(error)

    at_once(4, put)
    assert len(refused) == 3
    assert get_last_value("own-text-transactional", scope="alike") == 11
