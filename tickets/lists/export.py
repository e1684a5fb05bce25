"""The tickets of a project as a CSV file (RFC 4180) for spreadsheets, page by page.

A spreadsheet takes a cell that begins with one of `FORMULA` for a formula, which may do harm: such a cell gets an
apostrophe before it. All cells are in quotes, so that no other separator than the comma splits them. The file begins
with the mark of UTF-8, which spreadsheets ask for.
"""

import csv
import io
import logging
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

from sequences.exceptions import SequenceError
from tickets import selectors
from tickets.lists.filters import EVERY_TICKET, TicketFilter
from tickets.types import Order, Ticket, TicketPage

logger = logging.getLogger(__name__)

PAGE = 200
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are =, +, - and @ in full width
MARK = "\ufeff"
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
MOST_SECONDS = 600  # for a whole file: a client that reads slowly holds a thread
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
    that are filed meanwhile are in it only if they come after those that were read. The cost is that of the list's
    pages.
    """
    first = selectors.list_tickets(project, where=where, order=order, limit=PAGE)
    return _parts(project, first, where, order, shown)


def _parts(
    project: str, page: TicketPage, where: TicketFilter, order: Order, shown: Callable[[Ticket], Ticket]
) -> Iterator[bytes]:
    yield MARK.encode() + _written([COLUMNS])
    until = monotonic() + MOST_SECONDS
    while True:
        if page.results:
            yield _written(_cells(shown(ticket)) for ticket in page.results)
        if page.next_cursor is None:
            return
        if monotonic() > until:
            yield _written([[TOO_LONG]])
            raise TimeoutError(TOO_LONG)
        try:
            page = selectors.list_tickets(project, where=where, order=order, limit=PAGE, cursor=page.next_cursor)
        except SequenceError as error:
            logger.error("export of project %s: incomplete: %s", project, error)
            yield _written([[INCOMPLETE]])
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
        str(moved.to) if moved else "",
    )
    return map(harmless, cells)


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _written(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode()
