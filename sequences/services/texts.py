"""The public functions about texts, such as "INV-2026-000042": write them, read what people type, and look ahead.

A text is a value as the key FORMAT of its sequence writes it; `formats` does the work. No function here takes a value.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from ..exceptions import InvalidScope, InvalidText
from ..formats import Parsed
from ..registry import strategies
from ..types import Scope
from .arguments import check_count, check_scope, is_followed, placed

if TYPE_CHECKING:
    from ..strategies.base import Strategy


def format_value(
    value: int,
    sequence: str,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
) -> str:
    """Write a value as FORMAT says: the text that `put_next` gives for the same scope and date. No request.

    `date` is the document's date, today without it. In its place a `period` may be named, if FORMAT needs no more.
    Raises InvalidSequence, InvalidScope, InvalidPeriod, and ValueError for a wrong date or a value that is never given.
    """
    strategy, counted, day = placed(sequence, scope, date, period, even_ended=True)
    strategy.naming.require_scope(scope)
    return strategy.naming.text(strategy.numbers.checked(value), counted, day)


def parse(text: str, sequence: str, *, scope: str | None = None) -> Parsed:
    """Read a text as people type it: in any case, with white space, without the zeros before the value.

    It is read by FORMAT, and otherwise by the first of ALSO_READ that reads it. That says nothing about whether the
    value was handed out. In a sequence with SERIES it is read by the lines of the `scope`; where it names none, and
    nothing else reads the text, by those of all scopes.
    Cost: no request. With SERIES a process reads the lines of a scope once an hour, and those of all scopes at most
    every 30 seconds, by one query for a hundred scopes; a text by a line that another process made may wait for that.
    Raises InvalidSequence, and InvalidText, which says what is wrong: another form, a scope that cannot be, a date that
    does not exist, a value that the sequence never gives, or a wrong check digit.
    """
    return readings(text, sequence, scope)[0]


def readings(text: str, sequence: str, scope: str | None = None) -> list[Parsed]:
    """What a text may say, by FORMAT and by each of ALSO_READ: at least one thing. Costs and raises as `parse`."""
    book = strategies.lines(sequence)
    found = (book and book.texts.of(text, scope)) or _by_settings(text, sequence, scope)
    try:
        for parsed in found:
            check_scope(parsed.scope)
    except InvalidScope as error:
        raise InvalidText(f"{text!r} has no scope of this sequence. {error}") from error
    return found


def _by_settings(text: str, sequence: str, scope: str | None) -> list[Parsed]:
    """What a text says by the settings; where they do not read it and no scope is named, by the lines of any scope."""
    try:
        return strategies[sequence].naming.readings(text)
    except InvalidText:
        book = strategies.lines(sequence)
        if not (book and scope is None and (found := book.texts.of_any(text))):
            raise
        return found


def preview(count: int, sequence: str, *, scope: str | None = None, date: datetime.date | None = None) -> list[str]:
    """The texts of the next `count` values, fewer at the end of the sequence, or of a line, without taking one.

    Others may take these values before you do. `BlockAllocator` shows the first values of the next block.
    Cost: one consistent read. Raises what `get_last_value` raises, and ValueError for a count below 1 or above a
    million and for a wrong date.
    """
    check_count(count)
    while True:
        strategy, counted, day = placed(sequence, scope, date)
        last_value = strategy.last_value(counted)
        if not is_followed(strategy, counted, last_value):
            return following(strategy, counted, last_value, count, day)


def following(
    strategy: Strategy, scope: Scope, last_value: int | None, count: int, day: datetime.date | None = None
) -> list[str]:
    """The texts of the values after a last value, fewer at the end of the sequence. No request.

    Without a `day` they are numbers alone if FORMAT needs one.
    """
    values = values_after(strategy, last_value, count)
    return [strategy.naming.text_or_number(value, scope, day) for value in values if value <= strategy.numbers.maximum]


def values_after(strategy: Strategy, last_value: int | None, count: int) -> range:
    """The values after a last value, as if there were no maximum: by a later line (SERIES) they are in its range."""
    numbers = strategy.numbers
    known = [value for value in (last_value, strategy.before_range) if value is not None]
    return numbers.after(max([numbers.before_start, *known]), count)
