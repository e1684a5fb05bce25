"""The requests of every strategy as pure functions: from plain values to dicts, with readable #names and :values.

Nothing here sends anything. `KeySchema` knows how numbers become sort keys; the functions know the conditions on which
exactness rests. A "put" is the inner dict that both `PutItem` and an action of `TransactWriteItems` take.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .dynamodb import marshal
from .exceptions import StorageRefused

__all__ = [
    "MARKER_EXPIRY",
    "CounterRow",
    "KeySchema",
    "add_to_counter",
    "advance_counter",
    "marker_number",
    "put_counter",
    "put_if_absent",
    "put_marker",
    "query_numbers",
    "read_item",
    "read_many",
    "single_put",
    "transaction",
]

Wire = Mapping[str, Any]
MARKER_EXPIRY = "marker_expires_at"
"""When a marker expires (seconds since 1970): DynamoDB deletes by it, so it is refused in items."""
OLD_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
REPORT_UNITS = {"ReturnConsumedCapacity": "TOTAL"}


@dataclass(frozen=True, kw_only=True, slots=True)
class KeySchema:
    """Where one table keeps numbered items: its full name, its key names, and how a number becomes a sort key."""

    table: str
    partition_name: str = "pk"
    sort_name: str = "sk"
    padded_width: int = 0

    def key(self, partition: str, number: int) -> dict[str, Any]:
        """The key of one number, as attribute values."""
        return {self.partition_name: {"S": partition}, self.sort_name: self.sort_value(number)}

    def sort_value(self, number: int) -> dict[str, str]:
        """A number as sort key; padded ones keep their order only up to `padded_width` digits."""
        return {"S": f"{number:0{self.padded_width}d}"} if self.padded_width else {"N": str(number)}

    def number(self, item: Mapping[str, Any]) -> int:
        """The number of a stored item, read from its unmarshalled sort key. Raises StorageRefused for a stray row."""
        number = self.number_or_none(item)
        if number is None:
            wanted = f"a number of {self.padded_width} digits" if self.padded_width else "a whole number"
            key = {name: item.get(name) for name in (self.partition_name, self.sort_name)}
            raise StorageRefused(
                f"The table {self.table!r} holds a row {key} whose sort key is not {wanted}: move it elsewhere."
            )
        return number

    def number_or_none(self, item: Mapping[str, Any]) -> int | None:
        """The number of a stored item; None if its sort key is not written as this schema writes numbers."""
        key = item[self.sort_name]
        if self.padded_width:
            return int(key) if key.isascii() and key.isdigit() and len(key) == self.padded_width else None
        return key if isinstance(key, int) else None


def read_item(table: str, key: Wire) -> dict[str, Any]:
    """A consistent `GetItem` of one key."""
    return {"TableName": table, "Key": key, "ConsistentRead": True, **REPORT_UNITS}


def read_many(
    schema: KeySchema, partition: str, numbers: Iterable[int], *, attributes: Sequence[str]
) -> dict[str, Any]:
    """A consistent `BatchGetItem` of at most 100 items of a collection: their sort keys and the named attributes."""
    aliases = {f"#{name}": name for name in attributes}
    wanted = {
        "Keys": [schema.key(partition, number) for number in numbers],
        "ConsistentRead": True,
        "ProjectionExpression": ", ".join(["#sort", *aliases]),
        "ExpressionAttributeNames": {"#sort": schema.sort_name, **aliases},
    }
    return {"RequestItems": {schema.table: wanted}}


def query_numbers(
    schema: KeySchema,
    partition: str,
    *,
    newest_first: bool,
    limit: int,
    consistent: bool = True,
    after: Wire | None = None,
    attributes: Sequence[str] = (),
) -> dict[str, Any]:
    """One page of an item collection in the order of its numbers, with its keys and the named attributes only."""
    names = [schema.partition_name, schema.sort_name, *attributes]
    aliases = {f"#{index}_{re.sub('[^A-Za-z0-9_]', '_', name)}": name for index, name in enumerate(names)}
    request = {
        "TableName": schema.table,
        "KeyConditionExpression": "#partition = :partition",
        "ProjectionExpression": ", ".join(aliases),
        "ExpressionAttributeNames": {"#partition": schema.partition_name, **aliases},
        "ExpressionAttributeValues": {":partition": {"S": partition}},
        "ScanIndexForward": not newest_first,
        "Limit": limit,
        "ConsistentRead": consistent,
        **REPORT_UNITS,
    }
    return {**request, "ExclusiveStartKey": after} if after else request


def put_if_absent(schema: KeySchema, item: Wire) -> dict[str, Any]:
    """A put on the condition that nothing is stored under the item's key."""
    return {
        "TableName": schema.table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#partition)",
        "ExpressionAttributeNames": {"#partition": schema.partition_name},
        **OLD_ITEM,
    }


