"""Writers at one scope of a partition with limits: how much of its budget they use, waste, and wait for.

`run` starts processes of threads that put items under one scope through the fault proxy, which limits and delays them
as DynamoDB does, and returns what they had in a span of time, after a while that spends the burst.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier
from typing import Any

import django
from django.conf import settings

from project.proof.faults.control import Proxy, ProxyLog, proxy_before
from project.proof.faults.plans import Limits
from sequences import dynamodb
from sequences.lab.comparison import TABLES, sequences_of
from sequences.lab.engine import Engine
from sequences.lab.writers import sample_item

__all__ = ["Crowd", "Outcome", "run"]

READY_SECONDS = 60.0
SCOPE = "ABC"


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """`writers` over `processes`, for so many seconds after the warm-up. With `apart` each process is its own host."""

    writers: int
    processes: int = 1
    apart: bool = False
    seconds: float = 3.0
    warm_up: float = 2.0
    strategy: str = "SortKeyMaximum"


@dataclass
class Outcome:
    """What a crowd had in the span: the latencies of each process in seconds, sorted, and what the proxy counted."""

    crowd: Crowd
    limits: Limits
    latencies: Sequence[Sequence[float]]
    errors: Counter[str]
    before: ProxyLog
    after: ProxyLog
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def tickets(self) -> int:
        return sum(map(len, self.latencies))

    def units(self, name: str) -> int:
        """The units of the span that came to this end: "stored", "refused", "conflicts" or "throttled"."""
        return self.after.units.get(name, 0) - self.before.units.get(name, 0)

    def requests(self) -> int:
        return sum(self.after.requests.values()) - sum(self.before.requests.values())


def run(crowd: Crowd, limits: Limits) -> Outcome:
    """Run a crowd on an engine of its own."""
    with Engine() as engine, proxy_before(engine.endpoint, limits=limits) as proxy:
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.endpoint
        from sequences.registry import strategies

        strategies.reset()
        prefix = "crowd_"
        dynamodb.create_table(f"{prefix}items", TABLES["items"])
        return _measured(crowd, limits, proxy, prefix)


def _measured(crowd: Crowd, limits: Limits, proxy: Proxy, prefix: str) -> Outcome:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(crowd.processes + 1)
    with tempfile.TemporaryDirectory() as folder, context.Pool(crowd.processes, _begin, (barrier,)) as pool:
        shares = _started(pool, crowd, proxy, prefix, folder)
        barrier.wait(READY_SECONDS)
        time.sleep(crowd.warm_up)
        before = proxy.log
        time.sleep(crowd.seconds)
        after = proxy.log
        latencies, errors = zip(*shares.get(READY_SECONDS), strict=True)
    return Outcome(crowd, limits, latencies, sum(errors, Counter()), before, after)


def _started(pool: Pool, crowd: Crowd, proxy: Proxy, prefix: str, folder: str) -> Any:
    bounds = [crowd.writers * number // crowd.processes for number in range(crowd.processes + 1)]
    jobs = []
    for number in range(crowd.processes):
        home = os.path.join(folder, str(number)) if crowd.apart else folder
        os.makedirs(home, exist_ok=True)
        threads = bounds[number + 1] - bounds[number]
        jobs.append((asdict(crowd), proxy.endpoint, prefix, home, threads))
    return pool.starmap_async(_work, jobs, chunksize=1)


class _Process:
    barrier: Barrier


def _begin(barrier: Barrier) -> None:
    _Process.barrier = barrier


def _work(
    crowd: dict[str, Any], endpoint: str, prefix: str, home: str, threads: int
) -> tuple[list[float], Counter[str]]:
    plan = Crowd(**crowd)
    tempfile.tempdir = home
    os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint
    django.setup()
    logging.disable(logging.CRITICAL)
    settings.TABLE_PREFIX = prefix
    settings.SEQUENCES = sequences_of(100)
    from sequences.services import put_next

    latencies: list[float] = []
    errors: Counter[str] = Counter()
    _Process.barrier.wait(READY_SECONDS)
    begin = time.monotonic() + plan.warm_up
    end = begin + plan.seconds

    def write(number: int) -> None:
        count = 0
        while (started := time.monotonic()) < end:
            count += 1
            try:
                put_next(plan.strategy, sample_item(f"{os.getpid()}-{number}-{count}"), scope=SCOPE)
            except Exception as error:  # noqa: BLE001 - counted
                errors[type(error).__name__] += 1
                continue
            if begin <= (now := time.monotonic()) < end:
                latencies.append(now - started)

    crew = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return sorted(latencies), errors


def _line(o: Outcome) -> str:
    every = sorted(x for share in o.latencies for x in share)
    if not every:
        return "nothing"
    s = o.crowd.seconds
    p = lambda q: every[min(len(every) - 1, int(q * len(every)))] * 1000
    counts = [len(share) for share in o.latencies]
    used = o.units("stored") + o.units("refused") + o.units("conflicts")
    ideal = max(2 * o.limits.latency, o.crowd.writers / (o.limits.units / 2)) * 1000
    return (
        f"{o.limits.latency * 1000:3.0f} ms {o.crowd.writers:4d} w {o.crowd.processes} p {'apart' if o.crowd.apart else 'host '} "
        f"{o.tickets / s:7.1f}/s stored {o.units('stored') / s:6.0f} refused {o.units('refused') / s:5.0f} conflicts {o.units('conflicts') / s:5.0f} throttled {o.units('throttled') / s:6.0f} "
        f"waste {(used - o.units('stored')) / max(used, 1):.3f} req/s {o.requests() / s:5.0f} p50 {p(0.5):6.1f} p99 {p(0.99):6.1f} over ideal {p(0.99) / ideal:5.2f} "
        f"fair {min(counts) / max(counts):.2f} errors {dict(o.errors)}"
    )


if __name__ == "__main__":
    import sys

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
    os.environ |= {"AWS_ACCESS_KEY_ID": "bars", "AWS_SECRET_ACCESS_KEY": "bars", "AWS_DEFAULT_REGION": "us-east-1"}
    django.setup()
    for spec in sys.argv[1:]:
        ms, w, pr, *rest = spec.split(",")
        units = next((float(r[1:]) for r in rest if r.startswith("u")), 1000.0)
        print(
            _line(
                run(
                    Crowd(writers=int(w), processes=int(pr), apart="apart" in rest),
                    Limits(latency=float(ms) / 1000, units=units),
                )
            ),
            flush=True,
        )
