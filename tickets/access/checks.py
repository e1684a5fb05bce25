"""May this person do that? Every function raises the error that says why not.

Nothing here knows pages or REST. A check costs nothing while the process remembers the project (`memory`), otherwise
one read. A permission of Django is looked up in Django's database, which takes two queries.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.core.exceptions import PermissionDenied

from tickets import exceptions as errors
from tickets import selectors, store, validators
from tickets.access.actions import IN_ARCHIVE, NEEDED, OF_OWN, VOID_OWN_WITHIN, Action, granted
from tickets.access.token_scopes import EVERYTHING, TokenScope
from tickets.timeline.types import Commented, Event, Kind
from tickets.types import Access, Page, Project, Role, Stored, Ticket, TicketKey, TicketPage, TicketStored, project_of

User = AbstractUser | AnonymousUser
Need = Action | str | None
"""What it takes: an action in a project, a permission of Django, or, if it is None, only to be signed in."""

ADD_PROJECT = "tickets.add_project"


def admit(user: User, need: Need, key: str | TicketKey | None = None) -> None:
    """Let a person through who has what it takes; `key` names the project, or a ticket in it.

    Raises NotAllowed and ProjectArchived. For who may not see the project, it raises the error of a missing one.
    """
    if isinstance(need, Action):
        assert key is not None
        require(user, need, key)
    elif need is not None and not has_permission(user, need):
        raise errors.NotAllowed.without_permission(need)


def has_permission(user: User, permission: str) -> bool:
    """Whether a person has a permission of Django. A setting gives all of them the one to add projects."""
    if permission == ADD_PROJECT and settings.EVERYBODY_MAY_ADD_PROJECTS:
        return True
    return user.has_perm(permission)


def require(user: User, action: Action, key: str | TicketKey) -> None:
    """Raise NotAllowed, ProjectArchived, or the error of a missing project or ticket, unless a person may do this."""
    access, allowed = _look(user, key)
    if action in allowed:
        return
    project = project_of(key)
    role = Role.OWNER if is_staff(user) else access.role
    assert role is not None
    if NEEDED[action].rank > role.rank:
        raise errors.NotAllowed.without_role(NEEDED[action], project, role)
    assert action not in IN_ARCHIVE
    raise errors.ProjectArchived(project)


def _look(user: User, key: str | TicketKey) -> tuple[Access, frozenset[Action]]:
    """The access to a project that a person may see, and what they may do there. Raises the error of a missing one.

    Who comes by the token of another project is refused before anything is read: PermissionDenied.
    """
    scope: TokenScope = getattr(user, "token_scope", EVERYTHING)
    if not scope.covers(key):
        raise PermissionDenied(scope.refusal)
    try:
        access = store.members.find_access(project_of(key), user.get_username())
    except errors.NotFound as error:
        raise _missing(key) from error
    allowed = granted(access, is_staff=is_staff(user))
    if not allowed:
        raise _missing(key)
    return access, allowed


def _missing(key: str | TicketKey) -> errors.NotFound:
    return errors.TicketNotFound(key) if isinstance(key, TicketKey) else errors.ProjectNotFound(project_of(key))


def actions_of(user: User, key: str | TicketKey) -> frozenset[Action]:
    """What a person may do in a project; nothing, if there is none, or they may not see it."""
    try:
        return _look(user, key)[1]
    except (errors.NotFound, PermissionDenied):
        return frozenset()


def only_by(user: User, action: Action, key: TicketKey) -> str | None:
    """The name of a person who may do this with their own tickets only; None if they may do it with all tickets."""
    return None if OF_OWN[action] in actions_of(user, key) else user.get_username()


def limits_of_void(user: User, key: TicketKey, *, now: datetime) -> dict[str, Any]:
    """The arguments `only_by` and `since` of `services.void_ticket` for a person."""
    person = only_by(user, Action.VOID_OWN, key)
    return {} if person is None else {"only_by": person, "since": now - VOID_OWN_WITHIN}


def actions_with(user: User, ticket: Ticket, *, now: datetime) -> frozenset[Action]:
    """What a person may do in the project of a ticket; the actions with all tickets are there if this one is theirs."""
    allowed = actions_of(user, ticket.key)
    if ticket.reporter != user.get_username():
        return allowed
    own = allowed & OF_OWN.keys()
    if ticket.created_at < now - VOID_OWN_WITHIN:
        own -= {Action.VOID_OWN}
    return allowed | {OF_OWN[action] for action in own}


def require_with(user: User, action: Action, ticket: Ticket, *, now: datetime) -> Ticket:
    """The ticket, if a person may do this with it; OF_OWN says what they may do with their own ones alone.

    Raises NotAllowed, as the write would, before somebody types for nothing.
    """
    if OF_OWN[action] not in actions_with(user, ticket, now=now):
        raise errors.NotAllowed.not_own(ticket.key, in_time=action is Action.VOID_OWN)
    return ticket


def require_target(user: User, project: str) -> None:
    """Raise InvalidInput about `to`, as for a missing project, unless a person may see the project of this key.

    So it does for what is no key. Raises NotAllowed and ProjectArchived if they may see it, and may not file there.
    """
    key = validators.clean({"to": project}, validators.MOVE)["to"]
    try:
        require(user, Action.FILE, key)
    except errors.ProjectNotFound as error:
        raise errors.InvalidInput({"to": str(error)}) from error


def hiding(moved: errors.TicketMoved, user: User) -> errors.TicketsError:
    """The error to show to a person: a ticket that has moved out of their sight is not found."""
    return moved if actions_of(user, moved.current.key) else errors.TicketNotFound(moved.key)


def require_in_sight(user: User, stored: TicketStored | Commented) -> None:
    """Raise NotFound for what an earlier request stored, if it has moved out of a person's sight since."""
    if stored.replayed and not actions_of(user, stored.ticket.key):
        raise errors.NotFound("It was done before, and the ticket has moved to a project that you may not see.")


