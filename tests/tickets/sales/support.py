"""What the tests about orders and invoices share."""

from __future__ import annotations

from datetime import date

from sequences import dynamodb
from sequences.storage import table_name
from tickets.sales import selectors, services, store
from tickets.sales.types import Invoice

LINES = [{"text": "Paper", "quantity": 3, "price": "4.50"}, {"text": "Ink", "quantity": 1, "price": "19.99"}]


def drafted(customer: str = "Ada") -> int:
    """The number of a new order with a draft."""
    number = services.create_order(customer=customer, lines=LINES, by="ann").value.number
    services.draft_invoice(number, by="ann")
    return number


def issued(day: date | None = None, customer: str = "Ada") -> Invoice:
    """A new invoice."""
    return services.issue_invoice(drafted(customer), date=day, by="ann").value


def numbers_of(year: int) -> list[int]:
    """The numbers of a year's invoices, newest first."""
    return [invoice.key.number for invoice in selectors.list_invoices(year).results]


def delete_invoice(year: int, number: int) -> None:
    """Delete the row of an invoice behind the application's back."""
    key = dynamodb.marshal({"pk": store.invoices_of(year), "sk": number})
    dynamodb.call("delete_item", {"TableName": table_name(store.TABLE), "Key": key})
