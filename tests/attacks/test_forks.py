"""Forks of a process in the middle of its work: a child uses nothing from the memory of its parent.

The parent has used every strategy: it remembers last values and counters, it holds half-used blocks and an open client,
it has a thread that fetches blocks, and another thread is in the middle of a put while it forks.
"""

from __future__ import annotations

import itertools
import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from project.paths import ROOT
from project.proof.faults.clients import bare_client
from project.proof.faults.incidents import kill_worker
from project.proof.faults.stack import PREFIX, Stack, running_stack
from sequences import get_next_value, put_next
from sequences.strategies import Strategy
from sequences.testing.callers import at_once
from tests.attacks import preloaded
from tests.attacks.interruptions import Interruption, Place
from tests.attacks.support import ATTACKED, BUSY, RESERVING, begun, judge, others_act

CONTEXT = multiprocessing.get_context("fork")
CHILDREN = 4
CLIENTS = 8
ROUNDS = 2
STRIDE = 47
"""The step between the tried points of a put."""

PATIENCE = 60.0
"""The seconds after which a process counts as hanging. The deadline of a call is 10 seconds."""


class Told(NamedTuple):
    """What calls of one strategy returned: the values of items by title, and values without items."""

    items: dict[str, int]
    values: list[int]


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Turn logging off: thousands of lines would slow the processes down."""
    caplog.set_level(logging.CRITICAL, "sequences")


def use(scope: str, who: str, count: int) -> dict[str, Told]:
    """Store items and take values of every strategy."""
    told = {}
    for name in ATTACKED:
        titles = [f"{number} of {who}" for number in range(count)]
        items = {title: put_next(name, {"title": title}, scope=scope).value for title in titles}
        values = [get_next_value(name, scope=scope) for _ in titles] if name in RESERVING else []
        told[name] = Told(items, values)
    return told


def child(scope: str, meeting: Callable[[], object], answer: Connection) -> None:
    """Use everything in a forked process, at the same moment as the others."""
    meeting()
    try:
        answer.send(use(scope, f"child {os.getpid()}", 2))
    except BaseException as error:  # noqa: BLE001 - reported to the parent
        answer.send(repr(error))


def fork_children(scope: str) -> list[dict[str, Told]]:
    """Fork children that use everything at the same moment as this thread. Returns what all of them got."""
    meeting = CONTEXT.Barrier(CHILDREN + 1)
    pipes = [CONTEXT.Pipe(duplex=False) for _ in range(CHILDREN)]
    children = [CONTEXT.Process(target=child, args=(scope, meeting.wait, answer)) for _, answer in pipes]
    for process in children:
        process.start()
    meeting.wait(PATIENCE)
    here = use(scope, f"parent of {children[0].pid}", 2)
    answers: list[dict[str, Told] | str] = [
        answer.recv() if answer.poll(PATIENCE) else "it hangs" for answer, _ in pipes
    ]
    for process in children:
        process.kill()
    assert [answer for answer in answers if isinstance(answer, str)] == []
    return [here, *(answer for answer in answers if not isinstance(answer, str))]


def test_forks_of_a_busy_parent(configured: str, scope: str) -> None:
    """Children and parent that put at the same moment store their items under different values, and none hangs."""
    told, others = [use(scope, "the parent before", 5)], list[dict[str, Told]]()
    with others_act(lambda thread, number: others.append(use(scope, f"thread {thread}, round {number}", 2))):
        for _ in range(ROUNDS):
            told += fork_children(scope)
    told += others
    assert len(told) > (CHILDREN + 1) * ROUNDS
    for name in ATTACKED:
        items = {title: value for answers in told for title, value in answers[name].items.items()}
        values = [value for answers in told for value in answers[name].values]
        assert judge(name, scope, items) == items
        assert len({*items.values(), *values}) == len(items) + len(values), name


@pytest.mark.parametrize("name", ["block", "sort-key"])
def test_a_fork_at_any_point_of_a_put(install: Callable[..., Strategy], scope: str, name: str) -> None:
    """At any point of a put, another thread may fork: the child's put is stored, and so is this one."""
    install(name, **BUSY.get(name, {}))
    told = {}
    for number in itertools.count(1, STRIDE):
        place = Place(number, Interruption(lambda: told.update(fork_elsewhere(name, scope))))
        with place:
            told[f"outer {number}"] = put_next(name, {"title": f"outer {number}"}, scope=scope).value
        if not place.reached:
            break
    assert len(told) > 8
    assert judge(name, scope, told) == told


