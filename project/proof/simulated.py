"""`make simulated`: real writers beside the simulation of the same, and by how much they differ.

    python -m project.proof.simulated [--only SortKeyMaximum,...] [--record]

Real threads in real processes put items through the fault proxy, which delays every request and, in some rows, limits
the partition. First a lone caller and a crowd without any delay tell how long a process and the engine work on a
request and on a number. Bare requests tell what the proxy's delay really is, in as many processes as write, since they
share the cores. The simulation gets these figures and nothing else. The exit status is 1 if a figure differs by more
than 20 %. Run it on a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

from django.conf import settings

from project.proof.crowd import SCOPE, Crowd, prepared, run
from project.proof.faults.control import Proxy, proxy_before
from project.proof.faults.plans import Limits
from sequences import dynamodb, services
from sequences.lab.comparison import TABLES, sequences_of
from sequences.lab.engine import Engine
from sequences.lab.plan import OURS
from sequences.lab.records import Conditions
from sequences.lab.writers import sample_item
from sequences.ops.forecast import simulation, table
from sequences.registry import strategies

MOST_ERROR = 0.20
ENDLESS = 1e9  # write units a second: no limit
PROCESSES = (1, 4)
NORMAL = statistics.NormalDist()
BARE = 200  # requests that tell the delay
FIGURES = ("per_second", "p50_ms", "requests", "write_units")
TRIES = 3  # as the machine may have been busy with something else
RECORD = Path(__file__).with_name("simulated.json")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row: who writes, how far away the table is, and the write units a second of a partition, if they are few."""

    strategy: str
    writers: int
    processes: int
    latency_ms: float
    units: float | None = None
    hosts: int = 1

    @property
    def warm_up(self) -> float:
        """Seconds before the figures count; until then, hosts that race have found the line."""
        return 1.0 if self.hosts == 1 else 4.0


LEFT_OUT = (Case(strategy="AtomicCounter", writers=64, processes=4, latency_ms=5.0),)
"""What wants more than two cores: 2,000 numbers a second, each with an addition's share and a put of its own."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What one number, request or action takes here in seconds: of a process, and of engine and proxy."""

    number: float
    request: float
    engine: float
    engine_action: float
    delays: dict[str, tuple[float, float]]
    """The median and the p99 of the proxy's delay, by latency and the processes that send at the same time."""

    def delay(self, case: Case) -> table.Latency:
        """The delay of the requests of a case."""
        return table.Latency(*self.delays[f"{case.latency_ms:g} ms, {case.processes}"])


def cases() -> list[Case]:
    """The rows: every strategy at loads that wait more than they compute, and a partition that is short of units."""
    found = []
    for name in OURS:
        for latency in (5.0, 15.0):
            for writers, processes in ((1, 1), (8, 1), (64, 1), (8, 4), (64, 4)):
                case = Case(strategy=name, writers=writers, processes=processes, latency_ms=latency)
                found += [case] if case not in LEFT_OUT else []
    short = [
        Case(strategy=name, writers=writers, processes=processes, latency_ms=5.0, units=200.0)
        for name in ("SortKeyMaximum", "TransactionalCounter")
        for writers, processes in ((8, 1), (64, 1), (64, 4))
    ]
    apart = [
        Case(strategy=name, writers=64, processes=4, hosts=4, latency_ms=latency, units=units)
        for name in ("SortKeyMaximum", "TransactionalCounter")
        for latency, units in ((5.0, None), (15.0, None), (5.0, 200.0))
    ]
    return found + short + apart


