"""Reads stored items back by their values: one, or those of a scope in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..exceptions import OperationNotSupported
from ..types import Scope, StoredItem, parted
from .assignments import Assigner
from .layout import Send, signed_void
from .reading import pages

ITEMS_A_PAGE = 100


def stored_item(assigner: Assigner, scope: Scope, value: int, send: Send) -> StoredItem | None:
    """The item under a value; None if there is none. One consistent request.

    Raises OperationNotSupported for items under keys of their own, and ValueError for what is no value.
    """
    layout, schema = assigner.layout, assigner.layout.schema
    key = layout.key(scope, assigner.numbers.checked(value))
    if not key:
        raise OperationNotSupported(f"The items of {assigner.alias!r} have keys of their own: read them by these keys.")
    if len(key) == len(schema.names):
        row = send("get_item", expressions.read_item(schema.table, key)).get("Item")
    else:  # the item has brought its sort key
        (partition,) = key[schema.partition_name].values()
        query = expressions.query_numbers(schema, partition, newest_first=False, limit=1, attributes=None)
        row = next(iter(send("query", query)["Items"]), None)
    return None if row is None else _stored(assigner, scope, value, dynamodb.unmarshal(row))


def item_pages(
    assigner: Assigner, scope: Scope, after: int | None, send: Send, *, newest_first: bool
) -> Iterator[list[StoredItem]]:
    """The items of a scope after this value in their order, page by page. One consistent request for each.

    A number below START comes before all, as 0 in a loop over pages.
    Raises OperationNotSupported for items that are not in the order of their values, and ValueError.
    """
    layout, schema, numbers = assigner.layout, assigner.layout.schema, assigner.numbers
    if not layout.in_collections:
        raise OperationNotSupported(f"The items of {assigner.alias!r} are not in the order of their values.")
    partition = layout.partition(scope)
    if type(after) is int and after < numbers.start and not newest_first:
        after = None
    key = None if after is None else schema.key(partition, numbers.checked(after))
    for page in pages(schema, partition, ITEMS_A_PAGE, newest_first=newest_first, whole=True, after=key, send=send):
        found = []
        for row in page:
            value = schema.number_or_none(row)
            if value is not None and (not numbers.problem(value) or numbers.is_of_others(value)):
                found.append(_stored(assigner, scope, value, row))  # rows below START are the application's own
        yield found


def _stored(assigner: Assigner, scope: Scope, value: int, row: Mapping[str, Any]) -> StoredItem:
    layout, (plain, period), void = assigner.layout, parted(scope), signed_void(row)
    named = (layout.token_name, layout.text_name, layout.digest_name)
    ours = {*layout.key_names, *named, *(["void"] if void else [])}
    return StoredItem(
        sequence=assigner.alias,
        scope=plain,
        period=period,
        value=value,
        text=row.get(layout.text_name or "") or assigner.naming.text_or_number(value, scope),
        item={name: attribute for name, attribute in row.items() if name not in ours},
        void=void or None,
        digest=row.get(layout.digest_name or "", ""),
    )
