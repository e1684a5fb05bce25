"""The views of the API: validate, call, serialize, respond. Errors are answered in `exceptions`."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from sequences import format_value, get_next_values
from sequences.registry import strategies
from tickets import selectors, services
from tickets.api.pagination import PageQuery, page_response, wanted_page
from tickets.api.serializers import (
    LARGEST_NUMBER,
    NewProject,
    NewTicket,
    NextValues,
    ProjectChange,
    ProjectSerializer,
    SequenceSerializer,
    TicketChange,
    TicketMove,
    TicketSerializer,
    TicketVoiding,
    ValuesSerializer,
)
from tickets.exceptions import InvalidInput, ValuesTooLarge
from tickets.problems import KNOWN
from tickets.repeats import token_of
from tickets.types import TicketCreated, TicketKey

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Your name for this request, 1 to 200 characters. Repeats with the same name are carried out once.",
)
MOVED = OpenApiResponse(description="The ticket has moved: `Location` and `current` say to which key.")
SCOPE = OpenApiParameter("scope", OpenApiTypes.STR, description="The scope of the last value.")


def page_of(serializer: type[serializers.Serializer[Any]]) -> Any:
    """The shape of a page, for the schema."""
    fields = {"results": serializer(many=True), "next": serializers.URLField(allow_null=True)}
    return inline_serializer(f"{serializer.__name__.removesuffix('Serializer')}Page", fields)


def sent(request: Request, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The body of a request, checked by a serializer."""
    checked = serializer(data=request.data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def key_of(request: Request) -> str | None:
    """The caller's name for this request."""
    return request.headers.get("Idempotency-Key")


def author(request: Request) -> str:
    """The user name of the caller, for what they report and change."""
    return request.user.get_username()


def placed(request: Request, created: TicketCreated, *, status: int) -> Response:
    """The answer with a ticket under its new number."""
    headers = {"Location": reverse("api:ticket", [created.ticket.key], request=request)}
    if created.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(TicketSerializer(created.ticket).data, status=status, headers=headers)


class ProjectList(APIView):
    """The projects."""

    @extend_schema("projects_list", parameters=[PageQuery], responses=page_of(ProjectSerializer))
    def get(self, request: Request) -> Response:
        """One page of projects, in the order of their keys."""
        return page_response(request, selectors.list_projects(**wanted_page(request)), ProjectSerializer)

    @extend_schema(request=NewProject, responses={201: ProjectSerializer})
    def post(self, request: Request) -> Response:
        """Make a project."""
        project = services.create_project(**sent(request, NewProject), by=author(request))
        location = reverse("api:project", [project.key], request=request)
        return Response(ProjectSerializer(project).data, status=201, headers={"Location": location})


class ProjectDetail(APIView):
    """One project."""

    @extend_schema(responses=ProjectSerializer)
    def get(self, request: Request, key: str) -> Response:
        """The project."""
        return Response(ProjectSerializer(selectors.get_project(key)).data)

    @extend_schema(request=ProjectChange, responses=ProjectSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """Change some fields of the project. Its tickets follow a new key, and the old one keeps leading to them."""
        project = services.update_project(key, changes=sent(request, ProjectChange), by=author(request))
        return Response(ProjectSerializer(project).data)


class TicketList(APIView):
    """The tickets of a project."""

    @extend_schema("projects_tickets_list", parameters=[PageQuery], responses=page_of(TicketSerializer))
    def get(self, request: Request, key: str) -> Response:
        """One page of tickets, newest first. Void and moved tickets keep their places."""
        return page_response(request, selectors.list_tickets(key, **wanted_page(request)), TicketSerializer)

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=NewTicket, responses={201: TicketSerializer})
    def post(self, request: Request, key: str) -> Response:
        """File a ticket under the next number of the project."""
        content = sent(request, NewTicket)
        created = services.create_ticket(key, **content, reporter=author(request), idempotency_token=key_of(request))
        return placed(request, created, status=201)


class TicketDetail(APIView):
    """One ticket."""

    @extend_schema(responses={200: TicketSerializer, 301: MOVED})
    def get(self, request: Request, key: TicketKey) -> Response:
        """The ticket. A void ticket says by whom it was withdrawn, when and why."""
        return Response(TicketSerializer(selectors.get_ticket(key)).data)

    @extend_schema(request=TicketChange, responses=TicketSerializer)
    def patch(self, request: Request, key: TicketKey) -> Response:
        """Change some fields of the ticket. A stale version is refused with 409."""
        changes = sent(request, TicketChange)
        version = changes.pop("version")
        ticket = services.update_ticket(key, version=version, changes=changes, by=author(request))
        return Response(TicketSerializer(ticket).data)

    @extend_schema(request=TicketVoiding, responses=TicketSerializer)
    def delete(self, request: Request, key: TicketKey) -> Response:
        """Void the ticket: its content is removed, and its number stays taken for ever."""
        ticket = services.void_ticket(key, **sent(request, TicketVoiding), by=author(request))
        return Response(TicketSerializer(ticket).data)


class TicketMoving(APIView):
    """The way of one ticket to another project."""

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=TicketMove, responses=TicketSerializer)
    def post(self, request: Request, key: TicketKey) -> Response:
        """Move the ticket to the next number of a project. Its former key leads to it for ever."""
        wanted, token = sent(request, TicketMove), key_of(request)
        to, version = wanted["project"], wanted.get("version")
        moved = services.move_ticket(key, to=to, version=version, by=author(request), idempotency_token=token)
        return placed(request, moved, status=200)


class SequenceList(APIView):
    """The sequences."""

    @extend_schema("sequences_list", responses=page_of(SequenceSerializer))
    def get(self, request: Request) -> Response:
        """All sequences, with the guarantees of their strategies."""
        return Response({"results": SequenceSerializer(list(strategies), many=True).data, "next": None})


class SequenceDetail(APIView):
    """One sequence."""

    @extend_schema(parameters=[SCOPE], responses=SequenceSerializer)
    def get(self, request: Request, name: str) -> Response:
        """The sequence, and the last value of a scope."""
        require_sequence(name)
        context = {"scope": request.query_params.get("scope")}
        return Response(SequenceSerializer(name, context=context).data)


class SequenceNext(APIView):
    """The next values of one sequence."""

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=NextValues, responses=ValuesSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Take values; each is handed out once. A sequence that only numbers stored items refuses with 409."""
        require_sequence(name)
        wanted, token = sent(request, NextValues), token_of(author(request), key_of(request))
        place = {"scope": wanted["scope"], "date": wanted["date"]}
        with dates_of(name, wanted["date"]):
            values = list(get_next_values(wanted["count"], name, **place, idempotency_token=token))
        if values[-1] > LARGEST_NUMBER:
            raise ValuesTooLarge(name, LARGEST_NUMBER)
        return Response({"values": values, "texts": [format_value(value, name, **place) for value in values]})


@contextmanager
def dates_of(name: str, date: datetime.date | None) -> Iterator[None]:
    """Around the taking of values: refuse a wrong date, and one that is missing.

    Today would be another day for a repeat, and the texts would be others.
    """
    strategy = strategies[name]
    if date is None and (strategy.period.kind != "never" or strategy.format.uses_dates):
        raise InvalidInput({"date": "The numbers of this sequence depend on it: send the date of the document."})
    try:
        yield
    except ValueError as error:
        if isinstance(error, KNOWN):
            raise
        raise InvalidInput({"date": str(error)}) from error


def require_sequence(name: str) -> None:
    """Refuse a name that is not in the settings."""
    if name not in strategies:
        raise Http404(f"There is no sequence {name}.")
