"""The page of a ticket: what its texts lead to, its timeline, and its small forms, as a browser without scripts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client

from sequences import dynamodb
from tests.tickets.test_pages import hidden, text_of
from tests.tickets.test_services import ABC_1, requests_from_now
from tickets import moves, project_services, selectors, services, store
from tickets.access import members
from tickets.access.memory import REMEMBERED_SECONDS
from tickets.cursors import PAGE_SIZE
from tickets.templatetags.looks import hue
from tickets.timeline import selectors as timeline
from tickets.timeline import services as comments
from tickets.types import Project, Ticket, TicketKey


def file(project: str = "ABC", *, by: str = "ann", **content: Any) -> Ticket:
    """File a ticket."""
    return services.create_ticket(project, **{"title": "Paper", **content}, reporter=by).ticket


def say(text: str, *, by: str = "ann") -> int:
    """Comment on ABC-1. The value is the number of the comment."""
    return comments.add_comment(ABC_1, text=text, by=by).comment.number


def mentions(browser: Client, address: str = "/ABC-1/") -> dict[str, tuple[str, str]]:
    """Where the keys in the texts of a page lead, and what their links say of the tickets."""
    links = r'<a class="mention \w+" href="([^"]*)" title="([^"]*)">([^<]*)</a>'
    return {text: (href, title) for href, title, text in re.findall(links, text_of(browser.get(address)))}


@pytest.fixture
def xyz(tables: str) -> Project:
    """A project that Ann may not see."""
    return project_services.create_project(key="XYZ", name="Rest", by="bob").value


class TestSteps:
    @pytest.mark.parametrize(
        ("status", "steps"),
        [
            ("open", {"Start": "in_progress", "Close": "done"}),
            ("in_progress", {"Close": "done"}),
            ("done", {"Reopen": "open"}),
        ],
    )
    def test_each_status_has_its_steps(self, browser: Client, abc: Project, status: str, steps: dict[str, str]) -> None:
        """A button sends the next status at once, with its version, and keeps the assignee."""
        file(status=status, assignee="bob")
        page = browser.get("/ABC-1/")
        buttons = re.findall(r'<button type="submit" name="status" value="(\w+)"[^>]*>(\w+)', text_of(page))
        assert {word: value for value, word in buttons} == steps
        typed = {"status": buttons[-1][0]} | {name: hidden(page, name) for name in ("version", "assignee")}
        browser.post("/ABC-1/progress/", typed)
        changed = selectors.get_ticket(ABC_1)
        assert (changed.status, changed.assignee) == (buttons[-1][0], "bob")

    def test_who_may_not_change_has_none(self, browser: Client, ticket: Ticket, client: Client) -> None:
        """A reporter sees no buttons on another person's ticket, and no form for it either."""
        client.force_login(User.objects.create_user("rita"))
        members.set_member("ABC", "rita", role="reporter", by="ann")
        assert 'name="status"' not in text_of(client.get("/ABC-1/"))
        for path in ("edit", "progress", "void"):
            refused = client.get(f"/ABC-1/{path}/")
            assert refused.status_code == 403
            assert "ABC-1 is not yours" in text_of(refused)


