"""Retries: a deadline for each call, full jitter, and which failures are retryable.

`Deadline` bounds one call and everything that the call waits for; its clock, sleep and random source are arguments.
`read` and `write_once` retry one request; `leader` retries the write of a group.
Why jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from typing import Any

from .. import dynamodb
from ..exceptions import (
    BudgetSpent,
    CancellationReason,
    GaveUp,
    NotWritten,
    OutcomeUnknown,
    SequenceContention,
    SequenceError,
    SequenceUnavailable,
    StorageError,
    StorageRefused,
    Throttled,
    WriteCancelled,
)
from ..metrics.events import THROTTLED

DEADLINE_SECONDS = 10.0
GRACE_SECONDS = 0.5  # how long the last request of a call may take after the deadline

# The cancellation reasons after which the same transaction may succeed. The last one stands for no reason at all.
RETRYABLE_CANCELLATIONS = frozenset({"TransactionConflict", *THROTTLED, "TransactionCanceled"})


# A generator of our own: two programs that seed `random` alike must get different tokens. A forked child seeds again.
_chance = random.Random()  # noqa: S311 - tokens are not secret; os.urandom would let other threads run
os.register_at_fork(after_in_child=_chance.seed)


def new_token() -> str:
    """A unique name for one request: 128 random bits.

    The time is among them: copies of a process that go on from one image of its memory draw the same bits.
    """
    return f"{_chance.getrandbits(128) ^ time.time_ns():032x}"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The clock, the sleep and the random source of a deadline. All times are in seconds."""

    clock: Callable[[], float] = dynamodb.elapsed
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform
    first_pause: float = 0.005
    longest_pause: float = 1.0


