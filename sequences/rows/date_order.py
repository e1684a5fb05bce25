"""DATE_ORDER: the documents of a scope are numbered in the order of their dates.

The date of the last document is kept in the counter. It is a condition of the write that moves the counter, so that
neither a late answer nor another process can bring a document before it. A document is refused after a look at the
counter, not by what a process remembers.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline
from ..exceptions import DateRefused
from ..types import Scope
from .answers import Answers
from .counter_rows import CounterState


class DateOrder:
    """The order of one sequence's documents."""

    def __init__(self, alias: str, answers: Answers) -> None:
        self._alias = alias
        self._answers = answers

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
            self._answers.repeat_if_marked(scope, pending, deadline)
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