class TestMentions:
    def test_a_key_leads_to_its_ticket(self, browser: Client, ticket: Ticket) -> None:
        """A key in a text is a link that says the status and the title of the ticket; one of no ticket is text."""
        file(title='<Paper> & "ink"', status="done")
        say("See ABC-2, ABC-3 and UTF-8.")
        assert mentions(browser) == {"ABC-2": ("/ABC-2/", "Done: &lt;Paper&gt; &amp; &quot;ink&quot;")}

    def test_a_hidden_ticket_is_text(self, browser: Client, ticket: Ticket, xyz: Project) -> None:
        """A ticket that the reader may not see is named like one that there is not."""
        file("XYZ", by="bob", title="Secret")
        say("XYZ-1 XYZ-2")
        assert mentions(browser) == {}
        assert "<p>XYZ-1 XYZ-2</p>" in text_of(browser.get("/ABC-1/"))
        assert "Secret" not in text_of(browser.get("/ABC-1/"))

    def test_every_key_leads_on(self, browser: Client, ticket: Ticket, xyz: Project) -> None:
        """Former keys, void tickets and moved ones are led to; of a moved one nothing is said but that it moved."""
        project_services.create_project(key="OLD", name="Old", by="ann")
        file("OLD", title="Ink")
        project_services.update_project("OLD", changes={"key": "NEW"}, by="ann")
        for _ in range(2):
            file(title="Secret")
        services.void_ticket(TicketKey(project="ABC", number=2), by="ann")
        moves.move_ticket(TicketKey(project="ABC", number=3), to="XYZ", by="bob")
        say("OLD-1 ABC-2 ABC-3")
        assert mentions(browser) == {
            "OLD-1": ("/NEW-1/", "Open: Ink"),
            "ABC-2": ("/ABC-2/", "Void"),
            "ABC-3": ("/ABC-3/", "Moved"),
        }

    def test_a_page_costs_three_requests(self, still: None, browser: Client, ticket: Ticket) -> None:
        """With keys of many projects in its texts, the page takes one read more, even the first time."""
        for project in ("PA", "PB", "PC"):
            project_services.create_project(key=project, name=project, by="ann")
            file(project)
        say("PA-1 PB-1 NO-1 " + " ".join(f"ABC-{number}" for number in range(1, 100)))
        say("PC-1")
        store.members.accesses.forget()
        browser.get("/ABC/")  # the process remembers the project of the page
        operations = requests_from_now()
        assert len(mentions(browser)) == 3
        assert operations == ["Query", "Query", "BatchGetItem"]

    def test_a_page_without_keys_costs_two(self, still: None, browser: Client, ticket: Ticket) -> None:
        """Where no text mentions a ticket, none is looked for."""
        browser.get("/ABC/")
        operations = requests_from_now()
        assert browser.get("/ABC-1/").status_code == 200
        assert operations == ["Query", "Query"]

    def test_no_page_costs_more(self, still: None, browser: Client, ticket: Ticket) -> None:
        """Nor does a void ticket, with a reason that mentions others, or one whose timeline has many pages."""
        file()
        services.void_ticket(TicketKey(project="ABC", number=2), by="ann", reason="See ABC-1.")
        for number in range(PAGE_SIZE + 1):
            say(f"ABC-2 {number}")
        (more,) = re.findall(r'rel="next" href="(\?cursor=[^"]*)"', text_of(browser.get("/ABC-1/")))
        operations = requests_from_now()
        for address in ("/ABC-2/", "/ABC-1/", f"/ABC-1/{more}"):
            assert browser.get(address).status_code == 200
            assert operations == ["Query", "Query", "BatchGetItem"]
            operations.clear()

    def test_what_was_read_with_mentions_is_forgotten_in_time(
        self, browser: Client, ticket: Ticket, ann: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who may see a mentioned ticket is read again after some seconds."""
        project_services.create_project(key="PA", name="PA", by="ann")
        file("PA")
        say("PA-1")
        now = 0.0
        monkeypatch.setattr("tickets.access.memory.monotonic", lambda: now)
        store.members.accesses.forget()
        assert set(mentions(browser)) == {"PA-1"}
        assert store.members.accesses.missing("ann", {"PA", "ABC"}) == set()
        now += REMEMBERED_SECONDS
        assert store.members.accesses.missing("ann", {"PA", "ABC"}) == {"PA", "ABC"}


class TestWays:
    def test_tickets_beside_it(self, browser: Client, ticket: Ticket) -> None:
        """A ticket leads to the one before it and the one after it, if there are any."""
        file()
        first, second = (text_of(browser.get(f"/ABC-{number}/")) for number in (1, 2))
        assert re.findall('rel="(prev|next)" href="([^"]*)"', first) == [("next", "/ABC-2/")]
        assert re.findall('rel="(prev|next)" href="([^"]*)"', second) == [("prev", "/ABC-1/")]

    def test_a_number_that_is_not_given_yet(self, browser: Client, ticket: Ticket) -> None:
        """The page of a number after the last says that it is not given yet, and leads to the project."""
        response = browser.get("/ABC-2/")
        assert response.status_code == 404
        assert "There is no ticket ABC-2: its number is not given yet." in text_of(response)
        assert '<a href="/ABC/">' in text_of(response)

    def test_a_number_that_was_left_out(self, browser: Client, ticket: Ticket) -> None:
        """The page of a number whose row was deleted, with others after it, says that it was left out."""
        file()
        schema = store.places.ROWS.schema
        dynamodb.call("delete_item", {"TableName": schema.table, "Key": schema.key("ABC", 1)})
        response = browser.get("/ABC-1/")
        assert response.status_code == 404
        assert "There is no ticket ABC-1: its number was left out, and will not be given." in text_of(response)

    def test_a_hidden_project_tells_nothing_of_its_numbers(self, browser: Client, xyz: Project) -> None:
        """Who may not see a project does not learn which of its numbers are given."""
        file("XYZ", by="bob")
        pages = [text_of(browser.get(f"/XYZ-{number}/")) for number in (1, 2)]
        assert [re.findall(r"There is no ticket XYZ-\d\.", page) for page in pages] == [
            ["There is no ticket XYZ-1."], ["There is no ticket XYZ-2."],
        ]  # fmt: skip


class TestTimeline:
    def test_every_event_has_its_link(self, browser: Client, ticket: Ticket) -> None:
        """The number of an event leads to it, on the page of the timeline that has it."""
        say("First")
        assert 'href="/ABC-1/#event-1"' in text_of(browser.get("/ABC-1/"))
        assert '<li id="event-1">' in text_of(browser.get("/ABC-1/"))

    def test_a_comment_leads_to_its_page(self, browser: Client, ticket: Ticket) -> None:
        """Who comments comes to their comment, also where the timeline has several pages."""
        for number in range(PAGE_SIZE):
            say(f"x{number}")
        response = browser.post("/ABC-1/comments/", {"text": "The latest.", "token": "t"})
        address, _, place = response["Location"].partition("#")
        assert place == f"event-{PAGE_SIZE + 1}"
        page = text_of(browser.get(address))
        assert "The latest." in page
        assert f'<li id="{place}">' in page
        assert f'href="{address}#{place}"' in page

    def test_its_author_edits_a_comment(self, browser: Client, ticket: Ticket) -> None:
        """The page offers to edit one's own comments alone, and the form leads back to the comment."""
        mine, theirs = say("Mine."), say("Theirs.", by="bob")
        page = text_of(browser.get("/ABC-1/"))
        assert f'"/ABC-1/comments/{mine}/edit/"' in page
        assert f'"/ABC-1/comments/{theirs}/edit/"' not in page
        form = browser.get("/ABC-1/comments/1/edit/")
        assert "Mine.</textarea>" in text_of(form)
        sent = browser.post("/ABC-1/comments/1/edit/", {"text": "Ours.", "version": hidden(form, "version")})
        assert sent["Location"] == "/ABC-1/#event-1"
        assert timeline.get_comment(selectors.get_ticket(ABC_1), mine).text == "Ours."

    def test_its_author_withdraws_a_comment(self, browser: Client, ticket: Ticket) -> None:
        """A withdrawn comment keeps its place without text, and cannot be edited. To look at the form does nothing."""
        say("Mine.")
        address = "/ABC-1/comments/1/withdraw/"
        assert f'formaction="{address}"' in text_of(browser.get(address))
        assert timeline.get_comment(selectors.get_ticket(ABC_1), 1).void is None
        assert browser.post(address, {"text": "Mine.", "version": "1"})["Location"] == "/ABC-1/#event-1"
        page = text_of(browser.get("/ABC-1/"))
        assert "Withdrawn by its author." in page
        assert "Mine." not in page
        assert "comments/1/edit/" not in page
        assert browser.get("/ABC-1/comments/1/edit/").status_code == 409

    def test_an_edit_of_what_is_gone(self, browser: Client, ticket: Ticket) -> None:
        """Where the comment was withdrawn meanwhile, or its ticket has moved, that is said, and the text is kept."""
        say("Mine."), say("Ours.")
        comments.withdraw_comment(selectors.get_ticket(ABC_1), 1, by="ann")
        page = browser.post("/ABC-1/comments/1/edit/", {"text": "Odd.", "version": "1"})
        assert (page.status_code, "was withdrawn" in text_of(page), "Odd.</textarea>" in text_of(page)) == (
            409,
            True,
            True,
        )
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        moves.move_ticket(ABC_1, to="XYZ", by="ann")
        page = browser.post("/ABC-1/comments/2/edit/", {"text": "Odd.", "version": "1"})
        said = ["is stored already" in text_of(page), "XYZ-1</a> as it is now" in text_of(page)]
        assert (page.status_code, said, "Odd.</textarea>" in text_of(page)) == (409, [False, True], True)

    @pytest.mark.parametrize("way", ["edit", "withdraw"])
    def test_nobody_else_changes_it(self, browser: Client, ticket: Ticket, way: str) -> None:
        """A comment of somebody else has no form, and a form that was made up is refused; nor has a change one."""
        say("Theirs.", by="bob")
        services.update_ticket(ABC_1, version=1, changes={"status": "done"}, by="ann")
        assert browser.get(f"/ABC-1/comments/1/{way}/").status_code == 403
        assert browser.post(f"/ABC-1/comments/1/{way}/", {"text": "Mine.", "version": "1"}).status_code == 403
        assert browser.get(f"/ABC-1/comments/2/{way}/").status_code == 404
        assert timeline.get_comment(selectors.get_ticket(ABC_1), 1).text == "Theirs."

    def test_a_stale_comment_shows_both_texts(self, browser: Client, ticket: Ticket) -> None:
        """A comment that its author has edited elsewhere shows what differs, and keeps what was typed."""
        say("The old text.")
        comments.edit_comment(selectors.get_ticket(ABC_1), 1, text="The new text.", by="ann", version=1)
        refused = browser.post("/ABC-1/comments/1/edit/", {"text": "The odd text.", "version": "1"})
        assert refused.status_code == 409
        assert "The odd text.</textarea>" in text_of(refused)
        assert "The <mark>odd</mark> text." in text_of(refused)
        assert "The <mark>new</mark> text." in text_of(refused)


class TestProgress:
    typed = {"status": "done", "assignee": "ann", "version": "1"}

    def test_status_and_assignee_change_in_place(self, browser: Client, ticket: Ticket) -> None:
        """The small form of the page changes these two, and nothing else, and leads back."""
        form = browser.get("/ABC-1/")
        assert 'action="/ABC-1/progress/"' in text_of(form)
        assert hidden(form, "version") == "1"
        assert browser.post("/ABC-1/progress/", self.typed)["Location"] == "/ABC-1/"
        now = selectors.get_ticket(ABC_1)
        assert (now.status, now.assignee) == ("done", "ann")
        assert (now.title, now.description, now.labels) == (ticket.title, ticket.description, ticket.labels)

    def test_a_stale_change_shows_both(self, browser: Client, ticket: Ticket) -> None:
        """A change of an old version shows both versions and who changed it, keeps what was typed, and can be sent."""
        services.update_ticket(ABC_1, version=1, changes={"status": "in_progress"}, by="bob")
        refused = browser.post("/ABC-1/progress/", self.typed)
        page = text_of(refused)
        assert refused.status_code == 409
        assert "changed last by bob" in page
        assert re.findall("<dd tabindex=.0.>(.*)</dd>", page) == [
            "<mark>Done</mark>", "<mark>In progress</mark>", "<mark>ann</mark>", "<mark></mark>",
        ]  # fmt: skip
        assert '<option value="done" selected>' in page
        assert 'value="ann"' in page
        sent = browser.post("/ABC-1/progress/", {**self.typed, "version": hidden(refused, "version")})
        assert sent["Location"] == "/ABC-1/"
        assert selectors.get_ticket(ABC_1).assignee == "ann"

    def test_who_may_not_change_it_has_no_form(self, browser: Client, xyz: Project, tables: str) -> None:
        """Who only reads a ticket sees its status and assignee as facts."""
        project_services.update_project("XYZ", changes={"open": "read"}, by="bob")
        file("XYZ", by="bob", assignee="carol")
        page = text_of(browser.get("/XYZ-1/"))
        assert "/progress/" not in page
        assert "<dt>Status</dt>" in page
        assert "<dd>carol</dd>" in page

    def test_a_store_that_is_away_loses_nothing(
        self, browser: Client, ticket: Ticket, store_away: Callable[[], None]
    ) -> None:
        """While the store is away the small form comes back with what was typed."""
        store_away()
        response = browser.post("/ABC-1/progress/", self.typed)
        assert response.status_code == 503
        assert 'value="ann"' in text_of(response)


class TestDifferences:
    def test_labels_at_their_limit_pass_the_form(self, browser: Client, ticket: Ticket) -> None:
        """The space after a comma is no part of a label: the longest ones can be sent as the form shows them."""
        labels = tuple(f"{number:040}" for number in range(20))
        typed = {"title": "x", "status": "open", "labels": ", ".join(labels), "version": "1"}
        assert browser.post("/ABC-1/edit/", typed)["Location"] == "/ABC-1/"
        assert selectors.get_ticket(ABC_1).labels == labels

    def test_a_stale_edit_marks_what_differs(self, browser: Client, ticket: Ticket) -> None:
        """A stale edit shows the fields that differ, each as it was typed and as it is now, and no others."""
        services.update_ticket(
            ABC_1, version=1, changes={"title": "Printer in water", "labels": ["hot", "wet"]}, by="bob"
        )
        typed = {"title": "Printer on ice", "description": "Third floor.", "status": "open", "labels": "hot ,dry"}
        page = text_of(browser.post("/ABC-1/edit/", {**typed, "version": "1"}))
        assert re.findall("<h3>(.*)</h3>", page) == ["Title", "Labels"]
        assert re.findall("<dd tabindex=.0.>(.*)</dd>", page) == [
            "Printer <mark>on ice</mark>",
            "Printer <mark>in water</mark>",
            "hot, <mark>dry</mark>",
            "hot, <mark>wet</mark>",
        ]
        assert 'href="/ABC-1/"' in page

    def test_what_differs_is_in_view(self, browser: Client, ticket: Ticket) -> None:
        """Of a long text only some is shown around what differs."""
        text = {name: f"{'a' * 900}{name}{'b' * 900}" for name in ("new", "odd")}
        services.update_ticket(ABC_1, version=1, changes={"description": text["new"]}, by="bob")
        typed = {"title": ticket.title, "description": text["odd"], "status": "open", "labels": "hot"}
        page = text_of(browser.post("/ABC-1/edit/", {**typed, "version": "1"}))
        before, after = f"…{'a' * 200}", f"{'b' * 200}…"
        assert re.findall("<dd tabindex=.0.>(.*)</dd>", page) == [
            f"{before}<mark>{word}</mark>{after}" for word in ("odd", "new")
        ]

    def test_the_same_change_differs_in_nothing(self, browser: Client, ticket: Ticket) -> None:
        """Who sends what is stored already, as by a double click, learns that; line ends are no difference."""
        services.update_ticket(ABC_1, version=1, changes={"description": "a\nb"}, by="bob")
        typed = {"title": ticket.title, "description": "a\r\nb ", "status": "open", "labels": "hot"}
        assert "Nothing: what you typed is stored already." in text_of(
            browser.post("/ABC-1/edit/", {**typed, "version": "1"})
        )

    def test_a_stale_edit_of_a_project(self, browser: Client, abc: Project) -> None:
        """The form of a project shows what differs, too."""
        project_services.update_project("ABC", changes={"name": "Letters"}, by="bob")
        typed = {"key": "ABC", "name": "Signs", "open": "no", "version": "1"}
        page = text_of(browser.post("/ABC/edit/", typed))
        assert re.findall("<h3>(.*)</h3>", page) == ["Name"]


class TestLabels:
    def test_labels_of_other_tickets_are_suggested(self, browser: Client, ticket: Ticket) -> None:
        """Both forms offer the labels of the project's tickets, the most used first, and add those that are ticked."""
        file(labels=["wet", "<b>"])
        file(labels=["wet"])
        offered = r'<input type="checkbox" name="labels" value="([^"]*)">'
        assert re.findall(offered, text_of(browser.get("/ABC/new/"))) == ["wet", "&lt;b&gt;", "hot"]
        form = browser.get("/ABC-1/edit/")
        assert re.findall(offered, text_of(form)) == ["wet", "&lt;b&gt;"]
        typed = {"title": "x", "status": "open", "labels": ["hot, new", "wet"], "version": "1"}
        assert browser.post("/ABC-1/edit/", typed)["Location"] == "/ABC-1/"
        assert selectors.get_ticket(ABC_1).labels == ("hot", "new", "wet")

    def test_a_refused_form_keeps_what_was_ticked(self, browser: Client, ticket: Ticket) -> None:
        """After a stale change the ticked labels are in the text, and can be sent."""
        services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="bob")
        typed = {"title": "x", "status": "open", "labels": ["new", "wet"], "version": "1"}
        refused = browser.post("/ABC-1/edit/", typed)
        assert 'name="labels" value="new, wet"' in text_of(refused)
        assert hidden(refused, "version") == "2"

    def test_suggestions_cost_one_request(self, still: None, browser: Client, ticket: Ticket) -> None:
        """One more query on the page of a form, and none when it is sent and refused."""
        browser.get("/ABC/")
        operations = requests_from_now()
        for address in ("/ABC/new/", "/ABC-1/edit/"):
            browser.get(address)
            assert operations == ["GetItem", "Query"]
            operations.clear()
        browser.post("/ABC/new/", {"title": ""})
        assert operations == []


