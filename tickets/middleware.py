"""What every request passes through: a line in the log for each, HEAD without a body, and known errors as pages."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import LazyObject

from tickets import addresses
from tickets.exceptions import TicketMoved
from tickets.problems import KNOWN
from tickets.views import error_page

access_log = logging.getLogger("tickets.access_log")

GetResponse = Callable[[HttpRequest], HttpResponse]


class AccessLog:
    """A line for each request: method, path, status, milliseconds, bytes of the body, and user.

    It has nothing of the query, which may hold secrets. The addresses in `ACCESS_LOG_QUIET` are logged at DEBUG.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on, and log how it was answered."""
        began = time.perf_counter()
        response = self.get_response(request)
        access_log.log(
            logging.DEBUG if request.path in settings.ACCESS_LOG_QUIET else logging.INFO,
            "%s %s %d %.0f ms %s bytes %s",
            request.method,
            _printable(request.path),
            response.status_code,
            (time.perf_counter() - began) * 1000,
            "-" if response.streaming else len(response.content),
            _printable(_known_user(request)) or "-",
        )
        return response


class HeadWithoutBody:
    """Answers HEAD with the headers of GET alone."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on, and drop the body of an answer to HEAD. Its Content-Length stays."""
        response = self.get_response(request)
        if request.method == "HEAD":
            _drop_body(response)
        return response


def _drop_body(response: HttpResponseBase) -> None:
    if isinstance(response, StreamingHttpResponse):
        response.streaming_content = ()
    elif isinstance(response, HttpResponse):
        response.content = b""


def _known_user(request: HttpRequest) -> str:
    """The user name, if the request was signed in and a view has asked; a log is no reason for a query."""
    user = getattr(request, "user", None)
    if user is None or (isinstance(user, LazyObject) and not hasattr(request, "_cached_user")):
        return ""
    return str(user.get_username())


def _printable(text: str) -> str:
    """A text that forges no line of the log."""
    return text if text.isprintable() else ascii(text)[1:-1]


class ErrorPages:
    """Answers every known error that no form handles with a page. What was typed can be sent again from it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on. Django calls `process_exception` if a view raises an error."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page for a known error, or the way to a ticket that has moved; None for any other error."""
        if not isinstance(error, KNOWN):
            return None
        if isinstance(error, TicketMoved):  # from a read: forms show what a write raises
            messages.info(request, f"{error.key} has moved here.")
            return addresses.elsewhere(request, addresses.of_key(request, error.current.key))
        return error_page(request, error)
