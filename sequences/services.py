"""The public functions: validate, pick the strategy, hand over, and log one line an allocation.

They speak of sequences, scopes and values. HTTP, tickets and DynamoDB are not known here.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from .commits import Pending, PutRequest
from .exceptions import GaveUp, InvalidScope, InvalidToken, SequenceError
from .registry import strategies
from .retries import Deadline
from .strategies.base import Strategy
from .strategies.put_requests import in_transactions
from .types import Allocation

__all__ = [
    "check_scope",
    "check_token",
    "get_last_value",
    "get_next_value",
    "get_next_values",
    "put_next",
    "put_next_many",
]

logger = logging.getLogger(__name__)

LONGEST_SCOPE = 255
LONGEST_TOKEN = 255
MOST_VALUES = 1_000_000  # at once: a slip of the keyboard must not use up a sequence


def get_next_value(sequence: str, *, scope: str | None = None) -> int:
    """Take the next value of a sequence before an item carries it.

    The value is handed out once; it stays unused if the caller does not store it. Costs one request of one write
    unit, or a share of one; see the strategy. Raises OperationNotSupported for strategies that cannot reserve,
    InvalidSequence, InvalidScope, SequenceExhausted, SequenceWentBack, SequenceContention, SequenceUnavailable,
    StorageRefused.
    """
    if scope is not None:
        check_scope(scope)
    try:
        return strategies[sequence].next_value(scope)
    except GaveUp as gave_up:
        _warn(sequence, scope, gave_up)
        raise


def get_next_values(count: int, sequence: str, *, scope: str | None = None) -> range | list[int]:
    """Take `count` values, in increasing order, by one request.

    Raises ValueError for a count below 1 or above a million, and as `get_next_value`.
    """
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_VALUES:
        raise ValueError(f"count is {count!r}; it must be a whole number from 1 to {MOST_VALUES:,}.")
    check_scope(scope)
    strategy = strategies[sequence]
    try:
        return strategy.reserve(scope, count, strategy.deadline())
    except GaveUp as gave_up:
        _warn(sequence, scope, gave_up)
        raise


def get_last_value(sequence: str, *, scope: str | None = None) -> int | None:
    """The highest value handed out, or None if there was none yet. Costs one consistent read; takes no value."""
    check_scope(scope)
    return strategies[sequence].last_value(scope)


def put_next(
    sequence: str, item: Mapping[str, Any], *, scope: str | None = None, idempotency_token: str | None = None
) -> Allocation:
    """Store `item` under the next value of the sequence and return what it got.

    With `idempotency_token` a repeat, at any time until the marker expires and from any process, returns the first
    allocation with `replayed=True` and stores nothing; see the strategy for what that means for its values.

    The item maps attribute names to str, int, Decimal, bool, None, bytes, lists, dicts and sets. The attribute
    `token` and the key are added. Raises InvalidItem, InvalidToken, IdempotencyMismatch (the token was used for
    another item), ScopeNotFound, ItemExists, and as `get_next_value`. After SequenceUnavailable with
    `outcome_unknown`, repeat it with the same token. Cost: see the strategy; the allocation reports what the engine
    counted.
    """
    check_scope(scope)
    check_token(idempotency_token)
    strategy = strategies[sequence]
    deadline = strategy.deadline()
    pending = Pending(strategy.item_writer.request(item, idempotency_token))
    _put(strategy, scope, [pending], deadline)
    return _allocation(pending)


def put_next_many(
    sequence: str,
    items: Sequence[Mapping[str, Any]],
    *,
    scope: str | None = None,
    idempotency_tokens: Sequence[str | None] | None = None,
) -> list[Allocation]:
    """Store many items under the next values, in their order, by as few requests as DynamoDB's limits allow.

    A transaction holds 100 items (50 with idempotency tokens, one less where a counter is written along) and 4 MB;
    the values of one transaction are contiguous. Raises what the first refused item raises; the items before and
    after it may be stored, so give tokens if the call is to be repeated.
    """
    tokens = list(idempotency_tokens) if idempotency_tokens is not None else [None] * len(items)
    if len(tokens) != len(items):
        raise InvalidToken(
            f"There are {len(items)} items and {len(tokens)} idempotency tokens; give one for each, or none."
        )
    check_scope(scope)
    for token in tokens:
        check_token(token)
    strategy = strategies[sequence]
    deadline = strategy.deadline()
    pendings = [Pending(strategy.item_writer.request(item, token)) for item, token in zip(items, tokens, strict=True)]
    _put(strategy, scope, pendings, deadline)
    return [_allocation(pending) for pending in pendings]


def _put(strategy: Strategy, scope: str | None, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> None:
    """Store the items by as few transactions as can hold them; after one that gave up, the others are not tried."""
    for part in in_transactions(pendings, strategy.most_actions):
        try:
            strategy.put(scope, part, deadline)
        except GaveUp as early:  # a marker could not be looked up
            _warn(strategy.alias, scope, early)
            raise
        _log(strategy.alias, scope, part)
        if gave_up := next((pending.answer for pending in part if isinstance(pending.answer, GaveUp)), None):
            _warn(strategy.alias, scope, gave_up)
            for pending in pendings:
                pending.settle(gave_up)
            return


def _allocation(pending: Pending[PutRequest]) -> Allocation:
    """What a request got. Raises what it met instead."""
    if isinstance(pending.answer, SequenceError):
        raise pending.answer
    assert isinstance(pending.answer, Allocation)
    return pending.answer


def _log(sequence: str, scope: str | None, pendings: Sequence[Pending[PutRequest]]) -> None:
    for pending in pendings:
        answer = pending.answer
        if isinstance(answer, Allocation):
            logger.info(
                "sequence %s scope %s: value %d, attempts %d%s",
                sequence, scope, answer.value, answer.attempts, ", replayed" if answer.replayed else "",
            )  # fmt: skip


def _warn(sequence: str, scope: str | None, gave_up: GaveUp) -> None:
    logger.warning("sequence %s scope %s: gave up: %s", sequence, scope, gave_up)


def check_scope(scope: str | None) -> None:
    """Raise InvalidScope, with what a scope may be."""
    if scope is None:
        return
    if not isinstance(scope, str):
        raise InvalidScope(f"The scope is {scope!r}; it must be a text or None.")
    if not 1 <= len(scope) <= LONGEST_SCOPE:
        raise InvalidScope(f"The scope has {len(scope)} characters; it must have 1 to {LONGEST_SCOPE}.")
    if scope.startswith("#"):
        raise InvalidScope("The scope begins with '#', which is reserved: begin it with another character.")
    # `isprintable` is quick; it also refuses some spaces and formats, which a scope may hold.
    if not scope.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs") for character in scope):
        raise InvalidScope("The scope holds control characters: leave them out.")


def check_token(token: str | None) -> None:
    """Raise InvalidToken, with what an idempotency token may be."""
    if token is None:
        return
    if not isinstance(token, str) or not 1 <= len(token) <= LONGEST_TOKEN or not token.isprintable():
        raise InvalidToken(f"An idempotency token is 1 to {LONGEST_TOKEN} printable characters.")
