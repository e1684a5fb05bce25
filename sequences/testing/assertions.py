"""What a test may assert about the numbers of a scope."""

from __future__ import annotations

from ..ops.audit import AuditReport, audit
from ..registry import strategies

__all__ = ["assert_gapless"]

MOST_SHOWN = 10


def assert_gapless(sequence: str, *, scope: str | None = None) -> None:
    """Assert that every value from START to the last one handed out has a stored item, and that there is one.

    Raises AssertionError, which names the missing values, and also if no value was handed out, since the scope may be
    misspelled. A void counts as stored. The last value of `BlockAllocator` is the end of its last block.
    Cost: the read units of all items and markers of the scope.
    Raises OperationNotSupported if the items are not in collections, InvalidSequence, InvalidScope, ScopeNotFound,
    SequenceUnavailable and StorageRefused.
    """
    report = audit(strategies[sequence], scope)
    where = f"{sequence!r}" if scope is None else f"{sequence!r}, scope {scope!r},"
    if report.last_value is None:
        raise AssertionError(f"{where} has handed out no value: are sequence and scope the right ones?")
    if report.missing:
        of = report.missing + report.carried
        raise AssertionError(f"{where} lacks the items of {report.missing} of {of} values: {_shown(report)}.")
    if report.went_back_to is not None:
        raise AssertionError(f"The counter of {where} went back to {report.went_back_to}.")


def _shown(report: AuditReport) -> str:
    shown = [str(gap.first) if gap.count == 1 else f"{gap.first} to {gap.last}" for gap in report.gaps.listed]
    more = ["and more"] if report.gaps.total > MOST_SHOWN else []
    return ", ".join([*shown[:MOST_SHOWN], *more])
