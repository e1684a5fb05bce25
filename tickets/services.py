"""The writes: projects are made and changed; tickets are filed, changed, moved and voided. `selectors` has the reads.

Every function checks its arguments by `validators`, and raises InvalidInput with a message for each wrong field.
Besides the errors that it names, it may raise `SequenceUnavailable`, `SequenceContention` and `StorageRefused` of
`sequences.exceptions`: the store did not answer, was too busy, or refused the write.

An idempotency token is the caller's name for one request (1 to 200 characters): repeats with the same token are carried
out once. Every person has tokens of their own: equal tokens of two people are different requests.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.utils import timezone

from sequences import put_next
from sequences.exceptions import AlsoRefused, ScopeNotFound
from sequences.storage import new_token
from tickets import selectors, store, validators
from tickets.exceptions import (
    InvalidInput,
    ProjectChanged,
    ProjectNotFound,
    StaleVersion,
    TicketMoved,
    TicketVoided,
)
from tickets.repeats import stored_already, token_of
from tickets.tables import Row, to_row
from tickets.types import Project, Status, Ticket, TicketCreated, TicketKey, Void

logger = logging.getLogger(__name__)

SEQUENCE = "tickets"
MOST_RACES = 5  # that one move may lose against changes of its ticket


def create_project(
    *, key: str, name: str, description: str = "", by: str, idempotency_token: str | None = None
) -> Project:
    """Make a project. Its tickets are numbered from 1. Raises ProjectExists.

    One write. A repeat with the same token makes nothing, and returns the project by one read.
    """
    about = validators.clean({"key": key, "name": name, "description": description}, validators.PROJECT)
    token = token_of(by, idempotency_token) or new_token()
    project = Project(**about)
    is_new = store.insert_project(project, created_at=timezone.now(), token=token)
    logger.info("project %s created by %s", project.key, by)
    if is_new:
        return project
    with stored_already():
        return selectors.get_project(project.key)


def rename_project(key: str, *, new_key: str, by: str) -> Project:
    """Give a project a new key. Its tickets keep their numbers, and its former keys lead to it for ever.

    Raises what `update_project` raises. A repeat changes nothing.
    """
    return update_project(key, changes={"key": new_key}, by=by)


def update_project(key: str, *, changes: Mapping[str, Any], by: str) -> Project:
    """Change the key, the name or the description of a project.

    A new key must never have been a key of another project. Other processes show the former key for up to 30 s.
    Raises ProjectNotFound, ProjectExists, and ProjectChanged if somebody else changes the project at this moment, or
    has given it another key than the one that is to be replaced. One read and one write.
    """
    if not changes:
        raise InvalidInput({NON_FIELD_ERRORS: "Nothing to change: send at least one field."})
    about = validators.clean(changes, validators.PROJECT)
    old = selectors.get_project(key)
    new = replace(old, **about)
    if new == old:
        return old
    if new.key != old.key != key:
        raise ProjectChanged(key, old)
    store.change_project(old, new, at=timezone.now(), by=by)
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
) -> TicketCreated:
    """File a ticket under the next number of its project.

    The numbers of a project are 1, 2, 3 and so on, without gaps. A repeat with the same token files nothing and returns
    the ticket as it is now, as long as the marker of the token is kept. Raises ProjectNotFound, and IdempotencyMismatch
    if the token was used for another ticket of the project. One write; with a token it stores two rows.
    """
    project = validators.project_key(project)
    texts = {"title": title, "description": description, "status": status, "assignee": assignee}
    content = validators.clean({**texts, "labels": labels}, validators.TICKET)
    now = timezone.now()
    fields = {**content, "reporter": reporter, "created_at": now, "updated_at": now, "version": 1}
    token = token_of(reporter, idempotency_token)
    row = to_row(fields)

    def put(partition: str) -> tuple[TicketKey, bool]:
        allocation = put_next(SEQUENCE, row, scope=partition, idempotency_token=token)
        return store.key_of(partition, allocation.value), allocation.replayed

    try:
        key, replayed = store.renames.in_partition(project, put)
    except ScopeNotFound as error:
        raise ProjectNotFound(project) from error
    return _replayed(key) if replayed else TicketCreated(ticket=Ticket(key=key, **fields), replayed=False)


def update_ticket(key: TicketKey, *, version: int, changes: Mapping[str, Any], by: str) -> Ticket:
    """Change some fields of a ticket that is still at this version.

    Raises TicketNotFound, and StaleVersion, TicketMoved or TicketVoided, which carry the ticket as it is now. One
    write.
    """
    if not changes:
        raise InvalidInput({NON_FIELD_ERRORS: "Nothing to change: send at least one field."})
    content = validators.clean(changes, validators.TICKET)
    return store.change_ticket(key, content=content, version=version, at=timezone.now(), by=by)


def void_ticket(key: TicketKey, *, by: str, reason: str = "", version: int | None = None) -> Ticket:
    """Withdraw a ticket: its content is removed. Its number stays, with the person, the time and the reason.

    A ticket that is already void stays as it is. Raises TicketNotFound, TicketMoved, and StaleVersion if the ticket is
    not at `version`.
    """
    about = validators.clean({"reason": reason}, validators.VOID)
    void = Void(by=by, at=timezone.now(), **about)
    try:
        ticket = store.void_ticket(key, void=void, version=version)
    except TicketVoided as already:
        return already.current
    logger.info("ticket %s voided by %s", key, by)
    return ticket


def move_ticket(
    key: TicketKey, *, to: str, by: str, version: int | None = None, idempotency_token: str | None = None
) -> TicketCreated:
    """Move a ticket to the next number of another project. Its former number stays, and leads to it for ever.

    Both happen in one transaction, or nothing does. A repeat with the same token moves nothing and returns the ticket
    as it is now, for ever; a token names one move of this ticket. Raises TicketNotFound; InvalidInput about `to` if
    there is no such project, or the ticket is in it; StaleVersion if the ticket is not at `version`; TicketMoved and
    TicketVoided; IdempotencyMismatch if the token was used to move this ticket to another project. Two reads and one
    write of two rows: 4 write units, if each has at most 1 KB. A ticket that has moved before takes 2 more.
    """
    target = _target(to)
    change = token_of(by, idempotency_token) or new_token()
    row = store.find_row(key)
    for _ in range(MOST_RACES):
        if store.has_left(row, target, change=change):
            return _replayed(store.key_of(**row["moved_to"]))
        _require_movable(key, row, target, version)
        now = timezone.now()
        content = store.moved_row(row, at=now, by=by)
        also = store.leaving(row, target, at=now, by=by, change=change)
        try:
            value = put_next(SEQUENCE, content, scope=target, also=also).value
        except AlsoRefused as refused:
            row = refused.old
            continue
        moved = store.ticket_from_row({**content, "pk": target, "sk": value})
        logger.info("ticket %s moved to %s by %s", key, moved.key, by)
        return TicketCreated(ticket=moved, replayed=False)
    raise StaleVersion(store.ticket_from_row(row))


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


def _replayed(key: TicketKey) -> TicketCreated:
    """The answer to a repeat: what the first request filed or moved, as it is now."""
    with stored_already():
        try:
            ticket = selectors.get_ticket(key)
        except TicketMoved as moved:
            ticket = moved.current
    return TicketCreated(ticket=ticket, replayed=True)
