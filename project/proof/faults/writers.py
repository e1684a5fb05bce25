"""Writers that use the Python API, in processes of their own.

`Writers` starts, kills and stops the processes. The functions run in them, until their standard input is closed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from project.paths import ROOT
from project.proof.faults import clock, worker
from project.proof.faults.callers import MOST_ATTEMPTS, Caller, ask_api
from project.proof.faults.elsewhere import begin
from project.proof.faults.history import Asked, Recorder
from project.proof.faults.stack import PREFIX, Stack

__all__ = ["Writers", "main"]

PATIENCE_SECONDS = 120.0
LONGEST_PAUSE = 0.1


class Writers:
    """The running processes. Each has a place, and the number of processes in this place before it."""

    def __init__(self, stack: Stack, folder: Path, scopes: Sequence[str], *, clients: int, seed: int) -> None:
        self._stack = stack
        self._folder = folder
        self._arguments = [f"--seed={seed}", *scopes]
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
        about = [f"--name=api{place}.{self._lives[place]}", f"--threads={self._threads[place]}"]
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


def wanted(name: str, scopes: Sequence[str], seed: int, stopping: threading.Event) -> Iterator[Asked]:
    """The requests of one client: items in drawn scopes, with pauses between them, until `stopping` is set."""
    draws = random.Random(f"{seed}:{name}:wanted")
    count = 0
    while not stopping.wait(draws.uniform(0, LONGEST_PAUSE)):
        token = f"{name}-{count}"
        yield Asked(draws.choice(scopes), token, f"{token} {draws.randrange(10**6)}")
        count += 1


def serve(options: argparse.Namespace, stopping: threading.Event) -> list[str]:
    """Let the clients write until standard input is closed. Returns complaints about requests without an answer."""
    callers = [
        Caller(
            f"{options.name}-{n}",
            Recorder(options.history),
            ask_api,
            attempts=1 if n % 2 else MOST_ATTEMPTS,
            seed=options.seed,
        )
        for n in range(options.threads)
    ]
    with ThreadPoolExecutor(options.threads) as pool:
        work = [
            pool.submit(caller.serve, wanted(caller.name, options.scopes, options.seed, stopping)) for caller in callers
        ]
        sys.stdin.read()
        stopping.set()
    for client in work:
        client.result()
    return [complaint for caller in callers for complaint in caller.unanswered]


def main() -> int:
    """The command line of one process. The exit status is 1 if a request was left unanswered, or a client failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--stranger", action="store_true")
    parser.add_argument("scopes", nargs="+")
    options = parser.parse_args()
    clock.install(Path(os.environ[worker.CLOCK]))
    begin(os.environ["AWS_ENDPOINT_URL_DYNAMODB"], PREFIX)
    if options.stranger:
        worker.estrange()
    unanswered = serve(options, threading.Event())
    print(*unanswered, sep="\n", file=sys.stderr)
    return 1 if unanswered else 0


if __name__ == "__main__":
    sys.exit(main())
