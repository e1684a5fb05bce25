"""The contract of all strategies, in every configuration on the engine, and what needs processes or the wire to show.

`TestStranger` is what the author of a strategy writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, pairwise
from typing import Any, ClassVar

import pytest

from sequences import put_next_many
from sequences.capabilities import strategy_classes
from sequences.registry import strategies
from sequences.testing.callers import at_once, judge, judge_items, judge_repeats, put_some, repeat, stored, take_some
from sequences.testing.contract import StrategyContract
from tests.sequences.one_file import ReadThenPut
from tests.sequences.support import SEQUENCES, STEPPING, Processes, Wire, delete_row, names_that

HELD = [name for name in SEQUENCES if not any(steps.startswith(f"{name}-from-") for steps in STEPPING)]
"""The configurations. What holds for one that begins at 1001 and counts by 10 holds for the same one from 1 by 1."""

ALIKE = ("optimistic-update", "transactional-beside", "sort-key-padded", "one-file")
"""Those that remember no more, and nothing else, than another configuration."""


def held(flag: str) -> list[str]:
    """Those of them whose class says yes to a capability flag."""
    return [name for name in names_that(flag) if name in HELD]


def by_threads(
    task: Callable[[str, str, int], list[int]], name: str, scope: str, threads: int, count: int
) -> list[list[int]]:
    """What each of so many threads of this process got from a task."""
    return at_once(threads, lambda _: task(name, scope, count))


class TestStranger(StrategyContract):
    entry: ClassVar[Mapping[str, Any]] = {"STRATEGY": "tests.sequences.one_file.ReadThenPut"}


@pytest.mark.parametrize("name", ["sort-key", "transactional"])
def test_a_gap_is_seen(name: str, scope: str, configured: str) -> None:
    """The contract fails a gapless strategy that leaves out a value, even if no caller was told that value."""
    first, second, third = put_some(name, scope, 3)
    judge_items(name, scope, [[first, second, third]])
    delete_row(name, scope, second)
    with pytest.raises(AssertionError):
        judge_items(name, scope, [[first, third]])


class TestContract(StrategyContract):
    @pytest.fixture(params=HELD)
    def name(self, request: pytest.FixtureRequest, configured: str) -> str:
        """The alias of a configuration."""
        return str(request.param)

    @pytest.fixture
    def neighbour(self, name: str) -> str:
        """The alias of a sequence with another strategy."""
        return "sort-key" if name != "sort-key" else "transactional"

    def test_every_strategy_is_held_to_it(self, configured: str) -> None:
        """The contract has a configuration of each class that comes with the app, and of one that a stranger wrote."""
        assert {*strategy_classes(), ReadThenPut} == {type(strategies[name]) for name in HELD}

    @pytest.mark.needs_engine
    def test_spawned_processes(self, name: str, scope: str, spawned: Processes) -> None:
        """4 processes of 2 threads, which take no turns, as on different machines, get unique values with items."""
        told = spawned.run(by_threads, put_some, name, scope, 2, 3)
        judge_items(name, scope, list(chain.from_iterable(told)))

    @pytest.mark.parametrize("name", [name for name in HELD if name not in ALIKE])
    def test_forked_processes(self, name: str, scope: str, forked: Processes) -> None:
        """4 processes, forked from one that remembers values or holds a block, get unique values with their items."""
        before = put_some(name, scope, 3)
        told = forked.run(by_threads, put_some, name, scope, 2, 3)
        after = put_some(name, scope, 3)
        judge_items(name, scope, [[*before, *after], *chain.from_iterable(told)])

    @pytest.mark.parametrize("name", held("ordered_across_processes"))
    def test_order_across_processes(self, name: str, scope: str, spawned: Processes) -> None:
        """A value is higher than any that another process got in a call that had ended before."""
        rounds: list[list[int]] = []
        for _ in range(3):
            rounds.append(list(chain.from_iterable(spawned.run(put_some, name, scope, 1))))
            rounds.append(put_some(name, scope, 1))
        assert all(max(a) < min(b) for a, b in pairwise(rounds))

    @pytest.mark.parametrize("name", held("writes_together"))
    def test_many_by_one_transaction(self, name: str, scope: str, wire: Wire) -> None:
        """`put_next_many` stores items by one transaction if the strategy can write together."""
        put_next_many(name, [{}] * 20, scope=scope)
        assert len(wire.bodies("TransactWriteItems")) == 1

    def test_a_repeat_by_another_process(self, name: str, scope: str, spawned: Processes) -> None:
        """A repeat by another process gets the first value, says so, and stores nothing."""
        first, _ = repeat(name, scope, "a token")
        assert set(spawned.run(repeat, name, scope, "a token")) == {(first, True)}
        assert list(stored(name, scope)) == [first]

    def test_repeats_by_processes_at_the_same_moment(self, name: str, scope: str, spawned: Processes) -> None:
        """Repeats by 4 processes at the same moment store one item, and all get its value."""
        judge_repeats(name, scope, spawned.run(repeat, name, scope, "a token"))

    @pytest.mark.parametrize("name", [name for name in HELD if "block" not in name])
    @pytest.mark.parametrize("token", [None, "a token"])
    def test_units(self, name: str, scope: str, token: str | None, wire: Wire) -> None:
        """The allocations' units are those that the engine reported, no more and no less."""
        reported = 0.0
        for count in (1, 1, 7):
            tokens = [token and f"{token}-{count}-{n}-{reported}" for n in range(count)]
            wire.clear()
            allocations = put_next_many(name, [{}] * count, scope=scope, idempotency_tokens=tokens)
            told = sum(allocation.write_units + allocation.read_units for allocation in allocations)
            assert told == pytest.approx(wire.units)
            reported += wire.units
        assert reported > 0

    @pytest.mark.parametrize("name", held("supports_reserve"))
    def test_reserving_by_processes(self, name: str, scope: str, spawned: Processes) -> None:
        """4 processes at once take values that are unique and increase."""
        told = spawned.run(by_threads, take_some, name, scope, 2, 6)
        judge(name, scope, list(chain.from_iterable(told)))
