"""The highest numbers that SQL databases hold, by queries and by the columns of models."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.utils import ProgrammingError

from sequences.changes.columns import _is_without_table, _whole, highest_numbers, numbers_of_sql
from sequences.ops.audit import columns as audited_columns


@pytest.mark.django_db
class TestQueries:
    @pytest.mark.parametrize(
        ("sql", "found"),
        [
            ("SELECT 5 UNION ALL SELECT 7 UNION ALL SELECT 6", {None: 7}),
            ("SELECT 'A', 5 UNION ALL SELECT 'A', 3 UNION ALL SELECT 'B', 1", {"A": 5, "B": 1}),
            ("SELECT 'A', 3 UNION ALL SELECT 'A', 5", {"A": 5}),
            ("SELECT 7, 5", {"7": 5}),
            ("SELECT '', 5 UNION ALL SELECT NULL, 6", {}),
            ("SELECT 'A', NULL UNION ALL SELECT 'B', -1 UNION ALL SELECT 'C', 0", {"C": 0}),
            ("SELECT NULL", {}),
            ("SELECT 0", {None: 0}),
            ("SELECT 1 WHERE 1 = 0", {}),
        ],
    )
    def test_what_a_query_finds(self, sql: str, found: dict[str | None, int]) -> None:
        """The highest number of each scope; without scopes the highest of all."""
        assert dict(numbers_of_sql(connection, sql)) == found

    @pytest.mark.parametrize(
        ("sql", "said"),
        [
            ("SELECT 1, 2, 3", "finds 3 columns; it must be one for a number, or two: scope, number."),
            ("SELECT 1.5", "finds 1.5; it must be a whole number."),
            ("SELECT 'A', 'B'", "finds 'B'; it must be a whole number."),
        ],
    )
    def test_what_is_no_number(self, sql: str, said: str) -> None:
        """The error names the query and what it found."""
        with pytest.raises(ValueError, match=r"^") as error:
            dict(numbers_of_sql(connection, sql))
        assert str(error.value) == f"{sql!r} {said}"

    def test_a_table_that_is_not_there(self, caplog: pytest.LogCaptureFixture) -> None:
        """Nothing is found where there is no table; the log says so, and other queries may follow."""
        sql = "SELECT n FROM nowhere"
        assert list(numbers_of_sql(connection, sql)) == []
        assert caplog.messages == [f"Nothing is taken over by {sql!r}: no such table: nowhere"]
        assert list(numbers_of_sql(connection, "SELECT 1")) == [(None, 1)]

    def test_another_mistake(self) -> None:
        """What is no query is an error of the database."""
        with pytest.raises(DatabaseError):
            list(numbers_of_sql(connection, "SELEKT 1"))


@pytest.mark.parametrize(
    ("words", "cause", "is_without"),
    [
        ("no such table: orders", {}, True),
        ("(1146, \"Table 'shop.orders' doesn't exist\")", {}, True),
        ("ORA-00942: table or view does not exist", {}, True),
        ("relation does not exist", {"sqlstate": "42P01"}, True),
        ("relation does not exist", {"pgcode": "42P01"}, True),
        ("column does not exist", {"sqlstate": "42703"}, False),
        ("(1054, 'Unknown column')", {}, False),
    ],
)
def test_how_databases_say_that_there_is_no_table(words: str, cause: dict[str, str], is_without: bool) -> None:
    """Each by its code, or in its words."""
    error, reason = ProgrammingError(words), Exception(words)
    vars(reason).update(cause)
    error.__cause__ = reason
    assert _is_without_table(error) is is_without


def test_whole_numbers_of_databases() -> None:
    """Some have decimals for them."""
    assert [_whole("", number) for number in (5, None, Decimal("7.0"))] == [5, None, 7]
    with pytest.raises(ValueError, match=r"7\.5"):
        _whole("", Decimal("7.5"))


class TestColumns:
    @pytest.fixture(autouse=True)
    def _orders(self, shop: ModuleType) -> None:
        """Orders of two customers, and of one without a name; receipts of two days."""
        orders = [("A", 3), ("A", 5), ("A", 4), ("B", 1), ("", 9)]
        shop.Order.objects.bulk_create([shop.Order(customer=name, number=number) for name, number in orders])
        receipts = [(1, 1), (1, 2), (2, 3)]
        shop.Receipt.objects.bulk_create(
            [shop.Receipt(day=date(2026, 1, day), number=number) for day, number in receipts]
        )

    def test_without_a_scope(self, shop: ModuleType) -> None:
        """It is the highest number of all rows, and none where there are no rows."""
        assert list(highest_numbers(shop.Order.objects.all(), "number", None)) == [(None, None, 9)]
        assert list(highest_numbers(shop.Order.objects.none(), "number", None)) == []

    def test_by_a_column(self, shop: ModuleType) -> None:
        """Each scope has its highest number; rows of none are left out, and so are numbers below 0."""
        found = highest_numbers(shop.Order.objects.all(), "number", "customer")
        assert sorted(found) == [("A", None, 5), ("B", None, 1)]
        shop.Order.objects.bulk_create([shop.Order(customer="C", number=-1), shop.Order(customer="D", number=0)])
        found = highest_numbers(shop.Order.objects.filter(customer__in="CD"), "number", "customer")
        assert list(found) == [("D", None, 0)]

    def test_by_a_function(self, shop: ModuleType) -> None:
        """It is asked for each row, and what it says is a scope, also an empty one and none."""
        found = highest_numbers(
            shop.Order.objects.all(), "number", lambda row: row.customer if row.number < 9 else None
        )
        assert sorted(found, key=str) == sorted(
            [("A", None, 3), ("A", None, 5), ("A", None, 4), ("B", None, 1), (None, None, 9)], key=str
        )

    @pytest.mark.parametrize("scope", [None, "day", lambda row: "A"])
    def test_by_days(self, shop: ModuleType, scope: object) -> None:
        """The highest number of each day; a scope may be a column of any kind."""
        found = [*highest_numbers(shop.Receipt.objects.all(), "number", scope, "day")]  # type: ignore[arg-type]
        first, second = date(2026, 1, 1), date(2026, 1, 2)
        if callable(scope):
            assert sorted(found) == [("A", first, 1), ("A", first, 2), ("A", second, 3)]
        else:
            place = {None: (None, None), "day": ("2026-01-01", "2026-01-02")}[scope]  # type: ignore[index]
            assert sorted(found, key=str) == [(place[0], first, 2), (place[1], second, 3)]

    @pytest.mark.parametrize("rows_a_page", [1, 2, 2000])
    def test_the_scopes_of_a_column(self, shop: ModuleType, monkeypatch: pytest.MonkeyPatch, rows_a_page: int) -> None:
        """Each is found once, page by page; an empty one numbers no row, and without a column there is one for all."""
        monkeypatch.setattr(audited_columns, "ROWS_A_PAGE", rows_a_page)

        def scopes(scope: object) -> list[str | None]:
            field: Any = SimpleNamespace(model=shop.Order, name="number", scope=scope, date=None)
            return list(audited_columns.Column(field, "default").scopes())

        assert scopes("customer") == ["A", "B"]
        assert scopes(None) == scopes(str) == [None]
