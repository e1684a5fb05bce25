"""The engine's clock: which Date is believed, and that damage in an answer's headers harms nobody."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from email.utils import formatdate
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sequences import dynamodb, put_next
from sequences.dynamodb import client
from sequences.dynamodb.making import Send
from sequences.exceptions import StorageError
from tests.sequences.support import Impostor, handled, make, stored

DAYS = 24 * 3600.0
NOW = 1_800_000_000.0
RIGHT = formatdate(NOW, usegmt=True)


class Times:
    """Time as it is, this machine's two clocks, and the clock under test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.true, self.wall_off, self.elapsed = NOW, 0.0, 100.0
        monkeypatch.setattr(client, "time", SimpleNamespace(time=lambda: self.true + self.wall_off))
        monkeypatch.setattr(client, "elapsed", lambda: self.elapsed)
        self.clock = client.EngineClock()

    def passes(self, seconds: float, *, suspended: bool = False) -> None:
        """Let time pass. The clocks of a virtual machine stand still while it is suspended."""
        self.true += seconds
        self.elapsed += 0 if suspended else seconds

    def answer(self, off: float = 0.0) -> None:
        """An answer comes a second later, with a Date that is so far off."""
        self.passes(1)
        self.set(off)

    def set(self, off: float = 0.0) -> None:
        """A Date that is so far off, of a request that took no time."""
        self.clock.set(formatdate(self.true + off, usegmt=True), self.elapsed)

    @property
    def error(self) -> float:
        """By how much the clock is off."""
        return self.clock.now() - self.true


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    """Clocks that a test moves."""
    return Times(monkeypatch)


@pytest.mark.parametrize("off", [8 * DAYS, -8 * DAYS, 60.0, 11.0])
class TestJumps:
    def test_one_wrong_date(self, times: Times, off: float) -> None:
        """A single Date that is far off changes nothing, also if another one comes later."""
        for wrong in (0.0, off, 0.0, off, 0.0):
            times.answer(wrong)
            assert abs(times.error) <= 1

    def test_a_second_one_agrees(self, times: Times, off: float) -> None:
        """Two different Dates that agree are believed."""
        for wrong in (0.0, off, off):
            times.answer(wrong)
        assert abs(times.error - off) <= 1

    def test_the_same_date_again(self, times: Times, off: float) -> None:
        """The same Date once more is no second witness: answers of one second may pass the same gateway."""
        times.answer()
        for _ in range(3):
            times.set(off)
        assert abs(times.error) <= 1

    def test_two_that_disagree(self, times: Times, off: float) -> None:
        """Dates that are far off, each by another time, are not believed."""
        for wrong in (0.0, off, 3 * off, 5 * off):
            times.answer(wrong)
            assert abs(times.error) <= 1

    def test_the_first_date(self, times: Times, off: float) -> None:
        """A first Date far from this machine's clock waits for the next answer, also within the same second."""
        times.wall_off = -off
        times.answer()
        assert abs(times.error + off) <= 1
        times.set()
        assert abs(times.error) <= 1

    def test_this_machines_clock_jumps(self, times: Times, off: float) -> None:
        """Once the engine has answered, this machine's clock does not count."""
        times.answer()
        times.wall_off = off
        times.answer()
        assert abs(times.error) <= 1


def test_a_pause(times: Times) -> None:
    """A process that was stopped has the right time at once, and so has a machine that slept."""
    times.answer()
    times.passes(3 * DAYS)
    assert abs(times.error) <= 1
    times.answer()
    assert abs(times.error) <= 1


