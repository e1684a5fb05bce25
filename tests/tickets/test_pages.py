"""The pages, as a browser without scripts uses them."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from unittest import mock

import pytest
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from tickets import selectors, services, validators
from tickets.types import Project, Ticket, TicketKey
from tickets.urls import urlpatterns

ABC_1 = TicketKey(project="ABC", number=1)
PAGES = ["/", "/find/mine/", "/projects/new/", "/ABC/", "/ABC/edit/", "/ABC/new/", "/ABC-1/"]
PAGES += ["/ABC/members/", "/ABC-1/edit/", "/ABC-1/progress/", "/ABC-1/move/", "/ABC-1/void/", "/ABC-1/comments/"]
RESTORE = "/ABC-1/restore/"  # the page of a void ticket alone
COMMENT = "/ABC-1/comments/1/edit/"  # the page of a comment
FIND = "/find/"  # it leads on, or finds words (see `test_finding`)


def text_of(response: Any) -> str:
    """A page as text."""
    return str(response.content.decode())


def hidden(response: Any, name: str) -> str:
    """The value of a hidden field of the form on a page."""
    found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)"', text_of(response))
    assert found is not None
    return found[1]


def test_the_sign_in_page_does_not_lead_to_itself(browser: Client) -> None:
    """Who is signed in comes to the projects."""
    assert browser.get("/login/?next=/login/")["Location"] == "/"


def test_a_stranger_sees_the_sign_in_page_alone(db: None, client: Client) -> None:
    """Nobody sees or sends anything before signing in, and then comes to where they wanted."""
    for address in PAGES:
        response = client.get(address)
        assert (response.status_code, response["Location"]) == (302, f"/login/?next={address}")
        response = client.post(address, {"title": "x"})
        assert (response.status_code, hidden(response, "next")) == (403, address)


def test_a_person_signs_in_and_out(ann: User, tables: str, client: Client) -> None:
    """A wrong password is said, a right one leads on, and signing out ends it."""
    ann.set_password("ann's password")
    ann.save()
    refused = client.post("/login/", {"username": "ann", "password": "wrong"})
    assert "correct username and password" in text_of(refused)
    assert client.post("/login/?next=/", {"username": "ann", "password": "ann's password"})["Location"] == "/"
    assert client.get("/").status_code == 200
    for _ in range(2):  # at the second time, by another tab
        assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_what_was_typed_outlives_the_session(ann: User, abc: Project, client: Client) -> None:
    """A form that was sent after the session had ended can be sent after signing in, even at the second try."""
    ann.set_password("ann's password")
    ann.save()
    response = client.post("/ABC/new/?x=1", {"title": "Printer on fire", "labels": "hot"})
    for password in ("wrong", "ann's password"):
        kept = {name: hidden(response, name) for name in ("kept.title", "kept.labels", "next")}
        response = client.post("/login/", {**kept, "username": "ann", "password": password})
    assert 'action="/ABC/new/?x=1"' in text_of(response)
    client.post("/ABC/new/?x=1", {name: hidden(response, name) for name in ("title", "labels")})
    (ticket,) = selectors.list_tickets(abc.key).results
    assert (ticket.title, ticket.labels) == ("Printer on fire", ("hot",))


class TestASignInThatFails:
    """What the sign-in page keeps outlives every way in which signing in may fail."""

    KEPT: ClassVar = {"kept.title": "Printer on fire", "next": "/ABC/new/?x=1"}

    @pytest.fixture
    def stranger(self, ann: User, abc: Project) -> Client:
        """A browser whose session has ended, and that wants its forms checked."""
        ann.set_password("ann's password")
        ann.save()
        return Client(enforce_csrf_checks=True, headers={"Origin": "http://testserver"})

    def send(self, browser: Client, page: Any, **typed: str) -> Any:
        """Send what a page holds, and what is typed besides."""
        names = re.findall('<input type="hidden" name="([^"]*)"', text_of(page))
        return browser.post("/login/", {**{name: hidden(page, name) for name in names}, **typed})

    def test_in_another_tab(self, stranger: Client, ann: User) -> None:
        """Who has signed in meanwhile in another tab can send it as well."""
        page = stranger.get("/login/")
        stranger.force_login(ann)
        typed = {"username": "ann", "password": "ann's password"}
        refused = stranger.post("/login/", {**self.KEPT, **typed, "csrfmiddlewaretoken": "x" * 64})
        assert (refused.status_code, "ann's password" in text_of(refused)) == (403, False)
        page = self.send(stranger, refused)
        assert (page.status_code, hidden(page, "title")) == (200, "Printer on fire")
        assert 'action="/ABC/new/?x=1"' in text_of(page)

    def test_too_often(self, stranger: Client, settings: Settings) -> None:
        """After too many tries the page that says so keeps it, and leads back to the sign-in."""
        page = stranger.get("/login/")
        settings.HEAVY_AT_ONCE = 0
        refused = self.send(stranger, page, **self.KEPT, username="ann", password="wrong")
        assert (refused.status_code, hidden(refused, "next")) == (429, "/ABC/new/?x=1")
        settings.HEAVY_AT_ONCE = 4
        page = self.send(stranger, refused)
        assert hidden(page, "kept.title") == "Printer on fire"
        page = self.send(stranger, page, username="ann", password="ann's password")
        assert (hidden(page, "title"), 'action="/ABC/new/?x=1"' in text_of(page)) == ("Printer on fire", True)

    def test_without_the_accounts(self, stranger: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """While the database with the accounts is away, the page that says so keeps it, too."""
        page = stranger.get("/login/")
        monkeypatch.setattr(AuthenticationForm, "clean", mock.Mock(side_effect=OperationalError("away")))
        refused = self.send(stranger, page, **self.KEPT, username="ann", password="ann's password")
        kept = {name: hidden(refused, name) for name in self.KEPT}
        assert (refused.status_code, kept) == (503, self.KEPT)
        assert "ann's password" not in text_of(refused)


def test_what_was_typed_is_sent_to_this_site_alone(ann: User, abc: Project, client: Client) -> None:
    """After a sign-in no form leads to another site."""
    ann.set_password("ann's password")
    ann.save()
    sent = {"kept.title": "x", "next": "https://elsewhere.test/", "username": "ann", "password": "ann's password"}
    assert 'action="/"' in text_of(client.post("/login/", sent))


def test_every_page_is_shown(browser: Client, ticket: Ticket) -> None:
    """Every page is there, and lets the browser fill its fields in again when a person goes back to it."""
    for address in PAGES:
        response = browser.get(address)
        assert response.status_code == 200, address
        assert 'autocomplete="off"' not in text_of(response), address


def test_what_is_not_there_is_a_page(browser: Client, ticket: Ticket) -> None:
    """An address that leads nowhere says so, on a page with a way on."""
    for address in ("/XYZ/", "/XYZ/new/", "/ABC-2/", "/ABC-2/edit/", "/ABC-0/", "/xyz/", "/nothing/"):
        response = browser.get(address, follow=True)
        assert response.status_code == 404, address
        assert re.search(">To (the projects|project ABC)<", text_of(response)), address


@pytest.mark.parametrize("address", ["/?cursor=forged", "/ABC/?cursor=5:forged", "/ABC/?cursor="])
def test_a_made_up_cursor_is_a_page(browser: Client, abc: Project, address: str) -> None:
    """A cursor that no page gave is refused by a page."""
    response = browser.get(address)
    assert response.status_code == 400
    assert "not a cursor" in text_of(response)


class TestNewProject:
    def test_a_project_is_made_and_shown(self, browser: Client, tables: str) -> None:
        """The form makes a project, with its key in capitals however it was typed, and leads to it."""
        response = browser.post("/projects/new/", {"key": "abc", "name": "Alphabet"}, follow=True)
        assert response.redirect_chain == [("/ABC/", 302)]
        assert "The first one will be ABC-1" in text_of(response)

    def test_what_is_wrong_stands_beside_its_field(self, browser: Client, abc: Project) -> None:
        """A key that is no key, or is taken, is said at the field, and everything typed is kept."""
        for key, problem in (("A!", "not a project key"), ("ABC", "ABC already")):
            response = browser.post("/projects/new/", {"key": key, "name": "Second"})
            assert problem in response.context["form"].errors["key"][0]
            assert 'value="Second"' in text_of(response)
            assert 'aria-invalid="true"' in text_of(response)
            assert "id_key_error" in text_of(response)

    def test_a_double_click_makes_one_project(self, browser: Client, tables: str) -> None:
        """The same form sent twice leads to the same project twice."""
        form = {"key": "ABC", "name": "Alphabet", "token": hidden(browser.get("/projects/new/"), "token")}
        assert [browser.post("/projects/new/", form)["Location"] for _ in range(2)] == ["/ABC/", "/ABC/"]
        assert text_of(browser.get("/ABC/")).count("Project ABC is ready for its first ticket.") == 1


class TestNewTicket:
    def test_a_ticket_is_filed_and_shown(self, browser: Client, abc: Project) -> None:
        """The form files a ticket by the person who is signed in, and leads to it."""
        typed = {"title": "Printer <b>on fire</b>", "description": "Third\r\nfloor.", "labels": "hot, , urgent ,hot"}
        response = browser.post("/ABC/new/", typed, follow=True)
        assert response.redirect_chain == [("/ABC-1/", 302)]
        assert "Printer &lt;b&gt;on fire&lt;/b&gt;" in text_of(response)
        filed = selectors.get_ticket(ABC_1)
        assert (filed.reporter, filed.labels, filed.description) == ("ann", ("hot", "urgent"), "Third\nfloor.")

    @pytest.mark.parametrize(
        ("field", "value"),
        [("title", " "), ("title", "x" * 201), ("description", "\x1b"), ("description", "\x00"), ("labels", "x" * 41)],
    )
    def test_what_is_wrong_stands_beside_its_field(self, browser: Client, abc: Project, field: str, value: str) -> None:
        """A wrong field is said beside it; nothing is filed, and everything typed is kept."""
        typed = {"title": "Printer", "assignee": "bob", field: value}
        response = browser.post("/ABC/new/", typed)
        assert set(response.context["form"].errors) == {field}
        assert 'value="bob"' in text_of(response)
        assert selectors.list_tickets("ABC").results == ()

    def test_what_was_typed_is_checked_once(
        self, browser: Client, abc: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Forms leave it to the service to check what was typed."""
        clean, checked = validators.clean, Counter[str]()

        def count(values: Mapping[str, Any], by: Mapping[str, validators.Validator]) -> dict[str, Any]:
            checked.update(values.keys())
            return clean(values, by)

        monkeypatch.setattr(validators, "clean", count)
        assert browser.post("/ABC/new/", {"title": "Printer", "token": "t"})["Location"] == "/ABC-1/"
        fields = ("title", "description", "status", "assignee", "labels", "idempotency_token")
        assert checked == dict.fromkeys(fields, 1)

    def test_a_title_alone_files_from_the_list(self, browser: Client, abc: Project) -> None:
        """The list has a form for a title, and comes back to it; sent twice, it files once. A wrong title is shown."""
        page = browser.get("/ABC/")
        assert 'action="/ABC/new/?then=list"' in text_of(page)
        typed = {"title": "Printer", "token": hidden(page, "token")}
        for _ in range(2):
            response = browser.post("/ABC/new/?then=list", typed)
            assert (response.status_code, response["Location"]) == (302, "/ABC/#quick")
        page = browser.get("/ABC/")
        assert "ABC-1 is filed." in text_of(page)
        assert "ABC-2" not in text_of(page)
        wrong = browser.post("/ABC/new/?then=list", {"title": "x" * 201, "token": hidden(page, "token")})
        assert wrong.status_code == 400
        assert "x" * 201 in text_of(wrong)

    def test_a_double_click_files_one_ticket(self, browser: Client, abc: Project) -> None:
        """The same form sent twice leads to the same ticket twice; the form loaded anew files another."""
        form = {"title": "Printer", "token": hidden(browser.get("/ABC/new/"), "token")}
        assert [browser.post("/ABC/new/", form)["Location"] for _ in range(2)] == ["/ABC-1/", "/ABC-1/"]
        form["token"] = hidden(browser.get("/ABC/new/"), "token")
        assert browser.post("/ABC/new/", form)["Location"] == "/ABC-2/"

    def test_a_form_sent_before_with_other_content_asks(self, browser: Client, abc: Project) -> None:
        """Going back and changing what was sent asks first, keeps what was typed, and then files it."""
        form = {"title": "First", "token": hidden(browser.get("/ABC/new/"), "token")}
        browser.post("/ABC/new/", form)
        form["title"] = "Second"
        asked = browser.post("/ABC/new/", form)
        assert "sent before" in text_of(asked)
        assert 'value="Second"' in text_of(asked)
        form["token"] = hidden(asked, "token")
        assert browser.post("/ABC/new/", form)["Location"] == "/ABC-2/"

    def test_a_store_that_is_away_loses_nothing(
        self, browser: Client, abc: Project, store_away: Callable[[], None]
    ) -> None:
        """While the store is away the form comes back with what was typed and the same token."""
        form = {"title": "Printer", "token": hidden(browser.get("/ABC/new/"), "token")}
        store_away()
        response = browser.post("/ABC/new/", form)
        assert response.status_code == 503
        assert "It will not be stored twice" in text_of(response)
        assert 'value="Printer"' in text_of(response)
        assert hidden(response, "token") == form["token"]

    def test_an_unknown_project_takes_no_ticket(self, browser: Client, abc: Project) -> None:
        """A ticket for a project that does not exist is refused, and keeps what was typed."""
        response = browser.post("/XYZ/new/", {"title": "Printer"})
        assert response.status_code == 404
        assert "There is no project XYZ." in text_of(response)
        assert 'value="Printer"' in text_of(response)

    def test_used_up_numbers_are_said(self, browser: Client, ticket: Ticket, settings: Settings) -> None:
        """Where a project has no numbers left, nobody is asked to try again, and what was typed is kept."""
        settings.SEQUENCES = {**settings.SEQUENCES, "tickets": {**settings.SEQUENCES["tickets"], "MAXIMUM": 1}}
        response = browser.post("/ABC/new/", {"title": "Second"})
        assert response.status_code == 409
        assert "used up" in text_of(response)
        assert "in a moment" not in text_of(response)
        assert 'value="Second"' in text_of(response)

    @pytest.mark.parametrize("token", ["x" * 256, "a\nb"])
    def test_a_made_up_token_is_refused(self, browser: Client, abc: Project, token: str) -> None:
        """A token that no form gave and that breaks its limits is an error on the page, not of the server."""
        response = browser.post("/ABC/new/", {"title": "x", "token": token})
        assert response.status_code == 400
        assert 'role="alert"' in text_of(response)


