"""What a web process says of itself: its threads, what waits, and for how long."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_django import Settings

from project import gauges
from project.paths import ROOT

NOW = 1000.0


def server(*ages: float | None) -> Any:
    """waitress's server with 16 threads, of which 3 work, and connections with requests of these ages."""
    connections = [
        SimpleNamespace(
            paused=False,
            requests=[] if age is None else [SimpleNamespace(arrived=NOW - age), SimpleNamespace(arrived=NOW)],
        )
        for age in ages
    ]
    dispatcher = SimpleNamespace(threads=set(range(16)), active_count=3, queue=[object()] * 2)
    return SimpleNamespace(task_dispatcher=dispatcher, active_channels=dict(enumerate(connections)))


@pytest.mark.parametrize(("ages", "oldest"), [((), 0), ((None,), 0), ((0.5, 7, None, 3), 7)])
def test_the_values(ages: tuple[float, ...], oldest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, busy ones, waiting requests, and the age of the oldest that has no answer; some connections are idle."""
    monkeypatch.setattr(gauges, "time", SimpleNamespace(monotonic=lambda: NOW))
    assert gauges.values_of(server(*ages)) == (16, 3, 2, oldest)


def test_nothing_is_looked_at_without_a_token(settings: Settings) -> None:
    """Without METRICS_TOKEN nobody reads it, and nothing is imported and read for it."""
    settings.METRICS_TOKEN = ""
    gauges.watching(None)()


def test_it_looks_once_a_second() -> None:
    """The thread that collects requests turns thousands of times a second, and looks in one of them."""
    program = """
from types import SimpleNamespace as New
from django.conf import settings
from prometheus_client import REGISTRY
from project import gauges

settings.configure(METRICS_TOKEN="x")
dispatcher = New(threads=[1], active_count=1, queue=[])
gauges.time = New(monotonic=lambda: 1000)
look = gauges.watching(New(task_dispatcher=dispatcher, active_channels={}))
for second in (0.5, 1, 1.5, 2):
    gauges.time = New(monotonic=lambda: 1000 + second)
    look()
    dispatcher.active_count = int(second < 1)
    print(REGISTRY.get_sample_value("tickets_busy_threads"))
print(REGISTRY.get_sample_value("tickets_build_info", {"version": gauges.__version__, "revision": "abc"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={"REVISION": "abc"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0.0", "1.0", "1.0", "0.0", "1.0"]
