"""Request ids: every request has one, which its answer and every line of its log carry.

    MIDDLEWARE = ["sequences.rest.request_ids.RequestIds", ...]
    LOGGING = {"filters": {"request_id": {"()": "sequences.rest.request_ids.RequestIdFilter"}}, ...}

The middleware stands first, so that all others are within it.
"""

import logging
import re
from collections.abc import Callable
from contextvars import ContextVar
from secrets import token_hex

from django.http import HttpRequest, HttpResponse
from django.http.request import HttpHeaders

__all__ = ["RequestIdFilter", "RequestIds", "current_request_id"]

HEADER = "X-Request-Id"
_SENT = HttpHeaders.to_wsgi_name(HEADER)
SANE = re.compile("[A-Za-z0-9._-]{1,128}")  # others could forge lines of the log

_current: ContextVar[str] = ContextVar("request_id", default="")


def current_request_id() -> str:
    """The id of the request that is being served; empty outside one."""
    return _current.get()


class RequestIds:
    """Takes the caller's `X-Request-Id`, or makes one, and answers with it. It is `request.request_id`, too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = request.META.get(_SENT)
        request_id = sent if sent and SANE.fullmatch(sent) else token_hex(16)
        request.request_id = request_id  # type: ignore[attr-defined] # for lines that are written after it is answered
        before = _current.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            _current.reset(before)
        response[HEADER] = request_id
        return response


class RequestIdFilter(logging.Filter):
    """Gives each line of the log the attribute `request_id`, "-" outside a request. Put it on handlers."""

    def filter(self, record: logging.LogRecord) -> bool:
        of_django = getattr(getattr(record, "request", None), "request_id", "")
        record.request_id = _current.get() or of_django or "-"
        return True
