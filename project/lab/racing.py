"""Runs races: all writers begin at the same moment, and what each one sends is written down.

Nothing is made up: the writers run the recipes and strategies as they are, against a real engine. A proxy before it
delays each request and each answer, as the way between machines does; otherwise the engine would answer before the next
writer has begun. Where an answer is lost, the proxy loses it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from multiprocessing.synchronize import Barrier
from typing import TYPE_CHECKING, Any, Self

import django
from django.conf import settings

from project.environment import ENDPOINT
from project.lab import recipes
from project.lab.client import plain_client
from project.lab.comparison import lab_tables, sequences_of, stored_items
from project.lab.losses import LosingProxy, serving
from project.lab.meter import WRITES
from project.lab.plan import STRATEGIES, is_ours
from project.lab.races import BLOCK_SIZE, DELAY_MS, Call, Outcome, Race, Request
from project.lab.writers import LabError, sample_item
from sequences import dynamodb

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["run_races"]

READY_SECONDS = 120.0
# The operation that takes the number, for a recipe whose other writes may be repeated without harm. Of all others any
# write is lost.
TAKES_NUMBER = {"published-placeholder": "UpdateItem"}
Take = Callable[[str, str], int]  # scope and name of the request -> number


class _Way(LosingProxy):
    """The way to the engine: it takes time, and loses the answer to the first stored write of a race if told to."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream, 0.0, 0)
        self._operations: frozenset[str] = frozenset()
        self._stored = count(1)

    def prepare(self, operations: frozenset[str]) -> None:
        """In the next race, lose an answer to one of these operations."""
        self._operations, self._stored = operations, count(1)

    def pause(self) -> None:
        time.sleep(DELAY_MS / 1000)

    def loses(self, operation: str, status: int) -> bool:
        return status == 200 and operation in self._operations and self.active.is_set() and next(self._stored) == 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Job:
    """The writers of one process in one race."""

    strategy: str
    scope: str
    table: str
    writers: Sequence[int]


@dataclass(slots=True)
class _Notes:
    """What the writers of one process did, each line with the number of its writer.

    Times are in nanoseconds of a clock that all processes of a machine share.
    """

    calls: list[tuple[int, int, int, int | None, str]] = field(default_factory=list)
    requests: list[tuple[int, int, int, Outcome]] = field(default_factory=list)


def run_races(
    strategies: Sequence[str] = STRATEGIES,
    *,
    writers: int = 10,
    progress: Callable[[str, int], None] = lambda race, total: None,
) -> Iterator[Race]:
    """Run each strategy with all answers and with a lost one: apart, and ours also in one process.

    It needs an engine at a plain http address in AWS_ENDPOINT_URL_DYNAMODB. The tables of the races have a random
    prefix and are deleted at the end. `progress` gets a text before each race, and how many there are. Raises LabError,
    and the storage errors of `sequences.exceptions`.
    """
    upstream = os.environ.get(ENDPOINT, "")
    if not upstream.startswith("http://"):
        raise LabError(f"Races need an engine at a plain http address in {ENDPOINT}.")
    scopes, ours = (f"R{number}" for number in count(1)), [name for name in strategies if is_ours(name)]
    apart, together = [[writer] for writer in range(writers)], [[*range(writers)]]
    with lab_tables() as prefix, serving(_Way(upstream)) as way:
        for crews, names in ((apart, strategies), (together, ours)):
            with _Track(prefix, crews, way) as track:
                for strategy, loses in product(names, (False, True)):
                    progress(strategy, 2 * len([*strategies, *ours]))
                    yield track.race(strategy, next(scopes), loses=loses)


class _Track:
    """The processes of the writers, one for each crew. Those of several crews share nothing, as on different hosts."""

    def __init__(self, prefix: str, crews: Sequence[Sequence[int]], way: _Way) -> None:
        self._table, self._crews, self._way = f"{prefix}items", crews, way
        context = multiprocessing.get_context("spawn")
        self._barrier = context.Barrier(len(crews) + 1)
        setup = (self._barrier, prefix, sequences_of(BLOCK_SIZE, group=len(crews) == 1), way.endpoint)
        self._pool = context.Pool(len(crews), _begin_process, setup)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.terminate()

    def race(self, strategy: str, scope: str, *, loses: bool) -> Race:
        """Run one race in a scope that nobody has used."""
        losable = frozenset({TAKES_NUMBER[strategy]}) if strategy in TAKES_NUMBER else WRITES
        self._way.prepare(losable if loses else frozenset())
        writers = [writer for crew in self._crews for writer in crew]
        client = plain_client()
        with dynamodb.translate_errors("put_item"):
            for prepared in (scope, *(_warm(scope, writer) for writer in writers)):
                recipes.prepare(client, self._table, prepared)
        jobs = [_Job(strategy=strategy, scope=scope, table=self._table, writers=crew) for crew in self._crews]
        notes = self._run(jobs)
        stored = [(number, int(name)) for number, name in stored_items(client, self._table, scope)]
        return _race(strategy, notes, stored, apart=len(jobs) > 1, loses=loses)

    def _run(self, jobs: Sequence[_Job]) -> list[_Notes]:
        results = self._pool.map_async(_work, jobs, chunksize=1)
        try:
            self._barrier.wait(READY_SECONDS)
            self._way.active.set()
            self._barrier.wait(READY_SECONDS)
        except threading.BrokenBarrierError:
            pass  # a process could not begin: `results` raises its error
        try:
            return results.get(READY_SECONDS)
        finally:
            self._way.active.clear()


