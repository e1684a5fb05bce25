"""Where the API begins, its document, and the page that shows it in the site's own frame."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from tickets.api.reference import reference

LISTS = {
    "projects": "project_list",
    "orders": "order_list",
    "invoices": "invoice_list",
    "companies": "company_list",
    "sequences": "sequence_list",
}
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
_kept: dict[str, HttpResponse] = {}


class Index(APIView):
    """The addresses of the API."""

    permission_classes = [AllowAny]
    throttle_classes = ()  # all callers without an account would share one limit

    @extend_schema("index", tags=["index"], responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> Response:
        """The address of each list, and the template of each thing's address."""
        here = request.build_absolute_uri(request.path)
        lists = {name: reverse(f"api:{view}", request=request) for name, view in (LISTS | OTHERS).items()}
        return Response({**lists, **{name: f"{here}{template}" for name, template in OF_KEYS.items()}})


class ApiDocument(SpectacularAPIView):
    """The document of the API. It is the same for everybody, so each process makes it once in each of its forms."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer with what is kept, unless another language or version is asked for."""
        form: str = request.accepted_renderer.media_type
        if request.query_params.keys() - {"format"}:
            return super().get(request, *args, **kwargs)  # type: ignore[no-any-return, no-untyped-call]
        if kept := _kept.get(form):
            return HttpResponse(kept.content, headers=kept.headers)
        made: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        made.add_post_render_callback(_keep)
        return made


def _keep(response: Response) -> None:
    """Keep the content of an answer with what says how it is written, and nothing about its request."""
    headers = {name: response[name] for name in ("Content-Type", "Content-Disposition")}
    _kept[response.accepted_renderer.media_type] = HttpResponse(response.content, headers=headers)


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """The operations with their shapes, and calls to copy. Who is not signed in is asked to, and comes back."""
    return render(request, "tickets/api_docs.html", reference())
