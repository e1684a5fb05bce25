"""One call that stores items: which writes it makes, what it makes of an error, and what it answers and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.commit.retries import Deadline
from sequences.exceptions import InvalidItem, InvalidScope, InvalidToken, SequenceExhausted, SequenceUnavailable
from sequences.registry import strategies
from sequences.services import puts
from sequences.services.puts import PutCall, put, store
from sequences.types import Allocation

GAVE_UP = SequenceUnavailable("The engine is away.", attempts=1, seconds=1.0)
WRONG = InvalidItem("Too large.")
USED_UP = SequenceExhausted("No value is left.")


def allocation(value: int) -> Allocation:
    """An item that is stored under a value."""
    return Allocation(
        sequence="stub", scope="ABC", value=value, attempts=1, replayed=False, write_units=1.0, read_units=0.0
    )


class Stub:
    """A strategy that writes two items at a time, with these answers; an error in brackets is raised."""

    alias = "stub"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.writes: list[list[Any]] = []
        self.item_writer = SimpleNamespace(
            parts=lambda pendings: [pendings[place : place + 2] for place in range(0, len(pendings), 2)]
        )

    def put(self, scope: str, part: Sequence[Pending[Any]], deadline: Deadline) -> None:
        """Answer the requests of one write."""
        assert scope == "ABC"
        self.writes.append([pending.request.item for pending in part])
        for pending in part:
            answer = self.answers.pop(0)
            if isinstance(answer, list):
                raise answer[0]
            pending.settle(answer)

    def call(self, count: int, *later: Any) -> PutCall:
        """A call with so many items, which begins with this strategy, and then with the later ones."""
        return Call(count, [self, *later])


class Call(PutCall):
    """A call by strategies that are given, one each time that it begins."""

    def __init__(self, count: int, rules: list[Any]) -> None:
        super().__init__("stub", [{}] * count, "ABC", None, None)
        self.rules = rules

    def begin(self) -> None:
        self.strategy, self.counted, self.deadline = self.rules.pop(0), "ABC", Deadline()
        self.deadline.began -= 5 * len(self.rules)  # the first one, if there are two
        self.pendings = [Pending(PutRequest(item={"n": {"N": f"{n}"}})) for n in range(len(self.items))]


def told(call: PutCall) -> list[Any]:
    """The answers of all requests."""
    return [pending.answer for pending in call.pendings]


@pytest.mark.parametrize(
    ("scope", "token", "error"), [("#", None, InvalidScope), ("ABC", "a\n", InvalidToken), ("ABC", "", InvalidToken)]
)
def test_wrong_arguments(scope: str, token: str | None, error: type[Exception]) -> None:
    """They are refused before the sequence is looked for, also of items that are stored together."""
    with pytest.raises(error):
        PutCall("no such", [{}], scope, [token], None).begin()
    with pytest.raises(error):
        PutCall("no such", [{}], scope, [token], None, together=True).begin()


class TestStore:
    @pytest.mark.parametrize(
        ("answers", "got", "writes"),
        [
            ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], 3),
            ([1, WRONG, 3, WRONG, 5], [1, WRONG, 3, WRONG, 5], 3),
            ([1, 2, 3, GAVE_UP], [1, 2, 3, GAVE_UP, GAVE_UP], 2),
            ([GAVE_UP, 2], [GAVE_UP, 2, GAVE_UP, GAVE_UP, GAVE_UP], 1),
            ([1, 2, [GAVE_UP]], [1, 2, GAVE_UP, GAVE_UP, GAVE_UP], 2),
        ],
    )
    def test_many_writes(self, answers: list[Any], got: list[Any], writes: int) -> None:
        """Each part is one write; after one that gave up, raised or answered, the others are not tried."""
        stub = Stub(*answers)
        call = stub.call(5)
        call.begin()
        store(call.strategy, call.counted, call.pendings, call.deadline)
        assert told(call) == got
        assert len(stub.writes) == writes

    def test_another_error(self) -> None:
        """What concerns the whole call is its caller's to handle."""
        stub = Stub(1, [USED_UP])
        call = stub.call(3)
        call.begin()
        with pytest.raises(SequenceExhausted):
            store(call.strategy, call.counted, call.pendings, call.deadline)
        assert told(call) == [1, None, None]


