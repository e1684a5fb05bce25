"""The writers of the comparison: processes of threads that ask one strategy or recipe for numbers, all at once.

`run` starts fresh processes, lets them warm up, starts them together and returns the share of each one. Start-up,
imports and connections are outside the measured time. `comparison` knows what the figures mean.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.synchronize import Barrier
from typing import Any

import django
from django.conf import settings

from project.lab import recipes
from project.lab.client import plain_client
from project.lab.meter import Meter, Usage
from sequences import dynamodb

__all__ = ["Job", "LabError", "Share", "run", "sample_item"]

Take = Callable[..., int]  # name of the request (no argument, for a value without an item) -> number
Source = Callable[[str], Take]  # scope -> what takes its numbers

READY_SECONDS = 120.0
# A number from memory takes a microsecond, and so does reading the clock: only one in SAMPLE numbers is timed.
SAMPLE = 64


class LabError(Exception):
    """The comparison cannot run; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """The work of one process: `threads` writers take `count` numbers. Their numbers among all `writers` begin with
    `first_writer`.
    """

    strategy: str
    sequences: dict[str, Any]
    table: str
    prefix: str
    endpoint: str | None
    scopes: tuple[str, ...]
    writers: int
    first_writer: int
    threads: int
    count: int
    values_only: bool

    def scopes_of(self, writer: int) -> tuple[str, ...]:
        """The scopes of one writer: its own if there are enough, otherwise one that it shares."""
        return self.scopes[writer :: self.writers] or (self.scopes[writer % len(self.scopes)],)


@dataclass(kw_only=True, slots=True)
class Share:
    """What one process measured: `warm` has the numbers of the warm-up by scope, everything else is of the timed part.

    Times are in seconds of a clock that all processes of a machine share, latencies in nanoseconds.
    """

    started: float = 0.0
    ended: float = 0.0
    numbers: int = 0
    latencies: array[int] = field(default_factory=lambda: array("q"))
    handed: dict[str, array[int]] = field(default_factory=dict)
    warm: dict[str, array[int]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)


