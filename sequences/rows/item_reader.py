"""Reads stored items back by their values: one, or those of a scope in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..exceptions import OperationNotSupported
from ..types import Scope, StoredItem, parted
from .layout import ItemLayout, Send, signed_void
from .naming import Naming
from .reading import pages

ITEMS_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class ItemReader:
    """The stored items of one sequence. Each read is consistent."""

    layout: ItemLayout
    naming: Naming

    def one(self, scope: Scope, value: int, send: Send) -> StoredItem | None:
        """The item under a value; None if there is none. One request.

        Raises OperationNotSupported for items under keys of their own, and ValueError for what is no value.
        """
        schema, key = self.layout.schema, self.layout.key(scope, self.naming.numbers.checked(value))
        if not key:
            raise OperationNotSupported(
                f"The items of {self.layout.alias!r} have keys of their own: read them by these keys."
            )
        if len(key) == len(schema.names):
            row = send("get_item", expressions.read_item(schema.table, key)).get("Item")
        else:  # the item has brought its sort key
            (partition,) = key[schema.partition_name].values()
            query = expressions.query_numbers(schema, partition, newest_first=False, limit=1, attributes=None)
            row = next(iter(send("query", query)["Items"]), None)
        return None if row is None else self._stored(scope, value, dynamodb.unmarshal(row))

    def pages(self, scope: Scope, after: int | None, send: Send, *, newest_first: bool) -> Iterator[list[StoredItem]]:
        """The items of a scope after this value in their order, page by page. One request for each.

        A number below START comes before all, as 0 in a loop over pages.
        Raises OperationNotSupported for items that are not in the order of their values, and ValueError.
        """
        layout, schema, numbers = self.layout, self.layout.schema, self.naming.numbers
        if not layout.in_collections:
            raise OperationNotSupported(f"The items of {layout.alias!r} are not in the order of their values.")
        partition = layout.partition(scope)
        if type(after) is int and after < numbers.start and not newest_first:
            after = None
        key = None if after is None else schema.key(partition, numbers.checked(after))
        for page in pages(schema, partition, ITEMS_A_PAGE, newest_first=newest_first, whole=True, after=key, send=send):
            found = []
            for row in page:
                value = schema.number_or_none(row)
                if value is not None and (not numbers.problem(value) or numbers.is_of_others(value)):
                    found.append(self._stored(scope, value, row))  # rows below START are the application's own
            yield found

    def _stored(self, scope: Scope, value: int, row: Mapping[str, Any]) -> StoredItem:
        layout, (plain, period), void = self.layout, parted(scope), signed_void(row)
        named = (layout.token_name, layout.text_name, layout.digest_name)
        ours = {*layout.key_names, *named, *(["void"] if void else [])}
        return StoredItem(
            sequence=layout.alias,
            scope=plain,
            period=period,
            value=value,
            text=row.get(layout.text_name or "") or self.naming.text_or_number(value, scope),
            item={name: attribute for name, attribute in row.items() if name not in ours},
            void=void or None,
            digest=row.get(layout.digest_name or "", ""),
        )