class TestPut:
    @pytest.fixture
    def reports(self, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
        """What is reported of each call."""
        reports: list[list[Any]] = []

        def report(strategy: Any, scope: Any, pendings: Sequence[Pending[Any]]) -> None:
            assert (strategy.alias, scope) == ("stub", "ABC")
            reports.append([pending.answer for pending in pendings])

        monkeypatch.setattr(puts, "report", report)
        return reports

    @pytest.fixture
    def go_on(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """The errors after which a call is repeated."""
        errors: list[Any] = []
        monkeypatch.setattr(strategies, "go_on", lambda strategy, scope, error: error in errors)
        return errors

    def test_its_allocations(self, reports: list[list[Any]], go_on: list[Any]) -> None:
        """A call answers with the allocations of all its items, also of those that are stored with another."""
        call = Stub(allocation(1), allocation(2)).call(2)

        def answers(call: PutCall) -> list[Allocation]:
            call.pendings[1].rest = (allocation(3),)
            return call.allocations()

        assert [one.value for one in put(call, answers)] == [1, 2, 3]
        assert reports == [[allocation(1), allocation(2)]]

    def test_an_error_of_one_item(self, reports: list[list[Any]], go_on: list[Any]) -> None:
        """It is raised where allocations are asked for, and otherwise one of the answers; it is reported once."""
        raises, tells = (Stub(allocation(1), WRONG).call(2) for _ in range(2))
        with pytest.raises(InvalidItem):
            put(raises, PutCall.allocations)
        assert put(tells, PutCall.answers) == [allocation(1), WRONG]
        assert reports == [[allocation(1), WRONG]] * 2

    def test_an_error_of_the_call(self, reports: list[list[Any]], go_on: list[Any]) -> None:
        """It is the answer of all that have none. Where nothing is stored it is raised; it is reported, too."""
        call = Stub(WRONG, [USED_UP]).call(3)
        with pytest.raises(SequenceExhausted):
            put(call, PutCall.answers)
        assert reports == [[WRONG, USED_UP, USED_UP]]

    def test_an_error_of_the_call_after_a_write(self, reports: list[list[Any]], go_on: list[Any]) -> None:
        """It hides no item that is stored, unless all allocations are asked for."""
        raises, tells = (Stub(allocation(1), [USED_UP]).call(3) for _ in range(2))
        with pytest.raises(SequenceExhausted):
            put(raises, PutCall.allocations)
        answers = put(tells, PutCall.answers)
        assert reports == [answers] * 2 == [[allocation(1), USED_UP, USED_UP]] * 2

    def test_rules_that_have_changed(self, reports: list[list[Any]], go_on: list[Any]) -> None:
        """What failed by former rules is stored by those of now, by the first deadline; the rest has its answers."""
        go_on.append(USED_UP)
        first, second = Stub(allocation(1), USED_UP, WRONG, USED_UP), Stub(allocation(10), allocation(11))
        call = first.call(4, second)
        answers = put(call, PutCall.answers)
        assert answers == [allocation(1), allocation(10), WRONG, allocation(11)]
        assert second.writes == [[{"n": {"N": "1"}}, {"n": {"N": "3"}}]]
        assert 5 < call.deadline.spent < 10
        assert reports == [answers]

    @pytest.mark.parametrize("on", [False, True])
    def test_a_span(
        self, reports: list[list[Any]], go_on: list[Any], monkeypatch: pytest.MonkeyPatch, on: bool
    ) -> None:
        """While metrics are on, a call with all its writes is one span."""
        spans: list[tuple[str, ...]] = []

        @contextmanager
        def span(*named: str) -> Iterator[None]:
            spans.append(named)
            yield
            spans.append(("over",))

        monkeypatch.setattr(puts, "metrics", SimpleNamespace(on=on, call=span))
        stub = Stub(allocation(1))
        put(stub.call(1), PutCall.allocations)
        assert spans == ([("put", "stub"), ("over",)] if on else [])
