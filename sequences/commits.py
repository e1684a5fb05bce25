"""What a group commit is made of: a request, how it ends, and the write that is prepared for it.

This is the port between the commit queues, which know who is written together and when, and the strategies, which
know what is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .exceptions import SequenceError, WriteCancelled
from .retries import Deadline
from .types import Allocation

__all__ = ["MOST_BYTES", "Committer", "Pending", "PreparedWrite", "PutRequest", "ReserveRequest"]

MOST_BYTES = 4_000_000  # DynamoDB's limit for a transaction is 4 MB

Answer = Allocation | range | list[int] | SequenceError
R = TypeVar("R", bound="PutRequest | ReserveRequest")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PutRequest:
    """An item, as attribute values, that wants the next value.

    `token` is stored with the item and tells it from every other one. A `marked` request has its token from the
    caller, and a marker remembers what it got: `digest` is what a repeat must agree with, and `request_id` tells the
    lost write of this call from that of another call with the same token. An item with an `own_key` is stored there.
    """

    item: Mapping[str, Any]
    token: str
    size: int = 0
    own_key: Mapping[str, Any] | None = None
    marked: bool = False
    digest: str = ""
    request_id: str = ""

    @property
    def count(self) -> int:
        """How many values it takes."""
        return 1

    @property
    def actions(self) -> int:
        """How many actions of a transaction it takes."""
        return 2 if self.marked else 1

    @property
    def identity(self) -> object:
        """What no two actions of one transaction may share."""
        return self.token if self.marked else (repr(self.own_key) if self.own_key else id(self))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReserveRequest:
    """So many values, before items carry them."""

    count: int
    actions = 1
    size = 0

    @property
    def identity(self) -> object:
        return id(self)


class Pending(Generic[R]):
    """A request on its way: what it has cost so far, the value reserved for it, and its one answer."""

    __slots__ = ("_answers", "attempts", "read_units", "request", "value", "write_units")

    def __init__(self, request: R) -> None:
        self.request = request
        self.value: int | None = None
        self.attempts = 0
        self.write_units = 0.0
        self.read_units = 0.0
        self._answers: list[Answer] = []

    @property
    def answer(self) -> Answer | None:
        return self._answers[0] if self._answers else None

    def settle(self, answer: Answer) -> bool:
        """Give the answer, unless there is one: whether it counts. Appending is atomic, whichever thread is first."""
        self._answers.append(answer)
        return self._answers[0] is answer

    def charge(self, *, write_units: float = 0.0, read_units: float = 0.0) -> None:
        """Add this request's share of capacity units."""
        self.write_units += write_units
        self.read_units += read_units


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrite:
    """One write, sent again as it is: the request, and what each of its actions is for, if there are many.

    `life` is that of the tables for which it was prepared: what it proves holds for no other.
    """

    operation: str
    request: Mapping[str, Any]
    pendings: tuple[Pending[Any], ...]
    values: tuple[int, ...]
    token: str
    roles: tuple[tuple[str, int], ...] = ()
    life: object = None


class Committer(ABC):
    """Makes the writes of a commit queue. Each method makes one attempt; none retries."""

    most_actions = 100

    def turn(self, scope: str | None) -> AbstractContextManager[object]:
        """Held while one write is prepared and sent; what makes other processes wait, if anything does."""
        return nullcontext()

    @abstractmethod
    def prepare(self, scope: str | None, pendings: Sequence[Pending[Any]], deadline: Deadline) -> PreparedWrite:
        """The next write for these requests, or some of the first of them; it may read."""

    @abstractmethod
    def committed(self, scope: str | None, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        """Answer the requests of a write that is stored."""

    @abstractmethod
    def refused(self, scope: str | None, write: PreparedWrite, error: WriteCancelled, deadline: Deadline) -> None:
        """Answer the requests whose fate a refused write settles; the others go round again. It may read."""
