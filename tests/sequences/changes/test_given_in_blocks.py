"""Items under given numbers that a process may hold in its block: no number comes twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sequences import get_last_value, get_next_value, items, put_next
from sequences.changes import given, history, put_all_at, put_at
from sequences.exceptions import ItemExists, SequenceExhausted, SequenceUnavailable
from sequences.ops.audit import audit
from sequences.registry import strategies
from sequences.strategies import BlockAllocator, Strategy
from sequences.testing.callers import put_some, take_some
from tests.sequences.support import Wire, import_row, make, read_counter

pytestmark = pytest.mark.usefixtures("configured")

BLOCK = 100
WHO: dict[str, Any] = {"by": "ana", "reason": "from the old system"}
Install = Callable[..., Strategy]
COUNTERS = ["transactional", "transactional-beside", "atomic", "optimistic-update"]


@pytest.fixture
def allocator(install: Install) -> BlockAllocator:
    """The allocator of the sequence "block", which may be given numbers."""
    return fresh(install)


def fresh(install: Install, **options: Any) -> BlockAllocator:
    """The allocator of another process, which goes on here."""
    strategy = install("block", GIVEN=True, block_size=BLOCK, max_block_size=BLOCK, **options)
    assert isinstance(strategy, BlockAllocator)
    return strategy


def give_elsewhere(scope: str, monkeypatch: pytest.MonkeyPatch, *values: int) -> None:
    """Another process stores items under these values."""
    with monkeypatch.context() as patch:
        patch.setitem(strategies._made, "block", make("block", GIVEN=True))
        put_all_at("block", {value: {} for value in values}, scope=scope, **WHO)


def lines(scope: str) -> int:
    """How many changes the history tells of a scope."""
    return len(history("block", scope=scope)[0])


class TestNoNumberTwice:
    @pytest.mark.parametrize("values", [(50,), (50, 60), (50, 300)])
    def test_in_the_process_that_gives_it(self, allocator: BlockAllocator, scope: str, values: tuple[int, ...]) -> None:
        """The process goes on above its block at once."""
        assert get_next_value("block", scope=scope) == 1
        assert sorted(put_all_at("block", {value: {} for value in values}, scope=scope, **WHO)) == list(values)
        assert min(take_some("block", scope, 2 * BLOCK)) > max(BLOCK, *values)

    def test_items_of_the_process_that_gives_it(self, allocator: BlockAllocator, scope: str) -> None:
        """The items that follow have numbers above the block, each of its own."""
        put_next("block", {}, scope=scope)
        assert put_at("block", 50, {}, scope=scope, **WHO)
        told = put_some("block", scope, BLOCK)
        assert min(told) > BLOCK
        assert [item.value for item in items("block", scope=scope)] == [1, 50, *told]

    @pytest.mark.parametrize("take", [take_some, put_some])
    def test_in_another_process(
        self,
        allocator: BlockAllocator,
        scope: str,
        take: Callable[[str, str, int], list[int]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A process that holds the number does not give it after its next look."""
        take("block", scope, 1)
        give_elsewhere(scope, monkeypatch, 50)
        assert take("block", scope, 1) == [2]
        allocator._watch.look()
        assert min(take("block", scope, 2 * BLOCK)) > BLOCK

    def test_of_what_was_given_back(self, allocator: BlockAllocator, scope: str, install: Install) -> None:
        """What a process has given back is not taken from there any more."""
        take_some("block", scope, 1)
        allocator.give_back()
        fresh(install)
        put_at("block", 50, {}, scope=scope, **WHO)
        assert min(take_some("block", scope, BLOCK)) > BLOCK

    def test_soon_after_a_change_of_another_process(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The process drops what it still holds, also if another one has moved the sequence before."""
        take_some("block", scope, 1)
        give_elsewhere(scope, monkeypatch, 300)
        put_at("block", 50, {}, scope=scope, **WHO)
        assert min(take_some("block", scope, 2 * BLOCK)) > 300

    def test_at_the_maximum(self, install: Install, scope: str) -> None:
        """Where no value is left the block is dropped, and the sequence stays where it is."""
        fresh(install, MAXIMUM=BLOCK)
        take_some("block", scope, 1)
        assert put_at("block", 50, {}, scope=scope, **WHO)
        assert get_last_value("block", scope=scope) == BLOCK
        with pytest.raises(SequenceExhausted):
            get_next_value("block", scope=scope)
        assert not put_at("block", 50, {}, scope=scope, **WHO)

    def test_a_maximum_that_was_lowered(self, allocator: BlockAllocator, install: Install, scope: str) -> None:
        """Where the last value is above it nothing is stored."""
        take_some("block", scope, 1)
        fresh(install, MAXIMUM=60)
        with pytest.raises(SequenceExhausted):
            put_at("block", 50, {}, scope=scope, **WHO)
        assert not list(items("block", scope=scope))


class TestOnce:
    """How often the sequence moves on."""

    def test_a_repeat(self, allocator: BlockAllocator, scope: str) -> None:
        """A repeat changes nothing, also after other numbers were taken: the process keeps its block."""
        take_some("block", scope, 1)
        for value in (50, 60):
            put_at("block", value, {}, scope=scope, **WHO)
        (first,) = take_some("block", scope, 1)
        before, count = read_counter("block", scope), lines(scope)
        assert not put_at("block", 50, {}, scope=scope, **WHO)
        assert put_all_at("block", {50: {}, 60: {}}, scope=scope, **WHO) == []
        assert (read_counter("block", scope), lines(scope)) == (before, count)
        assert take_some("block", scope, 1) == [first + 1]

    def test_a_lost_answer(self, allocator: BlockAllocator, scope: str, wire: Wire) -> None:
        """After lost answers it is stored once, and the sequence has moved once."""
        take_some("block", scope, 1)
        wire.lose("TransactWriteItems", times=2)
        put_at("block", 50, {}, scope=scope, **WHO)
        assert not put_at("block", 50, {}, scope=scope, **WHO)
        assert get_last_value("block", scope=scope) == BLOCK + 1
        assert lines(scope) == 1

    def test_a_run_that_failed_midway(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A run that dropped the blocks and stored nothing is repeated, and moves the sequence no further."""

        def fail(*_: object, **__: object) -> None:
            raise SequenceUnavailable("the engine is away", attempts=1, seconds=1.0)

        take_some("block", scope, 1)
        with monkeypatch.context() as patch:
            patch.setattr(given, "write_once", fail)
            with pytest.raises(SequenceUnavailable):
                put_at("block", 50, {}, scope=scope, **WHO)
        assert put_at("block", 50, {}, scope=scope, **WHO)
        assert get_last_value("block", scope=scope) == BLOCK + 1

    @pytest.mark.usefixtures("steady_date")
    def test_many(self, allocator: BlockAllocator, scope: str) -> None:
        """Numbers that are stored one after the other move it once, until somebody takes a value again."""
        take_some("block", scope, 1)
        for value in range(50, 60):
            put_at("block", value, {}, scope=scope, **WHO)
        assert get_last_value("block", scope=scope) == BLOCK + 1
        take_some("block", scope, 1)
        put_at("block", 60, {}, scope=scope, **WHO)
        assert get_last_value("block", scope=scope) == 2 * BLOCK + 2
        (newest, oldest), _ = history("block", scope=scope)
        assert (oldest.kind, oldest.before, oldest.after) == ("give", BLOCK, BLOCK + 1)
        assert (newest.kind, newest.before, newest.after) == ("give", 2 * BLOCK + 1, 2 * BLOCK + 2)

    def test_a_number_that_is_taken(self, allocator: BlockAllocator, scope: str) -> None:
        """A number that another item has is refused, and the process keeps its block."""
        take_some("block", scope, 1)
        import_row("block", scope, 50)
        with pytest.raises(ItemExists, match="under 50"):
            put_at("block", 50, {"title": "b"}, scope=scope, **WHO)
        assert take_some("block", scope, 1) == [2]
        assert lines(scope) == 0

    def test_the_audit(self, allocator: BlockAllocator, scope: str) -> None:
        """The value that is skipped has its line in the history."""
        put_next("block", {}, scope=scope)
        put_at("block", 50, {}, scope=scope, **WHO)
        put_next("block", {}, scope=scope)
        assert {"ana"} <= {gap.by for gap in audit(strategies["block"], scope).gaps.listed}


class TestThePrice:
    def test_of_a_number_in_a_block(self, allocator: BlockAllocator, scope: str, wire: Wire) -> None:
        """It is a guarded change, a look for the item, and the item; a repeat reads alone but for the item."""
        take_some("block", scope, 1)
        put_at("block", 40, {}, scope=scope, **WHO)
        take_some("block", scope, 1)
        wire.clear()
        put_at("block", 50, {}, scope=scope, **WHO)
        assert wire.operations.count("BatchGetItem") == 1
        assert wire.operations.count("TransactWriteItems") == 2
        take_some("block", scope, 1)
        wire.clear()
        put_at("block", 50, {}, scope=scope, **WHO)
        assert wire.operations.count("BatchGetItem") == 1
        assert wire.operations.count("TransactWriteItems") == 1

    def test_a_look_for_many(self, allocator: BlockAllocator, scope: str, wire: Wire) -> None:
        """A hundred items are looked for at a time, and none after the first that is missing."""
        taken: dict[int, Any] = {value: {} for value in range(1, 251)}
        last: dict[int, Any] = {251: {}}
        put_all_at("block", taken, scope=scope, **WHO)
        take_some("block", scope, 1)
        for more, looks in ((dict[int, Any](), 3), (last, 1)):
            wire.clear()
            assert put_all_at("block", {**taken, **more}, scope=scope, **WHO) == list(more)
            assert wire.operations.count("BatchGetItem") == looks

    def test_what_a_look_leaves_out(
        self, allocator: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An item that the engine leaves out of a look is read alone."""
        take_some("block", scope, 1)
        monkeypatch.setattr(given, "read_rows", lambda _, keys, *__: [None] * len(keys))
        assert put_at("block", 50, {}, scope=scope, **WHO)
        (first,) = take_some("block", scope, 1)
        assert not put_at("block", 50, {}, scope=scope, **WHO)
        assert take_some("block", scope, 1) == [first + 1]

    @pytest.mark.parametrize("name", COUNTERS)
    def test_of_other_strategies(self, name: str, scope: str, install: Install, wire: Wire) -> None:
        """Where no process holds values the sequence stays, and nothing is looked for."""
        install(name, GIVEN=True)
        put_at(name, 9, {}, scope=scope, **WHO)
        put_next(name, {}, scope=scope)
        before = read_counter(name, scope)
        wire.clear()
        assert put_at(name, 5, {}, scope=scope, **WHO)
        assert "BatchGetItem" not in wire.operations
        assert wire.operations.count("TransactWriteItems") == 1
        assert read_counter(name, scope) == before
