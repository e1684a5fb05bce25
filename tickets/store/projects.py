"""The rows of projects: each has its own, and one in the register for every key that it ever had."""

from collections.abc import Iterator
from datetime import datetime

from sequences.actions import Action, Update
from sequences.exceptions import IdempotencyMismatch, WriteCancelled
from sequences.storage import FIRST_VERSION, marshal, new_token, put_if_absent, transaction, write_once
from tickets.exceptions import ProjectChanged, ProjectExists, ProjectNotFound, StaleVersion
from tickets.store.members import BEFORE_MEMBERS, accesses, member_row
from tickets.store.places import (
    ALPHABET,
    ASKED,
    KEY_LENGTH,
    PROJECT_ROW,
    REGISTER,
    RENAMES,
    ROWS,
    TABLE,
    place_in_register,
    renames,
    require_failed_condition,
    setting,
)
from tickets.store.visible import ENTRY, OPEN, entry, is_wanted, listing, of_person
from tickets.tables import Position, Row, Slice, to_row
from tickets.types import Opening, Project, Role

ABOUT_PROJECT = ("key", "name", "description", "open", "archived", "version")


def insert_project(project: Project, *, owner: str, created_at: datetime, token: str | None) -> bool:
    """Store a project with its owner, and the rows by which it is listed, or nothing. A repeat does nothing.

    False if an earlier request with this token has stored a project, perhaps another one; or this one, if its answer
    was lost and the engine ignores request tokens. Raises ProjectExists. One transaction: 8 write units, 2 more
    if it is open, and 2 more with a token, which is remembered, if each row has at most 1 KB.
    """
    about = to_row({name: getattr(project, name) for name in ABOUT_PROJECT})
    written = token or new_token()
    row = to_row({**about, "created_at": created_at, "token": written})
    lists = (of_person(owner), *([OPEN] if project.open is not Opening.NO else []))
    rows: list[Row] = [
        {"pk": project.key, "sk": PROJECT_ROW, **row, "owners": 1, "members_version": 1},
        {**member_row(project.key, owner, Role.OWNER), "token": written},
        {"pk": REGISTER, "sk": place_in_register(project.key), **row},
        *({**entry(name, project.key), "token": written} for name in lists),
    ]
    if token is not None:
        rows.append({"pk": ASKED + token, "sk": PROJECT_ROW, "partition": project.key, **about, "token": token})
    puts = [put_if_absent(ROWS.schema, marshal(row)) for row in rows]
    try:
        answer = write_once("transact_write_items", transaction(puts, request_token=new_token()), token=written)
    except WriteCancelled as cancelled:
        require_failed_condition(cancelled)
        raise ProjectExists(project.key) from cancelled
    return bool(answer)


def find_inserted(project: Project, *, token: str | None) -> Project:
    """The project that a request with this token has stored, as it is now, with the key that it has now.

    Raises IdempotencyMismatch if it asked for another one. Two consistent reads, or one without a token.
    """
    asked = ROWS.get(ASKED + token, PROJECT_ROW) if token else None
    if asked is None:
        return find_project(project.key)
    if project_from_row(asked) != project:
        raise IdempotencyMismatch(f"The idempotency token was used for another project, {asked['key']}.")
    return project_in(project.key, asked["partition"])


def find_project(key: str) -> Project:
    """One project. Raises ProjectNotFound. One consistent read."""
    return renames.in_partition(key, lambda partition: project_in(key, partition))


def project_in(key: str, partition: str) -> Project:
    """The project in a partition. Raises ProjectNotFound, which names the key. One consistent read."""
    row = ROWS.get(partition, PROJECT_ROW)
    if row is None:
        raise ProjectNotFound(key)
    renames.learn(partition, row["key"])
    return project_from_row(row)


def find_partition(key: str) -> str:
    """The partition of a project. Raises ProjectNotFound. One consistent read."""

    def exists(partition: str) -> str:
        project_in(key, partition)
        return partition

    return renames.in_partition(key, exists)


def find_projects(at: Position | None, limit: int, *, archived: bool = True, text: str | None = None) -> Slice:
    """All projects in alphabetical order of their keys, with their partitions; `is_wanted` says which of them.

    Former keys of projects are left out. One query of `limit` rows, and more if it leaves out rows.
    """

    def keep(row: Row) -> bool:
        return "renamed_to" not in row and is_wanted(row, archived=archived, text=text)

    found = ROWS.search(REGISTER, ENTRY, at=at, limit=limit, newest_first=False, keep=keep)
    for row in found.rows:
        renames.learn(partition_from_row(row), row["key"])
    return found


