"""Errors as JSON. Their meanings are in `tickets.problems`, their shape is in `sequences.rest.answers`.

`current` is the ticket or the order as it is now, if a change of it was refused, or if a ticket has moved: a request
for its former key is answered with status 308 and the address of the present one.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from sequences.exceptions import SequenceError
from sequences.rest.answers import ProblemAnswers
from sequences.rest.idempotency import IDEMPOTENCY_KEY
from sequences.rest.problems import Remedy
from tickets import addresses
from tickets.api.requests import FormerKey
from tickets.api.serializers import ProjectSerializer, TicketSerializer
from tickets.api.shapes import Shape
from tickets.exceptions import TicketMoved, TicketsError
from tickets.problems import PROBLEMS, explain
from tickets.sales.api.serializers import OrderSerializer
from tickets.sales.types import Order
from tickets.timeline.api.serializers import CommentSerializer
from tickets.timeline.types import Event
from tickets.types import Project, Ticket

# What may have been changed meanwhile.
CURRENT: Mapping[type, type[Shape[Any]]] = {
    Event: CommentSerializer,
    Order: OrderSerializer,
    Project: ProjectSerializer,
    Ticket: TicketSerializer,
}
ANSWERS = ProblemAnswers(
    rows=PROBLEMS,
    page="problems",
    places={
        "idempotency_token": {"header": IDEMPOTENCY_KEY},
        "to": {"pointer": "/project"},
        "user": {},  # it is in the address, which has no names
    },
    remedies={
        Remedy.REPEAT: "Send the request again in a moment. If it has an Idempotency-Key, it is carried out once.",
        Remedy.RENEW: "Use a new Idempotency-Key for a new request, and repeat a request unchanged.",
    },
    as_json=lambda current: CURRENT[type(current)](current).data,
)


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """The answer to an error from a view of the API; None for an unexpected error, which is a bug."""
    request = context["request"]
    if isinstance(error, FormerKey):
        return addresses.elsewhere(request, addresses.of_key(request, error.present))
    if isinstance(error, TicketMoved):
        response = ANSWERS.answer(request, replace(explain(error, request.path), status=308))
        response["Location"] = addresses.with_query(request, addresses.of_key(request, error.current.key))
        return response
    return ANSWERS(error, context)


def answer_to(error: Exception, request: HttpRequest) -> HttpResponse:
    """The answer to an error outside the views of the API."""
    return ANSWERS.answer(request, explain(error, request.path))


def as_problem(error: SequenceError | TicketsError, request: Request) -> dict[str, Any]:
    """The body of the answer to an error, for a part of a request."""
    return ANSWERS.body(request, explain(error, request.path))
