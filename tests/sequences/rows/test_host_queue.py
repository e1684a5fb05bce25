"""The queue of hosts: who lines up, first come first served, what is left for the next, and what is done without it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from sequences import dynamodb
from sequences.commit import host_memory
from sequences.commit.host_lock import HostLock
from sequences.commit.requests import Pending, allocated
from sequences.commit.retries import Deadline
from sequences.dynamodb import expressions
from sequences.exceptions import NotWritten, SequenceFrozen
from sequences.registry import strategies
from sequences.rows import host_queue
from sequences.rows.assignments import Assignment
from sequences.rows.host_queue import HostQueue
from sequences.strategies import Strategy
from sequences.testing.callers import put_some
from sequences.types import Allocation
from tests.sequences.support import Clock, Processes, Wire, make, stored

RACING = ["sort-key", "sort-key-padded", "transactional", "transactional-beside", "one-file"]
EACH_WRITE = ["sort-key", "transactional", "one-file"]
"""Those without the others that only name their rows in another way, which hosts in the line do not look at."""


class Host:
    """One host's view of the line at a scope, with a clock that its own waiting moves."""

    def __init__(self, scope: str, clock: Clock, counted_in: str = "a table") -> None:
        marker = strategies["sort-key"].markers
        self.scope, self.clock, self.counted_in = scope, clock, counted_in
        self.line = HostQueue("sort-key", marker.schema, clock=clock, wall=clock)

    def deadline(self, seconds: float = 100) -> Deadline:
        return Deadline(timing=self.clock.timing(uniform=lambda low, high: high), seconds=seconds)

    def die(self) -> None:
        """Take a place, and do not give it back."""
        self._held = self.line.turn(self.scope, self.counted_in, self.clock.now, self.deadline())
        self._held.__enter__()

    def meanwhile(self, happens: Callable[[], object]) -> None:
        """Let something happen while this host waits for the first time."""
        sleep = self.clock.sleep

        def first(seconds: float) -> None:
            self.clock.sleep = sleep  # type: ignore[method-assign]
            happens()
            sleep(seconds)

        self.clock.sleep = first  # type: ignore[method-assign]

    def lose(self, times: int = host_queue.MOST_LOST) -> None:
        for _ in range(times):
            self.line.lost(self.scope)

    def turn(
        self, value: int | None = None, *, seconds: float = 100, wins: bool = True, waited: float = 0
    ) -> int | None:
        """Have a turn in which a value is written, and return the value that was left.

        `waited` is how long other processes of the host had their turns before.
        """
        wanted_at = self.clock.now
        self.clock.now += waited
        with self.line.turn(self.scope, self.counted_in, wanted_at, self.deadline(seconds)) as turn:
            found, turn.last_value = turn.last_value, value
            (self.line.won if wins else self.line.lost)(self.scope)
        return found


@pytest.fixture
def host(configured: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Host]:
    """Makes hosts at one scope. Their requests may take longer than the time that passes on their clocks."""
    call = dynamodb.call
    monkeypatch.setattr(dynamodb, "call", lambda *given, **named: call(*given, **{**named, "seconds": math.inf}))
    return lambda: Host(scope, Clock())


@pytest.fixture
def row(configured: str, scope: str) -> Callable[[], tuple[int, int]]:
    """Reads the row of the line: the places that were taken, and the last one that was given back."""

    def read() -> tuple[int, int]:
        line = line_of(strategies["sort-key"])
        request = expressions.read_item(strategies["sort-key"].markers.schema.table, line.key(scope))
        found = dynamodb.unmarshal(dynamodb.call("get_item", request).get("Item", {}))
        return found.get("taken", 0), found.get("given_back", 0)

    return read


def line_of(strategy: Strategy) -> HostQueue:
    """The lines of a strategy."""
    line = strategy.item_writer.line
    assert line is not None
    return line


Row = Callable[[], tuple[int, int]]
Make = Callable[[], Host]


