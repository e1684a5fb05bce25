"""Numbers in ordinary Django models: a field that fills itself, before the row is saved or after it is committed.

The rows are in Django's database, the counter is in DynamoDB, and no transaction spans both. `SequenceField` therefore
takes its number first, and a rollback leaves a gap. With `on_commit=True` the row comes first, and gets its number by
`number_on_commit` when it can no longer be rolled back. `number_rows` numbers what a crash left behind.
With `assign="manual"` a row is a draft until `issue_number`. `SequenceTextField` keeps the text of a number beside it.
"""

from collections.abc import Collection
from typing import Any

from django.db import models
from django.db.models.signals import class_prepared, post_save
from django.dispatch import receiver

from .after_commit import count_on_commit, number_on_commit
from .columns import SequenceTextField, text_fields
from .numbering import number_rows, write_texts
from .querysets import SearchByText, SequenceManager, SequenceQuerySet, issue_number, issue_numbers
from .sequence_field import LARGEST_NUMBER, SequenceField, sequence_fields, store_texts

__all__ = [
    "LARGEST_NUMBER",
    "SearchByText",
    "SequenceField",
    "SequenceManager",
    "SequenceQuerySet",
    "SequenceTextField",
    "issue_number",
    "issue_numbers",
    "number_on_commit",
    "number_rows",
    "sequence_fields",
    "text_fields",
    "write_texts",
]


@receiver(post_save)
def _saved(
    instance: models.Model,
    *,
    created: bool = False,
    raw: bool = False,
    using: str | None = None,
    update_fields: Collection[str] | None = None,
    **_: Any,
) -> None:
    """One receiver for all models: proxies and children of a model send this signal as themselves.

    An application that sends it, too, may leave arguments out.
    """
    if raw:
        count_on_commit(instance, using)
    elif created:
        number_on_commit(instance, using=using)
    elif update_fields:
        store_texts(instance, update_fields, using)


@receiver(class_prepared)
def _complete(sender: type[models.Model], **_: Any) -> None:
    """Replace the manager that Django makes for a model without one, and give one with drafts `issue_number`."""
    options = sender._meta
    ours = [field for field in options.local_fields if isinstance(field, SequenceField)]
    if ours and all(manager.auto_created for manager in options.managers):  # a parent's, too
        options.local_managers.clear()
        manager = SequenceManager()
        manager.auto_created = True
        sender.add_to_class("objects", manager)
    if any(field.assign == "manual" for field in ours) and not hasattr(sender, "issue_number"):
        sender.add_to_class("issue_number", issue_number)
