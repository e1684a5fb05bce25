"""The REST API of orders and invoices, as a program calls it."""

import json
import re
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from rest_framework.test import APIClient

from sequences.exceptions import NotWritten, StorageError
from tests.tickets.sales.support import LINES, delete_invoice, issued
from tests.tickets.support import OUTLINE, outlined, wrong_fields
from tickets.sales import selectors, services
from tickets.sales.types import Invoice, Order
from tickets.sales.validators import today

ORDERS = "/api/orders/"
BODY = {"customer": "Ada", "lines": LINES}


def post(api: APIClient, address: str, body: Any = None, *, key: str | None = None) -> Any:
    """Send a request, with its name if it has one."""
    return api.post(address, body or {}, headers={"Idempotency-Key": key} if key else {})


@pytest.mark.parametrize("address", [ORDERS, "/api/orders/1001/", "/api/invoices/", "/api/invoices/INV-2026-1-5/"])
def test_a_call_without_credentials_is_refused(db: None, address: str) -> None:
    """Nothing is told without credentials."""
    assert APIClient().get(address).status_code == 401


class TestOrders:
    def test_an_order_is_what_the_contract_says(self, api: APIClient, tables: str) -> None:
        """An order has the agreed fields, wherever it is read. Amounts are texts."""
        made = post(api, ORDERS, BODY)
        assert made.status_code == 201
        assert made["Location"] == "http://testserver/api/orders/1001/"
        order = dict(made.json())
        assert order.pop("created_at").endswith("Z")
        assert order == {
            "number": 1001, "text": "ORD-1001", "customer": "Ada", "lines": LINES, "total": "33.49", "currency": "EUR",
            "state": "open", "draft": None, "invoice": None, "voided": [], "created_by": "ann", "version": 1,
            "void": None,
        }  # fmt: skip
        assert api.get("/api/orders/1001/").json() == made.json()
        assert api.get(ORDERS).json() == {"results": [made.json()], "next": None, "prev": None}

    def test_a_repeat_with_the_same_key_stores_one_order(self, api: APIClient, tables: str) -> None:
        """A repeat is answered with the first order, and says that it is a repeat; another content is refused."""
        first, again = post(api, ORDERS, BODY, key="k"), post(api, ORDERS, BODY, key="k")
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert "Idempotent-Replayed" not in first
        assert again["Idempotent-Replayed"] == "true"
        assert post(api, ORDERS, {**BODY, "customer": "Bob"}, key="k").status_code == 422

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({}, {"customer", "lines"}),
            ({"customer": "", "lines": []}, {"customer", "lines"}),
            ({**BODY, "total": "1.00"}, {"total"}),
            ({**BODY, "lines": [{**LINES[0], "price": 4.5}]}, {"lines"}),
            ({**BODY, "lines": [{**LINES[0], "price": [1]}]}, {"lines"}),
            ({**BODY, "lines": None}, {"lines"}),
            ('{"customer": "Ada", "lines": [{"\\ud800": 1}]}', {"lines"}),
        ],
    )
    def test_every_wrong_field_is_named(self, api: APIClient, tables: str, body: Any, fields: set[str]) -> None:
        """A wrong body is answered with a message for each field, and stores nothing."""
        response = api.generic("POST", ORDERS, body if isinstance(body, str) else json.dumps(body), "application/json")
        assert response.status_code == 400
        assert wrong_fields(response) == fields
        assert selectors.list_orders().results == ()

    def test_a_store_that_is_away_is_no_matter_of_tickets(
        self, api: APIClient, tables: str, unreadable: Callable[[type[StorageError]], None]
    ) -> None:
        """The answer says what a repeat does, of whatever kind the request is."""
        unreadable(NotWritten)
        detail = api.get("/api/orders/1001/").json()["detail"]
        assert "If it has an Idempotency-Key, it is carried out once." in detail

    @pytest.mark.parametrize("text", ["ORD-{}", "ord-{}", "Ord {}"])
    def test_an_order_is_found_by_its_text(self, api: APIClient, tables: str, text: str) -> None:
        """The text of an order stands for its number in all its addresses, in any spelling that people use."""
        number = post(api, ORDERS, BODY).json()["number"]
        address = f"{ORDERS}{text.format(number)}/"
        assert api.get(address).json()["number"] == number
        assert post(api, f"{address}invoice/").json()["state"] == "draft"
        for other in ("ORD-", "ORD-x", "INV-2026-1-5", "new", "ORD-0"):
            assert api.get(f"{ORDERS}{other}/").status_code == 404

    def test_an_unknown_order_is_not_found(self, api: APIClient, tables: str) -> None:
        """What was not stored is not found, whatever is asked of it."""
        for response in (
            api.get("/api/orders/1001/"),
            post(api, "/api/orders/1001/invoice/"),
            post(api, "/api/orders/1001/invoice/issue/"),
        ):
            assert response.status_code == 404
            assert "1001" in response.json()["detail"]


