"""The rows of orders and invoices by themselves: what is read from them, and the exact writes that change them."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from sequences.actions import TEXT, VALUE, Update
from sequences.exceptions import CancellationReason, WriteCancelled
from sequences.storage import marshal, unmarshal
from sequences.types import Allocation
from tickets.exceptions import InvoiceNotFound, OrderInvoiced, OrderNotFound, OrderVoided
from tickets.sales import store
from tickets.sales.types import Draft, Invoice, InvoiceKey, Issued, Line, Order, Skipped
from tickets.tables import Position, Row, Rows
from tickets.types import Void

NOW, DAY = datetime(2026, 1, 31, 12, tzinfo=UTC), date(2026, 1, 31)
MADE: Row = {"by": "eve", "at": NOW.isoformat(), "reason": "Wrong."}
VOID = Void(by="eve", at=NOW, reason="Wrong.")
LINES: list[Row] = [{"text": "Paper", "quantity": 3, "price": Decimal("4.5")}]
ORDER: Row = {
    "pk": "orders##",
    "sk": 1001,
    "text": "ORD-1001",
    "customer": "Ada",
    "lines": LINES,
    "total": Decimal("13.5"),
    "created_by": "ann",
    "created_at": NOW.isoformat(),
    "version": 3,
}
INVOICED: Row = {**ORDER, "invoice": "INV-7", "issued": [{"year": 2026, "number": 7, "text": "INV-7", "token": "t"}]}
DRAFTED: Row = {"by": "bob", "at": NOW.isoformat(), "token": "t"}
INVOICE: Row = {
    "pk": "invoices#2026##",
    "sk": 7,
    "text": "INV-7",
    "order": 1001,
    "order_text": "ORD-1001",
    "customer": "Ada",
    "lines": LINES,
    "total": 13,
    "date": "2026-01-31",
    "issued_by": "ann",
    "issued_at": NOW.isoformat(),
}
KEY = InvoiceKey(year=2026, number=7, text="INV-7")
NORD = InvoiceKey(year=2026, number=7, text="INV-7", company="NORD")

Refuse = Callable[..., None]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Mapping[str, Any], str]]:
    """The writes that are sent, with their tokens. An update answers with the order."""
    sent = list[tuple[str, Mapping[str, Any], str]]()

    def write(operation: str, request: Mapping[str, Any], *, token: str) -> dict[str, Any]:
        sent.append((operation, request, token))
        return {"Attributes": marshal({**ORDER, "draft": DRAFTED})}

    monkeypatch.setattr(store, "write_once", write)
    return sent


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """A function that makes the first write fail on a row that is so; `after_unknown` if an answer was lost before."""

    def refuse(old: Row | None, *, code: str = "ConditionalCheckFailed", after_unknown: bool = False) -> None:
        error = WriteCancelled("no", (CancellationReason(code=code, old=old),))
        error.after_unknown = after_unknown
        errors = [error]

        def write(operation: str, request: Mapping[str, Any], *, token: str) -> dict[str, Any]:
            if errors:
                raise errors.pop()
            return {}

        monkeypatch.setattr(store, "write_once", write)

    return refuse


class TestReading:
    def test_a_row_is_an_order(self) -> None:
        """Each attribute has its field; amounts have their cents."""
        order = store.order_from_row(ORDER)
        line = Line(text="Paper", quantity=3, price=Decimal("4.50"))
        assert order == Order(
            number=1001,
            text="ORD-1001",
            customer="Ada",
            lines=(line,),
            total=Decimal("13.50"),
            created_by="ann",
            created_at=NOW,
            version=3,
            draft=None,
        )
        assert (str(order.total), str(order.lines[0].price)) == ("13.50", "4.50")

    def test_an_order_that_was_invoiced(self) -> None:
        """It has its draft, all invoices with their tokens, and who made it void."""
        issued = [
            {"year": 2026, "number": 7, "text": "INV-7", "token": "t", **more} for more in ({}, {"company": "NORD"})
        ]
        row = {**ORDER, "draft": DRAFTED, "issued": issued, "invoice": "INV-7", "void": MADE}
        order = store.order_from_row({name: value for name, value in row.items() if name != "lines"})
        assert (order.draft, order.is_invoiced, order.void, order.lines) == (Draft(by="bob", at=NOW), True, VOID, ())
        assert order.issued == (Issued(key=KEY, token="t"), Issued(key=NORD, token="t"))

    def test_a_row_is_an_invoice(self) -> None:
        """Each attribute has its field; one from before there were digests has none."""
        invoice = store.invoice_from_row(INVOICE)
        assert invoice == Invoice(
            key=KEY,
            order=1001,
            order_text="ORD-1001",
            customer="Ada",
            lines=(Line(text="Paper", quantity=3, price=Decimal("4.50")),),
            total=Decimal("13.00"),
            date=DAY,
            issued_by="ann",
            issued_at=NOW,
            void=None,
        )
        assert str(invoice.total) == "13.00"
        more = store.invoice_from_row({**INVOICE, "company": "NORD", "void": MADE, "digest": "d"})
        assert (more.key, more.void, more.digest) == (NORD, VOID, "d")

    def test_what_a_row_without_content_is(self) -> None:
        """It explains a number."""
        row = {"pk": "orders##", "sk": 5, "void": MADE}
        assert [store.is_order(one) for one in (ORDER, row)] == [True, False]
        assert [store.is_invoice(one) for one in (INVOICE, row)] == [True, False]
        assert store.skipped_from_row(row) == Skipped(first=5, last=5, void=VOID)

    @pytest.mark.parametrize("row", [None, {"sk": 5, "void": MADE}])
    def test_what_is_not_there(self, monkeypatch: pytest.MonkeyPatch, row: Row | None) -> None:
        """A missing row, and one without content, is no order and no invoice."""
        asked = list[tuple[str, int]]()

        def get(self: Rows, partition: str, number: int) -> Row | None:
            asked.append((partition, number))
            return row

        monkeypatch.setattr(Rows, "get", get)
        assert (store.find_order(5), store.find_invoice(2026, 5, ""), store.find_invoice(2026, 5, "NORD")) == (
            None,
        ) * 3
        assert asked == [("orders##", 5), ("invoices#2026##", 5), ("invoices#2026#NORD", 5)]

    def test_how_a_list_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Newest first, by one query: of so many rows as are wanted, or of 500 where some are left out."""
        asked, keep = list[Any](), lambda row: True
        for name in ("query", "search"):
            monkeypatch.setattr(
                Rows, name, lambda self, *given, name=name, **options: asked.append((name, given, options))
            )
        store.find("orders##", Position(5), 3, ("text",))
        store.find("orders##", None, 3, ("text",), keep)
        given = ("orders##", ("text",))
        assert asked == [
            ("query", given, {"at": Position(5), "limit": 3, "newest_first": True}),
            ("search", given, {"at": None, "limit": 3, "newest_first": True, "keep": keep, "at_once": 500}),
        ]


