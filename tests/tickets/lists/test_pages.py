"""Lists of tickets: pages both ways, filters, and what a page costs."""

import html
import re
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from sequences import put_next
from tests.tickets.lists.conftest import BEGAN, LARGE, Asked, row
from tests.tickets.support import places
from tickets import moves, project_services, selectors, services
from tickets.cursors import PAGE_SIZE
from tickets.exceptions import InvalidInput, ProjectNotFound
from tickets.lists.filters import TicketFilter
from tickets.tables import MOST_QUERIES, MOST_ROWS, ROWS_AT_ONCE
from tickets.types import Order, Project, Ticket, TicketKey, TicketPage

TICKETS = "/api/projects/ABC/tickets/"
RARE = TicketFilter(label="rare")


def walk(key: str, *, backwards: bool = False, cursor: str | None = None, **query: Any) -> list[TicketPage]:
    """The pages of a list, from its beginning; or from a cursor backwards."""
    pages: list[TicketPage] = []
    while not pages or cursor:
        page = selectors.list_tickets(key, cursor=cursor, **query)
        pages.append(page)
        cursor = page.previous_cursor if backwards else page.next_cursor
    return pages


def numbers(*pages: TicketPage) -> list[int]:
    """The numbers on some pages."""
    return [ticket.number for page in pages for ticket in page.results]


@pytest.fixture
def seven(abc: Project) -> None:
    """Seven tickets."""
    for number in range(1, 8):
        services.create_ticket("ABC", title=f"x{number}", labels=["odd"] if number % 2 else [], reporter="ann")


class TestPages:
    @pytest.mark.parametrize("where", [TicketFilter(), TicketFilter(label="odd")])
    @pytest.mark.parametrize("order", Order)
    def test_a_list_is_the_same_both_ways(self, seven: None, where: TicketFilter, order: Order) -> None:
        """Followed to its end and back again, a list has each ticket once, and the pages are the same."""
        wanted = range(1, 8, 1 if where == TicketFilter() else 2)
        for limit in (1, 2, 3, 7):
            query: dict[str, Any] = {"where": where, "order": order, "limit": limit}
            there = walk("ABC", **query)
            assert numbers(*there) == sorted(wanted, reverse=order is Order.NEWEST), limit
            assert there[0].previous_cursor is None
            back = walk("ABC", backwards=True, cursor=there[-1].previous_cursor, **query) if len(there) > 1 else []
            assert [numbers(page) for page in reversed(back)] == [numbers(page) for page in there[:-1]], limit

    def test_what_came_meanwhile_is_before_the_first_page(self, seven: None) -> None:
        """Backwards, a list goes on to the tickets that were filed after it was begun."""
        second = walk("ABC", limit=3)[1]
        services.create_ticket("ABC", title="x8", reporter="ann")
        first = selectors.list_tickets("ABC", limit=3, cursor=second.previous_cursor)
        assert numbers(first) == [7, 6, 5]
        newest = selectors.list_tickets("ABC", limit=3, cursor=first.previous_cursor)
        assert (numbers(newest), newest.previous_cursor) == ([8], None)
        assert numbers(selectors.list_tickets("ABC", limit=3, cursor=newest.next_cursor)) == [7, 6, 5]

    @pytest.mark.parametrize(
        "other", [{}, {"where": RARE}, {"where": TicketFilter(label="odd", reporter="ann")}, {"order": Order.OLDEST}]
    )
    def test_a_cursor_belongs_to_its_filters_and_order(self, seven: None, other: Any) -> None:
        """A cursor of a list with filters is refused with other filters, without them, and in another order."""
        query: dict[str, Any] = {"where": TicketFilter(label="odd"), "order": Order.NEWEST}
        cursor = selectors.list_tickets("ABC", limit=1, **query).next_cursor
        assert selectors.list_tickets("ABC", limit=1, cursor=cursor, **query).results
        with pytest.raises(InvalidInput):
            selectors.list_tickets("ABC", cursor=cursor, **(query | other if other else {}))

    def test_projects_come_both_ways(self, tables: str) -> None:
        """The list of projects has pages both ways, too."""
        for key in ("AA", "BB", "CC"):
            project_services.create_project(key=key, name=key, by="ann")
        first = selectors.list_projects(limit=2)
        second = selectors.list_projects(limit=2, cursor=first.next_cursor)
        assert [project.key for project in second.results] == ["CC"]
        assert selectors.list_projects(limit=2, cursor=second.previous_cursor).results == first.results

    def test_a_filtered_list_of_no_project_is_not_found(self, tables: str) -> None:
        """A filter that finds nothing still tells a project without tickets from none."""
        with pytest.raises(ProjectNotFound):
            selectors.list_tickets("ABC", where=RARE)


