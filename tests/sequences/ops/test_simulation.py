"""The rules of the simulation, by cases that are worked out by hand, and its agreement with the formulas."""

import random
from collections.abc import Hashable
from dataclasses import asdict
from typing import Any

import pytest

from sequences.ops.forecast import host_lines
from sequences.ops.forecast.callers import Host, Known, Process, Rules
from sequences.ops.forecast.clock import Clock, Gate, Line, Server, Task
from sequences.ops.forecast.costs import SHAPES, Shape
from sequences.ops.forecast.estimate import Traffic, estimate
from sequences.ops.forecast.simulation import Load, Outcome, _Run, simulate
from sequences.ops.forecast.table import Latency, Limits, Result, SimulatedTable, Write
from sequences.rows.host_line import LINGER_SECONDS
from sequences.strategies import (
    AtomicCounter,
    BlockAllocator,
    OptimisticCounter,
    SortKeyMaximum,
    Strategy,
    TransactionalCounter,
)

EVERY = pytest.mark.parametrize("strategy", SHAPES)
SHARING = pytest.mark.parametrize("strategy", [SortKeyMaximum, TransactionalCounter])
TEN_MS = Latency(0.010)


@pytest.fixture(autouse=True)
def _nobody_looks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases by hand are without the looks at the line of hosts, one a second."""
    if request.cls is not TestHosts:
        monkeypatch.setattr(host_lines, "LOOK_SECONDS", float("inf"))


def played(strategy: type[Strategy], **load: Any) -> Outcome:
    """A simulation with requests of 10 ms, if nothing else is said."""
    return simulate(strategy, Load(**{"latency": TEN_MS, **load}))


class TestClock:
    def test_tasks_go_on_in_the_order_in_which_they_are_due(self) -> None:
        """By time, and at the same time in the order in which they became due."""
        clock, seen = Clock(), []

        def task(name: str, *waits: float) -> Task:
            for wait in waits:
                yield wait
                seen.append((name, clock.now))

        clock.start(task("a", 2, 1))
        clock.start(task("b", 1, 2))
        clock.start(task("c", 2))
        clock.run(until=2.5)
        assert seen == [("b", 1), ("a", 2), ("c", 2)]
        clock.run()
        assert seen[3:] == [("b", 3), ("a", 3)]

    def test_a_gate_stays_open(self) -> None:
        """Who comes before waits; who comes later does not."""
        clock, gate, seen = Clock(), Gate(), []

        def waits(name: str, before: float) -> Task:
            yield before
            yield gate
            seen.append((name, clock.now))

        def opens() -> Task:
            yield 5.0
            gate.open()

        for task in (waits("early", 1.0), opens(), waits("late", 7.0)):
            clock.start(task)
        clock.run()
        assert seen == [("early", 5), ("late", 7)]

    def test_a_line_and_a_server_take_one_after_another(self) -> None:
        """First come, first served."""
        clock, line, seen = Clock(), Line(), []
        server = Server(clock)

        def takes(name: str) -> Task:
            yield from line.take()
            yield 1.0
            seen.append((name, clock.now))
            line.give_back()
            yield from server.work(10.0)
            seen.append((name, clock.now))

        for name in "abc":
            clock.start(takes(name))
        clock.run()
        assert seen == [("a", 1), ("b", 2), ("c", 3), ("a", 11), ("b", 21), ("c", 31)]


class Writes:
    """A table with requests of 10 ms, and what became of the writes that are sent to it."""

    def __init__(self, **limits: float) -> None:
        self.clock = Clock()
        self.table = SimulatedTable(self.clock, TEN_MS, Limits(**limits), random.Random(1))
        self.results: list[Result] = []

    def send(self, item: Hashable, after: float = 0.0, *, units: float = 1.0, in_transaction: bool = False) -> None:
        """Store an item, if there is none, in a while."""
        there = self.table.last

        def task() -> Task:
            write = Write(
                {"p": units}, [item], in_transaction, lambda: item not in there, lambda: there.update({item: 1})
            )
            self.results.append((yield from self.table.write(write)))

        self.clock.start(task(), after)

    def became(self) -> list[str]:
        """The results of all writes in the order of their answers."""
        self.clock.run()
        return [result.value for result in self.results]


class TestTable:
    def test_two_puts_race(self) -> None:
        """The second finds its condition false, and is charged."""
        writes = Writes()
        writes.send("a")
        writes.send("a")
        assert writes.became() == ["stored", "lost"]
        assert writes.table.used["write"] == 2

    @pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
    def test_a_transaction_meets_another_write(self, first: bool, second: bool) -> None:
        """A write of an item that is under way in a transaction is a conflict, and so is a transaction; both cost."""
        writes = Writes()
        writes.send("a", in_transaction=first)
        writes.send("a", 0.004, in_transaction=second)
        assert writes.became() == ["stored", "conflict"]
        assert writes.table.used["write"] == 2

    def test_a_conflict_ends(self) -> None:
        """A transaction that comes after the other one's answer finds its condition false."""
        writes = Writes()
        writes.send("a", in_transaction=True)
        writes.send("a", 0.006, in_transaction=True)
        assert writes.became() == ["stored", "lost"]

    def test_budget_and_burst(self) -> None:
        """2 seconds of burst are there at once, then a second's units each second; what is throttled is free."""
        writes = Writes(writes=16, burst=2)
        for number in range(37):
            writes.send(number)
        for number in range(37, 58):
            writes.send(number, 1.001)
        assert writes.became() == [*["stored"] * 32, *["throttled"] * 5, *["stored"] * 16, *["throttled"] * 5]
        assert writes.table.used["write"] == 48

    def test_the_burst_has_an_end(self) -> None:
        """Unused units are kept for so many seconds and no longer."""
        writes = Writes(writes=10, burst=2)
        writes.send("first")
        for number in range(25):
            writes.send(number, 100.0)
        assert writes.became().count("stored") == 1 + 20

    def test_one_engine(self) -> None:
        """An engine that works on one request at a time makes the others wait."""
        writes = Writes(engine=1.0, engine_action=0.5)
        writes.send("a")
        writes.send("b")
        writes.became()
        assert writes.clock.now == pytest.approx(0.010 + 2 * 1.5)

    def test_lognormal_latency(self) -> None:
        """Half of the requests take less than the median, and one in a hundred more than the p99."""
        chance = random.Random(3)
        drawn = sorted(Latency(0.005, 0.020).draw(chance) for _ in range(20_000))
        assert (drawn[10_000], drawn[19_800]) == pytest.approx((0.005, 0.020), rel=0.08)


