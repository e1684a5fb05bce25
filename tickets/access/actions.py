"""The table of what each role may do in a project. What a role may do, all higher roles may do, too.

Everybody who is signed in has a role in an open project. The staff may do everything, in every project.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from tickets.types import Access, Role

VOID_OWN_WITHIN = timedelta(hours=1)


class Action(StrEnum):
    """What somebody does in a project."""

    READ = "read"
    FILE = "file"
    COMMENT = "comment"
    CHANGE_OWN = "change_own"
    VOID_OWN = "void_own"  # within VOID_OWN_WITHIN
    CHANGE = "change"
    MOVE = "move"
    VOID = "void"
    RESTORE = "restore"
    EDIT_PROJECT = "edit_project"  # its key, its name, its description, and to whom it is open
    ARCHIVE = "archive"
    MANAGE_MEMBERS = "manage_members"


NEEDED: Mapping[Action, Role] = {
    Action.READ: Role.READER,
    Action.FILE: Role.REPORTER,
    Action.COMMENT: Role.REPORTER,
    Action.CHANGE_OWN: Role.REPORTER,
    Action.VOID_OWN: Role.REPORTER,
    Action.CHANGE: Role.MEMBER,
    Action.MOVE: Role.MEMBER,
    Action.VOID: Role.OWNER,
    Action.RESTORE: Role.OWNER,
    Action.EDIT_PROJECT: Role.OWNER,
    Action.ARCHIVE: Role.OWNER,
    Action.MANAGE_MEMBERS: Role.OWNER,
}
"""The lowest role that may do each action."""

IN_ARCHIVE = frozenset({Action.READ, Action.ARCHIVE, Action.MANAGE_MEMBERS})
"""What can be done in an archived project."""

OF_OWN: Mapping[Action, Action] = {Action.CHANGE_OWN: Action.CHANGE, Action.VOID_OWN: Action.VOID}
"""For an action with one's own tickets: the same one with all tickets."""


ALLOWED: Mapping[Role, frozenset[Action]] = {
    role: frozenset(action for action, needed in NEEDED.items() if needed.rank <= role.rank) for role in Role
}
"""What each role may do."""


def granted(access: Access, *, is_staff: bool) -> frozenset[Action]:
    """What a person may do in a project; nothing, if they may not see it."""
    role = Role.OWNER if is_staff else access.role
    if role is None:
        return frozenset()
    return ALLOWED[role] & IN_ARCHIVE if access.archived else ALLOWED[role]
