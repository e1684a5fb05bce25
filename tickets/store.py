"""The only room that knows the tickets table: its keys, its rows, and the conditions of its writes.

    ("ABC", 0)             project ABC; so the query for ABC's highest number also shows whether ABC exists
    ("ABC", 42)            ticket ABC-42; `sequences.put_next` stores it under the next number of ABC
    ("#projects", place)   the register: one row for each project, in alphabetical order

No row is ever deleted. `token` names the request that made a row, `change` the last request that changed it: a repeat
recognises its own write after a lost answer. The limits of the fields are in `validators`. A list is read from a
position: the sort key of the last row before the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sequences.exceptions import WriteCancelled
from sequences.storage import (
    FIRST_VERSION,
    KeySchema,
    marshal,
    new_token,
    put_if_absent,
    query_numbers,
    read,
    read_item,
    table_name,
    transaction,
    unmarshal,
    update_version,
    write_once,
)
from tickets.exceptions import ProjectExists, StaleVersion, TicketNotFound, TicketVoided
from tickets.types import Project, Status, Ticket, TicketKey, Void

TABLE = "tickets"
REGISTER = "#projects"  # not a project key
PROJECT_ROW = 0
ALPHABET = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEY_LENGTH = 10
ABOUT_PROJECT = ("key", "name", "description")
# The attributes of a ticket in a list, and all attributes.
SUMMARY = ("title", "status", "assignee", "labels", "reporter", "created_at", "updated_at", "version", "void")
WHOLE = (*SUMMARY, "description")
# Defaults for imported rows, which may lack attributes that we always write.
NEVER = datetime.fromtimestamp(0, UTC).isoformat()
IMPORTED = {
    "status": Status.OPEN.value,
    "reporter": "",
    "created_at": NEVER,
    "updated_at": NEVER,
    "version": FIRST_VERSION,
}

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """Some rows of a list in their order; `end` is the position of the last row, None at the end of the list."""

    rows: tuple[Row, ...]
    end: int | None


def insert_project(project: Project, *, created_at: datetime, token: str) -> bool:
    """Store a project and its row in the register, both or neither. A repeat with the same token does nothing.

    False if an earlier request with this token has stored a project under this key, perhaps with other content; or this
    one, if its answer was lost and the engine ignores request tokens. Raises ProjectExists. One transaction: 4 write
    units, if each row has at most 1 KB.
    """
    about = {name: getattr(project, name) for name in ABOUT_PROJECT}
    row = to_row({**about, "created_at": created_at, "token": token})
    rows = [
        {"pk": project.key, "sk": PROJECT_ROW, **row},
        {"pk": REGISTER, "sk": place_in_register(project.key), **row},
    ]
    puts = [put_if_absent(_schema(), marshal(row)) for row in rows]
    try:
        answer = write_once("transact_write_items", transaction(puts, request_token=new_token()), token=token)
    except WriteCancelled as cancelled:
        _require_failed_condition(cancelled)
        raise ProjectExists(project.key) from cancelled
    return bool(answer)


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
    """Fields of a ticket or a project in their stored form."""
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
    """Store new content in some fields of a ticket that is still at `version`, and return the new ticket.

    Raises TicketNotFound, StaleVersion or TicketVoided. Nothing was stored then, except perhaps if StaleVersion says
    `outcome_unknown`: an answer was lost, and the ticket is more than one version ahead. One write.
    """
    return _update(key, {**content, "updated_by": by, "updated_at": at}, version=version)


def void_ticket(key: TicketKey, *, void: Void, version: int | None) -> Ticket:
    """Replace a ticket's content by the person, the time and the reason. Its number stays taken for ever.

    Raises TicketNotFound, TicketVoided, or StaleVersion if the ticket is not at the given `version`. One write.
    """
    fields = {"status": Status.VOID.value, "void": void, "updated_by": void.by, "updated_at": void.at}
    return _update(key, fields, version=version, removed=("title", "description", "assignee", "labels"))


def _update(key: TicketKey, fields: Mapping[str, Any], *, version: int | None, removed: Sequence[str] = ()) -> Ticket:
    schema, change = _schema(), new_token()
    values = marshal({**to_row(fields), "change": change})
    position = schema.key(key.project, key.number)
    request = update_version(schema, position, values, version=version, unless="void", removed=removed)
    try:
        answer = write_once("update_item", request, token=change)
    except WriteCancelled as cancelled:
        return _after_refusal(key, change, version, cancelled)
    return ticket_from_row(unmarshal(answer["Attributes"]))


def _after_refusal(key: TicketKey, change: str, version: int | None, cancelled: WriteCancelled) -> Ticket:
    """The ticket if it has this change, whose answer was lost. Otherwise raises the reason of the refusal.

    A ticket keeps the token of its last change only. If it is one version ahead, that change is the only one. If it is
    further ahead, ours may be one of the earlier changes.
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
    """Raise a cancelled write again unless one of its conditions failed: other reasons say nothing about the rows."""
    if all(reason.code != "ConditionalCheckFailed" for reason in cancelled.reasons):
        raise cancelled


def _get(partition: str, number: int) -> Row | None:
    schema = _schema()
    item = read("get_item", read_item(schema.table, schema.key(partition, number))).get("Item")
    return unmarshal(item) if item else None


def _query(partition: str, attributes: Sequence[str], *, after: int | None, limit: int, newest_first: bool) -> Slice:
    """Rows after a position, without the row of the project. Reads one row more, to know whether the list goes on."""
    schema = _schema()
    request = query_numbers(
        schema,
        partition,
        newest_first=newest_first,
        limit=limit + 1,
        above=PROJECT_ROW,
        after=None if after is None else schema.key(partition, after),
        attributes=attributes,
    )
    answer = read("query", request)
    rows = tuple(unmarshal(item) for item in answer["Items"])
    goes_on = len(rows) > limit or "LastEvaluatedKey" in answer  # a query ends after 1 MB, too
    return Slice(rows=rows[:limit], end=rows[:limit][-1]["sk"] if goes_on else None)


def _schema() -> KeySchema:
    return KeySchema(table=table_name(TABLE))


def place_in_register(key: str) -> int:
    """The sort key for a project key in the register: the key as a number in base 37, so in alphabetical order."""
    place = 0
    for character in key.ljust(KEY_LENGTH):
        place = place * len(ALPHABET) + ALPHABET.index(character)
    return place


def project_from_row(row: Row) -> Project:
    """A project from its own row, or from its row in the register."""
    return Project(key=row["key"], name=row["name"], description=row["description"])


def ticket_from_row(row: Row) -> Ticket:
    """A ticket from its row. Void and imported tickets may lack attributes: they get empty values or defaults."""
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
