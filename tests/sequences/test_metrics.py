"""The metrics: each moves by exactly what happened, is free while off, and never costs a caller a number."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections import Counter as Sums
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.test import override_settings
from opentelemetry import trace
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    HistogramDataPoint,
    InMemoryMetricReader,
    NumberDataPoint,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY

from project.paths import ROOT
from project.proof.faults.control import Proxy
from project.proof.faults.plans import Rule
from sequences import (
    aget_next_values,
    aput_next,
    dynamodb,
    get_last_value,
    get_next_value,
    get_next_values,
    put_next,
    put_next_many,
)
from sequences import metrics as room
from sequences.exceptions import IdempotencyMismatch, SequenceContention, SequenceExhausted, SequenceUnavailable
from sequences.metrics import INSTRUMENTS, TIMES, Instrument, Recorder, metrics
from sequences.metrics.instruments import GROUP, VALUES
from sequences.metrics.opentelemetry import OpenTelemetry
from sequences.metrics.prometheus import Prometheus, exposition
from sequences.ops.checks import check_sequences
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.testing import engine_at
from sequences.types import Allocation
from tests.sequences.support import Clock, Processes, import_row, mark_listed, measured_by, wait_until

pytestmark = pytest.mark.usefixtures("configured", "unhurried")

THREADS, EACH = 32, 4
FILED = THREADS * EACH
SECRETS = ["content nobody may read", "token nobody may read"]


class Book(Recorder):
    """Keeps every amount by the instrument's name and its labels."""

    def __init__(self) -> None:
        self.amounts: dict[tuple[str, ...], list[float]] = defaultdict(list)

    def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
        self.amounts[(instrument.name.removeprefix("sequences."), *labels)].append(amount)

    def sum(self, *name: str) -> float:
        """The sum of all amounts whose name and first labels are these."""
        return sum(sum(amounts) for key, amounts in self.amounts.items() if key[: len(name)] == name)

    def count(self, *name: str) -> int:
        """How many amounts there are."""
        return sum(len(amounts) for key, amounts in self.amounts.items() if key[: len(name)] == name)

    def sums(self, name: str, sequence: str) -> dict[str, float]:
        """The sums of a sequence by the label after it."""
        return {key[2]: self.sum(*key[:3]) for key in self.amounts if key[:2] == (name, sequence)}


KEPT = Book()


@pytest.fixture
def book() -> Iterator[Book]:
    """What is measured during the test."""
    with measured_by(book := Book()):
        yield book


@pytest.fixture
def behind(proxy: Proxy, configured: str) -> Iterator[Proxy]:
    """This process uses the engine through a proxy without faults yet."""
    with engine_at(proxy.endpoint):
        yield proxy


def file_all(name: str, scope: str) -> list[Allocation]:
    """What 32 threads get that each put four items."""

    def file(_: int) -> list[Allocation]:
        return [put_next(name, {"title": "any"}, scope=scope) for _ in range(EACH)]

    with ThreadPoolExecutor(THREADS) as threads:
        return [allocation for filed in threads.map(file, range(THREADS)) for allocation in filed]


def test_the_labels() -> None:
    """Dashboards and alarms ask for series by these names."""
    apart = {one.name.removeprefix("sequences."): [*one.labels] for one in INSTRUMENTS if one.labels != ["sequence"]}
    assert apart == {
        "answers": ["sequence", "outcome"],
        "group.size": ["sequence", "of"],
        "failed.attempts": ["sequence", "reason"],
        "requests": ["sequence", "operation", "outcome"],
        "request": ["operation"],
        "capacity.units": ["sequence", "operation", "kind"],
        "clients": ["transport"],
    }