class TestFilters:
    @pytest.fixture
    def mixed(self, abc: Project) -> datetime:
        """Five tickets; the fourth is void, and the fifth has moved. The value is a time after the second."""
        file = services.create_ticket
        file("ABC", title="Printer", assignee="bob", labels=["hot", "new"], reporter="ann")
        file("ABC", title="Straße", status="done", reporter="bob")
        between = datetime.now(UTC)
        file("ABC", title="x", description="die STRASSE", status="in_progress", assignee="ann", reporter="ann")
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        for number in (4, 5):
            file("ABC", title=f"x{number}", reporter="ann")
        services.void_ticket(TicketKey(project="ABC", number=4), by="ann")
        moves.move_ticket(TicketKey(project="ABC", number=5), to="XYZ", by="ann")
        services.update_ticket(TicketKey(project="ABC", number=1), version=1, changes={"title": "Printer 2"}, by="ann")
        return between

    def test_each_filter_finds_its_tickets(self, mixed: datetime) -> None:
        """A list has the tickets that meet all of its filters, in both orders."""
        wanted: list[tuple[Any, list[int]]] = [
            ({"status": ["open"]}, [1]),
            ({"status": ["done", "in_progress"]}, [2, 3]),
            ({"status": ["void", "moved"]}, [4, 5]),
            ({"assignee": "bob"}, [1]),
            ({"assignee": "Bob"}, []),
            ({"label": "hot"}, [1]),
            ({"label": "ho"}, []),
            ({"reporter": "bob"}, [2]),
            ({"text": "strasse"}, [2, 3]),
            ({"text": "PRINTER"}, [1]),
            ({"text": "strasse", "status": ["done"]}, [2]),
            ({"created_from": "0001-01-01", "updated_from": "0001-01-01"}, [1, 2, 3, 4, 5]),
            ({"created_from": "2026-01-01", "created_before": "2999-01-01T00:00:00+02:00"}, [1, 2, 3, 4, 5]),
            ({"created_before": "2026-01-01"}, []),
        ]
        for (asked, found), order in product(wanted, Order):
            page = selectors.list_tickets("ABC", where=TicketFilter.of(asked), order=order, whole=False)
            assert sorted(numbers(page)) == found, asked

    def test_ranges_are_of_creation_and_of_change(self, mixed: datetime) -> None:
        """A range begins at its moment and ends before it, of the creation or of the last change."""
        found = {
            name: sorted(numbers(selectors.list_tickets("ABC", where=TicketFilter.of({name: mixed.isoformat()}))))
            for name in ("created_from", "created_before", "updated_from", "updated_before")
        }
        assert found == {
            "created_from": [3, 4, 5],
            "created_before": [1, 2],
            "updated_from": [1, 3, 4, 5],
            "updated_before": [2],
        }

    def test_a_range_is_half_open(self, ticket: Ticket) -> None:
        """A range has its first moment, and not its last."""
        assert TicketFilter(created_from=ticket.created_at).wants(ticket)
        assert not TicketFilter(created_before=ticket.created_at).wants(ticket)

    @pytest.mark.parametrize(
        ("name", "wrong"),
        [
            ("status", ["opened"]), ("status", "open"), ("assignee", ""), ("text", ""), ("text", "x" * 201),
            ("label", "a\x07"), ("created_from", "yesterday"), ("created_from", "20260101"), ("updated_before", ""),
            ("updated_from", "0001-01-01T00:00:00+23:00"), ("colour", "red"),
        ],
    )  # fmt: skip
    def test_a_wrong_filter_is_refused(self, name: str, wrong: Any) -> None:
        """A filter that cannot be is refused by its name."""
        with pytest.raises(InvalidInput) as caught:
            TicketFilter.of({name: wrong})
        assert set(caught.value.message_dict) == {name}


