"""The only room that knows the table of sales: its keys, its rows, and the conditions of its writes.

    ("orders##", 1001)         order ORD-1001; `sequences.put_next` stores it under the next number
    ("invoices#2026##", 42)    the 42nd invoice of 2026; `sequences.put_next` stores it when a draft is issued
    ("invoices#2026#NORD", 7)  the 7th invoice of the company NORD in that year

The counters and markers are in the same table, so that a restore of it is consistent. No row is ever deleted. An
order's row has its `draft`, the tokens of those before that were issued (`drafted`), all invoices that were `issued`,
and `invoice`, the text of the one in force:

    open --draft--> draft --issue--> invoiced --void--> open

Issuing stores the invoice, moves the counter and changes the order in one transaction. So a draft is issued once, and
the order is the lasting memory of it: it has the token of the request, no marker is needed, and none expires.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sequences.actions import TEXT, VALUE, Update
from sequences.exceptions import WriteCancelled
from sequences.storage import digest_of, marshal, new_token, transaction, unmarshal, update_version, write_once
from sequences.types import Allocation
from tickets.exceptions import InvoiceNotFound, OrderInvoiced, OrderNotFound, OrderVoided
from tickets.sales.types import Draft, Invoice, InvoiceKey, Issued, Line, Order, Skipped
from tickets.tables import ROWS_AT_ONCE, Position, Row, Rows, Slice, to_row, void_from_row
from tickets.types import Stored, Void

TABLE = "sales"
ORDERS = "orders##"
# The attributes in lists, and all attributes.
ORDER_SUMMARY = (
    "text",
    "customer",
    "total",
    "created_by",
    "created_at",
    "version",
    "draft",
    "invoice",
    "issued",
    "void",
)
INVOICE_SUMMARY = (
    "text",
    "company",
    "order",
    "order_text",
    "customer",
    "total",
    "date",
    "issued_by",
    "issued_at",
    "void",
)
ORDER = (*ORDER_SUMMARY, "lines")
INVOICE = (*INVOICE_SUMMARY, "lines", "digest")
CENT = Decimal("0.01")

_rows = Rows(TABLE, least=0)

Wish = Callable[[Row], bool] | None


def find_order(number: int) -> Order | None:
    """One order. One consistent read."""
    row = _rows.get(ORDERS, number)
    return order_from_row(row) if row and is_order(row) else None


def find(partition: str, at: Position | None, limit: int, attributes: Sequence[str], keep: Wish = None) -> Slice:
    """Rows of ORDERS or of a year's invoices, newest first, with the named attributes; with `keep` those that it wants.

    One query: of `limit` rows, or of ROWS_AT_ONCE with `keep`.
    """
    if keep is None:
        return _rows.query(partition, attributes, at=at, limit=limit, newest_first=True)
    return _rows.search(partition, attributes, at=at, limit=limit, newest_first=True, keep=keep, at_once=ROWS_AT_ONCE)


def find_invoice(year: int, number: int, company: str) -> Invoice | None:
    """One invoice. One consistent read."""
    row = _rows.get(invoices_of(year, company), number)
    return invoice_from_row(row) if row and is_invoice(row) else None


def draft_order(number: int, draft: Draft, *, token: str) -> Stored[Order]:
    """Give an order a draft. An order that has one already stays as it is, and is returned as replayed.

    So does one whose draft of this token was issued, also if the invoice is void by now. Raises OrderNotFound,
    OrderVoided, and OrderInvoiced if another request has drafted what is issued by now. One write.
    """
    schema = _rows.schema
    values = marshal({"draft": {**to_row({"by": draft.by, "at": draft.at}), "token": token}})
    request = update_version(schema, schema.key(ORDERS, number), values, version=None, unless="draft")
    request["ConditionExpression"] += (
        " AND attribute_exists(customer) AND attribute_not_exists(#void) AND NOT contains(#drafted, :token)"
    )
    request["ExpressionAttributeNames"] |= {"#void": "void", "#drafted": "drafted"}
    request["ExpressionAttributeValues"] |= marshal({":token": token})
    try:
        answer = write_once("update_item", request, token="")  # a row's own token is the order's
    except WriteCancelled as cancelled:
        old = _found(cancelled)
        if old is None or not is_order(old):
            raise OrderNotFound(number) from cancelled
        order = order_from_row(old)
        ours = token in old.get("drafted", ()) or (order.draft is not None and order.draft.token == token)
        if order.void and not ours:
            raise OrderVoided(order) from cancelled
        if order.is_invoiced and not ours:
            raise OrderInvoiced(order) from cancelled
        return Stored(value=order, replayed=not (ours and cancelled.after_unknown))
    return Stored(value=order_from_row(unmarshal(answer["Attributes"])), replayed=False)


def invoice_row(order: Order, *, day: date, company: str, at: datetime, by: str) -> dict[str, Any]:
    """What is stored as the invoice of an order: the content of the order as it is now."""
    about = {"order": order.number, "order_text": order.text, "customer": order.customer, "lines": order.lines}
    issued = {**_of_company(company), "date": day, "issued_by": by, "issued_at": at}
    return to_row({**about, "total": order.total, **issued})


def _of_company(company: str) -> dict[str, str]:
    """The attribute of a company; nothing for the main one."""
    return {"company": company} if company else {}


def as_issued(row: Row, year: int, allocation: Allocation) -> Row:
    """The row of an invoice as it is stored under its number."""
    place = invoices_of(year, row.get("company", ""))
    stored = {**row, "pk": place, "sk": allocation.value, "text": allocation.text}
    return {**stored, "digest": digest_of("invoices", stored)}


def issuing(order: Order, *, year: int, company: str, token: str) -> Update:
    """The change of an order that rides with its invoice, if the draft is still as it was read: at this version.

    Nor is the order void.
    """
    return Update(
        TABLE,
        {"pk": ORDERS, "sk": order.number},
        update="SET #invoice = :text, #issued = list_append(if_not_exists(#issued, :none), :issued), "
        "#drafted = list_append(if_not_exists(#drafted, :none), :drafted), #version = #version + :one",
        condition="#version = :version AND attribute_not_exists(#void)",
        names={f"#{name}": name for name in ("invoice", "issued", "drafted", "version", "void")},
        values={
            ":text": TEXT,
            ":issued": [{"year": year, **_of_company(company), "number": VALUE, "text": TEXT, "token": token}],
            ":drafted": [order.draft.token] if order.draft else [],
            ":none": [],
            ":version": order.version,
            ":one": 1,
        },
    )


def void_invoice(invoice: Invoice, void: Void) -> Stored[Void]:
    """Make an invoice void, and its order open for another draft. An invoice that is void stays as it is.

    One transaction of two rows: 4 write units, if each has at most 1 KB.
    """
    struck = Update(
        TABLE,
        {"pk": invoices_of(invoice.key.year, invoice.key.company), "sk": invoice.key.number},
        update="SET #void = :void",
        condition="attribute_exists(pk) AND attribute_not_exists(#void)",
        names={"#void": "void"},
        values={":void": to_row({"by": void.by, "at": void.at, "reason": void.reason})},
    )
    actions = [action.wire() for action in (struck, _opening(invoice))]
    request = transaction(actions, request_token=new_token())
    try:
        write_once("transact_write_items", request, token="")
    except WriteCancelled as cancelled:
        old = _found(cancelled)
        if old is None:
            raise InvoiceNotFound(invoice.key.text) from cancelled
        if "void" not in old:
            raise
        stored = void_from_row(old["void"])
        if stored != void:
            open_order_of(invoice)
        return Stored(value=stored, replayed=stored != void)
    return Stored(value=void, replayed=False)


def open_order_of(invoice: Invoice) -> None:
    """Open the order of a void invoice for another draft; one that has another invoice stays. One write."""
    with suppress(WriteCancelled):
        write_once("update_item", _opening(invoice).wire()["Update"], token="")


def _opening(invoice: Invoice) -> Update:
    """The change of an order after which this is not its invoice any more."""
    return Update(
        TABLE,
        {"pk": ORDERS, "sk": invoice.order},
        update="SET #version = #version + :one REMOVE #draft, #invoice",
        condition="#invoice = :text",
        names={f"#{name}": name for name in ("invoice", "version", "draft")},
        values={":one": 1, ":text": invoice.key.text},
    )


def _found(cancelled: WriteCancelled) -> Row | None:
    """The row on which the condition of the first action failed; None if it is missing.

    Raises a cancelled write again if that condition did not fail: other reasons say nothing about the row.
    """
    if cancelled.reasons[0].code != "ConditionalCheckFailed":
        raise cancelled
    return cancelled.reasons[0].old


def invoices_of(year: int, company: str = "") -> str:
    """The partition of a year's invoices: of the main company, or of another one."""
    return f"invoices#{year}#{company or '#'}"


