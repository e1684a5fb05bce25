"""Blocks and the changes of other processes: what is dropped, by which look, and when a thread looks."""

from __future__ import annotations

import _thread
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import pytest

from project.paths import ROOT
from sequences import changes, get_last_value, get_next_value
from sequences.commit.retries import Deadline
from sequences.exceptions import AccessRefused, OutcomeUnknown, SequenceFrozen, SequenceWentBack, TableMissing
from sequences.registry import strategies
from sequences.rows import history
from sequences.services.arguments import reserving
from sequences.strategies import BlockAllocator, Strategy, block, held_blocks, watch
from sequences.strategies.block_pool import Block, BlockPool
from sequences.testing.callers import at_once, take_some
from sequences.testing.embedded import Engine
from sequences.types import Dated
from tests.sequences.support import (
    MADE,
    SEQUENCES,
    Clock,
    Processes,
    Wire,
    delete_counter,
    make,
    set_counter,
    unused,
    wait_until,
)

pytestmark = pytest.mark.usefixtures("configured")

WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
Install = Callable[..., Strategy]


@pytest.fixture(scope="module", autouse=True)
def _young_objects() -> None:
    """The garbage collector, which these tests call often, looks only at what they make themselves."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Watches that end with their test: a strategy is a circle of objects, which would go on looking for a while."""
    yield
    for strategy in list(MADE):
        strategy.stop()
    gc.collect()


@pytest.fixture
def allocator(install: Install) -> BlockAllocator:
    """The allocator of the sequence "block", with blocks of 10; a test lets it look."""
    return installed(install)


def installed(install: Install, **options: Any) -> BlockAllocator:
    """The allocator of the sequence "block", with blocks of 10."""
    strategy = install("block", block_size=10, **options)
    assert isinstance(strategy, BlockAllocator)
    return strategy


@contextmanager
def elsewhere(**options: Any) -> Iterator[None]:
    """What is done here, another process does."""
    with mock.patch.dict(strategies._made, block=make("block", **options)):
        yield


