"""What a developer gets wrong first: each error says where, what, and the remedy, and nothing is stored."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from sequences import dynamodb, put_next
from sequences.actions import Put, Update
from sequences.exceptions import AccessRefused, InvalidItem, InvalidSequence, StorageRefused
from sequences.ops.tables import create_tables
from sequences.registry import strategies

STRATEGIES = ("SortKeyMaximum", "AtomicCounter", "TransactionalCounter")
ITEMS = "sequence_items"

Configure = Callable[..., None]


@pytest.fixture
def configure(tables: str, settings: Settings) -> Configure:
    """Have the sequence "mine" on empty tables, with these options."""

    def configure(strategy: str, **options: Any) -> None:
        entry = {"STRATEGY": f"sequences.strategies.{strategy}", "TABLE": ITEMS, "OPTIONS": options}
        settings.SEQUENCES = {"mine": entry}

    configure("AtomicCounter")
    create_tables()
    return configure


@pytest.fixture
def _index_by_name(configure: Configure) -> Iterator[None]:
    """The table of items has an index by the text `name`. It is deleted at the end, for other tests use it without."""
    table, by_name = dynamodb.table_name(ITEMS), dynamodb.TableOptions(indexes={"by_name": {"name": "S"}})
    dynamodb.create_table(table, {"pk": "S", "sk": "N"}, options=by_name)
    yield
    dynamodb.delete_table(table)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "wrong", [{"key_names": ("PK", "SK")}, {"key_names": ("pk", "id")}, {"sort_key": "{value:06d}"}]
)
def test_other_keys(configure: Configure, strategy: str, wrong: dict[str, Any]) -> None:
    """Keys that the table does not have are named with the setting, and the right ones work after that."""
    configure(strategy, **wrong)
    with pytest.raises(StorageRefused, match=r"items' has the keys pk \(S\), sk \(N\); .* 'mine' .*'key_names'"):
        put_next("mine", {})
    configure(strategy)
    assert put_next("mine", {}).value == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_other_keys_that_nobody_may_look_at(
    configure: Configure, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the role may not describe the table, the refusal names the sequence, the table and the settings."""
    send = dynamodb.call

    def call(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        if operation == "describe_table":
            raise AccessRefused("no")
        return send(operation, request, **limits)

    configure(strategy, key_names=("PK", "SK"))
    monkeypatch.setattr(dynamodb, "call", call)
    with pytest.raises(StorageRefused, match=f"'mine' .*{ITEMS}.*'key_names'"):
        put_next("mine", {})


@pytest.mark.parametrize("token", [None, "token"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_large_item(configure: Configure, strategy: str, token: str | None) -> None:
    """An item that is too large is refused with the limit, the sequence and the table."""
    configure(strategy)
    with pytest.raises(InvalidItem, match=f"size.*'mine'.*{ITEMS}.*400 KB"):
        put_next("mine", {"text": "x" * 410_000}, idempotency_token=token)


@pytest.mark.needs_engine
@pytest.mark.usefixtures("_index_by_name")
@pytest.mark.parametrize("value", [5, ""], ids=repr)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_key_of_an_index(configure: Configure, strategy: str, value: object) -> None:
    """An attribute that cannot be the key of its index is refused as the item's, with the index if it is known."""
    configure(strategy)
    with pytest.raises(InvalidItem, match=r"^The item cannot be stored: .*[Ii]ndex"):
        put_next("mine", {"name": value})


@pytest.mark.parametrize(
    "wrong",
    [
        Update(ITEMS, {"pk": "user", "sk": 1}, update="SET tickets = tickets + :one", values={":one": 1}),
        Put(ITEMS, {"id": "user"}),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_action(configure: Configure, strategy: str, wrong: Any) -> None:
    """An action that cannot be done is named, also by an engine that refuses the request whole."""
    configure(strategy)
    with pytest.raises(InvalidItem, match=r"also\[0\] cannot be stored"):
        put_next("mine", {}, also=[wrong])
    assert put_next("mine", {}).value == (1 if strategies["mine"].gapless else 2)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (datetime.datetime(2026, 3, 5, tzinfo=datetime.UTC), "isoformat"),
        (datetime.date(2026, 3, 5), "isoformat"),
        (uuid4(), r"str\(\)"),
        ({"deep": [uuid4()]}, r"str\(\)"),
        (10**40, "38 digits. Store it as a text"),
        (Decimal("1e200"), "38 digits. Store it as a text"),
        (1.5, "Use Decimal"),
    ],
    ids=lambda told: type(told).__name__,
)
def test_a_value(configure: Configure, value: object, remedy: str) -> None:
    """A value that no attribute can have is refused with what can be stored in its place."""
    configure("SortKeyMaximum")
    with pytest.raises(InvalidItem, match=f"^The attribute 'v' cannot be stored: .*{remedy}.* one of 'mine'\\.$"):
        put_next("mine", {"v": value})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"STRATEGIE": "any"}, "unknown key 'STRATEGIE'; known are"),
        ({"STRATEGY": "SortKeyMaximum"}, "whole path of the class, as 'sequences.strategies.SortKeyMaximum'"),
    ],
)
def test_a_setting(settings: Settings, entry: dict[str, Any], said: str) -> None:
    """A key or a path that is misspelt is named."""
    settings.SEQUENCES = {"mine": entry}
    with pytest.raises(InvalidSequence, match=said):
        put_next("mine", {})
