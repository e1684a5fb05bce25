"""Writes of items. A "put" is the inner dict that `PutItem` and an action of `TransactWriteItems` have in common."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .. import marshal
from .key_schema import KeySchema
from .reads import REPORT_UNITS, Wire

MARKER_EXPIRY = "marker_expires_at"
"""When a marker expires (seconds since 1970). DynamoDB deletes rows by this attribute, so items must not have it."""
FIRST_VERSION = 1
"""The version of an item that has no attribute `version`."""
OLD_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


def expressed(
    update: str = "", condition: str = "", values: Mapping[str, Any] = {}, names: Mapping[str, str] = {}
) -> dict[str, Any]:
    """The members of a request for its expressions, with these :values.

    A #name stands for the attribute of that name, unless `names` has another one for it ({"#name": ...}).
    """
    members = {
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {**_names_in(f"{update} {condition}"), **names},
        "ExpressionAttributeValues": marshal({f":{name}": value for name, value in values.items()}),
    }
    return {name: member for name, member in members.items() if member}


@lru_cache(256)  # there are few expressions, and each write has them
def _names_in(expressions: str) -> Mapping[str, str]:
    return {alias: alias[1:] for alias in re.findall(r"#\w+", expressions)}


def put_if_absent(schema: KeySchema, item: Wire) -> dict[str, Any]:
    """A put on the condition that no item has the same key."""
    return {
        "TableName": schema.table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#partition)",
        "ExpressionAttributeNames": {"#partition": schema.partition_name},
        **OLD_ITEM,
    }


def change_row(
    table: str,
    key: Wire,
    *,
    unchanged: Mapping[str, Any],
    sets: Mapping[str, Any] = {},
    removes: Sequence[str] = (),
    at_least: Mapping[str, int] = {},
    below: Mapping[str, int] = {},
    if_missing: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """An update of a row in which the attributes in `unchanged` have these values (None: they are missing).

    Those in `at_least` have these values or higher ones, those in `below` lower ones. Those in `if_missing` are set
    only where they are missing. A name with a dot is a member of a map.
    """
    assert not {*sets, *if_missing} & {*removes}, "DynamoDB refuses to set and to remove the same attribute"
    alias, names = _aliases((*unchanged, *at_least, *below, *sets, *if_missing, *removes))
    values = dict[str, Any]()

    def said(word: str, given: Mapping[str, Any], text: str) -> Iterator[str]:
        for n, (path, value) in enumerate(given.items()):
            if value is None and word == "old":
                yield f"attribute_not_exists({alias[path]})"
            else:
                values[f":{word}_{n}"] = value
                yield text.format(alias[path], f":{word}_{n}")

    conditions = [*said("old", unchanged, "{} = {}"), *said("least", at_least, "{} >= {}")]
    conditions += said("below", below, "{} < {}")
    settings = [*said("new", sets, "{} = {}"), *said("first", if_missing, "{0} = if_not_exists({0}, {1})")]
    update = f"SET {', '.join(settings)} " if settings else ""
    update += f"REMOVE {', '.join(alias[path] for path in removes)}" if removes else ""
    request = {"TableName": table, "Key": key, "UpdateExpression": update.strip(), "ExpressionAttributeNames": names}
    if conditions:
        request["ConditionExpression"] = " AND ".join(conditions)
    if values:
        request["ExpressionAttributeValues"] = marshal(values)
    return {**request, **OLD_ITEM}


def _aliases(paths: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """How an expression says each path, and the attribute name for each alias in it."""
    alias = {path: ".".join(f"#{re.sub('[^A-Za-z0-9_]', '_', part)}" for part in path.split(".")) for path in paths}
    names = {short: part for path in alias for short, part in zip(alias[path].split("."), path.split("."), strict=True)}
    return alias, names


def marker_number(token: str) -> int:
    """The sort number of a token's marker: 120 bits of SHA-256, which fits the 38 digits of a DynamoDB number."""
    return int.from_bytes(hashlib.sha256(token.encode()).digest()[:15])


def put_marker(schema: KeySchema, marker: Wire, *, now: int) -> dict[str, Any]:
    """A put of a marker on the condition that there is none, or only an expired one, as DynamoDB deletes late."""
    return {
        "TableName": schema.table,
        "Item": marker,
        "ConditionExpression": "attribute_not_exists(#partition) OR #marker_expires_at <= :now",
        "ExpressionAttributeNames": {"#partition": schema.partition_name, "#marker_expires_at": MARKER_EXPIRY},
        "ExpressionAttributeValues": {":now": {"N": str(now)}},
        **OLD_ITEM,
    }


def returning(table: str, key: Wire, expressions: Wire, attributes: str = "ALL_NEW") -> dict[str, Any]:
    """An `UpdateItem` that returns these attributes of the row, and reports its units."""
    return {"TableName": table, "Key": key, **expressions, "ReturnValues": attributes, **REPORT_UNITS}


def single_write(write: Wire) -> dict[str, Any]:
    """One put or update as a request of its own."""
    return {**write, **REPORT_UNITS}


def transaction(actions: Sequence[Wire], *, request_token: str | None = None) -> dict[str, Any]:
    """Actions as one `TransactWriteItems` request: puts and updates, or any that names its kind (`{"Delete": ...}`)."""
    once = {"ClientRequestToken": request_token} if request_token else {}
    return {"TransactItems": [_named(action) for action in actions], **once, **REPORT_UNITS}


def _named(action: Wire) -> Wire:
    if "TableName" not in action:
        return action
    return {"Put" if "Item" in action else "Update": action}


def update_version(
    schema: KeySchema, key: Wire, values: Wire, *, version: int | None, unless: str, removed: Sequence[str] = ()
) -> dict[str, Any]:
    """An `UpdateItem` that sets and removes attributes, adds 1 to `version`, and returns the whole item.

    Conditions: the item exists, has no attribute `unless`, and has this `version`, if one is given. An item without a
    version has FIRST_VERSION.
    """
    condition = f"attribute_exists(#{schema.partition_name}) AND attribute_not_exists(#{unless})"
    arguments: dict[str, Any] = {"first": FIRST_VERSION, "one": 1}
    if version is not None:
        unversioned = "attribute_not_exists(#version) OR " if version == FIRST_VERSION else ""
        condition += f" AND ({unversioned}#version = :version)"
        arguments["version"] = version
    sets = [*(f"#{name} = :{name}" for name in values), "#version = if_not_exists(#version, :first) + :one"]
    removes = f" REMOVE {', '.join(f'#{name}' for name in removed)}" if removed else ""
    made = expressed(f"SET {', '.join(sets)}{removes}", condition, arguments)
    made["ExpressionAttributeValues"] |= {f":{name}": value for name, value in values.items()}
    return {**returning(schema.table, key, made), **OLD_ITEM}
