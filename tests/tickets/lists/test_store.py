"""Where the store begins to look, and what it reads of the newest tickets."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tests.tickets.lists.conftest import BEGAN
from tickets import services, store
from tickets.lists.filters import TicketFilter
from tickets.store import lists
from tickets.types import Project


@pytest.fixture
def dozen(abc: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with 12 tickets, a day apart, each with its number as a label."""
    for number in range(1, 13):
        monkeypatch.setattr(timezone, "now", lambda number=number: BEGAN + timedelta(days=number))
        services.create_ticket("ABC", title="x", labels=[f"n{number}"], reporter="ann")
    return abc


def test_the_labels_of_the_newest(dozen: Project) -> None:
    """They come from the tickets with the highest numbers."""
    assert store.lists.find_labels("ABC", 2) == [["n12"], ["n11"]]


def test_the_newest(dozen: Project) -> None:
    """It is the ticket with the highest number."""
    newest = store.lists.find_newest("ABC")
    assert newest is not None
    assert newest["sk"] == 12


@pytest.mark.parametrize("day", [1, 2, 5, 8, 12, 13])
def test_where_a_list_begins(dozen: Project, monkeypatch: pytest.MonkeyPatch, day: int) -> None:
    """It begins before the first ticket from a day on, and fewer than NEAR numbers before it."""
    monkeypatch.setattr(lists, "NEAR", 2)
    place = lists._place_of("ABC", TicketFilter(created_from=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)))
    assert day - 1 - 2 <= place.number <= day - 1
