"""A column that fills itself with the numbers of a sequence, and whose counter moves past those that others set."""

import logging
import threading
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from django.core.checks import CheckMessage
from django.db import models, router
from django.db.models import F
from django.db.models.query_utils import DeferredAttribute

from ..exceptions import SequenceError, SequenceExhausted
from ..registry import strategies
from ..services import get_next_values
from .checks import problems
from .columns import Place, PlacedField
from .counting import count_past
from .row_values import is_computed

logger = logging.getLogger(__name__)
LARGEST_NUMBER = 2**63 - 1  # what a column of 8 bytes holds
UNREAD = ...  # what a stored row had before, if its object never read that; a pickled object keeps it


class _NumberAttribute(DeferredAttribute):
    """The number of a row as an attribute, which notes what a stored row had before it was given another one.

    A copy of a row (`pk = None`), whose number is taken away, loses the text of that number with it.
    """

    field: "SequenceField"

    def __set__(self, row: models.Model, number: Any) -> None:
        values, name = row.__dict__, self.field.attname
        if not row._state.adding and (before := values.get(name, UNREAD)) != number:
            values[f"_{name}_before"] = before
        if number is None and values.get(name) is not None:
            values.update({text.attname: None for text in self.field.texts})
        values[name] = number


class SequenceField(PlacedField):
    """A number of a sequence, which the row gets while it is first saved.

    An SQL rollback leaves a gap: the number is taken before the row is stored, and never given again. Rows that must
    have no gap say `on_commit=True`. Then the column is NULL until the transaction is committed, and the row gets its
    number right after that (see `number_on_commit`). With `assign="manual"` a row is a draft, which needs no number, no
    scope and no date until `row.issue_number()` (see `issue_number`).

    A number is given once, and follows time within its scope, as the strategy of the sequence guarantees. A value that
    is set before a save, or that a fixture brings, is kept and takes none. The counter moves past it (see
    `count_past`). After a failed save the object keeps its number for the next try.
    The field is not editable: forms leave it out, REST serializers only read it, and the administration shows it in
    `readonly_fields`.

    `scope` is None, the name of a field of the model, or a function from the row to a scope. A scope by a foreign key
    is the key of the related row, as text. `date` is the name of the field with the document's date, for a sequence
    with a PERIOD; without it, a row is numbered in the period of today. Two periods have the same numbers: a
    `SequenceTextField` beside this one keeps which of them a row has.

    Cost: one request a row. A row that brings a number above all that this host knows to be given costs two, or a
    guarded change where numbers have no gaps. It costs one SQL query more for a stored row.
    `bulk_create` takes the numbers of all its rows by one request for each scope and date, with the manager that a
    model without one of its own gets; build your own from `SequenceQuerySet`.
    Saving raises InvalidScope for an empty scope, InvalidPeriod for an empty date, ValueError for a number of more than
    63 bits that was set, SequenceExhausted for one that was given, and what `get_next_values` raises. System checks
    (sequences.E101 to E108, W101 to W103) find wrong arguments before that.
    """

    description = "A number of a sequence"
    descriptor_class = _NumberAttribute

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return [*super().check(**kwargs), *problems(self)]

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Give a new row its number; if that follows the commit, refuse a row that could never get one.

        A stale object does not erase a number that the row got after a commit, or by `number_rows`.
        """
        if add or self._is_given(model_instance):
            self.fill([model_instance])
        number = super().pre_save(model_instance, add)
        return F(self.name) if number is None and self.null and not add else number

    def _is_given(self, row: models.Model) -> bool:
        """Whether an object brings a number to its stored row: another one than that has, if the object has read it.

        An object that was never read replaces the whole row. One whose number was deferred reads it now.
        """
        values, before = row.__dict__, f"_{self.attname}_before"
        if values.get(self.attname) is None or self._is_counted(row):
            return False
        if values.get(before) is not None:  # it may be one that no row ever had
            rows = type(row)._base_manager.using(database_of(row)).filter(pk=row.pk)
            values[before] = rows.values_list(self.attname, flat=True).first()
            if values[before] == self._number(row):
                del values[before]
        return row._state.adding or before in values

    def fill(self, rows: Iterable[models.Model]) -> None:
        """Give each row without a number the next one of its scope, by one request for each scope and date.

        First the counters move past the numbers that the other rows bring. Rows that wait for theirs get none yet.
        """
        empty: list[models.Model] = []
        given: list[models.Model] = []
        for row in rows:
            number = getattr(row, self.attname)
            if number is None:
                empty.append(row)
            elif not is_computed(number):  # the database alone knows the number of an expression
                given.append(row)
        self.count_past(given)
        for row in given:  # a number that a stored row got elsewhere, as `refresh_from_db` finds it, replaces none
            self.write_texts(row, anew=row.__dict__.get(f"_{self.attname}_before") is not None)
        if not self.waits:
            count_loaded(self)
            for place, members in self.by_place(empty).items():
                self._take(place, members)
        elif self.on_commit:
            for row in empty:
                self.require_place(row)

    def count_past(self, rows: Iterable[models.Model]) -> None:
        """Move the counters past the numbers that rows bring: once for each scope, date and object."""
        for (scope, day), members in self.by_place(row for row in rows if not self._is_counted(row)).items():
            highest = max(map(self._number, members))
            count_past(self.sequence, scope, day, highest, str(self))
            for row in members:
                self.note(row, (scope, day))

    def count_loaded(self, rows: Collection[models.Model]) -> None:
        """Move the counters past the numbers of a fixture, but for rows that do not say their place: `seed` does."""
        by_place: dict[Place, list[models.Model]] = {}
        for row in rows:
            with suppress(Exception):  # a scope or a date may be missing, and a function may fail
                if self.tells_period(row):
                    by_place.setdefault(self.place_of(row), []).append(row)
        if unknown := len(rows) - sum(map(len, by_place.values())):
            logger.warning("%s: the scope or period of %s rows is not known: see `sequences seed`", self, unknown)
        failed = []
        for members in by_place.values():
            try:
                self.count_past(members)
            except (SequenceError, ValueError) as error:
                failed.append(error)
        try:
            if failed:
                raise failed[0]
        finally:
            del failed  # else an error would hold this frame, and that the error, with all who have called

    def _number(self, row: models.Model) -> int:
        number: int = self.get_prep_value(getattr(row, self.attname))
        if number > LARGEST_NUMBER:  # before the counter moves, which never comes back
            raise ValueError(f"{self} is set to {number}; the column holds numbers up to {LARGEST_NUMBER}.")
        return number

    def note(self, row: models.Model, place: Place | None = None) -> None:
        """Remember that the counter is past the number of a row there: a second save of the object asks nothing."""
        row.__dict__[f"_{self.attname}_counted_in"] = self._number(row), place and (place[0], self.date and place[1])

    def _is_counted(self, row: models.Model) -> bool:
        number, place = row.__dict__.get(f"_{self.attname}_counted_in", (None, None))
        stored = not row._state.adding and row.pk is not None  # else it may be a copy, in another scope
        return is_computed(getattr(row, self.attname)) or bool(
            number == self._number(row) and (stored or place == (self.scope_of(row), self.date and self.date_of(row)))
        )

    def too_large(self, value: int) -> SequenceExhausted | None:
        """The error for a number that the sequence gave and the column cannot hold; None if the column holds it."""
        if value <= LARGEST_NUMBER:
            return None
        return SequenceExhausted(
            f"{self}: the column holds numbers up to {LARGEST_NUMBER}, and the next one is {value}: "
            f"set SEQUENCES[{self.sequence!r}]['MAXIMUM'] to what the column holds."
        )

    def _take(self, place: Place, rows: list[models.Model]) -> None:
        scope, day = self.dated(place)
        values = get_next_values(len(rows), self.sequence, scope=scope, date=day)
        if error := self.too_large(values[-1]):
            raise error
        for row, value in zip(rows, values, strict=True):
            setattr(row, self.attname, value)
            self.note(row, place)
            self.write_texts(row, (scope, day))

    def write_texts(self, row: models.Model, place: Place | None = None, *, anew: bool = False) -> None:
        """Set the texts of the number that a row has; without `anew` but for those that it has already."""
        empty = [text for text in self.texts if anew or getattr(row, text.attname) is None]
        if not empty:
            return
        scope, day = place or self.place_of(row)
        naming = strategies.of(self.sequence, scope, day).naming
        written = naming.text(self._number(row), *naming.dated(scope, day))
        for text in empty:
            setattr(row, text.attname, written)


def store_texts(row: models.Model, saved: Collection[str], using: str | None) -> None:
    """Let the texts of a row follow into the table where `update_fields`, or what was deferred, left them out.

    One SQL query for each number among the columns that were `saved`.
    """
    for field in sequence_fields(type(row)):
        known = {text.name: row.__dict__.get(text.attname) for text in field.texts if text.name not in saved}
        texts = {name: text for name, text in known.items() if text is not None}
        if field.name in saved and texts:
            type(row)._base_manager.using(using).filter(pk=row.pk).update(**texts)


def database_of(row: models.Model) -> str:
    """The database in which a row is written, as Django's `save` finds it: a row may come from a replica."""
    return router.db_for_write(type(row), instance=row)


