"""What a process gives back when it stops: the next one goes on there, once, and not after an operator's change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from project.paths import ROOT
from sequences import changes, dynamodb, get_last_value, get_next_value, get_next_values, put_next, put_next_together
from sequences.dynamodb import expressions
from sequences.dynamodb.expressions import BORN, GIVEN_BACK
from sequences.exceptions import InvalidChange, SequenceExhausted, SequenceFrozen, SequenceWentBack, WriteCancelled
from sequences.registry import strategies
from sequences.strategies import AtomicCounter, BlockAllocator, Strategy, block, held_blocks
from sequences.strategies.counter_strategy import advance_to, counter_of, delete_counter
from sequences.strategies.given_back import MOST_RANGES
from sequences.strategies.optimistic import OptimisticCounter
from sequences.testing.callers import take_some
from sequences.testing.embedded import Engine
from tests.sequences.support import SEQUENCES, Backup, Clock, Processes, Wire, read_counter, set_counter, wait_until

pytestmark = [pytest.mark.usefixtures("configured"), pytest.mark.needs_engine]

Begin = Callable[..., BlockAllocator]
ONE = {"last_value": 1}
SIGNED: Any = {"by": "Ann", "reason": "a test"}
PROGRAM = """
import json, os, sys, django
django.setup()
from django.conf import settings
settings.SEQUENCES, settings.TABLE_PREFIX = json.loads(os.environ["ONE_OF_THEM"]), os.environ["PREFIX"]
from sequences.strategies import block
block.STOP_SECONDS = 30.0
from sequences.testing.callers import take_some
print(take_some("block", sys.argv[1], int(sys.argv[2])), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def begin(install: Callable[..., Strategy], monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Begins as another process does: it remembers nothing, and holds nothing. Blocks of 10."""
    monkeypatch.setattr(block, "STOP_SECONDS", 30.0)  # the machine may be busy

    def begin(**options: object) -> BlockAllocator:
        strategy = install("block", clock=Clock(), **{"block_size": 10, **options})
        assert isinstance(strategy, BlockAllocator)
        return strategy

    return begin


def in_order(when: str, give_back: Callable[[], object], change: Callable[[], object]) -> None:
    """Give back before a change, or after it."""
    for step in (give_back, change) if when == "before" else (change, give_back):
        step()


def stop_after(begin: Begin, scope: str, count: int) -> BlockAllocator:
    """Take some values in a process, and stop it."""
    allocator = begin()
    take_some("block", scope, count)
    allocator.give_back()
    return allocator


class TestGoingOn:
    @pytest.mark.parametrize("taken", [1, 4, 5, 7, 9])
    def test_the_next_process_goes_on(self, begin: Begin, scope: str, taken: int) -> None:
        """It gets what is left, without a gap, also of a block that was fetched ahead, and then new blocks."""
        stop_after(begin, scope, taken)
        begin()
        assert take_some("block", scope, 30) == list(range(taken + 1, taken + 31))

    def test_the_counter_never_goes_back(self, begin: Begin, scope: str) -> None:
        """Values wait beside the counter: its last value is the same before and after, until a block follows them."""
        allocator = begin()
        take_some("block", scope, 3)
        before = get_last_value("block", scope=scope)
        allocator.give_back()
        assert get_last_value("block", scope=scope) == before == 10
        taker = begin()
        assert take_some("block", scope, 1) == [4]
        wait_until(lambda: all(fetch.done for fetch in taker._fetches))
        assert get_last_value("block", scope=scope) == 20

    def test_several_give_back(self, begin: Begin, scope: str, wire: Wire) -> None:
        """What several processes gave back is taken at once, in ascending order; one block is fetched meanwhile."""
        first, second = begin(), begin()
        values = [first.next_value(scope) for _ in range(3)] + [second.next_value(scope) for _ in range(2)]
        assert values == [1, 2, 3, 11, 12]
        second.give_back()
        first.give_back()
        taker = begin()
        wire.clear()
        assert take_some("block", scope, 15) == [*range(4, 11), *range(13, 21)]
        wait_until(lambda: all(fetch.done for fetch in taker._fetches))
        assert wire.operations.count("UpdateItem") == 2
        assert take_some("block", scope, 2) == [21, 22]

    def test_one_process_gets_them(self, begin: Begin, scope: str, forked: Processes) -> None:
        """Of processes that begin at the same moment one gets the values; no value comes twice."""
        stop_after(begin, scope, 3)
        begin()
        told = forked.run(take_some, "block", scope, 20)
        values = [value for part in told for value in part]
        assert len(set(values)) == len(values)
        assert {*range(4, 11)} <= set(values)

    def test_nobody_gets_them_from_a_process_that_stopped(self, begin: Begin, scope: str) -> None:
        """A thread that still asks a process that has given back gets other values."""
        allocator = stop_after(begin, scope, 3)
        late = allocator.next_value(scope)
        begin()
        assert late not in take_some("block", scope, 20)

    def test_a_child_gives_nothing_back(self, begin: Begin, scope: str) -> None:
        """A forked child leaves alone what its parent serves."""
        allocator = begin()
        take_some("block", scope, 3)
        allocator._process += 1
        allocator.give_back()
        assert GIVEN_BACK not in read_counter("block", scope)
        assert take_some("block", scope, 3) == [4, 5, 6]

    def test_they_are_bounded(self, begin: Begin, scope: str, caplog: pytest.LogCaptureFixture) -> None:
        """A row keeps few ranges; the process that has one too many logs how many values stay unused."""
        held = [begin() for _ in range(MOST_RANGES + 1)]
        for allocator in held:
            allocator.next_value(scope)
        for allocator in reversed(held):
            caplog.clear()
            allocator.give_back()
        assert "9 reserved values stay unused" in caplog.text
        assert len(read_counter("block", scope)[GIVEN_BACK]["ranges"]) == MOST_RANGES


class TestOrder:
    """Two processes hold 1..10 and 11..20, and the first one gives back 4..10 while the second one goes on."""

    @pytest.fixture
    def held(self, begin: Begin, scope: str) -> BlockAllocator:
        """The second process, which got 11, 12 and 13."""
        other, own = begin(), begin()
        assert [other.next_value(scope) for _ in range(3)] == [1, 2, 3]
        assert [own.next_value(scope) for _ in range(3)] == [11, 12, 13]
        other.give_back()
        return own

    def test_after_a_drop(self, held: BlockAllocator, begin: Begin, scope: str) -> None:
        """A process that has dropped its block gets higher values than before; lower ones are left to others."""
        held._held.drop(scope)
        wait_until(lambda: all(fetch.done for fetch in held._fetches))
        assert held.next_value(scope) == 21
        assert read_counter("block", scope)[GIVEN_BACK]["ranges"] == ["4:11:1"]
        begin()
        assert take_some("block", scope, 1) == [4]

    def test_after_many_other_scopes(self, held: BlockAllocator, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same holds after its block had to go because of other scopes."""
        monkeypatch.setattr(held_blocks, "BLOCKS_HELD", 2)
        for n in range(3):
            held.next_value(f"{scope}-{n}")
        assert held.next_value(scope) > 13

    def test_after_more_than_a_block(self, held: BlockAllocator, begin: Begin, scope: str) -> None:
        """The same holds for a process that got more than a block at once."""
        own = begin()
        assert own.reserve(scope, 25, own.deadline())[0] == 21
        assert own.next_value(scope) > 45

    @pytest.mark.parametrize("token", [None, "one"])
    def test_after_several_in_a_row(self, begin: Begin, scope: str, token: str | None) -> None:
        """The same holds for several values straight from the counter, also where the sequence ends with them."""
        other, own = (begin(block_size=5, MAXIMUM=12) for _ in range(2))
        assert [own.next_value(scope), other.next_value(scope)] == [1, 6]
        if token:
            assert [*get_next_values(2, "block", scope=scope, idempotency_token=token)] == [11, 12]
        else:
            assert [one.value for one in put_next_together("block", [{}, {}], scope=scope)] == [11, 12]
        other.give_back()
        assert [own.next_value(scope) for _ in range(4)] == [2, 3, 4, 5]
        with pytest.raises(SequenceExhausted):
            own.next_value(scope)
        assert begin(block_size=5, MAXIMUM=12).next_value(scope) == 7

    def test_higher_ones(self, held: BlockAllocator, begin: Begin, scope: str) -> None:
        """What is higher than all that a process got is taken, also its own, and the rest stays."""
        held.give_back()
        assert read_counter("block", scope)[GIVEN_BACK]["ranges"] == ["4:11:1", "14:21:1"]
        assert [held.next_value(scope) for _ in range(7)] == [*range(14, 21)]
        assert read_counter("block", scope)[GIVEN_BACK]["ranges"] == ["4:11:1"]
        begin()
        assert take_some("block", scope, 7) == [*range(4, 11)]


class TestFaults:
    def test_a_write_that_arrives_twice(self, begin: Begin, scope: str, wire: Wire) -> None:
        """A copy of the request, which arrives when another process has taken the values, does nothing."""
        stop_after(begin, scope, 3)
        (copy,) = [body for body in wire.bodies("UpdateItem") if GIVEN_BACK in str(body)]
        begin()
        assert take_some("block", scope, 2) == [4, 5]
        with pytest.raises(WriteCancelled):
            dynamodb.call("update_item", copy)
        begin()
        assert take_some("block", scope, 1)[0] > 10

    def test_an_addition_arrives_again_before_it(self, begin: Begin, scope: str, wire: Wire) -> None:
        """A copy of the addition before brings back the token that it left, but not what was given back after it."""
        stop_after(begin, scope, 3)
        addition, giving = wire.bodies("UpdateItem")
        taker = begin()
        assert take_some("block", scope, 2) == [4, 5]
        wait_until(lambda: all(fetch.done for fetch in taker._fetches))
        dynamodb.call("update_item", addition)
        with pytest.raises(WriteCancelled):
            dynamodb.call("update_item", giving)
        begin()
        assert take_some("block", scope, 1)[0] > 10

    @pytest.mark.parametrize("lost", ["UpdateItem", "GetItem"])
    def test_lost_answers(self, begin: Begin, scope: str, wire: Wire, lost: str) -> None:
        """After a lost answer to giving or taking, no value comes twice, and here none is lost either."""
        allocator = begin()
        take_some("block", scope, 3)
        wire.lose(lost)
        allocator.give_back()
        begin()
        wire.lose(lost)
        assert take_some("block", scope, 9) == list(range(4, 13))

    def test_a_row_that_offers_them_again(self, begin: Begin, scope: str) -> None:
        """A process that took values refuses when a restored row offers them again, until it is recovered."""
        stop_after(begin, scope, 3)
        before = read_counter("block", scope)
        taker = begin()
        assert take_some("block", scope, 4) == [4, 5, 6, 7]
        wait_until(lambda: all(fetch.done for fetch in taker._fetches))
        set_counter("block", scope, **{GIVEN_BACK: before[GIVEN_BACK], "token": before["token"]})
        taker._watch.look()
        for _ in range(2):
            with pytest.raises(SequenceWentBack, match="offers values again"):
                taker.next_value(scope)
        changes.recover("block", scope=scope, past=10, **SIGNED)
        assert taker.next_value(scope) > 10

    def test_a_process_that_begins_with_a_restored_row(self, begin: Begin, scope: str) -> None:
        """A process that begins after the restore refuses, too: its host knows what was handed out since."""
        stop_after(begin, scope, 3)
        backup = Backup("block", scope)
        taker = begin()
        assert take_some("block", scope, 4) == [4, 5, 6, 7]
        wait_until(lambda: all(fetch.done for fetch in taker._fetches))
        backup.restore()
        with pytest.raises(SequenceWentBack):
            begin().next_value(scope)

    def test_what_was_given_back_twice(self, begin: Begin, scope: str) -> None:
        """A process may take what it has taken and given back itself before, as often as it likes."""
        stop_after(begin, scope, 3)
        taker = begin()
        for value in (4, 5, 6, 7):
            assert taker.next_value(scope) == value
            taker._watch.look()
            taker.give_back()

    def test_a_counter_that_begins_again(self, begin: Begin, scope: str) -> None:
        """After its own `delete_counter` a process takes values that it took before from the earlier counter."""
        stop_after(begin, scope, 3)
        taker = begin()
        assert take_some("block", scope, 2) == [4, 5]
        wait_until(lambda: all(fetch.done for fetch in taker._fetches))  # its addition would be that of a new counter
        assert delete_counter(taker, scope)
        stop_after(begin, scope, 3)
        assert taker.next_value(scope) == 4

    def test_a_counter_that_begins_again_elsewhere(self, begin: Begin, scope: str) -> None:
        """After another process's `delete_counter`, too: what it took from the earlier counter is no evidence."""
        stop_after(begin, scope, 3)
        taker = begin()
        take = partial(taker._held.given_back.take, scope, taker.deadline())
        assert take().ranges == (range(4, 11),)
        first = begin()
        assert delete_counter(first, scope)
        assert take_some("block", scope, 3) == [1, 2, 3]
        stop_after(begin, scope, 2)
        assert take().ranges == (range(13, 21),)
        first.give_back()
        assert take().ranges == (range(4, 11),)

    def test_taken_between_the_lost_answer_and_the_repeat(self, begin: Begin, scope: str, wire: Wire) -> None:
        """Values that another process took, after their giver lost the answer, are not given back again."""
        giver = begin()
        take_some("block", scope, 3)
        taker = begin()
        taken: list[int] = []
        wire.after("UpdateItem", lambda: taken.extend(taker.next_value(scope) for _ in range(2)))
        wire.lose("UpdateItem")
        giver.give_back()
        assert taken == [4, 5]
        assert GIVEN_BACK not in read_counter("block", scope)
        begin()
        assert take_some("block", scope, 1)[0] > 10

    def test_an_engine_that_is_away(
        self, begin: Begin, scope: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Without an engine the process ends all the same, and logs what is lost."""
        allocator = begin()
        take_some("block", scope, 3)
        with monkeypatch.context() as away:
            away.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
            dynamodb.reset()
            allocator.give_back()
        dynamodb.reset()
        assert "7 reserved values stay unused" in caplog.text


class TestChanges:
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_an_advance(self, begin: Begin, scope: str, when: str) -> None:
        """After an advance every value is above it, whether lower ones were given back before or after it."""
        allocator = begin()
        take_some("block", scope, 3)
        begin()
        in_order(when, allocator.give_back, lambda: changes.advance("block", to=100, scope=scope, **SIGNED))
        begin()
        assert get_next_value("block", scope=scope) == 101

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_an_advance_by_a_migration(self, begin: Begin, scope: str, when: str) -> None:
        """The same holds for `advance_to`, by which a migration puts a sequence past its rows."""
        allocator = begin()
        take_some("block", scope, 3)
        in_order(when, allocator.give_back, lambda: advance_to(begin(), scope, 100))
        begin()
        assert get_next_value("block", scope=scope) == 101

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_a_freeze(self, begin: Begin, scope: str, when: str) -> None:
        """Nothing is taken from a frozen scope; after the thaw what was held before it stays unused."""
        allocator = begin()
        take_some("block", scope, 3)
        in_order(when, allocator.give_back, lambda: changes.freeze("block", scope=scope, **SIGNED))
        begin()
        with pytest.raises(SequenceFrozen):
            get_next_value("block", scope=scope)
        changes.thaw("block", scope=scope, **SIGNED)
        assert get_next_value("block", scope=scope) == 11

    def test_a_freeze_between_look_and_write(self, begin: Begin, scope: str, wire: Wire) -> None:
        """A freeze that comes just before the values are given back, or taken, wins."""
        allocator = begin()
        take_some("block", scope, 3)
        wire.before("UpdateItem", lambda: changes.freeze("block", scope=scope, **SIGNED))
        allocator.give_back()
        assert GIVEN_BACK not in read_counter("block", scope)
        changes.thaw("block", scope=scope, **SIGNED)

        stop_after(begin, scope, 3)
        begin()
        wire.before("UpdateItem", lambda: changes.freeze("block", scope=scope, **SIGNED))
        with pytest.raises(SequenceFrozen):
            get_next_value("block", scope=scope)

    def test_another_life_of_the_table(self, begin: Begin, scope: str) -> None:
        """A restored row, whose values were perhaps taken after the backup, gives none of them."""
        stop_after(begin, scope, 3)
        kept = read_counter("block", scope)[GIVEN_BACK]
        assert kept["ranges"] == ["4:11:1"]
        set_counter("block", scope, **{GIVEN_BACK: {**kept, "life": "another"}})
        begin()
        assert take_some("block", scope, 1) == [11]

    def test_a_table_that_was_made_again(
        self, begin: Begin, scope: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Values of an earlier life are not given back to a later one, which may have given them itself."""
        allocator = begin()
        take_some("block", scope, 3)
        monkeypatch.setattr(allocator._held.given_back, "_life", lambda *_, **__: "a later one")
        allocator.give_back()
        assert GIVEN_BACK not in read_counter("block", scope)
        assert "7 reserved values stay unused" in caplog.text

    @pytest.mark.parametrize("changed", [{"STEP": 7}, {"START": 100}, {"MAXIMUM": 9}])
    def test_another_configuration(self, begin: Begin, scope: str, changed: dict[str, int]) -> None:
        """Values that are none of the sequence as it is configured now are not given."""
        stop_after(begin, scope, 3)
        allocator = begin(**changed)
        assert allocator._held.given_back.take(scope, allocator.deadline()).ranges == ()

    def test_a_counter_that_was_deleted(self, begin: Begin, scope: str) -> None:
        """Values of a deleted counter are not given back to the one that begins after it, nor are later ones."""
        old = begin()
        take_some("block", scope, 3)
        new = begin()
        assert delete_counter(new, scope)
        assert take_some("block", scope, 25) == list(range(1, 26))
        old.give_back()
        assert GIVEN_BACK not in read_counter("block", scope)

    def test_a_counter_of_an_older_version(self, begin: Begin, scope: str) -> None:
        """A counter without a mark of its birth gets one at its next write; what is given back goes on, too."""
        stop_after(begin, scope, 3)
        counter = counter_of(strategies["block"])
        request = expressions.change_row(counter.table, counter.key(scope), unchanged={}, at_least=ONE, removes=[BORN])
        dynamodb.call("update_item", request)
        stop_after(begin, scope, 2)
        assert BORN in read_counter("block", scope)
        begin()
        assert take_some("block", scope, 2) == [6, 7]

    def test_a_counter_that_is_put_whole(self, begin: Begin, scope: str) -> None:
        """A put of the whole counter keeps every mark in its row, also those that it does not know."""
        holder = begin()
        take_some("block", scope, 3)
        advance_to(begin(), scope, 500)
        set_counter("block", scope, later="kept")
        before = read_counter("block", scope)
        assert OptimisticCounter(replace(holder.config, options={"write": "put"})).next_value(scope) == 501
        marks = ("changed", "born", "later")
        assert [read_counter("block", scope).get(name) for name in marks] == [before[name] for name in marks]
        holder.give_back()
        assert GIVEN_BACK not in read_counter("block", scope)

    def test_a_counter_that_is_put_whole_in_a_race(self, begin: Begin, scope: str, wire: Wire) -> None:
        """What is given back between the read and the put of a whole counter is not lost."""
        holder = begin()
        take_some("block", scope, 3)
        putter = OptimisticCounter(replace(holder.config, options={"write": "put"}))
        wire.before("PutItem", holder.give_back)
        assert putter.next_value(scope) == 11
        assert read_counter("block", scope)[GIVEN_BACK]["ranges"] == ["4:11:1"]

    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("change", ["seed", "recover", "advance_to"])
    def test_what_is_said_to_be_in_use(self, begin: Begin, scope: str, when: str, change: str) -> None:
        """Values below a number that is in use elsewhere are not given any more, though the counter is past it."""
        holder = begin()
        take_some("block", scope, 3)
        changing = begin()
        steps: dict[str, Callable[[], object]] = {
            "seed": lambda: changes.seed("block", 8, scope=scope, **SIGNED),
            "recover": lambda: changes.recover("block", scope=scope, past=7, margin=0, **SIGNED),
            "advance_to": lambda: advance_to(changing, scope, 8),
        }
        in_order(when, holder.give_back, steps[change])
        begin()
        assert get_next_value("block", scope=scope) > 10

    @pytest.mark.parametrize("change", ["seed", "recover", "advance_to", "put_at"])
    def test_said_under_another_strategy(
        self, begin: Begin, scope: str, change: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same holds where another strategy, which gives nothing back, counts in the scope meanwhile."""
        atomic = AtomicCounter(replace(stop_after(begin, scope, 3).config, options={}, given=True))
        steps: dict[str, Callable[[], object]] = {
            "seed": lambda: changes.seed("block", 8, scope=scope, **SIGNED),
            "recover": lambda: changes.recover("block", scope=scope, past=7, margin=0, **SIGNED),
            "advance_to": lambda: advance_to(atomic, scope, 8),
            "put_at": lambda: changes.put_at("block", 5, {}, scope=scope, **SIGNED),
        }
        with monkeypatch.context() as patch:
            patch.setitem(strategies._made, "block", atomic)
            steps[change]()
        begin()
        assert get_next_value("block", scope=scope) > 10

    def test_void_under_another_strategy(self, begin: Begin, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A value that was given back is void only after a freeze, which withdraws it, whichever strategy counts."""
        atomic = AtomicCounter(replace(stop_after(begin, scope, 3).config, options={}))
        monkeypatch.setitem(strategies._made, "block", atomic)
        with pytest.raises(InvalidChange, match="freeze the scope"):
            changes.void("block", 5, scope=scope, **SIGNED)
        changes.freeze("block", scope=scope, **SIGNED)
        assert changes.void("block", 5, scope=scope, **SIGNED).after == 5

    def test_a_seed_drops_blocks(self, begin: Begin, scope: str) -> None:
        """A seed below the counter stands in the history, by which every process drops its blocks, its own at once."""
        holder = begin()
        take_some("block", scope, 3)
        (change,) = changes.seed("block", 8, scope=scope, **SIGNED)
        assert (change.before, change.after) == (10, 11)
        assert [line.kind for line in changes.history("block", scope=scope)[0]] == ["seed"]
        assert holder.next_value(scope) == 12

    def test_a_seed_at_the_end(self, begin: Begin, scope: str) -> None:
        """Where the counter is at MAXIMUM, a seed drops the blocks and leaves the counter there."""
        begin(MAXIMUM=10)
        take_some("block", scope, 3)
        (change,) = changes.seed("block", 8, scope=scope, **SIGNED)
        assert (change.before, change.after) == (10, 10)
        with pytest.raises(SequenceExhausted):
            get_next_value("block", scope=scope)

    def test_another_item_under_a_value(self, begin: Begin, scope: str) -> None:
        """Items go on, too: none is stored over another."""
        allocator = begin()
        first = [put_next("block", {}, scope=scope).value for _ in range(3)]
        allocator.give_back()
        begin()
        assert [*first, *(put_next("block", {}, scope=scope).value for _ in range(9))] == list(range(1, 13))


class TestProcesses:
    def _run(self, engine: Engine, prefix: str, scope: str, count: int, by: signal.Signals | None) -> list[int]:
        """What a process gets that then ends by itself, or by a signal."""
        own = {
            "AWS_ENDPOINT_URL_DYNAMODB": engine.endpoint,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_DEFAULT_REGION": "us-east-1",
            "DJANGO_SETTINGS_MODULE": "project.settings.development",
            "PREFIX": prefix,
            "ONE_OF_THEM": json.dumps({"block": SEQUENCES["block"]}),
        }
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, scope, str(count)],
            cwd=ROOT,
            env={**os.environ, **own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            line = process.stdout.readline()
            if by:
                process.send_signal(by)
            process.communicate(timeout=60)
        return [int(word) for word in line.strip("[]\n").split(",")]

    def test_an_end_and_a_kill(self, engine: Engine, configured: str, scope: str) -> None:
        """A process that ends leaves no gap; one that is killed loses what it had reserved, and no more."""
        assert self._run(engine, configured, scope, 3, None) == [1, 2, 3]
        assert self._run(engine, configured, scope, 1, signal.SIGKILL) == [4]
        first, second = take_some("block", scope, 2)
        size = strategies["block"].option["block_size"]
        assert first in range(5, 5 + 4 * size + 1)  # it held a block of twice the size, and may have fetched another
        assert second == first + 1


@pytest.mark.parametrize("kept", ["4:9:1", "5:9:2", "97:102:1", "5:9:1"])
def test_only_values_of_the_sequence_are_served(kept: str, install: Callable[..., Strategy]) -> None:
    """Ranges that begin below START, end above MAXIMUM or have another STEP are left where they are."""
    allocator = install("block", START=5, MAXIMUM=100)
    assert isinstance(allocator, BlockAllocator)
    row = {GIVEN_BACK: {"life": "this", "ranges": [kept]}}
    usable = allocator._held.given_back._usable(row, "this")
    assert usable == ([range(5, 9)] if kept == "5:9:1" else [])
