"""What people may do with tickets and projects beyond coming in: their own tickets, moves, the archive, permissions."""

import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from tests.people import allow
from tests.tickets.support import has_word
from tickets import moves, project_services, project_views, selectors, services
from tickets.access.actions import NEEDED, Action, granted
from tickets.access.members import list_members, remove_member, set_member
from tickets.exceptions import NotAllowed, TicketVoided
from tickets.timeline.services import add_comment
from tickets.types import Access, Opening, Project, Role, TicketKey

Program = Callable[[str], APIClient]
Browser = Callable[[str], Client]
ABC_1, ABC_2 = (TicketKey(project="ABC", number=number) for number in (1, 2))


@pytest.fixture
def own(shared: Project) -> TicketKey:
    """ABC-2, filed by the reporter."""
    return services.create_ticket("ABC", title="Paper", reporter="reporter").ticket.key


def later(monkeypatch: pytest.MonkeyPatch, *, minutes: int) -> None:
    """Let some minutes pass."""
    now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(minutes=minutes))


class TestTable:
    def test_every_action_has_a_role(self) -> None:
        """The table knows each action, and a role may do what lower roles may."""
        assert set(NEEDED) == set(Action)
        allowed = [granted(Access(role=role, archived=False), is_staff=False) for role in Role]
        assert all(lower < higher for lower, higher in pairwise(allowed))
        stranger = Access(role=None, archived=False)
        assert granted(stranger, is_staff=False) == frozenset()
        assert granted(stranger, is_staff=True) == allowed[-1] == set(Action)

    def test_the_higher_role_counts(self) -> None:
        """Who is a reader of a project in which everybody files tickets, files them too."""
        own = (Role.READER, Role.OWNER, None)
        open_to_all = [Access.of(role, Opening.FILE, archived=False).role for role in own]
        assert open_to_all == [Role.REPORTER, Role.OWNER, Role.REPORTER]
        assert [Access.of(role, Opening.NO, archived=False).role for role in own] == [*own]


