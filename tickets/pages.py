"""What all pages have in common: their doors, filters in an address, forms, and what a number took.

Each view says by `door` what it takes to come in. The doors of REST are in `api.permissions`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from time import perf_counter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from sequences.registry import strategies
from sequences.storage import at_most
from sequences.types import Allocation
from tickets import addresses, validators
from tickets.access.checks import Need, User, admit, hiding
from tickets.exceptions import TicketMoved
from tickets.forms import ServiceForm
from tickets.lists.filters import CHANGED
from tickets.types import Order

READ, FORM = ("GET", "HEAD"), ("GET", "HEAD", "POST")  # the methods of a page
IN_FORM = ("text", "status")  # the filters that the form of a project's page has

View = Callable[..., HttpResponse]


def door(need: Need, methods: Sequence[str] = READ) -> Callable[[View], View]:
    """Let only those into a page who have what it takes: an action in the project of its `key`, or a permission.

    It stands before every redirect, so that nobody learns of projects that they may not see. Who asks by a former key
    of the project is sent to the address with the present one, but for a POST, whose answer leads there anyway.
    """

    def guard(view: View) -> View:
        answer = require_http_methods([*methods])(view)

        @wraps(view)
        def page(request: HttpRequest, **keys: Any) -> HttpResponse:
            key = keys.get("key")
            admit(request.user, need, key)
            if key is not None and request.method != "POST" and (present := addresses.present(key)) != key:
                return addresses.elsewhere(request, addresses.of_key(request, present))
            with in_sight_of(request.user):
                return answer(request, **keys)

        page.need = need  # type: ignore[attr-defined] # for those who ask what a page takes
        return page

    return guard


@contextmanager
def in_sight_of(user: User) -> Iterator[None]:
    """Inside the `with` block, a ticket that has moved out of a person's sight is not found."""
    try:
        yield
    except TicketMoved as moved:
        raise hiding(moved, user) from moved


def asked_for(request: HttpRequest) -> dict[str, Any]:
    """Which tickets the address of a page asks for, and in which order. Fields of a form that are blank ask nothing."""
    given = {name: [value for value in values if value.strip()] for name, values in request.GET.lists()}
    asked = {name: values if name == "status" else values[-1] for name, values in given.items() if values}
    order = next((one for one in (Order.OLDEST, CHANGED) if one == asked.get("order")), Order.NEWEST)
    return {**{name: value for name, value in asked.items() if name in validators.FILTER}, "order": order}


def shown(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a page shows of the filters of its list.

    `filters` has the name of each, what it wants, and the query of the list without it; `kept` what the form of the
    page does not ask, but keeps; `asked` the query of the list as a file; `order` its order.
    """
    wanted = {name: value for name, value in asked.items() if name in validators.FILTER}
    filters = [
        (name.replace("_", " "), ", ".join(value) if name == "status" else value, query_of(asked, without=name))
        for name, value in wanted.items()
    ]
    kept = {name: value for name, value in asked.items() if name not in IN_FORM and value != Order.NEWEST}
    order = asked.get("order")
    of_file = query_of(asked, without="order" if order == CHANGED else "")  # it has all tickets, by their numbers
    return {"filters": filters, "kept": kept, "asked": of_file, "order": order}


def query_of(asked: Mapping[str, Any], *, without: str = "") -> str:
    """The query of a list, without one of its filters."""
    return urlencode({name: value for name, value in asked.items() if name != without}, doseq=True)


def form_page(request: HttpRequest, template: str, form: ServiceForm, **content: Any) -> HttpResponse:
    """The page of a form, with its errors if it has any."""
    page = render_to_string(template, {"form": form, **content}, request)
    if form.problem:
        return HttpResponse(page, status=form.problem.status, headers=form.problem.headers)
    return HttpResponse(page, status=400 if form.errors else 200)


@dataclass
class Cost:
    """What a call took: also the reads before its write, and the wait for others."""

    requests: int = 0
    """Those that its own thread sent; none where another caller's request stored the number, too."""
    seconds: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure what the body takes; the figures are there when it has ended."""
    cost, began = Cost(), perf_counter()
    with at_most() as budget:
        yield cost
    cost.requests, cost.seconds = budget.sent, perf_counter() - began


def tell(request: HttpRequest, sentence: str, allocation: Allocation | None, cost: Cost) -> None:
    """Say on the next page what was made, and what its number took; nothing for a repeat."""
    if allocation is None:
        messages.success(request, sentence)
        return
    took = ", ".join(_figures(allocation, cost))
    line = '{} <details><summary>How?</summary> It took {}: <a href="{}">{}</a>.</details>'
    idea = strategies[allocation.sequence].idea  # how the sequence makes its numbers: the page of the races shows it
    messages.success(request, format_html(line, sentence, took, reverse("numbers"), idea))


def _figures(allocation: Allocation, cost: Cost) -> Iterator[str]:
    yield _counted(cost.requests, "request") if cost.requests else "a share of another request"
    yield _counted(allocation.write_units, "write unit")
    if allocation.read_units:
        yield _counted(allocation.read_units, "read unit")
    yield f"{cost.seconds * 1000:.0f} ms"


def _counted(count: float, what: str) -> str:
    return f"{count:.3g} {what}{'' if count == 1 else 's'}"
