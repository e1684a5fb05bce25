"""Orders and invoices in a real browser: Chromium, driven by Playwright, where both are installed."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from tickets.sales import selectors, services
from tickets.services import create_project, create_ticket

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install the package chromium")
# So that it also runs as root, draws without a graphics card, and asks nobody for anything.
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture
def page(
    live_server: LiveServer, transactional_db: None, tables: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """A page of Chromium, with Ann signed in."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    User.objects.create_superuser("ann", password="ann's password")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(base_url=live_server.url)
        page.goto("/login/?next=/orders/")
        page.get_by_label("Username").fill("ann")
        page.get_by_label("Password").fill("ann's password")
        page.get_by_role("button", name="Sign in").click()
        yield page
        browser.close()


def order(page: Any, customer: str) -> None:
    """Store an order by its form."""
    page.get_by_role("link", name="Orders", exact=True).first.click()
    page.get_by_role("button", name="New order").click()
    page.get_by_label("Customer").fill(customer)
    page.get_by_label("Line 1: what").fill("Paper")
    page.get_by_label("Line 1: pieces").fill("3")
    page.get_by_label("Line 1: price of one in euros").fill("4.50")
    page.get_by_role("button", name="Store order").click()


def issue(page: Any, day: str | None = None) -> str:
    """Draft and issue the invoice of the order on the page. Returns its text."""
    page.get_by_role("button", name="Draft invoice").click()
    page.get_by_role("button", name="Issue invoice").click()
    if day:
        page.get_by_label("Date of the invoice").fill(day)
    page.get_by_role("button", name="Issue invoice").click()
    return str(page.url.rstrip("/").rpartition("/")[2])


def test_invoices_are_issued_voided_and_listed(page: Any, this_year: int) -> None:
    """A person orders, issues, voids, issues again, and reads the list of the year and that of the last one."""
    order(page, "Ada")
    first = issue(page)
    page.get_by_role("link", name="Void this invoice").click()
    page.get_by_label("Why?").fill("Wrong address.")
    page.get_by_role("button", name=f"Void {first}").click()
    assert "Wrong address." in page.inner_text("main")
    page.get_by_role("link", name="ORD-1001").click()
    second = issue(page)
    order(page, "Bob")
    earlier = issue(page, f"{this_year - 1}-12-31")
    page.get_by_role("link", name="Invoices", exact=True).first.click()
    assert page.inner_text("#found") == "2 invoices, numbers 1 to 2, no number missing; 1 void."
    assert [line.split()[0] for line in page.locator(".tickets > li").all_inner_texts()] == [second, first]
    page.get_by_role("link", name=str(this_year - 1), exact=True).click()
    assert [line.split()[0] for line in page.locator(".tickets > li").all_inner_texts()] == [earlier]
    assert [invoice.key.text for invoice in selectors.list_invoices().results] == [second, first]


def test_a_text_is_typed_to_go_to_its_page(page: Any) -> None:
    """The box on the list leads from what a person types to the order."""
    order(page, "Ada")
    page.get_by_role("link", name="Orders", exact=True).first.click()
    page.get_by_label("Go to an order or an invoice").fill("ord-1001")
    page.get_by_role("button", name="Go", exact=True).click()
    assert page.url.endswith("/orders/1001/")


def test_long_texts_and_large_amounts_fit_every_screen(page: Any) -> None:
    """No page of an order, nor the list of a project, is wider than the screen."""
    line = {"text": "x" * 200, "quantity": 10_000, "price": "1000000"}
    services.create_order(customer="W" * 200, lines=[line], by="ann")
    create_project(key="ABC", name="W" * 100, by="ann")
    create_ticket("ABC", title="W" * 200, assignee="a" * 150, labels=["L" * 40], reporter="ann")
    for width in (380, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        for address in ("/orders/", "/orders/1001/", "/ABC/"):
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth") == width, address
