"""The only room that knows the tickets table: its keys, its rows, and the conditions of its writes.

    ("ABC", 0)             project ABC; so the query for ABC's highest number also shows whether ABC exists
    ("ABC", 42)            ticket ABC-42; `sequences.put_next` stores it under the next number of ABC
    ("#projects", place)   the register: one row for each key of a project, in alphabetical order
    ("#renames", place)    one row for each renamed project: its partition, its key, and all keys that it ever had

A project that is renamed keeps its partition: the key of its tickets is made of the project's key, see `renames`. The
functions here take and return such keys. A ticket that is moved leaves a void row with `moved_to`, its next place. All
its rows but the first have `origin`, its first place, and `leads_to` there is the place where it is now.

No row is ever deleted. `token` names the request that made a row, `change` the last request that changed it: a repeat
recognises its own write after a lost answer. The limits of the fields are in `validators`. A list is read from a
position: the sort key of the last row before the page.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sequences.actions import VALUE, Action, Update, value_text
from sequences.exceptions import IdempotencyMismatch, WriteCancelled
from sequences.storage import (
    FIRST_VERSION,
    marshal,
    new_token,
    put_if_absent,
    table_name,
    transaction,
    unmarshal,
    update_version,
    write_once,
)
from tickets.exceptions import (
    ProjectChanged,
    ProjectExists,
    ProjectNotFound,
    StaleVersion,
    TicketMoved,
    TicketNotFound,
    TicketVoided,
)
from tickets.renames import Renames
from tickets.tables import Row, Rows, Slice, to_row
from tickets.types import Moved, Project, Status, Ticket, TicketKey, Void

TABLE = "tickets"
REGISTER = "#projects"  # not a project key
RENAMES = "#renames"  # neither
PROJECT_ROW = 0
ALPHABET = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEY_LENGTH = 10
ABOUT_PROJECT = ("key", "name", "description")
# The attributes of a ticket in a list, and all attributes.
SUMMARY = (
    "title",
    "status",
    "assignee",
    "labels",
    "reporter",
    "created_at",
    "updated_at",
    "version",
    "void",
    "moved_to",
    "leads_to",
)
WHOLE = (*SUMMARY, "description")
OF_THE_PLACE = ("pk", "sk", "token", "change")  # what does not go along when a ticket is moved
STAYING = ("pk", "sk", "token", "origin", "reporter", "created_at")  # what else it leaves, besides where it went
MOST_HOPS = 10  # two are enough, unless others move the ticket meanwhile
ROWS_A_QUERY = 1000
# Defaults for imported rows, which may lack attributes that we always write.
NEVER = datetime.fromtimestamp(0, UTC).isoformat()
IMPORTED = {
    "status": Status.OPEN.value,
    "reporter": "",
    "created_at": NEVER,
    "updated_at": NEVER,
    "version": FIRST_VERSION,
}

_rows = Rows(TABLE)


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
    puts = [put_if_absent(_rows.schema, marshal(row)) for row in rows]
    try:
        answer = write_once("transact_write_items", transaction(puts, request_token=new_token()), token=token)
    except WriteCancelled as cancelled:
        _require_failed_condition(cancelled)
        raise ProjectExists(project.key) from cancelled
    return bool(answer)


def find_project(key: str) -> Project:
    """One project. Raises ProjectNotFound. One consistent read."""
    return renames.in_partition(key, lambda partition: _project(key, partition))


def _project(key: str, partition: str) -> Project:
    row = _rows.get(partition, PROJECT_ROW)
    if row is None:
        raise ProjectNotFound(key)
    return project_from_row(row)


def find_partition(key: str) -> str:
    """The partition of a project. Raises ProjectNotFound. One consistent read."""

    def exists(partition: str) -> str:
        _project(key, partition)
        return partition

    return renames.in_partition(key, exists)


def find_projects(after: int | None, limit: int) -> Slice:
    """Projects in alphabetical order of their keys, with their partitions. Former keys of projects are left out.

    One query of `limit` rows, and more if there are former keys among them.
    """
    attributes, rows = (*ABOUT_PROJECT, "partition", "renamed_to"), list[Row]()
    while True:
        found = _rows.query(REGISTER, attributes, after=after, limit=limit - len(rows), newest_first=False)
        rows += [row for row in found.rows if "renamed_to" not in row]
        after = found.end
        if after is None or len(rows) == limit:
            return Slice(rows=tuple(rows), end=after)


def change_project(old: Project, new: Project, *, at: datetime, by: str) -> None:
    """Store the new key, name and description of a project that is still as it was. It never loses a former key.

    Raises ProjectChanged, and ProjectExists if the new key names another project. One transaction: 4 write units, or 8
    with a new key, if each row has at most 1 KB.
    """
    change = new_token()
    signed = to_row({"updated_by": by, "updated_at": at, "change": change})
    actions = renames.in_partition(old.key, lambda partition: _changes(partition, old, new, signed))
    request = transaction([action.wire(PROJECT_ROW, "") for action in actions], request_token=change)
    try:
        write_once("transact_write_items", request, token=change)
    except WriteCancelled as cancelled:
        _after_refused_change(old, new, change, cancelled)
    finally:
        renames.forget()


def _changes(partition: str, old: Project, new: Project, signed: Row) -> list[Action]:
    """The project's row, whose condition decides between two changes, and its rows in the register.

    A new key must name nothing, or this project.
    """
    about = {name: getattr(new, name) for name in ABOUT_PROJECT}
    was = {f"was_{name}": getattr(old, name) for name in ABOUT_PROJECT}
    unchanged = " AND ".join(f"#{name} = :was_{name}" for name in ABOUT_PROJECT)
    free = "attribute_not_exists(pk) OR #partition = :partition OR #key = :partition"
    entry = {**about, "partition": partition}
    return [
        _setting(partition, PROJECT_ROW, {**about, **signed}, condition=unchanged, given=was),
        _setting(REGISTER, place_in_register(new.key), entry, removed=["renamed_to"], condition=free),
        *(_renaming(partition, old.key, new.key) if new.key != old.key else ()),
    ]


def _renaming(partition: str, old: str, new: str) -> Iterator[Action]:
    """The register's row of the old key, and the row from which every process learns the new one."""
    yield _setting(REGISTER, place_in_register(old), {"partition": partition, "renamed_to": new})
    yield Update(
        TABLE,
        {"pk": RENAMES, "sk": place_in_register(partition)},
        update="SET #partition = :partition, #key = :key ADD #keys :keys",
        names={"#partition": "partition", "#key": "key", "#keys": "keys"},
        values={":partition": partition, ":key": new, ":keys": {old, new}},
    )


