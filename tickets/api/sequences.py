"""The views of sequences: validate, call, serialize, respond. Errors are answered in `exceptions`."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sequences.registry import strategies
from sequences.rest.views import NextValuesView, ValuesSerializer, require_sequence
from tickets.accounts.sign_in import author
from tickets.api.requests import REPEATABLE, NoQuery, Query, asked, key_of, page_of, page_response
from tickets.api.serializers import SequenceSerializer, TakeValues
from tickets.exceptions import NotAllowed
from tickets.repeats import token_of
from tickets.types import Page

VIEW_SEQUENCE = "sequences.view_sequence"
TAKE_VALUE = "sequences.take_value"


class ScopeQuery(Query):
    """The parameters of the address of a sequence."""

    scope = serializers.CharField(required=False, trim_whitespace=False, help_text="The scope of the last value.")


class SequenceList(APIView):
    """The sequences."""

    needs = {"GET": VIEW_SEQUENCE}

    @extend_schema("sequences_list", responses=page_of(SequenceSerializer))
    def get(self, request: Request) -> Response:
        """All sequences, with the guarantees of their strategies."""
        asked(request, NoQuery)
        page = Page(results=tuple(strategies), next_cursor=None, previous_cursor=None)
        return page_response(request, page, SequenceSerializer)


class SequenceDetail(APIView):
    """One sequence."""

    needs = {"GET": VIEW_SEQUENCE}

    @extend_schema(parameters=[ScopeQuery], responses=SequenceSerializer)
    def get(self, request: Request, name: str) -> Response:
        """The sequence, and the last value of a scope."""
        require_sequence(name)
        return Response(SequenceSerializer(name, context=asked(request, ScopeQuery)).data)


class SequenceNext(NextValuesView):
    """The next values of one sequence."""

    needs = {"POST": TAKE_VALUE}
    asked = TakeValues

    def token(self, request: Request) -> str | None:
        """The token as an order has it, so that one key cannot name an order and values."""
        return token_of(author(request), key_of(request))

    @extend_schema(parameters=REPEATABLE, request=TakeValues, responses=ValuesSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Take values; each is handed out once. A sequence that only numbers stored items refuses with 409.

        A `scope` must be one that the setting `REST_SCOPES` lists. A sequence that counts by date wants the `date` of
        the document.
        """
        require_sequence(name)
        require_scope(name, request.data)
        return super().post(request, name)


def require_scope(name: str, asked: Any) -> None:
    """Refuse a scope that the settings do not allow for REST: every new scope is a row for ever."""
    scope = asked.get("scope") if isinstance(asked, dict) else None
    if scope is not None and scope not in settings.REST_SCOPES.get(name, ()):
        raise NotAllowed(f"The scope {scope!r} of {name} is closed to REST: the setting REST_SCOPES does not name it.")
