"""The writes: comments are made, changed and withdrawn. What is true of all writes is said in `tickets.services`."""

from typing import Any

from django.utils import timezone

from tickets import store, validators
from tickets.exceptions import CommentNotFound, CommentVoided, StaleVersion
from tickets.repeats import stored_already, token_of
from tickets.services import replayed
from tickets.tables import Row
from tickets.timeline import selectors
from tickets.timeline.recording import Step, record
from tickets.timeline.types import Commented, Event, Kind
from tickets.types import Ticket, TicketKey, Void

WITHDRAWN = "Withdrawn by its author."


def add_comment(key: TicketKey, *, text: str, by: str, idempotency_token: str | None = None) -> Commented:
    """Comment on a ticket that is not void, under the next number of its timeline.

    The version of the ticket stays. A repeat with the same token stores nothing, and returns the comment and its ticket
    as they are now, as long as the marker of the token is kept. Raises TicketNotFound, TicketMoved, TicketVoided, and
    IdempotencyMismatch if the token was used for something else on this ticket. Two reads and one write of two rows: 4
    write units, if each has at most 1 KB; 2 more with a token.
    """
    text = validators.clean({"text": text}, validators.COMMENT)["text"]
    now = timezone.now()
    event = store.timeline.event_row(Kind.COMMENT, by=by, at=now, text=text)

    def comment(row: Row) -> Step:
        return Step(
            event=event, also=[store.timeline.counting(row)], row={**row, "comments": row.get("comments", 0) + 1}
        )

    recorded = record(key, comment, token=token_of(by, idempotency_token))
    if recorded.replayed:
        ticket = replayed(key, recorded.row).ticket
        with stored_already():
            made = selectors.get_comment(ticket, recorded.number)
    else:
        ticket = store.tickets.ticket_from_row(recorded.row)
        made = store.timeline.event_from_row({**event, "sk": recorded.number})
    return Commented(ticket=ticket, comment=made, replayed=recorded.replayed)


def edit_comment(ticket: Ticket, number: int, *, text: str, by: str, version: int | None) -> Event:
    """Change the text of a comment that is still at this version; None means any. It keeps its number.

    Raises CommentNotFound, NotAllowed for a comment of somebody else, CommentVoided, and StaleVersion. One write.
    """
    text = validators.clean({"text": text}, validators.COMMENT)["text"]
    return _change(ticket, number, {"text": text, "edited_at": timezone.now()}, by=by, version=version)


def withdraw_comment(ticket: Ticket, number: int, *, by: str, version: int | None = None) -> Event:
    """Remove the text of a comment. Its number stays. One that is withdrawn already stays as it is.

    Raises CommentNotFound, NotAllowed for a comment of somebody else, and StaleVersion. One write.
    """
    void = Void(by=by, at=timezone.now(), reason=WITHDRAWN)
    try:
        return _change(ticket, number, {"void": void}, by=by, version=version, removed=("text",))
    except CommentVoided as already:
        comment: Event = already.current
        return comment


def _change(ticket: Ticket, number: int, values: Row, *, by: str, version: int | None, **options: Any) -> Event:
    row, changed = store.timeline.change_comment(ticket.timeline, number, values, author=by, version=version, **options)
    if row is None or row.get("kind") != Kind.COMMENT:
        raise CommentNotFound(ticket.key, number)
    comment = store.timeline.event_from_row(row)
    if changed:
        return comment
    selectors.require_own(ticket, comment, by=by)
    raise StaleVersion(comment, selectors.name_of(ticket, comment))
