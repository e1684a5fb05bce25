"""`manage.py create_tables`: make the tables that the configured sequences need."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences.exceptions import SequenceError
from sequences.tables import create_tables

__all__ = ["Command"]


class Command(BaseCommand):
    """Create what is missing; safe to run again."""

    help = "Creates the DynamoDB tables that the setting SEQUENCES needs; what exists is left as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            created = create_tables()
        except SequenceError as error:
            raise CommandError(str(error)) from error
        for name, is_new in created.items() if options["verbosity"] else ():
            self.stdout.write(f"{name}: {'created' if is_new else 'exists'}")
