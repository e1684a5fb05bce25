"""The one place where what the rooms below refuse becomes a page; the REST API has `api.exceptions`."""

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from sequences.exceptions import SequenceError
from tickets.exceptions import ChangeRefused, InvalidInput, NotFound

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5
NOT_REACHED = "The store cannot be reached just now. Nothing is lost: try again in a moment."


class ErrorPages:
    """404 for what is not there, 400 for an address that was made up, 503 while the store does not serve."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on; what its view raises comes to `process_exception`."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page for an error of the rooms below; None for any other, which is Django's to answer."""
        if isinstance(error, NotFound):
            return render(request, "404.html", {"detail": str(error)}, status=404)
        if isinstance(error, InvalidInput):
            return render(request, "400.html", {"detail": " ".join(error.messages)}, status=400)
        if isinstance(error, ChangeRefused):
            return render(request, "409.html", {"detail": str(error)}, status=409)
        if isinstance(error, SequenceError):
            logger.error("%s could not be served: %s", request.path, error)
            return self._unavailable(request)
        return None

    def _unavailable(self, request: HttpRequest) -> HttpResponse:
        page = render(request, "503.html", {"detail": NOT_REACHED}, status=503)
        page["Retry-After"] = str(RETRY_SECONDS)
        return page
