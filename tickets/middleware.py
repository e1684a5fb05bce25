"""What every request passes through: the access log, HEAD, compression, 304, error pages, words for htmx."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.middleware.http import ConditionalGetMiddleware
from django.utils.cache import get_conditional_response, set_response_etag
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import LazyObject
from django_htmx.http import HttpResponseLocation

from tickets import addresses
from tickets.api.authentication import token_in
from tickets.error_pages import error_page
from tickets.exceptions import TicketMoved
from tickets.headers import is_page
from tickets.pages import READ
from tickets.problems import KNOWN

GetResponse = Callable[[HttpRequest], HttpResponseBase]

access_log = logging.getLogger("tickets.access_log")

CONDITIONS_OF_WRITES = ("HTTP_IF_MATCH", "HTTP_IF_UNMODIFIED_SINCE")  # a read overwrites nothing


class AccessLog:
    """A line for each request: method, path, status, milliseconds, bytes of the body, and user.

    It has nothing of the query, which may hold secrets. The addresses in `ACCESS_LOG_QUIET` are logged at DEBUG.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on, and log how it was answered."""
        began = time.perf_counter()
        response = self.get_response(request)
        path, milliseconds = _printable(request.path), round((time.perf_counter() - began) * 1000, 1)
        size = None if response.streaming else len(response.content)
        user = _printable(_known_user(request)) or None
        access_log.log(
            logging.DEBUG if request.path in settings.ACCESS_LOG_QUIET else logging.INFO,
            "%s %s %d %.0f ms %s bytes %s",
            request.method, path, response.status_code, milliseconds, "-" if size is None else size, user or "-",
            extra={
                "method": request.method, "path": path, "status": response.status_code, "milliseconds": milliseconds,
                "bytes": size, "user": user,
            },
        )  # fmt: skip
        return response


class HeadWithoutBody(MiddlewareMixin):
    """Answers HEAD with the headers of GET alone."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Drop the body of an answer to HEAD. Its Content-Length stays."""
        if request.method == "HEAD":
            if isinstance(response, StreamingHttpResponse):
                response.streaming_content = ()
            elif isinstance(response, HttpResponse):
                response.content = b""
        return response


class Compression(GZipMiddleware):
    """Compresses pages, answers of REST, and static files that are not compressed yet.

    Django adds bytes of random number to each answer, so that its length tells nothing of what is in it (BREACH). What
    tells a token over REST says `no-store`, and stays as it is; so does CSV, whose last line must not wait in a buffer.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress what is worth it, if the client can read it."""
        rest = of_rest(request, response) and "no-store" not in response.get("Cache-Control", "")
        if not (rest or is_page(response) or isinstance(response, FileResponse)):
            return response
        return super().process_response(request, response)


class Unchanged(ConditionalGetMiddleware):
    """Gives what REST reads an ETag, and answers 304, without a body, to who has it already.

    Unlike Django's, it also does so for HEAD, whose body is still there: `HeadWithoutBody` stands outside.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Look at answers of REST alone: pages are different each time."""
        if request.method not in READ or not isinstance(response, HttpResponse) or not of_rest(request, response):
            return response
        if self.needs_etag(response) and not response.has_header("ETag"):
            set_response_etag(response)
        for condition in CONDITIONS_OF_WRITES:
            request.META.pop(condition, None)
        return get_conditional_response(request, etag=response.get("ETag"), response=response) or response


def of_rest(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether it is a whole answer of REST: not a page, and not a file that is written while it is sent."""
    return request.path.startswith("/api/") and not response.streaming and not is_page(response)


def _known_user(request: HttpRequest) -> str:
    """The user name, if the request was signed in and a view has asked; a log is no reason for a query."""
    user = getattr(request, "user", None)
    if user is None or (isinstance(user, LazyObject) and not hasattr(request, "_cached_user")):
        return ""
    return str(user.get_username())


def _printable(text: str) -> str:
    """A text that forges no line of the log."""
    return text if text.isprintable() else ascii(text)[1:-1]


class Bypass:
    """Leads requests of REST with a token, and no cookie, past what only sessions and pages need, to `bypass_end`."""

    past: ClassVar[GetResponse]

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.end = Bypass.past  # as Django makes a chain from its end

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Pass the request on. Without a session nobody is signed in yet."""
        if request.META.get("HTTP_COOKIE") or not request.path.startswith("/api/") or token_in(request) is None:
            return self.get_response(request)
        request.user = AnonymousUser()
        del request.htmx  # type: ignore[attr-defined] # which has the request
        response = self.end(request)
        _let_go(response)
        return response


def _let_go(response: HttpResponseBase) -> None:
    """Break the circles of a view of REST: it has its request, its answer and its handler, which have the view.

    Otherwise each answer stays until the garbage collector comes, which then takes as long as several requests.
    """
    if context := vars(response).pop("renderer_context", None):
        context["request"].parser_context = None
        vars(context["view"]).clear()


def bypass_end(get_response: GetResponse) -> GetResponse:
    """Where `Bypass` leads."""
    Bypass.past = staticmethod(get_response)
    return get_response


class ErrorPages(MiddlewareMixin):
    """Answers every known error that no form handles with a page. What was typed can be sent again from it."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page for a known error, or the way to a ticket that has moved; None for any other error."""
        if not isinstance(error, KNOWN):
            return None
        if isinstance(error, TicketMoved):  # from a read: forms show what a write raises
            messages.info(request, f"{error.key} has moved here.")
            return addresses.elsewhere(request, addresses.of_key(request, error.current.key))
        return error_page(request, error)


class InPlace(MiddlewareMixin):
    """What htmx cannot know by itself of an answer, since browsers follow redirects before it sees them.

    Where a redirect leads to a place in a page, htmx asks for the page itself, and goes there. The page that a person
    is on is no new entry in the history of the browser.
    """

    def process_response(self, request: Any, response: HttpResponseBase) -> HttpResponseBase:
        """Say it to htmx alone."""
        if not request.htmx:
            return response
        if response.status_code == 302 and "#" in response["Location"]:
            return HttpResponseLocation(response["Location"])
        with suppress(ValueError):  # what is sent as an address may be none
            current = request.htmx.current_url_abs_path or ""
            if current.partition("#")[0] == request.get_full_path():
                response["HX-Push-Url"] = "false"
        return response
