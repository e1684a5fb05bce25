"""The arguments of guarded changes: the scopes that are meant, and what each field may be."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ..exceptions import InvalidChange
from ..services.arguments import placed
from ..strategies import Strategy
from ..types import Scope

LONGEST_BY = 200
LONGEST_REASON = 500


@dataclass(frozen=True)
class EveryScope:
    """Every scope that a sequence can list (see `Scopes.page`), or those whose names begin with `prefix`."""

    prefix: str = ""


EVERY_SCOPE: Final = EveryScope()

Scopes = str | None | EveryScope


def counted_in(sequence: str, scope: str | None, period: str | None) -> Scope:
    """The scope in the given period; in the one of today without it."""
    return placed(sequence, scope, period=period, even_ended=True)[1]


def scopes_of(strategy: Strategy, scope: Scopes, period: str | None) -> Iterator[Scope]:
    """The scope that is named, in its period; or each of those that the sequence can list."""
    if isinstance(scope, EveryScope):
        if period is not None:
            strategy.scopes.check_period(period)
        yield from strategy.scopes.every(period or "", prefix=scope.prefix)
    else:
        yield counted_in(strategy.alias, scope, period)


def check_text(name: str, text: str, longest: int) -> None:
    """Raise InvalidChange, which names the field, for a text that is empty, too long or not printable."""
    if not isinstance(text, str) or not 1 <= len(text.strip()) <= len(text) <= longest or not text.isprintable():
        raise InvalidChange(f"{name} is {text!r}; it must have 1 to {longest} printable characters.")


def check_whole(name: str, value: Any, least: int = 0) -> None:
    """Raise InvalidChange, which names the field, for what is no whole number from `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidChange(f"{name} is {value!r}; it must be a whole number from {least}.")


def check_moment(name: str, moment: Any) -> None:
    """Raise InvalidChange, which names the field, for what is no datetime with a time zone, or none in UTC."""
    with suppress(OverflowError):
        if isinstance(moment, datetime) and moment.utcoffset() is not None and moment.astimezone(UTC):
            return
    raise InvalidChange(f"{name} is {moment!r}; it must be a datetime with a time zone, from year 1 to 9999 in UTC.")


def being_switched(sequence: str) -> InvalidChange:
    """The error for a change that must wait for the end of a switch."""
    return InvalidChange(f"{sequence!r} is being switched to another strategy: finish that first.")
