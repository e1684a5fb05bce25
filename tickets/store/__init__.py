"""The only room that knows the tickets table: its keys, its rows, and the conditions of its writes.

    ("ABC", 0)             project ABC; so the query for ABC's highest number also shows whether ABC exists
    ("ABC", 42)            ticket ABC-42; `sequences.put_next` stores it under the next number of ABC
    ("ABC#42#", n)         comment or change n of the ticket that was first ABC-42, numbered in the same way
    ("ABC#42#sealed", 0)   the content of that ticket while it is void, until DynamoDB deletes the row after 30 days
    ("#projects", place)   the register: one row for each key of a project, in alphabetical order
    ("@ann", place)        one row for each project in which Ann has a role of her own
    ("#open", place)       one row for each project that is open to everybody who is signed in
    ("#asked DIGEST", 0)   what made a project, by the digest of the request's token
    ("#renames", place)    one row for each renamed project: its partition, its key, and all keys that it ever had

A project that is renamed keeps its partition: the key of its tickets is made of the project's key, see `renames`. The
functions here take and return such keys. A ticket that is moved leaves a void row with `moved_to`, its next place. All
its rows but the first have `origin`, its first place, and `leads_to` there is the place where it is now.

The row of a project has its `members`, a role for each user name, and `open`, what everybody may do.

No other row is ever deleted, but those of "@ann" and "#open", which only lead to projects. `token` names the request
that made a row: a repeat recognises its own write after a lost answer. So does `change` in the rows of projects,
comments and tickets that moved, for the last request that changed them. The limits of the fields are in `validators`.
A list is read from a position: the sort key of the last row before the page.
"""

from tickets.store.lists import find_labels, find_newest, find_tickets
from tickets.store.members import (
    OPEN,
    accesses,
    change_members,
    find_access,
    find_visible_projects,
    index_project,
    read_access,
)
from tickets.store.mentions import find_mentioned
from tickets.store.moves import has_left, leaving, moved_row
from tickets.store.places import REGISTER, TABLE, key_of, place_in_register, renames
from tickets.store.projects import (
    change_project,
    find_inserted,
    find_partition,
    find_partitions,
    find_project,
    find_projects,
    insert_project,
    partition_from_row,
    project_from_row,
)
from tickets.store.tickets import (
    LIVE,
    SUMMARY,
    VOID,
    WHOLE,
    Own,
    changes,
    changing,
    find_changed,
    find_row,
    find_rows,
    find_ticket,
    find_ticket_and_next,
    refusing,
    require_content,
    require_here,
    ticket_from_row,
    ticket_here,
)
from tickets.store.timeline import (
    SEALED,
    change_comment,
    change_row,
    counting,
    event_at,
    event_from_row,
    event_row,
    find_comments,
    find_event,
    find_events,
    find_sealed,
    scope_at,
    sealing,
    timeline_of,
    unsealing,
    values_key,
)

__all__ = [
    "LIVE",
    "OPEN",
    "REGISTER",
    "SEALED",
    "SUMMARY",
    "TABLE",
    "VOID",
    "WHOLE",
    "Own",
    "accesses",
    "change_comment",
    "change_members",
    "change_project",
    "change_row",
    "changes",
    "changing",
    "counting",
    "event_at",
    "event_from_row",
    "event_row",
    "find_access",
    "find_changed",
    "find_comments",
    "find_event",
    "find_events",
    "find_inserted",
    "find_labels",
    "find_mentioned",
    "find_newest",
    "find_partition",
    "find_partitions",
    "find_project",
    "find_projects",
    "find_row",
    "find_rows",
    "find_sealed",
    "find_ticket",
    "find_ticket_and_next",
    "find_tickets",
    "find_visible_projects",
    "has_left",
    "index_project",
    "insert_project",
    "key_of",
    "leaving",
    "moved_row",
    "partition_from_row",
    "place_in_register",
    "project_from_row",
    "read_access",
    "refusing",
    "renames",
    "require_content",
    "require_here",
    "scope_at",
    "sealing",
    "ticket_from_row",
    "ticket_here",
    "timeline_of",
    "unsealing",
    "values_key",
]
