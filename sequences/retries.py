"""The one layer that retries: full jitter, a deadline, and only what can heal.

`Deadline` bounds one call, with all that it waits for; its clock, sleep and random source are arguments.
`read` and `write_once` carry a single request through; groups of items go through `groups`.
Why jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import dynamodb
from .exceptions import (
    CancellationReason,
    GaveUp,
    NotWritten,
    OutcomeUnknown,
    SequenceContention,
    SequenceUnavailable,
    StorageError,
    StorageRefused,
    WriteCancelled,
)

__all__ = [
    "DEADLINE_SECONDS",
    "GRACE_SECONDS",
    "RETRYABLE_CANCELLATIONS",
    "Deadline",
    "Timing",
    "is_retryable",
    "may_conceal",
    "new_token",
    "read",
    "write_once",
]

DEADLINE_SECONDS = 10.0
GRACE_SECONDS = 0.5  # what the requests of a call may take beyond its deadline

# Of the cancellation reasons, those that the same transaction may not meet again.
RETRYABLE_CANCELLATIONS = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


# Of its own: a program that seeds `random` must not get the tokens of another one. Seeded anew in a forked child.
_chance = random.Random()  # noqa: S311 - tokens are no secrets, and the system's source lets other threads in between
os.register_at_fork(after_in_child=_chance.seed)


def new_token() -> str:
    """A name for one request that nobody else has: 128 random bits."""
    return f"{_chance.getrandbits(128):032x}"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The clock, the sleep and the chance that a deadline rests on; seconds throughout."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform
    first_pause: float = 0.005
    longest_pause: float = 1.0


@dataclass(kw_only=True)
class Deadline:
    """When one call has to be over: made where the call begins, and passed down to all that it waits for.

    It also counts the call's attempts and spaces them.
    """

    timing: Timing = field(default_factory=Timing)
    seconds: float = DEADLINE_SECONDS
    attempts: int = 0
    failure: StorageError | None = None
    """What the last request that failed met."""

    def __post_init__(self) -> None:
        self.began = self.timing.clock()

    @property
    def spent(self) -> float:
        return self.timing.clock() - self.began

    @property
    def left(self) -> float:
        """The seconds that are left; negative when the deadline has passed."""
        return self.seconds - self.spent

    @property
    def over(self) -> bool:
        return self.left <= 0

    def send(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request, which may end a little after the deadline, so that it is not begun in vain."""
        seconds = self.left + GRACE_SECONDS
        if seconds <= 0:
            raise NotWritten(f"{operation}: not sent, for the deadline has passed. {self.failure or ''}")
        try:
            return dynamodb.call(operation, request, seconds=seconds)
        except StorageError as error:
            self.failure = error
            raise

    def pause(self) -> None:
        """Sleep a random time below a bound that doubles with every attempt (full jitter), within the deadline."""
        self.attempts += 1
        bound = min(self.timing.longest_pause, self.timing.first_pause * 2 ** min(self.attempts, 16))
        self.timing.sleep(max(0.0, min(self.timing.uniform(0, bound), self.left)))

    def give_up(self, error: StorageError, *, outcome_unknown: bool = False) -> GaveUp:
        """The error for the caller when the deadline has passed: contention for lost races, otherwise unavailable."""
        kind = SequenceContention if isinstance(error, WriteCancelled) and not outcome_unknown else SequenceUnavailable
        gave_up = kind(str(error), attempts=self.attempts, seconds=self.spent, outcome_unknown=outcome_unknown)
        gave_up.__cause__ = error
        return gave_up


def is_retryable(reasons: tuple[CancellationReason, ...]) -> bool:
    """Whether a cancelled write may succeed unchanged: every reason, in its place, is retryable, or none."""
    codes = {reason.code for reason in reasons} - {"None"}
    return bool(codes) and codes <= RETRYABLE_CANCELLATIONS


def may_conceal(reasons: tuple[CancellationReason, ...]) -> bool:
    """Whether an action was refused before its condition was looked at, so that it may be stored already."""
    return any(reason.code in RETRYABLE_CANCELLATIONS for reason in reasons)


def read(operation: str, request: Mapping[str, Any], *, deadline: Deadline | None = None) -> dict[str, Any]:
    """Send one read until it is answered.

    Raises SequenceUnavailable at the deadline (10 s), StorageRefused at once for what never heals.
    """
    deadline = deadline or Deadline()
    while True:
        try:
            return deadline.send(operation, request)
        except (NotWritten, OutcomeUnknown) as error:
            deadline.pause()
            if deadline.over:
                raise deadline.give_up(error) from error


def write_once(
    operation: str, request: Mapping[str, Any], *, token: str, deadline: Deadline | None = None
) -> dict[str, Any]:
    """Send one conditional write until its outcome is known.

    The request must store `token` in the attribute of that name and ask for old items when a condition fails
    (`ReturnValuesOnConditionCheckFailure="ALL_OLD"`). After a lost answer the same request goes again; if its
    condition then fails on an item that carries `token`, the write was stored the first time, and the answer is `{}`.
    Raises WriteCancelled when a condition failed (`after_unknown` if an answer was lost before), SequenceUnavailable
    or SequenceContention at the deadline (10 s), StorageRefused at once for what never heals.
    """
    deadline = deadline or Deadline()
    unknown = False
    while True:
        try:
            return deadline.send(operation, request)
        except WriteCancelled as error:
            if any(reason.old and reason.old.get("token") == token for reason in error.reasons):
                return {}
            if not is_retryable(error.reasons):
                error.after_unknown = unknown
                raise
            failure: StorageError = error
        except OutcomeUnknown as error:
            unknown, failure = True, error
        except NotWritten as error:
            failure = error
        except StorageRefused as error:
            if unknown:
                raise deadline.give_up(error, outcome_unknown=True) from error
            raise
        deadline.pause()
        if deadline.over:
            raise deadline.give_up(failure, outcome_unknown=unknown) from failure
