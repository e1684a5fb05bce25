"""The report of an audit of one scope, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["AuditReport", "ColumnReport", "Duplicate", "Findings", "Gap", "Orphan", "Stray", "Unnumbered", "Void"]

MOST_LISTED = 1000

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Values without a stored item: `count` of them, from `first` to `last`, both included.

    A guarded change that skipped them explains them: `by`, `at` and `reason` tell of it. A `reason` alone is what may
    have happened.
    """

    first: int
    last: int
    count: int
    by: str = ""
    at: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """A value that was used and withdrawn. The item's attribute `void` says by whom, when and why.

    `text` is the one that is stored with it. An attribute `void` without any of `by`, `at` and `reason` is the
    application's own.
    """

    value: int
    by: str
    at: str
    reason: str
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stray:
    """A row of the collection whose sort key is not a value of the sequence."""

    sort_key: str
    problem: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Orphan:
    """A marker without its item. A repeat of its request would get the wrong answer."""

    token: str
    value: int | None
    problem: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Duplicate:
    """A number that `count` rows have. `rows` names the first of them, by model and primary key."""

    value: int
    count: int
    rows: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unnumbered:
    """A row that has no number, by model and primary key."""

    row: str


@dataclass(kw_only=True, slots=True)
class Findings(Generic[T]):
    """All findings of one kind: their number, and the first thousand of them."""

    total: int = 0
    listed: list[T] = field(default_factory=list)

    def add(self, finding: T) -> None:
        """Count the finding, and list it if there is room: memory stays bounded."""
        self.total += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append(finding)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditReport:
    """What the audit found in one scope.

    `last_value` is the highest value to check, None if there was none. `carried` counts the values with a stored item,
    and `missing` those without; `skipped` of them are explained by a guarded change. `went_back_to` is the counter's
    value if that is lower than a value it handed out. A void without a signature is unexplained. `explained_gaps`
    counts the gaps that a guarded change explains, `unjudged_gaps` those that may be of items with keys of their own,
    which are not among the rows. `notes` say what the audit cannot see, and why all gaps are acceptable if
    `gaps_explained`.
    """

    sequence: str
    scope: str | None
    period: str
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
    explained_gaps: int
    unjudged_gaps: int
    notes: tuple[str, ...]
    skipped: int = 0

    @property
    def unexplained(self) -> int:
        """How many findings have no explanation; 0 means that all is well."""
        gaps = 0 if self.gaps_explained else self.gaps.total - self.explained_gaps - self.unjudged_gaps
        went_back = self.went_back_to is not None
        return gaps + self.strays.total + self.orphans.total + self.unsigned_voids + went_back


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnReport(AuditReport):
    """What the audit found in the columns of models that hold the numbers of one scope.

    `where` names the columns and their databases. `carried` counts the values that rows have. `strays` are rows whose
    numbers are no values of the sequence; those `above` its counter are unexplained, as they are to be given again.
    """

    where: tuple[str, ...]
    duplicates: Findings[Duplicate]
    unnumbered: Findings[Unnumbered]
    above: int

    @property
    def unexplained(self) -> int:
        """How many findings have no explanation: numbers that occur twice, or are missing where no gap may be."""
        gaps = 0 if self.gaps_explained else self.gaps.total - self.explained_gaps
        return gaps + self.duplicates.total + self.above + (self.went_back_to is not None)