class TestEditing:
    typed = {"title": "Out", "status": "done", "version": "1"}

    def test_a_change_is_stored_and_shown(self, browser: Client, ticket: Ticket) -> None:
        """The form changes the ticket and leads to it."""
        response = browser.post("/ABC-1/edit/", self.typed, follow=True)
        assert response.redirect_chain == [("/ABC-1/", 302)]
        assert "Out" in text_of(response)
        assert selectors.get_ticket(ABC_1).status == "done"

    def test_a_form_sent_back_unchanged_changes_no_field(self, browser: Client, ticket: Ticket) -> None:
        """What the form shows is what the ticket holds, field by field."""
        shown = browser.get("/ABC-1/edit/").context["form"]
        browser.post("/ABC-1/edit/", {field.html_name: field.value() for field in shown})
        after = selectors.get_ticket(ABC_1)
        assert (after.title, after.description, after.status, after.assignee, after.labels) == (
            ticket.title, ticket.description, ticket.status, ticket.assignee, ticket.labels,
        )  # fmt: skip

    def test_a_stale_change_is_refused_and_nothing_is_lost(self, browser: Client, ticket: Ticket) -> None:
        """A change of an old version shows the ticket as it is, keeps what was typed, and can be sent again."""
        services.update_ticket(ABC_1, version=1, changes={"description": "Water everywhere."}, by="bob")
        refused = browser.post("/ABC-1/edit/", self.typed)
        assert refused.status_code == 409
        assert "Water everywhere." in text_of(refused)
        assert 'value="Out"' in text_of(refused)
        assert selectors.get_ticket(ABC_1).title == "Printer on fire"
        sent_again = browser.post("/ABC-1/edit/", {**self.typed, "version": hidden(refused, "version")})
        assert sent_again["Location"] == "/ABC-1/"
        assert selectors.get_ticket(ABC_1).title == "Out"

    @pytest.mark.parametrize("version", ["", "x", "0", "9" * 50])
    def test_a_made_up_version_is_refused(self, browser: Client, ticket: Ticket, version: str) -> None:
        """A version that is no version is an error on the page, and changes nothing."""
        response = browser.post("/ABC-1/edit/", {**self.typed, "version": version})
        assert response.status_code == 400
        assert 'role="alert"' in text_of(response)
        assert selectors.get_ticket(ABC_1) == ticket

    def test_a_store_that_is_away_loses_nothing(
        self, browser: Client, ticket: Ticket, store_away: Callable[[], None]
    ) -> None:
        """While the store is away the form comes back with what was typed."""
        store_away()
        response = browser.post("/ABC-1/edit/", self.typed)
        assert response.status_code == 503
        assert 'value="Out"' in text_of(response)

    def test_a_void_ticket_has_no_form(self, browser: Client, ticket: Ticket) -> None:
        """There is nothing to change on a void ticket, and a form that was open is refused."""
        services.void_ticket(ABC_1, by="bob")
        assert browser.get("/ABC-1/edit/").status_code == 409
        assert browser.get("/ABC-1/void/").status_code == 409
        assert "was voided" in text_of(browser.post("/ABC-1/edit/", {**self.typed, "version": "2"}))


