"""The values that cross rooms: frozen, keyword-only, and free of any store's or page's own types.

What may stand in their fields is said in `validators`; how they are stored is not known here.
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
    """How far a ticket is; a ticket becomes void by `services.void_ticket` alone, and stays so."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    VOID = "void"

    @property
    def label(self) -> str:
        """The status as people read it."""
        return self.value.replace("_", " ").capitalize()


class ProjectKey(str):
    """A text whose spelling is known to be that of a project's key, so that nobody need look at it again."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key that a text spells; ValueError if it spells none."""
        if isinstance(text, cls):
            return text
        if not re.fullmatch(PROJECT_KEY, text):
            raise ValueError(f"{text!r} is not the key of a project, as ABC is.")
        return cls(text)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class TicketKey:
    """What people call a ticket: ABC-42 is number 42 of project ABC."""

    project: str
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key that a text spells; ValueError if it spells none."""
        if not re.fullmatch(TICKET_KEY, text):
            raise ValueError(f"{text!r} is not the key of a ticket, as ABC-42 is.")
        return cls.matched(text)

    @classmethod
    def matched(cls, text: str) -> Self:
        """The key in a text that is known to spell one, as part of an address that TICKET_KEY has matched."""
        project, _, number = text.partition("-")
        return cls(project=project, number=int(number))

    def __str__(self) -> str:
        return f"{self.project}-{self.number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """What tickets are numbered in."""

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
class Ticket:
    """One ticket. `version` counts its changes, from 1; a void one has no content, and `void` says why."""

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
    """A ticket that was created; `replayed` says that an earlier request with the same token had done so."""

    ticket: Ticket
    replayed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next_cursor` asks for the next one, and is None on the last."""

    results: tuple[T, ...]
    next_cursor: str | None
