"""Writers that use the Python API, in processes of their own.

`Writers` starts, kills and stops the processes. The functions run in them, until their standard input is closed. Busy
clients share some scopes, and repeat what they may repeat. Each quiet client has scopes of its own: it makes one to
four requests at once. If one of them fails, it often waits so long that a held write finds its scope as it was.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from project.paths import ROOT
from project.proof.faults import clock, worker
from project.proof.faults.api import STRATEGIES, ThirdClient, ask_api, drawn
from project.proof.faults.callers import MOST_ATTEMPTS, Caller
from project.proof.faults.elsewhere import begin
from project.proof.faults.history import Asked, Recorder
from project.proof.faults.stack import PREFIX, Stack

__all__ = ["LONGEST_HELD", "Writers", "main"]

PATIENCE_SECONDS = 120.0
LONGEST_PAUSE = 0.1
LONGEST_HELD = 8
"""The seconds for which the proxy holds a write of a quiet scope at most."""

QUIET_CLIENTS = 8
AT_ONCE = (1, 1, 2, 3, 4)


class Writers:
    """The running processes. Each has a place, and the number of processes in this place before it."""

    def __init__(self, stack: Stack, folder: Path, scopes: Sequence[str], *, clients: int, seed: int) -> None:
        self._stack = stack
        self._folder = folder
        self._arguments = [f"--seed={seed}", f"--engine={stack.engine.endpoint}", *scopes]
        shares = [clients // 2, clients - clients // 2]
        self._threads = [share for share in shares if share]
        self._lives = [0 for _ in self._threads]
        self._processes = [self._start(place) for place in range(len(self._threads))]

    def kill_one(self, draws: random.Random) -> None:
        """Kill one process, and start another one in its place. Nobody repeats the requests of the first."""
        place = draws.randrange(len(self._processes))
        self._processes[place].kill()
        self._processes[place].communicate()
        self._lives[place] += 1
        self._processes[place] = self._start(place)

    def stop(self) -> list[str]:
        """Let every writer finish its request, and end. Returns what went wrong."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        return [complaint for process in self._processes for complaint in self._end(process)]

    def kill(self) -> None:
        """End all processes at once. Safe to call again."""
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, place: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "project.proof.faults.writers", f"--history={self._folder}"]
        about = [f"--place={place}", f"--life={self._lives[place]}", f"--threads={self._threads[place]}"]
        stranger = ["--stranger"] if place % 2 else []
        with (self._stack.folder / "writers.log").open("ab") as log:
            return subprocess.Popen(
                [*command, *about, *stranger, *self._arguments],
                cwd=ROOT,
                env=self._stack.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> list[str]:
        try:
            code = process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            return [f"a process of the Python API did not end within {PATIENCE_SECONDS:.0f} s"]
        return [f"a process of the Python API ended with {code}: see writers.log"] if code else []


def wanted(
    name: str, scopes: Sequence[str], seed: int, third: ThirdClient, stopping: threading.Event
) -> Iterator[Asked]:
    """The requests of a busy client, with pauses between them, until `stopping` is set."""
    draws = random.Random(f"{seed}:{name}:wanted")
    for count in itertools.count():
        if stopping.wait(draws.uniform(0, LONGEST_PAUSE)):
            return
        scope = draws.choice(scopes)
        third.change(scope, count, holds=draws.random() < 0.7)
        yield drawn(draws, scope, f"{name}-{count}", own_key=count)


def serve_quietly(
    place: str, callers: Sequence[Caller], seed: int, third: ThirdClient, stopping: threading.Event
) -> None:
    """Make requests in the scopes of one quiet client, until `stopping` is set.

    Their conditions change once while the requests are under way. After the answers all conditions hold.

        first send   --A---------------- held ----------------|--stored
        send again        --A--|--refused, the condition fails
        third client                  --the condition holds--
    """
    draws = random.Random(f"{seed}:{callers[0].name}:quiet")
    with ThreadPoolExecutor(len(callers)) as pool:
        for count in itertools.count():
            scope = f"held-{draws.choice(STRATEGIES)}.{place}"
            asked = {caller: drawn(draws, scope, f"{caller.name}-{count}", own_key=count) for caller in callers}
            at_once, at_first, pause = draws.choice(AT_ONCE), draws.random() < 0.5, draws.uniform(0, 1)
            afterwards = draws.choice((0, LONGEST_HELD + 1, LONGEST_HELD + 1))
            third.change(scope, count, holds=at_first)
            under_way = [pool.submit(caller.ask, asked[caller]) for caller in callers[:at_once]]
            if wait(under_way, timeout=pause).not_done:
                third.change(scope, count, holds=not at_first)
            words = {client.result().what for client in under_way}
            third.change(scope, count, holds=True)
            if stopping.wait(0 if words == {"ok"} else afterwards):
                return


def serve(options: argparse.Namespace, stopping: threading.Event) -> list[str]:
    """Let the clients write until standard input is closed. Returns complaints about requests without an answer."""
    third, recorder, name = ThirdClient(options.engine), Recorder(options.history), f"api{options.place}.{options.life}"

    def client(about: object, attempts: int = 1) -> Caller:
        return Caller(f"{name}-{about}", recorder, ask_api, attempts=attempts, seed=options.seed)

    busy = [client(n, 1 if n % 2 else MOST_ATTEMPTS) for n in range(options.threads)]
    with ThreadPoolExecutor(options.threads + QUIET_CLIENTS) as pool:
        work = [
            pool.submit(caller.serve, wanted(caller.name, options.scopes, options.seed, third, stopping))
            for caller in busy
        ]
        for n in range(QUIET_CLIENTS):
            callers = [client(f"{n}{letter}") for letter in "abcd"]
            work.append(pool.submit(serve_quietly, f"{options.place}-{n}", callers, options.seed, third, stopping))
        sys.stdin.read()
        stopping.set()
    for done in work:
        done.result()
    return [complaint for caller in busy for complaint in caller.unanswered]


def main() -> int:
    """The command line of one process. The exit status is 1 if a request was left unanswered, or a client failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--place", type=int, required=True)
    parser.add_argument("--life", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--stranger", action="store_true")
    parser.add_argument("scopes", nargs="+")
    options = parser.parse_args()
    clock.install(Path(os.environ[worker.CLOCK]))
    begin(os.environ["AWS_ENDPOINT_URL_DYNAMODB"], PREFIX, patiently=False)
    if options.stranger:
        worker.estrange()
    unanswered = serve(options, threading.Event())
    print(*unanswered, sep="\n", file=sys.stderr)
    return 1 if unanswered else 0


if __name__ == "__main__":
    sys.exit(main())
