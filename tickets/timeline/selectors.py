"""The reads: comments and whole timelines, by pages. What is true of all reads is said in `tickets.selectors`."""

from tickets import store
from tickets.cursors import PAGE_SIZE, cursor_at, page_of, position_of
from tickets.exceptions import CommentNotFound, CommentVoided, NotAllowed
from tickets.tables import Position
from tickets.timeline.types import Event, Kind
from tickets.types import Page, Ticket

SCOPES = "timelines"
NUMBERS = 10**15  # a cursor of scopes is the place of a project in the register times this, plus a ticket's number


def list_events(
    ticket: Ticket, *, cursor: str | None = None, limit: int = PAGE_SIZE, newest_first: bool = False
) -> Page[Event]:
    """The comments and changes of a ticket, the oldest first. One query for each page.

    A ticket without content keeps who changed which field when; the values are None.
    """
    name = _name(ticket, newest_first=newest_first)
    found = store.timeline.find_events(ticket.timeline, position_of(cursor, name), limit, newest_first=newest_first)
    return page_of(found, name, lambda row: store.timeline.event_from_row(row, ticket.values_key))


def cursor_to(ticket: Ticket, number: int) -> str | None:
    """The cursor of the page of a timeline, the oldest first, that has this event; None for the first page."""
    before = (number - 1) // PAGE_SIZE * PAGE_SIZE
    return cursor_at(Position(before), _name(ticket)) if before else None


def list_comments(ticket: Ticket, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> Page[Event]:
    """The comments of a ticket, the oldest first. Those that were withdrawn keep their places, without their texts.

    One query for each page, more if there are other events among them. A page ends after 1,000 events, so that it may
    be short although the list goes on.
    """
    name = f"{ticket.timeline}-comments"
    return page_of(
        store.timeline.find_comments(ticket.timeline, position_of(cursor, name), limit),
        name,
        store.timeline.event_from_row,
    )


def get_comment(ticket: Ticket, number: int) -> Event:
    """One comment, even if it was withdrawn. Raises CommentNotFound. One read."""
    row = store.timeline.find_event(ticket.timeline, number)
    if row is None or row.get("kind") != Kind.COMMENT:
        raise CommentNotFound(ticket.key, number)
    return store.timeline.event_from_row(row)


def get_own_comment(ticket: Ticket, number: int, *, by: str) -> Event:
    """One comment that this person can change. Raises CommentNotFound, NotAllowed and CommentVoided. One read."""
    comment = get_comment(ticket, number)
    require_own(ticket, comment, by=by)
    return comment


def require_own(ticket: Ticket, comment: Event, *, by: str) -> None:
    """Raise NotAllowed for a comment of somebody else, and CommentVoided for one that was withdrawn."""
    if comment.by != by:
        raise NotAllowed(f"Only {comment.by} can change comment {comment.number} of {ticket.key}.")
    if comment.void:
        raise CommentVoided(comment, name_of(ticket, comment))


def name_of(ticket: Ticket, comment: Event) -> str:
    """What messages call a comment."""
    return f"Comment {comment.number} of {ticket.key}"


def list_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """The scopes of the sequence "timeline": those of one page of tickets, and the cursor of the next page.

    Every ticket that was changed has one, named for its first place. A page has the tickets of one project, and may be
    empty. Two queries for each page.
    """
    at = position_of(cursor, SCOPES)
    place, number = divmod(at.number if at else 0, NUMBERS)
    projects = store.projects.find_projects(_after(place - 1 if number else place), 1)
    if not projects.rows:
        return [], None
    [project] = projects.rows
    found = store.tickets.find_changed(store.projects.partition_from_row(project), _after(number), limit)
    scopes = [store.timeline.timeline_of(row) for row in found.rows]
    if found.end is None and projects.end is None:
        return scopes, None
    return scopes, cursor_at(Position(project["sk"] * NUMBERS + (found.end or 0)), SCOPES)


def _name(ticket: Ticket, *, newest_first: bool = False) -> str:
    """The name of the list of a ticket's events."""
    return f"{ticket.timeline}-{'newest' if newest_first else 'oldest'}"


def _after(number: int) -> Position | None:
    return Position(number) if number else None
