"""What every strategy guarantees, in every configuration: one contract that asks the capability flags."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise

import pytest

from sequences import get_last_value, get_next_value, get_next_values, put_next, put_next_many
from sequences.capabilities import strategy_classes
from sequences.exceptions import IdempotencyMismatch, OperationNotSupported
from sequences.registry import strategies
from sequences.strategies import Strategy
from tests.sequences.one_file import ReadThenPut
from tests.sequences.support import (
    SEQUENCES,
    Clock,
    Processes,
    Wire,
    at_once,
    by_threads,
    names_that,
    put_some,
    repeat,
    stored,
    take_some,
)

THREADS = 16
RESERVING = names_that("supports_reserve")
pytestmark = pytest.mark.usefixtures("configured")


@pytest.fixture(params=SEQUENCES)
def name(request: pytest.FixtureRequest) -> str:
    """The alias of a configuration."""
    return str(request.param)


def values_from_start(name: str, count: int) -> list[int]:
    """The first values of a sequence."""
    config = strategies[name].config
    return [config.start + config.step * n for n in range(count)]


def judge(name: str, scope: str, told: list[list[int]]) -> None:
    """Each value was told once, in increasing order to each of the callers, and is in its place."""
    values = sorted(chain.from_iterable(told))
    config = strategies[name].config
    assert all(a < b for a, b in pairwise(values)), "a value was handed out twice"
    assert all(a < b for part in told for a, b in pairwise(part)), "a later value is not the larger"
    assert values[0] == config.start
    assert {(value - config.start) % config.step for value in values} == {0}
    last_value = get_last_value(name, scope=scope)
    assert last_value is not None
    assert last_value >= values[-1]


def judge_items(name: str, scope: str, told: list[list[int]]) -> None:
    """Each value has an item, and every item's value was answered; gapless strategies leave no gap."""
    judge(name, scope, told)
    values = sorted(chain.from_iterable(told))
    assert sorted(stored(name, scope)) == values
    if strategies[name].gapless:
        assert values == values_from_start(name, len(values))
        assert get_last_value(name, scope=scope) == values[-1]


def test_every_strategy_is_held_to_it() -> None:
    """The contract has a configuration of each class that comes with the app, and of one that a stranger wrote."""
    assert {*strategy_classes(), ReadThenPut} == {type(strategies[name]) for name in SEQUENCES}


