"""The search over all projects that a person may see, by words or by whose tickets they are."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.tickets.support import has_word
from tests.tickets.test_pages import text_of
from tests.tickets.test_services import requests_from_now
from tickets import finding, project_services, selectors, services
from tickets.exceptions import NotFound
from tickets.lists.filters import TicketFilter
from tickets.types import Page, Project, TicketPage


def file(project: str, *titles: str, by: str = "ann", **content: Any) -> None:
    """File tickets."""
    for title in titles:
        services.create_ticket(project, title=title, reporter=by, **content)


def found(response: Any) -> list[str]:
    """The keys of the tickets on a page."""
    return re.findall(r'<span class="key">([A-Z0-9]+-[0-9]+)</span>', text_of(response))


@pytest.fixture
def three(abc: Project) -> None:
    """Ann's projects ABC and XYZ, and Bob's project BOB, which she may not see, each with a ticket about ink."""
    for key, by in (("XYZ", "ann"), ("BOB", "bob")):
        project_services.create_project(key=key, name=key, by=by)
    for key in ("ABC", "XYZ", "BOB"):
        file(key, f"Ink for {key}", "Paper", by="bob")


def test_words_are_found_in_every_project_in_sight(browser: Client, three: None) -> None:
    """By titles and descriptions, whatever the case of their letters; nothing is said of hidden projects."""
    file("XYZ", "Pens", description="Or red INK.")
    page = browser.get("/find/", {"text": " ink "})
    assert found(page) == ["ABC-1", "XYZ-3", "XYZ-1"]
    assert not has_word(page, "BOB")


@pytest.mark.parametrize("word", ["paper", "PAPER", "paper jam"])
def test_a_word_is_no_missing_project(browser: Client, three: None, word: str) -> None:
    """What could be a key, but is none of a project in sight, is searched for."""
    file("ABC", "A paper jam")
    page = browser.get("/find/", {"text": word})
    assert page.status_code == 200
    assert "ABC-3" in found(page)


@pytest.mark.parametrize("words", ["paper 2", "utf-8", "BOB-1"])
def test_words_with_a_number_are_no_missing_ticket(browser: Client, three: None, words: str) -> None:
    """What could be the key of a ticket, but of no project in sight, is searched for."""
    file("ABC", f"About {words}")
    page = browser.get("/find/", {"text": words})
    assert (page.status_code, "ABC-3" in found(page)) == (200, True)


def test_a_hidden_project_is_as_a_missing_one(browser: Client, three: None) -> None:
    """The key of a project that a person may not see leads nowhere, as any other word."""
    pages = [text_of(browser.get("/find/", {"text": text})) for text in ("BOB", "NEW")]
    hidden, missing = (re.sub("(?s)<header.*?</header>|BOB|NEW", "", page) for page in pages)
    assert hidden == missing


def test_a_search_ends_and_says_where(browser: Client, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each project is searched down to some of its newest tickets; a link looks further in its own list."""
    monkeypatch.setattr(finding, "LOOKED_AT", 2)
    file("ABC", "Ink", "Paper", "Pens")
    page = text_of(browser.get("/find/", {"text": "ink"}))
    assert "None of the newest 2." in page
    (link,) = re.findall('href="([^"]*)">Look further in ABC', page)
    assert found(browser.get(link)) == ["ABC-1"]


def test_my_tickets_are_those_i_work_on(browser: Client, three: None) -> None:
    """Open and started tickets of all projects in sight whose assignee one is, in the order of the projects."""
    for key in ("ABC", "XYZ", "BOB"):
        for status in ("open", "in_progress", "done"):
            file(key, status, status=status, assignee="ann")
    assert found(browser.get("/find/mine/")) == ["ABC-4", "ABC-3", "XYZ-4", "XYZ-3"]


