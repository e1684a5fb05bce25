"""`make bench-peers`: compares other libraries with ours on this machine, in turns, with the same item.

    python -m project.proof.bench_peers [--runs 3] [--writers 32] [--json]

The peers, as the other libraries are called here, have an environment of their own under `.local/peers`:
django-sequences has the same package name as ours. They run in a process of their own, which is this file under their
Python. dynamodb-autoincrement runs on the embedded engine, as we do. django-sequences runs on a PostgreSQL in a
temporary folder; it takes the number and inserts the item in one transaction. Both stores keep their data in files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Not from `project.paths`: a peer's Python runs this file too, and must not find our packages.
PEERS_HOME = Path(__file__).resolve().parents[2] / ".local" / "peers"
PEERS_PYTHON = PEERS_HOME / "bin" / "python"
REQUIREMENTS = ("dynamodb-autoincrement==0.2.0", "django-sequences==3.1", "psycopg[binary]==3.3.9")
AUTOINCREMENT, DJANGO_SEQUENCES, OURS = (
    "dynamodb-autoincrement 0.2.0",
    "django-sequences 3.1",
    "SortKeyMaximum",
)
BARS = {AUTOINCREMENT: 50.0, DJANGO_SEQUENCES: 3.0}
# How many numbers each library takes in a round. The first peer is slow: a round should take seconds for all.
COUNTS = {AUTOINCREMENT: 320, DJANGO_SEQUENCES: 6400, OURS: 6400}


class BenchError(Exception):
    """A peer cannot run here. The message says why."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """The task of a peer's process. `where` is the engine's address, or the folder of PostgreSQL's socket."""

    peer: str
    where: str
    items_table: str
    counters_table: str
    scope: str
    item: dict[str, str]
    writers: int
    count: int


# The part that runs under this project's Python.


