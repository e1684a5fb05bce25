"""Speed and money by formulas: what a strategy takes under some traffic, and where its end is.

The formulas know no races between hosts and no throttles. The groups that share a write are in `queueing`.
"""

import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, replace
from typing import Any

from ..commit.waiters import UNITS_PER_SECOND
from ..strategies import BlockAllocator, Strategy, TransactionalCounter
from ..strategies.sort_key import TAIL_SECONDS
from .costs import MOST_ITEM_BYTES, Units, Use, WritePattern, most_together, pattern_of, read_units, units
from .queueing import Group, grouped, taking_turns

WRITES_A_SECOND = float(UNITS_PER_SECOND)
"""The write units a second that one partition takes. It takes three times as many read units, which no strategy needs.

From https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html.
"""
NEAR = 0.7
"""From this share of the ceiling on the traffic is near it: a queue is long before it never ends."""
MONTH_SECONDS = 30 * 24 * 3600
REMEDIES = {
    "items": "Spread the numbers over more scopes or sequences, or make the items smaller.",
    "markers": "Spread the numbers over more scopes or sequences, or leave the tokens out.",
    "counters": "Take BlockAllocator, whose processes seldom ask the counter.",
    "own work": "Run more processes.",
    "writers": "Run more writers.",
    "turns": "Run more writers, or spread the numbers over more scopes.",
}
"""What helps against a limit, by a part of its words."""


class Verdict:
    """What the ceiling means for the traffic."""

    FITS = "fits"
    NEAR = "near"
    OVER = "does not fit"


