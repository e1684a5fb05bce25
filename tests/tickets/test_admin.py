"""The list of tickets in the administration."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tickets import services
from tickets.types import Project, Ticket

LIST = "/admin/tickets/ticket/"


@pytest.fixture
def staff(ann: User) -> User:
    """Ann as a member of the staff, without any permission."""
    ann.is_staff = True
    ann.save()
    return ann


@pytest.fixture
def clerk(staff: User) -> User:
    """Ann as a member of the staff who may see tickets."""
    staff.user_permissions.add(Permission.objects.get(codename="view_ticket"))
    return staff


def test_the_tickets_of_a_project_are_listed(browser: Client, clerk: User, ticket: Ticket) -> None:
    """Who has the permission sees the entry, the projects, and the tickets of one."""
    assert LIST in browser.get("/admin/").content.decode()
    assert "?project=ABC" in browser.get(LIST).content.decode()
    page = browser.get(f"{LIST}?project=ABC").content.decode()
    assert "ABC-1" in page
    assert "Printer on fire" in page


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


@pytest.mark.parametrize(
    "rest", ["add/", "1/", "1/change/", "1/delete/", "1/history/", "ABC-1/change/", "?project=XYZ", "?project="]
)
def test_no_other_address_is_an_error_of_the_server(browser: Client, clerk: User, ticket: Ticket, rest: str) -> None:
    """The addresses that Django's own lists have lead nowhere, as does an unknown project."""
    for response in (browser.get(LIST + rest), browser.post(LIST + rest)):
        assert response.status_code in {403, 404}


def test_a_made_up_cursor_is_refused(browser: Client, clerk: User, ticket: Ticket) -> None:
    """A cursor that no page gave is answered by a page."""
    assert browser.get(f"{LIST}?project=ABC&cursor=5:x").status_code == 400
