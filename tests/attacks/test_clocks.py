"""Wall clocks that jump by more than the lifetime of a marker. Markers expire by the engine's clock."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

import pytest

from sequences.testing.embedded import Engine
from tests.attacks import jumping
from tests.attacks.support import ATTACKED, every_strategy, judge

P = ParamSpec("P")
T = TypeVar("T")

JUMPS = list(itertools.permutations([0, 8, -8], 2))
"""By how many days the clock is ahead when an item is stored, and when the request is repeated."""


@pytest.fixture(scope="module")
def process(configured: str, engine: Engine) -> Iterator[ProcessPoolExecutor]:
    """A process whose clock jumps."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=jumping.begin, initargs=(engine.endpoint, configured)) as pool:
        yield pool


class There:
    """Calls functions in the process whose clock jumps."""

    def __init__(self, process: ProcessPoolExecutor) -> None:
        self._process = process

    def __call__(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        return self._process.submit(function, *args, **named).result(timeout=60)


@pytest.fixture
def there(process: ProcessPoolExecutor) -> Iterator[There]:
    """Call a function in the process whose clock jumps. At the end of the test the clock is right again."""
    there = There(process)
    yield there
    there(jumping.jump, 0)


@every_strategy
def test_a_repeat_after_a_jump(there: There, scope: str, name: str) -> None:
    """A repeat is answered with the first item, wherever the clock was then and is now."""
    told = {}
    for then, now in JUMPS:
        token = f"stored at {then}, repeated at {now}"
        there(jumping.jump, then)
        told[token], _ = there(jumping.put, name, scope, token)
        there(jumping.jump, now)
        assert there(jumping.put, name, scope, token) == (told[token], True), token
    assert judge(name, scope, told) == told


@every_strategy
def test_puts_while_the_clock_jumps(there: There, scope: str, name: str) -> None:
    """Four threads repeat the same requests while the clock jumps: each token gets one item, and all get its value."""
    tokens = [f"token {number}" for number in range(20)]
    answers = there(jumping.put_while_jumping, name, scope, tokens)
    told = {token: min(values) for token, values in answers.items()}
    assert [token for token, values in answers.items() if len(values) > 1] == []
    assert judge(name, scope, told) == told


def test_markers_expire_by_the_engines_clock(there: There, scope: str) -> None:
    """A second after its marker expired a token can be used again, although this host's clock is days behind."""
    names = [f"brief-{name}" for name in ATTACKED]
    for name in names:
        there(jumping.put, name, scope, "a token")
    time.sleep(2.5)
    there(jumping.jump, -8)
    assert [name for name in names if there(jumping.put, name, scope, "a token")[1]] == []
