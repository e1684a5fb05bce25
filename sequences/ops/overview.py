"""How the sequences stand: figures of their scopes, for the administration's first page and for commands.

Nothing here draws anything. `overview` bounds its requests and its time; what it could not read, it says in words.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from .. import dynamodb
from ..exceptions import BudgetSpent, GaveUp, InvalidSequence, NotConfigured, OperationNotSupported, SequenceError
from ..rates import Rates, Usage, rates_of, usage_of
from ..registry import strategies
from ..strategies import Strategy
from ..strategies.scopes import CounterScopes
from ..types import Counter
from .audit.results import AuditResult, latest_audits

SEQUENCES_A_PAGE = 10
FIRST_SCOPES = 5
READ_SCOPES = 20
"""So many scopes are read, and those used most are shown."""
COUNTERS_AT_ONCE = 100
SCOPES_A_PAGE = 25
REQUESTS_A_SEQUENCE = 3 + READ_SCOPES + 2 * FIRST_SCOPES
"""The list of its scopes, its audits and its periods, a read for each scope, and two for the rates of each shown."""
MOST_REQUESTS = SEQUENCES_A_PAGE * REQUESTS_A_SEQUENCE
MOST_SECONDS = 4.0
SECONDS_A_SEQUENCE = 2.0  # so that one client that does not answer leaves time for another

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeFigures:
    """One scope: how far it has counted, how fast, and when that ends."""

    counter: Counter
    rates: Rates
    usage: Usage

    @property
    def last_at(self) -> datetime | None:
        """When the last value was given, as far as that is known."""
        return self.rates.last_at or self.counter.updated_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """One sequence and some of its scopes; `trouble` says why there are none, and `unlisted` why none can be listed.

    `period` is the one whose scopes these are, empty for all of them. `scopes` are those used most of the counters that
    were `read`, with which they share their order. There are more of them if `following` is a cursor.
    """

    alias: str
    strategy: Strategy | None = None
    period: str = ""
    scopes: Sequence[ScopeFigures] = ()
    read: Sequence[Counter] = ()
    following: str | None = None
    audits: Sequence[AuditResult] = ()
    trouble: str = ""
    unlisted: str = ""
    away: bool = False
    """Whether DynamoDB did not answer."""

    @property
    def audit(self) -> AuditResult | None:
        """The last audit that left a result."""
        return next(iter(self.audits), None)

    @property
    def has_more(self) -> bool:
        """Whether the sequence has more scopes than these."""
        return bool(self.following) or len(self.read) > len(self.scopes)


def overview(aliases: Sequence[str]) -> list[Figures]:
    """The figures of these sequences with the scopes used most; of the present period, if that can be listed.

    The most used of the first READ_SCOPES in order of their names, or of the first COUNTERS_AT_ONCE where one query has
    them. Sends at most REQUESTS_A_SEQUENCE requests for each sequence, and none of them after SECONDS_A_SEQUENCE. When
    DynamoDB does not answer for one sequence, the others of its client are not asked.
    """
    found: list[Figures] = []
    silent: dict[str, str] = {}  # by client, the sequence for which it did not answer
    for alias in aliases:
        figures = _looked_at(alias, silent)
        if figures.away and figures.strategy:
            silent.setdefault(figures.strategy.config.client, alias)
        found.append(figures)
    return found


def _looked_at(alias: str, silent: dict[str, str]) -> Figures:
    try:
        strategy = strategies[alias]
    except InvalidSequence as error:
        return Figures(alias=alias, trouble=str(error))
    if first := silent.get(strategy.config.client):
        return Figures(alias=alias, strategy=strategy, trouble=f"Not asked, as for {first}.", away=True)
    counter = strategy.counter
    limit = READ_SCOPES if counter is None or counter.rows.beside_items else COUNTERS_AT_ONCE
    with dynamodb.at_most(REQUESTS_A_SEQUENCE, seconds=SECONDS_A_SEQUENCE):
        return figures_of(alias, None, limit, shown=FIRST_SCOPES, period=present_period(strategy))


def present_period(strategy: Strategy, prefix: str = "") -> str:
    """The period of today, if the sequence can list its scopes; otherwise empty, for all periods.

    All of them, too, where lines give scopes other periods, unless a prefix is asked for; that costs one read.
    """
    if not strategy.scopes.searches("period"):
        return ""
    book = None if prefix else strategies.lines(strategy.alias)
    with suppress(SequenceError):  # the list that follows says what is wrong
        if book and book.rows.has_own_periods(strategy.deadline().read):
            return ""
    return strategy.naming.period.name(strategy.naming.period.date_of(None, strategy.wall()))


def figures_of(
    alias: str, cursor: str | None, limit: int, *, shown: int | None = None, prefix: str = "", period: str = ""
) -> Figures:
    """The figures of one sequence with a page of its scopes, those used most first, or in words why there are none.

    With `shown` only so many of the page have figures.

    Cost: the page of scopes (see `Scopes.page`), their rates (see `rates_of`), and one query for the audits.
    Raises InvalidSequence, and ValidationError for a cursor that is none.
    """
    strategy = strategies[alias]
    figures = Figures(alias=alias, strategy=strategy, period=period)
    try:
        figures = replace(figures, audits=latest_audits(strategy))
        counters, following = strategy.scopes.page(cursor, limit, prefix=prefix, period=period)
        counters.sort(key=partial(_given, strategy), reverse=True)
        scopes = _most_used(strategy, counters, shown)
    except OperationNotSupported as error:
        return replace(figures, unlisted=str(error))
    except SequenceError as error:
        logger.error("the figures of %s cannot be read: %s", alias, error)
        return replace(figures, trouble=f"The scopes cannot be read. {error}", away=is_away(error))
    return replace(figures, scopes=scopes, read=counters, following=following)


def _given(strategy: Strategy, counter: Counter) -> int:
    """How far a counter is from its start; nothing if somebody has stored no number there."""
    last_value = counter.last_value
    return abs(last_value - strategy.numbers.before_start) if isinstance(last_value, int) else 0


def _most_used(strategy: Strategy, counters: Sequence[Counter], most: int | None) -> list[ScopeFigures]:
    """The first `most` that have given most in the last 30 days, then those that are furthest; all of them for None."""
    costs_nothing = isinstance(strategy.scopes, CounterScopes)  # their rates are in their rows
    figures = scope_figures(strategy, counters if costs_nothing else counters[:most])
    return sorted(figures, key=lambda one: one.rates.month or 0, reverse=True)[:most]


def is_away(error: SequenceError) -> bool:
    """Whether DynamoDB did not answer, or there is no way to it."""
    return isinstance(error, GaveUp | NotConfigured) or (isinstance(error, BudgetSpent) and error.too_slow)


def scope_figures(strategy: Strategy, counters: Sequence[Counter], *, by_hour: bool = False) -> list[ScopeFigures]:
    """The figures of some scopes. Cost: as `rates_of`."""
    return [
        ScopeFigures(counter=counter, rates=rates, usage=usage_of(strategy.alias, counter, rates))
        for counter, rates in zip(counters, rates_of(strategy.alias, counters, by_hour=by_hour), strict=True)
    ]
