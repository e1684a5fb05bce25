"""Tables that are deleted and created again while processes run: the new tables count from START.

The memory of a process, its blocks, and the hints between processes belong to the old life of a table. Each way of
creating the tables again is tried once, for all strategies together.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.synchronize import Event

import pytest

from project.proof.faults.clients import bare_client
from sequences import dynamodb, get_last_value, get_next_value, put_next
from sequences.exceptions import SequenceError, TableMissing
from sequences.ops.tables import create_tables
from sequences.registry import strategies
from sequences.testing.embedded import Engine
from tests.attacks.support import ATTACKED, RESERVING
from tests.sequences.support import Processes, stored

WAYS = [
    "by another process",
    "by another process, with calls meanwhile",
    "by another process, and then a process begins",
    "by our own functions",
    "by our own functions, and then a process begins",
]
OUTAGE = 0.3
"""The seconds between the old tables and the new ones: longer than a last value is remembered."""

Told = dict[str, list[int] | SequenceError]


@dataclass
class Life:
    """What the processes got in the new table life: the values of items by sequence, and values without items."""

    items: list[Told]
    values: list[Told]

    def of(self, tolds: list[Told], name: str) -> list[int]:
        """All values of a sequence. Raises the first error of a process."""
        values = list[int]()
        for told in tolds:
            answer = told[name]
            if isinstance(answer, SequenceError):
                raise answer
            values += answer
        return values


def use(scope: str, count: int) -> tuple[Told, Told]:
    """Store items and take values of every sequence."""
    items, values = Told(), Told()
    for name in ATTACKED:
        try:
            items[name] = [put_next(name, {"title": "x"}, scope=scope).value for _ in range(count)]
        except SequenceError as error:
            items[name] = error
    for name in RESERVING:
        try:
            values[name] = [get_next_value(name, scope=f"{scope} values") for _ in range(count)]
        except SequenceError as error:
            values[name] = error
    return items, values


def use_everywhere(others: Processes, scope: str, count: int) -> Life:
    """Call `use` in this process and the others at the same time."""
    with ThreadPoolExecutor(1) as thread:
        here = thread.submit(use, scope, count)
        items, values = zip(*others.run(use, scope, count), here.result(), strict=True)
    return Life(list(items), list(values))


def table_names() -> set[str]:
    """The tables of every sequence."""
    names = {strategies[name].schema.table for name in strategies}
    return names | {dynamodb.table_name("sequences")}


def make_anew(endpoint: str, names: set[str], wanted: Event) -> None:
    """Delete tables by a bare client, and create them again when `wanted` is set."""
    client = bare_client(endpoint)
    known = {name: client.describe_table(TableName=name)["Table"] for name in names}
    for name in names:
        client.delete_table(TableName=name)
    time.sleep(OUTAGE)
    wanted.wait()
    for name, table in known.items():
        client.create_table(
            TableName=name,
            KeySchema=table["KeySchema"],
            AttributeDefinitions=table["AttributeDefinitions"],
            BillingMode="PAY_PER_REQUEST",
        )


def make_anew_ourselves() -> None:
    """Delete the tables and create them again, by the functions of the app."""
    for name in table_names():
        dynamodb.delete_table(name)
    assert set(create_tables()) == table_names()


@pytest.fixture(scope="module")
def others(configured: str, engine: Engine) -> Iterator[Processes]:
    """Two other processes of this machine."""
    processes = Processes("fork", 2, engine.endpoint, configured)
    yield processes
    processes.stop()


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """The way of creating the tables again."""
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def life(way: str, others: Processes, engine: Engine) -> Life:
    """The new table life, after an old one with the same scopes."""
    first = use_everywhere(others, way, 3)
    assert max(first.of(first.items, "sort-key")) == 9
    if "our own" in way:
        for name in ATTACKED:  # makes the memory of this process, and the hints between processes, fresh
            put_next(name, {"title": "x"}, scope=way)
        make_anew_ourselves()
    else:
        end_and_begin(way, others, engine.endpoint)
    if "begins" in way:
        strategies.reset()  # like a new process, which finds the hints of earlier ones
    if "our own" in way or "begins" in way:
        items, values = use(way, 3)
        return Life([items], [values])
    return use_everywhere(others, way, 3)


def end_and_begin(way: str, others: Processes, endpoint: str) -> None:
    """Let another process create the tables again, while ours call in vain or do nothing."""
    context = multiprocessing.get_context("fork")
    wanted = context.Event()
    another = context.Process(target=make_anew, args=(endpoint, table_names(), wanted), daemon=True)
    another.start()
    if "meanwhile" in way:
        met = wait_for_the_outage(others, way)
        assert isinstance(met, TableMissing)
    wanted.set()
    another.join(60)
    assert another.exitcode == 0


def wait_for_the_outage(others: Processes, scope: str) -> object:
    """Call until the tables are gone. Returns the error that says so, or the last one, or None.

    A table that is being deleted may answer a call with an error after which the outcome is unknown.
    """
    until, met = time.monotonic() + 60, None
    while time.monotonic() < until and not isinstance(met, TableMissing):
        lives = use_everywhere(others, scope, 1)
        errors = [one for told in lives.items for one in told.values() if isinstance(one, SequenceError)]
        met = next((one for one in errors if isinstance(one, TableMissing)), errors[-1] if errors else met)
    return met


@pytest.mark.parametrize("name", ATTACKED)
def test_items_count_from_start(life: Life, way: str, name: str) -> None:
    """In the new table the items have the first values, none is refused, and no value is of the old life."""
    values = sorted(life.of(life.items, name))
    assert values == list(stored(name, way))
    assert values[0] == 1
    assert values[-1] <= (get_last_value(name, scope=way) or 0)
    if name != "block":
        assert values == list(range(1, len(values) + 1))


@pytest.mark.parametrize("name", RESERVING)
def test_values_count_from_start(life: Life, way: str, name: str) -> None:
    """The values that are handed out without items are the first ones, too, each once, and were reserved anew."""
    values = sorted(life.of(life.values, name))
    assert len(set(values)) == len(values)
    assert values[0] == 1
    assert values[-1] <= (get_last_value(name, scope=f"{way} values") or 0)
