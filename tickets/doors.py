"""The doors of pages: each view says by `door` what it takes to come in. The doors of REST are in `api.permissions`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from tickets.access.checks import Need, User, admit, hiding
from tickets.exceptions import TicketMoved

Page = Callable[..., HttpResponse]


def door(need: Need) -> Callable[[Page], Page]:
    """Let only those into a page who have what it takes: an action in the project of its `key`, or a permission.

    It stands before every redirect, so that nobody learns of projects that they may not see.
    """

    def guard(view: Page) -> Page:
        @wraps(view)
        def page(request: HttpRequest, **keys: Any) -> HttpResponse:
            admit(request.user, need, keys.get("key"))
            with in_sight_of(request.user):
                return view(request, **keys)

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
