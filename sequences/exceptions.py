"""Everything that can go wrong, as one tree. Each class says what has happened; beside it stands what to do.

    SequenceError
    |-- InvalidSequence         `manage.py check` names each wrong key of SEQUENCES, with what it may be
    |-- InvalidScope            (ValueError) give another scope, as the message says
    |-- InvalidPeriod           (ValueError) give the name of a period as PERIOD makes it, or a date
    |-- DateRefused             (ValueError) give the document a date from `first` on
    |-- InvalidText             (ValueError) show the message to the person who typed it
    |-- InvalidItem             (ValueError) change the attribute that the message names
    |-- InvalidToken            (ValueError) give 1 to 255 printable characters, such as a UUID
    |-- InvalidChange           (ValueError) do what the message asks for; a dry run shows what would change
    |-- OperationNotSupported   call `put_next`, or take a strategy whose flags allow this
    |-- ScopeNotFound           (LookupError) make the scope's row first, or mend its name
    |-- AuditRefused            wait for the audit that runs
    |-- AlsoRefused             read the row again, and decide anew
    |-- ItemExists              read the item that is stored, or give the new one another key
    |-- IdempotencyMismatch     give each request a token of its own; only a repeat has the former one
    |-- SequenceExhausted       raise MAXIMUM, or go on in another scope or period
    |-- SequenceWentBack        `manage.py sequences recover` puts the scope past what was handed out
    |-- SequenceUnsound         `manage.py sequences doctor` says what the table lacks
    |   |-- RulesChanged        put the settings back, or run the command that the message names
    |   `-- TableRestored       `manage.py sequences recover --all-scopes`, as docs/restore.md says
    |-- SequenceFrozen          `manage.py sequences history` says who froze it and why, `thaw` ends it
    |   `-- PeriodClosed        give the document a date of an open period, or `manage.py sequences reopen`
    |-- GaveUp                  try again later, with the same token where `outcome_unknown` is true
    |   |-- SequenceContention  many writers of one scope need a strategy that writes together
    |   `-- SequenceUnavailable
    `-- StorageError            one request to DynamoDB failed
        |-- WriteCancelled      read what is stored, and decide anew
        |-- NotWritten          the same request may succeed later
        |   `-- Throttled       wait, or spread the writes over more scopes
        |-- OutcomeUnknown      send the same request again: it may be stored
        `-- StorageRefused      the same request will be refused again
            |-- TableMissing    `manage.py create_tables`, or mend TABLE and TABLE_PREFIX
            |-- AccessRefused   give the role the rights that `manage.py sequences template` lists
            |-- BudgetSpent     ask for less, or by a command, which has no such limit
            `-- NotConfigured   set credentials, Region or endpoint, as the message says

The public functions of `sequences` raise the upper part and `StorageRefused`. They retry after the other storage
errors until the deadline.
"""

import copyreg
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

__all__ = [
    "AccessRefused",
    "AlsoRefused",
    "AuditRefused",
    "BudgetSpent",
    "CancellationReason",
    "DateRefused",
    "GaveUp",
    "IdempotencyMismatch",
    "InvalidChange",
    "InvalidItem",
    "InvalidPeriod",
    "InvalidScope",
    "InvalidSequence",
    "InvalidText",
    "InvalidToken",
    "ItemExists",
    "NotConfigured",
    "NotWritten",
    "OperationNotSupported",
    "OutcomeUnknown",
    "PeriodClosed",
    "RulesChanged",
    "ScopeNotFound",
    "SequenceContention",
    "SequenceError",
    "SequenceExhausted",
    "SequenceFrozen",
    "SequenceUnavailable",
    "SequenceUnsound",
    "SequenceWentBack",
    "StorageError",
    "StorageRefused",
    "TableMissing",
    "TableRestored",
    "Throttled",
    "WriteCancelled",
]


class SequenceError(Exception):
    """The root of the tree. Every error can be pickled, for task queues and process pools."""

    logged = False
    """Whether the log has a line about it, so that nobody writes a second one."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidSequence(SequenceError):
    """The setting SEQUENCES, or one beside it, is wrong, or there is no such sequence."""


class InvalidScope(SequenceError, ValueError):
    """The scope is empty, too long, reserved, or has control characters."""


class InvalidPeriod(SequenceError, ValueError):
    """Not the name of a period of this sequence, such as "2026-03" for months."""


class DateRefused(SequenceError, ValueError):
    """The sequence does not number a document of this date; nothing was written and no value was taken.

    `first` is the first date that it takes, and `last` the last one; None where there is no limit.
    """

    first: datetime.date | None = None
    last: datetime.date | None = None


class InvalidText(SequenceError, ValueError):
    """Not the text of a value of this sequence, or mistyped: the message says which part is wrong."""


class InvalidItem(SequenceError, ValueError):
    """The item cannot be stored; nothing was written and no value was taken."""


class InvalidToken(SequenceError, ValueError):
    """The idempotency token is empty, too long or not printable."""


class InvalidChange(SequenceError, ValueError):
    """A guarded change or a page of the history does not fit, or lacks something; nothing was changed."""


class OperationNotSupported(SequenceError):
    """The strategy cannot do this; its capability flags say so beforehand."""


class ScopeNotFound(SequenceError, LookupError):
    """The scope must have a row before its first number, and has none."""

    @classmethod
    def of(cls, alias: str, scope: object, remedy: str) -> Self:
        """The error about a scope of this sequence, with what to do. No scope at all is a scope without a row, too."""
        if scope is None:
            return cls(f"{alias!r} counts in scopes alone: name one.")
        return cls(f"{scope!r} does not exist in {alias!r}: {remedy}.")


class AuditRefused(SequenceError):
    """An audit of this scope is running already, or this process has as many as it runs; none was begun."""


class ItemExists(SequenceError):
    """An item with the caller's own key is already stored; no value was taken."""


