"""`manage.py number_rows` numbers the rows that a crash after the commit left without a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, models

from sequences.exceptions import SequenceError
from sequences.fields import SequenceField, number_rows

__all__ = ["Command"]


class Command(BaseCommand):
    help = "Numbers the rows of models with SequenceField(on_commit=True) that have no number yet. Safe to run again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("models", nargs="*", help="such as shop.Invoice; without it, all of them")
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="the alias of the rows' database")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            chosen = [apps.get_model(label) for label in options["models"]] or apps.get_models()
        except (LookupError, ValueError) as error:
            raise CommandError(f"{error} Name models as shop.Invoice.") from error
        for field in _waiting(chosen):
            try:
                numbers = number_rows(field, using=options["database"])
            except SequenceError as error:
                raise CommandError(f"{field}: {error}") from error
            self.stdout.write(f"{field}: {len(numbers)} rows numbered")


def _waiting(chosen: list[type[models.Model]]) -> Iterator[SequenceField]:
    """The fields that wait for a commit, each at the model that declares it."""
    for model in chosen:
        for field in model._meta.local_fields:
            if isinstance(field, SequenceField) and field.on_commit:
                yield field
