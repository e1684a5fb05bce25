"""Rows of a table: which requests read them, where a list goes on, and what they are stored as."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pytest

from sequences.storage import marshal, table_name
from tickets import tables
from tickets.tables import Position, Row, Rows, Slice, slice_of, to_row, void_from_row
from tickets.types import Status, Void

ROWS = Rows("tickets")
NAME = table_name("tickets")
NAMES = {"#partition": "pk", "#0_pk": "pk", "#1_sk": "sk"}
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@dataclass
class Table:
    """A table with the numbers from 1 to `last` in each partition, and what it was asked."""

    last: int
    most: int = 10**6
    """So many rows it gives at once, as after 1 MB."""

    def __post_init__(self) -> None:
        self.asked = list[tuple[str, Mapping[str, Any]]]()

    @property
    def sizes(self) -> list[int]:
        """How many rows each query asked for."""
        return [request["Limit"] for _, request in self.asked]

    def read(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a read."""
        self.asked.append((operation, request))
        return {"query": self._query, "get_item": self._get, "batch_get_item": self._get_many}[operation](request)

    def _query(self, request: Mapping[str, Any]) -> dict[str, Any]:
        rising, numbers = request["ScanIndexForward"], [*range(1, self.last + 1)]
        after = int(request["ExclusiveStartKey"]["sk"]["N"]) if "ExclusiveStartKey" in request else None
        if after is not None:
            numbers = [number for number in numbers if (number > after if rising else number < after)]
        wanted = numbers if rising else numbers[::-1]
        found = wanted[: min(request["Limit"], self.most)]
        more: dict[str, Any] = {"LastEvaluatedKey": {}} if len(wanted) > len(found) else {}
        return {"Items": [marshal({"sk": number}) for number in found], **more}

    def _get(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"Item": request["Key"]} if int(request["Key"]["sk"]["N"]) <= self.last else {}

    def _get_many(self, request: Mapping[str, Any]) -> dict[str, Any]:
        keys = request["RequestItems"][NAME]["Keys"]
        left = {NAME: {**request["RequestItems"][NAME], "Keys": keys[self.most :]}} if keys[self.most :] else {}
        items = [key for key in keys[: self.most] if int(key["sk"]["N"]) <= self.last]
        return {"Responses": {NAME: items}, "UnprocessedKeys": left}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table of ten rows, which answers all reads."""
    table = Table(10)
    monkeypatch.setattr(tables, "read", table.read)
    return table


def numbers(found: Slice) -> list[int]:
    """The numbers of rows, in their order."""
    return [row["sk"] for row in found.rows]


def test_one_row(table: Table) -> None:
    """A row is read with its partition and number; None is one that is not there."""
    assert ROWS.get("ABC", 7) == {"pk": "ABC", "sk": 7}
    assert ROWS.get("ABC", 11) is None


def test_many_rows(table: Table) -> None:
    """A request asks for at most 100 rows, and again for those that were left out."""
    table.last, table.most = 150, 60
    places = [("ABC", number) for number in range(250, 0, -1)]
    found = ROWS.get_many(places, ("title",))
    assert [row["sk"] for row in found] == [*range(1, 151)]
    counts = [len(request["RequestItems"][NAME]["Keys"]) for _, request in table.asked]
    assert counts == [100, 40, 100, 40, 50]
    assert table.asked[0][1]["RequestItems"][NAME]["ExpressionAttributeNames"] == {"#0_sk": "sk", "#1_title": "title"}
    assert ROWS.get_many((), ()) == []
    assert len(table.asked) == 5


class TestQueries:
    @pytest.mark.parametrize(
        ("at", "newest_first", "rows", "begins", "end"),
        [
            (None, False, [1, 2, 3], None, 3),
            (None, True, [10, 9, 8], None, 8),
            (Position(3), False, [4, 5, 6], 3, 6),
            (Position(3), True, [2, 1], 3, None),
            (Position(0), False, [1, 2, 3], 0, 3),
            (Position(8), False, [9, 10], 8, None),
            (Position(4, backwards=True), False, [1, 2, 3], None, 3),
            (Position(5, backwards=True), False, [2, 3, 4], 1, 4),
            (Position(7, backwards=True), True, [10, 9, 8], None, 8),
            (Position(6, backwards=True), True, [9, 8, 7], 10, 7),
            (Position(0, backwards=True), True, [3, 2, 1], 4, 1),
        ],
    )
    def test_the_rows_at_a_position(
        self,
        table: Table,
        at: Position | None,
        newest_first: bool,
        rows: list[int],
        begins: int | None,
        end: int | None,
    ) -> None:
        """A page has the rows after a position, or those before it, in the order of the list; None is the list's end.

        One query reads one row more than wanted.
        """
        found = ROWS.query("ABC", ("title",), at=at, limit=3, newest_first=newest_first)
        assert (numbers(found), found.begins, found.end, found.newest_first) == (rows, begins, end, newest_first)
        assert table.sizes == [4]

    def test_what_is_asked(self, table: Table) -> None:
        """A query is for the numbers from 1 on, with the named attributes; only from a number on it has a key."""
        ROWS.query("ABC", ("title",), at=Position(3), limit=3, newest_first=False)
        ROWS.query("ABC", (), at=Position(0), limit=3, newest_first=False)
        first, second = [request for _, request in table.asked]
        assert first["ExclusiveStartKey"] == marshal({"pk": "ABC", "sk": 3})
        assert first["ExpressionAttributeValues"] == {":partition": {"S": "ABC"}, ":above": {"N": "0"}}
        assert first["ExpressionAttributeNames"] == {**NAMES, "#2_title": "title"}
        assert "ExclusiveStartKey" not in second

    def test_a_query_that_ends_early_goes_on(self, table: Table) -> None:
        """After 1 MB a page is shorter, and the list goes on behind it."""
        table.most = 2
        found = ROWS.query("ABC", (), at=None, limit=3, newest_first=False)
        assert (numbers(found), found.next) == ([1, 2], Position(2))


@pytest.mark.parametrize(
    ("newest_first", "begins", "end", "before", "after"),
    [
        (False, None, None, None, None),
        (False, 3, 6, Position(4, backwards=True), Position(6)),
        (True, 8, 6, Position(7, backwards=True), Position(6)),
        (False, 0, None, Position(1, backwards=True), None),
    ],
)
def test_the_positions_beside_a_page(
    newest_first: bool, begins: int | None, end: int | None, before: Position | None, after: Position | None
) -> None:
    """The list goes on after the last number, and backwards before the first that may be there."""
    found = Slice(rows=(), newest_first=newest_first, begins=begins, end=end)
    assert (found.previous, found.next) == (before, after)


def test_what_was_found_backwards_is_turned() -> None:
    """It has the order of the list; without rows, too, it ends where it was asked for."""
    found = slice_of([{"sk": 5}, {"sk": 4}], Position(6, backwards=True), 4, newest_first=False)
    assert (numbers(found), found.begins, found.end) == ([4, 5], 3, 5)
    nothing = slice_of([], Position(6, backwards=True), None, newest_first=True)
    assert (nothing.rows, nothing.begins, nothing.end) == ((), None, 7)


class TestSearches:
    @staticmethod
    def search(
        keep: Callable[[Row], bool] = lambda row: True, *, at: Position | None = None, limit: int = 3, **more: Any
    ) -> Slice:
        """Search the table, upwards."""
        return ROWS.search("ABC", (), at=at, limit=limit, newest_first=False, keep=keep, **more)

    def test_what_is_wanted_is_kept(self, table: Table) -> None:
        """A page ends with the last row that was looked at before the next one that is wanted."""
        odd = self.search(lambda row: row["sk"] % 2)
        assert (numbers(odd), odd.begins, odd.end) == ([1, 3, 5], None, 6)
        rest = self.search(lambda row: row["sk"] % 2, at=odd.next)
        assert (numbers(rest), rest.begins, rest.end) == ([7, 9], 6, None)
        back = self.search(lambda row: row["sk"] % 2, at=rest.previous)
        assert (numbers(back), back.begins, back.end) == ([1, 3, 5], None, 6)

    def test_a_full_page_reads_no_more(self, table: Table) -> None:
        """Where the first query has all that is wanted, there is no second one."""
        found = self.search()
        assert (numbers(found), found.end, table.sizes) == ([1, 2, 3], 3, [4])

    def test_queries_grow(self, table: Table) -> None:
        """Each reads twice as many rows as were read before, until the list ends."""
        table.last = 100
        found = self.search(lambda row: False)
        assert (numbers(found), found.end) == ([], None)
        assert table.sizes == [4, 7, 19, 55, 163]  # one row more than it looks at

    def test_a_search_is_bounded(self, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        """It looks at no more rows than MOST_ROWS, by no more queries than MOST_QUERIES, and says how far it came."""
        table.last = 10**4
        assert self.search(lambda row: False).end == 1000
        assert sum(size - 1 for size in table.sizes) == 1000
        monkeypatch.setattr(tables, "MOST_ROWS", 30)
        assert self.search(lambda row: False).end == 30
        table.most = 1
        table.asked.clear()
        assert self.search(lambda row: False).end == len(table.asked) == 8

    def test_one_query_where_somebody_waits(self, table: Table) -> None:
        """With `at_once` it takes one query of so many rows."""
        assert (self.search(lambda row: False, at_once=5).end, table.sizes) == (5, [6])

    @pytest.mark.parametrize(("backwards", "begins", "end"), [(False, None, None), (True, None, 8)])
    def test_it_ends_where_it_is_enough(
        self, table: Table, backwards: bool, begins: int | None, end: int | None
    ) -> None:
        """What follows a row that is enough is not looked at: it is the end of the list in this direction."""
        at = Position(9, backwards=True) if backwards else None
        found = self.search(lambda row: row["sk"] != 4, at=at, limit=9, enough=lambda row: row["sk"] == 6)
        assert numbers(found) == ([7, 8] if backwards else [1, 2, 3, 5])
        assert (found.begins, found.end) == (begins, end)


def test_how_fields_are_stored() -> None:
    """Dates are texts, tuples lists, and what has fields is a row of them; a kind of values is no such thing."""
    void = Void(by="ann", at=NOW, reason="Twice.")
    stored = {"by": "ann", "at": NOW.isoformat(), "reason": "Twice."}
    fields = {
        "day": date(2026, 1, 31),
        "labels": ("a", NOW),
        "void": void,
        "count": 5,
        "status": Status.OPEN,
        "kind": Void,
    }
    assert to_row(fields) == {
        "day": "2026-01-31",
        "labels": ["a", NOW.isoformat()],
        "void": stored,
        "count": 5,
        "status": "open",
        "kind": Void,
    }
    read: Row = stored
    assert void_from_row(read) == void
