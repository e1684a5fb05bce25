"""Known errors as pages. Their meanings are in `problems`."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from tickets.problems import KNOWN, Remedy, explain


class ErrorPages:
    """Answers every known error that no form handles with a page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on. Django calls `process_exception` if a view raises an error."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The page for a known error; None for any other error, which Django answers."""
        if not isinstance(error, KNOWN):
            return None
        problem = explain(error, request.path)
        again = problem.remedy is Remedy.REPEAT
        content = {"title": problem.title, "detail": problem.words(), "again": again}
        page = render_to_string("error.html", content, request)
        return HttpResponse(page, status=problem.status, headers=problem.headers)
