"""What the site says of its processes and of its stores."""

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.sequences.support import wait_until
from tickets import health, tables
from tickets.health import STORES, Health, Stores


@pytest.fixture(autouse=True)
def _asks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test asks the stores itself, and a store has the time that a slow machine takes."""
    monkeypatch.setattr(STORES, "_until", 0.0)
    monkeypatch.setattr(health, "SECONDS", 60.0)


def refuse() -> None:
    """A store that refuses."""
    raise ConnectionRefusedError("nobody is there")


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Put a function in the place of what asks DynamoDB; SQL is well."""

    def put(ask: Callable[[], None]) -> None:
        monkeypatch.setattr(health, "STORES", Stores({"dynamodb": ask, "sql": lambda: None}))

    return put


@pytest.mark.parametrize("path", sorted(health.OWN_STATE))
def test_a_process_asks_no_store_for_its_own_state(
    path: str, client: Client, stores: Callable[[Callable[[], None]], None]
) -> None:
    """It lives and takes requests, though a store is away; and nobody has to sign in."""
    stores(refuse)
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer["Cache-Control"] == "no-store"


def test_a_process_that_stops_lives(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """`/readyz` tells load balancers to send nothing more."""
    monkeypatch.setattr(health, "STOPPING", threading.Event())
    health.STOPPING.set()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "stopping"})
    assert client.get("/healthz").status_code == 200


def test_stores_that_answer(client: Client, tables: str, db: None) -> None:
    """`/storez` asks both stores."""
    answer = client.get("/storez")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "dynamodb": "ok", "sql": "ok"})


def test_a_store_that_refuses_is_named(client: Client, stores: Callable[[Callable[[], None]], None]) -> None:
    """A store that refuses makes it 503, with the kind of error and nothing of its text."""
    stores(refuse)
    answer = client.get("/storez")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "dynamodb": "ConnectionRefusedError", "sql": "ok"}


def test_a_store_that_hangs_is_not_awaited(
    client: Client, monkeypatch: pytest.MonkeyPatch, stores: Callable[[Callable[[], None]], None]
) -> None:
    """A store that does not answer makes it 503, and is asked by one thread, however often anybody looks."""
    released, asked, begun = threading.Event(), [], health.begun

    def hang() -> None:
        asked.append(threading.current_thread().name)
        released.wait(60)

    def begun_where_sql_answers(ask: Callable[[], None], name: str) -> "Future[None]":
        future = begun(ask, name)
        if ask is not hang:
            future.result()
        return future

    monkeypatch.setattr(health, "begun", begun_where_sql_answers)
    monkeypatch.setattr(health, "SECONDS", 0.05)
    monkeypatch.setattr(health, "REMEMBERED_SECONDS", 0.0)
    stores(hang)
    for _ in range(3):
        answer = client.get("/storez")
        assert answer.status_code == 503
        assert answer.json() == {"status": "unavailable", "dynamodb": "no answer within 0.05 s", "sql": "ok"}
    wait_until(lambda: asked)
    released.set()
    assert asked == ["storez-dynamodb_0"]


def test_an_answer_is_remembered_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking often asks the stores once in a second, also when the machine has just begun."""
    asked, clock = list[float](), SimpleNamespace(now=0.0)
    monkeypatch.setattr(health, "monotonic", lambda: clock.now)
    stores = Stores({"sql": lambda: asked.append(clock.now)})
    for clock.now in (0.0, 0.5, 0.9, 1.0, 1.9):
        assert stores.answer() == {"sql": "ok"}
    assert asked == [0.0, 1.0]


def test_what_a_store_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a row that does not exist: it belongs to no project."""
    asked = list[tuple[str, int]]()
    monkeypatch.setattr(tables.Rows, "get", lambda _, *place: asked.append(place))
    health.ask_dynamodb()
    assert asked == [("#health", 0)]


def test_requests_at_the_same_moment_ask_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that comes while another one begins to ask waits for its answer."""
    asked: list[int] = []
    stores, both = Stores({"sql": lambda: asked.append(1)}), threading.Barrier(2)

    def executor(*args: Any, **options: Any) -> ThreadPoolExecutor:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # nobody else may come here
        return ThreadPoolExecutor(*args, **options)

    monkeypatch.setattr(health, "REMEMBERED_SECONDS", 60.0)
    monkeypatch.setattr(health, "ThreadPoolExecutor", executor)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda _: stores.answer(), range(2))) == [{"sql": "ok"}] * 2
    assert len(asked) == 1


@pytest.mark.parametrize("path", list(Health.answers))
@pytest.mark.parametrize(
    "change",
    [
        lambda settings: setattr(settings, "SECURE_SSL_REDIRECT", True),
        lambda settings: setattr(settings, "ALLOWED_HOSTS", ["example.com"]),
        lambda settings: setattr(settings, "THROTTLES", {"user": "1/hour", "address": "1/hour"}),
    ],
)
def test_nothing_stands_before_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, path: str, change: Callable[[Settings], None]
) -> None:
    """Neither HTTPS, nor the name of the host, nor a throttle matters."""
    change(settings)
    monkeypatch.setattr(health, "STORES", Stores({}))
    answers = [Client().get(path, headers={"Host": "10.0.0.7"}).status_code for _ in range(3)]
    assert answers[0] in (200, 503)
    assert len(set(answers)) == 1


@pytest.mark.parametrize("path", list(Health.answers))
def test_they_write_no_log_at_info(
    path: str,
    client: Client,
    tables: str,
    db: None,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A monitor that looks every second fills no log. (A client of DynamoDB tells once where its credentials are.)"""
    client.get(path)
    monkeypatch.setattr(STORES, "_until", 0.0)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        client.get(path)
    assert caplog.messages == []


def test_only_reading_is_allowed(client: Client) -> None:
    """HEAD is as GET, without the body; other methods are 405."""
    answer = client.head("/healthz")
    assert (answer.status_code, answer.content, answer["Content-Length"]) == (200, b"", "16")
    answer = client.post("/healthz")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_other_addresses_pass(client: Client) -> None:
    """What is no address of this middleware is for the site."""
    assert client.get("/storez/x/").status_code == 404
