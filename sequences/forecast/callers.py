"""The rules of our callers, played: group commit, one leader a process, the host's turns, memories, pauses, deadlines.

`commit_queues`, `leader`, `host_lock` and the strategies have these rules in earnest; each rule here names where. The
deadlines and their pauses are not played: they are those of `retries`, by a clock that jumps.

What is left out: errors that are not throttles, conflicts and lost races; periods; guarded changes; leaders that are
lost.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial

from ..retries import Deadline, Timing
from ..strategies import SortKeyMaximum
from ..strategies.supply import BRIEF_SECONDS, LONG_SECONDS
from .clock import Clock, Cores, Gate, Line, Server, Steps, Task
from .costs import Shape, most_together, read_units, write_units
from .table import Result, SimulatedTable, Write

__all__ = ["Host", "Process", "Request", "Rules", "put"]

TAIL_SECONDS: float = SortKeyMaximum.options["tail_seconds"].default
MOST_RESERVED = 10_000  # requests that one write of a counter answers
COUNTERS = "counters"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What all processes have in common.

    A process works for `caller` seconds on each number, and its leader for `leader` seconds on each request and for
    `action` seconds on each item in it.
    """

    shape: Shape
    item_bytes: int = 1000
    tokens: bool = False
    block_size: int = 100
    most_block_size: int = 10_000
    deadline: float = 10.0
    caller: float = 0.0
    leader: float = 0.0
    action: float = 0.0

    @property
    def most(self) -> int:
        return most_together(self.shape, self.item_bytes, tokens=self.tokens)


@dataclass(slots=True)
class Request:
    """One number that is asked for, or `count` values for a block. `answered` opens when it is there or given up."""

    deadline: Deadline
    count: int = 1
    gave_up: bool = False
    answered: Gate = field(default_factory=Gate)

    def answer(self, *, gave_up: bool = False) -> None:
        self.gave_up = gave_up
        self.answered.open()


@dataclass(frozen=True, slots=True)
class _Known:
    """The last value of a scope, and when it was confirmed."""

    value: int
    at: float


class Host:
    """What the processes of one machine share: its cores, a line for each scope, and the hint in it (`host_lock`)."""

    def __init__(self, cores: int | None = None) -> None:
        self.cores = Cores(cores)
        self._lines: dict[Hashable, Line] = {}
        self.hints: dict[Hashable, _Known] = {}

    def line(self, scope: Hashable) -> Line:
        return self._lines.setdefault(scope, Line())


class Process:
    """One process: its processor, its commit queues, and what it remembers of scopes."""

    def __init__(self, rules: Rules, host: Host, table: SimulatedTable, chance: random.Random) -> None:
        self.rules = rules
        self.host = host
        self.table = table
        self.clock: Clock = table.clock
        self.processor = Server(table.clock, host.cores)
        self.known: dict[Hashable, _Known] = {}
        self.lost_at: dict[Hashable, float] = {}
        self._queues: dict[Hashable, _Queue] = {}
        self._supplies: dict[Hashable, _Supply] = {}
        self._pauses: list[float] = []
        self._timing = Timing(clock=self._now, sleep=self._pauses.append, uniform=chance.uniform)

    def _now(self) -> float:
        return self.clock.now

    def request(self, count: int = 1) -> Request:
        """A request whose deadline begins now."""
        return Request(Deadline(timing=self._timing, seconds=self.rules.deadline), count)

    def pause(self, deadline: Deadline) -> Steps[None]:
        """The pause of `Deadline.pause`: full jitter."""
        deadline.pause()
        yield self._pauses.pop()

    def items(self, scope: Hashable) -> _Queue:
        """The callers who share the writes of their items."""
        return self._queue(("items", scope), _put_together, scope, self.rules.most)

    def values(self, scope: Hashable) -> _Queue:
        """The callers who share the writes of the counter."""
        attempt = _read_and_write if self.rules.shape is Shape.READ_AND_WRITE else _add
        return self._queue(("values", scope), attempt, scope, MOST_RESERVED)

    def _queue(self, name: Hashable, attempt: _Attempt, scope: Hashable, most: int) -> _Queue:
        if name not in self._queues:
            self._queues[name] = _Queue(self, partial(attempt, self, scope), most)
        return self._queues[name]

    def supply(self, scope: Hashable) -> _Supply:
        """The block that serves a scope."""
        if scope not in self._supplies:
            self._supplies[scope] = _Supply(self, scope)
        return self._supplies[scope]


