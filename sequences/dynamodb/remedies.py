"""What to do about a request that DynamoDB calls invalid: it says what is wrong, not where, and no remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..exceptions import StorageRefused

INVALID = "ValidationException"

_KEYS = re.compile(r"key schema|key element|(?:missing|required|mismatch for)(?: the)? keys?\b", re.IGNORECASE)
_REMEDIES = {
    _KEYS: "The table has other keys than the settings say: compare 'key_names', 'key_types' and 'sort_key' with "
    "what `manage.py sequences doctor` shows, or with the keys of an action in `also`.",
    re.compile(r"index", re.IGNORECASE): "An attribute is a key of an index: give it the type of that key, and no "
    "empty text, or leave it out.",
    re.compile(r"size", re.IGNORECASE): "An item has at most 400 KB, with the names of its attributes: keep large "
    "contents elsewhere, and their address in the item.",
}


def is_about_keys(error: StorageRefused) -> bool:
    """Whether a request is invalid because the table has other keys."""
    return bool(_KEYS.search(str(error)))


def complete(error: StorageRefused, sequence: str, request: Mapping[str, Any]) -> None:
    """Let the error of an invalid request say the sequence, the tables, and what to do."""
    of = f"of the sequence {sequence!r} " if sequence else ""
    said = f"{error}".rstrip(".")
    remedy = next((remedy for pattern, remedy in _REMEDIES.items() if pattern.search(said)), "")
    error.args = (f"{said}. The request {of}is for {', '.join(dict.fromkeys(_tables(request)))}. {remedy}".rstrip(),)


def _tables(request: Mapping[str, Any]) -> Iterator[str]:
    """The tables of a request, in its order."""
    if "TableName" in request:
        yield str(request["TableName"])
    for action in request.get("TransactItems", ()):
        yield from (part["TableName"] for part in action.values())
    yield from request.get("RequestItems", ())
