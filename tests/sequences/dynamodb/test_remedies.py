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


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("The provided key element does not match the schema", "The table has other keys than the settings say"),
        ("Type mismatch for Index Key", "An attribute is a key of an index"),
        ("empty string value. IndexName: by_day, IndexKey: day", "An attribute is a key of an index"),
        ("Item Size has exceeded the maximum", "An item has at most 400 KB"),
    ],
)
def test_which_remedy(said: str, remedy: str) -> None:
    """What the engine says leads to the remedy."""
    error = StorageRefused(said)
    complete(error, "", {"TableName": "orders"})
    assert f"{error}".startswith(f"{said}. The request is for orders. {remedy}")


def test_no_remedy() -> None:
    """Without a sequence and a remedy it ends after the table."""
    error = StorageRefused("Nobody knows why")
    complete(error, "", {"TableName": "orders"})
    assert f"{error}" == "Nobody knows why. The request is for orders."
