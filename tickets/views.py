"""The pages of tickets: each view reads the request, calls a service or a selector, and shows the result.

People who are not signed in get the sign-in page first (LoginRequiredMiddleware). Known errors become pages in
`middleware`, or messages beside the fields of a form (`forms`). All other errors are answered in `error_pages`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from tickets import finding, moves, selectors, services
from tickets.access import checks
from tickets.access.actions import Action
from tickets.accounts.sign_in import author
from tickets.cursors import LARGEST_PAGE
from tickets.forms import CommentForm, MoveForm, NewTicketForm, ProgressForm, ReasonForm, TicketForm
from tickets.lists.filters import TicketFilter
from tickets.markdown import Marked
from tickets.pages import FORM, door, form_page, in_sight_of, measured, query_of, tell
from tickets.timeline.selectors import list_events
from tickets.timeline.types import Event
from tickets.types import Page, ProjectKey, Status, Ticket, TicketKey
from tickets.validators import LONGEST_TEXT

# What a ticket's page offers as buttons: the next statuses of each one, what they are called, and their keys.
CLOSE = ("done", "Close", "x")
STEPS: Mapping[Status, Sequence[tuple[str, str, str]]] = {
    Status.OPEN: (("in_progress", "Start", "s"), CLOSE),
    Status.IN_PROGRESS: (CLOSE,),
    Status.DONE: (("open", "Reopen", "r"),),
}


@door(Action.FILE, FORM)
def ticket_new(request: HttpRequest, key: ProjectKey) -> HttpResponse:
    """The form for a new ticket."""
    form = NewTicketForm.typed(request) or NewTicketForm()
    if not form.is_bound:  # otherwise, if a read failed, what was typed would be lost
        selectors.get_project(key)
        form.suggest(selectors.list_labels(key))
    if form.is_valid():
        with form.refusals():
            with measured() as cost:
                created = services.create_ticket(
                    key, **form.content, reporter=author(request), idempotency_token=form.one_time_token
                )
            checks.require_in_sight(request.user, created)
            tell(request, f"{created.ticket.key} is filed.", created.allocation, cost)
            if request.GET.get("then") == "list":
                return redirect(f"{reverse('tickets:project', args=[created.ticket.project])}#quick")
            return redirect("tickets:ticket", created.ticket.key)
    return form_page(request, "tickets/ticket_new.html", form, key=key)


@door(Action.READ)
def ticket(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """A ticket, and a page of its timeline. A void one shows by whom it was withdrawn, when and why."""
    (found, has_next), now = selectors.get_ticket_and_next(key), timezone.now()
    page = checks.history_in_sight(list_events(found, cursor=request.GET.get("cursor")), request.user)
    may = checks.actions_with(request.user, found, now=now)
    can_restore = Action.RESTORE in may and bool(found.sealed_until and found.sealed_until > now)
    content = {"ticket": found, "has_next": has_next, "page": page, "can_restore": can_restore, "may": may}
    if Action.CHANGE in may and not found.void:
        content |= {"progress": ProgressForm.of(found), "steps": STEPS[found.status]}
    content |= {"form": CommentForm(), **_texts(request, found, page)}
    return render(request, "tickets/ticket.html", content)


def _texts(request: HttpRequest, ticket: Ticket, page: Page[Event]) -> dict[str, Any]:
    """The texts of a ticket's page as HTML, with links to the tickets in them that the person may see. One read."""
    reason = ticket.void.reason if ticket.void else ""
    marked = Marked([ticket.description, reason, *(event.text for event in page.results)])
    tickets = checks.find_mentioned(marked.mentioned, request.user)
    return {
        "description": marked.html(ticket.description, tickets),
        "reason": marked.html(reason, tickets),
        "events": [(event, marked.html(event.text, tickets)) for event in page.results],
    }


