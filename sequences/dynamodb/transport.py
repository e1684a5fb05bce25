"""How a client sends its requests: the lean way, or boto3's own where botocore lacks a part that the lean one takes.

The lean way takes parts of botocore that no release promises to keep. Each is looked for once, when a client is made.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from . import foreign
from .limits import mark_sent

logger = logging.getLogger(__name__)

PARTS = (
    "_emit_api_params",
    "_endpoint._get_response",
    "_endpoint._response_parser_factory.create_parser",
    "_endpoint.prepare_request",
    "_request_signer.sign",
    "_resolve_endpoint_ruleset",
    "exceptions.from_code",
    "meta.service_model.operation_model",
)
"""What the lean way takes of a client. It also takes the connections of botocore and urllib3, as `connections` does."""

Send = Callable[[str, Mapping[str, Any]], dict[str, Any]]
_MISSING = (AttributeError, ImportError)


@dataclass(frozen=True, slots=True)
class Transport:
    """Sends a request, for example `send("put_item", {...})`, and returns the answer.

    Its name is "lean" or "boto3". `lacks` says why it is not the one that the settings ask for; it is empty if it is.
    """

    send: Send
    name: str = "boto3"
    lacks: str = ""

    @classmethod
    def of(cls, client: Any, *, lean: bool) -> Transport:
        """The lean one; boto3's own without `lean`, and where a part is missing. Then a warning says which."""
        try:
            from .connections import LEAN_POOLS, POOLS  # not above: a name that it imports may be gone

            pools = client._endpoint.http_session._pool_classes_by_scheme
        except _MISSING as error:
            return cls.of_boto3(client, f"{error}")
        pools.update(POOLS)
        if not lean:
            return cls(partial(_send, client))
        try:
            from .lean import LeanClient

            for part in PARTS:
                attrgetter(part)(client)
            send = LeanClient(client).call
        except _MISSING as error:
            return cls(partial(_send, client), lacks=_warned(f"{error}"))
        pools.update(LEAN_POOLS)
        return cls(send, "lean")

    @classmethod
    def of_boto3(cls, client: Any, lacks: str) -> Transport:
        """The client as it is. A request may take longer than READ_TIMEOUT if its answer comes in pieces."""
        return cls(partial(_send_unseen, client), lacks=_warned(lacks))


def _send(client: Any, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = getattr(client, operation)(**request)
    return answer


def _send_unseen(client: Any, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send over connections that do not say when they have sent something: so it may be sent from the beginning."""
    mark_sent()
    return _send(client, operation, request)


def _warned(lacks: str) -> str:
    logger.warning(
        "The lean transport does not fit botocore %s (%s). Requests go through boto3's own client: numbers are right, "
        "and take longer. Install a release of botocore that it fits.",
        foreign.botocore.__version__,
        lacks,
    )
    return lacks