class Threads:
    """The threads that look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = self.ended = 0
        self.errors: list[BaseException] = []
        self._run = watch._run
        monkeypatch.setattr(watch, "_run", self)

    def __call__(self, *given: Any) -> None:
        self.begun += 1
        try:
            self._run(*given)
        except BaseException as error:
            self.errors.append(error)
            raise
        finally:
            self.ended += 1


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    """The threads that look during the test."""
    return Threads(monkeypatch)


class TestLooks:
    def test_a_freeze(self, allocator: BlockAllocator, scope: str) -> None:
        """After the next look no value of a scope is served that another process has frozen."""
        take_some("block", scope, 1)
        with elsewhere():
            changes.freeze("block", scope=scope, **WHO)
        assert take_some("block", scope, 1) == [2]
        allocator._watch.look()
        with pytest.raises(SequenceFrozen):
            get_next_value("block", scope=scope)

    def test_an_advance(self, allocator: BlockAllocator, scope: str) -> None:
        """After the next look every value is above the number to which another process has advanced."""
        take_some("block", scope, 1)
        with elsewhere():
            changes.advance("block", to=500, scope=scope, **WHO)
        allocator._watch.look()
        assert take_some("block", scope, 1) == [501]

    @pytest.mark.parametrize(
        "change", [partial(changes.seed, "block", 5), partial(changes.recover, "block", past=5, margin=0)]
    )
    def test_numbers_that_are_in_use(
        self, allocator: BlockAllocator, scope: str, change: Callable[..., object]
    ) -> None:
        """After the next look none is served of a block in which another process has said numbers to be in use."""
        take_some("block", scope, 1)
        with elsewhere():
            change(scope=scope, **WHO)
        allocator._watch.look()
        assert take_some("block", scope, 1)[0] > 10

    def test_other_scopes(self, allocator: BlockAllocator, scope: str) -> None:
        """A scope that no line names keeps its block."""
        take_some("block", f"{scope}-other", 2)
        take_some("block", scope, 2)
        with elsewhere():
            changes.freeze("block", scope=scope, **WHO)
        allocator._watch.look()
        assert list(allocator._held.pools) == [f"{scope}-other"]
        assert take_some("block", f"{scope}-other", 2) == [3, 4]

    def test_the_sequence_without_scopes(self, allocator: BlockAllocator) -> None:
        """A change of the sequence without scopes drops its block."""
        get_next_value("block")
        with elsewhere():
            changes.advance("block", to=get_last_value("block") + 100, **WHO)  # type: ignore[operator]
        allocator._watch.look()
        assert unused(allocator) == 0

    def test_other_periods(self, install: Install, scope: str) -> None:
        """A change of one period drops the block of that period alone."""
        allocator = installed(install, PERIOD="year")
        for year in ("2025", "2026"):
            allocator.next_value(Dated(scope, year))
        with elsewhere(PERIOD="year"):
            changes.freeze("block", scope=scope, period="2025", **WHO)
        allocator._watch.look()
        assert list(allocator._held.pools) == [Dated(scope, "2026")]

    def test_a_block_that_is_being_fetched(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A block that was reserved before the change and arrives after the look is not served."""
        original, reserved, go_on = allocator.fetch, threading.Event(), threading.Event()

        def fetch(scope: str | None, count: int, deadline: Deadline) -> Block:
            block = original(scope, count, deadline)
            if block.values[0] == 11:
                reserved.set()
                assert go_on.wait(30)
            return block

        monkeypatch.setattr(allocator, "fetch", fetch)
        take_some("block", scope, 6)
        assert reserved.wait(30)
        with elsewhere():
            changes.advance("block", to=500, scope=scope, **WHO)
        allocator._watch.look()
        go_on.set()
        wait_until(lambda: all(fetch.done for fetch in allocator._fetches))
        assert take_some("block", scope, 1) == [501]

    def test_once(self, allocator: BlockAllocator, scope: str) -> None:
        """A line drops a block once, also if the thread has ended and begun again since."""
        take_some("block", scope, 1)
        with elsewhere():
            changes.advance("block", to=500, scope=scope, **WHO)
        allocator._watch.look()
        assert allocator._watch._running is None
        assert take_some("block", scope, 1) == [501]
        for _ in range(2):
            allocator._watch.look()
        assert take_some("block", scope, 1) == [502]

    def test_a_change_long_ago(self, allocator: BlockAllocator, scope: str) -> None:
        """A change from long before the first block drops nothing."""
        with elsewhere(wall=Clock(time.time() - 600)):
            changes.advance("block", to=500, scope=scope, **WHO)
        take_some("block", scope, 1)
        allocator._watch.look()
        assert take_some("block", scope, 1) == [502]

    def test_the_price(self, allocator: BlockAllocator, scope: str, wire: Wire) -> None:
        """A look is one consistent query of what is new, whatever the history holds."""
        changes.advance("block", to=100, scope=scope, **WHO)
        allocator._watch._looked_at = time.time() + 1000
        wire.clear()
        allocator._watch.look()
        (body,) = wire.bodies("Query")
        assert body["ConsistentRead"] is True
        assert body["ExclusiveStartKey"]["scope"]["S"] > datetime.now(UTC).isoformat()
        assert wire.operations == ["Query"]
        assert wire.units <= 1

    def test_many_lines(self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many lines are new, all of them are read."""
        monkeypatch.setattr(history, "LINES_A_PAGE", 2)
        scopes = [f"{scope}-{n}" for n in range(5)]
        for each in scopes:
            take_some("block", each, 1)
        with elsewhere():
            for each in scopes:
                changes.freeze("block", scope=each, **WHO)
        allocator._watch.look()
        assert unused(allocator) == 0

    def test_a_clock_that_is_behind(self, allocator: BlockAllocator, scope: str) -> None:
        """A line is followed although its time is before that of the last look, because clocks differ."""
        take_some("block", scope, 1)
        allocator._watch.look()
        with elsewhere(wall=Clock(time.time() - 30)):
            changes.freeze("block", scope=scope, **WHO)
        allocator._watch.look()
        assert unused(allocator) == 0


class TestStopped:
    """A process that did not run for longer than `watch_seconds` and the deadline, and what it does first."""

    @pytest.fixture
    def time_passes(self, allocator: BlockAllocator, monkeypatch: pytest.MonkeyPatch) -> Clock:
        """The clock by which it knows how old its last look is."""
        clock = Clock()
        monkeypatch.setattr(allocator._watch, "clock", clock, raising=False)
        return clock

    @pytest.mark.parametrize("taken", [1, 4, 5, 10])
    def test_a_freeze(self, allocator: BlockAllocator, scope: str, time_passes: Clock, taken: int) -> None:
        """It hands out no value of a scope that was frozen meanwhile, wherever in its block it is."""
        take_some("block", scope, taken)
        with elsewhere():
            changes.freeze("block", scope=scope, **WHO)
        time_passes.now += allocator.option["watch_seconds"] + allocator.option["deadline"]
        with pytest.raises(SequenceFrozen):
            get_next_value("block", scope=scope)

    def test_a_stop_at_the_last_moment(
        self, allocator: BlockAllocator, scope: str, time_passes: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same holds if it is stopped after the value has left the block."""
        take_some("block", scope, 2)

        def stopped() -> Iterator[int]:
            with elsewhere():
                changes.freeze("block", scope=scope, **WHO)
            time_passes.now += 10_000
            yield 3

        allocator._held.pools[scope].serving = stopped()
        with pytest.raises(SequenceFrozen):
            get_next_value("block", scope=scope)

    def test_a_look_after_the_last_moment(self, allocator: BlockAllocator, scope: str, time_passes: Clock) -> None:
        """The same holds if its thread goes on and looks before the one that has taken the value."""
        take_some("block", scope, 2)
        pool = allocator._held.pools[scope]

        def stopped() -> Iterator[int]:
            pool.serving = iter(range(4, 6))
            with elsewhere():
                changes.freeze("block", scope=scope, **WHO)
            time_passes.now += 10_000
            allocator._watch.look()
            yield 3

        pool.serving = stopped()
        with pytest.raises(SequenceFrozen):
            get_next_value("block", scope=scope)

    def test_a_look_before_a_half_begins(
        self, allocator: BlockAllocator, scope: str, time_passes: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same holds if the look comes when a caller is about to take the next half of the block."""
        take_some("block", scope, 5)

        def stopped() -> bool:
            patch.undo()
            with elsewhere():
                changes.freeze("block", scope=scope, **WHO)
            time_passes.now += 10_000
            allocator._watch.look()
            return False

        with monkeypatch.context() as patch:
            patch.setattr(block, "is_inner", stopped)
            with pytest.raises(SequenceFrozen):
                get_next_value("block", scope=scope)

    def test_no_change(self, allocator: BlockAllocator, scope: str, time_passes: Clock, wire: Wire) -> None:
        """It goes on with its block after one look, which is one query."""
        take_some("block", scope, 2)
        wire.clear()
        time_passes.now += 10_000
        assert take_some("block", scope, 3) == [3, 4, 5]
        assert wire.operations == ["Query"]

    def test_a_look_that_fails(
        self, allocator: BlockAllocator, scope: str, time_passes: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without a look it refuses, and loses no value by that."""
        take_some("block", scope, 2)
        time_passes.now += 10_000
        with monkeypatch.context() as patch:
            patch.setattr(allocator.history, "scopes_since", partial(fail, AccessRefused("no")))
            for _ in range(3):
                with pytest.raises(AccessRefused):
                    get_next_value("block", scope=scope)
        assert take_some("block", scope, 8) == [3, 4, 5, 6, 7, 8, 9, 10]

    def test_one_look_at_a_time(self, allocator: BlockAllocator, scope: str) -> None:
        """A look waits for the look of another thread."""
        watcher = allocator._watch
        with ThreadPoolExecutor(1) as thread:
            with watcher._looking:
                looking = thread.submit(watcher.look)
                assert not wait([looking], 0.2).done
            looking.result()

    def test_without_a_history(
        self, allocator: BlockAllocator, scope: str, time_passes: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the table of the history is missing no change can be stored, and values go on."""
        take_some("block", scope, 2)
        time_passes.now += 10_000
        monkeypatch.setattr(allocator.history, "scopes_since", partial(fail, TableMissing("no")))
        assert take_some("block", scope, 3) == [3, 4, 5]

    def test_threads(self, allocator: BlockAllocator, scope: str, time_passes: Clock, wire: Wire) -> None:
        """Of many threads that find the look too old one looks, and no value comes twice or is lower than before."""
        take_some("block", scope, 2)
        time_passes.now += 10_000
        wire.clear()
        values = at_once(8, lambda _: get_next_value("block", scope=scope))
        assert len(set(values)) == 8
        assert min(values) > 2
        assert wire.operations.count("Query") == 1

    def test_a_process(self, scope: str, configured: str, engine: Engine) -> None:
        """A process that is stopped by a signal hands out no value that an operator has made void meanwhile."""
        hasty = {**SEQUENCES["block"], "OPTIONS": {"block_size": 8, "watch_seconds": 0.1, "deadline": 2.0}}
        with subprocess.Popen(
            [sys.executable, "-c", TAKES, scope], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={
                **os.environ, "AWS_ENDPOINT_URL_DYNAMODB": engine.endpoint, "PREFIX": configured,
                "ONE_OF_THEM": json.dumps({"block": hasty}),
            },
        ) as process:  # fmt: skip
            assert process.stdout
            assert process.stdout.readline() == "1\n"
            process.send_signal(signal.SIGSTOP)
            try:
                with elsewhere():
                    changes.freeze("block", scope=scope, **WHO)
                with elsewhere(wall=Clock(time.time() + 3600), watch_seconds=0.1):
                    changes.void("block", 2, scope=scope, **WHO)
                time.sleep(STOPPED_SECONDS)
            finally:
                process.send_signal(signal.SIGCONT)
            assert process.communicate("\n", timeout=60)[0] == "SequenceFrozen\n"


STOPPED_SECONDS = 2.5  # more than its watch_seconds and deadline
TAKES = """
import _thread, json, os, sys, django
django.setup()
from django.conf import settings
from sequences.commit.retries import Deadline
from sequences.registry import strategies
settings.SEQUENCES, settings.TABLE_PREFIX = json.loads(os.environ["ONE_OF_THEM"]), os.environ["PREFIX"]
def full(*_):
    raise RuntimeError("can't start new thread")
_thread.start_new_thread = full  # the caller has to look
block = strategies["block"]
def take():
    return block.reserve(sys.argv[1], 1, Deadline(seconds=60.0))[0]
print(take(), flush=True)
sys.stdin.readline()
try:
    print(take(), flush=True)
except Exception as error:
    print(type(error).__name__, flush=True)
"""


class TestCounters:
    """A counter that goes back while a process holds a block of it."""

    def test_a_restored_counter(self, allocator: BlockAllocator, scope: str) -> None:
        """After the next look its block is refused, as a new one would be."""
        take_some("block", scope, 2)
        set_counter("block", scope, last_value=5, highest=5)
        allocator._watch.look()
        for _ in range(2):
            with pytest.raises(SequenceWentBack):
                get_next_value("block", scope=scope)

    def test_a_deleted_counter(self, allocator: BlockAllocator, scope: str) -> None:
        """The same holds for a counter that is gone."""
        take_some("block", scope, 2)
        delete_counter("block", scope)
        allocator._watch.look()
        with pytest.raises(SequenceWentBack):
            get_next_value("block", scope=scope)

    def test_a_counter_that_was_made_again(
        self, allocator: BlockAllocator, scope: str, alone_on_its_host: None
    ) -> None:
        """Nothing more is served of a former counter, also when the new one has passed its values on another host."""
        take_some("block", scope, 2)
        delete_counter("block", scope)
        with elsewhere():
            assert take_some("block", scope, 11)[0] == 1
        allocator._watch.look()
        assert take_some("block", scope, 1)[0] > 20

    def test_a_damaged_counter(self, allocator: BlockAllocator, scope: str) -> None:
        """One that is no whole number any more serves nothing, and does not hide what becomes of the others."""
        other = f"{scope}-other"
        take_some("block", scope, 2)
        set_counter("block", scope, last_value=Decimal("10.5"))
        allocator._watch.look()
        assert unused(allocator) == 0
        take_some("block", other, 2)
        set_counter("block", other, last_value=5, highest=5)
        allocator._watch.look()
        with pytest.raises(SequenceWentBack):
            get_next_value("block", scope=other)

    def test_a_change_that_arrives_late(self, allocator: BlockAllocator, scope: str) -> None:
        """A freeze is followed although its line is older than what a look reads."""
        take_some("block", scope, 2)
        with elsewhere(wall=Clock(time.time() - 600)):
            changes.freeze("block", scope=scope, **WHO)
        allocator._watch.look()
        assert unused(allocator) == 0

    def test_a_counter_that_goes_on(self, allocator: BlockAllocator, scope: str) -> None:
        """Blocks stay while other processes reserve blocks of the same counter."""
        take_some("block", scope, 2)
        reserving(make("block")).next_value(scope)
        allocator._watch.look()
        assert take_some("block", scope, 3) == [3, 4, 5]

    def test_the_price(
        self, allocator: BlockAllocator, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A look compares the counters from which a value was taken since, by one request for a bounded number."""
        monkeypatch.setattr(held_blocks, "SCOPES_A_LOOK", 2, raising=False)
        for n in range(3):
            take_some("block", f"{scope}-{n}", 2)
        compared = []
        for _ in range(3):
            wire.clear()
            allocator._watch.look()
            compared.append([len(keys_in(body)) for body in wire.bodies("BatchGetItem")])
        assert compared == [[2], [1], []]
        of_history = wire.units
        take_some("block", f"{scope}-1", 1)
        wire.clear()
        allocator._watch.look()
        assert wire.operations == ["Query", "BatchGetItem"]
        assert wire.units <= of_history + 1

    def test_what_the_engine_leaves_out(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A counter that the engine did not read keeps its block until the next look."""
        take_some("block", scope, 2)

        def send(operation: str, request: Any) -> Any:
            return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]}

        allocator._watch.compare(send)
        assert take_some("block", scope, 1) == [3]
        set_counter("block", scope, last_value=5, highest=5)
        allocator._watch.look()
        assert unused(allocator) == 0

    def test_without_the_permission(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch, logged: pytest.LogCaptureFixture
    ) -> None:
        """If the counters cannot be read, changes are followed all the same, and one warning is logged."""
        take_some("block", scope, 1)
        monkeypatch.setattr(allocator.counter, "rows", partial(fail, AccessRefused("no")), raising=False)
        for _ in range(2):
            allocator._watch.look()
        assert len([record for record in logged.records if record.levelno >= logging.WARNING]) == 1
        with elsewhere():
            changes.freeze("block", scope=scope, **WHO)
        allocator._watch.look()
        assert unused(allocator) == 0


def keys_in(body: Any) -> list[object]:
    """The keys that a BatchGetItem asks for."""
    return [key for wanted in body["RequestItems"].values() for key in wanted["Keys"]]


class TestFailures:
    @pytest.mark.parametrize("error", [TableMissing("none"), AccessRefused("no"), OutcomeUnknown("away"), KeyError("")])
    def test_looks_that_fail(
        self,
        install: Install,
        scope: str,
        error: Exception,
        monkeypatch: pytest.MonkeyPatch,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        """While a few looks fail values go on and one warning is logged; the next that succeeds makes up for all."""
        wall = Clock(time.time())
        allocator = installed(install, wall=wall)
        take_some("block", scope, 1)
        with elsewhere(wall=wall):
            changes.freeze("block", scope=scope, **WHO)
        with monkeypatch.context() as patch:
            patch.setattr(allocator.history, "scopes_since", partial(fail, error))
            for expected in (2, 3, 4):
                wall.now += 1000
                allocator._watch.look()
                assert take_some("block", scope, 1) == [expected]
        warnings = [record for record in logged.records if record.levelno >= logging.WARNING]
        assert ["cannot see whether other processes change it" in record.getMessage() for record in warnings] == [True]
        allocator._watch.look()
        assert unused(allocator) == 0

    def test_a_second_failure(
        self, allocator: BlockAllocator, monkeypatch: pytest.MonkeyPatch, logged: pytest.LogCaptureFixture
    ) -> None:
        """A failure after a look that succeeded is logged again."""
        for _ in range(2):
            with monkeypatch.context() as patch:
                patch.setattr(allocator.history, "scopes_since", partial(fail, TableMissing("none")))
                allocator._watch.look()
            allocator._watch.look()
        assert len([record for record in logged.records if record.levelno >= logging.WARNING]) == 2

    def test_the_thread_goes_on(self, install: Install, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The thread survives looks that fail, and follows when one succeeds."""
        allocator = installed(install, watch_seconds=0.001)
        original = allocator.history.scopes_since
        failed: list[object] = []

        def fail_at_first(*given: Any) -> Any:
            if len(failed) < 3:
                failed.append(given)
                raise OutcomeUnknown("away")
            return original(*given)

        monkeypatch.setattr(allocator.history, "scopes_since", fail_at_first)
        take_some("block", scope, 1)
        wait_until(lambda: len(failed) == 3)
        with elsewhere():
            changes.freeze("block", scope=scope, **WHO)
        wait_until(lambda: not allocator._held.pools)

    def test_a_missing_table(self, install: Install, scope: str) -> None:
        """Without the table of the history values are served as ever."""
        allocator = installed(install, history_table="nowhere")
        assert take_some("block", scope, 3) == [1, 2, 3]
        allocator._watch.look()
        assert take_some("block", scope, 3) == [4, 5, 6]


def fail(error: Exception, *_: object) -> None:
    """Raise the error."""
    raise error


class TestThreads:
    def test_from_the_first_block_to_the_last(self, allocator: BlockAllocator, scope: str, threads: Threads) -> None:
        """One thread looks while blocks are held, and none before and after, so that nothing is sent then."""
        assert threads.begun == 0
        take_some("block", scope, 10)
        take_some("block", f"{scope}-2", 10)
        wait_until(lambda: threads.begun)
        allocator._held.drop(scope)
        assert allocator._watch._running is not None
        allocator._held.drop(f"{scope}-2")
        wait_until(lambda: threads.ended)
        assert (threads.begun, threads.ended) == (1, 1)
        take_some("block", scope, 1)
        wait_until(lambda: threads.begun == 2)

    def test_a_scope_that_is_dropped_while_its_first_block_begins(
        self, allocator: BlockAllocator, scope: str, threads: Threads, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody looks when no block is left, however the two meet; the block that follows is looked after."""
        new_pool, dropped = allocator._held.pool, list[Future[None]]()

        def drop_the_first(scope: str) -> BlockPool:
            pool = new_pool(scope)
            if not dropped:
                dropped.append(dropper.submit(allocator._held.drop, scope))
                wait(dropped, 0.2)
            return pool

        with ThreadPoolExecutor(1) as dropper:
            monkeypatch.setattr(allocator._held, "pool", drop_the_first)
            assert take_some("block", scope, 1)[0] in (1, 11)
        wait_until(lambda: threads.ended == 1)
        take_some("block", scope, 1)  # else no block may follow, where the value was served before the drop
        wait_until(lambda: (threads.begun, threads.ended) == (2, 1))
        allocator._held.drop(scope)
        wait_until(lambda: threads.ended == threads.begun)
        assert allocator._watch._running is None

    def test_forgotten(self, allocator: BlockAllocator, scope: str, threads: Threads) -> None:
        """A strategy that forgets everything looks no more."""
        take_some("block", scope, 1)
        wait_until(lambda: threads.begun)
        allocator.forget()
        wait_until(lambda: threads.ended)

    def test_reset(self, threads: Threads, scope: str) -> None:
        """When the strategies are reset, no thread is left behind."""
        strategies.reset()
        take_some("block", scope, 1)
        wait_until(lambda: threads.begun)
        strategies.reset()
        wait_until(lambda: threads.ended)

    def test_dropped(self, threads: Threads, scope: str) -> None:
        """A strategy that nobody uses any more does not stay in memory, and its thread ends."""
        allocator = reserving(make("block", watch_seconds=0.01))
        allocator.next_value(scope)
        wait_until(lambda: threads.begun)
        del allocator
        wait_until(lambda: (gc.collect(), threads.ended)[1])  # a look that is under way keeps it until its end

    def test_a_fork(self, scope: str, forked: Processes) -> None:
        """A child starts without the thread, and begins one with a block of its own."""
        take_some("block", scope, 1)
        assert watching()
        assert set(forked.run(watching)) == {False}
        assert set(forked.run(watching_after, scope)) == {True}

    def test_a_long_time(self, install: Install, scope: str, threads: Threads) -> None:
        """Between two looks any time may pass, also more than a lock can wait."""
        allocator = installed(install, watch_seconds=float("inf"))
        take_some("block", scope, 1)
        allocator.stop()
        wait_until(lambda: threads.ended)
        assert threads.errors == []

    def test_a_history_among_the_items(self, install: Install, scope: str, threads: Threads) -> None:
        """Where no change can be made, because the history would be among the items, nobody looks."""
        allocator = installed(install, history_table="sequence_items")
        assert take_some("block", scope, 1) == [1]
        assert (threads.begun, allocator._watch.runs) == (0, False)

    @pytest.mark.parametrize("stopped", [True, False])
    def test_a_look_that_is_broken_off(self, stopped: bool) -> None:
        """Whatever ends a look that was under way when the watch was stopped is no failure."""
        running, runs = threading.Lock(), iter([True, not stopped, False])
        running.acquire()
        looking = mock.Mock(look=mock.Mock(side_effect=KeyboardInterrupt), runs_by=lambda lock: next(runs))
        with nullcontext() if stopped else pytest.raises(KeyboardInterrupt):
            watch._run(lambda: looking, running, 0.01)  # type: ignore[arg-type]

    def test_no_thread_can_be_started(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If there are too many threads values are served, and the next block tries again."""
        with monkeypatch.context() as patch:
            patch.setattr(_thread, "start_new_thread", partial(fail, RuntimeError("can't start new thread")))
            assert take_some("block", scope, 3) == [1, 2, 3]
        assert allocator._watch._running is None
        take_some("block", scope, 3)
        assert allocator._watch._running is not None

    def test_a_signal_while_it_starts(
        self, install: Install, scope: str, threads: Threads, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If a signal handler raises while the thread begins, that thread ends and the next block begins another."""
        allocator = installed(install, watch_seconds=0.01)
        with monkeypatch.context() as patch:
            starting = SimpleNamespace(start_new_thread=partial(start_and_raise, _thread.start_new_thread))
            patch.setattr(watch, "_thread", starting)  # others of this process begin theirs as ever
            with pytest.raises(KeyboardInterrupt):
                get_next_value("block", scope=scope)
        wait_until(lambda: 0 < threads.begun == threads.ended)
        begun = threads.begun
        take_some("block", scope, 1)
        wait_until(lambda: threads.begun > begun)
        assert allocator._watch._running is not None

    def test_the_end_of_the_process(self) -> None:
        """The thread does not hold up the end of the process."""
        program = (
            "from types import SimpleNamespace\n"
            "from sequences.commit.retries import Deadline\nfrom sequences.strategies.watch import Watch\n"
            "given = {'history': None, 'wall': lambda: 0, 'deadline': Deadline, 'option': {'watch_seconds': 3600}}\n"
            "Watch(SimpleNamespace(**given), print, print).start()\n"
            "print('the end')"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"the end\n", b"")


def watching() -> bool:
    """Whether the blocks of this process are watched."""
    return cast(BlockAllocator, strategies["block"])._watch.runs


def watching_after(scope: str) -> bool:
    """Whether the blocks of this process are watched after its first block."""
    take_some("block", scope, 1)
    return watching()


def start_and_raise(start: Callable[..., object], *given: Any) -> None:
    """Start a thread and be interrupted."""
    start(*given)
    raise KeyboardInterrupt


@pytest.mark.needs_engine
def test_other_processes_follow(scope: str, spawned: Processes) -> None:
    """Processes that have a million values in memory refuse them after another process has frozen the scope."""
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(spawned.run, until_frozen, scope)
        wait_until(lambda: (get_last_value("block", scope=scope) or 0) >= spawned.count * 1_000_000)
        changes.freeze("block", scope=scope, **WHO)
        assert running.result() == [True] * spawned.count


def until_frozen(scope: str) -> bool:
    """Take values until they are refused; whether they are, before a minute has passed."""
    strategies._made["block"] = make("block", block_size=1_000_000, watch_seconds=0.05)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            get_next_value("block", scope=scope)
        except SequenceFrozen:
            return True
        time.sleep(0.01)
    return False