def _after_refused_change(old: Project, new: Project, change: str, cancelled: WriteCancelled) -> None:
    """Return if the project has this change, whose answer was lost. Otherwise raise the reason of the refusal."""
    _require_failed_condition(cancelled)
    row = cancelled.reasons[0].old
    if row is None:
        raise ProjectExists(new.key) from cancelled
    if row.get("change") != change:
        raise ProjectChanged(old.key, project_from_row(row)) from cancelled


def _setting(
    partition: str,
    number: int,
    values: Mapping[str, Any],
    *,
    removed: Sequence[str] = (),
    condition: str | None = None,
    given: Row | None = None,
) -> Update:
    """An update of a row that sets and removes attributes. `given` has the values that only the condition uses."""
    gone = {f"#{index}": name for index, name in enumerate(removed)}
    removes = f" REMOVE {', '.join(gone)}" if gone else ""
    return Update(
        TABLE,
        {"pk": partition, "sk": number},
        update=f"SET {', '.join(f'#{name} = :{name}' for name in values)}{removes}",
        condition=condition,
        names={**{f"#{name}": name for name in values}, **gone},
        values={f":{name}": value for name, value in {**values, **(given or {})}.items()},
    )


def find_ticket(key: TicketKey) -> Ticket:
    """One ticket. Raises TicketNotFound, and TicketMoved. One consistent read; up to three for a ticket that moved."""
    row = find_row(key)
    require_here(key, row)
    return ticket_from_row(row)


def find_row(key: TicketKey) -> Row:
    """The row of a ticket, or what a moved ticket has left. Raises TicketNotFound. One consistent read."""
    return renames.in_partition(key.project, lambda partition: _row(partition, key.number, key))


def _row(partition: str, number: int, key: TicketKey) -> Row:
    row = _rows.get(partition, number)
    if row is None:
        raise TicketNotFound(key)
    return row


