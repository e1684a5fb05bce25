"""The filters of lists of tickets: what may be asked, and which tickets that are.

A filter knows tickets, not how they are stored. `store` looks at a bounded number of them for each page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from tickets import validators
from tickets.characters import folded
from tickets.types import Status, Ticket

# How far the clocks of two web servers may be apart, and how long a ticket may take to get its number.
CLOCKS = timedelta(minutes=1)
CHANGED = "changed"  # an order of pages alone: what changed last comes first


@dataclass(frozen=True, kw_only=True, slots=True)
class TicketFilter:
    """Which tickets a list shows: those for which everything holds that is given. Ranges begin at `from`.

    `text` is searched in titles and descriptions, as `folded` compares texts.
    """

    status: tuple[Status, ...] = ()
    assignee: str | None = None
    label: str | None = None
    reporter: str | None = None
    text: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    updated_from: datetime | None = None
    updated_before: datetime | None = None

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Self:
        """The filter that was asked for, by the names of its fields. Raises InvalidInput."""
        return cls(**validators.clean(asked, validators.FILTER))

    def wants(self, ticket: Ticket) -> bool:
        """Whether the list shows this ticket."""
        return (
            (not self.status or ticket.status in self.status)
            and self.assignee in (None, ticket.assignee)
            and (self.label is None or self.label in ticket.labels)
            and self.reporter in (None, ticket.reporter)
            and _within(ticket.created_at, self.created_from, self.created_before)
            and _within(ticket.updated_at, self.updated_from, self.updated_before)
            and (self.text is None or _is_in(self.text, ticket))
        )

    def begins_after(self, ticket: Ticket) -> bool:
        """Whether the tickets that were filed before this one were all created too early."""
        return self.created_from is not None and ticket.created_at + CLOCKS < self.created_from


EVERY_TICKET = TicketFilter()


def _is_in(text: str, ticket: Ticket) -> bool:
    wanted = folded(text)
    return wanted in folded(ticket.title) or wanted in folded(ticket.description)


def _within(moment: datetime, begin: datetime | None, end: datetime | None) -> bool:
    return (begin is None or moment >= begin) and (end is None or moment < end)
