"""One idempotency token, sent by many processes at the same moment: one item, and one answer for all of them.

Half of the processes share host locks, as on one machine. The other half use none, as on machines of their own.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator

import pytest

from sequences import put_next
from sequences.commit import host_memory
from sequences.exceptions import IdempotencyMismatch
from sequences.registry import strategies
from sequences.testing.callers import repeat
from sequences.testing.embedded import Engine
from tests.attacks.support import every_strategy
from tests.sequences.support import Processes, stored

PROCESSES = 8
TOKENS = 3


@pytest.fixture(scope="module")
def many(configured: str, engine: Engine) -> Iterator[Processes]:
    """The processes. Each has made its client."""
    processes = Processes("fork", PROCESSES, engine.endpoint, configured)
    assert Counter(processes.run(settle_in)) == {True: PROCESSES // 2, False: PROCESSES // 2}
    yield processes
    processes.stop()


def settle_in() -> bool:
    """Make the client, and in every other process turn host locks off. Returns whether they are off."""
    leaves = int(multiprocessing.current_process().name.rpartition("-")[2]) % 2 == 0
    if leaves:
        vars(host_memory)["SUPPORTED"] = False
    repeat("sort-key", "settling in", f"{os.getpid()}")
    return leaves


def put_own(name: str, scope: str, token: str) -> tuple[str, int] | None:
    """Store an item of this process under the shared token. Returns None if another process's item has the token."""
    title = f"of {os.getpid()}"
    try:
        return title, put_next(name, {"title": title}, scope=scope, idempotency_token=token).value
    except IdempotencyMismatch:
        return None


@every_strategy
def test_one_item_a_token(many: Processes, scope: str, name: str) -> None:
    """Eight repeats at the same moment store one item, and all get its value."""
    told = list[int]()
    for number in range(TOKENS):
        values, replays = zip(*many.run(repeat, name, scope, f"token {number}"), strict=True)
        assert set(values) == {values[0]}
        assert Counter(replays) == {True: PROCESSES - 1, False: 1}
        told.append(values[0])
    assert_stored(name, scope, told)


@every_strategy
def test_one_item_of_many_a_token(many: Processes, scope: str, name: str) -> None:
    """Of eight different items with one token at the same moment one is stored, and the others are refused."""
    told = list[int]()
    for number in range(TOKENS):
        answers = many.run(put_own, name, scope, f"token {number}")
        ((title, value),) = (answer for answer in answers if answer)
        assert stored(name, scope)[value]["title"] == title
        told.append(value)
    assert_stored(name, scope, told)


def assert_stored(name: str, scope: str, told: list[int]) -> None:
    """Assert that the answered values are stored, in this order, and no others."""
    assert sorted(told) == list(stored(name, scope))
    if strategies[name].ordered_across_processes:
        assert told == sorted(told)
    if strategies[name].gapless:
        assert told == list(range(1, TOKENS + 1))