class TestCost:
    @pytest.mark.parametrize("order", Order)
    def test_a_page_costs_the_same_in_any_project(self, projects: None, asked: Asked, order: Order) -> None:
        """The first page is one query of one row more than wanted, with 200 tickets and with 2,500."""
        costs = []
        for key in ("SMALL", "LARGE"):
            asked.reads, asked.rows, asked.units = 0, 0, 0.0
            assert len(selectors.list_tickets(key, order=order, limit=50, whole=False).results) == 50
            costs.append((asked.reads, asked.rows, asked.units))
        assert costs[0][:2] == costs[1][:2] == (1, 51)
        assert costs[0][2] == pytest.approx(costs[1][2], abs=1)  # the titles of higher numbers are two letters longer

    def test_a_filter_looks_at_so_many_and_no_more(self, projects: None, asked: Asked) -> None:
        """A page with a filter that nothing meets looks at 1,000 tickets, and the next one goes on from there."""
        where = TicketFilter(reporter="nobody")
        first = selectors.list_tickets("LARGE", where=where)
        assert (asked.reads, asked.rows) == (5, MOST_ROWS + 5)  # one more by each query; and whether there is a project
        assert (first.results, first.looked_to) == ((), TicketKey(project="LARGE", number=LARGE - MOST_ROWS + 1))
        second = selectors.list_tickets("LARGE", where=where, cursor=first.next_cursor)
        assert second.looked_to == TicketKey(project="LARGE", number=LARGE - 2 * MOST_ROWS + 1)
        back = selectors.list_tickets("LARGE", where=where, cursor=second.previous_cursor)
        assert (back.previous_cursor, back.looked_to) == (None, None)

    def test_a_filter_that_all_meet_reads_what_it_shows(self, projects: None, asked: Asked) -> None:
        """A filter that all tickets meet reads as many as without it."""
        where = TicketFilter(created_before=BEGAN + timedelta(days=1000))
        assert len(selectors.list_tickets("LARGE", where=where).results) == 50
        assert (asked.reads, asked.rows) == (1, 51)

    def test_large_tickets_end_a_look_earlier(self, abc: Project, asked: Asked) -> None:
        """Where 1 MB holds few tickets, a page reads 8 MB, and says how far it came."""
        for number in range(9 * 13):
            services.create_ticket("ABC", title=f"x{number}", description="🎫" * 20_000, reporter="ann")
        asked.reads = 0
        page = selectors.list_tickets("ABC", where=TicketFilter(text="nothing"))
        assert asked.reads == MOST_QUERIES + 1  # and whether there is a project
        assert page.looked_to is not None

    def test_all_are_found_by_pages(self, projects: None) -> None:
        """The pages of a filtered list have every ticket that meets it, in order."""
        found = walk("LARGE", where=RARE, limit=7)
        assert numbers(*found) == list(range(LARGE, 0, -100))
        assert len(found) < LARGE / MOST_ROWS + len(numbers(*found)) / 7 + 1


