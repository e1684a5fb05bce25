"""A put inside a put: a signal's handler, a logging handler, or a function of the application puts into the same scope.

The inner put begins in the thread of the outer put. The outer put may be the leader of a batch, wait for another
leader, or hold a lock. The inner put must neither wait for the outer one nor confuse it.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from sequences import get_next_value
from sequences.registry import strategies
from sequences.strategies import Strategy
from tests.attacks.interruptions import POOL, Alarm, Interruption, Place
from tests.attacks.support import ATTACKED, BUSY, RESERVING, Puts, every_strategy, others_put, some_points
from tests.sequences.support import import_row

pytestmark = pytest.mark.needs_engine  # moto is too slow to be interrupted at every point

DEADLINE = 5.0
ROUNDS = 20
STRIDE = 23
"""The step between the tried points of a put."""


@pytest.fixture
def brief(install: Callable[..., Strategy], name: str) -> Strategy:
    """The strategy with a short deadline."""
    return install(name, deadline=DEADLINE, **BUSY.get(name, {}))


@every_strategy
def test_a_put_at_any_point_of_a_put(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """At any point of a put, a signal handler may put into its scope: both items are stored, without a gap."""
    puts = Puts(name, scope)
    for number in some_points(name, STRIDE):
        puts.marked = not puts.marked
        place = Place(number, Interruption(partial(puts.put, f"inner {number}")))
        with alarm.within(DEADLINE + 1), place:
            puts.put(f"outer {number}")
        if not place.reached:
            break
    assert len(puts.told) > 20
    puts.judge()


@pytest.mark.parametrize("name", ["atomic", "sort-key"])
def test_a_put_while_a_connection_changes_hands(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """While a put takes a connection from the pool or returns it, a signal handler may put: both items are stored."""
    puts = Puts(name, scope)
    for number in itertools.count(1):
        place = Place(number, Interruption(partial(puts.put, f"inner {number}")), files=POOL)
        with alarm.within(DEADLINE + 1), place:
            puts.put(f"outer {number}")
        if not place.reached:
            break
    assert len(puts.told) > 10
    puts.judge()


@pytest.mark.parametrize("name", RESERVING)
def test_a_value_at_any_point_of_a_put(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """At any point of a put, a signal handler may take a value: nobody else gets that value."""
    puts, values = Puts(name, scope), list[int]()
    for number in some_points(name, 17):
        place = Place(number, Interruption(lambda: values.append(get_next_value(name, scope=scope))))
        with alarm.within(DEADLINE + 1), place:
            puts.put(f"outer {number}")
        if not place.reached:
            break
    assert len(values) > 10
    assert len({*values, *puts.judge().values()}) == len(values) + len(puts.told)


@every_strategy
def test_a_handler_that_puts(brief: Strategy, scope: str, alarm: Alarm, name: str) -> None:
    """Puts from a real signal's handler at random moments, while other threads put too: all are stored."""
    puts, draws = Puts(name, scope), random.Random(name)
    with others_put(puts, threads=1):
        for number in range(ROUNDS):
            inner = Interruption(partial(puts.put, f"inner {number}"))
            with alarm.within(DEADLINE + 1, after=draws.uniform(0.00001, 0.003), interruption=inner):
                puts.put(f"outer {number}")
    assert sum(title.startswith("inner") for title in puts.told) > 0
    puts.judge()


class PutsToo(logging.Handler):
    """A logging handler that stores an item for each record, except for records of its own puts."""

    def __init__(self, puts: Puts) -> None:
        super().__init__()
        self.puts = puts
        self.heard: list[str] = []
        self.busy = False

    def emit(self, record: logging.LogRecord) -> None:
        if self.busy:
            return
        self.busy = True
        try:
            self.heard.append(record.getMessage())
            self.puts.put(f"on hearing: {self.heard[-1]}")
        finally:
            self.busy = False


@pytest.fixture
def listener(scope: str, name: str, caplog: pytest.LogCaptureFixture) -> Iterator[PutsToo]:
    """The handler, installed for every record of `sequences`."""
    caplog.set_level(logging.DEBUG, "sequences")
    handler, logger = PutsToo(Puts(name, scope)), logging.getLogger("sequences")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@every_strategy
def test_a_logging_handler_that_puts(brief: Strategy, scope: str, alarm: Alarm, listener: PutsToo, name: str) -> None:
    """A logging handler that puts, when an allocation is logged, stores its item, and so does the next put."""
    with alarm.within(DEADLINE + 1):
        for number in range(3):
            listener.puts.put(f"outer {number}")
    assert len(listener.heard) >= 3
    assert len(listener.puts.judge()) == 3 + len(listener.heard)


@pytest.mark.parametrize("name", [name for name in ATTACKED if not name.startswith("sort-key")])
def test_a_logging_handler_that_puts_in_the_midst_of_a_write(
    brief: Strategy, scope: str, alarm: Alarm, listener: PutsToo, name: str
) -> None:
    """A logging handler that puts, at a warning while a write is prepared, stores its item; so does that write."""
    for value in range(1, 10):
        import_row(name, scope, value)
    listener.heard.clear()
    with alarm.within(DEADLINE + 1):
        listener.puts.put("the one that meets it")
    assert "moved it to" in listener.heard[0]
    listener.puts.judge()


def listed_scopes(cursor: str | None, limit: int) -> tuple[list[str], None]:
    """An application's function that lists scopes: it puts before it answers."""
    puts.put(f"listed {len(puts.told)}")
    return [puts.scope], None


puts: Puts


@pytest.mark.parametrize("name", ["transactional-beside", "sort-key"])
def test_a_list_of_scopes_that_puts(install: Callable[..., Strategy], scope: str, alarm: Alarm, name: str) -> None:
    """A function that lists the scopes may itself put into one."""
    global puts  # noqa: PLW0603 - a function named in the settings takes no other arguments
    install(name, deadline=DEADLINE, scopes=f"{__name__}.listed_scopes")
    puts = Puts(name, scope)
    with alarm.within(DEADLINE + 1):
        counters, _ = strategies[name].scopes.page(None, 10)
    assert [counter.last_value for counter in counters] == [1]
    puts.judge()
