"""What is said of every call: lines of the log, signals, metrics, and warnings before the end of a sequence."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..commit.requests import Pending
from ..exceptions import (
    GaveUp,
    SequenceContention,
    SequenceError,
    SequenceExhausted,
    SequenceUnsound,
    SequenceWentBack,
    StorageError,
)
from ..metrics import metrics
from ..signals import contention, nearly_used_up, value_allocated
from ..types import Allocation, Dated, Scope, parted

if TYPE_CHECKING:
    from ..strategies.base import Strategy

logger = logging.getLogger("sequences.services")

FOR_OPERATORS = (GaveUp, SequenceExhausted, SequenceUnsound, SequenceWentBack, StorageError)
"""The errors that have a line in the log. The others are about what one caller asked for."""


def notify(strategy: Strategy, scope: Scope, values: Sequence[int], *, replayed: bool = False) -> None:
    """Send the signals for values that were handed out, or handed out again if `replayed`."""
    if value_allocated.receivers:
        plain, period = parted(scope)
        value_allocated.send_robust(
            type(strategy), sequence=strategy.alias, scope=plain, period=period, values=values, replayed=replayed
        )
    if not replayed and values[-1] >= strategy.numbers.nearly_used_up:
        _warn_of_end(strategy, scope, values[-1])


def _warn_of_end(strategy: Strategy, scope: Scope, value: int) -> None:
    """Log and signal how much of a scope is used, once for each percent and process."""
    percent = strategy.numbers.percent_used(value)
    if percent <= (strategy.percents.get(scope) or 0):
        return
    strategy.percents.put(scope, percent)
    limit, (plain, period) = strategy.numbers.limit, parted(scope)
    used: dict[str, Any] = {"sequence": strategy.alias, "scope": plain, "period": period, "value": value}
    logger.warning(
        "sequence %s scope %s: %d %% of the values up to %d are used", strategy.alias, scope, percent, limit,
        extra={"event": "nearly_used_up", **used},
    )  # fmt: skip
    nearly_used_up.send_robust(type(strategy), **used, limit=limit, percent=percent)


def report(strategy: Strategy, scope: Scope, pendings: Sequence[Pending[Any]]) -> None:
    """Say how a call ended: a line and a signal for each allocation, and one line if a request failed for operators."""
    failure: SequenceError | None = None
    warns_from = strategy.numbers.nearly_used_up
    deadline = pendings[0].deadline if pendings else None
    seconds = deadline.spent if deadline else 0.0
    if metrics.on and pendings:
        answers = [one for pending in pendings if pending.answer is not None for one in (pending.answer, *pending.rest)]
        metrics.answered(strategy.alias, answers, seconds)
    for pending in pendings:
        answer = pending.answer
        if isinstance(answer, Allocation):
            for one in (answer, *pending.rest):
                _log(scope, one, pending.group_size, seconds)
                if value_allocated.receivers or one.value >= warns_from:
                    notify(strategy, Dated.of(one.scope, one.period), [one.value], replayed=one.replayed)
        elif isinstance(answer, range | list):
            notify(strategy, scope, answer)
        elif isinstance(answer, FOR_OPERATORS):
            failure = failure or answer
    if failure:
        failed(strategy, scope, failure, seconds)


def _log(scope: Scope, one: Allocation, group_size: int, seconds: float) -> None:
    """Log an allocation with its cost, as text and as fields. A repeat was in no write of this call."""
    if not logger.isEnabledFor(logging.INFO):
        return
    size, milliseconds = 0 if one.replayed else group_size, round(seconds * 1000, 1)
    logger.info(
        "sequence %s scope %s: value %d, attempts %d%s, %.4g WU, %.4g RU, %.1f ms, group of %d",
        one.sequence, scope, one.value, one.attempts, ", replayed" if one.replayed else "",
        one.write_units, one.read_units, milliseconds, size,
        extra={
            "sequence": one.sequence, "scope": one.scope, "period": one.period, "value": one.value,
            "attempts": one.attempts, "replayed": one.replayed, "write_units": one.write_units,
            "read_units": one.read_units, "milliseconds": milliseconds, "group_size": size,
        },
    )  # fmt: skip


def failed(strategy: Strategy, scope: Scope, error: SequenceError, seconds: float) -> None:
    """Log that a call failed after so long, if that is for operators, and signal contention."""
    if not isinstance(error, FOR_OPERATORS):
        return
    level, what, (plain, period) = logging.ERROR, "refused", parted(scope)
    fields = {
        "event": "call_failed", "error": type(error).__name__, "sequence": strategy.alias, "scope": plain,
        "period": period, "milliseconds": round(seconds * 1000, 1),
    }  # fmt: skip
    if isinstance(error, GaveUp):
        fields["attempts"] = error.attempts
        level, what = logging.WARNING, "gave up"
    logger.log(level, "sequence %s scope %s: %s: %s", strategy.alias, scope, what, error, extra=fields)
    error.logged = True
    if isinstance(error, SequenceContention):
        contention.send_robust(type(strategy), sequence=strategy.alias, scope=plain, period=period, error=error)