class TestTimes:
    def test_newest_first_a_range_ends_where_it_begins(self, projects: None, asked: Asked) -> None:
        """Numbers follow time: below the first ticket that was filed too early, none is looked at."""
        where = TicketFilter(created_from=BEGAN + timedelta(minutes=LARGE - 60))
        page = selectors.list_tickets("LARGE", where=where, limit=200)
        assert numbers(page) == list(range(LARGE, LARGE - 61, -1))
        assert (page.next_cursor, page.looked_to, asked.reads) == (None, None, 1)

    @pytest.mark.parametrize("first", [1, 2, 99, 100, 101, 1_999, LARGE - 50, LARGE])
    def test_oldest_first_a_range_begins_where_it_is(self, projects: None, asked: Asked, first: int) -> None:
        """The place where a range begins is found by few queries of few rows, wherever it is."""
        where = TicketFilter(created_from=BEGAN + timedelta(minutes=first))
        page = selectors.list_tickets("LARGE", where=where, order=Order.OLDEST, limit=10)
        assert numbers(page) == list(range(first, min(first + 10, LARGE + 1)))
        assert page.previous_cursor is None
        assert asked.reads <= 1 + 8 + 5
        assert asked.rows <= 2 + 8 * 4 + 400

    def test_a_range_after_all_tickets_is_empty(self, projects: None) -> None:
        """A range that begins later than all tickets ends at once, in both orders."""
        where = TicketFilter(created_from=BEGAN + timedelta(days=1000))
        for order in Order:
            page = selectors.list_tickets("LARGE", where=where, order=order)
            assert (page.results, page.next_cursor) == ((), None)

    def test_tickets_that_were_moved_here_hide_none(self, abc: Project) -> None:
        """A ticket that was created long before its neighbours is no sign that the others were."""
        project_services.create_project(key="OLD", name="Old", by="ann")
        put_next("tickets", row(1), scope="OLD")  # months ago
        services.create_ticket("ABC", title="new", reporter="ann")
        moves.move_ticket(TicketKey(project="OLD", number=1), to="ABC", by="ann")
        services.create_ticket("ABC", title="newer", reporter="ann")
        where = TicketFilter(created_from=datetime.now(UTC) - timedelta(minutes=5))
        for order in Order:
            assert sorted(numbers(selectors.list_tickets("ABC", where=where, order=order))) == [1, 3]


class TestREST:
    def test_pages_are_linked_both_ways(self, api: APIClient, seven: None) -> None:
        """`next` and `prev` are in the body and in the header `Link`, and keep the filters."""
        first = api.get(f"{TICKETS}?limit=1&label=odd&order=oldest")
        assert first["Link"] == f'<{first.json()["next"]}>; rel="next"'
        second = api.get(first.json()["next"])
        links = {name: second.json()[name] for name in ("next", "prev")}
        assert second["Link"] == f'<{links["next"]}>; rel="next", <{links["prev"]}>; rel="prev"'
        assert [ticket["number"] for ticket in second.json()["results"]] == [3]
        assert api.get(links["prev"]).json()["results"] == first.json()["results"]
        assert [ticket["number"] for ticket in api.get(links["next"]).json()["results"]] == [5]

    @pytest.mark.parametrize("address", ["/api/projects/", TICKETS, "/api/orders/", "/api/invoices/", "/api/sequences/",
                                         "/api/sequences/orders/"])  # fmt: skip
    def test_a_parameter_that_does_not_exist_is_refused(self, api: APIClient, abc: Project, address: str) -> None:
        """A misspelt parameter, or one that is sent twice, is refused by its name."""
        for query in ("fo=1", "Limit=1", "cursor=x&cursor=y", "stätus=open", "%ff=1"):
            response = api.get(f"{address}?{query}")
            assert response.status_code == 400, query
            assert len(places(response)) == 1, query

    @pytest.mark.parametrize("query", ["status=opened", "order=up", "created_from=x", "status=open&status="])
    def test_a_wrong_filter_is_refused(self, api: APIClient, abc: Project, query: str) -> None:
        """A filter that cannot be is refused by its name."""
        response = api.get(f"{TICKETS}?{query}")
        assert response.status_code == 400
        assert {one.partition("/")[0] for one in places(response)} == {query.partition("=")[0]}

    def test_an_empty_page_says_how_far_it_looked(self, api: APIClient, projects: None) -> None:
        """A page without an entry has `looked_to`, and the list goes on."""
        page = api.get("/api/projects/LARGE/tickets/?assignee=nobody").json()
        assert (page["results"], page["looked_to"]) == ([], f"LARGE-{LARGE - MOST_ROWS + 1}")
        assert page["next"]

    def test_a_page_has_up_to_200_entries(self, api: APIClient, projects: None) -> None:
        """As many as 200 tickets come at once."""
        assert len(api.get("/api/projects/LARGE/tickets/?limit=200").json()["results"]) == 200