def require_here(key: TicketKey, row: Row) -> None:
    """Raise TicketMoved if the ticket has left this row. One or two reads find it, or more while it is being moved."""
    if "moved_to" not in row:
        return
    for _ in range(MOST_HOPS):
        place = row.get("origin") or row.get("leads_to") or row["moved_to"]
        row = _row(place["partition"], place["number"], key)
        if "moved_to" not in row:
            break
    raise TicketMoved(key, ticket_from_row(row))


def require_content(key: TicketKey, row: Row) -> None:
    """Raise TicketMoved or TicketVoided if the row has no content that could be changed."""
    require_here(key, row)
    if "void" in row:
        raise TicketVoided(ticket_from_row(row))


def find_tickets(project: str, after: int | None, limit: int, *, attributes: Sequence[str]) -> Slice:
    """Tickets of a project, newest first, with the named attributes. Raises ProjectNotFound.

    One query of `limit` rows; one read more if there are none.
    """

    def find(partition: str) -> Slice:
        found = _rows.query(partition, attributes, after=after, limit=limit, newest_first=True)
        if not found.rows:
            _project(project, partition)
        return found

    return renames.in_partition(project, find)


def moved_row(row: Row, *, at: datetime, by: str) -> dict[str, Any]:
    """What a ticket takes along to its next place: all its content, its history, and where it came from first."""
    kept = {name: value for name, value in row.items() if name not in OF_THE_PLACE}
    first = row.get("origin") or {"partition": row["pk"], "number": row["sk"]}
    version = row.get("version", FIRST_VERSION) + 1
    return {**kept, **to_row({"updated_at": at, "updated_by": by}), "version": version, "origin": first}


def leaving(row: Row, partition: str, *, at: datetime, by: str, change: str) -> list[Action]:
    """The actions that ride with a ticket to the next number of a partition.

    Its row becomes void, if it is still at this version, and its first place leads to the new one.
    """
    place = {"partition": partition, "number": VALUE}
    void = {"by": by, "at": at.isoformat(), "reason": value_text(f"Moved to {renames.key(partition)}-{{value}}.")}
    version = row.get("version", FIRST_VERSION)
    left = {
        "status": Status.MOVED.value,
        "void": void,
        "moved_to": place,
        "version": version + 1,
        "change": change,
        **to_row({"updated_by": by, "updated_at": at}),
    }
    # Whoever voids, moves or changes a ticket gives it another version.
    same = "#version = :was" if "version" in row else "attribute_not_exists(#version)"
    departure = _setting(
        row["pk"],
        row["sk"],
        left,
        removed=[name for name in row if name not in left and name not in STAYING],
        condition=same,
        given={"was": version} if "version" in row else {},
    )
    first = row.get("origin")
    return [departure, _setting(first["partition"], first["number"], {"leads_to": place})] if first else [departure]


def has_left(row: Row, partition: str, *, change: str) -> bool:
    """Whether the request of this name has moved the ticket from this row to this partition.

    Raises IdempotencyMismatch if it moved the ticket elsewhere.
    """
    if "moved_to" not in row or row.get("change") != change:
        return False
    if row["moved_to"]["partition"] != partition:
        raise IdempotencyMismatch("The idempotency token was used to move this ticket to another project.")
    return True


def change_ticket(key: TicketKey, *, content: Mapping[str, Any], version: int, at: datetime, by: str) -> Ticket:
    """Store new content in some fields of a ticket that is still at `version`, and return the new ticket.

    Raises TicketNotFound, StaleVersion, TicketMoved or TicketVoided. Nothing was stored then, except perhaps if
    StaleVersion says `outcome_unknown`: an answer was lost, and the ticket is more than one version ahead. One write.
    """
    return _update(key, {**content, "updated_by": by, "updated_at": at}, version=version)


def void_ticket(key: TicketKey, *, void: Void, version: int | None) -> Ticket:
    """Replace a ticket's content by the person, the time and the reason. Its number stays taken for ever.

    Raises TicketNotFound, TicketMoved, TicketVoided, or StaleVersion if the ticket is not at the given `version`. One
    write.
    """
    fields = {"status": Status.VOID.value, "void": void, "updated_by": void.by, "updated_at": void.at}
    return _update(key, fields, version=version, removed=("title", "description", "assignee", "labels"))


