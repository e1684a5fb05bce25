"""Known errors as pages. Their meanings are in `problems`."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string

from tickets.exceptions import TicketMoved
from tickets.problems import KNOWN, Remedy, explain


class ErrorPages:
    """Answers every known error that no form handles with a page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
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
            return redirect("tickets:ticket", error.current.key)
        problem = explain(error, request.path)
        again = problem.remedy is Remedy.REPEAT
        content = {"title": problem.title, "detail": problem.words(), "again": again}
        page = render_to_string("error.html", content, request)
        return HttpResponse(page, status=problem.status, headers=problem.headers)