class TestContract:
    def test_the_first_values(self, name: str, scope: str) -> None:
        """First there is no value; then START and START plus STEP follow, each with its item."""
        assert get_last_value(name, scope=scope) is None
        first = put_next(name, {"title": "a"}, scope=scope)
        second = put_next(name, {"title": "b"}, scope=scope)
        assert [first.value, second.value] == values_from_start(name, 2)
        assert (first.sequence, first.scope, first.replayed) == (name, scope, False)
        assert {value: row["title"] for value, row in stored(name, scope).items()} == {
            first.value: "a",
            second.value: "b",
        }
        judge_items(name, scope, [[first.value, second.value]])

    def test_without_a_scope(self, name: str, scope: str) -> None:
        """A sequence counts without any scope too, apart from its scopes."""
        before = get_last_value(name)
        put_next(name, {}, scope=scope)
        assert get_last_value(name) == before
        assert put_next(name, {}).scope is None
        assert get_last_value(name) is not None

    def test_threads(self, name: str, scope: str) -> None:
        """16 threads at once get values that are unique, increase, and belong to their items."""
        judge_items(name, scope, by_threads(put_some, name, scope, THREADS, 3))

    def test_spawned_processes(self, name: str, scope: str, spawned: Processes) -> None:
        """4 processes of 2 threads, which take no turns, as on different machines, get unique values with items."""
        told = spawned.run(by_threads, put_some, name, scope, 2, 3)
        judge_items(name, scope, list(chain.from_iterable(told)))

    def test_forked_processes(self, name: str, scope: str, forked: Processes) -> None:
        """4 processes, forked from one that remembers values or holds a block, get unique values with their items."""
        before = put_some(name, scope, 3)
        told = forked.run(by_threads, put_some, name, scope, 2, 3)
        after = put_some(name, scope, 3)
        judge_items(name, scope, [[*before, *after], *chain.from_iterable(told)])

    @pytest.mark.parametrize("name", names_that("ordered_across_processes"))
    def test_order_across_processes(self, name: str, scope: str, spawned: Processes) -> None:
        """A value is higher than any that another process got in a call that had ended before."""
        rounds: list[list[int]] = []
        for _ in range(3):
            rounds.append(list(chain.from_iterable(spawned.run(put_some, name, scope, 1))))
            rounds.append(put_some(name, scope, 1))
        assert all(max(a) < min(b) for a, b in pairwise(rounds))

    def test_scopes_and_sequences_side_by_side(self, name: str, scope: str) -> None:
        """Scopes at work at the same moment, and the same scope of other sequences, do not affect each other."""
        scopes = [f"{scope}-{n}" for n in range(4)]
        put_some("sort-key" if name != "sort-key" else "transactional", scopes[0], 2)
        told = at_once(8, lambda n: put_some(name, scopes[n % 4], 3))
        for n, one in enumerate(scopes):
            judge_items(name, one, [told[n], told[n + 4]])

    def test_many_in_their_order(self, name: str, scope: str, wire: Wire) -> None:
        """`put_next_many` numbers items in their order, contiguously, by fewer requests than items if it can."""
        items = [{"title": f"{n}"} for n in range(20)]
        wire.clear()
        allocations = put_next_many(name, items, scope=scope)
        if strategies[name].writes_together:
            assert len(wire.bodies("TransactWriteItems")) == 1
        values = [allocation.value for allocation in allocations]
        assert values == values_from_start(name, 20)
        assert [stored(name, scope)[value]["title"] for value in values] == [f"{n}" for n in range(20)]

    def test_more_than_a_transaction_holds(self, name: str, scope: str) -> None:
        """250 items are numbered in their order too, by several transactions."""
        values = [allocation.value for allocation in put_next_many(name, [{}] * 250, scope=scope)]
        if strategies[name].gapless:
            assert values == values_from_start(name, 250)
        judge_items(name, scope, [values])

    def test_repeats(self, name: str, scope: str) -> None:
        """A repeat with the same token gets the first value, says so, and stores nothing."""
        first = repeat(name, scope, "a token")
        rows, last_value = stored(name, scope), get_last_value(name, scope=scope)
        assert repeat(name, scope, "a token") == (first[0], True)
        assert first[1] is False
        assert stored(name, scope) == rows
        assert get_last_value(name, scope=scope) == last_value
        assert put_next(name, {}, scope=scope, idempotency_token="another").value > first[0]

    def test_a_repeat_by_another_process(self, name: str, scope: str, spawned: Processes) -> None:
        """A repeat by another process gets the first value, says so, and stores nothing."""
        first, _ = repeat(name, scope, "a token")
        assert set(spawned.run(repeat, name, scope, "a token")) == {(first, True)}
        assert list(stored(name, scope)) == [first]

    def test_a_token_for_another_item(self, name: str, scope: str) -> None:
        """A token that was used for another item is refused, and nothing is stored."""
        put_next(name, {"title": "a"}, scope=scope, idempotency_token="a token")
        rows, last_value = stored(name, scope), get_last_value(name, scope=scope)
        with pytest.raises(IdempotencyMismatch, match="'a token'"):
            put_next(name, {"title": "b"}, scope=scope, idempotency_token="a token")
        assert stored(name, scope) == rows
        assert get_last_value(name, scope=scope) == last_value

    def test_a_token_in_two_scopes(self, name: str, scope: str) -> None:
        """A token belongs to its scope: in another one it is another request."""
        assert repeat(name, f"{scope}-a", "a token")[1] is False
        assert repeat(name, f"{scope}-b", "a token")[1] is False

    def test_repeats_at_the_same_moment(self, name: str, scope: str) -> None:
        """Repeats by 8 threads at the same moment store one item, and all get its value."""
        told = at_once(8, lambda _: repeat(name, scope, "a token"))
        self._judge_repeats(name, scope, told)

    def test_repeats_by_processes_at_the_same_moment(self, name: str, scope: str, spawned: Processes) -> None:
        """Repeats by 4 processes at the same moment store one item, and all get its value."""
        self._judge_repeats(name, scope, spawned.run(repeat, name, scope, "a token"))

    def _judge_repeats(self, name: str, scope: str, told: list[tuple[int, bool]]) -> None:
        values = {value for value, _ in told}
        assert values == set(stored(name, scope))
        assert len(values) == 1
        assert [replayed for _, replayed in told].count(False) == 1
        if strategies[name].exactly_once:
            assert values == {strategies[name].config.start}
            assert put_some(name, scope, 1) == values_from_start(name, 2)[1:]

    def test_a_token_twice_in_one_call(self, name: str, scope: str) -> None:
        """Of two equal items with one token in one call, the second is a repeat of the first."""
        first, second = put_next_many(name, [{}, {}], scope=scope, idempotency_tokens=["a token", "a token"])
        assert (first.value, first.replayed, second.replayed) == (second.value, False, True)
        assert list(stored(name, scope)) == [first.value]

    def test_markers_expire(self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy]) -> None:
        """A token is remembered for `marker_seconds` to the second, whether or not the engine deletes its marker."""
        install(name, wall=clock, marker_seconds=100)
        first, _ = repeat(name, scope, "a token")
        clock.now += 99
        assert repeat(name, scope, "a token") == (first, True)
        clock.now += 1
        second, replayed = repeat(name, scope, "a token")
        assert (second > first, replayed) == (True, False)
        assert repeat(name, scope, "a token") == (second, True)
        assert sorted(stored(name, scope)) == [first, second]

    def test_what_a_repeat_may_change(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Attributes of `ignore_in_repeat` may differ in a repeat, others may not; sets have no order."""
        install(name, ignore_in_repeat=["at"])

        def put(at: int, labels: set[str]) -> tuple[int, bool]:
            allocation = put_next(name, {"at": at, "labels": labels}, scope=scope, idempotency_token="a token")
            return allocation.value, allocation.replayed

        first, _ = put(1, {"a", "b", "c"})
        assert put(2, {"c", "b", "a"}) == (first, True)
        assert stored(name, scope)[first]["at"] == 1
        with pytest.raises(IdempotencyMismatch):
            put(2, {"a"})

    @pytest.mark.parametrize("name", [name for name in SEQUENCES if "block" not in name])
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

    def test_attempts(self, name: str, scope: str) -> None:
        """A put without rivals takes one attempt."""
        assert put_next(name, {}, scope=scope).attempts == 1

    def test_reserving(self, name: str, scope: str) -> None:
        """A strategy that can reserve hands out values before their items are stored; others say what to use."""
        if not strategies[name].supports_reserve:
            with pytest.raises(OperationNotSupported, match="put_next"):
                get_next_value(name, scope=scope)
            with pytest.raises(OperationNotSupported, match="put_next"):
                get_next_values(3, name, scope=scope)
            assert get_last_value(name, scope=scope) is None
            return
        taken = [get_next_value(name, scope=scope), *get_next_values(3, name, scope=scope)]
        assert taken == values_from_start(name, 4)
        assert stored(name, scope) == {}
        assert put_next(name, {}, scope=scope).value == values_from_start(name, 5)[4]

    @pytest.mark.parametrize("name", RESERVING)
    def test_reserving_by_threads(self, name: str, scope: str) -> None:
        """16 threads at once take values that are unique and increase."""
        judge(name, scope, by_threads(take_some, name, scope, THREADS, 6))

    @pytest.mark.parametrize("name", RESERVING)
    def test_reserving_by_processes(self, name: str, scope: str, spawned: Processes) -> None:
        """4 processes at once take values that are unique and increase."""
        told = spawned.run(by_threads, take_some, name, scope, 2, 6)
        judge(name, scope, list(chain.from_iterable(told)))

    @pytest.mark.parametrize("name", RESERVING)
    def test_reserving_many_at_once(self, name: str, scope: str) -> None:
        """Parts of different size that threads take at once do not overlap, and each is in order."""
        judge(name, scope, at_once(8, lambda n: list(get_next_values(n + 1, name, scope=scope))))
