"""The move of a ticket to another project. What is true of all writes is said in `tickets.services`."""

import logging
from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone

from sequences import put_next
from sequences.actions import Put, value_text
from sequences.exceptions import AlsoRefused
from sequences.storage import free_number, new_token
from tickets import store, validators
from tickets.exceptions import InvalidInput, ProjectNotFound, StaleVersion
from tickets.repeats import token_of
from tickets.services import SEQUENCE, replayed
from tickets.tables import Row
from tickets.timeline.recording import MOST_RACES
from tickets.timeline.recording import SEQUENCE as TIMELINE
from tickets.timeline.types import Kind
from tickets.types import TicketKey, TicketStored

logger = logging.getLogger(__name__)


def move_ticket(
    key: TicketKey, *, to: str, by: str, version: int | None = None, idempotency_token: str | None = None
) -> TicketStored:
    """Move a ticket to the next number of another project. Its former number stays, and leads to it for ever.

    Both happen in one transaction, or nothing does. A repeat with the same token moves nothing and returns the ticket
    as it is now, for ever; a token names one move of this ticket. Raises TicketNotFound; InvalidInput about `to` if
    there is no such project, or the ticket is in it; StaleVersion if the ticket is not at `version`; TicketMoved and
    TicketVoided; IdempotencyMismatch if the token was used to move this ticket to another project. Three reads and
    one write of three rows: 6 write units, if each has at most 1 KB. A ticket that has moved before takes 2 more, and
    with a token a read for each former place.
    """
    target = _target(to)
    change = token_of(by, idempotency_token) or new_token()
    row = store.tickets.find_row(key)
    former = store.tickets.rows_left(row, key) if idempotency_token else ()  # a former key may have sent a repeat on
    if done := _done_before(former, target, change):
        return done
    for _ in range(MOST_RACES):
        if done := _done_before([row], target, change):
            return done
        _require_movable(key, row, target, version)
        now = timezone.now()
        content = store.tickets.moved_row(row, at=now, by=by)
        also = [*store.tickets.leaving(row, target, at=now, by=by, change=change), _moving(row, target, at=now, by=by)]
        try:
            stored = put_next(SEQUENCE, content, scope=target, also=also)
        except AlsoRefused as refused:
            if refused.index == 0:  # not the timeline, which somebody else has written
                row = refused.old
            continue
        moved = store.tickets.ticket_from_row({**content, "pk": target, "sk": stored.value})
        logger.info("ticket %s moved to %s by %s", key, moved.key, by)
        return TicketStored(ticket=moved, replayed=False, allocation=stored)
    raise StaleVersion(store.tickets.ticket_from_row(row))


def _done_before(rows: Iterable[Row], target: str, change: str) -> TicketStored | None:
    """The ticket as it is now, if one of these rows says that this request has moved it."""
    for row in rows:
        if store.tickets.has_left(row, target, change=change):
            return replayed(store.places.key_of(**row["moved_to"]))
    return None


def _moving(row: Row, target: str, *, at: datetime, by: str) -> Put:
    """The event of a move under the next number of the timeline, which rides with the ticket's own next number."""
    scope = store.timeline.timeline_of(row)
    number = free_number(TIMELINE, scope=scope)
    keys = [str(store.places.key_of(row["pk"], row["sk"])), value_text(f"{store.places.renames.key(target)}-{{value}}")]
    return store.timeline.event_at(
        scope, number, store.timeline.event_row(Kind.MOVE, by=by, at=at, changes={"key": keys})
    )


def _require_movable(key: TicketKey, row: Row, target: str, version: int | None) -> None:
    """Raise TicketMoved, TicketVoided or StaleVersion, or InvalidInput if the ticket is in the target project."""
    store.tickets.require_content(key, row)
    ticket = store.tickets.ticket_from_row(row)
    if row["pk"] == target:
        raise InvalidInput({"to": f"{ticket.key} is in this project already."})
    if version not in (None, ticket.version):
        raise StaleVersion(ticket)


def _target(project: str) -> str:
    """The partition of the project that a ticket moves to."""
    key = validators.clean({"to": project}, validators.MOVE)["to"]
    try:
        return store.projects.find_partition(key)
    except ProjectNotFound as error:
        raise InvalidInput({"to": str(error)}) from error
