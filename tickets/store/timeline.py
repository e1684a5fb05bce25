"""The rows of a ticket's comments and changes, and of the content of a void ticket while it is sealed.

The values in the events of a ticket are encrypted by a key in the ticket's row, the `values_key`. It is part of the
content: it is sealed with the content, restored with it, and removed with it. Then nobody can read the values any more,
however many events there are.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from sequences.actions import Put, Update
from sequences.exceptions import WriteCancelled
from sequences.storage import FIRST_VERSION, MARKER_EXPIRY, marshal, new_token, unmarshal, update_version, write_once
from tickets.store.places import ROWS, TABLE, require_failed_condition, setting
from tickets.tables import Position, Row, Slice, to_row, void_from_row
from tickets.timeline.types import Changes, Event, Kind

EVENT = ("kind", "by", "at", "text", "changes", "values", "version", "edited_at", "void")
SEALED_ROW = 0
SEALED = ("status", "title", "description", "assignee", "labels", "values_key")  # what a void ticket has no more


def timeline_of(row: Row) -> str:
    """The scope of a ticket's timeline: it is named for the first place of the ticket, and never changes."""
    if first := row.get("origin"):
        return scope_at(first["partition"], first["number"])
    return scope_at(row["pk"], row["sk"])


def scope_at(partition: str, number: int) -> str:
    """The scope of the timeline of a ticket that was filed at this place."""
    return f"{partition}#{number}"


def event_row(kind: Kind, *, by: str, at: datetime, **about: Any) -> dict[str, Any]:
    """What is stored as an event."""
    return to_row({"kind": kind.value, "by": by, "at": at, **{name: value for name, value in about.items() if value}})


def change_row(told: Mapping[str, Any], *, key: str, by: str, at: datetime, **about: Any) -> dict[str, Any]:
    """What is stored as the event of a change: the names of the fields, and the values under the ticket's key."""
    values = {name: pair for name, pair in told.items() if pair is not None}
    encrypted = Fernet(key).encrypt(json.dumps(values).encode()).decode() if values else ""
    return event_row(Kind.CHANGE, by=by, at=at, changes=dict.fromkeys(told), values=encrypted, **about)


def values_key(row: Row) -> str:
    """The key of the values in the events of a ticket; a new one for a ticket that has none yet."""
    return row.get("values_key") or Fernet.generate_key().decode()


def event_at(scope: str, number: int, event: Row) -> Put:
    """The action that stores an event under this number, if it is free.

    It rides with a ticket that gets its own number in the same transaction. The number before it must be stored.
    """
    place = {"pk": _partition(scope), "sk": number, "token": new_token()}
    return Put(TABLE, {**event, **place}, condition="attribute_not_exists(pk)")


def find_events(scope: str, at: Position | None, limit: int, *, newest_first: bool) -> Slice:
    """Events of a timeline. One query of `limit` rows, more if they have more than 1 MB."""
    return ROWS.search(_partition(scope), EVENT, at=at, limit=limit, newest_first=newest_first, keep=lambda row: True)


def find_comments(scope: str, at: Position | None, limit: int) -> Slice:
    """Comments of a timeline, the oldest first. One query, more if there are other events among them."""
    return ROWS.search(_partition(scope), EVENT, at=at, limit=limit, newest_first=False, keep=_is_comment)


def _is_comment(row: Row) -> bool:
    return row.get("kind") == Kind.COMMENT


def find_event(scope: str, number: int) -> Row | None:
    """One event. One consistent read."""
    return ROWS.get(_partition(scope), number)


def counting(row: Row) -> Update:
    """The action that counts one more comment of a ticket that has content, and is still at this place."""
    return Update(
        TABLE,
        {"pk": row["pk"], "sk": row["sk"]},
        update="ADD #comments :one",
        condition="attribute_exists(pk) AND attribute_not_exists(#void)",
        names={"#comments": "comments", "#void": "void"},
        values={":one": 1},
    )


