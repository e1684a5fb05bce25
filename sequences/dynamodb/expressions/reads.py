"""Reads of items: single ones, batches, queries of a collection in the order of its numbers, and scans of keys."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .key_schema import KeySchema

Wire = Mapping[str, Any]
REPORT_UNITS = {"ReturnConsumedCapacity": "TOTAL"}


def read_item(table: str, key: Wire) -> dict[str, Any]:
    """A consistent `GetItem` of one key."""
    return {"TableName": table, "Key": key, "ConsistentRead": True, **REPORT_UNITS}


def read_many(
    schema: KeySchema, places: Iterable[tuple[str, int]], *, attributes: Sequence[str], consistent: bool = True
) -> dict[str, Any]:
    """A `BatchGetItem` of at most 100 items, each named by its partition and number.

    They come with their sort keys and these attributes.
    """
    keys = [schema.key(partition, number) for partition, number in places]
    return read_keys(schema.table, keys, attributes=[schema.sort_name, *attributes], consistent=consistent)


def read_keys(
    table: str, keys: Sequence[Wire], *, attributes: Sequence[str], consistent: bool = True
) -> dict[str, Any]:
    """A `BatchGetItem` of at most 100 keys. Its items have these attributes alone."""
    aliases = _numbered(attributes)
    wanted = {
        "Keys": keys,
        "ConsistentRead": consistent,
        "ProjectionExpression": ", ".join(aliases),
        "ExpressionAttributeNames": aliases,
    }
    return {"RequestItems": {table: wanted}, **REPORT_UNITS}


def read_tables(keys: Mapping[str, Wire]) -> dict[str, Any]:
    """A consistent `BatchGetItem` of one key in each of these tables."""
    wanted = {table: {"Keys": [key], "ConsistentRead": True} for table, key in keys.items()}
    return {"RequestItems": wanted, **REPORT_UNITS}


def read_rest(unprocessed: Wire) -> dict[str, Any]:
    """A `BatchGetItem` of what the answer to another one left out."""
    return {"RequestItems": unprocessed, **REPORT_UNITS}


def query_numbers(
    schema: KeySchema,
    partition: str,
    *,
    newest_first: bool,
    limit: int,
    consistent: bool = True,
    above: int | None = None,
    after: Wire | None = None,
    attributes: Sequence[str] | None = (),
) -> dict[str, Any]:
    """One page of an item collection in the order of its numbers, with its keys and the named attributes; None: all.

    It has only numbers greater than `above`, and continues after the key `after`.
    """
    aliases = _numbered((schema.partition_name, schema.sort_name, *(attributes or ())))
    condition, values = _above(schema, list(aliases)[1], above)
    if attributes is None:
        shown, aliases = {}, {alias: name for alias, name in aliases.items() if alias in condition}
    else:
        shown = {"ProjectionExpression": ", ".join(aliases)}
    request = {
        "TableName": schema.table,
        "KeyConditionExpression": f"#partition = :partition{condition}",
        **shown,
        "ExpressionAttributeNames": {"#partition": schema.partition_name, **aliases},
        "ExpressionAttributeValues": {":partition": {schema.partition_type: partition}, **values},
        "ScanIndexForward": not newest_first,
        "Limit": limit,
        "ConsistentRead": consistent,
        **REPORT_UNITS,
    }
    return {**request, "ExclusiveStartKey": after} if after else request


def _above(schema: KeySchema, sort: str, above: int | None) -> tuple[str, Wire]:
    """The condition for the numbers of a collection that are greater than `above`, and its values."""
    if schema.numbered:
        first, last = schema.numbered
        values = {":first": first if above is None else schema.sort_value(above + 1), ":last": last}
        return f" AND {sort} BETWEEN :first AND :last", values
    return ("", {}) if above is None else (f" AND {sort} > :above", {":above": schema.sort_value(above)})


def scan_partitions(schema: KeySchema, *, after: Wire | None = None) -> dict[str, Any]:
    """One page of the partition keys of a whole table, in no order."""
    aliases = _numbered([schema.partition_name])
    request = {
        "TableName": schema.table,
        "ProjectionExpression": ", ".join(aliases),
        "ExpressionAttributeNames": aliases,
    }
    return {**request, "ExclusiveStartKey": after} if after else request


def beginning(query: Wire, text: str) -> dict[str, Any]:
    """A query of a collection whose sort keys are texts, for those that begin with this one.

    Not by `begins_with`, which does not tell upper from lower case on every engine.
    """
    names = query["ExpressionAttributeNames"]
    sort = next(alias for alias in names if alias.startswith("#1_"))
    last = text + "\U0010ffff"  # no text has this character
    condition = f"{query['KeyConditionExpression']} AND {sort} BETWEEN :begin AND :last"
    values = {**query["ExpressionAttributeValues"], ":begin": {"S": text}, ":last": {"S": last}}
    return {**query, "KeyConditionExpression": condition, "ExpressionAttributeValues": values}


def _numbered(names: Iterable[str]) -> dict[str, str]:
    """An alias for each attribute name, whatever characters it has."""
    return {f"#{index}_{re.sub('[^A-Za-z0-9_]', '_', name)}": name for index, name in enumerate(names)}
