"""The time that is left for this thread's request, and whether any part of it was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

LEAST_SECONDS = 0.001  # a time-out of 0 would make the socket non-blocking


@dataclass(slots=True)
class Limit:
    """When a request must be over (monotonic seconds), and whether any part of it was sent."""

    until: float
    sent: bool = False


class _ThreadState(threading.local):
    """The limit of this thread's current request."""

    limit: Limit | None = None


_thread = _ThreadState()


@contextmanager
def within(seconds: float) -> Iterator[Limit]:
    """Limit the request that this thread sends inside the block to so many seconds in total."""
    before, limit = _thread.limit, Limit(time.monotonic() + seconds)
    _thread.limit = limit  # a signal handler may send one inside another
    try:
        yield limit
    finally:
        _thread.limit = before


def in_request() -> bool:
    """Whether this thread is sending a request: then a signal handler interrupts it, perhaps while it holds a lock."""
    return _thread.limit is not None


def left(otherwise: Any) -> Any:
    """The seconds left for this thread's request; `otherwise` if it has no limit."""
    limit = _thread.limit
    return otherwise if limit is None else max(limit.until - time.monotonic(), LEAST_SECONDS)


def mark_sent() -> None:
    """From now on a part of this thread's request may have been sent."""
    if _thread.limit:
        _thread.limit.sent = True
