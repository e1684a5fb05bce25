"""In which form an answer is written: JSON, unless a view has other forms."""

from django.http.request import MediaType
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request

PROBLEM = "application/problem+json"


class Negotiation(DefaultContentNegotiation):
    """The REST framework's. Who accepts problems alone, or says nothing, gets JSON: errors are problems anyhow."""

    def get_accept_list(self, request: Request) -> list[str]:
        """The media types that the caller accepts. A quality of 0 refuses one."""
        sent = [one for one in super().get_accept_list(request) if one.partition(";")[0] not in ("", PROBLEM)]
        return [one for one in sent or ["*/*"] if MediaType(one).quality]
