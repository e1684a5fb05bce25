"""A view that hands out the next values of a sequence.

    path("sequences/<str:name>/next/", NextValuesView.as_view(permission_classes=[IsAdminUser]))

Who may take values is decided by its `permission_classes`; without them, by those of the project, and in a project
without any, everybody may. Open it with care, because a value that somebody took is gone.
"""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.views import exception_handler as handler_of_framework

from ..exceptions import SequenceError
from ..registry import strategies
from ..services import reserve_values
from ..services.arguments import check_scope
from ..services.texts import format_value
from ..storage import personal_token
from .answers import exception_handler
from .fields import DayField, NumberField, TextField
from .idempotency import idempotency_key, replay_headers

__all__ = ["NextValues", "NextValuesView", "ValuesSerializer", "require_sequence"]


class NextValues(serializers.Serializer[Any]):
    """How many values to take, in which scope, and for which date, if the sequence counts periods."""

    count = NumberField(min_value=1, max_value=1000, default=1)
    scope = TextField(allow_null=True, default=None)
    date = DayField(allow_null=True, default=None)


class ValuesSerializer(serializers.Serializer[Any]):
    """Values that were handed out, in increasing order, and the text of each as the sequence's FORMAT writes it."""

    values = serializers.ListField(child=NumberField())
    texts = serializers.ListField(child=serializers.CharField())


class NextValuesView(APIView):
    """The next values of one sequence, whose strategy can reserve them. Errors are problems (see `answers`)."""

    asked: type[serializers.Serializer[Any]] = NextValues

    def get_exception_handler(self) -> Callable[..., Any]:
        """Ours where the project names none: REST framework's own knows no error of sequences."""
        handler: Callable[..., Any] = super().get_exception_handler()
        return exception_handler if handler is handler_of_framework else handler

    def token(self, request: Request) -> str | None:
        """The idempotency token of a request: other people's are others. An application may make it as its own are."""
        return personal_token(request.user.get_username(), idempotency_key(request))

    def post(self, request: Request, name: str) -> Response:
        """Take values; each is handed out once. A repeat with the same `Idempotency-Key` gets the same ones."""
        require_sequence(name)
        asked = self.asked(data=request.data)
        asked.is_valid(raise_exception=True)
        wanted, token = asked.validated_data, self.token(request)
        place = {"scope": wanted["scope"], "date": wanted["date"]}
        check_scope(wanted["scope"])
        if wanted["date"] is None and strategies.of(name, wanted["scope"]).naming.uses_dates:
            # today would be another day for a repeat, and the texts would be others
            raise ValidationError({"date": "The numbers of this sequence depend on it: send the date of the document."})
        try:
            taken = reserve_values(wanted["count"], name, **place, idempotency_token=token)
        except SequenceError:
            raise
        except ValueError as error:
            raise ValidationError({"date": str(error)}) from error
        texts = [format_value(value, name, **place) for value in taken.values]
        answer = ValuesSerializer({"values": taken.values, "texts": texts})
        return Response(answer.data, headers=replay_headers(taken.replayed))


def require_sequence(name: str) -> None:
    """Refuse a name that is not in the settings."""
    if name not in strategies:
        raise Http404(f"There is no sequence {name}.")
