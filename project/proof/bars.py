"""`make bars`: measures the figures that this project promises, each in one run with what it is compared to.

    python -m project.proof.bars [--runs 5] [--only memory,...]

Nearly every bar is a ratio of two figures of the same run, or a figure that does not depend on the machine (requests,
units). One is a speed: the values per second of `BlockAllocator`. The median of the runs counts. The exit status is 1
if a bar is missed. The bars against other libraries are in `project.proof.peers`, because these libraries need an
environment of their own.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.core.management import call_command
from rich.console import Console
from rich.table import Table

from project.lab.comparison import compare
from project.lab.plan import Plan, Row
from project.lab.recipes import BARE_PUT_ITEM
from project.proof.crowd import ITEM_UNITS, Crowd, run
from project.proof.faults.plans import Limits
from project.proof.faults.proxy import free_port
from project.proof.faults.stack import Stack, running_stack
from project.proof.growth import growth
from project.proof.peers.load import Job, carry_out
from sequences.testing.embedded import Engine
from sequences.testing.processes import HOST

Figures = Mapping[str, float]

PUBLISHED = "published-sort-key-increment"
ONCE = ("partition", "hosts", "memory", "growth")  # as they take long
# Writers and processes. Fewer than MANY cannot use up the budget.
PARTITION_CROWDS = ((1, 1), (8, 1), (64, 1), (256, 1), (4, 4), (64, 4), (256, 4))
MANY = 64
# Latency, writers and hosts of 4 processes.
HOST_CROWDS = ((0.005, 64, 4), (0.015, 256, 4), (0.005, 64, 2))


@dataclass(frozen=True, kw_only=True)
class Bar:
    """The promise about one figure: at least `least`, or at most `most`."""

    figure: str
    text: str
    least: float = float("-inf")
    most: float = float("inf")

    def holds(self, value: float) -> bool:
        """Whether the value keeps the promise."""
        return self.least <= value <= self.most

    @property
    def promise(self) -> str:
        """The bar in words."""
        return f"at least {self.least:,g}" if self.most == float("inf") else f"at most {self.most:,g}"


def hot_project() -> Figures:
    """32 writers in one process file tickets in one project."""
    ours, published = _rows("SortKeyMaximum", PUBLISHED, writers=(32,), counts=(6400, 320))
    return {
        "32 over published": ours["per_second"] / published["per_second"],
        "32 write requests": ours["write_requests_per_number"],
        "32 write units": ours["write_units_per_number"],
        "32 p99 over p50": ours["p99_ms"] / ours["p50_ms"],
    }


def processes() -> Figures:
    """The writers are spread over 4, 8 and 16 processes, which file tickets in one project."""
    figures: dict[str, float] = {}
    for name, writers, number in (("4x8", 32, 4), ("8x4", 32, 8), ("16x4", 64, 16)):
        ours, published = _rows("SortKeyMaximum", PUBLISHED, writers=(writers,), processes=number, counts=(3200, 320))
        figures |= {
            f"{name} over published": ours["per_second"] / published["per_second"],
            f"{name} p99 over p50": ours["p99_ms"] / ours["p50_ms"],
            f"{name} slowest over fastest": ours["slowest_over_fastest"],
            f"{name} lost races": ours["refused_share"],
            f"{name} write units": ours["write_units_per_number"],
        }
    return figures


def lone_writer() -> Figures:
    """One warm writer, compared to a bare `PutItem` by boto3."""
    ours, bare = compare(Plan(strategies=["SortKeyMaximum", BARE_PUT_ITEM], writers=(1,), count=500, runs=5))
    return {
        "lone requests": ours["requests_per_number"],
        "lone time over PutItem": bare["per_second"] / ours["per_second"],
    }


def scopes() -> Figures:
    """32 writers in one process put into 100 scopes, so that they seldom share a write; the same by bare `PutItem`."""
    plan = Plan(strategies=["SortKeyMaximum", BARE_PUT_ITEM], writers=(32,), scopes=100, count=3200, runs=3)
    ours, bare = compare(plan)
    return {
        "100 scopes over PutItem": ours["per_second"] / bare["per_second"],
        "100 scopes write requests": ours["write_requests_per_number"],
    }


def additions() -> Figures:
    """32 writers take values from a counter."""
    ours, published = _rows("AtomicCounter", "published-atomic", writers=(32,), counts=(32_000, 3200), values_only=True)
    return {"ADD over published": ours["per_second"] / published["per_second"]}


def blocks() -> Figures:
    """8 writers take values from blocks of 10,000."""
    plan = Plan(strategies=["BlockAllocator"], writers=(8,), count=4_000_000, values_only=True, block_size=10_000)
    (row,) = compare(plan)
    return {"block values": row["per_second"], "block requests": row["requests_per_number"] * 10_000}


def http() -> Figures:
    """32 clients file tickets over HTTP with gunicorn (2 x 16 threads): the speed in one project over that in 32."""
    projects = [f"P{number}" for number in range(32)]
    with tempfile.TemporaryDirectory() as folder, running_stack(Path(folder), through_proxy=False) as stack:
        for key in projects:
            stack.ask("POST", "/api/projects/", {"key": key, "name": key})
        _creates_per_second(stack, projects, 320)
        return {"HTTP one over 32": _creates_per_second(stack, projects[:1]) / _creates_per_second(stack, projects)}


def _creates_per_second(stack: Stack, projects: Sequence[str], count: int = 1600) -> float:
    def create(number: int) -> None:
        reply = stack.ask("POST", f"/api/projects/{projects[number % len(projects)]}/tickets/", {"title": "A title"})
        assert reply.status == 201, reply

    began = time.perf_counter()
    with ThreadPoolExecutor(32) as clients:
        list(clients.map(create, range(count)))
    return count / (time.perf_counter() - began)


def bare_view() -> Figures:
    """One client files tickets over HTTP, by our API and by a bare view, in turns."""
    with tempfile.TemporaryDirectory() as folder, running_stack(Path(folder), through_proxy=False) as ours:
        ours.ask("POST", "/api/projects/", {"key": "ABC", "name": "Alphabet"})
        with _bare_site(ours) as bare:
            seconds: dict[str, float] = {"ours": 0.0, "bare": 0.0}
            for _ in range(9):
                seconds["ours"] += _seconds(ours, 200)
                seconds["bare"] += _seconds(bare, 200)
        return {"HTTP over bare view": seconds["ours"] / seconds["bare"]}


@contextmanager
def _bare_site(ours: Stack) -> Iterator[Stack]:
    """Our stack with the bare view in place of the API, on the same engine."""
    port, folder = free_port(), ours.folder / "bare"
    folder.mkdir()
    command = [f"--bind={HOST}:{port}" if flag.startswith("--bind=") else flag for flag in ours.command]
    environment = {**ours.environment, "DJANGO_SETTINGS_MODULE": "project.proof.bare.settings"}
    bare = replace(ours, folder=folder, command=command, environment=environment, address=f"http://{HOST}:{port}")
    bare.start_web()
    try:
        yield bare
    finally:
        bare.stop_web()


def _seconds(stack: Stack, count: int) -> float:
    """The time in which one client files so many tickets."""
    address = urlsplit(stack.address)
    job = Job(
        host=HOST,
        port=address.port or 80,
        token=stack.token,
        method="POST",
        paths=["/api/projects/ABC/tickets/"],
        body='{"title": "A title"}',
        clients=1,
        count=count,
        status=201,
    )
    result = carry_out(job)
    assert not result.failures, result.failures
    return result.seconds


def partition() -> Figures:
    """Writers at one project of a partition that throttles as DynamoDB does, 5 and 15 ms away."""
    figures: dict[str, list[float]] = {}
    for latency, (writers, processes) in product((0.005, 0.015), PARTITION_CROWDS):
        crowd = Crowd(writers=writers, processes=processes, seconds=6 if writers >= MANY else 3)
        measured = run(crowd, Limits(latency=latency)).figures()
        over = "over 4 processes" if processes > 1 else "in a process"
        print(f"{latency} s, {crowd}", {name: round(value, 3) for name, value in measured.items()}, file=sys.stderr)
        figures.setdefault("p99 over queueing", []).append(measured["over queueing"])
        figures.setdefault(f"wasted {over}", []).append(measured["wasted"])
        figures.setdefault("fairness", []).append(-measured["slowest over fastest"])
        if writers >= MANY:
            figures.setdefault("of the budget", []).append(-measured["of the budget"])
        figures.setdefault("errors", []).append(measured["errors"])
    return {f"partition {name}": abs(max(values)) for name, values in figures.items()} | _spread() | _after_a_shortage()


def hosts() -> Figures:
    """The same writers over 4 processes on hosts which share nothing."""
    figures: dict[str, float] = {}
    for latency, writers, number in HOST_CROWDS:
        crowd = Crowd(writers=writers, processes=4, hosts=number, warm_up=4, seconds=6)
        measured = run(crowd, Limits(latency=latency)).figures()
        names = ("of the budget", "wasted", "over queueing", "slowest over fastest", "errors")
        figures |= {f"{writers} over {number} hosts {name}": measured[name] for name in names}
    return figures


def _spread() -> dict[str, float]:
    """256 writers of gapless numbers whose items have keys of their own, and so partitions of their own."""
    options = {"value_in": "partition_key", "partition": "{scope}-{value}"}
    crowd = Crowd(writers=256, strategy="TransactionalCounter", options=options, more={"sk": 0})
    measured = run(crowd, Limits(latency=0.005)).figures()
    return {"partition spread": measured["per second"] * ITEM_UNITS / 1000}


def _after_a_shortage() -> dict[str, float]:
    """What 64 writers over 4 processes do when a partition that hardly took anything takes its budget again."""
    crowd = Crowd(writers=64, processes=4, shortage=50)
    measured = run(crowd, Limits(latency=0.005)).figures()
    speed = measured["per second"]
    return {
        "shortage of the budget": measured["of the budget"],
        "shortage requests": measured["requests per second"] / speed if speed else math.inf,
    }


def memory() -> Figures:
    """The memory of a process after 1,000,000 tickets in 10,000 projects, over its memory after half of them."""
    from sequences import put_next_many

    def fill(first: int) -> int:
        for project in range(first, first + 5000):
            put_next_many("tickets", [{"title": "The export leaves out the last page"}] * 100, scope=f"P{project}")
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with _tables():
        half = fill(0)
        return {"memory": fill(5000) / half}


def _processes(name: str, text: str, *, least: float) -> tuple[Bar, ...]:
    """The bars for writers in many processes."""
    return (
        Bar(figure=f"{name} over published", text=f"{text}, 1 project: over the published recipe", least=least),
        Bar(figure=f"{name} p99 over p50", text="the same: p99 over p50 latency", most=5),
        Bar(figure=f"{name} slowest over fastest", text="the same: the slowest process over the fastest", least=0.5),
        Bar(figure=f"{name} lost races", text="the same: lost races, of all writes", most=0.01),
        Bar(figure=f"{name} write units", text="the same: write units a ticket", most=2.04),
    )


def _hosts(latency: float, writers: int, number: int) -> tuple[Bar, ...]:
    """The bars for writers on hosts that share nothing."""
    name = f"{writers} over {number} hosts"
    text = f"{writers} writers over {number} hosts, {1000 * latency:g} ms"
    return (
        Bar(figure=f"{name} of the budget", text=f"{text}: share of the budget for tickets", least=0.95),
        Bar(figure=f"{name} wasted", text="the same: units lost in races", most=0.05),
        Bar(figure=f"{name} over queueing", text="the same: p99 over what queueing alone takes", most=3),
        Bar(figure=f"{name} slowest over fastest", text="the same: the slowest process over the fastest", least=0.5),
        Bar(figure=f"{name} errors", text="the same: errors", most=0),
    )


MEASURES: Mapping[str, Callable[[], Figures]] = {
    measure.__name__: measure
    for measure in (
        *(hot_project, processes, lone_writer, scopes, additions, blocks),
        *(http, bare_view, partition, hosts, memory, growth),
    )
}
BARS = (
    Bar(figure="32 over published", text="32 writers, 1 process, 1 project: over the published recipe", least=125),
    Bar(figure="32 write requests", text="the same: write requests a ticket", most=0.05),
    Bar(figure="32 write units", text="the same: write units a ticket", most=2.0),
    Bar(figure="32 p99 over p50", text="the same: p99 over p50 latency", most=5),
    *_processes("4x8", "32 writers over 4 processes", least=50),
    *_processes("8x4", "32 writers over 8 processes", least=35),
    *_processes("16x4", "64 writers over 16 processes", least=55),
    Bar(figure="lone requests", text="1 writer, warm: requests a ticket", most=1.0),
    Bar(figure="lone time over PutItem", text="1 writer, warm: time over a bare PutItem", most=0.65),
    Bar(figure="100 scopes over PutItem", text="32 writers, 100 projects: over bare PutItems", least=1.5),
    Bar(figure="100 scopes write requests", text="the same: write requests a ticket", most=1.0),
    Bar(figure="ADD over published", text="32 writers, AtomicCounter: values/s over the published ADD", least=10),
    Bar(figure="block values", text="BlockAllocator, 8 threads, blocks of 10,000: values/s", least=500_000),
    Bar(figure="block requests", text="the same: requests a block", most=1.0),
    Bar(figure="HTTP one over 32", text="HTTP creates on 1 project over 32 projects", least=0.9),
    Bar(figure="HTTP over bare view", text="HTTP creates, 1 client: time over a bare view's", most=1.5),
    Bar(figure="partition of the budget", text="1 project, 1,000 units/s: share of the budget for tickets", least=0.95),
    Bar(figure="partition wasted in a process", text="the same: units lost in races, 1 process", most=0),
    Bar(figure="partition wasted over 4 processes", text="the same: units lost in races, 4 processes", most=0.05),
    Bar(figure="partition p99 over queueing", text="the same: p99 over what queueing alone takes", most=3),
    Bar(figure="partition fairness", text="the same: the slowest process over the fastest", least=0.5),
    Bar(figure="partition errors", text="the same: errors", most=0),
    Bar(figure="partition spread", text="the same, items under keys of their own: over one partition", least=2),
    *(bar for crowd in HOST_CROWDS for bar in _hosts(*crowd)),
    Bar(figure="shortage of the budget", text="after a shortage: share of the budget for tickets", least=0.95),
    Bar(figure="shortage requests", text="the same: requests a ticket", most=0.2),
    Bar(figure="growth requests", text="pages of 100,000 tickets, 10,000 projects, 1,000 members: requests", most=1.0),
    Bar(figure="growth units", text="the same: read units", most=1.0),
    Bar(figure="growth time", text="the same: time", most=1.1),
    Bar(figure="memory", text="memory after 1,000,000 tickets, 10,000 projects over that after half", most=1.05),
)


def _rows(*strategies: str, counts: tuple[int, ...], **plan: object) -> list[Row]:
    """One row for each strategy, each with its own count: slow strategies take fewer numbers."""
    return [
        compare(Plan(strategies=[strategy], count=count, **plan))[0]  # type: ignore[arg-type]
        for strategy, count in zip(strategies, counts, strict=True)
    ]


@contextmanager
def _tables() -> Iterator[None]:
    """The tables of the sample application, under a prefix of their own. Projects need not exist in them."""
    sequences: dict[str, Any] = settings.SEQUENCES
    prefix = settings.TABLE_PREFIX
    options = {**sequences["tickets"]["OPTIONS"], "scope_must_exist": False}
    settings.SEQUENCES = {**sequences, "tickets": {**sequences["tickets"], "OPTIONS": options}}
    settings.TABLE_PREFIX = f"bars{os.getpid()}_"
    try:
        call_command("create_tables", verbosity=0)
        yield
    finally:
        settings.SEQUENCES, settings.TABLE_PREFIX = sequences, prefix


def main() -> int:
    """Measure, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="the number of runs; memory and growth are measured once")
    parser.add_argument("--only", default=",".join(MEASURES), help="measures, separated by commas")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(MEASURES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}. Known are {', '.join(MEASURES)}.")
    values = {}
    for name in names:
        runs = [_measured(name) for _ in range(1 if name in ONCE else options.runs)]
        values.update({figure: statistics.median(run[figure] for run in runs) for figure in runs[0]})
    return _report(values)


def _measured(name: str) -> Figures:
    """One run of one measure, on an engine of its own. The engine has a file only for the measure of memory."""
    with tempfile.TemporaryDirectory() as folder, Engine(Path(folder) / "db" if name == "memory" else None) as engine:
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.endpoint
        from sequences.registry import strategies

        strategies.reset()
        figures = MEASURES[name]()
    print(name, {figure: round(value, 3) for figure, value in figures.items()}, file=sys.stderr)
    return figures


def _report(values: Figures) -> int:
    table = Table("what", "bar", "measured", "")
    measured = [bar for bar in BARS if bar.figure in values]
    for bar in measured:
        value = values[bar.figure]
        table.add_row(bar.text, bar.promise, f"{value:,.3f}", "kept" if bar.holds(value) else "MISSED")
    Console(width=120).print(table)
    return 0 if all(bar.holds(values[bar.figure]) for bar in measured) else 1


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
    os.environ |= {"AWS_ACCESS_KEY_ID": "bars", "AWS_SECRET_ACCESS_KEY": "bars", "AWS_DEFAULT_REGION": "us-east-1"}
    django.setup()
    logging.disable(logging.CRITICAL)
    sys.exit(main())
