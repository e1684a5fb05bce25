"""The people of these tests: one for each role in project ABC, and some without one."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.http.response import HttpResponseBase
from django.test import Client
from django.test.client import ClientHandler
from rest_framework.test import APIClient

from sequences import dynamodb
from sequences.storage import table_name
from sequences.testing.embedded import Engine
from sequences.testing.tables import stored_rows
from tests.sequences.support import tables_of
from tickets import project_services, services
from tickets.access import members
from tickets.store.members import accesses
from tickets.store.places import renames
from tickets.types import Project, Role

PEOPLE = ("stranger", *(role.value for role in Role), "staff", "superuser")
Rows = Mapping[str, list[Any]]
Made = dict[Callable[[], Project], tuple[Project, Rows]]


@pytest.fixture
def people(db: None) -> dict[str, User]:
    """An account for each role, and for a stranger, a member of the staff and a superuser. Nobody has a permission."""
    nothing = make_password(None)
    accounts = [
        User(username=name, password=nothing, is_staff=name in PEOPLE[-2:], is_superuser=name == "superuser")
        for name in PEOPLE
    ]
    return {account.username: account for account in User.objects.bulk_create(accounts)}


def make_shared() -> Project:
    """Project ABC with its members and a ticket."""
    project = project_services.create_project(key="ABC", name="Alphabet", by="owner").value
    for role in Role:
        members.set_member("ABC", role.value, role=role, by="owner")
    services.create_ticket("ABC", title="Printer on fire", reporter="owner")
    return project


def make_hidden() -> Project:
    """Project NEW, which was OLD, with a ticket."""
    project_services.create_project(key="OLD", name="Old", by="nobody")
    services.create_ticket("OLD", title="Secret", reporter="nobody")
    return project_services.update_project("OLD", changes={"key": "NEW"}, by="nobody")


@pytest.fixture(scope="package")
def _made() -> Made:
    """The projects that were made before, with all rows that this took."""
    return {}


@pytest.fixture
def stored(tables: str, engine: Engine, _made: Made) -> Callable[[Callable[[], Project]], Project]:
    """A function that stores what another one makes: it makes it once, and puts the same rows afterwards."""

    def store(make: Callable[[], Project]) -> Project:
        if make not in _made:
            with tables_of(settings.SEQUENCES, engine.endpoint):
                _made[make] = make(), rows_of("tickets", "sequences")
            accesses.forget()
            renames.forget()
        project, rows = _made[make]
        puts = {table: [{"PutRequest": {"Item": row}} for row in found] for table, found in rows.items() if found}
        puts = {table_name(table): requests for table, requests in puts.items()}
        dynamodb.call("batch_write_item", {"RequestItems": puts})
        renames.present(project.key)  # the process knows them now, as after the making
        return project

    return store


def rows_of(*tables: str) -> Rows:
    """What other tables may have of some tables' rows, with attribute values."""
    return {table: list(stored_rows([table_name(table)])[table_name(table)]) for table in tables}


@pytest.fixture
def shared(people: dict[str, User], stored: Callable[[Callable[[], Project]], Project]) -> Project:
    """Project ABC, which is closed, and in which each role has a person of this name."""
    return stored(make_shared)


@pytest.fixture
def hidden(people: dict[str, User], stored: Callable[[Callable[[], Project]], Project]) -> Project:
    """Project NEW, in which nobody has a role but somebody without an account. Its former key is OLD."""
    return stored(make_hidden)


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


class KnownHandler(ClientHandler):
    """What answers a browser whose person is known without a session, as `force_authenticate` does for programs."""

    def __init__(self, person: User) -> None:
        super().__init__(enforce_csrf_checks=False)
        self.person = person

    def get_response(self, request: Any) -> HttpResponseBase:
        """Answer a request of this person."""
        request._cached_user = self.person
        return super().get_response(request)


@pytest.fixture
def known_browser_of(people: dict[str, User]) -> Callable[[str], Client]:
    """A function that gives the browser of a person, for many requests: none of them looks for the account."""

    def browser(name: str) -> Client:
        client = Client()
        if name in people:
            client.handler = KnownHandler(people[name])
        return client

    return browser