def _update(key: TicketKey, fields: Mapping[str, Any], *, version: int | None, removed: Sequence[str] = ()) -> Ticket:
    schema, change = _rows.schema, new_token()
    values = marshal({**to_row(fields), "change": change})

    def update(partition: str) -> Ticket:
        position = schema.key(partition, key.number)
        request = update_version(schema, position, values, version=version, unless="void", removed=removed)
        try:
            answer = write_once("update_item", request, token=change)
        except WriteCancelled as cancelled:
            return _after_refusal(key, change, version, cancelled)
        return ticket_from_row(unmarshal(answer["Attributes"]))

    return renames.in_partition(key.project, update)


def _after_refusal(key: TicketKey, change: str, version: int | None, cancelled: WriteCancelled) -> Ticket:
    """The ticket if it has this change, whose answer was lost. Otherwise raises the reason of the refusal.

    A ticket keeps the token of its last change only. If it is one version ahead, that change is the only one. If it is
    further ahead, ours may be one of the earlier changes.
    """
    _require_failed_condition(cancelled)
    old = cancelled.reasons[0].old
    if old is None:
        raise TicketNotFound(key) from cancelled
    if old.get("change") == change:
        return ticket_from_row(old)
    require_content(key, old)
    current = ticket_from_row(old)
    hidden = cancelled.after_unknown and version is not None and current.version > version + 1
    raise StaleVersion(current, outcome_unknown=hidden) from cancelled


def _require_failed_condition(cancelled: WriteCancelled) -> None:
    """Raise a cancelled write again unless one of its conditions failed: other reasons say nothing about the rows."""
    if all(reason.code != "ConditionalCheckFailed" for reason in cancelled.reasons):
        raise cancelled


def place_in_register(key: str) -> int:
    """The sort key for a project key in the register: the key as a number in base 37, so in alphabetical order."""
    place = 0
    for character in key.ljust(KEY_LENGTH):
        place = place * len(ALPHABET) + ALPHABET.index(character)
    return place


def project_from_row(row: Row) -> Project:
    """A project from its own row, or from its row in the register."""
    return Project(key=row["key"], name=row["name"], description=row["description"])


def partition_from_row(row: Row) -> str:
    """The partition of a project, from its row in the register: that of its key, unless it was renamed."""
    return str(row.get("partition", row["key"]))


def ticket_from_row(row: Row) -> Ticket:
    """A ticket from its row. Void and imported tickets may lack attributes: they get empty values or defaults.

    A guarded change of the sequence (`sequences.changes`) may make a ticket void, or a void row that never was one.
    """
    moved, void = _moved_from_row(row), None if "moved_to" in row else _void_from_row(row.get("void"))
    row = {**IMPORTED, **(_of_void(void) if void else {}), **row}
    return Ticket(
        key=key_of(row["pk"], row["sk"]),
        title=row.get("title", ""),
        description=row.get("description", ""),
        status=Status.VOID if void else Status(row["status"]),
        assignee=row.get("assignee", ""),
        labels=tuple(row.get("labels", ())),
        reporter=row["reporter"],
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        version=row["version"],
        void=void,
        moved=moved,
    )


def _of_void(void: Void) -> dict[str, str]:
    """What a void row says of itself if it never was a ticket."""
    at = void.at.isoformat()
    return {"reporter": void.by, "created_at": at, "updated_at": at}


def _void_from_row(row: Row | None) -> Void | None:
    return Void(by=row["by"], at=datetime.fromisoformat(row["at"]), reason=row["reason"]) if row else None


def _moved_from_row(row: Row) -> Moved | None:
    """Where a ticket has gone. Who moved it and when is in the attribute `void`, which the audit reads, too."""
    if "moved_to" not in row:
        return None
    to, void = row.get("leads_to", row["moved_to"]), row["void"]
    return Moved(to=key_of(**to), by=void["by"], at=datetime.fromisoformat(void["at"]))


def key_of(partition: str, number: int) -> TicketKey:
    """The key of the ticket at a place, with the present key of its project."""
    return TicketKey(project=renames.key(partition), number=number)


def _read_renames() -> Iterator[Row]:
    """The rows of the renamed projects. One query, as there are few."""
    after = None
    while True:
        found = _rows.query(RENAMES, ("partition", "key", "keys"), after=after, limit=ROWS_A_QUERY, newest_first=False)
        yield from found.rows
        after = found.end
        if after is None:
            return


renames = Renames(_read_renames, lambda: table_name(TABLE))
