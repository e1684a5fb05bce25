"""The clients of this process, one request, and the engine's clock.

A client is made on first use, as SEQUENCES_CLIENTS says, and shared by all threads; `reset` drops it, in a forked child
too.
"""

from __future__ import annotations

import math
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from typing import TYPE_CHECKING, Any

import boto3
import botocore.config
import botocore.credentials
import botocore.exceptions

from ..exceptions import OutcomeUnknown, TableMissing
from ..metrics import metrics
from .budgets import granted
from .configuration import DEFAULT_CLIENT, READ_SECONDS, ClientOptions, client_options
from .connections import LEAN_POOLS, POOLS, within
from .errors import translate_errors
from .lean import LeanClient
from .lives import KnownLives
from .values import used_units

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = [
    "account",
    "call",
    "caller",
    "lives",
    "now",
    "plain_client",
    "region",
    "reset",
    "shared_client",
    "try_client",
]

MAKING_SECONDS = 1.0
MOST_STEP = 10.0
"""By how many seconds a Date may be off: it has whole seconds, and a request may take READ_SECONDS."""
# What botocore's parser raises for a damaged answer. No base classes: a signal handler may raise its own exception.
UNREADABLE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
# The member that each answer must have; an answer without it is damaged.
_MEMBERS = {"batch_get_item": "Responses", "describe_table": "Table", "query": "Items"}


class _Client:
    """One client, made on first use and then read without a lock, and what it learned from answers."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.reset()

    def reset(self) -> None:
        self._lock = threading.RLock()  # a signal handler may send a request while its thread is making the client
        self._client: DynamoDBClient | None = None
        self.send: Callable[[str, Mapping[str, Any]], dict[str, Any]]
        self.account = ""
        self.read_seconds = READ_SECONDS
        self.lives = KnownLives()
        self.clock = _EngineClock()

    def get(self) -> DynamoDBClient:
        """The client. Raises NotConfigured and InvalidSequence."""
        return self._client or self._made()

    def _made(self) -> DynamoDBClient:
        """Make it, or wait a while for the thread that makes it.

        That thread may need what the caller holds, if a signal handler calls. So after a while each makes its own.
        """
        lock = self._lock  # `reset` puts another one in its place
        locked = lock.acquire(timeout=MAKING_SECONDS)
        try:
            with translate_errors("connect"):
                return self._client or self._make()
        finally:
            if locked:
                lock.release()

    def _make(self) -> DynamoDBClient:
        options = client_options(self.alias)
        client = _make_client(options)
        self.account = f"{client.meta.endpoint_url}|{client.meta.region_name}"
        self.read_seconds = options.read_timeout
        self.send = LeanClient(client).call if options.lean else partial(_send, client)
        self._client = client
        return client


def _send(client: DynamoDBClient, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = getattr(client, operation)(**request)
    return answer


class _EngineClock:
    """The engine's wall clock: the Date of its last answer, plus the time since by this machine's monotonic clock.

    A Date that is more than MOST_STEP off is believed when the next other Date agrees with it; until then the former
    reckoning goes on. The first Date is compared with this machine's clock.

        answers   12:00:01   12:00:02   (8 days later)     12:00:03      a gateway's clock was wrong
        now       12:00:01   12:00:02   12:00:02           12:00:03
        answers   12:00:01   14:00:00   14:00:01                         the machine was suspended
        now       12:00:01   12:00:02   14:00:01
    """

    def __init__(self) -> None:
        self._date = ""
        self._ahead: float | None = None
        self._doubted = math.nan

    def set(self, date: str) -> None:
        """Take the Date of an answer. One that is damaged is ignored."""
        if date == self._date and self._ahead is not None:
            return
        self._date = date
        try:
            ahead = mktime_tz(parsedate_tz(date)) - time.monotonic()  # type: ignore[arg-type]  # None is a TypeError
        except (*UNREADABLE, OverflowError):
            return
        known = time.time() - time.monotonic() if self._ahead is None else self._ahead
        if abs(ahead - known) <= MOST_STEP or abs(ahead - self._doubted) <= MOST_STEP:
            self._ahead, self._doubted = ahead, math.nan
        else:
            self._doubted = ahead

    def now(self) -> float:
        return time.time() if self._ahead is None else self._ahead + time.monotonic()


def _make_client(options: ClientOptions) -> DynamoDBClient:
    config = botocore.config.Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=options.connect_timeout,
        read_timeout=options.read_timeout,
        max_pool_connections=options.pool_size,
        parameter_validation=False,  # our requests are built by tested functions; validating costs a tenth of a write
        tcp_keepalive=True,
        user_agent=f"sequences Boto3/{boto3.__version__}",  # otherwise botocore builds one for each request
    )
    client = options.session().client("dynamodb", config=config, endpoint_url=options.endpoint)
    client.meta.events.register("before-parse.dynamodb", _verify_body)
    pools = LEAN_POOLS if options.lean else POOLS
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
    status = response_dict["status_code"]
    if status < 300 and not (status == 200 and body.startswith(b"{") and body.rstrip().endswith(b"}")):
        raise botocore.exceptions.ResponseStreamingError(error=f"HTTP {status} without a whole JSON object")


_clients: dict[str, _Client] = {}


def _client(alias: str) -> _Client:
    return _clients.get(alias) or _clients.setdefault(alias, _Client(alias))


def reset() -> None:
    """Forget the clients. The next call makes a new one from the settings and the environment at that time."""
    for client in list(_clients.values()):
        client.reset()


def shared_client(alias: str = DEFAULT_CLIENT) -> DynamoDBClient:
    """A client of this process, for code that counts its requests. Raises NotConfigured and InvalidSequence."""
    return _client(alias).get()


def plain_client() -> DynamoDBClient:
    """A client with botocore's defaults, including its retries, as a reader of an article makes it."""
    with translate_errors("connect"):
        return boto3.session.Session().client("dynamodb")


