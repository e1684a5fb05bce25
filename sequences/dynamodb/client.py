"""The clients of this process, and one request.

A client is made on first use, as SEQUENCES_CLIENTS says, and shared by all threads; `reset` drops it, in a forked child
too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from typing import TYPE_CHECKING, Any

from ..exceptions import NotWritten, OutcomeUnknown, StorageRefused, TableMissing
from ..metrics import NOTHING, metrics
from . import foreign
from .configuration import DEFAULT_CLIENT, READ_SECONDS, client_options
from .errors import INVALID, UNREADABLE, complete, translate_errors
from .limits import granted, within
from .lives import KnownLives
from .making import Made, Making, Send
from .silence import Silence
from .values import used_units

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Seconds that go on while a process is stopped or its machine sleeps; on Linux the monotonic clock stops then.
elapsed: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)
MAKING_SECONDS = 10.0  # after which a caller without a deadline makes one of its own
MOST_STEP = 10.0  # by how many seconds a Date may be off: it has whole seconds, and a request may take READ_SECONDS
# The member that each answer must have; an answer without it is damaged.
_MEMBERS = {"batch_get_item": "Responses", "describe_table": "Table", "query": "Items"}


class ClientNotMade(NotWritten):
    """Never sent, because the client was not made in the time of the call."""


class EngineClock:
    """The engine's wall clock: the Date of its last answer, plus the time since by this machine's steady clock.

    A Date that is more than MOST_STEP off is believed when the next other Date agrees with it; until then the former
    reckoning goes on. The first Date is compared with this machine's clock. An answer that is read more than MOST_STEP
    after its request was sent has waited, as the process was stopped: its Date tells nothing.

        answers   12:00:01   12:00:02   (8 days later)     12:00:03      a gateway's clock was wrong
        now       12:00:01   12:00:02   12:00:02           12:00:03
        answers   12:00:01   14:00:00   14:00:01                         a suspended virtual machine
        now       12:00:01   12:00:02   14:00:01
    """

    def __init__(self) -> None:
        self._date: str | None = None
        self._ahead: float | None = None
        self._doubted = math.nan

    def set(self, date: str, asked: float) -> None:
        """Take the Date of an answer to a request that was sent when so much had `elapsed`. Damage is ignored."""
        if (date == self._date and self._ahead is not None) or elapsed() - asked > MOST_STEP:
            return
        self._date = date
        try:
            ahead = mktime_tz(parsedate_tz(date)) - elapsed()  # type: ignore[arg-type]  # None is a TypeError
        except (*UNREADABLE, OverflowError):
            return
        known = time.time() - elapsed() if self._ahead is None else self._ahead
        if abs(ahead - known) <= MOST_STEP or abs(ahead - self._doubted) <= MOST_STEP:
            self._ahead, self._doubted = ahead, math.nan
        else:
            self._doubted = ahead

    def now(self) -> float:
        return time.time() if self._ahead is None else self._ahead + elapsed()


class _Client:
    """One client, made on first use and then read without a lock, and what it learned from answers."""

    def __init__(self, alias: str) -> None:
        self._options = partial(client_options, alias)
        self.reset()

    def reset(self) -> None:
        self._making = Making(self._options)
        self.lives = KnownLives()
        self.clock = EngineClock()
        self.silence = Silence()

    def ready(self, seconds: float) -> tuple[Made, float]:
        """The client, and how many of the seconds are left when it is made. Raises what `get` raises."""
        if made := self._making.made:
            return made, seconds
        began = time.monotonic()
        return self.get(seconds), seconds - (time.monotonic() - began)

    @property
    def is_silent(self) -> bool:
        """Whether DynamoDB has answered nothing for longer than the settings allow."""
        made = self._making.made
        return made is not None and self.silence.seconds > made.refuse_after

    def get(self, seconds: float = math.inf) -> Made:
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
            self._making = Making(self._options)  # the next call tries again
        raise making.error

    def answer(self, operation: str, request: Mapping[str, Any], seconds: float, sequence: str) -> dict[str, Any]:
        """The answer to one request, within these seconds. What an error says of the client is remembered."""
        made, seconds = self.ready(seconds)
        with within(min(seconds, made.read_seconds)) as limit:
            try:
                with translate_errors(operation, limit):
                    return self.silence.sent(made.send, operation, request)
            except TableMissing:
                self.lives.forget()
                raise
            except StorageRefused as error:
                if error.code == INVALID:
                    complete(error, sequence, request)
                raise
            except UNREADABLE as error:
                if limit.sent:
                    raise OutcomeUnknown(f"{operation}: the answer cannot be read: {error!r}") from error
                if self._making.made is made:  # from now on requests go by boto3's own way
                    self._making = Making(self._options, repr(error))
                raise NotWritten(f"{operation}: the lean transport failed: {error!r}") from error


class Clients(dict[str, _Client]):
    """The clients by alias. One that is not there is put there, and made on first use."""

    def __missing__(self, alias: str) -> _Client:
        return self.setdefault(alias, _Client(alias))


_clients = Clients()


def reset() -> None:
    """Forget the clients. The next call makes a new one from the settings and the environment at that time."""
    for client in list(_clients.values()):
        client.reset()


def shared_client(alias: str = DEFAULT_CLIENT) -> DynamoDBClient:
    """A client of this process, for code that counts its requests. Raises NotConfigured and InvalidSequence."""
    return _clients[alias].get().client


def wrap_sending(wrap: Callable[[Send], Send]) -> None:
    """Have each request of the default client go through `wrap(send)`. A handler of boto3's events changes its way."""
    client = _clients[DEFAULT_CLIENT]
    made = client.get()
    client._making = copy(client._making)  # clients of another time may share the old one
    client._making.made = replace(made, send=wrap(made.send))


