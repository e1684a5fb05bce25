"""The client of this process: made once, and known by what it reaches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest

from sequences import dynamodb
from sequences.dynamodb import client
from sequences.testing.callers import at_once


@pytest.fixture(autouse=True)
def _no_client(endpoint: str) -> Iterator[None]:
    """No client is made yet."""
    dynamodb.reset()
    yield
    dynamodb.reset()


def test_threads_that_meet_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that call first at the same moment share one client, made once."""
    made: list[object] = []

    class Slow(boto3.session.Session):
        def __init__(self, **given: Any) -> None:
            made.append(self)
            time.sleep(0.05)
            super().__init__(**given)

    monkeypatch.setattr(boto3.session, "Session", Slow)
    clients = at_once(8, lambda _: dynamodb.shared_client())
    assert len({id(client) for client in clients}) == 1
    assert len(made) == 1


def test_a_thread_that_does_not_finish_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller waits for the client of another thread only for a while: that thread may wait for what he holds."""
    monkeypatch.setattr(client, "MAKING_SECONDS", 0.05)
    making, finish = threading.Event(), threading.Event()

    class Stuck(boto3.session.Session):
        def __init__(self, **given: Any) -> None:
            if not making.is_set():
                making.set()
                finish.wait(timeout=10)
            super().__init__(**given)

    monkeypatch.setattr(boto3.session, "Session", Stuck)
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(dynamodb.shared_client)
        assert making.wait(timeout=10)
        assert dynamodb.shared_client().list_tables()
        assert not other.done()
        finish.set()
        assert other.result().list_tables()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("AWS_DEFAULT_REGION", "eu-central-1"), ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")],
)
def test_another_account(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another Region or endpoint has other tables; the same ones have the same."""
    account = dynamodb.account()
    dynamodb.reset()
    assert dynamodb.account() == account
    monkeypatch.setenv(variable, value)
    dynamodb.reset()
    assert dynamodb.account() != account


def test_how_it_sends() -> None:
    """A request is sent once, by connections that are kept alive, and waits so long and no longer."""
    config = vars(dynamodb.shared_client().meta.config)
    assert config["retries"] == {"mode": "standard", "total_max_attempts": 1}
    assert (config["connect_timeout"], config["read_timeout"], config["max_pool_connections"]) == (1.0, 3.0, 64)
    assert config["tcp_keepalive"] is True
