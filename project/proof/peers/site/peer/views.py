"""The views of the peer."""

import logging
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.exceptions import NotFound
from rest_framework.generics import CreateAPIView, ListCreateAPIView, RetrieveAPIView
from rest_framework.pagination import CursorPagination
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from sequences import get_next_value

from .models import Project, Ticket
from .serializers import ProjectSerializer, TicketSerializer

logger = logging.getLogger(__name__)


class NewestFirst(CursorPagination):
    """Pages of 50 tickets, newest first. The cursor is the number of the last ticket."""

    ordering = "-number"
    page_size = 50

    def get_paginated_response(self, data: Any) -> Response:
        """The page, with the addresses of the pages beside it, and the ticket to which it has looked."""
        next_page = self.get_next_link()
        looked_to = data[-1]["key"] if next_page else None
        return Response({"results": data, "next": next_page, "prev": self.get_previous_link(), "looked_to": looked_to})


class ProjectList(CreateAPIView[Project]):
    """New projects."""

    serializer_class = ProjectSerializer


class TicketList(ListCreateAPIView[Ticket]):
    """The tickets of a project."""

    serializer_class = TicketSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[Ticket]:
        return Ticket.objects.filter(project=self.kwargs["project"])

    def paginate_queryset(self, queryset: Any) -> Any:
        """One page. Only if it is empty, look whether there is such a project."""
        page = super().paginate_queryset(queryset)
        if not page:
            get_object_or_404(Project, pk=self.kwargs["project"])
        return page

    def perform_create(self, serializer: BaseSerializer[Ticket]) -> None:
        """Number and ticket in one transaction. The foreign key tells whether there is such a project."""
        project = self.kwargs["project"]
        try:
            with transaction.atomic():
                number = get_next_value(project)
                reporter = self.request.user.get_username()
                serializer.save(project_id=project, number=number, reporter=reporter, updated_by=reporter)
        except IntegrityError as error:
            raise NotFound from error
        logger.info("ticket %s-%s created by %s", project, number, reporter)


class TicketDetail(RetrieveAPIView[Ticket]):
    """One ticket."""

    serializer_class = TicketSerializer

    def get_object(self) -> Ticket:
        return get_object_or_404(Ticket, **self.kwargs)
