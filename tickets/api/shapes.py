"""What all shapes of JSON have in common.

A request with an unknown field is refused. Otherwise a change with a misspelt name would seem to succeed.
"""

from functools import cache
from typing import Any, TypeVar

from django.utils.functional import cached_property
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from tickets import validators

T = TypeVar("T")


class Shape(serializers.Serializer[T]):
    """A serializer whose fields are built once, not for each request. They keep nothing of a request."""

    @cached_property
    def fields(self) -> BindingDict:
        return _fields(type(self))


@cache
def _fields(shape: type[Shape[Any]]) -> BindingDict:
    return super(Shape, shape()).fields


class RequestBody(Shape[Any]):
    """The body of a request. Only declared fields are allowed."""

    default_error_messages = {"invalid": "The body must be a JSON object."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The values of the fields. Each unknown field is an error."""
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            message = "This field does not exist, or cannot be set here."
            raise serializers.ValidationError({validators.readable(name): [message] for name in sorted(unknown)})
        return dict(super().to_internal_value(data))
