"""What an error says of a request that DynamoDB calls invalid."""

from __future__ import annotations

import pytest

from sequences.dynamodb.errors import complete, is_about_keys
from sequences.exceptions import StorageRefused


@pytest.mark.parametrize(
    ("said", "about_keys"),
    [
        ("The provided key element does not match the schema", True),
        ("One of the required keys was not given a value", True),
        ("Type mismatch for key sk expected: S actual: N", True),
        ("Item size has exceeded the maximum allowed size", False),
    ],
)
def test_about_keys(said: str, about_keys: bool) -> None:
    """The engine's words say whether the table has other keys than the settings."""
    assert is_about_keys(StorageRefused(said)) is about_keys


@pytest.mark.parametrize(
    ("request_", "tables"),
    [
        ({"TableName": "orders"}, "orders"),
        ({"TransactItems": [{"Put": {"TableName": "a"}}, {"Update": {"TableName": "b"}}]}, "a, b"),
        ({"RequestItems": {"a": {}, "b": {}}}, "a, b"),
    ],
    ids=["one", "transaction", "batch"],
)
def test_which_tables(request_: dict[str, object], tables: str) -> None:
    """The error names the sequence and each table once, and a remedy where one is known."""
    error = StorageRefused("Item size is too large.")
    complete(error, "orders", request_)
    assert f"{error}".startswith(
        f"Item size is too large. The request of the sequence 'orders' is for {tables}. An item has at most 400 KB"
    )


def test_no_remedy() -> None:
    """Without a sequence and a remedy it ends after the table."""
    error = StorageRefused("Nobody knows why")
    complete(error, "", {"TableName": "orders"})
    assert f"{error}" == "Nobody knows why. The request is for orders."