def change_comment(
    scope: str, number: int, values: Row, *, author: str, version: int | None, removed: Sequence[str] = ()
) -> tuple[Row | None, bool]:
    """Change a comment of this author that is not withdrawn, and is at `version`. One write.

    Returns the row as it is now, None if there is none, and whether it has the change; also after a lost answer.
    """
    change = new_token()
    wire = marshal({**to_row(values), "change": change})
    key = ROWS.schema.key(_partition(scope), number)
    request = update_version(ROWS.schema, key, wire, version=version, unless="void", removed=removed)
    once = "attribute_not_exists(#change) OR #change <> :change"  # if it is sent again after a lost answer
    request["ConditionExpression"] += f" AND #kind = :kind AND #by = :by AND ({once})"
    request["ExpressionAttributeNames"] |= {"#kind": "kind", "#by": "by"}
    request["ExpressionAttributeValues"] |= marshal({":kind": Kind.COMMENT.value, ":by": author})
    try:
        answer = write_once("update_item", request, token=change)
    except WriteCancelled as cancelled:
        require_failed_condition(cancelled)
        old = cancelled.reasons[0].old
        return old, old is not None and old.get("change") == change
    return unmarshal(answer["Attributes"]), True


def sealing(row: Row, *, until: datetime) -> Put:
    """The action that keeps the content of a ticket that becomes void.

    DynamoDB deletes the row some time after `until`. It replaces what an earlier voiding has sealed.
    """
    content = {name: row[name] for name in SEALED if name in row}
    version = row.get("version", FIRST_VERSION) + 1
    expiry = {MARKER_EXPIRY: int(until.timestamp())}
    return Put(TABLE, {**_sealed_place(row), "content": content, "version": version, **expiry})


def unsealing(row: Row, *, at: datetime) -> Update:
    """The action that ends the sealing of a ticket's content."""
    place = _sealed_place(row)
    return setting(place["pk"], place["sk"], {MARKER_EXPIRY: int(at.timestamp())}, removed=["content"])


def find_sealed(row: Row, *, at: datetime) -> Row | None:
    """What was sealed when a ticket became void: its `content`, and its `version` then. One consistent read.

    None if it is gone: DynamoDB deletes late, so that the time counts.
    """
    place = _sealed_place(row)
    sealed = ROWS.get(place["pk"], place["sk"])
    return sealed if sealed and sealed[MARKER_EXPIRY] > at.timestamp() else None


def _partition(scope: str) -> str:
    return f"{scope}#"


def _sealed_place(row: Row) -> dict[str, Any]:
    return {"pk": f"{timeline_of(row)}#sealed", "sk": SEALED_ROW}


def event_from_row(row: Row, key: str = "") -> Event:
    """An event from its row, with its values if this is the key of the ticket.

    A row without a kind explains a number that an operator has skipped.
    """
    void, edited_at = row.get("void"), row.get("edited_at")
    if "kind" not in row and void:
        row = {"sk": row["sk"], "kind": Kind.SKIPPED.value, "by": void["by"], "at": void["at"], "text": void["reason"]}
    return Event(
        number=row["sk"],
        kind=Kind(row["kind"]),
        by=row["by"],
        at=datetime.fromisoformat(row["at"]),
        text=row.get("text", ""),
        changes=_changes({**row.get("changes", {}), **_values(row.get("values", ""), key)}),
        version=row.get("version", FIRST_VERSION),
        edited_at=datetime.fromisoformat(edited_at) if edited_at else None,
        void=void_from_row(void) if void else None,
    )


def _changes(stored: Mapping[str, Any]) -> Changes:
    return {name: None if pair is None else (pair[0], pair[1]) for name, pair in sorted(stored.items())}


def _values(encrypted: str, key: str) -> Row:
    """The values before and after of each field; none with another key than the ticket's."""
    if not encrypted or not key:
        return {}
    try:
        values: Row = json.loads(Fernet(key).decrypt(encrypted))
    except InvalidToken:
        return {}
    return values
