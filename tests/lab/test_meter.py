"""The meter counts requests, write requests, and units, reported or estimated."""

import math
from collections.abc import Callable

import pytest

from project.lab import recipes
from project.lab.meter import Meter, Usage
from sequences import dynamodb, put_next
from sequences.exceptions import WriteCancelled
from sequences.rows import host_queue
from sequences.strategies import sort_key
from tests.lab.conftest import Table


@pytest.fixture
def meter(table: Table) -> Meter:
    """A meter, attached to the client of the table."""
    meter = Meter()
    meter.attach(table.client)
    return meter


@pytest.mark.parametrize(
    ("recipe", "usage"),
    [
        (recipes.published_atomic, Usage(requests=2, write_requests=2, write_units=2)),
        (recipes.published_number_first, Usage(requests=3, write_requests=2, write_units=2, read_units=0.5)),
        (recipes.published_placeholder, Usage(requests=3, write_requests=3, write_units=3)),
        (recipes.published_transaction, Usage(requests=2, write_requests=1, write_units=4, read_units=1)),
        (
            recipes.published_sort_key_increment,
            Usage(requests=2, write_requests=1, write_units=1, read_units=0.5),
        ),
    ],
)
@pytest.mark.needs_engine
def test_counts(recipe: recipes.Recipe, usage: Usage, table: Table, meter: Meter) -> None:
    """Requests and units of a recipe are those that its steps cost in DynamoDB."""
    table.run(recipe, "a")
    assert meter.usage == usage


def test_refused_writes_are_charged(table: Table, meter: Meter, new_table: Callable[[], Table]) -> None:
    """A put whose condition failed reports no units, and is counted as one all the same."""
    table.run(recipes.published_sort_key_increment, "a")
    meter.reset()
    with pytest.raises(table.client.exceptions.ConditionalCheckFailedException):
        table.client.put_item(
            TableName=table.name,
            Item={"pk": {"S": "ABC"}, "sk": {"N": "1"}},
            ConditionExpression="attribute_not_exists(pk)",
        )
    assert meter.usage == Usage(requests=1, write_requests=1, refused_writes=1, write_units=1)


def test_cancelled_transactions_are_charged_double(table: Table, meter: Meter) -> None:
    """A cancelled transaction of two actions counts as four units."""
    put = {"TableName": table.name, "Item": {"pk": {"S": "A"}, "sk": {"N": "1"}}}
    check = {
        **put,
        "Item": {"pk": {"S": "B"}, "sk": {"N": "1"}},
        "ConditionExpression": "attribute_exists(pk)",
    }
    with pytest.raises(table.client.exceptions.TransactionCanceledException):
        table.client.transact_write_items(TransactItems=[{"Put": put}, {"Put": check}])  # type: ignore[typeddict-item]
    assert meter.usage == Usage(requests=1, write_requests=1, refused_writes=1, write_units=4)


def test_sums() -> None:
    """The usage of several processes adds up figure by figure."""
    one = Usage(requests=1, write_requests=2, refused_writes=5, write_units=3.5, read_units=4)
    assert one + one == Usage(requests=2, write_requests=4, refused_writes=10, write_units=7, read_units=8)


def test_ours(configured: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What our client sends is counted as recipes are: units that are reported, and one KB for a refused write."""
    monkeypatch.setattr(sort_key, "TAIL_SECONDS", math.inf)  # a slow machine forgets no last number,
    monkeypatch.setattr(host_queue, "LOOK_SECONDS", math.inf)  # and looks at no line of hosts
    meter = Meter()
    put_next("sort-key", {}, scope=scope)
    dynamodb.wrap_sending(meter.counting)
    put_next("sort-key", {}, scope=scope)
    assert meter.usage == Usage(requests=1, write_requests=1, write_units=1)
    item = {"pk": {"S": f"{scope} elsewhere"}, "sk": {"N": "1"}}
    request = {"TableName": dynamodb.table_name("sequence_items"), "Item": item}
    with pytest.raises(WriteCancelled):
        dynamodb.call("put_item", {**request, "ConditionExpression": "attribute_exists(pk)"})
    assert meter.usage == Usage(requests=2, write_requests=2, refused_writes=1, write_units=2)
    dynamodb.reset()
