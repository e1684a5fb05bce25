"""The fixtures of the lab's tests: a table as the recipes need it, and a client."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from project.lab import recipes
from project.lab.client import plain_client
from sequences import dynamodb

SCOPE = "ABC"


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
