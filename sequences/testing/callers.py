"""Callers of a sequence, one after the other or many threads at once, and whether what they were told is stored.

Callers take and return plain values, so that other processes can run them too.
"""

import datetime
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Any, TypeVar

from ..ops.audit import AuditReport
from ..ops.audit.column_check import reports_on
from ..ops.audit.report import ColumnReport
from ..registry import strategies
from ..rows.reading import pages
from ..services import get_last_value, get_next_value, put_next
from ..types import Scope, parted

T = TypeVar("T")

MOST_SHOWN = 10


def at_once(count: int, task: Callable[[int], T]) -> list[T]:
    """What `count` threads got from `task(index)`, which they all begin at the same moment."""
    meeting = threading.Barrier(count)

    def one(index: int) -> T:
        meeting.wait(timeout=30)
        return task(index)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


def put_some(name: str, scope: str, count: int) -> list[int]:
    """Store so many items one after the other; their values."""
    return [put_next(name, {"title": f"{os.getpid()}"}, scope=scope).value for _ in range(count)]


def take_some(name: str, scope: str, count: int) -> list[int]:
    """Take so many values one after the other."""
    return [get_next_value(name, scope=scope) for _ in range(count)]


def repeat(name: str, scope: str, token: str) -> tuple[int, bool]:
    """Store the one item of a token: its value, and whether it was stored before."""
    allocation = put_next(name, {"title": "the one"}, scope=scope, idempotency_token=token)
    return allocation.value, allocation.replayed


def values_from_start(name: str, count: int) -> list[int]:
    """The first values of a sequence."""
    config = strategies[name].config
    return [config.start + config.step * n for n in range(count)]


def stored(name: str, scope: str | None) -> dict[int, Mapping[str, Any]]:
    """The items of a scope by their values, with their keys and the attributes that the contract's items have."""
    strategy = strategies[name]
    found = pages(strategy.schema, strategy.layout.partition(scope), 1000, "title", "at", "labels")
    return {strategy.schema.number(row): row for page in found for row in page}


def judge(name: str, scope: str, told: list[list[int]]) -> None:
    """Each value was told once, in increasing order to each of the callers, and is in its place."""
    values = sorted(chain.from_iterable(told))
    config = strategies[name].config
    assert all(a < b for a, b in pairwise(values)), "a value was handed out twice"
    assert all(a < b for part in told for a, b in pairwise(part)), "a later value is not the larger"
    assert values[0] == config.start
    assert {(value - config.start) % config.step for value in values} == {0}
    last_value = get_last_value(name, scope=scope)
    assert last_value is not None
    assert last_value >= values[-1]


def judge_items(name: str, scope: str, told: list[list[int]]) -> None:
    """Each value has an item, and every item's value was answered; gapless strategies leave no gap."""
    judge(name, scope, told)
    values = sorted(chain.from_iterable(told))
    assert sorted(stored(name, scope)) == values
    if strategies[name].gapless:
        assert values == values_from_start(name, len(values))
        assert get_last_value(name, scope=scope) == values[-1]


def judge_repeats(name: str, scope: str, told: list[tuple[int, bool]]) -> None:
    """All repeats at the same moment were told one value, which has the only item, and one of them stored it."""
    values = {value for value, _ in told}
    assert values == set(stored(name, scope))
    assert len(values) == 1
    assert [replayed for _, replayed in told].count(False) == 1
    if strategies[name].exactly_once:
        assert values == {strategies[name].config.start}
        assert put_some(name, scope, 1) == values_from_start(name, 2)[1:]


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
