"""What is measured, and what a recorder is. No label has a scope, a value, a token or a key: their numbers would grow.

Names are OpenTelemetry's, with points; Prometheus has underscores there, and the unit or `_total` at the end.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
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

VALUES = Instrument("sequences.values", ["sequence"], "Values handed out, without repeats.")
ANSWERS = Instrument(
    "sequences.answers",
    ["sequence", "outcome"],
    "What callers got for each item, or each call that takes values: stored, taken, replayed, or the error.",
)
CALL = Instrument("sequences.call", ["sequence"], "How long a call took.", "seconds", buckets=TIMES)
WAIT = Instrument(
    "sequences.wait",
    ["sequence"],
    "How long after its call a request was first sent, in a write of its own or of a group.",
    "seconds",
    buckets=TIMES,
)
TURN = Instrument(
    "sequences.turn",
    ["sequence"],
    "How long a write waited for the other processes of its host.",
    "seconds",
    buckets=TIMES,
)
GROUP = Instrument(
    "sequences.group.size",
    ["sequence", "of"],
    "How many items one write stored, or how many values one write of a counter took.",
    buckets=_SIZES,
)
FAILED_ATTEMPTS = Instrument(
    "sequences.failed.attempts",
    ["sequence", "reason"],
    "Attempts to write that are made again: after a lost race (conflict), throttled, not_sent, or lost.",
)
BLOCKS = Instrument("sequences.blocks", ["sequence"], "Blocks reserved by BlockAllocator.")
REQUESTS = Instrument(
    "sequences.requests",
    ["sequence", "operation", "outcome"],
    "Requests to DynamoDB: ok, conflict (a condition failed), throttled, not_sent, lost, or refused.",
)
REQUEST = Instrument("sequences.request", ["operation"], "How long DynamoDB took to answer.", "seconds", buckets=TIMES)
UNITS = Instrument(
    "sequences.capacity.units",
    ["sequence", "operation", "kind"],
    "Units that DynamoDB reported: write or read. It charges failed conditions, too, and reports none for them.",
)
CLIENTS = Instrument(
    "sequences.clients",
    ["transport"],
    "How many clients were made: lean, or boto3 where the settings ask for it or botocore does not fit.",
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
