"""The SQL database, which has the accounts and the sessions, does not answer."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client
from rest_framework.test import APIClient

from tests.tickets.access.test_doors import TABLE, address
from tickets.api.authentication import TokenAuthentication, write_uses
from tickets.types import Project

SECRET = "could not connect to 10.1.2.3"
pytestmark = pytest.mark.django_db


@pytest.fixture(params=[OperationalError, InterfaceError])
def go_away(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """A function: from its call on, every query fails as it does without a server."""

    def refuse(*_: Any) -> None:
        raise request.param(SECRET)

    with ExitStack() as stack:
        yield lambda: stack.enter_context(connection.execute_wrapper(refuse))


def judged(response: Any) -> str:
    """The text of an answer that says what is away, when to ask again, and nothing about the servers."""
    assert response.status_code == 503
    assert response["Retry-After"]
    text = str(response.content.decode())
    assert "The database with the accounts does not answer." in text
    assert SECRET not in text
    return text


@pytest.mark.parametrize("path", ["/", "/ABC/", "/orders/", "/tokens/", "/admin/", "/api/projects/"])
def test_every_page_says_so(browser: Client, go_away: Callable[[], None], path: str) -> None:
    """No page is a 500, and nobody is signed out by it."""
    browser.raise_request_exception = False
    go_away()
    response = browser.get(path)
    judged(response)
    assert "sessionid" not in response.cookies


def test_the_log_says_why(browser: Client, go_away: Callable[[], None], caplog: pytest.LogCaptureFixture) -> None:
    """The operator reads what the database said, and where."""
    browser.raise_request_exception = False
    go_away()
    browser.get("/ABC/")
    [line] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.getMessage() == f"/ABC/ could not be served: {SECRET}"
    assert vars(line)["code"] == "accounts_away"


def test_a_sign_in_says_so(client: Client, go_away: Callable[[], None]) -> None:
    """Who signs in meanwhile is asked to try again; the page does not have the password."""
    client.raise_request_exception = False
    go_away()
    assert "ann's password" not in judged(client.post("/login/", {"username": "ann", "password": "ann's password"}))


def test_what_was_typed_is_kept(browser: Client, abc: Project, go_away: Callable[[], None]) -> None:
    """A ticket that is sent meanwhile can be sent again from the page."""
    browser.raise_request_exception = False
    go_away()
    assert 'value="Printer on fire"' in judged(browser.post("/ABC/new/", {"title": "Printer on fire"}))


def test_a_use_that_is_not_written(go_away: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be written when a token was used, the answer before stands."""
    monkeypatch.setattr(TokenAuthentication, "used", {1})
    go_away()
    write_uses()
    assert TokenAuthentication.used == set()


@pytest.mark.parametrize("name", [name for name in TABLE if name.startswith("api:")])
def test_rest_says_so(go_away: Callable[[], None], name: str) -> None:
    """A program with a token that the process does not know gets a problem, whatever it asks."""
    program = APIClient(headers={"Authorization": "Bearer tkt_unknown"}, raise_request_exception=False)
    go_away()
    response = partial(program.post, data={"username": "ann", "password": "x"}) if name == "api:token" else program.get
    answer = response(address(name, "ABC"))
    if answer.status_code not in (200, 302, 401, 405):  # asks for no account, as the page of the API, without a session
        judged(answer)
        assert answer.json()["code"] == "accounts_away"
