"""The client of this process, one request, and the engine's clock.

The client is made on first use and shared by all threads; `reset` drops it, in a forked child too.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import boto3
import botocore.config
import botocore.exceptions
from django.conf import settings

from ..exceptions import OutcomeUnknown, TableMissing
from .connections import LEAN_POOLS, POOLS, within
from .errors import translate_errors
from .lean import LeanClient
from .lives import KnownLives

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["CLIENTS", "account", "call", "lives", "now", "plain_client", "reset", "shared_client"]

CONNECT_SECONDS = 1.0
READ_SECONDS = 3.0
CONNECTIONS = 64
CLIENTS = ("lean", "boto3")
"""The values of the setting SEQUENCES_CLIENT, the default first."""

# What botocore's parser raises for a damaged answer. No base classes: a signal handler may raise its own exception.
UNREADABLE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
# The member that each answer must have; an answer without it is damaged.
_MEMBERS = {"batch_get_item": "Responses", "describe_table": "Table", "query": "Items"}


class _Client:
    """The client of this process, made on first use and then read without a lock, and what it learned from answers."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.RLock()  # a signal handler may send a request while its thread is making the client
        self._client: DynamoDBClient | None = None
        self.send: Callable[[str, Mapping[str, Any]], dict[str, Any]]
        self.account = ""
        self.lives = KnownLives()
        self.clock = _EngineClock()

    def get(self) -> DynamoDBClient:
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._make()
        assert self._client is not None
        return self._client

    def _make(self) -> None:
        is_lean = getattr(settings, "SEQUENCES_CLIENT", CLIENTS[0]) == CLIENTS[0]
        client = _make_client(boto3.session.Session(), LEAN_POOLS if is_lean else POOLS)
        self.account = f"{client.meta.endpoint_url}|{client.meta.region_name}"
        self.send = LeanClient(client).call if is_lean else partial(_send, client)
        self._client = client


def _send(client: DynamoDBClient, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = getattr(client, operation)(**request)
    return answer


class _EngineClock:
    """The engine's wall clock: the Date of its last answer, plus the time since by this machine's monotonic clock."""

    def __init__(self) -> None:
        self._date = ""
        self._ahead: float | None = None

    def set(self, date: str) -> None:
        if date != self._date:
            self._date = date
            try:
                self._ahead = parsedate_to_datetime(date).timestamp() - time.monotonic()
            except ValueError:
                pass  # not a date: a gateway wrote it

    def now(self) -> float:
        return time.time() if self._ahead is None else self._ahead + time.monotonic()


def _make_client(session: boto3.session.Session, pools: Mapping[str, type]) -> DynamoDBClient:
    config = botocore.config.Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        max_pool_connections=CONNECTIONS,
        parameter_validation=False,  # our requests are built by tested functions; validating costs a tenth of a write
        tcp_keepalive=True,
        user_agent=f"sequences Boto3/{boto3.__version__}",  # otherwise botocore builds one for each request
    )
    client = session.client("dynamodb", config=config)
    client.meta.events.register("before-parse.dynamodb", _verify_body)
    client._endpoint.http_session._pool_classes_by_scheme.update(pools)  # type: ignore[attr-defined]
    return client


def _verify_body(response_dict: Mapping[str, Any], **_: object) -> None:
    """Refuse an answer with a damaged body, before botocore reads it.

    botocore takes a body that is not JSON for an empty answer, and checks the checksum only in its legacy retry mode.
    """
    body, expected = response_dict["body"], response_dict["headers"].get("x-amz-crc32")
    if expected and expected != str(zlib.crc32(body)):
        raise botocore.exceptions.ChecksumError(
            checksum_type="crc32", expected_checksum=expected, actual_checksum="another"
        )
    if response_dict["status_code"] == 200 and not (body.startswith(b"{") and body.rstrip().endswith(b"}")):
        raise botocore.exceptions.ResponseStreamingError(error="the body is not a whole JSON object")


_shared = _Client()


def reset() -> None:
    """Forget the client. The next call makes a new one from the environment at that time."""
    _shared.reset()


def shared_client() -> DynamoDBClient:
    """The client of this process, for code that counts its requests. Raises NotConfigured."""
    with translate_errors("connect"):
        return _shared.get()


def plain_client() -> DynamoDBClient:
    """A client with botocore's defaults, including its retries, as a reader of an article makes it."""
    with translate_errors("connect"):
        return boto3.session.Session().client("dynamodb")


def account() -> str:
    """Identifies where the tables are without a request: the endpoint and the Region."""
    shared_client()
    return _shared.account


def lives() -> KnownLives:
    """What this process knows of the lives of its tables."""
    return _shared.lives


def now() -> float:
    """Seconds since 1970 by the engine's clock; by this machine's clock until the engine has answered once.

    So processes agree on what has expired, even if their own clocks differ or jump.
    """
    return _shared.clock.now()


def call(operation: str, request: Mapping[str, Any], *, seconds: float = READ_SECONDS) -> dict[str, Any]:
    """Send one request, for example `call("put_item", {...})`, and return the answer.

    It takes at most `seconds`, and never more than READ_SECONDS. Raises the storage errors of `exceptions` and no
    foreign ones; an answer that cannot be read counts as lost (OutcomeUnknown).
    """
    shared_client()
    with within(min(seconds, READ_SECONDS)) as limit:
        try:
            with translate_errors(operation):
                answer = _shared.send(operation, request)
        except TableMissing:
            _shared.lives.forget()
            raise
        except UNREADABLE as error:
            if not limit.sent:
                raise  # our own mistake
            raise OutcomeUnknown(f"{operation}: the answer cannot be read: {error!r}") from error
    _shared.clock.set(answer["ResponseMetadata"]["HTTPHeaders"].get("date", ""))
    member = "Attributes" if "ReturnValues" in request else _MEMBERS.get(operation)
    if member and member not in answer:
        raise OutcomeUnknown(f"{operation}: the answer lacks its {member}.")
    return answer