def sequence_fields(model: type[models.Model]) -> list[SequenceField]:
    """The sequence fields of a model, those of its parents too."""
    return [field for field in model._meta.concrete_fields if isinstance(field, SequenceField)]


@dataclass(eq=False)
class Loaded:
    """Rows of one transaction that came from fixtures, and are not counted yet.

    Django alone holds it, until its commit or rollback, or the rollback of its savepoint.
    """

    field: SequenceField
    rows: list[models.Model]

    def __post_init__(self) -> None:
        self.__qualname__ = "count_on_commit"  # Django logs this name with an error
        _thread.loaded.add(self)

    def __call__(self) -> None:
        rows, self.rows = self.rows, []  # a test that loads more goes on in the same transaction
        self.field.count_loaded(rows)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.loaded: WeakSet[Loaded] = WeakSet()


_thread = _Thread()


def loaded_here() -> list[Loaded]:
    """Those that wait for the commits of this thread's transactions, or for their turn after a commit.

    A list of Django's own has them, too, but Django empties it before it calls the first of them.
    """
    return [*_thread.loaded]


def count_loaded(field: SequenceField) -> None:
    """Count what fixtures brought, and no commit has counted yet, before a row beside them is numbered."""
    for waiting in loaded_here():
        if waiting.field is field:
            with suppress(Exception):  # after the commit it is logged
                field.count_loaded(waiting.rows)
                waiting.rows = []
        del waiting  # else an error that somebody keeps would hold it, through this frame, after a rollback
