"""The members of a project: the reads, and the writes. The maker of a project is its first owner.

A project has an owner for ever, unless it was made without one. Reads and writes are consistent, and may raise what
those of `tickets.services` raise.
"""

import logging
from collections.abc import Mapping

from django.contrib.auth import get_user_model
from django.utils import timezone

from tickets import store, validators
from tickets.exceptions import InvalidInput, LastOwner, MemberNotFound, ProjectChanged, TooManyMembers
from tickets.types import Access, Member, Role

logger = logging.getLogger(__name__)

MOST_MEMBERS = 1_000
MOST_BYTES = 200_000  # of their names together: a row has at most 400 KB
MOST_RACES = 5  # that one change may lose against changes of other members


def list_members(project: str) -> list[Member]:
    """The members of a project, by name. Raises ProjectNotFound. One read."""
    access = store.members.read_access(validators.project_key(project))
    return [Member(user=user, role=role) for user, role in sorted(access.members.items())]


def get_member(project: str, user: str) -> Member:
    """One member of a project. Raises ProjectNotFound and MemberNotFound. One read."""
    access = store.members.read_access(validators.project_key(project))
    if user not in access.members:
        raise MemberNotFound(user, project)
    return Member(user=user, role=access.members[user])


def set_member(project: str, user: str, *, role: str, by: str) -> tuple[Member, bool]:
    """Give a person a role in a project. Returns the member, and whether they are new.

    Raises ProjectNotFound, InvalidInput for a person without an active account, LastOwner and TooManyMembers. One read,
    and one transaction of two rows; its cost grows with the number of members: 2 write units for each KB of them.
    """
    about = validators.clean({"user": user, "role": role}, validators.MEMBER)
    member = Member(user=about["user"], role=about["role"])
    _require_account(member.user)
    before = _change(project, member.user, member.role, by=by)
    if before != member.role:
        logger.info("%s made %s of project %s by %s", member.user, member.role, project, by)
    return member, before is None


def remove_member(project: str, user: str, *, by: str) -> None:
    """Take a person's role in a project away. Raises ProjectNotFound, MemberNotFound and LastOwner.

    Costs what `set_member` costs.
    """
    _change(project, user, None, by=by)
    logger.info("%s removed from project %s by %s", user, project, by)


def _change(project: str, user: str, role: Role | None, *, by: str) -> Role | None:
    """Store the role of a person, None for none. Returns the role that they had."""
    for attempt in range(MOST_RACES):
        access = store.members.read_access(validators.project_key(project))
        before = access.members.get(user)
        if before == role:
            if role is None:
                raise MemberNotFound(user, project)
            return before
        members = _changed(project, access, user, role)
        try:
            store.members.change_members(access, members, user=user, at=timezone.now(), by=by)
        except ProjectChanged:
            if attempt == MOST_RACES - 1:
                raise
        else:
            return before
    raise AssertionError  # the last attempt returns or raises


def _changed(project: str, access: Access, user: str, role: Role | None) -> Mapping[str, Role]:
    """The members after a change. Raises LastOwner and TooManyMembers."""
    members = {name: had for name, had in access.members.items() if name != user}
    if role is not None:
        members[user] = role
    if Role.OWNER in access.members.values() and Role.OWNER not in members.values():
        raise LastOwner(user, project)
    if user not in access.members:
        _require_room(project, members)
    return members


def _require_room(project: str, members: Mapping[str, Role]) -> None:
    if len(members) > MOST_MEMBERS or sum(len(name.encode()) for name in members) > MOST_BYTES:
        raise TooManyMembers(project, MOST_MEMBERS)


def _require_account(user: str) -> None:
    """Raise InvalidInput for a name without an active account. One query in Django's database."""
    accounts = get_user_model()._default_manager
    if not accounts.filter(**{get_user_model().USERNAME_FIELD: user}, is_active=True).exists():
        raise InvalidInput({"user": f"Nobody has the user name {user}."})
