"""Plays processes that number items under some load, event by event, and measures what they had.

One seed has one course. A simulated second of ten thousand processes takes a few real ones.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from ...strategies import BlockAllocator, Strategy
from .callers import Host, Process, Rules, put
from .clock import Clock, Task
from .costs import shape_of
from .table import Latency, Limits, Result, SimulatedTable

__all__ = ["Load", "Outcome", "simulate"]


@dataclass(frozen=True, kw_only=True)
class Load:
    """Who asks for numbers, and how far away the table is. Raises ValueError with the name of the option.

    `writers` are spread over `processes`, and these over `hosts`. Without a `rate` each writer asks again as soon as it
    has its number. With one, so many numbers a second are asked for in all, by chance (Poisson); one that finds no
    writer of its process free waits for one. The figures are those of `seconds` after `warm_up`. `caller`, `leader` and
    `action` are the work of a process in seconds: for each number, each request, and each item in one.
    """

    writers: int = 64
    processes: int = 4
    hosts: int = 1
    scopes: int = 1
    rate: float | None = None
    seconds: float = 10.0
    warm_up: float = 2.0
    item_bytes: int = 1000
    tokens: bool = False
    block_size: int | None = None
    deadline: float = 10.0
    latency: Latency = field(default_factory=partial(Latency, 0.005))
    limits: Limits = field(default_factory=Limits)
    caller: float = 0.0
    leader: float = 0.0
    action: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("writers", "processes", "hosts", "scopes", "seconds", "item_bytes", "deadline"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"--{name.replace('_', '-')} is {getattr(self, name)}; it must be above 0.")
        if not 0 <= self.warm_up < math.inf:
            raise ValueError(f"--warm-up is {self.warm_up}; it must be 0 or more.")
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise ValueError(f"--rate is {self.rate}; it must be above 0, or left out.")
        if self.processes > self.writers:
            raise ValueError(f"--processes {self.processes} needs as many --writers or more, not {self.writers}.")
        if self.hosts > self.processes:
            raise ValueError(f"--hosts {self.hosts} needs as many --processes or more, not {self.processes}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one strategy did under a load, in the measured seconds. The times are None without numbers.

    The shares are of the writes that were sent. `slowest_over_fastest` compares processes by their numbers.
    """

    strategy: str
    per_second: float
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    requests_per_number: float
    write_units_per_number: float
    read_units_per_number: float
    lost_share: float
    conflict_share: float
    throttled_share: float
    gave_up: int
    slowest_over_fastest: float


def simulate(strategy: type[Strategy], load: Load) -> Outcome:
    """Play a strategy under a load. Raises InvalidSequence for one whose costs are not known."""
    run = _Run(strategy, load)
    run.start()
    run.clock.run(load.warm_up)
    before = run.figures()
    run.begin()
    run.clock.run(load.warm_up + load.seconds)
    return _outcome(strategy.__name__, load, run, _difference(run.figures(), before))


class _Run:
    """One course of events."""

    def __init__(self, strategy: type[Strategy], load: Load) -> None:
        self.load = load
        self.chance = random.Random(load.seed)  # noqa: S311 - nothing is secret
        self.clock = Clock()
        hosts = [Host() for _ in range(load.hosts)]
        self.table = SimulatedTable(self.clock, load.latency, load.limits, self.chance)
        block_size = load.block_size or BlockAllocator.options["block_size"].default
        rules = Rules(
            shape=shape_of(strategy),
            item_bytes=load.item_bytes,
            tokens=load.tokens,
            block_size=block_size,
            most_block_size=100 * block_size,
            deadline=load.deadline,
            caller=load.caller,
            leader=load.leader,
            action=load.action,
        )
        self.crews = [
            _Crew(self, Process(rules, hosts[number % load.hosts], self.table, self.chance), first, after - first)
            for number, (first, after) in enumerate(pairwise(_bounds(load.writers, load.processes)))
        ]
        self.asked = self.answered = 0
        self.latencies: list[float] = []
        self.gave_up = 0

    def start(self) -> None:
        """Let the writers begin, or the calls come."""
        if self.load.rate is None:
            for crew in self.crews:
                crew.write()
        else:
            self.clock.start(self._arrivals(self.load.rate))

    def begin(self) -> None:
        """The warm-up is over."""
        self.latencies, self.gave_up = [], 0
        for crew in self.crews:
            crew.numbers = 0

    def figures(self) -> dict[str, float]:
        """What the table has counted so far."""
        return {**self.table.tally, **self.table.used}

    def told(self, crew: _Crew, since: float, *, stored: bool) -> None:
        """A call is over that began at `since`."""
        self.answered += 1
        if stored:
            crew.numbers += 1
            self.latencies.append(self.clock.now - since)
        else:
            self.gave_up += 1

    def _arrivals(self, rate: float) -> Task:
        while True:
            yield self.chance.expovariate(rate)
            self.chance.choice(self.crews).call(self.clock.now)


class _Crew:
    """The writers of one process."""

    def __init__(self, run: _Run, process: Process, first: int, writers: int) -> None:
        self.numbers = 0
        self._run = run
        self._process = process
        self._first = first
        self._writers = writers
        self._idle = list(range(first, first + writers))
        self._backlog: deque[float] = deque()

    def write(self) -> None:
        """Have every writer ask for one number after another."""
        for writer in range(self._first, self._first + self._writers):
            self._run.clock.start(self._again_and_again(writer))

    def call(self, now: float) -> None:
        """Have a free writer serve a call; without one, the call waits."""
        self._backlog.append(now)
        if self._idle:
            self._run.clock.start(self._serve(self._idle.pop()))

    def _again_and_again(self, writer: int) -> Task:
        while True:
            yield from self._put(writer, self._run.clock.now)

    def _serve(self, writer: int) -> Task:
        while self._backlog:
            yield from self._put(writer, self._backlog.popleft())
        self._idle.append(writer)

    def _put(self, writer: int, since: float) -> Task:
        self._run.asked += 1
        stored = yield from put(self._process, writer % self._run.load.scopes)
        self._run.told(self, since, stored=stored)


def _bounds(writers: int, processes: int) -> Sequence[int]:
    return [writers * number // processes for number in range(processes + 1)]


def _difference(after: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    return {name: count - before.get(name, 0) for name, count in after.items()}


def _outcome(name: str, load: Load, run: _Run, figures: dict[str, float]) -> Outcome:
    latencies = sorted(run.latencies)
    numbers = max(len(latencies), 1)
    writes = max(figures.get("writes", 0), 1)
    by_process = [crew.numbers for crew in run.crews]
    return Outcome(
        strategy=name,
        per_second=len(latencies) / load.seconds,
        mean_ms=1000 * sum(latencies) / len(latencies) if latencies else None,
        p50_ms=_percentile(latencies, 0.50),
        p99_ms=_percentile(latencies, 0.99),
        requests_per_number=figures.get("requests", 0) / numbers,
        write_units_per_number=figures["write"] / numbers,
        read_units_per_number=figures["read"] / numbers,
        lost_share=figures.get(Result.LOST.value, 0) / writes,
        conflict_share=figures.get(Result.CONFLICT.value, 0) / writes,
        throttled_share=figures.get(Result.THROTTLED.value, 0) / writes,
        gave_up=run.gave_up,
        slowest_over_fastest=min(by_process) / (max(by_process) or 1),
    )


def _percentile(latencies: Sequence[float], share: float) -> float | None:
    """The latency in milliseconds that this share of the sorted ones does not exceed."""
    return latencies[min(len(latencies) - 1, int(share * len(latencies)))] * 1000 if latencies else None
