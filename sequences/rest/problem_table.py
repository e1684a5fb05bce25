"""The table of what every error means for the person who sent the request: a row an error.

A class without a row has its parent's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum
from typing import Any

from django.core.exceptions import (
    NON_FIELD_ERRORS,
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions as drf

from .. import exceptions


class NumberTooLarge(exceptions.SequenceError):
    """A number is larger than every reader of JSON reads exactly; it is not sent, so that nobody rounds it."""


class Remedy(Enum):
    """What helps, in words for people. A room may use words of its own."""

    CORRECT = "Correct the request: the answer says what is wrong with it."
    SIGN_IN = "Sign in, or send a valid token."
    REPEAT = "Try again in a moment."
    RENEW = "If this is to be stored as well, send it as a new request."
    TELL = "Tell an administrator: the reason is in the log."


@dataclass(frozen=True, slots=True)
class WrongField:
    """One thing that is wrong in what was sent: where, and why. An empty path is the whole of it."""

    path: tuple[str, ...]
    detail: str
    as_sent: bool = False
    """Whether the path has the names that the caller has sent. Otherwise they are those of a function's arguments."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What an error means: a row of the table, and with the attributes below the line one answer to one request."""

    status: int
    code: str
    """Its name for programs, which never changes."""
    title: str
    detail: str
    """What happened; in an answer, in the words for this request."""
    remedy: Remedy = Remedy.CORRECT
    _: KW_ONLY
    own_words: bool = False
    """Whether an answer has the error's own message in place of `detail`."""
    advice: str = ""
    """What helps, for a page that explains the code; empty if the remedy says it all."""
    retry_after: int | None = None
    """The seconds after which a repeat may help; None if a repeat does not help."""
    about: str = ""
    """The field that the message is about; empty if it is about no single field."""

    # Of one answer.
    wrong: Sequence[WrongField] = ()
    """What is wrong in which fields."""
    current: Any = None
    """The thing as it is now, if a change was refused because of it."""
    outcome_unknown: bool = False
    """Whether the request may have been carried out."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of an answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    @property
    def fields(self) -> dict[str, list[str]]:
        """The messages of each wrong field, for forms; those about no field are under Django's NON_FIELD_ERRORS."""
        found: dict[str, list[str]] = {}
        for wrong in self.wrong:
            found.setdefault(wrong.path[0] if wrong.path else NON_FIELD_ERRORS, []).append(wrong.detail)
        return found

    def words(self, remedies: Mapping[Remedy, str] | None = None) -> str:
        """What happened and what helps, in the words of a room. What to correct is in the message already."""
        if self.remedy is Remedy.CORRECT:
            return self.detail
        return f"{self.detail} {(remedies or {}).get(self.remedy, self.remedy.value)}".strip()


# A row: its status, code and title; what happened; what else.
# fmt: off
AWAY = Problem(503, "store_away", "Not reachable",
    "The store cannot be reached just now.", Remedy.REPEAT, retry_after=5)
INVALID = Problem(400, "invalid", "Not understood", "Some fields, parameters or headers are wrong.", own_words=True)
MALFORMED = Problem(400, "malformed", "Not understood",
    "This request could not be understood.", advice="Send what the address expects, such as a body in JSON.")
FORBIDDEN = Problem(403, "permission_denied", "Not allowed",
    "You do not have the permission to do this.",
    own_words=True, advice="Ask who administers the site for the permission.")
MISSING = Problem(404, "not_found", "Not found",
    "There is nothing at this address.", own_words=True, advice="Look at the address: it may be mistyped.")
FAULT = Problem(500, "internal_error", "Something went wrong",
    "The fault is on our side, and was logged.",
    Remedy.TELL, advice="Tell an administrator, with the `request_id` of the answer.")

