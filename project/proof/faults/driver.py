"""Makes incidents happen at seeded random moments and waits until each is over.

A moment is a point of progress ("after 4,711 tickets", "after 90,000 milliseconds") and a pause of some milliseconds.
So every incident happens in the middle of the work, on fast and on slow machines. The caller defines what happens;
`incidents` has some functions for it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Driver", "Incident", "schedule"]


@dataclass(frozen=True, order=True)
class Incident:
    """One incident of a kind. It happens `pause` seconds after the progress reaches `after`."""

    after: int
    pause: float
    kind: str


def schedule(seed: int, length: int, counts: Mapping[str, int]) -> list[Incident]:
    """The incidents of a run of `length` steps, in order: `counts` of each kind. The same seed gives the same ones."""
    draws = random.Random(f"incidents:{seed}")
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    first, last = length // 50, length * 9 // 10
    return sorted(Incident(draws.randint(first, last), draws.uniform(0, 0.05), kind) for kind in kinds)


class Driver(threading.Thread):
    """Carries out a schedule. `done` lists the incidents so far. `failure` is the error that ended it, if any."""

    def __init__(
        self, incidents: list[Incident], progress: Callable[[], int], causes: Mapping[str, Callable[[], object]]
    ) -> None:
        super().__init__(name="driver", daemon=True)
        self._incidents = incidents
        self._progress = progress
        self._causes = causes
        self._stop_asked = threading.Event()
        self.done: list[Incident] = []
        self.failure: Exception | None = None

    def run(self) -> None:
        """Make each incident happen at its moment. A cause returns when its incident is over."""
        try:
            for incident in self._incidents:
                if not self._wait_for(incident):
                    return
                self._causes[incident.kind]()
                self.done.append(incident)
        except Exception as error:  # noqa: BLE001 - reported to the caller in `failure`
            self.failure = error

    def stop(self) -> None:
        """Start no more incidents, and wait for the current one."""
        self._stop_asked.set()
        self.join()

    def _wait_for(self, incident: Incident) -> bool:
        while self._progress() < incident.after:
            if self._stop_asked.wait(0.005):
                return False
        return not self._stop_asked.wait(incident.pause)
