"""Looks for changes by other processes, in a thread of its own, for what a process serves from its memory."""

from __future__ import annotations

import _thread
import logging
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from ..retries import Deadline
from ..types import Scope
from .history import History

__all__ = ["Watch"]

logger = logging.getLogger(__name__)

LATE_SECONDS = 60.0  # how long after the time in it a line may appear, beside the deadline of its change


class Watch:
    """Calls `follow` with the scope of every new line of a history, within `seconds`, from `start` to `stop`.

    Lines of the minute before the start count as new, too. What a look misses because it fails is seen by a later one;
    of several failures in a row the first is logged. The thread does not delay the end of the process, and ends when
    nobody uses the watch any more. Cost: 1 request and 1 read unit every `seconds`.
    """

    def __init__(
        self,
        history: History,
        follow: Callable[[Scope], None],
        *,
        seconds: float,
        wall: Callable[[], float],
        new_deadline: Callable[[], Deadline],
    ) -> None:
        self._history = history
        self._follow = follow
        self._seconds = min(seconds, threading.TIMEOUT_MAX)
        self._wall = wall
        self._new_deadline = new_deadline
        self._running: threading.Lock | None = None  # held while the thread is to run
        self._looked_at = 0.0
        self._seen: frozenset[str] = frozenset()
        self._fails = False

    def start(self) -> None:
        """Begin, unless it is running. If no thread can be started now, the next call tries again."""
        if self._running is not None:
            return
        self._looked_at = self._wall()
        running, started = threading.Lock(), False
        running.acquire()
        try:
            self._running = running
            _thread.start_new_thread(_run, (weakref.ref(self), running, self._seconds))
            started = True
        except RuntimeError:  # there are too many threads, or the interpreter ends
            pass
        finally:
            if not started:  # a signal handler may have raised, too
                self._running = None

    def stop(self) -> None:
        """End the thread. Never waits, so that a forked child, in which the thread is not, may call it."""
        running, self._running = self._running, None
        if running is not None:
            with suppress(RuntimeError):  # another thread has stopped it meanwhile
                running.release()

    def runs_by(self, running: threading.Lock) -> bool:
        """Whether it was started with this lock, and not stopped since."""
        return self._running is running

    def look(self) -> None:
        """Follow the lines that no look has seen yet. One query, or one for each MB of lines."""
        try:
            self._look()
        except Exception as error:  # noqa: BLE001 - whatever fails here, values go on
            logger.log(
                logging.DEBUG if self._fails else logging.WARNING,
                "sequence %s: cannot see whether other processes change it; looks again every %g s: %s",
                self._history.alias, self._seconds, error,
            )  # fmt: skip
            self._fails = True
        else:
            self._fails = False

    def _look(self) -> None:
        now, deadline = self._wall(), self._new_deadline()
        since = datetime.fromtimestamp(max(0.0, self._looked_at - LATE_SECONDS - deadline.seconds), UTC)
        lines = self._history.scopes_since(since, deadline.send)
        for scope in {lines[key] for key in lines.keys() - self._seen}:
            self._follow(scope)
        self._looked_at, self._seen = now, frozenset(lines)


def _run(reference: weakref.ref[Watch], running: threading.Lock, seconds: float) -> None:
    """Look every so often. Between two looks nothing here keeps the watch in memory."""
    while not running.acquire(timeout=seconds):
        watch = reference()
        if watch is None or not watch.runs_by(running):
            return
        watch.look()
        del watch
