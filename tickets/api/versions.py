"""Versions in requests: ETags of what is read, and the version that a change is based on.

An ETag is made of the version and a digest of what is shown: it also changes with what changes no version, such as the
number of comments. Of an ETag that comes back in `If-Match` the version counts. Whether it is still the present one is
decided by the condition of the write. `tickets.middleware.Unchanged` answers a caller who has what is there now.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zlib import crc32

from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from tickets import selectors
from tickets.api.bodies import JSONRenderer
from tickets.exceptions import StaleTag, StaleVersion, VersionRequired
from tickets.types import TicketKey

IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The ETag that you have read, or `*` for any; of several the newest. It counts before `version`.",
)
ANY = "*"
NO_VERSION = 0  # of an ETag that is not ours, and so matches nothing


def tagged(data: Any, version: int, **options: Any) -> Response:
    """The answer with a thing of this version, and its ETag: the version, and a digest of what is shown."""
    digest = f"{crc32(JSONRenderer().render(data)):08x}"
    headers = {**options.pop("headers", {}), "ETag": f'"{version}-{digest}"'}
    return Response(data, headers=headers, **options)


@contextmanager
def expected_version(
    request: Request, body: Mapping[str, Any], *, required: bool = True, of: TicketKey | None = None
) -> Iterator[int | None]:
    """Around a change: the version that it is based on, by `If-Match` or else by `version` in the body; None for any.

    Raises VersionRequired if neither is sent, and StaleTag in the place of StaleVersion for an ETag. Before it asks for
    a version of a ticket, it reads the ticket, and raises what `get_ticket` raises for one that is not there.
    """
    sent = request.headers.get("If-Match", "").strip()
    if not sent:
        if required and "version" not in body:
            if of is not None:
                selectors.get_ticket(of)
            raise VersionRequired
        yield body.get("version")
        return
    try:
        yield _version_of(sent)
    except StaleVersion as stale:
        raise StaleTag(stale.current, stale.name) from stale


def _version_of(sent: str) -> int | None:
    """The version of an ETag. Of several the newest alone can be the present one, as versions only grow."""
    tags = parse_etags(sent)
    if tags == [ANY]:
        return None
    found = (re.fullmatch(r'(?:W/)?"([1-9][0-9]{0,14})-[0-9a-f]{8}"', tag) for tag in tags)
    return max((int(tag[1]) for tag in found if tag), default=NO_VERSION)
