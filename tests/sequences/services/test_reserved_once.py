"""Values that are taken with an idempotency token: a repeat gets the same ones, from any process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sequences import get_last_value, get_next_value, get_next_values, put_next
from sequences.exceptions import IdempotencyMismatch, InvalidToken, OperationNotSupported
from sequences.ops.audit import audit
from sequences.registry import strategies
from sequences.services.arguments import reserving
from sequences.strategies import Strategy
from sequences.testing.callers import take_some
from tests.sequences.support import SEQUENCES, Clock, Processes, Wire, make, names_that

RESERVING = names_that("supports_reserve")
pytestmark = pytest.mark.usefixtures("configured")


def take(name: str, scope: str, token: str, count: int) -> list[int]:
    """Take values with a token, as another process does."""
    return list(get_next_values(count, name, scope=scope, idempotency_token=token))


@pytest.mark.parametrize("name", RESERVING)
class TestRepeats:
    def test_one_value(self, name: str, scope: str) -> None:
        """A repeat gets the same value and takes none; another token gets another value."""
        first = get_next_value(name, scope=scope, idempotency_token="a")
        strategies.forget()
        last_value = get_last_value(name, scope=scope)
        assert get_next_value(name, scope=scope, idempotency_token="a") == first
        assert get_last_value(name, scope=scope) == last_value
        assert get_next_value(name, scope=scope, idempotency_token="b") != first

    def test_many_values(self, name: str, scope: str) -> None:
        """A repeat of many gets the same ones, which follow each other by the step."""
        take_some(name, scope, 1)
        first = take(name, scope, "a", 5)
        step = strategies[name].numbers.step
        assert first == list(range(first[0], first[0] + 5 * step, step))
        strategies.forget()
        assert take(name, scope, "a", 5) == first
        assert not set(take_some(name, scope, 5)) & set(first)

    def test_they_follow_each_other(self, name: str, scope: str) -> None:
        """Many values follow each other by the step, and are nobody else's, where others take values in between."""
        take_some(name, scope, 1)
        another = reserving(make(name))
        others = list(another.reserve(scope, 8, another.deadline()))
        take_some(name, scope, 4)
        told, step = take(name, scope, "a", 6), strategies[name].numbers.step
        assert told == list(range(told[0], told[0] + 6 * step, step))
        assert not set(told) & {*others, *take_some(name, scope, 8)}

    def test_from_other_processes(self, name: str, scope: str, spawned: Processes) -> None:
        """Processes that repeat one request at the same moment all get the same value."""
        told = spawned.run(take, name, scope, "a", 1)
        assert len({value for (value,) in told}) == 1

    def test_a_lost_answer(self, name: str, scope: str, wire: Wire) -> None:
        """A lost answer to the marker's write costs nothing."""
        take_some(name, scope, 1)
        wire.lose("PutItem")
        first = get_next_value(name, scope=scope, idempotency_token="a")
        assert get_next_value(name, scope=scope, idempotency_token="a") == first

    @pytest.mark.needs_engine
    def test_what_it_costs(self, name: str, scope: str, wire: Wire) -> None:
        """A token costs a read and a write, and a repeat one read."""
        take_some(name, scope, 1)
        take(name, scope, "a", 1)
        wire.clear()
        take(name, scope, "a", 1)
        assert wire.operations == ["GetItem"]
        assert wire.units == 1.0

    def test_another_request(self, name: str, scope: str) -> None:
        """A token that was used for another count, or for an item, is refused; so is the other way about."""
        take(name, scope, "a", 2)
        put_next(name, {}, scope=scope, idempotency_token="b")
        with pytest.raises(IdempotencyMismatch):
            take(name, scope, "a", 3)
        with pytest.raises(IdempotencyMismatch):
            take(name, scope, "b", 1)
        with pytest.raises(IdempotencyMismatch):
            put_next(name, {}, scope=scope, idempotency_token="a")

    def test_after_it_has_expired(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """When the marker has expired the token gets another value."""
        wall = Clock()
        install(name, wall=wall, marker_seconds=60)
        first = take(name, scope, "a", 1)
        wall.sleep(61)
        assert take(name, scope, "a", 1) != first

    def test_the_audit_misses_no_item(self, name: str, scope: str) -> None:
        """The audit does not look for items of such values."""
        take(name, scope, "a", 1)
        put_next(name, {}, scope=scope, idempotency_token="b")
        report = audit(strategies[name], scope)
        assert (report.markers, report.orphans.total) == (2, 0)


@pytest.mark.parametrize("name", [name for name in SEQUENCES if name not in RESERVING])
def test_strategies_that_cannot(name: str, scope: str) -> None:
    """A strategy that hands out values only with their items says so with a token too."""
    with pytest.raises(OperationNotSupported, match="use put_next"):
        get_next_value(name, scope=scope, idempotency_token="a")


@pytest.mark.parametrize("token", ["", "a" * 256, "a\n", 42])
def test_wrong_tokens(token: Any, scope: str) -> None:
    """A token that cannot be one is refused, and no value is taken."""
    with pytest.raises(InvalidToken):
        get_next_value("atomic", scope=scope, idempotency_token=token)
    assert get_last_value("atomic", scope=scope) is None
