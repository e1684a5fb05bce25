"""The soak: many clients create tickets and items under faults; then the whole history is checked.

    python -m project.proof.soak --creates 10000 --seed 7
    python -m project.proof.soak --minutes 60

Four of five clients file tickets over HTTP. The fifth stores items by the Python API, in processes of their own: by
every strategy, alone and together, with riders whose conditions change, and under keys of their own. Some clients
repeat until they succeed, some give up. A proxy between the product and its engine loses answers, rejects requests,
lets them hang, and delivers them late or twice. It holds many writes of the quiet scopes until after their callers were
answered. Workers, writers and the engine are killed, the engine is cut off, the disk is full for a while, and the wall
clocks jump. Every client records its requests and their answers. In the end `history` checks these records against the
tables. If they do not fit, the exit status is 1 and the history is kept.

The seed is printed. The same seed draws the same faults and the same schedule of incidents.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.utils.module_loading import import_string

from project.paths import LOCAL
from project.proof.faults.api import STRATEGIES, stored_by_api, stored_tickets
from project.proof.faults.callers import MOST_ATTEMPTS, Caller, ask_web
from project.proof.faults.control import ProxyLog
from project.proof.faults.driver import Driver, schedule
from project.proof.faults.elsewhere import HELD, SEQUENCES
from project.proof.faults.history import Asked, History, Recorder, check, read
from project.proof.faults.incidents import cut_off, fill_disk, jump_clocks, kill_worker, why_no_full_disk
from project.proof.faults.plans import Rule
from project.proof.faults.stack import Stack, running_stack
from project.proof.faults.writers import LONGEST_HELD, Writers
from project.settings import base

__all__ = ["Settings", "Verdict", "main", "soak"]

LOST = ("lose-close", "lose-reset", "lose-500", "lose-checksum", "lose-truncated", "late")
REJECTED = ("ThrottlingException", "ProvisionedThroughputExceededException", "InternalServerError")
HELD_SECONDS = (5, 7, 9, 12)
DOUBLED_SECONDS = (0, 1, 3)
QUIET = "held-"
HASTY_SECONDS = 2
REPEATS = 50
KEPT = LOCAL / "soak"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The length of a run, and its faults. `lost` to `doubled` are shares of the requests to the engine, and
    `quiet` is the share of the writes in quiet scopes that are held or doubled.

    `worker_kills` to `clock_jumps` count the incidents of the whole run. If `minutes` are given, they set the length of
    the run, and the counts are for each minute.
    """

    creates: int = 10_000
    minutes: float = 0.0
    clients: int = 20
    projects: int = 4
    seed: int = 0
    lost: float = 0.05
    rejected: float = 0.03
    hanging: float = 0.01
    held: float = 0.004
    doubled: float = 0.006
    quiet: float = 0.6
    worker_kills: int = 6
    writer_kills: int = 2
    engine_kills: int = 2
    partitions: int = 2
    full_disks: int = 1
    clock_jumps: int = 6

    @property
    def keys(self) -> list[str]:
        """The keys of the projects: SOAKA, SOAKB and so on."""
        return [f"SOAK{chr(ord('A') + n)}" for n in range(self.projects)]

    @property
    def api_scopes(self) -> list[str]:
        """The scopes that the busy clients of the Python API share: sort-key.A, transactional.A and so on."""
        return [f"{sequence}.A" for sequence in STRATEGIES]

    @property
    def api_clients(self) -> int:
        """How many of the clients use the Python API."""
        return self.clients // 5

    @property
    def length(self) -> int:
        """The length of the run in steps: milliseconds, or creates."""
        return round(self.minutes * 60_000) or self.creates

    @property
    def incidents(self) -> dict[str, int]:
        """How often each kind of incident happens in the whole run."""
        counts = {
            "worker killed": self.worker_kills,
            "writer killed": self.writer_kills if self.api_clients else 0,
            "engine killed": self.engine_kills,
            "engine cut off": self.partitions,
            "disk full": self.full_disks,
            "clocks jumped": self.clock_jumps,
        }
        return {kind: round(count * (self.minutes or 1)) for kind, count in counts.items()}

    @property
    def rules(self) -> list[Rule]:
        """The proxy's plan: each share is split evenly among its faults."""
        lost = [Rule(fault=fault, probability=self.lost / len(LOST)) for fault in LOST]
        rejected = [Rule(fault=fault, probability=self.rejected / len(REJECTED)) for fault in REJECTED]
        conflicts = [Rule(fault="cancel-TransactionConflict", probability=self.rejected / len(REJECTED))]
        hanging = [Rule(fault="lose-hang", probability=self.hanging, seconds=30)]
        return [
            *_in_quiet_scopes(
                [
                    *_split(self.quiet / 2, ("late",), (1, 3, LONGEST_HELD)),
                    *_split(self.quiet / 4, ("delay",), (1.5,)),
                    *_split(self.quiet / 4, ("duplicate",), (3, LONGEST_HELD)),
                ]
            ),
            *lost,
            *rejected,
            *conflicts,
            *hanging,
            *_split(self.held, ("late", "late-hang"), HELD_SECONDS),
            *_split(self.doubled, ("duplicate",), DOUBLED_SECONDS),
        ]


