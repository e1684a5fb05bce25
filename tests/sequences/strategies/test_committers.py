"""How values are taken from a counter, by an addition or by a read and a write: requests, and their outcomes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sequences.commit.requests import Pending, PreparedWrite, Refusal, ReserveRequest, values_of
from sequences.dynamodb import expressions
from sequences.dynamodb.expressions import BORN, SINCE, CounterRow, Tally
from sequences.exceptions import CancellationReason, SequenceExhausted, WriteCancelled
from sequences.rows.counter_rows import CounterState
from sequences.rows.lru import LRU
from sequences.rows.numbers import Numbers
from sequences.strategies import atomic, optimistic
from sequences.strategies.atomic import Addition
from sequences.strategies.optimistic import _ReadThenWrite

KEY = {"scope": {"S": "ABC"}}
TALLY = Tally("d0", "h0", 3)
THIS_LIFE: Any = ("this life",)
DEADLINE: Any = SimpleNamespace(send="send")


class Counter:
    """A counter that gives 5, 10 and so on to 100, and what it is told."""

    alias, table = "stub", "counters"
    numbers = Numbers(alias="stub", start=5, step=5, maximum=100)
    layout = SimpleNamespace(alias="stub")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.known: int | None = None
        self.now = CounterState(20, 20, read_units=0.5)
        self.lives = SimpleNamespace(current=THIS_LIFE, are_still=lambda life: life == THIS_LIFE)
        self.evidence = SimpleNamespace(
            known=lambda scope: self.known, note=lambda *noted: self.told.append(("note", *noted))
        )
        self.tallies = SimpleNamespace(next=self.next, learn=lambda *learned: self.told.append(("learn", *learned)))
        for module in (atomic, optimistic):
            monkeypatch.setattr(module, "new_token", lambda: "a token")

    def key(self, scope: str) -> dict[str, Any]:
        assert scope == "ABC"
        return KEY

    def wall(self) -> float:
        return 7.9

    def row(self, last_value: int, token: str) -> CounterRow:
        return CounterRow(last_value=last_value, token=token, updated_at=7)

    def first_look(self, scope: str, send: object) -> float:
        self.told.append(("look", scope, send))
        return 1.5

    def state(self, scope: str, send: object) -> CounterState:
        return self.now

    def last_value(self, state: CounterState) -> int:
        assert state.last_value is not None
        return state.last_value

    def next(self, scope: str, now: int, given: int, *row: object) -> Tally:
        self.told.append(("tally", scope, now, given, *row))
        return TALLY

    def guarded(self, write: dict[str, Any]) -> dict[str, Any]:
        return {**write, "guarded": True}


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A counter whose last value is 20."""
    return Counter(monkeypatch)


def pendings(*counts: int) -> list[Pending[Any]]:
    """Requests for so many values each."""
    return [Pending(ReserveRequest(count=count)) for count in counts]


def refusal(write: PreparedWrite, old: dict[str, Any] | None = None) -> Refusal:
    """The refusal of a write by a counter that is stored like this."""
    return Refusal("ABC", write, WriteCancelled("no", (CancellationReason("no", old),)), DEADLINE)


def answers(write: PreparedWrite) -> list[list[int] | None]:
    """The values that the requests of a write got."""
    return [[*values_of(pending)] if pending.answer else None for pending in write.pendings]


