"""The public functions that read stored items back: by value, by the text that people type, or all of a scope."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..exceptions import InvalidPeriod
from ..registry import strategies
from ..rows.item_reader import item_pages, stored_item
from ..types import Scope, StoredItem, parted
from .arguments import placed
from .texts import readings

if TYPE_CHECKING:
    from ..strategies.base import Strategy


def get_item(
    sequence: str,
    value: int,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
) -> StoredItem | None:
    """Return the item that is stored under a value, or None if there is none.

    A number that was withdrawn or skipped has an item, too: its `void` says by whom, when and why. With a PERIOD it is
    the item of the period of `date`, which is today unless you give one, or of a `period` such as "2026".
    Cost: one consistent read, 1 read unit for each 4 KB of the item. With SERIES a value of no line that this process
    knows costs a read of the lines first, at most once a second.
    Raises OperationNotSupported for items under keys of their own, ValueError for a value that is never given,
    InvalidSequence, InvalidScope, InvalidPeriod, SequenceUnavailable and StorageRefused.
    """
    strategy, counted, _ = placed(sequence, scope, date, period, even_ended=True)
    return _item(strategy, counted, value)


def find(
    text: str,
    sequence: str,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
) -> StoredItem | None:
    """Return the item whose number people write like this, such as "inv 2026 42", or None if there is none.

    Where FORMAT and ALSO_READ read it in several ways, it is the item that was stored with this text. What they do not
    say (the scope, the period) is given besides. Cost: as `get_item`, for each number that the text may mean.
    Raises InvalidText for another form, InvalidPeriod where nothing says which period, and what `get_item` raises.
    """
    first = None
    for (counted, value), written in _found_places(text, sequence, scope, date, period).items():
        found = _item(strategies.by_lines(strategies[sequence], counted), counted, value)
        if found and found.text == written:
            return found
        first = first or found
    return first


def items(
    sequence: str,
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
    after: int | None = None,
    newest_first: bool = False,
) -> Iterator[StoredItem]:
    """Give the stored items of a scope one after another, in the order of their values, or the newest first.

    They begin after the value `after`, which may be the last one of an earlier call, or 0 for the first. Void numbers
    are among them (see `get_item`). The items are read in pages of a hundred while they are taken, so
    `itertools.islice` bounds the reads.
    Cost: one consistent query for a page, 1 read unit for each 4 KB of it.
    Raises OperationNotSupported for items that are not in the order of their values (those under keys of their own, or
    whose partition key is the value), and what `get_item` raises.
    """
    return chain.from_iterable(pages(sequence, scope, date, period, after, newest_first=newest_first))


def _item(used: Strategy, counted: Scope, value: int) -> StoredItem | None:
    """The item under a value of a scope in its period."""
    strategy = _giving(used, counted, value)
    return stored_item(strategy, counted, value, strategy.deadline().read)


def _giving(used: Strategy, counted: Scope, value: int) -> Strategy:
    """The strategy that is used, or where that never gives the value, the one by another line that does (SERIES).

    Another process may have made that line, so they are read again before, at most once a second.
    """
    scope, book = parted(counted)[0], strategies.lines(used.alias)
    if book is None or used.numbers.gives(value):
        return used
    book.known.are_newer(scope, used.config.version)
    in_period = (one for one in book.by_each(scope, book.of(scope)) if one.config.period == used.config.period)
    return next((one for one in in_period if one.numbers.gives(value)), used)


def _found_places(
    text: str, sequence: str, scope: str | None, date: datetime.date | None, period: str | None
) -> dict[tuple[Scope, int], str]:
    """The scopes and values that a text may tell, together with what the caller names, each with its text."""
    found, in_periods = {}, strategies[sequence].layout.in_periods
    for parsed in readings(text, sequence, scope):
        told = period if parsed.period is None else parsed.period
        if told is None and date is None:
            raise InvalidPeriod(f"{text!r} does not name its period: give the date or the period.")
        named = scope if parsed.scope is None else parsed.scope
        is_told = bool(told) or (told is not None and in_periods)
        dated = (None, told) if is_told else (date, None)
        _, counted, _ = placed(sequence, named, *dated, even_ended=True)
        found[counted, parsed.value] = parsed.text
    return found


def pages(
    sequence: str,
    scope: str | None,
    date: datetime.date | None,
    period: str | None,
    after: int | None,
    *,
    newest_first: bool,
) -> Iterator[list[StoredItem]]:
    """The items of a scope, page by page (see `items`)."""
    strategy, counted, _ = placed(sequence, scope, date, period, even_ended=True)
    if after:
        strategy = _giving(strategy, counted, after)

    def send(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return strategy.deadline().read(operation, request)  # each page has a deadline of its own

    return item_pages(strategy, counted, after, send, newest_first=newest_first)
