"""What the whole site answers to errors that nothing has handled before, and the page that explains their codes."""

import sys

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from sequences.rest.problems import INVALID, Problem, Remedy
from tickets.api.exceptions import answer_to
from tickets.kept_forms import typed_in
from tickets.problems import ACCOUNTS_AWAY, KNOWN, explain, listed


@login_not_required
@require_safe
def problems(request: HttpRequest) -> HttpResponse:
    """What each code of an error means, and what helps: the address to which the `type` of a problem leads."""
    return render(request, "tickets/problems.html", {"problems": listed()})


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to an error outside the views: status 500, unless the database with the accounts is away.

    The page of a 500 is rendered without the request, which may be the cause.
    """
    error = sys.exception()
    return error_page(request, error if isinstance(error, KNOWN) else Exception())


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form with another session's token, as after signing in anew in another tab. It can be sent again.

    Not so a form of another site: browsers say in `Origin` where a form was sent from.
    """
    is_ours = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    typed = typed_in(request) if is_ours else []
    return HttpResponse(render_to_string("403_csrf.html", {"typed": typed}, request), status=403)


def error_page(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for an error; below /api/ its JSON."""
    if request.path.startswith("/api/"):
        return answer_to(exception, request)
    problem = explain(exception, request.path)
    again = problem.remedy is Remedy.REPEAT
    content = {"title": problem.title, "detail": _detail(problem), "again": again, "typed": typed_in(request)}
    content["project"] = getattr(exception, "project", None)
    if isinstance(exception, ACCOUNTS_AWAY):
        request.user = AnonymousUser()  # the page must not ask for the account
    page = render_to_string("error.html", content, request if problem.status != 500 else None)
    return HttpResponse(page, status=problem.status, headers=problem.headers)


def _detail(problem: Problem) -> str:
    """What happened and what helps. What is wrong is said by field: unlike a form, the page does not show them."""
    if problem.code != INVALID.code:
        return problem.words()
    named = ((wrong.path[0].replace("_", " ") if wrong.path else "", wrong.detail) for wrong in problem.wrong)
    return " ".join(f"{name}: {detail}" if name else detail for name, detail in named)
