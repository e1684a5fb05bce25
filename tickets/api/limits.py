"""Fields whose limits are left to a validator, and what the document of the API says about them, in JSON Schema.

What JSON Schema cannot say: a date of a document or a cursor may be refused although it has the right form.
"""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from tickets import validators
from tickets.types import PROJECT_KEY, Status

Schema = dict[str, Any]

OF_TEXTS: Mapping[str, Schema] = {
    "VisibleText": {
        "type": "string",
        "description": "A text with visible characters. Spaces around it are removed.",
        "pattern": validators.SEEN,
    },
    "VisibleTextOrNothing": {
        "type": "string",
        "description": "A text with visible characters, or none. Spaces around it are removed; one of spaces is empty.",
        "pattern": f"^[ \\t\\n\\r]*$|{validators.SEEN}",
    },
}
"""The shapes of texts, to which each field adds its own limits."""


class Limited(serializers.Field[Any, Any, Any, Any]):
    """A value as it was sent. The services refuse what breaks its limits. `null` is what null stands for."""

    def __init__(self, validator: validators.Validator, *, null: Any = None, **options: Any) -> None:
        super().__init__(help_text=validator.hint, **options)
        self.validator = validator
        self.null = null

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        """What null stands for is not looked at again."""
        return (True, self.null) if data is None else super().validate_empty_values(data)

    def to_internal_value(self, data: Any) -> Any:
        """The same."""
        return data


class Limits(OpenApiSerializerFieldExtension):
    """The schema of a field whose limits are left to a validator."""

    target_class = Limited

    def map_serializer_field(self, auto_schema: AutoSchema, direction: str) -> Schema:
        """The limits of the validator, and null if it stands for something."""
        schema = limits(self.target.validator)
        return schema if self.target.null is None else or_null(schema)


@singledispatch
def limits(validator: validators.Validator) -> Schema:
    """The values that a validator takes. Every kind of validator registers its own function."""
    raise NotImplementedError(f"{type(validator).__name__} has no limits in JSON Schema.")


@limits.register
def _(text: validators.Text) -> Schema:
    shape = {"$ref": f"#/components/schemas/{'VisibleText' if text.least else 'VisibleTextOrNothing'}"}
    length = {"minLength": text.least, "maxLength": text.most}
    limited = {"type": "string", **length, "not": {"pattern": f"[{text.refused}]"}, "allOf": [shape]}
    return limited if text.least else or_null(limited)


def or_null(schema: Schema) -> Schema:
    """The values of a schema, and null."""
    return {"anyOf": [schema, {"type": "null"}]}


@limits.register
def _(labels: validators.Labels) -> Schema:
    return {"type": "array", "items": limits(labels.each), "maxItems": labels.most}


@limits.register
def _(_: validators.ProjectKeys) -> Schema:
    return {"type": "string", "pattern": f"^{PROJECT_KEY}$"}


@limits.register
def _(one_of: validators.OneOf) -> Schema:
    return {"type": "string", "enum": [value.value for value in one_of.values]}


@limits.register
def _(_: validators.AnyStatuses) -> Schema:
    return {"type": "array", "items": {"type": "string", "enum": [*Status]}}


@limits.register
def _(_: validators.Moments) -> Schema:
    return {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}
