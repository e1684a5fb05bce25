"""What a model with a sequence field has as `objects`: numbers in bulk, and rows found by their texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models

from ..exceptions import InvalidText
from ..services.texts import readings
from .drafts import issue_rows
from .numbering import number_on_commit
from .sequence_field import sequence_fields
from .text_field import SequenceTextField, text_fields


class SequenceQuerySet(models.QuerySet[Any]):
    """Rows whose sequence fields `bulk_create` fills: all numbers of a scope by one request."""

    numbers_in_bulk = True  # what the system checks look for

    def bulk_create(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> list[Any]:
        """As Django's. Rows that `ignore_conflicts` drops leave gaps.

        With `ignore_conflicts` Django does not learn the keys that the database makes. Rows that are numbered when they
        are committed are then left to `number_rows`.
        """
        rows = list(objs)
        for field in sequence_fields(self.model):
            field.fill(rows)
        created = super().bulk_create(rows, *args, **kwargs)
        number_on_commit(*created)
        return created

    def awaiting_number(self) -> SequenceQuerySet:
        """The rows that have no number yet: drafts (`assign="manual"`), and what waits for a commit or a repair."""
        empty = models.Q(pk__in=[])
        for field in sequence_fields(self.model):
            empty |= models.Q(**{field.name: None})
        return self.filter(empty)

    def issue_numbers(self, field: str | None = None) -> dict[Any, int]:
        """Issue the drafts among these rows, as `issue_number` does each, in the order of their keys.

        Returns the numbers by primary key; nothing inside a transaction, as they follow its commit then.
        Cost: as `put_next_many`, 49 or more rows in one write, and one SQL query for each.
        """
        self._for_write = True
        keys = list(self.awaiting_number().order_by("pk").values_list("pk", flat=True))
        return issue_rows(self.model, keys, self.db, field)

    def get_by_text(self, text: str, field: str | None = None) -> Any:
        """The row with the number that a person types, as "inv 2026 42" for INV-2026-000042.

        It is read by FORMAT and ALSO_READ; any other text is found as it is stored. `field` names
        the `SequenceTextField`, if the model has several. Cost: one SQL query and no request.
        Raises the model's DoesNotExist; InvalidText for what is neither of this form nor stored, which says what is
        wrong; MultipleObjectsReturned if the texts are not unique; and FieldDoesNotExist.
        """
        column, wrong = _text_field(self.model, field), None
        typed = {str(text).strip()}
        try:
            typed |= {parsed.text for parsed in readings(text, column.number.sequence)}
        except InvalidText as error:
            wrong = error
        try:
            return self.get(**{f"{column.name}__in": typed})
        except self.model.DoesNotExist:
            if wrong:
                raise wrong from None
            raise


class SequenceManager(models.Manager.from_queryset(SequenceQuerySet)):  # type: ignore[misc]
    """What a model with a sequence field gets as `objects`, if it has no manager of its own."""


def _text_field(model: type[models.Model], name: str | None) -> SequenceTextField:
    """The field with the texts of a model, or the one of this name."""
    found = [field for field in text_fields(model) if name in (None, field.name)]
    if len(found) != 1:
        known = ", ".join(field.name for field in text_fields(model)) or "none"
        raise FieldDoesNotExist(f"Name one SequenceTextField of {model._meta.label}; it has {known}.")
    return found[0]
