"""Items as attribute values, and back, the size of items, and the units in an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from ..exceptions import InvalidItem
from .wire import BLANK, NUMBERS, REFUSALS, check_name, from_wire, to_wire


def marshal(item: Mapping[str, Any]) -> dict[str, Any]:
    """Turn Python values into attribute values. Raises InvalidItem, which names the attribute that cannot be stored."""
    wire = {}
    for name, value in item.items():
        try:
            check_name(name)
            wire[name] = to_wire(value)
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
    """What is said of a value, and what to do about it where that is not said."""
    if isinstance(error, ArithmeticError):
        return "a number has at most 38 digits. Store it as a text."
    if "Unsupported type" in str(error):
        return f"{error}. Store it as a text, for example by str() or isoformat()."
    return str(error)


def unmarshal(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Turn attribute values into Python values. Whole numbers become `int`, others `Decimal`."""
    return {name: from_wire(value) for name, value in wire.items()}


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
    plain = Decimal(number).normalize(NUMBERS)
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
