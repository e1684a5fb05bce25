"""Serves awaiting callers by threads: one thread serves all callers of a scope that await at the same time.

    caller A   --> thread: [write A]--------> thread: [write B C D]-->
    caller B            \\--gathers-----------/
    caller C               \\--gathers-------/
    caller D                  \\--gathers----/

While a thread serves the callers of a scope, newcomers gather, and the next write takes them all. So a thousand callers
need one thread and few requests. The thread makes an ordinary call: threads and event loops share the commit queues.

The guarantees, each with a test:

1. A call that is cancelled while it gathers stores nothing. One that a thread has begun is stored whole, or refused.
2. Cancelling one call, or closing its event loop, does not harm the others.
3. An event loop waits neither for the engine nor for a lock that somebody holds while waiting for it. Exception: where
   no thread can be started and none is there, it serves its callers itself.
4. Every caller has its own deadline, and gets its answer by then or `LATE_SECONDS` later.
5. A slow scope leaves threads to the others.
6. A scope takes no memory when nobody waits for it. A forked child begins without callers and threads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .. import dynamodb
from ..commit.requests import MOST_BYTES, Pending
from ..commit.retries import Deadline
from ..commit.waiters import LATE_SECONDS, TOOK_TOO_LONG
from ..exceptions import SequenceError
from ..registry import strategies
from ..services.reporting import report
from ..types import Scope

if TYPE_CHECKING:
    from ..strategies.base import Strategy

A = TypeVar("A")

MOST_THREADS = 64  # the client keeps so many connections; another thread would open one for each request
MOST_THREADS_A_SCOPE = 8  # for calls that go alone


class Call(ABC):
    """One awaiting call: its requests, what it takes of a write, and how its caller is woken in its event loop."""

    actions = 1
    size = 0
    most_together: float = inf
    """How many actions the calls of one group may have; with 0 each call goes alone."""
    writes = True

    def __init__(
        self, strategy: Strategy, scope: Scope, deadline: Deadline, pendings: Sequence[Pending[Any]] = ()
    ) -> None:
        self.strategy = strategy
        self.scope = scope
        self.deadline = deadline
        self.pendings = pendings
        self.error: Exception | None = None
        self.context = copy_context()  # so that what a thread logs for it has the id of its request
        self.context.run(dynamodb.count_apart)
        self.loop = asyncio.get_running_loop()
        self.served = self.loop.create_future()
        self.taken = False  # a thread has begun to serve it
        self.gone = False  # its caller awaits it no longer

    @property
    def answered(self) -> bool:
        """Whether its requests have their answers, among them its errors."""
        return bool(self.pendings) and all(pending.answer is not None for pending in self.pendings)

    @classmethod
    @abstractmethod
    def serve(cls, calls: Sequence[Any]) -> None:
        """Answer a group of calls of one scope, in a thread. An error that it raises is the answer of them all."""

    def fail(self, error: Exception) -> None:
        """Answer with an error what has no answer yet."""
        self.error = self.error or error
        if isinstance(error, SequenceError):
            for pending in self.pendings:
                pending.settle(error)

    def report(self) -> None:
        """Log how it ended."""
        report(self.strategy, self.scope, self.pendings)


@dataclass(slots=True, eq=False)
class Gathering:
    """The calls of one kind and scope that wait for a thread, and how many threads serve that scope."""

    key: _Key
    waiting: deque[Call] = field(default_factory=deque)
    threads: int = 0

    def take(self) -> list[Call]:
        """The calls of the next group, in the order in which they came; those that nobody awaits are left out."""
        group: list[Call] = []
        room, space = 0.0, 0
        while self.waiting:
            call = self.waiting[0]
            if not call.gone and not call.loop.is_closed():
                if not group:
                    room, space = call.most_together, MOST_BYTES
                elif call.actions > room or call.size > space:
                    break
                room, space = room - call.actions, space - call.size
                call.taken = True
                group.append(call)
            self.waiting.popleft()
        return group


class Gatherings:
    """The gatherings of this process, and the threads that serve them, one group after the other."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin without callers and threads: a forked child has none of its parent's."""
        self._lock = threading.Lock()  # never held while anybody waits for something else
        self._by_key: dict[_Key, Gathering] = {}
        self._begin_threads()

    def _begin_threads(self) -> None:
        self._lacked_one = False
        self._has_threads = threading.Event()
        self._threads = ThreadPoolExecutor(
            MOST_THREADS, thread_name_prefix="sequences", initializer=self._has_threads.set
        )

    async def serve(self, call: Call) -> None:
        """Return when the call is answered. At its deadline give up: at once if no thread has begun with it."""
        try:
            self._join(call)
            await asyncio.wait([call.served], timeout=max(call.deadline.left, 0.0))
            if not call.served.done() and not self._withdraw(call):
                await asyncio.wait([call.served], timeout=max(call.deadline.left + LATE_SECONDS, 0.0))
            if not call.served.done():
                self._give_up(call)
        finally:
            call.gone = True
        if call.error and not call.answered:
            raise call.error

    def _join(self, call: Call) -> None:
        key = (type(call), call.strategy, call.scope)
        with self._lock:
            gathering = self._by_key.get(key)
            if gathering is None:
                gathering = self._by_key[key] = Gathering(key)
            gathering.waiting.append(call)
            starts = gathering.threads < (1 if call.most_together else MOST_THREADS_A_SCOPE)
            gathering.threads += starts
        if starts:
            self._hand_over(partial(self._serve_group, gathering))

    def _hand_over(self, work: Callable[[], object]) -> None:
        """Have a thread do it, or do it here if there is none and none can be started."""
        waiting = [work]
        try:
            self._threads.submit(_do, waiting)
        except RuntimeError:  # it may be in the queue all the same, where a thread that is busy now finds it
            self._lacked_one = True
            if not self._has_threads.is_set() or not threading.main_thread().is_alive():  # or the interpreter ends
                _do(waiting)

    def _withdraw(self, call: Call) -> bool:
        """Take a call back; return False if a thread has begun with it."""
        with self._lock:
            call.gone = not call.taken
        return call.gone

    def _give_up(self, call: Call) -> None:
        """Answer a call with an error. A thread logs it: the one that has begun with the call, or another."""
        call.fail(call.deadline.give_up(TOOK_TOO_LONG, outcome_unknown=call.taken and call.writes))
        if not call.taken:
            self._hand_over(partial(call.context.run, call.report))

    def _serve_group(self, gathering: Gathering) -> None:
        """Serve one group, in a thread. If there are more, they queue for a thread behind other scopes."""
        with self._lock:
            group = gathering.take()
        _answer(group)
        try:
            self._go_on(gathering)  # before the report: what it calls may await a number of this scope
            for call in group:
                call.context.run(call.report)
        finally:
            _wake(group)

    def _go_on(self, gathering: Gathering) -> None:
        with self._lock:
            if not gathering.waiting:
                gathering.threads -= 1
                if not gathering.threads:
                    del self._by_key[gathering.key]
                if self._lacked_one and not self._by_key:  # Python 3.11 counts the busy threads as idle ones then
                    self._begin_threads()
                return
        self._hand_over(partial(self._serve_group, gathering))


