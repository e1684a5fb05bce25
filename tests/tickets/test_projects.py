"""The rows of projects by themselves: what is read from them, and the exact actions that make and change them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sequences.actions import Delete, Put, Update
from sequences.exceptions import CancellationReason, WriteCancelled
from sequences.storage import unmarshal
from tickets.exceptions import ProjectChanged, ProjectExists, StaleVersion
from tickets.store import projects
from tickets.store.members import access_from_rows, place_of
from tickets.store.places import place_in_register
from tickets.store.projects import _after_refused_change, _changes, partition_from_row, project_from_row
from tickets.store.visible import entry, is_wanted, listing, of_person
from tickets.tables import Row
from tickets.types import Access, Opening, Project, Role

NOW = datetime(2026, 1, 31, tzinfo=UTC)
ABC = Project(key="ABC", name="Alphabet", description="Letters.", open=Opening.READ, archived=True, version=3)
ABOUT = {"key": "ABC", "name": "Alphabet", "description": "Letters.", "open": "read", "archived": True, "version": 3}
OLD = {"key": "OLD", "name": "Old", "description": ""}
SIGNED = {"updated_by": "ann"}


def inserted(monkeypatch: pytest.MonkeyPatch, project: Project, token: str | None) -> list[dict[str, Any]]:
    """The rows that are put for a new project, in one transaction."""
    sent = list[Mapping[str, Any]]()

    def write(operation: str, request: Mapping[str, Any], *, token: str) -> dict[str, Any]:
        assert operation == "transact_write_items"
        sent.append(request)
        return {"ok": True}

    monkeypatch.setattr(projects, "write_once", write)
    assert projects.insert_project(project, owner="ann", created_at=NOW, token=token)
    puts = [action["Put"] for action in sent[0]["TransactItems"]]
    assert all("attribute_not_exists" in put["ConditionExpression"] for put in puts)
    return [dict(unmarshal(put["Item"])) for put in puts]


class TestMaking:
    def test_the_rows_of_an_open_project(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its own, its owner's, that of the register, those of the lists, and what was asked for by the token."""
        own, owner, register, *lists, asked = inserted(monkeypatch, ABC, "t")
        written = {**ABOUT, "created_at": NOW.isoformat(), "token": "t"}
        place = place_in_register("ABC")
        assert own == {"pk": "ABC", "sk": 0, **written, "owners": 1, "members_version": 1}
        assert owner == {"pk": "ABC#members", "sk": place_of("ann"), "user": "ann", "role": "owner", "token": "t"}
        assert register == {"pk": "#projects", "sk": place, **written}
        assert lists == [{"pk": name, "sk": place, "partition": "ABC", "token": "t"} for name in ("@ann", "#open")]
        assert asked == {"pk": "#asked t", "sk": 0, "partition": "ABC", **ABOUT, "token": "t"}

    def test_the_rows_of_a_closed_project(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is on no list of open projects; without a token nothing is kept of what was asked for."""
        rows = inserted(monkeypatch, replace(ABC, open=Opening.NO), None)
        assert [row["pk"] for row in rows] == ["ABC", "ABC#members", "#projects", "@ann"]
        assert len({row["token"] for row in rows}) == 1


class TestReading:
    def test_a_row_is_a_project(self) -> None:
        """Each attribute has its field; a row from before there were members is open, and at its first version."""
        assert project_from_row(ABOUT) == ABC
        old = Project(key="OLD", name="Old", description="", open=Opening.FILE, archived=False, version=1)
        assert project_from_row(OLD) == old

    def test_whose_tickets_they_are(self) -> None:
        """The tickets of a renamed project are in the partition of its first key."""
        assert [partition_from_row(row) for row in (OLD, {**OLD, "partition": "ABC"})] == ["OLD", "ABC"]

    @pytest.mark.parametrize(
        ("project", "member", "expected"),
        [
            ({**ABOUT, "owners": 1}, {"user": "ann", "role": "owner"}, Access(role=Role.OWNER, archived=True)),
            ({**ABOUT, "owners": 1}, {"user": "eve", "role": "owner"}, Access(role=Role.READER, archived=True)),
            ({**ABOUT, "owners": 1}, None, Access(role=Role.READER, archived=True)),
            ({**ABOUT, "members": {"ann": "member"}}, None, Access(role=Role.MEMBER, archived=True)),
            ({**ABOUT, "members": {}}, {"user": "ann", "role": "owner"}, Access(role=Role.READER, archived=True)),
            (OLD, None, Access(role=Role.REPORTER, archived=False)),
        ],
    )
    def test_who_may_do_what(self, project: Row, member: Row | None, expected: Access) -> None:
        """A person's own row has their role; in a row from before there were any members everybody files.

        The row of another person says nothing. Version 0.2.0 had all members in the row of the project.
        """
        rows = {("ABC", 0): project, **({("ABC#members", place_of("ann")): member} if member else {})}
        assert access_from_rows("ann", "ABC", rows) == expected
        assert access_from_rows("ann", "XYZ", rows) is None

    @pytest.mark.parametrize("prefix", ["a", "A-", "ABCDEFGHIJK"])
    def test_no_key_begins_so(self, prefix: str) -> None:
        """What no key begins with is looked for nowhere."""
        found = projects.find_partitions(prefix, None, 5)
        assert (found.rows, found.next, found.previous, found.newest_first) == ((), None, None, False)


class TestChanging:
    def test_the_rows_of_a_change(self) -> None:
        """Its own, if it is as it was read; that of its key, if it is free or its own; and the list of open ones."""
        new = replace(ABC, name="Letters", version=4)
        own, register, listed = _changes("OLD", ABC, new, SIGNED)
        names = "key", "name", "description", "open", "archived", "version"
        assert (own.row, own.condition) == ({"pk": "OLD", "sk": 0}, "attribute_exists(pk) AND (#version = :was)")
        assert own.update == f"SET {', '.join(f'#{name} = :{name}' for name in (*names, 'updated_by'))}"
        about = {":key": "ABC", ":name": "Letters", ":description": "Letters.", ":open": "read", ":archived": True}
        assert own.values == {**about, ":version": 4, ":updated_by": "ann", ":was": 3}
        assert register.row == {"pk": "#projects", "sk": place_in_register("ABC")}
        assert register.update == f"SET {', '.join(f'#{name} = :{name}' for name in (*names, 'partition'))} REMOVE #0"
        assert register.condition == "attribute_not_exists(pk) OR #partition = :partition OR #key = :partition"
        assert register.values == {**about, ":version": 4, ":partition": "OLD"}
        assert register.names["#0"] == "renamed_to"
        assert listed == listing("OLD", Opening.READ)

    def test_the_rows_of_a_rename(self) -> None:
        """The former key leads to the new one, in the register, and for every process."""
        new = replace(ABC, key="XYZ", version=4)
        _, register, former, renamed, _ = _changes("OLD", ABC, new, SIGNED)
        assert register.row["sk"] == place_in_register("XYZ")
        assert (former.row["sk"], former.update) == (
            place_in_register("ABC"),
            "SET #partition = :partition, #renamed_to = :renamed_to",
        )
        assert former.values == {":partition": "OLD", ":renamed_to": "XYZ"}
        assert renamed == Update(
            "tickets",
            {"pk": "#renames", "sk": place_in_register("OLD")},
            update="SET #partition = :partition, #key = :key ADD #keys :keys",
            names={"#partition": "partition", "#key": "key", "#keys": "keys"},
            values={":partition": "OLD", ":key": "XYZ", ":keys": {"ABC", "XYZ"}},
        )

    def test_a_project_from_before_there_were_versions(self) -> None:
        """It is at its first version."""
        old = replace(ABC, version=1)
        own, *_ = _changes("ABC", old, replace(old, version=2), SIGNED)
        assert own.condition == "attribute_exists(pk) AND (#version = :was OR attribute_not_exists(#version))"

    @pytest.mark.parametrize(
        ("row", "error"),
        [
            (None, ProjectExists),
            ({**ABOUT, "change": "other"}, StaleVersion),
            ({**ABOUT, "key": "XYZ"}, ProjectChanged),
            ({**ABOUT, "key": "XYZ", "change": "ours"}, None),
        ],
    )
    def test_why_a_change_was_refused(self, row: dict[str, Any] | None, error: type[Exception] | None) -> None:
        """The row says it: the new key is taken, or somebody was faster; or the change is there, its answer lost."""
        reason = CancellationReason(code="ConditionalCheckFailed", old=row)
        refused = None
        try:
            _after_refused_change(ABC, replace(ABC, key="NEW"), "ours", WriteCancelled("no", (reason,)))
        except (ProjectExists, StaleVersion, ProjectChanged) as raised:
            refused = type(raised)
        assert refused is error


class TestLists:
    def test_the_places_of_a_project_in_lists(self) -> None:
        """Each person has a list, and open projects have one; closing a project takes it away."""
        place = {"pk": "#open", "sk": place_in_register("ABC")}
        assert entry(of_person("ann"), "ABC") == {"pk": "@ann", "sk": place["sk"], "partition": "ABC"}
        assert listing("ABC", Opening.NO) == Delete("tickets", place)
        for opening in (Opening.READ, Opening.FILE):
            assert listing("ABC", opening) == Put("tickets", {**place, "partition": "ABC"})

    @pytest.mark.parametrize(
        ("row", "archived", "text", "wanted"),
        [
            (ABOUT, True, None, True),
            (ABOUT, False, None, False),
            (OLD, False, None, True),
            (ABOUT, True, "alpha", True),
            (ABOUT, True, "aBc", True),
            (ABOUT, True, "letters", False),
            (ABOUT, False, "abc", False),
        ],
    )
    def test_what_a_list_wants(self, row: dict[str, Any], archived: bool, text: str | None, wanted: bool) -> None:
        """Archived projects only if they are wanted, and with a text those whose key or name has it, in any case."""
        assert is_wanted(row, archived=archived, text=text) is wanted