class TestAmounts:
    @pytest.mark.parametrize("name", ["sort-key", "transactional", "atomic", "optimistic-update"])
    def test_puts_of_many_threads(self, book: Book, scope: str, name: str) -> None:
        """Of N puts, values, answers, calls and waits are N, groups hold N items, units are those of the answers."""
        put_next(name, {}, scope=scope)  # what is learnt once of a scope, and of the tables
        book.amounts.clear()
        filed = file_all(name, scope)
        assert book.sum("values", name) == FILED == len({allocation.value for allocation in filed})
        assert book.sums("answers", name) == {"stored": FILED}
        assert book.count("call", name) == FILED
        assert book.sum("group.size", name, "items") == FILED
        assert book.sum("failed.attempts", name) == 0
        units = sum(allocation.write_units + allocation.read_units for allocation in filed)
        assert book.sum("capacity.units", name) == pytest.approx(units)
        assert book.sum("requests", name) == book.count("request")
        assert {key[3] for key in book.amounts if key[:2] == ("requests", name)} == {"ok"}
        if not strategies[name].supports_reserve:
            assert book.count("wait", name) == FILED
            assert book.count("turn", name) == book.count("group.size", name)  # each write has had its turn

    @pytest.mark.needs_engine  # moto has no units for a transaction
    def test_a_group_is_one_write(self, book: Book, scope: str) -> None:
        """Items that are put together are one group, and each of them has an answer."""
        began = time.perf_counter()
        put_next_many("sort-key", [{}] * 7, scope=scope)
        assert 0 < book.sum("request") < book.sum("call", "sort-key") < time.perf_counter() - began
        assert book.amounts["group.size", "sort-key", "items"] == [7]
        assert book.sum("answers", "sort-key", "stored") == book.sum("values", "sort-key") == 7
        assert book.count("call", "sort-key") == 1
        assert book.sum("requests", "sort-key", "TransactWriteItems", "ok") == 1
        assert book.sum("capacity.units", "sort-key", "TransactWriteItems", "write") > 0
        get_last_value("sort-key", scope=scope)
        assert book.sum("requests", "sort-key", "Query", "ok") > 0
        assert book.sum("capacity.units", "sort-key", "Query", "read") > 0
        assert {key[3] for key in book.amounts if key[0] == "capacity.units"} == {"write", "read"}

    def test_repeats(self, book: Book, scope: str) -> None:
        """A repeat hands out no value. That its token is known, a condition says."""
        for _ in range(3):
            put_next("sort-key", {}, scope=scope, idempotency_token="one")
        assert book.sums("answers", "sort-key") == {"stored": 1, "replayed": 2}
        assert book.sum("values", "sort-key") == 1
        assert book.sum("requests", "sort-key", "TransactWriteItems", "conflict") == 2
        assert book.sum("failed.attempts") == 0

    def test_values_before_their_items(self, book: Book, scope: str) -> None:
        """Values that are taken count each, and a repeat none."""
        get_next_value("atomic", scope=scope)
        for _ in range(2):
            get_next_values(5, "atomic", scope=scope, idempotency_token="five")
        assert book.sums("answers", "atomic") == {"taken": 2, "replayed": 1}
        assert book.sum("values", "atomic") == book.sum("group.size", "atomic", "values") == 6

    def test_awaited_calls(self, book: Book, scope: str) -> None:
        """Calls that are awaited count as the others do."""

        async def call() -> None:
            await asyncio.gather(*(aput_next("sort-key", {}, scope=scope) for _ in range(9)))
            await aget_next_values(3, "atomic", scope=scope)

        asyncio.run(call())
        # A caller may have its answer before it is counted.
        wait_until(lambda: book.sum("answers", "sort-key") == 9 and book.sum("answers", "atomic") == 1)
        assert book.sums("answers", "sort-key") == {"stored": 9}
        assert book.sum("group.size", "sort-key", "items") == book.count("call", "sort-key") == 9
        assert book.sums("answers", "atomic") == {"taken": 1}
        assert book.sum("values", "atomic") == 3

    def test_blocks(self, book: Book, scope: str) -> None:
        """Three values of a block of eight take one request for the block."""
        for _ in range(3):
            get_next_value("block", scope=scope)
        assert book.sum("blocks", "block") == book.sum("requests", "block", "UpdateItem", "ok") == 1
        assert (book.sum("values", "block"), book.sum("group.size", "block", "values")) == (3, 8)

    def test_a_lost_race(self, book: Book, scope: str) -> None:
        """An attempt that finds its number taken is one that failed, for a conflict."""
        put_next("sort-key", {}, scope=scope)
        import_row("sort-key", scope, 2)
        put_next("sort-key", {}, scope=scope)
        assert book.sums("failed.attempts", "sort-key") == {"conflict": 1}
        assert book.sum("requests", "sort-key", "PutItem", "conflict") == 1
        assert book.sum("values", "sort-key") == 2

    def test_races_of_processes(self, book: Book, spawned: Processes, scope: str) -> None:
        """Whoever wins, each of our attempts stores its item or fails for a conflict, as the answers say."""
        others = spawned._pool.submit(put_many, scope)
        filed = [put_next("sort-key", {}, scope=scope) for _ in range(50)]
        others.result(timeout=60)
        attempts = sum(allocation.attempts for allocation in filed)
        assert book.sum("failed.attempts", "sort-key", "conflict") == attempts - 50
        assert book.sum("values", "sort-key") == book.count("group.size", "sort-key", "items") == 50


