"""What the doctor reads about tables and clients, and what it finds: plain data between reading and judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from ...rows.rules import Difference
from ...rows.soundness import TableRequirements, Verdict
from ...types import Scope
from ..audit.results import AuditResult

__all__ = [
    "ClientFacts",
    "Fact",
    "Facts",
    "Finding",
    "Hand",
    "ScopeFacts",
    "SequenceFacts",
    "TableFacts",
    "Unknown",
    "Use",
]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands for a fact that could not be read, and says why.

    It is no `failure` where the engine does not have it, or where an application need not read it.
    """

    reason: str
    remedy: str = ""
    failure: bool = True


class Hand(NamedTuple):
    """Where the administration helps: a guarded change such as "thaw", an "audit", or the page of the "scope"."""

    page: str
    sequence: str
    scope: Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at: of a table, a client or a sequence, what was found, why it matters, what helps.

    `failure` says that it should have been read, and was not. `hand` is where a person can do what helps, in a page.
    """

    subject: str
    about: str
    verdict: Verdict
    found: str
    reason: str
    remedy: str = ""
    failure: bool = False
    hand: Hand | None = None

    @classmethod
    def either(
        cls,
        subject: str,
        about: str,
        is_good: bool,
        found: str,
        reasons: tuple[str, str],
        remedy: str,
        otherwise: Verdict = Verdict.CAREFUL,
    ) -> Finding:
        """A finding that is good, with the first of the reasons, or needs the remedy, with the second."""
        return cls(
            subject=subject,
            about=about,
            verdict=Verdict.GOOD if is_good else otherwise,
            found=found,
            reason=reasons[0 if is_good else 1],
            remedy="" if is_good else remedy,
        )

    @classmethod
    def unknown(cls, subject: str, about: str, fact: Unknown | None) -> Finding:
        """A finding about a fact that could not be read."""
        told = fact or Unknown("It was not read.")
        return cls(
            subject=subject,
            about=about,
            verdict=Verdict.UNKNOWN,
            found="not known",
            reason=told.reason,
            remedy=told.remedy,
            failure=told.failure,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """What one sequence keeps in a table, such as "items" or "markers"."""

    sequence: str
    keeps: Sequence[str]


Fact = Mapping[str, Any] | Unknown | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFacts:
    """What DynamoDB says of one table; `table` is None if there is none.

    `table` is the answer to DescribeTable, `expiry` that to DescribeTimeToLive, and `recovery` that to
    DescribeContinuousBackups, each without its outermost member. `refused` has the operations that the policy of the
    role refuses; None if they were not tried.
    """

    name: str
    client: str
    keys: Mapping[str, str]
    uses: Sequence[Use]
    table: Fact
    expiry: Fact = None
    recovery: Fact = None
    refused: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientFacts:
    """How one client reaches DynamoDB: how long each of a few reads took, and how far ahead the engine's clock is.

    `caller` is in whose name it signs, and `limits` the answer to DescribeLimits; None if it was not asked. `lacks`
    says why its requests do not go the way that the settings ask for.
    """

    alias: str
    seconds: Sequence[float] | Unknown
    ahead: float = 0.0
    lacks: str = ""
    caller: str | Unknown | None = None
    limits: Fact = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeFacts:
    """One scope: where it stands, the highest value that was handed out as far as is known here, and what stops it.

    `last` is what its counter says, or its highest item where it has none. `trouble` says why the next number is
    refused. `percent_used` is 0 until nearly all values are used.
    """

    scope: Scope
    last: int | None
    handed_out: int
    trouble: str = ""
    frozen: Mapping[str, Any] | None = None
    percent_used: int = 0
    used_up: bool = False
    ends_on: date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceFacts:
    """The first scopes of one sequence at a time, whether there are `more`, and its audits; None if it has none.

    `unlisted` says why its scopes cannot be listed.
    """

    sequence: str
    now: float
    scopes: Sequence[ScopeFacts] = ()
    unread: Unknown | None = None
    """Why they could not be looked at."""
    more: bool = False
    unlisted: str = ""
    audits: Sequence[AuditResult] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Everything that was read. `wrong` has the sequences whose settings are wrong, and why.

    `needs` has the sequences whose tables were looked at.
    """

    needs: Sequence[TableRequirements] = ()
    changed: Mapping[str, Sequence[Difference] | Unknown] = field(default_factory=dict)
    """How the settings of each sequence differ from those by which its rows are written."""
    scopes: Sequence[SequenceFacts] = ()
    """The scopes of each sequence, if they were looked at."""
    tables: Sequence[TableFacts] = ()
    clients: Sequence[ClientFacts] = ()
    wrong: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0
    """How many tables were not looked at, because there are too many."""
    away: Mapping[str, str] = field(default_factory=dict)
    """The clients for which DynamoDB did not answer, and what they said."""
