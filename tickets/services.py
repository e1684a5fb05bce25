"""The writes of tickets: they are filed, changed, voided and restored.

The reads are in `selectors`. Other writes are in `moves`, `project_services`, and `timeline`.

Every function checks its arguments by `validators`, and raises InvalidInput with a message for each wrong field.
Besides the errors that it names, it may raise `SequenceUnavailable`, `SequenceContention` and `StorageRefused` of
`sequences.exceptions`: the store did not answer, was too busy, or refused the write.

An idempotency token is the caller's name for one request (1 to 255 characters): repeats with the same token are carried
out once. Every person has tokens of their own: equal tokens of two people are different requests.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.utils import timezone

from sequences import put_next
from sequences.exceptions import ScopeNotFound
from sequences.types import Allocation
from tickets import selectors, store, validators
from tickets.exceptions import ContentGone, NotAllowed, ProjectNotFound, StaleVersion, TicketMoved, TicketVoided
from tickets.repeats import fingerprint, stored_already, token_of
from tickets.tables import Row, to_row
from tickets.timeline.recording import Recorded, Step, record
from tickets.timeline.types import Kind
from tickets.types import Status, Ticket, TicketKey, TicketStored, Void

logger = logging.getLogger(__name__)

T = TypeVar("T")

SEQUENCE = "tickets"
SEALED_FOR = timedelta(days=30)  # the content of a void ticket


def create_ticket(
    project: str,
    *,
    title: str,
    description: str = "",
    status: str = Status.OPEN,
    assignee: str = "",
    labels: Sequence[str] = (),
    reporter: str,
    idempotency_token: str | None = None,
) -> TicketStored:
    """File a ticket under the next number of its project.

    The numbers of a project are 1, 2, 3 and so on, without gaps. A repeat with the same token files nothing and returns
    the ticket as it is now, as long as the marker of the token is kept. Raises ProjectNotFound, and IdempotencyMismatch
    if the token was used for another ticket of the project. One write; with a token it stores two rows.
    """
    project = validators.project_key(project)
    texts = {"title": title, "description": description, "status": status, "assignee": assignee}
    fields = new_fields({**texts, "labels": labels}, reporter)
    token = token_of(reporter, idempotency_token)
    row = to_row(fields)

    def put(partition: str) -> TicketStored:
        return filed(partition, put_next(SEQUENCE, row, scope=partition, idempotency_token=token), fields)

    return in_project(project, put)


def in_project(project: str, file: Callable[[str], T]) -> T:
    """The result of `file`, which files in the partition of a project. Raises ProjectNotFound."""
    try:
        return store.places.renames.in_partition(project, file)
    except ScopeNotFound as error:
        raise ProjectNotFound(project) from error


def new_fields(content: Mapping[str, Any], reporter: str) -> dict[str, Any]:
    """The fields of a new ticket with this content. Raises InvalidInput."""
    now = timezone.now()
    blank = {"title": "", "description": "", "status": Status.OPEN, "assignee": "", "labels": ()}
    cleaned = validators.clean({**blank, **content}, validators.TICKET)
    return {**cleaned, "reporter": reporter, "created_at": now, "updated_at": now, "version": 1}


def filed(partition: str, stored: Allocation, fields: Mapping[str, Any], row: Row | None = None) -> TicketStored:
    """The answer to who filed a ticket: as it was stored, or for a repeat as it is now.

    That takes one read, unless the row of the ticket was read already.
    """
    key = store.places.key_of(partition, stored.value)
    if stored.replayed:
        return replayed(key, row)
    scope = store.timeline.scope_at(partition, stored.value)
    ticket = Ticket(key=key, **fields, updated_by=fields["reporter"], timeline=scope)
    return TicketStored(ticket=ticket, replayed=False, allocation=stored)


def update_ticket(
    key: TicketKey,
    *,
    version: int | None,
    changes: Mapping[str, Any],
    by: str,
    only_by: str | None = None,
    idempotency_token: str | None = None,
) -> TicketStored:
    """Change some fields of a ticket that is still at this version; None means any.

    With `only_by` the write has the condition that this person is the reporter; otherwise NotAllowed is raised.

    The change and its event in the timeline are stored together. A request without a token that changes nothing stores
    nothing. A repeat with the same token changes nothing, and returns the ticket as it is now, as long as the marker of
    the token is kept. Raises TicketNotFound, IdempotencyMismatch, and StaleVersion, TicketMoved or TicketVoided, which
    carry the ticket as it is now. Two reads and one write of two rows: 4 write units, if each has at most 1 KB; 2 more
    with a token.
    """
    content = to_row(validators.clean(changes, validators.TICKET))
    token, now, own = token_of(by, idempotency_token), timezone.now(), _own(only_by)
    # What a repeat must have again. Nobody can guess it back from the digest, as the caller's token is not stored.
    asked = fingerprint([idempotency_token, content]) if token else None

    def change(row: Row) -> Step:
        told, values_key = store.tickets.changes(row, content), store.timeline.values_key(row)
        event = store.timeline.change_row(told, key=values_key, by=by, at=now, asked=asked)
        if not told and token is None:
            return Step(event=event, row=row)
        values = {**content, "values_key": values_key, "updated_by": by, "updated_at": now}
        update, after = store.tickets.changing(row, values, version=version, own=own)
        return Step(event=event, also=[update], row=after)

    return _stored(key, record(key, change, require=_requiring(own), version=version, token=token))


def void_ticket(
    key: TicketKey,
    *,
    by: str,
    reason: str = "",
    version: int | None = None,
    only_by: str | None = None,
    since: datetime | None = None,
    idempotency_token: str | None = None,
) -> TicketStored:
    """Withdraw a ticket: its number stays, with the person, the time and the reason. Its content is sealed.

    For 30 days `restore_ticket` brings the content back; after that it is gone for good. A ticket that is already void
    stays as it is. With `only_by` the write has the condition that this person is the reporter, and with `since` that
    they filed it then or later; otherwise NotAllowed is raised. Also raises TicketNotFound, TicketMoved,
    IdempotencyMismatch, and StaleVersion if the ticket is not at `version`. Two reads and one write of three rows: 6
    write units, if each has at most 1 KB; 2 more with a token.
    """
    about = validators.clean({"reason": reason}, validators.VOID)
    void = Void(by=by, at=timezone.now(), **about)
    until = void.at + SEALED_FOR
    own = _own(only_by, since)

    def withdraw(row: Row) -> Step:
        event = store.timeline.event_row(Kind.VOID, by=by, at=void.at, text=void.reason)
        signed = {"updated_by": by, "updated_at": void.at}
        values = {"status": Status.VOID.value, "void": void, "sealed_until": until, **signed}
        removed = [name for name in store.timeline.SEALED if name not in values]
        update, after = store.tickets.changing(row, values, removed=removed, version=version, own=own)
        return Step(event=event, also=[update, store.timeline.sealing(row, until=until)], row=after)

    token = token_of(by, idempotency_token)
    try:
        recorded = record(key, withdraw, require=_requiring(own), version=version, token=token)
    except TicketVoided as already:
        return TicketStored(ticket=already.current, replayed=False)
    if not recorded.replayed:
        logger.info("ticket %s voided by %s", key, by)
    return _stored(key, recorded)


def restore_ticket(
    key: TicketKey, *, by: str, reason: str = "", version: int | None = None, idempotency_token: str | None = None
) -> TicketStored:
    """Bring the content of a void ticket back. A ticket that is not void stays as it is.

    Raises ContentGone 30 days after it was voided, and for what an operator made void; TicketNotFound, TicketMoved,
    IdempotencyMismatch, and StaleVersion if the void ticket is not at `version`. Three reads and one write of three
    rows: 6 write units, if each has at most 1 KB; 2 more with a token.
    """
    text = validators.clean({"reason": reason}, validators.VOID)["reason"]
    token, now = token_of(by, idempotency_token), timezone.now()

    event = store.timeline.event_row(Kind.RESTORE, by=by, at=now, text=text)

    def restore(row: Row) -> Step:
        sealed = store.timeline.find_sealed(row, at=now) if "sealed_until" in row else None
        if sealed is None:
            return Step(event=event, row=row)
        if sealed["version"] != row["version"]:  # it was restored and voided again after the row was read
            raise StaleVersion(store.tickets.ticket_from_row(row))
        values = {"status": Status.OPEN, **sealed["content"], "updated_by": by, "updated_at": now}
        update, after = store.tickets.changing(
            row, values, removed=("void", "sealed_until"), version=version, only=store.tickets.VOID
        )
        return Step(event=event, also=[update, store.timeline.unsealing(row, at=now)], row=after)

    try:
        recorded = record(key, restore, require=store.tickets.require_here, version=version, token=token)
    except StaleVersion as stale:
        if stale.current.void:
            raise
        return TicketStored(ticket=stale.current, replayed=False)
    if not recorded.number and "void" in recorded.row:
        raise ContentGone(store.tickets.ticket_from_row(recorded.row))
    if recorded.number and not recorded.replayed:
        logger.info("ticket %s restored by %s", key, by)
    return _stored(key, recorded)


def _own(only_by: str | None, since: datetime | None = None) -> store.tickets.Own | None:
    return None if only_by is None else store.tickets.Own(reporter=only_by, since=since)


def _requiring(own: store.tickets.Own | None) -> Callable[[TicketKey, Row], None]:
    """What a row must be like, in words for the person who may only change their own."""

    def require(key: TicketKey, row: Row) -> None:
        store.tickets.require_content(key, row)
        if own and not own.holds(row):
            raise NotAllowed.not_own(key, in_time=own.since is not None)

    return require


def _stored(key: TicketKey, recorded: Recorded) -> TicketStored:
    """The ticket after a change, or as it is now after a repeat."""
    if recorded.replayed:
        return replayed(key)
    return TicketStored(ticket=store.tickets.ticket_from_row(recorded.row), replayed=False)


def replayed(key: TicketKey, row: Row | None = None) -> TicketStored:
    """The answer to a repeat: what the first request filed, moved or changed, as it is now.

    One read, unless its row was read already; up to two more for a ticket that has moved since.
    """
    with stored_already():
        try:
            ticket = store.tickets.ticket_here(key, row) if row else selectors.get_ticket(key)
        except TicketMoved as moved:
            ticket = moved.current
    return TicketStored(ticket=ticket, replayed=True)
