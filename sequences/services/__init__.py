"""The public functions: they validate, pick the strategy, pass the call on, and log one line for each allocation.

They know sequences, scopes and values. They do not know HTTP, tickets or DynamoDB.
"""

from __future__ import annotations

import datetime
import logging
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..actions import Action
from ..commit.requests import Pending, PutRequest, allocated
from ..commit.retries import Deadline, latest
from ..exceptions import GaveUp, InvalidScope, InvalidToken, SequenceContention, SequenceError
from ..metrics import NOTHING, metrics
from ..registry import strategies
from ..signals import contention, nearly_used_up, value_allocated
from ..strategies.base import Strategy
from ..strategies.counter_strategy import reserving
from ..types import Allocation, Dated, Reservation, Scope, parted

__all__ = [
    "Puts",
    "check_count",
    "check_scope",
    "check_token",
    "get_last_value",
    "get_next_value",
    "get_next_values",
    "put_next",
    "put_next_each",
    "put_next_many",
    "put_next_together",
    "report",
    "reserve_values",
    "store",
    "tell",
]

logger = logging.getLogger(__name__)

LONGEST_SCOPE = 255
LONGEST_TOKEN = 255
MOST_VALUES = 1_000_000  # in one call: a typing error must not use up a sequence


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
    if idempotency_token is not None or metrics.on or not strategies.has(sequence):
        return get_next_values(1, sequence, scope=scope, idempotency_token=idempotency_token, date=date)[0]
    if scope is not None:
        check_scope(scope)
    strategy = strategies[sequence]
    counted: Scope = scope
    if date is not None or not strategy.naming.is_plain:
        counted, _ = strategy.naming.dated(scope, date)
    try:
        value = reserving(strategy).next_value(counted)
    except GaveUp as gave_up:
        _warn(sequence, counted, gave_up)
        raise
    if value_allocated.receivers or value >= strategy.numbers.nearly_used_up:
        tell(strategy, counted, [value])
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

    Cost: that of one value, as one write of the counter takes them all. `BlockAllocator` serves up to
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
    check_scope(scope)
    check_token(idempotency_token)
    strategy = strategies[sequence]
    counted, day = strategy.naming.dated(scope, date)
    values: range | list[int]
    replayed, deadline = False, strategy.deadline(began)
    try:
        with metrics.call("take", sequence) if metrics.on else NOTHING:
            if idempotency_token is None:
                values = reserving(strategy).reserve(counted, count, deadline)
            else:
                values, replayed = reserving(strategy).reserve_once(counted, count, idempotency_token, day, deadline)
    except SequenceError as error:
        if metrics.on:
            metrics.answered(sequence, [error], deadline.spent)
        if isinstance(error, GaveUp):
            _warn(sequence, counted, error)
        raise
    if metrics.on:
        metrics.answered(sequence, [values], deadline.spent, replayed=replayed)
    tell(strategy, counted, values, replayed=replayed)
    return Reservation(values=values, replayed=replayed)


