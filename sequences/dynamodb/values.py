"""Items as attribute values, and back, as boto3 does both, but without boto3; JSON, sizes, and the units of answers."""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from decimal import Clamped, Context, Decimal, Inexact, Overflow, Rounded, Underflow
from functools import lru_cache, partial
from types import NoneType
from typing import Any

from ..exceptions import InvalidItem
from . import foreign

BLANK = "blank"
"""In the place of a type of DynamoDB: what stands there is filled in before it is sent (see `filled`)."""
NUMBERS = Context(Emin=-128, Emax=126, prec=38, traps=[Clamped, Overflow, Inexact, Rounded, Underflow])
"""The numbers that DynamoDB has; another one raises ArithmeticError."""
ALWAYS_FIT = 10**NUMBERS.prec  # whole numbers below this are among them, which need no look
MOST_LEVELS = 32  # of lists and maps in each other; of what has a hundred more, no JSON can be made
# What `to_wire`, decimal's traps and too deep a value raise. No base classes: a signal handler may raise its own
# exception, for example for a time limit, which is not about the item.
REFUSALS = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)


def _base64(value: Any) -> str:
    """The JSON of bytes, which an attribute value of type B has."""
    return b64encode(value).decode()


try:
    import orjson
except ImportError:

    def to_json(value: Any) -> bytes:
        """The JSON of a request."""
        return json.dumps(value, default=_base64, separators=(",", ":")).encode()

    from_json: Callable[[bytes], Any] = json.loads
else:
    to_json, from_json = partial(orjson.dumps, default=_base64), orjson.loads


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
    if type(value) is int and abs(value) < ALWAYS_FIT:
        return str(value)
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
    "L": lambda value: [*map(to_wire, value)],
    "SS": lambda value: [*map(_text, value)],
    "NS": lambda value: [*map(_number, value)],
    "BS": lambda value: [*map(_bytes, value)],
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


def marshal(item: Mapping[str, Any]) -> dict[str, Any]:
    """Turn Python values into attribute values. Raises InvalidItem, which names the attribute that cannot be stored."""
    if not isinstance(item, Mapping):
        raise InvalidItem(f"The item is {item!r}; it must map attribute names to values.")
    wire = dict[str, Any]()
    for name, value in item.items():
        try:
            check_name(name)
            if type(value) is str and value.isascii():  # most are
                wire[name] = {"S": value}
            else:
                wire[name] = written = to_wire(value)
                if (levels := _levels(written)) > MOST_LEVELS:
                    raise ValueError(_too_deep(levels))
        except REFUSALS as error:
            raise InvalidItem(f"The attribute {name!r} cannot be stored: {_remedied(error)}") from error
    return wire


def _levels(value: Mapping[str, Any]) -> int:
    """How many lists and maps lie in each other."""
    if "M" not in value and "L" not in value:
        return 0
    members = value["M"].values() if "M" in value else value["L"]
    return 1 + max(map(_levels, members), default=0)


def have_blanks(values: Iterable[Mapping[str, Any]]) -> bool:
    """Whether something in these attribute values must be filled in before they are sent."""
    for value in values:
        if "S" in value or "N" in value:  # most are
            continue
        members = value["M"].values() if "M" in value else value.get("L", ())
        if BLANK in value or have_blanks(members):
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
    if isinstance(error, RecursionError):
        return _too_deep("hundreds of")
    if "Unsupported type" in str(error):
        return f"{error}. Store it as a text, for example by str() or isoformat()."
    return f"{str(error).removesuffix('.')}."


def _too_deep(levels: int | str) -> str:
    said = f"it has {levels} levels of lists and maps in each other; DynamoDB takes {MOST_LEVELS}"
    return f"{said}. Store it as a text, for example as JSON."


def unmarshal(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Turn attribute values into Python values. Whole numbers become `int`, others `Decimal`."""
    return {name: value["S"] if "S" in value else from_wire(value) for name, value in wire.items()}  # most are texts


def item_size(wire: Mapping[str, Any]) -> int:
    """An upper bound of an item's size in DynamoDB in bytes, cheap to compute: the length of its values as JSON."""
    return len(to_json(wire))


def write_units(size: int) -> int:
    """The units of a write of so many bytes outside of a transaction; a transaction takes twice as many."""
    return max(1, -(-size // 1024))


def used_units(answer: Mapping[str, Any]) -> float:
    """The capacity units that an answer reports, over all tables; 0.0 if it reports none."""
    consumed = answer.get("ConsumedCapacity") or ()
    if isinstance(consumed, Mapping):  # of the one table of most requests
        return float(consumed.get("CapacityUnits", 0.0))
    return float(sum([table.get("CapacityUnits", 0.0) for table in consumed if table]))


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
