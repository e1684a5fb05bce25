"""The comparison on the embedded engine: its rows, and the faults that it finds."""

from array import array
from typing import Any

import pytest

from project.lab import comparison, recipes
from project.lab.client import plain_client
from project.lab.comparison import KEYS, compare
from project.lab.plan import OURS, STRATEGIES, Plan, Prices
from project.lab.recipes import BARE_PUT_ITEM
from project.lab.writers import Job, Share
from sequences import dynamodb

DESIGNED = [
    "strategy", "writers", "processes", "count", "seconds", "per_second", "requests_per_number",
    "write_requests_per_number", "write_units_per_number", "read_units_per_number", "p50_ms", "p99_ms",
    "refused_share", "slowest_over_fastest", "duplicates", "gaps", "errors",
]  # fmt: skip
pytestmark = pytest.mark.usefixtures("ready_processes")
RIGHT = {"duplicates": 0, "gaps": 0, "errors": 0}


def faults(row: dict[str, Any]) -> dict[str, int]:
    """The figures of a row that must be 0."""
    return {name: row[name] for name in RIGHT}


def test_a_row(endpoint: str) -> None:
    """A row has the contract's keys in their order, and the figures of one number at a time."""
    (row,) = compare(Plan(strategies=["SortKeyMaximum"], writers=[1], count=12))
    assert list(row) == list(KEYS) == DESIGNED
    assert (row["strategy"], row["writers"], row["processes"], row["count"]) == ("SortKeyMaximum", 1, 1, 12)
    assert row["requests_per_number"] == row["write_requests_per_number"] == row["write_units_per_number"] == 1
    assert (row["refused_share"], row["slowest_over_fastest"]) == (0, 1)
    assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["seconds"] * 1000
    assert faults(row) == RIGHT


def test_several_processes(endpoint: str) -> None:
    """Writers in two processes count in one sequence."""
    (row,) = compare(Plan(strategies=["SortKeyMaximum"], writers=[5], processes=2, count=31))
    assert faults(row) == RIGHT
    assert 0 < row["slowest_over_fastest"] <= 1
    assert row["refused_share"] == 0  # processes of one machine take turns


def test_scopes(endpoint: str) -> None:
    """Writers spread over scopes number each from 1 without a hole, whether the number is the item's key or not."""
    plan = Plan(strategies=["published-atomic", "published-placeholder"], writers=[4], count=20, scopes=3)
    in_key, in_attribute = compare(plan)
    assert [row["strategy"] for row in (in_key, in_attribute)] == plan.strategies
    assert [faults(in_key), faults(in_attribute)] == [RIGHT, RIGHT]
    assert (in_key["requests_per_number"], in_attribute["requests_per_number"]) == (2, 3)