class TestAlone:
    """One writer: 1, 2 or 3 requests one after another, of 10 ms each."""

    @pytest.mark.parametrize(
        ("strategy", "tokens", "requests", "write_units", "read_units"),
        [
            (SortKeyMaximum, False, 1, 1, 0),
            (SortKeyMaximum, True, 1, 4, 0),
            (TransactionalCounter, False, 1, 4, 0),
            (TransactionalCounter, True, 1, 6, 0),
            (AtomicCounter, False, 2, 2, 0),
            (AtomicCounter, True, 3, 5, 1),
            (OptimisticCounter, False, 3, 2, 1),
            (OptimisticCounter, True, 4, 5, 2),
        ],
    )
    def test_one_writer(
        self, strategy: type[Strategy], tokens: bool, requests: float, write_units: float, read_units: float
    ) -> None:
        """As many requests as it takes, and their units."""
        found = played(strategy, writers=1, processes=1, tokens=tokens)
        assert found.p50_ms == pytest.approx(10 * requests)
        assert found.per_second == pytest.approx(100 / requests, rel=0.01)
        told = (found.requests_per_number, found.write_units_per_number, found.read_units_per_number)
        assert told == pytest.approx((requests, write_units, read_units), rel=0.01)

    def test_blocks(self) -> None:
        """A value from memory takes no time; a block that lasts less than a second is followed by a larger one."""
        small = played(BlockAllocator, writers=1, processes=1, block_size=5, warm_up=0.0, seconds=1.0)
        assert small.p50_ms == pytest.approx(10)
        assert small.per_second == pytest.approx(100, abs=2)  # the first value waits for its block
        assert 1 + 1 / 500 < small.requests_per_number < 1 + 1 / 5

    def test_a_tail_is_forgotten(self) -> None:
        """Who comes after more than `tail_seconds` reads the highest number: 2 requests; sooner, 1."""
        seldom, often = (played(SortKeyMaximum, processes=1, rate=rate, seconds=300.0) for rate in (0.05, 20.0))
        assert seldom.requests_per_number == pytest.approx(2, abs=0.05)
        assert seldom.mean_ms == pytest.approx(20, abs=0.5)
        assert seldom.read_units_per_number == pytest.approx(1, abs=0.05)
        assert often.read_units_per_number < 0.01


