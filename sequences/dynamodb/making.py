"""How a client is made: as the settings say, and by a thread of its own, so that a caller may stop waiting for it.

It sends its requests the lean way, or boto3's own where botocore lacks a part that the lean one takes.
"""

from __future__ import annotations

import _thread
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..metrics import metrics
from ..metrics.instruments import CLIENTS
from . import foreign
from .configuration import ClientOptions
from .errors import refuse_damaged, translate_errors
from .limits import mark_sent

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)

UNFIT = (
    "The lean transport does not fit botocore %s (%s). Requests go through boto3's own client: numbers are right, "
    "and take longer. Install a release of botocore that it fits."
)
GLANCE_SECONDS = 0.25  # how often a waiting caller looks whether the client is made
PARTS = (
    "_endpoint._add_modeled_error_fields",
    "_endpoint._response_parser_factory.create_parser",
    "_endpoint.http_session._get_connection_manager",
    "_endpoint.http_session._proxy_config.proxy_url_for",
    "_endpoint.http_session._setup_ssl_cert",
    "_endpoint.http_session._verify",
    "_request_signer.get_auth_instance",
    "_request_signer.sign",
    "_resolve_endpoint_ruleset",
    "exceptions.from_code",
    "meta.events._emitter._handlers.prefix_search",
    "meta.events._emitter._lookup_cache",
    "meta.service_model.operation_model",
)
"""What the lean way takes of a client, beside `connections`, and no release of botocore promises to keep."""

Send = Callable[[str, Mapping[str, Any]], dict[str, Any]]
_MISSING = (AttributeError, ImportError)


def way_of(client: Any, *, lean: bool, lacks: str = "") -> tuple[Send, str]:
    """What sends its requests, as `send("put_item", {...})`, and why it is not the way that the settings ask for.

    That is empty if it is. Where botocore is known to lack something, boto3's own way is taken: there a request may
    take longer than READ_TIMEOUT if its answer comes in pieces.
    """
    if lacks:
        return partial(_send_unseen, client), lacks
    try:
        from .connections import POOLS  # not above: a name that it imports may be gone

        pools = client._endpoint.http_session._pool_classes_by_scheme
    except _MISSING as error:
        return partial(_send_unseen, client), f"{error}"
    pools.update(POOLS)
    if not lean:
        return partial(_send, client), ""
    try:
        from .lean import LeanClient

        for part in PARTS:
            attrgetter(part)(client)
        send = LeanClient(client).call
    except _MISSING as error:
        return partial(_send, client), f"{error}"
    return send, ""


def _send(client: Any, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = getattr(client, operation)(**request)
    return answer


def _send_unseen(client: Any, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send over connections that do not say when they have sent something: so it may be sent from the beginning."""
    mark_sent()
    return _send(client, operation, request)


@dataclass(frozen=True, slots=True)
class Made:
    """A client that is made, what sends its requests, and what botocore lacks for the way that was asked for."""

    client: DynamoDBClient
    send: Send
    account: str
    read_seconds: float
    refuse_after: float = math.inf
    lacks: str = ""

    @classmethod
    def of(cls, read_options: Callable[[], ClientOptions], lacks: str = "") -> Made:
        """Make one, as its options say now (see `way_of`). Raises NotConfigured and InvalidSequence."""
        with translate_errors("connect"):
            options = read_options()
            client = _make_client(options)
            with foreign.importing:
                send, lacks = way_of(client, lean=options.lean, lacks=lacks)
            if lacks:
                logger.warning(UNFIT, foreign.botocore.__version__, lacks)
            if metrics.on:
                metrics.tell(CLIENTS, 1, "lean" if options.lean and not lacks else "boto3")
            account = f"{client.meta.endpoint_url}|{client.meta.region_name}"
            return cls(client, send, account, options.read_timeout, options.refuse_after, lacks)


class Making:
    """A client that a thread of its own makes: who waits for it may give up, and the next caller finds it.

        caller A   --starts----------------- gives up
        thread        --makes the client--------------------> made
        caller B               --waits---------- gives up
        caller C                                --waits----- sends

    A signal handler may raise an exception in a thread that waits here, or may make a call itself. So the thread takes
    the task itself, each step is one atomic operation, and nobody waits for a lock that an interrupted thread holds.
    """

    def __init__(self, read_options: Callable[[], ClientOptions], lacks: str = "") -> None:
        self._make = partial(Made.of, read_options, lacks)
        self._tasks = deque([self._make])
        self._running = threading.Lock()
        self._running.acquire()
        self.begun = False
        self.made: Made | None = None
        self.error: BaseException | None = None

    def begin(self) -> None:
        """Begin, unless a thread has begun."""
        if self._tasks:
            self.begun = True
            try:
                _thread.start_new_thread(self._run, ())
            except RuntimeError:  # there are too many threads, or the interpreter ends
                self._run()

    def _run(self) -> None:
        try:
            make = self._tasks.pop()
        except IndexError:
            return
        try:
            self.made = make()
        except BaseException as error:  # noqa: BLE001 - who waits raises it
            self.error = error
        finally:
            self._running.release()

    def wait(self, seconds: float) -> None:
        """Wait until it is made, or has failed, at most so many seconds."""
        until = time.monotonic() + seconds
        while self.made is None and self.error is None and (left := until - time.monotonic()) > 0:
            if self._running.acquire(timeout=min(left, GLANCE_SECONDS)):
                self._running.release()

    def here(self) -> Made:
        """Make another one in this thread, for a caller without a deadline: the first may wait for what he holds."""
        self.made = made = self._make()
        return made


def _make_client(options: ClientOptions) -> DynamoDBClient:
    config = foreign.botocore.config.Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=options.connect_timeout,
        read_timeout=options.read_timeout,
        max_pool_connections=options.pool_size,
        parameter_validation=False,  # our requests are built by tested functions; validating costs a tenth of a write
        tcp_keepalive=True,
        user_agent=f"sequences Boto3/{foreign.boto3.__version__}",  # otherwise botocore builds one for each request
    )
    client = options.session().client("dynamodb", config=config, endpoint_url=options.endpoint)
    client.meta.events.register("before-parse.dynamodb", refuse_damaged)
    return client
