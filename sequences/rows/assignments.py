"""Between the item writer and a strategy: which requests get which values, and what the strategy learns of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline
from ..exceptions import CancellationReason
from ..types import Scope
from .history import ScopeList
from .layout import Send
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


class Assigner(Protocol):
    """Decides which value comes next, and learns the outcome. Every `Strategy` is one, and says what each method is."""

    numbers: Numbers
    own_rows: OwnRows
    scope_list: ScopeList

    def assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment: ...
    def committed(self, scope: Scope, last_value: int) -> None: ...
    def handed_out(self, scope: Scope, value: int) -> None: ...
    def counter_moved(self, scope: Scope, reason: CancellationReason, send: Send) -> None: ...
    def number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int) -> None: ...
    def skipped(self, scope: Scope) -> None: ...
    def hint(self, scope: Scope) -> Hint | None: ...
    def accept_hint(self, scope: Scope, hint: Hint) -> None: ...
