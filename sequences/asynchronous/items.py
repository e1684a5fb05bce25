"""The public functions that read stored items back, for event loops. See `services.items`."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..registry import strategies
from ..services.items import found_places, meant, one, pages_of, place_of
from ..types import Scope, StoredItem
from .gatherings import Call, gatherings

if TYPE_CHECKING:
    from ..strategies.base import Strategy

__all__ = ["afind", "aget_item", "aitems"]

A = TypeVar("A")


async def aget_item(
    sequence: str,
    value: int,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
) -> StoredItem | None:
    """Await `get_item`."""
    strategy, place = strategies[sequence], place_of(sequence, scope, date, period)
    return await _read(strategy, place, partial(one, strategy, place, value))


async def afind(
    text: str,
    sequence: str,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
) -> StoredItem | None:
    """Await `find`."""
    strategy, places = strategies[sequence], found_places(text, sequence, scope, date, period)
    place, _ = next(iter(places))
    return await _read(strategy, place, partial(meant, sequence, places))


async def aitems(
    sequence: str,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
    after: int | None = None,
    newest_first: bool = False,
) -> AsyncIterator[StoredItem]:
    """Give the items as `items` does, to `async for`."""
    strategy, place = strategies[sequence], place_of(sequence, scope, date, period)
    pages = pages_of(strategy, place, after, newest_first=newest_first)
    while (page := await _read(strategy, place, partial(next, pages, None))) is not None:
        for item in page:
            yield item


async def _read(strategy: Strategy, scope: Scope, work: Callable[[], A]) -> A:
    """What some work reads, in a thread."""
    call = _Read(strategy, scope, work)
    await gatherings.serve(call)
    found: A = call.found
    return found


class _Read(Call):
    """A call that reads something of its own: it goes alone."""

    most_together = 0
    found: Any

    def __init__(self, strategy: Strategy, scope: Scope, work: Callable[[], object]) -> None:
        super().__init__(strategy, scope, strategy.deadline())
        self.work = work

    @classmethod
    def serve(cls, calls: Sequence[_Read]) -> None:
        for call in calls:
            call.found = call.work()
