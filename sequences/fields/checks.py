"""What is wrong with a field for numbers: its sequence, its scope, its date, or the column itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Advice
from django.core.exceptions import FieldDoesNotExist
from django.db import models

from ..exceptions import InvalidSequence
from ..registry import strategies

__all__ = ["CheckedField"]


if TYPE_CHECKING:
    _BigInteger = models.BigIntegerField[int | None, int | None]
else:
    _BigInteger = models.BigIntegerField  # cannot be subscribed when it runs


class CheckedField(_BigInteger):
    """A column for the numbers of a sequence, with its system checks."""

    sequence: str
    scope: str | Callable[[Any], str | None] | None
    date: str | None
    on_commit: bool
    assign: str

    @property
    def waits(self) -> bool:
        """Whether a row is stored without its number, which follows a commit."""
        return self.on_commit or self.assign == "manual"

    @property
    def _how(self) -> str:
        return "on_commit=True" if self.on_commit else "assign='manual'"

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """What Django checks, and what is wrong with the sequence and its scope."""
        return [
            *super().check(**kwargs),
            *self._check_assign(),
            *self._check_sequence(),
            *self._check_scope(),
            *self._check_date(),
            *self._check_value(),
            *self._check_unique(),
            *self._check_manager(),
        ]

    def _check_sequence(self) -> list[CheckMessage]:
        try:
            strategy = strategies[self.sequence]
        except (InvalidSequence, TypeError) as error:
            return [Error(f"sequence={self.sequence!r}: {error}", obj=self, id="sequences.E101")]
        name = type(strategy).__name__
        if self.waits and not (strategy.gapless and strategy.exactly_once):
            problem = f"{self._how} wants numbers without gaps, and {name} may leave one."
            hint = f"Take SortKeyMaximum or TransactionalCounter, or leave {self._how.partition('=')[0]} out."
        elif self.waits and not strategy.layout.in_collections:
            problem = f"{self._how} stores records in the table of {self.sequence!r}, which bring no keys."
            hint = f"Leave 'value_in' out of SEQUENCES[{self.sequence!r}]['OPTIONS'], with a table of its own."
        elif not self.waits and not strategy.supports_reserve:
            problem = f"The sequence {self.sequence!r} ({name}) hands out a number only together with a stored item."
            hint = "Set on_commit=True, or take a strategy that can reserve, such as AtomicCounter."
        else:
            return []
        return [Error(problem, hint=hint, obj=self, id="sequences.E102")]

    def _check_assign(self) -> list[CheckMessage]:
        if self.assign not in ("automatic", "manual"):
            problem, hint = f"assign={self.assign!r} is unknown.", "It is 'automatic' or 'manual'."
        elif self.assign == "manual" and self.on_commit:
            problem = "on_commit=True numbers every row, and assign='manual' those that are issued."
            hint = "Leave one of them out."
        else:
            return []
        return [Error(problem, hint=hint, obj=self, id="sequences.E108")]

    def _check_scope(self) -> list[CheckMessage]:
        if self.scope is None or callable(self.scope):
            return []
        hint = "Name another column of the model, or give a function from the row to a text."
        if isinstance(self.scope, str) and self.scope != self.name:
            try:
                if self.model._meta.get_field(self.scope).concrete:
                    return []
            except FieldDoesNotExist:
                pass
        problem = f"scope={self.scope!r} is no other column of {self.model._meta.label}."
        return [Error(problem, hint=hint, obj=self, id="sequences.E103")]

    def _check_date(self) -> list[CheckMessage]:
        if self.date is None:
            return []
        hint = "Name a DateField or DateTimeField of the model, and give the sequence a PERIOD."
        try:
            problem = f"date={self.date!r} is no date of {self.model._meta.label}."
            if isinstance(self.model._meta.get_field(self.date), models.DateField):
                problem = (
                    f"date={self.date!r} says no period: {self.sequence!r} has no PERIOD, and no date in its FORMAT."
                )
                if strategies[self.sequence].naming.takes_dates:
                    return []
        except FieldDoesNotExist:
            pass
        except (InvalidSequence, TypeError):
            return []  # `_check_sequence` reports it
        return [Error(problem, hint=hint, obj=self, id="sequences.E105")]

    @property
    def in_periods(self) -> bool:
        """Whether the sequence begins again in each period; False for a sequence that cannot be used."""
        try:
            return strategies[self.sequence].layout.in_periods
        except (InvalidSequence, TypeError):
            return False

    @property
    def tells_day(self) -> bool:
        """Whether the row says all that the text of its number needs, so that it can be written later."""
        return self.date is not None or not strategies[self.sequence].naming.uses_dates

    def _check_value(self) -> list[CheckMessage]:
        if self.has_default() or self.has_db_default():
            hint = "Leave the default out: START in the setting SEQUENCES is the first number."
            return [Error("A default would take the place of every number.", hint=hint, obj=self, id="sequences.E104")]
        if self.primary_key and self.waits:
            hint = f"Leave primary_key or {self._how} out."
            return [Error("A primary key cannot wait for the commit.", hint=hint, obj=self, id="sequences.E104")]
        return []

    def _check_unique(self) -> list[CheckMessage]:
        options = self.model._meta
        constraints = [constraint.fields for constraint in options.total_unique_constraints]
        together = any(self.name in names for names in (*constraints, *options.unique_together))
        if self.in_periods:
            if not self.unique:
                return []
            problem = "Each period has the same numbers, and unique=True refuses those of the second period."
            hint = "Leave unique=True out."
        elif self.scope is None and not self.unique and not together:
            problem, hint = "The column may hold a number twice, if somebody sets one by hand.", "Set unique=True."
        elif self.scope is not None and self.unique:
            problem = "Each scope has the same numbers, and unique=True refuses those of the second scope."
            hint = "Make the scope and the number unique together, by a UniqueConstraint."
        elif isinstance(self.scope, str) and not together:
            problem = "A scope may hold a number twice, if somebody sets one by hand."
            hint = "Make the scope and the number unique together, by a UniqueConstraint."
        else:
            return []
        return [Advice(problem, hint=hint, obj=self, id="sequences.W101")]

    def _check_manager(self) -> list[CheckMessage]:
        manager = self.model._default_manager
        if getattr(manager.get_queryset(), "numbers_in_bulk", False):
            return []
        todo = "leaves its rows without numbers" if self.on_commit else "takes one request for each row"
        if self.assign == "manual":
            return []
        hint = "Build it from sequences.fields.SequenceQuerySet, or take SequenceManager."
        problem = f"By the manager {manager.name!r}, bulk_create {todo}."
        return [Advice(problem, hint=hint, obj=self, id="sequences.W102")]
