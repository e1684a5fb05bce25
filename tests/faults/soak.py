"""The soak: creates over HTTP while answers get lost and processes die; then the truth is counted.

    python -m tests.faults.soak --creates 10000 --clients 16 --projects 4 --seed 7

Clients file tickets with an `Idempotency-Key` each, and repeat with the same key until they are answered.
The proxy loses 5 % of the engine's answers, rejects 3 % of its requests and lets 1 % hang; workers of
gunicorn and the engine are killed meanwhile. Then the tables and the API are read, and every claim of
`Verdict` must hold; the exit status is 1 when one does not. The seed is printed: the same seed makes the
same faults and kills at the same points.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

from sequences.engine import Engine
from tests.faults.clients import bare_client
from tests.faults.control import ProxyLog
from tests.faults.driver import Driver, kill_worker, schedule
from tests.faults.plans import Rule
from tests.faults.stack import PREFIX, Reply, Stack, running_stack

__all__ = ["Settings", "Verdict", "main", "soak"]

LOST = ("lose-close", "lose-reset", "lose-500", "lose-checksum", "lose-truncated", "late")
REJECTED = ("ThrottlingException", "ProvisionedThroughputExceededException", "InternalServerError")
MOST_ATTEMPTS = 100


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How long and how hard. Shares are of the engine's requests."""

    creates: int = 10_000
    clients: int = 16
    projects: int = 4
    seed: int = 0
    lost: float = 0.05
    rejected: float = 0.03
    hanging: float = 0.01
    worker_kills: int = 10
    engine_kills: int = 3

    @property
    def keys(self) -> list[str]:
        """The projects' keys: SOAKA, SOAKB, ..."""
        return [f"SOAK{chr(ord('A') + n)}" for n in range(self.projects)]

    @property
    def rules(self) -> list[Rule]:
        """The proxy's plan: each share is split evenly among its faults."""
        lost = [Rule(fault=fault, probability=self.lost / len(LOST)) for fault in LOST]
        rejected = [Rule(fault=fault, probability=self.rejected / len(REJECTED)) for fault in REJECTED]
        conflicts = [Rule(fault="cancel-TransactionConflict", probability=self.rejected / len(REJECTED))]
        return [*lost, *rejected, *conflicts, Rule(fault="lose-hang", probability=self.hanging, seconds=30)]


@dataclass(frozen=True)
class Answer:
    """What a client was told: this title got this ticket, after so many attempts."""

    title: str
    project: str
    number: int
    attempts: int


@dataclass
class Verdict:
    """What the run showed. `violations` is empty when every promise was kept."""

    answers: list[Answer] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    proxy: ProxyLog | None = None
    seconds: float = 0.0

    def claim(self, holds: bool, violation: str) -> None:
        """Note a violation unless the claim holds."""
        if not holds:
            self.violations.append(violation)

    def summary(self) -> str:
        """A few lines for the terminal."""
        faults = Counter(self.proxy.names if self.proxy else [])
        attempts = sum(answer.attempts for answer in self.answers)
        lines = [
            f"{len(self.answers)} creates acknowledged after {attempts} requests in {self.seconds:.1f} s",
            f"engine requests: {sum(self.proxy.requests.values()) if self.proxy else 0}, "
            + ", ".join(f"{fault} {count}" for fault, count in sorted(faults.items())),
            "killed: " + ", ".join(f"{count} {target}" for target, count in sorted(self.kills.items())),
            *(f"VIOLATION {violation}" for violation in self.violations[:50]),
            f"{len(self.violations)} violations",
        ]
        return "\n".join(lines)


class Client:
    """Creates tickets as a careful program does: one key for one ticket, repeated until it is answered."""

    def __init__(self, stack: Stack, settings: Settings) -> None:
        self._stack = stack
        self._settings = settings
        self.acknowledged = 0
        self._lock = threading.Lock()

    def create(self, index: int) -> Answer:
        """File the ticket of this index; RuntimeError when it was refused, or never answered."""
        for attempt in range(1, MOST_ATTEMPTS + 1):
            reply = self.post(index)
            if reply is not None and reply.status in (200, 201):
                with self._lock:
                    self.acknowledged += 1
                return self._answer(index, reply, attempt)
            if reply is not None and reply.status not in (409, 429) and reply.status < 500:
                raise RuntimeError(f"ticket {index} was refused: {reply.status} {reply.content}")
            time.sleep(random.uniform(0, min(1.0, 0.02 * 2**attempt)))
        raise RuntimeError(f"ticket {index} was not answered in {MOST_ATTEMPTS} attempts: {reply}")

    def post(self, index: int) -> Reply | None:
        """One request; None when there was no answer."""
        project = self._settings.keys[index % self._settings.projects]
        headers = {"Idempotency-Key": f"soak-{self._settings.seed}-{index}"}
        try:
            return self._stack.ask("POST", f"/api/projects/{project}/tickets/", {"title": title(index)}, headers)
        except urllib3.exceptions.HTTPError:
            return None

    @staticmethod
    def _answer(index: int, reply: Reply, attempts: int) -> Answer:
        ticket = reply.content
        if ticket["title"] != title(index) or ticket["key"] != f"{ticket['project']}-{ticket['number']}":
            raise RuntimeError(f"ticket {index} was answered by another: {ticket}")
        return Answer(ticket["title"], ticket["project"], ticket["number"], attempts)


