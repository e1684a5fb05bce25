"""Group commit: callers of one scope in one process are written together, by one of them.

    caller A  --joins, leads--> [write A]------------------> hands over
    caller B        --joins, waits------------\
    caller C           --joins, waits----------+-> B leads: [write B C D]
    caller D              --joins, waits------/

There is no timer and no thread of our own: a lone caller leads at once and waits for nobody. What a group writes and
how an answer is read is a `Writer`'s knowledge; this module knows who leads, when to try again, and when to give up.

The guarantees, each held by a test:

1. An entry is answered exactly once, and its caller gets that answer, whoever led.
2. After an ambiguous error the same write is sent again as it was, until its outcome is known or the deadline passes.
3. An entry that fails alone (a bad item, a used token) does not hurt the others: they are numbered without it.
4. First come, first numbered, within a process.
5. Nothing is kept for a scope that nobody is waiting for.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from . import dynamodb
from .exceptions import (
    NotWritten,
    OutcomeUnknown,
    SequenceError,
    SequenceExhausted,
    SequenceUnavailable,
    StorageError,
    StorageRefused,
    WriteCancelled,
)
from .retries import Patience, Timing, heals, may_hide
from .types import Allocation

__all__ = ["Call", "Entry", "Groups", "Write", "Writer"]

MOST_BYTES = 4_000_000  # DynamoDB's limit for a transaction is 4 MB


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """One thing that a caller wants: an item under the next value, or `count` values without an item.

    `token` is the caller's, or made here; `marked` says that it is the caller's, so that a marker remembers it.
    `name`, for a marked one, is unique to this call, and so tells its lost write from another call's with that token.
    """

    item: Mapping[str, Any] = field(default_factory=dict)
    token: str = ""
    marked: bool = False
    digest: str = ""
    count: int = 1
    size: int = 0
    own_key: Mapping[str, Any] | None = None
    name: str = ""
    value: int | None = None
    values: range | list[int] = field(default_factory=list)
    answer: Allocation | range | list[int] | SequenceError | None = None
    attempts: int = 0
    write_units: float = 0.0
    read_units: float = 0.0

    @property
    def actions(self) -> int:
        return 2 if self.marked else 1

    @property
    def identity(self) -> object:
        """What no two actions of one transaction may share."""
        return self.token if self.marked else (repr(self.own_key) if self.own_key else id(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One prepared write, sent again as it is: the request, and what each of its actions is for."""

    operation: str
    request: Mapping[str, Any]
    entries: tuple[Entry, ...]
    values: tuple[int, ...]
    roles: tuple[tuple[str, int], ...]
    token: str = ""


class Writer(ABC):
    """What a group needs to know of a strategy. Each method makes one attempt; none retries."""

    most_actions = 100

    def turn(self, scope: str | None) -> AbstractContextManager[object]:
        """Held while one write is prepared and sent; what makes other processes wait, if anything does."""
        return nullcontext()

    @abstractmethod
    def prepare(self, scope: str | None, entries: Sequence[Entry]) -> Write:
        """The next write for these entries, or some of the first of them; it may read."""

    @abstractmethod
    def stored(self, scope: str | None, write: Write, answer: Mapping[str, Any]) -> None:
        """Answer the entries of a write that is stored."""

    @abstractmethod
    def cancelled(self, scope: str | None, write: Write, error: WriteCancelled) -> None:
        """Answer the entries whose fate a refused write settles; the others go round again."""


class Call:
    """One caller's entries, kept together in one write, and the latch that the caller waits at."""

    __slots__ = ("actions", "deserted", "entries", "latch", "leads", "patience", "size")

    def __init__(self, entries: Sequence[Entry], patience: Patience) -> None:
        self.entries = entries
        self.patience = patience
        self.leads = False
        self.deserted = False
        self.actions = sum(entry.actions for entry in entries)
        self.size = sum(entry.size for entry in entries)
        self.latch = threading.Lock()
        self.latch.acquire()

    @property
    def answered(self) -> bool:
        return all(entry.answer is not None for entry in self.entries)

    def answer_all(self, error: SequenceError) -> None:
        for entry in self.entries:
            if entry.answer is None:
                entry.answer = error