def main() -> int:
    """Run the rows and print them. Returns 1 if a figure of one differs by too much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="strategies, with commas between")
    parser.add_argument("--record", action="store_true", help="keep the figures for docs/scaling.md")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(OURS)
    costs = calibrated(sorted({case.latency_ms for case in cases()}))
    print(costs, markdown([]), sep="\n", flush=True)
    rows = []
    for case in cases():
        if case.strategy in wanted:
            rows.append(compared(case, costs))
            print(markdown(rows).splitlines()[-1], flush=True)
    if options.record:
        keep(rows, costs)
    return int(any(worst(row) > MOST_ERROR for row in rows))


def calibrated(latencies: Sequence[float]) -> Costs:
    """Measure what this machine takes, without any delay, and what the proxy's delays are."""
    with (
        Engine() as engine,
        proxy_before(engine.endpoint, limits=Limits(units=ENDLESS)) as proxy,
        _sequences(proxy.endpoint),
    ):
        alone, crowd = (
            min((_timed(proxy, writers, count) for _ in range(TRIES)), key=lambda timed: timed.process)
            for writers, count in ((1, 300), (64, 3200))
        )
        bare = statistics.median(_bare(BARE))
        delays = {
            f"{latency:g} ms, {processes}": (p50 - bare, p99 - bare)
            for latency, processes in product(latencies, PROCESSES)
            for p50, p99 in [_delays(proxy, latency, processes)]
        }
    share = crowd.requests  # requests a number, where a lone caller has 1
    request = (alone.process - crowd.process) / (1 - share)
    engine_request = (alone.elsewhere - crowd.elsewhere) / (1 - share)
    return Costs(
        number=alone.process - request,
        request=request,
        engine=engine_request,
        engine_action=alone.elsewhere - engine_request,
        delays=delays,
    )


@dataclass(frozen=True)
class _Timed:
    """Of one number: requests, and seconds in this process and elsewhere."""

    requests: float
    process: float
    elsewhere: float


@contextmanager
def _sequences(endpoint: str) -> Iterator[None]:
    """Every strategy in this process, on tables of its own."""
    os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint
    dynamodb.reset()
    settings.SEQUENCES, settings.TABLE_PREFIX = sequences_of(100), "calibrated_"
    strategies.reset()
    for name, keys in TABLES.items():
        dynamodb.create_table(f"calibrated_{name}", keys)
    yield


def _timed(proxy: Proxy, writers: int, count: int) -> _Timed:
    """Take numbers by so many threads, as `crowd` does."""

    def put(number: int) -> None:
        services.put_next("SortKeyMaximum", sample_item(f"{writers}-{number}"), scope=SCOPE)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(put, range(writers)))  # warm
        before, began, worked = sum(proxy.log.requests.values()), time.perf_counter(), time.process_time()
        list(pool.map(put, range(count)))
        wall, worked = time.perf_counter() - began, time.process_time() - worked
    requests = sum(proxy.log.requests.values()) - before
    return _Timed(requests / count, worked / count, (wall - worked) / count)