def _split(share: float, faults: tuple[str, ...], seconds: tuple[float, ...]) -> list[Rule]:
    """Rules for every pair of these faults and lengths. Together they have this share."""
    kinds = list(itertools.product(faults, seconds))
    return [Rule(fault=fault, seconds=length, probability=share / len(kinds)) for fault, length in kinds]


def _in_quiet_scopes(rules: list[Rule]) -> list[Rule]:
    """The same rules for the writes of items in quiet scopes alone."""
    writes = itertools.product(("TransactWriteItems", "PutItem"), rules)
    return [replace(rule, operation=operation, contains=QUIET) for operation, rule in writes]


@dataclass
class Verdict:
    """The result of the run. `violations` is empty if every promise was kept."""

    violations: list[str] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    incidents: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)
    proxy: ProxyLog | None = None
    seconds: float = 0.0

    def claim(self, holds: bool, violation: str) -> None:
        """Note a violation unless the claim holds."""
        if not holds:
            self.violations.append(violation)

    def judge(self, history: History) -> None:
        """Count the answers in a history, and note its violations."""
        self.words += history.counts()
        self.reasons += history.reasons
        self.violations += map(str, check(history))

    def summary(self) -> str:
        """Some lines for the terminal."""
        faults = self.proxy.counts if self.proxy else {}
        served = sum(self.proxy.requests.values()) if self.proxy else 0
        lines = [
            f"{self.seconds:.0f} s; requests by their last word, attempts, replays and items: {_counts(self.words)}",
            *(f"    {count} attempts {reason}" for reason, count in self.reasons.most_common()),
            f"{served} requests to the engine, faults: {_counts(faults)}",
            f"incidents: {_counts(self.incidents)}",
            *(f"SKIPPED {reason}" for reason in self.skipped),
            *(f"VIOLATION {violation}" for violation in self.violations[:50]),
            f"{len(self.violations)} violations",
        ]
        return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


