"""Taking values: which strategy is asked, for which scope and day, and what is said of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from sequences import get_last_value, get_next_value, get_next_values, put_next_together, services
from sequences.exceptions import InvalidScope, SequenceError, SequenceExhausted, SequenceUnavailable
from sequences.registry import strategies
from sequences.services import reserve_values
from sequences.signals import value_allocated
from sequences.types import Reservation

DAY = datetime.date(2026, 4, 1)
AWAY, USED_UP = SequenceUnavailable("away", attempts=1, seconds=1.25), SequenceExhausted("No value is left.")


class Stub:
    """A strategy that gives these values, or raises these errors, and notes what it is asked."""

    alias = "stub"
    supports_reserve = True

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.answers: list[int | SequenceError] = [7]
        self.naming = SimpleNamespace(is_plain=True, limits=None, dated=self.dated)
        self.numbers = SimpleNamespace(nearly_used_up=90)
        self.changes: list[SequenceError] = []
        self.metrics = SimpleNamespace(on=False, call=self.span, answered=self.note("metrics"))
        monkeypatch.setattr(strategies, "taking", lambda sequence: self)
        monkeypatch.setattr(strategies, "of", self.of)
        monkeypatch.setattr(strategies, "go_on", lambda strategy, scope, error: error in self.changes)
        monkeypatch.setattr(services, "failed", self.note("failed"))
        monkeypatch.setattr(services, "notify", self.note("notify"))
        monkeypatch.setattr(services, "metrics", self.metrics)
        monkeypatch.setattr(value_allocated, "receivers", [])

    def note(self, name: str) -> Callable[..., None]:
        """A function that notes how it is called, without this strategy."""

        def note(*given: Any, **named: Any) -> None:
            self.told.append((name, *(one for one in given if one is not self), *named.items()))

        return note

    @contextmanager
    def span(self, *named: str) -> Iterator[None]:
        """A span."""
        self.told.append(("span", *named))
        yield
        self.told.append(("over",))

    def of(self, *asked: Any, even_ended: bool = False) -> Stub:
        self.told.append(("of", *asked))
        return self

    def dated(self, scope: str | None, date: Any, period: str | None = None, **_: bool) -> tuple[str, datetime.date]:
        return f"{scope} of {date} {period}" if period else f"{scope} of {date}", DAY

    def limit(self) -> None:
        """Let only some days be right."""
        self.naming.is_plain, self.naming.limits = False, SimpleNamespace(require=self.note("require"))

    def deadline(self, began: float) -> Any:
        return SimpleNamespace(spent=2.5)

    def _answer(self) -> int:
        answer = self.answers.pop(0)
        if isinstance(answer, SequenceError):
            raise answer
        return answer

    def next_value(self, scope: Any) -> int:
        self.told.append(("next", scope))
        return self._answer()

    def reserve(self, scope: Any, count: int, deadline: object) -> range:
        self.told.append(("reserve", scope, count))
        first = self._answer()
        return range(first, first + count)

    def reserve_once(self, scope: Any, count: int, token: str, day: Any, deadline: object) -> tuple[range, bool]:
        self.told.append(("once", scope, count, token, day))
        first = self._answer()
        return range(first, first + count), True

    def last_value(self, scope: Any) -> int:
        self.told.append(("last", scope))
        return self._answer()


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """The strategy of every sequence."""
    return Stub(monkeypatch)


class TestOneValue:
    def test_the_short_way(self, stub: Stub) -> None:
        """A plain value is asked for at once, and nothing is said of it while nobody listens."""
        assert get_next_value("stub", scope="ABC") == 7
        assert stub.told == [("next", "ABC")]

    @pytest.mark.parametrize(("value", "told"), [(89, False), (90, True)])
    def test_the_end_is_told(self, stub: Stub, value: int, told: bool) -> None:
        """From a value near the end on there may be somebody to warn."""
        stub.answers = [value]
        get_next_value("stub")
        assert stub.told == [("next", None), *[("notify", None, [value])] * told]

    def test_somebody_listens(self, stub: Stub) -> None:
        """A receiver of values is told of each."""
        value_allocated.receivers = [object()]
        get_next_value("stub")
        assert stub.told == [("next", None), ("notify", None, [7])]

    @pytest.mark.parametrize(
        ("date", "plain", "scope"), [(DAY, True, "ABC of 2026-04-01"), (None, False, "ABC of None")]
    )
    def test_in_a_period(self, stub: Stub, date: datetime.date | None, plain: bool, scope: str) -> None:
        """With a date, or where the sequence needs one, it counts in the period of the day."""
        stub.naming.is_plain = plain
        get_next_value("stub", scope="ABC", date=date)
        assert stub.told == [("next", scope)]

    def test_days_that_are_wrong(self, stub: Stub) -> None:
        """Where only some days are right, the day is looked at first."""
        stub.limit()
        get_next_value("stub", scope="ABC")
        assert stub.told == [("require", DAY), ("next", "ABC of None")]

    @pytest.mark.parametrize(("error", "seconds"), [(AWAY, 1.25), (USED_UP, 0.0)])
    def test_an_error(self, stub: Stub, error: SequenceError, seconds: float) -> None:
        """It is raised, and said with the seconds that it took, if it knows them."""
        stub.answers = [error]
        with pytest.raises(type(error)):
            get_next_value("stub", scope="ABC")
        assert stub.told == [("next", "ABC"), ("failed", "ABC", error, seconds)]

    @pytest.mark.parametrize("way", ["lines", "token", "metrics"])
    def test_the_long_way(self, stub: Stub, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
        """With lines, a token or metrics it is one of many values."""
        monkeypatch.setattr(strategies, "taking", lambda sequence: None if way == "lines" else stub)
        stub.metrics.on = way == "metrics"
        assert get_next_value("stub", scope="ABC", idempotency_token="t" if way == "token" else None, date=DAY) == 7
        assert stub.told[0] == ("of", "stub", "ABC", DAY, None)
        assert ("once" if way == "token" else "reserve") in [one[0] for one in stub.told]


class TestManyValues:
    def test_values(self, stub: Stub) -> None:
        """They are taken in the period of their day, and told."""
        assert reserve_values(3, "stub", scope="ABC", date=DAY) == Reservation(values=range(7, 10), replayed=False)
        scope = "ABC of 2026-04-01"
        assert stub.told == [
            ("of", "stub", "ABC", DAY, None),
            ("reserve", scope, 3),
            ("notify", scope, range(7, 10), ("replayed", False)),
        ]

    def test_with_a_token(self, stub: Stub) -> None:
        """A token has its day, which is right if it is a repeat; that is told."""
        stub.limit()
        assert list(get_next_values(3, "stub", scope="ABC", idempotency_token="t", date=DAY)) == [7, 8, 9]
        scope = "ABC of 2026-04-01"
        assert stub.told[1:] == [("once", scope, 3, "t", DAY), ("notify", scope, range(7, 10), ("replayed", True))]

    def test_days_that_are_wrong(self, stub: Stub) -> None:
        """Without a token the day is looked at first."""
        stub.limit()
        get_next_values(3, "stub", scope="ABC")
        assert stub.told[1:3] == [("require", DAY), ("reserve", "ABC of None", 3)]

    @pytest.mark.parametrize("on", [False, True])
    def test_rules_that_have_changed(self, stub: Stub, on: bool) -> None:
        """After a change of the rules it is repeated by those of now; what fails then is said once, and raised."""
        stub.answers, stub.changes, stub.metrics.on = [USED_UP, AWAY], [USED_UP], on
        with pytest.raises(SequenceUnavailable):
            reserve_values(3, "stub", scope="ABC")
        told = [one for one in stub.told if one[0] in ("failed", "metrics", "of")]
        assert told == [
            *[("of", "stub", "ABC", None, None)] * 2,
            *[("metrics", "stub", [AWAY], 2.5)] * on,
            ("failed", "ABC of None", AWAY, 2.5),
        ]

    def test_metrics(self, stub: Stub) -> None:
        """While metrics are on, a call is a span, and its answer is told."""
        stub.metrics.on = True
        reserve_values(3, "stub", scope="ABC", idempotency_token="t")
        assert [one for one in stub.told if one[0] in ("span", "over", "metrics", "once")] == [
            ("span", "take", "stub"),
            ("once", "ABC of None", 3, "t", DAY),
            ("over",),
            ("metrics", "stub", [range(7, 10)], 2.5, ("replayed", True)),
        ]


def test_the_last_value(stub: Stub) -> None:
    """It is asked of the strategy of the day, or of the period, in the scope that is counted then."""
    assert get_last_value("stub", scope="ABC", period="2026") == 7
    assert stub.told == [("of", "stub", "ABC", None, "2026"), ("last", "ABC of None 2026")]


@pytest.mark.parametrize(
    "use",
    [
        lambda scope: get_next_value("stub", scope=scope),
        lambda scope: reserve_values(1, "stub", scope=scope),
        lambda scope: get_last_value("stub", scope=scope),
        lambda scope: put_next_together("stub", [{}], scope=scope),
    ],
)
def test_a_wrong_scope(stub: Stub, use: Callable[[str], object]) -> None:
    """It is refused before anybody is asked."""
    with pytest.raises(InvalidScope):
        use("#")
    assert stub.told == []