class TestDrafts:
    DRAFT = Draft(by="bob", at=NOW)

    def test_the_write_of_a_draft(self, sent: list[Any]) -> None:
        """It is for an order without a draft that is not void. The token of a row is the order's, and not looked at."""
        stored = store.draft_order(1001, self.DRAFT, token="t")
        assert (stored.value.draft, stored.replayed) == (self.DRAFT, False)
        [(operation, request, token)] = sent
        assert (operation, token, request["Key"]) == ("update_item", "", marshal({"pk": "orders##", "sk": 1001}))
        assert request["ConditionExpression"] == (
            "attribute_exists(#pk) AND attribute_not_exists(#draft)"
            " AND attribute_exists(customer) AND attribute_not_exists(#void) AND NOT contains(#drafted, :token)"
        )
        names = {"#void": "void", "#drafted": "drafted"}
        assert names.items() <= request["ExpressionAttributeNames"].items()
        assert unmarshal(request["ExpressionAttributeValues"])[":draft"] == DRAFTED

    @pytest.mark.parametrize(
        ("old", "error"),
        [
            (None, OrderNotFound),
            ({"sk": 1001, "void": MADE}, OrderNotFound),
            ({**ORDER, "void": MADE}, OrderVoided),
            (INVOICED, OrderInvoiced),
            ({**INVOICED, "draft": {**DRAFTED, "token": "other"}}, OrderInvoiced),
            ({**ORDER, "void": MADE, "draft": {**DRAFTED, "token": "other"}}, OrderVoided),
        ],
    )
    def test_what_cannot_be_drafted(self, refuse: Refuse, old: Row | None, error: type[Exception]) -> None:
        """An order that is not there, is void, or has an invoice by another request."""
        refuse(old)
        with pytest.raises(error):
            store.draft_order(1001, self.DRAFT, token="t")

    @pytest.mark.parametrize(
        ("more", "after_unknown", "replayed"),
        [
            ({"draft": DRAFTED}, False, True),
            ({"draft": DRAFTED}, True, False),
            ({"draft": {**DRAFTED, "token": "other"}}, True, True),
            ({"draft": DRAFTED, "invoice": "INV-7"}, False, True),
            ({"draft": DRAFTED, "void": MADE}, False, True),
            ({"drafted": ["other", "t"]}, False, True),
            ({"drafted": ["other", "t"], "void": MADE}, True, False),
        ],
    )
    def test_an_order_that_has_a_draft(self, refuse: Refuse, more: Row, after_unknown: bool, replayed: bool) -> None:
        """It stays as it is; only the request whose answer was lost has made the draft now."""
        refuse({**ORDER, **more}, after_unknown=after_unknown)
        assert store.draft_order(1001, self.DRAFT, token="t").replayed is replayed

    def test_another_reason_says_nothing(self, refuse: Refuse) -> None:
        """A write that was cancelled for another reason is no word about the order."""
        refuse(ORDER, code="ValidationError")
        with pytest.raises(WriteCancelled):
            store.draft_order(1001, self.DRAFT, token="t")


