"""Callers of a sequence: one after the other, or many threads at the same moment.

They take and return plain values, so that other processes can run them too.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..services import get_next_value, put_next

T = TypeVar("T")


def at_once(count: int, task: Callable[[int], T]) -> list[T]:
    """What `count` threads got from `task(index)`, which they all begin at the same moment."""
    meeting = threading.Barrier(count)

    def one(index: int) -> T:
        meeting.wait(timeout=30)
        return task(index)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


def by_threads(
    task: Callable[[str, str, int], list[int]], name: str, scope: str, threads: int, count: int
) -> list[list[int]]:
    """What each of so many threads of this process got from a task."""
    return at_once(threads, lambda _: task(name, scope, count))


def put_some(name: str, scope: str, count: int) -> list[int]:
    """Store so many items one after the other; their values."""
    return [put_next(name, {"title": f"{os.getpid()}"}, scope=scope).value for _ in range(count)]


def take_some(name: str, scope: str, count: int) -> list[int]:
    """Take so many values one after the other."""
    return [get_next_value(name, scope=scope) for _ in range(count)]


def repeat(name: str, scope: str, token: str) -> tuple[int, bool]:
    """Store the one item of a token: its value, and whether it was stored before."""
    allocation = put_next(name, {"title": "the one"}, scope=scope, idempotency_token=token)
    return allocation.value, allocation.replayed
