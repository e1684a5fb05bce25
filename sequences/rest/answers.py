"""Errors as `application/problem+json` (RFC 9457), whatever format the request asks for.

    REST_FRAMEWORK = {"EXCEPTION_HANDLER": "sequences.rest.answers.exception_handler"}

`ProblemAnswers` makes a handler with rows, words and addresses of your own. An answer has the members `type`, `title`,
`status`, `detail`, `instance` of the standard, and of ours `code`, `request_id`, `errors` (where something is wrong: a
JSON `pointer` into the body, a query `parameter`, or a `header`), `current` (the thing as it is now, if a change of it
was refused) and `outcome_unknown` (with a status from 500 on: whether the request may have been carried out).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.encoding import escape_uri_path
from rest_framework.exceptions import ParseError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import set_rollback

from .idempotency import IDEMPOTENCY_KEY
from .problems import PROBLEMS, Problem, Remedy, WrongField, pointer, problem_of
from .request_ids import current_request_id

__all__ = ["MEDIA_TYPE", "ProblemAnswers", "exception_handler"]

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, kw_only=True)
class ProblemAnswers:
    """An exception handler for REST framework, which also answers for errors outside its views."""

    rows: Mapping[type[Exception], Problem] = field(default_factory=lambda: PROBLEMS)
    """What each error means."""
    page: str = ""
    """The name of the address that explains each code in a section with this id; empty for none."""
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Where an argument of a function is in a request, if no member of the body has its name: `{"header": "X-Key"}`."""
    remedies: Mapping[Remedy, str] = field(default_factory=dict)
    """What helps, in words for programs."""
    as_json: Callable[[Any], Any] = lambda current: current
    """Makes JSON of what was changed meanwhile."""

    def __call__(self, error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
        """The answer to an error from a view; None for a fault, which Django logs and answers with status 500."""
        error = _unreadable(error)
        request: Request = context["request"]
        problem = problem_of(error, request.path, self.rows)
        if problem.code == self.rows[Exception].code:
            return None
        set_rollback()
        response = self.answer(request, problem)
        if wanted := getattr(error, "auth_header", None):
            response["WWW-Authenticate"] = wanted
        return response

    def answer(self, request: HttpRequest | Request, problem: Problem) -> HttpResponse:
        """A problem as an answer to a request."""
        # What UTF-8 cannot encode becomes an escape of JSON.
        text = json.dumps(self.body(request, problem), cls=JSONEncoder, ensure_ascii=False)
        content = text.encode(errors="backslashreplace")
        return HttpResponse(content, content_type=MEDIA_TYPE, status=problem.status, headers=problem.headers)

    def body(self, request: HttpRequest | Request, problem: Problem) -> dict[str, Any]:
        """The members of an answer."""
        body: dict[str, Any] = {
            "type": self._type(request, problem.code),
            "title": problem.title,
            "status": problem.status,
            "detail": problem.words(self.remedies),
            "code": problem.code,
            "instance": escape_uri_path(request.path),
        }
        if problem.wrong:
            body["errors"] = [{**self._place(wrong, request), "detail": wrong.detail} for wrong in problem.wrong]
        if request_id := current_request_id():
            body["request_id"] = request_id
        if problem.current is not None:
            body["current"] = self.as_json(problem.current)
        if problem.status >= 500 or problem.outcome_unknown:
            body["outcome_unknown"] = problem.outcome_unknown
        return body

    def _place(self, wrong: WrongField, request: HttpRequest | Request) -> Mapping[str, str]:
        """Where something is wrong. What is read from a request without a body is a parameter of its address."""
        name, *inner = wrong.path or ("",)
        if name in self.places and not wrong.as_sent:
            return {kind: said + pointer(inner) for kind, said in self.places[name].items()}
        if request.method in SAFE_METHODS and name:
            return {"parameter": name}
        return {"pointer": pointer(wrong.path)}

    def _type(self, request: HttpRequest | Request, code: str) -> str:
        if not self.page:
            return "about:blank"
        path = f"{reverse(self.page)}#{code}"
        try:
            return request.build_absolute_uri(path)
        except SuspiciousOperation:  # a host that the site does not have
            return path


def _unreadable(error: Exception) -> Exception:
    """An error in words for the caller if it is about a body that is no JSON, and in Python's words."""
    if isinstance(error, RecursionError):
        return ParseError("The body is nested too deeply.")
    cause = error.__context__ if isinstance(error, ParseError) else None
    match cause:
        case json.JSONDecodeError():
            return ParseError(f"The body is not JSON: {cause.msg} in line {cause.lineno}, column {cause.colno}.")
        case UnicodeDecodeError():
            return ParseError(f"The body is not UTF-8: byte {cause.start + 1} cannot be read.")
        case ValueError() if "digits" in str(cause):
            return ParseError("The body has a number with too many digits.")
        case ValueError():
            return ParseError("The body has a number that is none in JSON, such as NaN.")
    return error


exception_handler = ProblemAnswers(places={"idempotency_token": {"header": IDEMPOTENCY_KEY}})
