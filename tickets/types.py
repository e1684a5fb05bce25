"""The values that rooms exchange: frozen, keyword-only, without types of the store or of pages.

The limits of their fields are in `validators`. This module does not know how they are stored.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Generic, Self, TypeVar

from sequences.types import Allocation

PROJECT_KEY = "[A-Z][A-Z0-9]{1,9}"
TICKET_KEY = f"{PROJECT_KEY}-[1-9][0-9]{{0,14}}"

T = TypeVar("T")


class Status(StrEnum):
    """The progress of a ticket. Only `services` make a number void or moved, and it stays so."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    VOID = "void"
    MOVED = "moved"

    @property
    def label(self) -> str:
        """The status as people read it."""
        return self.value.replace("_", " ").capitalize()


class Role(StrEnum):
    """What a person is in a project. Each role may do what those before it may; `access.actions` says what that is."""

    READER = "reader"
    REPORTER = "reporter"
    MEMBER = "member"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """Its place among the roles."""
        return RANKS[self]

    @property
    def label(self) -> str:
        """The role as people read it."""
        return self.value.capitalize()


RANKS = {role: rank for rank, role in enumerate(Role)}  # looked up on every request


class Opening(StrEnum):
    """What everybody who is signed in may do in a project."""

    NO = "no"
    READ = "read"
    FILE = "file"

    @property
    def label(self) -> str:
        """The choice as people read it."""
        return {
            Opening.NO: "Members only",
            Opening.READ: "Everybody may read",
            Opening.FILE: "Everybody may read and file tickets",
        }[self]


ROLE_OF_ALL: Mapping[Opening, Role | None] = {
    Opening.NO: None,
    Opening.READ: Role.READER,
    Opening.FILE: Role.REPORTER,
}
"""The role that it gives to everybody."""


class Order(StrEnum):
    """The order of a list of tickets."""

    NEWEST = "newest"
    OLDEST = "oldest"


class ProjectKey(str):
    """A text that is known to be a valid project key, so that it is checked only once."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key in a text. Raises ValueError if the text is not a project key."""
        if isinstance(text, cls):
            return text
        if not re.fullmatch(PROJECT_KEY, text):
            raise ValueError(f"{text!r} is not the key of a project, such as ABC.")
        return cls(text)


@dataclass(kw_only=True, slots=True, order=True, unsafe_hash=True)  # not frozen, as a Ticket
class TicketKey:
    """The name of a ticket: ABC-42 is number 42 of project ABC."""

    project: str
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key in a text. Raises ValueError if the text is not a ticket key."""
        if not re.fullmatch(TICKET_KEY, text):
            raise ValueError(f"{text!r} is not the key of a ticket, such as ABC-42.")
        return cls.matched(text)

    @classmethod
    def matched(cls, text: str) -> Self:
        """The key in a text that TICKET_KEY has already matched, for example in an address."""
        project, _, number = text.partition("-")
        return cls(project=project, number=int(number))

    def __str__(self) -> str:
        return f"{self.project}-{self.number}"

    @property
    def previous(self) -> Self | None:
        """The key before it in the project; None for the first."""
        return replace(self, number=self.number - 1) if self.number > 1 else None

    @property
    def next(self) -> Self:
        """The key after it in the project, whether it is given or not."""
        return replace(self, number=self.number + 1)


def project_of(key: str | TicketKey) -> str:
    """The key of a project, from its own or a ticket's."""
    return key.project if isinstance(key, TicketKey) else key


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project. Its tickets have numbers of their own. An archived one can only be read.

    `version` starts at 1 and grows by 1 with each change of the other fields; those of its members do not count.
    """

    key: str
    name: str
    description: str
    open: Opening = Opening.NO
    archived: bool = False
    version: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """What a person may do in a project. Without a role they may not see it."""

    role: Role | None
    archived: bool

    @classmethod
    def of(cls, own: Role | None, opening: Opening, *, archived: bool) -> Self:
        """The access by a role of their own, or by everybody's: the one counts that may do more."""
        roles = [role for role in (own, ROLE_OF_ALL[opening]) if role]
        return cls(role=max(roles, key=RANKS.__getitem__, default=None), archived=archived)


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A person with a role in a project."""

    user: str
    role: Role


@dataclass(frozen=True, kw_only=True, slots=True)
class Membership:
    """A person's role in the project of a partition, None for none, and what a change of it goes by.

    `version` grows by 1 with each change of any member of the project.
    """

    partition: str
    user: str
    role: Role | None
    owners: int
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """Who withdrew a ticket, when and why."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """Where a ticket has gone, by whom and when. `to` is None for who may not see the project there."""

    to: TicketKey | None
    by: str
    at: datetime


@dataclass(kw_only=True, slots=True, unsafe_hash=True)  # not frozen, which takes three times as long: lists have many
class Ticket:
    """One ticket. `version` starts at 1 and grows by 1 with each change. `comments` counts withdrawn ones, too.

    A void ticket has no content, nor has the number that a moved ticket has left; its content is sealed until
    `sealed_until`. One that `manage.py sequences void` made void keeps its content. `timeline` is the scope of its
    comments and changes, and `values_key` opens the values in them; a ticket without content has none.
    """

    key: TicketKey
    title: str
    description: str
    status: Status
    assignee: str
    labels: tuple[str, ...]
    reporter: str
    created_at: datetime
    updated_at: datetime
    version: int
    updated_by: str = ""
    timeline: str = ""
    values_key: str = field(default="", repr=False)
    comments: int = 0
    void: Void | None = None
    sealed_until: datetime | None = None
    moved: Moved | None = None

    @property
    def project(self) -> str:
        """The key of the project."""
        return self.key.project

    @property
    def number(self) -> int:
        """The number in the project."""
        return self.key.number


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored(Generic[T]):
    """What a request stored. `replayed` means that nothing was stored now, as it was there already.

    `allocation` is what the number took; None if none was given now.
    """

    value: T
    replayed: bool
    allocation: Allocation | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class TicketStored:
    """A ticket that was filed, moved or changed. `replayed` means that an earlier request of this token did it.

    `allocation` is what its number took; None if none was given now.
    """

    ticket: Ticket
    replayed: bool
    allocation: Allocation | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[T]):
    """One page of a list, with the cursors of the next page and of the previous one; None if there is none."""

    results: tuple[T, ...]
    next_cursor: str | None
    previous_cursor: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TicketPage(Page[Ticket]):
    """Some tickets of a project. `looked_to` is how far a filtered page has looked; None if to the end of the list."""

    looked_to: TicketKey | None = None
