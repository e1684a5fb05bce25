"""`manage.py create_tables` creates the tables that the configured sequences need."""

from argparse import ArgumentTypeError
from dataclasses import fields
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sequences.dynamodb import TableOptions
from sequences.exceptions import SequenceError
from sequences.ops.tables import create_tables


def _units(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of units a second: give 1 or more")
    return int(text)


def _tag(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise ArgumentTypeError(f"{text!r} is not a tag: give NAME=VALUE")
    return name, value


class Command(BaseCommand):
    """Create the tables that are missing; safe to run again."""

    help = "Creates the DynamoDB tables that the setting SEQUENCES needs. Existing tables stay as they are."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--move-expiry",
            action="store_true",
            help="if a table deletes items by an attribute that items may have, turn that off",
        )
        parser.add_argument("--most-reads", type=_units, help="read units a second above which DynamoDB refuses")
        parser.add_argument("--most-writes", type=_units, help="write units a second above which DynamoDB refuses")
        parser.add_argument("--warm-reads", type=_units, help="read units a second that new tables can give at once")
        parser.add_argument("--warm-writes", type=_units, help="write units a second that new tables can give at once")
        parser.add_argument(
            "--protect", dest="protected", action="store_true", help="new tables cannot be deleted by mistake"
        )
        parser.add_argument("--recoverable", action="store_true", help="new tables can be restored to any moment")
        parser.add_argument("--kms-key", help="the key of KMS that encrypts new tables")
        parser.add_argument(
            "--tag", action="append", default=[], type=_tag, metavar="NAME=VALUE", help="a tag of new tables"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            given = {one.name: options[one.name] for one in fields(TableOptions) if one.name in options}
            having = TableOptions(**given, tags=dict(options["tag"]))
            created = create_tables(move_expiry=options["move_expiry"], options=having)
        except SequenceError as error:
            raise CommandError(str(error)) from error
        for name, is_new in created.items() if options["verbosity"] else ():
            self.stdout.write(f"{name}: {'created' if is_new else 'exists'}")
