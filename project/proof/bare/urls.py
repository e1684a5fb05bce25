"""The one address, as in our API."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tickets.services import create_ticket


class BareTickets(APIView):
    """The least that files a ticket over HTTP."""

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request, key: str) -> Response:
        """File a ticket."""
        sent: Any = request.data
        ticket = create_ticket(key, title=sent["title"], reporter="bare").ticket
        return Response({"key": str(ticket.key), "title": ticket.title}, status=201)


urlpatterns = [path("api/projects/<str:key>/tickets/", BareTickets.as_view())]
