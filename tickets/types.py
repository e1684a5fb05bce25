"""The values that rooms exchange: frozen, keyword-only, without types of the store or of pages.

The limits of their fields are in `validators`. This module does not know how they are stored.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, Self, TypeVar

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


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project. Its tickets have numbers of their own."""

    key: str
    name: str
    description: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """Who withdrew a ticket, when and why."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """Where a ticket has gone, by whom and when."""

    to: TicketKey
    by: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticket:
    """One ticket. `version` starts at 1 and grows by 1 with each change.

    A void ticket has no content, nor has the number that a moved ticket has left.
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
    void: Void | None = None
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
class TicketCreated:
    """A ticket under its new number, filed or moved. `replayed` means that an earlier request of this token did it."""

    ticket: Ticket
    replayed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[T]):
    """One page of a list. `next_cursor` is the cursor of the next page, None on the last page."""

    results: tuple[T, ...]
    next_cursor: str | None
