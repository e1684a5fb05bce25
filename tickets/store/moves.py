"""The rows of a ticket on its way to another project: what it takes along, and what it leaves."""

from datetime import datetime
from typing import Any

from sequences.actions import VALUE, Action, value_text
from sequences.exceptions import IdempotencyMismatch
from sequences.storage import FIRST_VERSION
from tickets.store.places import as_read, renames, setting
from tickets.tables import Row, to_row
from tickets.types import Status

OF_THE_PLACE = ("pk", "sk", "token", "change")  # what does not go along when a ticket is moved
STAYING = ("pk", "sk", "token", "origin", "reporter", "created_at")  # what else it leaves, besides where it went


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


def has_left(row: Row, partition: str, *, change: str) -> bool:
    """Whether the request of this name has moved the ticket from this row to this partition.

    Raises IdempotencyMismatch if it moved the ticket elsewhere.
    """
    if "moved_to" not in row or row.get("change") != change:
        return False
    if row["moved_to"]["partition"] != partition:
        raise IdempotencyMismatch("The idempotency token was used to move this ticket to another project.")
    return True
