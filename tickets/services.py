"""The writes: projects are made; tickets are filed, changed and voided. The reads are in `selectors`.

Every function checks its arguments by `validators`, and raises InvalidInput with a message for each wrong field.
Besides the errors that it names, it may raise `SequenceUnavailable`, `SequenceContention` and `StorageRefused` of
`sequences.exceptions`: the store did not answer, was too busy, or refused the write.

An idempotency token is the caller's name for one request (1 to 200 characters): repeats with the same token are carried
out once. Every person has tokens of their own: equal tokens of two people are different requests.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.utils import timezone

from sequences import put_next
from sequences.exceptions import GaveUp, ScopeNotFound, SequenceUnavailable, StorageError
from sequences.storage import new_token
from tickets import selectors, store, validators
from tickets.exceptions import InvalidInput, ProjectNotFound, TicketVoided
from tickets.types import Project, Status, Ticket, TicketCreated, TicketKey, Void

logger = logging.getLogger(__name__)

SEQUENCE = "tickets"


def create_project(
    *, key: str, name: str, description: str = "", by: str, idempotency_token: str | None = None
) -> Project:
    """Make a project. Its tickets are numbered from 1. Raises ProjectExists.

    One write. A repeat with the same token makes nothing, and returns the project by one read.
    """
    about = validators.clean({"key": key, "name": name, "description": description}, validators.PROJECT)
    token = _token_of(by, idempotency_token) or new_token()
    project = Project(**about)
    is_new = store.insert_project(project, created_at=timezone.now(), token=token)
    logger.info("project %s created by %s", project.key, by)
    if is_new:
        return project
    with _stored_already():
        return selectors.get_project(project.key)


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
    token = _token_of(reporter, idempotency_token)
    try:
        allocation = put_next(SEQUENCE, store.to_row(fields), scope=project, idempotency_token=token)
    except ScopeNotFound as error:
        raise ProjectNotFound(project) from error
    key = TicketKey(project=project, number=allocation.value)
    if allocation.replayed:
        with _stored_already():
            return TicketCreated(ticket=selectors.get_ticket(key), replayed=True)
    return TicketCreated(ticket=Ticket(key=key, **fields), replayed=False)


def update_ticket(key: TicketKey, *, version: int, changes: Mapping[str, Any], by: str) -> Ticket:
    """Change some fields of a ticket that is still at this version.

    Raises TicketNotFound, and StaleVersion or TicketVoided, which carry the ticket as it is now. One write.
    """
    if not changes:
        raise InvalidInput({NON_FIELD_ERRORS: "Nothing to change: send at least one field."})
    content = validators.clean(changes, validators.TICKET)
    return store.change_ticket(key, content=content, version=version, at=timezone.now(), by=by)


def void_ticket(key: TicketKey, *, by: str, reason: str = "", version: int | None = None) -> Ticket:
    """Withdraw a ticket: its content is removed. Its number stays, with the person, the time and the reason.

    A ticket that is already void stays as it is. Raises TicketNotFound, and StaleVersion if the ticket is not at
    `version`.
    """
    about = validators.clean({"reason": reason}, validators.VOID)
    void = Void(by=by, at=timezone.now(), **about)
    try:
        ticket = store.void_ticket(key, void=void, version=version)
    except TicketVoided as already:
        return already.current
    logger.info("ticket %s voided by %s", key, by)
    return ticket


@contextmanager
def _stored_already() -> Iterator[None]:
    """Around the read of what is already stored. If it fails, the error must not say that nothing was stored."""
    try:
        yield
    except (GaveUp, StorageError) as error:
        raise SequenceUnavailable(
            f"What was stored cannot be read: {error.__cause__ or error}",
            attempts=getattr(error, "attempts", 1),
            seconds=getattr(error, "seconds", 0.0),
            outcome_unknown=True,
        ) from error


def _token_of(person: str, token: str | None) -> str | None:
    """The token for the store: a digest of the person and their token. Other people's tokens have other digests."""
    if token is None:
        return None
    cleaned = validators.clean({"idempotency_token": token}, validators.REQUEST)
    return hashlib.sha256(repr((person, cleaned["idempotency_token"])).encode()).hexdigest()
