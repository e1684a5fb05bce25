"""Which missing values may be those of items with keys of their own, which are not among the rows of a scope.

The counter of `TransactionalCounter` counts them in the write that stores them:

    own_keys         how many values went to items with keys of their own
    own_keys_after   above which value they are counted; an earlier version did not count them
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...dynamodb.expressions import OWN_KEYS, OWN_KEYS_AFTER
from ...strategies.base import Strategy

__all__ = ["OwnKeys"]


class OwnKeys:
    """Compares the missing values of one scope with what the row of its counter, as it was first read, counts."""

    def __init__(self, strategy: Strategy, counter: Mapping[str, Any]) -> None:
        self._possible = strategy.takes_own_keys and strategy.layout.may_own_key
        self._gapless = strategy.gapless
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
        if not (self._possible and self._gapless):
            return 0
        return self._earlier_gaps + (self._gaps if self._missing <= self._counted else 0)

    def notes(self) -> Iterator[str]:
        """What the audit cannot see or judge."""
        if self._possible and self._gapless and self._gaps and self._counted:
            yield (
                f"Of {self._missing} missing values {min(self._counted, self._missing)} have items with keys of their "
                "own, which the audit cannot see."
            )
        if self._possible and self._gapless and self._earlier_gaps:
            where = "" if self._after is None else f" up to {self._after}"
            yield f"Gaps{where} cannot be judged: items with keys of their own were not counted then."
        if self._markers:
            yield f"{self._markers} markers of an earlier version do not tell whether their items have their own keys."
