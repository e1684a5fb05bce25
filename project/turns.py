"""The threads of a web process, and whose request is next: callers take turns."""

from collections import Counter, deque
from typing import Any, NamedTuple

from waitress.task import ThreadedTaskDispatcher

from tickets import health


class Caller(NamedTuple):
    """Who asks, by their token, or their cookies, or else their address; and whether they only read."""

    name: str
    reads: bool

    @classmethod
    def of(cls, connection: Any) -> "Caller":
        """Who sent the request that is next on a connection. Whether a token is right is not looked at."""
        request = connection.requests[0]
        name = request.headers.get("AUTHORIZATION") or request.headers.get("COOKIE") or connection.addr[0]
        return cls(name, getattr(request, "command", "") in {"GET", "HEAD"})


class Turns:
    """Connections whose requests wait for a thread: what waitress asks of its queue.

    After each request the next caller has a turn, so that many requests of one delay another by one a thread. The reads
    of one caller have at most `most` threads; writes have all, as they are stored together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[Caller, deque[Any]] = {}  # in the order of their turns
        self._served: Counter[Caller] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __bool__(self) -> bool:
        return self._next() is not None

    def append(self, connection: Any) -> None:
        """Let the request of a connection wait."""
        self._waiting.setdefault(Caller.of(connection), deque()).append(connection)

    def popleft(self) -> "Turn":
        """The turn that is next."""
        caller = self._next()
        assert caller is not None
        waiting = self._waiting.pop(caller)
        turn = Turn(self, caller, waiting.popleft())
        if waiting:
            self._waiting[caller] = waiting
        self._served[caller] += 1
        return turn

    def end(self, caller: Caller) -> None:
        """A thread is free again. It looks for the next turn itself, so that nobody need be woken."""
        self._served[caller] -= 1
        if not self._served[caller]:
            del self._served[caller]

    def _next(self) -> Caller | None:
        free = (one for one in self._waiting if not one.reads or self._served[one] < self._most)
        return next(free, None)


class Turn(NamedTuple):
    """One request that has a thread."""

    turns: Turns
    caller: Caller
    connection: Any

    def service(self) -> None:
        """Work on it."""
        try:
            self.connection.service()
        finally:
            with self.connection.server.task_dispatcher.lock:
                self.turns.end(self.caller)


class Threads(ThreadedTaskDispatcher):  # type: ignore[misc] # waitress has no types
    """The threads that work on requests. What asks for the state of the process is left to the main thread.

    So a store that hangs, and with it every thread, does not make the process look dead.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.queue = Turns(most=max(1, count // 2))
        self._own: deque[Any] = deque()
        self.set_thread_count(count)

    def add_task(self, connection: Any) -> None:
        """Take the next request of a connection."""
        if connection.requests[0].path in health.OWN_STATE:
            self._own.append(connection)  # whose lock the caller holds: it is served later
        else:
            super().add_task(connection)

    def serve_own(self) -> None:
        """Answer what asks for the state of the process."""
        while self._own:
            self._own.popleft().service()