def _race(
    strategy: str, notes: Sequence[_Notes], stored: Sequence[tuple[int, int]], *, apart: bool, loses: bool
) -> Race:
    """The notes of all processes as one race, with times from the start of the first writer."""
    calls = sorted(call for note in notes for call in note.calls)
    start = min(call[1] for call in calls)

    def since(moment: int) -> int:
        return round((moment - start) / 100_000)

    requests = sorted(one for note in notes for one in note.requests)
    return Race(
        strategy=strategy,
        apart=apart,
        loses=loses,
        calls=[Call(since(begun), since(ended), value, error) for _, begun, ended, value, error in calls],
        requests=[Request(writer, since(begun), since(ended), outcome) for writer, begun, ended, outcome in requests],
        stored=sorted(stored),
    )


def _warm(scope: str, writer: int) -> str:
    """The scope in which a writer opens its connection before the race."""
    return f"{scope}W{writer}"


# What follows runs in the processes of the writers.


class _Process:
    """What this process received at its start, and the clients of its writers."""

    barrier: Barrier
    recorder: _Recorder
    client: DynamoDBClient


def _begin_process(barrier: Barrier, prefix: str, sequences: dict[str, Any], endpoint: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends this process
    os.environ[ENDPOINT] = endpoint
    django.setup()
    logging.disable(logging.CRITICAL)
    settings.TABLE_PREFIX, settings.SEQUENCES = prefix, sequences
    _Process.barrier, _Process.recorder, _Process.client = barrier, _Recorder(), plain_client()
    for client in (_Process.client, dynamodb.shared_client()):
        _Process.recorder.attach(client)


def _work(job: _Job) -> _Notes:
    """Let the writers of this process warm up, wait for those of all others, then run."""
    ready, go = threading.Barrier(len(job.writers) + 1), threading.Barrier(len(job.writers) + 1)
    notes = _Notes()
    threads = [
        threading.Thread(target=_write, args=(job, writer, ready, go, notes), daemon=True) for writer in job.writers
    ]
    for thread in threads:
        thread.start()
    ready.wait(READY_SECONDS)
    _Process.recorder.requests = notes.requests
    _Process.barrier.wait(READY_SECONDS)
    _Process.barrier.wait(READY_SECONDS)
    go.wait(READY_SECONDS)
    for thread in threads:
        thread.join()
    return notes


def _write(job: _Job, writer: int, ready: threading.Barrier, go: threading.Barrier, notes: _Notes) -> None:
    """One writer: a number in its own scope to warm up, then one in the scope of the race."""
    take = _take_ours(job) if is_ours(job.strategy) else _take_published(job)
    take(_warm(job.scope, writer), str(writer))
    _Process.recorder.here.writer = writer
    ready.wait(READY_SECONDS)
    go.wait(READY_SECONDS)
    value, error, begun = None, "", time.perf_counter_ns()
    try:
        value = take(job.scope, str(writer))
    except Exception as failure:  # noqa: BLE001 - the record has errors of every kind
        error = type(failure).__name__
    notes.calls.append((writer, begun, time.perf_counter_ns(), value, error))


def _take_ours(job: _Job) -> Take:
    from sequences.services import put_next

    return lambda scope, name: put_next(job.strategy, sample_item(name), scope=scope).value


def _take_published(job: _Job) -> Take:
    recipe = recipes.RECIPES[job.strategy]
    return lambda scope, name: recipe(_Process.client, job.table, scope, dynamodb.marshal(sample_item(name)))


class _Recorder:
    """Writes down each request of the writers in this process, also those that boto3 sends again by itself."""

    def __init__(self) -> None:
        self.here = threading.local()
        self.requests: list[tuple[int, int, int, Outcome]] = []

    def attach(self, client: DynamoDBClient) -> None:
        """Note what this client sends from now on."""
        client.meta.events.register("before-send.dynamodb", self._begin)
        client.meta.events.register("response-received.dynamodb", self._note)

    def _begin(self, **event: object) -> None:
        self.here.begun = time.perf_counter_ns()

    def _note(self, event_name: str, parsed_response: Any, **event: object) -> None:
        writer = getattr(self.here, "writer", None)
        if writer is not None:
            outcome = _outcome(event_name.rpartition(".")[2], parsed_response)
            self.requests.append((writer, self.here.begun, time.perf_counter_ns(), outcome))


def _outcome(operation: str, answer: Any) -> Outcome:
    if not answer:
        return Outcome.UNANSWERED
    if "Error" in answer:
        return Outcome.REFUSED
    return Outcome.STORED if operation in WRITES else Outcome.READ
