"""The views of the tuned peer: rows as plain dicts, by the fewest queries."""

import logging
from typing import Any

from django.db import IntegrityError, transaction
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sequences import get_next_value

from .models import Project, Status, Ticket

logger = logging.getLogger("peer.tuned")

PAGE = 50
FIELDS = (
    *("project_id", "number", "title", "description", "status", "assignee", "labels", "reporter"),
    *("created_at", "updated_at", "version", "updated_by", "comments"),
)


class NewTicket(serializers.Serializer[Any]):
    """What is sent to file a ticket, with the limits of the peer's."""

    title = serializers.CharField(max_length=200)
    description = serializers.CharField(max_length=20_000, allow_blank=True, default="")
    status = serializers.ChoiceField(Status.choices, default=Status.OPEN.value)
    assignee = serializers.CharField(max_length=150, allow_blank=True, default="")
    labels = serializers.ListField(child=serializers.CharField(max_length=40), max_length=20, default=list)


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is sent."""
    project = row.pop("project_id")
    return {"key": f"{project}-{row['number']}", "project": project, **row}


class TicketList(APIView):
    """The tickets of a project."""

    def get(self, request: Request, project: str) -> Response:
        """50 tickets, newest first, after the number `cursor`. One query; only an empty page looks for the project."""
        rows = Ticket.objects.filter(project=project).order_by("-number").values(*FIELDS)
        if cursor := request.query_params.get("cursor"):
            rows = rows.filter(number__lt=int(cursor))
        found = list(rows[: PAGE + 1])
        if not found:
            get_object_or_404(Project, pk=project)
        page, goes_on = [shown(row) for row in found[:PAGE]], len(found) > PAGE
        address = request.build_absolute_uri(f"?cursor={page[-1]['number']}") if goes_on else None
        return Response(
            {"results": page, "next": address, "prev": None, "looked_to": page[-1]["key"] if goes_on else None}
        )

    def post(self, request: Request, project: str) -> Response:
        """Number and ticket in one transaction. The foreign key tells whether there is such a project."""
        sent = NewTicket(data=request.data)
        sent.is_valid(raise_exception=True)
        by = request.user.get_username()
        ticket = Ticket(project_id=project, **sent.validated_data, reporter=by, updated_by=by)
        try:
            with transaction.atomic():
                ticket.number = get_next_value(project)
                ticket.save(force_insert=True)
        except IntegrityError as error:
            raise NotFound from error
        logger.info("ticket %s created by %s", ticket.key, by)
        return Response(shown({name: getattr(ticket, name) for name in FIELDS}), status=201)


class TicketDetail(APIView):
    """One ticket."""

    def get(self, request: Request, project: str, number: int) -> Response:
        """One ticket, by one query."""
        row = Ticket.objects.filter(project=project, number=number).values(*FIELDS).first()
        if row is None:
            raise NotFound
        return Response(shown(row))
