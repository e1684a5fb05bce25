"""Bounds how many requests a page may send, and for how long: a page has a budget, and its parts have shares of it.

A budget belongs to the thread that opens it. Code without one, as that which hands out numbers, is not counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..exceptions import BudgetSpent


@dataclass(kw_only=True, eq=False)
class Budget:
    """At most so many requests, and none after so many seconds; what it sends counts for the `outer` budget, too."""

    most: float = math.inf
    seconds: float = math.inf
    outer: Budget | None = None
    sent: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left, also of the outer budget."""
        own = self.began + self.seconds - time.monotonic()
        return min(own, self.outer.left) if self.outer else own

    def check(self) -> None:
        """Raise BudgetSpent if no further request may be sent."""
        if self.sent >= self.most:
            raise BudgetSpent(f"The {self.most} requests that this may take are sent.")
        if self.left <= 0:
            raise BudgetSpent(f"DynamoDB did not answer within {self.seconds:g} s.", too_slow=True)
        if self.outer:
            self.outer.check()

    def count(self) -> None:
        """Count one request."""
        self.sent += 1
        if self.outer:
            self.outer.count()


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
    budget.check()
    budget.count()
    return min(seconds, budget.left)
