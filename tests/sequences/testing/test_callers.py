"""Callers of a sequence, and the judgement of what they were told: it fails on everything that is not as promised."""

from __future__ import annotations

import os
import threading

import pytest

from sequences import get_next_value, put_next, put_next_many
from sequences.registry import strategies
from sequences.testing.callers import at_once, judge, judge_items, judge_repeats, put_some, repeat, stored
from tests.sequences.support import Wire, delete_row, set_counter

pytestmark = pytest.mark.usefixtures("configured")


class TestCallers:
    def test_threads_begin_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each waits for all the others, half a minute at most, before it begins; the results are in their order."""
        told: list[tuple[int, object]] = []

        class Meeting:
            def __init__(self, parties: int) -> None:
                told.append((0, parties))

            def wait(self, timeout: float) -> None:
                told.append((threading.get_ident(), timeout))

        def task(index: int) -> int:
            told.append((threading.get_ident(), "begins"))
            return index * 10

        monkeypatch.setattr(threading, "Barrier", Meeting)
        assert at_once(3, task) == [0, 10, 20]
        assert told[0] == (0, 3)
        for thread in {thread for thread, _ in told[1:]}:
            steps = [step for one, step in told if one == thread]
            assert steps == [30, "begins"] * (len(steps) // 2)

    def test_the_items_that_are_stored(self, scope: str, wire: Wire) -> None:
        """Those of a caller name its process; of an item its keys and three attributes are read."""
        assert put_some("sort-key", scope, 1) == [1]
        item = {"title": "b", "at": 5, "labels": {"c"}, "more": "is not read"}
        put_next("sort-key", item, scope=scope)
        wire.clear()
        found = stored("sort-key", scope)
        assert [found[value]["title"] for value in found] == [f"{os.getpid()}", "b"]
        assert {name: found[2].get(name) for name in item} == {**item, "more": None}
        assert [body["Limit"] for body in wire.bodies("Query")] == [1000]


class TestJudge:
    """Four values by tens from 1001."""

    NAME = "atomic-from-1001-by-10"

    @pytest.fixture(autouse=True)
    def _four(self, scope: str) -> None:
        """Values with their items."""
        assert put_some(self.NAME, scope, 4) == [1001, 1011, 1021, 1031]

    @pytest.mark.parametrize("told", [[[1001, 1011, 1021, 1031]], [[1001, 1031], [1011, 1021]], [[1001, 1021]]])
    def test_what_is_right(self, scope: str, told: list[list[int]]) -> None:
        """Values that increase for each caller are right, and may be left out."""
        judge(self.NAME, scope, told)

    @pytest.mark.parametrize(
        "told",
        [
            [[1001, 1011], [1011, 1021]],
            [[1001, 1021, 1011]],
            [[1011, 1021]],
            [[1001, 1012]],
            [[1001, 1041]],
        ],
        ids=["twice", "not in order", "not from START", "not by STEP", "above the last value"],
    )
    def test_what_is_wrong(self, scope: str, told: list[list[int]]) -> None:
        """A value twice, out of order, beside the steps, or above what the sequence says it gave."""
        with pytest.raises(AssertionError):
            judge(self.NAME, scope, told)


class TestJudgeItems:
    def test_gaps_of_a_strategy_that_leaves_them(self, scope: str) -> None:
        """A value without an item is right where gaps are designed."""
        first = put_next("atomic", {}, scope=scope).value
        get_next_value("atomic", scope=scope)
        second = put_next("atomic", {}, scope=scope).value
        judge_items("atomic", scope, [[first, second]])

    def test_gaps_where_none_may_be(self, scope: str) -> None:
        """A missing item is wrong with a gapless strategy, although nobody was told of it."""
        put_some("sort-key", scope, 3)
        judge_items("sort-key", scope, [[1, 3], [2]])
        delete_row("sort-key", scope, 2)
        with pytest.raises(AssertionError):
            judge_items("sort-key", scope, [[1, 3]])

    def test_a_counter_that_is_ahead(self, scope: str) -> None:
        """The last value of a gapless strategy is the last item's."""
        put_some("transactional", scope, 2)
        set_counter("transactional", scope, last_value=3)
        with pytest.raises(AssertionError):
            judge_items("transactional", scope, [[1, 2]])

    @pytest.mark.parametrize("told", [[[1, 2]], [[1, 2, 3, 4]], [[2, 1, 3]]])
    def test_items_that_are_not_those_of_the_answers(self, scope: str, told: list[list[int]]) -> None:
        """Each item was answered, in the order of its caller, and each answer has an item."""
        put_some("atomic", scope, 3)
        get_next_value("atomic", scope=scope)
        with pytest.raises(AssertionError):
            judge_items("atomic", scope, told)


class TestJudgeRepeats:
    def test_one_stores_and_the_others_repeat(self, scope: str) -> None:
        """All get the value of the one item, and the next value is the second."""
        judge_repeats("sort-key", scope, [repeat("sort-key", scope, "t") for _ in range(3)])
        assert sorted(stored("sort-key", scope)) == [1, 2]

    @pytest.mark.parametrize(
        "told",
        [
            [(1, False), (1, False)],
            [(1, True), (1, True)],
            [(1, False), (2, True)],
            [(2, False), (2, True)],
        ],
        ids=["two stored it", "none stored it", "two values", "another value"],
    )
    def test_what_is_wrong(self, scope: str, told: list[tuple[int, bool]]) -> None:
        """More than one value, or not just one that stored it."""
        repeat("sort-key", scope, "t")
        with pytest.raises(AssertionError):
            judge_repeats("sort-key", scope, told)

    @pytest.mark.parametrize(("name", "is_right"), [("atomic", True), ("sort-key", False)])
    def test_a_number_of_a_lost_attempt(self, scope: str, name: str, is_right: bool) -> None:
        """Only a strategy that counts each request once gives the first value for certain."""
        assert strategies[name].exactly_once is not is_right
        put_next_many(name, [{}], scope=scope)
        told = [repeat(name, scope, "t")]
        delete_row(name, scope, 1)
        if is_right:
            judge_repeats(name, scope, told)
        else:
            with pytest.raises(AssertionError):
                judge_repeats(name, scope, told)