class TestVoiding:
    def test_a_ticket_is_voided_and_says_why(self, browser: Client, ticket: Ticket) -> None:
        """The page of a void ticket, and its place in the list, say who and why and show no content."""
        response = browser.post("/ABC-1/void/", {"reason": "A duplicate.", "version": "1"}, follow=True)
        assert response.redirect_chain == [("/ABC-1/", 302)]
        for page in (response, browser.get("/ABC/")):
            assert "A duplicate." in text_of(page)
            assert "Printer on fire" not in text_of(page)
        assert "Withdrawn by ann" in text_of(response)

    def test_who_voids_second_is_told(self, browser: Client, ticket: Ticket) -> None:
        """A ticket that somebody else has voided meanwhile keeps that reason, and the page says so."""
        services.void_ticket(ABC_1, by="bob", reason="A drill.")
        page = text_of(browser.post("/ABC-1/void/", {"reason": "Too late.", "version": "1"}, follow=True))
        assert "ABC-1 was void already, for the reason below." in page
        assert "A drill." in page

    def test_a_changed_ticket_is_not_voided_unseen(self, browser: Client, ticket: Ticket) -> None:
        """Who asked to void an earlier version is shown the ticket as it is first."""
        services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="bob")
        response = browser.post("/ABC-1/void/", {"reason": "Done.", "version": "1"})
        assert response.status_code == 409
        assert "Out" in text_of(response)
        assert selectors.get_ticket(ABC_1).void is None


