"""What a process of the application goes through in the soak; gunicorn reads this as its configuration.

The wall clock jumps, as the file that `SOAK_CLOCK` names says. Every other process is a stranger: it takes no turns,
as if it were on another machine, and has so little patience that some of its calls end with an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from project.proof.faults import clock

__all__ = ["CLOCK", "estrange", "post_fork", "post_worker_init"]

CLOCK = "SOAK_CLOCK"
HASTY_SECONDS = 1.0


class Worker(Protocol):
    """What is used of gunicorn's worker: its number, counted from the first that was started."""

    age: int


def post_fork(server: object, worker: Worker) -> None:
    """gunicorn calls it in a new worker that has imported nothing of the application yet."""
    clock.install(Path(os.environ[CLOCK]))


def post_worker_init(worker: Worker) -> None:
    """gunicorn calls it in a worker that has imported the application."""
    if worker.age % 2:
        estrange()


def estrange() -> None:
    """Make this process a stranger."""
    from django.conf import settings

    from sequences import host_lock
    from sequences.registry import strategies

    vars(host_lock)["fcntl"] = None
    sequences: dict[str, Any] = dict(settings.SEQUENCES)
    for entry in sequences.values():
        entry["OPTIONS"] = {**entry.get("OPTIONS", {}), "deadline": HASTY_SECONDS}
    strategies.reset()
