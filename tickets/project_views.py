"""The pages of projects: their list, one project with its tickets, its settings, and its members."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from sequences.storage import new_token
from tickets import project_services, selectors, validators
from tickets.access import members
from tickets.access.actions import Action
from tickets.access.checks import ADD_PROJECT, actions_of, has_permission, in_sight, require_project_in_sight, seen_by
from tickets.accounts.sign_in import author
from tickets.forms import ServiceForm
from tickets.lists.filters import CHANGED, TicketFilter
from tickets.pages import FORM, asked_for, door, form_page, shown
from tickets.project_forms import MemberForm, NewProjectForm, ProjectChangeForm
from tickets.tables import ROWS_AT_ONCE
from tickets.types import ProjectKey, Status

PROJECTS_A_PAGE = 20
MEMBERS_A_PAGE = 100


@door(None)
def project_list(request: HttpRequest) -> HttpResponse:
    """The projects that a person may see, with their newest tickets; with `?archived=1`, the archived ones among them.

    At most 15 reads for the page (see `list_projects`), and one for each of its up to 20 projects.
    """
    archived, text = request.GET.get("archived") == "1", request.GET.get("text", "").strip() or None
    cursor, limit = request.GET.get("cursor"), PROJECTS_A_PAGE
    page = selectors.list_projects(
        seen_by=seen_by(request.user), archived=archived, text=text, cursor=cursor, limit=limit
    )
    content = {"page": page, "archived": archived, "text": text, "may_add": has_permission(request.user, ADD_PROJECT)}
    content["projects"] = [(project, selectors.get_newest(project.key)) for project in page.results]
    return render(request, "tickets/project_list.html", content)


@door(ADD_PROJECT, FORM)
def project_new(request: HttpRequest) -> HttpResponse:
    """The form for a new project."""
    form = NewProjectForm.typed(request) or NewProjectForm()
    if form.is_valid():
        with form.refusals():
            made = project_services.create_project(
                **form.content, by=author(request), idempotency_token=form.one_time_token
            )
            require_project_in_sight(request.user, made)
            project = made.value
            if not made.replayed:
                messages.success(request, f"Project {project.key} is ready for its first ticket.")
            return redirect("tickets:project", project.key)
    return form_page(request, "tickets/project_new.html", form)


@door(Action.READ)
def project(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """A project with its tickets, newest first; or those that its address asks for, in its order."""
    found = selectors.get_project(key)
    asked = asked_for(request)
    where, order = TicketFilter.of({name: value for name, value in asked.items() if name != "order"}), asked["order"]
    if order == CHANGED:
        page = selectors.list_changed(key, where=where)
    else:
        cursor = request.GET.get("cursor")
        page = selectors.list_tickets(key, where=where, order=order, cursor=cursor, whole=False, look_at=ROWS_AT_ONCE)
    page = in_sight(page, request.user)
    content = {"project": found, "page": page, "may": actions_of(request.user, key), "token": new_token()}
    return render(request, "tickets/project.html", {**content, "where": where, "statuses": [*Status], **shown(asked)})


@door(Action.EDIT_PROJECT, FORM)
def project_edit(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """The form for another key, name or description of a project."""
    form = ProjectChangeForm.typed(request) or ProjectChangeForm.of(selectors.get_project(key))
    if form.is_valid():
        with form.refusals():
            changed = project_services.update_project(
                key, version=form.version_read, changes=form.content, by=author(request)
            )
            messages.success(request, f"Project {changed.key} is changed.")
            return redirect("tickets:project", changed.key)
    return form_page(request, "tickets/project_edit.html", form, key=key)


@door(Action.ARCHIVE, FORM)
def project_archive(request: HttpRequest, key: str, archived: bool) -> HttpResponse:
    """Put a project into the archive, or take it out. Who only opens the address comes to the project."""
    if request.method == "POST":
        project_services.archive_project(key, archived=archived, by=author(request))
        messages.success(request, f"{key} is {'in' if archived else 'out of'} the archive.")
    return redirect("tickets:project", key)


@door(Action.READ)
def project_members(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """The members of a project, with the form for one of them for who may change them."""
    return _members_page(request, key, MemberForm())


@door(Action.MANAGE_MEMBERS, FORM)
def project_member(request: HttpRequest, key: str) -> HttpResponse:
    """Give a person a role, or take it away. Who only opens the address comes to the members."""
    here = reverse("tickets:project_members", args=[key], query=request.GET)  # the same page of them
    if request.method != "POST":
        return redirect(here)
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
            return redirect(here)
    return _members_page(request, key, form)


def _members_page(request: HttpRequest, key: str, form: ServiceForm) -> HttpResponse:
    page = members.list_members(key, cursor=request.GET.get("cursor"), limit=MEMBERS_A_PAGE)
    content = {"page": page, "roles": validators.ROLES.choices}
    may = actions_of(request.user, key)
    return form_page(request, "tickets/project_members.html", form, key=key, may=may, **content)
