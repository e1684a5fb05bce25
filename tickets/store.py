"""The only room that knows the tickets table: its keys, its rows, and the conditions of its writes.

    ("ABC", 0)             project ABC; the query for its highest number thus says whether it exists
    ("ABC", 42)            ticket ABC-42; put here by `sequences.put_next`, which counts ABC's rows
    ("#projects", place)   the register: one row a project, in alphabetical order

No row is ever deleted. `token` is the name of the request that made a row, `change` of the last that changed
it, so that either is recognised when its answer was lost. What may stand in a row is said in `validators`; lists
are read by position: the sort key after which they go on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sequences.dynamodb import marshal, table_name, unmarshal
from sequences.exceptions import WriteCancelled
from sequences.retries import new_token, read, write_once
from tickets.exceptions import ProjectExists, StaleVersion, TicketNotFound, TicketVoided
from tickets.types import Project, Status, Ticket, TicketKey, Void

TABLE = "tickets"
REGISTER = "#projects"  # no project key equals it
PROJECT_ROW = 0
ALPHABET = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEY_LENGTH = 10
ABOUT_PROJECT = ("key", "name", "description")
# What a list of tickets shows, and what one ticket has besides.
SUMMARY = ("title", "status", "assignee", "labels", "reporter", "created_at", "updated_at", "version", "void")
WHOLE = (*SUMMARY, "description")
# Defaults for imported rows, which may lack attributes that we always write.
NEVER = datetime.fromtimestamp(0, UTC).isoformat()
IMPORTED = {"status": Status.OPEN.value, "reporter": "", "created_at": NEVER, "updated_at": NEVER, "version": 1}
OLD_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """Some rows of a list in their order; `end` is the position to go on after, None where the list ends."""

    rows: tuple[Row, ...]
    end: int | None


def insert_project(project: Project, *, created_at: datetime, token: str) -> bool:
    """Store a project and its place in the register, both or neither; again with the same token does nothing.

    False says that a request with this token had stored it before, perhaps with another content: this very one, too,
    if its first answer was lost. Raises ProjectExists. One transaction: 4 write units.
    """
    about = {name: getattr(project, name) for name in ABOUT_PROJECT}
    row = to_row({**about, "created_at": created_at, "token": token})
    rows = [
        {"pk": project.key, "sk": PROJECT_ROW, **row},
        {"pk": REGISTER, "sk": place_in_register(project.key), **row},
    ]
    puts = [{"Put": _put_if_absent(row)} for row in rows]
    try:
        answer = write_once("transact_write_items", {"TransactItems": puts}, token=token)
    except WriteCancelled as cancelled:
        _require_failed_condition(cancelled)
        raise ProjectExists(project.key) from cancelled
    return bool(answer)


def _put_if_absent(row: Row) -> dict[str, Any]:
    return {
        "TableName": table_name(TABLE),
        "Item": marshal(row),
        "ConditionExpression": "attribute_not_exists(pk)",
        **OLD_ITEM,
    }


def find_project(key: str) -> Project | None:
    """One project. One consistent read."""
    row = _get(key, PROJECT_ROW)
    return project_from_row(row) if row else None


def find_projects(after: int | None, limit: int, *, attributes: Sequence[str] = ABOUT_PROJECT) -> Slice:
    """Projects in alphabetical order of their keys, with the named attributes. One query of `limit` rows."""
    return _query(REGISTER, attributes, after=after, limit=limit, newest_first=False)


def find_ticket(key: TicketKey) -> Ticket | None:
    """One ticket. One consistent read."""
    row = _get(key.project, key.number)
    return ticket_from_row(row) if row else None


def find_tickets(project: str, after: int | None, limit: int, *, attributes: Sequence[str]) -> Slice:
    """Tickets of a project, newest first, with the named attributes. One query of `limit` rows."""
    return _query(project, attributes, after=after, limit=limit, newest_first=True)


def to_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a ticket or a project as they are stored."""
    return {name: _to_stored(value) for name, value in fields.items()}


