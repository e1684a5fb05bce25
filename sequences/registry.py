"""The strategy of each sequence in the setting SEQUENCES: one object for each alias in each process.

Django's `connections` keeps one object for each thread. A strategy instead is shared by all threads of a process, with
its last values, commit queues and blocks. A forked child starts with new strategies that remember nothing.

The strategies are imported when the first sequence is used.
"""

from __future__ import annotations

import datetime
import inspect
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from . import dynamodb
from .commit.retries import DEADLINE_SECONDS
from .exceptions import InvalidSequence, SequenceError, SequenceUnavailable
from .formats.periods import Period
from .rows.numbers import LARGEST, whole_number
from .rows.options import Option, boolean, checked, is_indexes, is_name, is_names, is_region, one_of
from .rows.soundness import RISKS
from .types import Scope, SequenceConfig, parted

if TYPE_CHECKING:
    from .strategies.base import Strategy
    from .strategies.counter_strategy import CounterStrategy
    from .strategies.lines import ScopeLines

__all__ = ["DEFAULT_TABLE", "Registry", "configured", "made_of", "parse_config", "strategies"]

DEFAULT_TABLE = "sequence_items"
_A_TABLE = "a table's name: 3 to 255 letters, digits, '_', '-' or '.'"


def _is_table(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", value) is not None


def _is_days(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 36_500


_CHECKED = {
    "TABLE": Option(DEFAULT_TABLE, _is_table, _A_TABLE),
    "OPTIONS": Option({}, lambda v: isinstance(v, Mapping), "a dict"),
    "GIVEN": boolean(False),
    "INDEXES": Option(
        {}, is_indexes, "the keys of each index with their types, as {'gsi1': {'gsi1pk': 'S', 'gsi1sk': 'S'}}"
    ),
    "FORMAT": Option(None, lambda v: v is None or isinstance(v, str), "a text such as 'INV-{period}-{value:06d}'"),
    "ALSO_READ": Option((), is_names, "a list of former texts of FORMAT"),
    "DATE_ORDER": one_of("any", "refuse"),
    "SERIES": Option(None, lambda v: v is None or _is_table(v), _A_TABLE),
    "DIGEST": Option(None, lambda v: v is None or is_name(v), "the name of an attribute, or None"),
    "DATES": Option(
        {},
        lambda v: isinstance(v, Mapping) and {*v} <= {"past", "future"} and all(map(_is_days, v.values())),
        "a dict of 'past' and 'future', each a whole number from 0 to 36,500 of days",
    ),
    "HOME_REGION": Option("", is_region, "the name of a Region, as 'eu-central-1'"),
    "ACCEPT": Option(
        (),
        lambda v: isinstance(v, list | tuple | set | frozenset) and all(map(RISKS.__contains__, v)),
        f"a list of risks: {', '.join(RISKS)}",
    ),
}
_OF_NUMBERS = ("STRATEGY", "START", "STEP", "MAXIMUM")
_OF_PERIODS = ("PERIOD", "FISCAL_START", "FISCAL_NAMED_BY", "TIME_ZONE")
_KEYS = {*_CHECKED, *_OF_NUMBERS, *_OF_PERIODS, "CLIENT"}


def parse_config(alias: str, entry: Mapping[str, Any]) -> SequenceConfig:
    """Check one entry of SEQUENCES. Raises InvalidSequence, which names the wrong key and what it must be."""
    from .strategies.regions import start_here, starts_of

    where = f"SEQUENCES[{alias!r}]"
    _require_entry(where, alias, entry)
    plain = {key.lower(): value for key, value in checked(where, _CHECKED, entry).items()}
    plain |= {
        "options": dict(plain["options"]),
        "also_read": tuple(plain["also_read"]),
        "series": plain["series"] or "",
        "accepted": frozenset(plain.pop("accept")),
    }
    client = _client(where, entry)
    step = whole_number(f"{where}['STEP']", entry.get("STEP", 1), 1)
    starts = starts_of(where, entry, step)
    region = dynamodb.region(client) if plain["home_region"] or starts else ""
    start = entry.get("START", 1) if not starts else start_here(where, starts, region, client)
    whole_number(f"{where}['START']", start, 0)
    return SequenceConfig(
        alias=alias,
        strategy=entry["STRATEGY"],
        start=start,
        step=step,
        maximum=whole_number(f"{where}['MAXIMUM']", entry.get("MAXIMUM", LARGEST), max([start, *starts.values()])),
        client=client,
        period=Period.of_config(where, entry),
        region=region,
        starts=starts,
        **plain,
    )


def _require_entry(where: str, alias: str, entry: Mapping[str, Any]) -> None:
    """Raise InvalidSequence unless this is a dict of known keys with a STRATEGY, under an alias."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", str(alias)):
        raise InvalidSequence(f"{where}: an alias is 1 to 100 letters, digits, '_' or '-'.")
    if isinstance(entry, Mapping) and (unknown := set(entry) - _KEYS):
        raise InvalidSequence(f"{where}: unknown key {min(unknown)!r}; known are {', '.join(sorted(_KEYS))}.")
    if not isinstance(entry, Mapping) or not isinstance(entry.get("STRATEGY"), str):
        raise InvalidSequence(f"{where} must be a dict with 'STRATEGY', the dotted path of a strategy class.")


def _client(where: str, entry: Mapping[str, Any]) -> str:
    client: str = entry.get("CLIENT", dynamodb.DEFAULT_CLIENT)
    if client not in dynamodb.clients():
        known = ", ".join(map(repr, dynamodb.clients()))
        raise InvalidSequence(f"{where}['CLIENT'] is {client!r}; it must be in SEQUENCES_CLIENTS, which has {known}.")
    return client


def made_of(alias: str, entry: Mapping[str, Any], *, lenient: bool = False) -> Strategy:
    """A strategy of its own, which no other caller has. If `lenient`, it drops OPTIONS that it does not know.

    Raises InvalidSequence.
    """
    from .strategies.base import COSTS, FLAGS, Strategy

    config, where = parse_config(alias, entry), f"SEQUENCES[{alias!r}]['STRATEGY']"
    try:
        strategy = import_string(config.strategy)
    except ImportError as error:
        raise InvalidSequence(
            f"{where}: cannot import {config.strategy!r}: {error}. Give the whole path of the class, as "
            "'sequences.strategies.SortKeyMaximum'."
        ) from error
    if not (isinstance(strategy, type) and issubclass(strategy, Strategy)) or inspect.isabstract(strategy):
        raise InvalidSequence(f"{where}: {config.strategy!r} is not a strategy class.")
    if silent := [name for name in (*FLAGS, *COSTS) if not hasattr(strategy, name)]:
        raise InvalidSequence(f"{where}: {config.strategy!r} lacks {', '.join(silent)}.")
    if lenient:
        known = {name: told for name, told in config.options.items() if name in strategy.options}
        config = replace(config, options=known)
    made: Strategy = strategy(config)
    return made


class Registry:
    """The strategies by alias: `strategies["tickets"]` makes the strategy on first use.

    Raises InvalidSequence, and SequenceUnavailable if another thread makes it for DEADLINE_SECONDS.
    """

    def __init__(self) -> None:
        self._made: dict[str, Strategy] = {}
        self._lines: dict[str, ScopeLines] = {}
        self.reset()

    def reset(self) -> None:
        """Drop every strategy with all that it remembers, and the DynamoDB clients."""
        self.drop()
        dynamodb.reset()

    def drop(self) -> None:
        """Drop every strategy with all that it remembers. The next call makes a new one from the settings."""
        self._lock, self._imports = threading.RLock(), False
        dropped, self._made = self._made, {}
        lines, self._lines = self._lines, {}
        for strategy in dropped.values():
            strategy.stop()
        for each in lines.values():
            each.stop()

    def forget(self) -> None:
        """Make every strategy forget what it remembers of its tables, because this process made new ones."""
        for strategy in list(self._made.values()):
            strategy.forget()

    def __getitem__(self, alias: str) -> Strategy:
        return self._made.get(alias) or self._first(alias)

    def of(
        self,
        alias: str,
        scope: str | None,
        date: datetime.date | None = None,
        period: str | None = None,
        *,
        even_ended: bool = False,
    ) -> Strategy:
        """The strategy of a scope: the sequence's, or the one by the scope's own lines (SERIES) for a date or a period.

        Lines cost one read, once in a process for each scope. Raises SequenceExhausted for a date after the last line;
        `even_ended` takes that line, for who gives no number.
        """
        strategy = self[alias]
        if lines := self._lines.get(alias):
            return lines.strategy(scope, date, period, even_ended=even_ended) or strategy
        return strategy

    def by_lines(self, strategy: Strategy, counted: Scope) -> Strategy:
        """The strategy of a scope in its period, for a sequence whose strategy this is (see `of`).

        A scope without a period is of a line that has none, also where today's line has one.
        """
        lines, (scope, period) = self._lines.get(strategy.alias), parted(counted)
        return (lines and lines.strategy(scope, period=period)) or strategy

    def has_lines(self, alias: str) -> bool:
        """Whether scopes of a sequence may have rules of their own. Makes no strategy: no deadline has begun."""
        entry = None if alias in self._made else configured().get(alias)
        return bool(entry.get("SERIES")) if isinstance(entry, Mapping) else alias in self._lines

    def lines(self, alias: str) -> ScopeLines | None:
        """The rules of single scopes; None for a sequence without SERIES."""
        return self._lines.get(self[alias].alias)

    def go_on(self, used: Strategy, counted: Scope, error: SequenceError) -> bool:
        """Whether a call that raised this is to be repeated with the strategy that its scope has now (see `of`)."""
        lines = self._lines.get(used.alias)
        return lines is not None and lines.goes_on(used, counted, error)

    def taking(self, alias: str) -> CounterStrategy | None:
        """The strategy, if it is made already, serves every scope, and takes values before their items."""
        made = None if alias in self._lines else self._made.get(alias)
        return made if made is not None and made.supports_reserve else None  # type: ignore[return-value]

    def _first(self, alias: str) -> Strategy:
        """Make it, or wait for the thread that makes it, no longer than a call may take."""
        lock = self._lock  # `reset` puts another one in its place
        if not lock.acquire(timeout=DEADLINE_SECONDS):
            message = f"The sequence {alias!r} is still being made by another thread."
            raise SequenceUnavailable(message, attempts=0, seconds=DEADLINE_SECONDS)
        try:
            self._import(alias)
            made = self._made[alias] = self._made.get(alias) or self._make(alias)
        finally:
            lock.release()
        return made

    def _import(self, alias: str) -> None:
        """Import the strategies. A signal's handler cannot do that while the thread that it interrupts is at it."""
        if self._imports:
            message = f"The sequence {alias!r} is still being made by the call that a signal interrupted."
            raise SequenceUnavailable(message, attempts=0, seconds=0.0)
        self._imports = True
        try:
            import_module(f"{__package__}.strategies")
        finally:
            self._imports = False

    def __iter__(self) -> Iterator[str]:
        return iter(configured())

    def _make(self, alias: str) -> Strategy:
        sequences = configured()
        if alias not in sequences:
            known = ", ".join(map(repr, sequences)) or "none"
            raise InvalidSequence(f"There is no sequence {alias!r} in the setting SEQUENCES; there is {known}.")
        from .strategies.lines import ScopeLines

        made = made_of(alias, sequences[alias])
        if made.config.series:
            self._lines[alias] = ScopeLines(made)
        return made


def configured() -> Mapping[str, Any]:
    """The setting SEQUENCES. Raises InvalidSequence if it is missing or not a dict."""
    sequences = getattr(settings, "SEQUENCES", None)
    if not isinstance(sequences, Mapping):
        raise InvalidSequence("The setting SEQUENCES must be a dict from alias to configuration.")
    return sequences


strategies = Registry()


def _settings_changed(*, setting: str, **_: object) -> None:
    if setting == "SEQUENCES_CLIENTS":
        strategies.reset()
    elif setting in ("SEQUENCES", "TABLE_PREFIX"):
        strategies.drop()


setting_changed.connect(_settings_changed)
os.register_at_fork(after_in_child=strategies.reset)
