"""What every error means for who sent the request: one table for JSON, pages and forms.

A problem says what happened, whether anything was stored, and what helps. An application adds rows for errors of its
own: `{**PROBLEMS, OutOfPaper: Problem(...)}`. A class without a row has that of its parent. Technical details go to the
log, never to the reader. A message within Django's ValidationError may have an attribute `path`: where in its
field something is wrong.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from http import HTTPStatus
from typing import Any

from django.conf import settings
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
from rest_framework import exceptions as rest
from rest_framework.settings import api_settings

from ..exceptions import (
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
    RulesChanged,
    ScopeNotFound,
    SequenceContention,
    SequenceError,
    SequenceExhausted,
    SequenceFrozen,
    SequenceUnsound,
    SequenceWentBack,
    StorageError,
    WriteCancelled,
)

__all__ = [
    "INVALID",
    "MISSING",
    "PROBLEMS",
    "NumberTooLarge",
    "Problem",
    "Remedy",
    "WrongField",
    "pointer",
    "problem_of",
]

logger = logging.getLogger(__name__)

NOTHING = "Nothing was changed."
PERHAPS = "Your request may have been carried out all the same."


class NumberTooLarge(SequenceError):
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What an error means: a row of the table, and with the attributes below the line one answer to one request."""

    status: int
    code: str
    """Its name for programs, which never changes."""
    title: str
    detail: str
    """What happened; in an answer, in the words for this request."""
    own_words: bool = False
    """Whether an answer has the error's own message in place of `detail`."""
    remedy: Remedy = Remedy.CORRECT
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


AWAY = Problem(
    status=503,
    code="store_away",
    title="Not reachable",
    detail="The store cannot be reached just now.",
    remedy=Remedy.REPEAT,
    retry_after=5,
)
INVALID = Problem(
    status=400,
    code="invalid",
    title="Not understood",
    detail="Some fields, parameters or headers are wrong.",
    own_words=True,
)
MALFORMED = Problem(
    status=400,
    code="malformed",
    title="Not understood",
    detail="This request could not be understood.",
    advice="Send what the address expects, such as a body in JSON.",
)
FORBIDDEN = Problem(
    status=403,
    code="permission_denied",
    title="Not allowed",
    detail="You do not have the permission to do this.",
    own_words=True,
    advice="Ask who administers the site for the permission.",
)
MISSING = Problem(
    status=404,
    code="not_found",
    title="Not found",
    detail="There is nothing at this address.",
    own_words=True,
    advice="Look at the address: it may be mistyped.",
)
TOO_LARGE = Problem(
    status=413,
    code="too_large",
    title="Too large",
    detail="This is larger than the site takes at once.",
    own_words=True,
    advice="Send less at once.",
)
FAULT = Problem(
    status=500,
    code="internal_error",
    title="Something went wrong",
    detail="The fault is on our side, and was logged.",
    remedy=Remedy.TELL,
    advice="Tell an administrator, with the `request_id` of the answer.",
)

