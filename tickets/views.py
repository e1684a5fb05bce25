"""The pages: each view reads the request, calls a service or a selector, and shows the result.

People who are not signed in get the sign-in page first (LoginRequiredMiddleware). Known errors become pages in
`middleware`, or messages beside the fields of a form (`forms`). All other errors become one of the error pages at the
end of this module, which answer with JSON below /api/.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods, require_safe

from tickets import selectors, services
from tickets.cursors import LARGEST_PAGE
from tickets.forms import MoveForm, NewProjectForm, NewTicketForm, ProjectForm, ServiceForm, TicketForm, VoidForm
from tickets.types import TicketKey

FORM_METHODS = ["GET", "HEAD", "POST"]

K = TypeVar("K", str, TicketKey)
View = Callable[[HttpRequest, K], HttpResponse]


def by_present_key(view: View[K]) -> View[K]:
    """A page that is asked for by a former key of its project has moved to the address with the present one."""

    @wraps(view)
    def page(request: HttpRequest, key: K) -> HttpResponse:
        if request.method != "POST":  # whose answer leads to the present address anyway
            project = key.project if isinstance(key, TicketKey) else key
            present = selectors.present_key(project)
            if present != project:
                there = replace(key, project=present) if isinstance(key, TicketKey) else present
                return redirect(f"tickets:{view.__name__}", there)
        return view(request, key)

    return page


@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    """The projects."""
    page = selectors.list_projects(cursor=request.GET.get("cursor"))
    return render(request, "tickets/project_list.html", {"page": page})


@require_http_methods(FORM_METHODS)
def project_new(request: HttpRequest) -> HttpResponse:
    """The form for a new project."""
    form = NewProjectForm(sent(request))
    if form.is_valid():
        with form.refusals():
            project = services.create_project(**form.content, by=author(request), idempotency_token=form.one_time_token)
            messages.success(request, f"Project {project.key} is ready for its first ticket.")
            return redirect("tickets:project", project.key)
    return form_page(request, "tickets/project_new.html", form)


@by_present_key
@require_safe
def project(request: HttpRequest, key: str) -> HttpResponse:
    """A project with its tickets, newest first."""
    found = selectors.get_project(key)
    page = selectors.list_tickets(key, cursor=request.GET.get("cursor"), whole=False)
    return render(request, "tickets/project.html", {"project": found, "page": page})


@by_present_key
@require_http_methods(FORM_METHODS)
def project_edit(request: HttpRequest, key: str) -> HttpResponse:
    """The form for another key, name or description of a project."""
    typed = sent(request)
    form = ProjectForm(typed) if typed is not None else ProjectForm.of(selectors.get_project(key))
    if form.is_valid():
        with form.refusals():
            changed = services.update_project(key, changes=form.content, by=author(request))
            messages.success(request, f"Project {changed.key} is changed.")
            return redirect("tickets:project", changed.key)
    return form_page(request, "tickets/project_edit.html", form, key=key)


@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_new(request: HttpRequest, key: str) -> HttpResponse:
    """The form for a new ticket."""
    if request.method != "POST":
        selectors.get_project(key)  # not for a POST: if this read failed, what was typed would be lost
    form = NewTicketForm(sent(request))
    if form.is_valid():
        with form.refusals():
            created = services.create_ticket(
                key, **form.content, reporter=author(request), idempotency_token=form.one_time_token
            )
            messages.success(request, f"{created.ticket.key} is filed.")
            return redirect("tickets:ticket", created.ticket.key)
    return form_page(request, "tickets/ticket_new.html", form, key=key)


@by_present_key
@require_safe
def ticket(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """A ticket. A void one shows by whom it was withdrawn, when and why."""
    return render(request, "tickets/ticket.html", {"ticket": selectors.get_ticket(key)})


@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_edit(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form for a change."""
    typed = sent(request)
    form = TicketForm(typed) if typed is not None else TicketForm.of(selectors.get_changeable_ticket(key))
    if form.is_valid():
        with form.refusals():
            changed = services.update_ticket(key, version=form.version_read, changes=form.content, by=author(request))
            messages.success(request, f"{changed.key} is changed.")
            return redirect("tickets:ticket", changed.key)
    return form_page(request, "tickets/ticket_edit.html", form, key=key)


@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_move(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that moves a ticket to another project."""
    typed, projects = sent(request), None
    form = MoveForm(typed) if typed is not None else MoveForm.of(selectors.get_changeable_ticket(key))
    if form.is_valid():
        with form.refusals():
            moved = services.move_ticket(
                key,
                **form.content,
                version=form.version_read,
                by=author(request),
                idempotency_token=form.one_time_token,
            )
            messages.success(request, f"{key} has moved here.")
            return redirect("tickets:ticket", moved.ticket.key)
    if typed is None:  # not for a POST: if this read failed, what was typed would be lost
        projects = selectors.list_projects(limit=LARGEST_PAGE)
    return form_page(request, "tickets/ticket_move.html", form, key=key, projects=projects)


@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_void(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that voids a ticket."""
    typed = sent(request)
    form = VoidForm(typed) if typed is not None else VoidForm.of(selectors.get_changeable_ticket(key))
    if form.is_valid():
        with form.refusals():
            void = services.void_ticket(key, version=form.version_read, **form.content, by=author(request))
            messages.success(request, f"{void.key} is void.")
            return redirect("tickets:ticket", void.key)
    return form_page(request, "tickets/ticket_void.html", form, key=key)


def sent(request: HttpRequest) -> QueryDict | None:
    """What was typed; None if the form is shown for the first time."""
    return request.POST if request.method == "POST" else None


def form_page(request: HttpRequest, template: str, form: ServiceForm, **content: Any) -> HttpResponse:
    """The page of a form, with its errors if it has any."""
    page = render_to_string(template, {"form": form, **content}, request)
    return HttpResponse(page, status=form.http_status, headers=form.http_headers)


def author(request: HttpRequest) -> str:
    """The user name of the signed-in person, for what they report and change."""
    return request.user.get_username()


# The error pages of the whole site. They show nothing of Django's `exception`.


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer with status 400; 413 if the request is too large."""
    if isinstance(exception, RequestDataTooBig):
        most = f"This is too large: at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes can be sent at once."
        return _error(request, 413, "Too large", most)
    return _error(request, 400, "Not understood", "This request could not be understood.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer with status 403."""
    return _error(request, 403, "Not allowed", "You do not have the permission to do this.")


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer with status 404."""
    return _error(request, 404, "Not found", "There is nothing at this address.")


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer with status 500. Its page is rendered without the request, which may be the cause."""
    return _error(request, 500, "Something went wrong", "The fault is on our side, and was logged.")


def _error(request: HttpRequest, status: int, title: str, detail: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"detail": detail}, status=status)
    page = render_to_string("error.html", {"title": title, "detail": detail}, request if status != 500 else None)
    return HttpResponse(page, status=status)
