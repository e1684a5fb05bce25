"""Interruptions of the main thread by a signal's handler: at a moment, or at a place in the code.

The interpreter runs a handler when a function is entered and when one has returned. `Alarm` is a real signal after a
real time. `Place` is exact: it counts these points in our code, and interrupts at one of them. A handler may *do*
something, and then the interrupted call goes on; or it may *throw* an error, and then the call raises this error.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import pytest
from botocore.client import BaseClient
from urllib3 import connectionpool

import sequences
from sequences.dynamodb import connections

__all__ = ["POOL", "Alarm", "Interruption", "Place", "ringing"]

OURS = (*(str(Path(str(package.__file__)).parent) for package in (sequences, futures)), contextlib.__file__)
"""Our code, and the standard library's `concurrent.futures` and `contextlib`, which it uses."""

POOL = (connectionpool.__file__, connections.__file__, queue.__file__)
"""The code that takes a free connection from the pool, and gives it back."""


class Interruption:
    """What a handler does, or throws, once. An error in what it does is raised after the interrupted call."""

    def __init__(self, do: Callable[[], object] | None = None, *, throw: type[BaseException] | None = None) -> None:
        self._do = do
        self._throw = throw
        self._failure: BaseException | None = None
        self.came = False

    def come(self) -> None:
        """Interrupt."""
        self.came = True
        if self._throw:
            raise self._throw
        try:
            if self._do:
                self._do()
        except BaseException as failure:  # noqa: BLE001 - raised by `settle`
            self._failure = failure

    def settle(self) -> None:
        """Raise what went wrong."""
        if self._failure:
            raise self._failure


class Alarm:
    """The timer of this process. Its first signal interrupts, and its second one fails the test."""

    def __init__(self) -> None:
        self._interruption: Interruption | None = None
        self.hung = False

    @contextmanager
    def within(self, seconds: float, *, after: float = 0.0, interruption: Interruption | None = None) -> Iterator[None]:
        """Interrupt the block after `after` seconds. Fail the test if the block hangs for `seconds`."""
        self._interruption = interruption
        try:
            signal.setitimer(signal.ITIMER_REAL, after if interruption else seconds, seconds)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if interruption:
            interruption.settle()

    def rings(self, *_: object) -> None:
        """Handle the signal."""
        interruption, self._interruption = self._interruption, None
        if interruption is None:
            self.hung = True
            pytest.fail("the call hangs")
        interruption.come()


@contextmanager
def ringing() -> Iterator[Alarm]:
    """An alarm for a test. The former timer and handler are restored after it."""
    alarm = Alarm()
    timer, handler = signal.getitimer(signal.ITIMER_REAL), signal.signal(signal.SIGALRM, alarm.rings)
    try:
        yield alarm
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)
        if alarm.hung:
            _unlock()


def _unlock() -> None:
    """Unlock the locks that a failed test still holds. Later tests, and the end of the process, would wait for them."""
    for thing in gc.get_objects():
        kind = type(thing)  # and not what a proxy, whose object is gone, would say
        lock: Any = getattr(thing, "mutex", None) if issubclass(kind, queue.Queue) else None
        if issubclass(kind, futures.ThreadPoolExecutor):
            lock = vars(thing)["_idle_semaphore"]._cond._lock
        if lock and lock.locked():
            lock.release()


class Place:
    """Interrupts at the n-th point at which a handler may run. `reached` says whether there was such a point.

    Points in `files` count, and points in `threading` that they reach. A point counts once for each caller. Points in
    botocore count only if `files` names them. Points of a finalizer do not count: Python lets no exception out of it.
    """

    def __init__(self, number: int, interruption: Interruption, *, files: tuple[str, ...] = OURS) -> None:
        self._number = number
        self._interruption = interruption
        self._files = files
        self._passed: set[tuple[object, ...]] = set()

    @property
    def reached(self) -> bool:
        return len(self._passed) >= self._number

    def __enter__(self) -> Place:
        send = BaseClient._make_api_call  # type: ignore[attr-defined]
        self._patch = mock.patch.object(BaseClient, "_make_api_call", _unseen(send) if self._files is OURS else send)
        self._patch.start()
        sys.setprofile(self._at)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self._patch.stop()
        self._interruption.settle()

    def _at(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "c_return") or not self._counts(frame):
            return
        if frame.f_code.co_name == "<genexpr>":  # entered once more when it is closed, where no handler can run
            return
        caller = frame.f_back
        way = (frame.f_code, frame.f_lasti, event, caller and caller.f_code, caller and caller.f_lasti)
        if way not in self._passed and not _finalizes(frame):
            self._passed.add(way)
            if self.reached:
                sys.setprofile(None)
                self._interruption.come()

    def _counts(self, frame: FrameType | None) -> bool:
        while frame and frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(self._files)


def _finalizes(frame: FrameType | None) -> bool:
    while frame and frame.f_code.co_filename != weakref.__file__:
        frame = frame.f_back
    return frame is not None


def _unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, but its points do not count."""

    def quietly(*args: Any, **named: Any) -> Any:
        watching = sys.getprofile()
        sys.setprofile(None)
        try:
            return function(*args, **named)
        finally:
            sys.setprofile(watching)

    return quietly