def _to_stored(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case tuple():
            return list(value)
        case Void():
            return to_row(asdict(value))
        case _:
            return value


def change_ticket(key: TicketKey, *, content: Mapping[str, Any], version: int, at: datetime, by: str) -> Ticket:
    """Store new content in some fields of a ticket that still is at `version`, and return it as it then is.

    Raises TicketNotFound, StaleVersion or TicketVoided, and then has stored nothing, unless StaleVersion says that
    it may have: an answer was lost, and others changed the ticket more than once since. One write.
    """
    return _update(key, {**content, "updated_by": by, "updated_at": at}, version=version)


def void_ticket(key: TicketKey, *, void: Void, version: int | None) -> Ticket:
    """Replace a ticket's content by who withdrew it, when and why; its number stays taken for ever.

    Raises TicketNotFound, TicketVoided, or StaleVersion if not at `version`, when one is given. One write.
    """
    fields = {"status": Status.VOID.value, "void": void, "updated_by": void.by, "updated_at": void.at}
    return _update(key, fields, version=version, removed=("title", "description", "assignee", "labels"))


def _update(key: TicketKey, fields: Mapping[str, Any], *, version: int | None, removed: Sequence[str] = ()) -> Ticket:
    change = new_token()
    request = _update_request(key, {**to_row(fields), "change": change}, version=version, removed=removed)
    try:
        answer = write_once("update_item", request, token=change)
    except WriteCancelled as cancelled:
        return _after_refusal(key, change, version, cancelled)
    return ticket_from_row(unmarshal(answer["Attributes"]))


def _after_refusal(key: TicketKey, change: str, version: int | None, cancelled: WriteCancelled) -> Ticket:
    """The ticket if it carries this very change, whose answer was lost; otherwise why it was refused.

    A ticket keeps the token of its last change only. One version after the one that was read, that change is the
    only one; later, this one may be below it.
    """
    _require_failed_condition(cancelled)
    old = cancelled.reasons[0].old
    if old is None:
        raise TicketNotFound(key) from cancelled
    current = ticket_from_row(old)
    if old.get("change") == change:
        return current
    if current.void:
        raise TicketVoided(current) from cancelled
    hidden = cancelled.after_unknown and version is not None and current.version > version + 1
    raise StaleVersion(current, outcome_unknown=hidden) from cancelled


def _require_failed_condition(cancelled: WriteCancelled) -> None:
    """Raise what is not about our conditions again: it says nothing about the rows."""
    if all(reason.code != "ConditionalCheckFailed" for reason in cancelled.reasons):
        raise cancelled


def _update_request(
    key: TicketKey, values: Mapping[str, Any], *, version: int | None, removed: Sequence[str]
) -> dict[str, Any]:
    """Set and remove attributes of a ticket on the condition that it is there, not void, and at `version`."""
    sets = ", ".join(f"#{name} = :{name}" for name in values)
    removes = f" REMOVE {', '.join(f'#{name}' for name in removed)}" if removed else ""
    names = {f"#{name}": name for name in {*values, *removed, "pk", "version", "void"}}
    arguments = {**{f":{name}": value for name, value in values.items()}, ":one": 1}
    condition = "attribute_exists(#pk) AND attribute_not_exists(#void)"
    if version is not None:
        is_first = version == IMPORTED["version"]
        at_version = "(attribute_not_exists(#version) OR #version = :version)" if is_first else "#version = :version"
        condition += f" AND {at_version}"
        arguments[":version"] = version
    return {
        "TableName": table_name(TABLE),
        "Key": marshal({"pk": key.project, "sk": key.number}),
        "UpdateExpression": f"SET {sets}, #version = if_not_exists(#version, :one) + :one{removes}",
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": marshal(arguments),
        "ReturnValues": "ALL_NEW",
        **OLD_ITEM,
    }


def _get(pk: str, sk: int) -> Row | None:
    request = {"TableName": table_name(TABLE), "Key": marshal({"pk": pk, "sk": sk}), "ConsistentRead": True}
    item = read("get_item", request).get("Item")
    return unmarshal(item) if item else None


def _query(pk: str, attributes: Sequence[str], *, after: int | None, limit: int, newest_first: bool) -> Slice:
    """Rows after a position, but for the project's. One more is read to know whether the list goes on."""
    names = {f"#{name}": name for name in ("pk", "sk", *attributes)}
    request: dict[str, Any] = {
        "TableName": table_name(TABLE),
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": names,
        "KeyConditionExpression": "#pk = :pk AND #sk > :project_row",
        "ExpressionAttributeValues": marshal({":pk": pk, ":project_row": PROJECT_ROW}),
        "ScanIndexForward": not newest_first,
        "Limit": limit + 1,
        "ConsistentRead": True,
    }
    if after is not None:
        request["ExclusiveStartKey"] = marshal({"pk": pk, "sk": after})
    answer = read("query", request)
    rows = tuple(unmarshal(item) for item in answer["Items"])
    goes_on = len(rows) > limit or "LastEvaluatedKey" in answer  # the latter also where the rows fill 1 MB
    return Slice(rows=rows[:limit], end=rows[:limit][-1]["sk"] if goes_on else None)


def place_in_register(key: str) -> int:
    """The sort key that keeps project keys in alphabetical order: the key read as a number in base 37."""
    place = 0
    for character in key.ljust(KEY_LENGTH):
        place = place * len(ALPHABET) + ALPHABET.index(character)
    return place


def project_from_row(row: Row) -> Project:
    """A project, from its own row or from the register's."""
    return Project(key=row["key"], name=row["name"], description=row["description"])


def ticket_from_row(row: Row) -> Ticket:
    """A ticket from its row. What the row does not hold is empty, as when it was voided, or imported by somebody."""
    row = {**IMPORTED, **row}
    return Ticket(
        key=TicketKey(project=row["pk"], number=row["sk"]),
        title=row.get("title", ""),
        description=row.get("description", ""),
        status=Status(row["status"]),
        assignee=row.get("assignee", ""),
        labels=tuple(row.get("labels", ())),
        reporter=row["reporter"],
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        version=row["version"],
        void=_void_from_row(row.get("void")),
    )


def _void_from_row(row: Row | None) -> Void | None:
    return Void(by=row["by"], at=datetime.fromisoformat(row["at"]), reason=row["reason"]) if row else None
