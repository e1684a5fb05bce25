"""The writes and the reads of orders and invoices."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from sequences import format_value, parse, series
from sequences.actions import Update
from sequences.changes import advance, void
from sequences.exceptions import AlsoRefused, IdempotencyMismatch, NotWritten, SequenceUnavailable, WriteCancelled
from sequences.registry import strategies
from sequences.signals import value_voided
from tests.tickets.sales.support import LINES, delete_invoice, drafted, issued, numbers_of
from tests.tickets.test_services import requests_from_now
from tickets.exceptions import (
    InvalidInput,
    InvoiceNotFound,
    NoDraft,
    NotFound,
    OrderInvoiced,
    OrderNotFound,
    StaleVersion,
)
from tickets.sales import selectors, services, store
from tickets.sales.types import Invoice, Missing, Order, State
from tickets.sales.validators import today
from tickets.types import Void


def unreadable(*given: object) -> None:
    """A read that finds no engine."""
    raise NotWritten("It cannot be read.")


WRONG_LINES: list[tuple[Any, str]] = [
    ({"quantity": 1, "price": "1"}, "Line 1, text: This must not be empty."),
    ({"text": "x", "quantity": 0, "price": "1"}, "Line 1, quantity: This must be a whole number"),
    ({"text": "x", "quantity": True, "price": "1"}, "Line 1, quantity: This must be a whole number"),
    ({"text": "x", "quantity": "1.5", "price": "1"}, "Line 1, quantity: This must be a whole number"),
    ({"text": "x", "quantity": 1, "price": 1.5}, "Line 1, price: This must be an amount as text"),
    ({"text": "x", "quantity": 1, "price": "1.234"}, "Line 1, price: This must be an amount as text"),
    ({"text": "x", "quantity": 1, "price": "-1"}, "Line 1, price: This must be an amount as text"),
    ({"text": "x", "quantity": 1, "price": "1000000.01"}, "Line 1, price: At most 1,000,000."),
    ({"text": "x", "quantity": 1, "price": "1", "tax": "7"}, "Line 1, tax: There is no such field."),
    ("x", "Line 1, text: This must not be empty."),
]


class TestOrders:
    def test_an_order_has_a_number_at_once(self, tables: str) -> None:
        """Orders are numbered from 1001, and named by that number."""
        made = [services.create_order(customer="Ada", lines=LINES, by="ann").value for _ in range(2)]
        assert [(order.number, order.text) for order in made] == [(1001, "ORD-1001"), (1002, "ORD-1002")]
        assert [order.version for order in made] == [1, 1]
        assert [selectors.get_order(order.number) for order in made] == made
        assert selectors.list_orders().results == tuple(reversed(made))

    def test_a_total_is_exact_to_the_cent(self, tables: str) -> None:
        """Amounts that binary fractions round are added up exactly, and keep their cents where they are zero."""
        lines = [{"text": "Nut", "quantity": 10_000, "price": "0.10"}, {"text": "Bolt", "quantity": 3, "price": "1,1"}]
        order = services.create_order(customer="Ada", lines=lines, by="ann").value
        assert str(order.total) == "1003.30"
        assert str(selectors.get_order(order.number).total) == "1003.30"
        assert selectors.get_order(order.number).lines == order.lines

    def test_a_repeat_with_the_same_token_stores_one_order(self, tables: str) -> None:
        """The same request sent twice gives one order; with another content it is refused."""
        first, again = (
            services.create_order(customer="Ada", lines=LINES, by="ann", idempotency_token="t") for _ in range(2)
        )
        assert (again.value, again.replayed) == (first.value, True)
        with pytest.raises(IdempotencyMismatch):
            services.create_order(customer="Bob", lines=LINES, by="ann", idempotency_token="t")
        assert len(selectors.list_orders().results) == 1

    def test_an_order_that_is_stored_is_not_denied(self, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A repeat that cannot read the order does not say that nothing was stored."""
        services.create_order(customer="Ada", lines=LINES, by="ann", idempotency_token="t")
        monkeypatch.setattr(selectors, "get_order", unreadable)
        with pytest.raises(SequenceUnavailable, match="may have been stored"):
            services.create_order(customer="Ada", lines=LINES, by="ann", idempotency_token="t")

    def test_a_wrong_line_is_named(self, tables: str) -> None:
        """The message about a line has its number and its field, and nothing is stored."""
        for line, problem in WRONG_LINES:
            with pytest.raises(InvalidInput) as caught:
                services.create_order(customer="Ada", lines=[line], by="ann")
            assert problem in " ".join(caught.value.message_dict["lines"])
        assert selectors.list_orders().results == ()

    def test_an_order_has_1_to_50_lines(self, tables: str) -> None:
        """An order without lines, with too many, or with something else is refused."""
        wrong: list[Any] = [[], [LINES[0]] * 51, None, "x", {"text": "x"}]
        for lines in wrong:
            with pytest.raises(InvalidInput):
                services.create_order(customer="Ada", lines=lines, by="ann")

    def test_an_order_of_50_lines(self, tables: str) -> None:
        """The largest order is stored."""
        assert len(services.create_order(customer="Ada", lines=LINES * 25, by="ann").value.lines) == 50

    def test_an_unknown_order_is_not_found(self, tables: str) -> None:
        """What was not stored can be neither read nor invoiced."""
        for call in (
            lambda: selectors.get_order(1001),
            lambda: services.draft_invoice(1001, by="ann"),
            lambda: services.issue_invoice(1001, by="ann"),
        ):
            with pytest.raises(OrderNotFound, match="There is no order 1001"):
                call()

    @pytest.mark.parametrize("text", ["ORD-1001", "ord-1001", " Ord - 1001 ", "ord\u20131001"])
    def test_people_find_an_order_by_its_text(self, tables: str, text: str) -> None:
        """The text of an order may be typed in any case, with spaces and other dashes."""
        assert selectors.order_number(text) == 1001
        assert selectors.find(text) == 1001


