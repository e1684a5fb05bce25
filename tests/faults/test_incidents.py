"""Incidents happen when their schedule says so, and do what their names say."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, HTTPClientError

from project.proof.faults.clients import bare_client, create_faults_table
from project.proof.faults.driver import Driver, Incident, schedule
from project.proof.faults.incidents import children, fill_disk, kill_worker, why_no_full_disk
from project.proof.faults.stack import living_through_a_full_disk
from sequences.testing.embedded import Engine

# Keeps two children alive, like gunicorn's master its workers.
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
    """The same seed gives the same incidents, another gives others, and each kind happens as often as asked."""
    counts = {"worker": 10, "engine": 3}
    incidents = schedule(5, 10_000, counts)
    assert incidents == schedule(5, 10_000, counts) != schedule(6, 10_000, counts)
    assert Counter(incident.kind for incident in incidents) == counts
    assert all(0 < incident.after < 10_000 for incident in incidents)


def test_incidents_happen_at_the_moments_of_the_schedule() -> None:
    """Every incident happens in order, and none before the progress has come to it."""
    progress, moments = [0], []
    incidents = [Incident(2, 0.0, "worker"), Incident(3, 0.001, "engine")]
    causes = {name: lambda name=name: moments.append((name, progress[0])) for name in ("worker", "engine")}
    driver = Driver(incidents, lambda: progress[0], causes)
    driver.start()
    while progress[0] < 5:
        progress[0] += 1
        time.sleep(0.05)
    driver.join(60)
    assert driver.done == incidents
    assert [(name, at >= incident.after) for (name, at), incident in zip(moments, incidents, strict=True)] == [
        ("worker", True),
        ("engine", True),
    ]


def test_a_stopped_driver_does_no_more() -> None:
    """A driver whose moment never comes can be stopped, and has done nothing."""
    driver = Driver([Incident(1, 0.0, "worker")], lambda: 0, {})
    driver.start()
    driver.stop()
    assert driver.done == []
    assert driver.failure is None


def test_driver_tells_of_a_cause_that_failed() -> None:
    """The driver reports an incident whose repair failed."""
    driver = Driver([Incident(0, 0.0, "worker")], lambda: 0, {})
    driver.start()
    driver.join(60)
    assert isinstance(driver.failure, KeyError)


def test_kill_worker_replaces_one_child(master: subprocess.Popen[str]) -> None:
    """One child of the master dies, the others live, and there are as many as before."""
    before = children(master.pid)
    kill_worker(master.pid, random.Random(1))
    after = children(master.pid)
    assert len(before) == len(after) == 2
    assert len(set(before) & set(after)) == 1


@pytest.mark.needs_engine
@pytest.mark.parametrize("lives", [True, False])
def test_full_disk(tmp_path: Path, lives: bool) -> None:
    """Writes fail while the disk is full and are stored afterwards, by the same engine if it lives through it."""
    engine, failures, failed = Engine(tmp_path / "engine.db"), 0, threading.Event()
    with engine:
        if why := why_no_full_disk(engine):
            pytest.skip(why)
    if lives:
        engine.binary = living_through_a_full_disk(engine.binary or Path(), tmp_path)
    with engine, ThreadPoolExecutor(1) as thread:
        client, before = bare_client(engine.endpoint), engine.process.pid
        create_faults_table(client)
        full = thread.submit(fill_disk, engine, random.Random(1), failed.wait)
        while not full.done():
            try:
                client.put_item(TableName="faults", Item={"pk": {"S": "a"}, "text": {"S": "x" * 1000}})
            except (ClientError, EndpointConnectionError, HTTPClientError):
                failures += 1
                if lives or not engine.is_running:
                    failed.set()
            wait([full], 0.01)
        full.result()
        client.put_item(TableName="faults", Item={"pk": {"S": "b"}})
        assert failures
        assert (engine.process.pid == before) == lives
