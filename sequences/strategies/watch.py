"""Looks for changes by other processes, in a thread of its own, for what a process serves from its memory."""

import _thread
import logging
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from math import inf

from ..commit.retries import Deadline
from ..commit.waiters import TOOK_TOO_LONG
from ..dynamodb import elapsed
from ..exceptions import TableMissing
from ..rows.assignments import Assigner
from ..rows.layout import Send
from ..types import Scope

logger = logging.getLogger(__name__)

LATE_SECONDS = 60.0  # how long after the time in it a line may appear, beside the deadline of its change


class Watch:
    """Calls `follow` with the scope of every new line of the history, within `watch_seconds`, from `start` to `stop`,
    and then `compare`, which looks at what the history does not tell.

    Lines of the minute before the start count as new, too. What a look misses because it fails is seen by a later one;
    of several failures in a row the first is logged. The thread does not delay the end of the process, and ends when
    nobody uses the watch any more. Cost: 1 request and 1 read unit every `watch_seconds`, beside what `compare` costs.
    """

    def __init__(self, assigner: Assigner, follow: Callable[[Scope], None], compare: Callable[[Send], None]) -> None:
        self.history, self.wall, self.new_deadline = assigner.history, assigner.wall, assigner.deadline
        self.follow, self.compare = follow, compare
        self.seconds: float = min(assigner.option["watch_seconds"], threading.TIMEOUT_MAX)
        self._running: threading.Lock | None = None  # held while the thread is to run
        self._begun = False
        self._looking = threading.RLock()  # a signal handler may look while its thread does
        self.clock = elapsed
        self.blind_at = inf
        """When the last look is too old to serve from memory (seconds of the clock)."""
        self._looked_at = 0.0
        self._seen: frozenset[str] = frozenset()
        self._fails = False

    def start(self) -> None:
        """Begin, unless it runs. If no thread can be started, the next call tries again; `catch_up` looks meanwhile."""
        if self._running is not None:
            return
        if not self._begun:  # nothing is held yet: what comes later was reserved later than the changes before
            self._looked_at, self._begun = self.wall(), True
            self.blind_at = self.clock() + self._patience
        running, started = threading.Lock(), False
        running.acquire()
        try:
            self._running = running
            _thread.start_new_thread(_run, (weakref.ref(self), running, self.seconds))
            started = True
        except RuntimeError:  # there are too many threads, or the interpreter ends
            pass
        finally:
            if not started:  # a signal handler may have raised, too
                self._running = None

    def stop(self) -> None:
        """End the thread. Never waits, so that a forked child, in which the thread is not, may call it."""
        running, self._running = self._running, None
        self._begun, self.blind_at = False, inf
        if running is not None:
            with suppress(RuntimeError):  # another thread has stopped it meanwhile
                running.release()

    @property
    def runs(self) -> bool:
        """Whether it was started, and not stopped since."""
        return self._running is not None

    def runs_by(self, running: threading.Lock) -> bool:
        """Whether it was started with this lock, and not stopped since."""
        return self._running is running

    def look(self) -> None:
        """Follow the lines that no look has seen yet, and compare. One query, or one for each MB of lines."""
        send = self.new_deadline().send
        try:
            with self._looking:
                self._look(send)
            self.compare(send)
        except Exception as error:  # noqa: BLE001 - whatever fails here, values go on
            logger.log(
                logging.DEBUG if self._fails else logging.WARNING,
                "sequence %s: cannot see whether other processes change it; looks again every %g s: %s",
                self.history.alias, self.seconds, error,
            )  # fmt: skip
            self._fails = True
        else:
            self._fails = False

    def catch_up(self, deadline: Deadline) -> None:
        """Look now if the last look is too old. Raises what the look raises: then nothing may be served from memory.

        holder:    look | stopped ........................... | goes on: looks, and finds the freeze
        operator:         freeze | waits until all have looked, or serve nothing | void
        """
        if self.clock() < self.blind_at:
            return
        try:
            if not self._looking.acquire(timeout=max(deadline.left, 0.0)):
                raise deadline.give_up(TOOK_TOO_LONG)
            if self.clock() >= self.blind_at:  # no other thread has looked meanwhile
                with suppress(TableMissing):
                    self._look(deadline.read)
        finally:
            if self._looking._is_owned():  # type: ignore[attr-defined]  # a signal handler may have raised before or after
                self._looking.release()

    def _look(self, send: Send) -> None:
        began, now = self.clock(), self.wall()
        since = datetime.fromtimestamp(max(0.0, self._looked_at - LATE_SECONDS - self.new_deadline().seconds), UTC)
        try:
            lines = self.history.scopes_since(since, send)
        except TableMissing:  # and no change can be stored without it
            self._saw(began)
            raise
        for scope in {lines[key] for key in lines.keys() - self._seen}:
            self.follow(scope)
        self._looked_at, self._seen = now, frozenset(lines)
        self._saw(began)

    def _saw(self, began: float) -> None:
        if self._begun:
            self.blind_at = began + self._patience

    @property
    def _patience(self) -> float:
        """How old the last look may be: by then the next one has been made, or has failed."""
        return self.seconds + self.new_deadline().seconds


def _run(reference: weakref.ref[Watch], running: threading.Lock, seconds: float) -> None:
    """Look every so often. Between two looks nothing here keeps the watch in memory."""
    while not running.acquire(timeout=seconds):
        watch = reference()
        if watch is None or not watch.runs_by(running):
            return
        try:
            watch.look()
        except BaseException:
            if watch.runs_by(running):  # else it was stopped meanwhile, as by a test that takes its engine away
                raise
        del watch
