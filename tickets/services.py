"""The writes: projects are made and changed; tickets are filed, changed, moved, voided and restored.

The reads are in `selectors`, and the comments in `timeline`.

Every function checks its arguments by `validators`, and raises InvalidInput with a message for each wrong field.
Besides the errors that it names, it may raise `SequenceUnavailable`, `SequenceContention` and `StorageRefused` of
`sequences.exceptions`: the store did not answer, was too busy, or refused the write.

An idempotency token is the caller's name for one request (1 to 255 characters): repeats with the same token are carried
out once. Every person has tokens of their own: equal tokens of two people are different requests.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.utils import timezone

from sequences import put_next
from sequences.actions import Put, value_text
from sequences.exceptions import AlsoRefused, ScopeNotFound
from sequences.storage import free_number, new_token
from sequences.types import Allocation
from tickets import selectors, store, validators
from tickets.exceptions import (
    ContentGone,
    InvalidInput,
    NotAllowed,
    ProjectChanged,
    ProjectNotFound,
    StaleVersion,
    TicketMoved,
    TicketVoided,
)
from tickets.repeats import fingerprint, stored_already, token_of
from tickets.tables import Row, to_row
from tickets.timeline.recording import MOST_RACES, Recorded, Step, record
from tickets.timeline.recording import SEQUENCE as TIMELINE
from tickets.timeline.types import Kind
from tickets.types import Opening, Project, Status, Stored, Ticket, TicketKey, TicketStored, Void

logger = logging.getLogger(__name__)

T = TypeVar("T")

SEQUENCE = "tickets"
SEALED_FOR = timedelta(days=30)  # the content of a void ticket


def create_project(
    *,
    key: str,
    name: str,
    description: str = "",
    open: str = Opening.NO,  # noqa: A002 - the name of the field
    by: str,
    idempotency_token: str | None = None,
) -> Stored[Project]:
    """Make a project with an owner. Its tickets are numbered from 1. Raises ProjectExists.

    One write of two rows, and a third that remembers the token. A repeat with the same token makes nothing, and returns
    the project as it is now, for ever, by two reads. Raises IdempotencyMismatch if the token was used for another one.
    """
    about = validators.clean({"key": key, "name": name, "description": description, "open": open}, validators.PROJECT)
    token, project = token_of(by, idempotency_token), Project(**about)
    if store.insert_project(project, owner=by, created_at=timezone.now(), token=token):
        logger.info("project %s created by %s", project.key, by)
        return Stored(value=project, replayed=False)
    with stored_already():
        return Stored(value=store.find_inserted(project, token=token), replayed=True)


def rename_project(key: str, *, new_key: str, by: str) -> Project:
    """Give a project a new key. Its tickets keep their numbers, and its former keys lead to it for ever.

    Raises what `update_project` raises. A repeat changes nothing.
    """
    return update_project(key, changes={"key": new_key}, by=by)


def update_project(key: str, *, changes: Mapping[str, Any], by: str, version: int | None = None) -> Project:
    """Change the key, the name or the description of a project that is still at this version; None means any.

    Also changes what everybody may do in it (`open`). A new key must never have been a key of another project. Other
    processes show the former key for up to 30 s. Raises ProjectNotFound, ProjectExists, StaleVersion, or ProjectChanged
    if it has another key than the one that is to be replaced. One read and one write, again for each lost race.
    """
    about = validators.clean(changes, validators.PROJECT)
    return _change_project(key, about, by=by, version=version)


def archive_project(key: str, *, archived: bool = True, by: str) -> Project:
    """Put a project into the archive, where it can only be read, or take it out. A repeat changes nothing.

    Other processes write into it for up to 5 s more. Raises ProjectNotFound. One read and one write.
    """
    return _change_project(key, {"archived": archived}, by=by)


def _change_project(key: str, about: Mapping[str, Any], *, by: str, version: int | None = None) -> Project:
    """Change a project. Without a version, the change is tried again on what others have made of it meanwhile."""
    for _ in range(MOST_RACES - 1):
        try:
            return _try_to_change(key, about, by=by, version=version)
        except StaleVersion:
            if version is not None:
                raise
    return _try_to_change(key, about, by=by, version=version)


def _try_to_change(key: str, about: Mapping[str, Any], *, by: str, version: int | None) -> Project:
    old = selectors.get_project(key)
    if version not in (None, old.version):
        raise StaleVersion(old)
    if replace(old, **about) == old:
        return old
    new = replace(old, **about, version=old.version + 1)
    if new.key != old.key != key:
        raise ProjectChanged(key, old.key)
    store.change_project(old, new, at=timezone.now(), by=by)
    if new.archived != old.archived:
        logger.info("project %s %s by %s", new.key, "archived" if new.archived else "taken out of the archive", by)
    if new.key != old.key:
        logger.info("project %s renamed to %s by %s", old.key, new.key, by)
    return new


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
        return store.renames.in_partition(project, file)
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
    key = store.key_of(partition, stored.value)
    if stored.replayed:
        return replayed(key, row)
    scope = store.scope_at(partition, stored.value)
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
        told, values_key = store.changes(row, content), store.values_key(row)
        event = store.change_row(told, key=values_key, by=by, at=now, asked=asked)
        if not told and token is None:
            return Step(event=event, row=row)
        values = {**content, "values_key": values_key, "updated_by": by, "updated_at": now}
        update, after = store.changing(row, values, version=version, own=own)
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
        event = store.event_row(Kind.VOID, by=by, at=void.at, text=void.reason)
        signed = {"updated_by": by, "updated_at": void.at}
        values = {"status": Status.VOID.value, "void": void, "sealed_until": until, **signed}
        removed = [name for name in store.SEALED if name not in values]
        update, after = store.changing(row, values, removed=removed, version=version, own=own)
        return Step(event=event, also=[update, store.sealing(row, until=until)], row=after)

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
    IdempotencyMismatch, and StaleVersion if the ticket is not at `version`. Three reads and one write of three rows: 6
    write units, if each has at most 1 KB; 2 more with a token.
    """
    text = validators.clean({"reason": reason}, validators.VOID)["reason"]
    token, now = token_of(by, idempotency_token), timezone.now()

    event = store.event_row(Kind.RESTORE, by=by, at=now, text=text)

    def restore(row: Row) -> Step:
        sealed = store.find_sealed(row, at=now) if "sealed_until" in row else None
        if sealed is None:
            return Step(event=event, row=row)
        if sealed["version"] != row["version"]:  # it was restored and voided again after the row was read
            raise StaleVersion(store.ticket_from_row(row))
        values = {**sealed["content"], "updated_by": by, "updated_at": now}
        update, after = store.changing(row, values, removed=("void", "sealed_until"), version=version, only=store.VOID)
        return Step(event=event, also=[update, store.unsealing(row, at=now)], row=after)

    recorded = record(key, restore, require=store.require_here, version=version, token=token)
    if recorded.number is None and "void" in recorded.row:
        raise ContentGone(store.ticket_from_row(recorded.row))
    if recorded.number is not None and not recorded.replayed:
        logger.info("ticket %s restored by %s", key, by)
    return _stored(key, recorded)


