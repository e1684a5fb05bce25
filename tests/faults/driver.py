"""Kills processes with SIGKILL at seeded random moments and waits until they are back.

A moment is a point of progress ("after 4,711 tickets were acknowledged") and a pause of some milliseconds:
so every kill happens in the middle of the work, on a fast machine and on a slow one. What is killed, and
how it comes back, is told by the caller: `kill_worker` knows gunicorn's workers, `Engine.restart` the
engine.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Driver", "Kill", "children", "kill_worker", "schedule"]

RECOVERY_SECONDS = 60.0


@dataclass(frozen=True, order=True)
class Kill:
    """One kill of `target`, `pause` seconds after the progress has come to `after`."""

    after: int
    pause: float
    target: str


def schedule(seed: int, length: int, counts: Mapping[str, int]) -> list[Kill]:
    """The kills of a run of `length` steps, `counts` of each target, in order; the same for the same seed."""
    draws = random.Random(f"kills:{seed}")
    targets = [target for target, count in counts.items() for _ in range(count)]
    first, last = length // 50, length * 9 // 10
    return sorted(Kill(draws.randint(first, last), draws.uniform(0, 0.05), target) for target in targets)


class Driver(threading.Thread):
    """Carries out a schedule. `done` lists the kills made; `failure` is what stopped it, if any."""

    def __init__(
        self, kills: list[Kill], progress: Callable[[], int], weapons: Mapping[str, Callable[[], object]]
    ) -> None:
        super().__init__(name="driver", daemon=True)
        self._kills = kills
        self._progress = progress
        self._weapons = weapons
        self._stop_asked = threading.Event()
        self.done: list[Kill] = []
        self.failure: Exception | None = None

    def run(self) -> None:
        """Kill at each moment of the schedule; a weapon returns when its target is back."""
        try:
            for kill in self._kills:
                if not self._wait_for(kill):
                    return
                self._weapons[kill.target]()
                self.done.append(kill)
        except Exception as error:  # noqa: BLE001 - told to the caller, who joins us
            self.failure = error

    def stop(self) -> None:
        """Make no further kills, and wait for the one under way."""
        self._stop_asked.set()
        self.join()

    def _wait_for(self, kill: Kill) -> bool:
        while self._progress() < kill.after:
            if self._stop_asked.wait(0.005):
                return False
        return not self._stop_asked.wait(kill.pause)


def children(parent: int) -> list[int]:
    """The ids of a process's children, oldest first."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return sorted(int(child) for child in listed.split())


def kill_worker(master: int, draws: random.Random) -> None:
    """Kill one worker of a gunicorn master and return when another has taken its place."""
    before = children(master)
    victim = draws.choice(before)
    os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + RECOVERY_SECONDS
    while victim in (now := children(master)) or len(now) < len(before):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no new worker within {RECOVERY_SECONDS:.0f} s")
        time.sleep(0.02)
