"""The errors of requests about orders and invoices; they belong to the tree in `tickets.exceptions`."""

from tickets.exceptions import ChangeRefused, NotFound
from tickets.sales.types import Order


class OrderNotFound(NotFound):
    """No order has this number."""

    def __init__(self, name: object) -> None:
        super().__init__(f"There is no order {name}.")


class InvoiceNotFound(NotFound):
    """No invoice has this number; `reason` says more if no invoice can have the text."""

    def __init__(self, name: object, reason: str = "") -> None:
        super().__init__(f"There is no invoice {name}. {reason}".strip())


class StaleOrder(ChangeRefused):
    """The order is not at the version that was read. Nothing was stored."""

    def __init__(self, current: Order) -> None:
        super().__init__(
            f"{current.text} was changed meanwhile and is at version {current.version} now. This request changed "
            "nothing. If you still want it, send it again for that version.",
            current,
        )


class OrderVoided(ChangeRefused):
    """An operator has withdrawn the order. Nothing was stored."""

    def __init__(self, current: Order) -> None:
        super().__init__(f"{current.text} was voided. No invoice can be made of it any more.", current)


class NoDraft(ChangeRefused):
    """The order has no draft: none was made, or its invoice was voided. Nothing was stored."""

    def __init__(self, current: Order) -> None:
        super().__init__(f"{current.text} has no draft of an invoice. Draft one, then issue it.", current)


class OrderInvoiced(ChangeRefused):
    """The order has an invoice. Nothing was stored."""

    def __init__(self, current: Order) -> None:
        named = current.invoice.text if current.invoice else "an invoice"
        super().__init__(
            f"{current.text} has the invoice {named} already. Void that one before you make another.", current
        )