def _do(waiting: list[Callable[[], object]]) -> None:
    """Do what waits, unless it has been done."""
    try:
        work = waiting.pop()
    except IndexError:
        return
    work()


def _answer(group: Sequence[Call]) -> None:
    try:
        if group:
            group[0].context.run(group[0].serve, group)
    except Exception as error:  # noqa: BLE001 - the callers raise it
        for call in group:
            call.fail(error)


def _wake(group: Sequence[Call]) -> None:
    """Wake the callers of a group, each in its event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Call]] = defaultdict(list)
    for call in group:
        by_loop[call.loop].append(call)
    for loop, calls in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits there
            loop.call_soon_threadsafe(_served, calls)


def _served(calls: Sequence[Call]) -> None:
    for call in calls:
        if not call.served.done():
            call.served.set_result(None)


_Key: TypeAlias = "tuple[type[Call], Strategy, Scope]"

gatherings = Gatherings()
os.register_at_fork(after_in_child=gatherings.reset)


async def in_thread(sequence: str, scope: str | None, work: Callable[[], A], *, writes: bool = True) -> A:
    """Do some work in a thread, apart from the calls of others."""
    call = _Alone(strategies[sequence], scope, work)
    call.writes = writes
    await gatherings.serve(call)
    done: A = call.done
    return done


class _Alone(Call):
    """A call that does something of its own, and reports it itself."""

    most_together = 0
    done: Any

    def __init__(self, strategy: Strategy, scope: Scope, work: Callable[[], object]) -> None:
        super().__init__(strategy, scope, strategy.deadline())
        self.work = work

    @classmethod
    def serve(cls, calls: Sequence[_Alone]) -> None:
        for call in calls:
            call.done = call.work()