def test_a_half_made_item_fills_no_gap(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number whose item still has its placeholder is a gap."""

    def stop_before_the_last_write(jobs: list[Job], at_start: object) -> list[Share]:
        ((scope,), table, client) = jobs[0].scopes, jobs[0].table, plain_client()
        half_made = {"number": {"N": "0"}, "request_name": {"S": "0-0"}}
        client.put_item(TableName=table, Item={"pk": {"S": scope}, "sk": {"N": "-1"}, **half_made})
        handed = array("q", [recipes.add_number(client, table, scope)])
        return [Share(ended=1.0, numbers=1, handed={scope: handed}, warm={scope: array("q")})]

    monkeypatch.setattr(comparison, "run", stop_before_the_last_write)
    (row,) = compare(Plan(strategies=["published-placeholder"], writers=[1], count=1))
    assert faults(row) == RIGHT | {"gaps": 1}


def test_values_only(endpoint: str) -> None:
    """Values without items come from memory: two blocks at most serve all of them."""
    (row,) = compare(Plan(strategies=["BlockAllocator"], writers=[4], count=1000, values_only=True, block_size=1000))
    assert faults(row) == RIGHT
    assert row["requests_per_number"] <= 2 / 1000


def test_lost_answers(endpoint: str) -> None:
    """With answers lost, the published recipe writes items twice, the published addition leaves gaps, ours neither."""
    plan = Plan(
        strategies=["published-sort-key-increment", "published-atomic", "SortKeyMaximum"],
        writers=[1],
        count=40,
        faults=0.2,
        seed=4,
    )
    sort_key, atomic, ours = compare(plan)
    assert sort_key["written_twice"] > 0
    assert atomic["gaps"] > 0
    assert faults(ours) == RIGHT
    assert ours["written_twice"] == 0


def test_leaves_nothing_behind(endpoint: str) -> None:
    """The tables of a comparison are deleted at its end, also when it is interrupted."""

    def interrupt(case: str) -> None:
        raise KeyboardInterrupt

    before = dynamodb.call("list_tables", {})["TableNames"]
    with pytest.raises(KeyboardInterrupt):
        compare(Plan(), progress=interrupt)
    assert dynamodb.call("list_tables", {})["TableNames"] == before


def test_rounds_alternate() -> None:
    """Every strategy has its turn in each round, backwards in every other one."""
    plan = Plan(strategies=["AtomicCounter", "SortKeyMaximum"], runs=3)
    names = [strategy for _, strategy in plan.cases()]
    assert names == [
        "AtomicCounter", "SortKeyMaximum", "SortKeyMaximum", "AtomicCounter", "AtomicCounter", "SortKeyMaximum",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"writers": (0,)}, "--writers must be 1 or more"),
        ({"processes": 0}, "--processes must be 1 or more"),
        ({"processes": 9}, "--processes 9 needs as many --writers or more, not 8"),
        ({"count": 7}, "--count 7 is less than --writers 8"),
        ({"runs": -1}, "--runs must be 1 or more"),
        ({"scopes": 0}, "--scopes must be 1 or more"),
        ({"faults": 1.0}, "--faults is the share"),
        ({"faults": -0.1}, "--faults is the share"),
        (
            {"strategies": ["AtomicCounter", "Magic"]},
            "unknown Magic. Known are: .*published-atomic.*SortKeyMaximum",
        ),
        ({"strategies": []}, "--strategies is empty"),
        (
            {"strategies": ["SortKeyMaximum"], "values_only": True},
            "SortKeyMaximum cannot number without an item",
        ),
    ],
)
def test_refused_plans(options: dict[str, Any], message: str) -> None:
    """A plan that cannot be run is refused with the option and the remedy."""
    with pytest.raises(ValueError, match=message):
        Plan(**options)


def test_prices() -> None:
    """As prices are per million units, a million numbers cost the units of one times their prices."""
    prices = Prices(write=0.5, read=0.25)
    assert prices.per_million({"write_units_per_number": 2.0, "read_units_per_number": 0.5}) == 1.125


@pytest.mark.parametrize("strategy", [*STRATEGIES, BARE_PUT_ITEM])
def test_estimates(strategy: str) -> None:
    """What AWS will cost is estimated for everything that can be run, and grows with the count."""
    few, many = (Prices().estimate(Plan(strategies=[strategy], count=count)) for count in (1_000, 2_000))
    assert 0 < few < many


@pytest.mark.parametrize(
    ("strategy", "writers", "processes", "most"),
    [("SortKeyMaximum", 8, 1, 2), ("SortKeyMaximum", 8, 4, 8), ("published-sort-key-increment", 8, 4, 8)],
)
def test_races_cost(strategy: str, writers: int, processes: int, most: int) -> None:
    """A recipe may lose each number to every writer, ours to every process: that multiplies its units."""
    plan = Plan(strategies=[strategy], writers=[writers], processes=processes, count=1_000_000 - writers)
    assert Prices(write=1.0, read=0.0).estimate(plan) == pytest.approx(most)


def test_names() -> None:
    """The comparison has every strategy that comes with the app, under the name of its class."""
    assert set(OURS) == {
        "AtomicCounter",
        "BlockAllocator",
        "OptimisticCounter",
        "SortKeyMaximum",
        "TransactionalCounter",
    }
