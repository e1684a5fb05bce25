"""`manage.py seed_sequence` puts a counter past the numbers of a column, or proves that it is past them."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS

from sequences.exceptions import SequenceError
from sequences.fields import SequenceField
from sequences.operations import highest_numbers
from sequences.registry import strategies
from sequences.services import advance_to, get_last_value

__all__ = ["Command"]


class Command(BaseCommand):
    help = "Puts the counter of a SequenceField past the numbers of its column, in each scope. Counters only move up."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("column", help="a SequenceField, such as shop.Order.number")
        parser.add_argument("--check", action="store_true", help="move nothing; exit 1 if a next number is too low")
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="the alias of the rows' database")

    def handle(self, *args: Any, **options: Any) -> None:
        field = _sequence_field(options["column"])
        rows = field.model._base_manager.using(options["database"])
        behind = 0
        try:
            for scope, highest in highest_numbers(rows, field.name, field.scope):
                if not options["check"]:
                    advance_to(highest, field.sequence, scope=scope)
                following = _next_number(field.sequence, scope)
                behind += following <= highest
                place = "without scope" if scope is None else scope
                self.stdout.write(
                    f"{field.sequence} {place}: the column ends at {highest}, the next number is {following}"
                )
        except SequenceError as error:
            raise CommandError(str(error)) from error
        if behind:
            raise CommandError(f"Counters behind their column: {behind}. Run this without --check.")


def _sequence_field(column: str) -> SequenceField:
    """The field of a text such as shop.Order.number. Raises CommandError."""
    model, _, name = column.rpartition(".")
    try:
        field = apps.get_model(model)._meta.get_field(name)
    except (LookupError, ValueError, FieldDoesNotExist) as error:
        raise CommandError(f"{error} Name a column as shop.Order.number.") from error
    if not isinstance(field, SequenceField):
        raise CommandError(f"{column} is no SequenceField: for another column use SeedSequence in a migration.")
    return field


def _next_number(sequence: str, scope: str | None) -> int:
    numbers, last_value = strategies[sequence].numbers, get_last_value(sequence, scope=scope)
    return numbers.after(numbers.before_start if last_value is None else last_value, 1)[0]
