"""Writes whose answer was lost, while their repeat is refused for another reason or the counter is set back."""

from collections.abc import Mapping
from typing import Any

import pytest

from sequences import dynamodb, put_next, put_next_each
from sequences.exceptions import CancellationReason, InvalidItem, OutcomeUnknown, SequenceWentBack, WriteCancelled
from sequences.registry import strategies
from sequences.strategies.base import WEEK_SECONDS
from sequences.strategies.transactional import TransactionalCounter
from sequences.types import Allocation
from tests.sequences.support import set_counter, stored

CONFLICT = CancellationReason("TransactionConflict")
UNKNOWN, INVALID = CancellationReason("None"), CancellationReason("ValidationError", message="too large")
TAKEN = CancellationReason("ConditionalCheckFailed", {"token": "another's", "last_value": 1, "highest": 1})


@pytest.mark.parametrize(
    ("name", "token", "reasons"),
    [
        ("transactional", None, (TAKEN, CONFLICT)),
        ("transactional", "a token", (TAKEN, CONFLICT, CONFLICT)),
        ("sort-key", "a token", (TAKEN, CONFLICT)),
    ],
)
def test_a_reason_that_hides_our_item(
    configured: str,
    scope: str,
    name: str,
    token: str | None,
    reasons: tuple[CancellationReason, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While an action was not looked at, a lost write may be stored: it is sent again, and not given a new value."""
    send, met = dynamodb.call, iter([OutcomeUnknown("lost"), WriteCancelled("mixed", reasons)])

    def call(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        fault = next(met, None) if operation == "transact_write_items" else None
        if isinstance(fault, WriteCancelled):
            raise fault
        answer = send(operation, request, **limits)
        if fault:
            raise fault
        return answer

    monkeypatch.setattr(dynamodb, "call", call)
    assert put_next(name, {"title": "the one"}, scope=scope, idempotency_token=token).value == 1
    assert put_next(name, {"title": "the next"}, scope=scope).value == 2
    assert sorted(stored(name, scope)) == [1, 2]


def test_an_expired_marker_beside_an_invalid_item(configured: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine may tell nothing of the other conditions. A marker that has expired is none: its item is stored."""
    item, strategy = {"title": "the one"}, strategies["sort-key"]
    put_next("sort-key", item, scope=scope, idempotency_token="a token")
    later = strategy.wall() + WEEK_SECONDS + 1
    monkeypatch.setattr(strategy.markers, "wall", lambda: later)
    send, met = dynamodb.call, iter([WriteCancelled("hidden", (UNKNOWN, UNKNOWN, INVALID))])

    def call(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        if operation == "transact_write_items" and (fault := next(met, None)):
            raise fault
        return send(operation, request, **limits)

    monkeypatch.setattr(dynamodb, "call", call)
    stored_now, wrong = put_next_each("sort-key", [item, {}], scope=scope, idempotency_tokens=["a token", None])
    assert isinstance(wrong, InvalidItem)
    assert isinstance(stored_now, Allocation)
    assert (stored_now.value, stored_now.replayed) == (2, False)


def test_a_counter_set_back_to_what_is_remembered(configured: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that remembers an old value does not go on from it when the counter is set back to just that."""
    put_next("transactional", {}, scope=scope)
    behind = strategies["transactional"]
    assert isinstance(behind, TransactionalCounter)
    remembered = behind._states.get(scope)
    assert remembered is not None
    for _ in range(4):
        put_next("transactional", {}, scope=scope)
    set_counter("transactional", scope, last_value=1)
    behind._states.put(scope, remembered)
    behind.counter.evidence.forget_scope(scope)
    monkeypatch.setattr(behind, "accept_hint", lambda scope, hint: None)  # as on a machine of its own
    with pytest.raises(SequenceWentBack):
        put_next("transactional", {"pk": "own", "sk": 7}, scope=scope)


def test_the_value_of_an_item_with_its_own_key(configured: str, scope: str) -> None:
    """An item with its own key gets the attribute `value`; one that has it already is refused, not overwritten."""
    with pytest.raises(InvalidItem, match="'value'"):
        put_next("transactional", {"pk": "own", "sk": 8, "value": "1200 EUR"}, scope=scope)
