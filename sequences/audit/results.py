"""What is kept of audits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = ["AuditResult", "latest_audits"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditResult:
    """How one audit ended."""

    sequence: str
    scope: str | None
    period: str
    by: str
    at: datetime
    seconds: float
    stored: int
    missing: int
    gaps: int
    voids: int
    unexplained: int
    last_value: int | None = None
    scopes: int = 1
    every_scope: bool = False
    findings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What it comes to, in words."""
        return f"{self.unexplained} findings are unexplained" if self.unexplained else "everything is explained"


def latest_audits(sequence: str, limit: int = 10) -> list[AuditResult]:
    """The results that are kept of a sequence, the latest first."""
    return []
