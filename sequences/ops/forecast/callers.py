"""The rules of our callers, played: group commit, one leader a process, the host's turns, memories, pauses, deadlines.

`commit_queues`, `leader`, `host_lock` and the strategies have these rules in earnest; each rule here names where. Two
are not played: the deadlines and their pauses are those of `retries`, and the waits for units those of `waiters`, by a
clock that jumps.

What is left out: errors that are not throttles, conflicts and lost races; periods; guarded changes; leaders that are
lost.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from ...commit.leader import HELD_SECONDS
from ...commit.retries import Deadline, Timing
from ...commit.waiters import Shortage
from ...dynamodb import write_units
from ...strategies import SortKeyMaximum
from ...strategies.supply import BRIEF_SECONDS, LONG_SECONDS
from .clock import Clock, Gate, Line, Server, Steps, Task
from .costs import Shape, most_together, read_units
from .host_lines import HostLine, Row
from .table import Result, SimulatedTable, Write

__all__ = ["Host", "Known", "Process", "Request", "Rules", "put"]

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
        """How many items one write can hold."""
        return most_together(self.shape, self.item_bytes, tokens=self.tokens)

    @property
    def units_each(self) -> int:
        """About the write units of an item and its marker outside a transaction (`PutRequest.units`)."""
        return max(1 + self.tokens, write_units(self.item_bytes))


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
class Known:
    """The last value of a scope, and when it was confirmed."""

    value: int
    at: float


class Host:
    """What the processes of one machine share: a line for each scope, and the hint in it (`host_lock`)."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, Line] = {}
        self.hints: dict[Hashable, Known] = {}

    def line(self, scope: Hashable) -> Line:
        return self._lines.setdefault(scope, Line())


class Process:
    """One process: its processor, its commit queues, and what it remembers of scopes."""

    def __init__(self, rules: Rules, host: Host, table: SimulatedTable, chance: random.Random) -> None:
        self.rules = rules
        self.host = host
        self.table = table
        self.clock: Clock = table.clock
        self.processor = Server(table.clock)
        self.known: dict[Hashable, Known] = {}
        self.lost_at: dict[Hashable, float] = {}
        self._items: dict[Hashable, _Items] = {}
        self._values: dict[Hashable, _Values] = {}
        self._supplies: dict[Hashable, _Supply] = {}
        self._lines: dict[Hashable, HostLine] = {}
        self._chance = chance
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

    def await_units(self, deadline: Deadline, seconds: float) -> Steps[None]:
        """The wait of `Leader._await_units`: about so many seconds."""
        deadline.wait(seconds * self._timing.uniform(0.5, 1))
        yield self._pauses.pop()

    def items(self, scope: Hashable) -> _Queue:
        """The callers who share the writes of their items, in their host's turns."""
        if scope not in self._items:
            self._items[scope] = _Items(self, scope)
        return self._items[scope]

    def values(self, scope: Hashable) -> _Queue:
        """The callers who share the writes of the counter."""
        if scope not in self._values:
            self._values[scope] = _Values(self, scope)
        return self._values[scope]

    def accept_hint(self, scope: Hashable) -> None:
        """Take over what another process of the host knows, if that is newer (`ItemWriter.exclusively`)."""
        hint, own = self.host.hints.get(scope), self.known.get(scope)
        if hint and (own is None or hint.at > own.at) and hint.at > self.lost_at.get(scope, -1.0):
            self.known[scope] = hint

    def hosts_line(self, scope: Hashable) -> HostLine:
        """The line of hosts at a scope."""
        if scope not in self._lines:
            row = self.table.rows.setdefault(scope, Row())
            self._lines[scope] = HostLine(self.table, scope, row, self._chance)
        return self._lines[scope]

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
        yield from _look_for_marker(process, scope, request)
    if rules.shape is Shape.BLOCK:
        yield from process.supply(scope).take(request)
    elif not request.gave_up:
        yield from process.values(scope).serve(request)
    if request.gave_up:
        return False
    stored = Request(request.deadline)
    yield from _Alone(process, scope).serve(stored)
    yield from process.processor.work(rules.caller)
    return not stored.gave_up


def _look_for_marker(process: Process, scope: Hashable, request: Request) -> Steps[None]:
    """Read the marker of the token, until that is answered or the deadline is over (`retries.read`)."""
    while not request.gave_up:
        yield from process.processor.work(process.rules.leader)
        if (yield from process.table.read({("markers", scope): 1}, None)) is not None:
            return
        yield from process.pause(request.deadline)
        request.gave_up = request.deadline.over


