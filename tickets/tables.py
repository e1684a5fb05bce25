"""Rows of a table whose keys are a text and a number: how they are read, and how fields are stored in them.

Which rows there are, and what they mean, is the business of each store.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import date, datetime
from enum import Enum
from types import NoneType
from typing import Any

from sequences.storage import KeySchema, query_numbers, read, read_item, read_many, read_rest, table_name, unmarshal
from tickets.types import Void

Row = Mapping[str, Any]

ROWS_A_READ = 100
MOST_ROWS = 1000  # that one search looks at
ROWS_AT_ONCE = 500  # that one query looks at, for a person who waits for a page
MOST_QUERIES = 8  # that it takes; each reads at most 1 MB
PLAIN = frozenset({str, int, bool, NoneType})  # what is stored as it is


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a list: what follows the number there; `backwards`, what comes before it."""

    number: int
    backwards: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """Rows of a list in their order, and the numbers between which they are all rows that were wanted.

    They come after the number `begins`, and `end` is the last number that was looked at; None stands for the beginning
    and for the end of the list.
    """

    rows: tuple[Row, ...]
    newest_first: bool
    begins: int | None
    end: int | None

    @property
    def next(self) -> Position | None:
        """Where the list goes on; None at its end."""
        return None if self.end is None else Position(self.end)

    @property
    def previous(self) -> Position | None:
        """Where the list goes on backwards; None at its beginning."""
        return None if self.begins is None else Position(self.begins + _step(self.newest_first), backwards=True)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one table. A position is the number of a row within its partition; lists begin with the `least`."""

    table: str
    least: int = 1

    @property
    def schema(self) -> KeySchema:
        """The keys of the table, under its full name."""
        return KeySchema(table=table_name(self.table))

    def get(self, partition: str, number: int) -> Row | None:
        """One row. One consistent read."""
        schema = self.schema
        item = read("get_item", read_item(schema.table, schema.key(partition, number))).get("Item")
        return unmarshal(item) if item else None

    def get_many(self, places: Iterable[tuple[str, int]], attributes: Sequence[str]) -> list[Row]:
        """Those of the rows at some places that exist, in any order. One consistent read for each 100 of them."""
        left, schema = sorted(places), self.schema
        rows = list[Row]()
        while left:
            request = read_many(schema, left[:ROWS_A_READ], attributes=attributes)
            left = left[ROWS_A_READ:]
            while request["RequestItems"]:
                answer = read("batch_get_item", request)
                rows += [unmarshal(item) for item in answer["Responses"][schema.table]]
                request = read_rest(answer.get("UnprocessedKeys", {}))
        return rows

    def query(
        self, partition: str, attributes: Sequence[str] | None, *, at: Position | None, limit: int, newest_first: bool
    ) -> Slice:
        """Rows at a position; at the beginning without one. One query, of at most 1 MB.

        They have these attributes; None: all, for the same units.
        """
        found, goes_on = self.look(partition, attributes, at=at, limit=limit, newest_first=newest_first)
        return slice_of(found, at, found[-1]["sk"] if goes_on else None, newest_first=newest_first)

    def search(
        self,
        partition: str,
        attributes: Sequence[str] | None,
        *,
        at: Position | None,
        limit: int,
        newest_first: bool,
        keep: Callable[[Row], bool],
        enough: Callable[[Row], bool] = lambda row: False,
        at_once: int | None = None,
    ) -> Slice:
        """Rows at a position that `keep` wants, up to `limit` of them. It ends at a row for which it is `enough`.

        It looks at no more than MOST_ROWS rows, by at most MOST_QUERIES queries: the first reads as many as are wanted,
        and each of the others twice as many as were read before. With `at_once` it takes one query of so many rows.
        """
        kept, looked, place = list[Row](), 0, at
        for _ in range(1 if at_once else MOST_QUERIES):
            size = at_once or min(max(limit, 2 * looked), MOST_ROWS - looked)
            found, goes_on = self.look(partition, attributes, at=place, limit=size, newest_first=newest_first)
            for row in found:
                if enough(row):
                    return slice_of(kept, at, None, newest_first=newest_first)
                is_wanted = keep(row)
                if is_wanted and len(kept) == limit:
                    return slice_of(kept, at, place.number if place else None, newest_first=newest_first)
                kept += [row] if is_wanted else []
                looked, place = looked + 1, Position(row["sk"], at is not None and at.backwards)
            if not goes_on:
                return slice_of(kept, at, None, newest_first=newest_first)
            if len(kept) == limit or looked == MOST_ROWS:
                break
        return slice_of(kept, at, place.number if place else None, newest_first=newest_first)

    def look(
        self, partition: str, attributes: Sequence[str] | None, *, at: Position | None, limit: int, newest_first: bool
    ) -> tuple[tuple[Row, ...], bool]:
        """Up to `limit` rows in the direction of the reading, and whether there are more.

        One query, of one row more than wanted.
        """
        schema = self.schema
        falling = newest_first != (at is not None and at.backwards)
        after = at.number if at and (falling or at.number >= self.least) else None  # else outside of what is queried
        request = query_numbers(
            schema,
            partition,
            newest_first=falling,
            limit=limit + 1,
            above=self.least - 1,
            after=None if after is None else schema.key(partition, after),
            attributes=attributes,
        )
        answer = read("query", request)
        rows = tuple([unmarshal(item) for item in answer["Items"]])
        return rows[:limit], len(rows) > limit or "LastEvaluatedKey" in answer  # a query ends after 1 MB, too


def _step(newest_first: bool) -> int:
    """From a number to the next one in this order. Numbers are whole: between the two is nothing."""
    return -1 if newest_first else 1


def slice_of(found: Sequence[Row], at: Position | None, last: int | None, *, newest_first: bool) -> Slice:
    """What was found from a position to the number `last`, None for the end of the reading, in the list's order."""
    if at is None or not at.backwards:
        return Slice(rows=tuple(found), newest_first=newest_first, begins=at.number if at else None, end=last)
    step = _step(newest_first)
    begins = None if last is None else last - step
    return Slice(rows=tuple(reversed(found)), newest_first=newest_first, begins=begins, end=at.number - step)


def to_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields in their stored form."""
    return {name: value if type(value) in PLAIN else _to_stored(value) for name, value in fields.items()}


def _to_stored(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case date():  # and datetime
            return value.isoformat()
        case tuple():
            return [part if type(part) in PLAIN else _to_stored(part) for part in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return to_row(asdict(value))
        case _:
            return value


def void_from_row(row: Row) -> Void:
    """Who made an invoice void, when and why."""
    return Void(by=row["by"], at=datetime.fromisoformat(row["at"]), reason=row["reason"])
