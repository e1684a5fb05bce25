"""The metrics at `/metrics`, for a monitor that knows METRICS_TOKEN; without that setting there is no such address.

The middleware stands beside the one for health: a monitor asks each machine by its number, not by the site's name.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare

PATH = "/metrics"


class Metrics:
    """Answers the one address before anything else looks at the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """What all processes of this site have measured, or what the site answers."""
        if request.path != PATH or not settings.METRICS_TOKEN:
            return self.get_response(request)
        if request.method != "GET":
            return HttpResponse(status=405, headers={"Allow": "GET"})
        if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}"):
            return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})
        from sequences.metrics.prometheus import CONTENT_TYPE, exposition

        return HttpResponse(exposition(), content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})
