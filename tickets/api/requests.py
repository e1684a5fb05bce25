"""What every view of the API reads from a request, and how its shapes are described; and pages in addresses.

`?cursor=` says where a page begins, `?limit=` how many entries it may have. A parameter that is unknown, or that is
sent twice, is refused. Otherwise a misspelt filter would seem to hold.
"""

from collections.abc import Collection
from typing import Any, ClassVar

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from sequences.rest.idempotency import IDEMPOTENCY_KEY, LONGEST_KEY, REPLAYED, idempotency_key
from sequences.rest.pages import linked_page
from tickets import validators
from tickets.api.shapes import Shape
from tickets.cursors import LARGEST_PAGE, PAGE_SIZE
from tickets.types import Order, Page, ProjectKey, TicketKey

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


class Query(Shape[Any]):
    """The parameters of an address. Only declared fields are allowed, and only `lists` more than once."""

    lists: ClassVar[Collection[str]] = ()

    def to_internal_value(self, data: QueryDict) -> dict[str, Any]:
        """The values of the fields. Each unknown parameter is an error."""
        complaints = {name: [message] for name in sorted(data) if (message := self._complaint(name, data))}
        if complaints:
            raise serializers.ValidationError(
                {validators.readable(name): messages for name, messages in complaints.items()}
            )
        values = {name: data.getlist(name) if name in self.lists else data[name] for name in data}
        return dict(super().to_internal_value(values))

    def _complaint(self, name: str, data: QueryDict) -> str:
        if name not in self.fields:
            return f"There is no such parameter. Known are {', '.join(self.fields) or 'none'}."
        return "Send this parameter once." if name not in self.lists and len(data.getlist(name)) > 1 else ""


class Flag(serializers.BooleanField):
    """A parameter that is `true` or `false`."""

    TRUE_VALUES = {"true"}
    FALSE_VALUES = {"false"}
    NULL_VALUES: set[str | None] = set()


class NoQuery(Query):
    """The parameters of an address that has none."""


class PageQuery(Query):
    """The parameters of an address that choose a page."""

    cursor = serializers.CharField(required=False, help_text="Taken from `next` or `prev` of another page.")
    limit = serializers.IntegerField(min_value=1, max_value=LARGEST_PAGE, default=PAGE_SIZE)


class TicketsQuery(Query):
    """The parameters that choose tickets of a project, and their order."""

    limited, lists = validators.FILTER, ("status",)

    order = serializers.ChoiceField([order.value for order in Order], default=Order.NEWEST.value)


class TicketPageQuery(PageQuery, TicketsQuery):
    """The parameters of a page of tickets."""


def page_of(serializer: type[serializers.Serializer[Any]], **more: serializers.Field[Any, Any, Any, Any]) -> Any:
    """The shape of a page, with what else it has, for the schema."""
    links = {name: serializers.URLField(allow_null=True) for name in ("next", "prev")}
    fields = {"results": serializer(many=True), **links, **more}
    return inline_serializer(f"{serializer.__name__.removesuffix('Serializer')}Page", fields)


def sent(request: Request, shape: type[Shape[Any]]) -> dict[str, Any]:
    """The body of a request, checked."""
    return shape.checked(request.data)


def key_of(request: Request) -> str | None:
    """The caller's name for this request."""
    return idempotency_key(request)


def asked(request: Request, query: type[Query] = PageQuery) -> dict[str, Any]:
    """The parameters of a request's address, checked."""
    return query.checked(request.query_params)


def page_response(request: Request, page: Page[Any], shape: type[Shape[Any]]) -> Response:
    """A page as JSON, with the addresses of the pages beside it, in its body and in the header `Link`.

    `next` is null on the last page, `prev` on the first.
    """
    content = [shape.shown(thing) for thing in page.results]
    return linked_page(request, content, next=page.next_cursor, prev=page.previous_cursor)
