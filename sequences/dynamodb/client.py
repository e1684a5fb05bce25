"""The clients of this process, one request, and the engine's clock.

A client is made on first use, as SEQUENCES_CLIENTS says, and shared by all threads; `reset` drops it, in a forked child
too.
"""

from __future__ import annotations

import _thread
import math
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from typing import TYPE_CHECKING, Any

import boto3
import botocore.config
import botocore.credentials
import botocore.exceptions

from ..exceptions import NotWritten, OutcomeUnknown, TableMissing
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
    "ClientNotMade",
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

GLANCE_SECONDS = 0.25  # how often a waiting caller looks whether the client is made
MAKING_SECONDS = 10.0  # after which a caller without a deadline makes one of its own
MOST_STEP = 10.0
"""By how many seconds a Date may be off: it has whole seconds, and a request may take READ_SECONDS."""
# What botocore's parser raises for a damaged answer. No base classes: a signal handler may raise its own exception.
UNREADABLE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
# The member that each answer must have; an answer without it is damaged.
_MEMBERS = {"batch_get_item": "Responses", "describe_table": "Table", "query": "Items"}


class ClientNotMade(NotWritten):
    """Never sent, because the client was not made in the time of the call."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A client that is made, and how requests go through it."""

    client: DynamoDBClient
    send: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    account: str
    read_seconds: float

    @classmethod
    def of(cls, alias: str) -> _Made:
        """Make one, as the settings say. Raises NotConfigured and InvalidSequence."""
        with translate_errors("connect"):
            options = client_options(alias)
            client = _make_client(options)
            send = LeanClient(client).call if options.lean else partial(_send, client)
            account = f"{client.meta.endpoint_url}|{client.meta.region_name}"
            return cls(client, send, account, options.read_timeout)


class _Making:
    """A client that a thread of its own makes: who waits for it may give up, and the next caller finds it.

        caller A   --starts----------------- gives up
        thread        --makes the client--------------------> made
        caller B               --waits---------- gives up
        caller C                                --waits----- sends

    A signal handler may raise an exception in a thread that waits here, or may make a call itself. So the thread takes
    the task itself, each step is one atomic operation, and nobody waits for a lock that an interrupted thread holds.
    """

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._tasks = deque([alias])
        self._running = threading.Lock()
        self._running.acquire()
        self.made: _Made | None = None
        self.error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return self.made is not None or self.error is not None

    def begin(self) -> None:
        """Begin, unless a thread has begun."""
        if self._tasks:
            try:
                _thread.start_new_thread(self._run, ())
            except RuntimeError:  # there are too many threads, or the interpreter ends
                self._run()

    def _run(self) -> None:
        try:
            alias = self._tasks.pop()
        except IndexError:
            return
        try:
            self.made = _Made.of(alias)
        except BaseException as error:  # noqa: BLE001 - who waits raises it
            self.error = error
        finally:
            self._running.release()

    def wait(self, seconds: float) -> None:
        """Wait until it is made, or has failed, at most so many seconds."""
        until = time.monotonic() + seconds
        while not self.is_over and (left := until - time.monotonic()) > 0:
            if self._running.acquire(timeout=min(left, GLANCE_SECONDS)):
                self._running.release()

    def here(self) -> _Made:
        """Make another one in this thread, for a caller without a deadline: the first may wait for what he holds."""
        self.made = made = _Made.of(self._alias)
        return made


class _Client:
    """One client, made on first use and then read without a lock, and what it learned from answers."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.reset()

    def reset(self) -> None:
        self._making = _Making(self.alias)
        self.lives = KnownLives()
        self.clock = _EngineClock()

    @property
    def made(self) -> _Made | None:
        """The client; None until it is made."""
        return self._making.made

    def get(self, seconds: float = math.inf) -> _Made:
        """The client. The first callers wait for it, at most so many seconds.

        Raises ClientNotMade after that time, NotConfigured and InvalidSequence.
        """
        making = self._making  # `reset` puts another one in its place
        if making.made is None:
            making.begin()
            making.wait(MAKING_SECONDS if seconds == math.inf else seconds)
        if making.made is not None:
            return making.made
        if making.error is None and seconds < math.inf:
            raise ClientNotMade("The client is still being made.")
        if making.error is None:
            return making.here()
        if self._making is making:
            self._making = _Making(self.alias)  # the next call tries again
        raise making.error


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
    return _client(alias).get().client


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
    return _client(alias).get().account


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
    chosen, seconds = _client(client), granted(seconds)
    made = chosen.made
    if made is None:
        began = time.monotonic()
        made = chosen.get(seconds)
        seconds -= time.monotonic() - began
    with within(min(seconds, made.read_seconds)) as limit:
        try:
            with translate_errors(operation, limit):
                answer = made.send(operation, request)
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
