"""Errors as JSON. Their meanings are in `tickets.problems`.

Wrong fields are answered with status 400 and `{field: [messages]}`, every other error with `{"detail": message}`.
`current` is the ticket or the order as it is now, if a change of it was refused, or if a ticket has moved: a GET of its
former key is answered with status 301 and the address of the present one, any other request with 409. `outcome_unknown`
is added if the status is 503, or if the request may have been carried out.
"""

from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from rest_framework.exceptions import ParseError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler as default_handler

from tickets.api.serializers import as_json
from tickets.exceptions import TicketMoved
from tickets.problems import KNOWN, Problem, Remedy, explain

REMEDIES = {
    Remedy.REPEAT: "Send the request again in a moment; with the same Idempotency-Key it is carried out once.",
    Remedy.RENEW: "Use a new Idempotency-Key for a new request, and repeat a request unchanged.",
}
TOO_DEEP = "JSON parse error - the document is nested too deeply."
# Fields that have another name in the API than in the services.
NAMES = {NON_FIELD_ERRORS: api_settings.NON_FIELD_ERRORS_KEY, "idempotency_token": "Idempotency-Key", "to": "project"}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer to an error from a view of the API; None for an unexpected error, which is a bug."""
    if isinstance(error, KNOWN):
        request = context["request"]
        problem = explain(error, request.path)
        if isinstance(error, TicketMoved) and request.method in SAFE_METHODS:
            location = reverse("api:ticket", [error.current.key], request=request)
            return Response(_body(problem), status=301, headers={"Location": location})
        return Response(_body(problem), status=problem.status, headers=problem.headers)
    return default_handler(ParseError(TOO_DEEP) if isinstance(error, RecursionError) else error, context)


def _body(problem: Problem) -> dict[str, Any]:
    if problem.status == 400 and problem.fields:
        return {NAMES.get(field, field): messages for field, messages in problem.fields.items()}
    body: dict[str, Any] = {"detail": problem.words(REMEDIES)}
    if problem.current:
        body["current"] = as_json(problem.current)
    if problem.status == 503 or problem.outcome_unknown:
        body["outcome_unknown"] = problem.outcome_unknown
    return body