def find_partitions(prefix: str, at: Position | None, limit: int) -> Slice:
    """The rows of the register for the partitions that begin with a text, in their order. One query, or a few more.

    Every partition has its row under the key that its project had first.
    """
    if not set(prefix) <= set(ALPHABET) or len(prefix) > KEY_LENGTH:
        return Slice(rows=(), newest_first=False, begins=None, end=None)
    last = place_in_register(prefix.ljust(KEY_LENGTH, ALPHABET[-1]))
    return ROWS.search(
        REGISTER,
        ENTRY,
        at=at or Position(place_in_register(prefix) - 1),
        limit=limit,
        newest_first=False,
        keep=lambda row: place_in_register(partition_from_row(row)) == row["sk"],
        enough=lambda row: row["sk"] > last,
    )


def change_project(old: Project, new: Project, *, at: datetime, by: str) -> None:
    """Store what is new about a project that is still as it was. It never loses a former key.

    Raises StaleVersion, ProjectChanged if it has another key now, and ProjectExists if the new key names another
    project. One transaction: 6 write units, or 10 with a new key, if each row has at most 1 KB.
    """
    change = new_token()
    signed = to_row({"updated_by": by, "updated_at": at, "change": change})
    actions = renames.in_partition(old.key, lambda partition: _changes(partition, old, new, signed))
    request = transaction([action.wire() for action in actions], request_token=change)
    try:
        write_once("transact_write_items", request, token=change)
    except WriteCancelled as cancelled:
        _after_refused_change(old, new, change, cancelled)
    finally:
        renames.forget()
        accesses.forget()


def _changes(partition: str, old: Project, new: Project, signed: Row) -> list[Action]:
    """The project's row, whose condition decides between two changes, and its rows in the register.

    A new key must name nothing, or this project.
    """
    about = to_row({name: getattr(new, name) for name in ABOUT_PROJECT})
    missing = " OR attribute_not_exists(#version)" if old.version == FIRST_VERSION else ""  # from before there were any
    same = f"attribute_exists(pk) AND (#version = :was{missing})"
    free = "attribute_not_exists(pk) OR #partition = :partition OR #key = :partition"
    registered = {**about, "partition": partition}
    return [
        setting(partition, PROJECT_ROW, {**about, **signed}, condition=same, given={"was": old.version}),
        setting(REGISTER, place_in_register(new.key), registered, removed=["renamed_to"], condition=free),
        *(_renaming(partition, old.key, new.key) if new.key != old.key else ()),
        listing(partition, new.open),  # also if it stays open: projects from before there were members may lack it
    ]


def _renaming(partition: str, old: str, new: str) -> Iterator[Action]:
    """The register's row of the old key, and the row from which every process learns the new one."""
    yield setting(REGISTER, place_in_register(old), {"partition": partition, "renamed_to": new})
    yield Update(
        TABLE,
        {"pk": RENAMES, "sk": place_in_register(partition)},
        update="SET #partition = :partition, #key = :key ADD #keys :keys",
        names={"#partition": "partition", "#key": "key", "#keys": "keys"},
        values={":partition": partition, ":key": new, ":keys": {old, new}},
    )


def _after_refused_change(old: Project, new: Project, change: str, cancelled: WriteCancelled) -> None:
    """Return if the project has this change, whose answer was lost. Otherwise raise the reason of the refusal."""
    require_failed_condition(cancelled)
    row = cancelled.reasons[0].old
    if row is None:
        raise ProjectExists(new.key) from cancelled
    if row.get("change") != change:
        now = project_from_row(row)
        raise (StaleVersion(now) if now.key == old.key else ProjectChanged(old.key, now.key)) from cancelled


def project_from_row(row: Row) -> Project:
    """A project from its own row, or from its row in the register."""
    row = {**BEFORE_MEMBERS, **row}
    return Project(
        key=row["key"],
        name=row["name"],
        description=row["description"],
        open=Opening(row["open"]),
        archived=row["archived"],
        version=row["version"],
    )


def partition_from_row(row: Row) -> str:
    """The partition of a project, from its row in the register: the partition of its key, unless it was renamed."""
    return str(row.get("partition", row["key"]))
