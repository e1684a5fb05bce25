"""The fixtures of this room's tests: people, projects, and faults of the store."""

import gc
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from sequences import dynamodb
from sequences.commit import retries
from sequences.exceptions import NotWritten, OutcomeUnknown, StorageError
from sequences.strategies import sort_key
from tickets import project_services, services
from tickets.types import Project, Ticket

PERMISSIONS = ["add_project", "view_order", "add_order", "view_invoice", "add_invoice", "issue_invoice", "void_invoice"]
PERMISSIONS += ["add_company", "view_sequence", "take_value"]
GIVE = f"""
    INSERT INTO auth_user_user_permissions (user_id, permission_id)
    SELECT %s, id FROM auth_permission WHERE codename IN ({", ".join(["%s"] * len(PERMISSIONS))})
"""
WRITES = {"put_item", "update_item", "transact_write_items"}


@pytest.fixture(scope="package", autouse=True)
def _remembered_numbers() -> Iterator[None]:
    """A slow machine forgets no last number between two calls, as tests count requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_key, "TAIL_SECONDS", 60.0)
        yield


@pytest.fixture
def ann(db: None) -> User:
    """A person with all permissions that pages and REST ask for; not one of the staff."""
    user = User.objects.create_user("ann")
    with connection.cursor() as cursor:  # models would take three times as long, in most tests of this room
        cursor.execute(GIVE, [user.pk, *PERMISSIONS])
    return user


@pytest.fixture
def browser(ann: User) -> Client:
    """Ann's browser, signed in: it has the key of a session. `force_login` would take six queries more."""
    client, known = Client(), {SESSION_KEY: str(ann.pk), HASH_SESSION_KEY: ann.get_session_auth_hash()}
    known[BACKEND_SESSION_KEY] = django_settings.AUTHENTICATION_BACKENDS[0]
    session = Session.objects.create(
        session_key=uuid4().hex,
        session_data=SessionStore().encode(known),
        expire_date=timezone.now() + timedelta(days=1),
    )
    client.cookies[django_settings.SESSION_COOKIE_NAME] = session.session_key
    return client


@pytest.fixture
def api(ann: User) -> APIClient:
    """A program that calls the API as Ann."""
    client = APIClient()
    client.force_authenticate(ann)
    return client


@pytest.fixture
def abc(tables: str) -> Project:
    """A project without tickets."""
    return project_services.create_project(key="ABC", name="Alphabet", by="ann").value


@pytest.fixture
def ticket(abc: Project) -> Ticket:
    """ABC-1."""
    return services.create_ticket(
        "ABC", title="Printer on fire", description="Third floor.", labels=["hot"], reporter="ann"
    ).ticket


@pytest.fixture
def store_away(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Callable[[], None]:
    """A function that makes the store stop answering. From then on deadlines are short."""
    hasty = {
        name: {**entry, "OPTIONS": {**entry.get("OPTIONS", {}), "deadline": 0.01}}
        for name, entry in settings.SEQUENCES.items()
    }

    def refuse(operation: str, request: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        raise NotWritten(f"{operation} was not answered.")

    def go_away() -> None:
        settings.SEQUENCES = hasty
        monkeypatch.setattr(retries, "Deadline", partial(retries.Deadline, seconds=0.01))
        monkeypatch.setattr(dynamodb, "call", refuse)

    return go_away


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage is collected during the test: where it uses up the stack, finalizers of former tests would fail."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still for what a process remembers for some seconds: no slow machine makes it read that again."""
    for memory in ("tickets.access.memory", "tickets.renames"):
        monkeypatch.setattr(f"{memory}.monotonic", lambda: 0.0)
    monkeypatch.setattr("sequences.strategies.lines.READ_ALL_SECONDS", math.inf)


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Callable[[type[StorageError]], None]:
    """A function that makes every read of a single row fail with the given error. Deadlines are short."""
    monkeypatch.setattr(retries, "Deadline", partial(retries.Deadline, seconds=1.0))

    def forbid(error: type[StorageError]) -> None:
        call = dynamodb.call

        def refuse(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
            if operation == "get_item":
                raise error("It cannot be read.")
            return call(operation, request, **limits)

        monkeypatch.setattr(dynamodb, "call", refuse)

    return forbid


@pytest.fixture
def lose_answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that loses the answer to the next write. The write is carried out."""
    call = dynamodb.call
    losing = False

    def lose(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        nonlocal losing
        answer = call(operation, request, **limits)
        if losing and operation in WRITES:
            losing = False
            raise OutcomeUnknown("The answer was lost.")
        return answer

    def arm() -> None:
        nonlocal losing
        losing = True

    monkeypatch.setattr(dynamodb, "call", lose)
    return arm


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that are sent to the store from now on."""
    call, operations = dynamodb.call, list[str]()

    def note(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        operations.append(operation)
        return call(operation, request, **limits)

    monkeypatch.setattr(dynamodb, "call", note)
    return operations
