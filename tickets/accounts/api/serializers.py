"""The shapes of JSON. The limits of the fields are in `tickets.accounts.validators`."""

from typing import Any

from rest_framework import serializers

from tickets.accounts.validators import CREDENTIALS, TOKEN
from tickets.api.shapes import Limited, RequestBody, Shape


class Credentials(RequestBody):
    """A name and a password."""

    limited = needed = CREDENTIALS


class GivenToken(Shape[dict[str, str]]):
    """A token as it is shown once."""

    token = serializers.CharField()


class NewApiToken(RequestBody):
    """A new token, and the password of the caller: who finds a token cannot make others by it."""

    limited, needed = TOKEN, ("name",)
    password = Limited(CREDENTIALS["password"])
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
