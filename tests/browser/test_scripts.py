"""What scripts add to the pages: answers in place, keys, and the copy of a key.

A mark in the window, which a page that is loaded anew has not, tells whether one was.
"""

from typing import Any

import pytest

from tests.browser.support import IN_HAND, LOST, Look
from tests.project.site import Program


@pytest.fixture
def look() -> Look:
    """With scripts, on a narrow page: on a wide one are the flows."""
    return IN_HAND


# Presses a key once, before the browser has time for anything else after an answer.
PRESS_AT_ONCE = """key => new MutationObserver((_, observer) => {
    observer.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
}).observe(document.body, {childList: true})"""


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
def three(program: Program, key: str) -> str:
    """The key of a project with three tickets; the second is done."""
    for title, status in (("Paper", "open"), ("Ink", "done"), ("Pens", "open")):
        assert program.post(f"/api/projects/{key}/tickets/", title=title, status=status).status == 201
    return key


@pytest.fixture
def ticket(program: Program, key: str) -> str:
    """The key of a ticket."""
    assert program.post(f"/api/projects/{key}/tickets/", title="Paper").status == 201
    return f"{key}-1"


class TestInPlace:
    def test_titles_are_filed_one_after_another(self, page: Any, key: str) -> None:
        """Each Enter adds a row, says so, and leaves the focus in the empty field."""
        at(page, f"/{key}/")
        page.locator("#quick").focus()
        for number in (1, 2):
            page.keyboard.type(f"Title {number}")
            page.keyboard.press("Enter")
            page.wait_for_selector(f"text={key}-{number} is filed.")
            assert (focused(page), page.input_value("#quick")) == ("quick", "")
        assert [row.split() for row in page.locator(".tickets > li > a:first-child").all_inner_texts()] == [
            [f"{key}-2", "Title", "2"], [f"{key}-1", "Title", "1"],
        ]  # fmt: skip
        assert is_same(page)

    def test_filters_and_back(self, page: Any, three: str) -> None:
        """A filter changes the list and the address; Back brings the list before it."""
        at(page, f"/{three}/")
        page.select_option("[name=status]", "done")
        page.get_by_role("button", name="Find").click()
        page.wait_for_url(f"**/{three}/?*status=done*")
        assert page.locator(".tickets .title").all_inner_texts() == ["Ink"]
        assert is_same(page)
        page.go_back()
        page.wait_for_url(f"**/{three}/")
        page.locator(".tickets .title").nth(2).wait_for()
        assert page.locator(".tickets .title").count() == 3

    def test_status_and_comment(self, page: Any, program: Program, ticket: str) -> None:
        """Both are stored in place, once each, and the comment is gone to."""
        at(page, f"/{ticket}/")
        page.select_option("#id_status", "done")
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector(f"text={ticket} is changed.")
        page.get_by_label("Comment").fill("First.")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#event-2")
        assert (page.input_value("#id_text"), is_same(page)) == ("", True)
        assert program.get(f"/api/tickets/{ticket}/").content["status"] == "done"
        assert len(program.get(f"/api/tickets/{ticket}/comments/").content["results"]) == 1

    def test_what_others_changed_is_shown(self, page: Any, program: Program, ticket: str) -> None:
        """A stale change is refused in place with what differs; sent again, it is stored."""
        page.watched.awaited.add(409)
        at(page, f"/{ticket}/")
        page.request.patch(
            f"/api/tickets/{ticket}/",
            data={"status": "in_progress", "version": 1},
            headers={"X-CSRFToken": page.context.cookies()[0]["value"]},
        )
        page.select_option("#id_status", "done")
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("text=What differs")
        assert page.input_value("#id_status") == "done"
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector(f"text={ticket} is changed.")
        assert program.get(f"/api/tickets/{ticket}/").content["status"] == "done"

    def test_a_lost_connection_loses_nothing(self, page: Any, program: Program, ticket: str) -> None:
        """Without an answer, or with one that is no page of the site, the words stay, and are stored once later."""
        page.watched.awaited.update({502, LOST})
        at(page, f"/{ticket}/")
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
        comments = program.get(f"/api/tickets/{ticket}/comments/").content["results"]
        assert [comment["text"] for comment in comments] == ["Words."]

    def test_a_preview_is_shown_in_place(self, page: Any, ticket: str) -> None:
        """What becomes of a comment is seen before it is stored, and what was typed stays."""
        at(page, f"/{ticket}/")
        title = page.title()
        page.get_by_label("Comment").fill(f"**Dry** now, see {ticket}.")
        page.get_by_role("button", name="Preview").click()
        page.wait_for_selector(".preview strong")
        assert page.locator(".preview .mention").get_attribute("href") == f"/{ticket}/"
        assert page.input_value("#id_text") == f"**Dry** now, see {ticket}."
        assert (page.title(), is_same(page)) == (title, True)
        assert page.url.endswith(f"/{ticket}/")