def put_many(scope: str) -> None:
    """In another process: put fifty items."""
    for _ in range(50):
        put_next("sort-key", {}, scope=scope)


class TestFailures:
    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            ("ThrottlingException", "throttled"),
            ("ProvisionedThroughputExceededException", "throttled"),
            ("ReplicatedWriteConflictException", "conflict"),
            ("TransactionConflictException", "conflict"),
            ("lose-close", "lost"),
            ("InternalServerError", "lost"),
        ],
    )
    def test_an_attempt_that_fails(self, book: Book, behind: Proxy, scope: str, fault: str, reason: str) -> None:
        """Two failures of a write are counted with their reason, and the value once."""
        mark_listed("sort-key", scope)
        behind.follow(Rule(fault=fault, operation="PutItem", contains=scope, count=2))
        put_next("sort-key", {}, scope=scope)
        assert book.sums("failed.attempts", "sort-key") == {reason: 2}
        assert book.sum("requests", "sort-key", "PutItem", reason) >= 2
        assert book.sum("values", "sort-key") == book.sum("group.size", "sort-key", "items") == 1

    @pytest.mark.parametrize(
        ("fault", "reason"),
        [("cancel-ThrottlingError", "throttled"), ("cancel-TransactionConflict", "conflict")],
    )
    def test_a_transaction_that_fails(self, book: Book, behind: Proxy, scope: str, fault: str, reason: str) -> None:
        """The reasons of a cancelled transaction say whether it was throttled."""
        behind.follow(Rule(fault=fault, count=3))
        put_next("transactional", {}, scope=scope)
        assert book.sums("failed.attempts", "transactional") == {reason: 3}

    def test_an_engine_that_is_away(
        self, book: Book, scope: str, clock: Clock, install: Callable[..., Strategy]
    ) -> None:
        """Requests that are not sent are told from those without an answer."""
        with engine_at("http://127.0.0.1:9"):
            install("sort-key", clock=clock)  # here, as another engine has strategies of its own
            with pytest.raises(SequenceUnavailable):
                put_next("sort-key", {}, scope=scope)
        assert {key[3] for key in book.amounts if key[0] == "requests"} == {"not_sent"}
        assert book.sums("answers", "sort-key") == {"SequenceUnavailable": 1}

    @pytest.mark.parametrize(
        ("fault", "error"),
        [("ThrottlingException", SequenceUnavailable), ("TransactionConflictException", SequenceContention)],
    )
    def test_giving_up(
        self,
        book: Book,
        behind: Proxy,
        scope: str,
        clock: Clock,
        install: Callable[..., Strategy],
        fault: str,
        error: type[Exception],
    ) -> None:
        """A call that gives up is an answer of its kind, and hands out nothing."""
        install("sort-key", clock=clock)
        mark_listed("sort-key", scope)
        behind.follow(Rule(fault=fault))
        with pytest.raises(error):
            put_next("sort-key", {}, scope=scope)
        assert book.sums("answers", "sort-key") == {error.__name__: 1}
        assert book.sum("values") == 0

    def test_refusals(self, book: Book, scope: str, install: Callable[..., Strategy]) -> None:
        """Each error is an answer of its kind: of a put, of values, and of a call that gets no further."""
        put_next("sort-key", {}, scope=scope, idempotency_token="one")
        with pytest.raises(IdempotencyMismatch):
            put_next("sort-key", {"other": True}, scope=scope, idempotency_token="one")
        assert book.sums("answers", "sort-key") == {"stored": 1, "IdempotencyMismatch": 1}
        with override_settings(
            SEQUENCES={"few": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "MAXIMUM": 1}}
        ):
            get_next_value("few", scope=scope)
            with pytest.raises(SequenceExhausted):
                get_next_value("few", scope=scope)
        assert book.sums("answers", "few") == {"taken": 1, "SequenceExhausted": 1}

    def test_a_missing_table(self, book: Book, scope: str) -> None:
        """An error before the first write is an answer, too."""
        entry = {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "TABLE": "no_such_table"}
        with override_settings(SEQUENCES={"nowhere": entry}), suppress(Exception):
            put_next("nowhere", {}, scope=scope)
        assert book.sums("answers", "nowhere") == {"TableMissing": 1}
        assert book.sum("requests", "nowhere") == 1


