"""The lean client beside botocore's own: the same answers, errors, events and credentials."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from botocore import UNSIGNED
from botocore.auth import SigV4Auth
from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials
from pytest_django import Settings

from sequences import dynamodb, put_next
from sequences.dynamodb import lean, marshal, unmarshal, values
from sequences.dynamodb.client import transport_lacks
from sequences.dynamodb.connections import exchange
from sequences.exceptions import InvalidItem, NotConfigured, NotWritten, SequenceError, WriteCancelled
from tests.attacks.test_limits import nested
from tests.sequences.dynamodb.test_signing import headers_of
from tests.sequences.support import asked_of_boto3, bound_port, handled

ITEM: Mapping[str, Any] = {
    "text": 'Größe 10\u2033 \U0001f525 "quoted" \\ \n',
    "number": 10**37,
    "binary": b"\x00\xff bytes",
    "flag": True,
    "nothing": None,
    "texts": {"a", "ä"},
    "numbers": {1, 22},
    "binaries": {b"1", b"\xfe"},
    "list": [1, "a", b"b", [None, {"deep": b"c"}]],
    "map": {"a.b": {"c": [1]}},
}


CLIENTS = ("lean", "boto3")
KEYS = ReadOnlyCredentials("key", "secret", None)


class Own(SigV4Auth):
    """An application's own signature."""


@contextmanager
def by(client: str, settings: Settings) -> Iterator[None]:
    """Send what the body sends by this client."""
    settings.SEQUENCES_CLIENTS = {"default": {"LEAN": client == "lean"}}
    dynamodb.reset()
    yield
    dynamodb.reset()


@contextmanager
def sent() -> Iterator[list[dict[str, str]]]:
    """Note the headers of each lean request."""
    headers: list[dict[str, str]] = []

    def note(pool: Any, request: bytes, url: str) -> Any:
        headers.append(headers_of(request))
        return exchange(pool, request, url)

    with mock.patch.object(lean, "exchange", note):
        yield headers


def put(key: str) -> dict[str, Any]:
    """A request that puts an item under a key of its own."""
    item = {"pk": {"S": key}, "sk": {"N": "1"}, **marshal(ITEM)}
    return {"TableName": dynamodb.table_name("sequence_items"), "Item": item}


def outcome(operation: str, request: Mapping[str, Any]) -> object:
    """What a call answers or raises, without what differs from request to request."""
    try:
        answer = dynamodb.call(operation, request)
    except SequenceError as error:
        return type(error), str(error), getattr(error, "reasons", None)
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


@pytest.mark.parametrize("writer", CLIENTS)
@pytest.mark.parametrize("reader", CLIENTS)
def test_items_of_every_type(configured: str, scope: str, settings: Settings, writer: str, reader: str) -> None:
    """What one client stores, the other reads, whatever the types of its attributes."""
    request = put(scope)
    with by(writer, settings):
        dynamodb.call("put_item", request)
    with by(reader, settings):
        key = {name: request["Item"][name] for name in ("pk", "sk")}
        answer = dynamodb.call("get_item", {"TableName": request["TableName"], "Key": key, "ConsistentRead": True})
    stored = unmarshal(answer["Item"])
    assert {name: stored[name] for name in ITEM} == ITEM


