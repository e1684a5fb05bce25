"""The first look at a scope by a later line: what moves its counter, what explains that, and what is not repeated."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.commit.retries import Timing
from sequences.dynamodb import expressions
from sequences.exceptions import NotWritten, SequenceExhausted, WriteCancelled
from sequences.rows.history import ScopeList
from sequences.rows.numbers import Numbers
from sequences.strategies import first_look
from sequences.strategies.first_look import FirstLook
from sequences.types import Change, Dated

APRIL = Dated("ABC", "2026-04")
NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


class Stub(SimpleNamespace):
    """What others may refer to weakly."""


def stub(**parts: Any) -> Any:
    """A part of a strategy that has these parts."""
    return Stub(**parts)


class Line:
    """A line that begins at 20, and gives 20, 30 and so on, with the counter of its scope."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.last_value: int | None = 7
        self.races = 0
        self.pauses: list[float] = []
        self.opening: Any = None
        self.reads = 0
        self.listed: list[tuple[Any, ...]] = []
        self.noted: list[tuple[Any, ...]] = []
        self.sent: list[tuple[str, Mapping[str, Any]]] = []
        counter = stub(
            table="counters",
            key=lambda scope: {"scope": {"S": f"{scope}"}},
            row=lambda value, token: expressions.CounterRow(last_value=value, token=token, updated_at=5),
            guarded=lambda write: {**write, "guarded": True},
            state=self.state,
            closings=stub(opening=lambda scope, state, send: self.opening),
            evidence=stub(note=lambda *noted: self.noted.append(noted)),
        )
        history = stub(is_apart=True, put=lambda change, token: {"TableName": "history", "Item": (change, token)})
        self.strategy = stub(
            alias="stub",
            counter=counter,
            history=history,
            numbers=Numbers(alias="stub", start=20, step=10, maximum=40),
            timing=Timing(sleep=self.pauses.append, uniform=lambda least, most: most),
            wall=NOON.timestamp,
            supports_reserve=True,
        )
        monkeypatch.setattr(first_look, "new_token", lambda: "a token")
        monkeypatch.setattr(ScopeList, "add", lambda _, *given, **how: self.listed.append((*given, how)))
        self.looks = FirstLook(self.strategy, True, 10)
        self.pending = Pending(PutRequest(item={}))

    def state(self, scope: object, send: object) -> SimpleNamespace:
        assert (scope, send) == (APRIL, self.send)
        self.reads += 1
        return SimpleNamespace(last_value=self.last_value)

    def send(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Store the transaction, or lose a race against another process."""
        self.sent.append((operation, request))
        if self.races:
            self.races -= 1
            raise WriteCancelled("no", ())
        self.last_value = 10
        return {}

    def look(self, **how: bool) -> None:
        """Look at the scope, before a number is given in it."""
        self.looks.add(APRIL, self.send, self.pending, **how)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    """A line in a scope whose counter is at 7."""
    return Line(monkeypatch)


@pytest.mark.parametrize("before", [7, None])
def test_the_counter_is_moved(line: Line, before: int | None) -> None:
    """A counter before the range is moved to where that begins, with a line in the history that explains the gap."""
    line.last_value = before
    line.look()
    row = line.strategy.counter.row(10, "a token")
    move = expressions.advance_counter("counters", {"scope": {"S": f"{APRIL}"}}, row, seen=before, drops=True)
    change = Change(
        sequence="stub",
        scope="ABC",
        period="2026-04",
        kind="series",
        by="sequences",
        at=NOON,
        reason="The next line begins at 20.",
        before=before,
        after=10,
    )
    actions = [{**move, "guarded": True}, line.strategy.history.put(change, "a token")]
    assert line.sent == [("transact_write_items", expressions.transaction(actions, request_token="a token"))]
    assert line.noted == [(APRIL, 10)]


def test_a_scope_that_begins(line: Line) -> None:
    """The first write of a scope in a period is stored only while the period stays open, and notes when it will not."""
    line.last_value, about = None, {"since": 9, "by": "ana", "at": "then", "reason": "over"}
    line.opening = stub(closing=about, unchanged={"ConditionCheck": "the row of the period"})
    line.look()
    ((_, request),) = line.sent
    advance, _, check = request["TransactItems"]
    assert check == line.opening.unchanged
    assert advance["Update"]["ExpressionAttributeValues"][":closing"]["M"]["since"] == {"N": "9"}


@pytest.mark.parametrize("last_value", [10, 30])
def test_a_range_that_has_begun(line: Line, last_value: int) -> None:
    """A counter that is there already is left alone."""
    line.last_value = last_value
    line.strategy.supports_reserve = False
    line.look()
    assert (line.sent, line.noted) == ([], [])


def test_it_looks_once(line: Line) -> None:
    """A process looks once at a scope, until it forgets everything; the scope is listed each time."""
    line.look(is_new=True)
    reads = line.reads
    line.look()
    assert line.reads == reads
    assert line.listed == [(APRIL, line.send, line.pending, {"is_new": new}) for new in (True, False)]
    line.looks.forget()
    line.look()
    assert line.reads == reads + 1


def test_a_lost_race(line: Line) -> None:
    """After a lost race the counter is read again; nothing is known of it before."""
    line.races = 1
    line.look()
    assert (len(line.sent), line.reads, line.noted) == (2, 3, [(APRIL, 10)])


def test_refusals_are_spaced(line: Line) -> None:
    """After each write that was refused there is a pause, for capacity units may lack."""
    line.races = 3
    line.look()
    assert line.pauses == [first_look.LONGEST_PAUSE] * 3


def test_more_than_the_range_has(line: Line) -> None:
    """A request for more values than the range of the line has moves nothing."""
    line.pending = Pending(PutRequest(item={}, count=4))
    with pytest.raises(SequenceExhausted):
        line.look()
    assert (line.sent, line.noted) == ([], [])


def test_another_process_moves_it(line: Line) -> None:
    """A process whose race another one has won goes on with its own write."""
    line.strategy.supports_reserve, line.races = False, 1
    original = line.send

    def lose(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        line.last_value = 10
        return original(operation, request)

    line.send = lose  # type: ignore[method-assign]
    line.look()
    assert (len(line.sent), line.noted) == (1, [])


def test_a_write_that_is_prepared(line: Line) -> None:
    """A write with numbers by the counter of before is prepared again, once."""
    line.strategy.supports_reserve = False
    with pytest.raises(NotWritten, match="prepared again"):
        line.look()
    line.look()
    assert len(line.sent) == 1
