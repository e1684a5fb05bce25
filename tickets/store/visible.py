"""The projects that a person may see: those in which they have a role of their own, and those open to everybody."""

from collections.abc import Iterator
from typing import Any

from sequences.actions import Action, Delete, Put
from tickets.characters import folded
from tickets.store.places import REGISTER, ROWS, TABLE, place_in_register, renames
from tickets.tables import ROWS_A_READ, Position, Row, Slice, slice_of
from tickets.types import Opening

OPEN = "#open"  # not a project key
ENTRY = ("key", "name", "description", "open", "archived", "version", "partition", "renamed_to")
MOST_LOOKS = 5  # for one page of projects


def of_person(person: str) -> str:
    """The partition with an entry for each project in which a person has a role of their own."""
    return f"@{person}"


def entry(list_name: str, partition: str) -> dict[str, Any]:
    """The entry of a project in the list of a person, or of open projects. It stays when the project is renamed."""
    return {"pk": list_name, "sk": place_in_register(partition), "partition": partition}


def put_on(list_name: str, partition: str, *, listed: bool) -> Action:
    """The action that puts a project on the list of a person, or of open projects, or takes it away."""
    row = entry(list_name, partition)
    return Put(TABLE, row) if listed else Delete(TABLE, {"pk": row["pk"], "sk": row["sk"]})


def listing(partition: str, opening: Opening) -> Action:
    """The action that puts a project on the list of open projects, or takes it away."""
    return put_on(OPEN, partition, listed=opening is not Opening.NO)


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
