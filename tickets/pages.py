"""What all pages have in common: filters in an address, forms, and addresses with a former key."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, TypeVar

from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.utils.http import urlencode

from tickets import addresses, validators
from tickets.forms import ServiceForm
from tickets.types import Order, ProjectKey, TicketKey

FORM_METHODS = ["GET", "HEAD", "POST"]
IN_FORM = ("text", "status")  # the filters that the form of a project's page has

K = TypeVar("K", ProjectKey, TicketKey)
View = Callable[Concatenate[HttpRequest, K, ...], HttpResponse]


def by_present_key(view: View[K]) -> View[K]:
    """A page that is asked for by a former key of its project has moved to the address with the present one."""

    @wraps(view)
    def page(request: HttpRequest, key: K, **rest: Any) -> HttpResponse:
        if request.method != "POST":  # whose answer leads to the present address anyway
            present = addresses.present(key)
            if present != key:
                return addresses.elsewhere(request, addresses.of_key(request, present))
        return view(request, key, **rest)

    return page


def asked_for(request: HttpRequest) -> dict[str, Any]:
    """Which tickets the address of a page asks for, and in which order. Fields of a form that are empty ask nothing."""
    given = {name: [value for value in values if value] for name, values in request.GET.lists()}
    asked = {name: values if name == "status" else values[-1] for name, values in given.items() if values}
    order = Order.OLDEST if asked.get("order") == Order.OLDEST else Order.NEWEST
    return {**{name: value for name, value in asked.items() if name in validators.FILTER}, "order": order}


def shown(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a page shows of the filters of its list.

    `filters` has the name of each, what it wants, and the query of the list without it; `kept` what the form of the
    page does not ask, but keeps; `asked` the query of the list; `order` its order.
    """
    wanted = {name: value for name, value in asked.items() if name in validators.FILTER}
    filters = [
        (name.replace("_", " "), ", ".join(value) if name == "status" else value, query_of(asked, without=name))
        for name, value in wanted.items()
    ]
    kept = {name: value for name, value in asked.items() if name not in IN_FORM and value != Order.NEWEST}
    return {"filters": filters, "kept": kept, "asked": query_of(asked), "order": asked.get("order")}


def query_of(asked: Mapping[str, Any], *, without: str = "") -> str:
    """The query of a list, without one of its filters."""
    return urlencode({name: value for name, value in asked.items() if name != without}, doseq=True)


def sent(request: HttpRequest) -> QueryDict | None:
    """What was typed; None if the form is shown for the first time."""
    return request.POST if request.method == "POST" else None


def form_page(request: HttpRequest, template: str, form: ServiceForm, **content: Any) -> HttpResponse:
    """The page of a form, with its errors if it has any."""
    page = render_to_string(template, {"form": form, **content}, request)
    return HttpResponse(page, status=form.http_status, headers=form.http_headers)


def author(request: HttpRequest) -> str:
    """The user name of the signed-in person, for what they report and change."""
    return request.user.get_username()
