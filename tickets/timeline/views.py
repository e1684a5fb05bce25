"""The pages of comments and of restoring. The page of a ticket, in `tickets.views`, shows its timeline."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from tickets import selectors
from tickets import services as ticket_services
from tickets.access.actions import Action
from tickets.doors import door
from tickets.pages import FORM_METHODS, author, by_present_key, form_page, sent
from tickets.timeline import selectors as timeline
from tickets.timeline import services
from tickets.timeline.forms import CommentChangeForm, CommentForm, RestoreForm
from tickets.types import Ticket, TicketKey


@door(Action.COMMENT)
@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_comment(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form for a comment."""
    typed = sent(request)
    if typed is None:
        selectors.get_changeable_ticket(key)
    form = CommentForm(typed)
    if form.is_valid():
        with form.refusals():
            made = services.add_comment(key, **form.content, by=author(request), idempotency_token=form.one_time_token)
            return redirect(event_address(made.ticket, made.comment.number))
    return form_page(request, "tickets/timeline/comment.html", form, key=key)


@door(Action.COMMENT)
@by_present_key
@require_http_methods(FORM_METHODS)
def comment_edit(request: HttpRequest, key: TicketKey, number: int) -> HttpResponse:
    """The form for a change of one's own comment, and for its withdrawal."""
    return _change(request, key, number, withdrawn=False)


@door(Action.COMMENT)
@by_present_key
@require_http_methods(FORM_METHODS)
def comment_withdraw(request: HttpRequest, key: TicketKey, number: int) -> HttpResponse:
    """Withdraw one's own comment. Who only opens the address sees the form."""
    return _change(request, key, number, withdrawn=True)


def _change(request: HttpRequest, key: TicketKey, number: int, *, withdrawn: bool) -> HttpResponse:
    typed, by = sent(request), author(request)
    if typed is not None:
        form = CommentChangeForm(typed)
    else:
        form = CommentChangeForm.of(timeline.get_own_comment(selectors.get_ticket(key), number, by=by))
    if form.is_valid():
        with form.refusals():
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


@door(Action.RESTORE)
@by_present_key
@require_http_methods(FORM_METHODS)
def ticket_restore(request: HttpRequest, key: TicketKey) -> HttpResponse:
    """The form that restores a void ticket. A ticket that is not void needs none."""
    typed = sent(request)
    if typed is not None:
        form = RestoreForm(typed)
    else:
        ticket = selectors.get_ticket(key)
        if not ticket.void:
            return redirect("tickets:ticket", key)
        form = RestoreForm.of(ticket)
    if form.is_valid():
        with form.refusals():
            restored = ticket_services.restore_ticket(
                key, version=form.version_read, **form.content, by=author(request)
            ).ticket
            messages.success(request, f"{restored.key} is restored.")
            return redirect("tickets:ticket", restored.key)
    return form_page(request, "tickets/timeline/restore.html", form, key=key)
