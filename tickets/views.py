"""The pages: each view reads the request, calls a service or a selector, and shows the result.

People who are not signed in get the sign-in page first (LoginRequiredMiddleware). Known errors become pages in
`middleware`, or messages beside the fields of a form (`forms`). All other errors are answered at the end of
this module.
"""

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, TypeVar

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, QueryDict, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from sequences.rest.problems import Remedy
from sequences.storage import new_token
from tickets import addresses, selectors, services, validators
from tickets.access import members
from tickets.access.actions import Action
from tickets.access.checks import (
    ADD_PROJECT,
    actions_of,
    actions_with,
    has_permission,
    history_in_sight,
    in_sight,
    limits_of_void,
    mentioned_in_sight,
    only_by,
    require_in_sight,
    require_project_in_sight,
    require_target,
    seen_by,
)
from tickets.api.exceptions import answer_to
from tickets.costs import measured, tell
from tickets.cursors import LARGEST_PAGE
from tickets.doors import door, in_sight_of
from tickets.forms import (
    MemberForm,
    MoveForm,
    NewProjectForm,
    NewTicketForm,
    ProgressForm,
    ProjectChangeForm,
    ServiceForm,
    TicketForm,
    VoidForm,
)
from tickets.lists.filters import TicketFilter
from tickets.markdown import Marked
from tickets.problems import ACCOUNTS_AWAY, KNOWN, PROBLEMS, explain
from tickets.timeline.forms import CommentForm
from tickets.timeline.selectors import list_events
from tickets.timeline.types import Event
from tickets.types import Order, Page, ProjectKey, Status, Ticket, TicketKey

CSRF_FIELD, PASSWORD = "csrfmiddlewaretoken", "password"
PROJECTS_A_PAGE = 20
FORM_METHODS = ["GET", "HEAD", "POST"]
IN_FORM = ("text", "status")  # the filters that the form of a project's page has

K = TypeVar("K", ProjectKey, TicketKey)
View = Callable[Concatenate[HttpRequest, K, ...], HttpResponse]


def by_present_key(view: View[K]) -> View[K]:
    """A page that is asked for by a former key of its project has moved to the address with the present one."""

    @wraps(view)
    def page(request: HttpRequest, key: K, **rest: Any) -> HttpResponse:
        if request.method != "POST":  # whose answer leads to the present address anyway
            present = addresses.present(key)
            if present != key:
                return addresses.elsewhere(request, addresses.of_key(request, present))
        return view(request, key, **rest)

    return page


@door(None)
@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    """The projects that a person may see, with their newest tickets; with `?archived=1`, the archived ones among them.

    At most 15 reads for the page (see `list_projects`), and one for each of its up to 20 projects.
    """
    archived, text = request.GET.get("archived") == "1", request.GET.get("text") or None
    cursor, limit = request.GET.get("cursor"), PROJECTS_A_PAGE
    page = selectors.list_projects(
        seen_by=seen_by(request.user), archived=archived, text=text, cursor=cursor, limit=limit
    )
    content = {"page": page, "archived": archived, "text": text, "may_add": has_permission(request.user, ADD_PROJECT)}
    content["projects"] = [(project, selectors.get_newest(project.key)) for project in page.results]
    return render(request, "tickets/project_list.html", content)


@door(ADD_PROJECT)
@require_http_methods(FORM_METHODS)
def project_new(request: HttpRequest) -> HttpResponse:
    """The form for a new project."""
    form = NewProjectForm(sent(request))
    if form.is_valid():
        with form.refusals():
            made = services.create_project(**form.content, by=author(request), idempotency_token=form.one_time_token)
            require_project_in_sight(request.user, made)
            project = made.value
            messages.success(request, f"Project {project.key} is ready for its first ticket.")
            return redirect("tickets:project", project.key)
    return form_page(request, "tickets/project_new.html", form)