class TestOff:
    def test_nothing_is_called(self, scope: str) -> None:
        """Without recorders no function of this room runs, whatever is called."""
        called: list[str] = []

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and str(frame.f_globals.get("__name__")).startswith(room.__name__):
                called.append(frame.f_code.co_name)

        assert metrics.on is False
        sys.setprofile(note)
        try:
            put_next("sort-key", {}, scope=scope)
            put_next_many("transactional", [{}, {}], scope=scope, idempotency_tokens=["a", "b"])
            get_next_value("block", scope=scope)
            get_next_values(2, "atomic", scope=scope)
        finally:
            sys.setprofile(None)
        assert called == []


class TestSafety:
    def test_a_recorder_that_fails(self, scope: str, caplog: pytest.LogCaptureFixture) -> None:
        """The caller gets its value, the log says so once, and the others are told on."""

        class Broken(Recorder):
            def record(self, *_: object) -> None:
                raise OSError("No space left on device")

        book = Book()
        with measured_by(Broken(), book):
            assert [put_next("sort-key", {}, scope=scope).value for _ in range(2)] == [1, 2]
        assert [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] == [
            "Broken failed; it is not told of anything from now on."
        ]
        assert book.sum("values", "sort-key") == 2

    def test_one_thread_at_a_time(self) -> None:
        """A recorder need not be safe for threads: another thread waits until it has recorded."""
        book, ends = Book(), list[float]()

        class Slow(Recorder):
            def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
                if amount == 1:
                    other.start()
                    other.join(0.05)
                ends.append(amount)

        other = threading.Thread(target=lambda: metrics.tell(VALUES, 2, "orders"))
        with measured_by(Slow(), book):
            metrics.tell(VALUES, 1, "orders")
            other.join()
        assert ends == [1, 2]
        assert book.sum("values", "orders") == 3

    def test_a_call_within_a_recorder(self, scope: str) -> None:
        """A call that strikes inside a recorder, as from a signal handler, is told after it, and never within it."""
        depths: list[int] = []

        class Struck(Book):
            depth = 0

            def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
                self.depth += 1
                depths.append(self.depth)
                if len(depths) == 1:
                    put_next("sort-key", {}, scope=scope)
                super().record(instrument, amount, labels)
                self.depth -= 1

        struck = Struck()
        dynamodb.shared_client()  # the thread that makes it tells that, and no signal handler runs there
        with measured_by(struck):
            put_next("sort-key", {}, scope=scope)
        assert set(depths) == {1}
        assert struck.sum("values", "sort-key") == 2

    def test_labels_are_few(self, book: Book, scope: str) -> None:
        """No label has a scope, a token, or anything of an item."""
        for name in ("sort-key", "transactional", "atomic"):
            for _ in range(2):
                put_next(name, {"title": SECRETS[0]}, scope=scope, idempotency_token=SECRETS[1])
        labels = {label for key in book.amounts for label in key[1:]}
        assert labels
        assert [label for label in labels for secret in (scope, *SECRETS) if secret in label] == []

    @pytest.mark.parametrize(
        ("setting", "said"),
        [
            ("sequences.metrics.prometheus.Prometheus", "must be a list"),
            (["sequences.metrics.nothing.Nothing"], "cannot import"),
            (["sequences.types.Period"], "is no recorder"),
        ],
    )
    def test_a_wrong_setting(self, setting: object, said: str, caplog: pytest.LogCaptureFixture, scope: str) -> None:
        """It is an error of the checks, and numbers are handed out without metrics."""
        with measured_by(Book()), override_settings(SEQUENCES_METRICS=setting):
            (error,) = [one for one in check_sequences() if one.id == "sequences.E009"]
            assert said in error.msg
            assert said in caplog.text
            assert metrics.on is False
            assert put_next("sort-key", {}, scope=scope).value == 1

    def test_the_setting_turns_it_on_and_off(self) -> None:
        """The recorders of the setting are in use while it names them."""
        with override_settings(SEQUENCES_METRICS=["sequences.metrics.prometheus.Prometheus"]):
            assert [type(recorder) for recorder in metrics.recorders] == [Prometheus]
            assert metrics.on
        assert not metrics.on

    def test_a_recorder_that_is_made(self) -> None:
        """The setting may name a recorder in place of its class."""
        with override_settings(SEQUENCES_METRICS=[f"{__name__}.KEPT"]):
            assert metrics.recorders == (KEPT,)


