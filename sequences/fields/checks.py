"""What is wrong with a field for numbers: its sequence, its scope, its date, or the column itself."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Advice
from django.core.exceptions import FieldDoesNotExist
from django.db import models

from ..exceptions import InvalidSequence
from ..registry import strategies
from .columns import PlacedField

Problem = tuple[str, str, str | None]
"""The end of its id, which begins with E for an error and W for a warning; what is wrong; and what to do."""


def problems(field: PlacedField) -> Iterator[CheckMessage]:
    """What is wrong with a field."""
    checks = (_assign, _sequence, _scope, _date, _value, _unique, _manager, _texts)
    for code, problem, hint in chain.from_iterable(check(field) for check in checks):
        kind = Error if code.startswith("E") else Advice
        yield kind(problem, hint=hint, obj=field, id=f"sequences.{code}")


def _assign(field: PlacedField) -> Iterator[Problem]:
    if field.assign not in ("automatic", "manual"):
        yield "E108", f"assign={field.assign!r} is unknown.", "It is 'automatic' or 'manual'."
    elif field.assign == "manual" and field.on_commit:
        problem = "on_commit=True numbers every row, and assign='manual' those that are issued."
        yield "E108", problem, "Leave one of them out."


def _sequence(field: PlacedField) -> Iterator[Problem]:
    alias, how = field.sequence, _how(field)
    try:
        strategy = strategies[alias]
    except (InvalidSequence, TypeError) as error:
        yield "E101", f"sequence={alias!r}: {error}", None
        return
    name = type(strategy).__name__
    if field.waits and not (strategy.gapless and strategy.exactly_once):
        problem = f"{how} wants numbers without gaps, and {name} may leave one."
        hint = f"Take SortKeyMaximum or TransactionalCounter, or leave {how.partition('=')[0]} out."
        yield "E102", problem, hint
    elif field.waits and not strategy.layout.in_collections:
        problem = f"{how} stores records in the table of {alias!r}, which bring no keys."
        yield "E102", problem, f"Leave 'value_in' out of SEQUENCES[{alias!r}]['OPTIONS'], with a table of its own."
    elif not field.waits and not strategy.supports_reserve:
        problem = f"The sequence {alias!r} ({name}) hands out a number only together with a stored item."
        yield "E102", problem, "Set on_commit=True, or take a strategy that can reserve, such as AtomicCounter."


def _how(field: PlacedField) -> str:
    return "on_commit=True" if field.on_commit else "assign='manual'"


def _scope(field: PlacedField) -> Iterator[Problem]:
    yield from _scope_in_texts(field)
    if field.scope is None or callable(field.scope):
        return
    column = _column(field, field.scope) if field.scope != field.name else None
    if column is None or not column.concrete:
        problem = f"scope={field.scope!r} is no other column of {field.model._meta.label}."
        yield "E103", problem, "Name another column of the model, or give a function from the row to a text."
    elif column.generated and not field.waits:
        problem = f"scope={field.scope!r} is computed by the database, after the number is given."
        yield "E103", problem, "Give a function from the row to a text, or set on_commit=True."


def _scope_in_texts(field: PlacedField) -> Iterator[Problem]:
    """Whether FORMAT can write the scopes of the rows. With SERIES each scope may have a FORMAT of its own."""
    try:
        naming = strategies[field.sequence].naming
    except (InvalidSequence, TypeError):
        return  # `_sequence` reports it
    if strategies.has_lines(field.sequence):
        return
    if field.scope is None and naming.format.uses_scope:
        problem = f"The FORMAT of {field.sequence!r} has {{scope}}, and the field names no scope."
        yield "E103", problem, "Give the field a scope, or leave {scope} out of FORMAT."
    elif field.scope is not None and not naming.takes("any"):
        problem = f"The field has scopes, and the FORMAT of {field.sequence!r} has no {{scope}} that tells them apart."
        yield "E103", problem, "Add {scope} to FORMAT, or leave the scope out."


def _date(field: PlacedField) -> Iterator[Problem]:
    if field.date is None:
        return
    hint = "Name a DateField or DateTimeField of the model, and give the sequence a PERIOD."
    if not isinstance(_column(field, field.date), models.DateField):
        yield "E105", f"date={field.date!r} is no date of {field.model._meta.label}.", hint
        return
    try:
        if not strategies[field.sequence].naming.takes_dates:
            missing = f"{field.sequence!r} has no PERIOD, and no date in its FORMAT."
            yield "E105", f"date={field.date!r} says no period: {missing}", hint
    except (InvalidSequence, TypeError):
        pass  # `_sequence` reports it


def _column(field: PlacedField, name: Any) -> Any:
    """A column of the field's model; None if there is none of this name."""
    try:
        return field.model._meta.get_field(name)
    except FieldDoesNotExist:
        return None


def _value(field: PlacedField) -> Iterator[Problem]:
    if field.has_default() or field.has_db_default():
        hint = "Leave the default out: START in the setting SEQUENCES is the first number."
        yield "E104", "A default would take the place of every number.", hint
    elif field.primary_key and field.waits:
        yield "E104", "A primary key cannot wait for the commit.", f"Leave primary_key or {_how(field)} out."


def _unique(field: PlacedField) -> Iterator[Problem]:
    options = field.model._meta
    constraints = [constraint.fields for constraint in options.total_unique_constraints]
    key = [column.name for column in options.pk_fields]
    together = any(field.name in names for names in (key, *constraints, *options.unique_together))
    by_both = "Make the scope and the number unique together, by a UniqueConstraint."
    if field.in_periods:
        if field.unique:
            problem = "Each period has the same numbers, and unique=True refuses those of the second period."
            yield "W101", problem, "Leave unique=True out."
    elif field.scope is None and not field.unique and not together:
        yield "W101", "The column may hold a number twice, if somebody sets one by hand.", "Set unique=True."
    elif field.scope is not None and field.unique:
        yield "W101", "Each scope has the same numbers, and unique=True refuses those of the second scope.", by_both
    elif isinstance(field.scope, str) and not together:
        yield "W101", "A scope may hold a number twice, if somebody sets one by hand.", by_both


def _manager(field: PlacedField) -> Iterator[Problem]:
    manager = field.model._default_manager
    if field.assign != "manual" and not getattr(manager.get_queryset(), "numbers_in_bulk", False):
        todo = "leaves its rows without numbers" if field.on_commit else "takes one request for each row"
        hint = "Build it from sequences.fields.SequenceQuerySet, or take SequenceManager."
        yield "W102", f"By the manager {manager.name!r}, bulk_create {todo}.", hint


def _texts(field: PlacedField) -> Iterator[Problem]:
    if field.in_periods and not field.texts:
        problem = "Each period has the same numbers, and no column keeps the period of a row."
        hint = f"Add a SequenceTextField(of={field.name!r}): it keeps the text, which is unique."
        yield "W103", problem, hint
