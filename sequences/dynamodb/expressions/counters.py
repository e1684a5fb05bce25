"""Requests for counters, and for the queue of hosts at a scope, whose places are counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import marshal
from .items import MARKER_EXPIRY, OLD_ITEM, expressed, returning
from .reads import Wire


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterRow:
    """What a write stores in a counter; `token` is the write's, `updated_at` is in seconds since 1970."""

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

CLOSING = "closing"
"""The attribute that says since when the period of a counter is closed, if that was said before that moment."""
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
    update = "SET #last_value = if_not_exists(#last_value, :before_start) + :amount, "
    update += f"#highest = if_not_exists(#last_value, :before_start) + :amount, {_SIGNED}"
    values = {"amount": amount, "before_start": before_start, "room": room, "token": token, "now": now}
    if highest_seen is not None:
        values["highest_seen"] = highest_seen
    return {**returning(table, key, expressed(update, condition, values), "UPDATED_NEW"), **OLD_ITEM}


def with_tally(request: Wire, tally: Tally) -> dict[str, Any]:
    """An addition or an advance (its time is `:now`) that also counts what it gives.

    The first one in an hour returns all attributes, if it returns some, so that outdated ones are seen.
    """
    update = "#day = if_not_exists(#day, :none) + :given, #hour = if_not_exists(#hour, :none) + :given"
    if tally.is_first:
        update += ", #since = if_not_exists(#since, :now)"
    if tally.outdated:
        removes = ", ".join(f"#{name}" for name in tally.outdated)
        request = {**request, "UpdateExpression": f"{request['UpdateExpression']} REMOVE {removes}"}
    returns = {"ReturnValues": "ALL_NEW"} if tally.is_first and "ReturnValues" in request else {}
    names = {"#day": tally.day, "#hour": tally.hour}
    return {**_setting(request, update, {"none": 0, "given": tally.given}, names), **returns}


def with_own_keys(advance: Wire, count: int, *, after: int) -> dict[str, Any]:
    """An advance that also counts how many of its values go to items with keys of their own.

    The first such write notes that only values `after` this one are counted.
    """
    update = "#own_keys = if_not_exists(#own_keys, :no_keys) + :own_keys"
    update += ", #own_keys_after = if_not_exists(#own_keys_after, :own_keys_after)"
    return _setting(advance, update, {"no_keys": 0, "own_keys": count, "own_keys_after": after})


def with_dates(advance: Wire, first: str, last: str) -> dict[str, Any]:
    """An advance for documents of these ISO dates, on the condition that no document is dated after the first."""
    document = {"date": last, "value": int(advance["ExpressionAttributeValues"][":last_value"]["N"])}
    names = {"#document": LAST_DOCUMENT, "#date": "date"}
    in_order = _only_if(advance, "(attribute_not_exists(#document) OR #document.#date <= :first)", names)
    return _setting(in_order, "#document = :document", {"document": document, "first": first})


def while_open(advance: Wire, closing: Mapping[str, Any] | None) -> dict[str, Any]:
    """An advance (its time is `:now`) on the condition that the period of the counter is not closed by then.

    `closing` is what it notes in the counter of a period that will be closed.
    """
    names = {"#closing": CLOSING, "#since": "since"}
    still = _only_if(advance, "(attribute_not_exists(#closing) OR #closing.#since > :now)", names)
    return _setting(still, "#closing = :closing", {"closing": dict(closing)}) if closing else still


def with_fewer_own_keys(change: Wire, count: int) -> dict[str, Any]:
    """A change of a counter that counts so many of these values no longer."""
    return _setting(change, "#own_keys = #own_keys - :own_keys", {"own_keys": count})


def with_lines(write: Wire, version: int) -> dict[str, Any]:
    """A write of a counter on the condition, too, that the lines of its scope have no later version."""
    apart = {**write, "ConditionExpression": f"({write['ConditionExpression']})"}
    is_last = _only_if(apart, "(attribute_not_exists(#lines) OR #lines <= :lines)", {"#lines": VERSION})
    values = {**write.get("ExpressionAttributeValues", {}), ":lines": {"N": str(version)}}
    return {**is_last, "ExpressionAttributeValues": values}