class _Queue(ABC):
    """A commit queue: those who wait, and one leader after another while somebody waits (`commit_queues`)."""

    def __init__(self, process: Process, scope: Hashable, most: int) -> None:
        self.process = process
        self.scope = scope
        self._room = most
        self._waiting: deque[Request] = deque()
        self._batch: list[Request] = []
        self._writing: list[Request] = []
        self._shortage = Shortage()
        self._led = False

    def serve(self, request: Request) -> Steps[None]:
        """Wait until a leader has answered the request."""
        self._waiting.append(request)
        if not self._led:
            self._led = True
            self.process.clock.start(self._lead())
        yield request.answered

    @abstractmethod
    def attempt(self, batch: list[Request]) -> Steps[Result]:
        """One attempt to write for these requests."""

    def enter(self, leader: Deadline) -> Steps[bool]:
        """Wait for the turn, if there are turns; whether it is one of a line of hosts."""
        yield from ()
        return False

    def leave(self) -> Steps[None]:
        """Give the turn back."""
        yield from ()

    def _lead(self) -> Task:
        """The leaders one after another. A new one begins when the last of the batch before has been told."""
        while self._waiting or self._batch:
            if not self._batch:
                self._batch = [self._waiting.popleft()]
            leader = self._batch[0].deadline
            if (yield from self._attempt_exclusively(leader)) is Result.STORED:
                yield from self._release()
            else:
                yield from self.process.pause(leader)
                self._expire()
        self._led = False

    def _attempt_exclusively(self, leader: Deadline) -> Steps[Result]:
        """`Leader._attempt_exclusively`: one attempt in the host's turn, and more while units are short.

        In a line of hosts more after lost races, too.
        """
        in_line = yield from self.enter(leader)
        held_since = self.process.clock.now
        while True:
            self._take_along()
            writing = self._writing = self._batch[: self._shortage.most]
            result = yield from self.attempt(writing)
            short, lost = result is Result.THROTTLED, in_line and result is not Result.STORED
            if not (short or lost) or leader.over:
                break
            if self.process.clock.now - held_since > HELD_SECONDS:
                if short:
                    self._shortage.most = max(1, len(writing) // 2)
                break
            if short:
                asked = 2 * len(writing) * self.units_each
                yield from self.process.await_units(leader, self._shortage.refused(asked))
            else:
                yield from self.process.pause(leader)
        yield from self.leave()
        return result

    telling = 0.0
    """The work of a process for each caller who is told."""
    units_each = 1
    """What a request tells of its units, outside a transaction (`PutRequest.units`)."""

    def _take_along(self) -> None:
        """`Leader._take_along`: who waits goes along, as far as there is room."""
        while self._waiting and len(self._batch) < self._room:
            self._batch.append(self._waiting.popleft())

    def _release(self) -> Steps[None]:
        """Each wakes the next one when it leaves, so that those who call again at once are in the next group."""
        self._shortage.end()
        self._batch = self._batch[len(self._writing) :]
        for request in self._writing:
            yield from self.process.processor.work(self.telling)
            request.answer()
        yield 0.0  # the last one, too, calls again before the next leader begins

    def _expire(self) -> None:
        """`Batch.expire`: those past their deadline give up, the leader, too."""
        late = [request for request in self._batch if request.deadline.over]
        self._batch = [request for request in self._batch if not request.deadline.over]
        for request in late:
            request.answer(gave_up=True)


class _Items(_Queue):
    """The callers of a scope in one process, whose items are written together, in the turns of their host."""

    def __init__(self, process: Process, scope: Hashable) -> None:
        super().__init__(process, scope, process.rules.most)
        self.units_each, self.telling = process.rules.units_each, process.rules.caller

    def enter(self, leader: Deadline) -> Steps[bool]:
        """`ItemWriter.exclusively`: wait for the turns of the host and of the hosts, and take over their hints."""
        process, scope, wanted_at = self.process, self.scope, self.process.clock.now
        yield from process.host.line(scope).take()
        process.accept_hint(scope)
        left = yield from process.hosts_line(scope).enter(wanted_at, leader)
        if left is not None and process.clock.now > process.lost_at.get(scope, -1.0):
            process.known[scope] = Known(left, process.clock.now)
        return process.hosts_line(scope).in_line

    def leave(self) -> Steps[None]:
        """Leave hints for the next process, and for the next host."""
        known = self.process.known.get(self.scope)
        yield from self.process.hosts_line(self.scope).leave(known.value if known else None)
        if known:
            self.process.host.hints[self.scope] = known
        self.process.host.line(self.scope).give_back()

    def attempt(self, batch: list[Request]) -> Steps[Result]:
        return _store(self.process, self.scope, len(batch))


class _Values(_Queue):
    """The callers of a scope in one process, who take values by one write of the counter."""

    def __init__(self, process: Process, scope: Hashable) -> None:
        super().__init__(process, scope, MOST_RESERVED)
        self.telling = process.rules.caller

    def attempt(self, batch: list[Request]) -> Steps[Result]:
        take = _read_and_write if self.process.rules.shape is Shape.READ_AND_WRITE else _add
        return take(self.process, self.scope, sum(request.count for request in batch))


class _Alone(_Queue):
    """One caller, who stores an item under a value of its own; with a token its marker, too."""

    def __init__(self, process: Process, scope: Hashable) -> None:
        super().__init__(process, scope, 1)
        self.units_each = process.rules.units_each

    def attempt(self, batch: list[Request]) -> Steps[Result]:
        rules, scope = self.process.rules, self.scope
        units: dict[Hashable, float] = {("items", scope): write_units(rules.item_bytes) * (1 + rules.tokens)}
        if rules.tokens:
            units["markers", scope] = 2
        yield from self.process.processor.work(rules.leader + rules.action)
        items = [object()] * (1 + rules.tokens)
        return (yield from self.process.table.write(Write(units, items, rules.tokens, lambda: True, lambda: None)))


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
        process.hosts_line(scope).won()
        process.known[scope] = Known(value + count, clock.now)
        process.lost_at.pop(scope, None)
    elif result is Result.LOST:
        process.hosts_line(scope).lost(count)
    if result is Result.LOST and counts:
        process.known[scope] = Known(found[-1], clock.now)  # the answer has the counter
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


def _add(process: Process, scope: Hashable, count: int) -> Steps[Result]:
    """One addition for all who wait (`AtomicCounter`)."""
    table = process.table

    def apply() -> None:
        table.last[scope] = table.last.get(scope, 0) + count

    yield from process.processor.work(process.rules.leader)
    return (yield from table.write(Write({COUNTERS: 1}, [(COUNTERS, scope)], False, lambda: True, apply)))


def _read_and_write(process: Process, scope: Hashable, count: int) -> Steps[Result]:
    """A read, and a write on the condition that nobody else wrote in between (`OptimisticCounter`)."""
    table = process.table
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
