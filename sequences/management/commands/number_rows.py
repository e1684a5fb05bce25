"""`manage.py number_rows` gives rows what they lack: numbers after a crash, and texts that are newer than the rows."""

from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections, router
from django.db.models import Model

from sequences.exceptions import SequenceError
from sequences.fields import SequenceField, number_rows, sequence_fields, write_texts


class Command(BaseCommand):
    help = (
        "Numbers the rows of models with SequenceField(on_commit=True) that have no number yet, and writes the missing "
        "texts of a SequenceTextField. In models that are named, it numbers every SequenceField that may be NULL, but "
        "no drafts. Safe to run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("models", nargs="*", help="such as shop.Invoice; without it, all of them")
        where = "the alias of the rows' database; without it, the one in which each model is written"
        parser.add_argument("--database", choices=list(connections), help=where)
        parser.add_argument("--drafts", action="store_true", help="number rows with assign='manual', too")

    def handle(self, *args: Any, **options: Any) -> None:
        failed, drafts, named = [], options["drafts"], bool(options["models"])
        chosen = [_model(label) for label in options["models"]] or apps.get_models()
        for field in dict.fromkeys(field for model in chosen for field in sequence_fields(model)):  # a parent's once
            using = options["database"] or router.db_for_write(field.model)
            try:
                if router.allow_migrate_model(using, field.model):
                    self._complete(field, using, drafts=drafts, named=named)
            except (DatabaseError, SequenceError) as error:
                failed.append(" ".join([f"{field}: {error}", *getattr(error, "__notes__", ())]))
        if failed:
            raise CommandError("\n".join(failed))

    def _complete(self, field: SequenceField, using: str, *, drafts: bool, named: bool) -> None:
        if field.on_commit or (drafts and field.waits) or (named and field.null and not field.waits):
            self.stdout.write(f"{field}: {len(number_rows(field, using=using))} rows numbered")
        if written := write_texts(field, using=using):
            self.stdout.write(f"{field}: {written} texts written")


def _model(label: str) -> type[Model]:
    """The model with numbers that an argument names."""
    if label.count(".") != 1:
        raise CommandError(f"{label!r} names no model. Name models as shop.Invoice.")
    try:
        model = apps.get_model(label)
    except LookupError as error:
        raise CommandError(f"{error} Name models as shop.Invoice.") from error
    if not sequence_fields(model):
        raise CommandError(f"{label} has no SequenceField.")
    return model