class TestGroups:
    @SHARING
    @pytest.mark.parametrize("writers", [2, 8, 64])
    def test_all_writers_are_one_group(self, strategy: type[Strategy], writers: int) -> None:
        """Those who call again at once are in the next write together, each with its share of the request."""
        found = played(strategy, writers=writers, processes=1)
        assert found.per_second == pytest.approx(100 * writers, rel=0.01)
        assert found.requests_per_number == pytest.approx(1 / writers, rel=0.01)
        counter = 2 / writers if strategy is TransactionalCounter else 0
        assert found.write_units_per_number == pytest.approx(2 + counter, rel=0.01)

    @SHARING
    def test_the_largest_group(self, strategy: type[Strategy]) -> None:
        """A transaction has 100 actions; the others wait for the next."""
        most = 50 if strategy is SortKeyMaximum else 49
        found = played(strategy, writers=150, processes=1, tokens=True)
        assert found.per_second == pytest.approx(most * 100, rel=0.01)
        assert found.p50_ms == pytest.approx(1500 / most, abs=10)

    def test_values_are_taken_together(self) -> None:
        """8 writers share an addition, and store their items at the same time: 9 requests for 8 numbers in 20 ms."""
        found = played(AtomicCounter, writers=8, processes=1)
        assert (found.p50_ms, found.requests_per_number) == pytest.approx((20, 9 / 8), rel=0.01)

    @SHARING
    def test_processes_of_a_host_take_turns(self, strategy: type[Strategy]) -> None:
        """4 processes with 2 writers each: every turn writes 2 items, and each waits for 4 turns. Nobody loses."""
        found = played(strategy, writers=8, processes=4)
        assert (found.p50_ms, found.per_second) == pytest.approx((40, 200), rel=0.01)
        assert (found.lost_share, found.conflict_share, found.read_units_per_number) == (0, 0, 0)
        assert found.slowest_over_fastest > 0.98

    def test_the_work_of_a_process(self) -> None:
        """A group of 8 takes the request, 8 callers and 8 actions one after another: 10 + 2 + 8 (1 + 0.5) = 24 ms."""
        found = played(SortKeyMaximum, writers=8, processes=1, leader=0.002, caller=0.001, action=0.0005)
        assert found.per_second == pytest.approx(8 / 0.024, rel=0.01)


