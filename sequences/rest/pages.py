"""Pages of a list: `results`, and the addresses of the pages beside it, in the body and in the header `Link`."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

__all__ = ["linked_page"]


def linked_page(request: Request, results: Any, **cursors: str | None) -> Response:
    """A page. `cursors` names the cursor of each page beside it, as `next=...`; None if there is no such page."""
    here = request.build_absolute_uri()
    beside = {name: cursor and replace_query_param(here, "cursor", cursor) for name, cursor in cursors.items()}
    links = ", ".join(f'<{address}>; rel="{name}"' for name, address in beside.items() if address)
    return Response({"results": results, **beside}, headers={"Link": links} if links else None)
