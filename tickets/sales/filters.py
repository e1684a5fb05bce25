"""The filters of the lists of orders and invoices. Those of tickets are in `tickets.lists.filters`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tickets import validators
from tickets.characters import folded
from tickets.sales.types import Invoice, Order, State

ISSUED, VOID = "issued", "void"
ORDER_STATES = {**{state.value: state.label for state in State}, VOID: "Void"}
INVOICE_STATES = {ISSUED: "Issued", VOID: "Void"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SalesFilter:
    """Which orders or invoices a list shows: those for which everything holds that is given.

    `text` is searched in the customer and in the text of the number, as `folded` compares texts.
    """

    state: str | None = None
    text: str | None = None

    @classmethod
    def of(cls, asked: Mapping[str, Any], states: Mapping[str, str]) -> Self:
        """The filter that was asked for, with one of these states. Raises InvalidInput."""
        fields = {"state": validators.OneOf(tuple(states)), "text": validators.FILTER["text"]}
        return cls(**validators.clean({name: asked[name] for name in fields if asked.get(name, "").strip()}, fields))

    def wants(self, found: Order | Invoice) -> bool:
        """Whether the list shows this order or invoice."""
        number = found.text if isinstance(found, Order) else f"{found.key.text} {found.order_text}"
        text = f"{number} {found.customer}"
        return self.state in (None, _state(found)) and (self.text is None or folded(self.text) in folded(text))


EVERY_ONE = SalesFilter()


def _state(found: Order | Invoice) -> str:
    if found.void:
        return VOID
    return found.state if isinstance(found, Order) else ISSUED
