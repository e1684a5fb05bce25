"""The requests of the store to its table. They are checked directly, because the engine here is always consistent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sequences import dynamodb
from sequences.exceptions import CancellationReason, WriteCancelled
from tickets import project_services, selectors, store
from tickets.types import Access, Project, Role, Ticket, TicketKey

Requests = list[tuple[str, Mapping[str, Any]]]


@pytest.fixture
def requests(ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> Requests:
    """The requests sent from now on. The table has one project and one ticket."""
    call, sent = dynamodb.call, []

    def note(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        sent.append((operation, request))
        return call(operation, request, **limits)

    monkeypatch.setattr(dynamodb, "call", note)
    return sent


def test_every_read_is_consistent(abc: Project, ticket: Ticket, requests: Requests) -> None:
    """Who has just written something reads it, alone and in lists."""
    assert store.projects.find_project("ABC") == abc
    assert selectors.get_ticket(ticket.key) == ticket
    assert len(store.projects.find_projects(None, 5).rows) == 1
    assert len(store.lists.find_tickets("ABC", None, 5, attributes=store.tickets.SUMMARY, newest_first=True).rows) == 1
    assert [operation for operation, _ in requests] == ["get_item", "get_item", "query", "query"]
    assert [request["ConsistentRead"] for _, request in requests] == [True] * 4


def test_places_in_the_register_stay() -> None:
    """The place of a project in the register is its key as a number in base 37: at another one it would be missing."""
    assert store.places.place_in_register("ABC") == 1472963005595628


def test_a_list_reads_one_row_more(requests: Requests) -> None:
    """One row more than wanted tells whether the list goes on; more would only cost."""
    store.lists.find_tickets("ABC", None, 5, attributes=store.tickets.SUMMARY, newest_first=True)
    assert requests[0][1]["Limit"] == 6


def test_a_refusal_that_is_not_about_our_conditions_says_nothing_of_the_rows(
    abc: Project, ticket: Ticket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that the engine cancels as wrong is neither a taken key nor a stale version."""

    def cancel(operation: str, request: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        raise WriteCancelled("An item is too large.", (CancellationReason(code="ValidationError", old={"version": 7}),))

    monkeypatch.setattr(dynamodb, "call", cancel)
    with pytest.raises(WriteCancelled):
        store.projects.insert_project(abc, owner="ann", created_at=ticket.created_at, token="t")
    with pytest.raises(WriteCancelled):
        store.timeline.change_comment("ABC#1", 1, {"text": "x"}, author="ann", version=1)


def test_what_texts_mention_is_read_with_who_may_see_it(ticket: Ticket, sent: list[str], still: None) -> None:
    """One read has the tickets that there are and the access to their projects, which is remembered; none has none."""
    project_services.update_project("ABC", changes={"open": "read"}, by="ann")
    project_services.archive_project("ABC", by="ann")
    store.places.renames.present("ABC")
    sent.clear()
    missing = [TicketKey(project="ABC", number=2), TicketKey(project="XYZ", number=1)]
    found = selectors.find_mentioned([ticket.key, *missing], "ann")
    assert found == {ticket.key: replace(ticket, description="", values_key="")}
    assert store.members.find_access("ABC", "ann") == Access(role=Role.OWNER, archived=True)
    assert (found[ticket.key].title, sent) == ("Printer on fire", ["batch_get_item"])
    sent.clear()
    assert selectors.find_mentioned([ticket.key], "ann")
    assert selectors.find_mentioned([], "ann") == {}
    assert sent == ["batch_get_item"]
