"""Between the rooms below and a strategy: which requests get which values, and what the strategy learns of them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline, Timing
from ..exceptions import CancellationReason
from ..types import Scope, SequenceConfig
from .counter_memory import Evidence
from .following import Following
from .history import History, ScopeList
from .layout import ItemLayout, Send
from .lives import TableLives
from .naming import Naming
from .numbers import Numbers
from .places import OwnRows


@dataclass(frozen=True, slots=True)
class Hint:
    """A scope's last value, and when a read or a write confirmed it (monotonic seconds)."""

    last_value: int
    at: float


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which requests get which values, the read units that it cost, and the counter's own action if there is one.

    It has no requests if all of them have an answer or a refusal already. `first_day` is the first date of its
    documents, if the counter's action is on the condition that the last one is not dated later. `check` is one more
    action, which stores nothing.
    """

    pendings: Sequence[Pending[PutRequest]]
    values: Sequence[int]
    read_units: float = 0.0
    counter: Mapping[str, Any] | None = None
    token: str = ""
    first_day: str = ""
    check: Mapping[str, Any] | None = None


class Assigner(ABC):
    """Decides which value comes next, and learns the outcome. Every `Strategy` is one: it makes the parts that it has.

    What writes and reads the rows of a sequence is made of its assigner, and knows no more of the strategy.
    """

    config: SequenceConfig
    alias: str
    option: dict[str, Any]
    timing: Timing
    wall: Callable[[], float]
    naming: Naming
    numbers: Numbers
    layout: ItemLayout
    lives: TableLives
    history: History
    following: Following
    scope_list: ScopeList
    own_rows: OwnRows
    most_actions: ClassVar[int] = 100
    """How many actions of one transaction items and their markers may use."""
    evidence: Evidence | None = None
    """What this host remembers of the scopes, for a strategy that refuses one that went back."""

    def deadline(self, began: float | None = None) -> Deadline:
        """A deadline for one call. It began at this time (`time.monotonic`), before it had its strategy; else now."""
        seconds: float = self.option["deadline"]
        deadline = Deadline(timing=self.timing, seconds=seconds, client=self.config.client, sequence=self.alias)
        if began is not None:
            deadline.began -= time.monotonic() - began
        return deadline

    @abstractmethod
    def last_value(self, scope: Scope) -> int | None:
        """The highest value handed out; None if there was none yet. Costs one read."""

    @abstractmethod
    def assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        """Assign the next values to these requests, or to the first few of them. May read."""

    @abstractmethod
    def number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int) -> None:
        """Another item is already stored under this value."""

    def committed(self, scope: Scope, last_value: int) -> None:
        """A write is stored, and this is its last value."""

    def handed_out(self, scope: Scope, value: int) -> None:
        """A marker shows that this value was handed out."""
        if self.evidence:
            self.evidence.note(scope, value)

    def counter_moved(self, scope: Scope, reason: CancellationReason, send: Send) -> None:
        """The counter has changed since it was read; `reason.old` is the counter now."""

    def skipped(self, scope: Scope) -> None:
        """The number that is taken is the first of a skipped range: what comes next must be read."""

    def hint(self, scope: Scope) -> Hint | None:
        """The last confirmed value of a scope, for other processes of this host; None if there is none."""
        return None

    def accept_hint(self, scope: Scope, hint: Hint) -> None:
        """Take over a newer last value from another process of this host."""
