"""The public functions for event loops. Each is named as in `services`, with an "a" before it.

It takes the same arguments, and has the same guarantee, cost and errors; what is put has the cost of a group.

Event loops must not wait, so threads make the calls for them: see `gatherings`. In a sequence with SERIES each call is
made by a thread of its own, as the rules of a scope may have to be read first; so is one for values with a token, which
looks for its marker.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..actions import Action
from ..commit.requests import Pending, ReserveRequest, values_of
from ..commit.retries import latest
from ..exceptions import GaveUp, SequenceError
from ..metrics import NOTHING, metrics
from ..registry import strategies
from ..services import get_last_value, get_next_values
from ..services.arguments import check_count, placed, reserving
from ..services.items import find, get_item, pages
from ..services.puts import PutCall, any_stored, put, store
from ..types import Allocation, Scope, StoredItem
from .gatherings import Call, gatherings, in_thread

if TYPE_CHECKING:
    from ..strategies.base import Strategy

A = TypeVar("A")


async def aget_next_value(
    sequence: str,
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    date: datetime.date | None = None,
) -> int:
    """Await `get_next_value`. The value of a cancelled call may stay unused."""
    return (await aget_next_values(1, sequence, scope=scope, idempotency_token=idempotency_token, date=date))[0]


async def aget_next_values(
    count: int,
    sequence: str,
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    date: datetime.date | None = None,
) -> range | list[int]:
    """Await `get_next_values`. The values of a cancelled call may stay unused."""
    if idempotency_token is not None or strategies.has_lines(sequence):
        take = partial(get_next_values, idempotency_token=idempotency_token, date=date)
        return await in_thread(sequence, scope, partial(take, count, sequence, scope=scope))
    began = time.monotonic()
    check_count(count)
    strategy, counted, day = placed(sequence, scope, date)
    if strategy.naming.limits:
        strategy.naming.limits.require(day)
    with metrics.call("take", sequence) if metrics.on else NOTHING:
        call = _Reserve(strategy, counted, count, began)
        await gatherings.serve(call)
        return values_of(call.pending)


async def aget_last_value(
    sequence: str, *, scope: str | None = None, date: datetime.date | None = None, period: str | None = None
) -> int | None:
    """Await `get_last_value`. Callers that await at the same time share one read."""
    if strategies.has_lines(sequence):
        look = partial(get_last_value, sequence, scope=scope, date=date, period=period)
        return await in_thread(sequence, scope, look, writes=False)
    began = time.monotonic()
    strategy, counted, _ = placed(sequence, scope, date, period)
    call = _LastValue(strategy, counted, strategy.deadline(began))
    await gatherings.serve(call)
    return call.last_value


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
    return await in_thread(sequence, scope, read, writes=False)


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
    return await in_thread(sequence, scope, read, writes=False)


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
    query = partial(pages, sequence, scope, date, period, after, newest_first=newest_first)
    found = await in_thread(sequence, scope, query, writes=False)
    while (page := await in_thread(sequence, scope, partial(next, found, None), writes=False)) is not None:
        for item in page:
            yield item


async def aput_next(
    sequence: str,
    item: Mapping[str, Any],
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    also: Sequence[Action] = (),
    date: datetime.date | None = None,
) -> Allocation:
    """Await `put_next`. The item of a cancelled call is there whole or not at all; its token finds out."""
    call = PutCall(sequence, [item], scope, [idempotency_token], date, also)
    return (await _put(call, PutCall.allocations))[0]


async def aput_next_many(
    sequence: str,
    items: Iterable[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_tokens: Sequence[str | None] | None = None,
    date: datetime.date | None = None,
) -> list[Allocation]:
    """Await `put_next_many`. Each item of a cancelled call is there whole or not at all."""
    return await _put(PutCall(sequence, [*items], scope, idempotency_tokens, date), PutCall.allocations)


async def aput_next_each(
    sequence: str,
    items: Iterable[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_tokens: Sequence[str | None] | None = None,
    date: datetime.date | None = None,
) -> list[Allocation | SequenceError]:
    """Await `put_next_each`. Each item of a cancelled call is there whole or not at all."""
    return await _put(PutCall(sequence, [*items], scope, idempotency_tokens, date), PutCall.answers)


async def aput_next_together(
    sequence: str,
    items: Iterable[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    date: datetime.date | None = None,
) -> list[Allocation]:
    """Await `put_next_together`. The items of a cancelled call are all there, or none is."""
    call = PutCall(sequence, [*items], scope, [idempotency_token], date, together=True)
    return await _put(call, PutCall.allocations) if call.items else []


async def _put(call: PutCall, answers: Callable[[PutCall], list[A]]) -> list[A]:
    if strategies.has_lines(call.sequence):
        return await in_thread(call.sequence, call.scope, partial(put, call, answers))
    call.begin()
    with metrics.call("put", call.strategy.alias) if metrics.on else NOTHING:
        if call.pendings:
            waiting = _Put(call)
            await gatherings.serve(waiting)
            waiting.require()
        return answers(call)


class _Put(Call):
    def __init__(self, puts: PutCall) -> None:
        super().__init__(puts.strategy, puts.counted, puts.deadline, puts.pendings)
        self.actions = sum(pending.request.actions for pending in puts.pendings)
        self.size = sum(pending.request.size for pending in puts.pendings)
        joins = puts.strategy.writes_together and puts.strategy.option["group"]
        self.most_together = puts.strategy.item_writer.most_actions if joins else 0

    @classmethod
    def serve(cls, calls: Sequence[_Put]) -> None:
        pendings = [pending for call in calls for pending in call.pendings]
        store(calls[0].strategy, calls[0].scope, pendings, latest([call.deadline for call in calls]))

    def require(self) -> None:
        """Raise an error of the whole call if nothing is stored, as `put` does. One that gave up is an answer."""
        is_own = any(pending.answer is self.error for pending in self.pendings)
        if self.error and is_own and not any_stored(self.pendings) and not isinstance(self.error, GaveUp):
            raise self.error


class _Reserve(Call):
    def __init__(self, strategy: Strategy, scope: Scope, count: int, began: float) -> None:
        deadline = strategy.deadline(began)
        self.pending = Pending(ReserveRequest(count=count), deadline)
        super().__init__(strategy, scope, deadline, [self.pending])
        if not strategy.option["group"]:
            self.most_together = 0

    @classmethod
    def serve(cls, calls: Sequence[_Reserve]) -> None:
        deadline = latest([call.deadline for call in calls])
        reserving(calls[0].strategy).reserve_all(calls[0].scope, [call.pending for call in calls], deadline)


class _LastValue(Call):
    writes = False
    last_value: int | None

    @classmethod
    def serve(cls, calls: Sequence[_LastValue]) -> None:
        last_value = calls[0].strategy.last_value(calls[0].scope)
        for call in calls:
            call.last_value = last_value