@dataclass(kw_only=True)
class Deadline:
    """The moment at which one call must be over.

    The call makes it at its start and passes it to everything that it waits for. It counts and spaces the attempts.
    """

    timing: Timing = field(default_factory=Timing)
    seconds: float = DEADLINE_SECONDS
    client: str = dynamodb.DEFAULT_CLIENT
    sequence: str = ""
    """Whose call it is, for metrics; empty for an application's own rows."""
    attempts: int = 0
    failure: StorageError | None = None
    """The error of the last request that failed."""

    def __post_init__(self) -> None:
        self.began = self.timing.clock()

    @property
    def spent(self) -> float:
        return self.timing.clock() - self.began

    @property
    def left(self) -> float:
        """The seconds that are left; negative when the deadline has passed."""
        return self.began + self.seconds - self.timing.clock()

    @property
    def over(self) -> bool:
        return self.left <= 0

    @property
    def in_silence(self) -> bool:
        """Whether DynamoDB has not answered anybody for too long: a call that has not begun need not begin."""
        return dynamodb.is_silent(self.client)

    def send(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request, which may take until GRACE_SECONDS after the deadline.

        Raises NotWritten, without sending, after that moment; SequenceUnavailable if no client was made by then.
        """
        seconds = self.left + GRACE_SECONDS
        if seconds <= 0:
            raise NotWritten(f"{operation}: not sent, because the deadline has passed. {self.failure or ''}")
        try:
            return dynamodb.call(operation, request, seconds=seconds, client=self.client, sequence=self.sequence)
        except BudgetSpent as error:
            if self.failure is None:
                raise
            raise self.give_up(self.failure) from error  # it says why the time is over
        except dynamodb.ClientNotMade as error:
            raise self.give_up(error) from error
        except StorageError as error:
            self.failure = error
            raise

    def read(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one read until it is answered. Raises as the function `read`."""
        while True:
            try:
                return self.send(operation, request)
            except (NotWritten, OutcomeUnknown) as error:
                self.try_again(error)

    def pause(self, longest: float = inf) -> None:
        """Count an attempt and sleep for a random time (full jitter), at most `longest`, and until the deadline.

        The upper bound of that time doubles with every attempt.
        """
        bound = min(self.timing.longest_pause, self.timing.first_pause * 2 ** min(self.attempts + 1, 16))
        self.wait(min(self.timing.uniform(0, bound), longest))

    def wait(self, seconds: float) -> None:
        """Count an attempt and sleep for so long, at most until the deadline."""
        self.attempts += 1
        self.timing.sleep(max(0.0, min(seconds, self.left)))

    def try_again(self, error: StorageError, *, outcome_unknown: bool = False) -> None:
        """Pause before the next attempt. Raises the caller's error if the deadline has passed by then.

        While DynamoDB is silent it is raised at once.
        """
        silent = self.in_silence
        self.pause(0.0 if silent else inf)
        if silent or self.over:
            raise self.give_up(error, outcome_unknown=outcome_unknown) from error

    def give_up(self, error: SequenceError, *, outcome_unknown: bool = False) -> GaveUp:
        """The caller's error after the deadline: SequenceContention for lost races, otherwise SequenceUnavailable."""
        lost = isinstance(error, WriteCancelled) and not is_throttled(error)
        kind = SequenceContention if lost and not outcome_unknown else SequenceUnavailable
        gave_up = kind(str(error), attempts=self.attempts, seconds=self.spent, outcome_unknown=outcome_unknown)
        gave_up.__cause__ = error
        return gave_up


def latest(deadlines: Sequence[Deadline]) -> Deadline:
    """The deadline that passes last."""
    return max(deadlines, key=attrgetter("left")) if len(deadlines) > 1 else deadlines[0]


def is_retryable(reasons: tuple[CancellationReason, ...]) -> bool:
    """Whether a cancelled write may succeed unchanged: all its refusals have retryable reasons."""
    return _are_all(reasons, RETRYABLE_CANCELLATIONS)


def is_throttled(error: StorageError | None) -> bool:
    """Whether a write was refused for lack of capacity units, and for no other reason."""
    if isinstance(error, WriteCancelled):
        return _are_all(error.reasons, THROTTLED)
    return isinstance(error, Throttled)


def _are_all(reasons: tuple[CancellationReason, ...], codes: frozenset[str]) -> bool:
    """Whether actions were refused, each with one of these codes."""
    found = {reason.code for reason in reasons} - {"None"}
    return bool(found) and found <= codes


def may_conceal(reasons: tuple[CancellationReason, ...]) -> bool:
    """Whether an action was refused before its condition was checked: an earlier send may be stored."""
    return any(reason.code in RETRYABLE_CANCELLATIONS for reason in reasons)


def read(
    operation: str,
    request: Mapping[str, Any],
    *,
    deadline: Deadline | None = None,
    client: str = dynamodb.DEFAULT_CLIENT,
) -> dict[str, Any]:
    """Send one read until it is answered.

    Without a deadline it has 10 s, and goes by this client of SEQUENCES_CLIENTS. Raises SequenceUnavailable at the
    deadline, and StorageRefused at once for a permanent error.
    """
    return (deadline or Deadline(client=client)).read(operation, request)


def write_once(
    operation: str,
    request: Mapping[str, Any],
    *,
    token: str,
    deadline: Deadline | None = None,
    client: str = dynamodb.DEFAULT_CLIENT,
) -> dict[str, Any]:
    """Send one conditional write until its outcome is known.

    The request must ask for old items when a condition fails (`ReturnValuesOnConditionCheckFailure="ALL_OLD"`). It must
    also store `token` in the attribute of that name, unless the caller recognises its own write in WriteCancelled.
    After a lost answer the same request is sent again. If its condition then fails on an item with `token`, an earlier
    send was stored, and the answer is `{}`.
    Raises WriteCancelled when a condition failed (with `after_unknown` if an answer was lost before), StorageRefused at
    once for a permanent error, and SequenceUnavailable or SequenceContention at the deadline (10 s without one).
    """
    deadline = deadline or Deadline(client=client)
    unknown = False
    while True:
        try:
            return deadline.send(operation, request)
        except WriteCancelled as error:
            if token and any(reason.old and reason.old.get("token") == token for reason in error.reasons):
                return {}  # an earlier send was stored
            if not is_retryable(error.reasons):
                error.after_unknown = unknown
                raise
            deadline.try_again(error, outcome_unknown=unknown)
        except (NotWritten, OutcomeUnknown) as error:
            unknown = unknown or isinstance(error, OutcomeUnknown)
            deadline.try_again(error, outcome_unknown=unknown)
        except (GaveUp, StorageRefused) as error:  # the budget of a page, or the client, ended it
            if unknown or error.outcome_unknown:
                raise deadline.give_up(deadline.failure or error, outcome_unknown=True) from error
            raise