def test_answers_that_were_kept(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Dates of two answers, which a process reads when it goes on after a stop, tell what time it was before."""
    stopped, seconds = [0.0], itertools.count(1)
    monkeypatch.setattr(client, "elapsed", lambda: time.monotonic() + stopped[0])
    stop = threading.Barrier(2, lambda: stopped.append(stopped.pop() + 600.0))

    def keeping(send: Send) -> Send:
        def kept(operation: str, request: Any) -> dict[str, Any]:
            answer = send(operation, request)
            date = {"date": formatdate(time.time() + next(seconds), usegmt=True)}
            stop.wait()
            return {**answer, "ResponseMetadata": {"HTTPHeaders": date}}

        return kept

    client.call("list_tables", {})
    known = client.now() - client.elapsed()
    client.wrap_sending(keeping)
    with ThreadPoolExecutor(2) as pool:
        assert len([*pool.map(lambda _: client.call("list_tables", {}), range(2))]) == 2
    assert abs(client.now() - client.elapsed() - known) < 1


def test_a_clock_that_goes_on() -> None:
    """It counts the time in which the machine sleeps, where there is such a clock."""
    assert isinstance(dynamodb.elapsed, partial) is hasattr(time, "CLOCK_BOOTTIME")
    assert dynamodb.elapsed() <= dynamodb.elapsed()


def test_a_machine_that_was_suspended(times: Times) -> None:
    """After a time that no clock of the machine counted, the second answer puts the clock right."""
    times.answer()
    times.passes(3 * DAYS, suspended=True)
    times.answer()
    assert abs(times.error) > DAYS
    times.answer()
    assert abs(times.error) <= 1


def test_a_slow_answer(times: Times) -> None:
    """A Date that was written some seconds ago is believed at once."""
    times.answer()
    times.answer(-10.0)
    assert times.error == -10.0


def test_a_slow_witness(times: Times) -> None:
    """The second of two Dates that are far off agrees with the first also if it was written some seconds ago."""
    times.answer()
    times.answer(60.0)
    times.answer(50.0)
    assert times.error == 50.0


@given(
    st.one_of(
        st.text(alphabet=st.characters(max_codepoint=255), max_size=60),
        st.lists(
            st.tuples(st.integers(0, len(RIGHT)), st.integers(0, 3), st.text("0123456789 :,+-JanMonGMT", max_size=30)),
            max_size=4,
        ).map(lambda cuts: mutated(RIGHT, cuts)),
    )
)
@example("Mon, 23 Nov 2026 0999999999999999999993:15:57 GMT")
@example(f"Mon, 23 Nov 2026 03:15:{'9' * 5000} GMT")
@example("Fri, 15 Jan 2027 08:00:00 -0000")
def test_a_damaged_date(date: str) -> None:
    """Whatever a Date has become, no error comes of it, and alone it does not move the clock by more than a step."""
    clock, asked = client.EngineClock(), dynamodb.elapsed()
    before = time.time()
    clock.set(date, asked)
    assert abs(clock.now() - before) < client.MOST_STEP + 5
    clock.set(RIGHT, asked)
    clock.set(RIGHT, asked)
    right = clock.now()
    clock.set(date, asked)
    assert abs(clock.now() - right) <= client.MOST_STEP + 5


def mutated(text: str, cuts: list[tuple[int, int, str]]) -> str:
    """The text with some of its characters replaced."""
    for place, length, new in cuts:
        text = text[:place] + new + text[place + length :]
    return text


@pytest.mark.parametrize("name", ["x-amz-crc32", "date", "content-type", "x-amzn-errortype", "x-amzn-requestid"])
@pytest.mark.parametrize("value", ["", "9" * 5000, "-1", "a\xffb", "Mon, 23 Nov 2026 099999999999999993:15:57 GMT"])
@pytest.mark.parametrize("status", [200, 400, 500])
def test_damaged_headers(impostor: type[Impostor], name: str, value: str, status: int) -> None:
    """A damaged header raises at most a storage error."""
    impostor.status = status
    impostor.end_headers = lambda self: (self.send_header(name, value), Impostor.end_headers(self))  # type: ignore
    with suppress(StorageError) if status != 200 or name != "date" else nullcontext():
        dynamodb.call("put_item", {"TableName": "items", "Item": {}})


@pytest.mark.parametrize("name", ["atomic", "transactional", "sort-key"])
def test_a_repeat_after_a_wrong_date(configured: str, scope: str, name: str) -> None:
    """A repeat finds its marker although one answer had a Date of eight days later."""
    strategy = make(name)
    dates: list[float] = []

    def dated(response_dict: dict[str, Any], **_: object) -> None:
        if dates:
            response_dict["headers"]["date"] = formatdate(time.time() + dates.pop(), usegmt=True)

    with handled({"before-parse.dynamodb": dated}):
        first = put_next(name, {}, scope=scope, idempotency_token="a token")
        dates.append(8 * DAYS)
        strategy.last_value(scope)
        again = put_next(name, {}, scope=scope, idempotency_token="a token")
    assert (again.value, again.replayed, len(stored(name, scope))) == (first.value, True, 1)
