"""The pages of comments and of restoring. The page of a ticket, in `tickets.views`, shows its timeline."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from tickets import selectors
from tickets import services as ticket_services
from tickets.access.actions import Action
from tickets.access.checks import require_in_sight
from tickets.accounts.sign_in import author
from tickets.forms import CommentChangeForm, CommentForm, ReasonForm
from tickets.pages import FORM, door, form_page, in_sight_of
from tickets.timeline import selectors as timeline
from tickets.timeline import services
from tickets.types import Ticket, TicketKey


@door(Action.COMMENT, FORM)
def ticket_comment(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form for a comment."""
    form = CommentForm.typed(request) or CommentForm()
    if not form.is_bound:
        selectors.get_changeable_ticket(key)
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            made = services.add_comment(key, **form.content, by=author(request), idempotency_token=form.one_time_token)
            require_in_sight(request.user, made)
            return redirect(event_address(made.ticket, made.comment.number))
    return form_page(request, "tickets/timeline/comment.html", form, key=key)


@door(Action.COMMENT, FORM)
def comment_edit(request: HttpRequest, key: TicketKey, number: int, withdrawn: bool = False) -> HttpResponse:
    """The form for a change of one's own comment, or for its withdrawal."""
    by, form = author(request), CommentChangeForm.typed(request)
    if form is None:
        form = CommentChangeForm.of(timeline.get_own_comment(selectors.get_ticket(key), number, by=by))
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            ticket = selectors.get_ticket(key)
            if withdrawn:
                services.withdraw_comment(ticket, number, by=by, version=form.version_read)
            else:
                services.edit_comment(ticket, number, **form.content, by=by, version=form.version_read)
            return redirect(event_address(ticket, number))
    return form_page(request, "tickets/timeline/comment_edit.html", form, key=key, number=number)


def event_address(ticket: Ticket, number: int) -> str:
    """The address of an event: the page of the timeline that has it, and its place there."""
    cursor = timeline.cursor_to(ticket, number)
    query = f"?{urlencode({'cursor': cursor})}" if cursor else ""
    return f"{reverse('tickets:ticket', args=[ticket.key])}{query}#event-{number}"


@door(Action.RESTORE, FORM)
def ticket_restore(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that restores a void ticket. A ticket that is not void needs none."""
    form = ReasonForm.typed(request)
    if form is None:
        ticket = selectors.get_ticket(key)
        if not ticket.void:
            return redirect("tickets:ticket", key)
        form = ReasonForm.of(ticket)
    if form.is_valid():
        with form.refusals(), in_sight_of(request.user):
            restored = ticket_services.restore_ticket(
                key, version=form.version_read, **form.content, by=author(request)
            ).ticket
            messages.success(request, f"{restored.key} is restored.")
            return redirect("tickets:ticket", restored.key)
    return form_page(request, "tickets/timeline/restore.html", form, key=key)
