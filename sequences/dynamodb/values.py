"""From Python values to attribute values and back, their sizes, and what an answer cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import DYNAMODB_CONTEXT, TypeDeserializer, TypeSerializer

from ..exceptions import InvalidItem

__all__ = ["fingerprint", "item_size", "marshal", "unmarshal", "used_units"]


# What the serializer raises, and what decimal's traps and the depth of a value do. Nothing wider: a signal's handler
# may throw an exception of its own, as for a time limit, that is not about the item.
REFUSALS = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)


class _ToWire(TypeSerializer):
    """Refuses at once what DynamoDB would refuse: empty sets, names that are no text, text that is no Unicode."""

    def _serialize_s(self, value: str) -> str:
        if not value.isascii():
            value.encode()
        return value

    def _serialize_m(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        for name in value:
            _check_name(name)
        return {name: self.serialize(member) for name, member in value.items()}

    def _serialize_ss(self, value: Sequence[str]) -> list[str]:
        return [self._serialize_s(member) for member in value]

    def _serialize_ns(self, value: Sequence[Any]) -> list[str]:
        if not value:  # of what type an empty set is, nobody can tell
            raise ValueError("a set must not be empty")
        return [self.serialize(member)["N"] for member in value]


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name {name!r} is no text of at least one character")
    name.encode()


_to_wire = _ToWire()


class _FromWire(TypeDeserializer):
    """Numbers come back as `int`; one with a fraction, which we never write, as `Decimal`."""

    def _deserialize_n(self, value: str) -> int | Decimal:
        number = Decimal(value)
        return int(number) if number == number.to_integral_value() else number


_from_wire = _FromWire()


def marshal(item: Mapping[str, Any]) -> dict[str, Any]:
    """Python values to attribute values. Raises InvalidItem, which names the attribute that DynamoDB cannot hold."""
    wire = {}
    for name, value in item.items():
        try:
            _check_name(name)
            wire[name] = _to_wire.serialize(value)
        except REFUSALS as error:
            raise InvalidItem(f"The attribute {name!r} cannot be stored: {error}") from error
    return wire


def unmarshal(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Attribute values to Python values; numbers become `int`."""
    return {name: _from_wire.deserialize(value) for name, value in wire.items()}


def item_size(wire: Mapping[str, Any]) -> int:
    """An upper bound of an item's bytes in DynamoDB, cheap to compute: its attribute values as text."""
    return len(repr(wire).encode())


def used_units(answer: Mapping[str, Any]) -> float:
    """The capacity units that an answer reports, of all tables; 0.0 when it reports none."""
    consumed = answer.get("ConsumedCapacity") or ()
    tables = consumed if isinstance(consumed, list) else (consumed,)
    return float(sum(table.get("CapacityUnits", 0.0) for table in tables if table))


def fingerprint(wire: Mapping[str, Any]) -> str:
    """A text of 64 characters that is the same for equal items and for no others.

    Sets are equal in any order, and numbers are equal by value: 1 and 1.0.
    """
    text = json.dumps({name: _canonical(value) for name, value in wire.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Mapping[str, Any]) -> dict[str, Any]:
    """An attribute value (`{type: content}`) in the one form that stands for all that are equal to it."""
    ((kind, content),) = value.items()
    return {kind: _FORMS[kind](content) if kind in _FORMS else content}


def _plain(number: str) -> str:
    """A number without exponent and trailing zeros; all 38 digits of it, where Decimal's own context keeps 28."""
    plain = Decimal(number).normalize(DYNAMODB_CONTEXT)
    return format(plain, "f") if plain else "0"


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "M": lambda content: {name: _canonical(member) for name, member in content.items()},
    "L": lambda content: [_canonical(member) for member in content],
    "N": _plain,
    "NS": lambda content: sorted(map(_plain, content)),
    "B": lambda content: bytes(content).hex(),
    "BS": lambda content: sorted(bytes(member).hex() for member in content),
    "SS": sorted,
}
