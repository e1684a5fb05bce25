"""The faults of requests, and the seeded plan that the fault proxy follows, as plain values.

A `Plan` is a list of rules and a seed. Each rule has its own random numbers and counts the requests that match it. So
with the same seed, a rule decides the same about its n-th request. This module opens no sockets.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

__all__ = ["CANCELLATIONS", "CHANGES", "CUTS", "LOSSES", "REJECTIONS", "Limits", "Plan", "Request", "Rule", "rejection"]

LOSSES: Final = {
    "lose-close": "the engine commits; the connection is closed instead of an answer",
    "lose-reset": "the engine commits; the connection is reset instead of an answer",
    "lose-hang": "the engine commits; no answer for `seconds`, then the connection is closed",
    "lose-500": "the engine commits; the answer is a 500 InternalServerError",
    "lose-checksum": "the engine commits; the answer is altered on the way, its checksum is not",
    "lose-truncated": "the engine commits; half of the answer arrives, then the connection is closed",
}
"""Faults after the commit: the engine carries out the request, and the client cannot know it."""

CUTS: Final = {
    "drop-close": "the connection is closed before the engine sees the request",
    "drop-hang": "the engine never sees the request; no answer for `seconds`, then the connection is closed",
    "late": "the connection is closed at once, the engine sees the request `seconds` later",
    "late-hang": "no answer, however long the client waits; the engine sees the request `seconds` later",
}
"""Faults before the commit. To the client they look like faults after it."""

CHANGES: Final = {
    "delay": "the engine sees the request `seconds` later; the answer arrives",
    "duplicate": "the answer arrives; after a success the engine sees the same bytes again `seconds` later",
    "forget-request-token": "the engine does not know the ClientRequestToken again, as after ten minutes",
}
"""Faults of requests whose answers arrive."""

_DYNAMODB: Final = "com.amazonaws.dynamodb.v20120810"
_CORAL: Final = "com.amazon.coral"

REJECTIONS: Final[Mapping[str, tuple[int, str]]] = {
    "AccessDeniedException": (400, f"{_CORAL}.service"),
    "InternalServerError": (500, _DYNAMODB),
    "ProvisionedThroughputExceededException": (400, _DYNAMODB),
    "ReplicatedWriteConflictException": (400, _DYNAMODB),
    "RequestLimitExceeded": (400, _DYNAMODB),
    "ServiceUnavailable": (503, f"{_CORAL}.availability"),
    "ThrottlingException": (400, f"{_CORAL}.availability"),
    "TransactionConflictException": (400, _DYNAMODB),
    "TransactionInProgressException": (400, _DYNAMODB),
}
"""The status and the namespace of each error code. The engine never sees a rejected request."""

_RAISED_BY: Final[Mapping[str, frozenset[str]]] = {
    "ReplicatedWriteConflictException": frozenset({"DeleteItem", "PutItem", "UpdateItem"}),
    "TransactionConflictException": frozenset({"DeleteItem", "PutItem", "UpdateItem"}),
    "TransactionInProgressException": frozenset({"TransactWriteItems"}),
}
"""Errors that only some operations can raise. A rule for such an error matches these operations only."""

CANCELLATIONS: Final[Mapping[str, str]] = {
    "ItemCollectionSizeLimitExceeded": "Collection size exceeded.",
    "ProvisionedThroughputExceeded": "The level of configured provisioned throughput was exceeded.",
    "ThrottlingError": "Throughput exceeds the current capacity of your table or index.",
    "TransactionConflict": "Transaction is ongoing for the item",
    "ValidationError": "Item size has exceeded the maximum allowed size",
}
"""The reasons of cancelled transactions, with their messages. The fault of a reason is named `cancel-<reason>`."""

FAULTS: Final = frozenset([*LOSSES, *CUTS, *CHANGES, *REJECTIONS, *(f"cancel-{reason}" for reason in CANCELLATIONS)])


@dataclass(frozen=True)
class Request:
    """One request: the name of its operation ("PutItem"), and its body as it was sent."""

    operation: str
    body: bytes

    @cached_property
    def content(self) -> dict[str, Any]:
        """The body as a JSON object; empty if it is not one."""
        try:
            parsed = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}

    @property
    def actions(self) -> list[dict[str, Any]]:
        """The actions of a transaction in their order; empty for any other operation."""
        return [next(iter(action.values())) for action in self.content.get("TransactItems", [])]

    @property
    def tables(self) -> set[str]:
        """All tables of the request."""
        named = [self.content, *self.actions]
        batches: Iterable[str] = self.content.get("RequestItems", {})
        return {part["TableName"] for part in named if "TableName" in part} | set(batches)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Which requests get which fault.

    A request matches if `operation`, `table` ("*" is any) and `contains` (a text in its body) all match. The first
    `skip` matching requests pass. Each other one is hit with `probability`, at most `count` in all. `seconds` is the
    length of a hang or a delay. `action` is the index of the action that a cancellation names as its reason.
    """

    fault: str
    operation: str = "*"
    table: str = "*"
    contains: str = ""
    skip: int = 0
    count: int | None = None
    probability: float = 1.0
    seconds: float = 1.0
    action: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for a fault that does not exist: a plan with a typo would test nothing."""
        if self.fault not in FAULTS:
            raise ValueError(f"unknown fault {self.fault!r}; choose one of {', '.join(sorted(FAULTS))}")

    def matches(self, request: Request) -> bool:
        """Whether the rule applies to this kind of request."""
        return (
            self.operation in ("*", request.operation)
            and (self.table == "*" or self.table in request.tables)
            and (not self.contains or self.contains.encode() in request.body)
            and request.operation in _RAISED_BY.get(self.fault, {request.operation})
            and (not self.fault.startswith("cancel-") or bool(request.actions))
        )


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What each partition takes, and how far away it is; `partitions` follows it.

    `units` is the write units a second; unused ones of `burst` seconds are kept. `latency` is the seconds of a request,
    half of them before the partition sees it. `keys` are the key names of the tables,
    each time the partition key first.
    """

    units: float = 1000.0
    burst: float = 1.0
    latency: float = 0.0
    keys: Sequence[Sequence[str]] = (("pk", "sk"), ("sequence", "scope"))


