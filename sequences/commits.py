"""What a group commit is made of: what callers want, the write that is prepared for them, and who can prepare it.

This is the port between `groups`, which knows who is written together and when, and the strategies, which know what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from .exceptions import SequenceError, WriteCancelled
from .retries import Deadline
from .types import Allocation

__all__ = ["MOST_BYTES", "Entry", "Write", "Writer"]

MOST_BYTES = 4_000_000  # DynamoDB's limit for a transaction is 4 MB

Answer = Allocation | range | list[int] | SequenceError


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
    attempts: int = 0
    write_units: float = 0.0
    read_units: float = 0.0
    _answers: list[Answer] = field(default_factory=list, init=False)

    @property
    def values(self) -> range | list[int]:
        """The values that a reservation got."""
        assert isinstance(self.answer, range | list)
        return self.answer

    @property
    def answer(self) -> Answer | None:
        return self._answers[0] if self._answers else None

    def settle(self, answer: Answer) -> None:
        """Give the answer. The first one counts, whichever thread it comes from: appending is atomic."""
        self._answers.append(answer)

    @property
    def actions(self) -> int:
        return 2 if self.marked else 1

    @property
    def identity(self) -> object:
        """What no two actions of one transaction may share."""
        return self.token if self.marked else (repr(self.own_key) if self.own_key else id(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One prepared write, sent again as it is: the request, and what each of its actions is for, if there are many.

    `life` is that of the tables for which it was prepared: what it proves holds for no other.
    """

    operation: str
    request: Mapping[str, Any]
    entries: tuple[Entry, ...]
    values: tuple[int, ...]
    token: str
    roles: tuple[tuple[str, int], ...] = ()
    life: object = None


class Writer(ABC):
    """What a group needs to know of a strategy. Each method makes one attempt; none retries."""

    most_actions = 100

    def turn(self, scope: str | None) -> AbstractContextManager[object]:
        """Held while one write is prepared and sent; what makes other processes wait, if anything does."""
        return nullcontext()

    @abstractmethod
    def prepare(self, scope: str | None, entries: Sequence[Entry], deadline: Deadline) -> Write:
        """The next write for these entries, or some of the first of them; it may read."""

    @abstractmethod
    def stored(self, scope: str | None, write: Write, answer: Mapping[str, Any]) -> None:
        """Answer the entries of a write that is stored."""

    @abstractmethod
    def cancelled(self, scope: str | None, write: Write, error: WriteCancelled, deadline: Deadline) -> None:
        """Answer the entries whose fate a refused write settles; the others go round again. It may read."""