class TestInvoices:
    def test_an_invoice_is_what_the_contract_says(self, api: APIClient, order: Order, this_year: int) -> None:
        """A draft is issued as an invoice with the agreed fields, wherever it is read."""
        drafted = post(api, "/api/orders/1001/invoice/")
        assert drafted.status_code == 201
        assert drafted.json()["state"] == "draft"
        made = post(api, "/api/orders/1001/invoice/issue/")
        assert made.status_code == 201
        invoice = dict(made.json())
        text = invoice.pop("text")
        assert made["Location"] == f"http://testserver/api/invoices/{text}/"
        assert invoice.pop("issued_at").endswith("Z")
        assert invoice.pop("date").startswith(f"{this_year}-")
        assert re.fullmatch("[0-9a-f]{64}", invoice.pop("digest"))
        assert invoice == {
            "year": this_year, "number": 1, "order": 1001, "customer": "Ada", "lines": LINES, "total": "33.49",
            "currency": "EUR", "issued_by": "ann", "void": None, "company": "",
        }  # fmt: skip
        assert api.get(f"/api/invoices/{text}/").json() == made.json()
        assert api.get(f"/api/invoices/{text.lower()}/").json() == made.json()
        order_now = api.get("/api/orders/1001/").json()
        assert (order_now["state"], order_now["invoice"]) == ("invoiced", text)

    def test_a_draft_takes_no_fields(self, api: APIClient, order: Order) -> None:
        """A field that drafting does not know is refused, and nothing is drafted."""
        response = post(api, "/api/orders/1001/invoice/", {"date": "2026-01-01"})
        assert (response.status_code, wrong_fields(response)) == (400, {"date"})
        assert selectors.get_order(1001).draft is None

    def test_a_date_says_which_year_counts(self, api: APIClient, draft: Order, last_december: date) -> None:
        """A document dated last December gets last year's next number."""
        made = post(api, "/api/orders/1001/invoice/issue/", {"date": last_december.isoformat()}).json()
        assert (made["year"], made["number"]) == (last_december.year, 1)

    def test_an_etag_of_another_draft_issues_nothing(self, api: APIClient, draft: Order) -> None:
        """The draft of the order that was read is issued, and no later one."""
        address = "/api/orders/1001/invoice/issue/"
        tag = api.get("/api/orders/1001/")["ETag"]
        first = services.issue_invoice(draft.number, by="bob").value
        services.void_invoice(first.key.text, reason="Wrong.", by="bob")
        services.draft_invoice(draft.number, by="bob")
        refused = api.post(address, headers={"If-Match": tag})
        now = api.get("/api/orders/1001/")
        assert (refused.status_code, refused.json()["current"]) == (412, now.json())
        assert api.post(address, headers={"If-Match": now["ETag"]}).json()["number"] == 2

    def test_a_repeat_with_the_same_key_issues_one_invoice(self, api: APIClient, order: Order) -> None:
        """Each step may be repeated with its key; the repeats say so."""
        for address, body in (("invoice/", {}), ("invoice/issue/", {"version": 2})):
            first, again = (post(api, f"/api/orders/1001/{address}", body, key="k") for _ in range(2))
            assert (first.status_code, again.status_code) == (201, 201)
            assert first.json() == again.json()
            assert "Idempotent-Replayed" not in first
            assert again["Idempotent-Replayed"] == "true"
        assert post(api, "/api/orders/1001/invoice/", key="k").status_code == 201

    def test_one_key_for_an_order_and_its_invoice(self, api: APIClient, tables: str) -> None:
        """The key that made an order drafts its invoice, too, and a repeat is answered as such."""
        made = post(api, ORDERS, BODY, key="k").json()
        first, again = (post(api, f"{ORDERS}{made['number']}/invoice/", key="k") for _ in range(2))
        assert (first.status_code, again.status_code, first.json()) == (201, 201, again.json())
        assert again["Idempotent-Replayed"] == "true"

    def test_an_issued_draft_is_a_conflict(self, api: APIClient, invoice: Invoice) -> None:
        """Another request for the same draft is told how the order is."""
        for address in ("invoice/", "invoice/issue/"):
            response = post(api, f"/api/orders/1001/{address}")
            assert response.status_code == 409
            assert invoice.key.text in response.json()["detail"]
            assert response.json()["current"] == api.get("/api/orders/1001/").json()

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            *(({"date": wrong}, "date") for wrong in ("31.12.2025", f"{today():%Y%m%d}", f"{today():%G-W%V-%u}", 5)),
            ({"version": "x"}, "version"),
            ({"day": 1}, "day"),
        ],
    )
    def test_a_wrong_wish_is_refused(self, api: APIClient, draft: Order, body: Any, field: str) -> None:
        """A wrong field is answered by name, and nothing is issued."""
        response = post(api, "/api/orders/1001/invoice/issue/", body)
        assert response.status_code == 400
        assert wrong_fields(response) == {field}
        assert selectors.get_order(1001) == draft

    def test_a_void_invoice_says_who_when_and_why(self, api: APIClient, invoice: Invoice) -> None:
        """A void invoice keeps its content; voiding it again changes nothing and says so."""
        address = f"/api/invoices/{invoice.key.text}/"
        before = api.get(address).json()
        first = post(api, f"{address}void/", {"reason": "Wrong."})
        again = post(api, f"{address}void/", {"reason": "Wrong again."})
        assert (first.status_code, again.status_code) == (200, 200)
        assert {**first.json()["void"], "at": None} == {"by": "ann", "at": None, "reason": "Wrong."}
        assert {**first.json(), "void": None} == before
        assert first.json() == again.json() == api.get(address).json()
        assert ("Idempotent-Replayed" in first, "Idempotent-Replayed" in again) == (False, True)
        assert api.get("/api/orders/1001/").json()["voided"] == [invoice.key.text]

    def test_voiding_needs_a_reason(self, api: APIClient, invoice: Invoice) -> None:
        """Without a reason the invoice stays in force."""
        for body in ({}, {"reason": ""}, {"reason": None}):
            response = post(api, f"/api/invoices/{invoice.key.text}/void/", body)
            assert response.status_code == 400
            assert wrong_fields(response) == {"reason"}
        assert selectors.get_invoice(invoice.key.text) == invoice

    def test_a_mistyped_text_is_not_found(self, api: APIClient, invoice: Invoice) -> None:
        """A wrong check digit is said."""
        response = api.get(f"/api/invoices/{invoice.key.text.replace('-000001-', '-000002-')}/")
        assert response.status_code == 404
        assert "check digit" in response.json()["detail"]


