"""DATES: how far the date of a document may be from today, so that a typing error in the year makes no series."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline
from ..exceptions import DateRefused
from ..formats.periods import Period
from ..types import Scope
from .answers import Answers


class DateLimits:
    """How many days before and after today a document of one sequence may be dated, in its time zone."""

    def __init__(self, alias: str, days: Mapping[str, int], period: Period, wall: Callable[[], float]) -> None:
        self._alias = alias
        self._days = days
        self._period = period
        self._wall = wall

    def refusal(self, day: datetime.date) -> DateRefused | None:
        """The error for a document of this day; None if it is within the limits."""
        today = self._period.date_of(None, self._wall())
        first = today - datetime.timedelta(days=self._days["past"]) if "past" in self._days else None
        last = today + datetime.timedelta(days=self._days["future"]) if "future" in self._days else None
        if (first is None or first <= day) and (last is None or day <= last):
            return None
        span = " ".join([*([f"from {first}"] if first else []), *([f"to {last}"] if last else [])])
        refused = DateRefused(
            f"The document is dated {day}, and {self._alias!r} takes dates {span} (DATES). Look at its year. To go "
            "beyond, set DATES otherwise, or store it by `put_at`. Nothing was written, and no value was used."
        )
        refused.first, refused.last = first, last
        return refused

    def require(self, day: datetime.date | None) -> None:
        """Raise DateRefused for a day beyond the limits."""
        if day is not None and (refused := self.refusal(day)):
            raise refused

    def allowed(
        self, scope: Scope, pendings: Sequence[Pending[PutRequest]], answers: Answers, deadline: Deadline
    ) -> Sequence[Pending[PutRequest]]:
        """The requests that are within the limits; the others are settled.

        A repeat beyond them gets its first answer, for one read: it was within them when it was stored.
        """
        for pending in pendings:
            day = pending.request.day
            if day is not None and (refused := self.refusal(day)):
                answers.repeat_if_marked(scope, pending, deadline)
                pending.settle(refused)
        return [pending for pending in pendings if pending.answer is None]