class TestRaces:
    @SHARING
    def test_hosts_race(self, strategy: type[Strategy], monkeypatch: pytest.MonkeyPatch) -> None:
        """Lone writers of two hosts lose writes, which are charged; then they read, or know the counter."""
        monkeypatch.setattr(host_lines, "MOST_LOST", float("inf"))
        found = played(strategy, writers=2, processes=2, hosts=2, latency=Latency(0.010, 0.030), seconds=60.0)
        refused = found.lost_share + found.conflict_share
        assert refused > 0.01
        units = 1 if strategy is SortKeyMaximum else 4
        assert found.write_units_per_number == pytest.approx(units / (1 - refused), rel=0.01)
        assert (found.read_units_per_number > 0) is (strategy is SortKeyMaximum)

    def test_a_hint_from_before_a_lost_race(self) -> None:
        """Who lost a race takes no older hint, from which it would lose again, but a newer one."""
        table, host = Writes().table, Host()
        process = Process(Rules(shape=Shape.TAIL), host, table, random.Random(1))
        table.last["A"], process.known["A"] = 7, Known(3, 0.0)
        host.hints["A"] = Known(3, 0.0)
        table.clock.start(process.items("A").serve(process.request()))
        table.clock.run(until=0.011)
        process.accept_hint("A")
        assert "A" not in process.known
        host.hints["A"] = Known(7, 0.012)
        process.accept_hint("A")
        assert process.known["A"].value == 7

    def test_processes_race_without_turns(self) -> None:
        """OptimisticCounter has no turns: processes of one host lose races as those of two do."""
        found = played(OptimisticCounter, writers=4, processes=4)
        assert found.lost_share > 0.01
        assert found == played(OptimisticCounter, writers=4, processes=4, hosts=4)

    def test_additions_do_not_race(self) -> None:
        """An addition never loses."""
        found = played(AtomicCounter, writers=64, processes=64, hosts=64)
        assert (found.lost_share, found.conflict_share) == (0, 0)


class TestLimits:
    @EVERY
    def test_no_more_than_the_budget(self, strategy: type[Strategy]) -> None:
        """However many ask: the items' partition gives 200 units a second, of which each number takes its own."""
        limits = Limits(writes=200, burst=1)
        found = played(strategy, writers=64, processes=4, hosts=2, warm_up=5.0, limits=limits)
        least = 2 if strategy in (SortKeyMaximum, TransactionalCounter) else 1
        assert 0 < found.per_second * least <= 200 * 1.05 + 64 * least / 10
        assert found.throttled_share > 0

    @EVERY
    def test_a_call_ends_at_its_deadline(self, strategy: type[Strategy]) -> None:
        """Without units everybody gives up; nobody has a number."""
        limits = Limits(writes=0.001, burst=1)
        found = played(strategy, writers=8, processes=2, deadline=2.0, limits=limits, warm_up=0.0, seconds=20.0)
        assert (found.per_second, found.p50_ms) == (0, None)
        assert found.gave_up >= 8 * 7

    def test_ten_thousand_processes(self) -> None:
        """A crowd of hosts on one counter gets what its partition gives."""
        limits = Limits(writes=1000, burst=1)
        found = played(AtomicCounter, writers=10_000, processes=10_000, hosts=10_000, seconds=2.0, limits=limits)
        assert found.per_second == pytest.approx(1000, rel=0.01)


class TestAccounts:
    @EVERY
    @pytest.mark.parametrize("rate", [None, 300.0], ids=["closed", "open"])
    def test_every_call_is_answered_once(self, strategy: type[Strategy], rate: float | None) -> None:
        """Of the calls that began, as many are answered as are not under way; each number is stored once."""
        load = Load(
            writers=48,
            processes=8,
            hosts=4,
            scopes=3,
            rate=rate,
            latency=Latency(0.005, 0.030),
            limits=Limits(writes=300, burst=1),
            deadline=1.0,
        )
        run = _Run(strategy, load)
        run.start()
        run.clock.run(20.0)
        under_way = run.asked - run.answered
        assert 0 <= under_way <= load.writers
        assert len(run.latencies) + run.gave_up == run.answered
        stored = sum(run.table.last.values())
        assert stored >= len(run.latencies)
        if strategy in (SortKeyMaximum, TransactionalCounter):
            assert stored - len(run.latencies) <= under_way

    @EVERY
    def test_a_seed_has_one_course(self, strategy: type[Strategy]) -> None:
        """The same seed gives the same figures, another one others."""
        load: dict[str, Any] = {
            "writers": 32,
            "processes": 8,
            "hosts": 2,
            "latency": Latency(0.005, 0.020),
            "seconds": 3.0,
        }
        assert played(strategy, **load, seed=7) == played(strategy, **load, seed=7)
        assert asdict(played(strategy, **load, seed=7)) != asdict(played(strategy, **load, seed=8))


