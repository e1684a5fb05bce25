"""The places of rows: the table, its partitions that hold no tickets, and the keys that projects have now."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.signals import setting_changed

from sequences.actions import Update
from sequences.exceptions import WriteCancelled
from sequences.storage import FIRST_VERSION
from tickets.renames import Renames
from tickets.tables import Row, Rows
from tickets.types import TicketKey

TABLE = "tickets"
REGISTER = "#projects"  # not a project key
RENAMES = "#renames"  # neither
ASKED = "#asked "  # begins no project key
PROJECT_ROW = 0
ALPHABET = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEY_LENGTH = 10
ROWS_A_QUERY = 1000

ROWS = Rows(TABLE)


def place_in_register(key: str) -> int:
    """The sort key for a project key in the register: the key as a number in base 37, so in alphabetical order."""
    place = 0
    for character in key.ljust(KEY_LENGTH):
        place = place * len(ALPHABET) + ALPHABET.index(character)
    return place


def key_of(partition: str, number: int) -> TicketKey:
    """The key of the ticket at a place, with the present key of its project."""
    return TicketKey(project=renames.key(partition), number=number)


def setting(
    partition: str,
    number: int,
    values: Mapping[str, Any],
    *,
    removed: Sequence[str] = (),
    condition: str | None = None,
    given: Row | None = None,
) -> Update:
    """An update of a row that sets and removes attributes. `given` has the values that only the condition uses.

    In the condition, `#name` stands for the attribute of that name.
    """
    named = re.findall(r"#([a-z]\w*)", condition or "")
    gone = {f"#{index}": name for index, name in enumerate(removed)}
    removes = f" REMOVE {', '.join(gone)}" if gone else ""
    return Update(
        TABLE,
        {"pk": partition, "sk": number},
        update=f"SET {', '.join(f'#{name} = :{name}' for name in values)}{removes}",
        condition=condition,
        names={**{f"#{name}": name for name in (*values, *named)}, **gone},
        values={f":{name}": value for name, value in {**values, **(given or {})}.items()},
    )


def as_read(row: Row, version: int | None = None) -> tuple[str, Row]:
    """The condition that a row is still as it was read, and at the version that the caller wants, if any.

    Every change of a ticket gives it another version.
    """
    condition, given = "attribute_not_exists(#version)", dict[str, Any]()
    if "version" in row:
        condition, given = "#version = :was", {"was": row["version"]}
    if version in (None, row.get("version", FIRST_VERSION)):
        return condition, given
    return f"{condition} AND #version = :wanted", {**given, "wanted": version}


def require_failed_condition(cancelled: WriteCancelled) -> None:
    """Raise a cancelled write again unless one of its conditions failed: other reasons say nothing about the rows."""
    if all(reason.code != "ConditionalCheckFailed" for reason in cancelled.reasons):
        raise cancelled


def _read_renames() -> Iterator[Row]:
    """The rows of the renamed projects. One query, as there are few."""
    at = None
    while True:
        found = ROWS.query(RENAMES, ("partition", "key", "keys"), at=at, limit=ROWS_A_QUERY, newest_first=False)
        yield from found.rows
        at = found.next
        if at is None:
            return


renames = Renames(_read_renames)


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "TABLE_PREFIX":  # another table
        renames.forget()


setting_changed.connect(_forget)