def try_client(alias: str = DEFAULT_CLIENT) -> None:
    """Make a client and drop it, without credentials and without the network. Raises NotConfigured, StorageRefused."""
    options = client_options(alias)
    # Other modes may ask the network for the Region.
    config = foreign.botocore.config.Config(defaults_mode="legacy")  # type: ignore[arg-type]  # the stubs are wrong
    with translate_errors("connect"):
        foreign.botocore.credentials.EnvProvider().load()  # raises for a key without its secret
        session = foreign.boto3.session.Session("-", "-", region_name=options.region, profile_name=options.profile)
        session.client("dynamodb", config=config, endpoint_url=options.endpoint)


def account(alias: str = DEFAULT_CLIENT) -> str:
    """Identifies where the tables are without a request: the endpoint and the Region."""
    return _clients[alias].get().account


def region(alias: str = DEFAULT_CLIENT) -> str:
    """The Region of a client, as settings and environment name it; empty if they do not. No client is made for that."""
    options = client_options(alias)
    with suppress(foreign.botocore.exceptions.BotoCoreError):  # an unknown profile: the making of the client says so
        return options.region or foreign.boto3.session.Session(profile_name=options.profile).region_name or ""
    return ""


def caller(alias: str = DEFAULT_CLIENT) -> str:
    """The ARN in whose name a client signs, by one request to STS; empty outside AWS. Raises StorageError."""
    client = shared_client(alias)
    if ".amazonaws.com" not in client.meta.endpoint_url:
        return ""
    config = foreign.botocore.config.Config(
        retries={"total_max_attempts": 1}, connect_timeout=1.0, read_timeout=READ_SECONDS
    )
    with translate_errors("get_caller_identity"):
        session = client_options(alias).session()
        sts = session.client("sts", region_name=client.meta.region_name, config=config)
        return str(sts.get_caller_identity()["Arn"])


def transport_lacks(alias: str = DEFAULT_CLIENT) -> str:
    """Why requests do not take the way that the settings ask for; empty if they do."""
    return _clients[alias].get().lacks


def lives(alias: str = DEFAULT_CLIENT) -> KnownLives:
    """What this process knows of the lives of a client's tables."""
    return _clients[alias].lives


def now(alias: str = DEFAULT_CLIENT) -> float:
    """Seconds since 1970 by the engine's clock, so that processes agree; by this machine's before the first answer."""
    return _clients[alias].clock.now()


def is_silent(alias: str = DEFAULT_CLIENT) -> bool:
    """Whether DynamoDB has not answered for REFUSE_AFTER seconds, as far as this process knows. Nothing is asked."""
    return _clients[alias].is_silent


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
    While DynamoDB is silent, it raises NotWritten and sends nothing. The request is measured as one of this `sequence`.
    """
    chosen = _clients[client]
    if chosen.is_silent:
        chosen.silence.refuse()
    with metrics.request(sequence, operation) if metrics.on else NOTHING as measured:
        asked = elapsed()
        answer = chosen.answer(operation, request, granted(seconds), sequence)
        chosen.clock.set(answer["ResponseMetadata"]["HTTPHeaders"].get("date", ""), asked)
        member = "Attributes" if "ReturnValues" in request else _MEMBERS.get(operation)
        if member and member not in answer:
            raise OutcomeUnknown(f"{operation}: the answer lacks its {member}.")
        if measured:
            measured.units = used_units(answer)
        return answer
