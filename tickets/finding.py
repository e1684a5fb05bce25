"""The way to what people type: the key of a ticket or a project, the text of an order or an invoice, or words.

No index knows words: a search looks at the newest tickets of each project that a person may see.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from django.contrib.auth.models import User
from django.urls import resolve, reverse

from tickets import addresses, selectors
from tickets.access.checks import User as Person
from tickets.access.checks import actions_of, in_sight, seen_by
from tickets.exceptions import InvoiceNotFound, TicketMoved
from tickets.lists.filters import TicketFilter
from tickets.sales import selectors as sales
from tickets.sales.permissions import VIEW_INVOICE, VIEW_ORDER
from tickets.types import Page, Project, TicketPage

PROJECTS = 10  # on a page of a search
MOST_PROJECTS = 50  # looked at for one page, while nothing is found
TICKETS = 20  # of each of them
LOOKED_AT = 100  # tickets of each of them, the newest
NUMBERED = re.compile(r"\s*(INV|ORD)\W*[0-9]", re.IGNORECASE)  # the text of an invoice or an order, perhaps mistyped

# What it takes to see what a page is about, the parameter of its address, and what reads it.
READ: Mapping[str, tuple[str, str, Callable[[Any], object]]] = {
    "tickets:project": ("tickets.view_ticket", "key", selectors.get_project),
    "tickets:ticket": ("tickets.view_ticket", "key", selectors.get_ticket),
    "sales:order": (VIEW_ORDER, "number", sales.get_order),
    "sales:invoice": (VIEW_INVOICE, "text", sales.get_invoice),
}


def path_of(typed: str) -> str:
    """The path of the page that is meant, in any spelling. Raises NotFound for what is none. Costs `sales.find`."""
    try:
        found = sales.find(typed)
    except InvoiceNotFound:
        if path := addresses.path_of(typed):
            return path
        raise
    return reverse("sales:order" if isinstance(found, int) else "sales:invoice", args=[found])


def path_for(typed: str, person: Person) -> str | None:
    """The path of the page that a person means; None for words, and for a key of no project that they may see.

    Raises NotFound for what can only be the text of an order or an invoice, and is none. Cost: `sales.find`,
    and two reads for what could be the key of a project or a ticket.
    """
    try:
        path = path_of(typed)
    except InvoiceNotFound:
        if NUMBERED.match(typed):
            raise
        return None
    key = resolve(path).kwargs.get("key")  # of a project or a ticket
    return path if key is None or actions_of(person, key) else None


def search(
    person: Person, where: TicketFilter, cursor: str | None
) -> tuple[Sequence[tuple[Project, TicketPage]], Page[Project]]:
    """The tickets that a filter wants among the newest LOOKED_AT of each project on a page of those in sight.

    Projects in the archive are left out. While nothing is found, the next PROJECTS are looked at, up to MOST_PROJECTS.
    A page of tickets with a next one says that there may be older ones. It costs what `list_projects` does for each
    PROJECTS projects, and one query for each of them.
    """
    looked: list[tuple[Project, TicketPage]] = []

    def look_on(at: str | None) -> Page[Project]:
        page = selectors.list_projects(seen_by=seen_by(person), archived=False, cursor=at, limit=PROJECTS)
        looked.extend((project, _look(project, where, person)) for project in page.results)
        return page

    first = last = look_on(cursor)
    while last.next_cursor and len(looked) < MOST_PROJECTS and not any(tickets.results for _, tickets in looked):
        last = look_on(last.next_cursor)
    return looked, replace(last, previous_cursor=first.previous_cursor)


def _look(project: Project, where: TicketFilter, person: Person) -> TicketPage:
    found = selectors.list_tickets(project.key, where=where, limit=TICKETS, whole=False, look_at=LOOKED_AT)
    return in_sight(found, person)


def path_of_existing(typed: str, user: User) -> str:
    """The path of the page that is meant, in the administration. Raises NotFound also if there is no such thing.

    Who may not see such things is sent to the page, which refuses them. One read, up to three for a moved ticket.
    """
    path = path_of(typed)
    page = resolve(unquote(path))
    permission, name, read = READ[page.view_name]
    if user.has_perm(permission):
        with suppress(TicketMoved):  # the page leads on
            read(page.kwargs[name])
    return path