def test_answers_and_errors(configured: str, scope: str, settings: Settings) -> None:
    """Both clients answer alike, and raise the same errors with the same old items."""
    request = put(scope)
    taken = {
        **request,
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    calls: list[tuple[str, Mapping[str, Any]]] = [
        ("put_item", {**request, "ReturnConsumedCapacity": "TOTAL"}),
        ("put_item", taken),
        ("transact_write_items", {"TransactItems": [{"Put": taken}]}),
        ("put_item", {**request, "TableName": "no_such_table"}),
        ("put_item", {**request, "Item": {}}),
        ("query", {"TableName": request["TableName"], "KeyConditionExpression": "pk"}),
    ]
    outcomes = []
    for client in CLIENTS:
        with by(client, settings):
            outcomes.append([outcome(*call) for call in calls])
    assert outcomes[0] == outcomes[1]
    assert [one[0] for one in outcomes[0][1:3] if isinstance(one, tuple)] == [WriteCancelled] * 2


def test_an_engine_that_is_away(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both clients say that nothing was written if nobody listens."""
    outcomes = []
    with bound_port() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{port}")
        for client in CLIENTS:
            with by(client, settings):
                outcomes.append(outcome("put_item", {"TableName": "nowhere", "Item": {}}))
    assert outcomes[0] == outcomes[1]
    assert isinstance(outcomes[0], tuple)
    assert outcomes[0][0] is NotWritten


def test_events(configured: str, scope: str, settings: Settings) -> None:
    """Handlers of a client's events are called as long as they are registered, by both clients alike."""
    seen: dict[str, list[str]] = {client: [] for client in CLIENTS}
    for client, events in seen.items():

        def note(event_name: str, events: list[str] = events, **_: object) -> None:
            events.append(event_name)

        with by(client, settings):
            for event in lean.EVENTS:
                dynamodb.call("put_item", put(scope))
                with handled({f"{event}.dynamodb.PutItem": note}):
                    dynamodb.call("put_item", put(scope))
    assert seen["lean"] == seen["boto3"] == [f"{event}.dynamodb.PutItem" for event in lean.EVENTS[:-1]]


def test_a_handler_with_a_name_of_botocore(configured: str, scope: str, settings: Settings) -> None:
    """A handler of the application's own is called, whatever its name."""
    seen: list[object] = []

    def note(**event: object) -> None:
        seen.append(event)

    note.__qualname__ = "add_retry_headers"
    with by("lean", settings), handled({"before-send.dynamodb": note}):
        dynamodb.call("put_item", put(scope))
    assert len(seen) == 1


def test_handlers_of_other_operations(configured: str, scope: str, settings: Settings) -> None:
    """Requests of which nobody handles an event go the lean way."""
    with by("lean", settings), handled({"before-send.dynamodb.GetItem": lambda **_: None}), sent() as headers:
        dynamodb.call("put_item", put(scope))
    assert len(headers) == 1


def test_what_a_handler_answers(configured: str, scope: str, settings: Settings) -> None:
    """A handler that answers in the engine's place, as a stub does, is believed."""

    class Response:
        status_code = 200

    answered: dict[str, Any] = {"Item": {}, "ResponseMetadata": {"HTTPHeaders": {}}}
    for client in CLIENTS:
        with by(client, settings), handled({"before-call.dynamodb": lambda **_: (Response(), answered)}):
            assert dynamodb.call("get_item", {"TableName": "nowhere", "Key": {}}) == answered


def test_credentials_are_refreshed(configured: str, scope: str, settings: Settings) -> None:
    """Credentials of a role that have expired are replaced before the next request is signed."""
    names = iter(["first", "second"])

    def refresh() -> dict[str, str]:
        expiry = datetime.now(UTC) + timedelta(hours=1)
        return {"access_key": next(names), "secret_key": "s", "token": "session", "expiry_time": expiry.isoformat()}

    with by("lean", settings), sent() as headers:
        credentials = RefreshableCredentials.create_from_metadata(refresh(), refresh, "a role")
        dynamodb.shared_client()._request_signer._credentials = credentials  # type: ignore[attr-defined]
        dynamodb.call("put_item", put(scope))
        credentials._expiry_time = datetime.now(UTC)  # type: ignore[attr-defined]
        dynamodb.call("put_item", put(scope))
    keys = [each["authorization"].partition("Credential=")[2].partition("/")[0] for each in headers]
    assert keys == ["first", "second"]
    assert headers[1]["x-amz-security-token"] == "session"


@pytest.mark.parametrize("client", CLIENTS)
def test_credentials_that_come_too_late(endpoint: str, client: str, settings: Settings) -> None:
    """Where fresh credentials have expired by this machine's clock, the error says what to look at."""
    expired = {"access_key": "k", "secret_key": "s", "token": "t", "expiry_time": "2020-01-01T00:00:00Z"}
    with by(client, settings):
        credentials = RefreshableCredentials.create_from_metadata(expired, lambda: expired, "a role")
        dynamodb.shared_client()._request_signer._credentials = credentials  # type: ignore[attr-defined]
        with pytest.raises(NotConfigured, match=r"still expired\. Set this machine's clock, or look at what gives it "):
            dynamodb.call("get_item", {"TableName": "nowhere", "Key": {}})


def test_where_requests_go(configured: str, scope: str, settings: Settings) -> None:
    """botocore's rules are asked once for an operation, and once for each table that is named by its ARN."""
    asked: list[str] = []
    arns = [f"arn:aws:dynamodb:us-east-1:111122223333:table/{name}" for name in ("here", "there")]
    with (
        by("lean", settings),
        handled({"before-endpoint-resolution.dynamodb": lambda model, **_: asked.append(model.name)}),
    ):
        for _ in range(2):
            dynamodb.call("put_item", put(scope))
        assert asked == ["PutItem"]
        for table in (*arns, *arns):
            outcome("get_item", {"TableName": table, "Key": {"pk": {"S": "arn:"}}})
        assert asked == ["PutItem", "GetItem", "GetItem"]
        for table in ("not_an_arn", "nor_this"):
            outcome("get_item", {"TableName": table, "Key": {"pk": {"S": "arn:"}}})
        assert asked == ["PutItem", "GetItem", "GetItem", "GetItem"]


def elsewhere(client: Any, **changes: Any) -> AbstractContextManager[Any]:
    """Have botocore's rules answer differently."""
    endpoint = client._ruleset_resolver.construct_endpoint
    changed = mock.Mock(side_effect=lambda **given: endpoint(**given)._replace(**changes))
    return mock.patch.object(client._ruleset_resolver, "construct_endpoint", changed)


@pytest.mark.needs_engine
def test_what_signing_knows_of_the_destination(configured: str, scope: str, settings: Settings) -> None:
    """What the rules say for signing reaches the signature."""
    properties = {"authSchemes": [{"name": "sigv4", "signingName": "dynamodb", "signingRegion": "eu-west-3"}]}
    with by("lean", settings), sent() as headers, elsewhere(dynamodb.shared_client(), properties=properties):
        dynamodb.call("put_item", put(scope))
    assert "/eu-west-3/dynamodb/" in headers[0]["authorization"]


@pytest.mark.needs_engine
@pytest.mark.parametrize("special", ["proxy", "path", "header", "token", "signature", "unsigned", "Region"])
def test_what_is_special(
    configured: str, scope: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, special: str
) -> None:
    """A request that is not plain goes through boto3's own client, which knows what to do."""
    with by("lean", settings), sent() as headers, ExitStack() as stack:
        client: Any = dynamodb.shared_client()
        if special == "proxy":
            proxies = client._endpoint.http_session._proxy_config
            monkeypatch.setattr(proxies, "_proxies", {"http": client.meta.endpoint_url})
        elif special == "path":
            stack.enter_context(elsewhere(client, url=f"{client.meta.endpoint_url}/path"))
        elif special == "header":
            stack.enter_context(elsewhere(client, headers={"X-A": ["b"]}))
        elif special == "unsigned":
            client._request_signer._choose_signer = lambda *_: UNSIGNED
        elif special == "token":
            client._request_signer._credentials = Credentials("key", "secret", "a token of  words")
        elif special == "signature":
            client._request_signer.get_auth_instance = mock.Mock(side_effect=lambda **_: Own(KEYS, "dynamodb", "r"))
        else:
            client._request_signer._region_name = "a Region"
        with suppress(SequenceError), asked_of_boto3() as asked:
            dynamodb.call("put_item", put(scope))
    assert (len(headers), asked.call_count) == (0, 1)


def test_a_pool_that_is_closed(configured: str, scope: str, settings: Settings) -> None:
    """The next request has connections of a new one."""
    with by("lean", settings):
        made: Any = dynamodb.client._clients["default"].get()
        for _ in range(2):
            dynamodb.call("put_item", put(scope))
            for pool in made.send.__self__._pools.values():
                pool.close()
            made.client._endpoint.http_session._manager.clear()


def test_the_clients_own_methods(configured: str, settings: Settings) -> None:
    """The client that the lean one is made of still answers as botocore's does."""
    with by("lean", settings):
        table = dynamodb.shared_client().describe_table(TableName=dynamodb.table_name("sequence_items"))["Table"]
    assert isinstance(table["CreationDateTime"], datetime)


def test_without_orjson() -> None:
    """Where orjson is missing, the standard library makes the same JSON."""
    script = """
import sys
sys.modules["orjson"] = None
from sequences.dynamodb import lean, values
assert lean.from_json is values.from_json is __import__("json").loads
print(values.to_json({"a": {"B": b"bytes"}, "b": ["\u00e4", 1, None, True]}).decode())
"""
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    ours = values.to_json({"a": {"B": b"bytes"}, "b": ["ä", 1, None, True]})
    assert values.from_json(printed) == values.from_json(ours)


def test_what_has_no_json(configured: str, scope: str, settings: Settings) -> None:
    """An item with too many levels is refused, and the requests after it go the lean way as before."""
    with by("lean", settings):
        for levels in (33, 130, 250, 10_000):
            with pytest.raises(InvalidItem, match=r"'deep' cannot be stored: it has .* takes 32\. Store it as a text"):
                put_next("atomic", {"deep": nested(levels)}, scope=scope)
        put_next("atomic", {"deep": nested(30)}, scope=scope)
        assert transport_lacks() == ""
