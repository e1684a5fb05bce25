"""The values that rooms exchange about orders and invoices. The limits of their fields are in `validators`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from operator import itemgetter
from typing import ClassVar

from tickets.types import Page, Void

CURRENCY = "EUR"


class State(StrEnum):
    """How far the invoice of an order is."""

    OPEN = "open"
    DRAFT = "draft"
    INVOICED = "invoiced"

    @property
    def label(self) -> str:
        """The state as people read it."""
        return {"open": "Not invoiced", "draft": "Draft", "invoiced": "Invoiced"}[self.value]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """Some pieces of one thing, and the price of one piece."""

    text: str
    quantity: int
    price: Decimal

    @property
    def amount(self) -> Decimal:
        """The price of all pieces, exact to the cent."""
        return self.price * self.quantity


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """Who drafted the invoice of an order, and when, and the token of the request for it."""

    by: str
    at: datetime
    token: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Company:
    """One of several companies that issue invoices, each in a series of its own.

    `format` and `start` are the texts and the first number of what it issues today.
    """

    key: str
    name: str
    format: str
    start: int


@dataclass(frozen=True, kw_only=True, slots=True)
class InvoiceKey:
    """The name of an invoice: number 42 of 2026, and its text. `company` is empty for the main one."""

    year: int
    number: int
    text: str
    company: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Issued:
    """An invoice that was issued for an order, and the token of the request for it."""

    key: InvoiceKey
    token: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One order. Its content never changes; `version` grows by 1 with each step of its invoice.

    One that an operator made void (`manage.py sequences void`) keeps its content, and gets no other invoice.

    `draft` stays when the draft is issued, and goes when the invoice is voided. `issued` has all invoices of the order,
    oldest first; all but one that is in force are void. A list leaves out the lines.
    """

    currency: ClassVar[str] = CURRENCY
    number: int
    text: str
    customer: str
    lines: tuple[Line, ...]
    total: Decimal
    created_by: str
    created_at: datetime
    version: int
    draft: Draft | None
    is_invoiced: bool = False
    issued: tuple[Issued, ...] = ()
    void: Void | None = None

    @property
    def invoice(self) -> InvoiceKey | None:
        """The invoice in force; None if there is none."""
        return self.issued[-1].key if self.is_invoiced else None

    @property
    def voided(self) -> tuple[InvoiceKey, ...]:
        """The invoices that were voided, oldest first."""
        return tuple(one.key for one in (self.issued[:-1] if self.is_invoiced else self.issued))

    @property
    def state(self) -> State:
        """How far its invoice is."""
        if self.is_invoiced:
            return State.INVOICED
        return State.DRAFT if self.draft else State.OPEN


@dataclass(frozen=True, kw_only=True, slots=True)
class Invoice:
    """One issued invoice. It never changes, but it can become void, and keeps its content then.

    `date` is the document's date, which says to which year it belongs. `digest` is the SHA-256 of its row when it was
    issued; empty for an invoice from before there was one. A list leaves out the lines.
    """

    currency: ClassVar[str] = CURRENCY
    key: InvoiceKey
    order: int
    order_text: str
    customer: str
    lines: tuple[Line, ...]
    total: Decimal
    date: date
    issued_by: str
    issued_at: datetime
    void: Void | None
    digest: str = ""


def sum_of(found: Iterable[Order | Invoice]) -> Decimal:
    """The total of some orders or invoices; void ones are left out."""
    return sum((one.total for one in found if not one.void), Decimal())


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """Numbers without an invoice, from `first` to `last`: somebody deleted rows behind the application's back."""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """Numbers that never were invoices, from `first` to `last`: an operator skipped or voided them, and said why."""

    first: int
    last: int
    void: Void


@dataclass(frozen=True, kw_only=True, slots=True)
class YearPage(Page[Invoice]):
    """Some invoices of a year, newest first, and what this page alone shows about their numbers.

    It was read from the number `newest` down to `oldest`; both are None if there was nothing to read. `from_newest` and
    `to_first` say whether the page reaches the end and the beginning of the year. Skipped numbers are not missing.
    """

    year: int
    company: str
    newest: int | None
    oldest: int | None
    from_newest: bool
    to_first: bool
    missing: tuple[Missing, ...]
    skipped: tuple[Skipped, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the page shows the whole year."""
        return self.from_newest and self.to_first

    @property
    def void_count(self) -> int:
        """How many of the numbers on the page are void."""
        skipped = sum(one.last - one.first + 1 for one in self.skipped)
        return skipped + sum(invoice.void is not None for invoice in self.results)

    @property
    def entries(self) -> list[Invoice | Missing | Skipped]:
        """The invoices, and what is skipped or missing between them, newest first."""
        places: list[tuple[int, Invoice | Missing | Skipped]] = [(gap.first, gap) for gap in self.missing]
        places += [(one.first, one) for one in self.skipped]
        places += [(invoice.key.number, invoice) for invoice in self.results]
        return [entry for _, entry in sorted(places, key=itemgetter(0), reverse=True)]