def unless_gapless(request: Wire) -> dict[str, Any]:
    """A write of a counter that a switch to a gapless strategy refuses."""
    return _only_if(request, "attribute_not_exists(#gapless_after)", {"#gapless_after": GAPLESS_AFTER})


def _only_if(request: Wire, condition: str, names: Mapping[str, str]) -> dict[str, Any]:
    """The request on one more condition, whose :values it has."""
    return {
        **request,
        "ConditionExpression": f"{request['ConditionExpression']} AND {condition}",
        "ExpressionAttributeNames": {**request["ExpressionAttributeNames"], **names},
    }


def _setting(request: Wire, update: str, values: Mapping[str, Any], names: Mapping[str, str] = {}) -> dict[str, Any]:
    """The update, which sets more. Its own names keep their meaning."""
    more = expressed(f"SET {update}, {request['UpdateExpression'].removeprefix('SET ')}", "", values, names)
    expressions = ("ExpressionAttributeNames", "ExpressionAttributeValues")
    return {**request, **more, **{name: {**more[name], **request[name]} for name in expressions}}


def _still(seen: int | None) -> tuple[str, dict[str, Any]]:
    """The condition that the counter has not changed since it was read, and its values."""
    if seen is None:
        return "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)", {}
    return "#last_value = :seen AND (attribute_not_exists(#highest) OR #highest <= :seen)", {"seen": seen}


def advance_counter(
    table: str, key: Wire, row: CounterRow, *, seen: int | None, since: int | None = None, drops: bool = False
) -> dict[str, Any]:
    """An update to `row` on the condition that the counter is still at `seen`; it may note `since`, too.

    If it `drops`, values of before it that were given back are not given any more.
    """
    condition, values = _still(seen)
    update = f"SET #last_value = :last_value, #highest = :last_value, {_SIGNED}"
    values |= {"last_value": row.last_value, "now": row.updated_at, "token": row.token}
    if since is not None:
        update += ", #since = :since"
        values["since"] = since
    if drops:
        update += ", #changed = :token REMOVE #given_back"
    return {"TableName": table, "Key": key, **expressed(update, condition, values), **OLD_ITEM}


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
        values["token"] = read["token"]["S"]
    fields = {"last_value": row.last_value, "highest": row.last_value, "updated_at": row.updated_at, "token": row.token}
    return {
        "TableName": table,
        "Item": {BORN: {"S": row.token}, **read, **key, **(tallies or {}), **marshal(fields)},
        **expressed("", f"{condition} AND {same_token}", values),
        **OLD_ITEM,
    }


def delete_counter(table: str, key: Wire, *, born: str | None) -> dict[str, Any]:
    """A `DeleteItem` on the condition that the counter exists, was born with this mark, and is not frozen."""
    same = "attribute_not_exists(#born)" if born is None else "#born = :born"
    condition = f"attribute_exists(#last_value) AND attribute_not_exists(#frozen) AND {same}"
    values = {} if born is None else {"born": born}
    return {"TableName": table, "Key": key, **expressed("", condition, values), **OLD_ITEM}


LEFT = ("last_value", "left_at", "counted_in")
"""The last value, when it was left (milliseconds since 1970), and a fingerprint of the tables and the partition."""


def take_place(table: str, key: Wire, *, expires: int) -> dict[str, Any]:
    """An `UpdateItem` that takes the next place in the queue of hosts and returns the line, to expire at `expires`."""
    update, values = "SET #expires = :expires ADD #taken :one", {"one": 1, "expires": expires}
    return returning(table, key, expressed(update, "", values, {"#expires": MARKER_EXPIRY}))


def give_place_back(table: str, key: Wire, *, place: int, left: Mapping[str, Any]) -> dict[str, Any]:
    """An `UpdateItem` that gives a place back, unless a later one is given back, and returns the line.

    It leaves the attributes `left` (those of LEFT) for the next host, or none.
    """
    change = "".join(f", #{name} = :{name}" for name in left) or f" REMOVE {', '.join(f'#{name}' for name in LEFT)}"
    condition = "#taken >= :place AND (attribute_not_exists(#given_back) OR #given_back < :place)"
    return returning(table, key, expressed(f"SET #given_back = :place{change}", condition, {"place": place, **left}))
