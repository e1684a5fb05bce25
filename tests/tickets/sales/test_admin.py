"""The lists of orders and invoices in the administration."""

from datetime import date

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.people import allow
from tests.tickets.sales.support import delete_invoice, issued
from tickets.sales.types import Invoice

ORDERS, INVOICES = "/admin/tickets/order/", "/admin/tickets/invoice/"


@pytest.fixture
def clerk(ann: User) -> User:
    """Ann as a member of the staff who may see orders, and no invoices."""
    ann.is_staff = True
    ann.save()
    ann.user_permissions.set(Permission.objects.filter(codename="view_order"))
    return ann


@pytest.fixture
def auditor(clerk: User) -> User:
    """Ann as a member of the staff who may see orders and invoices."""
    allow(clerk, "tickets.view_invoice")
    return clerk


def test_orders_and_invoices_are_listed(browser: Client, auditor: User, invoice: Invoice) -> None:
    """Who has the permission sees both lists, with links between them and to the pages."""
    menu = browser.get("/admin/").content.decode()
    assert ORDERS in menu
    assert INVOICES in menu
    for address in (ORDERS, INVOICES):
        page = browser.get(address).content.decode()
        assert "ORD-1001" in page
        assert f"/invoices/{invoice.key.text}/" in page
        assert "33.49 EUR" in page


def test_a_year_is_chosen(browser: Client, auditor: User, invoice: Invoice, last_december: date) -> None:
    """The list is of one year, and says what it shows about its numbers."""
    earlier = [issued(last_december) for _ in range(3)]
    delete_invoice(last_december.year, 2)
    page = browser.get(f"{INVOICES}?year={last_december.year}").content.decode()
    assert earlier[2].key.text in page
    assert invoice.key.text not in page
    assert "Number 2 is" in page
    assert browser.get(f"{INVOICES}?year=x").status_code == 400


def test_each_list_has_a_permission_of_its_own(browser: Client, clerk: User, invoice: Invoice) -> None:
    """Who may see orders may not see invoices."""
    assert INVOICES not in browser.get("/admin/").content.decode()
    assert browser.get(ORDERS).status_code == 200
    assert browser.get(INVOICES).status_code == 403


@pytest.mark.parametrize("rest", ["add/", "1/change/", "1/delete/", "1/history/"])
def test_no_other_address_is_an_error_of_the_server(browser: Client, auditor: User, tables: str, rest: str) -> None:
    """The addresses that Django's own lists have lead nowhere."""
    for address in (ORDERS, INVOICES):
        assert browser.get(address + rest).status_code == 404
