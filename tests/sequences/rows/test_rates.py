"""How fast scopes count: what counters keep in their rows for it, what items tell, and what it costs."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import Counter as TallyOf
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from sequences import dynamodb
from sequences.changes import advance
from sequences.commit.requests import Pending
from sequences.dynamodb import marshal
from sequences.exceptions import NotWritten, SequenceUnavailable
from sequences.rates import DAYS, Rates, rates_of, usage_of
from sequences.registry import strategies
from sequences.rows.course import Course, course_of_items, further_probes, moment_of
from sequences.rows.tallies import tallies_in
from sequences.services.arguments import reserving
from sequences.strategies import Strategy
from sequences.strategies.counter_strategy import advance_to
from sequences.types import Counter
from tests.model.engine import Engine
from tests.sequences.support import COUNTERS, Clock, Wire, counter_of, import_row, read_counter, set_counter

HOUR, DAY = 3_600, 86_400
NOON = 20_411 * DAY + 12 * HOUR
READS = ("BatchGetItem", "DescribeTable", "GetItem", "Query")
LISTED = [name for name in COUNTERS if name != "transactional-beside"]
Install = Callable[..., Strategy]


@pytest.fixture(scope="module")
def _keys(configured: str) -> dict[str, tuple[str, ...]]:
    """The key attributes of each table."""
    tables = {table for name in LISTED for table in (strategies[name].schema.table, counter_of(name).table)}
    return {table: tuple(dynamodb.table_keys(table)) for table in tables}


@pytest.fixture
def in_memory(_keys: dict[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of the engine takes its place, for long histories: what is asserted of them is in their rows alone.

    `tests/model/test_engine.py` holds the model against the engine, which the short histories here use.
    """
    engine = Engine(_keys, hides=False)
    monkeypatch.setattr(dynamodb, "call", lambda operation, request, **_: engine.serve(operation, request))


def give(strategy: Strategy, scope: str | None, count: int = 1) -> None:
    """Hand out numbers, with items if the strategy wants some, in one write of the counter."""
    if strategy.supports_reserve:
        reserving(strategy).reserve(scope, count, strategy.deadline())
        return
    pendings = [Pending(strategy.item_writer.request({}, None)) for _ in range(count)]
    strategy.put(scope, pendings, strategy.deadline())
    assert not [pending for pending in pendings if isinstance(pending.answer, Exception | None)]


def found(name: str, scope: str | None) -> Counter:
    """The counter of a scope, as lists find it."""
    counters, cursor = strategies[name].scopes.page(None, 10_000)
    assert cursor is None
    return next(counter for counter in counters if counter.scope == scope)


def rates(name: str, scope: str | None) -> Rates:
    """The rates of a scope."""
    (told,) = rates_of(name, [found(name, scope)])
    return told


