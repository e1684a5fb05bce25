"""The list of tickets in the administration."""

import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils.html import escape

from sequences import dynamodb
from tests.people import allow
from tests.tickets.sales.support import issued
from tickets import services
from tickets.sales.types import Invoice
from tickets.types import Project, Ticket

LIST = "/admin/tickets/ticket/"
ORDERS, INVOICES = "/admin/tickets/order/", "/admin/tickets/invoice/"


@pytest.fixture
def invoice(tables: str) -> Invoice:
    """The invoice of the order ORD-1001."""
    return issued()


@pytest.fixture
def staff(ann: User) -> User:
    """Ann as a member of the staff, without any permission."""
    ann.is_staff = True
    ann.save()
    return ann


@pytest.fixture
def clerk(staff: User) -> User:
    """Ann as a member of the staff who may see tickets."""
    allow(staff, "tickets.view_ticket")
    return staff


def test_the_tickets_of_a_project_are_listed(browser: Client, clerk: User, ticket: Ticket) -> None:
    """Who has the permission sees the entry, the projects, and the tickets of one."""
    assert LIST in browser.get("/admin/").content.decode()
    assert "?project=ABC" in browser.get(LIST).content.decode()
    page = browser.get(f"{LIST}?project=ABC").content.decode()
    assert "ABC-1" in page
    assert "Printer on fire" in page


def test_the_heading_names_the_project(browser: Client, clerk: User, ticket: Ticket) -> None:
    """The list of a project's tickets has its name and its key above it."""
    assert "<h1>Alphabet (ABC)</h1>" in browser.get(f"{LIST}?project=ABC").content.decode()


TICKET_SPELLINGS = ["ABC-1", "abc-1", " ABC 1 ", "abc-001"]
PROJECT_SPELLINGS = ["ABC", "abc"]


def test_a_key_is_typed_to_go_to_its_page(browser: Client, clerk: User, ticket: Ticket, invoice: Invoice) -> None:
    """The box takes every spelling of a key or a number, and leads to the page that has it."""
    clerk.user_permissions.add(*Permission.objects.filter(codename__in=["view_order", "view_invoice"]))
    paths = {**dict.fromkeys(TICKET_SPELLINGS, "/ABC-1/"), **dict.fromkeys(PROJECT_SPELLINGS, "/ABC/")}
    paths |= {"ord-1001": "/orders/1001/", invoice.key.text: f"/invoices/{invoice.key.text}/"}
    for typed, path in paths.items():
        response = browser.get(LIST, {"find": typed})
        assert (response.status_code, response["Location"]) == (302, path), typed
    assert {browser.get(path).status_code for path in set(paths.values())} == {200}


def test_an_unknown_key_is_said_on_the_list(browser: Client, clerk: User, ticket: Ticket) -> None:
    """What there is not is said above the list, with what was typed in the box."""
    clerk.user_permissions.add(*Permission.objects.filter(codename__in=["view_order", "view_invoice"]))
    unknown = ["ABC-99", "XYZ", "XYZ-1", "ord-99999", "INV-1999-000001-0", "fire", "<b>", "A" * 9000]
    for typed, address in product(unknown, (LIST, ORDERS, INVOICES)):
        response = browser.get(address, {"find": typed})
        page = response.content.decode()
        assert response.status_code == 404, (typed, address)
        assert '<p class="errornote" role="alert">There is no ' in page, (typed, address)
        assert f'value="{escape(typed)}"' in page, (typed, address)


def test_the_box_tells_nobody_of_what_they_may_not_see(browser: Client, clerk: User, invoice: Invoice) -> None:
    """Who may see tickets alone learns nothing of orders: one that there is and one that there is not are alike."""
    clerk.user_permissions.set(Permission.objects.filter(codename="view_ticket"))
    assert [browser.get(LIST, {"find": f"ord-{number}"}).status_code for number in (1001, 99999)] == [302, 302]
    assert [browser.get(f"/orders/{number}/").status_code for number in (1001, 99999)] == [403, 403]


@pytest.mark.parametrize(("query", "most"), [("", 1), ("?project=ABC", 2), ("?find=ABC-1", 1), ("?find=ABC-99", 3)])
def test_a_page_costs_few_requests(
    still: None, browser: Client, clerk: User, ticket: Ticket, monkeypatch: pytest.MonkeyPatch, query: str, most: int
) -> None:
    """A list is one query, with the project's row above its tickets; the box adds its read."""
    browser.get(f"{LIST}?find=words")  # from here on the rules of orders and invoices are known
    sent: list[str] = []
    call = dynamodb.call

    def count(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        sent.append(operation)
        return call(operation, request, **limits)

    monkeypatch.setattr(dynamodb, "call", count)
    browser.get(f"{LIST}{query}")
    assert 1 <= len(sent) <= most


def test_a_store_that_is_away_is_said(
    browser: Client, clerk: User, ticket: Ticket, store_away: Callable[[], None]
) -> None:
    """The list and the box answer 503 with a page when DynamoDB does not."""
    store_away()
    assert {browser.get(f"{LIST}{query}").status_code for query in ("", "?project=ABC", "?find=ABC-1")} == {503}


def test_the_password_is_changed_on_the_page_that_counts_wrong_ones(browser: Client, staff: User) -> None:
    """The form of the administration, which has no limit, is not there: the link leads to ours."""
    for response in (browser.get("/admin/password_change/"), browser.post("/admin/password_change/", {})):
        assert (response.status_code, response["Location"]) == (302, "/password/")
    staff.set_password("a password")
    staff.save()
    browser.force_login(staff)
    assert 'href="/admin/password_change/"' in browser.get("/admin/").content.decode()


def test_the_list_goes_on_by_cursor(browser: Client, clerk: User, abc: Project) -> None:
    """The link to the next page leads to the older tickets of the same project."""
    for number in range(51):
        services.create_ticket("ABC", title=f"x{number}", reporter="ann")
    first = browser.get(f"{LIST}?project=ABC").content.decode()
    link = re.search(r'href="(\?project=ABC&amp;cursor=[^"]*)"', first)
    assert link is not None
    second = browser.get(LIST + link[1].replace("&amp;", "&")).content.decode()
    assert re.findall(r"ABC-\d+", re.sub(r'href="[^"]*"', "", second)) == ["ABC-1"]


def test_staff_without_the_permission_is_refused(browser: Client, staff: User, ticket: Ticket) -> None:
    """A member of the staff without the permission sees neither the entry nor the list."""
    assert LIST not in browser.get("/admin/").content.decode()
    assert browser.get(f"{LIST}?project=ABC").status_code == 403


def test_who_is_no_staff_must_sign_in(browser: Client, ticket: Ticket) -> None:
    """Who is signed in, but no member of the staff, is asked to sign in as one."""
    assert browser.get(LIST)["Location"].startswith("/admin/login/")


def test_no_other_address_is_an_error_of_the_server(browser: Client, clerk: User, ticket: Ticket) -> None:
    """The addresses that Django's own lists have lead nowhere, as does an unknown project."""
    for rest in ("add/", "1/", "1/change/", "1/delete/", "1/history/", "ABC-1/change/", "?project=XYZ", "?project="):
        for response in (browser.get(LIST + rest), browser.post(LIST + rest)):
            assert response.status_code in {403, 404}, rest


def test_a_made_up_cursor_is_refused(browser: Client, clerk: User, ticket: Ticket) -> None:
    """A cursor that no page gave is answered by a page."""
    assert browser.get(f"{LIST}?project=ABC&cursor=5:x").status_code == 400
