"""What all shapes of JSON have in common.

A request with an unknown field is refused. Otherwise a change with a misspelt name would seem to succeed.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, date, datetime
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from django.utils.functional import cached_property
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from tickets.validators import Schema, Validator, or_null, readable

T = TypeVar("T")
MOST_NAMED = 20  # of unknown fields
Field = serializers.Field[Any, Any, Any, Any]


def moment(at: datetime) -> datetime:
    """A moment as the API writes it: in UTC."""
    return at if at.tzinfo is UTC else at.astimezone(UTC)


class Named(serializers.CharField):
    """A text that stands for something else, such as a key or an amount."""


WRITTEN: Mapping[type[Field], Callable[[Any], Any]] = {
    Named: str,
    serializers.DateField: date.isoformat,
    serializers.DateTimeField: moment,
    serializers.ListField: lambda values: [*map(str, values)],
}
"""How the values of some fields are written. Those of others are JSON already."""


class Shape(serializers.Serializer[T]):
    """A serializer whose fields are built once, not for each request. They keep nothing of a request.

    It writes a thing without asking each field, which takes several times as long: a list has hundreds of things. What
    is None is null, or left out if its field is not required.
    """

    limited: ClassVar[Mapping[str, Validator]] = {}
    """The fields whose limits are left to validators, beside those that are declared."""
    needed: ClassVar[Collection[str]] = ()
    """Those of them that cannot be left out."""

    def get_fields(self) -> dict[str, Field]:
        """All fields, for the first request. What is declared, too, stands for the field of its name in `limited`."""
        declared = super().get_fields()
        limited = {
            name: declared.get(name) or Limited(validator, required=name in self.needed)
            for name, validator in self.limited.items()
        }
        return {**{name: field for name, field in declared.items() if name not in limited}, **limited}

    @cached_property
    def fields(self) -> BindingDict:
        return _fields(type(self))

    @classmethod
    def shown(cls, thing: T) -> dict[str, Any]:
        """A thing as the API writes it."""
        return _one(cls).to_representation(thing)

    @classmethod
    def checked(cls, sent: Any) -> dict[str, Any]:
        """The values of what was sent. Raises ValidationError."""
        return dict(_one(cls).run_validation(sent))

    def to_representation(self, thing: T) -> dict[str, Any]:
        """The attributes of a thing, by the names of the fields."""
        reading, writing, optional = _ways(type(self))
        shown = {name: read(thing) for name, read in reading}
        for name, write in writing:
            if (value := shown[name]) is not None:
                shown[name] = write(value)
            elif name in optional:
                del shown[name]
        return shown


@cache
def _one(shape: type[Shape[Any]]) -> Shape[Any]:
    """The one that serves all requests, as it keeps nothing of them."""
    return shape()


@cache
def _fields(shape: type[Shape[Any]]) -> BindingDict:
    return super(Shape, shape()).fields


Ways = list[tuple[str, Callable[[Any], Any]]]


@cache
def _ways(shape: type[Shape[Any]]) -> tuple[Ways, Ways, set[str]]:
    """What reads the values of fields, what writes those that are no JSON yet, and the fields that may be left out."""
    fields = _fields(shape).items()
    reading = [(name, attrgetter(field.source or name)) for name, field in fields]
    writing = [(name, write) for name, field in fields if (write := _writer(field))]
    return [*reading], writing, {name for name, field in fields if not field.required}


def _writer(field: Field) -> Callable[[Any], Any] | None:
    if isinstance(field, serializers.BaseSerializer):
        return field.to_representation
    return WRITTEN.get(type(field), None if field.required else lambda value: value)


class RequestBody(Shape[Any]):
    """The body of a request. Only declared fields are allowed."""

    default_error_messages = {"invalid": "The body must be a JSON object."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The values of the fields. Each unknown field is an error; of very many the first are named."""
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            message, named = "This field does not exist, or cannot be set here.", sorted(unknown)[:MOST_NAMED]
            raise serializers.ValidationError({readable(name): [message] for name in named})
        return dict(super().to_internal_value(data))


class Sent(Field):
    """A value as it was sent: the services say what is wrong with it."""

    def to_internal_value(self, data: Any) -> Any:
        """The same."""
        return data


class Limited(Sent):
    """A value whose limits are left to a validator. `null` is what null stands for."""

    def __init__(self, validator: Validator, *, null: Any = None, **options: Any) -> None:
        super().__init__(help_text=validator.hint, **options)
        self.validator = validator
        self.null = null

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """The value as it was sent, or what null stands for."""
        if data is serializers.empty:
            return super().run_validation(data)
        return self.null if data is None else data


class Limits(OpenApiSerializerFieldExtension):
    """The schema of a field whose limits are left to a validator."""

    target_class = Limited

    def map_serializer_field(self, auto_schema: AutoSchema, direction: str) -> Schema:
        """The limits of the validator, and null if it stands for something."""
        schema: Schema = self.target.validator.schema
        return schema if self.target.null is None else or_null(schema)
