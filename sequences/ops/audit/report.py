"""The report of an audit of one scope, in bounded memory, and its words."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from ...rows.layout import SIGNATURE

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


def signed(about: Mapping[str, Any]) -> dict[str, str]:
    """By whom, when and why something was done, each empty if a row does not tell."""
    return {name: str(about.get(name, "")) for name in SIGNATURE}


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

    def __str__(self) -> str:
        signed = f"by {self.by} at {self.at}" if self.by and self.at else "without a signature"
        return f"void: {self.value} {signed}: {self.reason or 'no reason given'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """A value whose item is not as it was stored: its digest is another one. `text` is what its row says now."""

    value: int
    text: str = ""

    def __str__(self) -> str:
        named = f"{self.value} ({self.text})" if self.text else f"{self.value}"
        return f"changed: {named} is not as it was stored: its digest is another"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stray:
    """A row of the collection whose sort key is not a value of the sequence."""

    sort_key: str
    problem: str

    def __str__(self) -> str:
        return f"stray row: {self.sort_key} is {self.problem}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Orphan:
    """A marker without its item. A repeat of its request would get the wrong answer."""

    token: str
    value: int | None
    problem: str

    def __str__(self) -> str:
        return f"marker without its item: token {self.token!r}, value {self.value}: {self.problem}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Duplicate:
    """A number that `count` rows have. `rows` names the first of them, by model and primary key."""

    value: int
    count: int
    rows: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {self.count - len(self.rows)} more" if self.count > len(self.rows) else ""
        return f"number of {self.count} rows: {self.value} of {', '.join(self.rows)}{more}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unnumbered:
    """A row that has no number, by model and primary key."""

    row: str

    def __str__(self) -> str:
        return f"row without a number: {self.row}"


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


@dataclass(kw_only=True, slots=True)
class AuditReport:
    """What the audit found in one scope, which people call `name` if they do not use its own. The audit fills it.

    `last_value` is the highest value to check, None if there was none. `carried` counts the values with a stored item,
    and `missing` those without; `skipped` of them are explained by a guarded change. `went_back_to` is the counter's
    value if that is lower than a value it handed out. A void without a signature is unexplained, and so is what was
    `changed`. `explained_gaps` counts the gaps that a guarded change explains, `unjudged_gaps` those that may be of
    items with keys of their own, which are not among the rows. `notes` say what the audit cannot see, and why all gaps
    are acceptable if `gaps_explained`.
    """

    sequence: str
    scope: str | None
    period: str
    strategy: str
    gaps_explained: bool
    name: str = ""
    last_value: int | None = None
    carried: int = 0
    missing: int = 0
    skipped: int = 0
    markers: int = 0
    went_back_to: int | None = None
    gaps: Findings[Gap] = field(default_factory=Findings)
    voids: Findings[Void] = field(default_factory=Findings)
    strays: Findings[Stray] = field(default_factory=Findings)
    orphans: Findings[Orphan] = field(default_factory=Findings)
    changed: Findings[Changed] = field(default_factory=Findings)
    unsigned_voids: int = 0
    explained_gaps: int = 0
    unjudged_gaps: int = 0
    notes: tuple[str, ...] = ()

    @property
    def unexplained(self) -> int:
        """How many findings have no explanation; 0 means that all is well."""
        gaps = 0 if self.gaps_explained else self.gaps.total - self.explained_gaps - self.unjudged_gaps
        went_back = self.went_back_to is not None
        rows = self.strays.total + self.orphans.total + self.changed.total
        return gaps + rows + self.unsigned_voids + went_back


@dataclass(kw_only=True, slots=True)
class ColumnReport(AuditReport):
    """What the audit found in the columns of models that hold the numbers of one scope.

    `where` names the columns and their databases. `carried` counts the values that rows have. `strays` are rows whose
    numbers are no values of the sequence; those `above` its counter are unexplained, as they are to be given again.
    """

    where: tuple[str, ...] = ()
    duplicates: Findings[Duplicate] = field(default_factory=Findings)
    unnumbered: Findings[Unnumbered] = field(default_factory=Findings)
    above: int = 0

    @property
    def unexplained(self) -> int:
        """How many findings have no explanation: numbers that occur twice, or are missing where no gap may be."""
        gaps = 0 if self.gaps_explained else self.gaps.total - self.explained_gaps
        return gaps + self.duplicates.total + self.above + (self.went_back_to is not None)


def scope_in_words(scope: str | None, period: str, name: str = "") -> str:
    """How people read a scope, with the name that they call it and its period, where it has these."""
    named = f"({name})" if name else ""
    return " ".join(filter(None, ["without scope" if scope is None else scope, named, period]))


def title_in_words(report: AuditReport) -> str:
    """How far a scope has counted, and how many there are of each kind."""
    scope = scope_in_words(report.scope, report.period, report.name)
    last = "nothing handed out" if report.last_value is None else f"last value {report.last_value}"
    return f"{report.sequence} {scope} ({report.strategy}): {', '.join([last, *_counts(report)])}"


def _counts(report: AuditReport) -> Iterator[str]:
    """The numbers that a change skipped are not called missing."""
    rows = report if isinstance(report, ColumnReport) else None
    yield f"{report.carried} {'in rows' if rows else 'stored'}"
    yield f"{report.missing - report.skipped} missing"
    if report.skipped:
        yield f"{report.skipped} skipped"
    if rows:
        yield f"{rows.duplicates.total} of several rows"
        yield f"{rows.unnumbered.total} rows without a number"
    else:
        yield f"{report.voids.total} void"
        yield f"{report.markers} markers"
    if report.changed.total:
        yield f"{report.changed.total} changed"


def findings_in_words(report: AuditReport) -> Iterator[str]:
    """A line for each finding that the report lists, what is explained too, and how many more there are."""
    if report.went_back_to is not None:
        yield f"counter: went back to {report.went_back_to}, after {report.last_value} was handed out"
    yield from _lines(report.changed, "changed")
    yield from _lines(report.gaps, "gaps", partial(_gap_in_words, last=report.last_value))
    yield from _lines(report.voids, "voids")
    yield from _lines(report.strays, "stray rows")
    yield from _lines(report.orphans, "markers without their items")
    if isinstance(report, ColumnReport):
        yield from _lines(report.duplicates, "numbers of several rows")
        yield from _lines(report.unnumbered, "rows without a number")


def _lines(findings: Findings[T], what: str, in_words: Callable[[T], str] = str) -> Iterator[str]:
    yield from map(in_words, findings.listed)
    if findings.total > len(findings.listed):
        yield f"{findings.total - len(findings.listed)} more {what}"


def _gap_in_words(gap: Gap, last: int | None) -> str:
    values = f"{gap.first}" if gap.count == 1 else f"{gap.first} to {gap.last} ({gap.count} values)"
    explained = f"by {gap.by} at {gap.at}: {gap.reason}" if gap.by else gap.reason
    return ", ".join(filter(None, [f"gap: {values}{' at the end' if gap.last == last else ''}", explained]))
