"""Versions over REST: ETags, conditions, merge patches; comments, histories and restoring, and their pages."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

import sequences
from sequences.changes import void
from tests.tickets.sales.support import drafted
from tests.tickets.support import wrong_fields
from tickets import moves, project_services, selectors, services, store
from tickets.access import members
from tickets.exceptions import OrderVoided
from tickets.sales import services as sales
from tickets.sales.selectors import get_order
from tickets.timeline import recording
from tickets.timeline import services as comments
from tickets.types import Project, Ticket, TicketKey

ABC_1 = TicketKey(project="ABC", number=1)
ADDRESS = "/api/tickets/ABC-1/"
COMMENTS = f"{ADDRESS}comments/"


LISTS = {
    "projects": "/api/projects/",
    "tickets": "/api/projects/ABC/tickets/",
    "members": "/api/projects/ABC/members/",
    "comments": COMMENTS,
    "history": f"{ADDRESS}history/",
    "orders": "/api/orders/",
    "invoices": "/api/invoices/",
    "sequences": "/api/sequences/",
    "tokens": "/api/auth/tokens/",
}


@pytest.fixture
def bob(abc: Project) -> APIClient:
    """A program that calls the API as Bob, who reports in the project."""
    client, person = APIClient(), User.objects.create_user("bob")
    client.force_authenticate(person)
    members.set_member(abc.key, "bob", role="reporter", by="ann")
    return client


@pytest.fixture
def things(ticket: Ticket) -> dict[str, str]:
    """The address of one thing of each kind that has an ETag."""
    comments.add_comment(ABC_1, text="x", by="ann")
    number = drafted("Ada")
    invoice = sales.issue_invoice(number, by="ann").value.key.text
    return {
        "ticket": ADDRESS,
        "comment": f"{COMMENTS}1/",
        "project": "/api/projects/ABC/",
        "order": f"/api/orders/{number}/",
        "invoice": f"/api/invoices/{invoice}/",
        **LISTS,
    }


def matching(tag: str) -> dict[str, str]:
    """The header of a change that is based on this ETag."""
    return {"If-Match": tag}


class TestProjects:
    address = "/api/projects/ABC/"

    def test_a_change_is_based_on_a_version(self, api: APIClient, abc: Project) -> None:
        """A stale version is 409 and a stale ETag 412, each with the project as it is now; with neither it is 428."""
        tag = api.get(self.address)["ETag"]
        assert api.patch(self.address, {"name": "Letters"}).status_code == 428
        changed = api.patch(self.address, {"name": "Letters"}, headers=matching(tag))
        assert (changed.status_code, changed.json()["version"]) == (200, 2)
        assert changed["ETag"] == api.get(self.address)["ETag"] != tag
        for status, version, headers in ((409, {"version": 1}, {}), (412, {}, matching(tag))):
            refused = api.patch(self.address, {"name": "Lost", **version}, headers=headers)
            assert (refused.status_code, refused.json()["current"]) == (status, changed.json())
        assert api.patch(self.address, {"name": "Any"}, headers=matching("*")).json()["version"] == 3

    def test_the_write_itself_asks_for_the_version(
        self, api: APIClient, abc: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of two changes that have read the same version one wins, and nothing of the other is stored."""
        changed = selectors.get_project("ABC")
        project_services.update_project("ABC", changes={"name": "First"}, by="ann")
        monkeypatch.setattr(selectors, "get_project", lambda key: changed)
        for second in ({"name": "Second"}, {"open": "read"}):
            assert api.patch(self.address, {**second, "version": 1}).status_code == 409
        now = store.projects.find_project("ABC")
        assert (now.name, now.open, now.version) == ("First", "no", 2)

    @pytest.mark.parametrize(("races", "status"), [(1, 200), (recording.MOST_RACES, 412)])
    def test_any_version_goes_along_with_what_others_change(
        self, api: APIClient, abc: Project, monkeypatch: pytest.MonkeyPatch, races: int, status: int
    ) -> None:
        """A change of any version is tried again after a lost race, and gives up after some of them."""
        change, lost = store.projects.change_project, list[int]()

        def race(*args: Any, **kwargs: Any) -> None:
            if len(lost) < races:
                lost.append(1)
                old = store.projects.find_project("ABC")
                name = f"Race {len(lost)}"
                change(old, replace(old, name=name, version=old.version + 1), at=timezone.now(), by="bob")
            change(*args, **kwargs)

        monkeypatch.setattr(store.projects, "change_project", race)
        answer = api.patch(self.address, {"description": "x"}, headers=matching("*"))
        assert answer.status_code == status
        now = selectors.get_project("ABC")
        assert (now.name, now.description) == (f"Race {races}", "x" if status == 200 else "")

    def test_members_have_no_part_in_the_version(self, api: APIClient, abc: Project) -> None:
        """The archive changes the version, a change of members does not, nor does a change to what is there."""
        User.objects.create_user("bob")
        members.set_member("ABC", "bob", role="reader", by="ann")
        assert api.patch(self.address, {"name": "Alphabet", "version": 1}).json()["version"] == 1
        assert api.post(f"{self.address}archive/").json()["version"] == 2

    def test_the_archive_keeps_to_an_etag(self, api: APIClient, abc: Project) -> None:
        """A project that others have changed since does not go into the archive."""
        tag = api.get(self.address)["ETag"]
        project_services.update_project("ABC", changes={"name": "Letters"}, by="bob")
        refused = api.post(f"{self.address}archive/", headers=matching(tag))
        assert (refused.status_code, refused.json()["current"]["name"]) == (412, "Letters")
        assert not selectors.get_project("ABC").archived
        assert api.post(f"{self.address}archive/", headers=matching(api.get(self.address)["ETag"])).status_code == 200
        assert selectors.get_project("ABC").archived

    @pytest.mark.parametrize("way", ["archive/", "unarchive/"])
    def test_the_archive_reads_its_body(self, api: APIClient, abc: Project, way: str) -> None:
        """It keeps to the version in the body, and refuses fields that it does not know."""
        project_services.update_project("ABC", changes={"name": "Letters"}, by="bob")
        assert [
            api.post(f"{self.address}{way}", body).status_code
            for body in ({"version": 1}, {"why": "?"}, {"version": 2})
        ] == [409, 400, 200]

    def test_the_form_shows_what_others_have_stored(self, browser: Client, abc: Project) -> None:
        """A form of an earlier version stores nothing, shows the project as it is now, and can be sent again."""
        project_services.update_project("ABC", changes={"name": "Letters", "open": "read"}, by="bob")
        typed = {"key": "ABC", "name": "Mine", "description": "", "open": "read", "version": "1"}
        page = browser.post("/ABC/edit/", typed)
        assert page.status_code == 409
        assert "As it is now" in page.content.decode()
        assert "Letters" in page.content.decode()
        again = {field.html_name: field.value() for field in page.context["form"]}
        assert browser.post("/ABC/edit/", again).status_code == 302
        assert selectors.get_project("ABC").name == "Mine"