@pytest.mark.parametrize("instrument", [one for one in INSTRUMENTS if one.buckets], ids=lambda one: one.name)
def test_buckets(instrument: Instrument) -> None:
    """The limits of a histogram rise, and are round numbers."""
    assert sorted(set(instrument.buckets)) == list(instrument.buckets)
    leading = {float(f"{limit:e}".partition("e")[0]) for limit in instrument.buckets}
    assert leading == ({1, 2.5, 5} if instrument.unit else {1, 2, 5})


class TestPrometheus:
    def test_the_text(self, scope: str) -> None:
        """Every instrument is there under its name with a unit, and moves by what happened."""

        def value(name: str, **labels: str) -> float:
            return REGISTRY.get_sample_value(name, labels) or 0.0

        names = {"values_total": {}, "call_seconds_count": {}, "group_size_sum": {"of": "items"}}
        before = {name: value(f"sequences_{name}", sequence="sort-key", **more) for name, more in names.items()}
        with measured_by(Prometheus()):
            dynamodb.reset()
            put_next_many("sort-key", [{}] * 3, scope=scope)
            get_next_value("block", scope=scope)
            import_row("sort-key", scope, 4)
            put_next("sort-key", {}, scope=scope)
        after = {name: value(f"sequences_{name}", sequence="sort-key", **more) for name, more in names.items()}
        assert Sums(after) - Sums(before) == {"values_total": 4, "call_seconds_count": 2, "group_size_sum": 4}
        text = exposition().decode()
        endings = {instrument: "_seconds_bucket{" if instrument.unit else "_total{" for instrument in INSTRUMENTS}
        endings |= {one: "_bucket{" for one in INSTRUMENTS if one.buckets and not one.unit}
        assert [one.name for one, end in endings.items() if one.name.replace(".", "_") + end not in text] == []

    def test_the_sums_of_all_processes(self, tmp_path: Path) -> None:
        """With PROMETHEUS_MULTIPROC_DIR each process answers for all, also for one that has ended.

        Another has just made its file, which is still empty.
        """
        (tmp_path / "counter_1.db").touch()
        program = (
            "from sequences.metrics.instruments import VALUES; "
            "from sequences.metrics.prometheus import Prometheus, exposition; "
            "Prometheus().record(VALUES, 2, ('orders',)); print(exposition().decode())"
        )
        environment = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
        for total in (2, 4):
            command = [sys.executable, "-c", program]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, env=environment)
            assert f'sequences_values_total{{sequence="orders"}} {total}.0' in done.stdout.decode()

    def test_a_file_that_goes_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file may be taken away while a process reads the folder, as those of a moment's figures are."""
        monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
        monkeypatch.setattr(Path, "glob", lambda folder, _: [folder / "counter_1.db"])
        assert exposition() == b""


@pytest.fixture(scope="session")
def exported() -> tuple[InMemoryMetricReader, InMemorySpanExporter]:
    """What an SDK gets, which a process sets up once."""
    delta = AggregationTemporality.DELTA
    reader, spans = InMemoryMetricReader({Counter: delta, Histogram: delta}), InMemorySpanExporter()
    set_meter_provider(MeterProvider([reader]))
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    return reader, spans


