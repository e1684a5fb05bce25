"""Reads whole collections, in pages and in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...commit.retries import Deadline, read
from ...dynamodb import expressions, unmarshal
from ...dynamodb.expressions import KeySchema
from ...exceptions import NotWritten
from ...rows.history import History
from ...strategies.base import Strategy
from ...types import Change, Dated, Scope

__all__ = ["Row", "changes_of", "list_scopes", "pages", "stored_tokens"]

SCOPES_A_PAGE = 100
CHANGES_A_PAGE = 1000
MOST_IN_A_BATCH = 100

Row = Mapping[str, Any]


def list_scopes(strategy: Strategy, period: str = "") -> Iterator[Scope]:
    """Every scope of a sequence, or those of a period, page by page. Other periods are read where nothing searches.

    Raises OperationNotSupported if the sequence cannot list its scopes.
    """
    cursor, searched = None, period if strategy.scopes.searches("period") else ""
    while True:
        counters, cursor = strategy.scopes.page(cursor, SCOPES_A_PAGE, period=searched)
        yield from (counter.counted_in for counter in counters if period in ("", counter.period))
        if cursor is None:
            return


def pages(
    schema: KeySchema, partition: str, limit: int, *attributes: str, newest_first: bool = False
) -> Iterator[list[Row]]:
    """The pages of an item collection in order, with its keys and the named attributes."""
    after = None
    while True:
        request = expressions.query_numbers(
            schema, partition, newest_first=newest_first, limit=limit, after=after, attributes=attributes
        )
        answer = read("query", request, client=schema.client)
        yield [unmarshal(item) for item in answer["Items"]]
        after = answer.get("LastEvaluatedKey")
        if not after:
            return


def changes_of(history: History, scope: Scope) -> Iterator[Change]:
    """The history of one scope, the latest change first."""
    cursor = None
    while True:
        changes, cursor = history.page(cursor, CHANGES_A_PAGE)
        yield from (change for change in changes if Dated.of(change.scope, change.period) == scope)
        if cursor is None:
            return


def stored_tokens(schema: KeySchema, partition: str, values: Iterable[int], token_name: str) -> dict[int, str]:
    """The tokens of the items with these values. Asks again for what a batch leaves out."""
    wanted = list(values)
    tokens: dict[int, str] = {}
    for first in range(0, len(wanted), MOST_IN_A_BATCH):
        places = [(partition, value) for value in wanted[first : first + MOST_IN_A_BATCH]]
        tokens |= _tokens_of(schema, expressions.read_many(schema, places, attributes=[token_name]), token_name)
    return tokens


def _tokens_of(schema: KeySchema, request: Row, token_name: str) -> dict[int, str]:
    tokens: dict[int, str] = {}
    deadline = Deadline()
    while request:
        answer = read("batch_get_item", request, client=schema.client)
        rows = [unmarshal(item) for item in answer["Responses"].get(schema.table, ())]
        tokens.update({schema.number(row): row.get(token_name, "") for row in rows})
        left = answer.get("UnprocessedKeys")
        request = expressions.read_rest(left) if left else {}
        if rows:
            deadline = Deadline()
        elif request:
            deadline.try_again(NotWritten("batch_get_item: the engine returned none of the requested items."))
    return tokens
