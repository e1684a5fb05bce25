"""The faults inside the processes of the application during the soak.

The wall clock follows the file that `SOAK_CLOCK` names, and jumps. Every other process is a stranger: it uses no host
locks, as if it were on another machine, and its deadline is so short that some of its calls end with an error.
"""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["CLOCK", "estrange", "post_worker_init"]

CLOCK = "SOAK_CLOCK"
HASTY_SECONDS = 1.0


class Worker(Protocol):
    """The part of gunicorn's worker that is used here: its number, in the order of starts."""

    age: int


def post_worker_init(worker: Worker) -> None:
    """Make every other worker a stranger. gunicorn calls this in a worker that has the application."""
    if worker.age % 2:
        estrange()


def estrange() -> None:
    """Make this process a stranger: without host locks, and with a short deadline."""
    from django.conf import settings

    from sequences.commit import host_memory
    from sequences.registry import strategies

    vars(host_memory)["SUPPORTED"] = False
    sequences: dict[str, Any] = dict(settings.SEQUENCES)
    for entry in sequences.values():
        entry["OPTIONS"] = {**entry.get("OPTIONS", {}), "deadline": HASTY_SECONDS}
    strategies.reset()
