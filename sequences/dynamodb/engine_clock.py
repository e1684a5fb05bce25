"""The engine's clock, as the dates of its answers tell it."""

import math
import time
from email.utils import mktime_tz, parsedate_tz

from .errors import UNREADABLE

MOST_STEP = 10.0
"""By how many seconds a Date may be off: it has whole seconds, and a request may take READ_SECONDS."""


class EngineClock:
    """The engine's wall clock: the Date of its last answer, plus the time since by this machine's monotonic clock.

    A Date that is more than MOST_STEP off is believed when the next other Date agrees with it; until then the former
    reckoning goes on. The first Date is compared with this machine's clock.

        answers   12:00:01   12:00:02   (8 days later)     12:00:03      a gateway's clock was wrong
        now       12:00:01   12:00:02   12:00:02           12:00:03
        answers   12:00:01   14:00:00   14:00:01                         the machine was suspended
        now       12:00:01   12:00:02   14:00:01
    """

    def __init__(self) -> None:
        self._date: str | None = None
        self._ahead: float | None = None
        self._doubted = math.nan

    def set(self, date: str) -> None:
        """Take the Date of an answer. One that is damaged is ignored."""
        if date == self._date and self._ahead is not None:
            return
        self._date = date
        try:
            ahead = mktime_tz(parsedate_tz(date)) - time.monotonic()  # type: ignore[arg-type]  # None is a TypeError
        except (*UNREADABLE, OverflowError):
            return
        known = time.time() - time.monotonic() if self._ahead is None else self._ahead
        if abs(ahead - known) <= MOST_STEP or abs(ahead - self._doubted) <= MOST_STEP:
            self._ahead, self._doubted = ahead, math.nan
        else:
            self._doubted = ahead

    def now(self) -> float:
        return time.time() if self._ahead is None else self._ahead + time.monotonic()
