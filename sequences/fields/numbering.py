"""Numbers for stored rows, such as those that a crash left without one."""

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, models, transaction

from .. import exceptions
from ..exceptions import InvalidScope, SequenceError
from ..registry import strategies
from ..services import put_next_each
from ..types import Allocation
from .columns import Place
from .sequence_field import SequenceField, count_loaded

ROWS_AT_ONCE = 500
OF_SOME_ROWS = (
    IntegrityError,
    exceptions.DateRefused,
    exceptions.IdempotencyMismatch,
    exceptions.InvalidPeriod,
    InvalidScope,
    exceptions.SequenceExhausted,
    exceptions.SequenceFrozen,
    exceptions.SequenceWentBack,
)
"""Errors of one row, or of one scope, while others can be numbered."""


def number_objects(field: SequenceField, rows: Sequence[models.Model], using: str) -> None:
    """Number stored rows of one database as `number_rows` does, and set the numbers and texts on the objects."""
    key, run = field.model._meta.pk, _Run(field, using)
    try:
        run.number([getattr(row, key.attname) for row in rows])
    finally:
        for row in rows:
            if given := run.given.get(key.to_python(getattr(row, key.attname))):
                for name, value in _columns(field, given).items():
                    setattr(row, name, value)
                field.note(row)
    run.require_all()


def number_rows(field: SequenceField, *, using: str = "default", keys: Sequence[Any] | None = None) -> dict[Any, int]:
    """Number the rows whose column is NULL: all in the order of their primary keys, or those with these keys as named.

    A sequence that keeps the order of dates (DATE_ORDER) numbers them in that. With `assign="manual"` these are the
    drafts: name those that are issued.

    `put_next_each` takes the numbers, with idempotency tokens that are made from the rows. So a row gets the same
    number if this is repeated after a crash, in another process, or by two processes at once, as long as its scope
    stays and the marker has not expired (7 days, `marker_seconds`). A later row with the same primary key gets it, too,
    unless the model has a column with `auto_now_add`. The sequence's own item names model, row and database. A row that
    is deleted meanwhile leaves its number with that item. The texts of a number are written together with it.
    Returns the numbers by primary key. Raises what `put_next` raises, and IntegrityError where a constraint refuses a
    number. What is wrong with one row or one scope is raised after all others are numbered, with notes that name the
    rows; after any other error the rows before it are numbered. No such error keeps a stored number from its row.
    """
    run = _Run(field, using)
    run.number(keys)
    run.require_all()
    return {key: given.value for key, given in run.given.items()}


def write_texts(field: SequenceField, *, using: str = "default") -> int:
    """Write the texts of numbered rows that have none, as those that are older than their `SequenceTextField`.

    Returns how many it changed. Rows whose `field` is numbered by the day of the save stay, because that day is not
    known any more. Safe to repeat. Cost: two SQL queries for 500 rows, and no request.
    What is wrong with one row, as a scope or date that is empty, is raised after all others have their texts.
    """
    names = [text.name for text in field.texts]
    if not names or (field.date is None and strategies[field.sequence].naming.uses_dates):
        return 0
    rows, run, written = field.model._base_manager.using(using), _Run(field, using), 0
    unwritten = models.Q(*((name, None) for name in names), _connector=models.Q.OR)
    for page in _pages(rows.filter(unwritten, **{f"{field.name}__isnull": False})):
        known = list[models.Model]()
        for row in page:
            with run.going_on([row.pk], "Without a text"):
                field.write_texts(row, run.place_of(row))
                known.append(row)
        written += rows.bulk_update(known, names)
    run.require_all()
    return written


def _pages(rows: models.QuerySet[Any]) -> Iterator[list[models.Model]]:
    """Rows in the order of their keys, page by page: each is read when the one before it is done."""
    rows, last = rows.order_by("pk"), None
    while page := list((rows if last is None else rows.filter(pk__gt=last))[:ROWS_AT_ONCE]):
        yield page
        last = page[-1].pk


def _found(rows: models.QuerySet[Any], keys: Sequence[Any]) -> Iterator[list[models.Model]]:
    """The rows with these keys, in their order, page by page."""
    for first in range(0, len(keys), ROWS_AT_ONCE):
        part = dict.fromkeys(map(rows.model._meta.pk.to_python, keys[first : first + ROWS_AT_ONCE]))
        by_key = rows.in_bulk([*part])
        yield [by_key[one] for one in part if one in by_key]


