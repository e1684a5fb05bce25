"""What the tests of this room share: every configuration, clocks that tests move, and the requests on their way.

Tests share the tables of their module and keep apart by their scopes. The functions at the end run in other processes
too; they take and return plain values.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from multiprocessing.context import BaseContext
from multiprocessing.synchronize import Barrier
from multiprocessing.util import get_temp_dir
from typing import Any, TypeVar
from unittest import mock
from uuid import uuid4
from weakref import WeakSet

import botocore.exceptions
import pytest
from botocore.client import BaseClient
from django.core.management import call_command
from django.test import override_settings
from django.utils.module_loading import import_string

from project.proof.faults.elsewhere import begin
from sequences import dynamodb
from sequences.changes import apply
from sequences.commit.host_lock import HostLock, hold_host_lock
from sequences.commit.retries import Deadline, Timing, new_token, write_once
from sequences.dynamodb import client, expressions
from sequences.dynamodb.configuration import DEFAULT_CLIENT
from sequences.dynamodb.making import Send
from sequences.exceptions import OutcomeUnknown, TableMissing, WriteCancelled
from sequences.metrics import Recorder, metrics
from sequences.ops.audit import background, results
from sequences.ops.tables import create_tables
from sequences.registry import parse_config, strategies
from sequences.rows import counter_memory, history, item_writer
from sequences.rows.lru import LRU
from sequences.rows.stored_counter import StoredCounter
from sequences.strategies import BlockAllocator, Strategy, given_back, held_blocks
from sequences.testing import engine_at
from sequences.types import Scope, SequenceConfig

T = TypeVar("T")

PATH = "sequences.strategies"
COUNTERS: dict[str, dict[str, Any]] = {
    "atomic": {"STRATEGY": f"{PATH}.atomic.AtomicCounter"},
    "optimistic-update": {"STRATEGY": f"{PATH}.optimistic.OptimisticCounter"},
    "optimistic-put": {"STRATEGY": f"{PATH}.optimistic.OptimisticCounter", "OPTIONS": {"write": "put"}},
    "transactional": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter"},
    "transactional-beside": {
        "STRATEGY": f"{PATH}.transactional.TransactionalCounter",
        "OPTIONS": {"counter_table": "sequence_items"},
    },
    "block": {"STRATEGY": f"{PATH}.block.BlockAllocator", "OPTIONS": {"block_size": 8, "watch_seconds": 3600}},
}
SORT_KEYS: dict[str, dict[str, Any]] = {
    "sort-key": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum"},
    "sort-key-padded": {
        "STRATEGY": f"{PATH}.sort_key.SortKeyMaximum",
        "TABLE": "padded_items",
        "OPTIONS": {"sort_key": "{value:06d}"},
    },
}
STEPPING: dict[str, dict[str, Any]] = {
    f"{name}-from-1001-by-10": {**COUNTERS[name], "START": 1001, "STEP": 10}
    for name in ("atomic", "optimistic-update", "transactional")  # each adds the step in a line of its own
}
OWN: dict[str, dict[str, Any]] = {"one-file": {"STRATEGY": "tests.sequences.one_file.ReadThenPut"}}
SEQUENCES = {**COUNTERS, **SORT_KEYS, **STEPPING, **OWN}
"""Every strategy, in every way it can be configured."""

MADE = WeakSet[Strategy]()
"""What tests have made beside the registry. One that watches its tables must not do so when they are gone."""


@contextmanager
def tables_of(sequences: Mapping[str, Mapping[str, Any]], endpoint: str) -> Iterator[str]:
    """Tables for these sequences on an engine. The value is their prefix."""
    prefix = f"t{uuid4().hex[:12]}_"
    with override_settings(SEQUENCES=sequences, TABLE_PREFIX=prefix), engine_at(endpoint):
        made = create_tables()
        yield prefix
        for strategy in MADE:
            strategy.stop()
        for table in made:
            dynamodb.delete_table(table)


def written(command: str, *arguments: str) -> str:
    """What a management command prints."""
    output = io.StringIO()
    call_command(command, *arguments, stdout=output)
    return output.getvalue()


def names_that(flag: str) -> list[str]:
    """The configurations whose class says yes to a capability flag."""
    return [name for name, entry in SEQUENCES.items() if getattr(import_string(entry["STRATEGY"]), flag)]


def give_each_scope_its_place(patch: pytest.MonkeyPatch) -> None:
    """Keep what is kept of audits in so many places that no two scopes meet in one by chance."""
    patch.setattr(results, "PLACES", 2**31 - 1)


def await_audits() -> None:
    """Wait until the audits of this process have ended, with their threads."""
    for thread in background._running.threads:
        thread.join(60)


class Clock:
    """A clock that stands still until a test, or somebody's sleep, moves it."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds

    def timing(self, **changes: Any) -> Timing:
        """A timing whose clock and sleep are this clock's."""
        return Timing(**{"clock": self, "sleep": self.sleep, **changes})