class Load:
    """The tickets to file. All clients take from it until there are enough tickets or the time is up."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self.given = 0

    def __iter__(self) -> Iterator[Asked]:
        while (index := self._next()) is not None:
            yield ticket(self._settings, index)

    def _next(self) -> int | None:
        with self._lock:
            if self.progress() >= self._settings.length:
                return None
            self.given += 1
            return self.given - 1

    @property
    def seconds(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._began

    def progress(self) -> int:
        """The steps so far."""
        return round(self.seconds * 1000) if self._settings.minutes else self.given


def ticket(settings: Settings, index: int) -> Asked:
    """The ticket with this index. Its title begins with the token of the request, to recognise it later."""
    token = f"web-{settings.seed}-{index}"
    return Asked(settings.keys[index % settings.projects], token, f"{token} {random.Random(token).randrange(10**6)}")


def soak(settings: Settings, folder: Path, say: Callable[[str], object] = print) -> Verdict:
    """Run once, and store everything in `folder`. Calls `say` once a minute with a line of progress."""
    verdict = Verdict()
    (folder / "history").mkdir()
    recorder = Recorder(folder / "history")
    with running_stack(folder, under_fire=True) as stack:
        for key in settings.keys:
            stack.ask("POST", "/api/projects/", {"key": key, "name": f"Project {key}"})
        load = Load(settings)
        _create_under_fire(settings, stack, recorder, load, verdict, say)
        verdict.seconds = load.seconds
        stack.stop_web()
        stack.proxy.settle()
        stack.start_web()
        _repeat_some(settings, stack, recorder, load, verdict)
        _judge(settings, stack, recorder, verdict)
    return verdict


def _create_under_fire(
    settings: Settings, stack: Stack, recorder: Recorder, load: Load, verdict: Verdict, say: Callable[[str], object]
) -> None:
    history = recorder.path("").parent
    writers = Writers(stack, history, settings.api_scopes, clients=settings.api_clients, seed=settings.seed)
    driver = _driver(settings, stack, writers, load, verdict)
    callers = _callers(settings, stack, recorder)
    stack.proxy.follow(*settings.rules, seed=settings.seed)
    driver.start()
    try:
        with ThreadPoolExecutor(len(callers)) as pool:
            _watch([pool.submit(caller.serve, load) for caller in callers], callers, driver, load, say)
        driver.join()  # the progress is at its end; incidents that are late still happen to the writers
        verdict.proxy = stack.proxy.log
        stack.proxy.calm()
        verdict.violations += writers.stop()
    finally:
        driver.stop()
        writers.kill()
    verdict.incidents.update(incident.kind for incident in driver.done)
    verdict.claim(driver.failure is None, f"the driver failed: {driver.failure!r}")
    verdict.violations += [complaint for caller in callers for complaint in caller.unanswered]


def _driver(settings: Settings, stack: Stack, writers: Writers, load: Load, verdict: Verdict) -> Driver:
    """The driver with the incidents of this run."""
    draws = random.Random(f"causes:{settings.seed}")
    causes: dict[str, Callable[[], object]] = {
        "worker killed": lambda: kill_worker(stack.web.pid, draws),
        "writer killed": lambda: writers.kill_one(draws),
        "engine killed": stack.engine.restart,
        "engine cut off": lambda: cut_off(stack.proxy, draws),
        "disk full": lambda: fill_disk(stack.engine, draws),
        "clocks jumped": lambda: jump_clocks(stack.clock, draws),
    }
    counts = settings.incidents
    if why := why_no_full_disk(stack.engine):
        verdict.skipped.append(f"full disks: {why}")
        del counts["disk full"]
    return Driver(schedule(settings.seed, settings.length, counts), load.progress, causes)


def _callers(settings: Settings, stack: Stack, recorder: Recorder) -> list[Caller]:
    """The clients that use HTTP. Every fourth is hasty: it waits only briefly, and makes one to three attempts."""
    patient, hasty = ask_web(stack, 90), ask_web(stack, HASTY_SECONDS)
    return [
        Caller(
            f"web-{n}",
            recorder,
            patient if n % 4 else hasty,
            attempts=MOST_ATTEMPTS if n % 4 else 1 + n // 4 % 3,
            seed=settings.seed,
        )
        for n in range(settings.clients - settings.api_clients)
    ]


def _watch(
    clients: list[Future[None]], callers: list[Caller], driver: Driver, load: Load, say: Callable[[str], object]
) -> None:
    """Wait until every client is done, with a line of progress each minute. Raises the error of a failed client."""
    minutes = itertools.count(1)
    while wait(clients, timeout=60 * next(minutes) - load.seconds).not_done:
        words = sum((caller.words for caller in callers), Counter[str]())
        incidents = Counter(incident.kind for incident in driver.done)
        say(f"{load.seconds / 60:.0f} min: {load.given} tickets wanted, {_counts(words)}; {_counts(incidents)}")
    for client in clients:
        client.result()


def _repeat_some(settings: Settings, stack: Stack, recorder: Recorder, load: Load, verdict: Verdict) -> None:
    """Send some earlier requests again. Each repeat must succeed; the laws of `history` check its answer."""
    client = Caller("again", recorder, ask_web(stack, 90), attempts=1, seed=settings.seed)
    draws = random.Random(f"repeats:{settings.seed}")
    for index in draws.sample(range(load.given), min(REPEATS, load.given)):
        word = client.ask(ticket(settings, index))
        verdict.claim(word.what == "ok", f"{ticket(settings, index).token} repeated: {word}")


def _judge(settings: Settings, stack: Stack, recorder: Recorder, verdict: Verdict) -> None:
    """Add what is stored and the promises of the strategy to each history, and check it, one after the other."""
    for scope in sorted(path.stem for path in recorder.path("").parent.iterdir()):
        is_ticket = scope in settings.keys
        strategy = import_string({**base.SEQUENCES, **SEQUENCES, **HELD}[_sequence(scope)]["STRATEGY"])
        flags = {"gapless": strategy.gapless, "ordered": strategy.ordered_across_processes}
        recorder.append({"what": "scope", "scope": scope, **flags})
        for record in (stored_tickets if is_ticket else stored_by_api)(stack.engine.endpoint, scope):
            recorder.append({**record, "scope": scope})
        with recorder.path(scope).open() as lines:
            (history,) = read(lines)
        verdict.judge(history)
        if is_ticket:
            _compare(history, listed_tickets(stack, scope), verdict)


def _compare(history: History, listed: Iterator[tuple[int, str]], verdict: Verdict) -> None:
    stored = ((number, history.stored[number].content) for number in sorted(history.stored, reverse=True))
    differences = (pair for pair in itertools.zip_longest(stored, listed) if pair[0] != pair[1])
    for item, shown in itertools.islice(differences, 1):
        verdict.claim(False, f"{history.scope}: {item} is stored, the API lists {shown}")


def _sequence(scope: str) -> str:
    return scope.partition(".")[0] if "." in scope else "tickets"


def listed_tickets(stack: Stack, project: str) -> Iterator[tuple[int, str]]:
    """The number and title of each ticket of a project, newest first, from the pages of the API."""
    page: str | None = f"/api/projects/{project}/tickets/"
    while page:
        content = stack.ask("GET", page).content
        yield from ((ticket["number"], ticket["title"]) for ticket in content["results"])
        page = content["next"]


def main() -> int:
    """The command line. The exit status is 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Settings()).items():
        kind = type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, help=f"default {default}")
    parser.set_defaults(seed=random.SystemRandom().randrange(10**6))
    settings = Settings(**vars(parser.parse_args()))
    print(settings, flush=True)
    folder = KEPT / f"{time.strftime('%Y-%m-%d-%H-%M-%S')}-{settings.seed}"
    folder.mkdir(parents=True)
    verdict = soak(settings, folder, lambda line: print(line, flush=True))
    print(verdict.summary())
    if not verdict.violations:
        shutil.rmtree(folder)
        return 0
    print(f"kept: {folder} (python -m project.proof.faults.history {folder / 'history'}/*)")
    return 1


if __name__ == "__main__":
    sys.exit(main())
