"""The recipes for numbering items in DynamoDB as they are published, including the broken ones.

Each of the ten short functions is what a reader of an article would write, with its source, what it promises and what
breaks. They take a client as boto3 makes it (with its own retries), store one item in a table with partition key `pk`
and sort key `sk`, and return the number that their caller then uses. They are not part of the strategies and not safer
than their sources. `comparison` runs and measures them.

A counter is the item `("<scope>#counter", 0)`. The articles create it by hand; here `prepare` does.
An item comes in DynamoDB's own form, `{"title": {"S": "..."}}`. Its number is its sort key, but for the items of
`published_placeholder`; `number_of` reads both.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = [
    "BARE_PUT_ITEM",
    "NUMBERS",
    "RECIPES",
    "Item",
    "Number",
    "Recipe",
    "add_if_unchanged",
    "add_number",
    "bare_put_item",
    "conditional_add_number",
    "conditional_put_number",
    "conditional_update_number",
    "highest_number",
    "last_number",
    "number_of",
    "prepare",
    "published_atomic",
    "published_conditional_add",
    "published_conditional_put",
    "published_conditional_update",
    "published_item_first",
    "published_number_first",
    "published_placeholder",
    "published_sort_key_increment",
    "published_sort_key_requery",
    "published_transaction",
]

Item = Mapping[str, Any]
Recipe = Callable[["DynamoDBClient", str, str, Item], int]
Number = Callable[["DynamoDBClient", str, str], int]

BARE_PUT_ITEM = "bare-put-item"
COUNT = {"#count": "count"}
ONE = {":one": {"N": "1"}}
_from_memory = itertools.count(1)


def published_atomic(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Add one to a counter, then put the item under the answer.

    Source: "Implement auto-increment with Amazon DynamoDB", AWS Database Blog (C. Gillespie, J. Hunter),
    https://aws.amazon.com/blogs/database/implement-auto-increment-with-amazon-dynamodb - its first way; the
    same in "Atomic counters", Amazon DynamoDB Developer Guide.
    Promises: no number twice. Holds.
    Breaks: if the put fails, or an answer is lost and boto3 adds again, there is a gap.
    """
    number = add_number(client, table, scope)
    _put(client, table, scope, number, item)
    return number