class AlsoRefused(SequenceError):
    """The condition of an action in `also` does not hold; nothing was stored.

    `index` is the action's place in `also`, and `old` the row on which the condition failed, empty if there is none.
    """

    def __init__(self, message: str, *, index: int, old: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.index = index
        self.old = old


class IdempotencyMismatch(SequenceError):
    """The idempotency token was used before, for another item; nothing was written."""


class SequenceExhausted(SequenceError):
    """The next value would pass MAXIMUM."""


class SequenceWentBack(SequenceError):
    """The scope is lower than a value that was handed out in it; going on would hand out duplicates."""


class SequenceUnsound(SequenceError):
    """The table of a sequence cannot keep its numbers right here, or not do what this call asks; nothing was written.

    Other Regions write the same numbers, or the table takes no transactions. `manage.py sequences doctor` tells more.
    """


class RulesChanged(SequenceUnsound):
    """The rows of a sequence are written by other settings; going on could give numbers twice. Nothing was written."""


class TableRestored(SequenceUnsound):
    """A table of a sequence was restored or copied, and may be older than its numbers. Nothing was written."""


class SequenceFrozen(SequenceError):
    """Somebody has frozen the scope; nothing was stored and no value was taken."""


class PeriodClosed(SequenceFrozen):
    """The books of the period are closed; nothing was stored and no value was taken."""


class GaveUp(SequenceError):
    """The deadline passed. With `outcome_unknown` the write may be stored: repeat it with the same token."""

    def __init__(self, message: str, *, attempts: int, seconds: float, outcome_unknown: bool = False) -> None:
        fate = "nothing was stored"
        if outcome_unknown:
            fate = "it may have been stored: repeat it with the same idempotency token"
        super().__init__(f"{message} Gave up after {attempts} attempts and {seconds:.1f} s; {fate}.")
        self.attempts = attempts
        self.seconds = seconds
        self.outcome_unknown = outcome_unknown


class SequenceContention(GaveUp):
    """Other writers won every race until the deadline; nothing was written."""


class SequenceUnavailable(GaveUp):
    """The engine did not serve the call until the deadline."""


class StorageError(SequenceError):
    """One request to DynamoDB failed. `code` is what DynamoDB calls the error, empty if it did not answer."""

    code = ""


@dataclass(frozen=True, slots=True)
class CancellationReason:
    """Why DynamoDB refused one action of a write.

    `code` is "None" for an action that was not refused. `old` is the stored item that the condition failed on.
    """

    code: str
    old: Mapping[str, Any] | None = None
    message: str = ""


class WriteCancelled(StorageError):
    """A condition failed, or another transaction was in the way; nothing was written by this request.

    `reasons` has one entry for each action, in their order. With `after_unknown` an earlier send of the same write got
    no answer, so that send may be stored.
    """

    def __init__(self, message: str, reasons: tuple[CancellationReason, ...]) -> None:
        super().__init__(message)
        self.reasons = reasons
        self.after_unknown = False


class NotWritten(StorageError):
    """Never sent, or refused for now: nothing was written, and the same request may succeed later."""


class Throttled(NotWritten):
    """Refused for lack of capacity units."""


class OutcomeUnknown(StorageError):
    """The answer was lost, or came from a failing engine.

    The write may be stored, and the same request may succeed later.
    """


class StorageRefused(StorageError):
    """Nothing was written, and the same request will be refused again.

    With `outcome_unknown` another server than DynamoDB refused a write: then it may be stored.
    """

    outcome_unknown = False


class TableMissing(StorageRefused):
    """A table does not exist."""


class AccessRefused(StorageRefused):
    """The credentials or the policy refuse the operation."""


class BudgetSpent(StorageRefused):
    """A page may send no more requests; with `too_slow` because the engine has not answered in time."""

    def __init__(self, message: str, *, too_slow: bool = False) -> None:
        super().__init__(message)
        self.too_slow = too_slow


class NotConfigured(StorageRefused):
    """There are no credentials, no region, or no usable endpoint."""
