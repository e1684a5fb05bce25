"""Heavy calls: what each counts in the limits of its caller, and how many of a caller may be under way at once.

A process answers at most HEAVY_AT_ONCE of them at once for a caller, and refuses others at once. A call is under way
until its answer is sent, or its client is gone. Callers are accounts; those who sign in are addresses, which people
share.
"""

from collections import Counter
from functools import partial
from threading import Lock

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from tickets.accounts.throttles import Verdict, take
from tickets.lists.filters import CHANGED

EXPORT, SEARCH, LONG = 100, 20, 5
"""How many requests a whole list, a list with a filter, and a page of 100 entries and more count for."""
ALWAYS = {"api:ticket_export": EXPORT, "tickets:mine": SEARCH}
LISTS = {
    *("api:ticket_list", "api:order_list", "api:invoice_list"),
    *("tickets:project", "tickets:find", "sales:order_list", "sales:invoice_year"),
}
"""The names of the addresses that are heavy, and of those that may be."""
PLAIN = {"archived", "cursor", "limit", "order"}  # parameters that are no filters; but one order looks at many tickets
AGAIN_SECONDS = 1

_under_way: Counter[str] = Counter()
_lock = Lock()


def weight(request: HttpRequest) -> int:
    """How many requests this one counts for. More than 1 is heavy."""
    name = request.resolver_match.view_name if request.resolver_match else ""
    if request.method not in {"GET", "HEAD"} or name not in LISTS:
        return ALWAYS.get(name, 1)
    filtered = any(any(values) for parameter, values in request.GET.lists() if parameter not in PLAIN)
    if filtered or request.GET.get("order") == CHANGED:
        return SEARCH
    return LONG if len(request.GET.get("limit", "")) > 2 else 1


def admit(request: HttpRequest, caller: str) -> tuple[Verdict | None, int]:
    """Count a request of an account. The seconds after which to try again are 0 if it is admitted."""
    counts = weight(request)
    if counts > 1 and not begin(request, caller):
        return None, AGAIN_SECONDS
    verdict = take("user", caller, counts)
    return verdict, verdict.wait if verdict else 0


def begin(request: HttpRequest, caller: str, people: int = 1) -> bool:
    """Note that a heavy call is under way (until `end_with`). False if too many of its caller, so many people, are."""
    most = settings.HEAVY_AT_ONCE
    with _lock:
        if most is not None and _under_way[caller] >= most * people:
            return False
        _under_way[caller] += 1
    request.heavy = caller  # type: ignore[attr-defined] # for `end_with`
    return True


def end_with(response: HttpResponseBase, request: HttpRequest) -> None:
    """Let a heavy call end when its answer is closed."""
    if caller := getattr(request, "heavy", None):
        response._resource_closers.append(partial(_end, caller))  # type: ignore[attr-defined] # what `close` calls


def _end(caller: str) -> None:
    with _lock:
        _under_way[caller] -= 1
        if not _under_way[caller]:
            del _under_way[caller]