class TestProjectPage:
    def test_the_address_chooses_tickets(self, browser: Client, seven: None) -> None:
        """The page of a project shows the tickets of its filters, and its links keep them. Empty fields ask nothing."""
        page = browser.get("/ABC/?label=odd&order=oldest&status=&text=&utm_source=x").context["page"]
        assert numbers(page) == [1, 3, 5, 7]

    def test_the_form_asks_the_address(self, browser: Client, seven: None) -> None:
        """The form finds by text and status, and shows again what was asked."""
        page = browser.get("/ABC/?text=7&status=open")
        (form,) = re.findall('<form class="find".*?</form>', page.content.decode(), re.DOTALL)
        assert numbers(page.context["page"]) == [7]
        assert 'name="text" value="7"' in form
        assert '<option value="open" selected>Open</option>' in form
        assert form.count(" selected") == 1
        assert set(re.findall('name="([a-z]+)"', form)) <= TicketFilter.__dataclass_fields__.keys()

    def test_filters_are_links(self, browser: Client, seven: None) -> None:
        """Labels, persons and statuses of a list lead to their tickets, and each filter can be taken away by itself."""
        every = browser.get("/ABC/").content.decode()
        assert {"?label=odd", "?status=open"} <= {link.replace("/ABC/", "") for link in links(every)}
        some = browser.get("/ABC/?label=odd&text=7&status=open&status=done&order=oldest").content.decode()
        assert {
            "?text=7&status=open&status=done&order=oldest",
            "?label=odd&status=open&status=done&order=oldest",
            "?label=odd&text=7&order=oldest",
            "?",
        } <= set(links(some))
        (form,) = re.findall('<form class="find".*?</form>', some, re.DOTALL)
        assert re.findall('type="hidden" name="([a-z]+)" value="([a-z]+)"', form) == [
            ("label", "odd"),
            ("order", "oldest"),
        ]

    def test_what_changed_last_is_read_without_descriptions(self, ticket: Ticket) -> None:
        """The page shows none, and a ticket has up to 20 KB of them."""
        (found,) = selectors.list_changed("ABC").results
        assert (found.title, found.description) == (ticket.title, "")
        assert ticket.description

    def test_what_changed_last_comes_first(self, browser: Client, seven: None) -> None:
        """The page goes by the last change, also with a filter. A file of it has all tickets, by their numbers."""
        services.update_ticket(TicketKey(project="ABC", number=3), version=1, changes={"title": "y"}, by="ann")
        page = browser.get("/ABC/?order=changed")
        assert numbers(page.context["page"]) == [3, 7, 6, 5, 4, 2, 1]
        assert "At most 50 tickets: those that changed last." in page.content.decode()
        assert numbers(browser.get("/ABC/?order=changed&label=odd").context["page"]) == [3, 7, 5, 1]
        assert "order" not in page.context["asked"]

    def test_the_last_changes_of_a_large_project(self, browser: Client, projects: None) -> None:
        """They are those of its newest tickets, and the page says so."""
        page = browser.get("/LARGE/?order=changed")
        assert len(page.context["page"].results) == PAGE_SIZE
        assert f"of LARGE-{LARGE - ROWS_AT_ONCE + 1} and newer." in page.content.decode()
        assert "cursor" not in page.content.decode()

    def test_a_page_says_how_far_it_has_looked(self, browser: Client, projects: None) -> None:
        """A filtered page that did not look at all tickets says at which one it stopped."""
        assert "Looked down to LARGE-" in browser.get("/LARGE/?reporter=ann").content.decode()
        assert "Looked down" not in browser.get("/LARGE/").content.decode()
        oldest = browser.get("/LARGE/?reporter=ann&order=oldest").content.decode()
        assert ("Looked up to LARGE-" in oldest, "Looked down" in oldest) == (True, False)

    def test_pages_lead_both_ways(self, browser: Client, projects: None) -> None:
        """The links to the next and the previous page keep the filters."""
        first = browser.get("/LARGE/?reporter=ann")
        second = browser.get(f"/LARGE/{_link(first, 'next')}")
        assert numbers(second.context["page"])[0] < numbers(first.context["page"])[-1]
        assert numbers(browser.get(f"/LARGE/{_link(second, 'prev')}").context["page"]) == numbers(first.context["page"])
        assert "reporter=ann" in _link(second, "next")

    def test_an_empty_page_says_how_far_it_looked(self, browser: Client, projects: None) -> None:
        """A page on which no ticket meets the filters names the last one at which it looked."""
        page = browser.get("/LARGE/?reporter=nobody").content.decode()
        assert f"no such tickets down to LARGE-{LARGE - ROWS_AT_ONCE + 1}" in page
        page = browser.get("/LARGE/?reporter=nobody&order=oldest").content.decode()
        assert f"no such tickets up to LARGE-{ROWS_AT_ONCE}" in page

    def test_a_page_costs_two_requests(self, still: None, browser: Client, projects: None, asked: Asked) -> None:
        """The project and one query, whatever the filter and whether any ticket meets it."""
        browser.get("/SMALL/")
        browser.get("/LARGE/new/")  # the process remembers who may see it
        for asks in ("", "label=rare", "status=open", "text=zebra", "order=changed"):
            asked.reads = 0
            assert browser.get(f"/LARGE/?{asks}").status_code == 200
            assert asked.reads == 2, asks

    def test_an_empty_project_costs_two_requests(
        self, still: None, browser: Client, abc: Project, asked: Asked
    ) -> None:
        """So does the page of a project without tickets."""
        browser.get("/ABC/new/")
        asked.reads = 0
        assert "There are no such tickets here" in browser.get("/ABC/?label=x").content.decode()
        assert asked.reads == 2

    def test_a_wrong_filter_is_a_page(self, browser: Client, abc: Project) -> None:
        """A filter that cannot be is refused by a page."""
        response = browser.get("/ABC/?status=opened")
        assert response.status_code == 400
        assert "One of" in response.content.decode() or "Any of" in response.content.decode()

    def test_each_wrong_filter_is_named(self, browser: Client, abc: Project) -> None:
        """The page of a refusal has no fields: it says which filters are meant."""
        page = browser.get("/ABC/?status=opened&created_from=yesterday").content.decode()
        assert "<p>status: Any of " in page
        assert " created from: This is not a moment. " in page

    def test_a_blank_filter_asks_nothing(self, browser: Client, seven: None) -> None:
        """A form whose fields have nothing but spaces shows all tickets."""
        page = browser.get("/ABC/?text=%20&status=&assignee=%09")
        assert (page.status_code, len(page.context["page"].results), page.context["filters"]) == (200, 7, [])


def links(page: str) -> list[str]:
    """The addresses to which a page leads."""
    return [html.unescape(link) for link in re.findall('href="([^"]*)"', page)]


def _link(response: Any, relation: str) -> str:
    """The address of the page beside this one."""
    _, _, rest = response.content.decode().partition(f'rel="{relation}" href="')
    assert rest
    return str(rest.partition('"')[0]).replace("&amp;", "&")
