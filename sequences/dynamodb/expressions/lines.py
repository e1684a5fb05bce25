"""Requests for the queue of hosts at a scope: take a place, give it back."""

from collections.abc import Mapping
from typing import Any

from .. import marshal
from .items import MARKER_EXPIRY
from .reads import REPORT_UNITS, Wire

_NAMES = {"#taken": "taken", "#given_back": "given_back", "#expires": MARKER_EXPIRY}
LEFT = ("last_value", "left_at", "counted_in")
"""The last value, when it was left (milliseconds since 1970), and a fingerprint of the tables and the partition."""


def take_place(table: str, key: Wire, *, expires: int) -> dict[str, Any]:
    """An `UpdateItem` that takes the next place and returns the line, which expires at `expires`."""
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": "SET #expires = :expires ADD #taken :one",
        "ExpressionAttributeNames": {name: _NAMES[name] for name in ("#taken", "#expires")},
        "ExpressionAttributeValues": marshal({":one": 1, ":expires": expires}),
        "ReturnValues": "ALL_NEW",
        **REPORT_UNITS,
    }


def give_place_back(table: str, key: Wire, *, place: int, left: Mapping[str, Any]) -> dict[str, Any]:
    """An `UpdateItem` that gives a place back, unless a later one is given back, and returns the line.

    It leaves the attributes `left` (those of LEFT) for the next host, or none.
    """
    names = {f"#{name}": name for name in LEFT}
    change = "".join(f", #{name} = :{name}" for name in left) or f" REMOVE {', '.join(names)}"
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": f"SET #given_back = :place{change}",
        "ConditionExpression": "#taken >= :place AND (attribute_not_exists(#given_back) OR #given_back < :place)",
        "ExpressionAttributeNames": {name: _NAMES[name] for name in ("#given_back", "#taken")} | names,
        "ExpressionAttributeValues": marshal({":place": place} | {f":{name}": value for name, value in left.items()}),
        "ReturnValues": "ALL_NEW",
        **REPORT_UNITS,
    }
