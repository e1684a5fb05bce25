"""The tickets of a project as a CSV file for spreadsheets, page by page."""

import logging
from collections.abc import Callable, Iterator
from time import monotonic

from sequences.exceptions import SequenceError
from sequences.ops.spreadsheets import MARK, harmless, written
from tickets import selectors
from tickets.lists.filters import EVERY_TICKET, TicketFilter
from tickets.types import Order, Ticket, TicketPage

logger = logging.getLogger(__name__)

PAGE = 200
COLUMNS = (
    "key",
    "title",
    "status",
    "assignee",
    "labels",
    "reporter",
    "created_at",
    "updated_at",
    "version",
    "description",
    "void_by",
    "void_at",
    "void_reason",
    "moved_to",
)
MOST_SECONDS = 600  # for a whole file: a client that reads slowly holds one of its account's places (`accounts.heavy`)
INCOMPLETE = "INCOMPLETE: the store did not answer. The tickets after this are missing. Export them again."
TOO_LONG = "INCOMPLETE: this took too long. The tickets after this are missing. Use filters."


def export_tickets(
    project: str,
    *,
    where: TicketFilter = EVERY_TICKET,
    order: Order = Order.NEWEST,
    shown: Callable[[Ticket], Ticket] = lambda ticket: ticket,
) -> Iterator[bytes]:
    """The parts of the file, each with one page of tickets, which are read when they are wanted.

    `shown` makes of a ticket what the reader may see. The first page is read at once. Raises what `list_tickets`
    raises; after the first page a last line says that the file is incomplete, and then the error is raised. So it is
    after MOST_SECONDS, with TimeoutError. Tickets
    that are filed meanwhile are in it only if they come after those that were read. The list's pages are
    the cost.
    """
    first = selectors.list_tickets(project, where=where, order=order, limit=PAGE)
    return _parts(project, first, where, order, shown)


def _parts(
    project: str, page: TicketPage, where: TicketFilter, order: Order, shown: Callable[[Ticket], Ticket]
) -> Iterator[bytes]:
    yield MARK.encode() + written([COLUMNS])
    until = monotonic() + MOST_SECONDS
    while True:
        if page.results:
            yield written(_cells(shown(ticket)) for ticket in page.results)
        if page.next_cursor is None:
            return
        if monotonic() > until:
            yield written([[TOO_LONG]])
            raise TimeoutError(TOO_LONG)
        try:
            page = selectors.list_tickets(project, where=where, order=order, limit=PAGE, cursor=page.next_cursor)
        except SequenceError as error:
            logger.error("export of project %s: incomplete: %s", project, error)
            yield written([[INCOMPLETE]])
            raise


def _cells(ticket: Ticket) -> Iterator[str]:
    void, moved = ticket.void, ticket.moved
    cells = (
        str(ticket.key),
        ticket.title,
        ticket.status.value,
        ticket.assignee,
        ", ".join(ticket.labels),
        ticket.reporter,
        ticket.created_at.isoformat(),
        ticket.updated_at.isoformat(),
        str(ticket.version),
        ticket.description,
        *((void.by, void.at.isoformat(), void.reason) if void else ("", "", "")),
        str(moved.to) if moved and moved.to else "",
    )
    return map(harmless, cells)