def title(index: int) -> str:
    """The title by which a ticket is known again."""
    return f"ticket {index}"


def soak(settings: Settings, folder: Path) -> Verdict:
    """Run once, with everything stored in `folder`."""
    verdict = Verdict()
    with running_stack(folder) as stack:
        for key in settings.keys:
            stack.ask("POST", "/api/projects/", {"key": key, "name": f"Project {key}"})
        client = Client(stack, settings)
        began = time.monotonic()
        _create_under_fire(settings, stack, client, verdict)
        verdict.seconds = time.monotonic() - began
        stack.wait_until_it_answers()
        _judge(settings, stack, client, verdict)
    return verdict


def _create_under_fire(settings: Settings, stack: Stack, client: Client, verdict: Verdict) -> None:
    draws = random.Random(f"victims:{settings.seed}")
    driver = Driver(
        schedule(
            settings.seed,
            settings.creates,
            {"worker": settings.worker_kills, "engine": settings.engine_kills},
        ),
        lambda: client.acknowledged,
        {"worker": lambda: kill_worker(stack.web.pid, draws), "engine": stack.engine.restart},
    )
    stack.proxy.follow(*settings.rules, seed=settings.seed)
    driver.start()
    with ThreadPoolExecutor(settings.clients) as pool:
        for future in [pool.submit(client.create, index) for index in range(settings.creates)]:
            try:
                verdict.answers.append(future.result())
            except RuntimeError as error:
                verdict.violations.append(str(error))
    driver.stop()
    verdict.proxy = stack.proxy.log
    stack.proxy.calm()
    stack.proxy.settle()
    verdict.kills.update(kill.target for kill in driver.done)
    verdict.claim(driver.failure is None, f"the driver failed: {driver.failure!r}")


def _judge(settings: Settings, stack: Stack, client: Client, verdict: Verdict) -> None:
    """Compare what was answered with the table, and the table with the API."""
    stored = {key: stored_tickets(stack.engine, key) for key in settings.keys}
    told = {(answer.project, answer.number): answer.title for answer in verdict.answers}
    titles = Counter(name for tickets in stored.values() for name in tickets.values())
    total = sum(titles.values())
    verdict.claim(total == settings.creates, f"{total} tickets are stored, {settings.creates} were asked for")
    verdict.claim(len(told) == len(verdict.answers), "two clients were given the same ticket")
    for name, count in titles.items():
        verdict.claim(count == 1, f"{name!r} is stored {count} times")
    for key, tickets in stored.items():
        verdict.claim(sorted(tickets) == list(range(1, len(tickets) + 1)), f"{key}: not 1..n: {_holes(tickets)}")
        listed = list(listed_tickets(stack, key))
        verdict.claim(listed == sorted(tickets.items(), reverse=True), f"{key}: the API lists other tickets")
    for (key, number), name in told.items():
        found = stored[key].get(number)
        verdict.claim(found == name, f"{key}-{number} was told to be {name!r}, but is {found!r}")
    _repeat_some(settings, client, verdict)


def _repeat_some(settings: Settings, client: Client, verdict: Verdict) -> None:
    """A key that is used again brings the same ticket."""
    told = {answer.title: (answer.project, answer.number) for answer in verdict.answers}
    for index in random.Random(f"repeats:{settings.seed}").sample(range(settings.creates), min(50, settings.creates)):
        reply = client.post(index)
        again = reply and (reply.content.get("project"), reply.content.get("number"))
        verdict.claim(again == told.get(title(index)), f"{title(index)!r} repeated: {reply}")


def _holes(numbers: dict[int, str]) -> str:
    missing = sorted(set(range(1, max(numbers, default=0) + 1)) - set(numbers))
    return f"{len(missing)} missing, first {missing[:10]}"


def stored_tickets(engine: Engine, project: str) -> dict[int, str]:
    """Number -> title of each ticket of a project, read from the engine, not through the product."""
    pages = (
        bare_client(engine.endpoint)
        .get_paginator("query")
        .paginate(
            TableName=f"{PREFIX}tickets",
            ConsistentRead=True,
            KeyConditionExpression="pk = :project AND sk > :zero",
            ExpressionAttributeValues={":project": {"S": project}, ":zero": {"N": "0"}},
        )
    )
    items = itertools.chain.from_iterable(page["Items"] for page in pages)
    return {int(item["sk"]["N"]): item["title"]["S"] for item in items}


def listed_tickets(stack: Stack, project: str) -> Iterator[tuple[int, str]]:
    """Number and title of each ticket of a project as the API lists them, newest first, page by page."""
    page: str | None = f"/api/projects/{project}/tickets/"
    while page:
        content: dict[str, Any] = stack.ask("GET", page).content
        yield from ((ticket["number"], ticket["title"]) for ticket in content["results"])
        page = content["next"]


def main() -> int:
    """The command line; the exit status is 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Settings()).items():
        kind = type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, help=f"default {default}")
    parser.set_defaults(seed=random.SystemRandom().randrange(10**6))
    settings = Settings(**vars(parser.parse_args()))
    print(settings, flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        verdict = soak(settings, Path(folder))
        print(verdict.summary())
        if verdict.violations:
            print((Path(folder) / "web.log").read_text(errors="replace")[-4000:])
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())
