"""Where transactions take long nobody loses for ever to others: each writer gets its numbers in a few attempts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from project.proof.faults.control import Proxy
from project.proof.faults.plans import Rule
from sequences import put_next, put_next_together
from sequences.registry import strategies
from sequences.rows import host_queue
from sequences.testing.callers import at_once, judge_items
from tests.sequences.support import Processes

pytestmark = pytest.mark.needs_engine

SLOW = Rule(fault="delay", operation="TransactWriteItems", seconds=0.2)
MOST_ATTEMPTS = 8


@pytest.fixture(scope="module")
def hosts(_proxy: Proxy, configured: str) -> Iterator[Processes]:
    """Four hosts behind the proxy, which serve the sequences one after the other, as hosts do."""
    hosts = Processes("spawn", 4, _proxy.endpoint, configured)
    hosts.run(be_patient)
    yield hosts
    hosts.stop()


def be_patient() -> None:
    """Take no other host for lost when the machine is slow."""
    vars(host_queue)["LONGEST_TURN"] = 60.0


def put_single(name: str, scope: str) -> tuple[list[int], int]:
    """The numbers of items that are stored one after the other, and the most attempts that one took."""
    made = [put_next(name, {}, scope=scope) for _ in range(5)]
    return [one.value for one in made], max(one.attempts for one in made)


def put_together(name: str, scope: str) -> tuple[list[int], int]:
    """The numbers of items that are stored together, and the attempts that it took."""
    made = put_next_together(name, [{}] * 5, scope=scope)
    assert all(b.value - a.value == strategies[name].config.step for a, b in pairwise(made))
    return [one.value for one in made], made[0].attempts


def put(name: str, scope: str) -> list[tuple[list[int], int]]:
    """What two threads of a process got, one by single items, and one by items together."""
    return at_once(2, lambda n: (put_single if n else put_together)(name, scope))


@pytest.mark.parametrize("name", ["one-file", "sort-key", "transactional"])
def test_beside_single_writes(name: str, hosts: Processes, scope: str, proxy: Proxy) -> None:
    """Four hosts put items together beside single ones, though every transaction is slow, and none loses for long."""
    proxy.follow(SLOW)
    told = [one for each in hosts.run(put, name, scope) for one in each]
    proxy.calm()
    judge_items(name, scope, [values for values, _ in told])
    assert max(attempts for _, attempts in told) <= MOST_ATTEMPTS
