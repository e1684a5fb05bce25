"""What an audit found in one scope, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["AuditReport", "Findings", "Gap", "Orphan", "Stray", "Void"]

MOST_LISTED = 1000

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Values that no item carries: `count` of them, from `first` to `last`, both included."""

    first: int
    last: int
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """A value that was used and withdrawn: who did it, when and why, as the item's attribute `void` says.

    Under that name, anything without one of `by`, `at` and `reason` is the application's own.
    """

    value: int
    by: str
    at: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Stray:
    """A row of the collection whose sort key is no value that the sequence handed out."""

    sort_key: str
    problem: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Orphan:
    """A marker without its item: a repeat of its request would be answered with a value that is not its."""

    token: str
    value: int | None
    problem: str


@dataclass(kw_only=True, slots=True)
class Findings(Generic[T]):
    """All findings of one kind, counted; the first thousand of them, listed."""

    total: int = 0
    listed: list[T] = field(default_factory=list)

    def add(self, finding: T) -> None:
        """Count it, and list it while there is room: memory stays bounded however bad things are."""
        self.total += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append(finding)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditReport:
    """What was found in one scope. `last_value` is the highest value to prove, None if there was none.

    `went_back_to` is what the counter says if that is less than it handed out. A void that nobody signed is
    unexplained. `notes` say what the audit cannot see, and why gaps are no fault where `gaps_explained`.
    """

    sequence: str
    scope: str | None
    strategy: str
    last_value: int | None
    carried: int
    missing: int
    markers: int
    went_back_to: int | None
    gaps_explained: bool
    gaps: Findings[Gap]
    voids: Findings[Void]
    strays: Findings[Stray]
    orphans: Findings[Orphan]
    unsigned_voids: int
    notes: tuple[str, ...]

    @property
    def unexplained(self) -> int:
        """How many findings nobody accounts for; 0 is the proof."""
        gaps = 0 if self.gaps_explained else self.gaps.total
        went_back = self.went_back_to is not None
        return gaps + self.strays.total + self.orphans.total + self.unsigned_voids + went_back