class TestLists:
    def test_tickets_are_shown_by_pages(self, browser: Client, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """The link to the next page leads to the older tickets."""
        for number in range(52):
            services.create_ticket("ABC", title=f"x{number}", reporter="ann")
        first = text_of(browser.get("/ABC/"))
        link = re.search(r'rel="next" href="([^"]*)"', first)
        assert link is not None
        second = text_of(browser.get(f"/ABC/{link[1]}"))
        shown = [re.findall(r'class="key">ABC-(\d+)<', page) for page in (first, second)]
        assert [int(number) for page in shown for number in page] == list(range(52, 0, -1))

    def test_a_store_that_is_away_is_a_page(
        self, browser: Client, ticket: Ticket, store_away: Callable[[], None]
    ) -> None:
        """While the store is away every page says so and when to come back, and none is a server error."""
        store_away()
        for address in (*PAGES, "/admin/tickets/ticket/"):
            if address != "/projects/new/":  # this page asks the store nothing
                response = browser.get(address)
                assert response.status_code in {302, 503}
        response = browser.get("/ABC/")
        assert response["Retry-After"]
        assert 'href="/ABC/">Try again' in text_of(response)

    def test_a_missing_table_is_a_page(
        self, browser: Client, tables: str, settings: Settings, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Without tables a page sends to an administrator, whom the log tells what to do; nobody tries again."""
        settings.TABLE_PREFIX = "nowhere_"
        response = browser.get("/")
        assert response.status_code == 503
        assert "Tell an administrator" in text_of(response)
        assert "nowhere" not in text_of(response)
        assert "Retry-After" not in response
        assert "create_tables" in caplog.text


class TestErrorPages:
    def test_a_fault_of_ours_is_a_page_without_its_trace(
        self, ann: User, abc: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What no room took care of is a page, and JSON below /api/, without a word about the code."""
        browser = Client(raise_request_exception=False)
        browser.force_login(ann)

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("secret")

        monkeypatch.setattr(selectors, "list_projects", fail)
        for address, kind in (("/", "text/html"), ("/api/projects/", "application/problem+json")):
            response = browser.get(address)
            assert response.status_code == 500
            assert response["Content-Type"].startswith(kind)
            assert "secret" not in text_of(response)

    @pytest.mark.parametrize("address", ["/projects/new/", "/api/projects/"])
    def test_a_request_that_is_too_large_is_told_the_limit(
        self, browser: Client, tables: str, settings: Settings, address: str
    ) -> None:
        """Who sends too much learns how much can be sent at once."""
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
        kind = "application/json" if address.startswith("/api/") else "application/x-www-form-urlencoded"
        response = browser.generic("POST", address, "x" * 1_001, content_type=kind)
        assert response.status_code == 413
        assert "at most 1,000 bytes" in text_of(response)

    def test_a_form_of_another_session_can_be_sent_again(self, ann: User, abc: Project) -> None:
        """Who has signed in anew meanwhile finds what they typed in a page that sends it."""
        browser = Client(enforce_csrf_checks=True, headers={"Origin": "http://testserver"})
        browser.force_login(ann)
        response = browser.post("/ABC/new/", {"title": "Printer on fire"})
        assert (response.status_code, hidden(response, "title")) == (403, "Printer on fire")
        token = hidden(response, "csrfmiddlewaretoken")
        assert browser.post("/ABC/new/", {"title": "Printer on fire", "csrfmiddlewaretoken": token}).status_code == 302

    @pytest.mark.parametrize(
        ("origin", "typed"),
        [("http://elsewhere.test", {"title": "x"}), ("http://testserver", {"title": "x", "new_password1": "x"})],
    )
    def test_no_page_sends_a_form_of_another_site_or_a_password(
        self, ann: User, abc: Project, origin: str, typed: dict[str, str]
    ) -> None:
        """Another site cannot prepare a form that needs only a click, and no page holds a password."""
        browser = Client(enforce_csrf_checks=True, headers={"Origin": origin})
        browser.force_login(ann)
        response = browser.post("/ABC/new/", typed)
        assert response.status_code == 403
        assert 'value="x"' not in text_of(response)

    @pytest.mark.parametrize("address", ["/login/", "/ABC/new/", "/"])
    def test_a_form_that_cannot_be_read_is_a_page(self, ann: User, abc: Project, address: str) -> None:
        """A form without the boundary of its parts is refused in words."""
        strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
        strict.force_login(ann)
        strict.cookies["csrftoken"] = "x" * 32
        response: Any = strict.post(address, b"title=x", content_type="multipart/form-data")
        assert response.status_code == 400
        assert "<h1>" in response.content.decode()

    def test_a_form_without_its_cookie_is_a_page(self, ann: User, abc: Project) -> None:
        """A form that cannot be checked against forgery is refused with a page that says what to do."""
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(ann)
        response = browser.post("/ABC/new/", {"title": "x"})
        assert response.status_code == 403
        assert "Send it again" in text_of(response)

    def test_every_view_has_a_page(self) -> None:
        """Every named address of the app is among those that these tests visit."""
        named = [pattern for pattern in urlpatterns if pattern.name and pattern.name != "numbers"]  # it has no data
        names = {pattern.name: ABC_1 if "ticket_key" in str(pattern.pattern) else "ABC" for pattern in named}
        unkeyed = {"project_list", "project_new", "find", "mine"}
        sent_only = {"project_archive", "project_unarchive", "project_member", "comment_withdraw", "preview"}
        names = {name: key for name, key in names.items() if name not in sent_only}
        keys: dict[str | None, list[Any]] = {name: [] if name in unkeyed else [key] for name, key in names.items()}
        keys["comment_edit"].append(1)
        found = {reverse(f"tickets:{name}", args=args) for name, args in keys.items()}
        assert found == {*PAGES, RESTORE, COMMENT, FIND}
