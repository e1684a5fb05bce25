"""Requests for counters: additions, and writes on the condition that the counter is unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import marshal
from .items import OLD_ITEM
from .reads import REPORT_UNITS, Wire

__all__ = [
    "BORN",
    "CHANGED",
    "GAPLESS_AFTER",
    "GAPLESS_UNTIL",
    "GIVEN_BACK",
    "LAST_DOCUMENT",
    "OWN_KEYS",
    "OWN_KEYS_AFTER",
    "SINCE",
    "VERSION",
    "CounterRow",
    "Tally",
    "add_to_counter",
    "advance_counter",
    "delete_counter",
    "put_counter",
    "unless_gapless",
    "with_dates",
    "with_fewer_own_keys",
    "with_lines",
    "with_own_keys",
    "with_tally",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterRow:
    """What a write stores in a counter: the last value, the token of the write, and the time (seconds since 1970)."""

    last_value: int
    token: str
    updated_at: int


class Tally(NamedTuple):
    """What a write of a counter that gives values does to the tallies in its row (see `strategies.tallies`).

    It adds `given` to those of the day and the hour, and removes the `outdated` ones. The first write in an hour also
    notes since when there are tallies, if that is not noted.
    """

    day: str
    hour: str
    given: int
    is_first: bool = False
    outdated: tuple[str, ...] = ()


SINCE = "since"
"""The attribute that says since when a counter has tallies (seconds since 1970)."""

GIVEN_BACK = "given_back"
"""The attribute with the values that processes gave back when they stopped (see `strategies.given_back`)."""
CHANGED = "changed"
"""The attribute with the token of the last change after which values of before it are not to be given."""
OWN_KEYS = "own_keys"
"""The attribute that counts the values whose items have keys of their own, so that no row is under these values."""
OWN_KEYS_AFTER = "own_keys_after"
"""The attribute with the value above which they are counted."""

LAST_DOCUMENT = "last_document"
"""The attribute with the date and the value of the last document, where documents are in the order of their dates."""

BORN = "born"
"""The attribute with the token of the first write of a counter, which tells it from a later one with the same key."""
VERSION = "lines"
"""The attribute with the version of the lines of the counter's scope."""

GAPLESS_AFTER = "gapless_after"
"""The attribute with the value after which no number is left out: only a gapless strategy moves such a counter."""
GAPLESS_UNTIL = "gapless_until"
"""The attribute with the value up to which a gapless strategy moved a counter, and what OWN_KEYS was there."""


# Every write sets `highest` together with `last_value`. If somebody sets only `last_value` back, the next write fails.
_NAMES = {
    "#last_value": "last_value",
    "#highest": "highest",
    "#updated_at": "updated_at",
    "#token": "token",
    "#born": BORN,
}
_SIGNED = "#updated_at = :now, #token = :token, #born = if_not_exists(#born, :token)"


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
        f"#highest = if_not_exists(#last_value, :before_start) + :amount, {_SIGNED}",
        "ConditionExpression": condition,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": values,
        "ReturnValues": "UPDATED_NEW",
        **OLD_ITEM,
        **REPORT_UNITS,
    }


def with_tally(request: Wire, tally: Tally) -> dict[str, Any]:
    """An addition or an advance (its time is `:now`) that also counts what it gives.

    The first one in an hour returns all attributes, if it returns some, so that outdated ones are seen.
    """
    update = f"{request['UpdateExpression']}, #day = if_not_exists(#day, :none) + :given"
    update += ", #hour = if_not_exists(#hour, :none) + :given"
    names = {**request["ExpressionAttributeNames"], "#day": tally.day, "#hour": tally.hour}
    values = {**request["ExpressionAttributeValues"], ":none": {"N": "0"}, ":given": {"N": str(tally.given)}}
    if tally.is_first:
        update, names["#since"] = f"{update}, #since = if_not_exists(#since, :now)", SINCE
    if tally.outdated:
        update += f" REMOVE {', '.join(f'#{name}' for name in tally.outdated)}"
        names |= {f"#{name}": name for name in tally.outdated}
    returns = {"ReturnValues": "ALL_NEW"} if tally.is_first and "ReturnValues" in request else {}
    expressed = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    return {**request, "UpdateExpression": update, **expressed, **returns}


