"""The way to what people type: the key of a ticket or a project, the text of an order or an invoice."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import User
from django.urls import resolve, reverse

from tickets import addresses, selectors
from tickets.exceptions import TicketMoved
from tickets.sales import selectors as sales
from tickets.sales.exceptions import InvoiceNotFound
from tickets.sales.permissions import VIEW_INVOICE, VIEW_ORDER

# What it takes to see what a page is about, the parameter of its address, and what reads it.
READ: Mapping[str, tuple[str, str, Callable[[Any], object]]] = {
    "tickets:project": ("tickets.view_ticket", "key", selectors.get_project),
    "tickets:ticket": ("tickets.view_ticket", "key", selectors.get_ticket),
    "sales:order": (VIEW_ORDER, "number", sales.get_order),
    "sales:invoice": (VIEW_INVOICE, "text", sales.get_invoice),
}


def path_of(typed: str) -> str:
    """The path of the page that is meant, in any spelling. Raises NotFound for what can be nothing. No read."""
    try:
        found = sales.find(typed)
    except InvoiceNotFound:
        if path := addresses.path_of(typed):
            return path
        raise
    return reverse("sales:order" if isinstance(found, int) else "sales:invoice", args=[found])


def path_of_existing(typed: str, user: User) -> str:
    """The path of the page that is meant, in the administration. Raises NotFound also if there is no such thing.

    Who may not see such things is sent to the page, which refuses them. One read, up to three for a moved ticket.
    """
    path = path_of(typed)
    page = resolve(path)
    permission, name, read = READ[page.view_name]
    if user.has_perm(permission):
        with suppress(TicketMoved):  # the page leads on
            read(page.kwargs[name])
    return path
