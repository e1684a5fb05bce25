"""The values that rooms exchange about timelines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tickets.types import Ticket, Void

Changes = Mapping[str, tuple[Any, Any] | None]
"""The values of each field before and after a change; None for a text that is too long to be kept twice."""


class Kind(StrEnum):
    """What an event of a timeline tells."""

    COMMENT = "comment"
    CHANGE = "change"
    VOID = "void"
    RESTORE = "restore"
    MOVE = "move"
    SKIPPED = "skipped"
    """A number that an operator has skipped (`manage.py sequences`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One comment or change of a ticket: who did it, and when.

    `text` is a comment's, or the reason of the person who voided or restored the ticket. A comment has a
    `version`, which starts at 1 and grows by 1 when its author changes it; one that was withdrawn is `void`.
    """

    number: int
    kind: Kind
    by: str
    at: datetime
    text: str = ""
    changes: Changes = field(default_factory=dict)
    version: int = 1
    edited_at: datetime | None = None
    void: Void | None = None

    @property
    def differences(self) -> Iterator[tuple[str, str, str]]:
        """The field and its values before and after, in words, of each change of a short text."""
        for name, pair in self.changes.items():
            if pair is not None:
                yield name, _words(pair[0]), _words(pair[1])


def _words(value: Any) -> str:
    if value is None:  # a key, see `access.checks.history_in_sight`
        return "a project that you may not see"
    return (", ".join(value) if isinstance(value, list) else str(value)) or "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Commented:
    """A comment under its number. `replayed` means that an earlier request of this token made it."""

    ticket: Ticket
    comment: Event
    replayed: bool
