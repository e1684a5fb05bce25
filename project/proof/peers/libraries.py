"""Numbers in process: other libraries and ours store the same item in turns, in many threads or tasks of one process.

dynamodb-autoincrement and we use the same embedded engine, django-sequences a PostgreSQL. Both stores have files.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import django

from project.lab.comparison import compare
from project.lab.plan import Plan
from project.lab.writers import sample_item
from project.proof.peers import library_process
from project.proof.peers.environment import PEERS_PYTHON, BenchError, say
from project.proof.peers.figures import Run, count_faults, in_cells, in_turns, over, summary
from project.proof.peers.library_process import AUTOINCREMENT, DJANGO_SEQUENCES, Task
from project.proof.peers.postgresql import postgresql
from sequences import dynamodb
from sequences.testing.embedded import Engine

OURS = "SortKeyMaximum"
BARS = {AUTOINCREMENT: 50.0, DJANGO_SEQUENCES: 3.0}
# How many numbers each library takes in a round. The first peer is slow: a round should take seconds for all.
COUNTS = {AUTOINCREMENT: 320, DJANGO_SEQUENCES: 6400, OURS: 6400}
WRITERS = 32


def measure(runs: int, scale: float) -> dict[str, Any]:
    """The figures of each library, and our ratios over the others. `scale` makes the rounds shorter or longer."""
    found: dict[str, list[Run]] = {name: [] for name in COUNTS}
    with tempfile.TemporaryDirectory() as folder, engine(Path(folder)), postgresql() as socket_folder:
        for number, name in in_turns(list(COUNTS), runs):
            say(f"round {number + 1} of {runs}: {name}")
            count = max(WRITERS, round(COUNTS[name] * scale))
            found[name].append(run_ours(count) if name == OURS else run_peer(name, count, socket_folder, number))
    return {
        "writers": WRITERS,
        "figures": {name: summary(rounds) for name, rounds in found.items()},
        "over": {name: over(found[OURS], found[name], bar) for name, bar in BARS.items()},
    }


@contextmanager
def engine(folder: Path) -> Iterator[None]:
    """The embedded engine with a file, for this process and its children."""
    with Engine(folder / "engine.db") as running:
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = running.endpoint
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            os.environ.setdefault(name, "bench")
        os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
        django.setup()
        yield


def run_ours(count: int) -> Run:
    """The numbers per second of SortKeyMaximum, and the sum of its duplicates, gaps and errors."""
    (row,) = compare(Plan(strategies=[OURS], writers=[WRITERS], count=count))
    return Run(per_second=round(row["per_second"], 1), faults=row["duplicates"] + row["gaps"] + row["errors"])


def run_peer(name: str, count: int, socket_folder: str, number: int) -> Run:
    """The numbers per second of a peer, and how many numbers are missing or duplicates."""
    items, counters = f"peers-{number}-items", f"peers-{number}-counters"
    if name == AUTOINCREMENT:
        dynamodb.create_table(items, {"pk": "S", "sk": "N"})
        dynamodb.create_table(counters, {"sequence": "S", "scope": "S"})
    task = Task(
        peer=name,
        where=os.environ["AWS_ENDPOINT_URL_DYNAMODB"] if name == AUTOINCREMENT else socket_folder,
        items_table=items,
        counters_table=counters,
        scope=f"ABC{number}",
        item=sample_item("bench"),
        writers=WRITERS,
        count=count,
    )
    # -P: the peer must not import from the folder of this file.
    done = subprocess.run(
        [PEERS_PYTHON, "-P", library_process.__file__, json.dumps(asdict(task))],
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        check=False,
    )
    if done.returncode:
        raise BenchError(f"{name} failed, see above.")
    answer = json.loads(done.stdout)
    values = answer["values"]  # the first ones warmed the peer, and are not among them
    return Run(per_second=round(len(values) / answer["seconds"], 1), faults=count_faults(values, after=min(values) - 1))


def as_table(result: dict[str, Any]) -> str:
    """The result as a Markdown table."""
    lines = [
        f"Numbers in process, {result['writers']} writers",
        "",
        "| Library | Bar | Ours over it | Numbers/s | Faults |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for name, figures in result["figures"].items():
        ratio = in_cells(result["over"][name]) if name in result["over"] else " | "
        lines.append(f"| {name} | {ratio} | {figures['per_second']:,.0f} | {figures['faults']} |")
    return "\n".join(lines)
