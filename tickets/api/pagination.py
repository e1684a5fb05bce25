"""Cursors in addresses: `?cursor=` says where a page begins, `?limit=` how many entries it may have."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from tickets.api.serializers import Shape
from tickets.cursors import LARGEST_PAGE, PAGE_SIZE
from tickets.types import Page


class PageQuery(Shape[Any]):
    """The parameters of an address that choose a page."""

    cursor = serializers.CharField(required=False, help_text="Taken from `next` of the previous page.")
    limit = serializers.IntegerField(min_value=1, max_value=LARGEST_PAGE, default=PAGE_SIZE)


def wanted_page(request: Request) -> dict[str, Any]:
    """The arguments `cursor` and `limit` for a selector."""
    query = PageQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    return dict(query.validated_data)


def page_response(request: Request, page: Page[Any], serializer: type[serializers.Serializer[Any]]) -> Response:
    """A page as JSON, with the address of the next page; null on the last page."""
    following = None
    if page.next_cursor is not None:
        following = replace_query_param(request.build_absolute_uri(), "cursor", page.next_cursor)
    return Response({"results": serializer(page.results, many=True).data, "next": following})
