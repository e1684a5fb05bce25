"""The page of the projects: what it says of each, the search, and what it costs."""

import re
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.tickets.test_pages import text_of
from tests.tickets.test_services import requests_from_now
from tickets import project_services, selectors, services
from tickets.exceptions import InvalidInput
from tickets.project_views import PROJECTS_A_PAGE
from tickets.types import Project, Ticket, TicketKey


def shown(response: Any) -> list[str]:
    """The keys of the projects on a page."""
    return re.findall('<span class="key">([A-Z0-9]+)</span>', text_of(response))


@pytest.fixture
def many(tables: str) -> None:
    """Forty projects P00 to P39, the last of which is called "Straße"."""
    for number in range(40):
        project_services.create_project(
            key=f"P{number:02}", name="Straße" if number == 39 else f"Name {number}", by="ann"
        )


def test_a_project_says_how_far_it_is(browser: Client, ticket: Ticket) -> None:
    """How many tickets it ever had, and when the last one was filed; void ones count."""
    project_services.create_project(key="NEW", name="New", by="ann")
    services.create_ticket("ABC", title="x", reporter="ann")
    services.void_ticket(TicketKey(project="ABC", number=2), by="ann")
    lines = re.findall("(?s)<small>(.*?)</small>", text_of(browser.get("/")))
    said = [" ".join(re.sub("<[^>]*>", "", line).split()) for line in lines]
    assert said == ["2 tickets, the last just now", "No tickets yet"]


def test_a_page_costs_so_many_requests(still: None, browser: Client, many: None) -> None:
    """Three reads, and one for each project on it; the pages have all projects once."""
    browser.get("/")
    operations = requests_from_now()
    first = browser.get("/")
    assert operations == ["Query", "Query", "BatchGetItem", *["Query"] * PROJECTS_A_PAGE]
    (link,) = re.findall(r'rel="next" href="([^"]*)"', text_of(first))
    second = browser.get(f"/{link}".replace("&amp;", "&"))
    assert shown(first) + shown(second) == [f"P{number:02}" for number in range(40)]


def test_projects_are_found_by_key_or_name(browser: Client, ann: User, many: None) -> None:
    """The address has the text, whatever the case of its letters; the page keeps it, and has a way without it."""
    wanted = {"p3": [f"P{number}" for number in range(30, 40)], "STRASSE": ["P39"], "name\u30007": ["P07"]}
    for is_staff, (text, found) in product((False, True), wanted.items()):
        ann.is_superuser = ann.is_staff = is_staff
        ann.save()
        page = browser.get("/", {"text": text, "archived": "1"})
        assert shown(page) == found, (is_staff, text)
        assert f'value="{text}"' in text_of(page)
        assert 'href="?archived=1" title="Without this filter"' in text_of(page)


def test_nobody_finds_what_they_may_not_see(browser: Client, many: None) -> None:
    """A project of somebody else is not found."""
    project_services.create_project(key="XYZ", name="Secret", by="bob")
    page = browser.get("/?text=secret")
    assert shown(page) == []
    assert "There are no such projects here." in text_of(page)


def test_a_search_goes_both_ways(many: None) -> None:
    """Followed to its end and back, a search has each project once, though each page looks at few of them."""
    for limit, seen_by in product((1, 3, 20), (None, "ann")):
        go_both_ways(limit, seen_by)


def go_both_ways(limit: int, seen_by: str | None) -> None:
    """Follow a search to its end and back, and to its end again."""
    wanted = [f"P{number:02}" for number in range(40) if "1" in f"{number:02}"]
    there, cursor = list[Any](), None
    while not there or cursor:
        there.append(selectors.list_projects(seen_by=seen_by, text="1", limit=limit, cursor=cursor))
        cursor = there[-1].next_cursor
    assert [project.key for page in there for project in page.results] == wanted
    back, cursor = list[Any](), there[-1].previous_cursor
    while cursor:
        back.append(selectors.list_projects(seen_by=seen_by, text="1", limit=limit, cursor=cursor))
        cursor = back[-1].previous_cursor
    before = [project.key for page in reversed(back) for project in page.results]
    assert before == wanted[: len(wanted) - len(there[-1].results)]
    again, cursor = list[Any](), back[-1].next_cursor if back else None
    while cursor:
        again.append(selectors.list_projects(seen_by=seen_by, text="1", limit=limit, cursor=cursor))
        cursor = again[-1].next_cursor
    after = [project.key for page in again for project in page.results]
    assert after == (wanted[len(back[-1].results) :] if back else [])


def test_a_page_belongs_to_its_search(many: None) -> None:
    """The next page of one search is no page of another, nor of the whole list."""
    cursor = selectors.list_projects(text="1", limit=1).next_cursor
    for other in ("2", None):
        with pytest.raises(InvalidInput):
            selectors.list_projects(text=other, limit=1, cursor=cursor)


def test_a_search_looks_at_so_many(still: None, browser: Client, many: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds nothing asks at most 15 times for a page, and says that the list goes on."""
    monkeypatch.setattr("tickets.store.visible.ROWS_A_READ", 2)
    monkeypatch.setattr("tickets.project_views.PROJECTS_A_PAGE", 2)
    browser.get("/")
    operations = requests_from_now()
    page = browser.get("/?text=zebra")
    assert operations == ["Query", "Query", "BatchGetItem"] * 5
    assert "The next page looks further." in text_of(page)


def test_a_blank_text_asks_nothing(browser: Client, abc: Project) -> None:
    """A form with nothing but spaces shows all projects."""
    assert shown(browser.get("/?text=%20")) == shown(browser.get("/")) != []


def test_a_wrong_text_is_a_page(browser: Client, tables: str) -> None:
    """A text that cannot be searched is refused in words."""
    assert browser.get("/", {"text": "x" * 201}).status_code == 400


def test_all_projects_are_all(abc: Project) -> None:
    """Without an argument the archived ones are in the list, too."""
    project_services.archive_project("ABC", by="ann")
    assert [project.key for project in selectors.list_projects().results] == ["ABC"]
    assert selectors.list_projects(archived=False).results == ()
