"""The rows of tickets in lists: how far a list with a filter looks, and where it begins.

Numbers follow time: tickets with lower numbers were filed earlier. A ticket that was moved here is among those of the
day of its move, and was created before them.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from tickets.lists.filters import EVERY_TICKET, TicketFilter
from tickets.store.members import ABOUT_ACCESS, access_from_rows, accesses, places_of_access
from tickets.store.places import ROWS, renames
from tickets.store.projects import project_in
from tickets.store.tickets import SUMMARY, ticket_from_row
from tickets.tables import Position, Row, Slice
from tickets.types import TicketKey

NEAR = 100  # numbers: to look at so many rows takes about as long as another probe
PROBE = ("created_at", "origin")
PROBED = 3  # rows, as the first of them may have been moved here


def find_tickets(
    project: str,
    at: Position | None,
    limit: int,
    *,
    attributes: Sequence[str] | None,
    newest_first: bool,
    where: TicketFilter = EVERY_TICKET,
    look_at: int | None = None,
) -> Slice:
    """Tickets of a project that a filter wants, with the named attributes. Raises ProjectNotFound.

    One query of `limit` rows; one read more if there are none. With a filter at most MOST_QUERIES queries, which look
    at MOST_ROWS rows. Of a project that is known to be there it takes one query, of `look_at` rows with a filter.
    The first page of a list that begins at a time takes the queries of `_place_of` more.
    """

    def find(partition: str) -> Slice:
        if where == EVERY_TICKET:
            found = ROWS.query(partition, attributes, at=at, limit=limit, newest_first=newest_first)
        else:
            found = _search(partition, at, limit, attributes, newest_first=newest_first, where=where, at_once=look_at)
        if not found.rows and look_at is None:
            project_in(project, partition)
        return found

    return renames.in_partition(project, find)


def find_newest(project: str) -> Row | None:
    """The newest ticket of a project, with its dates alone; None if there is none. One query."""

    def find(partition: str) -> Row | None:
        found, _ = ROWS.look(partition, ("created_at", "void"), at=None, limit=1, newest_first=True)
        return found[0] if found else None

    return renames.in_partition(project, find)


def find_labels(project: str, limit: int) -> list[Sequence[str]]:
    """The labels of the newest tickets of a project; none for a project that there is not. One query."""

    def find(partition: str) -> list[Sequence[str]]:
        found = ROWS.query(partition, ("labels",), at=None, limit=limit, newest_first=True)
        return [row.get("labels", ()) for row in found.rows]

    return renames.in_partition(project, find)


def find_mentioned(keys: Collection[TicketKey], person: str) -> dict[TicketKey, Row]:
    """The rows of those tickets that there are, by the keys that the texts have for them.

    What the person may do in their projects is remembered with them, so that to ask it costs nothing more. One
    consistent read for 50 keys of up to 25 projects, two if they are of more, and nothing for none.
    """
    places = {key: (renames.partition(key.project), key.number) for key in keys}
    unknown = accesses.missing(person, {partition for partition, _ in places.values()})
    remember = accesses.remembering(person)
    wanted = {*places.values(), *(place for partition in unknown for place in places_of_access(person, partition))}
    rows = {(row["pk"], row["sk"]): row for row in ROWS.get_many(wanted, (*SUMMARY, *ABOUT_ACCESS))}
    for partition in unknown:
        if access := access_from_rows(person, partition, rows):
            remember(partition, access)
    return {key: rows[place] for key, place in places.items() if place in rows}


def _search(
    partition: str,
    at: Position | None,
    limit: int,
    attributes: Sequence[str] | None,
    *,
    newest_first: bool,
    where: TicketFilter,
    at_once: int | None,
) -> Slice:
    begins_at_time = at is None and not newest_first and where.created_from is not None
    falling = newest_first != (at is not None and at.backwards)
    found = ROWS.search(
        partition,
        attributes,
        at=_place_of(partition, where) if begins_at_time else at,
        limit=limit,
        newest_first=newest_first,
        keep=lambda row: where.wants(ticket_from_row(row)),
        enough=lambda row: falling and _is_too_early(row, where),
        at_once=at_once,
    )
    return replace(found, begins=None) if begins_at_time else found


def _place_of(partition: str, where: TicketFilter) -> Position:
    """A place before the first ticket that was not created too early, and at most NEAR numbers before it.

    Unless there are many moved tickets: then it may be further before it. One query of PROBED rows for each doubling of
    the number of tickets above NEAR: 11 for 200,000 tickets.
    """
    newest = ROWS.query(partition, (), at=None, limit=1, newest_first=True).rows
    low, high = 0, newest[0]["sk"] if newest else 0
    while high - low > NEAR:
        middle = (low + high) // 2
        probed = ROWS.query(partition, PROBE, at=Position(middle - 1), limit=PROBED, newest_first=False).rows
        early = [row["sk"] for row in probed if _is_too_early(row, where)]
        low, high = (early[-1], high) if early else (low, middle)
    return Position(low)


def _is_too_early(row: Row, where: TicketFilter) -> bool:
    """Whether this ticket and all with lower numbers were created too early. One that was moved here does not tell."""
    return "origin" not in row and "created_at" in row and where.begins_after(ticket_from_row(row))
