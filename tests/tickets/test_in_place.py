"""What pages answer to htmx: the same content as without it, and where it belongs.

A browser without scripts is in `test_pages`.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from tests.tickets.test_pages import hidden, text_of
from tests.tickets.test_services import ABC_1
from tickets import selectors, services
from tickets.timeline import selectors as timeline
from tickets.types import Project, Ticket


def htmx(on: str = "/ABC/") -> dict[str, str]:
    """The headers of a request that htmx sends from a page."""
    return {"HX-Request": "true", "HX-Current-URL": f"http://testserver{on}"}


def content(response: Any) -> str:
    """The content of a page, without what differs by the time and by the secret of a form."""
    (found,) = re.findall('(?s)<main class="container" id="content".*</main>', text_of(response))
    return re.sub('value="[^"]{32,}"', "", found)


def test_htmx_gets_the_content_alone(browser: Client, ticket: Ticket) -> None:
    """The content and the title of each page are those that it has without htmx, with nothing around them."""
    for address in ("/", "/ABC/", "/ABC/?status=done", "/ABC-1/", "/ABC-1/edit/", "/ABC-9/", "/orders/"):
        whole, part = browser.get(address), browser.get(address, headers=htmx())
        assert part.status_code == whole.status_code, address
        assert content(part) == content(whole), address
        title = re.findall("<title>.*</title>", text_of(whole))
        assert text_of(part).strip().startswith(title[0]), address
        assert "<html" in text_of(whole), address
        assert not re.search("<html|<header class=.site|<script", text_of(part)), address


def test_no_cache_takes_one_for_the_other(browser: Client, ticket: Ticket) -> None:
    """A browser that goes back to an address does not show the content alone which htmx has got from there."""
    for headers in ({}, htmx()):
        response = browser.get("/ABC/", headers=headers)
        assert "HX-Request" in response["Vary"]
        assert "no-cache" in response["Cache-Control"]


class TestRedirects:
    def test_a_place_in_a_page_is_gone_to(self, browser: Client, ticket: Ticket) -> None:
        """htmx learns the whole address, of which browsers hide the end from it; without htmx it is a redirect."""
        typed = {"text": "First.", "token": "t"}
        for headers, status in (({}, 302), (htmx("/ABC-1/"), 200)):
            response = browser.post("/ABC-1/comments/", typed, headers=headers)
            assert response.status_code == status
            header = response.headers.get("HX-Location") or json.dumps({"path": response["Location"]})
            assert json.loads(header)["path"] == "/ABC-1/#event-1"
        assert len(timeline.list_events(ticket).results) == 1  # sent twice, with the same token

    def test_the_same_page_is_no_new_entry(self, browser: Client, ticket: Ticket) -> None:
        """Back leads to where a person came from, however often they have filed or saved in between."""
        for on, address, is_same in (
            ("/ABC/#quick", "/ABC/", True), ("/ABC/", "/ABC/?status=done", False), ("/ABC/?a=1", "/ABC/", False),
        ):  # fmt: skip
            response = browser.get(address, headers=htmx(on))
            assert response.headers.get("HX-Push-Url") == ("false" if is_same else None)

    def test_a_change_in_place_leads_to_the_ticket(self, browser: Client, ticket: Ticket) -> None:
        """The browser follows the redirect, and the page says what has happened in the region that is read aloud."""
        typed = {"status": "done", "assignee": "", "version": "1"}
        response = browser.post("/ABC-1/progress/", typed, headers=htmx("/ABC-1/"), follow=True)
        assert response.redirect_chain == [("/ABC-1/", 302)]
        said = re.findall('<div [^>]*id="messages"[^>]*>(.*)</div>', text_of(response))
        assert said == ['<div class="notice">ABC-1 is changed.</div>']
        assert 'id="messages" role="status" hx-swap-oob="innerHTML"' in text_of(response)


class TestRefusals:
    def test_a_wrong_field(self, browser: Client, abc: Project) -> None:
        """What is wrong is said, and what was typed is there with the same token."""
        typed = {"title": "x" * 201, "token": "t"}
        response = browser.post("/ABC/new/?then=list", typed, headers=htmx())
        assert response.status_code == 400
        assert hidden(response, "token") == "t"
        assert "x" * 201 in text_of(response)

    def test_a_stale_change(self, browser: Client, ticket: Ticket) -> None:
        """Both versions are shown, and the form can be sent for the present one."""
        services.update_ticket(ABC_1, version=1, changes={"status": "in_progress"}, by="bob")
        typed = {"status": "done", "assignee": "ann", "version": "1"}
        response = browser.post("/ABC-1/progress/", typed, headers=htmx("/ABC-1/"))
        assert response.status_code == 409
        assert "changed last by bob" in content(response)
        assert hidden(response, "version") == "2"

    def test_a_store_that_is_away(self, browser: Client, ticket: Ticket, store_away: Callable[[], None]) -> None:
        """The comment is still there, and can be sent again."""
        store_away()
        response = browser.post("/ABC-1/comments/", {"text": "Words.", "token": "t"}, headers=htmx("/ABC-1/"))
        assert response.status_code == 503
        assert [hidden(response, name) for name in ("text", "token")] == ["Words.", "t"]

    def test_an_ended_session(self, ticket: Ticket, client: Client) -> None:
        """The sign-in keeps the comment."""
        response = client.post("/ABC-1/comments/", {"text": "Words.", "token": "t"}, headers=htmx("/ABC-1/"))
        assert response.status_code == 403
        assert hidden(response, "kept.text") == "Words."
        assert "<h1>Sign in</h1>" in content(response)

    def test_a_form_of_another_session(self, ann: User, ticket: Ticket) -> None:
        """The form of an earlier session can be sent again."""
        strict = Client(enforce_csrf_checks=True, headers={"Origin": "http://testserver"})
        strict.force_login(ann)
        response = strict.post("/ABC-1/comments/", {"text": "Words."}, headers=htmx("/ABC-1/"))
        assert (response.status_code, hidden(response, "text")) == (403, "Words.")
        assert "<h1>Send it again</h1>" in content(response)


def test_a_title_files_a_row(browser: Client, abc: Project) -> None:
    """A title is filed once, however often its form is sent, and the list has its row."""
    form = {"title": "Printer", "token": hidden(browser.get("/ABC/"), "token")}
    for _ in range(2):
        response = browser.post("/ABC/new/?then=list", form, headers=htmx())
        assert json.loads(response["HX-Location"])["path"] == "/ABC/#quick"
    shown = browser.get("/ABC/", headers=htmx())
    assert re.findall('class="key">(ABC-[0-9]+)<', content(shown)) == ["ABC-1"]
    assert hidden(shown, "token") != form["token"]
    assert len(selectors.list_tickets("ABC").results) == 1


def test_only_what_stays_in_place_is_asked_by_htmx(browser: Client, ticket: Ticket) -> None:
    """Forms and links of htmx have a method and an address of their own: without scripts they do the same.

    The preview alone is there for who has scripts: without it a text is seen when it is stored.
    """
    for address in ("/ABC/?status=open", "/ABC-1/"):
        page = text_of(browser.get(address))
        assert 'hx-target="#content" hx-select="#content"' in page
        buttons = re.findall('<button type="button" class="link with-scripts" hx-post="/preview/"', page)
        assert len(re.findall("hx-(get|post|put|patch|delete|on|vals|headers)\\b", page)) == len(buttons)