class TestAddition:
    @pytest.mark.parametrize("known", [None, 15])
    def test_its_request(self, counter: Any, known: int | None) -> None:
        """It adds the values of all, where they fit, to a counter that is not below what is known, with their tally."""
        counter.known = known
        asked = pendings(1, 2)
        write = Addition(counter).prepare("ABC", asked, DEADLINE)
        request = expressions.add_to_counter(
            "counters", KEY, amount=15, before_start=0, room=85, highest_seen=known, token="a token", now=7
        )
        request = expressions.with_tally(expressions.unless_gapless(request), TALLY)
        assert write.request == {**request, "guarded": True}
        assert (write.operation, write.pendings, write.values) == ("update_item", tuple(asked), ())
        assert (write.token, write.life) == ("a token", THIS_LIFE)
        assert counter.told == [("look", "ABC", "send"), ("tally", "ABC", 7, 3)]
        assert [pending.read_units for pending in asked] == [0.75, 0.75]

    @pytest.mark.parametrize("life", [THIS_LIFE, ("another",)])
    @pytest.mark.parametrize("first", [False, True])
    def test_its_answer(self, counter: Any, life: Any, first: bool) -> None:
        """Each gets its share of the new values; the first one in an hour shows the tallies, in its own tables."""
        committer = Addition(counter)
        write = committer.prepare("ABC", pendings(1, 2), DEADLINE)
        write = PreparedWrite(operation="", request={}, pendings=write.pendings, values=(), token="", life=life)
        counter.told.clear()
        row = {"last_value": {"N": "35"}, "highest": {"N": "35"}, **({SINCE: {"N": "0"}} if first else {})}
        committer.committed("ABC", write, {"Attributes": row})
        assert answers(write) == [[25], [30, 35]]
        is_same = life == THIS_LIFE
        assert counter.told == [("learn", "ABC", row, 7.9)] * (first and is_same) + [("note", "ABC", 35)] * is_same

    def test_a_lost_answer(self, counter: Any) -> None:
        """A counter with its own token was moved by it."""
        committer = Addition(counter)
        write = committer.prepare("ABC", pendings(1, 2), DEADLINE)
        committer.refused(refusal(write, {"token": "a token", "last_value": 35}))
        assert answers(write) == [[25], [30, 35]]

    @pytest.mark.parametrize("old", [None, {"token": "another", "last_value": 35}])
    def test_the_end_is_near(self, counter: Any, old: dict[str, Any] | None) -> None:
        """A refusal tells for how many there are values left; the next addition is for them alone."""
        committer = Addition(counter)
        asked = pendings(1, 2, 1)
        counter.now = CounterState(85, 85)
        committer.refused(refusal(committer.prepare("ABC", asked, DEADLINE), old))
        assert [pending.answer for pending in asked] == [None] * 3
        following = committer.prepare("ABC", asked, DEADLINE)
        assert following.pendings == tuple(asked[:2])
        assert committer.prepare("ABC", asked, DEADLINE).pendings == tuple(asked)

    def test_none_is_left(self, counter: Any) -> None:
        """Where not even the first one gets its values, all are refused."""
        committer = Addition(counter)
        write = committer.prepare("ABC", pendings(2, 1), DEADLINE)
        counter.now = CounterState(95, 95)
        with pytest.raises(SequenceExhausted):
            committer.refused(refusal(write))

    def test_the_birth_of_its_counter(self, counter: Any) -> None:
        """A reservation of a block notes the birth of its counter, the first one of a scope."""
        births: LRU[str] = LRU()
        committer = Addition(counter, births)
        for born in (None, "first", "second"):
            write = committer.prepare("ABC", pendings(1), DEADLINE)
            row = {"last_value": {"N": "25"}, **({BORN: {"S": born}} if born else {})}
            committer.committed("ABC", write, {"Attributes": row})
            assert answers(write) == [[25]]
            assert births.get("ABC") == (born and "first")


class TestReadThenWrite:
    @pytest.mark.parametrize("by_put", [False, True])
    def test_its_request(self, counter: Any, by_put: bool) -> None:
        """It moves the counter from where it was read; a put keeps all of the row but outdated tallies."""
        stored = {
            "last_value": {"N": "20"},
            "token": {"S": "of before"},
            "d0": {"N": "4"},
            "d-": {"N": "1"},
            "h999": {"N": "1"},
        }
        counter.now = CounterState(20, 20, read_units=0.5, row=stored)
        asked = pendings(1, 2)
        write = _ReadThenWrite(counter, by_put=by_put).prepare("ABC", asked, DEADLINE)
        row = CounterRow(last_value=35, token="a token", updated_at=7)
        if by_put:
            read = {name: value for name, value in stored.items() if name not in ("d0", "h999")}
            tallies = {"d0": {"N": "7"}, "h0": {"N": "3"}, SINCE: {"N": "7"}}
            request = expressions.put_counter("counters", KEY, row, seen=20, read=read, tallies=tallies)
        else:
            request = expressions.with_tally(expressions.advance_counter("counters", KEY, row, seen=20), TALLY)
        wanted = {**expressions.unless_gapless(request), "guarded": True}
        assert write.request == expressions.single_write(wanted)
        assert (write.operation, write.pendings) == ("put_item" if by_put else "update_item", tuple(asked))
        assert (write.values, write.token, write.life) == ((35,), "a token", THIS_LIFE)
        assert counter.told == [("look", "ABC", "send"), ("tally", "ABC", 7, 3, stored)]
        assert [pending.read_units for pending in asked] == [1.0, 1.0]

    def test_a_counter_that_begins(self, counter: Any) -> None:
        """Without a row there are no tallies to keep."""
        _ReadThenWrite(counter, by_put=True).prepare("ABC", pendings(1), DEADLINE)
        assert counter.told[-1] == ("tally", "ABC", 7, 1, {})

    def test_the_end_is_near(self, counter: Any) -> None:
        """Those who still get values are written, the first ones."""
        counter.now = CounterState(85, 85)
        asked = pendings(2, 1, 1)
        assert _ReadThenWrite(counter, by_put=False).prepare("ABC", asked, DEADLINE).pendings == tuple(asked[:2])

    def test_its_answer(self, counter: Any) -> None:
        """Each gets its share of the values up to the one that was written."""
        committer = _ReadThenWrite(counter, by_put=False)
        write = committer.prepare("ABC", pendings(1, 2), DEADLINE)
        committer.committed("ABC", write, {})
        assert answers(write) == [[25], [30, 35]]

    @pytest.mark.parametrize(
        ("old", "got"), [({"token": "a token"}, [[25]]), ({"token": "another"}, [None]), (None, [None])]
    )
    def test_a_refusal(self, counter: Any, old: dict[str, Any] | None, got: list[Any]) -> None:
        """A counter with its own token was written by it; otherwise it is read again."""
        committer = _ReadThenWrite(counter, by_put=False)
        write = committer.prepare("ABC", pendings(1), DEADLINE)
        committer.refused(refusal(write, old))
        assert answers(write) == got
