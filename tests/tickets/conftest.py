"""The fixtures of this room's tests: people, projects, and faults of the store."""

import gc
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from sequences import dynamodb
from sequences.commit import retries
from sequences.exceptions import NotWritten, OutcomeUnknown, StorageError
from tickets import project_services, services
from tickets.types import Project, Ticket

PERMISSIONS = ["add_project", "view_order", "add_order", "view_invoice", "add_invoice", "issue_invoice", "void_invoice"]
PERMISSIONS += ["add_company", "view_sequence", "take_value"]
WRITES = {"put_item", "update_item", "transact_write_items"}


@pytest.fixture
def ann(db: None) -> User:
    """A person with all permissions that pages and REST ask for; not one of the staff."""
    user, given = User.objects.create_user("ann"), User.user_permissions.through
    wanted = Permission.objects.filter(codename__in=PERMISSIONS).values_list("pk", flat=True)
    given.objects.bulk_create([given(user_id=user.pk, permission_id=permission) for permission in wanted])
    return user


@pytest.fixture
def browser(ann: User) -> Client:
    """Ann's browser, signed in."""
    client = Client()
    client.force_login(ann)
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
    tickets = settings.SEQUENCES["tickets"]
    hasty = {**tickets, "OPTIONS": {**tickets["OPTIONS"], "deadline": 0.01}}

    def refuse(operation: str, request: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        raise NotWritten(f"{operation} was not answered.")

    def go_away() -> None:
        settings.SEQUENCES = {**settings.SEQUENCES, "tickets": hasty}
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
    monkeypatch.setattr("sequences.strategies.line_texts.READ_ALL_SECONDS", math.inf)


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
