"""The fixtures of the lab's tests: a table as the recipes need it, and a client."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from types import SimpleNamespace
from uuid import uuid4

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from project.lab import racing, recipes, writers
from project.lab.client import plain_client
from sequences import dynamodb
from sequences.commit import host_lock
from sequences.rows import host_queue
from sequences.strategies import sort_key
from tests.sequences.support import fresh_processes

SCOPE = "ABC"
begin_process = writers._begin_process


@dataclass(frozen=True)
class Table:
    """An empty table with a counter at 0 for the scope ABC, and a client like the one in an article."""

    name: str
    client: DynamoDBClient

    def run(self, recipe: recipes.Recipe, title: str) -> int:
        """Number one item with this title."""
        return recipe(self.client, self.name, SCOPE, {"title": {"S": title}})

    def take(self, number: recipes.Number) -> int:
        """Take one number without an item."""
        return number(self.client, self.name, SCOPE)

    def stored(self) -> dict[int, str]:
        """The titles by number; an item with a placeholder has 0."""
        items = self.client.query(
            TableName=self.name,
            KeyConditionExpression="pk = :scope",
            ExpressionAttributeValues={":scope": {"S": SCOPE}},
            ConsistentRead=True,
        )["Items"]
        return {recipes.number_of(item): item["title"]["S"] for item in items}


@pytest.fixture(scope="module")
def ready_processes() -> Iterator[None]:
    """Writers are forked by a server, which has imported what they need, and share nothing with this process."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (racing, writers):
            patch.setattr(module, "multiprocessing", SimpleNamespace(get_context=lambda _: fresh_processes()))
        patch.setattr(writers, "_begin_process", begin_patient_process)
        yield


def begin_patient_process(barrier: Barrier) -> None:
    """Begin a process of writers in which nothing is forgotten, overtaken or looked up when the machine is slow."""
    vars(sort_key)["TAIL_SECONDS"] = vars(host_lock)["LONGEST_WAIT"] = 60.0
    vars(host_queue)["LOOK_SECONDS"] = math.inf
    vars(host_lock)["CONNECT_ATTEMPTS"] = 100_000
    begin_process(barrier)


@pytest.fixture
def new_table(endpoint: str) -> Callable[[], Table]:
    """A function that makes a table on the engine."""

    def make() -> Table:
        name = f"lab-{uuid4().hex}"
        dynamodb.create_table(name, {"pk": "S", "sk": "N"})
        client = plain_client()
        recipes.prepare(client, name, SCOPE)
        return Table(name, client)

    return make


@pytest.fixture
def table(new_table: Callable[[], Table]) -> Table:
    """A table on the engine."""
    return new_table()