class TestYears:
    def test_a_year_is_listed_to_its_end(self, api: APIClient, tables: str, this_year: int) -> None:
        """Following `next` to its end gives every invoice once, newest first, and says which numbers were read."""
        for _ in range(5):
            issued()
        delete_invoice(this_year, 2)
        address, found, read = f"/api/invoices/?year={this_year}&limit=2", [], []
        while address:
            page = api.get(address).json()
            found += [invoice["number"] for invoice in page["results"]]
            read.append(page["numbers"])
            address = page["next"]
        assert found == [5, 4, 3, 1]
        assert read == [
            {"newest": 5, "oldest": 4, "missing": [], "skipped": []},
            {"newest": 3, "oldest": 1, "missing": [{"first": 2, "last": 2}], "skipped": []},
        ]

    def test_years_are_apart(self, api: APIClient, invoice: Invoice, last_december: date) -> None:
        """Without a year the invoices of this one are listed."""
        earlier = issued(last_december)
        assert [one["text"] for one in api.get("/api/invoices/").json()["results"]] == [invoice.key.text]
        listed = api.get(f"/api/invoices/?year={last_december.year}").json()
        assert [one["text"] for one in listed["results"]] == [earlier.key.text]

    @pytest.mark.parametrize("query", ["year=x", "year=0", "year=10000"])
    def test_a_wrong_year_is_refused(self, api: APIClient, tables: str, query: str) -> None:
        """A year that is none is answered by name."""
        response = api.get(f"/api/invoices/?{query}")
        assert response.status_code == 400
        assert wrong_fields(response) == {"year"}


def test_the_document_that_is_served(api: APIClient, tables: str) -> None:
    """A program reads the document that is recorded: the addresses of orders and invoices, and what is sent there."""
    assert outlined(api.get("/api/schema/?format=json").json()) == OUTLINE.read_text()


def test_a_program_may_send_what_it_read(api: APIClient, order: Order) -> None:
    """The lines of an order that was read can be sent as those of another one."""
    lines = api.get("/api/orders/1001/").json()["lines"]
    again = post(api, ORDERS, {"customer": "Bob", "lines": lines})
    assert again.json()["lines"] == lines
