"""The parts of a group commit: a request, its answer, and the write that is prepared for it.

The commit queues decide what is written together and when, and the strategies what is written: this is between them.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from .. import dynamodb
from ..actions import Action
from ..dynamodb import TableLife
from ..exceptions import CancellationReason, SequenceError, WriteCancelled
from ..types import Allocation, Scope
from .retries import Deadline

MOST_BYTES = 4_000_000  # DynamoDB's limit for a transaction is 4 MB

Answer = Allocation | range | list[int] | SequenceError
Placed = tuple[Mapping[str, Any], Mapping[str, Any] | None]
"""An item, and the key that it brings; None if its key follows from its value."""
R = TypeVar("R", bound="PutRequest | ReserveRequest")


@dataclass(slots=True, kw_only=True, eq=False)  # not frozen: that takes three times as long to make
class PutRequest:
    """An item, as attribute values, that gets the next value; without an item, a token that gets `count` values.

    `token` is the caller's idempotency token, empty without one. A marker remembers the value of a request with one. A
    repeat must have the same `digest`. An item with an `own_key` is stored under that key. `more` has the items that
    are stored with it under the following values, each with its own key: `count` counts them, too. `also` has the
    actions that ride in its transaction. `size` is in bytes, with theirs. `day` is the document's date, if the sequence
    needs one. It `has_blanks` if its items tell their values (see `actions.VALUE`).
    """

    item: Mapping[str, Any] | None
    token: str = ""
    count: int = 1
    size: int = 0
    own_key: Mapping[str, Any] | None = None
    more: tuple[Placed, ...] = ()
    digest: str = ""
    also: tuple[Action, ...] = ()
    day: datetime.date | None = None
    has_blanks: bool = False

    @property
    def items(self) -> tuple[Placed, ...]:
        """All its items in the order of their values, each with the key that it brings; none without items."""
        return () if self.item is None else ((self.item, self.own_key), *self.more)

    @property
    def actions(self) -> int:
        """How many actions of a transaction it takes."""
        return (self.item is not None) + len(self.more) + bool(self.token) + len(self.also)

    @property
    def units(self) -> int:
        """About the write units of its actions outside a transaction; in one they take twice as many."""
        return max(self.actions, dynamodb.write_units(self.size))

    @property
    def identities(self) -> tuple[str, ...]:
        """What two actions of one transaction must not share."""
        key = repr(self.own_key) if self.own_key else str(id(self))
        own: tuple[str, ...] = (key, f"token {self.token}") if self.token else (key,)
        if not (self.more or self.also):  # as most
            return own
        keys = [repr(own_key) for _, own_key in self.more if own_key]
        return (*own, *keys, *(f"{action.table} {dict(action.row)}" for action in self.also))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReserveRequest:
    """A request for `count` values without items."""

    count: int
    actions = 1
    units = 1
    size = 0
    also = ()

    @property
    def identities(self) -> tuple[str, ...]:
        return (str(id(self)),)


@dataclass(slots=True, eq=False)
class Pending(Generic[R]):
    """A pending request: its cost so far, the value reserved for it, and its one answer.

    Its `refusal` becomes the answer when no earlier send of it can arrive any more. If it stores several items, the
    answer is the allocation of the first, and `rest` has the others. Its `deadline` is its waiter's, unless one waiter
    carries the requests of several callers. `group_size` counts the items in the write that stored it.
    """

    request: R
    deadline: Deadline | None = None
    value: int | None = None
    refusal: SequenceError | None = None
    rest: tuple[Allocation, ...] = ()
    attempts: int = 0
    group_size: int = 0
    write_units: float = 0.0
    read_units: float = 0.0
    answer: Answer | None = None
    _given: list[Answer] = field(default_factory=list)

    def settle(self, answer: Answer) -> None:
        """Give the answer, unless it has one. The first one wins, from whichever thread: to append is atomic."""
        self._given.append(answer)
        self.answer = self._given[0]

    def refuse(self, error: SequenceError) -> None:
        """Note that the request is at fault. The first reason stays."""
        if self.refusal is None:
            self.refusal = error

    def charge(self, *, write_units: float = 0.0, read_units: float = 0.0) -> None:
        """Add this request's share of capacity units."""
        self.write_units += write_units
        self.read_units += read_units


