"""From Python values to attribute values and back, the size of items, and the units in an answer."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from boto3.dynamodb.types import DYNAMODB_CONTEXT, TypeDeserializer, TypeSerializer

from ..exceptions import InvalidItem

__all__ = [
    "BLANK",
    "Blank",
    "filled",
    "fingerprint",
    "has_blanks",
    "item_size",
    "marshal",
    "unmarshal",
    "used_units",
    "write_units",
]

BLANK = "blank"
"""In the place of a type of DynamoDB: what stands there is filled in before it is sent (see `filled`)."""


@dataclass(frozen=True, slots=True)
class Blank:
    """What is filled in when the number of an item is known: a text by a template, or the number, without one."""

    template: str


# What the serializer, decimal's traps and too deep a value raise. No base classes: a signal handler may raise its own
# exception, for example for a time limit, which is not about the item.
REFUSALS = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)


class _ToWire(TypeSerializer):
    """Refuses what DynamoDB would refuse: empty sets, names that are not text, text that is not valid Unicode."""

    def serialize(self, value: Any) -> Any:
        if type(value) is str:  # most values are; boto3 would ask for five other types first
            return {"S": self._serialize_s(value)}
        return {BLANK: value.template} if type(value) is Blank else super().serialize(value)

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
        if not value:  # an empty set has no type
            raise ValueError("a set must not be empty")
        return [self.serialize(member)["N"] for member in value]


@lru_cache(1024)  # an application has few names, and uses them in every item
def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name {name!r} is not a text of at least one character")
    name.encode()


_to_wire = _ToWire()


class _FromWire(TypeDeserializer):
    """Numbers become `int`; a number with a fraction, which we never write, becomes `Decimal`.

    Bytes may come as base64, the form that they have in JSON.
    """

    def deserialize(self, value: Any) -> Any:
        if "S" in value:  # the most frequent types first, as a list has thousands of values
            return value["S"]
        if "N" in value:
            return self._deserialize_n(value["N"])
        return [self.deserialize(member) for member in value["L"]] if "L" in value else super().deserialize(value)

    def _deserialize_b(self, value: bytes | str) -> Any:
        return super()._deserialize_b(b64decode(value) if isinstance(value, str) else value)  # type: ignore[misc]

    def _deserialize_n(self, value: str) -> int | Decimal:
        if value.isdecimal():
            return int(value)
        number = Decimal(value)
        return int(number) if number == number.to_integral_value() else number


_from_wire = _FromWire()


def marshal(item: Mapping[str, Any]) -> dict[str, Any]:
    """Turn Python values into attribute values. Raises InvalidItem, which names the attribute that cannot be stored."""
    wire = {}
    for name, value in item.items():
        try:
            _check_name(name)
            wire[name] = _to_wire.serialize(value)
        except REFUSALS as error:
            raise InvalidItem(f"The attribute {name!r} cannot be stored: {_remedied(error)}") from error
    return wire


def has_blanks(wire: Mapping[str, Any]) -> bool:
    """Whether something in these attribute values must be filled in before they are sent."""
    return _have_blanks(wire.values())


def _have_blanks(values: Iterable[Mapping[str, Any]]) -> bool:
    for value in values:
        if "S" in value or "N" in value:  # most are
            continue
        if BLANK in value or _have_blanks(value.get("M", {}).values()) or _have_blanks(value.get("L", ())):
            return True
    return False


def filled(wire: Mapping[str, Any], number: int, write: Callable[[str], str]) -> dict[str, Any]:
    """The attribute values with this number in their blanks, and with what `write` makes of the templates in them."""

    def fill(value: Mapping[str, Any]) -> Mapping[str, Any]:
        if BLANK in value:
            return {"S": write(value[BLANK])} if value[BLANK] else {"N": str(number)}
        if "M" in value:
            return {"M": filled(value["M"], number, write)}
        return {"L": [fill(member) for member in value["L"]]} if "L" in value else value

    return {name: fill(value) for name, value in wire.items()}


def _remedied(error: Exception) -> str:
    """What boto3 says of a value, and what to do about it where it does not say that."""
    if isinstance(error, ArithmeticError):
        return "a number has at most 38 digits. Store it as a text."
    if "Unsupported type" in str(error):
        return f"{error}. Store it as a text, for example by str() or isoformat()."
    return str(error)


def unmarshal(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Turn attribute values into Python values. Whole numbers become `int`, others `Decimal`."""
    return {name: _from_wire.deserialize(value) for name, value in wire.items()}


def item_size(wire: Mapping[str, Any]) -> int:
    """An upper bound of an item's size in DynamoDB in bytes, cheap to compute: the length of its values as text."""
    return len(repr(wire).encode())


def write_units(size: int) -> int:
    """The units of a write of so many bytes outside of a transaction; a transaction takes twice as many."""
    return max(1, -(-size // 1024))


def used_units(answer: Mapping[str, Any]) -> float:
    """The capacity units that an answer reports, over all tables; 0.0 if it reports none."""
    consumed = answer.get("ConsumedCapacity") or ()
    tables = consumed if isinstance(consumed, list) else (consumed,)
    return float(sum(table.get("CapacityUnits", 0.0) for table in tables if table))


def fingerprint(wire: Mapping[str, Any]) -> str:
    """A text of 64 characters: the same for equal items, different for others.

    The order of a set does not matter, and numbers are compared by value: 1 equals 1.0.
    """
    text = json.dumps({name: _canonical(value) for name, value in wire.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Mapping[str, Any]) -> dict[str, Any]:
    """One form for all equal attribute values (`{type: content}`)."""
    ((kind, content),) = value.items()
    return {kind: _FORMS[kind](content) if kind in _FORMS else content}


def _plain(number: str) -> str:
    """A number without exponent and trailing zeros, with all its 38 digits; Decimal's default context has only 28."""
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
