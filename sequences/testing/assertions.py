"""What a test may assert about the numbers of a scope."""

import datetime

from ..ops.audit import AuditReport
from ..ops.audit.column_check import reports_on
from ..ops.audit.report import ColumnReport
from ..registry import strategies
from ..types import Scope, parted

MOST_SHOWN = 10


def assert_gapless(
    sequence: str, *, scope: str | None = None, date: datetime.date | None = None, period: str | None = None
) -> None:
    """Assert that every value from START to the last one handed out has a stored item, and that there is one.

    Where a model takes values before its rows are saved, they are to have rows, as there are no items.

    A sequence with a PERIOD is looked at in one period: the one named `period`, or the one of `date`, which is today
    without it.

    Raises AssertionError, which names the missing values, and also if no value was handed out, since the scope may be
    misspelled. A void counts as stored. The last value of `BlockAllocator` is the end of its last block.
    Cost: the read units of all items and markers of the scope.
    Raises OperationNotSupported if the items are not in collections, InvalidSequence, InvalidScope, InvalidPeriod,
    ScopeNotFound, SequenceUnavailable and StorageRefused, and ValueError for a date that the sequence does not use.
    """
    strategy = strategies[sequence]
    dated, _ = strategy.naming.dated(scope, date, period)
    report = next(reports_on(strategy, dated))
    where = _named(sequence, dated)
    if report.last_value is None:
        raise AssertionError(f"{where} has handed out no value: are sequence, scope and period the right ones?")
    if report.missing:
        of = report.missing + report.carried
        what = "rows" if isinstance(report, ColumnReport) else "items"
        raise AssertionError(f"{where} lacks the {what} of {report.missing} of {of} values: {_shown(report)}.")
    if report.went_back_to is not None:
        raise AssertionError(f"The counter of {where} went back to {report.went_back_to}.")


def _named(sequence: str, dated: Scope) -> str:
    scope, period = parted(dated)
    parts = [f"scope {scope!r}"] * (scope is not None) + [f"period {period}"] * (period != "")
    return ", ".join([f"{sequence!r}", *parts]) + "," * bool(parts)


def _shown(report: AuditReport) -> str:
    shown = [str(gap.first) if gap.count == 1 else f"{gap.first} to {gap.last}" for gap in report.gaps.listed]
    more = ["and more"] if report.gaps.total > MOST_SHOWN else []
    return ", ".join([*shown[:MOST_SHOWN], *more])