class Groups:
    """The waiting calls of every scope, for one writer in one process."""

    def __init__(self, writer: Writer, *, timing: Timing | None = None, seconds: float, joins: bool = True) -> None:
        self._writer = writer
        self._timing = timing or Timing()
        self._seconds = seconds
        self._joins = joins
        self._lock = threading.Lock()
        self._queues: dict[str | None, deque[Call]] = {}

    def submit(self, scope: str | None, entries: Sequence[Entry]) -> None:
        """Return when every entry is answered: by this caller as the leader of a group, or by another leader."""
        call = Call(entries, Patience(timing=self._timing, seconds=self._seconds))
        if not self._joins:
            _Lead(self._writer, scope, call, lambda room, space: []).run()
            return
        with self._lock:
            queue = self._queues.get(scope)
            call.leads = queue is None
            if queue is None:
                queue = self._queues[scope] = deque()
            else:
                queue.append(call)
        if not call.leads:
            self._wait(scope, queue, call)
        if call.leads:
            self._lead(scope, queue, call)

    def _wait(self, scope: str | None, queue: deque[Call], call: Call) -> None:
        """Wait to be answered or to lead. Whoever is still queued at the deadline leaves, and was not written."""
        try:
            self._wait_at_latch(queue, call)
        except BaseException:  # Ctrl-C: nobody is there any more to be answered, or to lead
            self._desert(scope, queue, call)
            raise

    def _wait_at_latch(self, queue: deque[Call], call: Call) -> None:
        if call.latch.acquire(timeout=self._seconds):
            return
        with self._lock:
            if call in queue:
                queue.remove(call)
                waited = StorageError("The calls before this one took too long.")
                call.answer_all(call.patience.give_up(waited))
                return
        call.latch.acquire()  # it is being written: its leader gives up in bounded time, and knows the outcome

    def _desert(self, scope: str | None, queue: deque[Call], call: Call) -> None:
        with self._lock:
            call.deserted = True  # a leader that has it may put it back
            if call in queue:
                queue.remove(call)
        if call.leads:
            self._hand_over(scope, queue, ())

    def _lead(self, scope: str | None, queue: deque[Call], call: Call) -> None:
        lead = _Lead(self._writer, scope, call, partial(self._take, queue))
        try:
            lead.run()
        finally:
            self._hand_over(scope, queue, lead.leave())

    def _take(self, queue: deque[Call], room: int, space: int) -> list[Call]:
        """The calls that wait, in their order, as far as one write holds them."""
        taken: list[Call] = []
        with self._lock:
            while queue and queue[0].actions <= room and queue[0].size <= space:
                call = queue.popleft()
                room, space = room - call.actions, space - call.size
                taken.append(call)
        return taken

    def _hand_over(self, scope: str | None, queue: deque[Call], left: Sequence[Call]) -> None:
        with self._lock:
            queue.extendleft(call for call in reversed(left) if not call.deserted)
            if not queue:
                del self._queues[scope]
                return
            following = queue.popleft()
            following.leads = True
        following.latch.release()