def with_own_keys(advance: Wire, count: int, *, after: int) -> dict[str, Any]:
    """An advance that also counts how many of its values go to items with keys of their own.

    The first such write notes that only values `after` this one are counted.
    """
    update = f"{advance['UpdateExpression']}, #own_keys = if_not_exists(#own_keys, :no_keys) + :own_keys"
    update += ", #own_keys_after = if_not_exists(#own_keys_after, :own_keys_after)"
    counts = {":no_keys": 0, ":own_keys": count, ":own_keys_after": after}
    names = {**advance["ExpressionAttributeNames"], "#own_keys": OWN_KEYS, "#own_keys_after": OWN_KEYS_AFTER}
    values = {**advance["ExpressionAttributeValues"], **{name: {"N": str(value)} for name, value in counts.items()}}
    return {
        **advance,
        "UpdateExpression": update,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


def with_dates(advance: Wire, first: str, last: str) -> dict[str, Any]:
    """An advance for documents of these ISO dates, on the condition that no document is dated after the first."""
    value = advance["ExpressionAttributeValues"][":last_value"]
    document = {"M": {"date": {"S": last}, "value": value}}
    names = {**advance["ExpressionAttributeNames"], "#document": LAST_DOCUMENT, "#date": "date"}
    values = {**advance["ExpressionAttributeValues"], ":document": document, ":first": {"S": first}}
    in_order = "(attribute_not_exists(#document) OR #document.#date <= :first)"
    return {
        **advance,
        "UpdateExpression": f"{advance['UpdateExpression']}, #document = :document",
        "ConditionExpression": f"{advance['ConditionExpression']} AND {in_order}",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


def with_fewer_own_keys(change: Wire, count: int) -> dict[str, Any]:
    """A change of a counter that counts so many of these values no longer."""
    return {
        **change,
        "UpdateExpression": change["UpdateExpression"].replace("SET ", "SET #own_keys = #own_keys - :own_keys, ", 1),
        "ExpressionAttributeNames": {**change["ExpressionAttributeNames"], "#own_keys": OWN_KEYS},
        "ExpressionAttributeValues": {**change["ExpressionAttributeValues"], ":own_keys": {"N": str(count)}},
    }


def with_lines(write: Wire, version: int) -> dict[str, Any]:
    """A write of a counter on the condition, too, that the lines of its scope have no later version."""
    is_last = "(attribute_not_exists(#lines) OR #lines <= :lines)"
    return {
        **write,
        "ConditionExpression": f"({write['ConditionExpression']}) AND {is_last}",
        "ExpressionAttributeNames": {**write["ExpressionAttributeNames"], "#lines": VERSION},
        "ExpressionAttributeValues": {**write.get("ExpressionAttributeValues", {}), ":lines": {"N": str(version)}},
    }


def _still(seen: int | None) -> tuple[str, dict[str, Any]]:
    """The condition that the counter has not changed since it was read."""
    if seen is None:
        return "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)", {}
    return "#last_value = :seen AND (attribute_not_exists(#highest) OR #highest <= :seen)", {":seen": {"N": str(seen)}}


def advance_counter(
    table: str, key: Wire, row: CounterRow, *, seen: int | None, since: int | None = None, drops: bool = False
) -> dict[str, Any]:
    """An update to `row` on the condition that the counter is still at `seen`; it may note `since`, too.

    If it `drops`, values of before it that were given back are not given any more.
    """
    condition, values = _still(seen)
    noted = "" if since is None else ", #since = :since"
    dropped = ", #changed = :token REMOVE #given_back" if drops else ""
    names = {**_NAMES, **({"#since": SINCE} if noted else {})}
    names |= {"#changed": CHANGED, "#given_back": GIVEN_BACK} if drops else {}
    if noted:
        values[":since"] = {"N": str(since)}
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": f"SET #last_value = :last_value, #highest = :last_value, {_SIGNED}{noted}{dropped}",
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {
            ":last_value": {"N": str(row.last_value)},
            ":now": {"N": str(row.updated_at)},
            ":token": {"S": row.token},
            **values,
        },
        **OLD_ITEM,
    }


def put_counter(
    table: str, key: Wire, row: CounterRow, *, seen: int | None, read: Wire, tallies: Wire | None = None
) -> dict[str, Any]:
    """The write of `advance_counter`, as a put of the whole counter: as it was `read`, with these tallies.

    It needs the same last token: all that changes a mark in the row leaves a token of its own, or moves `highest`, as
    a freeze does.
    """
    condition, values = _still(seen)
    same_token = "#token = :token" if "token" in read else "attribute_not_exists(#token)"
    if "token" in read:
        values[":token"] = read["token"]
    fields = {"last_value": row.last_value, "highest": row.last_value, "updated_at": row.updated_at, "token": row.token}
    return {
        "TableName": table,
        "Item": {BORN: {"S": row.token}, **read, **key, **(tallies or {}), **marshal(fields)},
        "ConditionExpression": f"{condition} AND {same_token}",
        "ExpressionAttributeNames": {"#last_value": "last_value", "#highest": "highest", "#token": "token"},
        **({"ExpressionAttributeValues": values} if values else {}),
        **OLD_ITEM,
    }


def unless_gapless(request: Wire) -> dict[str, Any]:
    """A write of a counter that a switch to a gapless strategy refuses."""
    return {
        **request,
        "ConditionExpression": f"{request['ConditionExpression']} AND attribute_not_exists(#gapless_after)",
        "ExpressionAttributeNames": {**request["ExpressionAttributeNames"], "#gapless_after": GAPLESS_AFTER},
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
