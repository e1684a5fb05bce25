"""Where the API begins."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

LISTS = {"projects": "project_list", "orders": "order_list", "invoices": "invoice_list", "sequences": "sequence_list"}
OTHERS = {"token": "token", "schema": "schema", "docs": "docs"}
# Templates of addresses (RFC 6570).
OF_KEYS = {
    "project": "projects/{key}/",
    "tickets": "projects/{key}/tickets/",
    "ticket": "tickets/{key}/",
    "order": "orders/{number}/",
    "invoice": "invoices/{text}/",
    "sequence": "sequences/{name}/",
}


class Index(APIView):
    """The addresses of the API."""

    permission_classes = [AllowAny]

    @extend_schema("index", tags=["index"], responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> Response:
        """The address of each list, and the template of each thing's address."""
        here = request.build_absolute_uri(request.path)
        lists = {name: reverse(f"api:{view}", request=request) for name, view in (LISTS | OTHERS).items()}
        return Response({**lists, **{name: f"{here}{template}" for name, template in OF_KEYS.items()}})
