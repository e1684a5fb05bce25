"""The public functions: they check their arguments, pick the strategy, pass the call on, and report how it ended.

They know sequences, scopes and values. They do not know HTTP, tickets or DynamoDB.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..actions import Action
from ..exceptions import SequenceError
from ..metrics import NOTHING, metrics
from ..registry import strategies
from ..signals import value_allocated
from ..types import Allocation, Reservation, Scope
from .arguments import check_count, check_scope, check_token, placed, reserving
from .puts import PutCall, put
from .reporting import failed, notify


def get_next_value(
    sequence: str,
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    date: datetime.date | None = None,
) -> int:
    """Take the next value of a sequence before its item is stored.

    No other caller gets this value. It stays unused if the caller does not store it. A repeat with the same
    `idempotency_token`, from any process, gets the same value until the marker expires; two repeats at the same moment
    may leave one value unused.
    Cost: 1 write unit, shared by the callers of one process that ask at the same time. `OptimisticCounter` also takes
    1 read unit, and `BlockAllocator` pays once for a block. A token costs 1 read unit to look for its marker, and 1
    write unit to store it.
    `date` is the document's date, for a sequence with a PERIOD; without it, it is today.
    Raises OperationNotSupported for strategies that cannot reserve, InvalidSequence, InvalidScope, InvalidToken,
    IdempotencyMismatch (the token was used for something else), SequenceExhausted, SequenceWentBack,
    SequenceContention, SequenceUnavailable and StorageRefused.
    """
    strategy = strategies.taking(sequence)
    if strategy is None or idempotency_token is not None or metrics.on:
        return get_next_values(1, sequence, scope=scope, idempotency_token=idempotency_token, date=date)[0]
    if scope is not None:
        check_scope(scope)
    counted: Scope = scope
    if date is not None or not strategy.naming.is_plain:
        counted, day = strategy.naming.dated(scope, date)
        if strategy.naming.limits:
            strategy.naming.limits.require(day)
    try:
        value = strategy.next_value(counted)
    except SequenceError as error:
        failed(strategy, counted, error, getattr(error, "seconds", 0.0))
        raise
    if value_allocated.receivers or value >= strategy.numbers.nearly_used_up:
        notify(strategy, counted, [value])
    return value


def get_next_values(
    count: int,
    sequence: str,
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    date: datetime.date | None = None,
) -> range | list[int]:
    """Take `count` values in increasing order. A repeat with the same token gets the same ones.

    With a PERIOD give the date: a repeat in another period raises IdempotencyMismatch.

    Cost: as for one value, as one write of the counter takes them all. `BlockAllocator` serves up to
    `block_size` of them from memory.
    Raises ValueError for a count below 1 or above a million, and all that `get_next_value` raises.
    """
    return reserve_values(count, sequence, scope=scope, idempotency_token=idempotency_token, date=date).values


def reserve_values(
    count: int,
    sequence: str,
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    date: datetime.date | None = None,
) -> Reservation:
    """Take values as `get_next_values` does, and tell whether they were taken by an earlier request."""
    began = time.monotonic()
    check_count(count)
    check_token(idempotency_token, sequence)
    while True:
        strategy, counted, day = placed(sequence, scope, date)
        if strategy.naming.limits and idempotency_token is None:
            strategy.naming.limits.require(day)
        deadline = strategy.deadline(began)
        try:
            with metrics.call("take", strategy.alias) if metrics.on else NOTHING:
                taking = reserving(strategy)
                if idempotency_token is None:
                    values, replayed = taking.reserve(counted, count, deadline), False
                else:
                    values, replayed = taking.reserve_once(counted, count, idempotency_token, day, deadline)
        except SequenceError as error:
            if strategies.go_on(strategy, counted, error):
                continue
            if metrics.on:
                metrics.answered(sequence, [error], deadline.spent)
            failed(strategy, counted, error, deadline.spent)
            raise
        if metrics.on:
            metrics.answered(sequence, [values], deadline.spent, replayed=replayed)
        notify(strategy, counted, values, replayed=replayed)
        return Reservation(values=values, replayed=replayed)


def get_last_value(
    sequence: str, *, scope: str | None = None, date: datetime.date | None = None, period: str | None = None
) -> int | None:
    """Return the highest value handed out, or None if there was none yet. Takes no value.

    For `BlockAllocator` this is the end of the last block. With a PERIOD it is the last value in the
    period of `date`, which is today unless you give one, or in a `period` such as "2026".
    Cost: one consistent read, 1 read unit for up to 4 KB.
    Raises InvalidSequence, InvalidScope, SequenceWentBack, SequenceUnavailable and StorageRefused.
    """
    strategy, counted, _ = placed(sequence, scope, date, period, even_ended=True)
    return strategy.last_value(counted)


def put_next(
    sequence: str,
    item: Mapping[str, Any],
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    also: Sequence[Action] = (),
    date: datetime.date | None = None,
) -> Allocation:
    """Store `item` under the next value of the sequence, and return its allocation.

    A repeat with the same `idempotency_token`, from any process, returns the first allocation with `replayed=True` and
    stores nothing, until the marker expires. If the flag `exactly_once` is False, a repeat may leave a value unused.

    `item` maps attribute names to str, int, Decimal, bool, None, bytes, lists, dicts and sets. The stored item also has
    the attribute `token` and the key.

    `date` is the document's date, for a sequence with a PERIOD or with dates in its FORMAT; without it, it is today, in
    the sequence's time zone. A document dated last December gets last year's next number. The numbers of a period need
    not follow the dates within it, without DATE_ORDER. A repeat has the first period and text, whatever its date.

    `also` has actions on other rows (`Put`, `Update`, `Check` and `Delete` of `sequences.actions`). They are stored in
    the same transaction: all of them with the item, or nothing. If the condition of one does not hold, AlsoRefused has
    its index and the old row; the other items of the group are stored. A repeat with the same token stores none,
    and may have others: only its item is compared.
    A group keeps apart what DynamoDB does not take in one transaction, as two updates of one row.

    Cost: see the strategy; the allocation has the units that the engine reported. `also` makes a transaction of the
    write, so that everything in it costs 2 write units a KB.
    Raises InvalidItem, InvalidToken, AlsoRefused, IdempotencyMismatch (the token was used for another item),
    DateRefused (DATE_ORDER, DATES), ScopeNotFound, ItemExists, InvalidSequence, InvalidScope, SequenceExhausted,
    SequenceWentBack, SequenceContention, SequenceUnavailable and StorageRefused. After SequenceUnavailable with
    `outcome_unknown`, repeat the call with the same token.
    """
    return put(PutCall(sequence, [item], scope, [idempotency_token], date, also), PutCall.allocations)[0]


def put_next_many(
    sequence: str,
    items: Iterable[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_tokens: Sequence[str | None] | None = None,
    date: datetime.date | None = None,
) -> list[Allocation]:
    """Store many items under the next values, in their order, and return their allocations in that order.

    The items go out in as few writes as DynamoDB's limits allow: 100 items (50 with idempotency tokens, one less
    with a counter) and 4 MB each. The values of one transaction follow each other without a gap.
    Raises what `put_next` raises, for the first item that was refused. Others may be stored: give tokens to repeat it.
    """
    return put(PutCall(sequence, [*items], scope, idempotency_tokens, date), PutCall.allocations)


def put_next_each(
    sequence: str,
    items: Iterable[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_tokens: Sequence[str | None] | None = None,
    date: datetime.date | None = None,
) -> list[Allocation | SequenceError]:
    """Store many items as `put_next_many` does, and return for each its allocation, or the error why it is not stored.

    After a write gave up on a request, the items after it have this error, too: nothing of them is stored.
    Raises what `put_next` raises about its arguments; then no item is stored.
    """
    return put(PutCall(sequence, [*items], scope, idempotency_tokens, date), PutCall.answers)


def put_next_together(
    sequence: str,
    items: Iterable[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_token: str | None = None,
    date: datetime.date | None = None,
) -> list[Allocation]:
    """Store all items under values that follow each other, in their order, or none of them; return their allocations.

    A repeat with the same `idempotency_token` returns the first allocations with `replayed=True`, as `put_next` does.
    One transaction holds all items: 100 (99 with a token, one less with a counter) of together 4 MB. So everything in
    it costs 2 write units a KB, and the token's marker 2 for all of them. Where `put_next` may leave a value unused,
    this may leave all of its values unused.
    Raises what `put_next` raises, and InvalidItem if there are too many items for one transaction. Nothing is stored
    then, but after SequenceUnavailable with `outcome_unknown`.
    """
    call = PutCall(sequence, [*items], scope, [idempotency_token], date, together=True)
    return put(call, PutCall.allocations) if call.items else []
