"""What an error means for who sent the request: its row of the table, in the words for this request.

A problem says what happened, whether anything was stored, and what helps. JSON, pages and forms show the same. An
application adds rows for errors of its own: `{**PROBLEMS, OutOfPaper: Problem(...)}`. Technical details go to the log,
never to the reader. A message within Django's ValidationError may have an attribute `path`: where in its field
something is wrong.
"""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, RequestDataTooBig, ValidationError
from rest_framework import exceptions as drf
from rest_framework.settings import api_settings

from ..exceptions import OutcomeUnknown, SequenceError, WriteCancelled
from .problem_table import INVALID, MISSING, PROBLEMS, NumberTooLarge, Problem, Remedy, WrongField

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


def problem_of(error: Exception, where: str, rows: Mapping[type[Exception], Problem] = PROBLEMS) -> Problem:
    """What this error means for its reader.

    Logs an error of ours if the remedy is to repeat or to tell an administrator, and no line is about it yet. One that
    has only the row of `Exception` is a fault, which Django logs.
    """
    row = _row_of(error, rows)
    known = not isinstance(error, drf.APIException) and row is not rows[Exception]
    if known and row.remedy in (Remedy.REPEAT, Remedy.TELL) and not getattr(error, "logged", False):
        fields = {"event": "request_failed", "error": type(error).__name__, "code": row.code}
        logger.error("%s could not be served: %s", where, error, extra=fields)
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
    """The row of the error's class. An error of REST framework's without one has its own code and words."""
    kind = next(kind for kind in type(error).__mro__ if kind in rows)
    row = rows[kind]
    if not isinstance(error, drf.APIException) or error.status_code == row.status:
        return row
    if kind is not drf.APIException:  # 401 becomes 403 where it cannot ask for credentials
        return replace(row, status=error.status_code)
    status, has_code = error.status_code, error.default_code != drf.APIException.default_code
    known = (one for kind, one in rows.items() if one.status == status and not issubclass(kind, SequenceError))
    if not has_code and (same := next((one for one in known if one.own_words), None)):
        return same
    phrase = HTTPStatus(status).phrase
    return Problem(status, str(error.default_code), phrase, f"{phrase}.", own_words=True)


def _wrong_in(error: Exception, about: str) -> Iterator[WrongField]:
    if isinstance(error, drf.ValidationError):
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
    """The error's own message; empty if it has none for people, as for an address without a view."""
    said = error.detail if isinstance(error, drf.APIException) else error.args[:1] and error.args[0]
    return str(said) if isinstance(said, str) else ""


def _is_unknown(error: Exception) -> bool:
    if isinstance(error, WriteCancelled):
        return error.after_unknown
    return isinstance(error, OutcomeUnknown) or bool(getattr(error, "outcome_unknown", False))
