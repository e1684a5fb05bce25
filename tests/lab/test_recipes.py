"""The promises of the published recipes, and the races and lost answers that break them. The tests force both."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from project.lab import recipes
from project.lab.client import plain_client
from project.lab.losses import losing_proxy
from sequences import dynamodb
from sequences.services import put_next
from tests.lab.conftest import Table

READ_THEN_WRITE = [recipes.published_number_first, recipes.published_item_first]
WITHOUT_FAULT = [
    recipes.published_atomic,
    recipes.published_placeholder,
    recipes.published_conditional_update,
    recipes.published_conditional_put,
    recipes.published_transaction,
    recipes.published_sort_key_increment,
    recipes.published_sort_key_requery,
]
SORT_KEY = [recipes.published_sort_key_increment, recipes.published_sort_key_requery]


@pytest.fixture
def lose(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A function that loses the answer to the next request of one operation, for clients made after its call."""
    with losing_proxy(endpoint, 0.0, seed=0) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint)
        dynamodb.reset()
        next_to_lose: list[str] = []

        def loses(operation: str, status: int) -> bool:
            if operation in next_to_lose:
                next_to_lose.remove(operation)
                return True
            return False

        monkeypatch.setattr(proxy, "loses", loses)
        yield next_to_lose.append
    dynamodb.reset()


@pytest.mark.parametrize("recipe", recipes.RECIPES.values(), ids=recipes.RECIPES)
def test_alone(recipe: recipes.Recipe, table: Table) -> None:
    """With one writer and no fault every recipe numbers 1, 2, 3 and stores each item under its number."""
    assert [table.run(recipe, title) for title in ("a", "b", "c")] == [1, 2, 3]
    assert table.stored() == {1: "a", 2: "b", 3: "c"}


@pytest.mark.parametrize("number", recipes.NUMBERS.values(), ids=recipes.NUMBERS)
def test_numbers_alone(number: recipes.Number, table: Table) -> None:
    """The recipes that have a counter hand numbers out without an item as well."""
    assert [table.take(number) for _ in range(3)] == [1, 2, 3]
    assert table.stored() == {}


@pytest.mark.parametrize("recipe", READ_THEN_WRITE)
def test_read_then_write_loses_an_item(recipe: recipes.Recipe, table: Table) -> None:
    """Two writers that both read before either writes get the same number, and one of the two items is gone."""
    both_have_read = threading.Barrier(2)

    def wait(**event: Any) -> None:
        both_have_read.wait(60)

    table.client.meta.events.register("after-call.dynamodb.GetItem", wait)
    with ThreadPoolExecutor(2) as pool:
        numbers = list(pool.map(lambda title: table.run(recipe, title), ("a", "b")))
    assert numbers == [1, 1]
    assert len(table.stored()) == 1


@pytest.mark.parametrize("recipe", WITHOUT_FAULT)
def test_writers_do_not_break_them(recipe: recipes.Recipe, table: Table) -> None:
    """Under four writers, while every answer arrives, these recipes give no number twice and leave no hole."""
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda title: table.run(recipe, str(title)), range(8)))
    assert sorted(numbers) == list(range(1, 9))
    assert table.stored() == {number: str(title) for title, number in enumerate(numbers)}


def test_half_made_items_are_seen(table: Table) -> None:
    """Between its put and its last write everybody reads the item of the placeholder recipe without its number."""
    seen: list[dict[int, str]] = []
    table.client.meta.events.register("before-call.dynamodb.UpdateItem", lambda **event: seen.append(table.stored()))
    assert table.run(recipes.published_placeholder, "a") == 1
    assert seen == [{0: "a"}, {0: "a"}]
    assert table.stored() == {1: "a"}


@pytest.mark.parametrize(("writes", "following"), [(1, 1), (2, 2)])
def test_a_stop_leaves_an_item_without_number(writes: int, following: int, table: Table) -> None:
    """A stop before the last write leaves the placeholder for good, and after the addition a gap as well."""

    class Stopped(Exception):
        pass

    begun: list[str] = []

    def stop(event_name: str, **event: Any) -> None:
        begun.append(event_name)
        if len(begun) > writes:
            raise Stopped

    table.client.meta.events.register("before-call.dynamodb", stop, "stop")
    with pytest.raises(Stopped):
        table.run(recipes.published_placeholder, "a")
    table.client.meta.events.unregister("before-call.dynamodb", unique_id="stop")
    assert table.run(recipes.published_placeholder, "b") == following
    assert table.stored() == {0: "a", following: "b"}


def test_plain_add_drops_nothing(table: Table) -> None:
    """Of 96 plain additions by 12 threads none is dropped, and no two get the same value."""
    with ThreadPoolExecutor(12) as pool:
        values = list(pool.map(lambda _: table.take(recipes.add_number), range(96)))
    assert sorted(values) == list(range(1, 97))
    assert table.take(recipes.last_number) == 96