def get_last_value(
    sequence: str, *, scope: str | None = None, date: datetime.date | None = None, period: str | None = None
) -> int | None:
    """Return the highest value handed out, or None if there was none yet. Takes no value.

    For `BlockAllocator` this is the end of the last block. A sequence with a PERIOD tells that of the period of `date`,
    which is today unless you give one, or that of a `period` such as "2026".
    Cost: one consistent read, 1 read unit for up to 4 KB.
    Raises InvalidSequence, InvalidScope, SequenceWentBack, SequenceUnavailable and StorageRefused.
    """
    check_scope(scope)
    strategy = strategies[sequence]
    return strategy.last_value(strategy.naming.dated(scope, date, period)[0])


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
    not follow the dates within it. A repeat has the period and the text of the first time, whatever its date.

    `also` has actions on other rows (`Put`, `Update`, `Check` and `Delete` of `sequences.actions`). They are stored in
    the same transaction: all of them with the item, or nothing. If the condition of one does not hold, AlsoRefused has
    its index and the old row; the other items of the group are stored. A repeat with the same token stores none,
    and may have others: only its item is compared.
    A group keeps apart what DynamoDB does not take in one transaction, as two updates of one row.

    Cost: see the strategy; the allocation has the units that the engine reported. `also` makes a transaction of the
    write, so that everything in it costs 2 write units a KB.
    Raises InvalidItem, InvalidToken, AlsoRefused, IdempotencyMismatch (the token was used for another item),
    ScopeNotFound, ItemExists, InvalidSequence, InvalidScope, SequenceExhausted, SequenceWentBack, SequenceContention,
    SequenceUnavailable and StorageRefused. After SequenceUnavailable with `outcome_unknown`, repeat the call with the
    same token.
    """
    return _put(Puts.of(sequence, [item], scope, [idempotency_token], also, date))[0]


def put_next_many(
    sequence: str,
    items: Sequence[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_tokens: Sequence[str | None] | None = None,
    date: datetime.date | None = None,
) -> list[Allocation]:
    """Store many items under the next values, in their order, and return their allocations in that order.

    The items go out in as few writes as DynamoDB's limits allow: 100 items (50 with idempotency tokens, one less
    with a counter) and 4 MB each. The values of one transaction follow each other without a gap.
    Raises what `put_next` raises, for the first item that was refused. The items before and after it may be stored, so
    give tokens if you want to repeat the call.
    """
    return _put(Puts.of(sequence, items, scope, idempotency_tokens, date=date))


def put_next_each(
    sequence: str,
    items: Sequence[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_tokens: Sequence[str | None] | None = None,
    date: datetime.date | None = None,
) -> list[Allocation | SequenceError]:
    """Store many items as `put_next_many` does, and return for each its allocation, or the error why it is not stored.

    After a write gave up on a request, the items after it have this error, too: nothing of them is stored.
    Raises what `put_next` raises about its arguments; then no item is stored.
    """
    puts = Puts.of(sequence, items, scope, idempotency_tokens, date=date)
    with metrics.call("put", sequence) if metrics.on else NOTHING:
        _store(puts)
    return puts.answers()


def put_next_together(
    sequence: str,
    items: Sequence[Mapping[str, Any]],
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
    return _put(Puts.together(sequence, items, scope, idempotency_token, date)) if items else []


@dataclass(slots=True, kw_only=True, eq=False)
class Puts:
    """One valid call of `put_next` or `put_next_many`: its requests, and its deadline, which begins with it."""

    strategy: Strategy
    scope: Scope
    pendings: Sequence[Pending[PutRequest]]
    deadline: Deadline

    @classmethod
    def of(
        cls,
        sequence: str,
        items: Sequence[Mapping[str, Any]],
        scope: str | None,
        idempotency_tokens: Sequence[str | None] | None,
        also: Sequence[Action] = (),
        date: datetime.date | None = None,
    ) -> Puts:
        """Check the arguments of a call.

        Raises InvalidScope, InvalidToken, InvalidSequence, InvalidItem, and ValueError for a wrong date.
        """
        began = time.monotonic()
        tokens = [None] * len(items) if idempotency_tokens is None else list(idempotency_tokens)
        if isinstance(idempotency_tokens, str) or len(tokens) != len(items):
            raise InvalidToken(
                f"There are {len(items)} items and {len(tokens)} idempotency tokens; give one for each, or none."
            )
        check_scope(scope)
        for token in tokens:
            check_token(token)
        strategy = strategies[sequence]
        counted, day = strategy.naming.dated(scope, date)
        deadline, request = strategy.deadline(began), strategy.item_writer.request
        pendings = [
            Pending(request(item, token, also, day), deadline) for item, token in zip(items, tokens, strict=True)
        ]
        return cls(strategy=strategy, scope=counted, pendings=pendings, deadline=deadline)

    @classmethod
    def together(
        cls,
        sequence: str,
        items: Sequence[Mapping[str, Any]],
        scope: str | None,
        idempotency_token: str | None,
        date: datetime.date | None,
    ) -> Puts:
        """Check the arguments of a call that stores all of its items or none. Raises what `of` raises."""
        began = time.monotonic()
        check_scope(scope)
        check_token(idempotency_token)
        strategy = strategies[sequence]
        counted, day = strategy.naming.dated(scope, date)
        request = strategy.item_writer.request(items[0], idempotency_token, (), day, items[1:])
        deadline = strategy.deadline(began)
        return cls(strategy=strategy, scope=counted, pendings=[Pending(request, deadline)], deadline=deadline)

    def allocations(self) -> list[Allocation]:
        """The allocations of its items. Raises the error of the first request that failed."""
        return [one for pending in self.pendings for one in (allocated(pending), *pending.rest)]

    def answers(self) -> list[Allocation | SequenceError]:
        """For each item its allocation or its error."""
        return [pending.answer for pending in self.pendings if isinstance(pending.answer, Allocation | SequenceError)]


def store(calls: Sequence[Puts]) -> None:
    """Store the items of one call, or of several calls of one scope, in as few writes as possible.

    After a write gave up on a request, the call's other writes are not tried.
    """
    strategy, scope = calls[0].strategy, calls[0].scope
    deadline = latest([call.deadline for call in calls])
    pendings = [pending for call in calls for pending in call.pendings]
    for part in strategy.item_writer.parts(pendings):
        try:
            strategy.put(scope, part, deadline)
        except GaveUp as early:  # while looking up a marker
            _settle(part, early)
        if gave_up := _gave_up(part):
            _settle(pendings, gave_up)
            break


def _put(puts: Puts) -> list[Allocation]:
    with metrics.call("put", puts.strategy.alias) if metrics.on else NOTHING:
        _store(puts)
        return puts.allocations()


def _store(puts: Puts) -> None:
    try:
        store([puts])
    except SequenceError as error:
        _settle(puts.pendings, error)
        raise
    finally:
        report(puts.strategy, puts.scope, puts.pendings)


def tell(strategy: Strategy, scope: Scope, values: Sequence[int], *, replayed: bool = False) -> None:
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
    logger.warning("sequence %s scope %s: %d %% of the values up to %d are used", strategy.alias, scope, percent, limit)
    nearly_used_up.send_robust(
        type(strategy), sequence=strategy.alias, scope=plain, period=period, value=value, limit=limit, percent=percent
    )


def report(strategy: Strategy, scope: Scope, pendings: Sequence[Pending[Any]], *, replayed: bool = False) -> None:
    """Tell how a call ended: a line and a signal for each allocation, and one warning if a request gave up.

    `replayed` says that values without items are a repeat.
    """
    gave_up: GaveUp | None = None
    tells_from = strategy.numbers.nearly_used_up
    seconds = _seconds(pendings)
    if metrics.on and pendings:
        metrics.answered(strategy.alias, _answers(pendings), seconds, replayed=replayed)
    for pending in pendings:
        answer = pending.answer
        if isinstance(answer, Allocation):
            for one in (answer, *pending.rest):
                _log(scope, one, pending.group_size, seconds)
                if value_allocated.receivers or one.value >= tells_from:
                    tell(strategy, Dated.of(one.scope, one.period), [one.value], replayed=one.replayed)
        elif isinstance(answer, GaveUp):
            gave_up = gave_up or answer
        elif isinstance(answer, range | list):
            tell(strategy, scope, answer, replayed=replayed)
    if gave_up:
        _warn(strategy.alias, scope, gave_up)


def _seconds(pendings: Sequence[Pending[Any]]) -> float:
    """How long the call of these requests has taken."""
    deadline = pendings[0].deadline if pendings else None
    return deadline.spent if deadline else 0.0


def _answers(pendings: Sequence[Pending[Any]]) -> list[object]:
    """The answers of a call: one for each item, or for all values without items."""
    return [one for pending in pendings if pending.answer is not None for one in (pending.answer, *pending.rest)]


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


def _gave_up(pendings: Sequence[Pending[Any]]) -> GaveUp | None:
    return next((pending.answer for pending in pendings if isinstance(pending.answer, GaveUp)), None)


def _settle(pendings: Sequence[Pending[Any]], error: SequenceError) -> None:
    for pending in pendings:
        pending.settle(error)


def _warn(sequence: str, scope: Scope, gave_up: GaveUp) -> None:
    plain, period = parted(scope)
    logger.warning(
        "sequence %s scope %s: gave up: %s", sequence, scope, gave_up,
        extra={
            "sequence": sequence, "scope": plain, "period": period, "attempts": gave_up.attempts,
            "milliseconds": round(gave_up.seconds * 1000, 1),
        },
    )  # fmt: skip
    if isinstance(gave_up, SequenceContention):
        contention.send_robust(type(strategies[sequence]), sequence=sequence, scope=plain, period=period, error=gave_up)


def check_count(count: int) -> None:
    """Raise ValueError for a count of values that is not from 1 to a million."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_VALUES:
        raise ValueError(f"count is {count!r}; it must be a whole number from 1 to {MOST_VALUES:,}.")


def check_scope(scope: str | None) -> None:
    """Raise InvalidScope for a text that cannot be a scope.

    A scope has 1 to 255 characters, no control characters, and does not begin with '#'.
    """
    if scope is None:
        return
    if not isinstance(scope, str):
        raise InvalidScope(f"The scope is {scope!r}; it must be a text or None.")
    if not 1 <= len(scope) <= LONGEST_SCOPE:
        raise InvalidScope(f"The scope has {len(scope)} characters; it must have 1 to {LONGEST_SCOPE}.")
    if scope.startswith("#"):
        raise InvalidScope("The scope begins with '#', which is reserved: begin it with another character.")
    # `isprintable` is fast, but also refuses some spaces and format characters that a scope may contain.
    if not scope.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs") for character in scope):
        raise InvalidScope("The scope contains control characters: leave them out.")


def check_token(token: str | None) -> None:
    """Raise InvalidToken if this is not a token: 1 to 255 printable characters."""
    if token is None:
        return
    if not isinstance(token, str) or not 1 <= len(token) <= LONGEST_TOKEN or not token.isprintable():
        raise InvalidToken(f"An idempotency token is 1 to {LONGEST_TOKEN} printable characters.")