def marker_number(token: str) -> int:
    """The sort number of a token's marker: 120 bits of SHA-256, which fits the 38 digits of a DynamoDB number."""
    return int.from_bytes(hashlib.sha256(token.encode()).digest()[:15])


def put_marker(schema: KeySchema, marker: Wire, *, now: int) -> dict[str, Any]:
    """A put of a marker on the condition that there is none, or that it expired (DynamoDB deletes late)."""
    return {
        "TableName": schema.table,
        "Item": marker,
        "ConditionExpression": "attribute_not_exists(#partition) OR #marker_expires_at <= :now",
        "ExpressionAttributeNames": {"#partition": schema.partition_name, "#marker_expires_at": MARKER_EXPIRY},
        "ExpressionAttributeValues": {":now": {"N": str(now)}},
        **OLD_ITEM,
    }


def single_put(put: Wire) -> dict[str, Any]:
    """One put as a `PutItem` request."""
    return {**put, **REPORT_UNITS}


def transaction(actions: Sequence[Wire], *, request_token: str) -> dict[str, Any]:
    """Puts and updates as one `TransactWriteItems` request; a dict with "Item" is a put, another an update."""
    return {
        "TransactItems": [{"Put" if "Item" in action else "Update": action} for action in actions],
        "ClientRequestToken": request_token,
        **REPORT_UNITS,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterRow:
    """What is written on a counter: the new last value, by which write, and when (seconds since 1970)."""

    last_value: int
    token: str
    updated_at: int


# `highest` goes up with `last_value`. Whoever sets only `last_value` back is thus found out by the next write.
_NAMES = {"#last_value": "last_value", "#highest": "highest", "#updated_at": "updated_at", "#token": "token"}


def add_to_counter(
    table: str, key: Wire, *, amount: int, before_start: int, room: int, floor: int | None, token: str, now: int
) -> dict[str, Any]:
    """An `UpdateItem` that adds `amount` atomically and returns the counter as it then is.

    DynamoDB's `ADD` starts a missing number at 0; `if_not_exists` starts it at `before_start`, and is as atomic.
    Conditions: the result does not pass MAXIMUM (`room` is the highest value from which there is room), the counter
    did not go back (below `highest`, or below `floor`, which this process has seen), and this very write is not
    there.
    """
    ours = "(attribute_not_exists(#token) OR #token <> :token)"
    in_order = "#last_value <= :room AND (attribute_not_exists(#highest) OR #last_value >= #highest)"
    if floor is None:
        untouched = "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)"
        condition = f"(({untouched}) OR ({in_order})) AND {ours}"
    else:
        condition = f"{in_order} AND #last_value >= :floor AND {ours}"
    values: dict[str, Any] = {
        ":amount": {"N": str(amount)},
        ":before_start": {"N": str(before_start)},
        ":room": {"N": str(room)},
        ":token": {"S": token},
        ":now": {"N": str(now)},
    }
    if floor is not None:
        values[":floor"] = {"N": str(floor)}
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": "SET #last_value = if_not_exists(#last_value, :before_start) + :amount, "
        "#highest = if_not_exists(#last_value, :before_start) + :amount, #updated_at = :now, #token = :token",
        "ConditionExpression": condition,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": values,
        "ReturnValues": "UPDATED_NEW",
        **OLD_ITEM,
        **REPORT_UNITS,
    }


def _still(seen: int | None) -> tuple[str, dict[str, Any]]:
    """The condition that the counter is still as it was read."""
    if seen is None:
        return "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)", {}
    return "#last_value = :seen AND (attribute_not_exists(#highest) OR #highest <= :seen)", {":seen": {"N": str(seen)}}


def advance_counter(table: str, key: Wire, row: CounterRow, *, seen: int | None) -> dict[str, Any]:
    """An update to `row` on the condition that the counter still is at `seen`."""
    condition, values = _still(seen)
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": "SET #last_value = :last_value, #highest = :last_value, "
        "#updated_at = :now, #token = :token",
        "ConditionExpression": condition,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": {
            ":last_value": {"N": str(row.last_value)},
            ":now": {"N": str(row.updated_at)},
            ":token": {"S": row.token},
            **values,
        },
        **OLD_ITEM,
    }


def put_counter(table: str, key: Wire, row: CounterRow, *, seen: int | None) -> dict[str, Any]:
    """The same as `advance_counter` by a put of the whole counter."""
    condition, values = _still(seen)
    fields = {"last_value": row.last_value, "highest": row.last_value, "updated_at": row.updated_at, "token": row.token}
    return {
        "TableName": table,
        "Item": {**key, **marshal(fields)},
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {"#last_value": "last_value", "#highest": "highest"},
        **({"ExpressionAttributeValues": values} if values else {}),
        **OLD_ITEM,
    }
