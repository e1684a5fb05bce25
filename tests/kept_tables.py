"""The tables that tests use one after the other: to empty them takes a fraction of the time that new ones take."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from django.test import override_settings

from project.proof.faults.elsewhere import patient
from sequences import dynamodb
from sequences.commit import host_memory
from sequences.ops.tables import create_tables
from sequences.testing import engine_at
from tickets.store.members import accesses
from tickets.store.places import renames

MOST_ROWS = 200  # a table with more of them is made again
BATCH = 25
SIGNED = "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"


class KeptTables:
    """The tables of some sequences on one engine.

    They are emptied by plain HTTP, whatever a test has replaced, and in less time than boto3 takes.
    """

    def __init__(self, endpoint: str, sequences: Mapping[str, Any]) -> None:
        self.prefix = f"t{uuid4().hex[:12]}_"
        self._endpoint = endpoint
        self.sequences = sequences
        self._make()

    def empty(self) -> None:
        """Delete all rows, and what this process and its host remember of them."""
        connection = HTTPConnection(urlsplit(self._endpoint).netloc)
        emptied = [_emptied(connection, table, names) for table, names in self._keys.items()]
        if not all(emptied):
            self._make()
        connection.close()
        if memory := host_memory.shared_memory():
            memory.view[:] = bytes(host_memory.BYTES)
        accesses.forget()
        renames.forget()

    def _make(self) -> None:
        """Make the tables that are missing."""
        own = override_settings(SEQUENCES=self.sequences, TABLE_PREFIX=self.prefix, SEQUENCES_CLIENTS=patient())
        with engine_at(self._endpoint), own:
            self._keys = {table: list(dynamodb.table_keys(table)) for table in create_tables()}


_free: dict[str, list[KeptTables]] = {}
"""The tables that no test uses now, by their engine and their sequences."""


@contextmanager
def emptied_tables(sequences: Mapping[str, Any], endpoint: str) -> Iterator[str]:
    """Empty tables for these sequences on an engine. The next test with the same ones finds them empty again.

    The value is their prefix.
    """
    free = _free.setdefault(f"{endpoint} {sequences}", [])
    kept = free.pop() if free else KeptTables(endpoint, sequences)
    with override_settings(SEQUENCES=sequences, TABLE_PREFIX=kept.prefix), engine_at(endpoint):
        yield kept.prefix
    kept.empty()
    free.append(kept)


def _emptied(connection: HTTPConnection, table: str, names: list[str]) -> bool:
    """Empty a table. If a test has deleted it or has filled it, it is missing afterwards."""
    found = ask(connection, "Scan", {"TableName": table, "ConsistentRead": True, "Limit": MOST_ROWS})
    if "LastEvaluatedKey" in found:
        ask(connection, "DeleteTable", {"TableName": table})
        return False
    keys = [{name: item[name] for name in names} for item in found.get("Items", [])]
    for start in range(0, len(keys), BATCH):
        requests = [{"DeleteRequest": {"Key": key}} for key in keys[start : start + BATCH]]
        ask(connection, "BatchWriteItem", {"RequestItems": {table: requests}})
    return "Items" in found


def ask(connection: HTTPConnection, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """The answer of an engine to one request over plain HTTP, which takes a fraction of boto3's time."""
    headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Authorization": SIGNED}
    headers |= {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": "20260101T000000Z"}
    connection.request("POST", "/", json.dumps(request), headers)
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    return answer
