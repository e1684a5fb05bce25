"""What the columns of Django models hold: the highest number in each scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db import models
from django.db.models import Max

__all__ = ["highest_numbers"]


def highest_numbers(
    rows: Any, field_name: str, scope: str | Callable[[Any], str | None] | None
) -> Iterator[tuple[str | None, int]]:
    """The highest number that a column holds in each scope, without the scopes that have none.

    Numbers below 0 are left out: every sequence begins above them. One query; for a function as scope it reads every
    row.
    """
    numbered = rows.filter(**{f"{field_name}__gte": 0})
    if callable(scope):
        highest: dict[str | None, int] = {}
        for row in numbered.iterator():
            place, number = scope(row), getattr(row, field_name)
            highest[place] = max(number, highest.get(place, number))
        yield from highest.items()
    elif scope is None:
        number = numbered.aggregate(highest=Max(field_name))["highest"]
        if number is not None:
            yield None, number
    else:
        groups: models.QuerySet[Any] = numbered.order_by().values_list(scope).annotate(Max(field_name))
        yield from ((str(place), number) for place, number in groups if place is not None and place != "")
