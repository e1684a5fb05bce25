"""What every known error means for the person who reads it: one table for the REST API, the pages and the forms.

A problem says what happened, whether anything was stored, and what helps. The rooms only format it: `api.exceptions`
as JSON, `middleware` as a page, `forms` beside what was typed. A class without an entry uses the entry of its parent.
Technical details go to the log, never to the reader.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from sequences.exceptions import (
    AlsoRefused,
    GaveUp,
    IdempotencyMismatch,
    InvalidChange,
    InvalidItem,
    InvalidPeriod,
    InvalidScope,
    InvalidSequence,
    InvalidText,
    InvalidToken,
    ItemExists,
    NotWritten,
    OperationNotSupported,
    OutcomeUnknown,
    ScopeNotFound,
    SequenceContention,
    SequenceError,
    SequenceExhausted,
    SequenceFrozen,
    SequenceWentBack,
    StorageError,
    WriteCancelled,
)
from tickets.exceptions import (
    ChangeRefused,
    InvalidInput,
    NotFound,
    ProjectChanged,
    ProjectExists,
    TicketsError,
    ValuesTooLarge,
)

logger = logging.getLogger(__name__)

KNOWN = (SequenceError, TicketsError)
NOTHING = "Nothing was changed."
PERHAPS = "Your request may have been carried out all the same."


class Remedy(Enum):
    """What helps, in words for people. A room may use words of its own."""

    CORRECT = ""  # the message says what to correct
    REPEAT = "Try again in a moment."
    RENEW = "If this is to be stored as well, send it as a new request."
    TELL = "Tell an administrator: the reason is in the log."


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What an error means. In the table, an empty `detail` means that the error's own message is shown."""

    status: int
    title: str
    detail: str = ""
    remedy: Remedy = Remedy.CORRECT
    retry_after: int | None = None
    """The seconds after which a repeat may help; None if a repeat does not help."""
    about: str = ""
    """The field that the message is about; empty if it is about no single field."""
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The messages of each wrong field."""
    current: Any = None
    """The ticket or the order as it is now, if a change was refused because of it."""
    outcome_unknown: bool = False
    """Whether the request may have been carried out."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of an answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    def words(self, remedies: Mapping[Remedy, str] | None = None) -> str:
        """What happened and what helps, in the words of a room."""
        return f"{self.detail} {(remedies or {}).get(self.remedy, self.remedy.value)}".strip()


AWAY = Problem(
    status=503,
    title="Not reachable",
    detail="The store cannot be reached just now.",
    remedy=Remedy.REPEAT,
    retry_after=5,
)

PROBLEMS: Mapping[type[Exception], Problem] = {
    TicketsError: Problem(status=400, title="Not possible"),
    InvalidInput: Problem(status=400, title="Not understood"),
    NotFound: Problem(status=404, title="Not found"),
    ProjectExists: Problem(status=409, title="Taken already", about="key"),
    ProjectChanged: Problem(status=409, title="Not possible any more"),
    ChangeRefused: Problem(status=409, title="Not possible any more"),
    ValuesTooLarge: Problem(status=409, title="Used up", remedy=Remedy.TELL),
    SequenceError: Problem(status=503, title="Out of order", detail="This cannot be done.", remedy=Remedy.TELL),
    InvalidSequence: Problem(
        status=503, title="Out of order", detail="This sequence is not set up correctly.", remedy=Remedy.TELL
    ),
    InvalidScope: Problem(status=400, title="Not understood", about="scope"),
    InvalidPeriod: Problem(status=400, title="Not understood", about="period"),
    InvalidText: Problem(status=400, title="Not understood", about="text"),
    InvalidItem: Problem(
        status=400, title="Not understood", detail="This is too long, or holds something that cannot be stored."
    ),
    InvalidChange: Problem(status=409, title="Not possible"),
    InvalidToken: Problem(status=400, title="Not understood", about="idempotency_token"),
    OperationNotSupported: Problem(
        status=409,
        title="Not possible",
        detail="This sequence numbers stored items only, such as tickets. It hands out no values without an item.",
    ),
    ScopeNotFound: Problem(status=404, title="Not found", detail="The scope of this number does not exist."),
    AlsoRefused: Problem(status=409, title="Not possible any more", detail="Something else has changed meanwhile."),
    ItemExists: Problem(status=409, title="Taken already", detail="Something is stored under this key already."),
    IdempotencyMismatch: Problem(
        status=422,
        title="Sent before",
        detail="This request was sent before with other content, which was stored.",
        remedy=Remedy.RENEW,
    ),
    SequenceExhausted: Problem(
        status=409, title="Used up", detail="All numbers of this sequence are used up.", remedy=Remedy.TELL
    ),
    SequenceWentBack: Problem(
        status=409,
        title="Out of order",
        detail="The counter was set back below numbers that it handed out. It hands out no more.",
        remedy=Remedy.TELL,
    ),
    SequenceFrozen: Problem(
        status=503,
        title="Closed",
        detail="An administrator has frozen these numbers for a while.",
        remedy=Remedy.REPEAT,
        retry_after=60,
    ),
    GaveUp: AWAY,
    SequenceContention: Problem(
        status=503,
        title="Too busy",
        detail="Too many requests are writing at this moment.",
        remedy=Remedy.REPEAT,
        retry_after=1,
    ),
    StorageError: Problem(
        status=503, title="Out of order", detail="The store refuses this, and will refuse it again.", remedy=Remedy.TELL
    ),
    NotWritten: AWAY,
    OutcomeUnknown: AWAY,
}


def explain(error: SequenceError | TicketsError, where: str) -> Problem:
    """What this error means for its reader. Logs the error if the remedy is to repeat or to tell an administrator."""
    entry = next(PROBLEMS[kind] for kind in type(error).__mro__ if kind in PROBLEMS)
    if entry.remedy in (Remedy.REPEAT, Remedy.TELL):
        logger.error("%s could not be served: %s", where, error)
    unknown = _is_unknown(error)
    detail = f"{entry.detail} {PERHAPS if unknown else NOTHING}" if entry.detail else _message(error)
    return replace(
        entry,
        detail=detail,
        fields=_fields(error, entry.about),
        current=getattr(error, "current", None),
        outcome_unknown=unknown,
    )


def _is_unknown(error: Exception) -> bool:
    match error:
        case OutcomeUnknown():
            return True
        case WriteCancelled():
            return error.after_unknown
        case _:
            return bool(getattr(error, "outcome_unknown", False))


def _message(error: Exception) -> str:
    return " ".join(error.messages) if isinstance(error, InvalidInput) else str(error)


def _fields(error: Exception, name: str) -> Mapping[str, Sequence[str]]:
    if isinstance(error, InvalidInput):
        return error.message_dict
    return {name: [str(error)]} if name else {}
