"""The simulated tables: what each partition takes, which writes meet, and how long a request is under way.

Half of a request's time passes before the table sees it. There it is admitted if the bucket of every partition has the
units, is refused if a transaction has one of its items, and then finds its condition true or false. A throttled request
is free. A conflict and a false condition cost what the write would have cost.

Budget and burst: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html, where a
partition keeps the unused units of up to 300 seconds. Conflicts:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist
from typing import Any, TypeVar

from .clock import Clock, Server, Steps

__all__ = ["Latency", "Limits", "Result", "SimulatedTable", "Write"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Latency:
    """How long a request takes in seconds, there and back: always `p50`, or lognormal with this median and p99."""

    p50: float
    p99: float | None = None

    def draw(self, chance: random.Random) -> float:
        """The time of one request."""
        if self.p99 is None or self.p99 <= self.p50:
            return self.p50
        sigma = math.log(self.p99 / self.p50) / NormalDist().inv_cdf(0.99)
        return self.p50 * math.exp(sigma * chance.gauss(0, 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a partition takes in a second, and for how many seconds it keeps what is unused.

    `engine` is the time in seconds for which a request keeps the one engine busy, and `engine_action` that of each of
    its actions: 0 for DynamoDB, which works on many at once.
    """

    writes: float = math.inf
    reads: float = math.inf
    burst: float = 0.0
    engine: float = 0.0
    engine_action: float = 0.0


class Result(Enum):
    """What became of a request."""

    STORED = "stored"
    LOST = "lost"
    CONFLICT = "conflict"
    THROTTLED = "throttled"


@dataclass(frozen=True, slots=True)
class Write:
    """One write: the units that it takes of each partition, its items, and its condition and effect."""

    units: Mapping[Hashable, float]
    items: Sequence[Hashable]
    in_transaction: bool
    holds: Callable[[], bool]
    apply: Callable[[], None]


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class SimulatedTable:
    """All tables of one Region. What they hold is up to the writes: the highest number of each scope, and counters."""

    def __init__(self, clock: Clock, latency: Latency, limits: Limits, chance: random.Random) -> None:
        self.clock = clock
        self.tally: Counter[str] = Counter()
        self.used = {"write": 0.0, "read": 0.0}
        self.last: dict[Hashable, int] = {}
        """The highest number of each scope, or what its counter has."""
        self.rows: dict[Hashable, Any] = {}
        """What else is stored, as its writers see it."""
        self._latency = latency
        self._limits = limits
        self._chance = chance
        self._engine = Server(clock)
        self._buckets: dict[tuple[str, Hashable], _Bucket] = {}
        self._under_way: Counter[tuple[Hashable, bool]] = Counter()

    def write(self, write: Write) -> Steps[Result]:
        """Send one write, and wait for its answer."""
        half = self._latency.draw(self._chance) / 2
        yield half
        self.tally["writes"] += 1
        if not self._admits("write", write.units):
            yield half
            return self._over(Result.THROTTLED)
        if any(self._under_way[item, True] or (write.in_transaction and self._under_way[item, False])
               for item in write.items):  # fmt: skip
            yield half
            return self._over(Result.CONFLICT)
        held = [(item, write.in_transaction) for item in write.items]
        self._under_way.update(held)
        yield from self._serve(len(write.items))
        stored = write.holds()
        if stored:
            write.apply()
        yield half
        for item in held:
            self._under_way[item] -= 1
            if not self._under_way[item]:
                del self._under_way[item]
        return self._over(Result.STORED if stored else Result.LOST)

    def read(self, units: Mapping[Hashable, float], scope: Hashable) -> Steps[int | None]:
        """Send one read of the last value of a scope; None if it was throttled."""
        return self.look(units, lambda: self.last.get(scope, 0))

    def look(self, units: Mapping[Hashable, float], found: Callable[[], T]) -> Steps[T | None]:
        """Send one read of what is found when the table sees it; None if it was throttled."""
        half = self._latency.draw(self._chance) / 2
        yield half
        if not self._admits("read", units):
            yield half
            self._over(Result.THROTTLED)
            return None
        yield from self._serve(1)
        value = found()
        yield half
        self.tally["requests"] += 1
        return value

    def _over(self, result: Result) -> Result:
        self.tally["requests"] += 1
        self.tally[result.value] += 1
        return result

    def _serve(self, actions: int) -> Steps[None]:
        return self._engine.work(self._limits.engine + self._limits.engine_action * actions)

    def _admits(self, kind: str, units: Mapping[Hashable, float]) -> bool:
        """Take the units of every partition, or of none."""
        limit = self._limits.writes if kind == "write" else self._limits.reads
        if limit < math.inf:
            buckets = {partition: self._bucket(kind, partition, limit) for partition in units}
            if any(buckets[partition].left < taken for partition, taken in units.items()):
                return False
            for partition, taken in units.items():
                buckets[partition].left -= taken
        self.used[kind] += sum(units.values())
        return True

    def _bucket(self, kind: str, partition: Hashable, limit: float) -> _Bucket:
        """The bucket of a partition, with the units that came since it was last asked. It begins full."""
        now, most = self.clock.now, limit * self._limits.burst
        bucket = self._buckets.setdefault((kind, partition), _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * limit)
        bucket.at = now
        return bucket
