"""What every view of the API reads from a request, and how its shapes are described."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request

from sequences.rest.idempotency import IDEMPOTENCY_KEY, LONGEST_KEY, REPLAYED, idempotency_key
from tickets.types import ProjectKey, TicketKey

PRINTABLE = r"^[^\u0000-\u001f,\u007f-\u00a0\u00ad]+$"
DONE_BEFORE = OpenApiParameter(
    REPLAYED,
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    response=[200, 201],
    enum=["true"],
    description="An earlier request has done it. The answer shows the thing as it is now.",
)
REPEATABLE = [
    OpenApiParameter(
        IDEMPOTENCY_KEY,
        {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": PRINTABLE},
        OpenApiParameter.HEADER,
        description="Your name for this request alone: 1 to 255 printable characters, no comma, such as a new UUID. "
        "A repeat does nothing twice.",
    ),
    DONE_BEFORE,
]
"""The headers of every POST that creates or takes something."""


class FormerKey(Exception):
    """A request names a project by a former key. `present` is the key in its address with the present one."""

    def __init__(self, present: ProjectKey | TicketKey) -> None:
        super().__init__(present)
        self.present = present


def page_of(serializer: type[serializers.Serializer[Any]], **more: serializers.Field[Any, Any, Any, Any]) -> Any:
    """The shape of a page, with what else it has, for the schema."""
    links = {name: serializers.URLField(allow_null=True) for name in ("next", "prev")}
    fields = {"results": serializer(many=True), **links, **more}
    return inline_serializer(f"{serializer.__name__.removesuffix('Serializer')}Page", fields)


def sent(request: Request, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The body of a request, checked by a serializer."""
    checked = serializer(data=request.data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def key_of(request: Request) -> str | None:
    """The caller's name for this request."""
    return idempotency_key(request)


def author(request: Request) -> str:
    """The user name of the caller, for what they report and change."""
    return request.user.get_username()
