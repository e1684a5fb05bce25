"""Errors as JSON; what they mean is in `tickets.problems`.

400 for fields that are wrong, `{field: [messages]}`; for all others `{"detail": message}`, with `current`
where a ticket is not as its changer thought, and `outcome_unknown` where the store did not answer.
"""

from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from rest_framework.exceptions import ParseError
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler as default_handler

from tickets.api.serializers import TicketSerializer
from tickets.problems import KNOWN, Problem, Remedy, explain

REMEDIES = {
    Remedy.REPEAT: "Send the request again in a moment; with the same Idempotency-Key a ticket is filed once.",
    Remedy.RENEW: "Use a new Idempotency-Key for a new request, and repeat a request unchanged.",
}
TOO_DEEP = "JSON parse error - the document is nested too deeply."
# Where a caller knows a field by another name than the services do.
NAMES = {NON_FIELD_ERRORS: api_settings.NON_FIELD_ERRORS_KEY, "idempotency_token": "Idempotency-Key"}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer to an error that a view of the API raised; None for a fault of ours."""
    if isinstance(error, KNOWN):
        problem = explain(error, context["request"].path)
        return Response(_body(problem), status=problem.status, headers=problem.headers)
    return default_handler(ParseError(TOO_DEEP) if isinstance(error, RecursionError) else error, context)


def _body(problem: Problem) -> dict[str, Any]:
    if problem.status == 400 and problem.fields:
        return {NAMES.get(field, field): messages for field, messages in problem.fields.items()}
    body: dict[str, Any] = {"detail": problem.words(REMEDIES)}
    if problem.current:
        body["current"] = TicketSerializer(problem.current).data
    if problem.status == 503 or problem.outcome_unknown:
        body["outcome_unknown"] = problem.outcome_unknown
    return body
