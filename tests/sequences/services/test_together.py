"""Many items in one call: stored together or not at all, and each with its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import sequences
from sequences import get_last_value, put_next, put_next_each, put_next_many, put_next_together
from sequences.exceptions import (
    IdempotencyMismatch,
    InvalidItem,
    ItemExists,
    SequenceExhausted,
    SequenceUnavailable,
    StorageRefused,
)
from sequences.registry import strategies
from sequences.testing.callers import put_some
from sequences.types import Allocation
from tests.sequences.support import SEQUENCES, Clock, Processes, Wire, import_row, names_that, stored

pytestmark = pytest.mark.usefixtures("configured")
TOKENS = [None, "a token"]


def together(name: str, scope: str, count: int, token: str | None = None) -> list[int]:
    """The values of items that are put together."""
    items = [{"title": f"{n}"} for n in range(count)]
    return [put.value for put in put_next_together(name, items, scope=scope, idempotency_token=token)]


@pytest.mark.parametrize("name", SEQUENCES)
class TestTogether:
    @pytest.mark.parametrize("token", TOKENS)
    def test_a_lost_answer(self, name: str, scope: str, token: str | None, wire: Wire) -> None:
        """After a lost answer the write is recognised: all items are there once."""
        put_some(name, scope, 1)
        wire.lose("TransactWriteItems")
        values = together(name, scope, 5, token)
        assert sorted(stored(name, scope))[1:] == values

    @pytest.mark.needs_engine
    def test_one_that_cannot_be_stored(self, name: str, scope: str) -> None:
        """If one item is too large for a row, none is stored; a gapless sequence uses no value."""
        put_some(name, scope, 1)
        before = stored(name, scope)
        with pytest.raises((InvalidItem, StorageRefused)):
            put_next_together(name, [{"n": 1}, {"title": "x" * 410_000}, {"n": 3}], scope=scope)
        assert stored(name, scope) == before
        if strategies[name].gapless:
            assert put_some(name, scope, 1)[0] == max(before) + strategies[name].config.step

    @pytest.mark.parametrize("place", [0, 2, 4])
    def test_a_number_that_is_taken(self, name: str, scope: str, place: int) -> None:
        """If a number among theirs is taken, all get numbers after it."""
        (first,) = put_some(name, scope, 1)
        step = strategies[name].config.step
        import_row(name, scope, first + step * (place + 1))
        puts = put_next_together(name, [{}] * 5, scope=scope)
        values = [put.value for put in puts]
        assert all(b - a == step for a, b in pairwise(values))
        assert set(values) < set(stored(name, scope))
        assert puts[0].attempts <= 2
        assert len(stored(name, scope)) == 7

    def test_too_many(self, name: str, scope: str) -> None:
        """More items than one transaction holds are refused before anything is sent, and the limit is named."""
        most = strategies[name].most_actions
        assert len(together(name, scope, most)) == most
        assert len(together(name, f"{scope}-b", most - 1, "a token")) == most - 1
        for count, token in ((most + 1, None), (most, "another")):
            with pytest.raises(InvalidItem, match=rf"There are {count} items; one transaction holds {count - 1}"):
                together(name, scope, count, token)
        assert len(stored(name, scope)) == most

    def test_too_large(self, name: str, scope: str) -> None:
        """Items that have more bytes than one transaction holds are refused before anything is sent."""
        with pytest.raises(InvalidItem, match="bytes; one transaction holds 4,000,000"):
            put_next_together(name, [{"title": "x" * 390_000}] * 11, scope=scope)
        assert stored(name, scope) == {}

    def test_none(self, name: str, scope: str) -> None:
        """No items take no values."""
        assert put_next_together(name, [], scope=scope) == []
        assert get_last_value(name, scope=scope) is None

    def test_units(self, name: str, scope: str, wire: Wire) -> None:
        """The allocations share the units that the engine reported, no more and no less."""
        put_some(name, scope, 1)
        wire.clear()
        told = put_next_together(name, [{}] * 7, scope=scope, idempotency_token="a token")
        assert sum(put.write_units + put.read_units for put in told) == pytest.approx(wire.units)
        assert put_next(name, {}, scope=scope).attempts == 1  # it knows how far they went

    def test_a_repeat_by_another_process(self, name: str, scope: str, spawned: Processes) -> None:
        """A repeat by another process gets the same values, and stores nothing."""
        values = together(name, scope, 4, "a token")
        assert spawned.run(together, name, scope, 4, "a token") == [values] * 4
        assert sorted(stored(name, scope)) == values

    def test_repeats_at_the_same_moment(self, name: str, scope: str, spawned: Processes) -> None:
        """Repeats by 4 processes at the same moment store the items once."""
        told = spawned.run(together, name, scope, 4, "a token")
        assert told == [told[0]] * 4
        assert sorted(stored(name, scope)) == told[0]

    def test_processes_beside_each_other(self, name: str, scope: str, spawned: Processes) -> None:
        """What 4 processes put together stays together, each under values of its own."""
        told = spawned.run(together, name, scope, 5)
        step = strategies[name].config.step
        assert all(b - a == step for values in told for a, b in pairwise(values))
        assert sorted(value for values in told for value in values) == sorted(stored(name, scope))


@pytest.mark.parametrize("name", names_that("takes_own_keys"))
def test_own_keys(name: str, scope: str) -> None:
    """Items with keys of their own are stored together, too; if one of the keys is taken, none is."""
    items: list[dict[str, Any]] = [{"pk": f"own {scope}", "sk": n} for n in range(3)]
    values = [put.value for put in put_next_together(name, items, scope=scope)]
    step = strategies[name].config.step
    assert values == [values[0] + step * n for n in range(3)]
    with pytest.raises(ItemExists, match="'sk': 2"):
        put_next_together(name, [{"pk": f"own {scope}", "sk": n} for n in (9, 2)], scope=scope)
    assert put_next(name, {"pk": f"own {scope}", "sk": 9}, scope=scope).value > values[-1]


@pytest.mark.parametrize("name", ["sort-key", "transactional"])
def test_the_last_values(name: str, scope: str, install: Any) -> None:
    """Where fewer values are left than items, none is stored; where there are just enough, all are."""
    start, step = strategies[name].config.start, strategies[name].config.step
    install(name, MAXIMUM=start + step * 4)
    put_some(name, scope, 1)
    with pytest.raises(SequenceExhausted):
        together(name, scope, 5)
    assert len(together(name, scope, 4)) == 4


def test_each_has_its_own_answer(scope: str) -> None:
    """Of many items each has its allocation, or its error; the good ones follow each other."""
    put_next("sort-key", {"n": 0}, scope=scope, idempotency_token="used")
    items: list[dict[str, Any]] = [{"n": n} for n in range(4)]
    answers = put_next_each("sort-key", items, scope=scope, idempotency_tokens=["a", "used", None, "used"])
    assert [answer.value for answer in answers if isinstance(answer, Allocation)] == [2, 3]
    assert [isinstance(answer, IdempotencyMismatch) for answer in answers] == [False, True, False, True]


def test_after_one_that_gave_up(scope: str, install: Any, clock: Clock, wire: Wire) -> None:
    """When a write gave up, the items after it are told so, and are not stored."""
    strategy = install("sort-key", clock=clock, deadline=1)
    put_some("sort-key", scope, 1)
    wire.lose("TransactWriteItems", times=1000)
    answers = put_next_each("sort-key", [{}] * 250, scope=scope)
    assert {type(answer) for answer in answers} == {SequenceUnavailable}
    assert len(stored(strategy.alias, scope)) in (1, 101)


@pytest.mark.parametrize("function", [put_next_many, put_next_each, put_next_together])
@pytest.mark.parametrize("awaited", [False, True])
def test_items_that_are_made_one_by_one(function: Callable[..., Any], awaited: bool, scope: str) -> None:
    """Items may come from a generator, also from one that makes none."""

    def puts(count: int) -> Any:
        items = ({"n": n} for n in range(count))
        if awaited:
            return asyncio.run(getattr(sequences, f"a{function.__name__}")("sort-key", items, scope=scope))
        return function("sort-key", items, scope=scope)

    assert puts(0) == []
    assert [put.value for put in puts(3)] == [1, 2, 3]
    assert [item["n"] for item in stored("sort-key", scope).values()] == [0, 1, 2]
