"""Moves of tickets between projects: in the services, over REST, and on the pages."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

import sequences
from sequences import dynamodb, get_last_value, put_next
from sequences.exceptions import IdempotencyMismatch, OutcomeUnknown, SequenceUnavailable
from sequences.ops.audit import AuditReport, audit
from sequences.registry import strategies
from tests.people import allow
from tests.tickets.conftest import WRITES
from tests.tickets.support import problem_of, wrong_fields
from tests.tickets.test_services import ABC_1, file, requests_from_now
from tickets import moves, project_services, selectors, services
from tickets.exceptions import InvalidInput, StaleVersion, TicketMoved, TicketNotFound, TicketVoided
from tickets.timeline.recording import MOST_RACES
from tickets.types import Project, Status, Ticket, TicketKey

DEF_1, XYZ_1 = TicketKey(project="DEF", number=1), TicketKey(project="XYZ", number=1)


@pytest.fixture(autouse=True)
def projects(abc: Project) -> None:
    """Three projects without tickets: ABC, DEF and XYZ."""
    for key in ("DEF", "XYZ"):
        project_services.create_project(key=key, name=key, by="ann")


def move(key: TicketKey = ABC_1, to: str = "XYZ", *, token: str | None = None, version: int | None = None) -> Ticket:
    """Move a ticket, as Bob."""
    return moves.move_ticket(key, to=to, by="bob", version=version, idempotency_token=token).ticket


def place_of(key: TicketKey) -> TicketKey:
    """Where a ticket is now that has left this key."""
    with pytest.raises(TicketMoved) as moved:
        selectors.get_ticket(key)
    return moved.value.current.key


def row_of(key: TicketKey) -> dict[str, Any]:
    """The row that is stored under a key."""
    position = dynamodb.marshal({"pk": key.project, "sk": key.number})
    request = {"TableName": dynamodb.table_name("tickets"), "Key": position}
    return dynamodb.unmarshal(dynamodb.call("get_item", request)["Item"])


def audited(project: str) -> AuditReport:
    """What the audit says of a project."""
    return audit(strategies["tickets"], project)


@pytest.fixture
def before_the_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """A function that makes something happen each time between the read of a move and its write."""
    put_next = sequences.put_next

    def happen(something: Callable[[], object]) -> None:
        def put(*args: Any, **kwargs: Any) -> Any:
            something()
            return put_next(*args, **kwargs)

        monkeypatch.setattr(moves, "put_next", put)

    return happen


def once(something: Callable[[], object]) -> Callable[[], None]:
    """The same, but only the first time that it is called. It may call itself."""
    left = [something]

    def call() -> None:
        if left:
            left.pop()()

    return call


class TestMoving:
    def test_a_ticket_takes_its_content_to_the_next_number(self, ticket: Ticket) -> None:
        """A moved ticket has the next number of the other project, all its content, and one version more."""
        file("x", "XYZ")
        moved = move()
        assert moved.key == TicketKey(project="XYZ", number=2)
        assert selectors.get_ticket(moved.key) == moved
        assert (moved.title, moved.description, moved.labels) == (ticket.title, ticket.description, ticket.labels)
        assert (moved.reporter, moved.created_at, moved.status) == ("ann", ticket.created_at, Status.OPEN)
        assert moved.version == 2
        assert moved.updated_at > ticket.updated_at

    def test_the_former_key_leads_to_the_ticket(self, ticket: Ticket) -> None:
        """Who asks for the former key is told the ticket as it is now."""
        moved = move()
        with pytest.raises(TicketMoved, match="ABC-1 has moved: it is XYZ-1 now") as told:
            selectors.get_ticket(ABC_1)
        assert told.value.current == moved

    def test_what_stays_has_no_content(self, ticket: Ticket) -> None:
        """The former place keeps who moved the ticket, when and where to; its number is not given again."""
        moved = move()
        [left] = selectors.list_tickets("ABC").results
        assert left.moved is not None
        assert (left.key, left.status, left.void) == (ABC_1, Status.MOVED, None)
        assert (left.moved.to, left.moved.by, left.moved.at) == (XYZ_1, "bob", moved.updated_at)
        assert not {"title", "description", "labels", "assignee"} & row_of(ABC_1).keys()
        assert file("next").ticket.number == 2

    def test_the_audit_explains_the_number(self, ticket: Ticket) -> None:
        """A moved ticket leaves neither a gap nor anything unexplained; its number says where it went."""
        at = move().updated_at
        report = audited("ABC")
        assert (report.last_value, report.carried, report.unexplained) == (1, 1, 0)
        [left] = report.voids.listed
        assert (left.value, left.by, left.at, left.reason) == (1, "bob", at.isoformat(), "Moved to XYZ-1.")
        assert audited("XYZ").unexplained == 0

    def test_a_move_costs_three_reads_and_one_write(self, ticket: Ticket, still: None) -> None:
        """The project, the ticket and the end of its timeline are read; both places and the event are one write."""
        file("x", "XYZ")
        operations = requests_from_now()
        move()
        assert operations == ["GetItem", "GetItem", "Query", "TransactWriteItems"]

    def test_a_row_of_somebody_else_moves_whole(self, abc: Project) -> None:
        """A row without a version moves with all that it has, and leaves none of it."""
        row = {"pk": "ABC", "sk": 1, "title": "Imported", "story.points": 5}
        dynamodb.call("put_item", {"TableName": dynamodb.table_name("tickets"), "Item": dynamodb.marshal(row)})
        assert (move().title, row_of(XYZ_1)["story.points"]) == ("Imported", 5)
        assert not {"title", "story.points"} & row_of(ABC_1).keys()

    def test_a_move_is_logged_once(self, ticket: Ticket, caplog: pytest.LogCaptureFixture) -> None:
        """The log says which ticket went where and by whom, and a repeat adds nothing."""
        with caplog.at_level(logging.INFO, "tickets"):
            for _ in range(2):
                move(token="t")
        lines = [record.getMessage() for record in caplog.records if record.name == "tickets.moves"]
        assert lines == ["ticket ABC-1 moved to XYZ-1 by bob"]


class TestRefusals:
    def test_a_project_that_does_not_exist(self, ticket: Ticket) -> None:
        """A ticket cannot be moved to a project that does not exist, or to what is no project."""
        for to in ("NONE", "#projects", ""):
            with pytest.raises(InvalidInput) as refused:
                move(to=to)
            assert set(refused.value.message_dict) == {"to"}
        assert selectors.get_ticket(ABC_1) == ticket

    def test_the_same_project(self, ticket: Ticket) -> None:
        """A ticket cannot be moved to the project that it is in."""
        with pytest.raises(InvalidInput, match="ABC-1 is in this project already"):
            move(to="ABC")
        assert selectors.get_ticket(ABC_1) == ticket

    def test_a_number_that_was_not_given(self, abc: Project) -> None:
        """What does not exist cannot be moved, and takes no number."""
        with pytest.raises(TicketNotFound):
            move()
        assert file("x", "XYZ").ticket.number == 1

    def test_a_void_ticket(self, ticket: Ticket) -> None:
        """A void ticket stays where it was withdrawn."""
        services.void_ticket(ABC_1, by="ann")
        with pytest.raises(TicketVoided):
            move()
        assert file("x", "XYZ").ticket.number == 1

    def test_a_stale_version(self, ticket: Ticket) -> None:
        """Who names a version does not move what somebody changed meanwhile."""
        current = services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="ann").ticket
        with pytest.raises(StaleVersion) as refused:
            move(version=1)
        assert refused.value.current == current
        assert move(version=2).title == "Out"

    def test_a_ticket_that_has_moved_on(self, ticket: Ticket) -> None:
        """A move, a change and a withdrawal of a former key are refused, and told where the ticket is now."""
        move()
        moved = move(XYZ_1, "DEF")
        refused: list[Callable[[], object]] = [
            lambda: move(to="DEF"),
            lambda: services.update_ticket(ABC_1, version=2, changes={"title": "x"}, by="ann"),
            lambda: services.void_ticket(ABC_1, by="ann"),
            lambda: selectors.get_changeable_ticket(XYZ_1),
        ]
        for request in refused:
            with pytest.raises(TicketMoved, match="it is DEF-1 now") as told:
                request()
            assert told.value.current == moved


class TestChains:
    def test_every_former_key_leads_to_the_last_place(self, ticket: Ticket) -> None:
        """However often a ticket moves, its former keys lead to it by at most three reads."""
        formers = [ABC_1]
        for number in range(9):
            formers.append(move(formers[-1], ("XYZ", "DEF", "ABC")[number % 3]).key)
        present = formers.pop()
        for former in formers:
            operations = requests_from_now()
            assert place_of(former) == present
            assert operations in (["GetItem"] * 2, ["GetItem"] * 3)

    def test_a_list_says_where_a_ticket_is_now(self, ticket: Ticket) -> None:
        """The first place of a ticket shows its present place, not the next one."""
        move()
        move(XYZ_1, "DEF")
        [left] = selectors.list_tickets("ABC").results
        assert left.moved is not None
        assert left.moved.to == DEF_1

    def test_a_ticket_that_comes_back_gets_a_new_number(self, ticket: Ticket) -> None:
        """A ticket that comes back has the next number; its former keys, the first one too, lead to it."""
        move()
        back = move(XYZ_1, "ABC").key
        assert str(back) == "ABC-2"
        assert place_of(ABC_1) == place_of(XYZ_1) == back
        assert audited("ABC").unexplained == audited("XYZ").unexplained == 0

    def test_a_moved_ticket_is_changed_and_voided_as_any(self, ticket: Ticket) -> None:
        """What was moved can be changed and withdrawn under its present key."""
        move()
        assert services.update_ticket(XYZ_1, version=2, changes={"title": "Out"}, by="ann").ticket.version == 3
        services.void_ticket(XYZ_1, by="ann")
        with pytest.raises(TicketMoved) as told:
            selectors.get_ticket(ABC_1)
        assert told.value.current.void is not None


class TestRepeats:
    def test_a_repeat_moves_nothing(self, ticket: Ticket) -> None:
        """A repeat with the same token, from any process, gets the ticket as the first request moved it."""
        first = moves.move_ticket(ABC_1, to="XYZ", by="bob", version=1, idempotency_token="t")
        dynamodb.reset()
        again = moves.move_ticket(ABC_1, to="XYZ", by="bob", version=1, idempotency_token="t")
        assert (first.replayed, again.replayed) == (False, True)
        assert again.ticket == first.ticket
        assert file("next", "XYZ").ticket.number == 2

    def test_a_repeat_finds_a_ticket_that_has_gone_on(self, ticket: Ticket) -> None:
        """A repeat of an earlier move gets the ticket where it is now."""
        move(token="t")
        moved = move(XYZ_1, "DEF", token="u")
        assert move(token="t") == moved

    def test_a_token_stands_for_one_project(self, ticket: Ticket) -> None:
        """The same token for another project is refused."""
        move(token="t")
        with pytest.raises(IdempotencyMismatch):
            move(to="DEF", token="t")

    def test_other_people_have_other_tokens(self, ticket: Ticket) -> None:
        """The same token of another person is another request, which comes too late."""
        move(token="t")
        with pytest.raises(TicketMoved):
            moves.move_ticket(ABC_1, to="XYZ", by="ann", idempotency_token="t")

    def test_a_repeat_of_filing_finds_a_ticket_that_has_moved(self, abc: Project) -> None:
        """Who files again with the same token gets the ticket where it is now."""
        file("x", token="t")
        moved = move()
        again = file("x", token="t")
        assert (again.replayed, again.ticket) == (True, moved)

    def test_a_repeat_that_follows_the_ticket(self, api: APIClient, ticket: Ticket) -> None:
        """A repeat that a former key sends on to the present one moves nothing, also if the ticket has come back."""
        move()

        def repeat(to: str) -> Any:
            address = api.post("/api/tickets/ABC-1/move/", {"project": to})["Location"]
            return api.post(address, {"project": to}, headers={"Idempotency-Key": "k"})

        assert repeat("DEF").json()["key"] == "DEF-1"
        again = repeat("DEF")
        assert (again.json()["key"], again.headers.get("Idempotent-Replayed")) == ("DEF-1", "true")
        move(DEF_1)
        again = repeat("DEF")
        assert (again.json()["key"], again.headers.get("Idempotent-Replayed")) == ("XYZ-2", "true")
        assert repeat("ABC").status_code == 422

    def test_a_move_that_cannot_be_read_is_not_denied(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """A repeat that finds its move, but cannot read the ticket, does not say that nothing was stored."""
        move(token="t")

        def refuse(key: TicketKey) -> Ticket:
            raise SequenceUnavailable("Away.", attempts=1, seconds=1.0)

        monkeypatch.setattr(selectors, "get_ticket", refuse)
        with pytest.raises(SequenceUnavailable) as unknown:
            move(token="t")
        assert unknown.value.outcome_unknown

    @pytest.mark.needs_engine
    @pytest.mark.parametrize("token", [None, "t"])
    def test_a_lost_answer_moves_once(self, ticket: Ticket, lose_answer: Callable[[], None], token: str | None) -> None:
        """A move whose first answer was lost is made once, and uses one number."""
        lose_answer()
        assert move(token=token).key == XYZ_1
        assert place_of(ABC_1) == XYZ_1
        assert file("next", "XYZ").ticket.number == 2


class TestRaces:
    def test_of_two_who_move_a_ticket_one_wins(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """Who comes second is told where the ticket is, and takes no number."""
        before_the_write(once(lambda: move(to="DEF")))
        with pytest.raises(TicketMoved) as told:
            move()
        assert told.value.current.key == DEF_1
        assert file("next", "XYZ").ticket.number == 1

    def test_many_who_move_a_ticket_leave_no_gap(self, ticket: Ticket) -> None:
        """Of eight who move a ticket at the same moment one wins, the others are told, and no number is lost."""

        def try_to_move(number: int) -> TicketKey | None:
            try:
                return move(to=("XYZ", "DEF")[number % 2]).key
            except TicketMoved as told:
                places.append(told.current.key)
                return None

        places: list[TicketKey] = []
        with ThreadPoolExecutor(8) as pool:
            [winner] = filter(None, pool.map(try_to_move, range(8)))
        assert places == [winner] * 7
        assert audited("XYZ").missing == audited("DEF").missing == 0
        assert (audited("XYZ").carried, audited("DEF").carried) in {(1, 0), (0, 1)}

    def test_a_change_at_the_same_moment_goes_along(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """Who names no version moves the ticket with what somebody changed meanwhile."""
        before_the_write(once(lambda: services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="ann")))
        moved = move()
        assert (moved.title, moved.version, moved.key) == ("Out", 3, XYZ_1)

    def test_a_number_of_the_timeline_that_is_taken(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """What takes the place of the event moves it to the next one."""
        before_the_write(once(lambda: put_next("timeline", {"kind": "other"}, scope="ABC#1")))
        assert move().title == ticket.title
        assert get_last_value("timeline", scope="ABC#1") == 2

    def test_a_ticket_that_never_stands_still_is_not_moved(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """A move that loses every race gives up, and says how the ticket is now."""

        def change() -> None:
            current = selectors.get_ticket(ABC_1)
            changes = {"title": f"Again {current.version}"}
            services.update_ticket(ABC_1, version=current.version, changes=changes, by="ann")

        before_the_write(change)
        with pytest.raises(StaleVersion) as refused:
            move()
        assert refused.value.current == selectors.get_ticket(ABC_1)
        assert refused.value.current.version == 1 + MOST_RACES

    @pytest.mark.needs_engine
    def test_lost_answers_lose_no_ticket_and_no_number(self, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """While every third answer to a write is lost, competing moves leave each ticket once, and no gap."""
        keys = [file(f"x{number}").ticket.key for number in range(20)]
        call, writes = dynamodb.call, count()

        def lose(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
            answer = call(operation, request, **limits)
            if operation in WRITES and next(writes) % 3 == 0:
                raise OutcomeUnknown("The answer was lost.")
            return answer

        def move_it(number: int) -> TicketKey:
            to = ("XYZ", "DEF")[number % 2]
            try:
                return move(keys[number // 2], to, token=to).key
            except TicketMoved as told:
                return told.current.key

        monkeypatch.setattr(dynamodb, "call", lose)
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(move_it, range(40)))
        monkeypatch.setattr(dynamodb, "call", call)
        assert told[::2] == told[1::2] == [place_of(key) for key in keys]
        assert sorted(selectors.get_ticket(key).title for key in told[::2]) == sorted(f"x{n}" for n in range(20))
        reports = [audited(project) for project in ("ABC", "DEF", "XYZ")]
        assert [report.unexplained for report in reports] == [0, 0, 0]
        assert sum(report.carried for report in reports) == 40


class TestREST:
    address = "/api/tickets/ABC-1/"

    def test_a_move_answers_with_the_ticket_at_its_new_key(self, api: APIClient, ticket: Ticket) -> None:
        """The answer has the ticket and its address, and a repeat says that it is one."""
        body, headers = {"project": "XYZ", "version": 1}, {"Idempotency-Key": "k"}
        first, again = (api.post(f"{self.address}move/", body, headers=headers) for _ in range(2))
        assert (first.status_code, again.status_code) == (200, 200)
        assert first["Location"] == again["Location"] == "http://testserver/api/tickets/XYZ-1/"
        assert first.json() == again.json() == api.get("/api/tickets/XYZ-1/").json()
        assert (first.json()["key"], first.json()["version"]) == ("XYZ-1", 2)
        assert "Idempotent-Replayed" not in first
        assert again["Idempotent-Replayed"] == "true"

    def test_a_former_key_redirects(self, api: APIClient, ticket: Ticket) -> None:
        """A request for a former key is answered with the address of the present one, and with the ticket."""
        move()
        response = api.get(f"{self.address}?x=1")
        assert problem_of(response)["status"] == 308
        assert response["Location"] == "/api/tickets/XYZ-1/?x=1"
        assert response["Cache-Control"] == "private, no-cache"
        assert "XYZ-1" in response.json()["detail"]
        assert response.json()["current"] == api.get("/api/tickets/XYZ-1/").json()

    def test_a_former_key_changes_nothing_itself(self, api: APIClient, ticket: Ticket) -> None:
        """A change, a withdrawal and a move of a former key are sent on, as they are, to the present one."""
        move()
        for response in (
            api.patch(self.address, {"version": 2, "title": "x"}),
            api.delete(self.address, {"version": 2}),
            api.post(f"{self.address}move/", {"project": "DEF"}),
        ):
            assert response.status_code == 308
            assert response["Location"].startswith("/api/tickets/XYZ-1/")
            assert response.json()["current"]["key"] == "XYZ-1"
            assert response.json()["current"]["version"] == 2

    def test_a_list_says_where_tickets_went(self, api: APIClient, ticket: Ticket) -> None:
        """The place of a moved ticket in a list says its new key, by whom and when it was moved."""
        moved = move()
        [left] = api.get("/api/projects/ABC/tickets/").json()["results"]
        assert (left["key"], left["status"], left["title"]) == ("ABC-1", "moved", "")
        at = moved.updated_at.replace(tzinfo=None).isoformat()
        assert left["moved"] == {"to": "XYZ-1", "by": "bob", "at": f"{at}Z"}
        assert "void" not in left

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "project"),
            ({"project": "NONE"}, "project"),
            ({"project": ""}, "project"),
            ({"project": "no key"}, "project"),
            ({"project": 5}, "project"),
            ({"project": "ABC"}, "project"),
            ({"project": []}, "project"),
            ({"project": "XYZ", "version": 0}, "version"),
            ({"project": "XYZ", "to": "DEF"}, "to"),
        ],
    )
    def test_every_wrong_field_is_named(self, api: APIClient, ticket: Ticket, body: Any, field: str) -> None:
        """A wrong wish is answered with a message for the field, and moves nothing."""
        response = api.post(f"{self.address}move/", body)
        assert response.status_code == 400
        assert wrong_fields(response) == {field}
        assert selectors.get_ticket(ABC_1) == ticket

    def test_the_status_of_a_moved_ticket_cannot_be_chosen(self, api: APIClient, ticket: Ticket) -> None:
        """Nobody makes a ticket moved by changing its status."""
        response = api.patch(self.address, {"version": 1, "status": "moved"})
        assert response.status_code == 400


class TestPages:
    def test_the_form_moves_a_ticket_and_leads_to_it(self, browser: Client, ticket: Ticket) -> None:
        """The page of a ticket leads to the form, which takes a key however it is typed."""
        assert 'href="/ABC-1/move/"' in browser.get("/ABC-1/").content.decode()
        form = browser.get("/ABC-1/move/")
        assert '<option value="XYZ">' in form.content.decode()
        assert '<option value="ABC">' not in form.content.decode()
        typed = {field.html_name: field.value() for field in form.context["form"]}
        assert typed["version"] == 1
        response = browser.post("/ABC-1/move/", {**typed, "to": "xyz"}, follow=True)
        assert response.redirect_chain == [("/XYZ-1/", 302)]
        assert "ABC-1 has moved here." in response.content.decode()
        again = browser.post("/ABC-1/move/", {**typed, "to": "xyz"})
        assert again["Location"] == "/XYZ-1/"

    @pytest.mark.parametrize("rest", ["", "edit/", "move/", "void/"])
    def test_a_former_key_leads_to_the_ticket(self, browser: Client, ticket: Ticket, rest: str) -> None:
        """Every page of a former key leads to that of the present one, with a line that says so."""
        move()
        response = browser.get(f"/ABC-1/{rest}", follow=True)
        assert response.redirect_chain == [(f"/XYZ-1/{rest}", 308)]
        assert "ABC-1 has moved here." in response.content.decode()

    def test_a_list_says_where_tickets_went(self, browser: Client, ticket: Ticket, ann: User) -> None:
        """The lists of the site and of the administration say where a ticket went; the site's leads there."""
        move()
        page = browser.get("/ABC/").content.decode()
        assert "Moved to XYZ-1" in page
        assert 'href="/XYZ-1/"' in page
        assert "Printer on fire" not in page
        ann.is_staff = True
        ann.save()
        allow(ann, "tickets.view_ticket")
        assert "Moved to XYZ-1" in browser.get("/admin/tickets/ticket/?project=ABC").content.decode()

    def test_a_form_that_was_open_says_where_the_ticket_is(self, browser: Client, ticket: Ticket) -> None:
        """A form of a former key comes back with what was typed, and with the way to the ticket."""
        move()
        response = browser.post("/ABC-1/edit/", {"title": "Out", "status": "done", "version": "1"})
        assert response.status_code == 409
        assert "ABC-1 has moved: it is XYZ-1 now." in response.content.decode()
        assert 'href="/XYZ-1/"' in response.content.decode()
        assert 'value="Out"' in response.content.decode()

    def test_what_is_wrong_stands_beside_the_field(self, browser: Client, ticket: Ticket) -> None:
        """A project that does not exist is said at the field, and what was typed is kept."""
        response = browser.post("/ABC-1/move/", {"to": "none", "version": "1"})
        assert response.status_code == 400
        assert response.context["form"].errors["to"] == ["There is no project NONE."]
        assert 'value="none"' in response.content.decode()
        for wrong in ("", "no key"):
            response = browser.post("/ABC-1/move/", {"to": wrong, "version": "1"})
            assert (response.status_code, [*response.context["form"].errors]) == (400, ["to"])