def main() -> None:
    """Install the peers, run all in turns, and print the speeds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="rounds; the median counts")
    parser.add_argument("--writers", type=int, default=32, help="writers at a time")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    try:
        install_peers()
        result = measure(options.runs, options.writers)
    except BenchError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(json.dumps(result, indent=2) if options.json else as_table(result))


def install_peers() -> None:
    """Make the peers' environment, unless it is up to date."""
    stamp = PEERS_HOME / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == list(REQUIREMENTS):
        return
    say("Installing the peers into .local/peers ...")
    subprocess.run([sys.executable, "-m", "venv", PEERS_HOME], check=True)
    installed = subprocess.run([PEERS_PYTHON, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=False)
    if installed.returncode:
        raise BenchError("The peers cannot be installed: is the package index reachable?")
    stamp.write_text(json.dumps(REQUIREMENTS))


def measure(runs: int, writers: int) -> dict[str, Any]:
    """The median numbers per second of each library, its faults, and our ratios."""
    rates: dict[str, list[float]] = {name: [] for name in COUNTS}
    faults = dict.fromkeys(COUNTS, 0)
    with tempfile.TemporaryDirectory() as folder, engine(Path(folder)), postgresql() as socket_folder:
        for number in range(runs):
            for name in list(COUNTS)[:: -1 if number % 2 else 1]:
                say(f"round {number + 1} of {runs}: {name}")
                rate, wrong = run_ours(writers) if name == OURS else run_peer(name, socket_folder, number, writers)
                rates[name].append(rate)
                faults[name] += wrong
    medians = {name: round(statistics.median(found), 1) for name, found in rates.items()}
    ratios = {
        name: {
            "ratio": round(medians[OURS] / medians[name], 1),
            "bar": bar,
            "reached": medians[OURS] >= bar * medians[name],
        }
        for name, bar in BARS.items()
    }
    return {"writers": writers, "runs": runs, "per_second": medians, "faults": faults, "over": ratios}


@contextmanager
def engine(folder: Path) -> Iterator[None]:
    """The embedded engine with a file, for this process and its children."""
    import django

    from sequences.lab.engine import Engine, EngineError

    try:
        with Engine(folder / "engine.db") as running:
            os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = running.endpoint
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                os.environ.setdefault(name, "bench")
            os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
            django.setup()
            yield
    except EngineError as error:
        raise BenchError(str(error)) from error


def run_ours(writers: int) -> tuple[float, int]:
    """The numbers per second of SortKeyMaximum, and the sum of its duplicates, gaps and errors."""
    from sequences.lab.comparison import compare
    from sequences.lab.plan import Plan

    (row,) = compare(Plan(strategies=[OURS], writers=[writers], count=COUNTS[OURS]))
    return row["per_second"], row["duplicates"] + row["gaps"] + row["errors"]


def run_peer(name: str, socket_folder: str, number: int, writers: int) -> tuple[float, int]:
    """The numbers per second of a peer, and how many numbers are missing or duplicates."""
    from sequences import dynamodb
    from sequences.lab.writers import sample_item

    items, counters = f"peers-{number}-items", f"peers-{number}-counters"
    if name == AUTOINCREMENT:
        dynamodb.create_table(items, ("pk", "sk"), "N")
        dynamodb.create_table(counters, ("sequence", "scope"), "S")
    task = Task(
        peer=name,
        where=os.environ["AWS_ENDPOINT_URL_DYNAMODB"] if name == AUTOINCREMENT else socket_folder,
        items_table=items,
        counters_table=counters,
        scope=f"ABC{number}",
        item=sample_item("bench"),
        writers=writers,
        count=COUNTS[name],
    )
    # -P: the peer must not import from the folder of this file.
    done = subprocess.run(
        [PEERS_PYTHON, "-P", __file__, json.dumps(asdict(task))],
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        check=False,
    )
    if done.returncode:
        raise BenchError(f"{name} failed, see above.")
    answer = json.loads(done.stdout)
    return len(answer["values"]) / answer["seconds"], count_faults(answer["values"])


def count_faults(values: Sequence[int]) -> int:
    """The number of duplicates, plus the number of gaps between the lowest and the highest number."""
    distinct = set(values)
    return len(values) - len(distinct) + max(distinct) - min(distinct) + 1 - len(distinct)


@contextmanager
def postgresql() -> Iterator[str]:
    """PostgreSQL with its default settings in a temporary folder. Yields the folder, which has its socket."""
    programs = find_postgresql()
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        if user:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        run_quietly([*user, f"{programs}/initdb", "-D", data, "-A", "trust", "-U", "postgres"], folder)
        control = [*user, f"{programs}/pg_ctl", "-D", data, "-w"]
        run_quietly([*control, "-l", f"{folder}/log", "-o", f"-k {folder} -h ''", "start"], folder)
        try:
            yield folder
        finally:
            run_quietly([*control, "-m", "immediate", "stop"], folder)


def run_quietly(command: Sequence[str], folder: str) -> None:
    """Run a program of PostgreSQL without its output. Raises BenchError if it fails."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise BenchError("PostgreSQL did not start or stop, see above.")


def find_postgresql() -> Path:
    """The folder of PostgreSQL's programs."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders or not (folders[-1] / "initdb").exists():
        raise BenchError("PostgreSQL's server is missing: install it, for example `apt-get install postgresql`.")
    return folders[-1]


def as_table(result: dict[str, Any]) -> str:
    """The result as a Markdown table."""
    lines = [
        f"{result['writers']} writers, median of {result['runs']} rounds",
        "",
        "| library | numbers/s | faults | ours over it | bar |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, rate in result["per_second"].items():
        over = result["over"].get(name)
        ratio = f"{over['ratio']:,}x | {over['bar']:g}x {'reached' if over['reached'] else 'MISSED'}" if over else " | "
        lines.append(f"| {name} | {rate:,.0f} | {result['faults'][name]} | {ratio} |")
    return "\n".join(lines)


def say(text: str) -> None:
    """Print a line of progress to standard error."""
    print(text, file=sys.stderr, flush=True)


# The part that runs under the peers' Python.


def run_as_peer(task: Task) -> None:
    """Do the task, and print the seconds and the values."""
    work = asyncio.run(use_autoincrement(task)) if task.peer == AUTOINCREMENT else use_django_sequences(task)
    print(json.dumps({"seconds": work[0], "values": work[1]}))


def shares(task: Task) -> list[int]:
    """How many numbers each writer takes."""
    return [task.count // task.writers + (index < task.count % task.writers) for index in range(task.writers)]


async def use_autoincrement(task: Task) -> tuple[float, list[int]]:
    """Use dynamodb-autoincrement as its README shows: one resource, and `put` by many tasks at a time."""
    import aioboto3  # type: ignore[import-not-found]
    from dynamodb_autoincrement import DynamoDBAutoIncrement  # type: ignore[import-not-found]

    async with aioboto3.Session().resource("dynamodb", endpoint_url=task.where) as dynamodb:
        peer = DynamoDBAutoIncrement(
            dynamodb=dynamodb,
            counter_table_name=task.counters_table,
            counter_table_key={"sequence": "tickets", "scope": task.scope},
            attribute_name="sk",
            table_name=task.items_table,
            initial_value=1,
        )

        async def write(count: int) -> list[int]:
            return [int(await peer.put({"pk": task.scope, **task.item})) for _ in range(count)]

        await write(1)  # warm
        started = time.perf_counter()
        values = await asyncio.gather(*map(write, shares(task)))
        return time.perf_counter() - started, [value for found in values for value in found]


def use_django_sequences(task: Task) -> tuple[float, list[int]]:
    """Use django-sequences as its README shows: `get_next_value` and the insert in one transaction, in many threads."""
    prepare_django(task)
    from django.db import connection, transaction

    from sequences import get_next_value

    insert = "INSERT INTO items (scope, number, item) VALUES (%s, %s, %s)"
    item = json.dumps(task.item)

    def write_one() -> int:
        with transaction.atomic():
            value = int(get_next_value(task.scope))
            with connection.cursor() as cursor:
                cursor.execute(insert, [task.scope, value, item])
        return value

    ready = threading.Barrier(task.writers + 1)

    def write(count: int) -> list[int]:
        write_one()  # opens the connection of this thread
        ready.wait()
        ready.wait()
        return [write_one() for _ in range(count)]

    with ThreadPoolExecutor(task.writers) as pool:
        futures = [pool.submit(write, count) for count in shares(task)]
        ready.wait()
        started = time.perf_counter()
        ready.wait()
        values = [value for future in futures for value in future.result()]
    return time.perf_counter() - started, values


def prepare_django(task: Task) -> None:
    """Configure Django, and create the table of the peer and a table for the items."""
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "postgres",
        "USER": "postgres",
        "HOST": task.where,
    }
    settings.configure(
        DATABASES={"default": {**database, "CONN_MAX_AGE": None}},
        INSTALLED_APPS=["sequences"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()
    call_command("migrate", verbosity=0)
    columns = "scope varchar, number bigint, item jsonb, PRIMARY KEY (scope, number)"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE IF NOT EXISTS items ({columns})")


def peer_task(arguments: Sequence[str]) -> Task | None:
    """The task, if this is a peer's process."""
    return Task(**json.loads(arguments[0])) if arguments and arguments[0].startswith("{") else None


if __name__ == "__main__":
    task = peer_task(sys.argv[1:])
    if task:
        run_as_peer(task)
    else:
        main()