def published_number_first(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Read the counter, write it back plus one, then put the item: read-then-write.

    Source: the "intuitive workflow" in the answer to "How to make a UUID in DynamoDB?", which warns of it:
    https://stackoverflow.com/questions/11721308/how-to-make-a-uuid-in-dynamodb/12030644
    Promises: nothing; it is what people write first.
    Breaks: two writers that read the same count get the same number, and the later item replaces the earlier one.
    """
    number = last_number(client, table, scope) + 1
    _set_count(client, table, scope, number)
    _put(client, table, scope, number, item)
    return number


def published_item_first(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Read the counter, put the item, and only then write the counter back: read-then-write in the other order.

    Source: `script/Main_Table.py` and `script/Table_Counter.py` of
    https://github.com/AbhimanyuHK/AWS-DynamoDB-AutoIncrement - it scans a table that has nothing but the counter, which
    costs the same as this read.
    Promises: a number is not used up when the item cannot be stored. Holds.
    Breaks: as number-first, with more time in which others read the same count. After a stop between the two writes,
    the next writer replaces the item.
    """
    number = last_number(client, table, scope) + 1
    _put(client, table, scope, number, item)
    _set_count(client, table, scope, number)
    return number


def published_placeholder(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Put the item with 0 for its number, add one to a counter, then write the number into the item.

    Source: none with an address; it is `published_atomic` in the other order, for items that have keys of their own.
    Promises: no number twice. Holds.
    Breaks: until the last write everybody sees an item with the number 0. A stop before that write leaves it so for
    good, and leaves a gap if the counter had moved. A lost answer to the addition leaves a gap, too.
    """
    key = _item_key(scope, -1 - secrets.randbelow(10**18))
    client.put_item(TableName=table, Item={**key, **item, "number": {"N": "0"}})
    number = add_number(client, table, scope)
    client.update_item(
        TableName=table,
        Key=key,
        UpdateExpression="SET #number = :number",
        ExpressionAttributeNames={"#number": "number"},
        ExpressionAttributeValues={":number": {"N": str(number)}},
    )
    return number


def published_conditional_update(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Read the counter, update it if it is still what was read, start over if not; then put the item.

    Source: optimistic locking in "Counting on Dynamo", https://rory.horse/posts/counting-on-dynamo/
    Promises: no number twice. Holds.
    Breaks: every writer but one loses each round. After a lost answer the writer takes its own update for another
    writer's, which leaves a gap.
    """
    number = conditional_update_number(client, table, scope)
    _put(client, table, scope, number, item)
    return number


def published_conditional_put(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Read the counter, put it back whole if it is still what was read, start over if not; then put the item.

    Source: the counter with a version of "Optimistic locking",
    https://ferrumio.github.io/pydynox/guides/optimistic-locking, as the mappers of the AWS SDKs do it
    ("Optimistic locking with version number", DynamoDB Developer Guide).
    Promises and breaks: as conditional-update.
    """
    number = conditional_put_number(client, table, scope)
    _put(client, table, scope, number, item)
    return number


def published_conditional_add(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Add one if nobody else has since the read, with 11 tries and pauses of 0.01 s; then put the item.

    Source: none with an address. Some advice says that plain `ADD` drops concurrent updates and needs a condition and a
    few retries. Its function answers True, or False after the last try, and tells no number. Here the number is the
    count that the condition was about, plus one, and False is an error. Who reads the counter after True instead
    may read the number of another writer.
    Promises: no number twice. Holds, as it does for `ADD` without the condition.
    Breaks: with more than a few writers 11 tries are not enough, and the caller gets an error instead of a number.
    """
    number = conditional_add_number(client, table, scope)
    _put(client, table, scope, number, item)
    return number


def published_transaction(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Read the counter, then move it on and put the item in one transaction; start over when the counter had moved.

    Source: "Reliable Auto-Incrementing Integers in DynamoDB", Bite-Sized Serverless,
    https://bitesizedserverless.com/bite/reliable-auto-increments-in-dynamodb/ - the read is consistent, and a
    transaction that is cancelled for anything but the counter's condition is given up. Its items have keys of their
    own. Here the key is the number, so that after a lost race both conditions fail: the counter's is looked at first.
    Promises: no number twice and no gap. Holds.
    Breaks: a transaction costs double, also when it is cancelled, and with many writers most of them are. DynamoDB
    also cancels with `TransactionConflict`, which ends in an error. If an answer is lost for good, the item is stored,
    but its caller believes that it is not.
    """
    while True:
        last = last_number(client, table, scope, consistent=True)
        try:
            client.transact_write_items(TransactItems=_count_and_put(table, scope, last, item))
        except client.exceptions.TransactionCanceledException as error:
            counter, _ = error.response["CancellationReasons"]
            if counter["Code"] != "ConditionalCheckFailed":
                raise
        else:
            return last + 1


def published_sort_key_increment(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Query the highest sort key, put the item at plus one if that is free; if not, go on to the next number.

    Source: "Implement auto-increment with Amazon DynamoDB", AWS Database Blog - its second way,
    https://aws.amazon.com/blogs/database/implement-auto-increment-with-amazon-dynamodb
    Promises: no number twice, no gap, no counter. Holds while every answer arrives.
    Breaks: after a lost answer boto3 sends the put again and finds the number taken, by itself. Then the loop stores
    the item a second time. Writers race for every number, and each additional one makes all of them slower.
    """
    number = highest_number(client, table, scope) + 1
    while not _put_if_free(client, table, scope, number, item):
        number += 1
    return number


def published_sort_key_requery(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Query the highest sort key, put the item at plus one if that is free; if not, query again.

    Source: the same post, with a new query after a lost race.
    Promises and breaks: as sort-key-increment, with one more read for each lost race, but fewer lost races.
    """
    number = highest_number(client, table, scope) + 1
    while not _put_if_free(client, table, scope, number, item):
        number = highest_number(client, table, scope) + 1
    return number


def bare_put_item(client: DynamoDBClient, table: str, scope: str, item: Item) -> int:
    """Put the item under a number from this process's memory: no numbering, only the price of one `PutItem`.

    Source: none; the others are compared with it. Two processes overwrite each other's items.
    """
    number = next(_from_memory)
    _put(client, table, scope, number, item)
    return number


def prepare(client: DynamoDBClient, table: str, scope: str) -> None:
    """Store the counter of a scope with 0; the articles do this by hand."""
    _set_count(client, table, scope, 0)


def add_number(client: DynamoDBClient, table: str, scope: str) -> int:
    """The number of `published_atomic` without its item: one plain `ADD`."""
    response = client.update_item(
        TableName=table,
        Key=_counter_key(scope),
        UpdateExpression="ADD #count :one",
        ExpressionAttributeNames=COUNT,
        ExpressionAttributeValues=ONE,
        ReturnValues="UPDATED_NEW",
    )
    return int(response["Attributes"]["count"]["N"])


def conditional_update_number(client: DynamoDBClient, table: str, scope: str) -> int:
    """The number of `published_conditional_update` without its item."""
    while True:
        last = last_number(client, table, scope)
        try:
            client.update_item(
                TableName=table,
                Key=_counter_key(scope),
                UpdateExpression="SET #count = :next",
                ConditionExpression="#count = :last",
                ExpressionAttributeNames=COUNT,
                ExpressionAttributeValues={":next": {"N": str(last + 1)}, ":last": {"N": str(last)}},
            )
            return last + 1
        except client.exceptions.ConditionalCheckFailedException:
            continue


def conditional_put_number(client: DynamoDBClient, table: str, scope: str) -> int:
    """The number of `published_conditional_put` without its item."""
    while True:
        last = last_number(client, table, scope)
        try:
            client.put_item(
                TableName=table,
                Item={**_counter_key(scope), "count": {"N": str(last + 1)}},
                ConditionExpression="#count = :last",
                ExpressionAttributeNames=COUNT,
                ExpressionAttributeValues={":last": {"N": str(last)}},
            )
            return last + 1
        except client.exceptions.ConditionalCheckFailedException:
            continue


def conditional_add_number(
    client: DynamoDBClient, table: str, scope: str, *, tries: int = 11, pause_seconds: float = 0.01
) -> int:
    """The number of `published_conditional_add` without its item. Raises RuntimeError if no try succeeds."""
    for _ in range(tries):
        last = last_number(client, table, scope)
        if add_if_unchanged(client, table, scope, last):
            return last + 1
        time.sleep(pause_seconds)
    raise RuntimeError(f"No number for {scope!r} after {tries} tries.")


def add_if_unchanged(client: DynamoDBClient, table: str, scope: str, last: int) -> bool:
    """One try of `published_conditional_add`: add one if the counter is still `last`, and say whether it was."""
    try:
        client.update_item(
            TableName=table,
            Key=_counter_key(scope),
            UpdateExpression="ADD #count :one",
            ConditionExpression="#count = :last",
            ExpressionAttributeNames=COUNT,
            ExpressionAttributeValues={**ONE, ":last": {"N": str(last)}},
        )
    except client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def last_number(client: DynamoDBClient, table: str, scope: str, *, consistent: bool = False) -> int:
    """Read the counter of a scope."""
    answer = client.get_item(TableName=table, Key=_counter_key(scope), ConsistentRead=consistent)
    return int(answer["Item"]["count"]["N"])


def number_of(item: Item) -> int:
    """The number of a stored item; 0 if it has a placeholder."""
    return int(item.get("number", item["sk"])["N"])


def highest_number(client: DynamoDBClient, table: str, scope: str) -> int:
    """Query the highest sort key of a scope; 0 when it holds nothing."""
    response = client.query(
        TableName=table,
        KeyConditionExpression="pk = :scope",
        ExpressionAttributeValues={":scope": {"S": scope}},
        ScanIndexForward=False,
        Limit=1,
    )
    return int(response["Items"][0]["sk"]["N"]) if response["Items"] else 0


def _put(client: DynamoDBClient, table: str, scope: str, number: int, item: Item) -> None:
    client.put_item(TableName=table, Item={**_item_key(scope, number), **item})


def _put_if_free(client: DynamoDBClient, table: str, scope: str, number: int, item: Item) -> bool:
    try:
        client.put_item(
            TableName=table,
            Item={**_item_key(scope, number), **item},
            ConditionExpression="attribute_not_exists(pk)",
        )
    except client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _count_and_put(table: str, scope: str, last: int, item: Item) -> list[Any]:
    """The actions of `published_transaction`: the counter's, then the item's."""
    count = {
        "TableName": table,
        "Key": _counter_key(scope),
        "UpdateExpression": "SET #count = #count + :one",
        "ConditionExpression": "#count = :last",
        "ExpressionAttributeNames": COUNT,
        "ExpressionAttributeValues": {**ONE, ":last": {"N": str(last)}},
    }
    put = {
        "TableName": table,
        "Item": {**_item_key(scope, last + 1), **item},
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    return [{"Update": count}, {"Put": put}]


def _set_count(client: DynamoDBClient, table: str, scope: str, count: int) -> None:
    client.put_item(TableName=table, Item={**_counter_key(scope), "count": {"N": str(count)}})


def _counter_key(scope: str) -> dict[str, Any]:
    return {"pk": {"S": f"{scope}#counter"}, "sk": {"N": "0"}}


def _item_key(scope: str, number: int) -> dict[str, Any]:
    return {"pk": {"S": scope}, "sk": {"N": str(number)}}


RECIPES: Mapping[str, Recipe] = {
    "published-atomic": published_atomic,
    "published-number-first": published_number_first,
    "published-item-first": published_item_first,
    "published-placeholder": published_placeholder,
    "published-conditional-update": published_conditional_update,
    "published-conditional-put": published_conditional_put,
    "published-conditional-add": published_conditional_add,
    "published-transaction": published_transaction,
    "published-sort-key-increment": published_sort_key_increment,
    "published-sort-key-requery": published_sort_key_requery,
}

NUMBERS: Mapping[str, Number] = {
    "published-atomic": add_number,
    "published-conditional-update": conditional_update_number,
    "published-conditional-put": conditional_put_number,
    "published-conditional-add": conditional_add_number,
}
