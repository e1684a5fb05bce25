"""What is measured, and what a recorder is. No label has a scope, a value, a token or a key: their numbers would grow.

Names are OpenTelemetry's, with points; Prometheus has underscores there, and the unit or `_total` at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

__all__ = [
    "ANSWERS",
    "BLOCKS",
    "CALL",
    "CLIENTS",
    "FAILED_ATTEMPTS",
    "GROUP",
    "INSTRUMENTS",
    "REQUEST",
    "REQUESTS",
    "TIMES",
    "TURN",
    "UNITS",
    "VALUES",
    "WAIT",
    "Instrument",
    "Recorder",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class Instrument:
    """One measure: a sum that only grows, or a histogram if it has `buckets`."""

    name: str
    labels: Sequence[str]
    about: str
    unit: str = ""
    buckets: Sequence[float] = ()


TIMES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The limits of a histogram of seconds."""
_SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)

VALUES = Instrument(name="sequences.values", labels=["sequence"], about="Values handed out, without repeats.")
ANSWERS = Instrument(
    name="sequences.answers",
    labels=["sequence", "outcome"],
    about="What callers got for each item, or each call that takes values: stored, taken, replayed, or the error.",
)
CALL = Instrument(
    name="sequences.call",
    labels=["sequence"],
    about="How long a call took.",
    unit="seconds",
    buckets=TIMES,
)
WAIT = Instrument(
    name="sequences.wait",
    labels=["sequence"],
    about="How long after its call a request was first sent, in a write of its own or of a group.",
    unit="seconds",
    buckets=TIMES,
)
TURN = Instrument(
    name="sequences.turn",
    labels=["sequence"],
    about="How long a write waited for the other processes of its host.",
    unit="seconds",
    buckets=TIMES,
)
GROUP = Instrument(
    name="sequences.group.size",
    labels=["sequence", "of"],
    about="How many items one write stored, or how many values one write of a counter took.",
    buckets=_SIZES,
)
FAILED_ATTEMPTS = Instrument(
    name="sequences.failed.attempts",
    labels=["sequence", "reason"],
    about="Attempts to write that are made again: after a lost race (conflict), throttled, not_sent, or lost.",
)
BLOCKS = Instrument(name="sequences.blocks", labels=["sequence"], about="Blocks reserved by BlockAllocator.")
REQUESTS = Instrument(
    name="sequences.requests",
    labels=["sequence", "operation", "outcome"],
    about="Requests to DynamoDB: ok, conflict (a condition failed), throttled, not_sent, lost, or refused.",
)
REQUEST = Instrument(
    name="sequences.request",
    labels=["operation"],
    about="How long DynamoDB took to answer.",
    unit="seconds",
    buckets=TIMES,
)
UNITS = Instrument(
    name="sequences.capacity.units",
    labels=["sequence", "operation", "kind"],
    about="Units that DynamoDB reported: write or read. It charges failed conditions, too, and reports none for them.",
)
CLIENTS = Instrument(
    name="sequences.clients",
    labels=["transport"],
    about="How many clients were made: lean, or boto3 where the settings ask for it or botocore does not fit.",
)

INSTRUMENTS = (VALUES, ANSWERS, CALL, WAIT, TURN, GROUP, FAILED_ATTEMPTS, BLOCKS, REQUESTS, REQUEST, UNITS, CLIENTS)


class Recorder(ABC):
    """Takes what is measured. One thread of a process at a time calls `record`."""

    @abstractmethod
    def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
        """Add an amount to a sum, or put it into a histogram. The labels are in the instrument's order."""

    def span(self, name: str, attributes: Mapping[str, str], *, to_dynamodb: bool) -> AbstractContextManager[object]:
        """Held during a call, or a request to DynamoDB. An error passes through it."""
        return nullcontext()
