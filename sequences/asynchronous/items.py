"""The public functions that read stored items back, for event loops. See `services.items`."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator
from functools import partial

from ..registry import strategies
from ..services.items import find, get_item, pages
from ..types import StoredItem
from .gatherings import in_thread

__all__ = ["afind", "aget_item", "aitems"]


async def aget_item(
    sequence: str,
    value: int,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
) -> StoredItem | None:
    """Await `get_item`."""
    read = partial(get_item, sequence, value, scope=scope, date=date, period=period)
    return await in_thread(strategies[sequence], scope, read)


async def afind(
    text: str,
    sequence: str,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
) -> StoredItem | None:
    """Await `find`."""
    read = partial(find, text, sequence, scope=scope, date=date, period=period)
    return await in_thread(strategies[sequence], scope, read)


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
    strategy = strategies[sequence]
    query = partial(pages, sequence, scope, date, period, after, newest_first=newest_first)
    found = await in_thread(strategy, scope, query)
    while (page := await in_thread(strategy, scope, partial(next, found, None))) is not None:
        for item in page:
            yield item
