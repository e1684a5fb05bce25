"""Requests for the line of hosts at a scope: take a place, give it back."""

from __future__ import annotations

from typing import Any

from ..dynamodb import marshal
from .items import MARKER_EXPIRY, REPORT_UNITS, Wire

__all__ = ["give_place_back", "take_place"]

_NAMES = {"#taken": "taken", "#given_back": "given_back", "#last_value": "last_value", "#expires": MARKER_EXPIRY}


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


def give_place_back(table: str, key: Wire, *, place: int, last_value: int | None) -> dict[str, Any]:
    """An `UpdateItem` that gives a place back, unless a later one is given back, and returns the line.

    It leaves the last value of the scope for the next host, or none.
    """
    values = {":place": place, **({} if last_value is None else {":last_value": last_value})}
    left = " REMOVE #last_value" if last_value is None else ", #last_value = :last_value"
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": f"SET #given_back = :place{left}",
        "ConditionExpression": "#taken >= :place AND (attribute_not_exists(#given_back) OR #given_back < :place)",
        "ExpressionAttributeNames": {name: _NAMES[name] for name in ("#given_back", "#taken", "#last_value")},
        "ExpressionAttributeValues": marshal(values),
        "ReturnValues": "ALL_NEW",
        **REPORT_UNITS,
    }
