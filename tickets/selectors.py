"""The reads: one project or ticket, and lists by pages. The writes are in `services`.

Every read is consistent: it sees every write that ended before it began. A cursor is opaque and belongs to one list;
any other text raises InvalidInput. Every read may raise `SequenceUnavailable` and `StorageRefused` of
`sequences.exceptions`: the store did not answer, or refused the read.
"""

from tickets import store, validators
from tickets.cursors import PAGE_SIZE, page_of, position_of
from tickets.exceptions import TicketVoided
from tickets.types import Page, Project, Ticket, TicketKey


def get_project(key: str) -> Project:
    """One project, by any key that it ever had. Raises ProjectNotFound. One read."""
    return store.find_project(validators.project_key(key))


def present_key(key: str) -> str:
    """The present key of a project, given any of its keys; a key that no process has renamed is given back.

    Up to 30 s may pass until a former key is known as such. Costs one read for a former key, nothing for others.
    """
    return key if store.renames.present(key) == key else store.find_project(key).key


def list_projects(*, cursor: str | None = None, limit: int = PAGE_SIZE) -> Page[Project]:
    """The projects in the alphabetical order of their keys. One query for each page, more if it has former keys."""
    found = store.find_projects(position_of(cursor, store.REGISTER), limit)
    return page_of(found, store.REGISTER, store.project_from_row)


def list_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """The scopes of the sequence "tickets": one page of partitions of projects, and the cursor of the next page."""
    found = store.find_projects(position_of(cursor, store.REGISTER), limit)
    page = page_of(found, store.REGISTER, store.partition_from_row)
    return list(page.results), page.next_cursor


def get_ticket(key: TicketKey) -> Ticket:
    """One ticket, even if it is void, by any key that its project ever had.

    Raises TicketNotFound, and TicketMoved, which carries the ticket with its present key. One read; up to three for a
    ticket that moved, however often.
    """
    return store.find_ticket(key)


def get_changeable_ticket(key: TicketKey) -> Ticket:
    """One ticket that is not void. Raises TicketNotFound, TicketMoved and TicketVoided. One read."""
    ticket = get_ticket(key)
    if ticket.void:
        raise TicketVoided(ticket)
    return ticket


def list_tickets(
    project: str, *, cursor: str | None = None, limit: int = PAGE_SIZE, whole: bool = True
) -> Page[Ticket]:
    """The tickets of a project, newest first. Void and moved ones keep their places. `whole` ones have descriptions.

    Raises ProjectNotFound. One query for each page; an empty page costs one read more.
    """
    key = validators.project_key(project)
    attributes = store.WHOLE if whole else store.SUMMARY
    found = store.find_tickets(key, position_of(cursor, key), limit, attributes=attributes)
    return page_of(found, key, store.ticket_from_row)
