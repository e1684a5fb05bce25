"""The only room that knows the tickets table: its keys, its rows, and the conditions of its writes.

    ("ABC", 0)             project ABC; so the query for ABC's highest number also shows whether ABC exists
    ("ABC", 42)            ticket ABC-42; `sequences.put_next` stores it under the next number of ABC
    ("ABC#42#", n)         comment or change n of the ticket that was first ABC-42, numbered in the same way
    ("ABC#42#sealed", 0)   the content of that ticket while it is void, until DynamoDB deletes the row after 30 days
    ("ABC#members", place) one row for each member of the project
    ("#projects", place)   the register: one row for each key of a project, in alphabetical order
    ("@ann", place)        one row for each project in which Ann has a role of her own
    ("#open", place)       one row for each project that is open to everybody who is signed in
    ("#asked DIGEST", 0)   what made a project, by the digest of the request's token
    ("#renames", place)    one row for each renamed project: its partition, its key, and all keys that it ever had

A project that is renamed keeps its partition: the key of its tickets is made of the project's key, see `renames`. The
functions here take and return such keys. A ticket that is moved leaves a void row with `moved_to`, its next place. All
its rows but the first have `origin`, its first place, and `leads_to` there is the place where it is now.

The row of a project has the number of its `owners`, and `open`, what everybody may do.

No other row is ever deleted, but those of members, and of "@ann" and "#open", which only lead to projects. `token`
names the request that made a row: a repeat recognises its own write after a lost answer. So does `change` in the rows
of projects, comments and tickets that moved, for the last request that changed them. The limits of the fields are in
`validators`. A list is read from a position: the sort key of the last row before the page.
"""

from tickets.store import lists, members, places, projects, tickets, timeline, visible

__all__ = ["lists", "members", "places", "projects", "tickets", "timeline", "visible"]
