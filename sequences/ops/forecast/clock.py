"""A clock that jumps from one event to the next, and what tasks wait for.

A task is a generator. What it yields says when it goes on: a number of seconds, or a `Gate`. Tasks that are due at the
same moment go on in the order in which they became due, so that one seed has one course.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from typing import TypeVar

__all__ = ["Clock", "Gate", "Line", "Server", "Task", "Wait"]

T = TypeVar("T")


class Clock:
    """The time in seconds, and the tasks that go on later."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Task]] = []
        self._started = 0

    def start(self, task: Task, after: float = 0.0) -> None:
        """Have a task go on after so many seconds."""
        self._started += 1
        heapq.heappush(self._due, (self.now + after, self._started, task))

    def run(self, until: float = float("inf")) -> None:
        """Let the tasks run until none is due before this moment."""
        while self._due and self._due[0][0] <= until:
            self.now, _, task = heapq.heappop(self._due)
            self._resume(task)

    def _resume(self, task: Task) -> None:
        try:
            wait = next(task)
        except StopIteration:
            return
        if isinstance(wait, Gate):
            wait.admit(self, task)
        else:
            self.start(task, wait)


class Gate:
    """Who waits at it goes on when it is opened; it stays open."""

    __slots__ = ("_clock", "_open", "_tasks")

    def __init__(self) -> None:
        self._open = False
        self._clock: Clock | None = None
        self._tasks: list[Task] = []

    def admit(self, clock: Clock, task: Task) -> None:
        """Let a task wait, or go on at once."""
        if self._open:
            clock.start(task)
            return
        self._clock = clock
        self._tasks.append(task)

    def open(self) -> None:
        """Let all go on that wait, and all who come."""
        self._open = True
        for task in self._tasks:
            assert self._clock is not None
            self._clock.start(task)


Wait = float | Gate
Steps = Generator[Wait, None, T]
Task = Generator[Wait, None, None]


class Line:
    """Takes turns: first come, first served."""

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[Gate] = deque()

    def take(self) -> Steps[None]:
        """Wait for the turn."""
        if self._taken:
            gate = Gate()
            self._waiting.append(gate)
            yield gate
        self._taken = True

    def give_back(self) -> None:
        """Give the turn to the next one, if anybody waits."""
        if self._waiting:
            self._waiting.popleft().open()  # it stays taken
        else:
            self._taken = False


class Server:
    """Does one thing after another, such as a process under the interpreter's lock."""

    __slots__ = ("_clock", "_free_at")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._free_at = 0.0

    def work(self, seconds: float) -> Steps[None]:
        """Wait until it is free, and then for so many seconds."""
        now = self._clock.now
        self._free_at = max(self._free_at, now) + seconds
        if self._free_at > now:
            yield self._free_at - now
