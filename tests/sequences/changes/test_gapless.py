"""A sequence that goes between TransactionalCounter and strategies that may leave gaps, while writers are running."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from sequences import changes, get_next_value, get_next_values, put_next
from sequences.changes import finish_switch, switch
from sequences.changes.apply import ChangeRequest, apply_change
from sequences.changes.gapless import _closing
from sequences.dynamodb.expressions import GAPLESS_AFTER, GAPLESS_UNTIL, GIVEN_BACK, OWN_KEYS
from sequences.exceptions import (
    InvalidChange,
    OperationNotSupported,
    RulesChanged,
    SequenceError,
    SequenceFrozen,
    SequenceWentBack,
)
from sequences.ops.audit import audit
from sequences.registry import made_of, strategies
from sequences.strategies import BlockAllocator, Strategy
from sequences.strategies.counter_strategy import advance_to
from sequences.testing.embedded import Engine
from sequences.types import Change
from tests.kept_tables import emptied_tables
from tests.sequences.running import put
from tests.sequences.support import (
    begin_process,
    delete_row,
    fresh_processes,
    import_row,
    read_counter,
    set_counter,
    stored,
    tapped,
    wait_until,
    written,
)

pytestmark = pytest.mark.needs_engine

WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
NAME, SCOPE = "line", "ABC"
GAPLESS = "TransactionalCounter"
Now = Callable[..., Any]
FAST = ("AtomicCounter", "BlockAllocator", "OptimisticCounter")


def entry(strategy: str, watch_seconds: float = 3600.0, **options: Any) -> dict[str, Any]:
    """The settings of the sequence; a block has ten numbers, and no thread looks during a test."""
    more = {"block_size": 10, "watch_seconds": watch_seconds} if strategy == "BlockAllocator" else {}
    return {"STRATEGY": f"sequences.strategies.{strategy}", "OPTIONS": {**more, **options}}


def process(strategy: str, **options: Any) -> Any:
    """A process that was started with this strategy."""
    return made_of(NAME, entry(strategy, **options))


@pytest.fixture
def now(engine: Engine) -> Iterator[Now]:
    """A function that starts this process anew with a strategy for NAME, on tables of its own."""

    def now(strategy: str, **options: Any) -> Strategy:
        patch.setattr(settings, "SEQUENCES", {NAME: entry(strategy, **options)})
        patch.delitem(strategies._made, NAME, raising=False)
        return strategies[NAME]

    with emptied_tables({NAME: entry(GAPLESS)}, engine.endpoint), pytest.MonkeyPatch.context() as patch:
        yield now


def told(made: list[Change]) -> list[tuple[str | None, int | None, int | None]]:
    """What changes did: the scope, and the last value before and after."""
    return [(change.scope, change.before, change.after) for change in made]


class TestToGapless:
    @pytest.mark.parametrize("fast", FAST)
    def test_its_steps(self, now: Now, fast: str) -> None:
        """Both write meanwhile; at the end a line explains what is missing, and after it nothing is."""
        old = now(fast)
        put(old, SCOPE)
        get_next_values(4, NAME, scope=SCOPE)  # no items
        begun = switch(NAME, to=GAPLESS, **WHO)
        counted = begun[1].before
        assert told(begun) == [(None, None, None), (SCOPE, counted, counted)]
        new = now(GAPLESS)
        numbers = [put(each, SCOPE) for each in (new, old, new, old, new)]
        assert len({*numbers}) == 5
        ended = finish_switch(NAME, **WHO)
        last = read_counter(NAME, SCOPE)["last_value"]  # of the last block, too, which may come late
        assert told(ended) == [(SCOPE, None, last), (None, None, None)]
        assert max(numbers) <= last
        assert [put(new, SCOPE), put(process(GAPLESS), SCOPE)] == [last + 1, last + 2]
        report = audit(strategies[NAME], SCOPE)
        assert (report.unexplained, report.skipped, report.missing) == (0, last - 6, last - 6)

    @pytest.mark.parametrize(
        ("fast", "options"), [*((each, {}) for each in FAST), ("OptimisticCounter", {"write": "put"})]
    )
    def test_a_forgotten_process(self, now: Now, fast: str, options: dict[str, Any]) -> None:
        """After the end a process of the old strategy takes no number above the line, and a new one does not start."""
        old = now(fast, **options)
        put(old, SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        new = now(GAPLESS)
        finish_switch(NAME, **WHO)
        last = put(new, SCOPE)
        if isinstance(old, BlockAllocator):
            old._watch.look()
        with pytest.raises(RulesChanged, match=rf"leaves no number out after {last - 1}"):
            put(old, SCOPE)
        with pytest.raises(RulesChanged, match="STRATEGY was"):
            put(process(fast), SCOPE)
        with pytest.raises(RulesChanged, match=rf"leaves no number out after {last - 1}"):
            advance_to(old, SCOPE, 500)
        assert put(new, SCOPE) == last + 1

    def test_a_forgotten_process_beside_imported_rows(self, now: Now) -> None:
        """It moves no counter past rows that it finds: the numbers up to them would be missing."""
        old = now("BlockAllocator")
        put(old, SCOPE)
        following = old.next_value(SCOPE) + 1
        switch(NAME, to=GAPLESS, **WHO)
        new = now(GAPLESS)
        finish_switch(NAME, **WHO)
        last = put(new, SCOPE)
        for number in (following, 500):
            import_row(NAME, SCOPE, number)
        with pytest.raises(RulesChanged, match="leaves no number out after"):
            put(old, SCOPE)
        assert put(new, SCOPE) == last + 1

    def test_a_race_for_a_block(self, now: Now) -> None:
        """A block that is reserved between the look at a counter and its end is below the value of the line."""
        old = now("BlockAllocator")
        put(old, SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        new = now(GAPLESS)
        with tapped() as wire:
            wire.before("TransactWriteItems", lambda: [old.next_value(SCOPE) for _ in range(30)])
            made = finish_switch(NAME, **WHO)
        assert made[0].after == read_counter(NAME, SCOPE)["last_value"]
        put(new, SCOPE)
        assert audit(new, SCOPE).unexplained == 0

    def test_what_was_given_back(self, now: Now) -> None:
        """What a process gives back is served until the end, and is skipped then; later nothing is given back."""
        first, second = now("BlockAllocator"), process("BlockAllocator")
        put(first, SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        new = now(GAPLESS)
        put(new, SCOPE)
        first.give_back()
        assert put(second, SCOPE) == 12 or put(second, SCOPE)
        second.give_back()
        assert GIVEN_BACK in read_counter(NAME, SCOPE)
        finish_switch(NAME, **WHO)
        assert GIVEN_BACK not in read_counter(NAME, SCOPE)

    def test_an_audit_before_it(self, now: Now) -> None:
        """A gap of the time when the sequence was gapless stays a gap; those of the time between are explained."""
        gapless = now(GAPLESS)
        for _ in range(3):
            put(gapless, SCOPE)
        delete_row(NAME, SCOPE, 2)
        assert told(switch(NAME, to="AtomicCounter", **WHO))[1:] == [(SCOPE, 3, 3)]
        now("AtomicCounter")
        finish_switch(NAME, **WHO)
        get_next_values(5, NAME, scope=SCOPE)
        put(strategies[NAME], SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        gapless = now(GAPLESS)
        assert told(finish_switch(NAME, **WHO))[:1] == [(SCOPE, 3, 9)]
        assert put(gapless, SCOPE) == 10
        report = audit(gapless, SCOPE)
        assert (report.unexplained, report.skipped, report.missing) == (1, 5, 6)

    def test_own_keys(self, now: Now) -> None:
        """Items with keys of their own that the time between has stored hide no gap of later."""
        old = now("AtomicCounter")
        put_next(NAME, {"pk": "x", "sk": 1}, scope=SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        gapless = now(GAPLESS)
        for sort in (2, 3):
            put_next(NAME, {"pk": "x", "sk": sort}, scope=SCOPE)
        put(old, SCOPE)
        assert read_counter(NAME, SCOPE)[OWN_KEYS] == 2
        finish_switch(NAME, **WHO)
        put_next(NAME, {"pk": "x", "sk": 5}, scope=SCOPE)
        assert audit(gapless, SCOPE).unexplained == 0
        lost = put(gapless, SCOPE)
        put(gapless, SCOPE)
        delete_row(NAME, SCOPE, lost)
        assert audit(gapless, SCOPE).unexplained > 0

    def test_an_end_that_failed_midway(self, now: Now) -> None:
        """A repeat of the end leaves a counter that is closed already, and explains the same."""
        put(now("AtomicCounter"), SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        new = now(GAPLESS)
        apply_change(NAME, SCOPE, ChangeRequest("switch", **WHO), _closing)
        assert told(finish_switch(NAME, **WHO)) == [(SCOPE, None, 1), (None, None, None)]
        assert len(changes.history(NAME, scope=SCOPE)[0]) == 2
        assert put(new, SCOPE) == 2

    def test_without_a_beginning(self, now: Now) -> None:
        """An end that has no beginning changes nothing, and explains nothing."""
        for strategy in (GAPLESS, "AtomicCounter"):
            put(now(strategy), strategy)
            now(GAPLESS)
            assert finish_switch(NAME, **WHO) == []
            assert GAPLESS_AFTER not in read_counter(NAME, strategy)
            now("AtomicCounter")
            changes.adopt(NAME, **WHO)

    def test_a_dry_run(self, now: Now) -> None:
        """A dry run of each step tells what the step does, and does nothing."""
        put(now("AtomicCounter"), SCOPE)
        assert told(switch(NAME, to=GAPLESS, dry_run=True, **WHO)) == [(None, None, None), (SCOPE, 1, 1)]
        with pytest.raises(RulesChanged):
            put(process(GAPLESS), SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        now(GAPLESS)
        assert told(finish_switch(NAME, dry_run=True, **WHO)) == [(SCOPE, None, 1), (None, None, None)]
        assert put(process("AtomicCounter"), SCOPE) == 2

    def test_begun_by_a_new_process(self, now: Now) -> None:
        """A process that was started with the new settings may begin it, too."""
        put(now("AtomicCounter"), SCOPE)
        now(GAPLESS)
        assert told(switch(NAME, to=GAPLESS, **WHO)) == [(None, None, None), (SCOPE, 1, 1)]
        assert [put(each, SCOPE) for each in (strategies[NAME], process("AtomicCounter"))] == [2, 3]


class TestToFast:
    @pytest.mark.parametrize("fast", FAST)
    def test_there_and_back(self, now: Now, fast: str) -> None:
        """A counter that was closed is open after the switch, and its line says up to where the sequence is gapless."""
        put(now(fast), SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        old = now(GAPLESS)
        finish_switch(NAME, **WHO)
        last = put(old, SCOPE)
        with pytest.raises(RulesChanged):
            put(process(fast), SCOPE)
        assert told(switch(NAME, to=fast, **WHO)) == [(None, None, None), (SCOPE, last, last)]
        new = now(fast)
        numbers = [put(each, SCOPE) for each in (old, new, old, new)]
        assert len({*numbers}) == 4
        assert told(finish_switch(NAME, **WHO))[-1] == (None, None, None)
        with pytest.raises(RulesChanged):
            put(process(GAPLESS), SCOPE)
        assert put(process(fast), SCOPE) > last

    def test_it_is_repeated(self, now: Now) -> None:
        """A beginning that is repeated changes nothing, and takes no scope of the new strategy for gapless."""
        put(now(GAPLESS), SCOPE)
        switch(NAME, to="AtomicCounter", **WHO)
        put(now("AtomicCounter"), "NEW")
        again = switch(NAME, to="AtomicCounter", **WHO)
        assert told(again) == [(SCOPE, 1, 1), ("NEW", 1, 1)]
        assert GAPLESS_UNTIL not in read_counter(NAME, "NEW")
        lines, _ = changes.history(NAME)
        assert len(lines) == 2

    def test_it_is_given_up(self, now: Now) -> None:
        """Either switch may be ended by the former strategy: then that one alone goes on."""
        put(now(GAPLESS), SCOPE)
        switch(NAME, to="AtomicCounter", **WHO)
        fast = process("AtomicCounter")
        get_next = [fast.next_value(SCOPE) for _ in range(2)]
        assert told(finish_switch(NAME, **WHO))[0] == (SCOPE, 1, get_next[-1])
        assert put(strategies[NAME], SCOPE) == 4
        with pytest.raises(RulesChanged):
            fast.next_value(SCOPE)
        assert audit(strategies[NAME], SCOPE).unexplained == 0

    def test_adopt_opens(self, now: Now) -> None:
        """Settings that `adopt` accepts count on in a counter that a switch has closed."""
        put(now("AtomicCounter"), SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        now(GAPLESS)
        finish_switch(NAME, **WHO)
        now("AtomicCounter")
        changes.adopt(NAME, **WHO)
        assert get_next_value(NAME, scope=SCOPE) == 2


class TestRefused:
    @pytest.mark.parametrize("strategy", [GAPLESS, "AtomicCounter"])
    def test_a_frozen_scope(self, now: Now, strategy: str) -> None:
        """A scope that is frozen stops the switch before it begins."""
        put(now(strategy), SCOPE)
        changes.freeze(NAME, scope=SCOPE, **WHO)
        to = GAPLESS if strategy != GAPLESS else "AtomicCounter"
        with pytest.raises(SequenceFrozen):
            switch(NAME, to=to, **WHO)
        with pytest.raises(RulesChanged):
            put(process(to), SCOPE)

    def test_a_counter_that_went_back(self, now: Now) -> None:
        """A scope that must be recovered stops the switch, too."""
        old = now("AtomicCounter")
        for _ in range(3):
            put(old, SCOPE)
        set_counter(NAME, SCOPE, last_value=1)
        now("AtomicCounter")
        with pytest.raises(SequenceWentBack):
            switch(NAME, to=GAPLESS, **WHO)

    def test_other_pairs(self, now: Now) -> None:
        """One of the two must be gapless, and both must move the same counters."""
        now("AtomicCounter")
        for to, said in (("BlockAllocator", "without a switch"), ("SortKeyMaximum", "switch to TransactionalCounter")):
            with pytest.raises(OperationNotSupported, match=said):
                switch(NAME, to=to, **WHO)
        with pytest.raises(InvalidChange, match=r"^to is 'Other'"):
            switch(NAME, to="Other", **WHO)

    @pytest.mark.parametrize(
        ("present", "to"),
        [("SortKeyMaximum", "SortKeyMaximum"), ("SortKeyMaximum", GAPLESS), (GAPLESS, "SortKeyMaximum")],
    )
    @pytest.mark.parametrize("former", FAST)
    def test_rows_of_another_pair(self, now: Now, former: str, present: str, to: str) -> None:
        """What the rows are written by counts, whatever the present settings say: no number comes twice."""
        last = get_next_values(3, now(former).alias, scope=SCOPE)[-1]
        now(present)
        with pytest.raises(OperationNotSupported, match="SortKeyMaximum and the others count in different places"):
            switch(NAME, to=to, **WHO)
        with pytest.raises(RulesChanged):
            put(strategies[NAME], SCOPE)
        assert put(now(former), SCOPE) > last

    def test_an_end_by_another_strategy(self, now: Now) -> None:
        """A switch is ended by one of its two strategies, not by one that counts the items."""
        put(now("AtomicCounter"), SCOPE)
        switch(NAME, to=GAPLESS, **WHO)
        now("SortKeyMaximum")
        with pytest.raises(OperationNotSupported, match="SortKeyMaximum and the others count in different places"):
            finish_switch(NAME, **WHO)
        with pytest.raises(RulesChanged):
            put(strategies[NAME], SCOPE)

    def test_other_settings(self, now: Now) -> None:
        """Settings that differ in more than their strategy are refused."""
        put(now("AtomicCounter"), SCOPE)
        now(GAPLESS, value_name="number", partition="{sequence}/{scope}")
        with pytest.raises(RulesChanged, match="partition was"):
            switch(NAME, to=GAPLESS, **WHO)


def write(endpoint: str, prefix: str, strategy: str, output: Path, ending: Event) -> None:
    """Store items until it is time to end, and write down their numbers, or the name of the error."""
    begin_process(endpoint, prefix)
    settings.SEQUENCES = {NAME: entry(strategy, watch_seconds=0.2, deadline=60.0)}  # longer than it is paused
    with output.open("w", buffering=1) as lines:
        try:
            while not ending.wait(0.02):
                print(put_next(NAME, {"by": os.getpid()}, scope=SCOPE).value, file=lines)
            if isinstance(block := strategies[NAME], BlockAllocator):
                block.give_back()
        except SequenceError as error:
            print(type(error).__name__, file=lines)


class Writing:
    """A process that stores items until it ends; `lines` are their numbers, and the name of its error."""

    def __init__(self, strategy: str, endpoint: str, output: Path) -> None:
        context = fresh_processes()
        self.output, self.ending = output, context.Event()
        given = (endpoint, settings.TABLE_PREFIX, strategy, output, self.ending)
        self.process = context.Process(target=write, args=given)  # type: ignore[attr-defined]
        self.process.start()

    @property
    def lines(self) -> list[str]:
        """What it has written down."""
        return self.output.read_text().splitlines() if self.output.exists() else []

    @property
    def numbers(self) -> list[int]:
        """The numbers of its items."""
        return [int(line) for line in self.lines if line.isdecimal()]

    def wait_for_more(self, count: int) -> None:
        """Wait until it has stored so many more items."""
        wanted = len(self.numbers) + count
        wait_until(lambda: len(self.numbers) >= wanted, seconds=60)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)

    def end(self) -> None:
        """Let it end in order."""
        self.ending.set()
        self.process.join(timeout=60)


@pytest.fixture
def begin(now: Now, engine: Engine, tmp_path: Path) -> Iterator[Callable[[str], Writing]]:
    """Begins a process with a strategy. None outlives the test."""
    begun: list[Writing] = []

    def begin(strategy: str) -> Writing:
        begun.append(Writing(strategy, engine.endpoint, tmp_path / str(len(begun))))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.join()


def test_processes_to_gapless(now: Now, begin: Callable[[str], Writing]) -> None:
    """One process is paused over the end of the switch, one is killed, and one ends in order: each gap is explained."""
    now("BlockAllocator")
    paused, killed, ended = old = [begin("BlockAllocator") for _ in range(3)]
    for each in old:
        each.wait_for_more(12)
    command("--to", GAPLESS)
    new = [begin(GAPLESS) for _ in range(2)]
    for each in (*new, *old):
        each.wait_for_more(12)
    paused.send(signal.SIGSTOP)
    killed.process.kill()
    ended.end()
    now(GAPLESS)
    command("--finish")
    for each in new:
        each.wait_for_more(12)
    paused.send(signal.SIGCONT)
    wait_until(lambda: paused.lines[-1] == "RulesChanged", seconds=60)
    for each in new:
        each.wait_for_more(5)
        each.end()
    after = max(change.after or 0 for change in changes.history(NAME)[0])
    judge([*old, *new], gapless_from=after + 1)


def test_processes_to_fast(now: Now, begin: Callable[[str], Writing]) -> None:
    """Until the value of the line no number is missing, and a process that was paused goes on without harm."""
    now(GAPLESS)
    paused, ended = old = [begin(GAPLESS) for _ in range(2)]
    for each in old:
        each.wait_for_more(12)
    command("--to", "BlockAllocator")
    new = [begin("BlockAllocator") for _ in range(2)]
    for each in (*new, *old):
        each.wait_for_more(12)
    paused.send(signal.SIGSTOP)
    ended.end()
    now("BlockAllocator")
    command("--finish")
    paused.send(signal.SIGCONT)
    for each in (*new, paused):
        each.wait_for_more(12)
        each.end()
    until = min(change.after for change in changes.history(NAME)[0] if change.after)
    judge([*old, *new], gapless_to=until)


def command(*step: str) -> None:
    """Take a step of the switch as an operator does."""
    written("sequences", "switch", NAME, *step, "--by", "ana", "--reason", "a test")


def judge(writers: list[Writing], *, gapless_from: int = 1, gapless_to: int | None = None) -> None:
    """No number was told twice, each that was told is stored, and none is missing where none may be."""
    numbers = [number for writer in writers for number in writer.numbers]
    rows = sorted(stored(NAME, SCOPE))
    assert len(numbers) == len({*numbers})
    assert {*numbers} <= {*rows}
    gapless = [row for row in rows if gapless_from <= row <= (gapless_to or rows[-1])]
    assert gapless == [*range(gapless_from, (gapless_to or rows[-1]) + 1)]
    assert len(gapless) > 20
    assert audit(strategies[NAME], SCOPE).unexplained == 0
