"""What schemathesis cannot know of valid requests: JSON Schema has no words for it. schemathesis loads this file."""

from typing import Any
from uuid import uuid4

import schemathesis

USED_KEYS: set[str] = set()
EXISTING = {"user": "soak", "name": "orders"}
LONG = 500  # characters
OWN_TOKEN = 1  # with which all requests are sent


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Leave the limits of long texts to tests of their own: texts of that length take minutes to make."""
    _shorten(raw_schema)


def _shorten(node: Any) -> None:
    if isinstance(node, dict) and node.get("maxLength", 0) > LONG:
        del node["maxLength"]
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _shorten(inner)


@schemathesis.hook
def before_call(context: Any, case: Any, **_: Any) -> None:
    """Make a valid request one that can succeed, and keep the token of all requests."""
    if case.meta and case.meta.generation.mode.is_positive:
        _make_possible(case)
    if "/auth/tokens/{number}/" in case.path and str(case.path_parameters.get("number")) == str(OWN_TOKEN):
        case.path_parameters["number"] = OWN_TOKEN + 1


def _make_possible(case: Any) -> None:
    """Only the site makes cursors; the version is the present one; keys are used once; dates are none of the future."""
    if "If-Match" in {parameter.name for parameter in case.operation.headers}:
        case.headers = {**(case.headers or {}), "If-Match": "*"}
    if case.headers and (key := case.headers.get("Idempotency-Key")):
        if key in USED_KEYS:
            case.headers["Idempotency-Key"] = uuid4().hex
        USED_KEYS.add(key)
    case.path_parameters.update({name: EXISTING[name] for name in EXISTING.keys() & case.path_parameters.keys()})
    if case.path.endswith("/move/") and isinstance(case.body, dict):
        here = str(case.path_parameters.get("key", "")).upper()
        case.body["project"] = "ABC" if here.startswith("XYZ-") else "XYZ"  # a ticket cannot move to where it is
    for place in (case.query, case.body):
        if isinstance(place, dict):
            for name in ("cursor", "date", "scope"):  # whether a date or a scope is taken depends on the sequence
                place.pop(name, None)
