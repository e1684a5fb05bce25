"""The shapes of JSON. The limits of the fields are in `tickets.accounts.validators`."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from tickets.accounts.validators import CREDENTIALS, TOKEN, AnyProject, Days, Password, YesOrNo
from tickets.api.limits import Limited, Schema, limits, or_null
from tickets.api.shapes import RequestBody, Shape
from tickets.types import PROJECT_KEY


class Credentials(RequestBody):
    """A name and a password."""

    username = Limited(CREDENTIALS["username"])
    password = Limited(CREDENTIALS["password"])


class GivenToken(Shape[dict[str, str]]):
    """A token as it is shown once."""

    token = serializers.CharField()


class NewApiToken(RequestBody):
    """A new token, and the password of the caller: who finds a token cannot make others by it."""

    password = Limited(CREDENTIALS["password"])
    name = Limited(TOKEN["name"])
    days = Limited(TOKEN["days"], required=False)
    read_only = Limited(TOKEN["read_only"], required=False)  # type: ignore[assignment] # the metaclass takes it
    project = Limited(TOKEN["project"], required=False, null="")


class ApiTokenSerializer(Shape[Any]):
    """A token without its secret. It opens all projects if `project` is empty. `last_used_at` is exact to an hour."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    read_only = serializers.BooleanField()  # type: ignore[assignment] # the metaclass takes it
    project = serializers.CharField()


class MadeTokenSerializer(ApiTokenSerializer):
    """A new token, with the text that is shown only now."""

    token = serializers.CharField()


@limits.register
def _(days: Days) -> Schema:
    limited = {"type": "integer", "minimum": 1, "maximum": days.most}
    return or_null(limited) if settings.API_TOKEN_MOST_DAYS is None else limited


@limits.register
def _(_: YesOrNo) -> Schema:
    return {"type": "boolean"}


@limits.register
def _(_: AnyProject) -> Schema:
    return {"type": "string", "pattern": f"^(?:{PROJECT_KEY})?$"}


@limits.register
def _(password: Password) -> Schema:
    return {"type": "string", "format": "password", "minLength": 1, "maxLength": password.most}
