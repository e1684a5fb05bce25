"""The reads: one order or invoice, and lists by pages. The writes are in `services`.

Every read is consistent, and a cursor belongs to one list, as in `tickets.selectors`, which names the errors of the
store.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter

import sequences
from sequences import get_last_value, parse
from sequences.changes import history
from sequences.exceptions import InvalidText
from sequences.registry import strategies
from tickets import validators
from tickets.cursors import PAGE_SIZE, cursor_at, page_of, position_of
from tickets.exceptions import InvoiceNotFound, NoDraft, OrderInvoiced, OrderNotFound, OrderVoided
from tickets.sales import companies, store
from tickets.sales.companies import INVOICES
from tickets.sales.filters import EVERY_ONE, SalesFilter
from tickets.sales.types import Invoice, Missing, Order, Skipped, YearPage
from tickets.sales.validators import YEAR, today, typed_number
from tickets.tables import Row, Slice
from tickets.types import Page, Void

ORDERS = "orders"


def order_number(named: int | str) -> int:
    """The number, or the one in the text of an order, in any spelling. Raises OrderNotFound for another text."""
    try:
        return named if isinstance(named, int) else parse(named, ORDERS).value
    except InvalidText as error:
        raise OrderNotFound(named) from error


def find(text: str) -> int | str:
    """What people go to by this text: the number of an order, or the text of an invoice as it is written.

    Raises NotFound for any other text. It reads the rules alone, now and then (see `parse`).
    """
    try:
        return order_number(text)
    except OrderNotFound:
        with _read_as_invoice(text):
            return parse(text, INVOICES).text


def get_order(number: int) -> Order:
    """One order. Raises OrderNotFound. One read."""
    order = store.find_order(number)
    if order is None:
        raise OrderNotFound(number)
    return order


def get_draft(number: int) -> Order:
    """One order whose invoice is drafted. Raises OrderNotFound, NoDraft and OrderInvoiced. One read."""
    order = get_order(number)
    require_draft(order)
    return order


def require_draft(order: Order) -> None:
    """Raise OrderVoided, NoDraft or OrderInvoiced for an order whose invoice cannot be issued."""
    if order.void:
        raise OrderVoided(order)
    if order.invoice:
        raise OrderInvoiced(order)
    if not order.draft:
        raise NoDraft(order)


def list_orders(
    *, where: SalesFilter = EVERY_ONE, cursor: str | None = None, limit: int = PAGE_SIZE, whole: bool = True
) -> Page[Order]:
    """The orders, newest first. One query for each page. Lines are read only if `whole`.

    With a filter a page looks at up to 500 orders: it may be empty, and the list go on.
    """
    name = store.ORDERS if where == EVERY_ONE else f"{store.ORDERS} {where!r}"
    attributes = store.ORDER if whole else store.ORDER_SUMMARY

    def wants(row: Row) -> bool:
        return store.is_order(row) and where.wants(store.order_from_row(row))

    keep = None if where == EVERY_ONE else wants
    found = store.find(store.ORDERS, position_of(cursor, name), limit, attributes, keep)
    return page_of(replace(found, rows=tuple(filter(store.is_order, found.rows))), name, store.order_from_row)


def get_invoice(text: str) -> Invoice:
    """One invoice, even if it is void. Its text may be in any spelling that people use, and of a former FORMAT.

    Raises InvoiceNotFound, which says so if the check digit is wrong. One read, or one for each FORMAT of such a text.
    """
    with _read_as_invoice(text):
        found = sequences.find(text, INVOICES)
        if found is None or not store.is_invoice(found.item):
            raise InvoiceNotFound(parse(text, INVOICES).text)
    void = {"void": found.void} if found.void else {}
    named = {"sk": found.value, "text": found.text, "digest": found.digest}
    return store.invoice_from_row({**found.item, **void, **named})


@contextmanager
def _read_as_invoice(text: str) -> Iterator[None]:
    try:
        yield
    except InvalidText as error:
        raise InvoiceNotFound(text, str(error)) from error


def list_invoices(
    year: int | str | None = None,
    *,
    company: str = "",
    cursor: str | None = None,
    limit: int = PAGE_SIZE,
    whole: bool = True,
) -> YearPage:
    """The invoices of a company in a year, newest first; of this year if none is given. Void ones keep their places.

    The page says which of the numbers that it passed have no invoice; the first page begins with the last number that
    was given. One query for each page, and for the first a read of the counter; if numbers have no row, another one for
    each 100 changes of the sequence. For a company with a key its rules are read, too. Lines are read only if `whole`.
    """
    year = today().year if year is None else _known_year(year)
    scope, name = companies.known(company) or None, store.invoices_of(year, company)
    attributes = store.INVOICE if whole else store.INVOICE_SUMMARY
    at = position_of(cursor, name)
    # The counter is read first: what is issued meanwhile is above it, and no gap.
    given = None if at and not at.backwards else get_last_value(INVOICES, scope=scope, period=str(year))
    found = store.find(name, at, limit, attributes)
    numbers = strategies.of(INVOICES, scope, period=str(year)).numbers
    known = numbers.before_start if given is None else given
    newest = max([known, *(row["sk"] for row in found.rows[:1])]) if found.begins is None else found.begins - 1
    gaps = tuple(_missing(found, newest, numbers.start, numbers.step))
    passed = (newest, numbers.start if found.end is None else found.end) if found.rows or gaps else (None, None)
    skips = _skipped_by_changes(year, scope) if gaps else []
    parts = [part for gap in gaps for part in reversed(list(_explained(gap, skips)))]
    voided = [store.skipped_from_row(row) for row in found.rows if not store.is_invoice(row)]
    return YearPage(
        year=year,
        company=company,
        results=tuple(store.invoice_from_row(row) for row in found.rows if store.is_invoice(row)),
        skipped=(*voided, *(part for part in parts if isinstance(part, Skipped))),
        next_cursor=cursor_at(found.next, name),
        previous_cursor=cursor_at(found.previous, name),
        newest=passed[0],
        oldest=passed[1],
        from_newest=found.begins is None,
        to_first=found.end is None,
        missing=tuple(part for part in parts if isinstance(part, Missing)),
    )


def _known_year(year: int | str) -> int:
    """A year that invoices can be of. Raises InvalidInput."""
    return int(validators.clean({"year": typed_number(year)}, YEAR)["year"])


def search_invoices(
    year: int, *, where: SalesFilter, company: str = "", cursor: str | None = None, limit: int = PAGE_SIZE
) -> Page[Invoice]:
    """The invoices of a company in a year that a filter wants, newest first, without their lines.

    One query for each page. A page looks at up to 500 invoices: it may be empty, and the list go on. It says
    nothing about missing numbers.
    """
    year = _known_year(year)
    partition = store.invoices_of(year, companies.known(company))
    name = f"{partition} {where!r}"

    def wants(row: Row) -> bool:
        return store.is_invoice(row) and where.wants(store.invoice_from_row(row))

    found = store.find(partition, position_of(cursor, name), limit, store.INVOICE_SUMMARY, wants)
    return page_of(found, name, store.invoice_from_row)


def _missing(found: Slice, newest: int, start: int, step: int) -> Iterator[Missing]:
    """The numbers of a page that have no row, newest first; at the end of the list, down to the first one."""
    last = newest + step
    for number in [*(row["sk"] for row in found.rows), *([start - step] if found.end is None else [])]:
        if number < last - step:
            yield Missing(first=number + step, last=last - step)
        last = number


def _skipped_by_changes(year: int, scope: str | None) -> list[Skipped]:
    """The numbers of a year that guarded changes skipped, upwards."""
    changes, cursor = history(INVOICES, scope=scope, period=str(year))
    while cursor is not None:
        more, cursor = history(INVOICES, scope=scope, period=str(year), cursor=cursor)
        changes += more
    found = [
        Skipped(
            first=(change.before or 0) + 1,
            last=change.after or 0,
            void=Void(by=change.by, at=change.at, reason=change.reason),
        )
        for change in changes
    ]
    return sorted(found, key=attrgetter("first"))


def _explained(gap: Missing, skips: Iterable[Skipped]) -> Iterator[Missing | Skipped]:
    """The parts of a gap, upwards: what one of `skips` explains, and what is missing indeed."""
    first = gap.first
    for skip in skips:
        begin, end = max(first, skip.first), min(gap.last, skip.last)
        if begin <= end:
            if first < begin:
                yield Missing(first=first, last=begin - 1)
            yield replace(skip, first=begin, last=end)
            first = end + 1
    if first <= gap.last:
        yield Missing(first=first, last=gap.last)