class _Lead:
    """One caller's turn at writing: its own call and those that it takes along, until its own is answered."""

    def __init__(self, writer: Writer, scope: str | None, call: Call, take: Callable[[int, int], list[Call]]) -> None:
        self.writer = writer
        self.scope = scope
        self.own = call
        self.take = take
        self.calls = [call]
        self.write: Write | None = None
        self.unknown = False
        self.singly = False

    def run(self) -> None:
        while not self.own.answered:
            with self.writer.turn(self.scope):
                if self.write is None:
                    self._take_along()  # with those who came while others had their turn
                failure = self._attempt()
            self._release()
            if failure is not None and self.calls:
                self.own.patience.pause()
                self._expire(failure)
                self._release()

    def _take_along(self) -> None:
        room = self.writer.most_actions - sum(call.actions for call in self.calls)
        space = MOST_BYTES - sum(call.size for call in self.calls)
        self.calls += self.take(room, space)

    def _pending(self) -> list[Entry]:
        """The unanswered entries; of two that one transaction cannot hold (the same token), the first."""
        pending: dict[object, Entry] = {}
        for call in self.calls:
            for entry in call.entries:
                if entry.answer is None:
                    pending.setdefault(entry.identity, entry)
        return list(pending.values())[: 1 if self.singly else None]

    def _attempt(self) -> StorageError | None:
        """Prepare a write if none is under way, send it, and have it answered; return what may heal."""
        try:
            if self.write is None:
                self.unknown = False
                self.write = self.writer.prepare(self.scope, self._pending())
            return self._send(self.write)
        except (NotWritten, OutcomeUnknown) as error:  # of a read, before or after the write
            return error
        except SequenceError as error:
            self._refuse(error)
        return None

    def _send(self, write: Write) -> StorageError | None:
        for entry in write.entries:
            entry.attempts += 1
        try:
            answer = dynamodb.call(write.operation, write.request)
        except OutcomeUnknown as error:
            self.unknown = True
            return error
        except NotWritten as error:
            self._settle_unless_unknown()
            return error
        except WriteCancelled as error:
            return self._cancelled(write, error)
        share = dynamodb.used_units(answer) / len(write.entries)
        for entry in write.entries:
            entry.write_units += share
        self.writer.stored(self.scope, write, answer)
        self.write = None
        return None

    def _settle_unless_unknown(self) -> None:
        """Make room for those who came meanwhile, unless an earlier sending of this write may have been stored."""
        if not self.unknown:
            self.write = None

    def _cancelled(self, write: Write, error: WriteCancelled) -> StorageError | None:
        if heals(error.reasons) or (self.unknown and may_hide(error.reasons)):
            self._settle_unless_unknown()
            return error
        before = len(self._pending())
        self.write, self.unknown = None, False
        self.writer.cancelled(self.scope, write, error)
        return error if len(self._pending()) == before else None

    def _refuse(self, error: SequenceError) -> None:
        """Answer whom a permanent failure hits; when one of many may be to blame, they go on one by one to find it."""
        if self.unknown and isinstance(error, StorageError):
            error = self.own.patience.give_up(error, outcome_unknown=True)
        entries: Sequence[Entry] = self.write.entries if self.write else self._pending()
        self.write = None
        if isinstance(error, SequenceExhausted):
            entries = [entry for entry in entries if entry.count >= entries[0].count]
        if type(error) is StorageRefused and len(entries) > 1:
            self.singly = True
            return
        for entry in entries:
            entry.answer = entry.answer or error

    def _expire(self, failure: StorageError) -> None:
        """Give up the calls whose deadline has passed; those of a write of unknown outcome only all together."""
        late = [call for call in self.calls if call.patience.over]
        if self.unknown and self.write is not None:
            if len(late) < len(self.calls):
                return
            self.write = None
        for call in late:
            call.patience.attempts = self.own.patience.attempts
            call.answer_all(call.patience.give_up(failure, outcome_unknown=self.unknown))

    def _release(self) -> None:
        """Let the answered callers go."""
        for call in self.calls:
            if call.answered and call is not self.own:
                call.latch.release()
        self.calls = [call for call in self.calls if not call.answered]

    def leave(self) -> list[Call]:
        """The calls that the next leader must see to; of those under way when this one crashed, the fate is unknown."""
        if self.write is not None:
            lost = SequenceUnavailable(
                "The writer of the group stopped.", attempts=0, seconds=0.0, outcome_unknown=True
            )
            for call in self.calls:
                call.answer_all(lost)
            self._release()
        return [call for call in self.calls if call is not self.own]
