"""A short soak of the whole product, and the parts of the soak. `make soak` runs a longer one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from project.paths import ROOT
from project.proof.faults import clock
from project.proof.faults.callers import SAYS_REPLAYED, Caller, meaning
from project.proof.faults.history import Asked, History, Recorder, Word, read
from project.proof.faults.stack import Reply
from project.proof.soak import Load, Settings, Verdict, _compare, soak, ticket
from tests.sequences.support import on_dynamodb_local

TICKET = {"number": 7, "title": "a ticket"}
DETAIL = {"detail": "It cannot be reached. Ask again."}


@pytest.mark.longest
@pytest.mark.timeout(900)
@pytest.mark.needs_engine
def test_every_promise_is_kept(tmp_path: Path) -> None:
    """Whatever is lost, held, doubled, killed, cut off, full or set to another time: no law is broken."""
    kills = 0 if on_dynamodb_local() else 1  # killed, it loses transactions, as DynamoDB never does
    settings = Settings(
        creates=240,
        seed=3,
        worker_kills=1,
        writer_kills=1,
        engine_kills=kills,
        partitions=1,
        full_disks=1,
        clock_jumps=2,
    )
    verdict = soak(settings, tmp_path)
    assert verdict.violations == []
    left_out = {"disk full"} if verdict.skipped else set()
    happened = {kind: count for kind, count in settings.incidents.items() if count and kind not in left_out}
    assert verdict.incidents == happened
    assert verdict.proxy is not None
    assert sum(verdict.proxy.counts.values()) > 10
    assert verdict.words["replayed"] > 10
    kept = {path.stem for path in (tmp_path / "history").iterdir()}
    assert kept >= {*settings.keys}
    assert kept & {*settings.api_scopes}


def test_a_broken_promise_is_a_violation() -> None:
    """A claim that does not hold is reported, and so is a broken law; a claim that holds is not."""
    verdict = Verdict()
    verdict.claim(True, "this holds")
    verdict.claim(False, "this does not")
    about = {"scope": "S", "client": "c", "token": "t"}
    invoke = {**about, "what": "invoke", "at": 0, "content": "t 1"}
    told = {**about, "what": "fail", "at": 1, "why": "422 used", "wrong": True}
    stored = {"what": "stored", "scope": "S", "number": 1, "token": "t", "content": "t 1"}
    (history,) = read(map(json.dumps, [invoke, told, stored]))
    verdict.judge(history)
    assert verdict.violations == [
        "this does not",
        "S: failed_is_absent: t failed, but is stored under [1]",
        "S: no_wrong_word: t: 422 used",
    ]
    assert "VIOLATION this does not\n" in verdict.summary()
    assert verdict.summary().endswith("\n3 violations")


def test_the_api_must_list_what_is_stored() -> None:
    """An item that the API leaves out, or shows otherwise, is a violation."""
    history = History("S")
    for number in (1, 2, 3):
        history.add({"what": "stored", "number": number, "token": f"t{number}", "content": f"t{number}"})
    shown = [(3, "t3"), (2, "t2"), (1, "t1")]
    for listed in (shown, shown[:2], [*shown[:2], (1, "t0")], [*shown, (0, "t0")]):
        verdict = Verdict()
        _compare(history, iter(listed), verdict)
        assert bool(verdict.violations) == (listed != shown)


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (Reply(201, TICKET, {}), Word("ok", 7, "a ticket")),
        (Reply(200, TICKET, {SAYS_REPLAYED: "true"}), Word("ok", 7, "a ticket", replayed=True)),
        (Reply(503, {**DETAIL, "outcome_unknown": True}, {}), Word("unknown", why="503 It cannot be reached")),
        (Reply(503, {**DETAIL, "outcome_unknown": False}, {}), Word("fail", why="503 It cannot be reached")),
        (Reply(503, {}, {}), Word("unknown", why="503 {}")),
        (Reply(500, {}, {}), Word("unknown", why="500 {}", wrong=True)),
        (Reply(502, {}, {}), Word("unknown", why="502 {}")),
        (Reply(409, DETAIL, {}), Word("fail", why="409 It cannot be reached")),
        (Reply(429, DETAIL, {}), Word("fail", why="429 It cannot be reached")),
        (Reply(422, DETAIL, {}), Word("fail", why="422 It cannot be reached", wrong=True)),
        (Reply(404, DETAIL, {}), Word("fail", why="404 It cannot be reached", wrong=True)),
    ],
)
def test_what_an_answer_means(reply: Reply, word: Word) -> None:
    """What is stored for certain, what is not, and what nobody can know."""
    assert meaning(reply) == word


@pytest.mark.parametrize(
    ("words", "attempts", "last"),
    [
        ([Word("unknown"), Word("fail"), Word("ok", 1)], 9, 2),
        ([Word("fail"), Word("unknown"), Word("ok", 1)], 2, 1),
        ([Word("fail", wrong=True), Word("ok", 1)], 9, 0),
    ],
)
def test_a_client_asks_until_it_is_answered(tmp_path: Path, words: list[Word], attempts: int, last: int) -> None:
    """A client repeats a request until it gets an answer, its patience is over, or the answer must not occur."""
    left = iter(words)
    caller = Caller("c", Recorder(tmp_path), lambda asked: next(left), attempts=attempts, seed=0)
    assert caller.ask(Asked("S", "t", "t 1")) == words[last]
    assert caller.unanswered == []


def test_a_patient_client_complains_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that never gets an answer is reported."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    caller = Caller("c", Recorder(tmp_path), lambda asked: Word("fail"), seed=0)
    caller.serve([Asked("S", "t", "t 1")])
    assert caller.words == {"fail": 1}
    assert caller.unanswered[0].startswith("t was not answered")


def test_the_load_ends() -> None:
    """So many tickets are handed out as were asked for, evenly over the projects; or none after the time is up."""
    load = Load(Settings(creates=40))
    assert Counter(asked.scope for asked in load) == dict.fromkeys(Settings().keys, 10)
    late = Load(Settings(minutes=1 / 600))
    time.sleep(0.11)
    assert list(late) == []


def test_incidents_go_on_for_the_whole_run() -> None:
    """With minutes, every incident happens so often in each of them."""
    assert Settings(minutes=60, engine_kills=2).incidents["engine killed"] == 120
    assert Settings(creates=7, engine_kills=2).incidents["engine killed"] == 2


def test_tickets_are_known_again() -> None:
    """A ticket of an index is always the same one, and its title begins with its token."""
    asked = ticket(Settings(seed=5), 6)
    assert asked == ticket(Settings(seed=5), 6)
    assert asked.content.partition(" ")[0] == asked.token


WORKER = """
import os, sys, time
from pathlib import Path
class One:
    def __init__(self, age): self.age = age
true = time.time
from project.proof.faults import clock, under_fire, worker
import project.wsgi
from sequences import dynamodb
from sequences.commit import host_memory
from sequences.registry import strategies
clock.set_offset(Path(os.environ[worker.CLOCK]), 7200)
for age in (8, 7):
    under_fire.post_worker_init(One(age))
    strategy = strategies["tickets"]
    print(round((strategy.wall() - true()) / 10) * 10, strategy.option["deadline"], host_memory.SUPPORTED)
    assert strategy.timing.clock is dynamodb.elapsed
"""


def test_workers_have_another_time(tmp_path: Path) -> None:
    """A worker's wall clock jumps and its monotonic clock does not; every other worker is a stranger."""
    clock.set_offset(tmp_path / "clock", 0)
    command = [sys.executable, "-c", WORKER]
    environment = {"SOAK_CLOCK": str(tmp_path / "clock"), "SECRET_KEY": "a key", "PATH": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["7200 10.0 True", "7200 1.0 False"], "")
