"""What becomes known of a call: its log, its signals and its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
from pytest_django import Settings

from sequences import (
    aget_next_value,
    aput_next,
    get_next_value,
    get_next_values,
    put_next,
    put_next_many,
)
from sequences.commit.requests import Pending, ReserveRequest
from sequences.exceptions import IdempotencyMismatch, SequenceExhausted
from sequences.registry import strategies
from sequences.rows.spent import Spent
from sequences.services.reporting import _answers
from tests.sequences.support import wait_until


def test_a_request_without_an_answer() -> None:
    """What was not answered counts as no answer."""
    answered, other = Pending(ReserveRequest(count=1)), Pending(ReserveRequest(count=1))
    answered.settle(range(1, 3))
    assert _answers([answered, other]) == [range(1, 3)]


CALLS: Mapping[str, Callable[[str], object]] = {
    "take": lambda scope: get_next_value("few", scope=scope),
    "take many": lambda scope: get_next_values(2, "few", scope=scope),
    "await": lambda scope: asyncio.run(aget_next_value("few", scope=scope)),
    "put": lambda scope: put_next("few", {}, scope=scope),
    "put many": lambda scope: put_next_many("few", [{}, {}], scope=scope),
    "await a put": lambda scope: asyncio.run(aput_next("few", {}, scope=scope)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_error_for_operators_is_one_line(
    call: Callable[[str], object], configured: str, scope: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """However a call is made, its error has one line with fields by which alarms go, and says that it is logged."""
    settings.SEQUENCES = {"few": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "MAXIMUM": 1}}
    get_next_value("few", scope=scope)
    caplog.clear()
    with pytest.raises(SequenceExhausted) as error:
        call(scope)
    wait_until(lambda: any("event" in vars(record) for record in caplog.records))
    (line,) = [vars(record) for record in caplog.records]
    fields = {name: line[name] for name in ("event", "error", "sequence", "scope", "levelname")}
    assert fields == {
        "event": "call_failed",
        "error": "SequenceExhausted",
        "sequence": "few",
        "scope": scope,
        "levelname": "ERROR",
    }
    assert error.value.logged


def test_what_numbers_really_cost(configured: str, scope: str) -> None:
    """The units of each number that was stored count, those of a repeat do not."""
    spent = strategies["sort-key"].spent = Spent()
    told = [put_next("sort-key", {}, scope=scope, idempotency_token=token) for token in ("one", "two", "two")]
    assert (spent.numbers, spent.write, spent.read) == (
        2,
        sum(one.write_units for one in told[:2]),
        sum(one.read_units for one in told[:2]),
    )


def test_a_callers_own_mistake_is_no_line(configured: str, scope: str, caplog: pytest.LogCaptureFixture) -> None:
    """What one caller asked for in vain is that caller's to know, and rings nothing."""
    put_next("sort-key", {}, scope=scope, idempotency_token="one")
    caplog.clear()
    with pytest.raises(IdempotencyMismatch) as error:
        put_next("sort-key", {"other": True}, scope=scope, idempotency_token="one")
    assert caplog.records == []
    assert not error.value.logged
