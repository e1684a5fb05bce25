"""A time limit that a signal's handler throws anywhere inside a put, as task queues do.

The interrupted call is over, and its item may be stored or not. No other call is affected: the next calls of the
process in that scope get answers, and so do other threads that waited with it. Logging is off here: a limit inside
Python's logging may leave a handler locked for ever.
"""

from __future__ import annotations

import itertools
import logging
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from sequences import get_next_value, put_next
from sequences.commit import commit_queues, leader, waiters
from sequences.commit.requests import Pending, PutRequest
from sequences.commit.retries import Deadline, Timing
from sequences.commit.waiters import Queue, Waiter
from sequences.strategies import Strategy
from tests.attacks.interruptions import POOL, Alarm, Interruption, Place
from tests.attacks.support import ATTACKED, BUSY, RESERVING, Puts, begun, every_strategy, others_put, some_points
from tests.sequences.support import handled, names_that, wait_until

pytestmark = pytest.mark.needs_engine  # moto is too slow to be interrupted at every point

DEADLINE = 5.0
ROUNDS = 25
STRIDE = 19
"""The step between the tried points of a put. It is odd, so that both limits are tried."""

GROUPS = (commit_queues.__file__, leader.__file__, waiters.__file__)
"""The code that decides which waiters are served, and by which leader."""


class TimeLimit(Exception):
    """The time of a task is over: an ordinary exception, like Celery's."""


class Interrupt(BaseException):
    """Somebody ends the task: not an ordinary exception, like KeyboardInterrupt."""


LIMITS = (TimeLimit, Interrupt)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Turn logging off: a handler of `logging` keeps its lock for ever if an exception interrupts it."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def brief(install: Callable[..., Strategy], scope: str, name: str, caplog: pytest.LogCaptureFixture) -> Strategy:
    """The strategy with a short deadline. The call after the limit must be answered within it."""
    caplog.set_level(logging.CRITICAL, "sequences")
    strategy = install(name, deadline=DEADLINE, **BUSY.get(name, {}))
    put_next(name, {"title": "the first one"}, scope=scope)
    return strategy


def strike(puts: Puts, alarm: Alarm, place: Place, number: int) -> None:
    """Put until the limit interrupts, and then put again."""
    puts.marked = not puts.marked
    with alarm.within(DEADLINE + 1), suppress(*LIMITS), place:
        puts.put(f"the struck one {number}")
    with alarm.within(DEADLINE + 1):
        puts.put(f"the next one {number}")


@every_strategy
def test_a_limit_at_any_point(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """A time limit may end a put at any point: it is stored at most once, the next put is stored, no gap is left."""
    puts = Puts(name, scope)
    for number in some_points(name, STRIDE):
        place = Place(number, Interruption(throw=LIMITS[number % 2]))
        strike(puts, alarm, place, number)
        if not place.reached:
            break
    assert number > 50
    puts.judge()


@pytest.mark.parametrize("name", RESERVING)
def test_a_limit_at_any_point_of_taking_a_value(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """At any point of taking a value, a time limit may end it: the next value is handed out, and no value twice."""
    values = list[int]()
    for number in some_points(name, 7):
        place = Place(number, Interruption(throw=LIMITS[number % 2]))
        with alarm.within(DEADLINE + 1), suppress(*LIMITS), place:
            values.append(get_next_value(name, scope=scope))
        with alarm.within(DEADLINE + 1):
            values.append(get_next_value(name, scope=scope))
        if not place.reached:
            break
    assert number > 10
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("name", ["atomic", "sort-key"])
def test_a_limit_while_a_connection_changes_hands(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """While a put takes a connection from the pool or returns it, a time limit may end it: the next put is stored."""
    puts = Puts(name, scope)
    for number in itertools.count(1):
        place = Place(number, Interruption(throw=LIMITS[number % 2]), files=POOL)
        strike(puts, alarm, place, number)
        if not place.reached:
            break
    assert number > 5
    puts.judge()


@contextmanager
def held() -> Iterator[tuple[threading.Event, threading.Event]]:
    """Hold all requests but looks at tables until the second event is set. The first says that one has arrived."""
    came, go_on = threading.Event(), threading.Event()

    def hold(request: Any, **_: object) -> None:
        if "DescribeTable" not in str(request.headers["X-Amz-Target"]):  # whose answer came late is asked for again
            came.set()
            go_on.wait(30)

    try:
        with handled({"before-send.dynamodb": hold}):
            yield came, go_on
    finally:
        go_on.set()


@pytest.mark.parametrize("name", [name for name in names_that("writes_together") if name in ATTACKED])
def test_a_limit_while_others_wait(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """If a time limit ends any caller of a group, those who wait behind it still get values."""
    puts, queues = Puts(name, scope), brief.items._queues
    for number in itertools.count(1):
        place = Place(number, Interruption(throw=LIMITS[number % 2]), files=GROUPS)
        over = threading.Event()

        def waits(count: int, over: threading.Event = over) -> bool:
            return sum(len(queue.waiting) for queue in queues.values()) == count - over.is_set()

        def come_behind(go_on: threading.Event, number: int = number) -> Future[None]:
            wait_until(lambda: waits(1))
            behind = begun(partial(puts.put, f"the one behind {number}"))
            wait_until(lambda: waits(2))
            go_on.set()
            return behind

        with held() as (came, go_on):
            first = begun(partial(puts.put, f"the first one {number}"))
            assert came.wait(30)
            coming = begun(partial(come_behind, go_on))
            with alarm.within(DEADLINE + 1), suppress(*LIMITS), place:
                puts.put(f"the struck one {number}")
            over.set()
            behind = coming.result(30)
        first.result(30)
        behind.result(DEADLINE + 1)
        if not place.reached:
            break
    assert number > 20
    puts.judge()


def test_a_limit_while_a_leader_is_appointed() -> None:
    """At any point of appointing a leader, a time limit may end it: the longest-waiting caller leads."""
    for number in itertools.count(1):
        gone, left, waiting = (
            Waiter([Pending(PutRequest(item={}))], Deadline(timing=Timing(), seconds=DEADLINE)) for _ in range(3)
        )
        queue = Queue(gone)
        queue.waiting.extend([left, waiting])
        gone.gone = left.gone = True
        place = Place(number, Interruption(throw=TimeLimit), files=GROUPS)
        with suppress(TimeLimit), place:
            queue.next_leader()
        assert queue.next_leader() is queue.leader is waiting
        assert not queue.waiting
        if not place.reached:
            break
    assert number > 5


# A moment may be that of a callback of the garbage collector, from which Python lets no exception out.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@every_strategy
def test_limits_among_other_threads(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """Time limits at random moments end only the calls that they hit: every put of other threads is stored."""
    puts, draws, struck = Puts(name, scope), random.Random(name), 0
    with others_put(puts):
        for number in range(ROUNDS):
            limit = Interruption(throw=LIMITS[number % 2])
            try:
                with alarm.within(DEADLINE + 1, after=draws.uniform(0.00001, 0.004), interruption=limit):
                    puts.put(f"the struck one {number}")
            except LIMITS:
                struck += 1
        puts.put("the last one")
    assert struck > 0
    puts.judge()