@dataclass
class _Course:
    """The progress of one rule."""

    rule: Rule
    draws: random.Random
    seen: int = 0
    hits: int = 0

    def hits_now(self) -> bool:
        self.seen += 1
        drawn = self.draws.random() < self.rule.probability
        spent = self.rule.count is not None and self.hits >= self.rule.count
        hit = drawn and not spent and self.seen > self.rule.skip
        self.hits += hit
        return hit


@dataclass
class Plan:
    """Rules and a seed, and the limits of partitions. Each request gets one `fault_for` it, in the order of arrival."""

    rules: list[Rule] = field(default_factory=list)
    seed: int = 0
    limits: Limits | None = None

    def __post_init__(self) -> None:
        """Start every rule from its beginning."""
        self._courses = [_Course(rule, random.Random(f"{self.seed}:{place}")) for place, rule in enumerate(self.rules)]

    def fault_for(self, request: Request) -> Rule | None:
        """The first rule that hits this request. Later rules do not see a request that was hit."""
        return next((c.rule for c in self._courses if c.rule.matches(request) and c.hits_now()), None)

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """The plan that `to_json` wrote. Raises ValueError or TypeError for any other text."""
        content = json.loads(text)
        limits = Limits(**content["limits"]) if content.get("limits") else None
        return cls([Rule(**rule) for rule in content.get("rules", [])], content.get("seed", 0), limits)

    def to_json(self) -> str:
        """The plan as one line of JSON."""
        limits = asdict(self.limits) if self.limits else None
        return json.dumps({"seed": self.seed, "rules": [asdict(rule) for rule in self.rules], "limits": limits})


def rejection(rule: Rule, request: Request) -> tuple[int, bytes]:
    """The status and the body of the answer of a rejecting rule, in DynamoDB's JSON 1.0 format."""
    if rule.fault.startswith("cancel-"):
        return 400, json.dumps(_cancellation(rule, request)).encode()
    status, namespace = REJECTIONS[rule.fault]
    return status, json.dumps({"__type": f"{namespace}#{rule.fault}", "message": "injected fault"}).encode()


def _cancellation(rule: Rule, request: Request) -> dict[str, Any]:
    reason = rule.fault.removeprefix("cancel-")
    reasons: list[dict[str, str]] = [{"Code": "None"} for _ in request.actions]
    reasons[rule.action] = {"Code": reason, "Message": CANCELLATIONS[reason]}
    codes = ", ".join(entry["Code"] for entry in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return {
        "__type": f"{_DYNAMODB}#TransactionCanceledException",
        "Message": message,
        "CancellationReasons": reasons,
    }
