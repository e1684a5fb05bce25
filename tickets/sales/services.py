"""The writes: orders are stored; their invoices are drafted, issued and voided. The reads are in `selectors`.

What `tickets.services` says about arguments, errors of the store and idempotency tokens holds here, too. An order has
its number at once. An invoice gets its number when it is issued, so that drafts leave no gaps.
"""

import datetime
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.utils import timezone

from sequences import put_next
from sequences.exceptions import AlsoRefused, IdempotencyMismatch
from sequences.storage import new_token
from sequences.types import Change
from tickets import validators
from tickets.exceptions import InvoiceNotFound, OrderInvoiced, StaleVersion
from tickets.repeats import stored_already, token_of
from tickets.sales import companies, selectors, store
from tickets.sales.companies import INVOICES
from tickets.sales.selectors import ORDERS
from tickets.sales.types import CURRENCY, Draft, Invoice, Order
from tickets.sales.validators import ISSUE, ORDER, VOID
from tickets.tables import to_row
from tickets.types import Stored, Void

logger = logging.getLogger(__name__)


def create_order(
    *, customer: str, lines: Sequence[Mapping[str, Any]], by: str, idempotency_token: str | None = None
) -> Stored[Order]:
    """Store an order under the next number. Its total is the sum of its lines, exact to the cent.

    A repeat with the same token stores nothing, and returns the order as it is now, as long as the marker of the token
    is kept. Raises IdempotencyMismatch if the token was used for another order. Two writes.
    """
    content = validators.clean({"customer": customer, "lines": lines}, ORDER)
    about = {**content, "total": sum(line.amount for line in content["lines"])}
    now = timezone.now()
    fields = {**about, "created_by": by, "created_at": now, "version": 1}
    row = to_row({**fields, "currency": CURRENCY})
    allocation = put_next(ORDERS, row, idempotency_token=token_of(by, idempotency_token))
    if allocation.replayed:
        with stored_already():
            return Stored(value=selectors.get_order(allocation.value), replayed=True)
    order = Order(number=allocation.value, text=allocation.text, **fields, draft=None, issued=())
    return Stored(value=order, replayed=False, allocation=allocation)


def draft_invoice(number: int, *, by: str, idempotency_token: str | None = None) -> Stored[Order]:
    """Draft the invoice of an order. A draft has no number. An order that has a draft keeps it.

    Raises OrderNotFound, OrderVoided, and OrderInvoiced if the order has an invoice that is not void. One write.
    """
    token = token_of(by, idempotency_token) or new_token()
    draft = Draft(by=by, at=timezone.now())
    try:
        return store.draft_order(number, draft, token=token)
    except OrderInvoiced as error:
        key = error.current.invoice
        # Where it is void, the process that voided it was stopped before it opened the order.
        if not (key and _opened(key.year, key.number, key.company)):
            raise
    return store.draft_order(number, draft, token=token)


def open_order_of(*, change: Change, **_: object) -> None:
    """Open the order of an invoice that was voided by its number alone, as `manage.py sequences void` does."""
    if change.sequence == INVOICES and change.after is not None:
        _opened(int(change.period), change.after, change.scope or "")


def _opened(year: int, number: int, company: str) -> bool:
    """Open the order of an invoice that is void. False for one that is in force, or is not there."""
    invoice = store.find_invoice(year, number, company)
    if not (invoice and invoice.void):
        return False
    store.open_order_of(invoice)
    return True


def issue_invoice(
    number: int,
    *,
    date: datetime.date | str | None = None,
    company: str = "",
    version: int | None = None,
    by: str,
    idempotency_token: str | None = None,
) -> Stored[Invoice]:
    """Issue the drafted invoice of an order, under the next number of the year of its date. The default is today.

    The invoice counts in the series of `company`, which is empty for the main one.

    A draft is issued once: the invoice is stored and the draft used up in one transaction. The numbers
    of a year have no gaps. A repeat with the same token issues nothing and returns the invoice,
    for ever. Raises OrderNotFound, OrderVoided, NoDraft, OrderInvoiced, StaleVersion if the order is not at `version`,
    CompanyNotFound, and IdempotencyMismatch if the token was used for another date or company. One read and one write;
    a read more for a company with a key.
    """
    day = validators.clean({"date": date, "company": company}, ISSUE)["date"]
    token = token_of(by, idempotency_token) or new_token()
    order = selectors.get_order(number)
    if issued := _issued_before(order, token, day if date else None, company):
        return issued
    _require_issuable(order, version)
    companies.known(company)
    row = store.invoice_row(order, day=day, company=company, at=timezone.now(), by=by)
    issuing = store.issuing(order, year=day.year, company=company, token=token)
    try:
        allocation = put_next(INVOICES, row, scope=company or None, date=day, also=[issuing])
    except AlsoRefused as refused:
        current = store.order_from_row(refused.old)  # no order is ever deleted
        if issued := _issued_before(current, token, day if date else None, company):
            return issued
        _require_issuable(current, order.version)
        raise
    logger.info("order %s invoiced by %s: %s", order.number, by, allocation.text)
    invoice = store.invoice_from_row(store.as_issued(row, day.year, allocation))
    return Stored(value=invoice, replayed=False, allocation=allocation)


def _issued_before(order: Order, token: str, day: datetime.date | None, company: str) -> Stored[Invoice] | None:
    """The invoice that an earlier request with this token issued; None if there was none."""
    key = next((one.key for one in order.issued if one.token == token), None)
    if key is None:
        return None
    with stored_already():
        invoice = store.find_invoice(key.year, key.number, key.company)
    if invoice is None:
        raise InvoiceNotFound(key.text)
    if day not in (None, invoice.date):
        raise IdempotencyMismatch(f"The idempotency token was used to issue {key.text} with the date {invoice.date}.")
    if company != key.company:
        raise IdempotencyMismatch(
            f"The idempotency token was used to issue {key.text} for {key.company or 'the main company'}."
        )
    return Stored(value=invoice, replayed=True)


def _require_issuable(order: Order, version: int | None) -> None:
    """Raise NoDraft, OrderInvoiced, or StaleVersion if the order is not at this version."""
    selectors.require_draft(order)
    if version not in (None, order.version):
        raise StaleVersion(order, order.text)


def void_invoice(text: str, *, reason: str, by: str) -> Stored[Invoice]:
    """Make an invoice void. It keeps its number, its place and its content; its order can have another draft.

    An invoice that is void stays as it is, and is returned as replayed. Raises InvoiceNotFound. One read and one write.
    """
    about = validators.clean({"reason": reason}, VOID)
    invoice = selectors.get_invoice(text)
    void = store.void_invoice(invoice, Void(by=by, at=timezone.now(), **about))
    if not void.replayed:
        logger.info("invoice %s voided by %s", invoice.key.text, by)
    return Stored(value=replace(invoice, void=void.value), replayed=void.replayed)
