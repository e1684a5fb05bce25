"""The rows that say who may see and change projects, and by which people find the projects that they may see."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from sequences.actions import Action, Delete, Put
from sequences.exceptions import WriteCancelled
from sequences.storage import FIRST_VERSION, new_token, table_name, transaction, write_once
from tickets.access.memory import Accesses
from tickets.characters import folded
from tickets.exceptions import ProjectChanged, ProjectNotFound
from tickets.store.places import (
    PROJECT_ROW,
    REGISTER,
    ROWS,
    TABLE,
    place_in_register,
    renames,
    require_failed_condition,
    setting,
)
from tickets.tables import ROWS_A_READ, Position, Row, Slice, slice_of, to_row
from tickets.types import Access, Opening, Role

OPEN = "#open"  # not a project key
ENTRY = ("key", "name", "description", "open", "archived", "version", "partition", "renamed_to")
MOST_LOOKS = 5  # for one page of projects
# Rows from before there were members: everybody read and filed.
ACCESS = ("open", "archived", "members", "members_version")  # what a project's row says of who may do what
BEFORE_MEMBERS: Row = {
    "open": Opening.FILE.value,
    "archived": False,
    "version": FIRST_VERSION,
    "members": {},
    "members_version": 0,
}


def of_person(person: str) -> str:
    """The partition with an entry for each project in which a person has a role of their own."""
    return f"@{person}"


def entry(list_name: str, partition: str) -> dict[str, Any]:
    """The entry of a project in the list of a person, or of open projects. It stays when the project is renamed."""
    return {"pk": list_name, "sk": place_in_register(partition), "partition": partition}


def listing(partition: str, opening: Opening) -> Action:
    """The action that puts a project on the list of open projects, or takes it away."""
    row = entry(OPEN, partition)
    return Delete(TABLE, {"pk": row["pk"], "sk": row["sk"]}) if opening is Opening.NO else Put(TABLE, row)


def find_access(key: str) -> Access:
    """Who may do what in a project, as this process remembers it for up to 5 s. Raises ProjectNotFound.

    Costs nothing, but for one consistent read every 5 s.
    """
    return renames.in_partition(key, accesses.of)


def read_access(key: str) -> Access:
    """Who may do what in a project, as it is now. Raises ProjectNotFound. One consistent read."""
    return renames.in_partition(key, _read_access)


def _read_access(partition: str) -> Access:
    row = ROWS.get(partition, PROJECT_ROW)
    if row is None:
        raise ProjectNotFound(partition)
    return access_from_row(partition, row)


def access_from_row(partition: str, row: Row) -> Access:
    """Who may do what in a project, from its own row."""
    row = {**BEFORE_MEMBERS, **row}
    return Access(
        partition=partition,
        open=Opening(row["open"]),
        archived=row["archived"],
        members={name: Role(role) for name, role in row["members"].items()},
        version=row["members_version"],
    )


accesses = Accesses(_read_access, partial(table_name, TABLE))


def change_members(access: Access, members: Mapping[str, Role], *, user: str, at: datetime, by: str) -> None:
    """Store the members of a project whose members are still as they were; `user` is the one who is changed.

    Raises ProjectChanged. One transaction of the project's row and an entry in the list of the person.
    """
    key, change = renames.key(access.partition), new_token()
    signed = to_row({"updated_by": by, "updated_at": at, "change": change})
    new = {"members": dict(members), "members_version": access.version + 1}
    same = "#members_version = :was" if access.version else "attribute_not_exists(#members_version)"
    row = setting(
        access.partition,
        PROJECT_ROW,
        {**new, **signed},
        condition=f"attribute_exists(pk) AND ({same})",
        given={"was": access.version} if access.version else {},
    )
    theirs = entry(of_person(user), access.partition)
    listed = Put(TABLE, theirs) if user in members else Delete(TABLE, {"pk": theirs["pk"], "sk": theirs["sk"]})
    request = transaction([action.wire() for action in (row, listed)], request_token=change)
    try:
        write_once("transact_write_items", request, token=change)
    except WriteCancelled as cancelled:
        require_failed_condition(cancelled)
        if (old := cancelled.reasons[0].old) is None or old.get("change") != change:
            raise ProjectChanged(key, key) from cancelled
    finally:
        accesses.forget()


def is_wanted(row: Row, *, archived: bool, text: str | None) -> bool:
    """Whether a list has this project: an archived one only if wanted, and with a text one whose key or name has it."""
    if row.get("archived") and not archived:
        return False
    return text is None or any(folded(text) in folded(row[name]) for name in ("key", "name"))


def find_visible_projects(
    person: str, at: Position | None, limit: int, *, archived: bool, text: str | None = None
) -> Slice:
    """Projects that a person has a role in, in the order of their first keys; `is_wanted` says which of them.

    Two queries for each page and one read of many rows; up to MOST_LOOKS times as many if some are left out, and then
    it may find fewer than there are. Projects that the person may not see cost nothing.
    """
    rows, place, backwards = list[Row](), at, at is not None and at.backwards
    for _ in range(MOST_LOOKS):
        entries, last = _entries(person, place, limit - len(rows) if text is None else max(limit, ROWS_A_READ))
        for entry, row in zip(entries, _registered(entries), strict=True):
            if is_wanted(row, archived=archived, text=text):
                if len(rows) == limit:
                    return slice_of(rows, at, place.number if place else None, newest_first=False)
                rows.append(row)
            place = Position(entry["sk"], backwards)
        if last is None:
            return slice_of(rows, at, None, newest_first=False)
        place = Position(last, backwards)
        if len(rows) == limit:
            break
    return slice_of(rows, at, place.number if place else None, newest_first=False)


def _entries(person: str, at: Position | None, limit: int) -> tuple[list[Row], int | None]:
    """The next entries of a person's list and of the list of open projects, each project once, and the last place.

    They are in the order of the reading; None is its end. Two queries.
    """
    lists = [
        ROWS.look(name, ("partition",), at=at, limit=limit, newest_first=False) for name in (of_person(person), OPEN)
    ]
    falling = at is not None and at.backwards
    ends = sorted((found[-1]["sk"] for found, goes_on in lists if goes_on), reverse=falling)
    entries = {row["sk"]: row for found, _ in lists for row in found}
    places = sorted(entries, reverse=falling)
    if ends:  # beyond it, one of the lists may have entries that were not read
        places = places[: places.index(ends[0]) + 1]
    last = places[limit - 1] if len(places) > limit else ends[0] if ends else None
    return [entries[place] for place in places[:limit]], last


def _registered(entries: list[Row]) -> Iterator[Row]:
    """The rows of these projects in the register, in the same order. One read, and more after a recent rename."""
    partitions = [entry["partition"] for entry in entries]
    rows = _rows_in_register(partitions)
    if any("renamed_to" in row for row in rows.values()):
        renames.forget()
        rows = _rows_in_register(partitions)
    return (rows[partition] for partition in partitions)


def _rows_in_register(partitions: list[str]) -> dict[str, Row]:
    places = {place_in_register(renames.key(partition)): partition for partition in partitions}
    return {places[row["sk"]]: row for row in ROWS.get_many([(REGISTER, place) for place in places], ENTRY)}