class TestDrafts:
    def test_a_draft_has_no_number(self, order: Order) -> None:
        """A draft changes the state of the order alone; nothing is numbered."""
        draft = services.draft_invoice(order.number, by="bob").value
        assert (draft.state, draft.invoice) == (State.DRAFT, None)
        assert draft == selectors.get_order(order.number)
        assert selectors.list_invoices().results == ()

    def test_a_drafted_order_keeps_its_draft(self, draft: Order) -> None:
        """Who drafts it again gets the draft that there is."""
        again = services.draft_invoice(draft.number, by="bob")
        assert (again.value, again.replayed) == (draft, True)

    def test_an_invoiced_order_is_not_drafted(self, invoice: Invoice) -> None:
        """An order has one invoice in force; the error names it."""
        with pytest.raises(OrderInvoiced, match=invoice.key.text):
            services.draft_invoice(invoice.order, by="bob")

    def test_a_repeat_after_the_issue_is_no_error(self, order: Order) -> None:
        """The request that made the draft may come again when the invoice is issued."""
        services.draft_invoice(order.number, by="ann", idempotency_token="t")
        services.issue_invoice(order.number, by="ann")
        again = services.draft_invoice(order.number, by="ann", idempotency_token="t")
        assert (again.replayed, again.value.state) == (True, State.INVOICED)

    def test_a_repeat_after_the_void_drafts_nothing(self, order: Order) -> None:
        """A draft that was issued and voided is not made again, neither by a late repeat nor by a late write."""
        for token in ("t", "u"):
            services.draft_invoice(order.number, by="ann", idempotency_token=token)
            issued = services.issue_invoice(order.number, by="ann").value
            services.void_invoice(issued.key.text, reason="Wrong.", by="ann")
        for token in ("t", "u"):
            again = services.draft_invoice(order.number, by="ann", idempotency_token=token)
            assert (again.replayed, again.value.state) == (True, State.OPEN)
        assert not services.draft_invoice(order.number, by="bob", idempotency_token="t").replayed

    @pytest.mark.needs_engine
    def test_a_lost_answer_makes_one_draft(self, order: Order, lose_answer: Callable[[], None]) -> None:
        """A draft whose answer was lost is this request's own."""
        lose_answer()
        draft = services.draft_invoice(order.number, by="ann")
        assert not draft.replayed
        assert draft.value == selectors.get_order(order.number)

    @pytest.mark.needs_engine
    def test_a_lost_answer_beside_the_token_of_the_order(self, tables: str, lose_answer: Callable[[], None]) -> None:
        """The token that made the order is no sign of a draft."""
        order = services.create_order(customer="Ada", lines=LINES, by="ann", idempotency_token="t").value
        lose_answer()
        draft = services.draft_invoice(order.number, by="ann", idempotency_token="t")
        assert (draft.replayed, draft.value.state) == (False, State.DRAFT)


