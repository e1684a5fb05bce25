"""How long a request may take, whether a part of it was sent, and how many requests a page may send.

A budget belongs to the thread that opens it. Code without one, such as what hands out numbers, is not counted.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Self

from ..exceptions import BudgetSpent

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


@dataclass(kw_only=True, eq=False)
class Budget:
    """At most so many requests, and none after so many seconds; what it sends counts for the `outer` budget, too."""

    most: float = math.inf
    seconds: float = math.inf
    outer: Self | None = None
    sent: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left, also of the outer budget."""
        own = self.began + self.seconds - time.monotonic()
        return min(own, self.outer.left) if self.outer else own

    def take(self) -> None:
        """Count one request. Raises BudgetSpent if no further one may be sent."""
        if self.sent >= self.most:
            raise BudgetSpent(f"The {self.most} requests that this may take are sent.")
        if self.left <= 0:
            raise BudgetSpent(f"DynamoDB did not answer within {self.seconds:g} s.", too_slow=True)
        if self.outer:
            self.outer.take()
        self.sent += 1


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def at_most(requests: float = math.inf, *, seconds: float = math.inf) -> Iterator[Budget]:
    """Let the body send at most so many requests, and none after so many seconds. Beyond that it gets BudgetSpent.

    Within the body of another budget it is a share of that one. The value says how many were `sent`, repeats after a
    failure too; without limits it only counts. What another thread sends for a group of callers is not counted.
    """
    budget = Budget(most=requests, seconds=seconds, outer=_current.get())
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def count_apart() -> None:
    """From now on count nothing of what is sent in this context."""
    _current.set(None)


def granted(seconds: float) -> float:
    """Count a request that may take so many seconds; how many it may take in this budget. Raises BudgetSpent."""
    budget = _current.get()
    if budget is None:
        return seconds
    budget.take()
    return min(seconds, budget.left)
