"""The rows of tickets: how they are read, what changes them, and what moves them to another project."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sequences.actions import VALUE, Action, Check, Update, value_text
from sequences.exceptions import IdempotencyMismatch
from sequences.storage import FIRST_VERSION
from tickets.exceptions import TicketMoved, TicketNotFound, TicketVoided
from tickets.store.places import ROWS, TABLE, as_read, key_of, renames, setting
from tickets.store.timeline import timeline_of
from tickets.tables import Position, Row, Slice, to_row, void_from_row
from tickets.types import Moved, Status, Ticket, TicketKey, Void

# The attributes of a ticket in a list, and all attributes.
SUMMARY = (
    "title",
    "status",
    "assignee",
    "labels",
    "reporter",
    "created_at",
    "updated_at",
    "updated_by",
    "version",
    "comments",
    "origin",
    "void",
    "sealed_until",
    "moved_to",
    "leads_to",
)
WHOLE = (*SUMMARY, "description")
LIVE = "attribute_not_exists(#void)"  # of a ticket that can be changed
VOID = "attribute_exists(#void)"
MOST_HOPS = 10  # two are enough, unless others move the ticket meanwhile
# Defaults for imported rows, which may lack attributes that we always write.
NEVER = datetime.fromtimestamp(0, UTC).isoformat()
IMPORTED = {
    "status": Status.OPEN.value,
    "reporter": "",
    "created_at": NEVER,
    "updated_at": NEVER,
    "version": FIRST_VERSION,
}
STATUSES = {status.value: status for status in Status}  # a list has many: to ask Status for each takes longer


EMPTY = {"title": "", "description": "", "assignee": "", "labels": list[str]()}
OF_THE_PLACE = ("pk", "sk", "token", "change")  # what does not go along when a ticket is moved
STAYING = ("pk", "sk", "token", "origin", "reporter", "created_at")  # what else it leaves, besides where it went
LONG = frozenset({"description"})  # texts that a timeline does not keep


@dataclass(frozen=True, kw_only=True, slots=True)
class Own:
    """The condition that a ticket was filed by this person, and not before `since`."""

    reporter: str
    since: datetime | None = None

    @property
    def condition(self) -> str:
        """The condition of a write, in which `#name` stands for the attribute of that name."""
        return "#reporter = :only_by" + (" AND #created_at >= :since" if self.since else "")

    @property
    def given(self) -> dict[str, str]:
        """The values in the condition."""
        return {"only_by": self.reporter, **({"since": _in_utc(self.since)} if self.since else {})}

    def holds(self, row: Row) -> bool:
        """Whether the condition holds for a row."""
        in_time = self.since is None or row.get("created_at", NEVER) >= _in_utc(self.since)
        return row.get("reporter") == self.reporter and in_time


def _in_utc(moment: datetime) -> str:
    """A moment as rows have it: so written, moments have the order of their texts."""
    return moment.astimezone(UTC).isoformat()


def find_ticket_and_next(key: TicketKey) -> tuple[Ticket, bool]:
    """One ticket, and whether there is one after it. Raises TicketNotFound and TicketMoved. One query for both."""

    def look(partition: str) -> tuple[Row, bool]:
        at = Position(key.number - 1)
        found, goes_on = ROWS.look(partition, (*WHOLE, "values_key"), at=at, limit=1, newest_first=False)
        if not found or found[0]["sk"] != key.number:
            raise TicketNotFound.of_number(key, left_out=bool(found))
        return found[0], goes_on

    row, goes_on = renames.in_partition(key.project, look)
    return ticket_here(key, row), goes_on


def ticket_here(key: TicketKey, row: Row) -> Ticket:
    """The ticket of a row that was read under this key. Raises TicketMoved, which takes one or two reads."""
    require_here(key, row)
    return ticket_from_row(row)


def find_row(key: TicketKey) -> Row:
    """The row of a ticket, or what a moved ticket has left. Raises TicketNotFound. One consistent read."""
    return renames.in_partition(key.project, lambda partition: row_at(partition, key.number, key))


def find_rows(partition: str, numbers: Collection[int]) -> dict[int, Row]:
    """Those rows of tickets at these places that there are, by their numbers. One consistent read for each 100."""
    places = [(partition, number) for number in numbers]
    return {row["sk"]: row for row in ROWS.get_many(places, ("pk", *WHOLE, "values_key"))}


def row_at(partition: str, number: int, key: TicketKey) -> Row:
    """The row at a place. Raises TicketNotFound, which names the key. One consistent read."""
    row = ROWS.get(partition, number)
    if row is None:
        raise TicketNotFound(key)
    return row


def require_here(key: TicketKey, row: Row) -> None:
    """Raise TicketMoved if the ticket has left this row. One or two reads find it, or more while it is being moved."""
    if "moved_to" not in row:
        return
    for _ in range(MOST_HOPS):
        place = row.get("origin") or row.get("leads_to") or row["moved_to"]
        row = row_at(place["partition"], place["number"], key)
        if "moved_to" not in row:
            break
    raise TicketMoved(key, ticket_from_row(row))


def require_content(key: TicketKey, row: Row) -> None:
    """Raise TicketMoved or TicketVoided if the row has no content that could be changed."""
    require_here(key, row)
    if "void" in row:
        raise TicketVoided(ticket_from_row(row))


def changing(
    row: Row,
    values: Mapping[str, Any],
    *,
    removed: Sequence[str] = (),
    version: int | None = None,
    only: str = LIVE,
    own: Own | None = None,
) -> tuple[Update, Row]:
    """The action that changes a ticket's row, and the row as it is afterwards, with one version more.

    Its condition: the row is still as it was read, is at the `version` that the caller wants, if any, is as `only`
    says, and is their `own`, if that is given.
    """
    same, given = as_read(row, version)
    condition = f"{same} AND {only}"
    if own:
        condition, given = f"{condition} AND {own.condition}", {**given, **own.given}
    stored = {**to_row(values), "version": row.get("version", FIRST_VERSION) + 1}
    gone = [name for name in removed if name in row]
    update = setting(row["pk"], row["sk"], stored, removed=gone, condition=condition, given=given)
    return update, {**{name: value for name, value in row.items() if name not in gone}, **stored}


def refusing(row: Row) -> Check:
    """The action that stores nothing: its condition fails, as the row is there."""
    return Check(TABLE, {"pk": row["pk"], "sk": row["sk"]}, condition="attribute_not_exists(pk)")


def moved_row(row: Row, *, at: datetime, by: str) -> dict[str, Any]:
    """What a ticket takes along to its next place: all its content, its history, and where it came from first."""
    kept = {name: value for name, value in row.items() if name not in OF_THE_PLACE}
    first = row.get("origin") or {"partition": row["pk"], "number": row["sk"]}
    version = row.get("version", FIRST_VERSION) + 1
    return {**kept, **to_row({"updated_at": at, "updated_by": by}), "version": version, "origin": first}


def leaving(row: Row, partition: str, *, at: datetime, by: str, change: str) -> list[Action]:
    """The actions that ride with a ticket to the next number of a partition.

    Its row becomes void, if it is still as it was read, also in its comments, and its first place leads to the new one.
    """
    place = {"partition": partition, "number": VALUE}
    void = {"by": by, "at": at.isoformat(), "reason": value_text(f"Moved to {renames.key(partition)}-{{value}}.")}
    left = {
        "status": Status.MOVED.value,
        "void": void,
        "moved_to": place,
        "version": row.get("version", FIRST_VERSION) + 1,
        "change": change,
        **to_row({"updated_by": by, "updated_at": at}),
    }
    same, was = as_read(row)
    counted = "#comments = :comments" if "comments" in row else "attribute_not_exists(#comments)"
    comments = {name: row[name] for name in ("comments",) if name in row}
    departure = setting(
        row["pk"],
        row["sk"],
        left,
        removed=[name for name in row if name not in left and name not in STAYING],
        condition=f"{same} AND {counted}",
        given={**was, **comments},
    )
    first = row.get("origin")
    return [departure, setting(first["partition"], first["number"], {"leads_to": place})] if first else [departure]


def rows_left(row: Row, key: TicketKey) -> Iterator[Row]:
    """What a ticket has left at its former places, the first one first. One consistent read for each."""
    place = row.get("origin")
    while place and (place["partition"], place["number"]) != (row["pk"], row["sk"]):
        left = row_at(place["partition"], place["number"], key)
        yield left
        place = left.get("moved_to")


def has_left(row: Row, partition: str, *, change: str) -> bool:
    """Whether the request of this name has moved the ticket from this row to this partition.

    Raises IdempotencyMismatch if it moved the ticket elsewhere.
    """
    if "moved_to" not in row or row.get("change") != change:
        return False
    if row["moved_to"]["partition"] != partition:
        raise IdempotencyMismatch("The idempotency token was used to move this ticket to another project.")
    return True


def find_changed(partition: str, at: Position | None, limit: int) -> Slice:
    """Those of `limit` places of a project where tickets were filed that have a timeline, oldest first. One query."""
    found = ROWS.query(partition, ("origin", "version", "comments"), at=at, limit=limit, newest_first=False)
    rows = (row for row in found.rows if "origin" not in row)
    return replace(found, rows=tuple(row for row in rows if row.get("version", 1) > 1 or row.get("comments")))


def changes(row: Row, content: Row) -> dict[str, list[Any] | None]:
    """The values before and after of each field that content changes; None for a long text."""
    before = {**EMPTY, **IMPORTED, **row}
    changed = {name: [before[name], value] for name, value in content.items() if before[name] != value}
    return {name: None if name in LONG else pair for name, pair in changed.items()}


def ticket_from_row(row: Row) -> Ticket:
    """A ticket from its row. Void and imported tickets may lack attributes: they get empty values or defaults.

    A guarded change of the sequence (`sequences.changes`) may make a ticket void, or a void row that never was one.
    """
    moved = _moved_from_row(row) if "moved_to" in row else None
    void = void_from_row(row["void"]) if "void" in row and not moved else None
    if not row.keys() >= IMPORTED.keys():
        row = {**IMPORTED, **(_of_void(void) if void else {}), **row}
    sealed_until = row.get("sealed_until")
    return Ticket(
        key=key_of(row["pk"], row["sk"]),
        title=row.get("title", ""),
        description=row.get("description", ""),
        status=Status.VOID if void else STATUSES[row["status"]],
        assignee=row.get("assignee", ""),
        labels=tuple(row.get("labels", ())),
        reporter=row["reporter"],
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        version=row["version"],
        updated_by=row.get("updated_by", row["reporter"]),
        timeline=timeline_of(row),
        values_key=row.get("values_key", ""),
        comments=row.get("comments", 0),
        void=void,
        sealed_until=datetime.fromisoformat(sealed_until) if sealed_until else None,
        moved=moved,
    )


def _of_void(void: Void) -> dict[str, str]:
    """What a void row says of itself if it never was a ticket."""
    at = void.at.isoformat()
    return {"reporter": void.by, "created_at": at, "updated_at": at}


def _moved_from_row(row: Row) -> Moved:
    """Where a ticket has gone. Who moved it and when is in the attribute `void`, which the audit reads, too."""
    to, void = row.get("leads_to", row["moved_to"]), row["void"]
    return Moved(to=key_of(**to), by=void["by"], at=datetime.fromisoformat(void["at"]))
