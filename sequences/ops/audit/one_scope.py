"""The audit of one scope, wherever its numbers are: in items, in the rows of models, or in both."""

from __future__ import annotations

from collections.abc import Iterator

from ...strategies.base import Strategy
from ...types import Scope, parted, scope_text
from .check import Progress, audit
from .column_check import audit_columns
from .columns import Where
from .report import AuditReport

__all__ = ["reports_on"]


def reports_on(
    strategy: Strategy, scope: Scope, progress: Progress = lambda done, wanted: None
) -> Iterator[AuditReport]:
    """The report on the items of a scope, if it has items, and then the one on its rows. See `Where`.

    Costs and raises what `audit` and `audit_columns` do.
    """
    where, (name, period) = Where(strategy), parted(scope)
    if where.in_items:
        yield audit(strategy, scope, progress=progress)
    if where.columns:
        yield from audit_columns(
            strategy,
            where.columns,
            [scope],
            scope=scope_text(name),
            period=period or None,
            progress=lambda done: progress(done, 0),
        )
