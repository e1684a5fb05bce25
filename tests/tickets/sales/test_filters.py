"""The filters of the lists of orders and invoices, and what their pages cost."""

import re
from itertools import product
from typing import Any

import pytest
from django.test import Client

from sequences import get_next_value
from sequences.changes import void
from tests.tickets.sales.support import LINES, drafted, issued
from tests.tickets.test_in_place import content, htmx
from tests.tickets.test_pages import hidden, text_of
from tests.tickets.test_services import requests_from_now
from tickets.sales import selectors, services
from tickets.sales.filters import SalesFilter


def shown(response: Any) -> list[str]:
    """The numbers on a page of a list, without the check digits of invoices."""
    keys = re.findall('<span class="key">([^<]*)</span>', content(response))
    return [re.sub(r"^INV-\d{4}-0*(\d+)-\d$", r"\1", key) for key in keys]


@pytest.fixture
def sales(tables: str) -> None:
    """Five orders: open, drafted, invoiced, one with a void invoice, and a void one. There is a void value, too."""
    services.create_order(customer="Ada", lines=LINES, by="ann")
    drafted("Bob & Söhne")
    issued(customer="ADA")
    services.void_invoice(issued(customer="Cleo").key.text, reason="Twice.", by="ann")
    number = services.create_order(customer="Dan", lines=LINES, by="ann").value.number
    void("orders", value=number, by="ann", reason="Twice.")
    void("orders", value=get_next_value("orders"), by="ann", reason="Test print.")


ORDERS = {
    "": [1005, 1004, 1003, 1002, 1001],
    "?text=%20": [1005, 1004, 1003, 1002, 1001],
    "?text=ada": [1003, 1001],
    "?text=SÖHNE": [1002],
    "?text=ord-1004": [1004],
    "?text=d\u20131004": [1004],
    "?state=open": [1004, 1001],
    "?state=draft&text=": [1002],
    "?state=invoiced": [1003],
    "?state=void": [1005],
    "?state=invoiced&text=cleo": [],
}
INVOICES = {"": ["2", "1"], "?text=ada": ["1"], "?text=ORD-1004": ["2"], "?state=void": ["2"], "?state=issued": ["1"]}


def test_orders_are_found(browser: Client, sales: None) -> None:
    """The address says which orders the page shows, with and without htmx, by one request."""
    for (query, found), headers in product(ORDERS.items(), ({}, htmx("/orders/"))):
        operations = requests_from_now()
        page = browser.get(f"/orders/{query}", headers=headers)
        assert operations == ["Query"], query
        assert shown(page) == [f"ORD-{number}" for number in found], query
        assert ("There are no such orders here." in text_of(page)) == (not found), query


def test_invoices_are_found(browser: Client, sales: None, this_year: int) -> None:
    """A filtered list of a year says nothing about missing numbers, as it shows some of them alone."""
    for query, found in INVOICES.items():
        operations = requests_from_now()
        page = browser.get(f"/invoices/{this_year}/{query}")
        assert operations == (["Query"] if query else ["GetItem", "Query"]), query
        assert shown(page) == found, query
        assert ('id="found"' in text_of(page)) == (not query), query


def test_filters_are_links(browser: Client, sales: None) -> None:
    """Each filter has a link without it, and the form keeps both."""
    page = text_of(browser.get("/orders/?state=draft&text=bob"))
    assert re.findall('href="([^"]*)" title="Without this filter"', page) == ["?state=draft", "?text=bob"]
    assert '<option value="draft" selected>' in page
    assert 'value="bob"' in page


@pytest.mark.parametrize("address", ["/orders/?state=lost", "/invoices/2026/?state=open"])
def test_a_wrong_filter_is_a_page(browser: Client, tables: str, address: str) -> None:
    """A state that there is not is refused in words."""
    response = browser.get(address)
    assert response.status_code == 400
    assert "One of" in text_of(response)


def test_pages_go_both_ways(sales: None) -> None:
    """A filtered list has each order once, in both directions."""
    where = SalesFilter(text="a")
    first = selectors.list_orders(where=where, limit=2)
    second = selectors.list_orders(where=where, limit=2, cursor=first.next_cursor)
    assert [order.number for page in (first, second) for order in page.results] == [1005, 1003, 1001]
    assert selectors.list_orders(where=where, limit=2, cursor=second.previous_cursor).results == first.results


class TestOrderPage:
    def test_a_draft_is_issued_from_the_page(self, browser: Client, sales: None) -> None:
        """The page of a drafted order has the form that issues it once; a request for the order, one for companies."""
        operations = requests_from_now()
        page = browser.get("/orders/1002/")
        assert operations == ["GetItem", "Query"]
        assert 'action="/orders/1002/issue/"' in text_of(page)
        typed = {name: hidden(page, name) for name in ("version", "token")}
        sent = [browser.post("/orders/1002/issue/", {**typed, "date": ""}, headers=htmx()) for _ in range(2)]
        assert len({response["Location"] for response in sent}) == 1
        assert selectors.get_order(1002).invoice is not None
        assert "/issue/" not in text_of(browser.get("/orders/1002/"))

    def test_nothing_else_has_the_form(self, browser: Client, sales: None) -> None:
        """An order without a draft, with an invoice, or that is void cannot be issued."""
        for number in (1001, 1003, 1005):
            assert "/issue/" not in text_of(browser.get(f"/orders/{number}/")), number