class TestInvoices:
    ISSUED = store.invoice_from_row({**INVOICE, "company": "NORD"})

    def test_what_is_stored_as_an_invoice(self) -> None:
        """The content of its order, and who issued it when; a company only beside the main one."""
        order = store.order_from_row(ORDER)
        row = store.invoice_row(order, day=DAY, company="", at=NOW, by="ann")
        assert row == {
            "order": 1001,
            "order_text": "ORD-1001",
            "customer": "Ada",
            "total": Decimal("13.5"),
            "date": "2026-01-31",
            "lines": LINES,
            "issued_by": "ann",
            "issued_at": NOW.isoformat(),
        }
        theirs = store.invoice_row(order, day=DAY, company="NORD", at=NOW, by="ann")
        assert theirs == {**row, "company": "NORD"}

    @pytest.mark.parametrize(("company", "place"), [("", "invoices#2026##"), ("NORD", "invoices#2026#NORD")])
    def test_an_invoice_as_it_was_issued(self, monkeypatch: pytest.MonkeyPatch, company: str, place: str) -> None:
        """It has its place, its text, and a digest of all of it."""
        monkeypatch.setattr(store, "digest_of", lambda sequence, row: (sequence, dict(row)))
        given = Allocation(
            sequence="invoices",
            scope=None,
            value=7,
            attempts=1,
            replayed=False,
            write_units=1,
            read_units=1,
            text="INV-7",
        )
        row: Row = {"customer": "Ada", **({"company": company} if company else {})}
        stored = {**row, "pk": place, "sk": 7, "text": "INV-7"}
        assert store.as_issued(row, 2026, given) == {**stored, "digest": ("invoices", stored)}
        assert store.invoices_of(2026, company) == place

    def test_the_change_of_an_order_that_is_invoiced(self) -> None:
        """It rides with the invoice, if the order is at its version and not void."""
        about = {"year": 2026, "company": "NORD", "number": VALUE, "text": TEXT, "token": "t"}
        order = store.order_from_row({**ORDER, "draft": DRAFTED})
        assert store.issuing(order, year=2026, company="NORD", token="t") == Update(
            "sales",
            {"pk": "orders##", "sk": 1001},
            update="SET #invoice = :text, #issued = list_append(if_not_exists(#issued, :none), :issued), "
            "#drafted = list_append(if_not_exists(#drafted, :none), :drafted), #version = #version + :one",
            condition="#version = :version AND attribute_not_exists(#void)",
            names={f"#{name}": name for name in ("invoice", "issued", "drafted", "version", "void")},
            values={":text": TEXT, ":issued": [about], ":drafted": ["t"], ":none": [], ":version": 3, ":one": 1},
        )
        (main,) = store.issuing(store.order_from_row(ORDER), year=2026, company="", token="t").values[":issued"]
        assert "company" not in main

    def test_the_writes_of_a_void(self, sent: list[Any]) -> None:
        """The invoice is struck if it is there and not void, and its order is open if it has this invoice still."""
        assert store.void_invoice(self.ISSUED, VOID).value == VOID
        [(operation, request, token)] = sent
        assert (operation, token) == ("transact_write_items", "")
        struck, opened = [action["Update"] for action in request["TransactItems"]]
        assert struck["Key"] == marshal({"pk": "invoices#2026#NORD", "sk": 7})
        assert struck["UpdateExpression"] == "SET #void = :void"
        assert struck["ConditionExpression"] == "attribute_exists(pk) AND attribute_not_exists(#void)"
        assert unmarshal(struck["ExpressionAttributeValues"]) == {":void": MADE}
        assert opened["Key"] == marshal({"pk": "orders##", "sk": 1001})
        assert opened["UpdateExpression"] == "SET #version = #version + :one REMOVE #draft, #invoice"
        assert opened["ConditionExpression"] == "#invoice = :text"
        assert unmarshal(opened["ExpressionAttributeValues"]) == {":one": 1, ":text": "INV-7"}
        names = {"#invoice": "invoice", "#version": "version", "#draft": "draft"}
        assert opened["ExpressionAttributeNames"] == names

    def test_the_order_of_a_void_invoice_is_opened(self, sent: list[Any], refuse: Refuse) -> None:
        """By the same write; one that has another invoice stays."""
        store.open_order_of(self.ISSUED)
        [(operation, request, token)] = sent
        assert (operation, token, request["Key"]) == ("update_item", "", marshal({"pk": "orders##", "sk": 1001}))
        refuse(None)
        store.open_order_of(self.ISSUED)

    def test_an_invoice_that_is_void_stays(self, refuse: Refuse) -> None:
        """Who comes second is told who was first; the first one whose answer was lost is no second."""
        other = {**MADE, "by": "bob"}
        refuse({**INVOICE, "void": other})
        again = store.void_invoice(self.ISSUED, VOID)
        assert (again.value.by, again.replayed) == ("bob", True)
        refuse({**INVOICE, "void": MADE})
        assert store.void_invoice(self.ISSUED, VOID).replayed is False

    @pytest.mark.parametrize(("old", "error"), [(None, InvoiceNotFound), (INVOICE, WriteCancelled)])
    def test_what_cannot_be_voided(self, refuse: Refuse, old: Row | None, error: type[Exception]) -> None:
        """An invoice that is not there, and one whose order says no."""
        refuse(old)
        with pytest.raises(error):
            store.void_invoice(self.ISSUED, VOID)
