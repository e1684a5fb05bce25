"""Errors of the rooms below as pages; what they mean is in `problems`."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from tickets.problems import KNOWN, Remedy, explain


class ErrorPages:
    """A page for every known error that reaches no form."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on; what its view raises comes to `process_exception`."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page for a known error; None for any other, which is Django's to answer."""
        if not isinstance(error, KNOWN):
            return None
        problem = explain(error, request.path)
        again = problem.remedy is Remedy.REPEAT
        content = {"title": problem.title, "detail": problem.words(), "again": again}
        page = render_to_string("error.html", content, request)
        return HttpResponse(page, status=problem.status, headers=problem.headers)