def out_of_sight(user: User, stored: TicketStored | Commented) -> errors.NotFound | None:
    """The error of `require_in_sight`; None if there is none."""
    try:
        require_in_sight(user, stored)
    except errors.NotFound as hidden:
        return hidden
    return None


def require_project_in_sight(user: User, stored: Stored[Project]) -> None:
    """Raise NotFound if a person may not see the project any more that an earlier request of theirs made."""
    if stored.replayed and not actions_of(user, stored.value.key):
        raise errors.NotFound("The project was made before, and you may not see it any more.")


def without_hidden(ticket: Ticket, user: User) -> Ticket:
    """A ticket of a list. It does not say to which key it has moved if the person may not see the project there."""
    if ticket.moved and ticket.moved.to and not actions_of(user, ticket.moved.to):
        return replace(ticket, moved=replace(ticket.moved, to=None))
    return ticket


def in_sight(page: TicketPage, user: User) -> TicketPage:
    """A page of a list, with `without_hidden` of each ticket."""
    return replace(page, results=tuple([without_hidden(one, user) if one.moved else one for one in page.results]))


def find_mentioned(keys: Collection[TicketKey], user: User) -> dict[TicketKey, Ticket]:
    """Those of at most 50 tickets that a person may see, as far as they may: of a moved one, what is left at its key.

    Costs what `selectors.find_mentioned` costs.
    """
    found = selectors.find_mentioned(keys, user.get_username())
    return {key: ticket for key, ticket in found.items() if actions_of(user, key)}


def history_in_sight(page: Page[Event], user: User) -> Page[Event]:
    """A page of a timeline. A move has None in the place of a key whose project the person may not see."""
    return replace(page, results=tuple(_move_in_sight(event, user) for event in page.results))


def _move_in_sight(event: Event, user: User) -> Event:
    keys = event.changes.get("key") if event.kind is Kind.MOVE else None
    if keys is None:
        return event
    before, after = (key if actions_of(user, TicketKey.parse(key)) else None for key in keys)
    return replace(event, changes={"key": (before, after)})


def seen_by(user: User) -> str | None:
    """The name of a person who sees some projects only; None for one who sees all."""
    return None if is_staff(user) else user.get_username()


def is_staff(user: User) -> bool:
    """Whether a person sees and does everything in all projects."""
    return user.is_active and (user.is_staff or user.is_superuser)
