"""Rows of a table whose keys are a text and a number: how they are read, and how fields are stored in them.

Which rows there are, and what they mean, is the business of each store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import date
from typing import Any

from sequences.storage import KeySchema, query_numbers, read, read_item, table_name, unmarshal

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """Some rows of a list in their order; `end` is the position of the last row, None at the end of the list."""

    rows: tuple[Row, ...]
    end: int | None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one table. A position is the number of a row within its partition."""

    table: str

    @property
    def schema(self) -> KeySchema:
        """The keys of the table, under its full name."""
        return KeySchema(table=table_name(self.table))

    def get(self, partition: str, number: int) -> Row | None:
        """One row. One consistent read."""
        schema = self.schema
        item = read("get_item", read_item(schema.table, schema.key(partition, number))).get("Item")
        return unmarshal(item) if item else None

    def query(
        self, partition: str, attributes: Sequence[str], *, after: int | None, limit: int, newest_first: bool
    ) -> Slice:
        """Rows after a position, from number 1. Reads one row more, to know whether the list goes on."""
        schema = self.schema
        request = query_numbers(
            schema,
            partition,
            newest_first=newest_first,
            limit=limit + 1,
            above=0,
            after=None if after is None else schema.key(partition, after),
            attributes=attributes,
        )
        answer = read("query", request)
        rows = tuple(unmarshal(item) for item in answer["Items"])
        goes_on = len(rows) > limit or "LastEvaluatedKey" in answer  # a query ends after 1 MB, too
        return Slice(rows=rows[:limit], end=rows[:limit][-1]["sk"] if goes_on else None)


def to_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields in their stored form."""
    return {name: _to_stored(value) for name, value in fields.items()}


def _to_stored(value: Any) -> Any:
    match value:
        case date():  # and datetime
            return value.isoformat()
        case tuple():
            return [_to_stored(part) for part in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return to_row(asdict(value))
        case _:
            return value
