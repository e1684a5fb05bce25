"""What a model with a sequence field has: `objects` with numbers in bulk and rows found by their texts, and its drafts.

A draft is a row that is stored without a number, and gets one when it is issued. At the end is what an application's
own pages of the administration take for such rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self, TypeVar

from django.contrib import messages
from django.core.exceptions import FieldDoesNotExist
from django.db import IntegrityError, models, transaction
from django.http import HttpRequest

from ..exceptions import InvalidText, SequenceError
from ..services.texts import readings
from .after_commit import number_on_commit
from .columns import SequenceTextField, text_fields
from .numbering import number_objects, number_rows
from .sequence_field import SequenceField, database_of, sequence_fields

F = TypeVar("F", bound="models.Field[Any, Any]")


class SequenceQuerySet(models.QuerySet[Any]):
    """Rows whose sequence fields `bulk_create` fills: all numbers of a scope by one request."""

    numbers_in_bulk = True  # what the system checks look for

    def bulk_create(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> list[Any]:
        """As Django's. Rows that `ignore_conflicts` drops or `update_conflicts` finds leave gaps.

        With `update_conflicts` a row that was found keeps its number, which only another read puts on its object.
        With `ignore_conflicts` Django does not learn the keys that the database makes. Rows that are numbered when they
        are committed are then left to `number_rows`.
        """
        rows = list(objs)
        for field in sequence_fields(self.model):
            field.fill(rows)
        created = super().bulk_create(rows, *args, **kwargs)
        number_on_commit(*created, using=self.db)
        return created

    def awaiting_number(self) -> Self:
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
        column, using, found = _manual(self.model, field), self.db, dict[Any, int]()
        _after_commit(lambda: found.update(number_rows(column, using=using, keys=keys)), using)
        return found

    def get_by_text(self, text: str, field: str | None = None) -> Any:
        """The row with the number that a person types, as "inv 2026 42" for INV-2026-000042.

        It is read by FORMAT and ALSO_READ; any other text is found as it is stored. `field` names
        the `SequenceTextField`, if the model has several. Cost: one SQL query and no request.
        Raises the model's DoesNotExist; InvalidText for what is neither of this form nor stored, which says what is
        wrong; MultipleObjectsReturned if the texts are not unique; and FieldDoesNotExist.
        """
        column = _named(text_fields(self.model), field, f"SequenceTextField of {self.model._meta.label}")
        typed, wrong = _typed(text, column)
        try:
            return self.get(**{f"{column.name}__in": typed})
        except self.model.DoesNotExist:
            if wrong:
                raise wrong from None
            raise


def _typed(text: str, column: SequenceTextField) -> tuple[set[str], InvalidText | None]:
    """The stored texts that a person may mean, and why what was typed is no text of the sequence, if it is none."""
    typed = str(text).strip()
    try:
        return {typed, *(parsed.text for parsed in readings(text, column.number.sequence))}, None
    except InvalidText as error:
        return {typed}, error


class SequenceManager(models.Manager.from_queryset(SequenceQuerySet)):  # type: ignore[misc]
    """What a model with a sequence field gets as `objects`, if it has no manager of its own."""


def issue_number(row: models.Model, field: str | None = None) -> int | None:
    """Give a stored draft its number, and return it; a model with `assign="manual"` has this as a method.

    Outside a transaction the number is taken at once. Inside one it is taken after the commit, set on the object then,
    and None is returned; a rollback takes none. A row that has a number keeps it, and answers with it, in any process.
    `field` names the `SequenceField`, if several of the model are manual.

    If a process dies after the commit, or the engine is away then (which is logged), the row is still a draft. Repeat
    this: the idempotency token is made from the row, so the same number comes, as `number_rows` guarantees, and no gap
    is left. Nothing repeats it by itself, as a draft may wait for ever: keep in a column of your own what was issued.

    Cost: as one item of the sequence with an idempotency token, and three SQL queries; none for a row with a number.
    Raises ValueError for a row that is not saved as it is, InvalidScope and InvalidPeriod for one without scope or
    date, and at once what `put_next_many` raises, and the model's DoesNotExist.
    """
    column, using = _manual(type(row), field), database_of(row)
    if row.pk is None or row._state.adding:
        raise ValueError(f"{row._meta.label} is not saved yet: save the row, and then issue {column}.")
    if getattr(row, column.attname) is None:
        column.dated(column.place_of(row))  # a row that cannot be numbered is refused before the commit

        def issue() -> None:
            column.require_saved(row, type(row)._base_manager.using(using).get(pk=row.pk))
            number_objects(column, [row], using)
            if getattr(row, column.attname) is None:  # another process was faster
                row.refresh_from_db(using=using, fields=[column.name, *(text.name for text in column.texts)])
                column.note(row)

        _after_commit(issue, using)
    number: int | None = getattr(row, column.attname)
    return number


def _after_commit(issue: Any, using: str) -> None:
    """After the commit an error would be taken for the transaction's: it is logged. Without one it is the caller's."""
    transaction.on_commit(issue, using=using, robust=transaction.get_connection(using).in_atomic_block)


def _manual(model: type[models.Model], name: str | None) -> SequenceField:
    """The field of a model that is numbered by hand, or the one of this name. Raises FieldDoesNotExist."""
    manual = [field for field in sequence_fields(model) if field.assign == "manual"]
    return _named(manual, name, f"SequenceField of {model._meta.label} with assign='manual'")


def _named(fields: Sequence[F], name: str | None, wanted: str) -> F:
    found = [field for field in fields if name in (None, field.name)]
    if len(found) != 1:
        known = ", ".join(field.name for field in fields) or "none"
        raise FieldDoesNotExist(f"Name one {wanted}; it has {known}.")
    return found[0]


class SearchByText:
    """Finds rows by what people type for their numbers, too: put it before ModelAdmin, with `search_fields`."""

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """What Django finds, and the rows with this number in any of their texts."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)  # type: ignore[misc]
        for column in text_fields(queryset.model) if search_term else ():
            found |= queryset.filter(**{f"{column.name}__in": _typed(search_term, column)[0]})
        return found, may_repeat


def issue_numbers(page: Any, request: HttpRequest, rows: models.QuerySet[Any]) -> None:
    """An action for ModelAdmin: issue the numbers of the chosen drafts, for people who may change them.

    The model's manager is built from `SequenceQuerySet`. Rows that have numbers keep them. An error is shown.
    """
    try:
        found = rows.issue_numbers()  # type: ignore[attr-defined]
    except (IntegrityError, SequenceError) as error:
        page.message_user(request, " ".join([str(error), *getattr(error, "__notes__", ())]), messages.ERROR)
        return
    waiting = transaction.get_connection(rows.db).in_atomic_block
    said = "The numbers follow when this request is committed." if waiting else f"{len(found)} numbers issued."
    page.message_user(request, said, messages.SUCCESS)


vars(issue_numbers).update(short_description="Issue numbers", allowed_permissions=["change"])
