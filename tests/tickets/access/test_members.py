"""The members of projects: who can be one, who stays an owner, and what several changes at once do."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from project.lab.meter import Meter, Usage
from sequences import dynamodb
from sequences.storage import marshal
from tickets import project_services, selectors, services, store
from tickets.access import members as service
from tickets.access import memory
from tickets.access.members import list_members, remove_member, set_member
from tickets.exceptions import InvalidInput, LastOwner, MemberNotFound, ProjectChanged, ProjectNotFound
from tickets.store.members import member_row, of_members, place_of
from tickets.store.places import PROJECT_ROW, REGISTER, ROWS, place_in_register
from tickets.tables import Position, Rows, Slice
from tickets.types import Opening, Project, Role, TicketKey

Program = Callable[[str], APIClient]
NEW_TICKET = {"title": "Printer"}


def roles(project: str = "ABC") -> dict[str, str]:
    """The members of a project."""
    return {member.user: member.role.value for member in list_members(project, limit=1000).results}


def forget_members(key: str) -> None:
    """Make a project look as one from before there were members."""
    names = ["owners", "members_version", "open", "archived", "version"]
    for pk, sk in ((key, PROJECT_ROW), (REGISTER, place_in_register(key))):
        dynamodb.call(
            "update_item",
            {
                "TableName": ROWS.schema.table,
                "Key": ROWS.schema.key(pk, sk),
                "UpdateExpression": "REMOVE " + ", ".join(f"#{name}" for name in names),
                "ExpressionAttributeNames": {f"#{name}": name for name in names},
            },
        )
    place = place_in_register(key)
    members = [(of_members(key), place_of(role.value)) for role in Role]
    for pk, sk in ((store.visible.OPEN, place), ("@owner", place), *members):
        dynamodb.call("delete_item", {"TableName": ROWS.schema.table, "Key": ROWS.schema.key(pk, sk)})
    store.members.accesses.forget()


def store_members(roles: Mapping[str, str], version: int = 1) -> None:
    """Store the members of project ABC in its row, as version 0.2.0 did."""
    dynamodb.call(
        "update_item",
        {
            "TableName": ROWS.schema.table,
            "Key": ROWS.schema.key("ABC", PROJECT_ROW),
            "UpdateExpression": "SET members = :members, members_version = :version REMOVE owners",
            "ExpressionAttributeValues": marshal({":members": roles, ":version": version}),
        },
    )
    store.members.accesses.forget()


class TestMembers:
    def test_the_maker_is_the_first_owner(self, people: dict[str, User], tables: str) -> None:
        """Who makes a project is its only member, and owns it."""
        project_services.create_project(key="ABC", name="Alphabet", by="owner")
        assert roles() == {"owner": "owner"}

    def test_a_role_is_given_changed_and_taken_away(
        self, shared: Project, sent: list[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        """A new member is told from one whose role changes; the same role again changes nothing.

        The log says each change once.
        """
        caplog.set_level("INFO", "tickets")
        assert set_member("ABC", "stranger", role="reader", by="owner")[1] is True
        assert set_member("ABC", "stranger", role="member", by="owner")[1] is False
        sent.clear()
        assert set_member("ABC", "stranger", role="member", by="owner")[1] is False
        assert sent == ["get_item"] * 2
        assert roles()["stranger"] == "member"
        remove_member("ABC", "stranger", by="owner")
        assert "stranger" not in roles()
        assert [record.getMessage() for record in caplog.records if record.name == "tickets.access.members"] == [
            "stranger made reader of project ABC by owner",
            "stranger made member of project ABC by owner",
            "stranger removed from project ABC by owner",
        ]

    def test_an_owner_stays(self, shared: Project) -> None:
        """The last owner can neither leave nor get a lower role; after another one was made, they can."""
        with pytest.raises(LastOwner):
            remove_member("ABC", "owner", by="staff")
        with pytest.raises(LastOwner):
            set_member("ABC", "owner", role="member", by="staff")
        set_member("ABC", "member", role="owner", by="owner")
        remove_member("ABC", "owner", by="member")
        assert "owner" not in roles()

    @pytest.mark.parametrize(("user", "role"), [("nobody", "reader"), ("stranger", "king"), ("", "reader")])
    def test_who_does_not_exist_is_refused(self, shared: Project, user: str, role: str) -> None:
        """Neither an unknown person nor an unknown role is stored."""
        before = roles()
        with pytest.raises(InvalidInput):
            set_member("ABC", user, role=role, by="owner")
        assert roles() == before

    def test_an_inactive_account_is_refused(self, shared: Project) -> None:
        """An account that may not sign in gets no role."""
        User.objects.filter(username="stranger").update(is_active=False)
        with pytest.raises(InvalidInput):
            set_member("ABC", "stranger", role="reader", by="owner")

    def test_who_is_no_member_cannot_be_removed(self, shared: Project) -> None:
        """To take away a role that nobody has is not found, as is a project that does not exist."""
        with pytest.raises(MemberNotFound):
            remove_member("ABC", "stranger", by="owner")
        with pytest.raises(ProjectNotFound):
            remove_member("XYZ", "owner", by="owner")

    def test_many_members_cost_no_more(self, shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """To give a role, to check it, and to read a page of members costs the same with few members and with many."""
        monkeypatch.setattr(service, "_require_account", lambda user: None)
        meter = Meter()
        dynamodb.wrap_sending(meter.counting)

        def costs(person: str) -> list[Usage]:
            found = []
            for act in (
                lambda: set_member("ABC", person, role="reader", by="owner"),
                lambda: store.members.find_access("ABC", person),
                lambda: list_members("ABC", limit=4),
            ):
                meter.reset()
                act()
                found.append(replace(meter.usage))
            return found

        few = costs("stranger")
        for number in range(60):
            set_member("ABC", f"{number:0>3}".ljust(150, "x"), role="reader", by="owner")
        assert costs("another") == few
        assert [(usage.requests, usage.read_units, usage.write_units) for usage in few] == [
            (3, 2.0, 6.0),
            (1, 2.0, 0.0),
            (2, 2.0, 0.0),
        ]

    def test_names_that_begin_alike_are_told_apart(self, shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """Members whose names begin with the same letters each have their own role."""
        monkeypatch.setattr(service, "_require_account", lambda user: None)
        names = {f"jonathan.fo{letter}ster": role for letter, role in zip("abcd", Role, strict=True)}
        for name, role in names.items():
            set_member("ABC", name, role=role, by="owner")
        assert [(name, Role(role)) for name, role in roles().items() if name in names] == [*names.items()]
        assert {name: store.members.find_access("ABC", name).role for name in names} == names
        assert store.members.find_access("ABC", "jonathan").role is None

    def test_changes_at_once_are_all_kept(self, shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of several who are made members at the same moment, nobody is lost."""
        monkeypatch.setattr(service, "_require_account", lambda user: None)  # threads do not see the test's accounts
        monkeypatch.setattr(service, "MOST_RACES", 50)
        names = [f"new{number}" for number in range(8)]
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda name: set_member("ABC", name, role="reader", by="owner"), names))
        assert set(names) <= set(roles())

    def test_a_change_that_loses_every_race_is_refused(self, shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """A change ends, however often others are faster, and says that somebody else has changed the project."""

        lost = Mock(side_effect=ProjectChanged("ABC", "ABC"))
        monkeypatch.setattr(store.members, "change_member", lost)
        with pytest.raises(ProjectChanged):
            set_member("ABC", "stranger", role="reader", by="owner")
        assert lost.call_count == service.MOST_RACES

    @pytest.mark.needs_engine
    @pytest.mark.parametrize("tokens", [True, False])
    def test_a_lost_answer_is_known(
        self, shared: Project, lose_answer: Callable[[], None], monkeypatch: pytest.MonkeyPatch, tokens: bool
    ) -> None:
        """A change whose answer was lost is made once, and told, also by an engine that ignores request tokens."""
        call = dynamodb.call

        def without_token(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
            kept = {name: value for name, value in request.items() if tokens or name != "ClientRequestToken"}
            return call(operation, kept, **limits)

        monkeypatch.setattr(dynamodb, "call", without_token)
        lose_answer()
        assert set_member("ABC", "stranger", role="reader", by="owner")[1] is True
        assert roles()["stranger"] == "reader"


ABC_1 = TicketKey(project="ABC", number=1)


class TestInOneRow:
    """Version 0.2.0 kept all members in the row of their project."""

    @pytest.fixture
    def members(self, shared: Project) -> dict[str, str]:
        """The members of project ABC, as that version stored them; a former one has left a row."""
        names = {role.value: role.value for role in Role} | {f"{number:0>3}": "reader" for number in range(196)}
        store_members(names)
        dynamodb.call(
            "put_item", {"TableName": ROWS.schema.table, "Item": marshal(member_row("ABC", "eve", Role.OWNER))}
        )
        return names

    def test_they_keep_their_roles(self, members: dict[str, str], sent: list[str]) -> None:
        """Their roles hold, and no check moves them."""
        found = {name: store.members.find_access("ABC", name).role for name in (*members, "eve")}
        assert found == {**members, "eve": None}
        assert set(sent) == {"batch_get_item"}

    def test_they_get_rows_of_their_own(self, members: dict[str, str], sent: list[str]) -> None:
        """The first change of members, or list of them, gives each a row. From then on these count."""
        set_member("ABC", "stranger", role="reader", by="owner")
        assert sent.count("transact_write_items") == 4  # 200 rows, that of the project each time, and the change
        assert roles() == {**members, "stranger": "reader"}
        assert store.members.find_access("ABC", "eve").role is None
        row = ROWS.get("ABC", PROJECT_ROW)
        assert row is not None
        assert ("members" in row, row["owners"]) == (False, 1)
        with pytest.raises(LastOwner):
            remove_member("ABC", "owner", by="owner")

    def test_several_processes_at_once(self, members: dict[str, str]) -> None:
        """The slower ones find the rows of the fastest: everybody keeps their role."""
        with ThreadPoolExecutor(4) as threads:
            found = [*threads.map(lambda _: roles(), range(4))]
        assert found == [members] * 4

    def test_a_process_that_stops_on_the_way(self, members: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        """What an older process changes meanwhile holds: rows of before do not count."""
        write, written = store.members._write, list[Any]()

        def stopped(*args: Any, **options: Any) -> None:
            if written:
                raise KeyboardInterrupt
            written.append(args)
            write(*args, **options)

        with monkeypatch.context() as dying:
            dying.setattr(store.members, "_write", stopped)
            with pytest.raises(KeyboardInterrupt):
                list_members("ABC")
        left = {name: role for name, role in members.items() if name != "member"}
        store_members(left, version=2)
        assert store.members.find_access("ABC", "member").role is None
        assert roles() == left


class TestRest:
    def test_a_member_is_made_changed_read_and_removed(self, shared: Project, program: Program) -> None:
        """A new member is 201, another role of a member 200; who was removed is not found."""
        owner, address = program("owner"), "/api/projects/ABC/members/stranger/"
        answers = [owner.put(address, {"role": role}) for role in ("reader", "member")]
        assert [answer.status_code for answer in answers] == [201, 200]
        assert answers[1].json() == owner.get(address).json() == {"user": "stranger", "role": "member"}
        assert owner.delete(address).status_code == 204
        assert owner.get(address).status_code == 404

    def test_nobody_is_no_part_of_the_body(self, shared: Project, program: Program) -> None:
        """The name is in the address: the answer to an unknown one leads to no member of the body."""
        refused = program("owner").put("/api/projects/ABC/members/nobody/", {"role": "reader"})
        assert refused.status_code == 400
        assert refused.json()["errors"] == [{"detail": "Nobody has the user name nobody."}]

    def test_members_are_listed_by_name(self, shared: Project, program: Program) -> None:
        """The list has every member with their role, page by page in both directions."""
        reader, address = program("reader"), "/api/projects/ABC/members/"
        names = ("member", "owner", "reader", "reporter")
        first = reader.get(f"{address}?limit=3").json()
        assert first["results"] == [{"user": name, "role": name} for name in names[:3]]
        assert first["prev"] is None
        second = reader.get(first["next"]).json()
        assert second["results"] == [{"user": "reporter", "role": "reporter"}]
        assert second["next"] is None
        assert reader.get(second["prev"]).json()["results"] == first["results"]
        assert reader.get(f"{address}?cursor=1").status_code == 400


class TestMemory:
    def test_a_create_costs_no_request_for_the_check(
        self, shared: Project, program: Program, sent: list[str], still: None
    ) -> None:
        """After the first request to a project, a create by REST sends what the service alone sends."""
        services.create_ticket("ABC", title="x", reporter="reporter")
        sent.clear()
        services.create_ticket("ABC", title="x", reporter="reporter")
        alone = list(sent)
        reporter = program("reporter")
        assert reporter.post("/api/projects/ABC/tickets/", NEW_TICKET).status_code == 201
        sent.clear()
        assert reporter.post("/api/projects/ABC/tickets/", NEW_TICKET).status_code == 201
        assert sent == alone

    def test_a_change_in_this_process_counts_at_once(self, shared: Project, program: Program) -> None:
        """Who gets or loses a role is let in or not by the next request."""
        stranger = program("stranger")
        for act, status in (
            (lambda: None, 404),
            (lambda: set_member("ABC", "stranger", role="reader", by="owner"), 403),
            (lambda: set_member("ABC", "stranger", role="reporter", by="owner"), 201),
            (lambda: remove_member("ABC", "stranger", by="owner"), 404),
            (lambda: project_services.update_project("ABC", changes={"open": "file"}, by="owner"), 201),
            (lambda: project_services.archive_project("ABC", by="owner"), 409),
        ):
            act()
            assert stranger.post("/api/projects/ABC/tickets/", NEW_TICKET).status_code == status

    def test_a_change_by_another_process_counts_in_time(
        self, shared: Project, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What another process has changed is noticed after `REMEMBERED_SECONDS`."""
        stranger, now = program("stranger"), 1000.0
        monkeypatch.setattr(memory, "monotonic", lambda: now)
        assert stranger.get("/api/projects/ABC/").status_code == 404
        with monkeypatch.context() as elsewhere:  # its end lets the memory forget again what this clock says
            elsewhere.setattr(store.members.accesses, "forget", lambda: None)
            set_member("ABC", "stranger", role="reader", by="owner")
        now = 1004.9
        assert stranger.get("/api/projects/ABC/").status_code == 404
        now = 1005.0
        assert stranger.get("/api/projects/ABC/").status_code == 200

    def test_the_memory_is_bounded(self, shared: Project, hidden: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process remembers at most `MOST_REMEMBERED` accesses, and none to a missing project."""
        monkeypatch.setattr(memory, "MOST_REMEMBERED", 1)
        for key in ("ABC", "NEW", "ABC"):
            assert store.members.find_access(key, "nobody").role is (Role.OWNER if key == "NEW" else None)
            assert len(store.members.accesses._known) == 1
        with pytest.raises(ProjectNotFound):
            store.members.find_access("XXX", "owner")
        assert len(store.members.accesses._known) == 1


class TestLists:
    def keys(self, client: APIClient, query: str = "") -> list[str]:
        """The projects that a program is shown, page by page."""
        found, address = [], f"/api/projects/?limit=2{query}"
        while address:
            page = client.get(address).json()
            found += [project["key"] for project in page["results"]]
            address = page["next"]
        return found

    def test_people_see_their_projects_and_the_open_ones(self, shared: Project, program: Program) -> None:
        """Each project stands once in a list, over all pages; the staff see all."""
        for key, opening in (("AA1", "read"), ("BB1", "no"), ("CC1", "file"), ("DD1", "read"), ("EE1", "no")):
            project_services.create_project(key=key, name=key, open=opening, by="owner")
        set_member("BB1", "reader", role="reader", by="owner")
        set_member("CC1", "reader", role="reader", by="owner")
        assert self.keys(program("stranger")) == ["AA1", "CC1", "DD1"]
        assert self.keys(program("reader")) == ["AA1", "ABC", "BB1", "CC1", "DD1"]
        assert self.keys(program("staff")) == ["AA1", "ABC", "BB1", "CC1", "DD1", "EE1"]
        project_services.update_project("AA1", changes={"open": "no"}, by="owner")
        remove_member("BB1", "reader", by="owner")
        assert self.keys(program("reader")) == ["ABC", "CC1", "DD1"]

    def test_a_query_that_ends_early_skips_nothing(
        self, shared: Project, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the store returns fewer rows than were asked for, as after 1 MB, no project is left out or doubled."""
        for key, opening in (("AA1", "read"), ("BB1", "no"), ("BB2", "no"), ("CC1", "file"), ("ZZ1", "read")):
            project_services.create_project(key=key, name=key, open=opening, by="reader" if key < "CC" else "owner")
        query = Rows.query

        def one_row(self: Rows, partition: str, attributes: Any, **options: Any) -> Slice:
            return query(self, partition, attributes, **{**options, "limit": 1})

        monkeypatch.setattr(Rows, "query", one_row)
        assert self.keys(program("reader")) == ["AA1", "ABC", "BB1", "BB2", "CC1", "ZZ1"]

    def test_what_people_may_not_see_costs_nothing(self, shared: Project, sent: list[str], still: None) -> None:
        """A page takes two queries and one read, with none or many projects that the person may not see."""
        for number in range(12):
            sent.clear()
            assert [one.key for one in selectors.list_projects(seen_by="reader", limit=2).results] == ["ABC"]
            assert sent == ["query", "query", "batch_get_item"]
            project_services.create_project(key=f"AA{number}", name="x", by="owner")

    def test_a_renamed_project_is_listed_by_its_present_key(self, shared: Project, program: Program) -> None:
        """Members find a project after a rename, also where the process remembers its former key."""
        project_services.update_project("ABC", changes={"open": "read"}, by="owner")
        remembered = store.places.renames._remembered()
        project_services.update_project("ABC", changes={"key": "XYZ"}, by="owner")
        store.places.renames._known = remembered
        assert self.keys(program("reader")) == self.keys(program("stranger")) == ["XYZ"]

    def test_archived_projects_are_listed_if_wanted(self, shared: Project, program: Program) -> None:
        """A list leaves archived projects out unless it is asked for them, and still fills its pages."""
        for number in range(5):
            project_services.create_project(key=f"AA{number}", name="x", open="read", by="owner")
        for number in range(4):
            project_services.archive_project(f"AA{number}", by="owner")
        for person in ("reader", "staff"):
            assert self.keys(program(person)) == ["AA4", "ABC"]
            assert len(self.keys(program(person), "&archived=true")) == 6
        assert [one.archived for one in selectors.list_projects(seen_by="reader", archived=False, limit=1).results] == [
            False
        ]

    def test_projects_from_before_stay_open(self, shared: Project, program: Program, settings: Settings) -> None:
        """A project that never had members is read and filed by everybody. Its first change puts it on their lists."""
        forget_members("ABC")
        stranger = program("stranger")
        assert stranger.get("/api/projects/ABC/").json()["open"] == "file"
        assert stranger.post("/api/projects/ABC/tickets/", NEW_TICKET).status_code == 201
        assert stranger.patch("/api/tickets/ABC-1/", {"version": 1, "title": "x"}).status_code == 403
        assert self.keys(stranger) == []
        project_services.update_project("ABC", changes={"name": "Letters"}, by="staff")
        assert self.keys(stranger) == ["ABC"]

    def test_a_project_from_before_can_be_closed(self, shared: Project, program: Program) -> None:
        """A project that never had members is closed and renamed like any other."""
        forget_members("ABC")
        changed = project_services.update_project("ABC", changes={"open": "no", "key": "XYZ"}, by="staff")
        assert changed.open is Opening.NO
        assert self.keys(program("stranger")) == []
        assert program("stranger").get("/api/projects/XYZ/").status_code == 404


class TestVisible:
    """Ann has the projects with odd places on her list, up to 11; those with even ones are open to all, up to 12."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How many rows each query of the two lists asks for."""
        places = {"@ann": range(1, 12, 2), store.visible.OPEN: range(2, 13, 2)}
        asked = list[int]()

        def look(self: Rows, name: str, attributes: Any, *, at: Position | None, limit: int, newest_first: bool) -> Any:
            assert (attributes, newest_first) == (("partition",), False)
            asked.append(limit)
            back = at is not None and at.backwards
            ahead = [sk for sk in places[name] if at is None or (sk < at.number if back else sk > at.number)]
            ahead = ahead[::-1] if back else ahead
            return tuple({"sk": sk, "partition": f"P{sk}"} for sk in ahead[:limit]), len(ahead) > limit

        monkeypatch.setattr(Rows, "look", look)
        return asked

    @pytest.fixture
    def rows(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
        """The rows of these projects in the register; 2, 8 and 9 are in the archive."""
        rows = {
            f"P{sk}": {"sk": sk, "key": f"P{sk}", "name": f"Name {sk}", "archived": sk in (2, 8, 9)}
            for sk in range(1, 13)
        }
        monkeypatch.setattr(
            store.visible, "_rows_in_register", lambda partitions: {one: rows[one] for one in partitions}
        )
        return rows

    @pytest.mark.parametrize(
        ("at", "archived", "found", "begins", "end", "sizes"),
        [
            (None, True, [1, 2, 3], None, 3, [3, 3]),
            (None, False, [1, 3, 4], None, 4, [3, 3, 1, 1]),
            (Position(3), True, [4, 5, 6], 3, 6, [3, 3]),
            (Position(6), False, [7, 10, 11], 6, 11, [3, 3, 2, 2]),
            (Position(10), True, [11, 12], 10, None, [3, 3]),
            (Position(7, backwards=True), True, [4, 5, 6], 3, 6, [3, 3]),
            (Position(4, backwards=True), False, [1, 3], None, 3, [3, 3]),
            (Position(12, backwards=True), False, [7, 10, 11], 6, 11, [3, 3, 1, 1, 1, 1]),
        ],
    )
    def test_two_lists_are_one(
        self,
        asked: list[int],
        rows: Any,
        at: Position | None,
        archived: bool,
        found: list[int],
        begins: int | None,
        end: int | None,
        sizes: list[int],
    ) -> None:
        """A page has the projects of both lists in their order; where some are left out, it asks for so many more."""
        page = store.visible.find_visible_projects("ann", at, 3, archived=archived)
        assert [row["sk"] for row in page.rows] == found
        assert (page.begins, page.end, page.newest_first) == (begins, end, False)
        assert asked == sizes

    def test_a_search_reads_many_at_once(self, asked: list[int], rows: Any) -> None:
        """With a text most are left out: each query asks for a hundred, or for as many as are wanted."""
        page = store.visible.find_visible_projects("ann", None, 2, archived=True, text="name 1")
        assert ([row["sk"] for row in page.rows], page.end, asked) == ([1, 10], 10, [100, 100])
        store.visible.find_visible_projects("ann", None, 200, archived=True, text="x")
        assert asked[2:] == [200, 200]

    def test_it_ends_though_nothing_is_found(self, asked: list[int], rows: dict[str, dict[str, Any]]) -> None:
        """After MOST_LOOKS looks the page says how far they came."""
        for row in rows.values():
            row["archived"] = True
        page = store.visible.find_visible_projects("ann", None, 1, archived=False)
        assert (page.rows, page.end, asked) == ((), 5, [1] * 10)

    def test_a_rename_is_noticed(self, asked: list[int], rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a row says that its project has another key now, the renames and the rows are read again, once."""
        read = list[list[str]]()

        def renamed(partitions: list[str]) -> dict[str, Any]:
            read.append(partitions)
            return {one: {**rows[one], **({"renamed_to": "NEW"} if len(read) == 1 else {})} for one in partitions}

        forgotten = Mock()
        monkeypatch.setattr(store.visible, "_rows_in_register", renamed)
        monkeypatch.setattr(store.places.renames, "forget", forgotten)
        page = store.visible.find_visible_projects("ann", None, 2, archived=True)
        assert read == [["P1", "P2"]] * 2
        assert (forgotten.call_count, [row["sk"] for row in page.rows]) == (1, [1, 2])
