"""Everything that can go wrong, as one tree.

    SequenceError
    |-- InvalidSequence         the setting SEQUENCES is wrong, or does not hold this alias
    |-- InvalidScope            (ValueError) empty, too long, or with control characters
    |-- InvalidItem             (ValueError) the item cannot be stored
    |-- InvalidToken            (ValueError) the idempotency token is empty, too long or not printable
    |-- OperationNotSupported   the strategy cannot do this
    |-- ScopeNotFound           (LookupError) the scope must exist before it is counted in
    |-- ItemExists              an item with the caller's own key is stored already
    |-- IdempotencyMismatch     the token was used for another item
    |-- SequenceExhausted       the next value would pass MAXIMUM
    |-- SequenceWentBack        the counter is lower than a value it handed out
    |-- GaveUp
    |   |-- SequenceContention  other writers won until the deadline; nothing was written
    |   `-- SequenceUnavailable the engine did not serve us until the deadline
    `-- StorageError            what one request to DynamoDB met
        |-- WriteCancelled      a condition failed, or a transaction met another; nothing was written
        |-- NotWritten          certain and may heal: throttled, or never sent
        |-- OutcomeUnknown      ambiguous and may heal: the answer was lost
        `-- StorageRefused      certain and permanent
            |-- TableMissing    run `manage.py create_tables`
            |-- AccessRefused   credentials or policy refuse the operation
            `-- NotConfigured   no credentials, no region, or an unusable endpoint

Callers of `sequences` meet the upper part and `StorageRefused`; the other storage errors are retried inside.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AccessRefused",
    "CancellationReason",
    "GaveUp",
    "IdempotencyMismatch",
    "InvalidItem",
    "InvalidScope",
    "InvalidSequence",
    "InvalidToken",
    "ItemExists",
    "NotConfigured",
    "NotWritten",
    "OperationNotSupported",
    "OutcomeUnknown",
    "ScopeNotFound",
    "SequenceContention",
    "SequenceError",
    "SequenceExhausted",
    "SequenceUnavailable",
    "SequenceWentBack",
    "StorageError",
    "StorageRefused",
    "TableMissing",
    "WriteCancelled",
]


class SequenceError(Exception):
    """The root of the tree. Every error survives pickling, as task queues and process pools do it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidSequence(SequenceError):
    """The setting SEQUENCES is wrong, or does not hold this alias."""


class InvalidScope(SequenceError, ValueError):
    """The scope is empty, too long, reserved, or holds control characters."""


class InvalidItem(SequenceError, ValueError):
    """The item cannot be stored; nothing was written and no value was taken."""


class InvalidToken(SequenceError, ValueError):
    """The idempotency token is empty, too long or not printable."""


class OperationNotSupported(SequenceError):
    """The strategy cannot do this; its capability flags tell beforehand."""


class ScopeNotFound(SequenceError, LookupError):
    """The scope must exist before it is counted in, and it does not."""


class ItemExists(SequenceError):
    """An item with the key that the caller gave is stored already; no value was taken."""


class IdempotencyMismatch(SequenceError):
    """The idempotency token was used before, for another item; nothing was written."""


class SequenceExhausted(SequenceError):
    """The next value would pass MAXIMUM."""


class SequenceWentBack(SequenceError):
    """The counter is lower than a value it handed out, so that going on would hand out duplicates."""


class GaveUp(SequenceError):
    """The deadline passed. `outcome_unknown` says that the write may still be stored: repeat it with the same token."""

    def __init__(self, message: str, *, attempts: int, seconds: float, outcome_unknown: bool = False) -> None:
        fate = (
            "it may have been stored: repeat it with the same idempotency token"
            if outcome_unknown
            else "nothing was stored"
        )
        super().__init__(f"{message} Gave up after {attempts} attempts and {seconds:.1f} s; {fate}.")
        self.attempts = attempts
        self.seconds = seconds
        self.outcome_unknown = outcome_unknown


class SequenceContention(GaveUp):
    """Other writers won every race until the deadline; nothing was written."""


class SequenceUnavailable(GaveUp):
    """The engine did not serve us until the deadline."""


class StorageError(SequenceError):
    """What one request to DynamoDB met."""


@dataclass(frozen=True, slots=True)
class CancellationReason:
    """Why one action of a write was refused; `code` is "None" for an action that was fine; `old` is the stored item."""

    code: str
    old: Mapping[str, Any] | None = None
    message: str = ""


class WriteCancelled(StorageError):
    """A condition failed or a transaction met another; nothing was written. One reason an action, in their order.

    `after_unknown` says that the answer to an earlier sending of the same write was lost: that one may be stored.
    """

    def __init__(self, message: str, reasons: tuple[CancellationReason, ...]) -> None:
        super().__init__(message)
        self.reasons = reasons
        self.after_unknown = False


class NotWritten(StorageError):
    """Certain and may heal: throttled, or never sent."""


class OutcomeUnknown(StorageError):
    """Ambiguous and may heal: the answer was lost or came from a failing engine, so the write may be stored."""


class StorageRefused(StorageError):
    """Certain and permanent: the same request will be refused again."""


class TableMissing(StorageRefused):
    """A table does not exist."""


class AccessRefused(StorageRefused):
    """The credentials or the policy refuse the operation."""


class NotConfigured(StorageRefused):
    """There are no credentials, no region, or no usable endpoint."""
