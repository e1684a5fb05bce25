"""The fixtures of lists: a large project, and a note of what the store is asked."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from sequences import dynamodb, put_next_many
from sequences.testing.embedded import Engine
from tests.sequences.support import look_at_the_tables, tables_of
from tests.tickets.conftest import WRITES
from tickets import project_services, store
from tickets.tables import to_row
from tickets.types import Status

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
LARGE = 20_000


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
    store.renames.present("ABC")
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


@pytest.fixture(scope="module")
def projects(engine: Engine) -> Iterator[None]:
    """Two projects: SMALL has 200 tickets and LARGE has 20,000, one for each minute since BEGAN.

    Every 100th is done, of the reporter "bob" and labelled "rare"; the first one's title has "Straße" in it.
    """
    with tables_of(settings.SEQUENCES, engine.endpoint):
        for key, count in (("SMALL", 200), ("LARGE", LARGE)):
            project_services.create_project(key=key, name=key, by="ann")
            for first in range(1, count + 1, 1000):  # so that each call ends in time
                rows = [row(number) for number in range(first, min(first + 1000, count + 1))]
                put_next_many("tickets", rows, scope=key)
        yield


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
