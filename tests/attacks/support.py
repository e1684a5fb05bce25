"""What the attacks share: the strategies that they meet, other writers, and the judgement of what is stored."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from sequences import put_next
from sequences.registry import strategies
from tests.sequences.support import COUNTERS, names_that, stored

__all__ = ["ATTACKED", "BUSY", "GAPLESS", "RESERVING", "Puts", "every_strategy", "judge", "others_put"]

ATTACKED = [*COUNTERS, "sort-key", "sort-key-increment"]
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


@contextmanager
def others_put(puts: Puts, threads: int = 2) -> Iterator[None]:
    """Other threads put into the scope all the while; at the end each must have been answered, and with a value."""
    done, failures = threading.Event(), list[BaseException]()

    def go_on(thread: int) -> None:
        try:
            for number in itertools.takewhile(lambda _: not done.is_set(), itertools.count(1)):
                puts.put(f"{number} of thread {thread}")
        except BaseException as failure:  # noqa: BLE001 - raised by the main thread
            failures.append(failure)

    running = [threading.Thread(target=go_on, args=(thread,), daemon=True) for thread in range(threads)]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in running:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in running), "another thread hangs"
    for failure in failures:
        raise failure
