"""Writers that are running while a test changes their sequence, and the faults that meet them."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from project.proof.faults.plans import Rule
from sequences.commit.requests import Pending, allocated
from sequences.exceptions import SequenceFrozen, SequenceUnavailable
from sequences.strategies import Strategy

__all__ = ["FAULTS", "Writers", "put"]

FAULTS = [
    Rule(fault=fault, operation=operation, probability=0.05, seconds=0.05)
    for fault in ("lose-close", "late", "ThrottlingException")
    for operation in ("PutItem", "TransactWriteItems")
]


def put(strategy: Strategy, scope: str, title: str = "", token: str | None = None) -> int:
    """Store one item by a process, and return its value, however long the machine stands still meanwhile."""
    deadline = strategy.deadline()
    deadline.seconds = 60.0
    pending = Pending(strategy.item_writer.request({"title": title}, token), deadline)
    strategy.put(scope, [pending], deadline)
    return allocated(pending).value


class Writers:
    """Threads of processes that store items until they are stopped; what each got."""

    def __init__(self, name: str, scope: str, writers: list[Strategy]) -> None:
        self.name = name
        self.scope = scope
        self.told: Counter[int] = Counter()
        self.titles: dict[int, str] = {}
        self.refused: list[Exception] = []
        self.stopping = False
        self._pool = ThreadPoolExecutor(len(writers))
        self._running = [self._pool.submit(self._write, n, writer) for n, writer in enumerate(writers)]

    def _write(self, n: int, writer: Strategy) -> None:
        count = 0
        while not self.stopping:
            title = f"{self.name} {n}-{count}"
            try:
                value = put(writer, self.scope, title, token=f"{self.scope} {title}" if n % 2 else None)
            except SequenceFrozen as error:
                self.refused.append(error)
                continue
            except SequenceUnavailable as error:
                if not error.outcome_unknown:  # only an answer that was lost just before a freeze may end so
                    raise
                count += 1
                continue
            self.told[value] += 1
            self.titles[value] = title
            count += 1

    def stop(self) -> None:
        """Let every writer end its put; what it raised is raised here."""
        self.stopping = True
        for running in self._running:
            running.result(timeout=120)
        self._pool.shutdown()
