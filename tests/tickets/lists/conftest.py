"""The fixtures of lists: a large project, and a note of what the store is asked."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from sequences import dynamodb, put_next_many
from sequences.storage import table_name
from sequences.testing.embedded import Engine
from tests.sequences.support import look_at_the_tables, tables_of
from tests.tickets.conftest import WRITES
from tickets import project_services, store
from tickets.tables import to_row
from tickets.types import Status

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
LARGE = 2_500
BATCH = 25  # the most that one request takes


class Asked:
    """What the store was asked: the number of reads, the rows that they looked at, and their read units."""

    def __init__(self) -> None:
        self.writes: list[str] = []
        self.reads = self.rows = 0
        self.units = 0.0

    def note(self, answer: dict[str, Any]) -> None:
        """Add the answer to one read."""
        self.reads += 1
        self.rows += answer.get("ScannedCount", 1)
        self.units += dynamodb.used_units(answer)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the store is asked from now on, but for the renamed projects, which every process remembers."""
    store.places.renames.present("ABC")
    look_at_the_tables()
    call, asked = dynamodb.call, Asked()

    def note(operation: str, request: Any, **limits: Any) -> dict[str, Any]:
        if operation in WRITES:
            asked.writes.append(operation)
        answer = call(operation, request, **limits)
        if operation in ("query", "get_item", "batch_get_item"):
            asked.note(answer)
        return answer

    monkeypatch.setattr(dynamodb, "call", note)
    return asked


@pytest.fixture(scope="package")
def projects(engine: Engine) -> Iterator[None]:
    """Two projects: SMALL has 200 tickets and LARGE has 2,500, one for each minute since BEGAN.

    Every 100th is done, of the reporter "bob" and labelled "rare"; the first one's title has "Straße" in it.
    """
    with tables_of(settings.SEQUENCES, engine.endpoint):
        for key in ("SMALL", "LARGE"):
            project_services.create_project(key=key, name=key, by="ann")
            put_next_many("tickets", [row(number) for number in range(1, 201)], scope=key)
        put_more("LARGE", range(201, LARGE + 1))
        yield


def put_more(key: str, numbers: range) -> None:
    """Put the rows of further tickets, written like those of the first, in a fraction of the time of the services."""
    table = table_name(store.places.TABLE)
    first = {"TableName": table, "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": key}}}
    like = dynamodb.call("query", first)["Items"][1:]  # after the project itself
    for start in range(numbers.start, numbers.stop, BATCH):
        batch = (row_like(like[(number - 1) % 100], number) for number in numbers[start - numbers.start :][:BATCH])
        dynamodb.call("batch_write_item", {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in batch]}})


def row_like(stored: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The stored row of a ticket like another one, but for its number, its time, and what follows from them."""
    at = (BEGAN + timedelta(minutes=number)).isoformat()
    texts = {"title": f"Ticket {number}", "created_at": at, "updated_at": at, "token": uuid4().hex}
    return {**stored, "sk": {"N": str(number)}, **{name: {"S": text} for name, text in texts.items()}}


def row(number: int) -> dict[str, Any]:
    """The row of a ticket with this number."""
    at, rare = BEGAN + timedelta(minutes=number), number % 100 == 0
    return to_row(
        {
            "title": "Straße" if number == 1 else f"Ticket {number}",
            "description": "",
            "status": Status.DONE if rare else Status.OPEN,
            "assignee": "",
            "labels": ["rare"] if rare else [],
            "reporter": "bob" if rare else "ann",
            "created_at": at,
            "updated_at": at,
            "version": 1,
        }
    )
