"""The people of these tests: one for each role in project ABC, and some without one."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from tickets import project_services, services
from tickets.access import members
from tickets.types import Project, Role

PEOPLE = ("stranger", *(role.value for role in Role), "staff", "superuser")


@pytest.fixture
def people(db: None) -> dict[str, User]:
    """An account for each role, and for a stranger, a member of the staff and a superuser. Nobody has a permission."""
    return {
        name: User.objects.create_user(name, is_staff=name in ("staff", "superuser"), is_superuser=name == "superuser")
        for name in PEOPLE
    }


@pytest.fixture
def shared(people: dict[str, User], tables: str) -> Project:
    """Project ABC, which is closed, and in which each role has a person of this name."""
    project = project_services.create_project(key="ABC", name="Alphabet", by="owner").value
    for role in Role:
        members.set_member("ABC", role.value, role=role, by="owner")
    services.create_ticket("ABC", title="Printer on fire", reporter="owner")
    return project


@pytest.fixture
def hidden(people: dict[str, User], tables: str) -> Project:
    """Project NEW, in which nobody has a role but somebody without an account. Its former key is OLD."""
    project_services.create_project(key="OLD", name="Old", by="nobody")
    services.create_ticket("OLD", title="Secret", reporter="nobody")
    return project_services.rename_project("OLD", new_key="NEW", by="nobody")


@pytest.fixture
def program(people: dict[str, User]) -> Callable[[str], APIClient]:
    """A function that gives the program of a person, which calls the API."""

    def program(name: str) -> APIClient:
        client = APIClient()
        if name in people:
            client.force_authenticate(people[name])
        return client

    return program


@pytest.fixture
def browser_of(people: dict[str, User]) -> Callable[[str], Client]:
    """A function that gives the browser of a person, who is signed in if they have an account."""

    def browser(name: str) -> Client:
        client = Client()
        if name in people:
            client.force_login(people[name])
        return client

    return browser
