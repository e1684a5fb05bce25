"""The fixtures of the tests about orders and invoices."""

from datetime import date

import pytest
from django.utils import timezone

from tests.tickets.sales.support import LINES
from tickets.sales import services
from tickets.sales.types import Invoice, Order
from tickets.sales.validators import today


@pytest.fixture(autouse=True)
def _one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same day during a test, also at midnight."""
    day = today()
    monkeypatch.setattr(timezone, "localdate", lambda **_: day)


@pytest.fixture
def order(tables: str) -> Order:
    """ORD-1001, without a draft."""
    return services.create_order(customer="Ada", lines=LINES, by="ann").value


@pytest.fixture
def draft(order: Order) -> Order:
    """ORD-1001 with a draft."""
    return services.draft_invoice(order.number, by="ann").value


@pytest.fixture
def invoice(draft: Order) -> Invoice:
    """The first invoice of this year, of ORD-1001."""
    return services.issue_invoice(draft.number, by="ann").value


@pytest.fixture
def this_year() -> int:
    """The year of today."""
    return today().year


@pytest.fixture
def last_december(this_year: int) -> date:
    """A day of last year."""
    return date(this_year - 1, 12, 31)