def test_conditional_add_gives_up(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """When others are quicker at each of 11 tries, 0.01 s apart, the conditional addition ends without a number."""
    rival = plain_client()
    pauses: list[float] = []

    def be_quicker(**event: Any) -> None:
        recipes.add_number(rival, table.name, "ABC")

    monkeypatch.setattr(recipes, "time", SimpleNamespace(sleep=pauses.append))
    table.client.meta.events.register("after-call.dynamodb.GetItem", be_quicker)
    with pytest.raises(RuntimeError, match="after 11 tries"):
        table.run(recipes.published_conditional_add, "a")
    assert pauses == [0.01] * 11
    assert table.stored() == {}


def test_true_is_not_a_number(table: Table) -> None:
    """Two writers are both told that their addition is stored, and then read the same number from the counter."""
    for last in (0, 1):
        assert recipes.add_if_unchanged(table.client, table.name, "ABC", last) is True
    assert recipes.add_if_unchanged(table.client, table.name, "ABC", 1) is False
    assert [table.take(recipes.last_number) for _ in range(2)] == [2, 2]


def test_the_transaction_gives_up_on_its_item(table: Table) -> None:
    """The transaction starts over when the counter had moved, but not when its item is in the way."""
    sent: list[str] = []

    def count(event_name: str, **event: Any) -> None:
        sent.append(event_name)
        assert len(sent) < 5, "it would try for ever"

    table.client.put_item(TableName=table.name, Item={"pk": {"S": "ABC"}, "sk": {"N": "2"}, "title": {"S": "old"}})
    table.client.meta.events.register("before-call.dynamodb.TransactWriteItems", count)
    assert table.run(recipes.published_transaction, "a") == 1
    for _ in range(2):  # as it would be however often one tries
        with pytest.raises(table.client.exceptions.TransactionCanceledException):
            table.run(recipes.published_transaction, "b")
    assert table.stored() == {1: "a", 2: "old"}


def test_the_transaction_reads_consistently(table: Table) -> None:
    """A counter that is read late would cost the transaction a lost race; so its read is consistent."""
    asked: list[Any] = []
    table.client.meta.events.register(
        "provide-client-params.dynamodb.GetItem", lambda params, **event: asked.append(params["ConsistentRead"])
    )
    table.run(recipes.published_transaction, "a")
    assert asked == [True]


def test_a_repeated_add_skips(lose: Callable[[str], None], new_table: Callable[[], Table]) -> None:
    """When the answer to an addition is lost, boto3 adds again: the number before stays without an item."""
    table = new_table()
    lose("UpdateItem")
    assert table.run(recipes.published_atomic, "a") == 2
    assert table.stored() == {2: "a"}


@pytest.mark.parametrize(
    ("recipe", "operation"),
    [
        (recipes.published_conditional_update, "UpdateItem"),
        (recipes.published_conditional_put, "PutItem"),
        (recipes.published_conditional_add, "UpdateItem"),
    ],
)
def test_a_condition_skips_too(
    recipe: recipes.Recipe, operation: str, lose: Callable[[str], None], new_table: Callable[[], Table]
) -> None:
    """When the answer to a conditional write of the counter is lost, the recipe takes it for another's, and skips."""
    table = new_table()
    lose(operation)
    assert table.run(recipe, "a") == 2
    assert table.stored() == {2: "a"}


@pytest.mark.parametrize("recipe", SORT_KEY)
def test_sort_key_recipes_write_twice(
    recipe: recipes.Recipe, lose: Callable[[str], None], new_table: Callable[[], Table]
) -> None:
    """When the answer to a put is lost, the sort-key recipes take their own item for another's and store a copy."""
    table = new_table()
    lose("PutItem")
    assert table.run(recipe, "a") == 2
    assert table.stored() == {1: "a", 2: "a"}


@pytest.mark.needs_engine
def test_transaction_survives_a_lost_answer(lose: Callable[[str], None], new_table: Callable[[], Table]) -> None:
    """boto3 names each transaction, so that sending it again stores nothing twice."""
    table = new_table()
    lose("TransactWriteItems")
    assert table.run(recipes.published_transaction, "a") == 1
    assert table.stored() == {1: "a"}


def test_ours_survives_a_lost_answer(
    lose: Callable[[str], None], new_table: Callable[[], Table], settings: Any
) -> None:
    """After the same lost answer SortKeyMaximum stores one item, under the first number."""
    table = new_table()
    settings.SEQUENCES = {
        "tickets": {
            "STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum",
            "TABLE": table.name,
            "OPTIONS": {"partition": "{scope}"},
        }
    }
    lose("PutItem")
    assert put_next("tickets", {"title": "a"}, scope="ABC").value == 1
    assert table.stored() == {1: "a"}
