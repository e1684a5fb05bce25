"""The highest sort key plus one: what is remembered, what it costs, and what happens when it is outdated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sequences import dynamodb, get_last_value, put_next, put_next_many
from sequences.commit.host_lock import hold_host_lock
from sequences.commit.requests import Pending, PutRequest
from sequences.exceptions import (
    InvalidSequence,
    ScopeNotFound,
    SequenceExhausted,
    SequenceWentBack,
    StorageRefused,
)
from sequences.registry import strategies
from sequences.rows import host_queue
from sequences.rows.assignments import Hint
from sequences.rows.course import Course
from sequences.strategies import Strategy, sort_key
from sequences.strategies.sort_key import TAIL_SECONDS, SortKeyMaximum
from sequences.testing.callers import put_some
from sequences.types import Counter
from tests.sequences.support import PATH, SORT_KEYS, Clock, Wire, import_row, lock_name, make, mark_listed, stored

pytestmark = pytest.mark.usefixtures("configured")


@pytest.fixture(params=SORT_KEYS)
def name(request: pytest.FixtureRequest) -> str:
    """The alias of a configuration without a counter."""
    return str(request.param)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody lines up, however many races are lost."""
    monkeypatch.setattr(host_queue, "MOST_LOST", 1000)


class TestWhatIsRemembered:
    def test_a_lone_warm_writer(
        self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy], wire: Wire
    ) -> None:
        """A lone writer that wrote a moment ago needs one request and no read."""
        install(name, clock=clock)
        put_some(name, scope, 1)
        wire.clear()
        assert put_some(name, scope, 5) == [2, 3, 4, 5, 6]
        assert wire.operations == ["PutItem"] * 5

    def test_a_cold_writer(
        self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy], wire: Wire
    ) -> None:
        """A writer that knows nothing, or knew it TAIL_SECONDS ago, needs one query of one item more."""
        install(name, clock=clock).rules.enforced = False
        mark_listed(name, scope)
        put_some(name, scope, 1)
        clock.now += TAIL_SECONDS + 0.001
        assert put_some(name, scope, 1) == [2]
        assert wire.operations == ["Query", "PutItem"] * 2
        assert [query["Limit"] for query in wire.bodies("Query")] == [1, 1]
        wire.clear()
        clock.now += TAIL_SECONDS - 0.001
        assert put_some(name, scope, 1) == [3]
        assert wire.operations == ["PutItem"]

    @pytest.mark.needs_engine
    @pytest.mark.parametrize(("size", "units"), [(4_000, 1), (20_000, 5), (400_000, 98)])
    def test_the_query_is_charged_by_the_size_of_the_last_item(
        self, size: int, units: float, scope: str, clock: Clock, install: Callable[..., Strategy]
    ) -> None:
        """A cold writer pays 1 read unit for each 4 KB of the last item."""
        item = {"text": "x" * size}
        put_next("sort-key", item, scope=scope)
        install("sort-key", clock=clock)
        mark_listed("sort-key", scope)
        assert put_next("sort-key", item, scope=scope).read_units == units

    def test_a_tail_behind_the_table(
        self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy], wire: Wire
    ) -> None:
        """When somebody on another machine wrote meanwhile, it costs one lost race and one read."""
        install(name, clock=clock)
        put_some(name, scope, 1)
        for value in range(2, 10):
            import_row(name, scope, value)
        wire.clear()
        allocation = put_next(name, {}, scope=scope)
        assert (allocation.value, allocation.attempts) == (10, 2)
        assert wire.operations == ["PutItem", "Query", "PutItem"]

    def test_a_hint_is_no_younger_than_what_it_tells(
        self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy]
    ) -> None:
        """A hint from another process is as old as its confirmation: after a restore it makes no gap."""
        install(name, clock=clock)
        put_some(name, scope, 3)
        with hold_host_lock(lock_name(name, scope)) as turn:
            assert turn.hint() == (3, clock.now)
            turn.leave_hint(50, clock.now)
        clock.now += 1
        install(name, clock=clock)
        assert put_some(name, scope, 1) == [4]

    def test_the_next_process_does_not_wait_for_answers(
        self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The turn of the host is given back, with its hint, before the callers are answered."""
        install(name, clock=clock)
        answers, lock, hints = strategies[name].item_writer.answers, lock_name(name, scope), []
        allocate = answers.allocate

        def allocated(*args: Any, **options: Any) -> None:
            with hold_host_lock(lock) as turn:
                hints.append(turn.hint())
            allocate(*args, **options)

        monkeypatch.setattr(answers, "allocate", allocated)
        assert put_some(name, scope, 2) == [1, 2]
        assert hints == [(1, clock.now), (2, clock.now)]

    def test_a_group_goes_on_from_its_own_end(
        self, name: str, scope: str, clock: Clock, install: Callable[..., Strategy], wire: Wire
    ) -> None:
        """The last number of a group is remembered for the next one."""
        install(name, clock=clock)
        put_next_many(name, [{}] * 10, scope=scope)
        wire.clear()
        assert [allocation.value for allocation in put_next_many(name, [{}] * 3, scope=scope)] == [11, 12, 13]
        assert wire.operations == ["TransactWriteItems"]


class TestTails:
    """What a process remembers of the highest number, without a table."""

    @pytest.fixture
    def strategy(self, clock: Clock) -> SortKeyMaximum:
        """A strategy that has stored nothing."""
        made = make("sort-key", clock=clock)
        assert isinstance(made, SortKeyMaximum)
        return made

    @pytest.mark.parametrize(("later", "taken"), [(-1.0, False), (0.0, False), (1.0, True)])
    def test_hints_of_before_a_lost_race(
        self, strategy: SortKeyMaximum, clock: Clock, later: float, taken: bool
    ) -> None:
        """A hint that is not younger than the last lost race is ignored, until a write is stored."""
        strategy.number_taken("ABC", Pending(PutRequest(item={})), 5)
        hint = Hint(7, clock.now + later)
        strategy.accept_hint("ABC", hint)
        assert strategy.hint("ABC") == (hint if taken else None)
        strategy.committed("ABC", 8)
        assert strategy.hint("ABC") == Hint(8, clock.now)
        strategy.accept_hint("ABC", hint)
        assert strategy.hint("ABC") == hint

    def test_what_is_forgotten(self, strategy: SortKeyMaximum, clock: Clock) -> None:
        """After a change of the scope its number is read again; after everything is forgotten, no race was lost."""
        strategy.committed("ABC", 8)
        strategy.changed("ABC", 9)
        assert strategy.hint("ABC") is None
        assert strategy.evidence.known("ABC") == 9
        strategy.forget()
        assert strategy.evidence.known("ABC") is None
        strategy.accept_hint("ABC", Hint(7, clock.now - 1))
        assert strategy.hint("ABC") == Hint(7, clock.now - 1)
        strategy.forget()
        assert strategy.hint("ABC") is None

    @pytest.mark.parametrize(
        ("found", "known", "made_anew", "told"),
        [
            ([(None, 0.5)], None, [], (0, 0.5)),
            ([(7, 1.0)], 7, [], (7, 1.0)),
            ([(7, 1.0), (6, 1.5)], 8, [True], (6, 1.5)),
            ([(None, 0.5), (None, 1.5)], 1, [True], (0, 1.5)),
            ([(7, 1.0)], 8, [False], None),
            ([(None, 0.5)], 8, [False], None),
        ],
    )
    def test_items_that_went_back(
        self,
        strategy: SortKeyMaximum,
        monkeypatch: pytest.MonkeyPatch,
        found: list[tuple[int | None, float]],
        known: int | None,
        made_anew: list[bool],
        told: tuple[int, float] | None,
    ) -> None:
        """Items below a number that is known are refused, unless the tables were made anew, which is read then."""

        def changed(send: object) -> bool:
            strategy.evidence.forget()
            return made_anew.pop()

        monkeypatch.setattr(type(strategy.layout), "highest", lambda layout, scope, send: found.pop(0))
        monkeypatch.setattr(strategy.lives, "changed", changed)
        if known is not None:
            strategy.evidence.note("ABC", known)
        if told is None:
            with pytest.raises(SequenceWentBack, match="but 8 was handed out"):
                strategy._tail("ABC", dynamodb.call)
        else:
            assert strategy._tail("ABC", dynamodb.call) == told
        assert (found, made_anew) == ([], [])

    @pytest.mark.parametrize(("age", "last_value", "read"), [(0.25, 8, False), (0.2500001, 8, True), (0.0, 7, True)])
    def test_what_is_read_again(
        self,
        strategy: SortKeyMaximum,
        monkeypatch: pytest.MonkeyPatch,
        clock: Clock,
        age: float,
        last_value: int,
        read: bool,
    ) -> None:
        """A number is remembered for a quarter of a second, unless a higher one is known."""
        monkeypatch.setattr(type(strategy.layout), "highest", lambda layout, scope, send: (9, 0.5))
        strategy.evidence.note("ABC", 8)
        strategy._tails.put("ABC", Hint(last_value, clock.now - age))
        assert strategy._tail("ABC", dynamodb.call) == ((9, 0.5) if read else (8, 0.0))


class TestLostAnswers:
    @pytest.mark.parametrize("token", [None, "a token"])
    def test_one_item(self, name: str, scope: str, token: str | None, wire: Wire) -> None:
        """An item whose answers are lost is stored once, and its write is sent again unchanged."""
        operation = "TransactWriteItems" if token else "PutItem"
        mark_listed(name, scope)
        wire.lose(operation, times=3)
        allocation = put_next(name, {}, scope=scope, idempotency_token=token)
        assert (allocation.value, allocation.attempts, allocation.replayed) == (1, 4, False)
        first, *others = wire.bodies(operation)
        assert others == [first] * 3
        assert len(wire.bodies("Query")) == 1
        assert list(stored(name, scope)) == [1]

    @pytest.mark.parametrize("token", [None, "a token"])
    def test_somebody_else_takes_the_next(self, name: str, scope: str, token: str | None, wire: Wire) -> None:
        """An item whose answer was lost is found again when others were stored after it."""
        operation = "TransactWriteItems" if token else "PutItem"
        wire.lose(operation)
        wire.before(operation, lambda: None, lambda: import_row(name, scope, 2))
        allocation = put_next(name, {"title": "ours"}, scope=scope, idempotency_token=token)
        assert (allocation.value, allocation.replayed) == (1, False)
        assert stored(name, scope)[1]["title"] == "ours"
        assert put_some(name, scope, 1) == [3]

    def test_somebody_else_takes_the_same(self, name: str, scope: str, wire: Wire) -> None:
        """A write that never arrived, and whose number is another's now, goes on to the next number."""
        wire.before("PutItem", lambda: import_row(name, scope, 1))
        assert put_next(name, {}, scope=scope).value == 2
        assert sorted(stored(name, scope)) == [1, 2]


class TestScopes:
    def test_a_scope_that_must_exist(self, name: str, scope: str, install: Callable[..., Strategy], wire: Wire) -> None:
        """An unknown scope is refused by the one query that was to be made anyway, and nothing is written."""
        install(name, scope_must_exist=True)
        for token in (None, "a token"):
            wire.clear()
            with pytest.raises(ScopeNotFound, match=scope):
                put_next(name, {}, scope=scope, idempotency_token=token)
            assert wire.operations == ["Query"]
        assert stored(name, scope) == {}

    def test_a_scope_that_exists(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A row at number 0 makes the scope, and the first value is 1 all the same."""
        install(name, scope_must_exist=True)
        import_row(name, scope, 0)
        assert get_last_value(name, scope=scope) is None
        assert put_some(name, scope, 2) == [1, 2]
        assert get_last_value(name, scope=scope) == 2

    def test_start(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Numbering starts at START, and goes on from what is stored."""
        install(name, START=100)
        assert put_some(name, scope, 2) == [100, 101]
        import_row(name, f"{scope}-b", 0)
        assert put_some(name, f"{scope}-b", 1) == [100]
        import_row(name, f"{scope}-c", 200)
        assert put_some(name, f"{scope}-c", 1) == [201]

    def test_step(self, name: str) -> None:
        """A STEP is refused, because the highest sort key has no steps."""
        with pytest.raises(InvalidSequence, match="STEP"):
            make(name, STEP=2)


class TestPadded:
    def test_order(self, scope: str) -> None:
        """Padded numbers sort as numbers do."""
        import_row("sort-key-padded", scope, 9)
        assert put_some("sort-key-padded", scope, 2) == [10, 11]
        rows = stored("sort-key-padded", scope)
        assert [rows[value]["sk"] for value in rows] == ["000009", "000010", "000011"]

    @pytest.mark.parametrize("sort_key", ["9", "99999999", "00001x", "one"])
    def test_a_stray_row(self, scope: str, sort_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row whose sort key is no number of the width is refused at once, with its key and the remedy."""
        put_some("sort-key-padded", scope, 1)
        strategy = strategies["sort-key-padded"]
        key = {"pk": {"S": strategy.layout.partition(scope)}, "sk": {"S": sort_key}}
        dynamodb.call("put_item", {"TableName": strategy.schema.table, "Item": key})
        with pytest.raises(StorageRefused, match=f"'{sort_key}'.*not a number of 6 digits: move it elsewhere"):
            strategy.last_value(scope)
        monkeypatch.setattr(f"{PATH}.sort_key.TAIL_SECONDS", -1.0)  # what was remembered is looked up again
        with pytest.raises(StorageRefused, match="move it elsewhere"):
            put_some("sort-key-padded", scope, 1)

    def test_width(self, scope: str, install: Callable[..., Strategy]) -> None:
        """The last number of the width is handed out, and then the error names the width."""
        install("sort-key-padded", sort_key="{value:02d}")
        strategy = strategies["sort-key-padded"]
        key = {"pk": {"S": strategy.layout.partition(scope)}, "sk": {"S": "97"}}
        dynamodb.call("put_item", {"TableName": strategy.schema.table, "Item": key})
        assert put_some("sort-key-padded", scope, 2) == [98, 99]
        with pytest.raises(SequenceExhausted, match="sort_key"):
            put_next("sort-key-padded", {}, scope=scope)

    def test_maximum_below_the_width(self, scope: str, install: Callable[..., Strategy]) -> None:
        """MAXIMUM counts when it is lower than what the width allows, and a group gets what there is."""
        install("sort-key-padded", MAXIMUM=3)
        with pytest.raises(SequenceExhausted, match="maximum 3"):
            put_next_many("sort-key-padded", [{}] * 5, scope=scope)
        assert sorted(stored("sort-key-padded", scope)) == [1, 2, 3]


class TestReads:
    def test_consistent(self, name: str, scope: str, wire: Wire) -> None:
        """Reads are consistent."""
        put_some(name, scope, 1)
        assert [query["ConsistentRead"] for query in wire.bodies("Query")] == [True]

    def test_only_keys_are_read(self, name: str, scope: str, wire: Wire) -> None:
        """The query asks for the key attributes and for what says that the scope is frozen, and nothing else."""
        put_some(name, scope, 1)
        (query,) = wire.bodies("Query")
        names = {query["ExpressionAttributeNames"][alias] for alias in query["ProjectionExpression"].split(", ")}
        assert names == {"pk", "sk", "void"}


class TestCourse:
    """How fast a scope has counted, by the times of its items, without a table."""

    @pytest.fixture
    def read(self, monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
        """The requests for items; those of even numbers say when they were made, a hundred seconds each."""
        requests: list[Mapping[str, Any]] = []

        def answer(operation: str, request: Mapping[str, Any], *, deadline: object) -> dict[str, Any]:
            requests.append(request)
            ((table, asked),) = request["RequestItems"].items()
            numbers = [int(key["sk"]["N"]) for key in asked["Keys"]]
            times = {number: {"made": {"N": f"{number * 100}"}} for number in numbers if number % 2 == 0}
            return {"Responses": {table: [{**key, **times.get(int(key["sk"]["N"]), {})} for key in asked["Keys"]]}}

        monkeypatch.setattr(sort_key, "read", answer)
        return requests

    def course(self, last_value: int | None, **options: Any) -> Course | None:
        """The course of a scope at 1500 seconds, to know where it was at 1000."""
        counter = Counter(sequence="sort-key", scope="ABC", last_value=last_value)
        return make("sort-key", **options).scopes.course(counter, 1500.0, [1000.0])

    def test_it_is_not_known(self, read: list[Mapping[str, Any]]) -> None:
        """Without the name of a time nothing is asked or told, and for a scope without numbers nothing is asked."""
        assert self.course(8) is None
        begun = self.course(None, time_name="made")
        assert begun is not None
        assert begun.value_at(500.0) == (0, True)
        assert read == []

    def test_it_is_asked(self, read: list[Mapping[str, Any]]) -> None:
        """Some items are asked for their times, and then those between, where the moment lies; none is of later."""
        told = self.course(16, time_name="made")
        assert told is not None
        assert (told.last_at, told.value_at(1000.0)) == (1500.0, (9, True))
        asked = [next(iter(request["RequestItems"].values())) for request in read]
        assert [[int(key["sk"]["N"]) for key in one["Keys"]] for one in asked] == [[1, 8, 12, 14, 15, 16], [9, 10, 11]]
        assert {one["ConsistentRead"] for one in asked} == {False}
        assert [[*one["ExpressionAttributeNames"].values()] for one in asked] == [["sk", "made"]] * 2
