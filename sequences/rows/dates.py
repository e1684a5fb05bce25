"""Which dates a document may have: DATES bounds them by today, and DATE_ORDER by the document before.

DATES: a typing error in the year makes no series. DATE_ORDER: the date of the last document is kept in the counter. It
is a condition of the write that moves the counter, so that neither a late answer nor another process can bring a
document before it. A document is refused after a look at the counter, not by what a process remembers.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline
from ..exceptions import DateRefused
from ..formats.periods import Period
from ..types import Scope
from .counter_rows import CounterState

Repeat = Callable[[Scope, Pending[PutRequest], Deadline], None]
"""Answers a request whose token already has a marker, and no other (see `Answers.repeat_if_marked`)."""


@dataclass(frozen=True, slots=True)
class DateLimits:
    """How many days before and after today a document of one sequence may be dated, in its time zone."""

    alias: str
    days: Mapping[str, int]
    period: Period
    wall: Callable[[], float]

    def refusal(self, day: datetime.date) -> DateRefused | None:
        """The error for a document of this day; None if it is within the limits."""
        today = self.period.date_of(None, self.wall())
        first = today - datetime.timedelta(days=self.days["past"]) if "past" in self.days else None
        last = today + datetime.timedelta(days=self.days["future"]) if "future" in self.days else None
        if (first is None or first <= day) and (last is None or day <= last):
            return None
        span = " ".join([*([f"from {first}"] if first else []), *([f"to {last}"] if last else [])])
        refused = DateRefused(
            f"The document is dated {day}, and {self.alias!r} takes dates {span} (DATES). Look at its year. To go "
            "beyond, set DATES otherwise, or store it by `put_at`. Nothing was written, and no value was used."
        )
        refused.first, refused.last = first, last
        return refused

    def require(self, day: datetime.date | None) -> None:
        """Raise DateRefused for a day beyond the limits."""
        if day is not None and (refused := self.refusal(day)):
            raise refused

    def allowed(
        self, scope: Scope, pendings: Sequence[Pending[PutRequest]], repeat: Repeat, deadline: Deadline
    ) -> Sequence[Pending[PutRequest]]:
        """The requests that are within the limits; the others are settled.

        A repeat beyond them gets its first answer, for one read: it was within them when it was stored.
        """
        for pending in pendings:
            day = pending.request.day
            if day is not None and (refused := self.refusal(day)):
                repeat(scope, pending, deadline)
                pending.settle(refused)
        return [pending for pending in pendings if pending.answer is None]


class DateOrder:
    """The documents of a scope are numbered in the order of their dates."""

    def __init__(self, alias: str, repeat: Repeat) -> None:
        self._alias = alias
        self._repeat = repeat

    def is_broken(self, pendings: Iterable[Pending[PutRequest]], state: CounterState) -> bool:
        """Whether one of these requests comes too late for a counter in this state."""
        return any(_is_late(pending, state) for pending in pendings)

    def kept(
        self, scope: Scope, pendings: Sequence[Pending[PutRequest]], state: CounterState, deadline: Deadline
    ) -> list[Pending[PutRequest]]:
        """The requests in the order of their dates, without those that come too late.

        A late one that is a repeat gets its first answer, which costs a read; another one is refused.
        """
        for pending in (pending for pending in pendings if _is_late(pending, state)):
            self._repeat(scope, pending, deadline)
            pending.refuse(self._refused(scope, _day(pending), state.document or {}))
        return sorted((pending for pending in pendings if not _is_late(pending, state)), key=_day)

    def _refused(self, scope: Scope, day: datetime.date, last: Mapping[str, Any]) -> DateRefused:
        refused = DateRefused(
            f"The document is dated {day}, but number {last['value']} of {self._alias!r}, scope {scope!r}, is dated "
            f"{last['date']}, and documents are numbered in the order of their dates. Date it {last['date']} or later. "
            "Nothing was written, and no value was used."
        )
        refused.first = datetime.date.fromisoformat(last["date"])
        return refused

    def span(self, pendings: Sequence[Pending[PutRequest]]) -> tuple[str, str]:
        """The first and the last date of requests that are in their order."""
        return _day(pendings[0]).isoformat(), _day(pendings[-1]).isoformat()


def _is_late(pending: Pending[PutRequest], state: CounterState) -> bool:
    return state.document is not None and _day(pending).isoformat() < state.document["date"]


def _day(pending: Pending[PutRequest]) -> datetime.date:
    day = pending.request.day
    assert day is not None  # a sequence with DATE_ORDER dates every document
    return day