def row_size(row: dict[str, Any]) -> int:
    """The size of a row as DynamoDB charges it, in bytes: a number has half a byte a digit, and at most two more."""
    sizes = (len(f"{value}") // 2 + 2 if isinstance(value, int) else len(f"{value}") for value in row.values())
    return sum(map(len, row)) + sum(sizes)


class TestCounters:
    @pytest.mark.usefixtures("in_memory")
    @pytest.mark.parametrize(("seed", "name"), [*enumerate(LISTED)])
    def test_histories(self, name: str, seed: int, scope: str, install: Install) -> None:
        """Whatever is counted when, by however many processes: days are exact, and the rest is between two points."""
        chance, wall = random.Random(seed), Clock(NOON)
        processes = [install(name, clock=wall, wall=wall) for _ in range(3)]
        given: list[tuple[float, int]] = []
        for _ in range(100):
            wall.now += chance.choice([5, 600, 2 * HOUR, 7 * HOUR, DAY, 3 * DAY]) * chance.random()
            if not chance.randrange(20):
                wall.now += chance.choice([8, 33, 70]) * DAY
            if not chance.randrange(8):
                processes[chance.randrange(3)] = install(name, clock=wall, wall=wall)
            count = chance.randint(9, 20)  # more than a block, so that each is a write
            give(chance.choice(processes), scope, count)
            given.append((wall.now, count))
            if not chance.randrange(4):
                wall.now += chance.choice([1, HOUR, DAY]) * chance.random()
                self._compare(rates(name, scope), given, wall.now)

    def _compare(self, told: Rates, given: Sequence[tuple[float, int]], now: float) -> None:
        def since(begin: float, end: float = now + 1) -> int:
            return sum(count for at, count in given if begin <= at < end)

        midnights = [(now // DAY - DAYS + 1 + day) * DAY for day in range(DAYS)]
        assert told.days == [since(midnight, midnight + DAY) for midnight in midnights]
        for figure, window, distance in (
            (told.hour, HOUR, HOUR),
            (told.day, DAY, 3 * HOUR),
            (told.month, 30 * DAY, DAY),
        ):
            before = (now - window) // distance * distance
            assert figure is not None
            assert since(before + distance) <= figure <= since(before)
        assert told.last_at == datetime.fromtimestamp(int(given[-1][0]), UTC)
        assert told.since is None

    @pytest.mark.usefixtures("in_memory")
    @pytest.mark.parametrize("name", LISTED)
    @pytest.mark.parametrize("once", [True, False], ids=["a process each", "one process"])
    @pytest.mark.parametrize("seconds", [HOUR // 2, 5 * HOUR, 7 * DAY])
    def test_a_row_stays_small(self, name: str, seconds: int, once: bool, scope: str, install: Install) -> None:
        """A row has less than 1 KB, whatever the pattern of its use, with values of 15 digits."""
        wall = Clock(NOON)
        strategy = install(name, clock=wall, wall=wall, START=10**14 + 1)
        count = 100_000 if strategy.supports_reserve else 9
        for step in range(80):
            wall.now += seconds if step % 60 else 100 * DAY
            give(strategy, scope, count)
            row = read_counter(name, scope)
            assert len(list(tallies_in(row))) <= 68
            assert row_size(row) < 1000
            if once:
                strategy = install(name, clock=wall, wall=wall, START=10**14 + 1)

    @pytest.mark.parametrize("name", LISTED)
    def test_the_same_requests_and_units(self, name: str, scope: str, install: Install, wire: Wire) -> None:
        """The first write in an hour is as many requests and units as any other one."""
        wall = Clock(NOON)
        strategy = install(name, wall=wall, clock=Clock())  # which stands: nobody looks for other hosts
        costs = []
        for _ in range(30):
            wall.now += HOUR // 2
            wire.clear()
            give(strategy, scope, 9)
            costs.append((wire.operations, wire.units))
        assert len(set(map(repr, costs[1:]))) == 1

    def test_only_the_first_write_in_an_hour(self, scope: str, install: Install, wire: Wire) -> None:
        """Other writes of an hour are all the same."""
        wall = Clock(NOON)
        strategy = install("atomic", wall=wall)
        for _ in range(4):
            wall.now += HOUR // 3
            give(strategy, scope)
        expressed = [body["UpdateExpression"] for body in wire.bodies("UpdateItem")]
        assert [SINCE in text for text in expressed] == [True, False, True, False]
        assert len(set(expressed[1::2])) == 1

    @pytest.mark.parametrize("name", LISTED)
    def test_outdated_tallies(self, name: str, scope: str, install: Install, wire: Wire) -> None:
        """Of several processes that add once and end one removes what they leave; others need no write for that."""
        wall = Clock(NOON)
        for _ in range(40):
            wall.now += 7 * DAY
            give(install(name, clock=wall, wall=wall), scope, 9)
        writes = [operation for operation in wire.operations if operation not in READS]
        assert len(writes) in ((41, 42, 43) if name in ("atomic", "block") else (40,))
        wire.clear()
        strategy = install(name, clock=wall, wall=wall)
        for _ in range(40):
            wall.now += 7 * DAY
            give(strategy, scope, 9)
        writes = [operation for operation in wire.operations if operation not in READS]
        assert len(writes) in (40, 41)
        assert len(list(tallies_in(read_counter(name, scope)))) <= 12

    @pytest.mark.usefixtures("in_memory")
    @pytest.mark.parametrize("life", [1, 7])
    def test_processes_that_follow_each_other(self, life: int, scope: str, install: Install) -> None:
        """Where processes begin with what others of their machine know, outdated tallies go, too."""
        wall = Clock(NOON)
        workers = [install("transactional", clock=wall, wall=wall) for _ in range(2)]
        for hour in range(24 * 5):
            for number in range(4):
                wall.now += HOUR // 4
                give(workers[number % 2], scope)
            if hour % life == 0:
                workers[hour // life % 2] = install("transactional", clock=wall, wall=wall)
        assert len(list(tallies_in(read_counter("transactional", scope)))) <= 42

    def test_a_scope_that_was_counted_by_its_items(self, scope: str, install: Install) -> None:
        """What another strategy gave before a counter was put past its items is not known."""
        install("transactional", wall=Clock(NOON))
        import_row("transactional", scope, 500)
        advance("transactional", to=600, scope=scope, by="ann", reason="We count by a counter now.")
        give(strategies["transactional"], scope)
        assert rates("transactional", scope).month is None

    def test_the_last_write(self, scope: str, install: Install) -> None:
        """A single number is in the last hour for an hour, to the second."""
        wall = Clock(NOON + 300)
        give(install("atomic", wall=wall), scope)
        wall.now += HOUR
        assert rates("atomic", scope).hour == 1
        wall.now += 1
        assert rates("atomic", scope).hour == 0

    def test_a_counter_of_an_earlier_version(self, scope: str, install: Install) -> None:
        """What an earlier version counted is not known, and `since` says so; what it did not count since is."""
        wall = Clock(NOON)
        strategy = install("atomic", wall=wall)
        set_counter("atomic", scope, last_value=500, highest=500, updated_at=NOON - 2 * HOUR, token="t")
        told = rates("atomic", scope)
        assert (told.hour, told.day, told.month, told.days[-1]) == (0, None, None, None)
        assert told.since == told.last_at == datetime.fromtimestamp(NOON - 2 * HOUR, UTC)
        give(strategy, scope, 7)
        assert rates("atomic", scope).hour is None
        wall.now += 2 * DAY
        give(strategy, scope, 5)
        told = rates("atomic", scope)
        assert (told.hour, told.day, told.month) == (5, 5, None)
        assert told.days == [*[None] * (DAYS - 2), 0, 5]
        assert told.since == datetime.fromtimestamp(NOON, UTC)
        wall.now += 31 * DAY
        told = rates("atomic", scope)
        assert (told.month, told.days, told.since) == (0, [0] * DAYS, None)

    def test_a_scope_without_a_value(self, install: Install) -> None:
        """A scope that has given nothing has given nothing in any time."""
        install("atomic", wall=Clock(NOON))
        (told,) = rates_of("atomic", [Counter(sequence="atomic", scope="new", last_value=None)])
        assert (told.hour, told.day, told.month, told.days, told.last_at, told.since) == (
            0,
            0,
            0,
            [0] * DAYS,
            None,
            None,
        )

    @pytest.mark.parametrize("by_hour", [True, False])
    def test_hours_are_told_if_wanted(self, install: Install, by_hour: bool) -> None:
        """The rates of the last hours are there for a caller that asks for them, and for no other."""
        install("atomic", wall=Clock(NOON))
        (told,) = rates_of("atomic", [Counter(sequence="atomic", scope="new", last_value=None)], by_hour=by_hour)
        assert len(told.hours) == (24 if by_hour else 0)

    def test_the_moments_that_matter(self, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
        """Values are wanted at the begin of each day and hour and of what slides; an hour and a day ago count most."""
        now, wanted = NOON + 300, list[float]()
        strategy = install("atomic", wall=Clock(now))
        monkeypatch.setattr(type(strategy.scopes), "course", lambda _, counter, at, moments: wanted.extend(moments))
        (told,) = rates_of("atomic", [Counter(sequence="atomic", scope=None, last_value=5)], by_hour=True)
        begins = [*(NOON - 12 * HOUR - day * DAY for day in range(30)), *(NOON - hour * HOUR for hour in range(24))]
        weights = TallyOf(begins) + TallyOf({now - HOUR: 5, now - DAY: 5, now - 30 * DAY: 1})
        assert TallyOf(wanted) == weights
        assert (told.days, told.hours) == ([None] * 30, [None] * 24)

    @pytest.mark.parametrize(
        ("points", "since", "is_approximate", "is_since"),
        [
            ([(NOON - 40 * DAY, 1), (NOON - DAY, 5)], None, True, False),
            ([(NOON - DAY * 30, 1), (NOON, 5)], NOON - 30 * DAY, True, False),
            ([(NOON - DAY * 30 + 1, 5)], NOON - 30 * DAY + 1, False, True),
        ],
    )
    def test_what_is_not_exact(
        self,
        install: Install,
        monkeypatch: pytest.MonkeyPatch,
        points: list[tuple[float, int]],
        since: float | None,
        is_approximate: bool,
        is_since: bool,
    ) -> None:
        """Rates say whether a figure is read between two points, and since when all are known, if not for 30 days."""
        strategy, course = install("atomic", wall=Clock(NOON)), Course(points, since=since)
        monkeypatch.setattr(type(strategy.scopes), "course", lambda *_: course)
        (told,) = rates_of("atomic", [Counter(sequence="atomic", scope=None, last_value=5)])
        assert (told.approximate, told.since is not None) == (is_approximate, is_since)

    @pytest.mark.parametrize("name", LISTED)
    def test_skipped_numbers_do_not_count(self, name: str, scope: str, install: Install) -> None:
        """Numbers that a guarded change or `advance_to` skips are not counted as handed out."""
        wall = Clock(NOON)
        strategy = install(name, wall=wall)
        give(strategy, scope, 9)
        wall.now += DAY
        give(strategy, scope, 10)
        advance(name, to=1_000, scope=scope, by="ann", reason="Used on paper.")
        assert rates(name, scope).days[-2:] == [9, 10]
        give(strategy, scope, 11)
        wall.now += DAY
        advance_to(strategy, scope, 5_000)
        give(strategy, scope, 12)
        told = rates(name, scope)
        assert told.days[-3:] == [9, 21, 12]
        assert told.month == 42

    @pytest.mark.usefixtures("in_memory")
    @pytest.mark.parametrize("ahead", [-2 * HOUR, 60, 3 * DAY, 400 * DAY])
    def test_clocks_that_differ(self, ahead: int, scope: str, install: Install) -> None:
        """A process whose clock differs may make figures wrong by what was given in between, and never negative."""
        wall, other = Clock(NOON), Clock(NOON + ahead)
        processes = [install("atomic", wall=other), install("atomic", wall=wall)]
        for _ in range(60):
            wall.now += 1000
            other.now += 1000
            for process in processes:
                give(process, scope)
            told = rates("atomic", scope)
            assert all(figure >= 0 for figure in (told.hour or 0, told.day or 0, told.month or 0))
            assert all(count >= 0 for count in told.days if count is not None)
            assert sum(count or 0 for count in told.days) <= 120

    def test_a_lost_answer(self, scope: str, install: Install, wire: Wire) -> None:
        """A first write in an hour whose answer is lost counts its numbers once."""
        wall = Clock(NOON)
        strategy = install("atomic", wall=wall)
        give(strategy, scope, 3)
        wall.now += DAY
        wire.lose("UpdateItem")
        give(strategy, scope, 4)
        assert rates("atomic", scope).days[-2:] == [3, 4]

    def test_counters_beside_items(self, scope: str, install: Install) -> None:
        """A counter beside the items tells as much, by the read that lists it."""
        wall = Clock(NOON)
        _listed[:] = [scope]
        strategy = install("transactional-beside", wall=wall, scopes=f"{__name__}.list_scopes")
        give(strategy, scope, 3)
        wall.now += DAY
        give(strategy, scope, 4)
        told = rates("transactional-beside", scope)
        assert told.days[-2:] == [3, 4]
        assert told.last_at == datetime.fromtimestamp(wall.now, UTC)

    def test_figures_cost_no_request(self, scope: str, install: Install, wire: Wire) -> None:
        """The page of counters has all that is needed."""
        give(install("atomic", wall=Clock(NOON)), scope)
        counters, _ = strategies["atomic"].scopes.page(None, 100)
        wire.clear()
        assert len(rates_of("atomic", counters)) == len(counters)
        assert not wire.operations


class TestItems:
    @pytest.fixture
    def wall(self) -> Clock:
        return Clock(NOON)

    @pytest.fixture
    def strategy(self, install: Install, wall: Clock) -> Strategy:
        return listing(install, wall)

    def test_few_items(self, scope: str, strategy: Strategy, wall: Clock) -> None:
        """Of few items all are read, and the figures are exact."""
        times = [
            NOON - 40 * DAY,
            NOON - 3 * DAY,
            NOON - 3 * DAY + 1,
            NOON - DAY - 1,
            NOON - DAY,
            NOON - 1000,
            NOON - 10,
        ]
        fill("sort-key", scope, times)
        told = rates("sort-key", scope)
        assert (told.hour, told.day, told.month) == (2, 3, 6)
        assert told.days[-4:] == [2, 0, 2, 2]
        assert sum(count or 0 for count in told.days) == 6
        assert not told.approximate
        assert told.last_at == datetime.fromtimestamp(NOON - 10, UTC)
        assert told.since is None

    @pytest.mark.parametrize("seed", range(3))
    def test_many_items(self, seed: int, scope: str, strategy: Strategy) -> None:
        """Of many items some are read, and the figures are nearly right."""
        chance = random.Random(seed)
        times = sorted(NOON - chance.random() ** 2 * 60 * DAY for _ in range(1500))
        fill("sort-key", scope, times)
        told = rates("sort-key", scope)
        assert told.approximate
        for figure, window in ((told.hour, HOUR), (told.day, DAY), (told.month, 30 * DAY)):
            assert figure == pytest.approx(len(times) - bisect_left(times, NOON - window), abs=8)
        midnights = [(NOON // DAY - DAYS + 1 + day) * DAY for day in range(DAYS)]
        for midnight, count in zip(midnights, told.days, strict=True):
            assert count == pytest.approx(bisect_left(times, midnight + DAY) - bisect_left(times, midnight), abs=15)

    def test_the_cost(self, scope: str, strategy: Strategy, wire: Wire) -> None:
        """Two requests for a scope, of at most 100 items, of which only the time is read."""
        fill("sort-key", scope, [NOON - 60 * DAY + number * 3000.0 for number in range(1500)])
        counter = found("sort-key", scope)
        wire.clear()
        rates_of("sort-key", [counter])
        assert wire.operations == ["BatchGetItem", "BatchGetItem"]
        for body in wire.bodies("BatchGetItem"):
            (wanted,) = body["RequestItems"].values()
            assert len(wanted["Keys"]) <= 100
            assert wanted["ConsistentRead"] is False
            assert sorted(wanted["ExpressionAttributeNames"].values()) == ["made-at", "sk"]

    def test_items_that_say_nothing(self, scope: str, strategy: Strategy) -> None:
        """Items without a time, with an odd one, or with one that does not fit its neighbours only blur the figures."""
        times: list[Any] = [NOON - 5 * DAY + number * HOUR for number in range(100)]
        fill("sort-key", scope, times)
        exact = rates("sort-key", scope)
        other = f"{scope}-odd"
        times[7], times[20], times[45], times[60], times[99] = None, "soon", 0, NOON + 999 * DAY, [1]
        times[46], times[47] = "0001-01-01T00:00:00+14:00", 10**30
        times[30] = datetime.fromtimestamp(times[30], UTC).isoformat()
        times[31] = datetime.fromtimestamp(times[31], UTC).replace(tzinfo=None).isoformat()
        fill("sort-key", other, times)
        _listed[:] = [other]
        told = rates("sort-key", other)
        assert (told.month, sum(count or 0 for count in told.days)) == (exact.month, 100)
        for count, right in zip(told.days, exact.days, strict=True):
            assert count == pytest.approx(right, abs=1)
        assert told.last_at is None

    def test_times_that_do_not_rise(self, strategy: Strategy) -> None:
        """The most times that rise with the numbers count; the others are left out."""
        times = {1: 100.0, 2: 900.0, 3: 300.0, 4: 0.0, 5: 500.0, 6: 500.0}
        course = course_of_items(times, strategy.numbers, 6, 1000.0)
        assert course is not None
        known = [(100, 0), (100, 1), (300, 2), (300, 3), (500, 4), (500, 5), (500, 5), (500, 6)]
        assert list(course.points) == [(-math.inf, 0), *known, (1000, 6)]

    def test_where_to_look_next(self) -> None:
        """More times are read at equal distances, where a moment lies between two known times; all, if they are few."""
        assert further_probes({1: 0.0, 101: 100.0}, [50.0], 4) == [21, 41, 61, 81]
        assert further_probes({1: 0.0, 5: 4.0, 8: 7.0}, [3.0, 7.5], 4) == [2, 3, 4]
        assert further_probes({1: 0.0, 5: 4.0}, [3.0], 2) == [2, 3]

    def test_the_latest_moment(self) -> None:
        """A number is a time up to the end of the year 9999; later ones are of another unit."""
        end = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
        assert [moment_of(number) for number in (0, end, end + 1, -1)] == [0.0, float(end), None, None]

    def test_no_times(self, scope: str, strategy: Strategy, install: Install, wall: Clock) -> None:
        """Without any time, or without the option, nothing is known; without items there were none."""
        fill("sort-key", scope, [None] * 5)
        unknown = rates("sort-key", scope)
        assert (unknown.hour, unknown.day, unknown.month, unknown.days) == (None, None, None, [None] * DAYS)
        assert (unknown.last_at, unknown.since, unknown.approximate) == (None, None, False)
        _listed[:] = ["nothing yet"]
        assert rates("sort-key", "nothing yet").days == [0] * DAYS
        install("sort-key", wall=wall)
        assert rates_of("sort-key", [Counter(sequence="sort-key", scope=scope, last_value=5)]) == [unknown]

    def test_items_that_begin_later(self, scope: str, strategy: Strategy) -> None:
        """Where the first items have no time, `since` says from when on there is one."""
        fill("sort-key", scope, [*[None] * 50, *(NOON - 10 * DAY + number * HOUR for number in range(50))])
        told = rates("sort-key", scope)
        assert told.month is None
        assert told.since is not None
        assert told.days[0] is None
        assert told.days[-1] == 0

    def test_an_engine_that_is_away(self, scope: str, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
        """It raises what other reads raise."""
        install("sort-key", time_name="made-at", deadline=0.05)
        monkeypatch.setattr(dynamodb, "call", unavailable)
        with pytest.raises(SequenceUnavailable):
            rates_of("sort-key", [Counter(sequence="sort-key", scope=scope, last_value=5)])


def unavailable(operation: str, request: object, **_: object) -> None:
    """What a call does while the engine does not answer."""
    raise NotWritten(f"{operation}: no answer")


def listing(install: Install, wall: Clock) -> Strategy:
    """The strategy that counts items, with the option that names their time."""
    return install("sort-key", wall=wall, time_name="made-at", scopes=f"{__name__}.list_scopes")


def fill(name: str, scope: str, times: Sequence[Any]) -> None:
    """Store items from 1 on that were made at these times, and list their scope."""
    _listed[:] = [scope]
    schema, partition = strategies[name].schema, strategies[name].layout.partition(scope)
    rows = [
        {**schema.key(partition, number), **({} if at is None else marshal({"made-at": _time(at)}))}
        for number, at in enumerate(times, 1)
    ]
    for begin in range(0, len(rows), 25):
        puts = [{"PutRequest": {"Item": row}} for row in rows[begin : begin + 25]]
        dynamodb.call("batch_write_item", {"RequestItems": {schema.table: puts}})


def _time(at: object) -> object:
    return Decimal(f"{at:.3f}") if isinstance(at, float) else at


class TestUsage:
    @pytest.mark.parametrize(
        ("last_value", "month", "share", "ends_on"),
        [
            (100, 30, 0.1, date(2028, 5, 7)),
            (100, 900, 0.1, date(2025, 12, 19)),
            (100, 0, 0.1, None),
            (100, None, 0.1, None),
            (None, 0, 0.0, None),
            (1000, 0, 1.0, date(2025, 11, 19)),
            (2000, 5, 1.0, date(2025, 11, 19)),
        ],
    )
    def test_usage(
        self, last_value: int | None, month: int | None, share: float, ends_on: date | None, install: Install
    ) -> None:
        """It goes on as in the last 30 days."""
        install("atomic", wall=Clock(NOON), MAXIMUM=1000)
        usage = usage_of("atomic", Counter(sequence="atomic", scope=None, last_value=last_value), told(month))
        assert (usage.share, usage.ends_on) == (share, ends_on)

    @pytest.mark.parametrize(
        ("keys", "last_value", "share"),
        [
            ({"START": 1001, "MAXIMUM": 2000}, 1100, 0.1),
            ({"START": 10, "FORMAT": "{scope}-{value:01d}"}, 10, 1.0),  # a text has no room for any
        ],
    )
    def test_a_later_start(self, keys: dict[str, Any], last_value: int, share: float, install: Install) -> None:
        """A share is one of the values from START on."""
        install("atomic", wall=Clock(NOON), **keys)
        assert usage_of("atomic", Counter(sequence="atomic", scope="a", last_value=last_value), told(0)).share == share

    def test_a_huge_maximum(self, install: Install) -> None:
        """What lasts for more than a hundred years does not end, and its share is finer than a percent."""
        install("atomic", wall=Clock(NOON))
        usage = usage_of("atomic", Counter(sequence="atomic", scope=None, last_value=10**30), told(10**25))
        assert usage.share == pytest.approx(1e-8)
        assert usage.ends_on is None

    @pytest.mark.parametrize(("left", "ends_on"), [(36_525, date(2125, 11, 20)), (36_526, None)])
    def test_a_hundred_years(self, left: int, ends_on: date | None, install: Install) -> None:
        """What lasts for a hundred years ends on a day, and what lasts for a day more does not."""
        install("atomic", wall=Clock(NOON), MAXIMUM=100_000)
        counter = Counter(sequence="atomic", scope=None, last_value=100_000 - left)
        assert usage_of("atomic", counter, told(30)).ends_on == ends_on

    def test_the_width_of_a_text(self, install: Install) -> None:
        """Where FORMAT has no room for more digits, the values end; in a period, only before that ends."""
        install("atomic", wall=Clock(NOON), FORMAT="{period}-{value:03d}", PERIOD="year")
        soon, late = (Counter(sequence="atomic", scope=None, period="2025", last_value=value) for value in (900, 1))
        assert usage_of("atomic", soon, told(300)).ends_on == date(2025, 11, 28)
        assert usage_of("atomic", soon, told(300)).share == pytest.approx(900 / 999)
        assert usage_of("atomic", late, told(300)).ends_on is None


def told(month: int | None) -> Rates:
    """Rates of so many numbers a month."""
    return Rates(hour=None, day=None, month=month, days=[None] * DAYS, last_at=None, since=None, approximate=False)


_listed: list[str] = []


def list_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """The scopes of a test, as an application would name them."""
    return _listed[:limit], None


SINCE = "#since"
