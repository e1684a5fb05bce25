"""The values that pass between modules: frozen, keyword-only, without DynamoDB's own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from .formats.periods import Period

__all__ = [
    "Allocation",
    "Change",
    "Counter",
    "Dated",
    "Reservation",
    "Scope",
    "SequenceConfig",
    "StoredItem",
    "begins",
    "named_scope",
    "parted",
    "scope_of_text",
    "scope_text",
]

NO_SCOPE = "#"  # how the scope None is stored; no scope begins with it


class Dated(NamedTuple):
    """A scope in one period of its sequence. Both together count on their own."""

    scope: str | None
    period: str

    def __repr__(self) -> str:
        return f"{self.scope!r} of {self.period}"

    @classmethod
    def of(cls, scope: str | None, period: str) -> Scope:
        """A scope in a period; the scope itself if `period` is empty."""
        return cls(scope, period) if period else scope


Scope: TypeAlias = str | Dated | None
"""What counts on its own: a scope, or a scope in a period."""


def parted(scope: Scope) -> tuple[str | None, str]:
    """The scope and the period; the period is empty if the sequence has none."""
    return (scope.scope, scope.period) if isinstance(scope, Dated) else (scope, "")


def scope_text(scope: Scope) -> str:
    """The text that is stored for a scope, such as "ABC", or "#2026#ABC" in a period. No two scopes have the same."""
    if isinstance(scope, Dated):
        return f"#{scope.period}#{scope_text(scope.scope)}"
    return NO_SCOPE if scope is None else scope


def scope_of_text(text: str) -> Scope:
    """The scope for which a text is stored."""
    if text == NO_SCOPE or not text.startswith(NO_SCOPE):
        return named_scope(text)
    period, _, scope = text[1:].partition("#")
    return Dated(named_scope(scope), period)


def begins(scope: str | None, prefix: str) -> bool:
    """Whether the name of a scope begins with a text. The sequence without scope begins with the empty one alone."""
    return (scope or "").startswith(prefix)


def named_scope(name: str | None) -> str | None:
    """The scope that a text names, as in commands and forms: "#" names none."""
    return None if name == NO_SCOPE else name


@dataclass(frozen=True, kw_only=True, slots=True)
class Allocation:
    """The value of one stored item, and what storing it cost.

    `period` is empty for a sequence without PERIOD. `text` is the value as FORMAT writes it.

    `attempts` counts the writes that were sent with this item. `write_units` and `read_units` are this item's share of
    the capacity units that the engine reported; the shares of a group add up to the whole. They leave out lost answers,
    lost races, and the repair of a counter. `replayed` is true when an earlier request with the same idempotency token
    stored the item, and nothing was written now.
    """

    sequence: str
    scope: str | None
    value: int
    attempts: int
    replayed: bool
    write_units: float
    read_units: float
    period: str = ""
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """Values that were taken without items, in increasing order.

    `replayed` is true when an earlier request with the same idempotency token took them, and nothing was taken now.
    """

    values: range | list[int]
    replayed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredItem:
    """An item as it is stored under its value.

    `item` has the attributes that the application gave it, without the key, the token and the text. `text` is the value
    as FORMAT writes it, or the number alone if that needs a date and the item has no text. `void` says who withdrew the
    number, when and why (`by`, `at`, `reason`), and `until` if a range of skipped numbers begins with it; else it is
    None. `digest` is the one that was stored with it; empty without DIGEST.
    """

    sequence: str
    scope: str | None
    value: int
    item: Mapping[str, Any]
    period: str = ""
    text: str = ""
    void: Mapping[str, Any] | None = None
    digest: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """How far one scope of a sequence has counted; `last_value` is None if no value was handed out yet."""

    sequence: str
    scope: str | None
    last_value: int | None
    updated_at: datetime | None = None
    period: str = ""
    frozen: str | None = None
    """By whom, since when and why it is frozen; None if it is not."""
    percent_used: int = 0
    """How much is used of the values up to MAXIMUM, or to the width in FORMAT if that is less."""
    tallies: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    """How many values it gave in which days and hours, by the names in its row (see `strategies.tallies`)."""
    name: str = ""
    """What people call the scope, where that is another name (see `series.name_scope`)."""

    @property
    def counted_in(self) -> Scope:
        """The scope with its period."""
        return Dated.of(self.scope, self.period)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A guarded change of one scope: who made it, when and why, and the last value before and after it.

    `kind` is "advance", "seed", "recover", "freeze", "thaw", "close", "reopen", "switch", "adopt", "give", "series" or
    "void"; a void has its value in both `before` and `after`. Where the two are equal, no number was skipped. The
    values above `before`, up to `after`, are not handed out any more.
    """

    sequence: str
    scope: str | None
    kind: str
    by: str
    at: datetime
    reason: str
    before: int | None
    after: int | None
    period: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceConfig:
    """One checked entry of the setting `SEQUENCES`. `table` has no `TABLE_PREFIX`, `format` is None without FORMAT.

    `also_read` are other FORMATs, such as former ones, whose texts are read, too. `digest` is the attribute in which an
    item keeps the digest of its content.

    `region` is the client's; it is known if `home_region` is set, or if START names Regions. Then `starts` has
    the START of each, and `start` is this Region's.

    `series` is the table of the rules of single scopes, empty without SERIES. A strategy by such rules has the number
    of their `line`, counted from 0, and their `version`.
    """

    alias: str
    strategy: str
    table: str
    start: int
    step: int
    maximum: int
    client: str
    period: Period
    format: str | None
    options: Mapping[str, Any]
    region: str = ""
    home_region: str = ""
    starts: Mapping[str, int] = field(default_factory=dict)
    accepted: frozenset[str] = frozenset()
    given: bool = False
    indexes: Mapping[str, Mapping[str, Literal["S", "N"]]] = field(default_factory=dict)
    also_read: tuple[str, ...] = ()
    date_order: Literal["any", "refuse"] = "any"
    series: str = ""
    version: int = 0
    line: int | None = None
    warn_at: int | None = None
    warn_on: date | None = None
    digest: str | None = None
    dates: Mapping[str, int] = field(default_factory=dict)

    @property
    def stripe(self) -> str:
        """The Region whose numbers this process gives, if each Region has its own; otherwise empty."""
        return self.region if self.starts else ""

    @property
    def is_elsewhere(self) -> bool:
        """Whether another Region than this one writes the sequence."""
        return self.home_region not in ("", self.region)

    @property
    def counted_as(self) -> str:
        """The name of the counters and lines of hosts. Each Region that has a START of its own has its own ones."""
        return f"{self.alias}@{self.stripe}" if self.stripe else self.alias
