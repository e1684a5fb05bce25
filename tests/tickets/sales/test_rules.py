"""Orders and invoices by rules that the staff makes: another FORMAT, another range, and every page goes on."""

from collections.abc import Callable
from datetime import date
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from sequences import series
from sequences.exceptions import InvalidChange
from sequences.registry import strategies
from sequences.series import Line
from tests.people import allow
from tests.tickets.sales.support import LINES, issued, numbers_of
from tests.tickets.test_pages import hidden
from tickets.sales import selectors, services, store
from tickets.sales.types import Invoice, Missing, Order

WHO: dict[str, Any] = {"by": "ann", "reason": "A new form."}


def skipped(year: int) -> list[tuple[int, int]]:
    """The numbers of a year that are shown as skipped."""
    return [(one.first, one.last) for one in selectors.list_invoices(year).skipped]


class TestInvoices:
    def test_a_text_with_slashes_has_its_pages(self, tables: str, browser: Client, api: APIClient) -> None:
        """An invoice is shown, found and made void, whatever stands between the parts of its text."""
        series.create("invoices", None, Line(format="R/{period}/{value:04d}"), **WHO)
        invoice = issued()
        path = f"/invoices/R/{invoice.key.year}/0001/"
        assert browser.get("/find/", {"text": f"r/{invoice.key.year}/1"})["Location"] == path
        assert browser.get(path).status_code == 200
        assert path in browser.get(f"/invoices/{invoice.key.year}/").content.decode()
        assert api.get(f"/api{path}").json()["text"] == invoice.key.text
        sent = browser.post(f"{path}void/", {"reason": "Wrong."}, follow=True)
        assert sent.redirect_chain == [(path, 302)]
        assert selectors.get_invoice(invoice.key.text).void
        again = api.post(f"/api{path}void/", {"reason": "Wrong."})
        assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")

    def test_a_year_that_begins_later(self, tables: str, this_year: int) -> None:
        """The numbers below the first one of a range are not missing, and those by another step are not either."""
        series.create("invoices", None, Line(format="R{period}-{value}", start=5000, step=5), **WHO)
        for _ in range(3):
            issued()
        page = selectors.list_invoices(this_year)
        assert numbers_of(this_year) == [5010, 5005, 5000]
        assert (page.missing, page.skipped, page.oldest, page.to_first) == ((), (), 5000, True)

    def test_a_range_from_zero(self, tables: str, browser: Client, this_year: int) -> None:
        """The number 0 is one as any other: it is in the lists, and not missing."""
        series.create("invoices", None, Line(format="R{period}-{value}", start=0), **WHO)
        pages = [selectors.list_invoices(this_year)]
        for number in range(2):
            assert issued().key.text == f"R{this_year}-{number}"
            pages.append(selectors.list_invoices(this_year))
        assert [(page.newest, page.oldest) for page in pages] == [(None, None), (0, 0), (1, 0)]
        assert (numbers_of(this_year), [page.missing for page in pages]) == ([1, 0], [()] * 3)
        assert browser.get(f"/invoices/R{this_year}-0/").status_code == 200

    def test_a_range_that_begins_later(self, invoice: Invoice, this_year: int) -> None:
        """What lies between two ranges is shown as skipped, with the reason; a year of before is as it was."""
        issued(date(this_year - 1, 12, 31))
        series.create("invoices", None, Line(format="R{period}-{value}", start=100), **WHO)
        assert issued().key.text == f"R{this_year}-100"
        assert (skipped(this_year), selectors.list_invoices(this_year).missing) == ([(2, 99)], ())
        assert numbers_of(this_year - 1) == [1]
        assert selectors.list_invoices(this_year - 1).missing == ()

    def test_missing_numbers_of_a_range(self, invoice: Invoice) -> None:
        """A gap is named by the first and the last number that are missing."""
        found = store.find(store.invoices_of(invoice.key.year), None, 10, ("text",))
        assert list(selectors._missing(found, 7, start=1, step=2)) == [Missing(first=3, last=7)]

    def test_a_rule_keeps_the_year(self, tables: str) -> None:
        """Invoices stay in the pages of their year: no rule lets them count by months."""
        with pytest.raises(InvalidChange, match="period is 'month'; it must be 'year'"):
            series.create("invoices", None, Line(format="R{period}-{value}", period="month"), **WHO)


class TestOrders:
    def test_an_order_of_another_range(self, order: Order, browser: Client, api: APIClient) -> None:
        """Later orders have the new text; both are found by their texts, by pages and over REST."""
        series.create("orders", None, Line(format="B7/{value}", start=7000), **WHO)
        later = services.create_order(customer="Ada", lines=LINES, by="ann").value
        assert (later.number, later.text) == (7000, "B7/7000")
        for text, number in (("ord-1001", 1001), ("b7/7000", 7000)):
            assert browser.get("/find/", {"text": text})["Location"] == f"/orders/{number}/"
            assert browser.get(f"/orders/{text}/")["Location"] == f"/orders/{number}/"
        assert api.get("/api/orders/ord-1001/").json()["text"] == "ORD-1001"

    @pytest.mark.parametrize("start", [0, 2026010100000001])
    def test_a_range_of_any_numbers(self, tables: str, browser: Client, api: APIClient, start: int) -> None:
        """Whatever number an order gets, it has its page, and is in the list."""
        if start:
            services.create_order(customer="Ada", lines=LINES, by="ann")
        series.create("orders", None, Line(format="B7/{value}", start=start, maximum=10**16), **WHO)
        order = services.create_order(customer="Ada", lines=LINES, by="ann").value
        assert (order.number, browser.get(f"/orders/{start}/").status_code) == (start, 200)
        assert f"/orders/{start}/" in browser.get("/orders/").content.decode()
        assert api.get(f"/api/orders/{start}/").json()["text"] == f"B7/{start}"

    def test_the_engine_is_away(
        self, order: Order, browser: Client, api: APIClient, store_away: Callable[[], None]
    ) -> None:
        """Rules that cannot be read are said like anything else that cannot: by 503."""
        strategies.drop()
        store_away()
        assert browser.get("/orders/ord-1001/").status_code == 503
        assert api.get("/api/orders/ord-1001/").status_code == 503

    @pytest.mark.parametrize("text", ["xyz", "ORD-0", "b7-5"])
    def test_no_order_has_this_text(self, tables: str, api: APIClient, text: str) -> None:
        """Over REST, too, another text is not found."""
        assert api.get(f"/api/orders/{text}/").status_code == 404
        assert api.post(f"/api/orders/{text}/invoice/", {}).status_code == 404


def test_the_staff_makes_a_rule(tables: str, ann: User, browser: Client) -> None:
    """The page of the administration shows the next numbers, and then makes the rule; the next order follows it."""
    ann.is_staff = True
    ann.save()
    allow(ann, "sequences.series_sequence")
    page = "/admin/sequences/sequence/orders/scope/rules/"
    form = {"format": "B7-{value}", "start": "7000", "reason": "a branch"}
    preview = browser.post(page, form)
    assert "B7-7000, B7-7001, B7-7002" in preview.content.decode()
    shown = unescape(hidden(preview, "shown"))
    assert browser.post(page, {**form, "shown": shown, "confirmed": "Yes"}).status_code == 302
    assert services.create_order(customer="Ada", lines=LINES, by="ann").value.text == "B7-7000"