class TestOwnTickets:
    def test_a_reporter_changes_their_own(self, own: TicketKey, program: Program) -> None:
        """A reporter changes their own ticket by REST, and is told which role it takes to change another one."""
        reporter = program("reporter")
        assert reporter.patch("/api/tickets/ABC-2/", {"version": 1, "title": "x"}).status_code == 200
        refused = reporter.patch("/api/tickets/ABC-1/", {"version": 1, "title": "x"})
        assert refused.status_code == 403
        assert "needs the role member" in refused.json()["detail"]
        assert selectors.get_ticket(ABC_1).version == 1

    def test_their_own_is_a_condition_of_the_write(self, own: TicketKey, program: Program, sent: list[str]) -> None:
        """That a ticket is one's own costs no request: a change takes as many as that of a member."""
        counts = {}
        for version, person in enumerate(("owner", "reporter", "member"), 1):  # the first reads the last number
            program(person).get("/api/projects/ABC/")
            sent.clear()
            change = {"version": version, "title": person}
            assert program(person).patch("/api/tickets/ABC-2/", change).status_code == 200
            counts[person] = len(sent)
        assert counts["reporter"] == counts["member"]
        change = {"version": 1, "title": "x"}
        assert program("reporter").patch("/api/tickets/ABC-1/", change).status_code == 403

    def test_a_reporter_voids_their_own_within_an_hour(
        self, own: TicketKey, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who filed a ticket withdraws it in the first hour; an owner at any time, and nobody else."""
        for person in ("reporter", "member"):
            refused = program(person).delete("/api/tickets/ABC-1/", {"version": 1})
            assert refused.status_code == 403
            assert "needs the role owner" in refused.json()["detail"]
        services.create_ticket("ABC", title="Late", reporter="reporter")
        assert program("reporter").delete("/api/tickets/ABC-2/", {"version": 1}).status_code == 200
        later(monkeypatch, minutes=61)
        assert program("reporter").delete("/api/tickets/ABC-3/", {"version": 1}).status_code == 403
        assert program("owner").delete("/api/tickets/ABC-3/", {"version": 1}).status_code == 200

    def test_a_void_ticket_is_said_before_whose_it_is(self, own: TicketKey) -> None:
        """A ticket that is void already tells so to anybody who would change it."""
        services.void_ticket(own, by="owner")
        with pytest.raises(TicketVoided):
            services.update_ticket(own, version=2, changes={"title": "x"}, by="member", only_by="member")

    def test_a_form_says_it(self, own: TicketKey, browser_of: Browser) -> None:
        """A form for another person's ticket is refused with what was typed; the page shows no way there."""
        page = browser_of("reporter")
        assert "/ABC-2/edit/" in page.get("/ABC-2/").content.decode()
        assert "/edit/" not in page.get("/ABC-1/").content.decode()
        refused = page.post("/ABC-1/edit/", {"version": 1, "title": "My words", "status": "open"})
        assert refused.status_code == 403
        assert "needs the role member" in refused.content.decode()
        assert "My words" in refused.content.decode()

    def test_the_way_to_void_is_shown_for_an_hour(
        self, own: TicketKey, browser_of: Browser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The page of a ticket leads who filed it to its void as long as they may do that."""
        page = browser_of("reporter")
        assert "/ABC-2/void/" in page.get("/ABC-2/").content.decode()
        later(monkeypatch, minutes=61)
        shown = page.get("/ABC-2/").content.decode()
        assert "/ABC-2/edit/" in shown
        assert "/ABC-2/void/" not in shown

    def test_imported_tickets_are_nobodys(self, own: TicketKey) -> None:
        """A condition on the reporter fails for a ticket without one."""
        with pytest.raises(NotAllowed):
            services.void_ticket(own, by="member", only_by="", since=timezone.now() - timedelta(hours=1))


class TestMoves:
    def test_a_ticket_goes_where_its_mover_may_file(self, shared: Project, hidden: Project, program: Program) -> None:
        """A project that the mover may not see is as one that is missing; one in which they only read refuses."""
        member = program("member")
        unseen, missing = (
            member.post("/api/tickets/ABC-1/move/", {"project": key}, headers={"X-Request-Id": "same"})
            for key in ("NEW", "XXX")
        )
        assert unseen.status_code == missing.status_code == 400
        assert unseen.content.replace(b"NEW", b"XXX") == missing.content
        set_member("NEW", "member", role="reader", by="staff")
        assert member.post("/api/tickets/ABC-1/move/", {"project": "NEW"}).status_code == 403
        set_member("NEW", "member", role="reporter", by="staff")
        assert member.post("/api/tickets/ABC-1/move/", {"project": "OLD"}).json()["key"] == "NEW-2"

    def test_a_ticket_that_left_ones_sight_is_not_found(
        self, shared: Project, hidden: Project, program: Program, browser_of: Browser
    ) -> None:
        """Its former key leads only those to it who may see it; others learn neither its key nor its content."""
        moves.move_ticket(ABC_1, to="NEW", by="staff")
        owner, page = program("owner"), browser_of("owner")
        change = {"version": 1, "title": "x"}
        answers: list[Any] = [
            owner.get("/api/tickets/ABC-1/"),
            owner.patch("/api/tickets/ABC-1/", change),
            owner.delete("/api/tickets/ABC-1/", {"version": 1}),
            owner.post("/api/tickets/ABC-1/move/", {"project": "ABC"}),
            page.get("/ABC-1/"),
            page.get("/ABC-1/edit/"),
            page.post("/ABC-1/edit/", {**change, "status": "open"}),
            page.post("/ABC-1/void/", {"version": 1}),
        ]
        assert [answer.status_code for answer in answers] == [404] * len(answers)
        shown: list[Any] = [
            *answers,
            owner.get("/api/projects/ABC/tickets/"),
            page.get("/ABC/"),
            page.get("/ABC-1/move/"),
        ]
        assert not [answer for answer in shown if has_word(answer, "NEW")]
        assert program("staff").get("/api/tickets/ABC-1/").json()["current"]["key"] == "NEW-2"

    @pytest.mark.parametrize("form", ["comments", "comments/1/edit", "comments/1/withdraw", "restore", "progress"])
    def test_no_form_follows_a_ticket_out_of_sight(
        self, shared: Project, hidden: Project, browser_of: Browser, form: str
    ) -> None:
        """Who sends a form that was open, and whose ticket has gone, learns neither its key nor its content."""
        add_comment(ABC_1, text="Soon.", by="owner")
        moved = moves.move_ticket(ABC_1, to="NEW", by="staff").ticket
        services.update_ticket(moved.key, version=None, changes={"title": "Secret"}, by="staff")
        answer = browser_of("owner").post(f"/ABC-1/{form}/", {"text": "x", "status": "done", "version": 1})
        assert answer.status_code == 404
        assert not [word for word in ("NEW", "Secret") if has_word(answer, word)]

    def test_a_repeat_does_not_follow_a_ticket_out_of_sight(
        self, shared: Project, hidden: Project, program: Program
    ) -> None:
        """Who repeats the filing of a ticket that has gone where they may not see it, learns nothing of it there."""
        headers = {"Idempotency-Key": "k"}
        filed = [program("reporter").post("/api/projects/ABC/tickets/", {"title": "x"}, headers=headers)]
        moves.move_ticket(ABC_2, to="NEW", by="staff")
        filed += [program("reporter").post("/api/projects/ABC/tickets/", {"title": "x"}, headers=headers)]
        assert [one.status_code for one in filed] == [201, 404]
        assert not has_word(filed[1], "NEW")

    def test_no_repeat_follows_a_ticket_out_of_sight(self, shared: Project, hidden: Project, program: Program) -> None:
        """Repeats of changes, and of the filing of many, learn nothing of a ticket that has gone out of sight."""
        owner, address = program("owner"), "/api/tickets/ABC-1/"
        many = {"tickets": [{"title": "x"}, {"title": "y"}]}
        bulk: Any = ("post", "/api/projects/ABC/tickets/bulk/")
        requests: list[tuple[str, str, dict[str, Any]]] = [
            ("patch", address, {"version": 1, "title": "x"}),
            ("delete", address, {"version": 2}),
            ("post", f"{address}restore/", {"version": 3}),
            (*bulk, {"mode": "each", **many}),
            (*bulk, {"mode": "all_or_nothing", **many}),
        ]

        def send() -> list[Any]:
            return [
                getattr(owner, method)(place, body, headers={"Idempotency-Key": f"{number}"})
                for number, (method, place, body) in enumerate(requests)
            ]

        assert [answer.status_code for answer in send()] == [200, 200, 200, 200, 201]
        assert [answer.headers.get("Idempotent-Replayed") for answer in send()] == ["true"] * 5
        for number in range(1, 6):
            key = TicketKey(project="ABC", number=number)
            moved = moves.move_ticket(key, to="NEW", by="staff").ticket
            services.update_ticket(moved.key, version=None, changes={"title": "Secret"}, by="staff")
        again = send()
        assert [answer.status_code for answer in again] == [404, 404, 404, 200, 201]
        results = [one for answer in again[3:] for one in answer.json()["results"]]
        assert [one["status"] for one in results] == [404] * 4
        assert not [answer for answer in again if has_word(answer, "NEW") or has_word(answer, "Secret")]

    def test_no_repeat_of_a_comment_follows_its_ticket(
        self, shared: Project, hidden: Project, program: Program, browser_of: Browser
    ) -> None:
        """Who repeats a comment, by REST or by its form, is told that the ticket is out of their sight."""
        form, headers = {"text": "x", "token": "t"}, {"Idempotency-Key": "k"}

        def send() -> list[Any]:
            posted = browser_of("owner").post("/ABC-1/comments/", form)
            return [posted, program("owner").post("/api/tickets/ABC-1/comments/", {"text": "y"}, headers=headers)]

        assert [answer.status_code for answer in send()] == [302, 201]
        moves.move_ticket(ABC_1, to="NEW", by="staff")
        for answer in send():
            assert (answer.status_code, "Location" in answer) == (404, False)
            assert "It was done before, and the ticket has moved" in answer.content.decode()
            assert not has_word(answer, "NEW")

    def test_a_history_does_not_name_a_hidden_project(
        self, shared: Project, hidden: Project, program: Program, browser_of: Browser
    ) -> None:
        """Who may not see the project from which a ticket came, or through which it went, learns no key of it."""
        back = moves.move_ticket(ABC_1, to="NEW", by="staff").ticket
        here = moves.move_ticket(back.key, to="ABC", by="staff").ticket
        history = f"/api/tickets/{here.key}/history/"
        events = program("reader").get(history).json()["results"]
        assert [event["changes"] for event in events] == [{"key": ["ABC-1", None]}, {"key": [None, "ABC-2"]}]
        assert program("staff").get(history).json()["results"][0]["changes"] == {"key": ["ABC-1", "NEW-2"]}
        page = browser_of("reader").get(f"/{here.key}/")
        assert "Key: ABC-1 → a project that you may not see" in page.content.decode()
        assert not has_word(page, "NEW")

    def test_a_repeat_does_not_show_a_project_that_one_may_not_see(
        self, people: dict[str, User], tables: str, program: Program, settings: Settings
    ) -> None:
        """Who made a project and was taken out of it learns nothing more of it by a repeat."""
        settings.EVERYBODY_MAY_ADD_PROJECTS = True
        made, headers = {"key": "ABC", "name": "Alphabet"}, {"Idempotency-Key": "k"}
        assert program("reader").post("/api/projects/", made, headers=headers).status_code == 201
        set_member("ABC", "owner", role="owner", by="staff")
        remove_member("ABC", "reader", by="staff")
        project_services.update_project("ABC", changes={"name": "Secret", "key": "XYZ"}, by="owner")
        again = program("reader").post("/api/projects/", made, headers=headers)
        assert again.status_code == 404
        assert b"Secret" not in again.content
        assert not has_word(again, "XYZ")


class TestArchive:
    def test_an_archived_project_is_read_only(self, shared: Project, program: Program, browser_of: Browser) -> None:
        """In the archive everything is read, and nothing changed, until an owner takes the project out."""
        owner = program("owner")
        assert owner.post("/api/projects/ABC/archive/").json()["archived"] is True
        for method, address, body in (
            ("post", "/api/projects/ABC/tickets/", {"title": "x"}),
            ("patch", "/api/projects/ABC/", {"name": "x"}),
            ("patch", "/api/tickets/ABC-1/", {"version": 1, "title": "x"}),
            ("delete", "/api/tickets/ABC-1/", {}),
        ):
            refused = getattr(owner, method)(address, body)
            assert refused.status_code == 409
            assert "archived" in refused.json()["detail"]
        assert program("staff").post("/api/projects/ABC/tickets/", {"title": "x"}).status_code == 409
        assert owner.get("/api/tickets/ABC-1/").status_code == 200
        page = browser_of("owner").get("/ABC/").content.decode()
        assert "can only be read" in page
        assert "/ABC/new/" not in page
        browser_of("owner").post("/ABC/unarchive/")
        assert owner.post("/api/projects/ABC/tickets/", {"title": "x"}).status_code == 201

    def test_a_program_takes_a_project_out_of_the_archive(
        self, shared: Project, program: Program, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Over REST a project goes into the archive and comes out again; a repeat changes nothing.

        The log says each way once.
        """
        owner = program("owner")
        caplog.set_level("INFO", "tickets")
        for way, archived in (("archive", True), ("archive", True), ("unarchive", False), ("unarchive", False)):
            assert owner.post(f"/api/projects/ABC/{way}/").json()["archived"] is archived
            assert owner.get("/api/projects/ABC/").json()["archived"] is archived
        said = [record.getMessage() for record in caplog.records if record.name == "tickets.project_services"]
        assert said == ["project ABC archived by owner", "project ABC taken out of the archive by owner"]

    def test_nothing_moves_into_the_archive(self, shared: Project, program: Program) -> None:
        """An archived project takes no ticket of another one."""
        project_services.create_project(key="XYZ", name="Rest", by="owner")
        project_services.archive_project("XYZ", by="owner")
        assert program("owner").post("/api/tickets/ABC-1/move/", {"project": "XYZ"}).status_code == 409


class TestPermissions:
    def test_projects_are_made_by_permission_or_by_all(
        self, people: dict[str, User], tables: str, program: Program, settings: Settings
    ) -> None:
        """To make a project takes a permission, unless the setting gives it to everybody."""
        made = {"key": "ABC", "name": "Alphabet"}
        refused = program("stranger").post("/api/projects/", made)
        assert refused.status_code == 403
        assert "tickets.add_project" in refused.json()["detail"]
        settings.EVERYBODY_MAY_ADD_PROJECTS = True
        assert program("stranger").post("/api/projects/", made).status_code == 201
        settings.EVERYBODY_MAY_ADD_PROJECTS = False
        allow(people["reader"], "tickets.add_project")
        assert program("reader").post("/api/projects/", {**made, "key": "XYZ"}).status_code == 201

    def test_values_are_taken_by_permission_in_known_scopes(
        self, people: dict[str, User], tables: str, program: Program, settings: Settings
    ) -> None:
        """Who may take values takes them without a scope, or in one that the settings name."""
        address = "/api/sequences/orders/next/"
        assert program("staff").post(address, {}).status_code == 403
        allow(people["stranger"], "sequences.take_value")
        stranger = program("stranger")
        assert stranger.post(address, {}).json()["values"] == [1001]
        assert stranger.post(address, {"scope": "north"}).status_code == 403
        orders = settings.SEQUENCES["orders"]
        scoped = {"FORMAT": "{scope}-{value}", "ALSO_READ": [orders["FORMAT"]]}
        settings.SEQUENCES = {**settings.SEQUENCES, "orders": {**orders, **scoped}}
        settings.REST_SCOPES = {"orders": ["north"]}
        assert stranger.post(address, {"scope": "north"}).json()["texts"] == ["north-1001"]


class TestPages:
    def test_an_owner_chooses_members(self, shared: Project, browser_of: Browser) -> None:
        """An owner adds people on the page of members, changes their roles, and removes them."""
        owner = browser_of("owner")
        for typed, role in (({"role": "reader"}, "Reader"), ({"role": "member"}, "Member")):
            answer = owner.post("/ABC/members/change/", {"user": "stranger", **typed}, follow=True)
            assert answer.redirect_chain == [("/ABC/members/", 302)]
            assert f"stranger is {role.lower()} now" in answer.content.decode()
        answer = owner.post("/ABC/members/change/", {"user": "stranger", "role": "member", "remove": "1"}, follow=True)
        assert "stranger is no member any more" in answer.content.decode()
        refused = owner.post("/ABC/members/change/", {"user": "nobody", "role": "reader"})
        assert refused.status_code == 400
        assert "Nobody has the user name nobody." in refused.content.decode()
        refused = owner.post("/ABC/members/change/", {"user": "owner", "role": "reader"})
        assert refused.status_code == 409
        assert "only owner" in refused.content.decode()

    def test_many_members_have_several_pages(
        self, shared: Project, browser_of: Browser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each member is on one of the pages, by name, and each page leads to those beside it."""
        monkeypatch.setattr(project_views, "MEMBERS_A_PAGE", 3)
        listed, address = list[str](), "/ABC/members/"
        while True:
            page = browser_of("reader").get(address).content.decode()
            listed += re.findall(r'<span class="name">(\w+)</span>', page)
            assert ('rel="prev"' in page) == ("cursor" in address)
            if not (following := re.search(r'rel="next" href="([^"]+)"', page)):
                break
            address = f"/ABC/members/{following[1]}"
        assert listed == [member.user for member in list_members("ABC").results]
        query = address.removeprefix("/ABC/members/")
        assert query.startswith("?cursor=")
        changing = re.findall(r'action="([^"]+/change/[^"]*)"', browser_of("owner").get(address).content.decode())
        assert {*changing} == {f"/ABC/members/change/{query}"}
        answer = browser_of("owner").post(changing[0], {"user": "reporter", "role": "reader"})
        assert answer["Location"] == address

    def test_buttons_go_with_roles(self, shared: Project, browser_of: Browser) -> None:
        """A reader is shown no way to file, change, move, void or choose members; an owner all of them."""
        ways = ["/ABC/new/", "/ABC/edit/", "/ABC/members/change/", "/ABC-1/edit/", "/ABC-1/move/", "/ABC-1/void/"]
        for person, some in (("reader", 0), ("reporter", 1), ("member", 3), ("owner", 6), ("staff", 6)):
            shown = "".join(
                browser_of(person).get(page).content.decode() for page in ("/ABC/", "/ABC/members/", "/ABC-1/")
            )
            assert len([way for way in ways if f'"{way}"' in shown]) == some, person

    def test_the_switch_is_on_the_form(self, shared: Project, browser_of: Browser) -> None:
        """An owner opens a project on its form; a form sent without the choice leaves it as it is."""
        owner = browser_of("owner")
        owner.post("/ABC/edit/", {"key": "ABC", "name": "Alphabet", "open": "read", "version": 1})
        owner.post("/ABC/edit/", {"key": "ABC", "name": "Letters", "version": 2})
        now = Project(key="ABC", name="Letters", description="", open=Opening.READ, version=3)
        assert selectors.get_project("ABC") == now

    def test_what_was_typed_can_be_sent_again(
        self, shared: Project, browser_of: Browser, store_away: Callable[[], None]
    ) -> None:
        """If the store is away when the door asks for roles, the page keeps what was typed, to be sent again."""
        member = browser_of("member")
        store_away()
        answer = member.post("/ABC-1/edit/", {"version": 1, "title": "My words", "status": "open"})
        assert answer.status_code == 503
        assert '<input type="hidden" name="title" value="My words">' in answer.content.decode()