PROBLEMS: Mapping[type[Exception], Problem] = {
    Exception: FAULT,
    BadRequest: MALFORMED,
    MultiPartParserError: MALFORMED,
    SuspiciousOperation: MALFORMED,
    RequestDataTooBig: TOO_LARGE,
    PermissionDenied: FORBIDDEN,
    Http404: MISSING,
    ValidationError: INVALID,
    rest.APIException: FAULT,
    rest.ParseError: replace(MALFORMED, own_words=True),
    rest.ValidationError: INVALID,
    rest.NotAuthenticated: Problem(
        status=401,
        code="not_authenticated",
        title="Not signed in",
        detail="This is for signed-in people and programs only.",
        remedy=Remedy.SIGN_IN,
    ),
    rest.AuthenticationFailed: Problem(
        status=401,
        code="authentication_failed",
        title="Not signed in",
        detail="This name, password or token is wrong, or is not valid any more.",
        own_words=True,
        remedy=Remedy.SIGN_IN,
    ),
    rest.PermissionDenied: FORBIDDEN,
    rest.NotFound: MISSING,
    rest.MethodNotAllowed: Problem(
        status=405,
        code="method_not_allowed",
        title="Not possible here",
        detail="This address does not have this method.",
        own_words=True,
        advice="Use one of the methods that the header `Allow` names.",
    ),
    rest.NotAcceptable: Problem(
        status=406,
        code="not_acceptable",
        title="Not in this format",
        detail="This address does not answer in the format that the header `Accept` asks for.",
        advice="Ask for `application/json`.",
    ),
    rest.UnsupportedMediaType: Problem(
        status=415,
        code="unsupported_media_type",
        title="Not in this format",
        detail="This address does not read bodies of this media type.",
        own_words=True,
        advice="Send `Content-Type: application/json` and a body in JSON.",
    ),
    rest.Throttled: Problem(
        status=429,
        code="throttled",
        title="Too many requests",
        detail="You have sent too many requests in a short time.",
        remedy=Remedy.REPEAT,
        retry_after=60,
    ),
    SequenceError: Problem(
        status=503,
        code="sequence_error",
        title="Out of order",
        detail="This cannot be done.",
        remedy=Remedy.TELL,
    ),
    InvalidSequence: Problem(
        status=503,
        code="sequence_not_set_up",
        title="Out of order",
        detail="This sequence is not set up correctly.",
        remedy=Remedy.TELL,
    ),
    InvalidScope: replace(INVALID, about="scope"),
    InvalidPeriod: replace(INVALID, about="period"),
    InvalidText: replace(INVALID, about="text"),
    InvalidToken: replace(INVALID, about="idempotency_token"),
    InvalidItem: Problem(
        status=400,
        code="cannot_be_stored",
        title="Not understood",
        detail="This is too long, or holds something that cannot be stored.",
        advice="Send less, or other characters.",
    ),
    InvalidChange: Problem(
        status=409,
        code="change_refused",
        title="Not possible",
        detail="The sequence cannot be changed in this way.",
        own_words=True,
    ),
    OperationNotSupported: Problem(
        status=409,
        code="items_only",
        title="Not possible",
        detail="This sequence numbers stored items only, such as tickets. It hands out no values without an item.",
        advice="Store an item: it gets its number by that.",
    ),
    ScopeNotFound: Problem(
        status=404,
        code="scope_not_found",
        title="Not found",
        detail="The scope of this number does not exist.",
        advice="Make what the scope stands for, then number in it.",
    ),
    AlsoRefused: Problem(
        status=409,
        code="changed_meanwhile",
        title="Not possible any more",
        detail="Something else has changed meanwhile.",
        advice="Read it again, then decide anew.",
    ),
    ItemExists: Problem(
        status=409,
        code="exists",
        title="Taken already",
        detail="Something is stored under this key already.",
        advice="Choose another key.",
    ),
    IdempotencyMismatch: Problem(
        status=422,
        code="idempotency_mismatch",
        title="Sent before",
        detail="This request was sent before with other content, which was stored.",
        remedy=Remedy.RENEW,
    ),
    SequenceExhausted: Problem(
        status=409,
        code="used_up",
        title="Used up",
        detail="All numbers of this sequence are used up.",
        remedy=Remedy.TELL,
    ),
    NumberTooLarge: Problem(
        status=409,
        code="number_too_large",
        title="Used up",
        detail="A number is too large to be sent, and is lost: many readers of JSON would round it.",
        own_words=True,
        remedy=Remedy.TELL,
    ),
    SequenceWentBack: Problem(
        status=409,
        code="went_back",
        title="Out of order",
        detail="Numbers that were handed out are missing, as after a restore. No more are handed out.",
        remedy=Remedy.TELL,
    ),
    SequenceUnsound: Problem(
        status=503,
        code="sequence_unsound",
        title="Out of order",
        detail="These numbers cannot be given here: the table that holds them is not made for it.",
        remedy=Remedy.TELL,
    ),
    RulesChanged: Problem(
        status=503,
        code="rules_changed",
        title="Out of order",
        detail="These numbers cannot be given now: the settings have changed since the ones before were given.",
        remedy=Remedy.TELL,
    ),
    SequenceFrozen: Problem(
        status=503,
        code="frozen",
        title="Closed",
        detail="An administrator has frozen these numbers for a while.",
        remedy=Remedy.REPEAT,
        retry_after=60,
    ),
    GaveUp: AWAY,
    SequenceContention: Problem(
        status=503,
        code="too_busy",
        title="Too busy",
        detail="Too many requests are writing at this moment.",
        remedy=Remedy.REPEAT,
        retry_after=1,
    ),
    StorageError: Problem(
        status=503,
        code="store_refuses",
        title="Out of order",
        detail="The store refuses this, and will refuse it again.",
        remedy=Remedy.TELL,
    ),
    NotWritten: AWAY,
    OutcomeUnknown: AWAY,
}


