"""What each web process is doing at this moment, for Prometheus: its threads, the requests that wait, its version.

Sums of what has happened are in `tickets.metrics`. These are looked at once a second, by the thread that collects
requests, so that the threads that answer do nothing for them.
"""

import os
import time
from collections.abc import Callable
from typing import Any, Literal

from django.conf import settings

from sequences import __version__

__all__ = ["BUILD", "GAUGES", "watching"]

SECONDS = 0.9  # less than the worker waits for, so that an idle one looks each time
GAUGES: dict[str, tuple[Literal["livemax", "livesum"], str]] = {
    "tickets_threads": ("livesum", "Threads that answer requests."),
    "tickets_busy_threads": ("livesum", "Threads that are answering a request."),
    "tickets_waiting_requests": ("livesum", "Requests that have arrived whole, and wait for a thread."),
    "tickets_oldest_request_seconds": ("livemax", "The age of the oldest request that has no answer yet."),
}
"""The name of each with how it is put together over the processes that live, and what it is."""
BUILD = ("tickets_build_info", "1, with the `version` of sequences, and the `revision` that the environment names.")
"""The name of the one that tells which version runs, and what it is."""


def watching(server: Any) -> Callable[[], None]:
    """A function that looks at waitress's server, at most once a second; without METRICS_TOKEN it does nothing."""
    if not settings.METRICS_TOKEN:
        return lambda: None
    from prometheus_client import Gauge  # not before PROMETHEUS_MULTIPROC_DIR is set

    gauges = [Gauge(name, about, multiprocess_mode=mode) for name, (mode, about) in GAUGES.items()]
    labels = {"version": __version__, "revision": os.environ.get("REVISION", "unknown")}
    build = Gauge(*BUILD, [*labels], multiprocess_mode="livemax")
    build.labels(**labels).set(1)
    until = time.monotonic() + SECONDS  # new threads count as busy until they wait for the first time

    def look() -> None:
        nonlocal until
        if (now := time.monotonic()) < until:
            return
        until = now + SECONDS
        for gauge, value in zip(gauges, values_of(server), strict=True):
            gauge.set(value)

    return look


def values_of(server: Any) -> tuple[float, ...]:
    """The values of GAUGES. Other threads go on meanwhile, so that they may belong to two moments."""
    dispatcher, now = server.task_dispatcher, time.monotonic()
    connections = [each for each in list(server.active_channels.values()) if not each.paused]  # others have an answer
    firsts = [next(iter(connection.requests), None) for connection in connections]
    oldest = min((first.arrived for first in firsts if first and first.arrived), default=now)
    return len(dispatcher.threads), dispatcher.active_count, len(dispatcher.queue), max(0.0, now - oldest)
