"""Writers at one scope of a partition with limits: how much of its budget they use, waste, and wait for.

    python -m project.proof.crowd [--latency 0.005] [--writers 64] [--processes 4] [--hosts 2] [--units 1000]

starts processes of threads that put items under one scope through the fault proxy, which limits and delays them as
DynamoDB does. It prints what they had in a span of time, after a while that spends the burst.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import multiprocessing
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import django
from django.conf import settings

from project.lab.comparison import TABLES, sequences_of
from project.lab.writers import sample_item
from project.proof.faults.control import Proxy, ProxyLog, proxy_before
from project.proof.faults.plans import Limits
from sequences import dynamodb
from sequences.testing.embedded import Engine

__all__ = ["ITEM_UNITS", "Crowd", "Outcome", "run"]

READY_SECONDS = 60.0
SCOPE = "ABC"
PREFIX = "crowd_"
ITEM_UNITS = 2  # of an item that is written with others


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """`writers` over `processes`, and these over `hosts` that share nothing, for so many seconds after the warm-up.

    With `shortage` units a second, the limits fall to them for `warm_up` seconds before the span begins.
    """

    writers: int
    processes: int = 1
    hosts: int = 1
    seconds: float = 3.0
    warm_up: float = 2.0
    shortage: float | None = None
    strategy: str = "SortKeyMaximum"
    options: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further attributes of each item."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a crowd had in the span: the latencies of each process in seconds, and what the proxy did."""

    crowd: Crowd
    limits: Limits
    latencies: Sequence[Sequence[float]]
    errors: Mapping[str, int]
    before: ProxyLog
    after: ProxyLog

    def units(self, *ends: str) -> int:
        """The units of the span whose writes ended so: "stored", "refused", "conflicts" or "throttled"."""
        return sum(self.after.units.get(end, 0) - self.before.units.get(end, 0) for end in ends)

    @property
    def requests(self) -> int:
        return sum(self.after.requests.values()) - sum(self.before.requests.values())

    def figures(self) -> dict[str, float]:
        """The figures of the span; speeds are per second, times in milliseconds.

        `over queueing` is the p99 over the time that callers would take if nothing but queueing cost time: their number
        over the items that the budget allows, but at least a round trip for the write of each process and one more for
        that under way. Times are infinite if nobody got a number.
        """
        waits = sorted(wait for share in self.latencies for wait in share) or [math.inf]
        counts = [len(share) for share in self.latencies]
        used = self.units("stored", "refused", "conflicts")
        queueing = max(
            (self.crowd.processes + 1) * self.limits.latency, self.crowd.writers * ITEM_UNITS / self.limits.units
        )
        p99 = waits[int(0.99 * len(waits))]
        return {
            "per second": sum(counts) / self.crowd.seconds,
            "of the budget": self.units("stored") / (self.limits.units * self.crowd.seconds),
            "wasted": 1 - self.units("stored") / used if used else 0.0,
            "throttled per second": self.units("throttled") / self.crowd.seconds,
            "requests per second": self.requests / self.crowd.seconds,
            "p50": waits[len(waits) // 2] * 1000,
            "p99": p99 * 1000,
            "over queueing": p99 / queueing,
            "slowest over fastest": min(counts) / max(counts) if any(counts) else 0.0,
            "errors": sum(self.errors.values()),
        }


def run(crowd: Crowd, limits: Limits) -> Outcome:
    """Run a crowd on an engine of its own."""
    from sequences.registry import strategies

    with Engine() as engine, proxy_before(engine.endpoint, limits=limits) as proxy:
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.endpoint
        strategies.reset()
        for name, keys in TABLES.items():
            dynamodb.create_table(f"{PREFIX}{name}", keys)
        context = multiprocessing.get_context("spawn")
        barrier = context.Barrier(crowd.processes + 1)
        with tempfile.TemporaryDirectory() as folder, context.Pool(crowd.processes, _begin, (barrier,)) as pool:
            shares = pool.starmap_async(_work, _jobs(crowd, proxy, folder), chunksize=1)
            barrier.wait(READY_SECONDS)
            before, after = _watched(crowd, limits, proxy)
            latencies, errors = zip(*shares.get(READY_SECONDS), strict=True)
    return Outcome(
        crowd=crowd, limits=limits, latencies=latencies, errors=sum(errors, Counter()), before=before, after=after
    )


def _watched(crowd: Crowd, limits: Limits, proxy: Proxy) -> tuple[ProxyLog, ProxyLog]:
    """The log of the proxy at the begin and at the end of the span."""
    if crowd.shortage is not None:
        proxy.follow(limits=Limits(units=crowd.shortage, latency=limits.latency))
    time.sleep(crowd.warm_up)
    if crowd.shortage is not None:
        proxy.follow(limits=limits)
    before = proxy.log
    time.sleep(crowd.seconds)
    return before, proxy.log


def _jobs(crowd: Crowd, proxy: Proxy, folder: str) -> list[tuple[Crowd, str, Path, int]]:
    """The arguments of `_work` for each process: the writers divided as evenly as possible."""
    each, left = divmod(crowd.writers, crowd.processes)
    homes = [Path(folder) / str(number % crowd.hosts) for number in range(crowd.processes)]
    for home in homes:
        home.mkdir(exist_ok=True)
    return [(crowd, proxy.endpoint, home, each + (number < left)) for number, home in enumerate(homes)]


class _Process:
    """What this process received at its start."""

    barrier: Barrier


def _begin(barrier: Barrier) -> None:
    _Process.barrier = barrier


def _work(crowd: Crowd, endpoint: str, home: Path, threads: int) -> tuple[list[float], Counter[str]]:
    """Write from this process: the latencies of the span, and the errors by kind. `home` is what a host shares."""
    tempfile.tempdir = str(home)
    os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint
    django.setup()
    logging.disable(logging.CRITICAL)
    settings.TABLE_PREFIX = PREFIX
    settings.SEQUENCES = sequences_of(100)
    settings.SEQUENCES[crowd.strategy]["OPTIONS"] |= crowd.options
    latencies: list[float] = []
    errors: Counter[str] = Counter()
    _Process.barrier.wait(READY_SECONDS)
    begin = time.monotonic() + crowd.warm_up
    arguments = (crowd, begin, latencies, errors)
    crew = [threading.Thread(target=_write, args=(number, *arguments), daemon=True) for number in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return latencies, errors


def _write(number: int, crowd: Crowd, begin: float, latencies: list[float], errors: Counter[str]) -> None:
    from sequences.services import put_next

    count, end = 0, begin + crowd.seconds
    while (started := time.monotonic()) < end:
        count += 1
        try:
            put_next(crowd.strategy, {**sample_item(f"{os.getpid()}-{number}-{count}"), **crowd.more}, scope=SCOPE)
        except Exception as error:  # noqa: BLE001 - the outcome counts errors of every kind
            errors[type(error).__name__] += 1
            continue
        now = time.monotonic()
        if begin <= now < end:
            latencies.append(now - started)


def prepared() -> None:
    """Make this process able to run crowds."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
    os.environ |= {"AWS_ACCESS_KEY_ID": "crowd", "AWS_SECRET_ACCESS_KEY": "crowd", "AWS_DEFAULT_REGION": "us-east-1"}
    django.setup()
    logging.disable(logging.CRITICAL)


def main() -> None:
    """Run one crowd and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=1, help="of the processes, which share nothing")
    parser.add_argument("--latency", type=float, default=0.005, help="of each request, in seconds")
    parser.add_argument("--units", type=float, default=1000, help="write units a second")
    parser.add_argument("--shortage", type=float, help="write units a second before the span")
    parser.add_argument("--warm-up", type=float, default=2, help="seconds before the span")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of the span")
    options = parser.parse_args()
    limits = Limits(latency=options.latency, units=options.units)
    names = ("writers", "processes", "hosts", "shortage", "warm_up", "seconds")
    named = {name: getattr(options, name) for name in names}
    figures: dict[str, Any] = run(Crowd(**named), limits).figures()
    print(json.dumps({**named, **{name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    prepared()
    main()
