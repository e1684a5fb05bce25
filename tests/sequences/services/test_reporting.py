"""What becomes known of a call: its log, its signals and its metrics."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from pytest_django import Settings

from sequences import (
    aget_next_value,
    aput_next,
    get_next_value,
    get_next_values,
    put_next,
    put_next_many,
)
from sequences.commit.requests import Pending, ReserveRequest
from sequences.exceptions import IdempotencyMismatch, SequenceContention, SequenceExhausted
from sequences.rows.lru import LRU
from sequences.rows.numbers import Numbers
from sequences.services import reporting
from sequences.services.reporting import failed, notify, report
from sequences.signals import contention, nearly_used_up, value_allocated
from sequences.types import Allocation, Dated
from tests.sequences.support import wait_until

APRIL = Dated("ABC", "2026-04")
GIVEN = Allocation(
    sequence="stub", scope="ABC", period="2026-04", value=7, attempts=2, replayed=False, write_units=3, read_units=0.5
)


@pytest.fixture
def stub() -> Any:
    """What reports need of a strategy, with the values from 1 to 200."""
    numbers = Numbers(alias="stub", start=1, step=1, maximum=200)
    return SimpleNamespace(alias="stub", numbers=numbers, percents=LRU())


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What receivers of the signals are told, without the signal itself and its sender."""
    heard: list[dict[str, Any]] = []

    def hear(*, signal: object, sender: object, **told: Any) -> None:
        if told["sequence"] == "stub":  # a thread of an earlier test may still send one
            heard.append(told)

    for signal in (value_allocated, nearly_used_up, contention):
        monkeypatch.setattr(signal, "receivers", [])
        signal.connect(hear, weak=False)
    return heard


def answered(*answers: Any, seconds: float = 0.0) -> list[Pending[Any]]:
    """The requests of a call that took so long, with these answers."""
    deadline: Any = SimpleNamespace(spent=seconds)
    pendings: list[Pending[Any]] = [Pending(ReserveRequest(count=1), deadline) for _ in answers]
    for pending, answer in zip(pendings, answers, strict=True):
        pending.settle(answer)
        pending.group_size = 4
    return pendings


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a line that are not those of every line."""
    every = {*vars(logging.makeLogRecord({})), "message", "asctime", "request_id"}
    return {name: value for name, value in vars(record).items() if name not in every}


class TestLines:
    @pytest.mark.parametrize(("replayed", "said", "size"), [(False, "attempts 2,", 4), (True, "replayed,", 0)])
    def test_an_allocation(
        self, stub: Any, logged: pytest.LogCaptureFixture, replayed: bool, said: str, size: int
    ) -> None:
        """An allocation is one line with its cost, the time of its call, and the size of its group, 0 for a repeat."""
        one = dataclasses.replace(GIVEN, replayed=replayed)
        with logged.at_level(logging.INFO, "sequences"):
            report(stub, "ABC", answered(one, seconds=1.25))
        (line,) = logged.records
        assert fields(line) == {
            "sequence": "stub",
            "scope": "ABC",
            "period": "2026-04",
            "value": 7,
            "attempts": 2,
            "replayed": replayed,
            "write_units": 3,
            "read_units": 0.5,
            "milliseconds": 1250.0,
            "group_size": size,
        }
        assert line.message.startswith("sequence stub scope ABC: value 7, attempts 2, ")
        assert said in line.message
        assert line.message.endswith(f"3 WU, 0.5 RU, 1250.0 ms, group of {size}")

    def test_a_log_of_warnings_alone(
        self, stub: Any, told: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing is made for a log that does not take it; who listens is told nevertheless."""
        monkeypatch.setattr(reporting, "logger", SimpleNamespace(isEnabledFor=lambda level: level > logging.INFO))
        report(stub, "ABC", answered(GIVEN))
        assert [one["values"] for one in told] == [[7]]

    def test_the_first_error_of_a_call(self, stub: Any, logged: pytest.LogCaptureFixture) -> None:
        """Of many requests that failed the first error has a line, with the period of its scope."""
        first, second = SequenceExhausted("The first."), SequenceExhausted("The second.")
        report(stub, APRIL, answered(IdempotencyMismatch("Of a caller."), first, second, seconds=0.5))
        (line,) = logged.records
        assert (line.levelname, line.message) == ("ERROR", "sequence stub scope 'ABC' of 2026-04: refused: The first.")
        assert fields(line) == {
            "event": "call_failed",
            "error": "SequenceExhausted",
            "sequence": "stub",
            "scope": "ABC",
            "period": "2026-04",
            "milliseconds": 500.0,
        }
        assert (first.logged, second.logged) == (True, False)

    def test_a_call_that_gave_up(self, stub: Any, told: list[dict[str, Any]], logged: pytest.LogCaptureFixture) -> None:
        """A call that lost every race is a warning with its attempts, and contention is told."""
        error = SequenceContention("Somebody was faster.", attempts=3, seconds=1.25)
        failed(stub, APRIL, error, 1.25)
        (line,) = logged.records
        assert (line.levelname, line.message) == ("WARNING", f"sequence stub scope 'ABC' of 2026-04: gave up: {error}")
        assert (fields(line)["error"], fields(line)["attempts"]) == ("SequenceContention", 3)
        assert told == [{"sequence": "stub", "scope": "ABC", "period": "2026-04", "error": error}]

    def test_a_call_of_nothing(self, stub: Any, logged: pytest.LogCaptureFixture) -> None:
        """A call without items has nothing to say."""
        with logged.at_level(logging.INFO, "sequences"):
            report(stub, "ABC", [])
        assert logged.records == []