def fork_elsewhere(name: str, scope: str) -> dict[str, int]:
    """Let another thread fork a child that puts an item. Returns the item and its value."""
    reading, writing = CONTEXT.Pipe(duplex=False)

    def put() -> None:
        title = f"child {os.getpid()}"
        writing.send({title: put_next(name, {"title": title}, scope=scope).value})

    process = CONTEXT.Process(target=put, daemon=True)
    begun(process.start).result(PATIENCE)
    assert reading.poll(PATIENCE), "the child hangs"
    answer: dict[str, int] = reading.recv()
    return answer


@pytest.fixture
def preloaded_stack(tmp_path: Path, engine: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """gunicorn with two workers. Its master has imported the application, and goes on using it."""
    monkeypatch.setenv(preloaded.TOLD, str(tmp_path / "told"))
    options: dict[str, Any] = {"workers": 2, "threads": 4, "through_proxy": False}
    with running_stack(tmp_path, config=preloaded.__name__, **options) as stack:
        yield stack


@pytest.mark.needs_engine
def test_a_preloading_gunicorn(preloaded_stack: Stack) -> None:
    """Workers that a busy master forks number tickets without gaps and duplicates, also after one was killed."""
    stack, draws = preloaded_stack, random.Random(1)

    def ask(client: int) -> tuple[int, list[int]]:
        ticket = stack.ask("POST", f"/api/projects/{preloaded.PROJECT}/tickets/", {"title": f"of client {client}"})
        values = stack.ask("POST", "/api/sequences/orders/next/", {"count": 2})
        return ticket.content["number"], values.content["values"]

    answers = at_once(CLIENTS, ask)
    kill_worker(stack.web.pid, draws)
    answers += at_once(CLIENTS, ask)
    stack.stop_web()
    by_master = [json.loads(line) for line in (stack.folder / "told").read_text().splitlines()]
    tickets = [number for number, _ in answers] + [told["ticket"] for told in by_master]
    orders = [value for _, values in answers for value in values] + [told["order"] for told in by_master]
    assert len(by_master) > 3
    assert len(set(tickets)) == len(tickets)
    assert len(set(orders)) == len(orders)
    stored = stored_numbers(stack)
    assert set(tickets) <= set(stored)
    assert stored == list(range(1, len(stored) + 1))


def stored_numbers(stack: Stack) -> list[int]:
    """The numbers of the project's tickets, read from the engine."""
    query = bare_client(stack.engine.endpoint).get_paginator("query")
    pages = query.paginate(
        TableName=f"{PREFIX}tickets",
        KeyConditionExpression="pk = :project AND sk > :zero",
        ExpressionAttributeValues={":project": {"S": preloaded.PROJECT}, ":zero": {"N": "0"}},
    )
    return [int(item["sk"]["N"]) for page in pages for item in page["Items"]]


WHILE_IT_IMPORTS = """
import os, signal, sys, threading
from django.conf import settings
settings.configure()
from sequences import dynamodb, registry
threading.Thread(target=dynamodb.shared_client).start()
while "botocore" not in sys.modules:
    pass
child = os.fork()
if child == 0:
    signal.alarm(30)
    dynamodb.shared_client()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_while_boto3_is_imported() -> None:
    """The child makes its client: the fork waits for an import that would never end there."""
    engine = {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9", "AWS_DEFAULT_REGION": "us-east-1"}
    command = [sys.executable, "-c", WHILE_IT_IMPORTS]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **engine}, timeout=120, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0\n", done.stderr