def try_client(alias: str = DEFAULT_CLIENT) -> None:
    """Make a client and drop it, without credentials and without the network. Raises NotConfigured, StorageRefused."""
    options = client_options(alias)
    # Other modes may ask the network for the Region.
    config = botocore.config.Config(defaults_mode="legacy")  # type: ignore[arg-type]  # the stubs are wrong
    with translate_errors("connect"):
        botocore.credentials.EnvProvider().load()  # raises for a key without its secret
        session = boto3.session.Session("-", "-", region_name=options.region, profile_name=options.profile)
        session.client("dynamodb", config=config, endpoint_url=options.endpoint)


def account(alias: str = DEFAULT_CLIENT) -> str:
    """Identifies where the tables are without a request: the endpoint and the Region."""
    chosen = _client(alias)
    chosen.get()
    return chosen.account


def region(alias: str = DEFAULT_CLIENT) -> str:
    """The Region to which a client sends its requests, as settings and environment name it; empty if they do not.

    No client is made for that, and nothing is asked.
    """
    options = client_options(alias)
    with suppress(botocore.exceptions.BotoCoreError):  # an unknown profile: whoever makes the client hears of it
        return options.region or boto3.session.Session(profile_name=options.profile).region_name or ""
    return ""


def caller(alias: str = DEFAULT_CLIENT) -> str:
    """The ARN in whose name a client signs, by one request to STS; empty if it leads to no endpoint of AWS.

    Raises StorageError.
    """
    client = shared_client(alias)
    if ".amazonaws.com" not in client.meta.endpoint_url:
        return ""
    config = botocore.config.Config(retries={"total_max_attempts": 1}, connect_timeout=1.0, read_timeout=READ_SECONDS)
    with translate_errors("get_caller_identity"):
        session = client_options(alias).session()
        sts = session.client("sts", region_name=client.meta.region_name, config=config)
        return str(sts.get_caller_identity()["Arn"])


def lives(alias: str = DEFAULT_CLIENT) -> KnownLives:
    """What this process knows of the lives of a client's tables."""
    return _client(alias).lives


def now(alias: str = DEFAULT_CLIENT) -> float:
    """Seconds since 1970 by the engine's clock; by this machine's clock until the engine has answered once.

    So processes agree on what has expired, even if their own clocks differ or jump.
    """
    return _client(alias).clock.now()


def call(
    operation: str,
    request: Mapping[str, Any],
    *,
    seconds: float = math.inf,
    client: str = DEFAULT_CLIENT,
    sequence: str = "",
) -> dict[str, Any]:
    """Send one request, for example `call("put_item", {...})`, and return the answer.

    It takes at most `seconds`, and never more than the client's READ_TIMEOUT or the budget of the page. Raises the
    storage errors of `exceptions` and no foreign ones; an answer that cannot be read counts as lost (OutcomeUnknown).
    The request is measured as one of this `sequence`.
    """
    if not metrics.on:
        return _call(operation, request, seconds, client)
    with metrics.request(sequence, operation) as measured:
        answer = _call(operation, request, seconds, client)
        measured.units = used_units(answer)
    return answer


def _call(operation: str, request: Mapping[str, Any], seconds: float, client: str) -> dict[str, Any]:
    chosen = _client(client)
    chosen.get()
    with within(min(granted(seconds), chosen.read_seconds)) as limit:
        try:
            with translate_errors(operation, limit):
                answer = chosen.send(operation, request)
        except TableMissing:
            chosen.lives.forget()
            raise
        except UNREADABLE as error:
            if not limit.sent:
                raise  # our own mistake
            raise OutcomeUnknown(f"{operation}: the answer cannot be read: {error!r}") from error
    chosen.clock.set(answer["ResponseMetadata"]["HTTPHeaders"].get("date", ""))
    member = "Attributes" if "ReturnValues" in request else _MEMBERS.get(operation)
    if member and member not in answer:
        raise OutcomeUnknown(f"{operation}: the answer lacks its {member}.")
    return answer