class TestMetrics:
    @pytest.mark.parametrize(
        ("on", "answers", "said"),
        [
            (True, [GIVEN, range(3)], [("stub", [GIVEN, range(3)], 1.5)]),
            (True, [], []),
            (False, [GIVEN], []),
        ],
    )
    def test_who_is_told(
        self, stub: Any, monkeypatch: pytest.MonkeyPatch, on: bool, answers: list[Any], said: list[Any]
    ) -> None:
        """While metrics are on, each call with requests is told once, with its answers and its seconds."""
        told: list[tuple[Any, ...]] = []

        def tell(alias: str, answers: object, seconds: float) -> None:
            told.append((alias, answers, seconds))

        monkeypatch.setattr(reporting, "metrics", SimpleNamespace(on=on, answered=tell))
        report(stub, "ABC", answered(*answers, seconds=1.5))
        assert told == said


class TestTheEnd:
    def test_each_percent_once(self, stub: Any, told: list[dict[str, Any]], logged: pytest.LogCaptureFixture) -> None:
        """From 90 % on each percent of a scope is one warning and one signal, told with the highest value."""
        for values in (range(1, 180), range(179, 181), [181], [182]):
            notify(stub, APRIL, values)
        lines = [(line.levelname, fields(line)) for line in logged.records]
        ends = [one for one in told if "limit" in one]
        of_april = {"sequence": "stub", "scope": "ABC", "period": "2026-04"}
        assert lines == [("WARNING", {"event": "nearly_used_up", **of_april, "value": value}) for value in (180, 182)]
        assert logged.messages[0] == "sequence stub scope 'ABC' of 2026-04: 90 % of the values up to 200 are used"
        assert ends == [
            {**of_april, "value": value, "limit": 200, "percent": percent} for value, percent in ((180, 90), (182, 91))
        ]

    def test_a_repeat(self, stub: Any, told: list[dict[str, Any]], logged: pytest.LogCaptureFixture) -> None:
        """Values that are handed out again are told as such, and warn nobody again."""
        notify(stub, APRIL, [180], replayed=True)
        assert logged.records == []
        assert told == [{"sequence": "stub", "scope": "ABC", "period": "2026-04", "values": [180], "replayed": True}]

    @pytest.mark.parametrize(("value", "warnings"), [(179, 0), (180, 1)])
    def test_nobody_listens(
        self, stub: Any, logged: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, value: int, warnings: int
    ) -> None:
        """An allocation warns of the end where no receiver is told of it."""
        monkeypatch.setattr(value_allocated, "send_robust", None)
        report(stub, "ABC", answered(dataclasses.replace(GIVEN, value=value)))
        assert [line.levelname for line in logged.records].count("WARNING") == warnings


def test_a_request_without_an_answer(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not answered counts as no answer."""
    told = mock.Mock()
    monkeypatch.setattr(reporting, "metrics", SimpleNamespace(on=True, answered=told))
    report(stub, "ABC", [*answered(range(1, 3)), Pending(ReserveRequest(count=1))])
    told.assert_called_once_with("stub", [range(1, 3)], 0.0)


CALLS: Mapping[str, Callable[[str], object]] = {
    "take": lambda scope: get_next_value("few", scope=scope),
    "take many": lambda scope: get_next_values(2, "few", scope=scope),
    "await": lambda scope: asyncio.run(aget_next_value("few", scope=scope)),
    "put": lambda scope: put_next("few", {}, scope=scope),
    "put many": lambda scope: put_next_many("few", [{}, {}], scope=scope),
    "await a put": lambda scope: asyncio.run(aput_next("few", {}, scope=scope)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_error_for_operators_is_one_line(
    call: Callable[[str], object], configured: str, scope: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """However a call is made, its error has one line with fields by which alarms go, and says that it is logged."""
    settings.SEQUENCES = {"few": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "MAXIMUM": 1}}
    get_next_value("few", scope=scope)
    caplog.clear()
    with pytest.raises(SequenceExhausted) as error:
        call(scope)

    def lines() -> list[dict[str, Any]]:
        return [vars(record) for record in caplog.records if vars(record).get("scope") == scope]

    wait_until(lambda: any("event" in line for line in lines()))
    (line,) = lines()
    fields = {name: line[name] for name in ("event", "error", "sequence", "scope", "levelname")}
    assert fields == {
        "event": "call_failed",
        "error": "SequenceExhausted",
        "sequence": "few",
        "scope": scope,
        "levelname": "ERROR",
    }
    assert error.value.logged


def test_a_callers_own_mistake_is_no_line(configured: str, scope: str, logged: pytest.LogCaptureFixture) -> None:
    """What one caller asked for in vain is that caller's to know, and rings nothing."""
    put_next("sort-key", {}, scope=scope, idempotency_token="one")
    logged.clear()
    with pytest.raises(IdempotencyMismatch) as error:
        put_next("sort-key", {"other": True}, scope=scope, idempotency_token="one")
    assert logged.records == []
    assert not error.value.logged