class TestFormulas:
    """Where nobody loses a race, the formulas of the estimate say what the simulation plays."""

    @EVERY
    @pytest.mark.parametrize("tokens", [False, True], ids=["plain", "token"])
    @pytest.mark.parametrize("per_second", [2.0, 50.0, 150.0, 600.0])
    def test_one_process(self, strategy: type[Strategy], tokens: bool, per_second: float) -> None:
        """Requests, units and the mean wait differ by at most 5 %."""
        compare(strategy, per_second, tokens, processes=1)

    @SHARING
    @pytest.mark.parametrize("processes", [2, 4, 16])
    @pytest.mark.parametrize("per_second", [20.0, 150.0, 600.0])
    def test_processes_of_one_host(self, strategy: type[Strategy], processes: int, per_second: float) -> None:
        """Those who take turns, too: by at most 10 %, and 15 % in the mean wait."""
        compare(strategy, per_second, False, processes=processes, most=0.10, wait=0.15)


def compare(
    strategy: type[Strategy], rate: float, tokens: bool, *, processes: int, most: float = 0.05, wait: float = 0.05
) -> None:
    """The estimate and the simulation of the same traffic differ by at most so much."""
    traffic = Traffic(per_second=rate, tokens=tokens, processes=processes, writers=200, latency_ms=10, processor_ms=0)
    told = estimate(strategy, traffic)
    found = played(
        strategy,
        rate=rate,
        writers=200,
        processes=processes,
        tokens=tokens,
        warm_up=20.0,
        seconds=max(20.0, 6000 / rate),
    )
    assert found.requests_per_number == pytest.approx(told.units.requests, rel=most)
    assert found.write_units_per_number == pytest.approx(told.units.write, rel=most)
    assert found.read_units_per_number == pytest.approx(told.units.read, rel=most, abs=0.01)
    assert found.mean_ms == pytest.approx(told.wait_ms, rel=wait)


class TestHosts:
    """The line of hosts, played."""

    @SHARING
    def test_hosts_that_write_without_a_pause(self, strategy: type[Strategy]) -> None:
        """They come to take turns: nobody loses a race, and all get the same."""
        found = played(strategy, writers=64, processes=4, hosts=4, warm_up=5, seconds=10)
        assert found.lost_share == found.conflict_share == found.gave_up == 0
        assert found.slowest_over_fastest > 0.9

    def test_a_turn(self) -> None:
        """A turn is a write of 10 ms, the way of what is given back to the row (5), half of the time between two looks
        (13), and the way of the look back (5).
        """
        found = played(SortKeyMaximum, writers=4, processes=4, hosts=4, warm_up=5, seconds=20)
        assert found.per_second == pytest.approx(1 / 0.0265, rel=0.05)
        assert found.write_units_per_number == pytest.approx(3, rel=0.01)

    def test_without_the_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One gets nearly all, as it knows the last value first."""
        monkeypatch.setattr(host_lines, "MOST_LOST", float("inf"))
        found = played(SortKeyMaximum, writers=4, processes=4, hosts=4, warm_up=5, seconds=10)
        assert found.slowest_over_fastest < 0.1

    def test_a_host_alone(self) -> None:
        """It looks once a second, and never lines up."""
        found = played(SortKeyMaximum, writers=1, processes=1, seconds=10)
        assert found.requests_per_number == pytest.approx(1 + 1 / 99, rel=0.002)
        assert found.write_units_per_number == pytest.approx(1, rel=0.002)

    def test_hosts_that_raced_race_again(self) -> None:
        """Who meets nobody in the line leaves it: its figures are those of a host alone."""
        clock = Clock()
        table = SimulatedTable(clock, TEN_MS, Limits(), random.Random(1))
        line = host_lines.HostLine(table, "A", host_lines.Row(), random.Random(1))
        deadline = Process(Rules(shape=SHAPES[SortKeyMaximum]), Host(), table, random.Random(1)).request().deadline

        def turns() -> Task:
            line.lost(2)
            for _ in range(3):
                yield from line.enter(clock.now, deadline)
                line.won()
                yield from line.leave(7)
                yield LINGER_SECONDS

        clock.start(turns())
        clock.run()
        assert table.tally["writes"] == 4
