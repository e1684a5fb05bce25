"""What every strategy guarantees, as tests that a strategy of your own inherits.

    class TestReadThenPut(StrategyContract):
        entry = {"STRATEGY": "shop.numbers.ReadThenPut"}

pytest runs it, with the plugin `sequences.testing.plugin`. What differs between strategies is asked of their flags.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from django.test import override_settings

from .. import dynamodb
from ..exceptions import IdempotencyMismatch, OperationNotSupported
from ..registry import strategies
from ..services import get_last_value, get_next_value, get_next_values, put_next, put_next_many, put_next_together
from .callers import at_once, judge, judge_items, judge_repeats, put_some, repeat, stored, take_some, values_from_start

__all__ = ["StrategyContract"]

THREADS = 16

Reconfigure = Callable[..., None]


class _Repeats:
    """A request with an idempotency token, and its repeats."""

    def test_repeats(self, name: str, scope: str) -> None:
        """A repeat with the same token gets the first value, says so, and stores nothing."""
        first = repeat(name, scope, "a token")
        rows, last_value = stored(name, scope), get_last_value(name, scope=scope)
        assert repeat(name, scope, "a token") == (first[0], True)
        assert first[1] is False
        assert stored(name, scope) == rows
        assert get_last_value(name, scope=scope) == last_value
        assert put_next(name, {}, scope=scope, idempotency_token="another").value > first[0]

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
        judge_repeats(name, scope, at_once(8, lambda _: repeat(name, scope, "a token")))

    def test_a_token_twice_in_one_call(self, name: str, scope: str) -> None:
        """Of two equal items with one token in one call, the second is a repeat of the first."""
        first, second = put_next_many(name, [{}, {}], scope=scope, idempotency_tokens=["a token", "a token"])
        assert (first.value, first.replayed, second.replayed) == (second.value, False, True)
        assert list(stored(name, scope)) == [first.value]

    def test_markers_expire(self, name: str, scope: str, reconfigure: Reconfigure) -> None:
        """A token is remembered for `marker_seconds` to the second, whether or not the engine deletes its marker."""
        now = 1_000_000.0
        reconfigure(wall=lambda: now, marker_seconds=100)
        first, _ = repeat(name, scope, "a token")
        now += 99
        assert repeat(name, scope, "a token") == (first, True)
        now += 1
        second, replayed = repeat(name, scope, "a token")
        assert (second > first, replayed) == (True, False)
        assert repeat(name, scope, "a token") == (second, True)
        assert sorted(stored(name, scope)) == [first, second]

    def test_what_a_repeat_may_change(self, name: str, scope: str, reconfigure: Reconfigure) -> None:
        """Attributes of `ignore_in_repeat` may differ in a repeat, others may not; sets have no order."""
        reconfigure(ignore_in_repeat=["at"])

        def put(at: int, labels: set[str]) -> tuple[int, bool]:
            allocation = put_next(name, {"at": at, "labels": labels}, scope=scope, idempotency_token="a token")
            return allocation.value, allocation.replayed

        first, _ = put(1, {"a", "b", "c"})
        assert put(2, {"c", "b", "a"}) == (first, True)
        assert stored(name, scope)[first]["at"] == 1
        with pytest.raises(IdempotencyMismatch):
            put(2, {"a"})


class _Reserving:
    """Values before their items are stored."""

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

    def test_reserving_by_threads(self, name: str, scope: str) -> None:
        """16 threads at once take values that are unique and increase, unless the strategy refuses them."""
        with _refused_unless_reserving(name):
            judge(name, scope, at_once(THREADS, lambda _: take_some(name, scope, 6)))

    def test_reserving_many_at_once(self, name: str, scope: str) -> None:
        """Parts of different size that threads take at once do not overlap, unless the strategy refuses them."""
        with _refused_unless_reserving(name):
            judge(name, scope, at_once(8, lambda n: list(get_next_values(n + 1, name, scope=scope))))


class StrategyContract(_Repeats, _Reserving):
    """The contract of every strategy. A subclass whose name begins with `Test` names its strategy in `entry`.

    Its fixture `name` makes two sequences of this entry, with tables on moto for each test. A subclass may have them on
    the embedded engine:

        @pytest.fixture
        def sequence_tables(self, sequence_tables_on_engine): ...

    What it cannot show within one process, it shows by two strategies without common memory.
    """

    entry: ClassVar[Mapping[str, Any]]
    """The entry of SEQUENCES for the strategy under test."""

    @pytest.fixture
    def name(self, sequence_tables: None) -> Iterator[str]:
        """The alias of the sequence under test."""
        with override_settings(SEQUENCES={"contract": self.entry, "neighbour": self.entry}):
            yield "contract"

    @pytest.fixture
    def neighbour(self, name: str) -> str:
        """The alias of another sequence."""
        return "neighbour"

    @pytest.fixture
    def scope(self) -> str:
        """A scope that no other test uses."""
        return uuid4().hex[:12]

    @pytest.fixture
    def reconfigure(self, name: str, monkeypatch: pytest.MonkeyPatch) -> Reconfigure:
        """A function that gives the strategy other clocks or options, and nothing to remember, for this test."""

        def reconfigure(*, wall: Callable[[], float] = dynamodb.now, **options: Any) -> None:
            made = strategies[name]
            config = replace(made.config, options={**made.config.options, **options})
            monkeypatch.setitem(strategies._made, name, type(made)(config, wall=wall))

        return reconfigure

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
        judge_items(name, scope, at_once(THREADS, lambda _: put_some(name, scope, 3)))

    def test_two_memories(self, name: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two strategies that share the tables but no memory, as in two processes, take turns: values stay unique."""
        pair = [strategies[name]]
        monkeypatch.delitem(strategies._made, name)  # the next one is made anew
        pair.append(strategies[name])
        rounds = []
        for n in range(6):
            monkeypatch.setitem(strategies._made, name, pair[n % 2])
            rounds.append(put_some(name, scope, 2))
        if pair[0].ordered_across_processes:
            assert all(max(a) < min(b) for a, b in pairwise(rounds))
        judge_items(name, scope, rounds)

    def test_scopes_and_sequences_side_by_side(self, name: str, neighbour: str, scope: str) -> None:
        """Scopes at work at the same moment, and the same scope of another sequence, do not affect each other."""
        scopes = [f"{scope}-{n}" for n in range(4)]
        put_some(neighbour, scopes[0], 2)
        told = at_once(8, lambda n: put_some(name, scopes[n % 4], 3))
        for n, one in enumerate(scopes):
            judge_items(name, one, [told[n], told[n + 4]])

    def test_many_in_their_order(self, name: str, scope: str) -> None:
        """`put_next_many` numbers items in their order, contiguously."""
        allocations = put_next_many(name, [{"title": f"{n}"} for n in range(20)], scope=scope)
        values = [allocation.value for allocation in allocations]
        assert values == values_from_start(name, 20)
        assert [stored(name, scope)[value]["title"] for value in values] == [f"{n}" for n in range(20)]

    def test_more_than_a_transaction_holds(self, name: str, scope: str) -> None:
        """250 items are numbered in their order too, by several transactions."""
        values = [allocation.value for allocation in put_next_many(name, [{}] * 250, scope=scope)]
        if strategies[name].gapless:
            assert values == values_from_start(name, 250)
        judge_items(name, scope, [values])

    def test_together(self, name: str, scope: str) -> None:
        """`put_next_together` stores all items under values that follow each other; a repeat gets the same ones."""
        put_next(name, {}, scope=scope)
        items = [{"title": f"{n}"} for n in range(20)]
        first, again = (put_next_together(name, items, scope=scope, idempotency_token="a token") for _ in range(2))
        values = [allocation.value for allocation in first]
        step = strategies[name].config.step
        assert values == [values[0] + step * n for n in range(20)]
        assert [stored(name, scope)[value]["title"] for value in values] == [f"{n}" for n in range(20)]
        assert [allocation.value for allocation in again] == values
        assert {(one.replayed, two.replayed) for one, two in zip(first, again, strict=True)} == {(False, True)}
        assert put_next(name, {}, scope=scope).value not in values
        with pytest.raises(IdempotencyMismatch, match="'a token'"):
            put_next_together(name, items[:-1], scope=scope, idempotency_token="a token")

    def test_together_beside_others(self, name: str, scope: str) -> None:
        """What 8 threads put together stays together, beside single items."""

        def put(n: int) -> list[int]:
            if n % 2:
                return put_some(name, scope, 3)
            return [allocation.value for allocation in put_next_together(name, [{}] * 5, scope=scope)]

        told = at_once(8, put)
        step = strategies[name].config.step
        assert all(b - a == step for values in told[::2] for a, b in pairwise(values))
        judge_items(name, scope, told)

    def test_attempts(self, name: str, scope: str) -> None:
        """A put without rivals takes one attempt."""
        assert put_next(name, {}, scope=scope).attempts == 1


def _refused_unless_reserving(name: str) -> AbstractContextManager[object]:
    """Expect the refusal of a strategy that cannot reserve."""
    if strategies[name].supports_reserve:
        return nullcontext()
    return pytest.raises(OperationNotSupported, match="put_next")