@door(Action.CHANGE_OWN, FORM)
def ticket_edit(request: HttpRequest, key: TicketKey, form_class: type[ProgressForm] = TicketForm) -> HttpResponse:
    """The form for a change; or the small one for the status and the assignee, which a ticket's page has, too."""
    form = form_class.typed(request) or form_class.of(_own(request, Action.CHANGE_OWN, key))
    if not form.is_bound and "labels" in form.fields:
        form.suggest(selectors.list_labels(key.project))
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            changed = services.update_ticket(
                key,
                version=form.version_read,
                changes=form.content,
                by=author(request),
                only_by=checks.only_by(request.user, Action.CHANGE_OWN, key),
            ).ticket
            messages.success(request, f"{changed.key} is changed.")
            return redirect("tickets:ticket", changed.key)
    return form_page(request, "tickets/ticket_edit.html", form, key=key)


def _own(request: HttpRequest, action: Action, key: TicketKey) -> Ticket:
    """A ticket with which the person may do this. Raises NotAllowed before they type for nothing."""
    return checks.require_with(request.user, action, selectors.get_changeable_ticket(key), now=timezone.now())


@door(Action.MOVE, FORM)
def ticket_move(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that moves a ticket to another project."""
    form, projects = MoveForm.typed(request) or MoveForm.of(selectors.get_changeable_ticket(key)), None
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            checks.require_target(request.user, form.content["to"])
            with measured() as cost:
                moved = moves.move_ticket(
                    key,
                    **form.content,
                    version=form.version_read,
                    by=author(request),
                    idempotency_token=form.one_time_token,
                )
            checks.require_in_sight(request.user, moved)
            tell(request, f"{key} has moved here.", moved.allocation, cost)
            return redirect("tickets:ticket", moved.ticket.key)
    if not form.is_bound:  # otherwise, if this read failed, what was typed would be lost
        projects = selectors.list_projects(seen_by=checks.seen_by(request.user), archived=False, limit=LARGEST_PAGE)
    return form_page(request, "tickets/ticket_move.html", form, key=key, projects=projects)


@door(Action.VOID_OWN, FORM)
def ticket_void(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that voids a ticket."""
    form = ReasonForm.typed(request) or ReasonForm.of(_own(request, Action.VOID_OWN, key))
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            now = timezone.now()
            limits = checks.limits_of_void(request.user, key, now=now)
            limits |= {"version": form.version_read, "by": author(request)}
            void = services.void_ticket(key, **form.content, **limits).ticket
            was_void = void.void is not None and void.void.at < now
            told = "was void already, for the reason below" if was_void else "is void"
            messages.success(request, f"{void.key} {told}.")
            return redirect("tickets:ticket", void.key)
    return form_page(request, "tickets/ticket_void.html", form, key=key)


@door(None)
def find(request: HttpRequest) -> HttpResponse:
    """The page that somebody means by a key or a number, or the tickets that have their words."""
    text = request.GET.get("text", "").strip()
    path = finding.path_for(text, request.user) if text else reverse("tickets:project_list")
    return redirect(path) if path else _found(request, {"text": text})


@door(None)
def mine(request: HttpRequest) -> HttpResponse:
    """The tickets that a person works on, of all projects."""
    return _found(request, {"assignee": author(request), "status": [Status.OPEN, Status.IN_PROGRESS]})


def _found(request: HttpRequest, asked: dict[str, Any]) -> HttpResponse:
    """A page of a search over projects; older tickets are found in the list of each project, by the same query."""
    found, page = finding.search(request.user, TicketFilter.of(asked), request.GET.get("cursor"))
    shown = [(project, tickets) for project, tickets in found if tickets.results or tickets.next_cursor]
    content = {"found": shown, "page": page, "text": asked.get("text"), "query": query_of(asked)}
    content |= {"looked_at": finding.LOOKED_AT, "most": finding.TICKETS}
    return render(request, "tickets/found.html", content)


@door(None, ["POST"])
def preview(request: HttpRequest) -> HttpResponse:
    """What becomes of a description or a comment that somebody is typing, as far as it is not too long. One read."""
    text = (request.POST.get("description") or request.POST.get("text", ""))[:LONGEST_TEXT]
    marked = Marked([text])
    tickets = checks.find_mentioned(marked.mentioned, request.user)
    return render(request, "tickets/preview.html", {"html": marked.html(text, tickets)})