def _delays(proxy: Proxy, latency: float, processes: int) -> tuple[float, float]:
    """How long a request takes with this latency in so many processes, in seconds: the median and the p99.

    The p99 is that of a lognormal distribution with the p90 that was seen: what is rarer is the machine, not the delay.
    """
    proxy.follow(limits=Limits(units=ENDLESS, latency=latency / 1000))
    with multiprocessing.get_context("spawn").Pool(processes, _begin) as pool:
        taken = sorted(chain(*pool.map(_bare, [BARE] * processes, chunksize=1)))
    p50, p90 = taken[len(taken) // 2], taken[len(taken) * 9 // 10]
    return p50, p50 * (p90 / p50) ** (NORMAL.inv_cdf(0.99) / NORMAL.inv_cdf(0.9))


def _begin() -> None:
    """Let a process of `_delays` send requests before it is timed."""
    prepared()
    _bare(10)


def _bare(count: int) -> list[float]:
    """The times of bare reads one after another, in seconds."""
    key = dynamodb.marshal({"sequence": "none", "scope": "none"})
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        dynamodb.call("get_item", {"TableName": "calibrated_sequences", "Key": key})
        taken.append(time.perf_counter() - began)
    return taken


def compared(case: Case, costs: Costs) -> dict[str, Any]:
    """One row; again if it differs too much, as the machine may have been busy."""
    simulated = simulated_figures(case, costs)
    seconds = min(max(500 / simulated["per_second"], 2.5), 8.0)  # the fewer numbers, the longer
    tries: list[dict[str, Any]] = []
    for _ in range(TRIES):
        tries.append(row_of(case, measured_figures(case, seconds), simulated))
        if worst(tries[-1]) <= MOST_ERROR:
            break
    return min(tries, key=worst)


def measured_figures(case: Case, seconds: float) -> dict[str, float]:
    """What real writers had in so many seconds."""
    crowd = Crowd(
        writers=case.writers,
        processes=case.processes,
        strategy=case.strategy,
        hosts=case.hosts,
        warm_up=case.warm_up,
        seconds=seconds,
    )
    found = run(crowd, Limits(units=case.units or ENDLESS, burst=1.0, latency=case.latency_ms / 1000))
    latencies = sorted(latency for share in found.latencies for latency in share)
    units = found.units("stored", "refused", "conflicts")
    figures = (len(latencies) / crowd.seconds, latencies[len(latencies) // 2] * 1000)
    each = (found.requests / len(latencies), units / len(latencies))
    return dict(zip(FIGURES, (*figures, *each), strict=True))


def simulated_figures(case: Case, costs: Costs) -> dict[str, float]:
    """What the simulation says of the same."""
    load = simulation.Load(
        writers=case.writers,
        processes=case.processes,
        hosts=case.hosts,
        item_bytes=600,
        warm_up=case.warm_up,
        seconds=8.0,
        latency=costs.delay(case),
        limits=table.Limits(
            writes=case.units or ENDLESS, burst=1.0, engine=costs.engine, engine_action=costs.engine_action
        ),
        caller=costs.number / 2,
        action=costs.number / 2,
        leader=costs.request,
    )
    found = simulation.simulate(OURS[case.strategy], load)
    figures = (found.per_second, found.p50_ms or 0.0, found.requests_per_number, found.write_units_per_number)
    return dict(zip(FIGURES, figures, strict=True))


def row_of(case: Case, measured: dict[str, float], simulated: dict[str, float]) -> dict[str, Any]:
    """A row of the table: the case, both figures, and the errors of the simulation as shares."""
    errors = {name: round(simulated[name] / measured[name] - 1, 4) for name in FIGURES}
    return {
        **asdict(case),
        "measured": {name: round(value, 3) for name, value in measured.items()},
        "simulated": {name: round(value, 3) for name, value in simulated.items()},
        "errors": errors,
    }


def worst(row: dict[str, Any]) -> float:
    """The largest error of a row."""
    errors = row["errors"]
    return float(max(map(abs, errors.values())))


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a Markdown table: measured and simulated numbers a second, and the errors of all figures."""
    head = ("strategy", "writers", "ms", "units/s", "measured/s", "simulated/s")
    names = (*head, "numbers/s", "p50", "requests", "write units")
    lines = ["| " + " | ".join(names) + " |", "| --- |" + " ---: |" * (len(names) - 1)]
    for row in rows:
        over = f" in {row['processes']}" if row["processes"] > 1 else ""
        over += " hosts" if row["hosts"] > 1 else ""
        cells = (
            row["strategy"],
            f"{row['writers']}{over}",
            f"{row['latency_ms']:g}",
            "" if row["units"] is None else f"{row['units']:g}",
            *(f"{row[of]['per_second']:,.0f}" for of in ("measured", "simulated")),
            *(f"{row['errors'][figure]:+.0%}" for figure in FIGURES),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def recorded() -> dict[str, Any]:
    """The record: under which conditions it was made, what a number took there, and the rows."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def keep(rows: Sequence[dict[str, Any]], costs: Costs) -> None:
    """Record the rows, one a line, in the place of those of the same strategies."""
    measured = {row["strategy"] for row in rows}
    kept = [row for row in recorded()["rows"] if row["strategy"] not in measured] if RECORD.exists() else []
    order = [asdict(case) for case in cases()]
    every = sorted([*kept, *rows], key=lambda row: order.index({name: row[name] for name in order[0]}))
    lines = ",\n".join(json.dumps(row) for row in every)
    head = json.dumps({"conditions": asdict(Conditions.here()), "costs": asdict(costs)})
    RECORD.write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    prepared()
    sys.exit(main())