class TestReading:
    def test_what_the_caller_has_is_not_sent_again(self, api: APIClient, things: dict[str, str]) -> None:
        """A read with the present ETag, weak or strong, is 304 without a body; with others it is answered."""
        for kind, address in things.items():
            tag = api.get(address)["ETag"]
            for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
                response = api.get(address, headers={"If-None-Match": known})
                assert (response.status_code, response.content, response["ETag"]) == (304, b"", tag), kind
            assert api.get(address, headers={"If-None-Match": '"7-00000000"'}).status_code == 200, kind

    def test_head_is_asked_as_get_is(self, api: APIClient, things: dict[str, str]) -> None:
        """HEAD has the ETag of GET, and is 304 for a caller who has it."""
        for kind, address in things.items():
            tag = api.get(address)["ETag"]
            read, known = api.head(address), api.head(address, headers={"If-None-Match": tag})
            assert (read.status_code, read["ETag"], read.content) == (200, tag, b""), kind
            assert (known.status_code, known["ETag"]) == (304, tag), kind

    @pytest.mark.parametrize(
        "condition", [{"If-Match": '"7-00000000"'}, {"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}]
    )
    def test_conditions_of_writes_hold_for_no_read(
        self, api: APIClient, ticket: Ticket, condition: dict[str, str]
    ) -> None:
        """A read overwrites nothing: it is answered, whatever version the caller has."""
        for ask in (api.get, api.head):
            assert ask(ADDRESS, headers=condition).status_code == 200
            tag = ask(ADDRESS)["ETag"]
            assert ask(ADDRESS, headers={**condition, "If-None-Match": tag}).status_code == 304

    def test_a_longer_list_has_another_etag(self, api: APIClient, ticket: Ticket) -> None:
        """A list that has another entry, or whose entry was changed, is sent."""
        path, tags = "/api/projects/ABC/tickets/", []
        for title in ("Ink", "Paper"):
            tags.append(api.get(path)["ETag"])
            services.create_ticket("ABC", title=title, reporter="ann")
        api.patch(ADDRESS, {"version": 1, "status": "done"})
        tags.append(api.get(path, headers={"If-None-Match": ", ".join(tags)})["ETag"])
        assert len({*tags}) == 3

    def test_any_of_several_etags_may_be_the_present_one(self, api: APIClient, ticket: Ticket) -> None:
        """A caller may send all ETags that they have; if none is the present one, nothing is changed."""
        tags = [api.patch(ADDRESS, {"title": title}, headers=matching("*"))["ETag"] for title in ("Ink", "Out")]
        assert api.patch(ADDRESS, {"title": "x"}, headers=matching(", ".join(reversed(tags)))).json()["version"] == 4
        assert api.patch(ADDRESS, {"title": "y"}, headers=matching(", ".join(tags))).status_code == 412

    def test_an_etag_changes_with_what_is_shown(self, api: APIClient, ticket: Ticket) -> None:
        """A change, a comment, and a voiding that changes no version each give another ETag; the version leads it."""
        tags = [api.get(ADDRESS)["ETag"]]
        changed = api.patch(ADDRESS, {"version": 1, "status": "done"})
        assert changed["ETag"] == api.get(ADDRESS)["ETag"]
        tags.append(changed["ETag"])
        comments.add_comment(ABC_1, text="x", by="ann")
        tags.append(api.get(ADDRESS)["ETag"])
        void("tickets", 1, scope="ABC", by="root", reason="Wrong.")
        tags.append(api.get(ADDRESS)["ETag"])
        assert len(set(tags)) == 4
        assert [tag[:3] for tag in tags] == ['"1-', '"2-', '"2-', '"2-']


class TestChanging:
    def test_a_change_names_the_etag_that_it_is_based_on(self, api: APIClient, ticket: Ticket) -> None:
        """The present ETag lets a change pass, a stale one is 412 with the ticket as it is now."""
        tag = api.get(ADDRESS)["ETag"]
        assert api.patch(ADDRESS, {"title": "Out"}, headers=matching(tag)).status_code == 200
        for method in (api.patch, api.delete):
            refused = method(ADDRESS, {"title": "Lost"} if method == api.patch else {}, headers=matching(tag))
            assert refused.status_code == 412
            assert refused.json()["current"]["title"] == "Out"
        assert selectors.get_ticket(ABC_1).version == 2

    def test_a_comment_does_not_make_an_etag_stale(self, api: APIClient, ticket: Ticket) -> None:
        """Of the ETag in If-Match the version counts."""
        tag = api.get(ADDRESS)["ETag"]
        comments.add_comment(ABC_1, text="x", by="bob")
        assert api.patch(ADDRESS, {"title": "Out"}, headers=matching(tag)).status_code == 200

    @pytest.mark.parametrize(
        ("headers", "body", "status"),
        [
            ({}, {}, 428),
            ({}, {"version": 2}, 409),
            ({}, {"version": 1}, 200),
            (matching("*"), {}, 200),
            (matching("*"), {"version": 2}, 200),
            (matching('"1-00000000"'), {}, 200),
            (matching('W/"1-00000000"'), {}, 200),
            (matching('"1-00000000"'), {"version": 2}, 200),
            (matching('"2-00000000"'), {"version": 1}, 412),
            (matching('"00000000"'), {}, 412),
            (matching("nonsense"), {}, 412),
            (matching('"00000000", W/"1-00000000"'), {}, 200),
        ],
    )
    @pytest.mark.parametrize("method", ["patch", "delete"])
    def test_what_a_change_must_say(
        self,
        api: APIClient,
        ticket: Ticket,
        method: str,
        headers: dict[str, str],
        body: dict[str, Any],
        status: int,
    ) -> None:
        """A change without a version is 428, of a stale one 409, of a stale ETag 412; `*` is any, and a header wins."""
        named = {"title": "Out"} if method == "patch" else {}
        response = getattr(api, method)(ADDRESS, {**named, **body}, headers=headers)
        assert response.status_code == status
        assert selectors.get_ticket(ABC_1).version == (2 if status == 200 else 1)

    @pytest.mark.parametrize(("tag", "moved"), [('"1-00000000"', 200), ("*", 200), ('"2-00000000"', 412)])
    def test_a_move_may_name_one(self, api: APIClient, ticket: Ticket, tag: str, moved: int) -> None:
        """It is not carried out on a ticket that has another version than its caller has read."""
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        body = {"project": "XYZ", "version": 1}
        assert api.post(f"{ADDRESS}move/", body, headers=matching(tag)).status_code == moved
        assert selectors.get_newest("XYZ") is None or moved == 200

    def test_the_write_itself_refuses_a_stale_etag(
        self, api: APIClient, ticket: Ticket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who is overtaken between the read and the write gets 412, and changes nothing."""
        put_next = sequences.put_next

        def put(*args: Any, **kwargs: Any) -> Any:
            monkeypatch.setattr(recording, "put_next", put_next)
            services.update_ticket(ABC_1, version=1, changes={"title": "First"}, by="bob")
            return put_next(*args, **kwargs)

        tag = api.get(ADDRESS)["ETag"]
        monkeypatch.setattr(recording, "put_next", put)
        assert api.patch(ADDRESS, {"title": "Second"}, headers=matching(tag)).status_code == 412
        assert selectors.get_ticket(ABC_1).title == "First"

    def test_a_merge_patch_removes_what_is_null(self, api: APIClient, ticket: Ticket) -> None:
        """A merge patch is read as JSON; null empties what may be empty, and is refused for what may not."""
        kind = "application/merge-patch+json"
        body = '{"version": 1, "description": null, "assignee": null, "labels": null}'
        changed = api.generic("PATCH", ADDRESS, body, content_type=kind).json()
        assert (changed["description"], changed["assignee"], changed["labels"]) == ("", "", [])
        for field in ("title", "status"):
            refused = api.generic("PATCH", ADDRESS, f'{{"version": 2, "{field}": null}}', content_type=kind)
            assert refused.status_code == 400
        assert api.generic("POST", "/api/projects/ABC/tickets/", "{}", content_type=kind).status_code == 415

    def test_a_repeat_with_the_same_key_changes_nothing(self, api: APIClient, ticket: Ticket) -> None:
        """A PATCH and a DELETE that are sent again with their key are answered with the ticket as it is now."""
        body, headers = {"version": 1, "title": "Out"}, {"Idempotency-Key": "k"}
        first, again = (api.patch(ADDRESS, body, headers=headers) for _ in range(2))
        assert first.json() == again.json()
        voided = api.delete(ADDRESS, {"version": 2}, headers={"Idempotency-Key": "l"})
        assert api.delete(ADDRESS, {"version": 2}, headers={"Idempotency-Key": "l"}).json() == voided.json()
        assert api.patch(ADDRESS, body, headers=headers).json() == voided.json()
        assert [event["kind"] for event in api.get(f"{ADDRESS}history/").json()["results"]] == ["change", "void"]


class TestComments:
    def test_a_comment_is_made_read_and_listed(self, api: APIClient, ticket: Ticket) -> None:
        """A comment has its address and is the same wherever it is read; a repeat says that it is one."""
        made, again = (api.post(COMMENTS, {"text": "Me too."}, headers={"Idempotency-Key": "k"}) for _ in range(2))
        assert (made.status_code, again.status_code) == (201, 201)
        assert made["Location"] == again["Location"] == f"http://testserver{COMMENTS}1/"
        assert "Idempotent-Replayed" not in made
        assert again["Idempotent-Replayed"] == "true"
        assert made.json() == again.json() == api.get(f"{COMMENTS}1/").json()
        assert {**made.json(), "at": ""} == {
            "number": 1, "by": "ann", "at": "", "text": "Me too.", "version": 1, "edited_at": None, "void": None,
        }  # fmt: skip
        assert api.get(COMMENTS).json() == {"results": [made.json()], "next": None, "prev": None}
        assert api.get(ADDRESS).json()["comments"] == 1

    def test_a_repeat_follows_its_ticket(self, api: APIClient, browser: Client, ticket: Ticket) -> None:
        """A comment that is sent again after its ticket has moved is found under the present key."""
        sent: dict[str, Any] = {"data": {"text": "Me too."}, "headers": {"Idempotency-Key": "k"}}
        made, typed = api.post(COMMENTS, **sent), {"text": "x", "token": "t"}
        assert browser.post("/ABC-1/comments/", typed)["Location"] == "/ABC-1/#event-2"
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        moves.move_ticket(ABC_1, to="XYZ", by="ann")
        again = api.post(COMMENTS, **sent)
        assert (again.status_code, again["Idempotent-Replayed"]) == (201, "true")
        assert api.get(again["Location"]).json() == made.json()
        assert again["Location"] == "http://testserver/api/tickets/XYZ-1/comments/1/"
        assert browser.post("/ABC-1/comments/", typed)["Location"] == "/XYZ-1/#event-2"

    def test_its_author_alone_changes_it(self, api: APIClient, bob: APIClient, ticket: Ticket) -> None:
        """Its author changes and withdraws a comment by its ETag or version; nobody else may."""
        tag = api.post(COMMENTS, {"text": "x"})["ETag"]
        address = f"{COMMENTS}1/"
        assert bob.patch(address, {"text": "y", "version": 1}).status_code == 403
        assert bob.delete(address, {"version": 1}).status_code == 403
        assert api.patch(address, {"text": "y"}).status_code == 428
        assert api.delete(address).status_code == 428
        assert api.patch(address, {"text": "y"}, headers=matching(tag)).json()["version"] == 2
        stale = api.patch(address, {"text": "z"}, headers=matching(tag))
        assert (stale.status_code, stale.json()["current"]["text"]) == (412, "y")
        assert api.patch(address, {"text": "z", "version": 1}).status_code == 409
        gone = api.delete(address, headers=matching("*")).json()
        assert (gone["text"], gone["void"]["by"]) == ("", "ann")
        assert gone["at"] < gone["edited_at"] < gone["void"]["at"]
        assert api.patch(address, {"text": "z", "version": 3}).status_code == 409
        assert api.get(COMMENTS).json()["results"] == [gone]

    @pytest.mark.parametrize("number", ["1", "2", "9" * 15, "0", "01", "9" * 16, "x"])
    def test_what_is_no_comment_is_not_found(self, api: APIClient, ticket: Ticket, number: str) -> None:
        """A change, a number that was not given, and what is no number are not found."""
        services.update_ticket(ABC_1, version=1, changes={"title": "x"}, by="ann")
        assert api.get(f"{COMMENTS}{number}/").status_code == 404

    @pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": None}, {"text": "x" * 20_001}])
    def test_a_wrong_text_is_named(self, api: APIClient, ticket: Ticket, body: Any) -> None:
        """A comment without a text, or with one that is too long, is refused by name."""
        response = api.post(COMMENTS, body)
        assert response.status_code == 400
        assert wrong_fields(response) == {"text"}


class TestHistory:
    def test_a_history_tells_comments_and_changes(self, api: APIClient, ticket: Ticket) -> None:
        """Each event says its number and kind, who and when, and what changed; by pages, from either end."""
        api.patch(ADDRESS, {"version": 1, "title": "Out", "description": "x"})
        api.post(COMMENTS, {"text": "Me too."})
        changed, commented = api.get(f"{ADDRESS}history/").json()["results"]
        assert (changed["number"], changed["kind"], changed["by"], changed["text"]) == (1, "change", "ann", "")
        assert changed["changes"] == {"description": None, "title": ["Printer on fire", "Out"]}
        assert (commented["kind"], commented["text"], commented["changes"]) == ("comment", "Me too.", {})
        first = api.get(f"{ADDRESS}history/?order=newest&limit=1").json()
        assert first["results"] == [commented]
        second = api.get(first["next"]).json()
        assert (second["results"], second["next"]) == ([changed], None)
        assert api.get(second["prev"]).json() == first
        assert api.get(f"{ADDRESS}history/?order=up").status_code == 400

    def test_the_document_says_that_a_change_is_a_pair(self, api: APIClient) -> None:
        """The description of the API says that a change has two values, before and after, or is null."""
        shapes = api.get("/api/schema/?format=json").json()["components"]["schemas"]
        pair = shapes["Event"]["properties"]["changes"]["additionalProperties"]
        assert (pair["minItems"], pair["maxItems"]) == (2, 2)
        assert "null" in pair["type"]
        assert {"type": "null"} in shapes["Comment"]["properties"]["void"]["oneOf"]

    def test_a_former_key_leads_to_the_ticket(self, api: APIClient, ticket: Ticket) -> None:
        """The comments and the history of a ticket that has moved are not told under its former key."""
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        assert api.get(COMMENTS).status_code == api.get(f"{ADDRESS}history/").status_code == 308
        assert api.post(COMMENTS, {"text": "x"})["Location"] == "/api/tickets/XYZ-1/comments/"
        [event] = api.get("/api/tickets/XYZ-1/history/").json()["results"]
        assert (event["kind"], event["changes"]) == ("move", {"key": ["ABC-1", "XYZ-1"]})


class TestRestoring:
    def test_a_void_ticket_is_restored(self, api: APIClient, ticket: Ticket) -> None:
        """A ticket says until when it can be restored, and comes back with its content."""
        voided = api.delete(ADDRESS, {"version": 1}).json()
        assert voided["sealed_until"] > voided["void"]["at"]
        assert api.post(f"{ADDRESS}restore/", {"version": 1}).status_code == 409
        assert api.post(f"{ADDRESS}restore/", headers=matching('"1-00000000"')).status_code == 412
        restored = api.post(f"{ADDRESS}restore/", {"reason": "It was none."})
        assert (restored.status_code, restored.json()["title"]) == (200, "Printer on fire")
        assert not {"void", "sealed_until"} & restored.json().keys()
        assert api.post(f"{ADDRESS}restore/").json() == restored.json()

    def test_a_ticket_that_is_not_void_stays_as_it_is(self, api: APIClient, browser: Client, ticket: Ticket) -> None:
        """Who restores it by the version at which it was void, as by a double click, gets it as it is now."""
        tag = api.delete(ADDRESS, {"version": 1})["ETag"]
        sent = [browser.post("/ABC-1/restore/", {"version": "2", "reason": ""}) for _ in range(2)]
        assert [(answer.status_code, answer["Location"]) for answer in sent] == [(302, "/ABC-1/")] * 2
        for options in ({"headers": matching(tag)}, {"data": {"version": 2}}, {"headers": {"Idempotency-Key": "k"}}):
            again = api.post(f"{ADDRESS}restore/", **options)
            assert (again.status_code, again.json()["version"]) == (200, 3)
            assert "Idempotent-Replayed" not in again
        assert len(api.get(f"{ADDRESS}history/").json()["results"]) == 2

    def test_what_is_gone_is_a_conflict(self, api: APIClient, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """After its time a ticket is not restored, and the answer has it as it is."""
        api.delete(ADDRESS, {"version": 1})
        later = timezone.now() + timedelta(days=31)
        monkeypatch.setattr(timezone, "now", lambda: later)
        response = api.post(f"{ADDRESS}restore/")
        assert (response.status_code, response.json()["current"]["status"]) == (409, "void")


class TestPages:
    def test_a_ticket_shows_its_timeline(self, browser: Client, ticket: Ticket) -> None:
        """The page of a ticket tells who did what; its form adds a comment once, and leads to it."""
        services.update_ticket(ABC_1, version=1, changes={"title": "Out", "labels": ["a", "b"]}, by="bob")
        page = browser.get("/ABC-1/")
        assert "Title: Printer on fire → Out" in page.content.decode()
        assert "Labels: hot → a, b" in page.content.decode()
        typed = {"text": "<b>Me</b> too.", "token": page.context["form"]["token"].value()}
        for _ in range(2):
            response = browser.post("/ABC-1/comments/", typed)
            assert response["Location"] == "/ABC-1/#event-2"
        page = browser.get("/ABC-1/")
        assert page.content.decode().count("&lt;b&gt;Me&lt;/b&gt; too.") == 1
        assert selectors.get_ticket(ABC_1).comments == 1

    def test_a_comment_that_is_refused_is_not_lost(self, browser: Client, ticket: Ticket) -> None:
        """What is wrong stands beside what was typed, also when the ticket has become void."""
        response = browser.post("/ABC-1/comments/", {"text": "x" * 20_001})
        assert (response.status_code, "At most 20,000" in response.content.decode()) == (400, True)
        services.void_ticket(ABC_1, by="bob")
        response = browser.post("/ABC-1/comments/", {"text": "Mine."})
        assert response.status_code == 409
        assert "was voided" in response.content.decode()
        assert "Mine." in response.content.decode()
        assert "comments/" not in browser.get("/ABC-1/").content.decode()

    def test_a_void_ticket_leads_back(self, browser: Client, ticket: Ticket) -> None:
        """The page of a void ticket says how long it can be restored, and its form does it."""
        assert browser.get("/ABC-1/restore/")["Location"] == "/ABC-1/"
        services.void_ticket(ABC_1, by="bob")
        page = browser.get("/ABC-1/").content.decode()
        assert "can be restored until" in page
        assert 'href="/ABC-1/restore/"' in page
        assert browser.get("/ABC-1/restore/").status_code == 200
        stale = browser.post("/ABC-1/restore/", {"version": "1", "reason": ""})
        assert stale.status_code == 409
        response = browser.post("/ABC-1/restore/", {"version": "2", "reason": ""}, follow=True)
        assert response.redirect_chain == [("/ABC-1/", 302)]
        assert "Printer on fire" in response.content.decode()

    def test_gone_content_is_said(
        self, browser: Client, ann: User, ticket: Ticket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After its time the page offers no way back."""
        services.void_ticket(ABC_1, by="bob")
        later = timezone.now() + timedelta(days=31)
        monkeypatch.setattr(timezone, "now", lambda: later)
        browser.force_login(ann)  # the earlier session has ended by then
        page = browser.get("/ABC-1/").content.decode()
        assert "Its content is gone." in page
        assert "restore" not in page

    def test_what_an_operator_made_void_keeps_its_content(
        self, browser: Client, api: APIClient, ticket: Ticket
    ) -> None:
        """A page that shows the content does not say that it is gone, and REST shows it as well."""
        void("tickets", 1, scope="ABC", by="root", reason="Wrong.")
        page = browser.get("/ABC-1/").content.decode()
        assert "Its content is kept." in page
        assert "gone" not in page
        assert "Third floor." in page
        shown = api.get(ADDRESS).json()
        assert (shown["status"], shown["title"], shown["void"]["by"]) == ("void", "Printer on fire", "root")
        assert "sealed_until" not in shown


class TestVoidOrders:
    @pytest.fixture
    def order(self, tables: str) -> int:
        """An order whose invoice is drafted, which an operator has made void."""
        number = drafted("Ada")
        void("orders", number, by="root", reason="Entered twice.")
        return number

    def test_an_order_says_that_it_is_void(self, browser: Client, api: APIClient, order: int) -> None:
        """Pages and REST say who withdrew the order and why, and show its content."""
        shown = api.get(f"/api/orders/{order}/").json()
        assert (shown["void"]["by"], shown["void"]["reason"], shown["customer"]) == ("root", "Entered twice.", "Ada")
        page = browser.get(f"/orders/{order}/").content.decode()
        assert "Entered twice." in page
        assert "Issue invoice" not in page
        assert ">Void<" in browser.get("/orders/").content.decode()

    def test_nothing_is_drafted_or_issued_of_it(self, api: APIClient, order: int) -> None:
        """No invoice comes of a void order, whatever its draft was."""
        for rest in ("", "issue/"):
            response = api.post(f"/api/orders/{order}/invoice/{rest}", {})
            assert response.status_code == 409
            assert "was voided" in response.json()["detail"]
        assert get_order(order).invoice is None

    def test_the_write_itself_refuses_it(self, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """An order that becomes void between the read and the write gets no invoice, and no number is used."""
        number, put_next = drafted("Ada"), sequences.put_next

        def put(*args: Any, **kwargs: Any) -> Any:
            void("orders", number, by="root", reason="Wrong.")
            return put_next(*args, **kwargs)

        monkeypatch.setattr(sales, "put_next", put)
        with pytest.raises(OrderVoided):
            sales.issue_invoice(number, by="ann")
        monkeypatch.undo()