class Impostor(BaseHTTPRequestHandler):
    """An engine that answers every request with the same bytes."""

    status = 200
    body = b"{}"
    date = ""
    pause = 0.0  # seconds between two bytes of the answer
    checksum: int | str | None = None
    cut = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body) + self.cut))
        if self.checksum is not None:
            self.send_header("x-amz-crc32", str(self.checksum))
        with contextlib.suppress(OSError):  # the client has hung up
            self.end_headers()
            self.wfile.write(self.body)
        self.close_connection = True

    def date_time_string(self, timestamp: float | None = None) -> str:
        return self.date or super().date_time_string(timestamp)

    def flush_headers(self) -> None:
        if not self.pause:
            super().flush_headers()
            return
        for byte in b"".join(self._headers_buffer):  # type: ignore[attr-defined]
            self.wfile.write(bytes([byte]))
            time.sleep(self.pause)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        """Say nothing."""


@dataclass(frozen=True)
class Sent:
    """One request as it went over the wire."""

    operation: str
    body: Mapping[str, Any]


class Wire:
    """The requests of this process on their way: each is noted, and its answer may be lost after it was served."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.units = 0.0
        self._forgetful = False
        self._lose: dict[str, int] = {}
        self._before: dict[str, list[Callable[[], object]]] = {}
        self._after: dict[str, list[Callable[[], object]]] = {}
        self._lock = threading.Lock()

    @property
    def operations(self) -> list[str]:
        return [sent.operation for sent in self.sent]

    def bodies(self, operation: str) -> list[Mapping[str, Any]]:
        """What was sent of one operation."""
        return [sent.body for sent in self.sent if sent.operation == operation]

    def clear(self) -> None:
        """Forget what was noted so far."""
        self.sent, self.units = [], 0.0

    def lose(self, operation: str, times: int = 1) -> None:
        """Lose the next answers to an operation: the engine has done it, and nobody hears of it."""
        self._lose[operation] = times

    def before(self, operation: str, *actions: Callable[[], object]) -> None:
        """Do these things, one each, before the next requests of this operation are sent."""
        self._before[operation] = list(actions)

    def after(self, operation: str, *actions: Callable[[], object]) -> None:
        """Do these things, one each, when the next requests of this operation are served, before it is known here."""
        self._after[operation] = list(actions)

    def forget_request_tokens(self) -> None:
        """Send another ClientRequestToken with each transaction, as if the engine's ten minutes were over."""
        self._forgetful = True

    def through(self, send: Send) -> Send:
        """Send requests, and note them."""

        def noted(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
            name = operation.title().replace("_", "")
            self._do(self._before, name)
            if self._forgetful and "ClientRequestToken" in request:
                request = {**request, "ClientRequestToken": new_token()}
            with self._lock:
                self.sent.append(Sent(name, request))
            try:
                answer = send(operation, request)
            except botocore.exceptions.ClientError as refusal:
                self._receive(name, refusal.response)
                raise
            self._receive(name, answer)
            return answer

        return noted

    def _receive(self, operation: str, answer: Mapping[str, Any]) -> None:
        with self._lock:
            self.units += dynamodb.used_units(answer)
            lost = self._lose.get(operation, 0)
            self._lose[operation] = lost - 1
        self._do(self._after, operation)
        if lost > 0:
            raise botocore.exceptions.ReadTimeoutError(endpoint_url="the engine")

    def _do(self, actions: dict[str, list[Callable[[], object]]], operation: str) -> None:
        with self._lock:
            action = actions[operation].pop(0) if actions.get(operation) else None
        if action:
            action()


def look_at_the_tables() -> None:
    """Let this process ask what it asks once, which is not what tests count."""
    for name in strategies:
        with contextlib.suppress(TableMissing):
            strategies[name].lives.bind(dynamodb.call)


@contextmanager
def tapped() -> Iterator[Wire]:
    """Note the requests of this process's client, but for those that it sends once."""
    look_at_the_tables()
    with tapped_unasked() as wire:
        yield wire


@contextmanager
def tapped_unasked() -> Iterator[Wire]:
    """Note the requests of this process's client, without looking anything up first."""
    wait_until(lambda: not fetching())
    wire, shared = Wire(), client._clients[DEFAULT_CLIENT]
    making = shared._making
    dynamodb.wrap_sending(wire.through)
    try:
        yield wire
    finally:
        shared._making = making


def held_up(change: Callable[[], object], *, after: int = 0) -> Mapping[str, Any]:
    """A transaction of a guarded change that is on its way, after so many that were served. Its answer is lost."""
    held: list[Mapping[str, Any]] = []

    def send(operation: str, request: Mapping[str, Any], **how: Any) -> Mapping[str, Any]:
        if len(held) == after:
            held.append(request)
            raise OutcomeUnknown("the answer was lost")
        held.append(request)
        return write_once(operation, request, **how)

    with mock.patch.object(apply, "write_once", send), pytest.raises(OutcomeUnknown):
        change()
    return held[-1]


def arrives(late: Mapping[str, Any]) -> bool:
    """Whether a transaction that was held up is stored when it arrives."""
    try:
        dynamodb.call("transact_write_items", late)
    except WriteCancelled:
        return False
    return True


@contextmanager
def handled(handlers: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """While the body runs, have these handle the events of this process's client."""
    events = dynamodb.shared_client().meta.events
    for event, handler in handlers.items():
        events.register(event, handler)
    try:
        yield
    finally:
        for event, handler in handlers.items():
            events.unregister(event, handler)


@contextmanager
def measured_by(*recorders: Recorder) -> Iterator[None]:
    """While the body runs, tell these recorders what is measured."""
    metrics.use(recorders)
    try:
        yield
    finally:
        metrics.use([])


@contextmanager
def bound_port() -> Iterator[int]:
    """A port of this machine that nobody listens at, and that no other process takes meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def asked_of_boto3() -> AbstractContextManager[Any]:
    """Count the requests along botocore's model."""
    along: Any = vars(BaseClient)["_make_api_call"]
    return mock.patch.object(BaseClient, "_make_api_call", autospec=True, side_effect=along)


def on_dynamodb_local() -> bool:
    """Whether the engine is DynamoDB Local. docs/proof.md says where it differs from DynamoDB."""
    return os.environ.get("DYNOXIDE", "").endswith("dynamodb-local")


def make(name: str, *, clock: Clock | None = None, wall: Clock | None = None, **changes: Any) -> Strategy:
    """The strategy of a configuration, as a fresh process would make it; `changes` are keys of it or of its OPTIONS.

    With changes it does not look by which settings the rows are written, as tests share tables.
    """
    entry = dict(SEQUENCES[name])
    options = dict(entry.get("OPTIONS", {}))
    for key, value in changes.items():
        (entry if key.isupper() else options)[key] = value
    config = parse_config(name, {**entry, "OPTIONS": options})
    clocks: dict[str, Any] = {"timing": clock.timing() if clock else None}
    if wall:
        clocks["wall"] = wall
    strategy = made_anew(config, **clocks)
    strategy.rules.enforced = not changes
    return strategy


def made_anew(config: SequenceConfig, **clocks: Any) -> Strategy:
    """The strategy of a configuration, as a fresh process would make it; it is stopped before its tables go."""
    strategy = type(strategies[config.alias])(config, **clocks)
    MADE.add(strategy)
    return strategy


def remember_at_most(scopes: int, patch: pytest.MonkeyPatch) -> None:
    """Lower every bound of what strategies remember, so that few scopes are more than they allow."""
    patch.setattr(LRU.__init__, "__defaults__", (scopes,))
    patch.setattr(counter_memory, "SCOPES_CHECKED", scopes)
    patch.setattr(history, "SCOPES_CHECKED", scopes)
    patch.setattr(held_blocks, "BLOCKS_HELD", scopes)
    patch.setattr(held_blocks, "SCOPES_CHECKED", scopes)
    patch.setattr(given_back, "SCOPES_CHECKED", scopes)
    strategies.reset()


def stored(name: str, scope: str | None) -> dict[int, dict[str, Any]]:
    """The items of a scope by their values, as the engine holds them."""
    strategy = strategies[name]
    request = {
        "TableName": strategy.schema.table,
        "KeyConditionExpression": "pk = :scope",
        "ExpressionAttributeValues": {":scope": {"S": strategy.layout.partition(scope)}},
        "ConsistentRead": True,
    }
    rows = {}
    while True:
        page = dynamodb.call("query", request)
        rows.update({strategy.schema.number(row): row for row in map(dynamodb.unmarshal, page["Items"])})
        if "LastEvaluatedKey" not in page:
            return rows
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def nth(name: str, n: int) -> int:
    """The n-th value of a configuration."""
    numbers = strategies[name].numbers
    return numbers.start + numbers.step * (n - 1)


def mark_listed(name: str, *scopes: str | None) -> None:
    """Let this process take these scopes for listed, so that a value is one write."""
    for scope in scopes:
        strategies[name].scope_list._listed.put(scope, True)


def import_row(name: str, scope: str | None, value: int) -> None:
    """Store a row under a value behind the sequence's back."""
    strategy = strategies[name]
    item = strategy.schema.key(strategy.layout.partition(scope), value)
    dynamodb.call("put_item", {"TableName": strategy.schema.table, "Item": item})


def delete_row(name: str, scope: str | None, value: int) -> None:
    """Delete the row of a value behind the sequence's back."""
    strategy = strategies[name]
    key = strategy.schema.key(strategy.layout.partition(scope), value)
    dynamodb.call("delete_item", {"TableName": strategy.schema.table, "Key": key})


def read_counter(name: str, scope: Scope) -> dict[str, Any]:
    """The counter's row, empty if there is none."""
    counter = counter_of(name)
    request = expressions.read_item(counter.table, counter.key(scope))
    return dynamodb.unmarshal(dynamodb.call("get_item", request).get("Item", {}))


def set_counter(name: str, scope: Scope, **fields: object) -> None:
    """Set attributes of a counter by hand."""
    row = {**read_counter(name, scope), **fields}
    item = {**dynamodb.marshal(row), **counter_of(name).key(scope)}
    dynamodb.call("put_item", {"TableName": counter_of(name).table, "Item": item})


class Backup:
    """The rows of a scope at one moment: its items, its markers, and its counter if it has one."""

    def __init__(self, name: str, scope: str) -> None:
        strategy = strategies[name]
        partitions = (strategy.layout.partition(scope), strategy.markers.partition(scope))
        self._collections = [(strategy.schema.table, partition) for partition in partitions]
        self._counter = strategy.counter and (strategy.counter.table, strategy.counter.key(scope))
        self._rows = list(self._now())

    def _now(self) -> Any:
        for table, partition in self._collections:
            request = {
                "TableName": table,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": partition}},
            }
            yield from ((table, ("pk", "sk"), row) for row in dynamodb.call("query", request)["Items"])
        if self._counter:
            table, key = self._counter
            row = dynamodb.call("get_item", {"TableName": table, "Key": key, "ConsistentRead": True}).get("Item")
            yield from [(table, tuple(key), row)] if row else []

    def restore(self) -> None:
        """Let the tables, which stay the same ones, have these rows again, and no others."""
        for table, names, row in list(self._now()):
            dynamodb.call("delete_item", {"TableName": table, "Key": {name: row[name] for name in names}})
        for table, _, row in self._rows:
            dynamodb.call("put_item", {"TableName": table, "Item": row})


def delete_counter(name: str, scope: str | None) -> None:
    """Delete a counter by hand."""
    counter = counter_of(name)
    dynamodb.call("delete_item", {"TableName": counter.table, "Key": counter.key(scope)})


def counter_of(name: str) -> StoredCounter:
    """The counter of the strategy of this process."""
    counter = strategies[name].counter
    assert counter is not None
    return counter


def lock_name(name: str, scope: str | None) -> str:
    """What a process names the turn that it takes at a scope."""
    names: list[str] = []
    strategies[name].lives.bind(dynamodb.call)

    def note(name: str, seconds: float) -> AbstractContextManager[HostLock]:
        names.append(name)
        return hold_host_lock(name, seconds)

    writer = strategies[name].item_writer
    with mock.patch.object(item_writer, "hold_host_lock", note), writer.exclusively(scope, Deadline()):
        return names[0]


def wait_until(fact: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something that must become true."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.02)  # a fact may take a request


class Meeting(str):
    """A scope at whose every look-up in memory something is done first, so that threads can be made to meet there."""

    __slots__ = ("first",)

    first: Callable[[], object]

    def __hash__(self) -> int:
        self.first()
        return super().__hash__()


def fresh_processes() -> BaseContext:
    """Where processes come from that share nothing with this one.

    A server forks them, which has imported what they need and has done nothing with it: they need not import it again.
    Its socket is in /tmp, as the path of a socket must be short, and folders of tests may be gone before it ends.
    """
    with mock.patch.object(tempfile, "tempdir", "/tmp"):
        get_temp_dir()  # which remembers it
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.sequences.preloaded"])
    return context


class Processes:
    """Other processes of the application. `run` has all of them begin the same task at the same moment.

    The method is "spawn" for processes that share nothing with this one, and "fork" for copies of it.
    """

    def __init__(self, method: str, count: int, endpoint: str, prefix: str) -> None:
        self.count = count
        context = fresh_processes() if method == "spawn" else multiprocessing.get_context(method)
        begin, given = (_begin, (endpoint, prefix)) if method == "spawn" else (_join, ())
        self._pool = ProcessPoolExecutor(count, context, begin, (context.Barrier(count), *given))

    def run(self, task: Callable[..., T], *given: object) -> list[T]:
        """What each process got from the task."""
        futures = [self._pool.submit(_meet, task, *given) for _ in range(self.count)]
        return [future.result(timeout=120) for future in futures]

    def stop(self) -> None:
        """End the processes, those that hang too."""
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown()


_meeting: Barrier


def _join(meeting: Barrier) -> None:
    global _meeting  # noqa: PLW0603 - a pool's process can be told something only this way
    _meeting = meeting


def _begin(meeting: Barrier, endpoint: str, prefix: str) -> None:
    _join(meeting)
    begin_process(endpoint, prefix)


def fetching() -> bool:
    """Whether a block is on its way, as an earlier test may have left one."""
    known = [*MADE, *strategies._made.values()]
    fetches = [fetch for one in known if isinstance(one, BlockAllocator) for fetch in one._fetches]
    return not all(fetch.done for fetch in fetches)


def unused(allocator: BlockAllocator) -> int:
    """How many reserved values this process holds, in all scopes."""
    return sum(map(allocator.held, list(allocator._held.pools)))


def begin_process(endpoint: str, prefix: str) -> None:
    """Let this fresh process be one of the application, on a machine of its own."""
    begin(endpoint, prefix)
    from django.conf import settings

    from sequences.commit import host_memory

    vars(host_memory)["SUPPORTED"] = False  # as on another machine, where only the conditions of the writes count
    settings.SEQUENCES = SEQUENCES


def _meet(task: Callable[..., T], *given: object) -> T:
    _meeting.wait(timeout=60)
    return task(*given)