class TestKeys:
    def test_rows_are_walked_and_opened(self, page: Any, three: str) -> None:
        """`j` and `k` go down and up, and stop at the ends; Enter opens the ticket."""
        at(page, f"/{three}/")
        seen = []
        for key in "jjjjk":
            page.keyboard.press(key)
            seen.append(focused(page).split()[0])
        assert seen == [f"{three}-{number}" for number in (3, 2, 1, 1, 2)]
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{three}-2/")

    def test_one_key_is_one_way(self, page: Any, three: str) -> None:
        """`/` goes to the field of the list, in which letters are text; `c` opens the form for a new ticket."""
        at(page, f"/{three}/")
        page.keyboard.press("/")
        page.keyboard.type("c?j")
        assert (focused(page), page.input_value("#find")) == ("find", "c?j")
        at(page, f"/{three}-1/")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.placeholder") == "Words, or ABC-42"
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("c")
        page.wait_for_url(f"**/{three}/new/")

    def test_one_key_is_one_step(self, page: Any, program: Program, ticket: str) -> None:
        """`s` starts a ticket, `x` closes it and `r` opens it again, in place; a key that is not there does nothing."""
        at(page, f"/{ticket}/")
        for key, status in (("s", "in_progress"), ("s", "in_progress"), ("x", "done"), ("r", "open")):
            page.keyboard.press(key)
            page.wait_for_selector(f"#id_status >> css=option[value={status}][selected]", state="attached")
            assert program.get(f"/api/tickets/{ticket}/").content["status"] == status
        assert is_same(page)

    def test_a_key_is_pressed_as_soon_as_its_button_is_there(self, page: Any, ticket: str) -> None:
        """What an answer brought is at work with it: `x` in the same moment closes the ticket in place, too."""
        at(page, f"/{ticket}/")
        page.evaluate(PRESS_AT_ONCE, "x")
        page.keyboard.press("s")
        page.wait_for_selector("#id_status >> css=option[value=done][selected]", state="attached")
        assert is_same(page)

    def test_save_is_there_when_something_is_changed(self, page: Any, ticket: str) -> None:
        """The button to save shows itself with a change, and goes when it is taken back."""
        at(page, f"/{ticket}/")
        save = page.get_by_role("button", name="Save")
        for name, is_there in (("ann", True), ("", False)):
            page.get_by_label("Assignee").fill(name)
            assert save.is_visible() is is_there
        page.select_option("#id_status", "done")
        assert save.is_visible()

    def test_single_keys_can_be_switched_off(self, page: Any, three: str) -> None:
        """The help says what keys do, and has the switch, which the browser remembers; the button stays."""
        at(page, f"/{three}/")
        page.keyboard.press("?")
        page.get_by_label("Single keys").uncheck()
        page.keyboard.press("Escape")
        for address in (f"/{three}/", f"/{three}-1/"):
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
        assert page.evaluate("document.activeElement.placeholder") == "Words, or ABC-42"

    def test_a_key_is_copied(self, page: Any, ticket: str) -> None:
        """One click copies the key of a ticket."""
        page.context.grant_permissions(["clipboard-write"])
        at(page, f"/{ticket}/")
        page.get_by_role("button", name="Copy key").click()
        page.wait_for_selector("text=Copied")
        page.get_by_label("Comment").focus()
        page.keyboard.press("Control+V")
        assert page.input_value("#id_text") == ticket
