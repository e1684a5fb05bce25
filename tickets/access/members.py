"""The members of a project: the reads, and the writes. The maker of a project is its first owner.

A project has an owner for ever, unless it was made without one. Reads and writes are consistent, and may raise what
those of `tickets.services` raise.
"""

import logging
from dataclasses import replace
from operator import attrgetter

from django.contrib.auth import get_user_model
from django.utils import timezone

from tickets import store, validators
from tickets.cursors import PAGE_SIZE, page_of, position_of
from tickets.exceptions import InvalidInput, LastOwner, MemberNotFound, ProjectChanged
from tickets.types import Member, Page, Role

logger = logging.getLogger(__name__)

MOST_RACES = 5  # that one change may lose against changes of other members


def list_members(project: str, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> Page[Member]:
    """A page of the members of a project, by the first letters of their names. Raises ProjectNotFound. Two reads."""
    key = validators.project_key(project)
    name = f"members of {store.places.renames.partition(key)}"
    found = store.members.find_members(key, position_of(cursor, name), limit)
    page = page_of(found, name, store.members.member_from_row)
    return replace(page, results=tuple(sorted(page.results, key=attrgetter("user"))))  # those that begin alike, too


def get_member(project: str, user: str) -> Member:
    """One member of a project. Raises ProjectNotFound and MemberNotFound. Two reads."""
    role = store.members.read_membership(validators.project_key(project), user).role
    if role is None:
        raise MemberNotFound(user, project)
    return Member(user=user, role=role)


def set_member(project: str, user: str, *, role: str, by: str) -> tuple[Member, bool]:
    """Give a person a role in a project. Returns the member, and whether they are new.

    Raises ProjectNotFound, InvalidInput for a person without an active account, and LastOwner. Two reads, and one
    transaction: 6 write units.
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
        before = store.members.read_membership(validators.project_key(project), user)
        if before.role == role:
            if role is None:
                raise MemberNotFound(user, project)
            return role
        if before.role is Role.OWNER and before.owners == 1:
            raise LastOwner(user, project)
        try:
            store.members.change_member(before, role, at=timezone.now(), by=by)
        except ProjectChanged:
            if attempt == MOST_RACES - 1:
                raise
        else:
            return before.role
    raise AssertionError  # the last attempt returns or raises


def _require_account(user: str) -> None:
    """Raise InvalidInput for a name without an active account. One query in Django's database."""
    accounts = get_user_model()._default_manager
    if not accounts.filter(**{get_user_model().USERNAME_FIELD: user}, is_active=True).exists():
        raise InvalidInput({"user": f"Nobody has the user name {user}."})