def put(process: Process, scope: Hashable) -> Steps[bool]:
    """One call of `put_next`; whether it got its number before its deadline."""
    rules, request = process.rules, process.request()
    if rules.shape.shares_writes:
        yield from process.items(scope).serve(request)
        return not request.gave_up
    if rules.tokens:
        yield from _until_done(process, request, partial(_look_for_marker, process, scope))
    if rules.shape is Shape.BLOCK:
        yield from process.supply(scope).take(request)
    elif not request.gave_up:
        yield from process.values(scope).serve(request)
    yield from _until_done(process, request, partial(_put_alone, process, scope))
    yield from process.processor.work(rules.caller)
    return not request.gave_up


def _until_done(process: Process, request: Request, attempt: Callable[[], Steps[bool]]) -> Steps[None]:
    """One caller's request alone, until it is done or the deadline is over (`Leader.run` without a group)."""
    while not request.gave_up:
        if (yield from attempt()):
            return
        yield from process.pause(request.deadline)
        request.gave_up = request.deadline.over


def _look_for_marker(process: Process, scope: Hashable) -> Steps[bool]:
    yield from process.processor.work(process.rules.leader)
    found = yield from process.table.read({("markers", scope): 1}, None)
    return found is not None


def _put_alone(process: Process, scope: Hashable) -> Steps[bool]:
    """Store an item under the value that it has; with a token its marker, too."""
    rules = process.rules
    units: dict[Hashable, float] = {("items", scope): write_units(rules.item_bytes) * (1 + rules.tokens)}
    if rules.tokens:
        units["markers", scope] = 2
    yield from process.processor.work(rules.leader + rules.action)
    write = Write(units, [object()] * (1 + rules.tokens), rules.tokens, lambda: True, lambda: None)
    return (yield from process.table.write(write)) is Result.STORED


_Attempt = Callable[["Process", Hashable, list[Request], Callable[[], None]], Steps[Result]]


class _Queue:
    """A commit queue: those who wait, and one leader after another while somebody waits (`commit_queues`)."""

    def __init__(
        self, process: Process, attempt: Callable[[list[Request], Callable[[], None]], Steps[Result]], most: int
    ) -> None:
        self._process = process
        self._attempt = attempt
        self._most = most
        self._waiting: deque[Request] = deque()
        self._batch: list[Request] = []
        self._led = False

    def serve(self, request: Request) -> Steps[None]:
        """Wait until a leader has answered the request."""
        self._waiting.append(request)
        if not self._led:
            self._led = True
            self._process.clock.start(self._lead())
        yield request.answered

    def _take_along(self) -> None:
        """`Leader._take_along`: who waits goes along, as far as there is room."""
        while self._waiting and len(self._batch) < self._most:
            self._batch.append(self._waiting.popleft())

    def _lead(self) -> Task:
        """The leaders one after another. A new one begins when the last of the batch before has been told."""
        while self._waiting or self._batch:
            if not self._batch:
                self._batch = [self._waiting.popleft()]
            result = yield from self._attempt(self._batch, self._take_along)
            if result is Result.STORED:
                yield from self._release()
            else:
                yield from self._process.pause(self._batch[0].deadline)
                self._expire()
        self._led = False

    def _release(self) -> Steps[None]:
        """Each wakes the next one when it leaves, so that those who call again at once are in the next group."""
        batch, self._batch = self._batch, []
        for request in batch:
            yield from self._process.processor.work(self._process.rules.caller)
            request.answer()
        yield 0.0  # the last one, too, calls again before the next leader begins

    def _expire(self) -> None:
        """`Leader._expire`: those past their deadline give up, the leader, too."""
        late = [request for request in self._batch if request.deadline.over]
        self._batch = [request for request in self._batch if not request.deadline.over]
        for request in late:
            request.answer(gave_up=True)


def _put_together(
    process: Process, scope: Hashable, batch: list[Request], take_along: Callable[[], None]
) -> Steps[Result]:
    """One attempt of a leader to store the items of its batch, in its host's turn (`Leader._attempt_exclusively`)."""
    host, line = process.host, process.host.line(scope)
    yield from line.take()
    take_along()
    _accept_hint(process, scope)
    result = yield from _store(process, scope, len(batch))
    if scope in process.known:
        host.hints[scope] = process.known[scope]
    line.give_back()
    return result


def _accept_hint(process: Process, scope: Hashable) -> None:
    """Take over what another process of the host knows, if that is newer (`ItemWriter.exclusively`)."""
    hint, own = process.host.hints.get(scope), process.known.get(scope)
    if hint and (own is None or hint.at > own.at) and hint.at > process.lost_at.get(scope, -1.0):
        process.known[scope] = hint