class TestLiningUp:
    def test_who_loses_no_races(self, host: Make, row: Row, wire: Wire) -> None:
        """Who wins now and then pays nothing."""
        one = host()
        for _ in range(3):
            one.turn()
            one.lose(1)
        assert wire.operations == []
        assert row() == (0, 0)

    def test_who_loses_races_in_a_row(self, host: Make, row: Row, wire: Wire) -> None:
        """A turn costs two writes, and leaves the last value for the next host."""
        one, two = host(), host()
        one.lose()
        two.lose()
        assert one.turn(41) is None
        assert row() == (1, 1)
        assert wire.operations[:2] == ["UpdateItem"] * 2
        assert two.turn(42) == 41
        assert one.turn(43) == 42

    def test_who_loses_a_race_with_several_items(self, host: Make, row: Row) -> None:
        """That costs more than a turn."""
        one = host()
        one.line.lost(one.scope, 2)
        one.turn(1)
        assert row() == (1, 1)

    def test_who_loses_too_often(self, host: Make, row: Row) -> None:
        """One lost race in four is too many, though none follows another; one in eight is not."""
        seldom, often = host(), host()
        for each, wins in ((seldom, 7), (often, 3)):
            for _ in range(6):
                each.lose(1)
                for _ in range(wins):
                    each.line.won(each.scope)
        seldom.turn()
        assert row() == (0, 0)
        often.turn()
        assert row() == (1, 1)

    def test_an_empty_scope(self, host: Make) -> None:
        """Without a last value there is nothing to leave."""
        one, two = host(), host()
        one.lose()
        two.lose()
        assert one.turn(None) is None
        assert two.turn(1) is None

    def test_first_come_first_served(self, host: Make, wire: Wire) -> None:
        """The turns are in the order of the places, although the later one looks more often."""
        hosts, order = [host() for _ in range(3)], []
        begun = [threading.Event() for _ in hosts]

        def take(number: int) -> None:
            def sleep(seconds: float) -> None:
                begun[number].set()
                time.sleep(0.001)

            hosts[number].clock.sleep = sleep  # type: ignore[method-assign]
            with hosts[number].line.turn(hosts[number].scope, "a table", 0.0, hosts[number].deadline()) as turn:
                hosts[number].line.won(hosts[number].scope)
                order.append((number, turn.last_value))
                turn.last_value = number

        threads = [threading.Thread(target=take, args=(number,)) for number in (1, 2)]
        for one in hosts:
            one.lose()
        with hosts[0].line.turn(hosts[0].scope, "a table", 0.0, hosts[0].deadline()) as turn:
            hosts[0].line.won(hosts[0].scope)
            for number, thread in enumerate(threads, 1):
                thread.start()
                assert begun[number].wait(30)
            turn.last_value = 0
            assert order == []
        for thread in threads:
            thread.join(30)
        assert order == [(1, 0), (2, 1)]

    def test_who_lost_in_its_turn(self, host: Make, row: Row) -> None:
        """It gives its place back, for other processes of its host would wait for it in vain, and leaves no value."""
        one, two = host(), host()
        one.lose()
        two.lose()
        one.turn(41)
        assert two.turn(41, wins=False) == 41
        assert row() == (2, 2)
        assert one.turn(43) is None
        assert two.turn() == 43
        assert two.clock.sleeps == []

    def test_who_meets_nobody_leaves(self, host: Make, row: Row) -> None:
        """After LINGER_SECONDS alone in the line a host races again."""
        one = host()
        one.lose()
        one.turn(1)
        one.clock.now += host_queue.LINGER_SECONDS + 1
        one.turn(2)
        one.turn(3)
        assert row() == (2, 2)

    def test_who_meets_others_stays(self, host: Make, row: Row) -> None:
        """While others take places in between, a host stays in the line."""
        one, two = host(), host()
        one.lose()
        two.lose()
        one.turn(1)
        for _ in range(4):
            two.turn(2)
            one.clock.now += host_queue.LINGER_SECONDS + 1
            one.turn(1)
        assert row() == (9, 9)


