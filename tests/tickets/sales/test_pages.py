"""The pages of orders and invoices, as a browser without scripts uses them."""

import re
from datetime import date
from functools import partial
from typing import Any

import pytest
from django.test import Client

from sequences import dynamodb, get_next_value
from sequences.changes import advance, void
from sequences.ops.audit import audit
from sequences.registry import strategies
from sequences.storage import table_name
from sequences.types import Dated
from tests.tickets.sales.support import LINES, delete_invoice, issued
from tests.tickets.test_pages import hidden, text_of
from tickets.sales import selectors, services, store
from tickets.sales.types import Invoice, Order, State
from tickets.types import Project

TYPED = {
    "customer": "Ada",
    "lines-0-text": "Paper",
    "lines-0-quantity": "3",
    "lines-0-price": "4,50",
    "lines-2-text": "Ink",
    "lines-2-quantity": "1",
    "lines-2-price": "19.99",
}


def words_of(response: Any) -> str:
    """A page as its reader sees it, with single spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", text_of(response)).split())


@pytest.mark.parametrize(
    "address", ["/orders/", "/orders/new/", "/orders/1001/", "/orders/1001/issue/", "/invoices/", "/find/?text=x"]
)
def test_a_stranger_sees_the_sign_in_page_alone(db: None, client: Client, address: str) -> None:
    """Nobody sees or sends anything before signing in."""
    assert client.get(address)["Location"].startswith("/login/")
    response = client.post(address)
    assert (response.status_code, response.templates[0].name) == (403, "registration/login.html")


def test_every_page_is_shown(browser: Client, invoice: Invoice) -> None:
    """Every page is there."""
    services.draft_invoice(services.create_order(customer="Bob", lines=LINES, by="ann").value.number, by="ann")
    text, year = invoice.key.text, invoice.key.year
    pages = ["orders/", "orders/new/", "orders/1001/", "orders/1002/", "orders/1002/issue/"]
    for address in (*pages, f"invoices/{year}/", "invoices/2001/", f"invoices/{text}/", f"invoices/{text}/void/"):
        response = browser.get(f"/{address}")
        assert response.status_code == 200, address


def test_the_digest_of_an_invoice(browser: Client, invoice: Invoice) -> None:
    """A page shows the beginning of the digest; an audit names an invoice that was changed past the application."""
    assert f"Digest {invoice.digest[:12]}" in words_of(browser.get(f"/invoices/{invoice.key.text}/"))
    services.void_invoice(invoice.key.text, reason="wrong", by="ann")
    scope = Dated.of(None, str(invoice.key.year))
    assert audit(strategies["invoices"], scope).unexplained == 0
    key = dynamodb.marshal({"pk": store.invoices_of(invoice.key.year), "sk": invoice.key.number})
    update = {"UpdateExpression": "SET customer = :bob", "ExpressionAttributeValues": {":bob": {"S": "Bob"}}}
    dynamodb.call("update_item", {"TableName": table_name(store.TABLE), "Key": key, **update})
    assert [one.text for one in audit(strategies["invoices"], scope).changed.listed] == [invoice.key.text]


class TestOrders:
    def test_an_order_is_stored_and_shown(self, browser: Client, tables: str) -> None:
        """The form stores an order with the rows that were filled in, and leads to it."""
        response = browser.post("/orders/new/", TYPED, follow=True)
        assert response.redirect_chain == [("/orders/1001/", 302)]
        assert "ORD-1001 Ada" in words_of(response)
        assert "Total 33.49 EUR" in words_of(response)
        order = selectors.get_order(1001)
        assert [line.text for line in order.lines] == ["Paper", "Ink"]
        assert order.created_by == "ann"
        assert "ORD-1001 Ada 33.49 EUR" in words_of(browser.get("/orders/"))

    def test_a_double_click_stores_one_order(self, browser: Client, tables: str) -> None:
        """The same form sent twice leads to the same order twice."""
        form = {**TYPED, "token": hidden(browser.get("/orders/new/"), "token")}
        assert [browser.post("/orders/new/", form)["Location"] for _ in range(2)] == ["/orders/1001/"] * 2

    def test_more_lines_keep_what_was_typed(self, browser: Client, tables: str) -> None:
        """The second button shows more rows, stores nothing, and complains about nothing."""
        full = {**TYPED, **{f"lines-{row}-text": f"Thing {row}" for row in range(5)}, "more": "1"}
        response = browser.post("/orders/new/", full)
        assert response.status_code == 200
        assert text_of(response).count('aria-label="Line') == 3 * 8
        assert 'value="Thing 4"' in text_of(response)
        assert "errorlist" not in text_of(response)
        assert selectors.list_orders().results == ()

    def test_what_is_wrong_stands_beside_its_field(self, browser: Client, tables: str) -> None:
        """A wrong line is named, nothing is stored, and everything typed is kept."""
        response = browser.post("/orders/new/", {**TYPED, "lines-2-price": "much"})
        assert response.status_code == 400
        assert set(response.context["form"].errors) == {"lines"}
        assert "Line 2, price" in text_of(response)
        assert 'value="much"' in text_of(response)
        (lines,) = re.findall('<fieldset class="lines-typed"[^>]*>', text_of(response))
        for place in re.findall('aria-describedby="([^"]*)"', lines)[0].split():
            assert f'id="{place}"' in text_of(response)
        assert "id_lines_error" in lines
        assert selectors.list_orders().results == ()

    def test_the_largest_number_has_an_address(self, browser: Client, tables: str) -> None:
        """Every number that an order can have leads to an address."""
        largest = strategies["orders"].config.maximum
        assert browser.get("/find/", {"text": f"ORD-{largest}"})["Location"] == f"/orders/{largest}/"
        assert browser.get("/find/", {"text": f"ORD-{largest + 1}"}).status_code == 404

    def test_a_value_that_an_operator_has_voided_is_no_order(self, browser: Client, order: Order) -> None:
        """A void value without an order is in no list, has no page, and takes no draft."""
        value = get_next_value("orders")
        void("orders", value=value, by="ann", reason="Test print.")
        assert [found.number for found in selectors.list_orders().results] == [order.number]
        for response in (browser.get(f"/orders/{value}/"), browser.post(f"/orders/{value}/draft/")):
            assert response.status_code == 404
            assert f"There is no order {value}." in words_of(response)
        assert "draft" not in (store._rows.get(store.ORDERS, value) or {})

    def test_a_form_without_lines_is_refused(self, browser: Client, tables: str) -> None:
        """An order has at least one line."""
        response = browser.post("/orders/new/", {"customer": "Ada"})
        assert "1 to 50 lines" in response.context["form"].errors["lines"][0]

    @pytest.mark.parametrize("text", ["ORD-1001", "ord-1001", "Ord - 1001"])
    def test_an_order_is_found_by_its_text(self, browser: Client, order: Order, text: str) -> None:
        """The text of an order leads to its page, in the address and in the box to go to."""
        assert browser.get(f"/orders/{text}/")["Location"] == "/orders/1001/"
        assert browser.get("/find/", {"text": text})["Location"] == "/orders/1001/"

    @pytest.mark.parametrize(
        "address",
        ["orders/1002", "orders/x", "orders/0", "orders/9{18}", "orders/ORD-9{18}", "find/?text=ORD-9{18}"],
    )
    def test_what_is_not_there_is_a_page(self, browser: Client, order: Order, address: str) -> None:
        """An address that leads nowhere says so, on a page with a way on."""
        response = browser.get(f"/{address.replace('9{18}', '9' * 18)}", follow=True)
        assert response.status_code == 404
        assert "To the projects" in text_of(response)


class TestInvoices:
    def test_an_invoice_is_drafted_issued_and_voided(self, browser: Client, order: Order, this_year: int) -> None:
        """The buttons lead from an order to its draft, to its invoice, and to the void one."""
        drafted = browser.post("/orders/1001/draft/", follow=True)
        assert "Draft" in words_of(drafted)
        form = browser.get("/orders/1001/issue/")
        sent = {name: hidden(form, name) for name in ("version", "token")}
        issued = browser.post("/orders/1001/issue/", {**sent, "date": ""}, follow=True)
        text = selectors.list_invoices().results[0].key.text
        assert issued.redirect_chain == [(f"/invoices/{text}/", 302)]
        assert f"{text} Ada" in words_of(issued)
        voided = browser.post(f"/invoices/{text}/void/", {"reason": "Wrong address."}, follow=True)
        assert voided.redirect_chain == [(f"/invoices/{text}/", 302)]
        assert "Voided by ann" in words_of(voided)
        assert "Wrong address." in words_of(voided)
        assert 'class="struck"' in text_of(voided)
        assert "Paper" in words_of(voided)
        assert "Draft invoice" in words_of(browser.get("/orders/1001/"))

    def test_a_date_of_last_year_gives_its_number(self, browser: Client, draft: Order, last_december: date) -> None:
        """The date that is typed says which year counts."""
        sent = {"version": "2", "date": last_december.isoformat()}
        location = browser.post("/orders/1001/issue/", sent)["Location"]
        assert location.startswith(f"/invoices/INV-{last_december.year}-000001-")

    def test_a_double_click_issues_one_invoice(self, browser: Client, draft: Order) -> None:
        """The same form sent twice leads to the same invoice twice."""
        form = browser.get("/orders/1001/issue/")
        sent = {name: hidden(form, name) for name in ("version", "token")}
        first, again = (browser.post("/orders/1001/issue/", sent)["Location"] for _ in range(2))
        assert first == again
        assert selectors.list_invoices().newest == 1

    def test_who_comes_second_is_told(self, browser: Client, draft: Order) -> None:
        """Who presses after somebody else sees the invoice that there is."""
        form = browser.get("/orders/1001/issue/")
        sent = {name: hidden(form, name) for name in ("version", "token")}
        text = services.issue_invoice(1001, by="bob").value.key.text
        response = browser.post("/orders/1001/issue/", sent)
        assert response.status_code == 409
        assert f'href="/invoices/{text}/"' in text_of(response)
        assert "ORD-1001 as it is now" in words_of(response)

    def test_another_draft_is_not_issued_unseen(self, browser: Client, draft: Order) -> None:
        """A form that was open while the invoice was voided and drafted anew asks first, and then issues."""
        form = browser.get("/orders/1001/issue/")
        sent = {name: hidden(form, name) for name in ("version", "token")}
        services.void_invoice(services.issue_invoice(1001, by="bob").value.key.text, reason="Wrong.", by="bob")
        services.draft_invoice(1001, by="bob")
        asked = browser.post("/orders/1001/issue/", sent)
        assert asked.status_code == 409
        assert "was changed meanwhile" in words_of(asked)
        sent = {name: hidden(asked, name) for name in ("version", "token")}
        assert "-000002-" in browser.post("/orders/1001/issue/", sent)["Location"]

    def test_a_wrong_date_stands_beside_its_field(self, browser: Client, draft: Order) -> None:
        """A wrong date is said beside it, and nothing is issued."""
        response = browser.post("/orders/1001/issue/", {"version": "2", "date": "1999-01-01"})
        assert response.status_code == 400
        assert set(response.context["form"].errors) == {"date"}
        assert selectors.get_order(1001).state == State.DRAFT

    def test_only_a_draft_can_be_issued(self, browser: Client, order: Order) -> None:
        """The form of an order without a draft is a page that says so, as is a draft of an invoiced one."""
        assert browser.get("/orders/1001/issue/").status_code == 409
        issued()
        assert browser.post("/orders/1002/draft/").status_code == 409

    def test_who_signs_in_anew_to_draft_comes_to_the_order(self, browser: Client, order: Order) -> None:
        """The address that drafts changes nothing when it is only opened, and leads to the order."""
        assert browser.get("/orders/1001/draft/")["Location"] == "/orders/1001/"
        assert selectors.get_order(1001).state == State.OPEN

    def test_voiding_needs_a_reason(self, browser: Client, invoice: Invoice) -> None:
        """Without a reason the form comes back, and the invoice stays in force."""
        response = browser.post(f"/invoices/{invoice.key.text}/void/", {"reason": ""})
        assert response.status_code == 400
        assert set(response.context["form"].errors) == {"reason"}
        assert selectors.get_invoice(invoice.key.text).void is None

    def test_only_an_invoice_in_force_has_a_form_to_void_it(self, browser: Client, invoice: Invoice) -> None:
        """The form names the invoice as it is written; there is none for a void invoice, and none for a wrong text."""
        text = invoice.key.text
        assert f"Void {text}" in words_of(browser.get(f"/invoices/{text.lower()}/void/"))
        assert browser.get(f"/invoices/{text.replace('-000001-', '-000002-')}/void/").status_code == 404
        services.void_invoice(text, reason="Wrong.", by="bob")
        assert browser.get(f"/invoices/{text}/void/")["Location"] == f"/invoices/{text}/"

    def test_who_voids_second_is_told(self, browser: Client, invoice: Invoice) -> None:
        """An invoice that somebody else has voided meanwhile keeps that reason, and the page says so."""
        services.void_invoice(invoice.key.text, reason="Wrong address.", by="bob")
        response = browser.post(f"/invoices/{invoice.key.text}/void/", {"reason": "Too late."}, follow=True)
        assert f"{invoice.key.text} was void already, for the reason below." in words_of(response)
        assert "Wrong address." in words_of(response)

    def test_another_spelling_leads_to_the_text(self, browser: Client, invoice: Invoice) -> None:
        """The address of an invoice accepts what people type, and redirects to how it is written."""
        typed = invoice.key.text.lower().replace("-000001-", "-1-")
        address = f"/invoices/{invoice.key.text}/"
        assert browser.get(f"/invoices/{typed}/")["Location"] == address
        assert browser.get("/find/", {"text": typed})["Location"] == address

    @pytest.mark.parametrize(
        ("typed", "path"),
        [("ABC-42", "/ABC-42/"), (" abc-042 ", "/ABC-42/"), ("abc 42", "/ABC-42/"), ("abc", "/ABC/")],
    )
    def test_keys_lead_to_tickets_and_projects(self, browser: Client, abc: Project, typed: str, path: str) -> None:
        """The box in the header of every page takes keys, too, as people type them."""
        assert 'action="/find/"' in browser.get("/").content.decode()
        assert browser.get("/find/", {"text": typed})["Location"] == path

    def test_a_mistyped_text_is_not_found(self, browser: Client, invoice: Invoice) -> None:
        """A wrong check digit is said, and no other invoice is shown."""
        wrong = invoice.key.text.replace("-000001-", "-000002-")
        for response in (browser.get(f"/invoices/{wrong}/"), browser.get("/find/", {"text": wrong})):
            assert response.status_code == 404
            assert "check digit" in words_of(response)


class TestYears:
    def test_lists_have_their_sum(self, browser: Client, tables: str, this_year: int) -> None:
        """Below orders and invoices is what they come to together; void ones are left out."""
        invoices = [issued() for _ in range(3)]
        services.void_invoice(invoices[1].key.text, reason="Wrong.", by="ann")
        total = invoices[0].total
        assert f"Together {total * 2:,.2f} EUR, without void ones" in words_of(browser.get(f"/invoices/{this_year}/"))
        assert f"Together {total * 3:,.2f} EUR, without void ones" in words_of(browser.get("/orders/"))

    def test_a_year_says_that_no_number_is_missing(self, browser: Client, tables: str, this_year: int) -> None:
        """A list that reaches from the newest number to the first says so; void invoices keep their places."""
        invoices = [issued() for _ in range(3)]
        services.void_invoice(invoices[1].key.text, reason="Wrong.", by="ann")
        words = words_of(browser.get(f"/invoices/{this_year}/"))
        assert "3 invoices, numbers 1 to 3, no number missing; 1 void." in words
        assert re.findall(r"INV-\S+", words)[-3:] == [invoice.key.text for invoice in reversed(invoices)]

    def test_a_page_speaks_of_what_it_read(
        self, browser: Client, tables: str, this_year: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A list that goes on says which numbers are on the page, and nothing about the year."""
        monkeypatch.setattr(selectors, "list_invoices", partial(selectors.list_invoices, limit=2))
        for _ in range(3):
            issued()
        first = browser.get(f"/invoices/{this_year}/")
        assert "Numbers 2 to 3 are on this page, none of them is missing." in words_of(first)
        assert "no number missing" not in words_of(first)
        link = re.search(r'href="(\?cursor=[^"]*)"', text_of(first))
        assert link is not None
        assert "Numbers 1 to 1 are on this page" in words_of(browser.get(f"/invoices/{this_year}/{link[1]}"))

    def test_a_missing_number_is_said(self, browser: Client, tables: str, this_year: int) -> None:
        """Where somebody deleted an invoice, the list shows the place and claims nothing."""
        for _ in range(3):
            issued()
        delete_invoice(this_year, 2)
        words = words_of(browser.get(f"/invoices/{this_year}/"))
        assert "Number 2 is missing" in words
        assert "and some are missing" in words
        assert "no number missing" not in words

    def test_skipped_numbers_are_explained(self, browser: Client, tables: str, this_year: int) -> None:
        """Numbers that an operator skipped have one place in the list, with the reason, and none is missing."""
        advance("invoices", to=3, by="eve", reason="Printed on paper.")
        issued()
        words = words_of(browser.get(f"/invoices/{this_year}/"))
        assert "1 invoice, numbers 1 to 4, no number missing; 3 void." in words
        assert "Numbers 1 to 3 were skipped by eve: Printed on paper." in words

    def test_a_skipped_number_is_explained(self, browser: Client, tables: str, this_year: int) -> None:
        """A number that an operator voided has its place in the list, with the reason."""
        for _ in range(3):
            issued()
        delete_invoice(this_year, 2)
        void("invoices", 2, period=str(this_year), by="eve", reason="Deleted by mistake.")
        words = words_of(browser.get(f"/invoices/{this_year}/"))
        assert "Number 2 was skipped by eve: Deleted by mistake." in words
        assert "no number missing; 1 void." in words

    def test_this_year_is_the_beginning(self, browser: Client, tables: str, this_year: int) -> None:
        """Invoices lead to this year, from where earlier years can be reached, but none that has not begun."""
        assert browser.get("/invoices/")["Location"] == f"/invoices/{this_year}/"
        page = text_of(browser.get(f"/invoices/{this_year}/"))
        assert f"/invoices/{this_year - 1}/" in page
        assert f"/invoices/{this_year + 1}/" not in page
        assert f"/invoices/{this_year}/" in text_of(browser.get(f"/invoices/{this_year - 1}/"))

    @pytest.mark.parametrize("year", [1000, 2000, 9999])
    def test_a_year_without_invoices_is_a_page(self, browser: Client, tables: str, year: int) -> None:
        """Every year has a page, also one at the edge."""
        assert f"There are no invoices in {year}." in words_of(browser.get(f"/invoices/{year}/"))

    @pytest.mark.parametrize("address", ["/invoices/2001/?cursor=5:x", "/orders/?cursor=5:x"])
    def test_a_made_up_cursor_is_a_page(self, browser: Client, tables: str, address: str) -> None:
        """A cursor that no page gave is refused by a page."""
        assert browser.get(address).status_code == 400
