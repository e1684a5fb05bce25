"""Requests for counters: additions, and writes on the condition that the counter is unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..dynamodb import marshal
from .items import OLD_ITEM, REPORT_UNITS, Wire

__all__ = [
    "CounterRow",
    "Milestones",
    "add_to_counter",
    "advance_counter",
    "delete_counter",
    "put_counter",
    "with_milestones",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterRow:
    """What a write stores in a counter: the last value, the token of the write, and the time (seconds since 1970)."""

    last_value: int
    token: str
    updated_at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Milestones:
    """What a write of a counter does to its milestones beside counting (see `strategies.milestones`).

    It sets those in `begun` to the last value before it, or to `before_start`, if they are missing. It sets `moved`
    to these values, and removes the `outdated` ones.
    """

    begun: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    moved: Mapping[str, int] = field(default_factory=dict)
    before_start: int = 0


SINCE = "since"
"""The attribute that says since when a counter has milestones (seconds since 1970)."""


# Every write sets `highest` together with `last_value`. If somebody sets only `last_value` back, the next write fails.
_NAMES = {"#last_value": "last_value", "#highest": "highest", "#updated_at": "updated_at", "#token": "token"}


def add_to_counter(
    table: str, key: Wire, *, amount: int, before_start: int, room: int, highest_seen: int | None, token: str, now: int
) -> dict[str, Any]:
    """An `UpdateItem` that adds `amount` atomically and returns the counter's new attributes.

    DynamoDB's `ADD` starts a missing number at 0; `if_not_exists` starts it at `before_start` and is just as atomic.
    Conditions: the result does not pass MAXIMUM (`room` is the highest value that leaves enough room), the counter did
    not go back (below its `highest`, or below `highest_seen` of this process), and this write is not stored.
    """
    ours = "(attribute_not_exists(#token) OR #token <> :token)"
    in_order = "#last_value <= :room AND (attribute_not_exists(#highest) OR #last_value >= #highest)"
    if highest_seen is None:
        untouched = "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)"
        condition = f"(({untouched}) OR ({in_order})) AND {ours}"
    else:
        condition = f"{in_order} AND #last_value >= :highest_seen AND {ours}"
    values: dict[str, Any] = {
        ":amount": {"N": str(amount)},
        ":before_start": {"N": str(before_start)},
        ":room": {"N": str(room)},
        ":token": {"S": token},
        ":now": {"N": str(now)},
    }
    if highest_seen is not None:
        values[":highest_seen"] = {"N": str(highest_seen)}
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


def with_milestones(request: dict[str, Any], milestones: Milestones | None) -> dict[str, Any]:
    """An addition or an advance that also does this to the milestones; unchanged for None.

    An addition that begins some returns all attributes, so that outdated ones are seen.
    """
    if milestones is None:
        return request
    begun, sets, values = milestones.begun, [], {f":{name}": value for name, value in milestones.moved.items()}
    if begun:
        values[":before_start"] = milestones.before_start
        sets = [f"#{name} = if_not_exists(#{name}, if_not_exists(#last_value, :before_start))" for name in begun]
        sets.append(f"#{SINCE} = if_not_exists(#{SINCE}, :now)")
    sets += [f"#{name} = :{name}" for name in milestones.moved]
    removes = ", ".join(f"#{name}" for name in milestones.outdated)
    names = (*begun, *milestones.moved, *milestones.outdated, *([SINCE] if begun else []))
    returned = {"ReturnValues": "ALL_NEW"} if begun and "ReturnValues" in request else {}
    return {
        **request,
        **returned,
        "UpdateExpression": ", ".join([request["UpdateExpression"], *sets]) + (f" REMOVE {removes}" if removes else ""),
        "ExpressionAttributeNames": {**request["ExpressionAttributeNames"], **{f"#{name}": name for name in names}},
        "ExpressionAttributeValues": {**request["ExpressionAttributeValues"], **marshal(values)},
    }


def _still(seen: int | None) -> tuple[str, dict[str, Any]]:
    """The condition that the counter has not changed since it was read."""
    if seen is None:
        return "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)", {}
    return "#last_value = :seen AND (attribute_not_exists(#highest) OR #highest <= :seen)", {":seen": {"N": str(seen)}}


def advance_counter(table: str, key: Wire, row: CounterRow, *, seen: int | None) -> dict[str, Any]:
    """An update to `row` on the condition that the counter is still at `seen`."""
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


def put_counter(
    table: str, key: Wire, row: CounterRow, *, seen: int | None, thawed: str | None, milestones: Wire | None = None
) -> dict[str, Any]:
    """The write of `advance_counter`, as a put of the whole counter, with these milestones.

    It keeps the mark of the last thaw.
    """
    condition, values = _still(seen)
    fields = {"last_value": row.last_value, "highest": row.last_value, "updated_at": row.updated_at, "token": row.token}
    same_thaw = "attribute_not_exists(#thawed)" if thawed is None else "#thawed = :thawed"
    mark = {} if thawed is None else {"thawed": {"S": thawed}}
    values |= {f":{name}": value for name, value in mark.items()}
    return {
        "TableName": table,
        "Item": {**key, **(milestones or {}), **marshal(fields), **mark},
        "ConditionExpression": f"{condition} AND {same_thaw}",
        "ExpressionAttributeNames": {"#last_value": "last_value", "#highest": "highest", "#thawed": "thawed"},
        **({"ExpressionAttributeValues": values} if values else {}),
        **OLD_ITEM,
    }


def delete_counter(table: str, key: Wire) -> dict[str, Any]:
    """A `DeleteItem` on the condition that the counter exists and is not frozen."""
    return {
        "TableName": table,
        "Key": key,
        "ConditionExpression": "attribute_exists(#last_value) AND attribute_not_exists(#frozen)",
        "ExpressionAttributeNames": {"#last_value": "last_value", "#frozen": "frozen"},
        **OLD_ITEM,
    }
