"""Reads single rows, and whole collections in pages and in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..commit.retries import Deadline, read
from ..dynamodb import expressions, unmarshal
from ..dynamodb.expressions import KeySchema, Wire
from ..exceptions import NotWritten
from .layout import Send

MOST_IN_A_BATCH = 100

Row = Mapping[str, Any]


def pages(
    schema: KeySchema,
    partition: str,
    limit: int,
    *attributes: str,
    newest_first: bool = False,
    whole: bool = False,
    after: Wire | None = None,
    send: Send | None = None,
) -> Iterator[list[Row]]:
    """The pages of an item collection in order, with its keys and the named attributes; or the `whole` items.

    They continue after the key `after`. Without `send` each page is read in the time of a call.
    """
    send = send or partial(read, client=schema.client)
    while True:
        request = expressions.query_numbers(
            schema,
            partition,
            newest_first=newest_first,
            limit=limit,
            after=after,
            attributes=None if whole else attributes,
        )
        answer = send("query", request)
        yield [unmarshal(item) for item in answer["Items"]]
        after = answer.get("LastEvaluatedKey")
        if not after:
            return


def sorted_page(
    schema: KeySchema,
    partition: str,
    cursor: str | None,
    limit: int,
    *attributes: str,
    begin: str = "",
    newest_first: bool = False,
) -> tuple[list[Row], str | None]:
    """Some rows of a partition whose sort keys are texts, in their order, and the cursor of the next page. One query.

    Their sort keys begin like this. A cursor is the sort key of a page's last row.
    """
    names = schema.names
    after = {name: {"S": text} for name, text in zip(names, (partition, cursor), strict=True)} if cursor else None
    request = expressions.query_numbers(
        schema, partition, newest_first=newest_first, limit=limit, after=after, attributes=attributes
    )
    answer = read("query", expressions.beginning(request, begin) if begin else request, client=schema.client)
    last = answer.get("LastEvaluatedKey")
    return [unmarshal(row) for row in answer["Items"]], last and last[schema.sort_name]["S"]


def stored_row(table: str, key: Wire, send: Send) -> Row:
    """The row under a key, empty if there is none. One consistent read."""
    return unmarshal(send("get_item", expressions.read_item(table, key)).get("Item", {}))


def read_rows(table: str, keys: Sequence[Row], attributes: Sequence[str], send: Send) -> list[Row | None]:
    """The rows of at most 100 keys with these attributes, empty where none is stored. One consistent request.

    None stands for one that the engine leaves out.
    """
    if not keys:
        return []
    answer = send("batch_get_item", expressions.read_keys(table, keys, attributes=[*keys[0], *attributes]))
    left_out = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", ())
    found = {str({name: row[name] for name in keys[0]}): row for row in answer["Responses"].get(table, ())}
    return [None if key in left_out else unmarshal(found.get(str(key), {})) for key in keys]


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