def problem_of(error: Exception, where: str, rows: Mapping[type[Exception], Problem] = PROBLEMS) -> Problem:
    """What this error means for its reader.

    Logs an error of ours if the remedy is to repeat or to tell an administrator. One that has no row but that of
    `Exception` is a fault, which Django logs.
    """
    row = _row_of(error, rows)
    known = not isinstance(error, rest.APIException) and row is not rows[Exception]
    if known and row.remedy in (Remedy.REPEAT, Remedy.TELL):
        logger.error("%s could not be served: %s", where, error)
    wrong = tuple(_wrong_in(error, row.about))
    return replace(
        row,
        detail=_detail(error, row, wrong),
        wrong=wrong,
        retry_after=math.ceil(wait) if (wait := getattr(error, "wait", None)) else row.retry_after,
        current=getattr(error, "current", None),
        outcome_unknown=_is_unknown(error) or row is rows[Exception],
    )


def pointer(path: Sequence[str]) -> str:
    """The JSON pointer (RFC 6901) of a path, such as `/labels/2`."""
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in path)


def _wrong_fields(detail: Any, path: tuple[str, ...] = ()) -> Iterator[WrongField]:
    """What is wrong in which fields, from the detail of a REST framework's ValidationError, however deep."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            named = name not in (NON_FIELD_ERRORS, api_settings.NON_FIELD_ERRORS_KEY)
            yield from _wrong_fields(inner, (*path, str(name)) if named else path)
    elif isinstance(detail, list | tuple):
        for index, inner in enumerate(detail):
            is_nested = isinstance(inner, Mapping | list | tuple)
            yield from _wrong_fields(inner, (*path, str(index)) if is_nested else path)
    else:
        yield WrongField(path, str(detail), as_sent=True)


def _row_of(error: Exception, rows: Mapping[type[Exception], Problem]) -> Problem:
    """The row of the error's class, or that of its status if it is an error of REST framework's without a row."""
    kind = next(kind for kind in type(error).__mro__ if kind in rows)
    row = rows[kind]
    if not isinstance(error, rest.APIException) or error.status_code == row.status:
        return row
    if kind is not rest.APIException:  # 401 becomes 403 where it cannot ask for credentials
        return replace(row, status=error.status_code)
    known = (one for one in rows.values() if one.status == error.status_code)
    return next(known, None) or _plain(error.status_code, str(error.default_code))


def _plain(status: int, code: str) -> Problem:
    phrase = HTTPStatus(status).phrase
    return Problem(status=status, code=code, title=phrase, detail=f"{phrase}.", own_words=True)


def _wrong_in(error: Exception, about: str) -> Iterator[WrongField]:
    if isinstance(error, rest.ValidationError):
        yield from _wrong_fields(error.detail)
    elif isinstance(error, ValidationError):
        fields = error.error_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.error_list}
        for name, complaints in fields.items():
            field = () if name == NON_FIELD_ERRORS else (name,)
            for one in complaints:
                yield WrongField((*field, *map(str, getattr(one, "path", ()))), one.messages[0])
    elif about:
        yield WrongField((about,), str(error))


def _detail(error: Exception, row: Problem, wrong: Sequence[WrongField]) -> str:
    """What happened, in words for this request; for errors of sequences also whether anything was stored."""
    if isinstance(error, RequestDataTooBig):
        return f"This is too large: at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes can be sent at once."
    if row.own_words:
        return " ".join(one.detail for one in wrong) or _message(error) or row.detail
    if not isinstance(error, SequenceError):
        return row.detail
    return f"{row.detail} {PERHAPS if _is_unknown(error) else NOTHING}"


def _message(error: Exception) -> str:
    """The error's own message; empty if it has none for people, as that of an address without a view."""
    said = error.detail if isinstance(error, rest.APIException) else error.args[:1] and error.args[0]
    return str(said) if isinstance(said, str) else ""


def _is_unknown(error: Exception) -> bool:
    match error:
        case OutcomeUnknown():
            return True
        case WriteCancelled():
            return error.after_unknown
        case _:
            return bool(getattr(error, "outcome_unknown", False))
