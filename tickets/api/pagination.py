"""Pages in addresses: `?cursor=` says where one begins, `?limit=` how many entries it may have.

A parameter that is unknown, or that is sent twice, is refused. Otherwise a misspelt filter would seem to hold.
"""

from collections.abc import Collection
from typing import Any, ClassVar

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from sequences.rest.pages import linked_page
from tickets import validators
from tickets.api.shapes import Shape
from tickets.cursors import LARGEST_PAGE, PAGE_SIZE
from tickets.types import Order, Page


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


def asked(request: Request, query: type[Query] = PageQuery) -> dict[str, Any]:
    """The parameters of a request's address, checked."""
    checked = query(data=request.query_params)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def page_response(request: Request, page: Page[Any], serializer: type[serializers.Serializer[Any]]) -> Response:
    """A page as JSON, with the addresses of the pages beside it, in its body and in the header `Link`.

    `next` is null on the last page, `prev` on the first.
    """
    content = serializer(page.results, many=True).data
    return linked_page(request, content, next=page.next_cursor, prev=page.previous_cursor)
