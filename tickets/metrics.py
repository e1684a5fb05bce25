"""The site's own metrics beside those of `sequences`, and the address `/metrics` where a monitor reads both.

Without the setting METRICS_TOKEN there is no such address, and nothing is measured. The middleware stands beside the
one for health: a monitor asks each machine by its number, not by the site's name.
"""

from collections.abc import Callable
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare

from sequences.metrics import TIMES, Instrument, metrics

__all__ = ["INSTRUMENTS", "Metrics"]

PATH = "/metrics"
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})

REQUESTS = Instrument(
    name="tickets.http.requests",
    labels=["route", "method", "status"],
    about="Requests that were answered, by the name of their route, their method and the status.",
)
SECONDS = Instrument(
    name="tickets.http.request",
    labels=["route"],
    about="How long it took until the answer began.",
    unit="seconds",
    buckets=TIMES,
)
INSTRUMENTS = (REQUESTS, SECONDS)


class Metrics:
    """Answers the one address before anything else looks at the request, and measures all other requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """What all processes of this site have measured, or what the site answers."""
        if request.path == PATH and settings.METRICS_TOKEN:
            return exposed(request)
        if not metrics.on:
            return self.get_response(request)
        began = perf_counter()
        response = self.get_response(request)
        route = route_of(request)
        metrics.tell(SECONDS, perf_counter() - began, route)
        metrics.tell(
            REQUESTS, 1, route, request.method if request.method in METHODS else "other", str(response.status_code)
        )
        return response


def route_of(request: HttpRequest) -> str:
    """The name of the request's route; of static files, and of addresses that lead nowhere, "unmatched"."""
    match = request.resolver_match
    return match.view_name if match else "unmatched"


def exposed(request: HttpRequest) -> HttpResponse:
    """What all processes of this site have measured, for a program that has the token."""
    if request.method != "GET":
        return HttpResponse(status=405, headers={"Allow": "GET"})
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}"):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})
    from sequences.metrics.prometheus import CONTENT_TYPE, exposition

    return HttpResponse(exposition(), content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})
