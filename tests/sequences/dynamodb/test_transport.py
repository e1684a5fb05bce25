"""Requests take the lean way, or boto3's own where botocore does not fit it: nothing else changes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from boto3.session import Session
from pytest_django import Settings

from sequences import dynamodb, put_next
from sequences.dynamodb.lean import LeanClient
from sequences.dynamodb.making import PARTS, way_of
from sequences.exceptions import OutcomeUnknown
from tests.sequences.support import asked_of_boto3, measured_by

POOLS_PART = "_endpoint.http_session._pool_classes_by_scheme"


class Without:
    """A client, or a part of one, that lacks a name below it, given by its path."""

    def __init__(self, whole: Any, path: str) -> None:
        self._whole, (self._name, _, self._rest) = whole, path.partition(".")

    def __getattr__(self, name: str) -> Any:
        if name != self._name:
            return getattr(self._whole, name)
        if not self._rest:
            raise AttributeError(f"it has no {name}")
        return Without(getattr(self._whole, name), self._rest)


@pytest.fixture(autouse=True)
def _no_client(configured: str, settings: Settings) -> Iterator[None]:
    settings.SEQUENCES_CLIENTS = {"default": {"LEAN": True}}
    dynamodb.reset()
    yield
    dynamodb.reset()


@pytest.fixture
def lack(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have new clients lack this part of botocore."""
    make = Session.client

    def lack(path: str) -> None:
        monkeypatch.setattr(Session, "client", lambda *args, **given: Without(make(*args, **given), path))

    return lack


def numbers(scope: str) -> list[int]:
    """The numbers of two items with tokens, stored one after the other."""
    return [put_next("sort-key", {}, scope=scope, idempotency_token=token).value for token in "ab"]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said of the transport."""
    return [record.getMessage() for record in caplog.records if "does not fit botocore" in record.getMessage()]


def asked_by_boto3() -> int:
    """How many of two requests go boto3's own way."""
    with asked_of_boto3() as seen:
        for _ in range(2):
            dynamodb.call("list_tables", {})
    return int(seen.call_count)


def test_nothing_is_missing(caplog: pytest.LogCaptureFixture, scope: str) -> None:
    """With the botocore of this project requests go the lean way, and nothing is said."""
    assert numbers(scope) == [1, 2]
    assert (asked_by_boto3(), dynamodb.transport_lacks(), warnings(caplog)) == (0, "", [])


def test_the_other_way_by_choice(settings: Settings, caplog: pytest.LogCaptureFixture, scope: str) -> None:
    """Without LEAN requests go boto3's own way; that is as chosen, and nothing is said."""
    settings.SEQUENCES_CLIENTS = {"default": {"LEAN": False}}
    dynamodb.reset()
    assert numbers(scope) == [1, 2]
    assert (asked_by_boto3(), dynamodb.transport_lacks(), warnings(caplog)) == (2, "", [])


@pytest.mark.parametrize("part", [POOLS_PART, *PARTS])
def test_a_part_is_gone(part: str, lack: Callable[[str], None], caplog: pytest.LogCaptureFixture, scope: str) -> None:
    """Without any of its parts numbers go on by boto3's own way, and one warning names the part."""
    lack(part)
    assert numbers(scope) == [1, 2]
    assert asked_by_boto3() == 2
    (warning,) = warnings(caplog)
    assert part.rpartition(".")[2] in warning
    assert dynamodb.transport_lacks() in warning


@pytest.mark.parametrize("module", ["connections", "lean"])
def test_a_module_that_cannot_be_imported(
    module: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, scope: str
) -> None:
    """So they do where a class is gone that the connections or the lean way import."""
    monkeypatch.setitem(sys.modules, f"sequences.dynamodb.{module}", None)
    assert numbers(scope) == [1, 2]
    assert asked_by_boto3() == 2
    assert [module in warning for warning in warnings(caplog)] == [True]


@pytest.mark.parametrize("error", [AttributeError("gone"), TypeError("takes 2 arguments"), KeyError("gone")])
def test_another_meaning(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, scope: str
) -> None:
    """What means something else in a release is seen at the first request, before anything is sent, and so they do."""
    monkeypatch.setattr(LeanClient, "_find_route", mock.Mock(side_effect=error))
    assert numbers(scope) == [1, 2]
    assert asked_by_boto3() == 2
    assert [str(error) in warning for warning in warnings(caplog)] == [True]


def test_without_our_connections(lack: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can say whether a part was sent, a request whose answer cannot be read may have been carried out."""
    lack(POOLS_PART)
    client = dynamodb.shared_client()
    monkeypatch.setattr(client._whole, "list_tables", mock.Mock(side_effect=TypeError))  # type: ignore[attr-defined]
    with pytest.raises(OutcomeUnknown):
        dynamodb.call("list_tables", {})


@pytest.mark.parametrize(("part", "transport"), [("", "lean"), (PARTS[0], "boto3")])
def test_metrics_tell_the_way(part: str, transport: str, lack: Callable[[str], None]) -> None:
    """A client counts under the way that its requests go."""
    if part:
        lack(part)
    recorder = mock.Mock()
    with measured_by(recorder):
        dynamodb.shared_client()
    (told,) = (call.args for call in recorder.record.call_args_list if call.args[0].name == "sequences.clients")
    assert told[1:] == (1, (transport,))


def test_which_way_is_chosen() -> None:
    """Without `lean` it is boto3's own way, and nothing is lacking."""
    client = Session().client("dynamodb", region_name="us-east-1")
    (lean, lacks), (own, lacks_also) = (way_of(client, lean=lean) for lean in (True, False))
    assert (getattr(lean, "__func__", None), lacks, lacks_also) == (LeanClient.call, "", "")
    assert getattr(own, "args", ()) == (client,)
