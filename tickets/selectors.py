"""The reads: one project or ticket, and lists by pages. The writes are in `services`.

Every read is consistent: it sees every write that ended before it began. A cursor is opaque and belongs to one list;
any other text raises InvalidInput. Every read may raise `SequenceUnavailable` and `StorageRefused` of
`sequences.exceptions`: the store did not answer, or refused the read.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from tickets import store, validators
from tickets.cursors import PAGE_SIZE, page_of, position_of
from tickets.exceptions import TicketVoided
from tickets.lists.filters import EVERY_TICKET, TicketFilter
from tickets.tables import ROWS_AT_ONCE
from tickets.types import Order, Page, Project, Ticket, TicketKey, TicketPage

MOST_SUGGESTED = 20  # labels


def get_project(key: str) -> Project:
    """One project, by any key that it ever had. Raises ProjectNotFound. One read."""
    return store.projects.find_project(validators.project_key(key))


def present_key(key: str) -> str:
    """The present key of a project, given any of its keys; a key that no process has renamed is given back.

    Up to 30 s may pass until a former key is known as such. Costs one read for a former key, nothing for others.
    """
    return key if store.places.renames.present(key) == key else store.projects.find_project(key).key


def list_projects(
    *,
    seen_by: str | None = None,
    archived: bool = True,
    text: str | None = None,
    cursor: str | None = None,
    limit: int = PAGE_SIZE,
) -> Page[Project]:
    """All projects, in the order of their keys; or those that a person may see, in the order of their first keys.

    With a text only those whose key or name has it, as `folded` compares texts. One query for each page of all
    projects, three reads for a page of those that a person may see. If archived projects, former keys, or those
    without the text are left out, it takes at most 8 queries, or 15 reads: the page may have few projects, or none,
    and the list go on. The projects that a person may not see cost nothing.
    """
    text = None if text is None else validators.clean({"text": text}, validators.FILTER)["text"]
    name = f"projects {'with archive ' if archived else ''}{'' if seen_by is None else f'of {seen_by}'}"
    name += "" if text is None else f" {text!r}"
    after = position_of(cursor, name)
    if seen_by is None:
        found = store.projects.find_projects(after, limit, archived=archived, text=text)
    else:
        found = store.visible.find_visible_projects(seen_by, after, limit, archived=archived, text=text)
    return page_of(found, name, store.projects.project_from_row)


def list_scopes(cursor: str | None, limit: int, prefix: str = "") -> tuple[list[str], str | None]:
    """The scopes of the sequence "tickets": one page of partitions of projects, and the cursor of the next page.

    With `prefix` only those that begin with it, in upper or lower case.
    """
    prefix = prefix.upper()
    name = f"{store.places.REGISTER} {prefix}".rstrip()
    at = position_of(cursor, name)
    found = store.projects.find_partitions(prefix, at, limit) if prefix else store.projects.find_projects(at, limit)
    page = page_of(found, name, store.projects.partition_from_row)
    return list(page.results), page.next_cursor


def get_ticket(key: TicketKey) -> Ticket:
    """One ticket, even if it is void, by any key that its project ever had.

    Raises TicketNotFound, and TicketMoved, which carries the ticket with its present key. One read; up to three for a
    ticket that moved, however often.
    """
    return store.tickets.ticket_here(key, store.tickets.find_row(key))


def get_ticket_and_next(key: TicketKey) -> tuple[Ticket, bool]:
    """One ticket as `get_ticket` reads it, and whether the project has a ticket after it. One query for both.

    If there is none, TicketNotFound says whether its number is not given yet, or is left out.
    """
    return store.tickets.find_ticket_and_next(key)


def find_mentioned(keys: Collection[TicketKey], person: str) -> dict[TicketKey, Ticket]:
    """Those of at most 50 tickets that there are, without descriptions, by the keys that texts have for them.

    A moved one is as it was left: it says where it has gone. It is known then which of them the person may see. One
    read, two for more than 25 projects, nothing for no keys. A new key of a project is known after up to 30 s.
    """
    return {key: store.tickets.ticket_from_row(row) for key, row in store.lists.find_mentioned(keys, person).items()}


def get_newest(project: str) -> tuple[int, datetime] | None:
    """The last number of a project, and when its ticket was filed; None without tickets. One query.

    Numbers have no gaps: so many tickets were ever filed.
    """
    row = store.lists.find_newest(validators.project_key(project))
    return (row["sk"], store.tickets.ticket_from_row(row).created_at) if row else None


def list_labels(project: str) -> list[str]:
    """The labels of the newest 50 tickets of a project, the most used first. One query, as for a page of a list."""
    found = store.lists.find_labels(validators.project_key(project), PAGE_SIZE)
    used = Counter(label for labels in found for label in labels)
    return [label for label, _ in used.most_common(MOST_SUGGESTED)]


def get_changeable_ticket(key: TicketKey) -> Ticket:
    """One ticket that is not void. Raises TicketNotFound, TicketMoved and TicketVoided. One read."""
    ticket = get_ticket(key)
    if ticket.void:
        raise TicketVoided(ticket)
    return ticket


def list_tickets(
    project: str,
    *,
    where: TicketFilter = EVERY_TICKET,
    order: Order = Order.NEWEST,
    cursor: str | None = None,
    limit: int = PAGE_SIZE,
    whole: bool = True,
    look_at: int | None = None,
) -> TicketPage:
    """The tickets of a project. Void and moved ones keep their places. `whole` ones have descriptions.

    Raises ProjectNotFound. One query for each page; an empty page costs one read more. With a filter, a page looks at
    up to 1,000 tickets by up to 8 queries, of 1 MB each, and says how far it has looked: it may be empty, and the list
    go on. However many tickets a project has, a page costs the same. Who has read the project says how many tickets to
    `look_at`: then it costs one query, which with a filter looks at no more; those of a list that begins at a time,
    oldest first, are found by up to 11 more.
    """
    key = validators.project_key(project)
    name = f"{store.places.renames.partition(key)} {order} {where!r}"  # a cursor stays good when the project is renamed
    at, newest_first = position_of(cursor, name), order is Order.NEWEST
    attributes = None if whole or where.text else store.tickets.SUMMARY
    found = store.lists.find_tickets(
        key, at, limit, attributes=attributes, newest_first=newest_first, where=where, look_at=look_at
    )
    page = page_of(found, name, store.tickets.ticket_from_row)
    last = found.previous if at and at.backwards else found.next
    return TicketPage(
        results=page.results,
        next_cursor=page.next_cursor,
        previous_cursor=page.previous_cursor,
        looked_to=TicketKey(project=store.places.renames.present(key), number=last.number) if last else None,
    )


def list_changed(project: str, *, where: TicketFilter = EVERY_TICKET) -> TicketPage:
    """Those tickets of a project that changed last, without descriptions: PAGE_SIZE of its newest ROWS_AT_ONCE.

    `looked_to` is the last of these, None if there are no others. No index goes by the last change: it would take one
    write unit more for each ticket and each change. One query; there is no next page.
    """
    page = list_tickets(project, where=where, limit=ROWS_AT_ONCE, whole=False, look_at=ROWS_AT_ONCE)
    last = sorted(page.results, key=lambda ticket: ticket.updated_at, reverse=True)[:PAGE_SIZE]
    return replace(page, results=tuple(last), next_cursor=None)
