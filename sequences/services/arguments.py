"""The arguments that every public function checks in the same way."""

from __future__ import annotations

import datetime
import unicodedata
from typing import TYPE_CHECKING, cast

from ..exceptions import InvalidScope, InvalidToken, OperationNotSupported
from ..registry import strategies
from ..types import Scope

if TYPE_CHECKING:
    from ..strategies.base import Strategy
    from ..strategies.counter_strategy import CounterStrategy

LONGEST_SCOPE = 255
LONGEST_TOKEN = 255
MOST_VALUES = 1_000_000  # in one call: a typing error must not use up a sequence


def check_count(count: int) -> None:
    """Raise ValueError for a count of values that is not from 1 to a million."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_VALUES:
        raise ValueError(f"count is {count!r}; it must be a whole number from 1 to {MOST_VALUES:,}.")


def check_scope(scope: str | None) -> None:
    """Raise InvalidScope for a text that cannot be a scope.

    A scope has 1 to 255 characters, no control characters, and does not begin with '#'.
    """
    if scope is None:
        return
    if not isinstance(scope, str):
        raise InvalidScope(f"The scope is {scope!r}; it must be a text or None.")
    if not 1 <= len(scope) <= LONGEST_SCOPE:
        raise InvalidScope(f"The scope has {len(scope)} characters; it must have 1 to {LONGEST_SCOPE}.")
    if scope.startswith("#"):
        raise InvalidScope("The scope begins with '#', which is reserved: begin it with another character.")
    if has_controls(scope):
        raise InvalidScope("The scope contains control characters: leave them out.")


def has_controls(text: str) -> bool:
    """Whether a text has control characters, or such as UTF-8 cannot encode."""
    # `isprintable` is fast, but also refuses some spaces and format characters that people type.
    return not text.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def check_token(token: str | None, sequence: str = "") -> None:
    """Raise InvalidToken if this is not a token: 1 to 255 printable characters. It does not show the token."""
    if token is None:
        return
    of = f" for {sequence!r}" if sequence else ""
    wanted = f"An idempotency token{of} is 1 to {LONGEST_TOKEN} printable characters"
    if not isinstance(token, str):
        raise InvalidToken(f"{wanted}, and this one is of type {type(token).__name__}: give its str().")
    if not 1 <= len(token) <= LONGEST_TOKEN:
        raise InvalidToken(f"{wanted}, and this one has {len(token)}: give None, or a digest of it.")
    if not token.isprintable():
        raise InvalidToken(f"{wanted}, and this one has others: give a digest of it.")


def is_followed(strategy: Strategy, counted: Scope, last_value: int | None) -> bool:
    """Whether no value is left after the last one, and another line (SERIES) gives the next: place it again."""
    numbers = strategy.numbers
    return numbers.is_used_up(last_value) and strategies.go_on(strategy, counted, numbers.exhausted())


def placed(
    sequence: str,
    scope: str | None,
    date: datetime.date | None = None,
    period: str | None = None,
    *,
    even_ended: bool = False,
) -> tuple[Strategy, Scope, datetime.date | None]:
    """The strategy of a scope, the scope in its period, and the document's date. Raises what is wrong with them.

    Without `even_ended`, that is also a date after the last line of the scope, or a scope of a former FORMAT.
    """
    check_scope(scope)
    strategy = strategies.of(sequence, scope, date, period, even_ended=even_ended)
    return strategy, *strategy.naming.dated(scope, date, period, even_former=even_ended)


def reserving(strategy: Strategy) -> CounterStrategy:
    """The strategy, if it takes values before their items are stored. Raises OperationNotSupported if it does not."""
    if not strategy.supports_reserve:
        raise OperationNotSupported(
            f"The sequence {strategy.alias!r} ({type(strategy).__name__}) hands out a value only together with its "
            "item: use put_next."
        )
    return cast("CounterStrategy", strategy)
