"""What scripts add to the pages, in a real browser: answers in place, keys, and the copy of a key.

A mark in the window, which a page that is loaded anew has not, tells whether one was.
"""

from typing import Any

import pytest

from tickets import selectors, services
from tickets.timeline.selectors import list_events
from tickets.types import Project, Ticket, TicketKey

ABC_1 = TicketKey(project="ABC", number=1)


def at(page: Any, address: str) -> None:
    """Open a page, and mark its window."""
    page.goto(address)
    page.evaluate("window.marked = true")


def is_same(page: Any) -> bool:
    """Whether no page was loaded anew since."""
    return bool(page.evaluate("Boolean(window.marked)"))


def focused(page: Any) -> str:
    """The id of the element that has the focus, or its text."""
    return str(page.evaluate("document.activeElement.id || document.activeElement.innerText"))


@pytest.fixture
def three(page: Any, abc: Project) -> None:
    """Three tickets; the second is done."""
    for title, status in (("Paper", "open"), ("Ink", "done"), ("Pens", "open")):
        services.create_ticket("ABC", title=title, status=status, reporter="ann")


class TestInPlace:
    def test_titles_are_filed_one_after_another(self, page: Any, abc: Project) -> None:
        """Each Enter adds a row, says so, and leaves the focus in the empty field."""
        at(page, "/ABC/")
        page.locator("#quick").focus()
        for number in (1, 2):
            page.keyboard.type(f"Title {number}")
            page.keyboard.press("Enter")
            page.wait_for_selector(f"text=ABC-{number} is filed.")
            assert (focused(page), page.input_value("#quick")) == ("quick", "")
        assert [row.split() for row in page.locator(".tickets > li > a:first-child").all_inner_texts()] == [
            ["ABC-2", "Title", "2"], ["ABC-1", "Title", "1"],
        ]  # fmt: skip
        assert is_same(page)

    def test_filters_and_back(self, page: Any, three: None) -> None:
        """A filter changes the list and the address; Back brings the list before it."""
        at(page, "/ABC/")
        page.select_option("[name=status]", "done")
        page.get_by_role("button", name="Find").click()
        page.wait_for_url("**/ABC/?*status=done*")
        assert page.locator(".tickets .title").all_inner_texts() == ["Ink"]
        assert is_same(page)
        page.go_back()
        page.wait_for_url("**/ABC/")
        page.wait_for_function("document.querySelectorAll('.tickets .title').length == 3")

    def test_status_and_comment(self, page: Any, ticket: Ticket) -> None:
        """Both are stored in place, once each, and the comment is gone to."""
        at(page, "/ABC-1/")
        page.select_option("#id_status", "done")
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("text=ABC-1 is changed.")
        page.get_by_label("Comment").fill("First.")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#event-2")
        assert (page.input_value("#id_text"), is_same(page)) == ("", True)
        found = selectors.get_ticket(ABC_1)
        assert (found.status, len(list_events(found).results)) == ("done", 2)

    def test_what_others_changed_is_shown(self, page: Any, ticket: Ticket) -> None:
        """A stale change is refused in place with what differs; sent again, it is stored."""
        at(page, "/ABC-1/")
        services.update_ticket(ABC_1, version=1, changes={"status": "in_progress"}, by="bob")
        page.select_option("#id_status", "done")
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("text=What differs")
        assert page.input_value("#id_status") == "done"
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("text=ABC-1 is changed.")
        assert selectors.get_ticket(ABC_1).status == "done"

    def test_a_lost_connection_loses_nothing(self, page: Any, ticket: Ticket) -> None:
        """Without an answer, or with one that is no page of the site, the words stay, and are stored once later."""
        at(page, "/ABC-1/")
        page.get_by_label("Comment").fill("Words.")
        page.route("**/comments/", lambda route: route.abort())
        page.get_by_role("button", name="Comment").click()
        page.wait_for_selector("text=It will not be stored twice.")
        page.unroute("**/comments/")
        page.route("**/comments/", lambda route: route.fulfill(status=502, body="<html>Bad gateway</html>"))
        page.evaluate("document.querySelector('#messages').replaceChildren()")
        page.get_by_role("button", name="Comment").click()
        page.wait_for_selector("text=It will not be stored twice.")
        assert page.input_value("#id_text") == "Words."
        page.unroute("**/comments/")
        page.get_by_role("button", name="Comment").click()
        page.wait_for_selector("#event-1")
        assert [event.text for event in list_events(ticket).results] == ["Words."]


class TestKeys:
    def test_rows_are_walked_and_opened(self, page: Any, three: None) -> None:
        """`j` and `k` go down and up, and stop at the ends; Enter opens the ticket."""
        at(page, "/ABC/")
        seen = []
        for key in "jjjjk":
            page.keyboard.press(key)
            seen.append(focused(page).split()[0])
        assert seen == ["ABC-3", "ABC-2", "ABC-1", "ABC-1", "ABC-2"]
        page.keyboard.press("Enter")
        page.wait_for_url("**/ABC-2/")

    def test_one_key_is_one_way(self, page: Any, three: None) -> None:
        """`/` goes to the field of the list, in which letters are text; `c` opens the form for a new ticket."""
        at(page, "/ABC/")
        page.keyboard.press("/")
        page.keyboard.type("c?j")
        assert (focused(page), page.input_value("#find")) == ("find", "c?j")
        at(page, "/ABC-1/")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.placeholder") == "Go to ABC-42"
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("c")
        page.wait_for_url("**/ABC/new/")

    def test_single_keys_can_be_switched_off(self, page: Any, three: None) -> None:
        """The help says what keys do, and has the switch, which the browser remembers; the button stays."""
        at(page, "/ABC/")
        page.keyboard.press("?")
        page.get_by_label("Single keys").uncheck()
        page.keyboard.press("Escape")
        for address in ("/ABC/", "/ABC-1/"):
            at(page, address)
            for key in "?j/":
                page.keyboard.press(key)
            assert not page.locator("#keys").is_visible()
            assert page.evaluate("document.activeElement === document.body")
        page.get_by_role("button", name="Keyboard").click()
        assert not page.get_by_label("Single keys").is_checked()
        page.get_by_label("Single keys").check()
        page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.placeholder") == "Go to ABC-42"

    def test_a_key_is_copied(self, page: Any, ticket: Ticket) -> None:
        """One click copies the key of a ticket."""
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        at(page, "/ABC-1/")
        page.get_by_role("button", name="Copy key").click()
        page.wait_for_selector("text=Copied")


def test_nothing_is_refused_by_the_policy(page: Any, three: None) -> None:
    """No browser complains of a style, a script or a file that the policy forbids, or that is not there."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for address in ("/", "/ABC/?status=open", "/ABC-1/", "/ABC/new/", "/orders/"):
        page.goto(address)
        page.wait_for_load_state("networkidle")
    assert complaints == []