def run(jobs: Sequence[Job], at_start: Callable[[], None]) -> list[Share]:
    """Run every job in its own process; call `at_start` when all are warm, just before they begin.

    Raises LabError if one of them cannot begin.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(jobs) + 1)
    with context.Pool(len(jobs), _begin_process, (barrier,)) as pool:
        results = pool.map_async(_work, jobs, chunksize=1)
        try:
            barrier.wait(READY_SECONDS)
            at_start()
            barrier.wait(READY_SECONDS)
        except threading.BrokenBarrierError:
            pass  # a process could not begin: `results` raises its error
        return results.get()


class _Process:
    """What this process received at its start: the barrier that all processes share with the command."""

    barrier: Barrier


def _begin_process(barrier: Barrier) -> None:
    _Process.barrier = barrier
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends this process


def _work(job: Job) -> Share:
    try:
        meter = Meter()
        return _Crew(job, _connect(job, meter)).run(meter)
    except threading.BrokenBarrierError:
        raise LabError("A process of the comparison did not begin in time.") from None
    except Exception as error:  # noqa: BLE001 - the command must report any error
        _Process.barrier.abort()
        raise LabError(f"{job.strategy} cannot run: {error}") from None


def _connect(job: Job, meter: Meter) -> Source:
    """A source of numbers by the strategy or recipe, with a client that is counted."""
    if job.endpoint:
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = job.endpoint
    django.setup()
    logging.disable(logging.CRITICAL)  # otherwise the measured time includes the writing of log lines
    settings.TABLE_PREFIX = job.prefix
    settings.SEQUENCES = job.sequences
    return _take_ours(job, meter) if job.strategy in job.sequences else _take_published(job, meter)


def _take_ours(job: Job, meter: Meter) -> Source:
    from sequences.services import get_next_value, put_next

    dynamodb.wrap_sending(meter.counting)
    alias = job.strategy
    if job.values_only:
        return lambda scope: partial(get_next_value, alias, scope=scope)
    return lambda scope: lambda request: put_next(alias, sample_item(request), scope=scope).value


def _take_published(job: Job, meter: Meter) -> Source:
    client = plain_client()
    meter.attach(client)
    table = job.table
    if job.values_only:
        number = recipes.NUMBERS[job.strategy]
        return lambda scope: partial(number, client, table, scope)
    recipe = recipes.bare_put_item if job.strategy == recipes.BARE_PUT_ITEM else recipes.RECIPES[job.strategy]
    return lambda scope: lambda request: recipe(client, table, scope, dynamodb.marshal(sample_item(request)))


def sample_item(request: str) -> dict[str, str]:
    """The item that every writer stores: a ticket of about 300 bytes with the name of its request."""
    return {
        "request_name": request,
        "title": "The export leaves out the last page",
        "description": "Export a report of more than one page as PDF: the file ends one page early. " * 3,
        "status": "open",
        "reporter": "ada",
    }


class _Crew:
    """The writers of one process."""

    def __init__(self, job: Job, source: Source) -> None:
        self._job = job
        self._source = source
        self._warm = threading.Barrier(job.threads + 1)
        self._go = threading.Barrier(job.threads + 1)

    def run(self, meter: Meter) -> Share:
        """Warm up, wait for all processes, then let all threads run."""
        shares = [Share() for _ in range(self._job.threads)]
        threads = [
            threading.Thread(target=self._write, args=(index, share), daemon=True) for index, share in enumerate(shares)
        ]
        for thread in threads:
            thread.start()
        self._warm.wait()
        _Process.barrier.wait(READY_SECONDS)
        meter.reset()
        _Process.barrier.wait(READY_SECONDS)
        started = time.perf_counter()
        self._go.wait()
        for thread in threads:
            thread.join()
        return _joined(shares, started, time.perf_counter(), meter.usage)

    def _write(self, index: int, share: Share) -> None:
        """One writer: one number in each of its scopes to warm up, then its part of the count."""
        writer = self._job.first_writer + index
        sources = [(scope, self._source(scope)) for scope in self._job.scopes_of(writer)]
        warm_up = Share(handed={scope: array("q") for scope, _ in sources})
        for scope, take in sources:
            _store(take, scope, warm_up, *self._name(writer, "warm"))
        share.warm = warm_up.handed
        share.handed = {scope: array("q") for scope, _ in sources}
        count = self._job.count // self._job.threads + (index < self._job.count % self._job.threads)
        self._warm.wait()
        self._go.wait()
        for number in range(0, count, SAMPLE if self._job.values_only else 1):
            scope, take = sources[(number // SAMPLE if self._job.values_only else number) % len(sources)]
            _store(take, scope, share, *self._name(writer, str(number)))
            if self._job.values_only:
                _reserve(take, scope, share, min(SAMPLE, count - number) - 1)

    def _name(self, writer: int, number: str) -> tuple[str, ...]:
        """A unique name for one request; empty for a value without an item."""
        return () if self._job.values_only else (f"{writer}-{number}",)


def _store(take: Take, scope: str, share: Share, *name: str) -> None:
    """Take one number and measure the time."""
    before = time.perf_counter_ns()
    try:
        value = take(*name)
    except Exception as error:  # noqa: BLE001 - the result counts errors of every kind
        share.errors[_kind(error)] += 1
        return
    share.latencies.append(time.perf_counter_ns() - before)
    share.handed[scope].append(value)
    share.numbers += 1


def _reserve(take: Take, scope: str, share: Share, count: int) -> None:
    """Take numbers without measuring the time, until the first error."""
    try:
        values = [take() for _ in range(count)]
    except Exception as error:  # noqa: BLE001
        share.errors[_kind(error)] += 1
        return
    share.handed[scope].extend(values)
    share.numbers += count


def _kind(error: Exception) -> str:
    """The name of an error: its code if it comes from DynamoDB, otherwise its class."""
    answer = getattr(error, "response", None)
    return str(answer["Error"]["Code"]) if answer else type(error).__name__


def _joined(shares: Sequence[Share], started: float, ended: float, usage: Usage) -> Share:
    whole = Share(started=started, ended=ended, usage=usage)
    for share in shares:
        whole.numbers += share.numbers
        whole.latencies += share.latencies
        whole.errors += share.errors
        for whole_values, values in ((whole.handed, share.handed), (whole.warm, share.warm)):
            for scope in values:
                whole_values.setdefault(scope, array("q")).extend(values[scope])
    return whole