def test_a_search_costs_a_query_for_each_project(
    still: None, browser: Client, ann: User, three: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three reads, or one for the staff, and one for each project of a page, whose number is bounded."""
    monkeypatch.setattr(finding, "PROJECTS", 1)
    browser.get("/find/?text=ink+for")
    operations = requests_from_now()
    page = browser.get("/find/?text=ink+for")
    assert (operations, found(page)) == (["Query", "Query", "BatchGetItem", "Query"], ["ABC-1"])
    (link,) = re.findall(r'rel="next" href="([^"]*)"', text_of(page))
    assert found(browser.get(f"/find/{link}".replace("&amp;", "&"))) == ["XYZ-1"]
    ann.is_staff = True
    ann.save()
    operations = requests_from_now()
    browser.get("/find/?text=ink+for")
    assert operations == ["Query", "Query"]


def test_it_goes_on_while_nothing_is_found(browser: Client, three: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who searches does not turn pages without a result; but a search looks at a bounded number of projects."""
    monkeypatch.setattr(finding, "PROJECTS", 1)
    page = browser.get("/find/?text=ink+for+xyz")
    assert found(page) == ["XYZ-1"]
    assert 'rel="prev"' not in text_of(page)
    monkeypatch.setattr(finding, "MOST_PROJECTS", 1)
    page = browser.get("/find/?text=ink+for+xyz")
    assert found(page) == []
    (link,) = re.findall(r'rel="next" href="([^"]*)"', text_of(page))
    assert found(browser.get(f"/find/{link}".replace("&amp;", "&"))) == ["XYZ-1"]


def test_nothing_typed_leads_to_the_projects(browser: Client, tables: str) -> None:
    """An empty field asks for nothing."""
    assert browser.get("/find/", {"text": " "})["Location"] == "/"


def test_too_long_a_text_is_refused(browser: Client, tables: str) -> None:
    """The page says what a text may be."""
    page = browser.get("/find/", {"text": "x" * 201})
    assert (page.status_code, "At most 200 characters" in text_of(page)) == (400, True)


def test_how_far_a_search_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 10 projects at once and 50 at most, in each of them at 100 tickets, of which it shows 20."""
    asked, project = list[Any](), Project(key="ABC", name="Alphabet", description="")

    def list_projects(**options: Any) -> Page[Project]:
        asked.append(options)
        return Page(results=(project,) * options["limit"], next_cursor=f"{len(asked)}", previous_cursor="before")

    def list_tickets(key: str, **options: Any) -> TicketPage:
        assert (key, options) == ("ABC", {"where": where, "limit": 20, "whole": False, "look_at": 100})
        return TicketPage(results=(), next_cursor=None, previous_cursor=None)

    monkeypatch.setattr(selectors, "list_projects", list_projects)
    monkeypatch.setattr(selectors, "list_tickets", list_tickets)
    where = TicketFilter(text="ink")
    looked, page = finding.search(User(username="ann", is_staff=True), where, "begin")
    assert [options["cursor"] for options in asked] == ["begin", "1", "2", "3", "4"]
    assert {(options["limit"], options["archived"], options["seen_by"]) for options in asked} == {(10, False, None)}
    assert (len(looked), page.next_cursor, page.previous_cursor) == (50, "5", "before")


@pytest.mark.parametrize(
    ("name", "named", "permission"),
    [
        ("tickets:project", {"key": "XXX"}, "tickets.view_ticket"),
        ("tickets:ticket", {"key": "XXX-1"}, "tickets.view_ticket"),
        ("sales:order", {"number": 1001}, "tickets.view_order"),
        ("sales:invoice", {"text": "INV-2026-000001-5"}, "tickets.view_invoice"),
    ],
)
def test_what_the_administration_leads_to(
    tables: str, monkeypatch: pytest.MonkeyPatch, name: str, named: dict[str, Any], permission: str
) -> None:
    """A thing that is not there is not found by who may see such things; others are sent to its page, which refuses."""
    path, asked = reverse(name, kwargs=named), list[str]()
    monkeypatch.setattr(finding, "path_of", lambda typed: path)
    stranger: Any = SimpleNamespace(has_perm=asked.append)
    assert finding.path_of_existing("x", stranger) == path
    assert asked == [permission]
    operator: Any = SimpleNamespace(has_perm=lambda wanted: wanted == permission)
    with pytest.raises(NotFound):
        finding.path_of_existing("x", operator)


@pytest.mark.parametrize("typed", ["INV/1", " ord#7", "inv 2026/1", "Ord.5"])
def test_what_looks_like_a_number_is_no_word(tables: str, typed: str) -> None:
    """What could only be the text of an order or an invoice is not found; anything else is a word to search for."""
    person = User(username="ann")
    with pytest.raises(NotFound):
        finding.path_for(typed, person)
    for word in ("inventory", "order of paper", "INV", "x ORD/1"):
        assert finding.path_for(word, person) is None
