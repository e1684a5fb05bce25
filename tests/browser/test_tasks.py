"""Ten tasks of a new user, each with the clicks, keys and seconds that it takes: `make browser ARGS="-k tasks -s"`."""

import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.support import LOOKS, path, visit
from tests.project.site import Program, Site

MOST_CLICKS = 5  # of a task, from the page where it begins
ORDER = {"customer": "Ada", "lines": [{"text": "Paper", "quantity": 3, "price": "4.50"}]}


class Hand:
    """The hand of a user, which counts. A key is a press of one; a text has as many as it has letters."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks, self.keys = page, 0, 0

    def click(self, role: str, name: str) -> None:
        """Click on what is called so."""
        self.page.get_by_role(role, name=name, exact=role == "button").first.click()
        self.clicks += 1

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self.page.keyboard.type(text)
        self.keys += len(text)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)
        self.keys += len(keys)


@pytest.fixture
def hand(
    browser: Any, site: Site, sessions: dict[str, Any], program: Program, key: str, request: pytest.FixtureRequest
) -> Iterator[Hand]:
    """A hand on the page of a project with one ticket. What the task took is printed."""
    assert program.post(f"/api/projects/{key}/tickets/", title="Leak in the roof").status == 201
    with visit(browser, site, LOOKS[0], sessions["demo"]) as page:
        page.goto(f"/{key}/")
        hand, began = Hand(page), time.monotonic()
        yield hand
        seconds = time.monotonic() - began
        print(f"\n{request.node.name}: {hand.clicks} clicks, {hand.keys} keys, {seconds:.1f} s")  # noqa: T201
        assert hand.clicks + hand.keys > 0
        assert hand.clicks <= MOST_CLICKS


def test_file(hand: Hand) -> None:
    """A title is enough for a ticket."""
    hand.click("textbox", "Title of a new ticket")
    hand.type("Drip")
    hand.press("Enter")
    hand.page.locator(".tickets").get_by_role("link", name="Drip").wait_for()


def test_find(hand: Hand, key: str) -> None:
    """The search is a key away, and its first result leads to the ticket."""
    hand.press("/")
    hand.type("roof")
    hand.press("Enter")
    hand.page.wait_for_url("**text=roof**")
    hand.click("link", "Leak in the roof")
    hand.page.wait_for_url(f"**/{key}-1/")


def test_assign(hand: Hand) -> None:
    """The person is typed beside the ticket."""
    hand.click("link", "Leak in the roof")
    hand.click("textbox", "Assignee")
    hand.type("ann")
    hand.click("button", "Save")
    hand.page.get_by_text("Assignee: nothing → ann").wait_for()


def test_close_by_keyboard(hand: Hand) -> None:
    """Letters alone choose the ticket, open and close it."""
    hand.press("j", "Enter")
    hand.page.get_by_role("button", name="Close", exact=True).first.wait_for()
    hand.press("x")
    hand.page.get_by_text("Status: open → done").wait_for()
    assert hand.clicks == 0


def test_move(hand: Hand, program: Program, key: str) -> None:
    """The key of the other project is typed."""
    assert program.post("/api/projects/", key=f"{key}M", name="Elsewhere").status == 201
    hand.click("link", "Leak in the roof")
    hand.click("link", "Move to another project")
    hand.page.locator("[autofocus]:focus").wait_for()
    hand.type(f"{key}M")
    hand.click("button", f"Move {key}-1")
    hand.page.wait_for_url(f"**/{key}M-1/")


def test_export(hand: Hand, key: str) -> None:
    """The list is a file for spreadsheets."""
    with hand.page.expect_download() as taken:
        hand.click("link", "CSV")
    with Path(taken.value.path()).open(encoding="utf-8-sig", newline="") as lines:
        assert [line[:2] for line in csv.reader(lines)][1:] == [[f"{key}-1", "Leak in the roof"]]


def test_issue_an_invoice(hand: Hand, program: Program) -> None:
    """An order has its invoice, under the next number of this year."""
    order = program.post("/api/orders/", **ORDER).content
    hand.click("link", "Orders")
    hand.click("link", order["text"])
    hand.click("button", "Draft invoice")
    hand.click("button", "Issue invoice")
    hand.page.wait_for_url("**/INV-*/")
    assert path(hand.page).startswith("/invoices/INV-")


def test_find_who_changed_what(hand: Hand, program: Program, key: str) -> None:
    """The ticket says who changed which field, from what to what."""
    sent = program.send("PATCH", f"/api/tickets/{key}-1/", version=1, title="Leak in the wall")
    assert sent.status == 200
    hand.page.reload()
    hand.click("link", "Leak in the wall")
    changed = hand.page.locator("#timeline", has_text="Title: Leak in the roof → Leak in the wall")
    assert "demo" in changed.inner_text()


def test_restore(hand: Hand, program: Program, key: str) -> None:
    """What was voided by mistake comes back."""
    assert program.send("DELETE", f"/api/tickets/{key}-1/", version=1, reason="A mistake.").status == 200
    hand.page.reload()
    hand.click("link", f"{key}-1")
    hand.click("link", "Restore this ticket")
    hand.click("button", f"Restore {key}-1")
    hand.page.get_by_role("heading", name="Leak in the roof").wait_for()


def test_see_how_a_number_was_made(hand: Hand) -> None:
    """Below a new number is what it took, and the way to the page that shows it."""
    hand.press("c")
    hand.page.locator("[autofocus]:focus").wait_for()
    hand.type("Drip")
    hand.press("Control+Enter")
    hand.page.get_by_text("How?").click()
    hand.clicks += 1
    hand.click("link", "the highest sort key plus one")
    hand.page.wait_for_url("**/numbers/")
