"""Counts what a client really sends: requests and capacity units, for each attempt.

A `Meter` listens to the events of boto3's clients, so that it sees their own retries, and stands around what ours
sends. It does not know what a request means, or whether its answer was right.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sequences.dynamodb import used_units
from sequences.dynamodb.values import to_json

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from sequences.dynamodb.making import Send

__all__ = ["Meter", "Usage"]

WRITES = frozenset({"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})
UNIT_BYTES = 1024


@dataclass(kw_only=True, slots=True)
class Usage:
    """The requests that were sent, how many of them write, how many writes were refused, and the capacity units.

    A write is refused mostly because another one was faster.
    """

    requests: int = 0
    write_requests: int = 0
    refused_writes: int = 0
    write_units: float = 0.0
    read_units: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            requests=self.requests + other.requests,
            write_requests=self.write_requests + other.write_requests,
            refused_writes=self.refused_writes + other.refused_writes,
            write_units=self.write_units + other.write_units,
            read_units=self.read_units + other.read_units,
        )


@dataclass(slots=True)
class Meter:
    """Counts the requests of every client to which it is attached; safe across threads.

    The units are those that the engine reports. It reports none for a refused write and for a lost answer, though both
    are charged. These are estimated: one unit for each KB sent, two in a transaction.
    """

    usage: Usage = field(default_factory=Usage)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def attach(self, client: DynamoDBClient) -> None:
        """Count what this client of boto3 sends from now on."""
        client.meta.events.register("before-parameter-build.dynamodb", self._ask_for_units)
        client.meta.events.register("response-received.dynamodb", self._receive)

    def counting(self, send: Send) -> Send:
        """The same as `send`, which sends requests of our client, and counted."""

        def counted(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
            answer: Mapping[str, Any] | None = None
            try:
                answer = found = send(operation, request)
            except Exception as error:
                answer = getattr(error, "response", None)  # of boto3's ClientError
                raise
            finally:
                self._count(operation.title().replace("_", ""), request, answer)
            return found

        return counted

    def reset(self) -> None:
        """Start again at zero."""
        with self._lock:
            self.usage = Usage()

    def _ask_for_units(self, params: dict[str, Any], model: Any, context: dict[str, Any], **event: object) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params.setdefault("ReturnConsumedCapacity", "TOTAL")
        context["lab_request"] = params

    def _receive(self, event_name: str, parsed_response: Any, context: Mapping[str, Any], **event: object) -> None:
        self._count(event_name.rpartition(".")[2], context["lab_request"], parsed_response)

    def _count(self, operation: str, request: Mapping[str, Any], answer: Mapping[str, Any] | None) -> None:
        reported = used_units(answer) if answer and "ConsumedCapacity" in answer else None
        with self._lock:
            self.usage.requests += 1
            if operation in WRITES:
                self.usage.write_requests += 1
                self.usage.refused_writes += "Error" in (answer or ())
                self.usage.write_units += _estimated_units(request) if reported is None else reported
            else:
                self.usage.read_units += reported or 0.0


def _estimated_units(request: Mapping[str, Any]) -> float:
    actions, sent = len(request.get("TransactItems", ())), len(to_json(request))
    if not actions:
        return float(math.ceil(sent / UNIT_BYTES))
    return 2.0 * actions * math.ceil(sent / actions / UNIT_BYTES)
