"""What the attacks share: the strategies that they meet, other writers, and the judgement of what is stored."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import pytest

from sequences import put_next
from sequences.registry import strategies
from tests.sequences.support import COUNTERS, names_that, stored

__all__ = ["ATTACKED", "BUSY", "GAPLESS", "RESERVING", "Puts", "begun", "every_strategy", "judge", "others_put"]

T = TypeVar("T")

ATTACKED = [*COUNTERS, "sort-key", "sort-key-increment"]
ATTACKED.remove("transactional-beside")  # it writes as `transactional` does, with another key for its counter
"""Every strategy, in every way it writes."""

GAPLESS = [name for name in names_that("gapless") if name in ATTACKED]
RESERVING = [name for name in names_that("supports_reserve") if name in ATTACKED]

PATIENCE = 5.0
"""How many seconds another thread may need to end its last put; longer than the deadlines of these tests."""

BUSY = {"block": {"block_size": 2, "max_block_size": 2}}
"""Options with which every put of a strategy does all that any put of it does."""

every_strategy = pytest.mark.parametrize("name", ATTACKED)


class Puts:
    """The puts of one test into one scope; `told` is what was answered, by title."""

    def __init__(self, name: str, scope: str) -> None:
        self.name = name
        self.scope = scope
        self.marked = False  # with an idempotency token?
        self.told: dict[str, int] = {}

    def put(self, title: str) -> None:
        """Store the item of this title."""
        token = f"token of {title}" if self.marked else None
        answer = put_next(self.name, {"title": title}, scope=self.scope, idempotency_token=token)
        self.told[title] = answer.value

    def judge(self) -> dict[str, int]:
        """Judge what was told so far."""
        return judge(self.name, self.scope, self.told)


def judge(name: str, scope: str | None, told: Mapping[str, int]) -> dict[str, int]:
    """Return the stored values by title, when they are as they must be.

    Every item that was told stands under its value, no item stands twice, and where that is promised the values are
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
    """What a thread will have got from `task()`, which it begins at once; the end of the tests does not wait for it."""
    future = Future[T]()

    def go() -> None:
        try:
            future.set_result(task())
        except BaseException as failure:  # noqa: BLE001 - raised by who asks for the result
            future.set_exception(failure)

    threading.Thread(target=go, daemon=True).start()
    return future


@contextmanager
def others_put(puts: Puts, threads: int = 2) -> Iterator[None]:
    """Other threads put into the scope all the while; at the end each must have been answered, and with a value."""
    done = threading.Event()

    def go_on(thread: int) -> None:
        for number in itertools.takewhile(lambda _: not done.is_set(), itertools.count(1)):
            puts.put(f"{number} of thread {thread}")

    running = [begun(partial(go_on, thread)) for thread in range(threads)]
    try:
        yield
    finally:
        done.set()
        _, hanging = wait(running, PATIENCE)
    assert not hanging, "another thread hangs"
    for future in running:
        future.result()
