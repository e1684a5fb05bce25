"""A client that a tool makes of the document: each module of it can be used, and it does what people do first."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from tickets import selectors
from tickets.types import Project, TicketKey

PASSWORD = "ann's password"


@pytest.fixture(scope="module")
def client_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `made_client`: a client of the API, made of the document."""
    folder = tmp_path_factory.mktemp("client")
    document, config, package = (folder / name for name in ("schema.json", "config.yml", "made_client"))
    call_command("spectacular", file=str(document), format="openapi-json")
    config.write_text("post_hooks: []")
    options = ["--path", document, "--config", config, "--meta", "none", "--output-path", package]
    generate = [Path(sys.executable).with_name("openapi-python-client"), "generate", "--fail-on-warning", *options]
    subprocess.run([*map(str, generate)], check=True, capture_output=True)
    return folder


@pytest.fixture
def made(client_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package."""
    monkeypatch.syspath_prepend(client_folder)
    return importlib.import_module("made_client")


class Caller:
    """A program that knows nothing but the made client, and has signed in by it."""

    def __init__(self, made: Any, site: str) -> None:
        self.models = importlib.import_module("made_client.models")
        self.client = made.Client(base_url=site, follow_redirects=False, timeout=60)
        credentials = self.models.Credentials(username="ann", password=PASSWORD)
        token = self.call("auth.auth_token_create", body=credentials).parsed.token
        self.client = made.AuthenticatedClient(base_url=site, token=token, follow_redirects=False, timeout=60)

    def call(self, operation: str, *place: Any, **options: Any) -> Any:
        """The whole answer of an operation: its status, its headers, and what the client has read from it."""
        module = importlib.import_module(f"made_client.api.{operation}")
        return module.sync_detailed(*place, client=self.client, **options)

    def file(self, title: str, **options: Any) -> Any:
        """File a ticket in ABC."""
        return self.call("projects.projects_tickets_create", "ABC", body=self.models.NewTicket(title=title), **options)


@pytest.fixture
def caller(made: Any, live_server: LiveServer, abc: Project, ann: User) -> Caller:
    """Ann's program."""
    ann.set_password(PASSWORD)
    ann.save()
    return Caller(made, live_server.url)


def test_every_module_can_be_used(made: Any) -> None:
    """Python imports each module of the client."""
    names = [one.name for one in pkgutil.walk_packages(made.__path__, "made_client.")]
    assert len(names) > 100
    for name in names:
        importlib.import_module(name)


def test_sign_in_file_repeat_and_be_refused(caller: Caller) -> None:
    """It files a ticket once, whatever it repeats, and is shown what was wrong."""
    filed, again = (caller.file("Printer on fire", idempotency_key="6512bd43") for _ in range(2))
    assert filed.status_code == again.status_code == 201
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (filed.parsed.key, filed.parsed.status.value) == ("ABC-1", "open")
    assert again.parsed == filed.parsed == caller.call("tickets.tickets_retrieve", "ABC-1").parsed
    assert selectors.get_ticket(TicketKey.parse("ABC-1")).title == "Printer on fire"
    other, refused = caller.file("Ink", idempotency_key="6512bd43"), caller.file("")
    assert (other.status_code, other.parsed.code.value) == (422, "idempotency_mismatch")
    assert (refused.parsed.code.value, refused.parsed.errors[0].pointer) == ("invalid", "/title")


def test_change_what_was_read(caller: Caller) -> None:
    """It changes the version that it has read, keeps what is still so, and is led on from another spelling."""
    caller.file("Printer on fire")
    read = caller.call("tickets.tickets_retrieve", "ABC-1")
    done = caller.models.TicketChange(status=caller.models.ChosenStatus.DONE)
    changed, late = (
        caller.call("tickets.tickets_partial_update", "ABC-1", body=done, if_match=read.headers["ETag"])
        for _ in range(2)
    )
    assert (changed.status_code, changed.parsed.version) == (200, 2)
    assert (late.status_code, late.parsed.current["version"]) == (412, 2)
    kept = caller.call("tickets.tickets_retrieve", "ABC-1", if_none_match=changed.headers["ETag"])
    assert kept.status_code == 304
    led = caller.call("tickets.tickets_retrieve", "abc-1")
    assert (led.status_code, led.headers["Location"]) == (308, "/api/tickets/ABC-1/")


def test_comment_and_read_the_history(caller: Caller) -> None:
    """It comments on a ticket, and reads the history and the list, page by page."""
    for title in ("Printer on fire", "Ink"):
        caller.file(title)
    comment = caller.call("tickets.tickets_comments_create", "ABC-1", body=caller.models.NewComment(text="Out."))
    assert (comment.status_code, comment.parsed.number) == (201, 1)
    history = caller.call("tickets.tickets_history_list", "ABC-1").parsed
    assert [(event.kind.value, event.text) for event in history.results] == [("comment", "Out.")]
    first = caller.call("projects.projects_tickets_list", "ABC", limit=1).parsed
    cursor = first.next_.partition("cursor=")[2].partition("&")[0].replace("%3A", ":")
    second = caller.call("projects.projects_tickets_list", "ABC", limit=1, cursor=cursor).parsed
    assert [one.key for page in (first, second) for one in page.results] == ["ABC-2", "ABC-1"]
    assert second.next_ is None