def allocated(pending: Pending[PutRequest]) -> Allocation:
    """The allocation of an answered request. Raises the error of a request that failed."""
    answer = pending.answer
    if isinstance(answer, SequenceError):
        raise answer
    assert isinstance(answer, Allocation)
    return answer


def values_of(pending: Pending[ReserveRequest]) -> range | list[int]:
    """The values that a reservation got. Raises the error of one that failed."""
    answer = pending.answer
    if isinstance(answer, SequenceError):
        raise answer
    assert isinstance(answer, range | list)
    return answer


class Role(NamedTuple):
    """What an action is for: the counter, a marker, an item, a rider (`also`), or a check that the period is open."""

    kind: str
    pending: int = 0
    """The index of its request in the write."""
    rider: int = 0
    """The index of the action in the `also` of its request, or of the item among its items."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedWrite:
    """One prepared write, which can be sent again unchanged: the request, and which requests it answers.

    `signs` has the tokens that it alone writes: a row with one of them is stored by this write. `roles` says what each
    action of a transaction is for. `first_day` is the first date of its documents, if it must not be before those that
    are stored. `life` is the table life in which it was prepared; its outcome says nothing about tables made later.
    """

    operation: str
    request: Mapping[str, Any]
    pendings: tuple[Pending[Any], ...]
    values: tuple[int, ...]
    token: str
    signs: frozenset[str] = frozenset()
    roles: tuple[Role, ...] = ()
    first_day: str = ""
    life: tuple[TableLife, ...] = ()

    def excludes(self, other: PreparedWrite) -> bool:
        """Whether at most one of the two can be stored: both use the same value."""
        return not frozenset(self.values).isdisjoint(other.values)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A write of a scope that was refused, and earlier writes of its requests that are `undecided`.

    The rows that tell why are read before the `deadline`.
    """

    scope: Scope
    write: PreparedWrite
    error: WriteCancelled
    deadline: Deadline
    undecided: tuple[PreparedWrite, ...] = ()

    @property
    def reasons(self) -> list[tuple[Role, CancellationReason]]:
        """What each action of the write is for, and why it was refused."""
        return list(zip(self.write.roles, self.error.reasons, strict=False))


class Decision(NamedTuple):
    """What a refusal decides about its write and earlier ones: which one is stored, and which still may be.

    The `refusal` has the rows on which it rests.
    """

    refusal: Refusal
    stored: PreparedWrite | None = None
    undecided: tuple[PreparedWrite, ...] = ()


class Committer(ABC):
    """Prepares the writes of a commit queue and reads their outcome. A method makes one attempt and never retries."""

    most_actions: int
    """How many actions of requests fit in one write."""

    def exclusively(self, scope: Scope, deadline: Deadline) -> AbstractContextManager[bool]:
        """Held while one write is prepared and sent. Other processes of the host may wait for it, and it for them.

        It gives whether other hosts wait, too: then a write that lost a race is prepared again in this turn.
        """
        return nullcontext(False)

    @abstractmethod
    def prepare(self, scope: Scope, pendings: Sequence[Pending[Any]], deadline: Deadline) -> PreparedWrite | None:
        """Prepare the next write for these requests, or for some of them. May read.

        None if it has answered or refused all of them.
        """

    @abstractmethod
    def committed(self, scope: Scope, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        """Answer the requests of a write that is stored."""

    def decide(self, refusal: Refusal) -> Decision:
        """What a refusal decides about its write, and about the undecided ones. May read."""
        return Decision(refusal)

    @abstractmethod
    def refused(self, refusal: Refusal) -> None:
        """Answer repeats, and note the refusal of each request at fault. The others are prepared again. May read."""
