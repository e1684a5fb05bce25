"""What clients ask of the Python API, how its answers read, and what is stored of it in the end.

A request stores one item or several together, with an idempotency token or without one. An item may bring its own key.
These riders may go with it:

    tally     an Update that adds 1 to one row of the scope
    note      a Put of a row under the item's value
    flag      a Check that a row is there
    vote      an Update of an attribute; it is invalid while the attribute is missing

A `ThirdClient` sets and removes the flag and the attribute, and stores a row of its own under the keys of others. It
changes nothing that the sequence has written.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from project.proof.faults.clients import bare_client
from project.proof.faults.history import NOTE, TALLY, Asked, Word
from project.proof.faults.stack import PREFIX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from sequences.actions import Action

__all__ = ["STRATEGIES", "ThirdClient", "ask_api", "drawn", "stored_by_api", "stored_tickets"]

STRATEGIES: Final = ("sort-key", "transactional", "atomic", "optimistic-update", "block")
"""The sequences of `elsewhere` that the clients use: one for each strategy."""

TABLE: Final = "sequence_items"
NOT_OURS: Final = "attribute_not_exists(title)"
FLAG: Final = "flag"
VOTE: Final = "vote"
RIDERS: Final = (TALLY, NOTE, FLAG, VOTE)
KINDS: Final = ("plain", "together", "own key", "riders", "riders")


def drawn(draws: random.Random, scope: str, token: str, own_key: int) -> Asked:
    """A request of a drawn kind. `own_key` is the key that its item brings, if it is of that kind."""
    asked = Asked(scope, token, f"{token} {draws.randrange(10**6)}", marked=draws.random() < 0.5)
    kind, size, riders = draws.choice(KINDS), draws.randint(2, 5), draws.sample(RIDERS, draws.randint(1, 3))
    if kind == "together":
        return asked._replace(size=size)
    if kind == "own key" and "sort-key" not in scope:  # it takes none
        return asked._replace(own_key=own_key)
    return asked if kind == "plain" else asked._replace(also=tuple(riders))


def ask_api(asked: Asked) -> Word:
    """Store the items of a request. `asked.scope` is the sequence, a dot, and the scope in the sequence."""
    from sequences import put_next, put_next_together
    from sequences.exceptions import SequenceError

    sequence, _, scope = asked.scope.partition(".")
    token = asked.token if asked.marked else None
    items: list[dict[str, Any]] = [{"title": title} for title in asked.titles]
    try:
        if len(items) > 1:
            answers = put_next_together(sequence, items, scope=scope, idempotency_token=token)
        else:
            own_key = {} if asked.own_key is None else _key("own", asked.scope, asked.own_key)
            riders = [_rider(rider, asked) for rider in asked.also]
            answers = [put_next(sequence, items[0] | own_key, scope=scope, idempotency_token=token, also=riders)]
    except SequenceError as error:
        return _refusal(asked, error)
    except Exception as error:  # noqa: BLE001 - the product promises no other errors, so this is recorded as wrong
        return Word("unknown", why=repr(error)[:100], wrong=True)
    values = [answer.value for answer in answers]
    if values != list(range(values[0], values[0] + asked.size)):
        return Word("unknown", why=f"the values {values} do not follow each other", wrong=True)
    return Word("ok", values[0], replayed=answers[0].replayed)


def _refusal(asked: Asked, error: Exception) -> Word:
    """The word of an error. It is wrong unless the request may cause it."""
    from sequences.exceptions import AlsoRefused, GaveUp, InvalidItem, ItemExists

    what = "unknown" if getattr(error, "outcome_unknown", False) else "fail"
    may_occur = {
        AlsoRefused: FLAG in asked.also,
        InvalidItem: VOTE in asked.also,
        ItemExists: asked.own_key is not None,
    }
    if isinstance(error, GaveUp) or may_occur.get(type(error), False):
        return Word(what, why=type(error).__name__)
    return Word(what, why=repr(error)[:100], wrong=True)


def _key(what: str, scope: str, number: object = 0) -> dict[str, Any]:
    """The key of a row that is not in the collection of the sequence."""
    return {"pk": f"{what} of {scope}", "sk": number}


def _rider(rider: str, asked: Asked) -> Action:
    from sequences.actions import VALUE, Check, Put, Update

    key = _key(rider, asked.scope)
    match rider:
        case "tally":
            return Update(TABLE, key, update="ADD n :one", values={":one": 1})
        case "note":
            return Put(TABLE, {**_key(rider, asked.scope, VALUE), "title": asked.content})
        case "flag":
            return Check(TABLE, key, condition="attribute_exists(pk)")
        case _:
            return Update(TABLE, key, update="SET n = n + :one", values={":one": 1})


class ThirdClient:
    """Changes the conditions of requests, at the engine itself. While the engine is away, nothing is changed."""

    def __init__(self, endpoint: str) -> None:
        self._client = bare_client(endpoint)

    def change(self, scope: str, own_key: int, *, holds: bool) -> None:
        """Let the conditions of all riders and of this key hold, or fail."""
        with contextlib.suppress(BotoCoreError, ClientError):
            for what, number, is_there in ((FLAG, 0, holds), (VOTE, 0, holds), ("own", own_key, not holds)):
                key = {"pk": {"S": f"{what} of {scope}"}, "sk": {"N": str(number)}}
                if is_there:
                    row = {**key, "n": {"N": "0"}}
                    self._client.put_item(TableName=PREFIX + TABLE, Item=row, ConditionExpression=NOT_OURS)
                else:
                    self._client.delete_item(TableName=PREFIX + TABLE, Key=key, ConditionExpression=NOT_OURS)


def stored_by_api(endpoint: str, scope: str) -> Iterator[dict[str, Any]]:
    """The lines of a history that tell what is stored in a scope, read from the engine, without the product."""
    client = bare_client(endpoint, read_timeout=60)
    collections = scope.replace(".", "#"), f"own of {scope}"
    for row in itertools.chain.from_iterable(_rows(client, TABLE, partition) for partition in collections):
        if "title" in row:
            yield _stored(row.get("value", row["sk"]), row["title"])
    for row in _rows(client, TABLE, f"{NOTE} of {scope}"):
        yield {"what": NOTE, "number": int(row["sk"]["N"]), "content": row["title"]["S"]}
    yield {"what": TALLY, "count": sum(int(row["n"]["N"]) for row in _rows(client, TABLE, f"{TALLY} of {scope}"))}


def stored_tickets(endpoint: str, project: str) -> Iterator[dict[str, Any]]:
    """The same of a project's tickets."""
    for row in _rows(bare_client(endpoint, read_timeout=60), "tickets", project):
        if row["sk"] != {"N": "0"}:  # the project itself
            yield _stored(row["sk"], row["title"])


def _rows(client: DynamoDBClient, table: str, partition: str) -> Iterator[dict[str, Any]]:
    """The rows of a partition, page by page."""
    pages = client.get_paginator("query").paginate(
        TableName=PREFIX + table,
        ConsistentRead=True,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": partition}},
    )
    for page in pages:
        yield from page["Items"]


def _stored(number: Mapping[str, str], title: Mapping[str, str]) -> dict[str, Any]:
    """The line of a stored item. Its title begins with the token of its request."""
    token = title["S"].partition(" ")[0]
    return {"what": "stored", "number": int(number["N"]), "token": token, "content": title["S"]}