class TestPreview:
    @pytest.mark.parametrize("field", ["description", "text"])
    def test_it_is_what_the_page_will_show(self, browser: Client, ticket: Ticket, field: str) -> None:
        """Markdown, with links to the tickets that one may see; nothing is stored."""
        page = text_of(browser.post("/preview/", {field: "**Hot**, see ABC-1.", "title": "x", "token": "t"}))
        assert "<strong>Hot</strong>" in page
        assert '<a class="mention open" href="/ABC-1/"' in page
        assert len(selectors.list_tickets("ABC").results) == 1

    def test_hidden_tickets_are_text(self, browser: Client, xyz: Project) -> None:
        """A preview says nothing that the page would not say."""
        file("XYZ", by="bob", title="Secret")
        assert "<p>XYZ-1</p>" in text_of(browser.post("/preview/", {"text": "XYZ-1"}))

    def test_a_long_text_is_cut(self, browser: Client, tables: str) -> None:
        """No more is rendered than can be stored."""
        page = text_of(browser.post("/preview/", {"text": "x" * 30_000}))
        assert "x" * 20_000 in page
        assert "x" * 20_001 not in page

    def test_every_text_has_one(self, browser: Client, ticket: Ticket) -> None:
        """So do the forms for a ticket and for a comment."""
        say("First")
        for address in ("/ABC/new/", "/ABC-1/edit/", "/ABC-1/", "/ABC-1/comments/1/edit/"):
            assert text_of(browser.get(address)).count('hx-post="/preview/"') == 1


def test_each_label_has_a_colour_that_there_is() -> None:
    """The classes of labels are those of the style sheet, which gives the first one its own colour."""
    sheet = Path(str(finders.find("tickets/tickets.css"))).read_text()
    classes = {hue(f"label {number}") for number in range(200)}
    assert classes == {"hue-0", *re.findall(r"^\.(hue-\d) ", sheet, re.MULTILINE)}