def _own(only_by: str | None, since: datetime | None = None) -> store.Own | None:
    return None if only_by is None else store.Own(reporter=only_by, since=since)


def _requiring(own: store.Own | None) -> Callable[[TicketKey, Row], None]:
    """What a row must be like, in words for the person who may only change their own."""

    def require(key: TicketKey, row: Row) -> None:
        store.require_content(key, row)
        if own and not own.holds(row):
            raise NotAllowed.not_own(key, in_time=own.since is not None)

    return require


def _stored(key: TicketKey, recorded: Recorded) -> TicketStored:
    """The ticket after a change, or as it is now after a repeat."""
    if recorded.replayed:
        return replayed(key)
    return TicketStored(ticket=store.ticket_from_row(recorded.row), replayed=False)


def move_ticket(
    key: TicketKey, *, to: str, by: str, version: int | None = None, idempotency_token: str | None = None
) -> TicketStored:
    """Move a ticket to the next number of another project. Its former number stays, and leads to it for ever.

    Both happen in one transaction, or nothing does. A repeat with the same token moves nothing and returns the ticket
    as it is now, for ever; a token names one move of this ticket. Raises TicketNotFound; InvalidInput about `to` if
    there is no such project, or the ticket is in it; StaleVersion if the ticket is not at `version`; TicketMoved and
    TicketVoided; IdempotencyMismatch if the token was used to move this ticket to another project. Three reads and
    one write of three rows: 6 write units, if each has at most 1 KB. A ticket that has moved before takes 2 more.
    """
    target = _target(to)
    change = token_of(by, idempotency_token) or new_token()
    row = store.find_row(key)
    for _ in range(MOST_RACES):
        if store.has_left(row, target, change=change):
            return replayed(store.key_of(**row["moved_to"]))
        _require_movable(key, row, target, version)
        now = timezone.now()
        content = store.moved_row(row, at=now, by=by)
        also = [*store.leaving(row, target, at=now, by=by, change=change), _moving(row, target, at=now, by=by)]
        try:
            stored = put_next(SEQUENCE, content, scope=target, also=also)
        except AlsoRefused as refused:
            if refused.index == 0:  # not the timeline, which somebody else has written
                row = refused.old
            continue
        moved = store.ticket_from_row({**content, "pk": target, "sk": stored.value})
        logger.info("ticket %s moved to %s by %s", key, moved.key, by)
        return TicketStored(ticket=moved, replayed=False, allocation=stored)
    raise StaleVersion(store.ticket_from_row(row))


def _moving(row: Row, target: str, *, at: datetime, by: str) -> Put:
    """The event of a move under the next number of the timeline, which rides with the ticket's own next number."""
    scope = store.timeline_of(row)
    number = free_number(TIMELINE, scope=scope)
    keys = [str(store.key_of(row["pk"], row["sk"])), value_text(f"{store.renames.key(target)}-{{value}}")]
    return store.event_at(scope, number, store.event_row(Kind.MOVE, by=by, at=at, changes={"key": keys}))


def _require_movable(key: TicketKey, row: Row, target: str, version: int | None) -> None:
    """Raise TicketMoved, TicketVoided or StaleVersion, or InvalidInput if the ticket is in the target project."""
    store.require_content(key, row)
    ticket = store.ticket_from_row(row)
    if row["pk"] == target:
        raise InvalidInput({"to": f"{ticket.key} is in this project already."})
    if version not in (None, ticket.version):
        raise StaleVersion(ticket)


def _target(project: str) -> str:
    """The partition of the project that a ticket moves to."""
    key = validators.clean({"to": project}, validators.MOVE)["to"]
    try:
        return store.find_partition(key)
    except ProjectNotFound as error:
        raise InvalidInput({"to": str(error)}) from error


def replayed(key: TicketKey, row: Row | None = None) -> TicketStored:
    """The answer to a repeat: what the first request filed, moved or changed, as it is now.

    One read, unless its row was read already; up to two more for a ticket that has moved since.
    """
    with stored_already():
        try:
            ticket = store.ticket_here(key, row) if row else selectors.get_ticket(key)
        except TicketMoved as moved:
            ticket = moved.current
    return TicketStored(ticket=ticket, replayed=True)
