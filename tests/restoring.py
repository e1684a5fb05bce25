"""Restores tables as DynamoDB does: into new tables under other names, without expiry."""

from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from tests.kept_tables import BATCH, ask

Saved = dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]
"""The keys and the rows of each table, by its name without TABLE_PREFIX."""


def save(endpoint: str) -> Saved:
    """All that is in the tables at this moment."""
    engine = HTTPConnection(urlsplit(endpoint).netloc)
    prefix: str = settings.TABLE_PREFIX
    names = [name for page in _pages(engine, "ListTables", "TableName") for name in page["TableNames"]]
    own = [name for name in names if name.startswith(prefix)]
    return {name.removeprefix(prefix): (_keys(engine, name), _rows(engine, name)) for name in own}


def restore(saved: Saved, endpoint: str, prefix: str) -> None:
    """Make new tables with the saved rows, under names with this prefix."""
    engine = HTTPConnection(urlsplit(endpoint).netloc)
    for name, (keys, rows) in saved.items():
        table = f"{prefix}{name}"
        ask(engine, "DeleteTable", {"TableName": table})
        ask(engine, "CreateTable", {"TableName": table, "BillingMode": "PAY_PER_REQUEST", **keys})
        for start in range(0, len(rows), BATCH):
            requests = [{"PutRequest": {"Item": row}} for row in rows[start : start + BATCH]]
            ask(engine, "BatchWriteItem", {"RequestItems": {table: requests}})


def _keys(engine: HTTPConnection, table: str) -> dict[str, Any]:
    about = ask(engine, "DescribeTable", {"TableName": table})["Table"]
    return {name: about[name] for name in ("KeySchema", "AttributeDefinitions")}


def _rows(engine: HTTPConnection, table: str) -> list[dict[str, Any]]:
    pages = _pages(engine, "Scan", "Key", TableName=table, ConsistentRead=True)
    return [row for page in pages for row in page["Items"]]


def _pages(engine: HTTPConnection, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
    """The answers to one request, page by page; `key` is what the names of the cursors end with."""
    while True:
        page = ask(engine, operation, request)
        yield page
        if f"LastEvaluated{key}" not in page:
            return
        request[f"ExclusiveStart{key}"] = page[f"LastEvaluated{key}"]
