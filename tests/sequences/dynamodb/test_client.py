"""The client of this process: made once, and known by what it reaches."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import boto3
import pytest
from boto3.session import Session
from botocore.exceptions import NoCredentialsError
from pytest_django import Settings

from sequences import dynamodb, put_next
from sequences.dynamodb import client
from sequences.exceptions import NotConfigured, SequenceUnavailable
from sequences.strategies import Strategy
from sequences.testing.callers import at_once
from tests.sequences.support import Clock, wait_until


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


class Stuck:
    """Clients that nobody finishes before `finish`; `made` counts those that were begun."""

    def __init__(self) -> None:
        self.made = 0
        self.begun, self.finish = threading.Event(), threading.Event()

    def session(self, **given: Any) -> boto3.session.Session:
        self.made += 1
        if self.made == 1:
            self.begun.set()
            assert self.finish.wait(30)
        return Session(**given)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stuck]:
    """The first client is being made until the test lets it be finished."""
    stuck = Stuck()
    monkeypatch.setattr(boto3.session, "Session", stuck.session)
    yield stuck
    stuck.finish.set()


class TestSlowMaking:
    def test_callers_with_a_deadline(self, stuck: Stuck, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each is told in time that nothing was sent, also the first one; the client is made once, for later calls."""
        monkeypatch.setattr(client, "MAKING_SECONDS", 0.01)

        def call(_: int) -> str:
            with pytest.raises(dynamodb.ClientNotMade) as caught:
                dynamodb.call("list_tables", {}, seconds=0.1)
            return str(caught.value)

        assert set(at_once(8, call)) == {"The client is still being made."}
        stuck.finish.set()
        assert "TableNames" in dynamodb.call("list_tables", {}, seconds=30)
        assert stuck.made == 1

    @pytest.mark.parametrize("name", ["sort-key", "atomic", "block"])
    def test_what_the_functions_say(
        self, configured: str, name: str, stuck: Stuck, clock: Clock, install: Callable[..., Strategy]
    ) -> None:
        """A call that is over before there is a client says that nothing was stored."""
        install(name, clock=clock, deadline=0.1)
        with pytest.raises(SequenceUnavailable, match=r"still being made\. Gave up .* nothing was stored") as caught:
            put_next(name, {})
        assert not caught.value.outcome_unknown
        assert not stuck.finish.is_set()

    def test_a_caller_without_a_deadline(self, stuck: Stuck, monkeypatch: pytest.MonkeyPatch) -> None:
        """It waits only for a while: the thread that makes the client may wait for what the caller holds."""
        with pytest.raises(dynamodb.ClientNotMade):
            dynamodb.call("list_tables", {}, seconds=0.01)
        assert stuck.begun.wait(30)
        monkeypatch.setattr(client, "MAKING_SECONDS", 0.05)
        assert dynamodb.shared_client().list_tables()
        assert not stuck.finish.is_set()

    def test_one_that_was_begun_before_a_reset(self, stuck: Stuck, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is not used after the reset, whenever it is finished."""
        with pytest.raises(dynamodb.ClientNotMade):
            dynamodb.call("list_tables", {}, seconds=0.01)
        before = client._clients["default"]._making
        assert stuck.begun.wait(30)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        dynamodb.reset()
        made = dynamodb.shared_client()
        stuck.finish.set()
        wait_until(lambda: before.made)
        assert dynamodb.shared_client() is made

    def test_no_thread_can_be_started(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The caller makes the client itself."""
        monkeypatch.setattr(_thread, "start_new_thread", mock.Mock(side_effect=RuntimeError("can't start new thread")))
        assert "TableNames" in dynamodb.call("list_tables", {}, seconds=30)

    def test_an_error_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every caller hears why there is no client, and the next call tries again."""
        with monkeypatch.context() as patch:
            patch.setattr(boto3.session, "Session", mock.Mock(side_effect=NoCredentialsError))
            for _ in range(2):
                with pytest.raises(NotConfigured):
                    dynamodb.call("list_tables", {}, seconds=30)
        assert "TableNames" in dynamodb.call("list_tables", {}, seconds=30)

    def test_an_error_that_comes_after_a_reset(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It says nothing about the client that is made after the reset, which stays."""
        after: list[object] = []

        def reset_and_fail(**_: Any) -> None:
            dynamodb.reset()
            after.append(client._clients["default"]._making)
            raise NoCredentialsError

        monkeypatch.setattr(boto3.session, "Session", reset_and_fail)
        with pytest.raises(NotConfigured):
            dynamodb.call("list_tables", {}, seconds=30)
        assert [client._clients["default"]._making] == after


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


def test_how_it_sends(settings: Settings) -> None:
    """A request is sent once, by connections that are kept alive, and waits so long and no longer."""
    settings.SEQUENCES_CLIENTS = {}
    config = vars(dynamodb.shared_client().meta.config)
    assert config["retries"] == {"mode": "standard", "total_max_attempts": 1}
    assert (config["connect_timeout"], config["read_timeout"], config["max_pool_connections"]) == (1.0, 3.0, 64)
    assert config["tcp_keepalive"] is True


def test_the_time_for_making(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """What it takes to make the client is taken from the time of the request."""
    monkeypatch.setattr(client, "time", mock.Mock(monotonic=clock))
    ours, made = client._Client("default"), mock.Mock()

    def get(seconds: float) -> Any:
        clock.now += 2
        return made

    monkeypatch.setattr(ours, "get", get)
    assert ours.ready(5.0) == (made, 3.0)


@pytest.mark.parametrize(("endpoint_url", "arn"), [("https://any.amazonaws.com", "an arn"), ("http://localhost", "")])
def test_whose_name(monkeypatch: pytest.MonkeyPatch, endpoint_url: str, arn: str) -> None:
    """STS is asked once, by these credentials and in this Region, and only where the client leads to AWS."""
    session = mock.Mock()
    session.client().get_caller_identity.return_value = {"Arn": "an arn"}
    meta = mock.Mock(endpoint_url=endpoint_url, region_name="eu-west-1")
    monkeypatch.setattr(client, "shared_client", lambda alias: mock.Mock(meta=meta))
    monkeypatch.setattr("sequences.dynamodb.configuration.ClientOptions.session", lambda options: session)
    assert client.caller() == arn
    if arn:
        session.client.assert_called_with("sts", region_name="eu-west-1", config=mock.ANY)
        config = vars(session.client.call_args.kwargs["config"])
        assert (config["retries"], config["connect_timeout"]) == ({"total_max_attempts": 1}, 1.0)
        assert config["read_timeout"] == 3.0


def test_whose_name_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where STS does not answer, the error is one of ours."""
    session = mock.Mock()
    session.client().get_caller_identity.side_effect = NoCredentialsError()
    monkeypatch.setattr(
        client, "shared_client", lambda alias: mock.Mock(meta=mock.Mock(endpoint_url="https://any.amazonaws.com"))
    )
    monkeypatch.setattr("sequences.dynamodb.configuration.ClientOptions.session", lambda options: session)
    with pytest.raises(NotConfigured, match="Set AWS_DEFAULT_REGION and credentials"):
        client.caller()