@door(Action.READ)
@by_present_key
@require_safe
def project(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """A project with its tickets, newest first; or those that its address asks for."""
    found = selectors.get_project(key)
    asked = asked_for(request)
    where, order = TicketFilter.of({name: value for name, value in asked.items() if name != "order"}), asked["order"]
    cursor = request.GET.get("cursor")
    page = selectors.list_tickets(key, where=where, order=order, cursor=cursor, whole=False, is_known=True)
    page = in_sight(page, request.user)
    content = {"project": found, "page": page, "may": actions_of(request.user, key), "token": new_token()}
    return render(request, "tickets/project.html", {**content, "where": where, "statuses": [*Status], **shown(asked)})


@door(Action.EDIT_PROJECT)
@by_present_key
@require_http_methods(FORM_METHODS)
def project_edit(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """The form for another key, name or description of a project."""
    typed = sent(request)
    form = ProjectChangeForm(typed) if typed is not None else ProjectChangeForm.of(selectors.get_project(key))
    if form.is_valid():
        with form.refusals():
            changed = services.update_project(key, version=form.version_read, changes=form.content, by=author(request))
            messages.success(request, f"Project {changed.key} is changed.")
            return redirect("tickets:project", changed.key)
    return form_page(request, "tickets/project_edit.html", form, key=key)


@door(Action.ARCHIVE)
@require_http_methods(FORM_METHODS)
def project_archive(request: HttpRequest, key: str) -> HttpResponse:
    """Put a project into the archive. Who only opens the address, as after signing in anew, comes to the project."""
    return _archive(request, key, archived=True)


@door(Action.ARCHIVE)
@require_http_methods(FORM_METHODS)
def project_unarchive(request: HttpRequest, key: str) -> HttpResponse:
    """Take a project out of the archive."""
    return _archive(request, key, archived=False)


def _archive(request: HttpRequest, key: str, *, archived: bool) -> HttpResponse:
    if request.method == "POST":
        services.archive_project(key, archived=archived, by=author(request))
        messages.success(request, f"{key} is {'in' if archived else 'out of'} the archive.")
    return redirect("tickets:project", key)


@door(Action.READ)
@by_present_key
@require_http_methods(["GET", "HEAD"])
def project_members(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """The members of a project, with the form for one of them for who may change them."""
    return _members_page(request, key, MemberForm())


@door(Action.MANAGE_MEMBERS)
@require_http_methods(FORM_METHODS)
def project_member(request: HttpRequest, key: str) -> HttpResponse:
    """Give a person a role, or take it away. Who only opens the address comes to the members."""
    if request.method != "POST":
        return redirect("tickets:project_members", key)
    form = MemberForm(request.POST)
    if form.is_valid():
        with form.refusals():
            user, role = form.content["user"], form.content["role"]
            if "remove" in request.POST:
                members.remove_member(key, user, by=author(request))
                messages.success(request, f"{user} is no member any more.")
            else:
                members.set_member(key, user, role=role, by=author(request))
                messages.success(request, f"{user} is {role} now.")
            return redirect("tickets:project_members", key)
    return _members_page(request, key, form)


def _members_page(request: HttpRequest, key: str, form: ServiceForm) -> HttpResponse:
    content = {"members": members.list_members(key), "roles": validators.ROLES.choices}
    may = actions_of(request.user, key)
    return form_page(request, "tickets/project_members.html", form, key=key, may=may, **content)


@door(Action.FILE)
@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_new(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """The form for a new ticket."""
    form = NewTicketForm(sent(request))
    if request.method != "POST":  # not for a POST: if a read failed, what was typed would be lost
        selectors.get_project(key)
        form.suggest(selectors.list_labels(key))
    if form.is_valid():
        with form.refusals():
            with measured() as cost:
                created = services.create_ticket(
                    key, **form.content, reporter=author(request), idempotency_token=form.one_time_token
                )
            require_in_sight(request.user, created)
            tell(request, f"{created.ticket.key} is filed.", created.allocation, cost)
            if request.GET.get("then") == "list":
                return redirect(f"{reverse('tickets:project', args=[created.ticket.project])}#quick")
            return redirect("tickets:ticket", created.ticket.key)
    return form_page(request, "tickets/ticket_new.html", form, key=key)


@door(Action.READ)
@by_present_key
@require_safe
def ticket(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """A ticket, and a page of its timeline. A void one shows by whom it was withdrawn, when and why."""
    (found, has_next), now = selectors.get_ticket_and_next(key), timezone.now()
    page = history_in_sight(list_events(found, cursor=request.GET.get("cursor")), request.user)
    may = actions_with(request.user, found, now=now)
    can_restore = Action.RESTORE in may and bool(found.sealed_until and found.sealed_until > now)
    content = {"ticket": found, "has_next": has_next, "page": page, "can_restore": can_restore, "may": may}
    content["progress"] = ProgressForm.of(found) if Action.CHANGE in may and not found.void else None
    content |= {"form": CommentForm(), **_texts(request, found, page)}
    return render(request, "tickets/ticket.html", content)


def _texts(request: HttpRequest, ticket: Ticket, page: Page[Event]) -> dict[str, Any]:
    """The texts of a ticket's page as HTML, with links to the tickets in them that the person may see. One read."""
    reason = ticket.void.reason if ticket.void else ""
    marked = Marked([ticket.description, reason, *(event.text for event in page.results)])
    tickets = mentioned_in_sight(selectors.find_mentioned(marked.mentioned), request.user)
    return {
        "description": marked.html(ticket.description, tickets),
        "reason": marked.html(reason, tickets),
        "events": [(event, marked.html(event.text, tickets)) for event in page.results],
    }


@door(Action.CHANGE_OWN)
@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_edit(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form for a change."""
    return _change(request, key, TicketForm)


@door(Action.CHANGE_OWN)
@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_progress(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The small form for the status and the assignee, which the page of the ticket has, too."""
    return _change(request, key, ProgressForm)


def _change(request: HttpRequest, key: TicketKey, form_class: type[ProgressForm]) -> HttpResponse:
    typed = sent(request)
    form = form_class(typed) if typed is not None else form_class.of(selectors.get_changeable_ticket(key))
    if typed is None and "labels" in form.fields:
        form.suggest(selectors.list_labels(key.project))
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            changed = services.update_ticket(
                key,
                version=form.version_read,
                changes=form.content,
                by=author(request),
                only_by=only_by(request.user, Action.CHANGE_OWN, key),
            ).ticket
            messages.success(request, f"{changed.key} is changed.")
            return redirect("tickets:ticket", changed.key)
    return form_page(request, "tickets/ticket_edit.html", form, key=key)


@door(Action.MOVE)
@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_move(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that moves a ticket to another project."""
    typed, projects = sent(request), None
    form = MoveForm(typed) if typed is not None else MoveForm.of(selectors.get_changeable_ticket(key))
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            require_target(request.user, form.content["to"])
            with measured() as cost:
                moved = services.move_ticket(
                    key,
                    **form.content,
                    version=form.version_read,
                    by=author(request),
                    idempotency_token=form.one_time_token,
                )
            require_in_sight(request.user, moved)
            tell(request, f"{key} has moved here.", moved.allocation, cost)
            return redirect("tickets:ticket", moved.ticket.key)
    if typed is None:  # not for a POST: if this read failed, what was typed would be lost
        projects = selectors.list_projects(seen_by=seen_by(request.user), archived=False, limit=LARGEST_PAGE)
    return form_page(request, "tickets/ticket_move.html", form, key=key, projects=projects)


@door(Action.VOID_OWN)
@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_void(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that voids a ticket."""
    typed = sent(request)
    form = VoidForm(typed) if typed is not None else VoidForm.of(selectors.get_changeable_ticket(key))
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            limits = limits_of_void(request.user, key, now=timezone.now())
            limits |= {"version": form.version_read, "by": author(request)}
            void = services.void_ticket(key, **form.content, **limits).ticket
            messages.success(request, f"{void.key} is void.")
            return redirect("tickets:ticket", void.key)
    return form_page(request, "tickets/ticket_void.html", form, key=key)


def asked_for(request: HttpRequest) -> dict[str, Any]:
    """Which tickets the address of a page asks for, and in which order. Fields of a form that are empty ask nothing."""
    given = {name: [value for value in values if value] for name, values in request.GET.lists()}
    asked = {name: values if name == "status" else values[-1] for name, values in given.items() if values}
    order = Order.OLDEST if asked.get("order") == Order.OLDEST else Order.NEWEST
    return {**{name: value for name, value in asked.items() if name in validators.FILTER}, "order": order}


def shown(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a page shows of the filters of its list.

    `filters` has the name of each, what it wants, and the query of the list without it; `kept` what the form of the
    page does not ask, but keeps; `asked` the query of the list.
    """
    wanted = {name: value for name, value in asked.items() if name in validators.FILTER}
    filters = [
        (name.replace("_", " "), ", ".join(value) if name == "status" else value, query_of(asked, without=name))
        for name, value in wanted.items()
    ]
    kept = {name: value for name, value in asked.items() if name not in IN_FORM and value != Order.NEWEST}
    return {"filters": filters, "kept": kept, "asked": query_of(asked)}


def query_of(asked: Mapping[str, Any], *, without: str = "") -> str:
    """The query of a list, without one of its filters."""
    return urlencode({name: value for name, value in asked.items() if name != without}, doseq=True)


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


# What the whole site answers to errors that nothing has handled before.


@login_not_required
@require_safe
def problems(request: HttpRequest) -> HttpResponse:
    """What each code of an error means, and what helps: the address to which the `type` of a problem leads."""
    codes = {row.code: row for row in PROBLEMS.values()}
    listed = sorted(codes.values(), key=lambda row: (row.status, row.code))
    return render(request, "tickets/problems.html", {"problems": listed})


def client_error(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer with a status of 400 and more."""
    return error_page(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to an error outside the views: status 500, unless the database with the accounts is away.

    The page of a 500 is rendered without the request, which may be the cause.
    """
    error = sys.exception()
    return error_page(request, error if isinstance(error, KNOWN) else Exception())


def typed_in(request: HttpRequest) -> list[tuple[str, str]]:
    """The fields of the form that was sent, with what was typed; none if the request cannot be read, or has a password.

    So no page ever holds a password.
    """
    try:
        typed = request.POST
    except (BadRequest, MultiPartParserError, SuspiciousOperation, UnreadablePostError):
        return []
    if any(PASSWORD in name for name in typed):  # or "new_password1", as in the administration
        return []
    return [(name, value) for name, values in typed.lists() if name != CSRF_FIELD for value in values]


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form with another session's token, as after signing in anew in another tab. It can be sent again.

    Not so a form of another site: browsers say in `Origin` where a form was sent from.
    """
    is_ours = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    typed = typed_in(request) if is_ours else []
    return HttpResponse(render_to_string("403_csrf.html", {"typed": typed}, request), status=403)


def error_page(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page for an error; below /api/ its JSON."""
    if request.path.startswith("/api/"):
        return answer_to(error, request)
    problem = explain(error, request.path)
    again = problem.remedy is Remedy.REPEAT
    content = {"title": problem.title, "detail": problem.words(), "again": again, "typed": typed_in(request)}
    content["project"] = getattr(error, "project", None)
    if isinstance(error, ACCOUNTS_AWAY):
        request.user = AnonymousUser()  # the page must not ask for the account
    page = render_to_string("error.html", content, request if problem.status != 500 else None)
    return HttpResponse(page, status=problem.status, headers=problem.headers)