def _store(process: Process, scope: Hashable, count: int) -> Steps[Result]:
    """Store so many items under the next numbers (`SortKeyMaximum`, `TransactionalCounter`)."""
    rules, table, clock = process.rules, process.table, process.clock
    counts = rules.shape is Shape.TRANSACTION
    known = process.known.get(scope)
    if known is None or (not counts and clock.now - known.at > TAIL_SECONDS):
        read: dict[Hashable, float] = {COUNTERS: 1} if counts else {("items", scope): read_units(rules.item_bytes)}
        yield from process.processor.work(rules.leader)
        value = yield from table.read(read, scope)
        if value is None:
            return Result.THROTTLED
    else:
        value = known.value
    yield from process.processor.work(rules.leader + rules.action * count)
    found: list[int] = []

    def holds() -> bool:
        found.append(table.last.get(scope, 0))
        return found[-1] == value if counts else found[-1] <= value

    def apply() -> None:
        table.last[scope] = value + count

    result = yield from table.write(_group(rules, scope, value, count, holds, apply))
    if result is Result.STORED:
        process.known[scope] = _Known(value + count, clock.now)
        process.lost_at.pop(scope, None)
    elif result is Result.LOST and counts:
        process.known[scope] = _Known(found[-1], clock.now)  # the answer has the counter
    elif result is Result.LOST:
        process.lost_at[scope] = clock.now
        process.known.pop(scope, None)
    return result


def _group(
    rules: Rules, scope: Hashable, value: int, count: int, holds: Callable[[], bool], apply: Callable[[], None]
) -> Write:
    """The write of a group: a put if it is one item alone, otherwise a transaction (`ItemWriter.prepare`)."""
    counts = rules.shape is Shape.TRANSACTION
    items: list[Hashable] = [(scope, value + place) for place in range(1, count + 1)]
    in_transaction = counts or rules.tokens or count > 1
    units: dict[Hashable, float] = {("items", scope): write_units(rules.item_bytes) * count * (1 + in_transaction)}
    if rules.tokens:
        items += [object() for _ in range(count)]
        units["markers", scope] = 2 * count
    if counts:
        items.append((COUNTERS, scope))
        units[COUNTERS] = 2
    return Write(units, items, in_transaction, holds, apply)


def _add(process: Process, scope: Hashable, batch: list[Request], take_along: Callable[[], None]) -> Steps[Result]:
    """One addition for all who wait (`AtomicCounter`)."""
    take_along()
    table, count = process.table, sum(request.count for request in batch)

    def apply() -> None:
        table.last[scope] = table.last.get(scope, 0) + count

    yield from process.processor.work(process.rules.leader)
    return (yield from table.write(Write({COUNTERS: 1}, [(COUNTERS, scope)], False, lambda: True, apply)))


def _read_and_write(
    process: Process, scope: Hashable, batch: list[Request], take_along: Callable[[], None]
) -> Steps[Result]:
    """A read, and a write on the condition that nobody else wrote in between (`OptimisticCounter`)."""
    take_along()
    table, count = process.table, sum(request.count for request in batch)
    yield from process.processor.work(process.rules.leader)
    value = yield from table.read({COUNTERS: 1}, scope)
    if value is None:
        return Result.THROTTLED
    yield from process.processor.work(process.rules.leader)

    def apply() -> None:
        table.last[scope] = value + count

    write = Write({COUNTERS: 1}, [(COUNTERS, scope)], False, lambda: table.last.get(scope, 0) == value, apply)
    return (yield from table.write(write))


class _Supply:
    """The values of a scope that a process has in memory (`supply.Supply`)."""

    def __init__(self, process: Process, scope: Hashable) -> None:
        self._process = process
        self._scope = scope
        self._serving = self._second = self._fetched = 0
        self._fetching: Gate | None = None
        self._size = process.rules.block_size
        self._began = process.clock.now

    def take(self, request: Request) -> Steps[None]:
        """One value: from memory, or from the block that is being fetched."""
        while not self._serving and not request.gave_up:
            if self._second:
                self._serving, self._second = self._second, 0
                self._resize()
                self._fetch()
            elif self._fetched:
                self._serving = (self._fetched + 1) // 2
                self._second, self._fetched = self._fetched - self._serving, 0
            else:
                yield self._fetch()
                request.gave_up = request.deadline.over
        self._serving -= not request.gave_up

    def _fetch(self) -> Gate:
        """Fetch a block in another thread, if none is being fetched."""
        if self._fetching is None:
            self._fetching = Gate()
            self._process.clock.start(self._fetch_block(self._fetching, self._size))
        return self._fetching

    def _fetch_block(self, done: Gate, size: int) -> Task:
        request = self._process.request(size)
        yield from self._process.values(self._scope).serve(request)
        self._fetched += 0 if request.gave_up else size
        self._fetching = None
        done.open()

    def _resize(self) -> None:
        """`Supply._resize`: a block should last between a second and a minute."""
        now, rules = self._process.clock.now, self._process.rules
        lasted, self._began = now - self._began, now
        if lasted < BRIEF_SECONDS:
            self._size = min(self._size * 2, rules.most_block_size)
        elif lasted > LONG_SECONDS:
            self._size = max(self._size // 2, rules.block_size)
