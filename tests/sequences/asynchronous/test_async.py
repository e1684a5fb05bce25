"""Awaited numbers: the same as those of the namesakes, in groups, and whatever becomes of callers and event loops."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.http import HttpRequest, JsonResponse
from django.test import AsyncClient
from django.urls import path
from pytest_django import Settings

import sequences
from sequences import (
    afind,
    aget_item,
    aget_last_value,
    aget_next_value,
    aget_next_values,
    aitems,
    aput_next,
    aput_next_many,
    get_last_value,
    get_next_value,
    get_next_values,
    put_next,
    put_next_many,
)
from sequences.actions import Put
from sequences.asynchronous.gatherings import MOST_THREADS, MOST_THREADS_A_SCOPE, Call, gatherings
from sequences.commit.retries import Deadline
from sequences.commit.waiters import LATE_SECONDS
from sequences.exceptions import (
    AlsoRefused,
    CancellationReason,
    IdempotencyMismatch,
    OutcomeUnknown,
    SequenceContention,
    SequenceError,
    SequenceExhausted,
    SequenceUnavailable,
    TableMissing,
    WriteCancelled,
)
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.types import Allocation
from tests.sequences.support import SEQUENCES, Clock, Processes, Wire, mark_listed, names_that, stored, wait_until

pytestmark = pytest.mark.usefixtures("configured")

PUTS = ["put_next", "put_next_each", "put_next_many", "put_next_together"]
TWINS = ["get_last_value", "get_next_value", "get_next_values", *PUTS]
TOGETHER = names_that("writes_together")
RESERVING = names_that("supports_reserve")


async def until(fact: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something that must become true, while the event loop goes on."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, "it did not become true"
        await asyncio.sleep(0.001)


class Held:
    """Holds the next requests of an operation, `after` some that it lets pass, until the end of the block or `go`."""

    def __init__(self, wire: Wire, operation: str, times: int = 1, *, after: int = 0) -> None:
        self.gone = threading.Event()
        self.count = 0
        wire.before(operation, *[int] * after, *[self._hold] * times)

    def _hold(self) -> None:
        self.count += 1
        assert self.gone.wait(timeout=60)

    async def reached(self, count: int = 1) -> None:
        """Wait until so many requests are held, while the event loop goes on."""
        await until(lambda: self.count >= count)

    def go(self) -> None:
        """Let the requests go on."""
        self.gone.set()

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.go()


def gathered() -> int:
    """How many calls wait for a thread."""
    return sum(len(gathering.waiting) for gathering in list(gatherings._by_key.values()))


def awaiting_threads() -> int:
    """How many threads serve callers that await, those of event loops among them."""
    return sum(thread.name.startswith(("sequences", "asyncio")) for thread in threading.enumerate())


def put(scope: str | None, title: str = "", name: str = "sort-key", **fields: Any) -> asyncio.Task[int]:
    """A task that stores one item, and returns its value."""

    async def value() -> int:
        return (await aput_next(name, {"title": title}, scope=scope, **fields)).value

    return asyncio.create_task(value())


def titles(name: str, scope: str) -> list[str]:
    """The titles of the stored items, by their values."""
    return [item["title"] for _, item in sorted(stored(name, scope).items())]


def comparable(answer: Any) -> Any:
    """What of an answer depends on neither its scope nor the time: a tail is read again when it is old."""
    return dataclasses.replace(answer, scope=None, read_units=0.0) if isinstance(answer, Allocation) else answer


async def outcomes(*calls: Awaitable[Any]) -> list[Any]:
    """What calls that are awaited together return or raise."""
    return await asyncio.gather(*calls, return_exceptions=True)


class TestTwins:
    @pytest.mark.parametrize("name", TWINS)
    def test_arguments(self, name: str) -> None:
        """An awaited function takes the same arguments as its namesake, and promises the same result."""
        assert inspect.signature(getattr(sequences, f"a{name}")) == inspect.signature(getattr(sequences, name))

    @pytest.mark.parametrize("name", SEQUENCES)
    def test_puts(self, name: str, scope: str) -> None:
        """With every strategy, awaited puts have the values, attempts and write units that the same puts have."""

        def called(scope: str) -> list[Any]:
            one = put_next(name, {"n": 1}, scope=scope, idempotency_token="one")
            again = put_next(name, {"n": 1}, scope=scope, idempotency_token="one")
            many = put_next_many(name, [{"n": 2}, {"n": 3}], scope=scope)
            return [one, again, *many, get_last_value(name, scope=scope)]

        async def awaited(scope: str) -> list[Any]:
            one = await aput_next(name, {"n": 1}, scope=scope, idempotency_token="one")
            again = await aput_next(name, {"n": 1}, scope=scope, idempotency_token="one")
            many = await aput_next_many(name, [{"n": 2}, {"n": 3}], scope=scope)
            return [one, again, *many, await aget_last_value(name, scope=scope)]

        here, there = called(scope), asyncio.run(awaited(f"{scope} too"))
        assert [comparable(one) for one in there] == [comparable(one) for one in here]
        assert list(stored(name, scope)) == list(stored(name, f"{scope} too"))

    @pytest.mark.parametrize("name", RESERVING)
    def test_values(self, name: str, scope: str) -> None:
        """With every strategy that can reserve, awaited values are those that the same calls get."""

        async def awaited() -> list[Any]:
            first = await aget_last_value(name, scope=f"{scope} too")
            value = await aget_next_value(name, scope=f"{scope} too")
            return [first, value, list(await aget_next_values(12, name, scope=f"{scope} too"))]

        called = [get_last_value(name, scope=scope), get_next_value(name, scope=scope)]
        assert asyncio.run(awaited()) == [*called, list(get_next_values(12, name, scope=scope))]

    @pytest.mark.parametrize("name", RESERVING)
    def test_values_with_a_token(self, name: str, scope: str) -> None:
        """Callers that await values with one idempotency token, and a call of the namesake later, get the same ones."""

        async def awaited() -> list[Any]:
            token: dict[str, Any] = {"scope": scope, "idempotency_token": "a token"}
            calls = [aget_next_values(3, name, **token) for _ in range(9)]
            return await asyncio.gather(*calls, aget_next_value(name, scope=scope, idempotency_token="another"))

        *repeats, other = asyncio.run(awaited())
        assert {tuple(one) for one in repeats} == {tuple(repeats[0])}
        assert get_next_values(3, name, scope=scope, idempotency_token="a token") == repeats[0]
        assert other not in repeats[0]

    @pytest.mark.parametrize(
        ("twin", "arguments", "options"),
        [
            ("get_last_value", ["atomic"], {"scope": "#"}),
            ("get_last_value", ["unknown"], {}),
            ("get_next_value", ["atomic"], {"scope": ""}),
            ("get_next_value", ["sort-key"], {}),
            ("get_next_values", [0, "atomic"], {}),
            ("get_next_values", [2, "sort-key"], {}),
            ("get_next_value", ["sort-key"], {"idempotency_token": "a token"}),
            ("get_next_value", ["atomic"], {"idempotency_token": ""}),
            ("put_next", ["sort-key", {}], {"scope": ""}),
            ("put_next", ["sort-key", {}], {"idempotency_token": ""}),
            ("put_next", ["sort-key", {"pk": 1}], {}),
            ("put_next_many", ["sort-key", [{}, {}]], {"idempotency_tokens": ["a"]}),
            ("put_next_many", ["sort-key", [{}, {"token": 1}]], {}),
        ],
    )
    def test_errors(self, twin: str, arguments: list[Any], options: dict[str, Any], wire: Wire) -> None:
        """What is wrong with a call is refused unsent, by the error that its namesake raises."""
        with pytest.raises((SequenceError, ValueError)) as called:
            getattr(sequences, twin)(*arguments, **options)
        with pytest.raises(type(called.value)) as awaited:
            asyncio.run(getattr(sequences, f"a{twin}")(*arguments, **options))
        assert str(awaited.value) == str(called.value)
        assert wire.sent == []

    @pytest.mark.parametrize("name", PUTS)
    def test_an_error_of_the_whole_call(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """What only the tables tell, and what concerns all items, is raised as by the namesake."""
        install("sort-key", TABLE="no_such_table")
        items: Any = {} if name == "put_next" else [{}, {}]
        with pytest.raises(TableMissing):
            getattr(sequences, name)("sort-key", items, scope=scope)
        with pytest.raises(TableMissing):
            asyncio.run(getattr(sequences, f"a{name}")("sort-key", items, scope=scope))

    def test_no_items(self) -> None:
        """Many items may be none."""
        assert asyncio.run(aput_next_many("sort-key", [])) == []

    def test_more_items_than_a_transaction_takes(self, scope: str) -> None:
        """Items that need several transactions get values in their order."""
        stored_items = asyncio.run(aput_next_many("sort-key", [{"n": n} for n in range(250)], scope=scope))
        assert [one.value for one in stored_items] == list(range(1, 251))

    @pytest.mark.parametrize("name", SEQUENCES)
    def test_errors_of_one_among_many(self, name: str, scope: str) -> None:
        """Among callers that await together, one whose token was used for another item gets that error alone."""
        put_next(name, {"title": "first"}, scope=scope, idempotency_token="used")

        async def callers() -> list[Any]:
            good = [put(scope, f"{n}", name) for n in range(9)]
            return await outcomes(*good[:4], put(scope, "another", name, idempotency_token="used"), *good[4:])

        values = asyncio.run(callers())
        assert isinstance(values.pop(4), IdempotencyMismatch)
        assert sorted([1001, *values] if "1001" in name else [1, *values]) == list(stored(name, scope))
        assert len(set(values)) == 9

    @pytest.mark.parametrize("name", TOGETHER)
    def test_an_item_that_is_too_large(self, name: str, scope: str) -> None:
        """An item that the engine refuses is refused alone, and the others of its group have no gap for it."""

        async def callers() -> list[Any]:
            return await outcomes(put(scope, "a", name), put(scope, "x" * 500_000, name), put(scope, "b", name))

        first, refused, last = asyncio.run(callers())
        assert isinstance(refused, SequenceError)
        assert last == first + strategies[name].numbers.step
        assert titles(name, scope) == ["a", "b"]

    def test_other_rows(self, scope: str) -> None:
        """A row that rides with the item of one caller is stored, or refuses that item alone."""

        async def callers() -> list[Any]:
            guard = Put("sequence_items", {"pk": f"guard of {scope}", "sk": 0}, condition="attribute_not_exists(pk)")
            return await outcomes(put(scope, "a", also=[guard]), put(scope, "b", also=[guard]), put(scope, "c"))

        first, refused, last = asyncio.run(callers())
        assert isinstance(refused, AlsoRefused)
        assert {first, last} == {1, 2}
        assert set(titles("sort-key", scope)) == {"a", "c"}

    @pytest.mark.parametrize("name", ["atomic", "optimistic-update", "block"])
    def test_the_end_of_a_sequence(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Of callers that await together, those that still fit below MAXIMUM get values, and the others the error."""
        install(name, MAXIMUM=5)

        async def callers() -> list[Any]:
            return await outcomes(*(aget_next_values(count, name, scope=scope) for count in (2, 10, 1, 2, 1)))

        first, too_many, *others, last = asyncio.run(callers())
        assert [list(values) for values in (first, *others)] == [[1, 2], [3], [4, 5]]
        assert [type(error) for error in (too_many, last)] == [SequenceExhausted] * 2

    def test_a_mistake_in_a_strategy(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """An error that is none of ours reaches every caller of the group, and the next group is served."""

        async def callers() -> list[Any]:
            return await outcomes(put(scope, "a"), aget_last_value("sort-key", scope=scope))

        with monkeypatch.context() as patch:
            for name in ("put", "last_value"):
                patch.setattr(strategies["sort-key"], name, lambda *_: 1 / 0)
            assert [type(error) for error in asyncio.run(callers())] == [ZeroDivisionError] * 2
        assert asyncio.run(callers())[0] == 1


@pytest.mark.needs_engine
class TestGroups:
    @pytest.mark.parametrize("name", TOGETHER)
    def test_many_puts(self, name: str, scope: str, wire: Wire) -> None:
        """400 awaiting callers of one scope take few requests and no thread of their own."""
        threads: list[int] = []

        async def callers() -> list[int]:
            with Held(wire, "TransactWriteItems" if name.startswith("transactional") else "PutItem") as request:
                first = put(scope, "first", name)
                await request.reached()
                others = [put(scope, f"{n}", name) for n in range(399)]
                await until(lambda: gathered() == 399)
            values = await asyncio.gather(first, *others)
            threads.append(awaiting_threads())
            return values

        before = awaiting_threads()
        values, step = asyncio.run(callers()), strategies[name].numbers.step
        assert values == list(range(values[0], values[0] + 400 * step, step))
        assert sum(wire.operations.count(write) for write in ("PutItem", "TransactWriteItems")) <= 8
        assert threads[0] <= before + 4

    @pytest.mark.parametrize("name", RESERVING)
    def test_a_thousand_values(self, name: str, scope: str, wire: Wire) -> None:
        """A thousand callers that await a value share few requests, and get values in the order of their calls."""

        async def callers() -> list[int]:
            with Held(wire, "UpdateItem") as addition, Held(wire, "PutItem") as write:
                first = asyncio.create_task(aget_next_value(name, scope=scope))
                await until(lambda: addition.count or write.count)
                others = [asyncio.create_task(aget_next_value(name, scope=scope)) for _ in range(999)]
                await until(lambda: gathered() == 999)
            return await asyncio.gather(first, *others)

        values = asyncio.run(callers())
        assert values == sorted(set(values))
        assert len(wire.sent) <= 25

    @pytest.mark.usefixtures("unhurried")
    def test_last_values(self, scope: str, wire: Wire) -> None:
        """Callers that await the last value while a read is under way share the next read, which sees what is new."""
        put_next("sort-key", {}, scope=scope)
        wire.clear()

        async def callers() -> list[int | None]:
            with Held(wire, "Query") as request:
                first = asyncio.create_task(aget_last_value("sort-key", scope=scope))
                await request.reached()
                await asyncio.to_thread(put_next, "sort-key", {}, scope=scope)
                others = [asyncio.create_task(aget_last_value("sort-key", scope=scope)) for _ in range(100)]
                await until(lambda: gathered() == 100)
            return await asyncio.gather(first, *others)

        assert asyncio.run(callers())[1:] == [2] * 100
        assert wire.operations.count("Query") == 2

    @pytest.mark.parametrize("name", ["sort-key", "atomic"])
    def test_without_groups(self, name: str, scope: str, install: Callable[..., Strategy], wire: Wire) -> None:
        """With the option `group` off each item is a write of its own, and so is each value from a counter."""
        install(name, group=False)

        async def callers() -> list[int]:
            values = [aget_next_value(name, scope=scope) for _ in range(5 if name == "atomic" else 0)]
            return await asyncio.gather(*(put(scope, f"{n}", name) for n in range(20)), *values)

        values = asyncio.run(callers())
        assert sorted(values) == list(range(1, len(values) + 1))
        assert wire.operations.count("TransactWriteItems") == 0
        assert wire.operations.count("PutItem") >= 20
        assert wire.operations.count("UpdateItem") == (25 if name == "atomic" else 0)

    def test_tokens_go_alone(self, scope: str, wire: Wire) -> None:
        """Values with idempotency tokens are taken at the same time, each by a thread of its own."""

        async def callers() -> list[int]:
            tokens = [f"{n}" for n in range(MOST_THREADS_A_SCOPE)]
            with Held(wire, "GetItem", times=len(tokens)) as markers:
                values = [aget_next_value("atomic", scope=scope, idempotency_token=token) for token in tokens]
                answers = asyncio.gather(*values)
                await markers.reached(len(tokens))
            return await answers

        assert sorted(asyncio.run(callers())) == list(range(1, MOST_THREADS_A_SCOPE + 1))

    def test_what_fits_into_one_write(self, scope: str, wire: Wire) -> None:
        """Callers whose items are too large for one transaction are answered by several, one after the other."""

        async def callers() -> list[int]:
            with Held(wire, "TransactWriteItems", after=1) as second, Held(wire, "PutItem") as request:
                first = put(scope, "first")
                await request.reached()
                large = [put(scope, "x" * 390_000) for _ in range(15)]
                many = asyncio.create_task(aput_next_many("sort-key", [{"n": n} for n in range(99)], scope=scope))
                small = [put(scope, "small") for _ in range(2)]
                await until(lambda: gathered() == 18)
                request.go()
                await second.reached()
                assert await asyncio.gather(first, *large[:10]) == list(range(1, 12))
            values = [one.value for one in await many]
            return [*await asyncio.gather(first, *large), *values, *await asyncio.gather(*small)]

        assert asyncio.run(callers()) == list(range(1, 118))
        sizes = [len(body["TransactItems"]) for body in wire.bodies("TransactWriteItems")]
        assert sizes == [10, 5, 100]

    def test_threads_and_event_loops(self, scope: str) -> None:
        """Threads and several event loops that store in one scope at the same time get every value once."""

        async def callers(loop: str) -> list[int]:
            return await asyncio.gather(*(put(scope, f"{loop} {n}") for n in range(100)))

        def calls(thread: str) -> list[int]:
            return [put_next("sort-key", {"title": f"{thread} {n}"}, scope=scope).value for n in range(30)]

        with ThreadPoolExecutor(6) as threads:
            loops = [threads.submit(asyncio.run, callers(f"loop {n}")) for n in range(3)]
            others = [threads.submit(calls, f"thread {n}") for n in range(3)]
            values = [value for future in [*loops, *others] for value in future.result(timeout=60)]
        assert sorted(values) == list(range(1, 391))
        assert len(set(titles("sort-key", scope))) == 390

    def test_slow_scopes(self, scope: str, install: Callable[..., Strategy], wire: Wire) -> None:
        """A scope whose requests hang, even one whose items go alone, leaves threads to other scopes."""
        install("atomic", deadline=60.0)

        async def callers() -> list[int]:
            with Held(wire, "PutItem", times=MOST_THREADS_A_SCOPE) as request:
                slow = [put(f"{scope} slow", f"{n}", "atomic") for n in range(2 * MOST_THREADS)]
                await request.reached(MOST_THREADS_A_SCOPE)
                await until(lambda: gathered() == 2 * MOST_THREADS - MOST_THREADS_A_SCOPE)
                quick = await asyncio.gather(*(put(f"{scope} {n}") for n in range(100)))
                assert not any(task.done() for task in slow)
            await asyncio.gather(*slow)
            return quick

        assert asyncio.run(callers()) == [1] * 100

    def test_busy_scopes(self, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
        """Scopes that are short of threads take turns: after each group the next one of another scope is served."""
        mark_listed("sort-key", f"{scope} busy", f"{scope} other")

        async def callers() -> list[int]:
            with Held(wire, "PutItem") as request:
                first = put(f"{scope} busy")
                await request.reached()
                more = [put(f"{scope} busy") for _ in range(2)]
                other = put(f"{scope} other")
                await until(lambda: gathered() == 3)
            return await asyncio.gather(first, *more, other)

        with ThreadPoolExecutor(1) as thread:
            monkeypatch.setattr(gatherings, "_threads", thread)
            assert asyncio.run(callers()) == [1, 2, 3, 1]
        writes = [operation for operation in wire.operations if operation != "Query"]
        assert writes == ["PutItem", "PutItem", "TransactWriteItems"]


class TestCancelling:
    def test_while_it_gathers(self, scope: str, wire: Wire) -> None:
        """A call that is cancelled before a thread begins with it stores nothing, and leaves no gap to the others."""

        async def callers() -> list[int]:
            with Held(wire, "PutItem") as request:
                first = put(scope, "first")
                await request.reached()
                others = [put(scope, f"{n}") for n in range(5)]
                await until(lambda: gathered() == 5)
                others[2].cancel()
                await asyncio.wait([others.pop(2)])
            return await asyncio.gather(first, *others)

        assert asyncio.run(callers()) == [1, 2, 3, 4, 5]
        assert titles("sort-key", scope) == ["first", "0", "1", "3", "4"]

    @pytest.mark.parametrize("name", SEQUENCES)
    def test_while_its_write_is_under_way(self, name: str, scope: str, wire: Wire) -> None:
        """A call that is cancelled while its write is under way is stored whole: a repeat gets its value."""

        async def callers() -> Allocation:
            with Held(wire, "TransactWriteItems") as request:
                first = put(scope, "first", name, idempotency_token="a token")
                await request.reached()
                first.cancel()
                await asyncio.wait([first])
                assert first.cancelled()
            return await aput_next(name, {"title": "first"}, scope=scope, idempotency_token="a token")

        again = asyncio.run(callers())
        assert list(stored(name, scope)) == [again.value]
        assert stored(name, scope)[again.value]["title"] == "first"

    def test_one_of_a_group(self, scope: str, wire: Wire) -> None:
        """Cancelling one caller whose group is being written does not harm the others, and its item is stored."""

        async def callers() -> list[int]:
            with Held(wire, "PutItem") as alone, Held(wire, "TransactWriteItems") as together:
                first = put(scope, "first")
                await alone.reached()
                group = [put(scope, f"{n}") for n in range(5)]
                await until(lambda: gathered() == 5)
                alone.go()
                await together.reached()
                group[2].cancel()
                await asyncio.wait([group.pop(2)])
            return await asyncio.gather(first, *group)

        assert asyncio.run(callers()) == [1, 2, 3, 5, 6]
        assert titles("sort-key", scope) == ["first", "0", "1", "2", "3", "4"]

    def test_values(self, scope: str, wire: Wire) -> None:
        """Cancelling one of many callers that await values leaves a value unused at most."""

        async def callers() -> list[int]:
            with Held(wire, "UpdateItem") as request:
                cancelled, *others = (asyncio.create_task(aget_next_value("atomic", scope=scope)) for _ in range(5))
                await request.reached()
                cancelled.cancel()
                await asyncio.wait([cancelled])
            return await asyncio.gather(*others)

        assert asyncio.run(callers()) == [2, 3, 4, 5]


@pytest.mark.needs_engine
class TestEventLoops:
    def test_goes_on(self, scope: str, wire: Wire) -> None:
        """An event loop runs other tasks while the engine holds a request, and newcomers of its scope gather."""

        async def callers() -> list[int]:
            with Held(wire, "PutItem") as request:
                first = put(scope, "first")
                await request.reached()
                second = put(scope, "second")
                last = asyncio.create_task(aget_last_value("sort-key", scope=scope))
                for _ in range(100):
                    await asyncio.sleep(0.001)
                assert not first.done()
                assert not second.done()
                assert await last is None
            return [await first, await second]

        assert asyncio.run(callers()) == [1, 2]

    def test_a_lock_that_is_held(self, scope: str, wire: Wire) -> None:
        """An event loop goes on while a thread that stores in the same scope hangs, and gets the next value."""

        async def callers() -> int:
            with Held(wire, "PutItem") as request, ThreadPoolExecutor(1) as threads:
                thread = threads.submit(put_next, "sort-key", {"title": "of a thread"}, scope=scope)
                await request.reached()
                awaited = put(scope, "awaited")
                await until(lambda: gathered() == 0)
                for _ in range(100):
                    await asyncio.sleep(0.001)
                assert not awaited.done()
                request.go()
                assert thread.result(timeout=30).value == 1
            return await awaited

        assert asyncio.run(callers()) == 2

    def test_a_log_that_awaits(self, scope: str, caplog: pytest.LogCaptureFixture) -> None:
        """What a line of the log makes a thread do may await a number of the same scope."""
        values: list[int] = []

        def store(record: logging.LogRecord) -> bool:
            if not values and scope in record.getMessage():
                values.append(0)
                values.append(asyncio.run(self._value(scope)))
            return True

        caplog.handler.addFilter(store)
        with caplog.at_level(logging.INFO, "sequences"):
            assert asyncio.run(self._value(scope)) == 1
        caplog.handler.removeFilter(store)
        assert values == [0, 2]

    def test_one_that_closes(self, scope: str, wire: Wire) -> None:
        """Calls of an event loop that closes are stored whole if begun, and otherwise not; others are not harmed."""

        async def begin() -> list[asyncio.Task[int]]:
            first = put(scope, "begun")
            await request.reached()
            gathering = [put(scope, "gathering") for _ in range(5)]
            await until(lambda: gathered() == 5)
            return [first, *gathering]

        with Held(wire, "PutItem") as request:
            loop = asyncio.new_event_loop()
            tasks = loop.run_until_complete(begin())
            loop.close()
            with ThreadPoolExecutor(1) as threads:
                other = threads.submit(asyncio.run, self._value(scope))
                wait_until(lambda: gathered() == 6)
                request.go()
                assert other.result(timeout=30) == 2
        assert titles("sort-key", scope) == ["begun", "other"]
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is meant to be

    @staticmethod
    async def _value(scope: str) -> int:
        return await put(scope, "other")

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_nothing_is_kept(self, scope: str, wire: Wire) -> None:
        """Once nobody awaits, no memory is left of callers and scopes, whether they were answered or cancelled."""

        async def callers() -> None:
            with Held(wire, "PutItem") as request:
                tasks = [put(f"{scope} {n}") for n in range(100)]
                await request.reached()
                tasks += [put(f"{scope} {n % 100}") for n in range(200)]
                await asyncio.sleep(0)
                for task in tasks[100:200]:
                    task.cancel()
            await outcomes(*tasks)

        asyncio.run(callers())
        wait_until(lambda: not gatherings._by_key)

        def is_kept() -> bool:
            gc.collect()
            calls = (one for one in gc.get_objects() if issubclass(type(one), Call))
            return any(str(call.scope).startswith(scope) for call in calls)  # other tests may have left others

        wait_until(lambda: not is_kept())


@pytest.mark.needs_engine
class TestDeadlines:
    @pytest.fixture
    def waited(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
        """The clock by which callers wait for their answers."""

        async def wait(futures: Any, timeout: float) -> None:
            over = clock.now + timeout
            await until(lambda: futures[0].done() or clock.now >= over)

        monkeypatch.setattr(asyncio, "wait", wait)
        return clock

    def test_a_request_that_hangs(
        self, scope: str, waited: Clock, install: Callable[..., Strategy], wire: Wire, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A caller gives up while the engine hangs, and is told that nothing is stored if no thread has begun."""
        install("sort-key", clock=waited, deadline=30.0)

        async def callers() -> list[Any]:
            with Held(wire, "PutItem") as request:
                first = put(scope, "first")
                await request.reached()
                second = put(scope, "second")
                await until(lambda: gathered() == 1)
                last_value = await aget_last_value("sort-key", scope=scope)
                waited.now += 30.0 + LATE_SECONDS
                return [*await outcomes(first, second), last_value]

        def told() -> list[str]:
            return [message for message in list(caplog.messages) if scope in message]

        with caplog.at_level(logging.WARNING, "sequences"):
            begun, gathering, last_value = asyncio.run(callers())
            wait_until(lambda: len(told()) == 2)
        assert isinstance(begun, SequenceUnavailable)
        assert isinstance(gathering, SequenceUnavailable)
        assert begun.outcome_unknown
        assert not gathering.outcome_unknown
        assert last_value is None
        wait_until(lambda: not gatherings._by_key)
        assert "second" not in titles("sort-key", scope)
        assert all(f"sequence sort-key scope {scope}: gave up" in message for message in told())

    @pytest.mark.parametrize(
        ("operation", "in_series", "read"),
        [
            ("GetItem", False, lambda scope: aget_last_value("atomic", scope=scope)),
            ("GetItem", True, lambda scope: aget_last_value("atomic", scope=scope)),
            ("GetItem", False, lambda scope: aget_item("atomic", 1, scope=scope)),
            ("GetItem", False, lambda scope: afind("1", "atomic", scope=scope)),
            ("Query", False, lambda scope: anext(aitems("atomic", scope=scope))),
        ],
    )
    def test_a_read_that_hangs(
        self,
        operation: str,
        in_series: bool,
        read: Callable[[str], Awaitable[Any]],
        scope: str,
        waited: Clock,
        install: Callable[..., Strategy],
        wire: Wire,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A caller that reads gives up, too, and is not told that anything may be stored."""
        install("atomic", clock=waited, deadline=30.0)
        monkeypatch.setattr(strategies, "has_lines", lambda _: in_series)

        async def caller() -> Any:
            with Held(wire, operation) as request:
                reading = asyncio.ensure_future(read(scope))
                await request.reached()
                waited.now += 30.0 + LATE_SECONDS
                return await outcomes(reading)

        (error,) = asyncio.run(caller())
        assert isinstance(error, SequenceUnavailable)
        assert not error.outcome_unknown

    def test_one_that_has_passed(
        self, scope: str, clock: Clock, install: Callable[..., Strategy], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A caller whose deadline has passed before a thread begins with it does not wait, and stores nothing."""
        install("sort-key", clock=clock, deadline=0.2)
        begun: list[Callable[[], object]] = []
        waited: list[float | None] = []
        wait = asyncio.wait

        async def noted(futures: Any, timeout: float | None) -> Any:
            waited.append(timeout)
            return await wait(futures, timeout=timeout)

        def later(task: Callable[..., object], *given: object) -> None:
            clock.now += 1.0
            begun.append(partial(task, *given))

        monkeypatch.setattr(asyncio, "wait", noted)
        with monkeypatch.context() as patch:
            patch.setattr(gatherings._threads, "submit", later)
            with pytest.raises(SequenceUnavailable) as caught:
                asyncio.run(aput_next("sort-key", {}, scope=scope))
        for task in begun:
            task()
        assert (waited, caught.value.outcome_unknown) == ([0.0], False)
        assert titles("sort-key", scope) == []

    def test_without_a_thread(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """If no thread can be started, callers are served all the same, each once, and the next ones by a thread."""
        gatherings.reset()

        def full(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", full)
            assert [asyncio.run(aput_next("sort-key", {}, scope=scope)).value for _ in range(2)] == [1, 2]
            assert asyncio.run(aget_next_value("atomic", scope=scope)) == 1
        assert asyncio.run(aput_next("sort-key", {}, scope=scope)).value == 3
        assert [*stored("sort-key", scope)] == [1, 2, 3]
        assert gatherings._by_key == {}

    def test_without_another_thread(self, scope: str, monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
        """If no more threads can be started, a caller is served by the thread that is there when it has ended.

        When threads can be started again, a slow scope leaves threads to the others as before.
        """
        gatherings.reset()
        asyncio.run(aput_next("sort-key", {}, scope=scope))

        async def callers(patch: pytest.MonkeyPatch) -> list[int]:
            with Held(wire, "PutItem") as request:
                first = put(scope)
                await request.reached()
                patch.setattr(threading.Thread, "start", full)
                second = put(f"{scope}-other")
                await asyncio.sleep(0)
            return [await first, await second]

        def full(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        async def apart() -> list[int]:
            with Held(wire, "PutItem") as request:
                first = put(scope)
                await request.reached()
                beside = await put(f"{scope}-beside")
            return [await first, beside]

        with monkeypatch.context() as patch:
            assert asyncio.run(callers(patch)) == [2, 1]
        assert asyncio.run(apart()) == [3, 1]

    def test_each_its_own(
        self, scope: str, waited: Clock, install: Callable[..., Strategy], wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of a group that loses every race, the caller whose deadline passes gives up, and the others go on."""
        strategy = install("sort-key", clock=waited, deadline=30.0)
        mark_listed("sort-key", scope)
        lost = WriteCancelled("Somebody was faster.", (CancellationReason("TransactionConflict"),))
        clear, send, over = threading.Event(), Deadline.send, waited.now + 30.0

        def contended(self: Deadline, operation: str, request: Any) -> dict[str, Any]:
            if operation in ("put_item", "transact_write_items") and not clear.is_set():
                if waited.now < over:
                    raise lost
                waited.now += 1.0
                assert clear.wait(60)
            return send(self, operation, request)

        async def callers() -> list[Any]:
            with Held(wire, "PutItem") as request:
                first = put(scope, "first")
                await request.reached()
                hasty = put(scope, "hasty")
                await until(lambda: gathered() == 1)
                strategy.option["deadline"] = 600.0
                patient = put(scope, "patient")
                await until(lambda: gathered() == 2)
                monkeypatch.setattr(Deadline, "send", contended)
            got = await outcomes(first, hasty)
            assert not patient.done()
            clear.set()
            return [*got, await patient]

        first, hasty, patient = asyncio.run(callers())
        assert (first, patient) == (1, 2)
        assert isinstance(hasty, SequenceContention)
        assert "Somebody was faster" in str(hasty)
        assert titles("sort-key", scope) == ["first", "patient"]

    @pytest.mark.parametrize("name", ["atomic", "sort-key"])
    def test_lost_answers(
        self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy], wire: Wire
    ) -> None:
        """If no answer arrives until the deadline, the item may be stored, and each caller is told so."""
        install(name, clock=clock, deadline=30.0)
        mark_listed(name, scope)
        for operation in ("PutItem", "TransactWriteItems"):
            wire.lose(operation, times=10_000)

        async def callers() -> list[Any]:
            return await outcomes(*(put(scope, f"{n}", name) for n in range(5)))

        errors = asyncio.run(callers())
        assert [type(error) for error in errors] == [SequenceUnavailable] * 5
        assert errors[0].outcome_unknown
        assert isinstance(errors[0].__cause__, OutcomeUnknown)


def await_put(scope: str) -> int:
    """Store one item in an event loop of this process."""

    async def value() -> int:
        return await put(scope, "of a child")

    return asyncio.run(value())


def test_forks(scope: str, install: Callable[..., Strategy], wire: Wire, forked: Processes) -> None:
    """Children that are forked while callers wait for a thread in their parent await numbers as if there were none."""
    install("sort-key", deadline=60.0)

    async def callers() -> list[int]:
        with Held(wire, "PutItem") as request:
            tasks = [put(scope, "first")]
            await request.reached()
            tasks += [put(scope, f"{n}") for n in range(2)]
            await until(lambda: gathered() == 2)
            children = await asyncio.to_thread(forked.run, await_put, f"{scope} child")
            same_scope = await asyncio.to_thread(forked.run, await_put, scope)
        return children + same_scope + await asyncio.gather(*tasks)

    values = asyncio.run(callers())
    assert sorted(values[:4]) == [1, 2, 3, 4]
    assert sorted(values[4:]) == list(range(1, 8))


async def number(request: HttpRequest) -> JsonResponse:
    """A view that stores an item, and answers with its number."""
    ticket = await aput_next("sort-key", {"title": "Printer on fire"}, scope=request.GET["project"])
    return JsonResponse({"number": ticket.value})


urlpatterns = [path("", number)]


def test_a_view(scope: str, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """Requests to an asynchronous view of Django at the same time get a number each, and each has a line in the log."""
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []

    async def requests() -> list[int]:
        answers = await asyncio.gather(*(AsyncClient().get("/", {"project": scope}) for _ in range(20)))
        return [answer.json()["number"] for answer in answers]

    with caplog.at_level(logging.INFO, "sequences"):
        assert sorted(asyncio.run(requests())) == list(range(1, 21))
        line = f"sequence sort-key scope {scope}: value"
        wait_until(lambda: sum(line in message for message in list(caplog.messages)) == 20)
