"""The check of the markers of one scope: each needs the items that it names, if these have no keys of their own.

Items with keys of their own are not among the rows of a scope. The counter of `TransactionalCounter` counts them in the
write that stores them:

    own_keys         how many values went to items with keys of their own
    own_keys_after   above which value they are counted; an earlier version did not count them
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...dynamodb.expressions import OWN_KEYS, OWN_KEYS_AFTER
from ...rows.numbers import Numbers
from ...rows.reading import MOST_IN_A_BATCH, Row, pages, stored_tokens
from ...strategies.base import Strategy
from ...types import Scope, parted
from .report import AuditReport, Orphan

MARKERS_A_PAGE = 100  # as many as one BatchGetItem takes
OF_A_MARKER = ("token", "value", "count", "items", "own_keys", "period")
"""The attributes that the check reads."""


class OwnKeys:
    """Compares the missing values of one scope with what the row of its counter, as it was first read, counts."""

    def __init__(self, strategy: Strategy, counter: Mapping[str, Any]) -> None:
        self._possible = strategy.takes_own_keys and strategy.layout.may_own_key
        self._judges = self._possible and strategy.gapless
        self._step = strategy.numbers.step
        self._counted: int = counter.get(OWN_KEYS, 0)
        self._after: int | None = counter.get(OWN_KEYS_AFTER)
        self._missing = self._gaps = self._earlier_gaps = self._markers = 0

    def missing(self, first: int, last: int) -> None:
        """Note a gap that no change explains."""
        before = first - self._step
        after = last if self._after is None else max(before, min(self._after, last))
        self._missing += (last - after) // self._step
        if after < last:
            self._gaps += 1
        else:
            self._earlier_gaps += 1

    def may_be_of(self, marker: Mapping[str, Any]) -> bool:
        """Whether the item of a marker may have a key of its own. A marker of an earlier version does not tell."""
        unknown = self._possible and "items" not in marker
        self._markers += unknown
        return unknown

    @property
    def unjudged_gaps(self) -> int:
        """How many gaps may be of items with keys of their own, so that they need no other explanation."""
        if not self._judges:
            return 0
        return self._earlier_gaps + (self._gaps if self._missing <= self._counted else 0)

    def notes(self) -> Iterator[str]:
        """What the audit cannot see or judge."""
        if self._judges and self._gaps and self._counted:
            yield (
                f"Of {self._missing} missing values {min(self._counted, self._missing)} have items with keys of their "
                "own, which the audit cannot see."
            )
        if self._judges and self._earlier_gaps:
            where = "" if self._after is None else f" up to {self._after}"
            yield f"Gaps{where} cannot be judged: items with keys of their own were not counted then."
        if self._markers:
            yield f"{self._markers} markers of an earlier version do not tell whether their items have their own keys."


def check_markers(strategy: Strategy, scope: Scope, own_keys: OwnKeys, report: AuditReport) -> Iterator[int]:
    """Note in a report how many markers a scope has in its period, and which of them are orphans.

    Each marker needs an item with its value and its token. They are read page by page: tells how many rows each has.
    """
    layout, markers, numbers, period = strategy.layout, strategy.markers, strategy.numbers, parted(scope)[1]
    for page in pages(markers.schema, markers.partition(scope), MARKERS_A_PAGE, *OF_A_MARKER):
        rows = [row for row in page if row.get("period", "") == period and not _is_of_others(row, numbers)]
        report.markers += len(rows)
        values = {value for row in rows for value in _members(row, numbers.step)}
        tokens = stored_tokens(strategy.schema, layout.partition(scope), values, layout.token_name)
        for row in rows:
            for orphan in _orphans(row, numbers.step, tokens, own_keys):
                report.orphans.add(orphan)
        yield len(page)


def _orphans(marker: Row, step: int, tokens: Mapping[int, str], own_keys: OwnKeys) -> Iterator[Orphan]:
    token = str(marker.get("token", ""))
    if not isinstance(marker.get("value"), int):
        yield Orphan(token=token, value=None, problem="the marker has no value")
    for value in _members(marker, step):
        if value not in tokens and own_keys.may_be_of(marker):
            continue
        if problem := _orphaned(token, value, tokens):
            yield Orphan(token=token, value=value, problem=problem)


def _is_of_others(marker: Row, numbers: Numbers) -> bool:
    """Whether a marker is of another Region: it may be here before its items are."""
    value = marker.get("value")
    return isinstance(value, int) and numbers.is_of_others(value)


def _members(marker: Row, step: int) -> list[int]:
    """The values of a marker under which a row must be: those of its items without keys of their own.

    None of one with a `count`, which is of values that were taken before their items are stored.
    """
    first, count, own_keys = marker.get("value"), marker.get("items", 1), marker.get("own_keys", ())
    if not isinstance(first, int) or "count" in marker:
        return []
    return [first + step * place for place in range(min(count, MOST_IN_A_BATCH)) if place not in own_keys]


def _orphaned(token: str, value: int, tokens: Mapping[int, str]) -> str:
    """What is wrong with an item of a marker; empty if it is right."""
    if value not in tokens:
        return "no item is stored under this value"
    return "" if tokens[value] == token else "the item under this value belongs to another request"
