"""The signals: who is told of a value, and what a receiver cannot break."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sequences import aget_next_values, changes, get_next_value, get_next_values, put_next, put_next_many
from sequences.exceptions import SequenceContention
from sequences.registry import strategies
from sequences.signals import contention, value_allocated, value_voided
from sequences.strategies import Strategy
from tests.sequences.support import Clock, Wire, set_counter, wait_until

pytestmark = pytest.mark.usefixtures("configured")
Told = list[dict[str, Any]]


@pytest.fixture
def told(scope: str) -> Iterator[Told]:
    """What a receiver of these signals was told of the test's scope: a thread of an earlier test may still send one."""
    heard: Told = []

    def hear(**told: Any) -> None:
        if scope in (told.get("scope"), getattr(told.get("change"), "scope", None)):
            heard.append(told)

    for signal in (value_allocated, value_voided, contention):
        signal.connect(hear)
    yield heard
    for signal in (value_allocated, value_voided, contention):
        signal.disconnect(hear)


def facts(told: Told) -> list[tuple[Any, ...]]:
    """The values that were told, with their scope, and whether they were replayed."""
    return [(each["scope"], list(each["values"]), each["replayed"]) for each in told]


def test_a_void_number(scope: str, told: Told) -> None:
    """A number that is withdrawn is told with the change, again where that is repeated, but not by a dry run."""
    get_next_value("atomic", scope=scope)
    told.clear()
    for dry_run in (True, False, False):
        change = changes.void("atomic", 1, scope=scope, by="ana", reason="a test", dry_run=dry_run)
    assert [(each["sender"], each["change"]) for each in told] == 2 * [(type(strategies["atomic"]), change)]


class TestValues:
    def test_values_before_their_items(self, scope: str, told: Told) -> None:
        """One value is told as such, and many once."""
        get_next_value("atomic", scope=scope)
        get_next_values(3, "atomic", scope=scope)
        assert facts(told) == [(scope, [1], False), (scope, [2, 3, 4], False)]

    def test_stored_items(self, scope: str, told: Told) -> None:
        """Each stored item is told, and a repeat as such."""
        for _ in range(2):
            put_next("sort-key", {}, scope=scope, idempotency_token="one")
        put_next_many("sort-key", [{}, {}], scope=scope)
        assert facts(told) == [(scope, [1], False), (scope, [1], True), (scope, [2], False), (scope, [3], False)]

    def test_values_of_one_token(self, scope: str, told: Told) -> None:
        """Values that are taken again by their token are told as a repeat, once each time."""
        for _ in range(2):
            get_next_values(2, "atomic", scope=scope, idempotency_token="one")
            get_next_value("atomic", scope=scope, idempotency_token="two")
        assert [each[2] for each in facts(told)] == [False, False, True, True]
        assert facts(told)[2][:2] == (scope, [1, 2])

    def test_awaited_values_of_one_token(self, scope: str, told: Told) -> None:
        """Awaited values that are taken again by their token are told as a repeat."""
        for _ in range(2):
            asyncio.run(aget_next_values(2, "atomic", scope=scope, idempotency_token="one"))
        wait_until(lambda: len(told) == 2)  # a caller may have its answer before a receiver is called
        assert facts(told) == [(scope, [1, 2], False), (scope, [1, 2], True)]

    def test_who_sends(self, scope: str, told: Told) -> None:
        """The sender is the class of the strategy, and the sequence is named."""
        get_next_value("atomic", scope=scope)
        assert told[0]["sender"] is type(strategies["atomic"])
        assert told[0]["signal"] is value_allocated
        assert told[0]["sequence"] == "atomic"

    def test_a_receiver_may_use_sequences(self, scope: str) -> None:
        """A receiver may itself store an item in the same scope, for example a line of a log."""

        def store(values: list[int], **_: Any) -> None:
            value_allocated.disconnect(store)
            put_next("sort-key", {"about": values[0]}, scope=scope)

        value_allocated.connect(store)
        assert put_next("sort-key", {}, scope=scope).value == 1
        assert put_next("sort-key", {}, scope=scope).value == 3


class TestFailingReceivers:
    @pytest.mark.parametrize("use", [get_next_value, lambda name, scope: put_next(name, {}, scope=scope).value])
    def test_the_caller_gets_its_value(
        self, use: Callable[..., int], scope: str, told: Told, caplog: pytest.LogCaptureFixture, log_of_django: None
    ) -> None:
        """A receiver that raises is logged, and hurts neither the caller nor another receiver."""

        def fail(**_: Any) -> None:
            raise RuntimeError("the receiver's own")

        value_allocated.connect(fail)
        try:
            assert use("atomic", scope=scope) == 1
        finally:
            value_allocated.disconnect(fail)
        assert "the receiver's own" in caplog.text
        assert len(told) == 1

    @pytest.fixture
    def log_of_django(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What Django logs reaches pytest."""
        monkeypatch.setattr(logging.getLogger("django"), "propagate", True)


class TestContention:
    def test_giving_up_is_told(
        self, scope: str, wire: Wire, clock: Clock, install: Callable[..., Strategy], told: Told
    ) -> None:
        """A call that loses every race until its deadline tells it, with its error."""
        install("optimistic-update", clock=clock)

        def move(n: int) -> Callable[[], None]:
            return lambda: set_counter("optimistic-update", scope, last_value=n, highest=n, token="another")

        wire.before("UpdateItem", *map(move, range(1, 100)))
        with pytest.raises(SequenceContention) as caught:
            get_next_value("optimistic-update", scope=scope)
        assert [(each["signal"], each["sequence"], each["scope"], each["error"]) for each in told] == [
            (contention, "optimistic-update", scope, caught.value)
        ]


class TestCost:
    def test_nobody_listens(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a receiver nothing is sent: handing out a value only looks whether there is one."""
        monkeypatch.setattr(value_allocated, "send_robust", None)
        assert get_next_value("atomic", scope=scope) == 1
        assert get_next_values(2, "atomic", scope=scope) == range(2, 4)
        assert put_next("atomic", {}, scope=scope).value == 4
