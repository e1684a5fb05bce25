"""The rows that say who may do what in projects: the row of a project, and one for each of its members.

Members are in the order of the first letters of their names.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any

from sequences.actions import Action, Delete, Put
from sequences.exceptions import WriteCancelled
from sequences.storage import FIRST_VERSION, new_token, table_name, transaction, write_once
from tickets.access.memory import Accesses
from tickets.exceptions import ProjectChanged, ProjectNotFound
from tickets.store.places import PROJECT_ROW, ROWS, ROWS_A_QUERY, TABLE, renames, require_failed_condition, setting
from tickets.store.visible import of_person, put_on
from tickets.tables import Position, Row, Slice, to_row
from tickets.types import Access, Member, Membership, Opening, Role

MEMBER = ("user", "role")
ABOUT_ACCESS = ("pk", "open", "archived", "owners", "members", *MEMBER)  # of the rows at `places_of_access`
# Rows from before there were members: everybody read and filed.
BEFORE_MEMBERS: Row = {
    "open": Opening.FILE.value,
    "archived": False,
    "version": FIRST_VERSION,
    "members": {},
    "members_version": 0,
}
ROWS_A_WRITE = 99  # beside the row of the project


def of_members(partition: str) -> str:
    """The partition with a row for each member of a project."""
    return f"{partition}#members"


def place_of(person: str) -> int:
    """The sort key of a person among the members: the first 10 bytes of the name, and 5 of its digest."""
    name = person.encode()
    return int.from_bytes(name[:10].ljust(10, b"\0") + sha256(name).digest()[:5])


def member_row(partition: str, person: str, role: Role) -> dict[str, Any]:
    """The row of a member."""
    return {**_key_of_member(partition, person), "user": person, "role": role.value}


def _key_of_member(partition: str, person: str) -> dict[str, Any]:
    return {"pk": of_members(partition), "sk": place_of(person)}


def _put_member(partition: str, person: str, role: Role | None) -> Action:
    """The action that gives a person a role in a project, or takes it away."""
    if role is None:
        return Delete(TABLE, _key_of_member(partition, person))
    return Put(TABLE, member_row(partition, person, role))


def places_of_access(person: str, partition: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """The places of the two rows that say what a person may do in a project."""
    return (partition, PROJECT_ROW), (of_members(partition), place_of(person))


def find_access(key: str, person: str) -> Access:
    """What a person may do in a project, as this process remembers it for up to 5 s. Raises ProjectNotFound.

    Costs nothing, but for one consistent read of two rows every 5 s.
    """
    return renames.in_partition(key, partial(accesses.of, person))


def _read_access(person: str, partition: str) -> Access:
    rows = {(row["pk"], row["sk"]): row for row in ROWS.get_many(places_of_access(person, partition), ABOUT_ACCESS)}
    if (access := access_from_rows(person, partition, rows)) is None:
        raise ProjectNotFound(partition)
    return access


def access_from_rows(person: str, partition: str, rows: Mapping[tuple[str, int], Row]) -> Access | None:
    """What a person may do in a project, from the rows at `places_of_access`; None if there is no such project."""
    of_project, of_member = places_of_access(person, partition)
    if of_project not in rows:
        return None
    project = {**BEFORE_MEMBERS, **rows[of_project]}
    if "owners" in project:
        own = _role_in(rows.get(of_member), person)
    else:  # as version 0.2.0 stored it
        own = Role(project["members"][person]) if person in project["members"] else None
    return Access.of(own, Opening(project["open"]), archived=project["archived"])


def _role_in(row: Row | None, person: str) -> Role | None:
    return Role(row["role"]) if row and row["user"] == person else None


accesses = Accesses(_read_access, partial(table_name, TABLE))


def find_members(key: str, at: Position | None, limit: int) -> Slice:
    """Members of a project. Raises ProjectNotFound. One consistent read, and one query."""

    def find(partition: str) -> Slice:
        _read_project(partition)
        return ROWS.query(of_members(partition), MEMBER, at=at, limit=limit, newest_first=False)

    return renames.in_partition(key, find)


def member_from_row(row: Row) -> Member:
    """A member from their row."""
    return Member(user=row["user"], role=Role(row["role"]))


def read_membership(key: str, user: str) -> Membership:
    """What a change of a member goes by, as it is now. Raises ProjectNotFound. Two consistent reads."""
    return renames.in_partition(key, partial(_read_membership, user))


def _read_membership(user: str, partition: str) -> Membership:
    project = _read_project(partition)  # first: after a change between the two reads its version is a former one
    row = ROWS.get(of_members(partition), place_of(user))
    return Membership(
        partition=partition,
        user=user,
        role=_role_in(row, user),
        owners=project["owners"],
        version=project["members_version"],
    )


def change_member(old: Membership, role: Role | None, *, at: datetime, by: str) -> None:
    """Give a person a role, None for none, in a project whose members are still as they were.

    Raises ProjectChanged. One transaction of three rows: 6 write units, however many members there are.
    """
    values = to_row({"updated_by": by, "updated_at": at, "members_version": old.version + 1})
    values["owners"] = old.owners + (role is Role.OWNER) - (old.role is Role.OWNER)
    rows = [
        _put_member(old.partition, old.user, role),
        put_on(of_person(old.user), old.partition, listed=role is not None),
    ]
    _write(old.partition, old.version, values, rows)


def _write(partition: str, version: int, values: Row, rows: Sequence[Action], removed: Sequence[str] = ()) -> None:
    """Store rows of members and their project, while its members are at this version. Raises ProjectChanged."""
    change = new_token()
    same = "#members_version = :was" if version else "attribute_not_exists(#members_version)"
    project = setting(
        partition,
        PROJECT_ROW,
        {**values, "change": change},
        removed=removed,
        condition=f"attribute_exists(pk) AND {same}",
        given={"was": version} if version else {},
    )
    request = transaction([action.wire() for action in (project, *rows)], request_token=change)
    try:
        write_once("transact_write_items", request, token=change)
    except WriteCancelled as cancelled:
        require_failed_condition(cancelled)
        if (row := cancelled.reasons[0].old) is None or row.get("change") != change:
            raise ProjectChanged(renames.key(partition), renames.key(partition)) from cancelled
    finally:
        accesses.forget()


def _read_project(partition: str) -> Row:
    """The row of a project whose members have rows of their own. Raises ProjectNotFound. One consistent read.

    Version 0.2.0 kept all members in the row of the project: they get rows of their own first.
    """
    while (row := ROWS.get(partition, PROJECT_ROW)) and "owners" not in row:
        with suppress(ProjectChanged):  # somebody else gives them rows, or an older process changes them
            _give_rows(partition, {**BEFORE_MEMBERS, **row})
    if row is None:
        raise ProjectNotFound(partition)
    return row


def _give_rows(partition: str, project: Row) -> None:
    """Give each member in the row of a project a row; the last write makes these count. Raises ProjectChanged.

    A process that died on the way may have left rows of people who are no members any more.
    """
    version, roles = project["members_version"], {name: Role(role) for name, role in project["members"].items()}
    left, _ = ROWS.look(of_members(partition), MEMBER, at=None, limit=ROWS_A_QUERY, newest_first=False)
    people = {*roles, *(row["user"] for row in left)}
    rows = [_put_member(partition, person, roles.get(person)) for person in people]
    while len(rows) > ROWS_A_WRITE:
        _write(partition, version, {"members_version": version}, rows[:ROWS_A_WRITE])
        rows = rows[ROWS_A_WRITE:]
    owners = [*roles.values()].count(Role.OWNER)
    _write(partition, version, {"owners": owners, "members_version": version + 1}, rows, removed=["members"])
