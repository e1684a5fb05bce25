"""Whether the site says that it lives, and that it can serve."""

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tickets import health
from tickets.health import READINESS, Health, Readiness

STORES = {"dynamodb": "ok", "sql": "ok"}


@pytest.fixture(autouse=True)
def _asks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test asks the stores itself."""
    monkeypatch.setattr(READINESS, "_until", 0.0)


def refuse() -> None:
    """A store that refuses."""
    raise ConnectionRefusedError("nobody is there")


def test_a_process_that_lives_says_so(client: Client) -> None:
    """`/healthz` asks no store, and nobody has to sign in."""
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer["Cache-Control"] == "no-store"


def test_stores_that_answer_are_ready(client: Client, tables: str, db: None) -> None:
    """`/readyz` asks both stores."""
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", **STORES})


def test_a_store_that_refuses_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that refuses makes it 503, with the kind of error and nothing of its text."""
    monkeypatch.setattr(health, "READINESS", Readiness({"dynamodb": refuse, "sql": lambda: None}))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "dynamodb": "ConnectionRefusedError", "sql": "ok"}


def test_a_store_that_hangs_is_not_awaited(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer makes it 503, and is asked by one thread, however often anybody looks."""
    released, asked = threading.Event(), []

    def hang() -> None:
        asked.append(1)
        released.wait()

    monkeypatch.setattr(health, "SECONDS", 0.05)
    monkeypatch.setattr(health, "REMEMBERED_SECONDS", 0.0)
    monkeypatch.setattr(health, "READINESS", Readiness({"dynamodb": hang, "sql": lambda: None}))
    for _ in range(3):
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json() == {"status": "unavailable", "dynamodb": "no answer within 0.05 s", "sql": "ok"}
    released.set()
    assert len(asked) == 1


def test_an_answer_is_remembered_for_a_moment() -> None:
    """Asking often asks the stores once."""
    asked: list[int] = []
    readiness = Readiness({"sql": lambda: asked.append(1)})
    assert [readiness.answer() for _ in range(20)] == [{"sql": "ok"}] * 20
    assert len(asked) == 1


def test_requests_at_the_same_moment_ask_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that comes while another one begins to ask waits for its answer."""
    asked: list[int] = []
    readiness, both = Readiness({"sql": lambda: asked.append(1)}), threading.Barrier(2)

    def executor(*args: Any, **options: Any) -> ThreadPoolExecutor:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # nobody else may come here
        return ThreadPoolExecutor(*args, **options)

    monkeypatch.setattr(health, "ThreadPoolExecutor", executor)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda _: readiness.answer(), range(2))) == [{"sql": "ok"}] * 2
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
    monkeypatch.setattr(health, "READINESS", Readiness({}))
    monkeypatch.setattr(READINESS, "stores", {})
    answers = [Client().get(path, headers={"Host": "10.0.0.7"}).status_code for _ in range(3)]
    assert answers[0] in (200, 503)
    assert len(set(answers)) == 1


@pytest.mark.parametrize("path", list(Health.answers))
def test_they_write_no_log_at_info(
    path: str, client: Client, tables: str, db: None, caplog: pytest.LogCaptureFixture
) -> None:
    """A monitor that looks every second fills no log."""
    with caplog.at_level(logging.INFO):
        client.get(path)
    assert caplog.messages == []


def test_only_reading_is_allowed(client: Client) -> None:
    """HEAD is as GET, without the body; other methods are 405."""
    assert client.head("/healthz").status_code == 200
    answer = client.post("/healthz")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_other_addresses_pass(client: Client) -> None:
    """What is no address of this middleware is for the site."""
    assert client.get("/readyz/x/").status_code == 404