class TestIssuing:
    def test_an_issued_invoice_is_what_is_stored(self, draft: Order, this_year: int) -> None:
        """An invoice has the next number of its year, a check digit, and the content of its order."""
        invoice = services.issue_invoice(draft.number, by="bob").value
        assert invoice.key.text.startswith(f"INV-{this_year}-000001-")
        assert (invoice.customer, invoice.lines, invoice.total) == (draft.customer, draft.lines, Decimal("33.49"))
        assert (invoice.date, invoice.issued_by, invoice.void) == (today(), "bob", None)
        assert selectors.get_invoice(invoice.key.text) == invoice
        order = selectors.get_order(draft.number)
        assert (order.state, order.invoice) == (State.INVOICED, invoice.key)

    def test_last_decembers_date_gets_last_years_number(self, tables: str, this_year: int, last_december: date) -> None:
        """The date of the document says which year counts, also after this year has begun."""
        keys = [issued(day).key for day in (last_december, None, last_december, today())]
        assert [(key.year, key.number) for key in keys] == [
            (this_year - 1, 1), (this_year, 1), (this_year - 1, 2), (this_year, 2),
        ]  # fmt: skip

    @pytest.mark.parametrize("day", ["tomorrow", "2026-02-30", "1999-12-31", 20260101])
    def test_a_wrong_date_is_refused(self, draft: Order, day: Any) -> None:
        """A date that is none, or is too early, takes no number."""
        with pytest.raises(InvalidInput) as caught:
            services.issue_invoice(draft.number, date=day, by="ann")
        assert set(caught.value.message_dict) == {"date"}
        assert selectors.get_order(draft.number) == draft

    def test_a_date_in_the_future_is_refused(self, draft: Order) -> None:
        """An invoice is not dated tomorrow."""
        with pytest.raises(InvalidInput, match="must be from"):
            services.issue_invoice(draft.number, date=today() + timedelta(days=1), by="ann")

    def test_an_order_without_a_draft_is_not_invoiced(self, order: Order) -> None:
        """Only a draft is issued."""
        with pytest.raises(NoDraft, match="ORD-1001 has no draft"):
            services.issue_invoice(order.number, by="ann")

    def test_a_draft_is_issued_once(self, invoice: Invoice) -> None:
        """Another request for the same draft learns which invoice it has, and takes no number."""
        with pytest.raises(OrderInvoiced, match=invoice.key.text):
            services.issue_invoice(invoice.order, by="bob")
        assert numbers_of(invoice.key.year) == [1]

    def test_a_repeat_with_the_same_token_gets_the_first_invoice(
        self, draft: Order, last_december: date, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The same request sent twice issues one invoice; another date is refused, as is another person's token.

        The log has one line.
        """
        caplog.set_level("INFO", "tickets")
        first, again = (
            services.issue_invoice(draft.number, date=last_december, by="ann", idempotency_token="t") for _ in range(2)
        )
        assert (again.value, again.replayed) == (first.value, True)
        said = [record.getMessage() for record in caplog.records if record.name == "tickets.sales.services"]
        assert said == [f"order {draft.number} invoiced by ann: {first.value.key.text}"]
        with pytest.raises(IdempotencyMismatch, match="was used to issue"):
            services.issue_invoice(draft.number, date=today(), by="ann", idempotency_token="t")
        with pytest.raises(OrderInvoiced):
            services.issue_invoice(draft.number, date=last_december, by="bob", idempotency_token="t")

    def test_a_repeat_never_issues_the_next_draft(self, draft: Order) -> None:
        """The same request that comes again after voiding and drafting gets its own invoice, which is void."""
        first = services.issue_invoice(draft.number, by="ann", idempotency_token="t").value
        services.void_invoice(first.key.text, reason="Wrong.", by="ann")
        services.draft_invoice(draft.number, by="ann")
        again = services.issue_invoice(draft.number, by="ann", idempotency_token="t")
        assert (again.value.key, again.replayed) == (first.key, True)
        assert again.value.void is not None
        assert selectors.get_order(draft.number).state == State.DRAFT

    def test_another_draft_than_the_one_that_was_read_is_not_issued(self, draft: Order) -> None:
        """Who has read an earlier draft is told, and no number is taken."""
        first = services.issue_invoice(draft.number, by="ann").value
        services.void_invoice(first.key.text, reason="Wrong.", by="ann")
        later = services.draft_invoice(draft.number, by="ann").value
        with pytest.raises(StaleVersion, match=f"^{draft.text} was changed meanwhile") as caught:
            services.issue_invoice(draft.number, version=draft.version, by="bob")
        assert caught.value.current == later
        assert services.issue_invoice(draft.number, version=later.version, by="bob").value.key.number == 2

    def test_a_step_between_reading_and_issuing_is_noticed(self, draft: Order, monkeypatch: pytest.MonkeyPatch) -> None:
        """Between the read of the order and the write of its invoice nobody else issues it, or this request loses."""
        invoice_row, taken = store.invoice_row, []

        def issue_first(order: Order, **given: Any) -> dict[str, Any]:
            monkeypatch.setattr(store, "invoice_row", invoice_row)
            taken.append(services.issue_invoice(draft.number, by="bob").value)
            return invoice_row(order, **given)

        monkeypatch.setattr(store, "invoice_row", issue_first)
        with pytest.raises(OrderInvoiced, match="INV-"):
            services.issue_invoice(draft.number, by="ann")
        assert numbers_of(taken[0].key.year) == [1]
        assert taken[0].issued_by == "bob"

    def test_the_same_request_twice_at_once_gets_one_invoice(
        self, draft: Order, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two processes that carry out one request at the same moment answer with the same invoice."""
        invoice_row, taken = store.invoice_row, []

        def issue_first(order: Order, **given: Any) -> dict[str, Any]:
            monkeypatch.setattr(store, "invoice_row", invoice_row)
            taken.append(services.issue_invoice(draft.number, by="ann", idempotency_token="t"))
            return invoice_row(order, **given)

        monkeypatch.setattr(store, "invoice_row", issue_first)
        again = services.issue_invoice(draft.number, by="ann", idempotency_token="t")
        assert (again.value, again.replayed, taken[0].replayed) == (taken[0].value, True, False)

    @pytest.mark.needs_engine
    def test_a_lost_answer_issues_one_invoice(self, draft: Order, lose_answer: Callable[[], None]) -> None:
        """An invoice whose first answer was lost is issued once, and is this request's own."""
        issued()  # lists the year
        lose_answer()
        invoice = services.issue_invoice(draft.number, by="ann")
        assert not invoice.replayed
        assert numbers_of(today().year) == [2, 1]
        assert issued().key.number == 3

    def test_an_invoice_that_is_stored_is_not_denied(self, draft: Order, monkeypatch: pytest.MonkeyPatch) -> None:
        """A repeat that cannot read the invoice does not say that nothing was stored."""
        services.issue_invoice(draft.number, by="ann", idempotency_token="t")
        monkeypatch.setattr(store, "find_invoice", unreadable)
        with pytest.raises(SequenceUnavailable, match="may have been stored"):
            services.issue_invoice(draft.number, by="ann", idempotency_token="t")

    def test_a_refusal_that_the_order_does_not_explain(self, draft: Order, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the order is as it was read and its change is refused all the same, that is the error."""
        issuing = store.issuing

        def refused(order: Order, **given: Any) -> Update:
            action = issuing(order, **given)
            return replace(action, condition=f"{action.condition} AND #version <> :version")

        monkeypatch.setattr(store, "issuing", refused)
        with pytest.raises(AlsoRefused):
            services.issue_invoice(draft.number, by="ann")
        assert numbers_of(today().year) == []

    def test_issuing_costs_one_read_and_one_write(self, tables: str) -> None:
        """The order is read, and the invoice, its counter and its order are written together."""
        issued()
        number = drafted()
        operations = requests_from_now()
        services.issue_invoice(number, by="ann")
        assert operations == ["GetItem", "TransactWriteItems"]


class TestVoiding:
    def test_a_void_invoice_keeps_its_number_and_its_content(self, invoice: Invoice) -> None:
        """Voiding adds who, when and why, and changes nothing else."""
        void = services.void_invoice(invoice.key.text, reason="Wrong address.\nSent twice.", by="bob").value
        assert void.void is not None
        assert (void.void.by, void.void.reason) == ("bob", "Wrong address.\nSent twice.")
        assert replace(void, void=None) == invoice
        assert selectors.get_invoice(invoice.key.text) == void

    def test_the_order_can_be_invoiced_again(self, invoice: Invoice) -> None:
        """After voiding, another draft gets the next number; the order remembers both."""
        services.void_invoice(invoice.key.text, reason="Wrong.", by="bob")
        assert selectors.get_order(invoice.order).state == State.OPEN
        services.draft_invoice(invoice.order, by="ann")
        second = services.issue_invoice(invoice.order, by="ann").value
        assert second.key.number == 2
        order = selectors.get_order(invoice.order)
        assert (order.voided, order.invoice) == ((invoice.key,), second.key)

    def test_a_void_invoice_stays_as_it_is(self, invoice: Invoice) -> None:
        """Who voids it again gets the first reason, also when the order has another invoice by then."""
        first = services.void_invoice(invoice.key.text, reason="Wrong.", by="bob").value
        services.draft_invoice(invoice.order, by="ann")
        second = services.issue_invoice(invoice.order, by="ann").value
        again = services.void_invoice(invoice.key.text, reason="Another reason.", by="ann")
        assert (again.value, again.replayed) == (first, True)
        assert selectors.get_order(invoice.order).invoice == second.key

    def test_a_void_by_the_number_alone_opens_the_order(self, invoice: Invoice) -> None:
        """Whichever door it comes through: the command and the administration make the same change."""
        void("invoices", 1, period=str(invoice.key.year), by="eve", reason="Doubled.", dry_run=True)
        assert selectors.get_order(invoice.order).state == State.INVOICED
        void("invoices", 1, period=str(invoice.key.year), by="eve", reason="Doubled.")
        assert selectors.get_order(invoice.order).state == State.OPEN
        again = services.void_invoice(invoice.key.text, reason="Open the order.", by="ann")
        assert again.value.void is not None
        assert (again.value.void.reason, again.replayed) == ("Doubled.", True)

    @pytest.mark.parametrize("door", ["draft", "void", "command"])
    def test_a_void_that_was_stopped_before_it_opened_the_order(self, invoice: Invoice, door: str) -> None:
        """The next draft, and each repeat of the void, open it."""
        about: dict[str, Any] = {"period": str(invoice.key.year), "by": "eve", "reason": "Doubled."}
        value_voided.disconnect(services.open_order_of)
        try:
            void("invoices", 1, **about)
        finally:
            value_voided.connect(services.open_order_of)
        assert selectors.get_order(invoice.order).state == State.INVOICED
        match door:
            case "void":
                services.void_invoice(invoice.key.text, reason="Again.", by="ann")
            case "command":
                void("invoices", 1, **about)
        services.draft_invoice(invoice.order, by="ann")
        assert services.issue_invoice(invoice.order, by="ann").value.key.number == 2

    def test_a_void_number_of_another_sequence(self, invoice: Invoice) -> None:
        """A number without an invoice, and an order, open nothing."""
        void("orders", invoice.order, by="eve", reason="Withdrawn.")
        advance("invoices", to=3, period=str(invoice.key.year), by="eve", reason="Skip.")
        void("invoices", 2, period=str(invoice.key.year), by="eve", reason="Never was.")
        assert selectors.get_order(invoice.order).state == State.INVOICED

    def test_a_void_is_logged_once(self, invoice: Invoice, caplog: pytest.LogCaptureFixture) -> None:
        """The log says who made an invoice void, and nothing of a repeat."""
        with caplog.at_level("INFO", "tickets"):
            for by in ("bob", "ann"):
                services.void_invoice(invoice.key.text, reason="Wrong.", by=by)
        said = [record.getMessage() for record in caplog.records if "voided" in record.getMessage()]
        assert said == [f"invoice {invoice.key.text} voided by bob"]

    def test_two_who_void_at_once_agree(self, invoice: Invoice, monkeypatch: pytest.MonkeyPatch) -> None:
        """If somebody else voids it between the read and the write, their reason stays."""
        first = services.void_invoice(invoice.key.text, reason="First.", by="bob").value
        monkeypatch.setattr(selectors, "get_invoice", lambda text: invoice)
        again = services.void_invoice(invoice.key.text, reason="Second.", by="ann")
        assert (again.value.void, again.replayed) == (first.void, True)

    @pytest.mark.parametrize("reason", ["", " ", "x" * 501, None])
    def test_voiding_needs_a_reason(self, invoice: Invoice, reason: Any) -> None:
        """Without a reason an invoice stays in force."""
        with pytest.raises(InvalidInput):
            services.void_invoice(invoice.key.text, reason=reason, by="bob")
        assert selectors.get_invoice(invoice.key.text) == invoice

    @pytest.mark.needs_engine
    def test_a_lost_answer_voids_once(self, invoice: Invoice, lose_answer: Callable[[], None]) -> None:
        """A void whose answer was lost is this request's own."""
        lose_answer()
        void = services.void_invoice(invoice.key.text, reason="Wrong.", by="bob")
        assert not void.replayed
        assert selectors.get_invoice(invoice.key.text) == void.value

    def test_an_order_that_has_another_invoice_stays_closed(self, invoice: Invoice) -> None:
        """An invoice that is not the one in force of its order is not voided: one of the two rows is wrong."""
        other = replace(invoice, order=issued().order)
        with pytest.raises(WriteCancelled):
            store.void_invoice(other, Void(by="bob", at=invoice.issued_at, reason="x"))
        assert selectors.get_invoice(invoice.key.text) == invoice
        assert selectors.get_order(other.order).state == State.INVOICED

    def test_a_number_that_was_not_given_is_not_void(self, invoice: Invoice) -> None:
        """An invoice that does not exist cannot be voided, and the voids of the year stay as they are."""
        missing = replace(invoice, key=replace(invoice.key, number=7))
        with pytest.raises(InvoiceNotFound):
            store.void_invoice(missing, Void(by="bob", at=invoice.issued_at, reason="x"))
        assert numbers_of(invoice.key.year) == [1]


class TestFinding:
    def test_an_invoice_is_found_as_people_type_it(self, invoice: Invoice) -> None:
        """Case, spaces and zeros do not matter."""
        typed = invoice.key.text.lower().replace("-000001-", " - 1 - ")
        assert selectors.get_invoice(typed) == invoice
        assert selectors.find(typed) == invoice.key.text

    def test_a_wrong_check_digit_finds_nothing(self, invoice: Invoice) -> None:
        """A mistyped number is not taken for another invoice; the error says what is wrong."""
        wrong = invoice.key.text[:-1] + str((int(invoice.key.text[-1]) + 1) % 10)
        with pytest.raises(InvoiceNotFound, match="check digit"):
            selectors.get_invoice(wrong)
        with pytest.raises(NotFound, match="check digit"):
            selectors.find(wrong)

    @pytest.mark.parametrize("text", ["", "x", "1001", "INV-2026-000001", "ORD-12-3"])
    def test_another_text_finds_nothing(self, tables: str, text: str) -> None:
        """What is neither an order nor an invoice is not found."""
        with pytest.raises(NotFound):
            selectors.find(text)

    def test_an_invoice_keeps_its_text(self, invoice: Invoice) -> None:
        """The text is stored in the invoice, and read from there."""
        assert parse(invoice.key.text, "invoices").text == invoice.key.text
        found = store.find_invoice(invoice.key.year, invoice.key.number, "")
        assert found is not None
        assert found.key.text == invoice.key.text


class TestYears:
    def test_a_whole_year_shows_that_no_number_is_missing(self, tables: str, this_year: int) -> None:
        """A page that reaches from the newest invoice to the first one has seen every number."""
        invoices = [issued() for _ in range(3)]
        services.void_invoice(invoices[1].key.text, reason="Wrong.", by="ann")
        page = selectors.list_invoices(this_year)
        assert [invoice.key.number for invoice in page.results] == [3, 2, 1]
        assert (page.is_whole, page.missing, page.void_count) == (True, (), 1)
        assert (page.newest, page.oldest) == (3, 1)

    def test_an_empty_year_has_no_numbers(self, tables: str, this_year: int) -> None:
        """Where there was nothing to read, the page names no number, neither the newest nor the oldest."""
        page = selectors.list_invoices(this_year)
        assert (page.results, page.missing, page.newest, page.oldest) == ((), (), None, None)

    def test_pages_say_how_far_they_looked(self, tables: str, this_year: int) -> None:
        """A page speaks of its own numbers only, and the pages together of all."""
        for _ in range(5):
            issued()
        cursor, seen = None, []
        while True:
            page = selectors.list_invoices(this_year, cursor=cursor, limit=2)
            assert not page.is_whole
            seen.append((page.newest, page.oldest, page.missing))
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == [(5, 4, ()), (3, 2, ()), (1, 1, ())]

    @pytest.mark.parametrize(
        ("deleted", "missing"),
        [
            ({2}, [(2, 2)]),
            ({2, 3, 5}, [(5, 5), (2, 3)]),
            ({1}, [(1, 1)]),
            ({1, 2, 3}, [(1, 3)]),
        ],
    )
    def test_a_missing_number_is_shown(
        self, tables: str, this_year: int, deleted: set[int], missing: list[tuple[int, int]]
    ) -> None:
        """A number whose invoice somebody deleted is named, on whichever page it would be."""
        for _ in range(6):
            issued()
        for number in deleted:
            delete_invoice(this_year, number)
        wanted = tuple(Missing(first=first, last=last) for first, last in missing)
        for limit in (50, 3, 2, 1):
            cursor, found = None, list[Missing]()
            while True:
                page = selectors.list_invoices(this_year, cursor=cursor, limit=limit)
                found += page.missing
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert tuple(found) == wanted

    def test_entries_are_in_their_order(self, tables: str, this_year: int) -> None:
        """What is missing stands where it would be."""
        invoices = [issued() for _ in range(3)]
        delete_invoice(this_year, 2)
        assert selectors.list_invoices(this_year).entries == [
            replace(invoices[2]), Missing(first=2, last=2), invoices[0],
        ]  # fmt: skip

    def test_numbers_that_an_operator_skipped_are_not_missing(self, tables: str, this_year: int) -> None:
        """Numbers that a guarded change has passed have its reason; those that somebody deleted are missing."""
        for _ in range(2):
            issued()
        advance("invoices", to=5, by="eve", reason="Printed on paper.")
        issued()
        delete_invoice(this_year, 2)
        page = selectors.list_invoices()
        (skipped,) = page.skipped
        assert (skipped.first, skipped.last, skipped.void.reason) == (3, 5, "Printed on paper.")
        assert page.missing == (Missing(first=2, last=2),)
        assert page.entries == [page.results[0], skipped, page.missing[0], page.results[1]]

    def test_a_number_that_was_explained_is_skipped(self, tables: str, this_year: int) -> None:
        """A number that an operator voided is no invoice, and none that is missing."""
        for _ in range(3):
            issued()
        delete_invoice(this_year, 2)
        void("invoices", 2, period=str(this_year), by="ann", reason="Deleted by mistake.")
        page = selectors.list_invoices(this_year)
        assert (page.missing, page.void_count) == ((), 1)
        assert [(one.first, one.last, one.void.reason) for one in page.skipped] == [(2, 2, "Deleted by mistake.")]
        assert page.entries == [page.results[0], page.skipped[0], page.results[1]]
        with pytest.raises(InvoiceNotFound):
            selectors.get_invoice(format_value(2, "invoices", period=str(this_year)))

    def test_a_void_number_among_the_skipped(self, tables: str, this_year: int) -> None:
        """Numbers that a change has passed have its reason, but for one among them that has a reason of its own."""
        issued()
        advance("invoices", to=5, by="eve", reason="Printed on paper.")
        issued()
        void("invoices", 3, period=str(this_year), by="ann", reason="Torn.")
        page = selectors.list_invoices()
        found = sorted((one.first, one.last, one.void.reason) for one in page.skipped)
        assert found == [(2, 2, "Printed on paper."), (3, 3, "Torn."), (4, 5, "Printed on paper.")]
        assert page.missing == ()

    def test_an_empty_year_has_no_invoices(self, tables: str) -> None:
        """A year without invoices is an empty page."""
        page = selectors.list_invoices(2001)
        assert (page.entries, page.newest, page.next_cursor) == ([], None, None)

    def test_a_list_costs_one_query(self, invoice: Invoice) -> None:
        """A page is read by one query, without lines, too. The first of a year reads how far the numbers have come."""
        issued()
        operations = requests_from_now()
        first = selectors.list_invoices(whole=False, limit=1)
        assert first.results[0].lines == ()
        assert operations == ["GetItem", "Query"]
        del operations[:]
        assert selectors.list_invoices(cursor=first.next_cursor).results == (invoice,)
        assert selectors.list_orders(whole=False).results[0].lines == ()
        assert operations == ["Query", "Query"]

    @pytest.mark.parametrize("limit", [1, 50])
    def test_what_is_missing_at_the_end_is_shown(self, tables: str, this_year: int, limit: int) -> None:
        """The newest invoices were deleted: the list begins with their numbers, from either side."""
        for _ in range(4):
            issued()
        for number in (3, 4):
            delete_invoice(this_year, number)
        page = selectors.list_invoices(this_year, limit=limit)
        assert (page.newest, page.missing) == (4, (Missing(first=3, last=4),))
        if page.next_cursor:
            page = selectors.list_invoices(this_year, cursor=page.next_cursor, limit=limit)
            back = selectors.list_invoices(this_year, cursor=page.previous_cursor, limit=limit)
            assert (back.newest, back.missing) == (4, (Missing(first=3, last=4),))

    def test_a_series_that_was_advanced_is_no_gap(self, tables: str, this_year: int) -> None:
        """Numbers that an operator skipped at its end are shown as skipped at once."""
        issued()
        advance("invoices", to=3, period=str(this_year), by="eve", reason="Printed by hand.")
        page = selectors.list_invoices(this_year)
        assert (page.newest, page.missing) == (3, ())
        assert [(one.first, one.last, one.void.reason) for one in page.skipped] == [(2, 3, "Printed by hand.")]


class TestAnotherFormat:
    @pytest.fixture(autouse=True, params=["settings", "rules that are data"])
    def _format(self, invoice: Invoice, settings: Settings, request: pytest.FixtureRequest) -> None:
        """The first invoice is of before; the shop has another prefix now."""
        if request.param != "settings":
            series.create("invoices", None, series.Line(format="R{period}-{value:05d}"), by="ann", reason="A new name.")
            return
        entry = settings.SEQUENCES["invoices"]
        changed = {"FORMAT": "R{period}-{value:05d}", "ALSO_READ": [entry["FORMAT"]]}
        settings.SEQUENCES = {**settings.SEQUENCES, "invoices": {**entry, **changed}}

    def test_an_invoice_keeps_its_address(self, invoice: Invoice, browser: Client) -> None:
        """Its page, its search and its link are there, and the next invoice has the new text."""
        assert selectors.get_invoice(invoice.key.text) == invoice
        assert selectors.find(invoice.key.text.lower()) == invoice.key.text
        assert browser.get(f"/invoices/{invoice.key.text}/").status_code == 200
        assert browser.get(f"/find/?text={invoice.key.text}").headers["Location"] == f"/invoices/{invoice.key.text}/"
        assert issued().key.text == f"R{invoice.key.year}-00002"

    def test_an_invoice_is_voided(self, invoice: Invoice) -> None:
        """Its order can be invoiced again, under the new form."""
        services.void_invoice(invoice.key.text, reason="Wrong.", by="ann")
        services.draft_invoice(invoice.order, by="ann")
        assert services.issue_invoice(invoice.order, by="ann").value.key.text == f"R{invoice.key.year}-00002"

    def test_a_repeat_gets_the_invoice_as_it_was(self, tables: str, settings: Settings) -> None:
        """The order remembers which invoice a token has issued, whatever texts are read today."""
        number = drafted()
        first = services.issue_invoice(number, by="ann", idempotency_token="t").value
        settings.SEQUENCES = {
            **settings.SEQUENCES, "invoices": {**settings.SEQUENCES["invoices"], "FORMAT": "X{period}-{value}"},
        }  # fmt: skip
        again = services.issue_invoice(number, by="ann", idempotency_token="t")
        assert (again.value, again.replayed) == (first, True)

    def test_audits_find_every_year(self, tables: str, this_year: int, last_december: date) -> None:
        """The scopes of the invoices are the years that have some."""
        issued()
        issued(last_december)
        pages = strategies["invoices"].scopes
        assert [each.period for each in pages.page(None, 10)[0]] == [str(this_year - 1), str(this_year)]
        assert [each.period for each in pages.page(None, 10, period=str(this_year))[0]] == [str(this_year)]
