"""What pages say that a number took."""

import re
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import pytest
from django.test import Client

from sequences.registry import strategies
from tests.tickets.test_pages import hidden, text_of
from tickets import project_services, services
from tickets.types import Project, Ticket

TOOK = (
    r"<details><summary>How\?</summary> It took [0-9]+ requests?, (\S+) write units, (?:\S+ read units?, )?[0-9]+ ms: "
    r"<a href=./numbers/.>([^<.]*)"
)


def test_a_ticket_says_what_it_took(browser: Client, abc: Project) -> None:
    """Once, the next page says what the engine reported for the number; a repeat took none."""
    form = {"title": "Printer", "token": hidden(browser.get("/ABC/new/"), "token")}
    page = text_of(browser.post("/ABC/new/", form, follow=True))
    assert "ABC-1 is filed. " in page
    assert re.findall(TOOK, page) == [("4", strategies["tickets"].idea)] == [("4", "the highest sort key plus one")]
    for page in (text_of(browser.get("/ABC-1/")), text_of(browser.post("/ABC/new/", form, follow=True))):
        assert "It took" not in page


def test_what_is_counted_was_sent(browser: Client, abc: Project, sent: list[str], still: None) -> None:
    """The requests are those from the check of the form to the stored ticket."""
    browser.post("/ABC/new/", {"title": "Paper", "token": "s"})  # now the project and its last number are known
    sent.clear()
    began = perf_counter()
    answer = browser.post("/ABC/new/", {"title": "Printer", "token": "t"})
    assert sent == ["transact_write_items"]
    most = (perf_counter() - began) * 1000
    (milliseconds,) = re.findall(
        "It took 1 request, 4 write units, ([0-9]+) ms", text_of(browser.get(answer["Location"]))
    )
    assert 0 < int(milliseconds) <= most + 1


def test_who_shares_a_request_is_told_so(browser: Client, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another caller's request has stored the number, too, this one has sent none."""
    create = services.create_ticket

    def by_another(*args: Any, **options: Any) -> Any:
        with ThreadPoolExecutor(1) as other:
            return other.submit(create, *args, **options).result()

    monkeypatch.setattr(services, "create_ticket", by_another)
    page = text_of(browser.post("/ABC/new/", {"title": "Printer", "token": "t"}, follow=True))
    assert "It took a share of another request, 4 write units" in page


def test_a_moved_ticket_says_what_it_took(browser: Client, ticket: Ticket) -> None:
    """A move is counted with all its rows."""
    project_services.create_project(key="XYZ", name="Rest", by="ann")
    page = text_of(browser.post("/ABC-1/move/", {"to": "XYZ", "version": "1", "token": "t"}, follow=True))
    assert "ABC-1 has moved here." in page
    assert [idea for _, idea in re.findall(TOOK, page)] == ["the highest sort key plus one"]


def test_an_invoice_says_what_it_took(browser: Client, tables: str) -> None:
    """So do an order and an invoice."""
    typed = {"customer": "Ada", "lines-0-text": "Ink", "lines-0-quantity": "1", "lines-0-price": "5", "token": "t"}
    page = text_of(browser.post("/orders/new/", typed, follow=True))
    assert "ORD-1001 is stored." in page
    assert [idea for _, idea in re.findall(TOOK, page)] == [strategies["orders"].idea]
    browser.post("/orders/1001/draft/")
    form = browser.get("/orders/1001/issue/")
    typed = {name: hidden(form, name) for name in ("version", "token")}
    page = text_of(browser.post("/orders/1001/issue/", {**typed, "date": ""}, follow=True))
    # Write units. The first of a year takes 1 for the list of years, and 2 for the check that its books are open.
    assert re.findall(TOOK, page) == [("9", "the counter and the item in one transaction")]
