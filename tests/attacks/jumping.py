"""A process of the application whose wall clock jumps.

The clock is replaced before the application is imported. These functions run in a pool of processes with `begin` as its
initializer. They take and return plain values.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from project.proof.faults.elsewhere import SEQUENCES, put_elsewhere, varied
from project.proof.faults.elsewhere import begin as begin_elsewhere

__all__ = ["DAYS", "begin", "jump", "put", "put_while_jumping"]

DAYS = 24 * 3600.0
THREADS = 4

_true_time = time.time
_ahead = 0.0


def begin(endpoint: str, prefix: str) -> None:
    """Make this process a process of the application, with a clock that jumps, and with markers that expire soon."""
    time.time = lambda: _true_time() + _ahead
    begin_elsewhere(endpoint, prefix)
    from django.conf import settings

    settings.SEQUENCES = {**SEQUENCES, **varied("brief", marker_seconds=1)}


def jump(days: float) -> None:
    """Set the clock ahead of the true time by this number of days; negative days set it behind."""
    global _ahead  # noqa: PLW0603 - a process has one clock
    _ahead = days * DAYS


def put(sequence: str, scope: str, token: str) -> tuple[int, bool]:
    """Store the one item of a token. Returns its value, and whether it was stored before."""
    from sequences import get_last_value

    get_last_value(sequence, scope=scope)  # the first answer of the engine sets the engine's clock
    return put_elsewhere(sequence, {"title": token}, scope, token)


def put_while_jumping(sequence: str, scope: str, tokens: list[str]) -> dict[str, set[int]]:
    """Store the items of these tokens by many threads, each in its own order, while the clock jumps back and forth."""
    done = threading.Event()

    def jump_about() -> None:
        for days in itertools.cycle([8, -8, 0]):
            jump(days)
            if done.wait(0.002):
                return

    def put_all(thread: int) -> list[int]:
        order = random.Random(thread).sample(tokens, len(tokens))
        values = {token: put(sequence, scope, token)[0] for token in order}
        return [values[token] for token in tokens]

    with ThreadPoolExecutor(THREADS + 1) as threads:
        jumping = threads.submit(jump_about)
        answers = list(threads.map(put_all, range(THREADS)))
        done.set()
        jumping.result()
    jump(0)
    return {token: set(values) for token, *values in zip(tokens, *answers, strict=True)}
