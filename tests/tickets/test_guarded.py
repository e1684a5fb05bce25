"""Guarded changes of the sequence of tickets, as tickets show them."""

from collections.abc import Callable

import pytest
from django.test import Client

from sequences.changes import advance, freeze, thaw, void
from sequences.exceptions import SequenceFrozen
from tickets import moves, project_services, services
from tickets.selectors import get_ticket
from tickets.timeline.selectors import list_events
from tickets.timeline.services import add_comment
from tickets.types import Project, Status, Ticket, TicketKey


def file_ticket() -> Ticket:
    """One more ticket of ABC."""
    return services.create_ticket("ABC", title="Printer on fire", reporter="ada").ticket


def test_a_void_row_is_a_void_ticket(abc: Project, browser: Client) -> None:
    """What a change has put in the place of numbers looks like a ticket that was withdrawn, with who, when and why."""
    advance("tickets", to=41, scope="ABC", by="ada", reason="Imported up to 41.")
    assert file_ticket().key.number == 42
    shown = get_ticket(TicketKey(project="ABC", number=41))
    assert (shown.status, shown.void and shown.void.reason, shown.reporter) == (
        Status.VOID,
        "Imported up to 41.",
        "ada",
    )
    assert shown.created_at == shown.updated_at == (shown.void and shown.void.at)
    assert b"Imported up to 41." in browser.get("/ABC-41/").content
    assert browser.get("/ABC/").status_code == 200


def test_a_voided_ticket_is_void(ticket: Ticket) -> None:
    """A ticket that an administrator made void by its number is void, and nobody changes it any more."""
    void("tickets", ticket.key.number, scope=ticket.key.project, by="root", reason="Filed by mistake.")
    shown = get_ticket(ticket.key)
    assert (shown.status, shown.void and shown.void.by) == (Status.VOID, "root")


def test_a_frozen_timeline(ticket: Ticket) -> None:
    """While the timeline of a ticket is frozen the ticket is not moved, changed or commented on; then it goes on."""
    project_services.create_project(key="XYZ", name="Rest", by="ann")
    add_comment(ticket.key, text="first", by="bob")
    freeze("timeline", scope="ABC#1", by="root", reason="Under inquiry.")
    before = get_ticket(ticket.key)
    acts: list[Callable[[], object]] = [
        lambda: moves.move_ticket(ticket.key, to="XYZ", by="bob"),
        lambda: services.update_ticket(ticket.key, version=1, changes={"title": "x"}, by="bob"),
        lambda: services.void_ticket(ticket.key, by="bob"),
        lambda: add_comment(ticket.key, text="x", by="bob"),
    ]
    for act in acts:
        with pytest.raises(SequenceFrozen, match="Under inquiry"):
            act()
    assert get_ticket(ticket.key) == before
    thaw("timeline", scope="ABC#1", by="root", reason="Done.")
    moved = moves.move_ticket(ticket.key, to="XYZ", by="bob").ticket
    assert [(event.number, event.kind) for event in list_events(moved).results] == [
        (1, "comment"),
        (2, "skipped"),
        (3, "move"),
    ]


def test_a_frozen_project(abc: Project, browser: Client) -> None:
    """While a project is frozen nothing is filed in it, and what exists is shown; then it goes on without a gap."""
    first = file_ticket()
    freeze("tickets", scope="ABC", by="root", reason="The archive is copied.")
    with pytest.raises(SequenceFrozen, match="The archive is copied"):
        file_ticket()
    assert browser.get(f"/{first.key}/").status_code == 200
    thaw("tickets", scope="ABC", by="root", reason="Done.")
    assert file_ticket().key.number == first.key.number + 2  # between them is the void row of the freeze
