"""The limits of partitions in the fault proxy: budget, burst, conflicts; and a crowd before them."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from project.proof.crowd import Crowd, Outcome
from project.proof.faults.control import Proxy, ProxyLog
from project.proof.faults.partitions import Admission, Partitions
from project.proof.faults.plans import Limits, Plan, Request, Rule
from sequences import put_next


def put(partition: str = "A", number: int = 1, size: int = 10) -> Request:
    """The put of one item."""
    return Request("PutItem", json.dumps(_put(partition, number, size)).encode())


def together(*places: tuple[str, int]) -> Request:
    """A transaction of puts."""
    actions = [{"Put": _put(partition, number, 10)} for partition, number in places]
    return Request("TransactWriteItems", json.dumps({"TransactItems": actions}).encode())


def _put(partition: str, number: int, size: int) -> dict[str, Any]:
    return {
        "TableName": "t",
        "Item": {"pk": {"S": partition}, "sk": {"N": str(number)}, "text": {"S": "x" * size}},
    }


def admitted(partitions: Partitions, request: Request, now: float = 0.0) -> Admission:
    """A write that is taken, and its end."""
    admission = partitions.admit(request, now)
    assert isinstance(admission, Admission)
    partitions.release(admission, stored=True)
    return admission


def fault(partitions: Partitions, request: Request, now: float = 0.0) -> str:
    """The fault of a write that is not taken."""
    refused = partitions.admit(request, now)
    assert isinstance(refused, Rule)
    return refused.fault


class TestBudget:
    def test_units(self) -> None:
        """A put takes one unit for each KB, an action of a transaction twice as many, an update one."""
        partitions = Partitions(Limits())
        update = Request("UpdateItem", json.dumps({"TableName": "t", "Key": {"pk": {"S": "A"}}}).encode())
        assert admitted(partitions, put()).total == 1
        assert admitted(partitions, put(size=2500)).total == 3
        assert admitted(partitions, together(("A", 1), ("A", 2), ("B", 1))).total == 6
        assert admitted(partitions, update).total == 1
        assert partitions.used == {"stored": 11}

    def test_a_read(self) -> None:
        """Reads are not limited."""
        assert Partitions(Limits(units=0)).admit(Request("Query", b"{}"), 0) is None

    def test_used_up(self) -> None:
        """A partition without units refuses, for free, and takes writes again as units come."""
        partitions = Partitions(Limits(units=2))
        admitted(partitions, put())
        admitted(partitions, put())
        assert fault(partitions, put()) == "ThrottlingException"
        assert fault(partitions, put(), 0.49) == "ThrottlingException"
        admitted(partitions, put(), 0.51)
        assert partitions.used == {"stored": 3, "throttled": 2}

    def test_of_each_partition(self) -> None:
        """Partitions have budgets of their own; a transaction needs the units of each of its partitions."""
        partitions = Partitions(Limits(units=2))
        admitted(partitions, together(("A", 1)))
        assert fault(partitions, together(("A", 2), ("B", 1))) == "cancel-ThrottlingError"
        admitted(partitions, together(("B", 1)))

    def test_burst(self) -> None:
        """Unused units are kept for so many seconds, and no longer."""
        partitions = Partitions(Limits(units=2, burst=3))
        for number in range(6):
            admitted(partitions, put(number=number), 100)
        assert fault(partitions, put(), 100) == "ThrottlingException"


class TestConflicts:
    def test_a_put_during_a_transaction(self) -> None:
        """A put of an item in a transaction that is under way is refused, and charged."""
        partitions = Partitions(Limits())
        under_way = partitions.admit(together(("A", 1), ("A", 2)), 0)
        assert isinstance(under_way, Admission)
        assert fault(partitions, put(number=2)) == "TransactionConflictException"
        assert fault(partitions, together(("A", 2))) == "cancel-TransactionConflict"
        admitted(partitions, put(number=3))
        partitions.release(under_way, stored=False)
        admitted(partitions, put(number=2))
        assert partitions.used == {"conflicts": 3, "refused": 4, "stored": 2}

    def test_a_transaction_during_a_put(self) -> None:
        """A transaction is refused while a put of one of its items is under way; another put is not."""
        partitions = Partitions(Limits())
        assert isinstance(partitions.admit(put(), 0), Admission)
        assert fault(partitions, together(("A", 1))) == "cancel-TransactionConflict"
        assert isinstance(partitions.admit(put(), 0), Admission)


def test_a_plan_keeps_its_limits() -> None:
    """Limits arrive at the proxy as they were."""
    limits = Limits(units=5, burst=2, latency=0.01, keys=[["a", "b"]])
    assert Plan.from_json(Plan(limits=limits).to_json()).limits == limits


@pytest.mark.parametrize("latencies", [[[], []], [[0.1, 0.2], []]])
def test_a_crowd_that_gets_nothing(latencies: list[list[float]]) -> None:
    """What a crowd had has figures also if a process of it, or the whole crowd, had nothing: they miss the bars."""
    log = ProxyLog(seed=0, faults=[], counts={}, requests={}, late=0)
    figures = Outcome(
        crowd=Crowd(writers=4), limits=Limits(), latencies=latencies, errors={"Lost": 4}, before=log, after=log
    ).figures()
    assert (figures["of the budget"], figures["slowest over fastest"], figures["errors"]) == (0, 0, 4)
    assert figures["per second"] == sum(map(len, latencies)) / 3
    assert figures["p99"] == (200 if any(latencies) else math.inf)


@pytest.mark.parametrize("name", ["sort-key", "transactional"])
def test_a_crowd_at_a_small_budget(behind_proxy: Proxy, scope: str, name: str) -> None:
    """Every caller of a crowd gets its number, without a gap, and no unit is wasted on a lost race.

    The burst holds the largest group, as DynamoDB's does: a write whose answer was lost is never divided.
    """
    keys = [["pk", "sk"], ["sequence", "scope"], ["partition", "sort"]]
    behind_proxy.follow(limits=Limits(units=40, burst=1.5, latency=0.005, keys=keys))
    with ThreadPoolExecutor(24) as crowd:
        got = crowd.map(lambda number: put_next(name, {"title": str(number)}, scope=scope).value, range(72))
        values = sorted(got)
    units = behind_proxy.log.units
    assert values == list(range(1, 73))
    assert units["throttled"] > 0
    assert units.keys() == {"stored", "throttled"}
