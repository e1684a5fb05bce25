"""What the attacks share: the attacked strategies, other writers, and the check of what is stored."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeVar

import pytest

from sequences import put_next
from sequences.registry import strategies
from tests.sequences.support import COUNTERS, names_that, stored

__all__ = [
    "ATTACKED",
    "BUSY",
    "GAPLESS",
    "RESERVING",
    "Puts",
    "begun",
    "every_strategy",
    "judge",
    "others_act",
    "others_put",
    "some_points",
]

T = TypeVar("T")

ATTACKED = [*COUNTERS, "sort-key"]
ATTACKED.remove("transactional-beside")  # it writes like `transactional`, only with another key for its counter
"""Every strategy, with the options that change its writes."""

GAPLESS = [name for name in names_that("gapless") if name in ATTACKED]
RESERVING = [name for name in names_that("supports_reserve") if name in ATTACKED]

PATIENCE = 60.0
"""The seconds that another thread may need to end its last put. They are longer than the deadlines of these tests."""

BUSY = {"block": {"block_size": 2, "max_block_size": 2}}
"""Options with which every put of a strategy takes all steps that a put can take."""

every_strategy = pytest.mark.parametrize("name", ATTACKED)


def some_points(name: str, stride: int) -> Iterator[int]:
    """Every `stride`-th point of what a strategy does, without end.

    Nearly all points are in code that the strategies share. So each begins at another point: together they try many.
    """
    return itertools.count(1 + 3 * ATTACKED.index(name), stride)


class Puts:
    """The puts of one test into one scope. `told` has the answered values by title."""

    def __init__(self, name: str, scope: str) -> None:
        self.name = name
        self.scope = scope
        self.marked = False  # whether puts have an idempotency token
        self.told: dict[str, int] = {}

    def put(self, title: str) -> None:
        """Store the item of this title."""
        token = f"token of {title}" if self.marked else None
        answer = put_next(self.name, {"title": title}, scope=self.scope, idempotency_token=token)
        self.told[title] = answer.value

    def judge(self) -> dict[str, int]:
        """Check the answers so far."""
        return judge(self.name, self.scope, self.told)


def judge(name: str, scope: str | None, told: Mapping[str, int]) -> dict[str, int]:
    """Check what is stored, and return the stored values by title.

    Every answered item is stored under its value. No item is stored twice. If the strategy is gapless, the values are
    1, 2, 3 and so on.
    """
    rows = {value: str(row.get("title", f"row {value}")) for value, row in stored(name, scope).items()}
    by_title = {title: value for value, title in rows.items()}
    assert len(by_title) == len(rows), "an item is stored twice"
    assert {title: by_title.get(title) for title in told} == told
    if strategies[name].gapless:
        assert sorted(rows) == list(range(1, len(rows) + 1))
    return by_title


def begun(task: Callable[[], T]) -> Future[T]:
    """The future result of `task()`, which runs in a new thread. The end of the tests does not wait for this thread."""
    future = Future[T]()

    def go() -> None:
        try:
            future.set_result(task())
        except BaseException as failure:  # noqa: BLE001 - raised again by the future's `result`
            future.set_exception(failure)

    threading.Thread(target=go, daemon=True).start()
    return future


def others_put(puts: Puts, threads: int = 2) -> AbstractContextManager[None]:
    """Other threads put into the scope during the block. At its end each must have got a value for every put."""
    return others_act(lambda thread, number: puts.put(f"{number} of thread {thread}"), threads)


@contextmanager
def others_act(act: Callable[[int, int], object], threads: int = 2) -> Iterator[None]:
    """Other threads call `act(thread, 1)`, `act(thread, 2)` and so on during the block. At its end none has failed."""
    done = threading.Event()

    def go_on(thread: int) -> None:
        for number in itertools.takewhile(lambda _: not done.is_set(), itertools.count(1)):
            act(thread, number)

    running = [begun(partial(go_on, thread)) for thread in range(threads)]
    try:
        yield
    finally:
        done.set()
        _, hanging = wait(running, PATIENCE)
    assert not hanging, "another thread hangs"
    for future in running:
        future.result()