class TestOpenTelemetry:
    @pytest.fixture
    def spans(self, exported: tuple[InMemoryMetricReader, InMemorySpanExporter]) -> Iterator[InMemorySpanExporter]:
        """The spans that end during the test."""
        exported[1].clear()
        with measured_by(OpenTelemetry()):
            yield exported[1]

    def test_the_instruments(
        self, exported: tuple[InMemoryMetricReader, InMemorySpanExporter], spans: object, scope: str
    ) -> None:
        """A meter gets the same amounts under the same names."""
        exported[0].get_metrics_data()
        put_next_many("sort-key", [{}] * 3, scope=scope)
        data = exported[0].get_metrics_data()
        assert data
        points = {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for one in resource.scope_metrics
            for metric in one.metrics
        }
        (values,), (group,) = points["sequences.values"], points["sequences.group.size"]
        assert isinstance(values, NumberDataPoint)
        assert (values.value, values.attributes) == (3, {"sequence": "sort-key"})
        assert isinstance(group, HistogramDataPoint)
        assert (group.sum, group.count) == (3, 1)
        assert tuple(group.explicit_bounds) == GROUP.buckets
        (calls,) = points["sequences.call"]
        assert isinstance(calls, HistogramDataPoint)
        assert tuple(calls.explicit_bounds) == TIMES
        scopes = [one for resource in data.resource_metrics for one in resource.scope_metrics]
        assert {one.scope.name for one in scopes} == {"sequences"}
        units = {metric.name: metric.unit for one in scopes for metric in one.metrics}
        assert (units["sequences.call"], units["sequences.values"], units["sequences.group.size"]) == ("s", "1", "1")

    def test_the_spans_of_a_put(self, spans: InMemorySpanExporter, scope: str) -> None:
        """A call is a span, and its requests are spans within it, named by the conventions for databases."""
        put_next("sort-key", {}, scope=scope)  # what is learnt once of the table
        spans.clear()
        put_next("sort-key", {"title": SECRETS[0]}, scope=scope, idempotency_token=SECRETS[1])
        request, call = spans.get_finished_spans()
        assert (call.name, request.name) == ("put sort-key", "DynamoDB.TransactWriteItems")
        assert parent_of(request) == call.context.span_id
        assert dict(request.attributes or {}) == {
            "db.system.name": "aws.dynamodb",
            "db.operation.name": "TransactWriteItems",
            "sequences.sequence": "sort-key",
        }
        assert dict(call.attributes or {}) == {"sequences.sequence": "sort-key"}
        assert (request.kind, call.kind) == (trace.SpanKind.CLIENT, trace.SpanKind.INTERNAL)
        assert request.instrumentation_scope is not None
        assert request.instrumentation_scope.name == "sequences"
        assert_silent([request, call], scope)

    def test_the_span_of_an_error(self, spans: InMemorySpanExporter, scope: str) -> None:
        """The kind of an error is told, and not its text, which may name a token."""
        put_next("sort-key", {}, scope=scope, idempotency_token=SECRETS[1])
        spans.clear()
        with pytest.raises(IdempotencyMismatch, match=SECRETS[1]):
            put_next("sort-key", {"title": SECRETS[0]}, scope=scope, idempotency_token=SECRETS[1])
        call = spans.get_finished_spans()[-1]
        assert dict(call.attributes or {})["error.type"] == "IdempotencyMismatch"
        assert call.status.status_code is trace.StatusCode.ERROR
        assert_silent(spans.get_finished_spans(), scope)

    def test_the_spans_of_an_awaited_put(self, spans: InMemorySpanExporter, scope: str) -> None:
        """The request that a thread sends for an awaiting caller is within the caller's span."""
        asyncio.run(aput_next("sort-key", {}, scope=scope))
        wait_until(lambda: len(spans.get_finished_spans()) > 1)
        found = {span.name: span for span in spans.get_finished_spans()}
        assert parent_of(found["DynamoDB.PutItem"]) == found["put sort-key"].context.span_id


def parent_of(span: ReadableSpan) -> int | None:
    """The id of the span in which a span is."""
    return span.parent.span_id if span.parent else None


def assert_silent(spans: Any, scope: str) -> None:
    """Assert that no span contains a scope, a token, or anything of an item."""
    texts = [span.to_json() for span in spans]
    assert [text for text in texts for secret in (scope, *SECRETS) if secret in text] == []
