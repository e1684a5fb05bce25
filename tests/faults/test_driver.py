"""The driver kills what its schedule says, when it says it."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.faults.driver import Driver, Kill, children, kill_worker, schedule

# Keeps two children alive, as gunicorn's master does with its workers.
MASTER = """
import subprocess
def child(): return subprocess.Popen(["sleep", "60"])
workers = [child(), child()]
print("ready", flush=True)
while True:
    for place, worker in enumerate(workers):
        try:
            worker.wait(0.01)
            workers[place] = child()
        except subprocess.TimeoutExpired:
            pass
"""


@pytest.fixture
def master() -> Iterator[subprocess.Popen[str]]:
    """A process that keeps two children alive."""
    with subprocess.Popen([sys.executable, "-c", MASTER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()
        for child in children(process.pid):
            subprocess.run(["kill", str(child)], check=True)


def test_schedule_is_seeded() -> None:
    """The same seed gives the same kills, another gives others, and each target is hit as often as asked."""
    counts = {"worker": 10, "engine": 3}
    kills = schedule(5, 10_000, counts)
    assert kills == schedule(5, 10_000, counts) != schedule(6, 10_000, counts)
    assert {target: sum(kill.target == target for kill in kills) for target in counts} == counts
    assert all(0 < kill.after < 10_000 for kill in kills)


def test_driver_kills_at_the_moments_of_the_schedule() -> None:
    """Every kill happens in order, and none before the progress has come to it."""
    progress, moments = [0], []
    kills = [Kill(2, 0.0, "worker"), Kill(3, 0.001, "engine")]
    weapons = {name: lambda name=name: moments.append((name, progress[0])) for name in ("worker", "engine")}
    driver = Driver(kills, lambda: progress[0], weapons)
    driver.start()
    while progress[0] < 5:
        progress[0] += 1
        time.sleep(0.05)
    driver.join(10)
    assert driver.done == kills
    assert [(name, at >= kill.after) for (name, at), kill in zip(moments, kills, strict=True)] == [
        ("worker", True),
        ("engine", True),
    ]


def test_a_stopped_driver_kills_no_more() -> None:
    """A driver whose moment never comes can be stopped, and has done nothing."""
    driver = Driver([Kill(1, 0.0, "worker")], lambda: 0, {})
    driver.start()
    driver.stop()
    assert driver.done == []
    assert driver.failure is None


def test_driver_tells_of_a_weapon_that_failed() -> None:
    """A target that does not come back is told, not forgotten."""
    driver = Driver([Kill(0, 0.0, "worker")], lambda: 0, {})
    driver.start()
    driver.join(10)
    assert isinstance(driver.failure, KeyError)


def test_kill_worker_replaces_one_child(master: subprocess.Popen[str]) -> None:
    """One child of the master dies, the others live, and there are as many as before."""
    before = children(master.pid)
    kill_worker(master.pid, random.Random(1))
    after = children(master.pid)
    assert len(before) == len(after) == 2
    assert len(set(before) & set(after)) == 1
