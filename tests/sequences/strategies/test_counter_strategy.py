"""What strategies share that take a value first: what they ask of their counter, and who gets which value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sequences.commit.requests import Pending, PreparedWrite, PutRequest, ReserveRequest
from sequences.dynamodb.expressions import GAPLESS_AFTER
from sequences.exceptions import (
    OperationNotSupported,
    RulesChanged,
    SequenceContention,
    SequenceExhausted,
)
from sequences.registry import strategies
from sequences.rows.counter_rows import CounterState
from sequences.rows.numbers import Numbers
from sequences.strategies import counter_strategy
from sequences.strategies.counter_strategy import (
    CounterCommitter,
    CounterStrategy,
    advance_to,
    counter_of,
    delete_counter,
)
from sequences.types import Allocation
from tests.sequences.support import make

pytestmark = pytest.mark.usefixtures("configured")
Told = list[tuple[Any, ...]]
USED_UP = SequenceExhausted("No value is left.")


def noting(told: Told, name: str, answer: Any = None) -> Callable[..., Any]:
    """A function that notes how it is called."""

    def note(*given: Any, **named: Any) -> Any:
        told.append((name, *given, *named.items()))
        return answer

    return note


def deadline() -> Any:
    """A deadline that is known again."""
    return SimpleNamespace(send="send", read="read", seconds=1.0)


NOW = deadline()


def mover(told: Told, *, ordered: bool = True) -> Any:
    """A strategy whose counter is moved, and that notes what it is asked."""
    return SimpleNamespace(
        deadline=lambda: NOW,
        ordered_across_processes=ordered,
        gapless=False,
        lives=SimpleNamespace(bind=noting(told, "bind")),
        counter=SimpleNamespace(advance_to=noting(told, "advance", 9), delete=noting(told, "delete", True)),
        changed=noting(told, "changed"),
    )


class TestMoves:
    @pytest.mark.parametrize("ordered", [True, False])
    @pytest.mark.parametrize("how", [{}, {"only_new": True}])
    def test_an_advance(self, ordered: bool, how: dict[str, bool]) -> None:
        """The counter is moved, in known tables, and blocks are dropped where there are any; the strategy follows."""
        told: Told = []
        assert advance_to(mover(told, ordered=ordered), "ABC", 7, **how) == 9
        assert told == [
            ("bind", "send", NOW),
            ("advance", "ABC", 7, NOW, ("only_new", bool(how)), ("gapless", False), ("drops", not ordered)),
            ("changed", "ABC", 9),
        ]

    def test_a_deletion(self) -> None:
        """A counter is deleted in known tables, and its scope has no value then."""
        told: Told = []
        assert delete_counter(mover(told), "ABC") is True
        assert told == [("bind", "send", NOW), ("delete", "ABC", NOW), ("changed", "ABC", None)]

    def test_a_strategy_without_a_counter(self) -> None:
        """What has no counter is refused by its name, before anything is asked."""
        moves: tuple[Callable[[Any], object], ...] = (
            counter_of,
            lambda one: advance_to(one, "ABC", 7),
            lambda one: delete_counter(one, "ABC"),
        )
        for move in moves:
            with pytest.raises(OperationNotSupported, match=r"'sort-key' \(SortKeyMaximum\) has no counter to move"):
                move(strategies["sort-key"])
        assert counter_of(strategies["atomic"]) is strategies["atomic"].counter


@pytest.mark.parametrize(("more", "version"), [({}, None), ({"SERIES": "series"}, 0)])
def test_which_lines_a_counter_knows(more: dict[str, Any], version: int | None) -> None:
    """Without SERIES a counter knows of no lines of its scopes; with it, it begins before the first of them."""
    assert counter_of(make("atomic", **more)).version == version


class TestTakers:
    @pytest.fixture
    def strategy(self) -> CounterStrategy:
        """A strategy that gives 1001, 1011 and so on."""
        made = make("atomic-from-1001-by-10")
        assert isinstance(made, CounterStrategy)
        return made

    @pytest.fixture
    def told(self, strategy: CounterStrategy, monkeypatch: pytest.MonkeyPatch) -> Told:
        """What the strategy asks of its parts, which do nothing."""
        told: Told = []
        for part, method in (
            (strategy.lives, "bind"),
            (strategy.scope_list, "add"),
            (strategy.reservations, "submit"),
            (strategy.counter, "tidy"),
            (strategy.counter, "catch_up"),
            (strategy.items, "submit"),
        ):
            monkeypatch.setattr(part, method, noting(told, f"{type(part).__name__}.{method}"))
        check = staticmethod(noting(told, "ItemLayout.check_scope"))
        monkeypatch.setattr(type(strategy.layout), "check_scope", check)
        return told

    def test_many_callers(self, strategy: CounterStrategy, told: Told) -> None:
        """Their values are taken in known tables by one write, in a listed scope, and the counter is tidied."""
        one, two = Pending(ReserveRequest(count=1)), Pending(ReserveRequest(count=2))
        now = deadline()
        strategy.reserve_all("ABC", [one, two], now)
        assert told == [
            ("TableLives.bind", "send", now),
            ("ScopeList.add", "ABC", "read", one),
            ("CommitQueues.submit", "ABC", [one, two], now),
            ("StoredCounter.tidy", "ABC", "send"),
        ]

    def test_one_caller(self, strategy: CounterStrategy, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
        """One caller gets the values of its own request, or its error."""
        answers: list[Any] = [range(1001, 1031, 10), SequenceContention("", attempts=1, seconds=1.0)]

        def submit(scope: str, pendings: Sequence[Pending[Any]], _: object) -> None:
            assert (scope, pendings[0].request.count, pendings[0].deadline) == ("ABC", 3, now)
            pendings[0].settle(answers.pop(0))

        now = deadline()
        monkeypatch.setattr(strategy.reservations, "submit", submit)
        assert strategy.reserve("ABC", 3, now) == range(1001, 1031, 10)
        assert [one[:3] for one in told] == [
            ("TableLives.bind", "send", now),
            ("ScopeList.add", "ABC", "read"),
            ("StoredCounter.tidy", "ABC", "send"),
        ]
        with pytest.raises(SequenceContention):
            strategy.take("ABC", 3, now)

    @pytest.mark.parametrize("replayed", [True, False])
    def test_with_a_token(self, strategy: CounterStrategy, monkeypatch: pytest.MonkeyPatch, replayed: bool) -> None:
        """The values of a token follow the first one by STEP, and it is told whether they are a repeat."""

        def put(scope: str, pendings: Sequence[Pending[PutRequest]], _: object) -> None:
            request = pendings[0].request
            assert (scope, request.count, request.token, request.item) == ("ABC", 3, "a token", None)
            pendings[0].settle(
                Allocation(
                    sequence="",
                    scope="ABC",
                    value=1021,
                    attempts=1,
                    replayed=replayed,
                    write_units=0,
                    read_units=0,
                )
            )

        monkeypatch.setattr(strategy, "put", put)
        assert strategy.reserve_once("ABC", 3, "a token", None, deadline()) == (range(1021, 1051, 10), replayed)

    def test_a_put(self, strategy: CounterStrategy, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
        """A repeat is answered from its marker; the others of the tables' life are stored together."""
        new, repeat, former = (Pending(PutRequest(item={}, token=token)) for token in ("a", "b", "c"))

        def look(scope: str, pending: Pending[PutRequest], _: object) -> None:
            told.append(("look", scope, pending))
            if pending is repeat:
                pending.settle(USED_UP)

        monkeypatch.setattr(strategy.lives, "takeable", lambda pendings: pendings[:2])
        monkeypatch.setattr(strategy.item_writer.answers, "repeat_if_marked", look)
        now = deadline()
        strategy.put("ABC", [new, repeat, former], now)
        assert told == [
            ("ItemLayout.check_scope", "ABC"),
            ("TableLives.bind", "send", now),
            ("look", "ABC", new),
            ("look", "ABC", repeat),
            ("CommitQueues.submit", "ABC", [new], now),
        ]

    def test_a_number_that_is_taken(self, strategy: CounterStrategy, monkeypatch: pytest.MonkeyPatch) -> None:
        """The request takes another value, and the counter is behind that number."""
        told: Told = []
        monkeypatch.setattr(strategy.counter.memory, "fell_behind", noting(told, "behind"))
        pending = Pending(PutRequest(item={}))
        pending.value = 1001
        strategy.number_taken("ABC", pending, 1001)
        assert pending.value is None
        assert told == [("behind", "ABC", 1001)]

    def test_the_last_value(self, strategy: CounterStrategy, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is read of a frozen scope, too."""
        told: Told = []
        monkeypatch.setattr(strategy.counter, "state", noting(told, "state", CounterState(1031, None)))
        assert strategy.last_value("ABC") == 1031
        assert told[0][1] == "ABC"
        assert told[0][3:] == (("even_frozen", True),)


class TestShares:
    """How values are shared by the requests of one write, where so many are left."""

    def assign(self, left: int, *counts: int, given: Sequence[int] = ()) -> tuple[list[int], list[tuple[int, float]]]:
        """What the counter is asked for, and what each request gets: its first value and its write units."""
        made = make("atomic-from-1001-by-10")
        assert isinstance(made, CounterStrategy)
        asked: list[int] = []
        values = iter(range(1001, 2001, 10))

        def take(self: CounterStrategy, scope: str, count: int, deadline: object) -> Pending[ReserveRequest]:
            nonlocal left
            asked.append(count)
            if count > left:
                raise USED_UP
            left -= count
            taken = Pending(ReserveRequest(count=count))
            taken.settle([next(values) for _ in range(count)])
            taken.charge(write_units=1.0, read_units=0.5)
            return taken

        pendings = [Pending(PutRequest(item={}, count=count)) for count in counts]
        for pending, value in zip(pendings, given, strict=False):
            pending.value = value
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CounterStrategy, "take", take)
            patch.setattr(made.counter, "catch_up", noting([], ""))
            assigned = made.assign("ABC", pendings, deadline())
        assert [pending.read_units * 2 for pending in pendings] == [pending.write_units for pending in pendings]
        got = list(zip(assigned.pendings, assigned.values, strict=True))
        assert [pending for pending, _ in got] == [pending for pending in pendings if pending.value is not None]
        assert [pending.value for pending, _ in got] == [value for _, value in got]
        return asked, [(value, pending.write_units) for pending, value in got]

    @pytest.mark.parametrize(
        ("counts", "asked", "got"),
        [
            ([1], [1], [(1001, 1.0)]),
            ([1, 1], [2], [(1001, 0.5), (1011, 0.5)]),
            ([3], [3], [(1001, 1.0)]),
            ([1, 3, 1, 2], [2, 3, 2], [(1001, 0.5), (1021, 1.0), (1011, 0.5), (1051, 1.0)]),
        ],
    )
    def test_enough_is_left(self, counts: list[int], asked: list[int], got: list[tuple[int, float]]) -> None:
        """Requests of one value take theirs together, and the others one by one, each from the counter."""
        assert self.assign(100, *counts) == (asked, got)

    @pytest.mark.parametrize(
        ("left", "asked", "got"),
        [(1, [6, 3, 1], [1001]), (3, [6, 3], [1001, 1011, 1021]), (5, [6, 3], [1001, 1011, 1021])],
    )
    def test_too_few_are_left(self, left: int, asked: list[int], got: list[int]) -> None:
        """Where not enough is left, half of the requests try, the first ones."""
        told, values = self.assign(left, *[1] * 6)
        assert (told, [value for value, _ in values]) == (asked, got)

    def test_none_is_left(self) -> None:
        """Where not even the first request gets a value, all are refused."""
        with pytest.raises(SequenceExhausted):
            self.assign(0, 1, 1)
        with pytest.raises(SequenceExhausted):
            self.assign(1, 2)

    def test_those_that_have_a_value(self) -> None:
        """A request keeps its value, and is served though none is left for the others."""
        assert self.assign(0, 1, 1, given=[7]) == ([1], [(7, 0.0)])
        assert self.assign(1, 1, 1, given=[7]) == ([1], [(7, 0.0), (1001, 1.0)])


class TestCommitter:
    @pytest.fixture
    def counter(self) -> Any:
        """A counter that gives 5, 10 and so on, and notes what it is told."""
        told: Told = []
        return SimpleNamespace(
            alias="stub",
            told=told,
            numbers=Numbers(alias="stub", start=5, step=5, maximum=100),
            layout=SimpleNamespace(alias="stub"),
            lives=SimpleNamespace(are_still=lambda life: life == ("this life",)),
            evidence=SimpleNamespace(note=noting(told, "note")),
            state=lambda scope, send: CounterState(
                5, 5, row={GAPLESS_AFTER: {"N": "5"}} if scope == "gapless" else None
            ),
        )

    @pytest.mark.parametrize("on", [True, False])
    @pytest.mark.parametrize(("life", "noted"), [("this life", True), ("another", False)])
    def test_who_gets_which(
        self, counter: Any, monkeypatch: pytest.MonkeyPatch, on: bool, life: Any, noted: bool
    ) -> None:
        """Values up to the last one are given in order, and remembered in the life of the table that they are of."""
        told: Told = []
        monkeypatch.setattr(counter_strategy, "metrics", SimpleNamespace(on=on, wrote=noting(told, "wrote")))
        pendings = tuple(Pending(ReserveRequest(count=count)) for count in (1, 3, 1))
        write = PreparedWrite(operation="", request={}, pendings=pendings, values=(), token="", life=(life,))
        _Committer(counter).taken("ABC", write, 40)
        assert [pending.answer for pending in pendings] == [range(20, 25, 5), range(25, 40, 5), range(40, 45, 5)]
        assert counter.told == [("note", "ABC", 40)] * noted
        assert told == [("wrote", "stub", "values", 5)] * on

    def test_a_counter_of_a_gapless_strategy(self, counter: Any) -> None:
        """A counter that was switched to a gapless strategy is refused with its value; another one is as it is."""
        with pytest.raises(RulesChanged, match="leaves no number out after 5"):
            _Committer(counter).read("gapless", deadline())
        assert _Committer(counter).read("ABC", deadline()) == CounterState(5, 5)


class _Committer(CounterCommitter):
    """One that prepares nothing."""

    def prepare(self, *_: object) -> None:
        """Nothing is prepared."""

    def committed(self, *_: object) -> None:
        """Nothing is stored."""

    def refused(self, *_: object) -> None:
        """Nothing is refused."""