def is_order(row: Row) -> bool:
    """Whether a row is an order; `manage.py sequences void` explains a value without one by a row without content."""
    return "customer" in row


def order_from_row(row: Row) -> Order:
    """An order from its row."""
    draft = row.get("draft")
    return Order(
        number=row["sk"],
        text=row["text"],
        customer=row["customer"],
        lines=_lines_from_row(row),
        total=_money(row["total"]),
        created_by=row["created_by"],
        created_at=datetime.fromisoformat(row["created_at"]),
        version=row["version"],
        draft=Draft(**{**draft, "at": datetime.fromisoformat(draft["at"])}) if draft else None,
        is_invoiced="invoice" in row,
        issued=tuple(_issued_from_row(one) for one in row.get("issued", ())),
        void=void_from_row(row["void"]) if "void" in row else None,
    )


def _issued_from_row(row: Row) -> Issued:
    key = InvoiceKey(year=row["year"], number=row["number"], text=row["text"], company=row.get("company", ""))
    return Issued(key=key, token=row["token"])


def invoice_from_row(row: Row) -> Invoice:
    """An invoice from its row."""
    day = date.fromisoformat(row["date"])
    return Invoice(
        key=InvoiceKey(year=day.year, number=row["sk"], text=row["text"], company=row.get("company", "")),
        order=row["order"],
        order_text=row["order_text"],
        customer=row["customer"],
        lines=_lines_from_row(row),
        total=_money(row["total"]),
        date=day,
        issued_by=row["issued_by"],
        issued_at=datetime.fromisoformat(row["issued_at"]),
        void=void_from_row(row["void"]) if "void" in row else None,
        digest=row.get("digest", ""),
    )


def is_invoice(row: Row) -> bool:
    """Whether a row of a year is an invoice; `manage.py sequences void` explains a number by a row without content."""
    return "order" in row


def skipped_from_row(row: Row) -> Skipped:
    """A number without an invoice that somebody has explained."""
    return Skipped(first=row["sk"], last=row["sk"], void=void_from_row(row["void"]))


def _lines_from_row(row: Row) -> tuple[Line, ...]:
    lines: Sequence[Mapping[str, Any]] = row.get("lines", ())
    return tuple(Line(text=line["text"], quantity=line["quantity"], price=_money(line["price"])) for line in lines)


def _money(stored: int | Decimal) -> Decimal:
    """An amount with its cents, which the store leaves out where they are zero."""
    return Decimal(stored).quantize(CENT)
