"""moto as it replaces the engine: calls one at a time, and transactions that copy each table once."""

import copy
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

from sequences.testing import moto_engine
from sequences.testing.callers import at_once
from sequences.testing.moto_server import patched_moto


@pytest.fixture
def client() -> Iterator[Any]:
    """A client of patched moto, with the table `items`."""
    with moto_engine():
        client = boto3.client("dynamodb")
        client.create_table(
            TableName="items",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield client


def put(key: str) -> dict[str, Any]:
    """The action that stores an item where there is none."""
    item = {"pk": {"S": key}}
    return {"Put": {"TableName": "items", "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}


def test_calls_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a call is carried out, no other thread's call begins."""
    inside, others = threading.Semaphore(1), threading.Event()

    def call_action(handler: DynamoHandler) -> bool:
        alone = inside.acquire(blocking=False)
        others.wait(0.05)  # long enough for all threads to come
        if alone:
            inside.release()
        return alone

    monkeypatch.setattr(DynamoHandler, "call_action", call_action)
    with patched_moto():
        assert at_once(4, lambda _: DynamoHandler().call_action()) == [True] * 4


def test_a_transaction_copies_its_table_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction of 20 actions copies the table once, not 20 times."""
    copies: list[Table] = []

    def note(table: Table, memo: object) -> Table:
        copies.append(table)
        return copy.copy(table)

    monkeypatch.setattr(Table, "__deepcopy__", note, raising=False)
    client.transact_write_items(TransactItems=[put(f"{n}") for n in range(20)])
    assert len(copies) == 1


def test_a_cancelled_transaction_stores_nothing(client: Any) -> None:
    """Of a transaction with an action that is refused, nothing is stored, and later writes are not undone."""
    client.transact_write_items(TransactItems=[put("a")])
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[put("b"), put("c"), put("a")])
    client.transact_write_items(TransactItems=[put("d")])
    assert {item["pk"]["S"] for item in client.scan(TableName="items")["Items"]} == {"a", "d"}
