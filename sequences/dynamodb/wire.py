"""One Python value as an attribute value, and back, as boto3 does both, but without boto3."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from decimal import Clamped, Context, Decimal, Inexact, Overflow, Rounded, Underflow
from functools import lru_cache
from types import NoneType
from typing import Any

from . import foreign

BLANK = "blank"
"""In the place of a type of DynamoDB: what stands there is filled in before it is sent (see `filled`)."""
NUMBERS = Context(Emin=-128, Emax=126, prec=38, traps=[Clamped, Overflow, Inexact, Rounded, Underflow])
"""The numbers that DynamoDB has; another one raises ArithmeticError."""
# What `to_wire`, decimal's traps and too deep a value raise. No base classes: a signal handler may raise its own
# exception, for example for a time limit, which is not about the item.
REFUSALS = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Blank:
    """What is filled in when the number of an item is known: a text by a template, or the number, without one."""

    template: str


def to_wire(value: Any) -> dict[str, Any]:
    """An attribute value. Raises one of REFUSALS for what DynamoDB would refuse, too.

    That is an empty set, a name that is not text, and text that is not valid Unicode.
    """
    kind = _KINDS.get(type(value)) or _kind(value)
    return {kind: _WRITERS[kind](value)}


def _kind(value: Any) -> str:
    """The type that DynamoDB has for a value of another class than most."""
    if found := next((kind for known, kind in _KINDS.items() if isinstance(value, known)), ""):
        return found
    if isinstance(value, float):
        raise TypeError("Float types are not supported. Use Decimal types instead.")
    if isinstance(value, Set):
        if not value:  # an empty set has no type
            raise ValueError("a set must not be empty")
        kinds = {_kind(member) for member in value}
        if len(kinds) == 1 and kinds <= {"S", "N", "B"}:
            return f"{kinds.pop()}S"
    elif isinstance(value, foreign.boto3.dynamodb.types.Binary):
        return "B"
    raise TypeError(f'Unsupported type "{type(value)}" for value "{value}"')


def _text(value: str) -> str:
    if not value.isascii():
        value.encode()
    return value


def _number(value: int | Decimal) -> str:
    number = NUMBERS.create_decimal(value)
    if not number.is_finite():
        raise TypeError("Infinity and NaN not supported")
    return str(number)


def _bytes(value: Any) -> bytes | bytearray:
    content: bytes | bytearray = value if isinstance(value, bytes | bytearray) else value.value
    return content


def _members(value: Mapping[Any, Any]) -> dict[str, Any]:
    for name in value:
        check_name(name)
    return {name: to_wire(member) for name, member in value.items()}


@lru_cache(1024)  # an application has few names, and uses them in every item
def check_name(name: object) -> None:
    """Raise TypeError or ValueError for the name of an attribute that DynamoDB would refuse."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name {name!r} is not a text of at least one character")
    name.encode()


_KINDS: Mapping[type, str] = {
    str: "S",
    NoneType: "NULL",
    bool: "BOOL",
    int: "N",
    Decimal: "N",
    bytes: "B",
    bytearray: "B",
    dict: "M",
    Mapping: "M",
    list: "L",
    tuple: "L",
    Blank: BLANK,
}
_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "S": _text,
    "NULL": lambda _: True,
    "BOOL": lambda value: value,
    "N": _number,
    "B": _bytes,
    "M": _members,
    "L": lambda value: [to_wire(member) for member in value],
    "SS": lambda value: [_text(member) for member in value],
    "NS": lambda value: [_number(member) for member in value],
    "BS": lambda value: [_bytes(member) for member in value],
    BLANK: lambda value: value.template,
}


def from_wire(value: Mapping[str, Any]) -> Any:
    """The Python value of an attribute value.

    A number becomes `int`, and with a fraction, which we never write, `Decimal`. Bytes, which may come as base64, the
    form that they have in JSON, become boto3's `Binary`. Raises LookupError, TypeError or ValueError for what is none.
    """
    ((kind, content),) = value.items()
    return _READERS[kind](content)


def _number_of(content: str) -> int | Decimal:
    if content.isdecimal():
        return int(content)
    number = Decimal(content)
    return int(number) if number == number.to_integral_value() else number


def _binary_of(content: bytes | str) -> object:
    return foreign.boto3.dynamodb.types.Binary(b64decode(content) if isinstance(content, str) else content)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "S": lambda content: content,
    "NULL": lambda _: None,
    "BOOL": lambda content: content,
    "N": _number_of,
    "B": _binary_of,
    "M": lambda content: {name: from_wire(member) for name, member in content.items()},
    "L": lambda content: [from_wire(member) for member in content],
    "SS": set,
    "NS": lambda content: {_number_of(member) for member in content},
    "BS": lambda content: {_binary_of(member) for member in content},
}