class TestLooking:
    @pytest.fixture(autouse=True)
    def _looks(self, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
        """Looks after a second; tests with `wire` have none otherwise."""
        monkeypatch.setattr(host_queue, "LOOK_SECONDS", 1.0)

    def test_who_writes_without_a_pause(self, host: Make, row: Row, wire: Wire) -> None:
        """It looks once in LOOK_SECONDS, by half a read unit, and lines up behind who waits."""
        winner, loser = host(), host()
        for _ in range(14):
            winner.turn()
            winner.clock.now += host_queue.LOOK_SECONDS / 11
        assert wire.operations == ["GetItem"]
        assert wire.bodies("GetItem")[0]["ConsistentRead"] is False
        loser.lose()
        loser.die()
        for _ in range(14):
            winner.turn(seconds=0.01)
            winner.clock.now += host_queue.LOOK_SECONDS / 11
        assert row()[0] >= 2

    @pytest.mark.parametrize("wins", [True, False])
    def test_who_waits_for_its_host(self, host: Make, wire: Wire, wins: bool) -> None:
        """It writes without a pause, however long the turns of others last, and however its own ends."""
        one = host()
        for _ in range(2):
            one.turn(waited=0.75 * host_queue.LOOK_SECONDS)
        assert wire.operations == []
        with one.line.turn(one.scope, one.counted_in, one.clock.now, one.deadline()):
            one.clock.now += 0.75 * host_queue.LOOK_SECONDS
            if wins:
                one.line.won(one.scope)
        one.turn()
        assert wire.operations == ["GetItem"]

    def test_who_is_late(self, host: Make, wire: Wire) -> None:
        """A call past its deadline has no time for a look; the next one looks."""
        one = host()
        one.turn()
        one.turn(seconds=0.0, waited=2 * host_queue.LOOK_SECONDS)
        assert wire.operations == []
        one.turn()
        assert wire.operations == ["GetItem"]

    def test_who_pauses(self, host: Make, wire: Wire) -> None:
        """Pauses let others win, so that nobody has to look."""
        one = host()
        for _ in range(30):
            one.turn()
            one.clock.now += 0.2
        assert wire.operations == []


class TestDoingWithout:
    def test_a_place_that_is_not_given_back(self, host: Make, row: Row, wire: Wire) -> None:
        """A host that died delays the line by LONGEST_TURN once, and nobody after that. A look sees the newest row."""
        dead, one, two = host(), host(), host()
        for each in (dead, one, two):
            each.lose()
        dead.die()
        assert one.turn(2) is None
        assert sum(one.clock.sleeps) == pytest.approx(host_queue.LONGEST_TURN, rel=0.1)
        assert two.turn(3) == 2
        assert two.clock.sleeps == []
        assert {body["ConsistentRead"] for body in wire.bodies("GetItem")} == {True}
        assert row() == (3, 3)

    def test_who_was_overtaken(self, host: Make, row: Row) -> None:
        """A host that was thought dead while it waited takes a new place behind the others."""
        dead, slow, one = host(), host(), host()
        for each in (dead, slow, one):
            each.lose()
        dead.die()
        slow.meanwhile(lambda: one.turn(2))
        assert slow.turn(3) == 2
        assert row() == (4, 4)

    def test_the_deadline(self, host: Make) -> None:
        """Half of the time of a call is left for races, however long the line stands still."""
        first, one = host(), host()
        first.lose()
        one.lose()
        first.die()
        one.turn(2, seconds=0.05)
        assert sum(one.clock.sleeps) == pytest.approx(0.025)

    @pytest.mark.parametrize("operation", ["update_item", "get_item"])
    def test_a_line_that_cannot_be_used(self, host: Make, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A call goes on without the line where it is refused, as by a policy."""
        first, one = host(), host()
        first.lose()
        one.lose()
        first.die()
        call = dynamodb.call

        def refuse(name: str, request: object, **options: object) -> object:
            if name == operation:
                raise NotWritten("refused")
            return call(name, request, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(dynamodb, "call", refuse)
        assert one.turn(2) is None
        assert sum(one.clock.sleeps) <= host_queue.WAIT_SECONDS

    def test_a_row_that_expired(self, host: Make, row: Row) -> None:
        """The line begins anew, and who waited in the old one goes on."""
        dead, one, two = host(), host(), host()
        for each in (dead, one, two):
            each.lose()
        dead.die()
        table, key = strategies["sort-key"].markers.schema.table, two.line.key(two.scope)
        two.meanwhile(lambda: dynamodb.call("delete_item", {"TableName": table, "Key": key}))
        assert two.turn(3) is None
        assert len(two.clock.sleeps) == 1
        assert one.turn(4) is None
        assert row() == (1, 1)


class TestWhatIsBelieved:
    def test_of_other_tables(self, host: Make, scope: str) -> None:
        """A last value that was counted in other tables, in another life of them or in another partition is not."""
        one, two, three = host(), host(), Host(scope, Clock(), "the table made again")
        for each in (one, two, three):
            each.lose()
        one.turn(41)
        assert three.turn(7) is None
        assert two.turn(8) is None
        assert one.turn() == 8

    @pytest.mark.parametrize("hours", [-1, 1])
    def test_of_another_time(self, host: Make, hours: int) -> None:
        """A last value that was not left just now is not: rows may have been deleted or restored since."""
        one, two = host(), host()
        one.lose()
        two.lose()
        one.turn(41)
        two.clock.now += 3600 * hours
        assert two.turn() is None

    def test_of_an_older_version(self, host: Make, row: Row, scope: str) -> None:
        """A row without a time and a table is no evidence; its places go on."""
        table, key = strategies["sort-key"].markers.schema.table, host().line.key(scope)
        values = dynamodb.marshal({"taken": 7, "given_back": 7, "last_value": 41})
        dynamodb.call("put_item", {"TableName": table, "Item": key | values})
        one = host()
        one.lose()
        assert one.turn(8) is None
        assert row() == (8, 8)


@pytest.fixture
def apart(configured: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A table for the items of one test alone, and hosts that share only the table of markers and lines."""
    monkeypatch.setattr(host_memory, "SUPPORTED", False)
    table = f"items{uuid4().hex[:6]}"
    dynamodb.create_table(dynamodb.table_name(table), {"pk": "S", "sk": "N"})
    yield table
    dynamodb.delete_table(dynamodb.table_name(table))


@pytest.mark.parametrize("changed", ["life", "TABLE", "partition", "rows"])
def test_an_earlier_count(apart: str, configured: str, scope: str, changed: str) -> None:
    """Hosts in the line begin with the first number where there are no items, whatever was counted at this scope."""
    given: dict[str, Any] = {"TABLE": apart, "marker_table": "sequences"}
    put_in_line([make("sort-key", **given) for _ in range(2)], scope)
    if changed == "life":
        dynamodb.delete_table(dynamodb.table_name(apart))
        dynamodb.create_table(dynamodb.table_name(apart), {"pk": "S", "sk": "N"})
    elif changed == "TABLE":
        given["TABLE"] = "sequence_items"
    elif changed == "partition":
        given["partition"] = "{sequence}/{scope}"
    else:  # an hour later the items are as they were before
        empty(dynamodb.table_name(apart), strategies["sort-key"].layout.partition(scope))
        given["wall"] = Clock(time.time() + 3600)
    assert put_in_line([make("sort-key", **given) for _ in range(2)], scope) == [1, 2, 3, 4]


def put_in_line(hosts: list[Strategy], scope: str) -> list[int]:
    """Store items by hosts that line up, one after the other."""
    for one in hosts:
        line_of(one).lost(scope, host_queue.MOST_LOST)
    return [put(one, scope).value for one in [*hosts, *hosts]]


def empty(table: str, partition: str) -> None:
    """Delete the first items of a partition."""
    for number in range(1, 5):
        key = dynamodb.marshal({"pk": partition, "sk": number})
        dynamodb.call("delete_item", {"TableName": table, "Key": key})


def put(strategy: Strategy, scope: str) -> Allocation:
    """Store an item by a process."""
    deadline = strategy.deadline()
    pending = Pending(strategy.item_writer.request({"title": "x"}, None), deadline)
    strategy.put(scope, [pending], deadline)
    return allocated(pending)


def test_what_a_turn_costs(configured: str, scope: str) -> None:
    """A group shares the units of its values and of its turn."""
    strategy = make("sort-key")
    writer, deadline = strategy.item_writer, strategy.deadline()
    pendings = [Pending(writer.request({}, None), deadline) for _ in range(2)]
    writer._turns[scope] = HostLock(scope), host_queue.Turn(read_units=2.0, write_units=3.0)
    for _ in range(2):  # the turn is paid once
        writer._charge(scope, Assignment(pendings, [1, 2], read_units=1.0))
    assert [(pending.read_units, pending.write_units) for pending in pendings] == [(2.0, 1.5)] * 2


def test_a_turn_that_ends_with_an_error(configured: str, scope: str) -> None:
    """Nothing of it stays in memory."""
    writer = make("sort-key").item_writer
    writer.lives.bind(dynamodb.call)

    def refused() -> None:
        with writer.exclusively(scope, Deadline()):
            assert list(writer._turns) == [scope]
            raise SequenceFrozen("the books are closed")

    with pytest.raises(SequenceFrozen):
        refused()
    assert writer._turns == {}


class TestStrategies:
    @pytest.mark.needs_engine  # moto has no units for a transaction
    @pytest.mark.parametrize("name", RACING)
    def test_the_hint_saves_the_race(self, configured: str, scope: str, name: str, wire: Wire) -> None:
        """Hosts in the line write once for each number, and say what the turn cost."""
        hosts = [make(name) for _ in range(2)]
        for one in hosts:
            put(one, scope)
            line_of(one).lost(scope)
            line_of(one).lost(scope)
        put(hosts[0], scope)
        wire.clear()
        for turns, one in enumerate([*hosts, *hosts][1:], 4):
            spent = wire.units
            allocation = put(one, scope)
            assert (allocation.value, allocation.attempts) == (turns, 1)
            assert allocation.write_units + allocation.read_units == wire.units - spent
        assert sorted(stored(name, scope)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", EACH_WRITE)
def test_hosts_that_write_without_a_pause(spawned: Processes, scope: str, name: str) -> None:
    """Every host gets its numbers, and they have no gap. They soon line up: more than half of the numbers are turns."""
    values = sorted(value for share in spawned.run(put_some, name, scope, 20) for value in share)
    assert values == list(range(1, 20 * spawned.count + 1)) == sorted(stored(name, scope))
