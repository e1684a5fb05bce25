"""`manage.py create_tables` creates the tables that the configured sequences need."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sequences.exceptions import SequenceError
from sequences.tables import create_tables

__all__ = ["Command"]


class Command(BaseCommand):
    """Create the tables that are missing; safe to run again."""

    help = "Creates the DynamoDB tables that the setting SEQUENCES needs. Existing tables stay as they are."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--move-expiry",
            action="store_true",
            help="if a table deletes items by an attribute that items may have, turn that off",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            created = create_tables(move_expiry=options["move_expiry"])
        except SequenceError as error:
            raise CommandError(str(error)) from error
        for name, is_new in created.items() if options["verbosity"] else ():
            self.stdout.write(f"{name}: {'created' if is_new else 'exists'}")
