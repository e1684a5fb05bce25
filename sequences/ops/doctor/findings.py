"""What the doctor finds, and what stands for a fact that it could not read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from ...rows.soundness import Verdict
from ...types import Scope


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands for a fact that could not be read, and says why.

    It is no `failure` where the engine does not have it, or where an application need not read it.
    """

    reason: str
    remedy: str = ""
    failure: bool = True


Fact = Mapping[str, Any] | Unknown | None
"""An answer of DynamoDB without its outermost member; None if there is none."""


class Hand(NamedTuple):
    """Where the administration helps: a guarded change such as "thaw", an "audit", or the page of the "scope"."""

    page: str
    sequence: str
    scope: Scope


@dataclass(frozen=True, slots=True)
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
    def unknown(cls, subject: str, about: str, fact: Unknown | None) -> Self:
        """A finding about a fact that could not be read."""
        told = fact or Unknown("It was not read.")
        return cls(subject, about, Verdict.UNKNOWN, "not known", told.reason, told.remedy, told.failure)
