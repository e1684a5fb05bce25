"""How DynamoDB limits the writes of one partition, as plain values: a budget with a burst, and conflicts.

Each partition key is a partition of its own here, as one whose sort key only grows is never split. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html for budget and burst,
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html for conflicts.
Reads are not limited. The time is an argument, and this module opens no sockets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from project.proof.faults.plans import Limits, Request, Rule
from sequences.dynamodb import item_size, write_units

__all__ = ["Admission", "Partitions"]

WRITES: Final = frozenset({"DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})
Key = str


@dataclass(frozen=True, slots=True)
class Admission:
    """A write that its partitions take: the units of each, and the keys of its items."""

    units: Mapping[Key, int]
    items: frozenset[Key]
    in_transaction: bool

    @property
    def total(self) -> int:
        return sum(self.units.values())


@dataclass
class _Bucket:
    """The unused units of one partition."""

    left: float
    at: float


@dataclass
class Partitions:
    """The state of all partitions under these limits. `used` counts units by what became of their writes."""

    limits: Limits
    used: Counter[str] = field(default_factory=Counter)
    _buckets: dict[Key, _Bucket] = field(default_factory=dict)
    _under_way: Counter[tuple[Key, bool]] = field(default_factory=Counter)

    def admit(self, request: Request, now: float) -> Admission | Rule | None:
        """Take a write, or say which fault it gets; None for a read. A write that is taken must be released.

        A refusal for lack of units is free. A conflict costs what the write would have cost.
        """
        if request.operation not in WRITES:
            return None
        asked = self._asked(request)
        if any(self._bucket(key, now).left < units for key, units in asked.units.items()):
            self.used["throttled"] += asked.total
            return Rule(fault="cancel-ThrottlingError" if asked.in_transaction else "ThrottlingException")
        for key, units in asked.units.items():
            self._bucket(key, now).left -= units
        if any(
            self._under_way[item, True] or (asked.in_transaction and self._under_way[item, False])
            for item in asked.items
        ):
            self.used["conflicts"] += asked.total
            return Rule(fault="cancel-TransactionConflict" if asked.in_transaction else "TransactionConflictException")
        self._under_way.update((item, asked.in_transaction) for item in asked.items)
        return asked

    def release(self, admission: Admission, *, stored: bool) -> None:
        """A write that was taken is over."""
        self.used["stored" if stored else "refused"] += admission.total
        self._under_way.subtract((item, admission.in_transaction) for item in admission.items)
        self._under_way += Counter()  # drops those at zero

    def _bucket(self, key: Key, now: float) -> _Bucket:
        """The bucket of a partition, with the units that came since it was last asked."""
        most = self.limits.units * self.limits.burst
        bucket = self._buckets.setdefault(key, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * self.limits.units)
        bucket.at = now
        return bucket

    def _asked(self, request: Request) -> Admission:
        actions = request.actions or [request.content]
        in_transaction = bool(request.actions)
        units: Counter[Key] = Counter()
        items = set()
        for action in actions:
            partition, item = self._place(action)
            units[partition] += _units(action) * (2 if in_transaction else 1)
            items.add(item)
        return Admission(dict(units), frozenset(items), in_transaction)

    def _place(self, action: Mapping[str, Any]) -> tuple[Key, Key]:
        """The partition of an action, and its item."""
        row = action.get("Key") or action.get("Item", {})
        names = next((names for names in self.limits.keys if names[0] in row), ())
        found = [json.dumps(row.get(name)) for name in names]
        return f"{action['TableName']} {found[:1]}", f"{action['TableName']} {found}"


def _units(action: Mapping[str, Any]) -> int:
    """The write units of an item; 1 for an update, whose item is not in the request."""
    return write_units(item_size(action.get("Item", {})))