PROBLEMS: Mapping[type[Exception], Problem] = {
    Exception: FAULT,
    BadRequest: MALFORMED,
    MultiPartParserError: MALFORMED,
    SuspiciousOperation: MALFORMED,
    RequestDataTooBig: Problem(413, "too_large", "Too large",
        "This is larger than the site takes at once.", own_words=True, advice="Send less at once."),
    PermissionDenied: FORBIDDEN,
    Http404: MISSING,
    ValidationError: INVALID,
    drf.APIException: FAULT,
    drf.ParseError: replace(MALFORMED, own_words=True),
    drf.ValidationError: INVALID,
    drf.NotAuthenticated: Problem(401, "not_authenticated", "Not signed in",
        "This is for signed-in people and programs only.", Remedy.SIGN_IN),
    drf.AuthenticationFailed: Problem(401, "authentication_failed", "Not signed in",
        "This name, password or token is wrong, or is not valid any more.", Remedy.SIGN_IN, own_words=True),
    drf.PermissionDenied: FORBIDDEN,
    drf.NotFound: MISSING,
    drf.MethodNotAllowed: Problem(405, "method_not_allowed", "Not possible here",
        "This address does not have this method.",
        own_words=True, advice="Use one of the methods that the header `Allow` names."),
    drf.NotAcceptable: Problem(406, "not_acceptable", "Not in this format",
        "This address does not answer in the format that the header `Accept` asks for.",
        advice="Ask for `application/json`."),
    drf.UnsupportedMediaType: Problem(415, "unsupported_media_type", "Not in this format",
        "This address does not read bodies of this media type.",
        own_words=True, advice="Send `Content-Type: application/json` and a body in JSON."),
    drf.Throttled: Problem(429, "throttled", "Too many requests",
        "You have sent too many requests in a short time. Wait for the seconds in `Retry-After`, then send it again.",
        retry_after=60),
    exceptions.SequenceError: Problem(503, "sequence_error", "Out of order", "This cannot be done.", Remedy.TELL),
    exceptions.InvalidSequence: Problem(503, "sequence_not_set_up", "Out of order",
        "This sequence is not set up correctly.", Remedy.TELL),
    exceptions.InvalidScope: replace(INVALID, about="scope"),
    exceptions.InvalidPeriod: replace(INVALID, about="period"),
    exceptions.DateRefused: replace(INVALID, about="date"),
    exceptions.InvalidText: replace(INVALID, about="text"),
    exceptions.InvalidToken: replace(INVALID, about="idempotency_token"),
    exceptions.InvalidItem: Problem(400, "cannot_be_stored", "Not understood",
        "This is too long, or holds something that cannot be stored.", advice="Send less, or other characters."),
    exceptions.InvalidChange: Problem(409, "change_refused", "Not possible",
        "The sequence cannot be changed in this way.", own_words=True),
    exceptions.OperationNotSupported: Problem(409, "items_only", "Not possible",
        "This sequence numbers stored items only, such as tickets. It hands out no values without an item.",
        advice="Store an item: it gets its number by that."),
    exceptions.ScopeNotFound: Problem(404, "scope_not_found", "Not found",
        "The scope of this number does not exist.", advice="Make what the scope stands for, then number in it."),
    exceptions.AlsoRefused: Problem(409, "changed_meanwhile", "Not possible any more",
        "Something else has changed meanwhile.", advice="Read it again, then decide anew."),
    exceptions.ItemExists: Problem(409, "exists", "Taken already",
        "Something is stored under this key already.", advice="Choose another key."),
    exceptions.IdempotencyMismatch: Problem(422, "idempotency_mismatch", "Sent before",
        "This request was sent before with other content, which was stored.", Remedy.RENEW),
    exceptions.SequenceExhausted: Problem(409, "used_up", "Used up",
        "All numbers of this sequence are used up.", Remedy.TELL),
    NumberTooLarge: Problem(409, "number_too_large", "Used up",
        "A number is too large to be sent, and is lost: many readers of JSON would round it.",
        Remedy.TELL, own_words=True),
    exceptions.SequenceWentBack: Problem(409, "went_back", "Out of order",
        "Numbers that were handed out are missing, as after a restore. No more are handed out.", Remedy.TELL),
    exceptions.SequenceUnsound: Problem(503, "sequence_unsound", "Out of order",
        "These numbers cannot be given here: the table that holds them is not made for it.", Remedy.TELL),
    exceptions.RulesChanged: Problem(503, "rules_changed", "Out of order",
        "These numbers cannot be given now: the settings have changed since the ones before were given.", Remedy.TELL),
    exceptions.TableRestored: Problem(503, "restored", "Out of order",
        "These numbers cannot be given yet: a table was restored, and later numbers may be missing.", Remedy.TELL),
    exceptions.SequenceFrozen: Problem(503, "frozen", "Closed",
        "An administrator has frozen these numbers for a while.", Remedy.REPEAT, retry_after=60),
    exceptions.PeriodClosed: Problem(409, "period_closed", "Closed",
        "The books of this period are closed. It takes no more numbers.",
        advice="Give it a date of an open period, or ask an administrator to open the books again."),
    exceptions.GaveUp: AWAY,
    exceptions.SequenceContention: Problem(503, "too_busy", "Too busy",
        "Too many requests are writing at this moment.", Remedy.REPEAT, retry_after=1),
    exceptions.StorageError: Problem(503, "store_refuses", "Out of order",
        "The store refuses this, and will refuse it again.", Remedy.TELL),
    exceptions.NotWritten: AWAY,
    exceptions.OutcomeUnknown: AWAY,
}
# fmt: on