def _asked(about: str, default: Any = MISSING) -> Any:
    """A field of the traffic, with what it is."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What is asked of one sequence. Raises ValueError for what no traffic is, with the name of the option.

    The hottest scope gets an even share by default. Where the strategy takes items with keys of their own, each has a
    partition of its own.
    """

    per_second: float = _asked("numbers a second at the peak, in all scopes")
    per_month: float | None = _asked("numbers a month, for what they cost", None)
    scopes: int = _asked("scopes that share the numbers", 1)
    hottest: float | None = _asked("the share of the hottest scope, from 1/scopes to 1", None)
    item_bytes: int = _asked("an item as it is stored, with its key, number and token", 1000)
    writers: int = _asked("callers that may ask at the same time, in all", 64)
    processes: int = _asked("of one host, over which the writers are spread", 4)
    latency_ms: float = _asked("a request there and back", 5.0)
    processor_ms: float = _asked("for which a number keeps its process busy", 0.3)
    tokens: bool = _asked("every request has an idempotency token", False)
    own_keys: bool = _asked("items have keys of their own (value_in), where the strategy takes them", False)

    def __post_init__(self) -> None:
        for name in ("per_second", "scopes", "writers", "processes", "latency_ms"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"--{name.replace('_', '-')} is {getattr(self, name)}; it must be above 0.")
        if self.per_month is not None and not 0 <= self.per_month < math.inf:
            raise ValueError(f"--per-month is {self.per_month}; it must be 0 or more.")
        if not 0 <= self.processor_ms < math.inf:
            raise ValueError(f"--processor-ms is {self.processor_ms}; it must be 0 or more.")
        if self.hottest is not None and not 1 / self.scopes <= self.hottest <= 1:
            raise ValueError(f"--hottest is {self.hottest}; with {self.scopes} scopes it is from 1/{self.scopes} to 1.")
        if not 1 <= self.item_bytes <= MOST_ITEM_BYTES:
            raise ValueError(f"--item-bytes is {self.item_bytes}; an item has from 1 to {MOST_ITEM_BYTES} bytes.")
        if self.processes > self.writers:
            raise ValueError(f"--processes {self.processes} needs as many --writers or more, not {self.writers}.")

    @property
    def hot(self) -> float:
        """Numbers a second in the hottest scope."""
        return self.per_second * (1 / self.scopes if self.hottest is None else self.hottest)

    @property
    def latency(self) -> float:
        """A round trip in seconds."""
        return self.latency_ms / 1000

    @property
    def processor(self) -> float:
        """The time in seconds for which a number keeps its process busy."""
        return self.processor_ms / 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What one strategy does under some traffic.

    `units` and `group` are those of the hottest scope at the peak. `wait_ms` is until a number is there, on average;
    None if the queue never ends. `ceiling` is in numbers a second of one scope, and `limit` what limits it.
    `partition_units` are the write units a second of the hottest partition. `month_units` are the most write and read
    units that a month takes; None if the traffic has no month.
    """

    strategy: str
    units: Units
    group: float
    wait_ms: float | None
    ceiling: float
    limit: str
    partition: str
    partition_units: float
    verdict: str
    remedy: str
    month_units: tuple[float, float] | None


def estimate(strategy: type[Strategy], traffic: Traffic, *, block_size: int | None = None) -> Estimate:
    """What a strategy does under this traffic. Raises InvalidSequence for one whose costs are not known."""
    traffic = replace(traffic, own_keys=traffic.own_keys and strategy.takes_own_keys)
    case = _Case(pattern_of(strategy), traffic, block_size or BlockAllocator.options["block_size"].default)
    group, taken = case.at(traffic.hot)
    ceiling, limit = case.ceiling()
    loads = {
        name: used * (traffic.hot if name != "counters" else traffic.per_second) for name, used in case.writes(taken)
    }
    partition = max(loads, key=lambda name: loads[name])
    of_scope, of_counters = traffic.hot / ceiling, loads["counters"] / WRITES_A_SECOND  # those of all scopes are in one
    load = max(of_scope, of_counters)
    verdict = Verdict.OVER if load > 1 else Verdict.NEAR if load > NEAR else Verdict.FITS
    wait = case.served(taken)
    if case.pattern is not WritePattern.BLOCK:
        wait += group.wait  # for the write to begin
    return Estimate(
        strategy=strategy.__name__,
        units=taken,
        group=group.size,
        wait_ms=1000 * wait if wait < math.inf else None,
        ceiling=ceiling,
        limit=limit,
        partition=partition,
        partition_units=loads[partition],
        verdict=verdict,
        remedy="" if verdict == Verdict.FITS else _remedy(case, limit if of_scope >= of_counters else "counters"),
        month_units=case.month(taken),
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """One strategy under some traffic."""

    pattern: WritePattern
    traffic: Traffic
    block_size: int

    def taken(self, together: float) -> Units:
        """What one of so many numbers takes that share a write, as far as the pattern lets them."""
        item_bytes, tokens = self.traffic.item_bytes, self.traffic.tokens
        return units(self.pattern, item_bytes, tokens=tokens, together=together, block_size=self.block_size)

    def most_together(self) -> int:
        return most_together(self.pattern, self.traffic.item_bytes, tokens=self.traffic.tokens)

    def at(self, rate: float) -> tuple[Group, Units]:
        """The groups of a scope at a rate, and what a number takes there."""
        pattern, traffic = self.pattern, self.traffic
        if not pattern.shares_writes:
            group = grouped(rate / traffic.processes, pattern.counting * traffic.latency, math.inf, 0.0)
            return group, self.taken(group.size)
        group = taking_turns(rate, traffic.latency, self.most_together(), traffic.processor, traffic.processes)
        lone, shared = self.taken(1), self.taken(group.size)
        share = group.alone / group.size  # of the numbers that are alone in their write
        write = share * lone.item.write + (1 - share) * shared.item.write
        reads = 0.0  # of the highest item, by a caller who comes when it is not remembered any more
        if pattern is WritePattern.TAIL:
            reads = math.exp(-rate * (traffic.latency + TAIL_SECONDS)) / group.size
        item = Use(write, reads * read_units(traffic.item_bytes))
        return group, replace(shared, requests=1 / group.size + reads, item=item)

    def served(self, taken: Units) -> float:
        """The seconds that a caller takes: the requests one after another, and the process's own work."""
        pattern, traffic = self.pattern, self.traffic
        trips = 1 + (0 if pattern is WritePattern.BLOCK else pattern.counting)
        trips += traffic.tokens and not pattern.shares_writes  # the look for the marker
        reads = taken.item.read / read_units(traffic.item_bytes)
        return (trips + reads) * traffic.latency + traffic.processor

    def ceiling(self) -> tuple[float, str]:
        """The most numbers a second of one scope, and what limits them."""
        traffic = self.traffic
        latency, busy, processes = traffic.latency, traffic.processor, traffic.processes
        together = traffic.writers / processes
        if self.pattern.shares_writes:
            together = min(together, self.most_together())
        taken = self.taken(together)
        found = {
            f"write units of the {name}' partition": WRITES_A_SECOND / used for name, used in self.writes(taken) if used
        }
        if self.pattern.shares_writes:
            seconds = max(processes * latency, latency + busy * together)
            found["one write at a time, by turns"] = processes * together / seconds
        else:
            found["the writers, who wait for their requests"] = traffic.writers / self.served(taken)
        if busy:
            found["the processes' own work"] = processes / busy
        limit = min(found, key=lambda name: found[name])
        return found[limit], limit

    def writes(self, taken: Units) -> Iterator[tuple[str, float]]:
        """The write units that a number takes of each partition; an item with a key of its own shares none."""
        yield "items", 0.0 if self.traffic.own_keys else taken.item.write
        yield "markers", taken.marker.write
        yield "counters", taken.counter.write

    def month(self, peak: Units) -> tuple[float, float] | None:
        """The write and read units of a month: those of the peak, or those of an even rate, whichever are more."""
        numbers = self.traffic.per_month
        if numbers is None:
            return None
        rate = self.traffic.hot / self.traffic.per_second * (numbers / MONTH_SECONDS)
        steady = self.at(rate)[1] if rate else peak
        return numbers * max(peak.write, steady.write), numbers * max(peak.read, steady.read)


def _remedy(case: _Case, limit: str) -> str:
    """What helps: where items are the limit, also to have them in partitions of their own, if that is any better."""
    remedy = next(remedy for part, remedy in REMEDIES.items() if part in limit)
    if "items" not in limit:
        return remedy
    transactions = replace(case, pattern=WritePattern.TRANSACTION)
    ceiling, next_limit = replace(transactions, traffic=replace(case.traffic, own_keys=True)).ceiling()
    if ceiling <= transactions.ceiling()[0]:
        return remedy
    return (
        f"Without gaps {TransactionalCounter.__name__} with items under keys of their own (value_in) takes "
        f"{ceiling:,.0f} a second in one scope; then the limit is {next_limit}. {remedy}"
    )