class _Run:
    """Numbers rows page by page. `given` has what they got; `failed` are the errors of single rows and scopes."""

    def __init__(self, field: SequenceField, using: str) -> None:
        self.given: dict[Any, Allocation] = {}
        self.failed: list[Exception] = []
        self._field, self._using = field, using
        self._rows = field.model._base_manager.using(using)

    def number(self, keys: Sequence[Any] | None) -> None:
        """Number the rows with these primary keys in their order, or all, if they have no number yet."""
        count_loaded(self._field)
        empty = self._rows.filter(**{self._field.name: None})
        if self._keeps_dates and (keys is None or len(keys) > ROWS_AT_ONCE):
            keys = self._by_date(empty, keys)
        for page in _pages(empty) if keys is None else _found(empty, keys):
            self._page(page)

    @property
    def _keeps_dates(self) -> bool:
        """Whether the numbers of the rows follow their dates."""
        return self._field.date is not None and strategies[self._field.sequence].config.date_order != "any"

    def _by_date(self, rows: models.QuerySet[Any], keys: Sequence[Any] | None) -> list[Any]:
        """The keys of all these rows, or those of them that are named, in the order of their dates on all pages."""
        assert self._field.date is not None
        dates = dict(rows.order_by("pk").values_list("pk", self._field.date))
        named = dates if keys is None else filter(dates.__contains__, map(self._field.model._meta.pk.to_python, keys))
        return sorted(named, key=lambda key: str(dates[key]))

    def require_all(self) -> None:
        """Raise the first error of a single row or scope; its notes name the rows of all of them."""
        if self.failed:
            for other in self.failed[1:]:
                self.failed[0].add_note(f"{other} {' '.join(other.__notes__)}")
            raise self.failed[0]

    def _page(self, rows: Sequence[models.Model]) -> None:
        by_place: dict[Place, list[models.Model]] = {}
        for row in rows:
            with self.going_on([row.pk]):
                by_place.setdefault(self.place_of(row), []).append(row)
        for place, those in self._in_order(by_place):
            with self.going_on([row.pk for row in those]):
                self._place(those, *place)

    def place_of(self, row: models.Model) -> Place:
        """Where a row is numbered. An error of a function of the application that finds the scope is about its row."""
        try:
            return self._field.place_of(row)
        except OF_SOME_ROWS:
            raise
        except Exception as error:
            raise InvalidScope(f"{self._field}: the scope of row {row.pk} cannot be found: {error!r}.") from error

    def _in_order(self, by_place: Mapping[Place, list[models.Model]]) -> Iterable[tuple[Place, list[models.Model]]]:
        """The places in the order of their dates, if the sequence keeps that; else as they come."""
        if not self._keeps_dates:
            return by_place.items()
        return sorted(by_place.items(), key=lambda one: str(self._field.dated(one[0])[1]))

    @contextmanager
    def going_on(self, keys: Sequence[Any], but: str = "Not numbered") -> Iterator[None]:
        """Keep an error that is about these rows alone."""
        try:
            yield
        except OF_SOME_ROWS as error:
            named = ", ".join(map(str, keys[:5])) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
            error.add_note(f"{but}: {self._field.model._meta.label} {named}.")
            self.failed.append(error)

    def _place(self, rows: Sequence[models.Model], scope: str | None, day: datetime.date | None) -> None:
        """Number rows of one scope and date. What is stored reaches its rows before the other rows raise an error."""
        given: dict[Any, Allocation] = {}
        refused: dict[type[SequenceError], tuple[SequenceError, list[Any]]] = {}
        for row, answer in zip(rows, self._taken(rows, scope, day), strict=True):
            if isinstance(answer, Allocation):
                given[row.pk] = answer
            else:
                refused.setdefault(type(answer), (answer, []))[1].append(row.pk)
        if given:
            with self.going_on([*given]):
                self._write(given)
        for error, keys in refused.values():
            with self.going_on(keys):
                raise error

    def _taken(
        self, rows: Sequence[models.Model], scope: str | None, day: datetime.date | None
    ) -> list[Allocation | SequenceError]:
        """For each row of one scope and date its number, or the error why it has none. A repeat gets the same."""
        label = self._field.model._meta.label_lower
        items = [{"model": label, "row": str(row.pk), "database": self._using} for row in rows]
        tokens = [_token(self._field, row, item) for row, item in zip(rows, items, strict=True)]
        answers = put_next_each(self._field.sequence, items, scope=scope, idempotency_tokens=tokens, date=day)
        return [(isinstance(one, Allocation) and self._field.too_large(one.value)) or one for one in answers]

    def _write(self, given: dict[Any, Allocation]) -> None:
        """Write numbers into their rows together; one by one where a constraint refuses some of them."""
        try:
            with transaction.atomic(using=self._using):
                for key, one in given.items():
                    self._rows.filter(pk=key, **{self._field.name: None}).update(**_columns(self._field, one))
        except IntegrityError:
            if len(given) == 1:
                raise
            for key, one in given.items():
                with self.going_on([key]):
                    self._write({key: one})
        else:
            self.given |= given


def _columns(field: SequenceField, given: Allocation) -> dict[str, Any]:
    """What a row gets together with its number."""
    return {field.name: given.value, **{text.name: given.text for text in field.texts}}


def _token(field: SequenceField, row: models.Model, item: dict[str, str]) -> str:
    """The idempotency token of a row: the same in every process, and short whatever the primary key is.

    A column with `auto_now_add` tells the row from a former one with its key, which has its number already.
    """
    births = [one.value_to_string(row) for one in row._meta.concrete_fields if getattr(one, "auto_now_add", False)]
    return hashlib.sha256("\0".join([*item.values(), field.name, *births]).encode()).hexdigest()
