"""What SQL databases hold: the highest number in each scope, by the column of a model or by a query."""

import logging
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Max

NO_TABLE = "42P01"  # of PostgreSQL
NO_TABLE_IN_WORDS = ("no such table", "(1146,", "ORA-00942")  # of SQLite, MySQL and Oracle

logger = logging.getLogger(__name__)


def highest_numbers(
    rows: Any, field_name: str, scope: str | Callable[[Any], str | None] | None, date: str | None = None
) -> Iterator[tuple[str | None, Any, int]]:
    """The highest number that a column holds in each scope, and on each day of the column `date`, if one is named.

    Numbers below 0 are left out: every sequence begins above them. So are rows whose column of the scope is empty, or
    without a day. One query; for a function as scope it reads every row.
    """
    numbered = rows.filter(**{f"{field_name}__gte": 0}).order_by()
    if callable(scope):  # what it says is a scope as it is, and None is one
        for row in numbered.iterator():
            day = getattr(row, date) if date else None
            if date is None or day is not None:
                yield scope(row), day, getattr(row, field_name)
        return
    names = [name for name in (scope, date) if name]
    highest = Max(field_name)
    for group in numbered.values(*names).annotate(highest) if names else [numbered.aggregate(highest)]:
        number = group[highest.default_alias]
        if number is not None and all(group[name] not in (None, "") for name in names):
            yield str(group[scope]) if scope else None, group.get(date), number


def numbers_of_sql(connection: Any, sql: str) -> Iterator[tuple[str | None, int]]:
    """The highest number in each scope by a query for numbers, or for scopes and numbers; none where it has no table.

    Rows with NULL, with an empty scope or with a number below 0 are left out. One query.
    Raises ValueError for more than two columns or for no whole number, and Django's database errors.
    """
    highest: dict[str | None, int] = {}
    for row in _rows_of_sql(connection, sql):
        if not 1 <= len(row) <= 2:
            raise ValueError(f"{sql!r} finds {len(row)} columns; it must be one for a number, or two: scope, number.")
        number, scoped = _whole(sql, row[-1]), len(row) == 2
        if number is not None and number >= 0 and not (scoped and row[0] in (None, "")):
            scope = str(row[0]) if scoped else None
            highest[scope] = max(number, highest.get(scope, 0))
    yield from highest.items()


def _rows_of_sql(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:  # so that others may follow
            cursor.execute(sql)
            return list(cursor.fetchall())
    except DatabaseError as error:
        if not _is_without_table(error):
            raise
        logger.warning("Nothing is taken over by %r: %s", sql, str(error).partition("\n")[0])
        return []


def _is_without_table(error: DatabaseError) -> bool:
    cause = error.__cause__
    codes = (getattr(cause, "sqlstate", None), getattr(cause, "pgcode", None))
    return NO_TABLE in codes or any(words in str(error) for words in NO_TABLE_IN_WORDS)


def _whole(sql: str, number: Any) -> int | None:
    """A whole number of whatever type the database has for it."""
    if number is None or isinstance(number, int):
        return number
    if isinstance(number, Decimal) and number == number.to_integral_value():
        return int(number)
    raise ValueError(f"{sql!r} finds {number!r}; it must be a whole number.")
