"""Orders, invoices and voids from their rows."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tickets.sales.types import Draft, Invoice, InvoiceKey, Issued, Line, Order, Skipped
from tickets.tables import Row
from tickets.types import Void

CENT = Decimal("0.01")


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
        draft=Draft(by=draft["by"], at=datetime.fromisoformat(draft["at"])) if draft else None,
        is_invoiced="invoice" in row,
        issued=tuple(_issued_from_row(one) for one in row.get("issued", ())),
        void=void_from_row(row["void"]) if "void" in row else None,
    )


def _issued_from_row(row: Row) -> Issued:
    return Issued(key=InvoiceKey(year=row["year"], number=row["number"], text=row["text"]), token=row["token"])


def invoice_from_row(row: Row) -> Invoice:
    """An invoice from its row."""
    day = date.fromisoformat(row["date"])
    return Invoice(
        key=InvoiceKey(year=day.year, number=row["sk"], text=row["text"]),
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


def void_from_row(row: Row) -> Void:
    """Who made an invoice void, when and why."""
    return Void(by=row["by"], at=datetime.fromisoformat(row["at"]), reason=row["reason"])


def _lines_from_row(row: Row) -> tuple[Line, ...]:
    lines: Sequence[Mapping[str, Any]] = row.get("lines", ())
    return tuple(Line(text=line["text"], quantity=line["quantity"], price=_money(line["price"])) for line in lines)


def _money(stored: int | Decimal) -> Decimal:
    """An amount with its cents, which the store leaves out where they are zero."""
    return Decimal(stored).quantize(CENT)
