"""The stall: the engine hangs under load for a while. The site must neither die, nor lie, nor lose a ticket.

    python -m project.proof.stall --seconds 60

Clients file tickets over HTTP, each with a token. Others ask for the state of the processes, and for a page that needs
no DynamoDB. The engine is stopped (SIGSTOP), and goes on after some seconds. Then the answers are compared with what is
stored. The exit status is 1 if a promise was broken: each is a `claim` below.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

import urllib3

from project.proof.faults.api import stored_tickets
from project.proof.faults.incidents import children
from project.proof.faults.stack import Stack, running_stack

__all__ = ["Settings", "Verdict", "main", "stall"]

PROJECT = "STALL"
ALIVE_SECONDS = 1.0  # after which a page waits for a thread, and a caller for an engine
AGAIN_SECONDS = 1.0  # after which a site whose engine answers again refuses nothing, once it has filed a ticket
SETTLED_SECONDS = 5.0  # after which no thread is held by a request of the time before
PAUSE = 0.1  # of a client that was refused, and of those who ask for the state
OWN_STATE, PAGE = ("/healthz", "/readyz"), "/login/"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """For how many seconds the engine hangs, how many are before and after, and how many ask and answer.

    A client whose ticket is filed files the next one after `rest` seconds.
    """

    seconds: float = 60.0
    around: float = 3.0
    clients: int = 64
    workers: int = 2
    rest: float = 0.0


@dataclass(frozen=True)
class Answer:
    """What one request got, and when. The status is 0 without an answer."""

    title: str
    began: float
    seconds: float
    status: int
    number: int = 0
    detail: str = ""
    retry_after: str = ""

    @property
    def came(self) -> float:
        """When the request had its answer."""
        return self.began + self.seconds


@dataclass
class Verdict:
    """What was seen, and which promises were broken."""

    lines: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def claim(self, holds: bool, violation: str) -> None:
        """Note a violation unless the claim holds."""
        if not holds:
            self.violations.append(violation)


class Crowd:
    """Threads that ask again and again, until the end of the block, and what they got."""

    def __init__(self, stack: Stack, rest: float) -> None:
        self.stack = stack
        self.rest = rest
        self.filed: list[Answer] = []
        self.watched: dict[str, list[Answer]] = {path: [] for path in (*OWN_STATE, PAGE)}
        self._over = threading.Event()

    @contextmanager
    def at_work(self, clients: int) -> Iterator[None]:
        """So many clients, and those who watch, for the body."""
        threads = [threading.Thread(target=self._file, args=(number,)) for number in range(clients)]
        threads += [threading.Thread(target=self._watch, args=(path,)) for path in self.watched]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def wait(self, seen: Callable[[], bool]) -> None:
        """Wait until something is seen; a minute at most."""
        until = time.monotonic() + 60.0
        while time.monotonic() < until and not seen():
            time.sleep(PAUSE)

    def has_one(self, after: float, ago: float = 0.0) -> bool:
        """Whether there is an answer to a request that began after a moment, and so many seconds ago."""
        return any(after < one.began < time.monotonic() - ago for one in self.filed)

    def again(self, resumed: float) -> float:
        """When the first ticket was filed that was asked for AGAIN_SECONDS after a moment, or later; inf for never."""
        asked = [one for one in self.filed if one.began > resumed + AGAIN_SECONDS]
        return min((one.came for one in asked if one.status == 201), default=math.inf)

    def unsaid(self, stopped: float, resumed: float) -> list[str]:
        """The states that are not said again and again while a page waits for a thread, as one does in the hang."""
        pages = [one for one in self.watched[PAGE] if stopped < one.came and one.began < resumed]
        held = max(pages, key=lambda one: one.seconds)
        if held.seconds < ALIVE_SECONDS:
            return []
        said = {path: [one for one in self.watched[path] if held.began < one.began] for path in OWN_STATE}
        return [path for path in OWN_STATE if sum(one.came < held.came for one in said[path]) < 2]

    def _file(self, client: int) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            title = f"{client}-{number} ticket"
            answer = self._ask("POST", f"/api/projects/{PROJECT}/tickets/", title)
            self.filed.append(answer)
            self._over.wait(self.rest if answer.status == 201 else PAUSE)

    def _watch(self, path: str) -> None:
        while not self._over.wait(PAUSE):
            self.watched[path].append(self._ask("GET", path))

    def _ask(self, method: str, path: str, title: str = "") -> Answer:
        began = time.monotonic()
        asked = {"title": title} if title else None
        try:
            reply = self.stack.ask(method, path, asked, {"Idempotency-Key": title} if title else {})
        except urllib3.exceptions.HTTPError as error:
            return Answer(title, began, time.monotonic() - began, 0, detail=repr(error))
        number, detail = reply.content.get("number", 0), reply.content.get("detail", "")
        retry_after = reply.headers.get("Retry-After", "")
        return Answer(title, began, time.monotonic() - began, reply.status, number, detail, retry_after)


def stall(settings: Settings, folder: Path) -> Verdict:
    """Run once, and store everything in `folder`."""
    verdict = Verdict()
    with running_stack(folder, workers=settings.workers, through_proxy=False) as stack:
        stack.ask("POST", "/api/projects/", {"key": PROJECT, "name": "Stall"})
        crowd, workers = Crowd(stack, settings.rest), children(stack.web.pid)
        with crowd.at_work(settings.clients):
            time.sleep(settings.around)
            stopped = time.monotonic()
            with hanging(stack):
                time.sleep(settings.seconds)
                crowd.wait(lambda: crowd.has_one(stopped + SETTLED_SECONDS, ago=AGAIN_SECONDS))
            resumed = time.monotonic()
            time.sleep(settings.around)
            crowd.wait(lambda: crowd.has_one(crowd.again(resumed)))
        verdict.claim(children(stack.web.pid) == workers, "a worker was started anew")
        judge(verdict, crowd, stopped, resumed)
        compare(verdict, crowd.filed, stack)
    return verdict


@contextmanager
def hanging(stack: Stack) -> Iterator[None]:
    """The engine hangs during the body."""
    os.kill(stack.engine.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(stack.engine.process.pid, signal.SIGCONT)


def judge(verdict: Verdict, crowd: Crowd, stopped: float, resumed: float) -> None:
    """What the answers promise by themselves, and when they came."""
    filed, again = crowd.filed, crowd.again(resumed)
    states = [one for path in OWN_STATE for one in crowd.watched[path]]
    times = {
        "before": [one for one in filed if one.came < stopped],
        "at first": [one for one in filed if stopped < one.came and one.began < stopped + PAUSE],
        "then": [one for one in filed if stopped + SETTLED_SECONDS < one.began < resumed - AGAIN_SECONDS],
        "after": [one for one in filed if one.began > again],
    }
    verdict.lines += [f"{name}: {described(answers)}" for name, answers in {**times, **crowd.watched}.items()]
    wrong = [one for one in states if one.status != 200]
    verdict.claim(not wrong, f"the state of a process was not said: {wrong[:3]}")
    late = crowd.unsaid(stopped, resumed)
    verdict.claim(not late, f"the state of a process waits for a thread: {late}")
    verdict.claim({one.status for one in crowd.watched[PAGE]} == {200}, f"{PAGE} was away")
    strange = [one for one in filed if one.status != 201 and not (one.status == 503 and one.detail and one.retry_after)]
    verdict.claim(not strange, f"neither filed nor refused: {strange[:3]}")
    waited = [one for one in times["then"] if one.seconds > ALIVE_SECONDS]
    verdict.claim(2 * len(waited) < len(times["then"]), "callers wait for an engine that hangs")
    verdict.claim({one.status for one in times["after"]} == {201}, "not all is well a second after the engine")


def described(answers: list[Answer]) -> str:
    """How many answers there are of each status, and how long they took."""
    if len(answers) < 2:
        return f"{len(answers)} answers"
    seconds = sorted(one.seconds for one in answers)
    statuses = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(a.status for a in answers).items()))
    p = quantiles(seconds, n=100)
    return f"{statuses}; median {p[49]:.3f} s, p99 {p[98]:.3f} s, longest {seconds[-1]:.3f} s"


def compare(verdict: Verdict, filed: list[Answer], stack: Stack) -> None:
    """What the answers said, and what is stored."""
    stored = {row["number"]: row["content"] for row in stored_tickets(stack.engine.endpoint, PROJECT)}
    titles = Counter(stored.values())
    verdict.lines.append(f"{len(stored)} tickets are stored")
    verdict.claim(sorted(stored) == list(range(1, len(stored) + 1)), "the numbers have a gap")
    verdict.claim(set(titles.values()) <= {1}, "a ticket is stored twice")
    lost = [one for one in filed if one.status == 201 and stored.get(one.number) != one.title]
    verdict.claim(not lost, f"filed, and not stored: {lost[:3]}")
    lied = [one for one in filed if "Nothing was changed" in one.detail and one.title in titles]
    verdict.claim(not lied, f"refused for certain, and stored: {lied[:3]}")


def main() -> int:
    """The command line. The exit status is 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Settings()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default {default}")
    settings = Settings(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory(prefix="stall-") as folder:
        verdict = stall(settings, Path(folder))
    print(*verdict.lines, *(f"VIOLATION {one}" for one in verdict.violations), sep="\n")
    print(f"{len(verdict.violations)} violations")
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())
