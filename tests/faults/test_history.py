"""Numbers follow time: a create that starts after another has finished in its scope gets a higher number."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import chain

import pytest

from project.proof.faults.control import Proxy
from project.proof.faults.elsewhere import ALONE, SEQUENCES, begin, put_many
from project.proof.faults.history import broken_pairs
from project.proof.faults.plans import Rule
from sequences import get_last_value
from sequences.registry import strategies
from tests.faults.conftest import PREFIX
from tests.sequences.support import fresh_processes


@pytest.fixture(scope="module")
def four_processes(_proxy: Proxy, _behind_proxy: None) -> Iterator[ProcessPoolExecutor]:
    """Four processes of the application. They use the engine through the proxy."""
    with ProcessPoolExecutor(4, fresh_processes(), initializer=begin, initargs=(_proxy.endpoint, PREFIX)) as pool:
        yield pool


@pytest.fixture
def losing(behind_proxy: Proxy) -> Proxy:
    """A proxy that often loses answers and rejects requests: one in seven, so that few puts meet many faults."""
    rules = [Rule(fault=fault, probability=0.03) for fault in ("lose-close", "lose-500", "late")]
    behind_proxy.follow(*rules, Rule(fault="ThrottlingException", probability=0.06), seed=1)
    return behind_proxy


@pytest.mark.parametrize("sequence", [*SEQUENCES, *ALONE])
def test_threads(losing: Proxy, sequence: str, scope: str) -> None:
    """The history of eight threads of one process, while answers are lost, breaks no law."""
    events = put_many(sequence, scope, threads=8, count=4)
    assert len({event.value for event in events}) == 32
    assert broken_pairs(events) == []


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_readers(behind_proxy: Proxy, sequence: str, scope: str) -> None:
    """While others write, the last value that a reader sees only rises."""
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(put_many, sequence, scope, threads=8, count=8)
        seen = [0]
        while not writing.done():
            seen.append(get_last_value(sequence, scope=scope) or 0)
    assert seen == sorted(seen)
    assert (get_last_value(sequence, scope=scope) or 0) >= max(event.value for event in writing.result())


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_processes(losing: Proxy, sequence: str, scope: str, four_processes: ProcessPoolExecutor) -> None:
    """The history of four processes of four threads, while answers are lost, breaks no law."""
    parts = [four_processes.submit(put_many, sequence, scope, threads=4, count=5) for _ in range(4)]
    events = list(chain.from_iterable(part.result() for part in parts))
    assert len({event.value for event in events}) == 80
    if strategies[sequence].ordered_across_processes:
        assert broken_pairs(events) == []
    if strategies[sequence].gapless:
        assert {event.value for event in events} == set(range(1, 81))
