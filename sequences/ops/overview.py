"""How the sequences stand: figures of their scopes, for the administration's first page and for commands.

Nothing here draws anything. `overview` bounds its requests and its time; what it could not read, it says in words.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .. import dynamodb
from ..capabilities import in_words
from ..exceptions import BudgetSpent, GaveUp, InvalidSequence, NotConfigured, OperationNotSupported, SequenceError
from ..rates import Rates, Usage, rates_of, usage_of
from ..registry import strategies
from ..strategies import Strategy
from ..types import Counter
from .audit.results import AuditResult, latest_audits

__all__ = [
    "FIRST_SCOPES",
    "MOST_REQUESTS",
    "SCOPES_A_PAGE",
    "SEQUENCES_A_PAGE",
    "Figures",
    "ScopeFigures",
    "figures_of",
    "last_audit",
    "overview",
    "present_period",
    "scope_figures",
]

SEQUENCES_A_PAGE = 10
FIRST_SCOPES = 3
SCOPES_A_PAGE = 25
REQUESTS_A_SEQUENCE = 12
"""For the first scopes of one: the list of them, then for each a read and two for its rates, and one for the audits."""
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

    `period` is the one whose scopes these are, empty for all of them.
    """

    alias: str
    strategy: Strategy | None = None
    period: str = ""
    scopes: Sequence[ScopeFigures] = ()
    following: str | None = None
    audit: AuditResult | None = None
    trouble: str = ""
    unlisted: str = ""
    away: bool = False
    """Whether DynamoDB did not answer."""

    @property
    def words(self) -> list[str]:
        """What its strategy does, in plain words."""
        return in_words(type(self.strategy)) if self.strategy else []


def overview(aliases: Sequence[str], limit: int = FIRST_SCOPES) -> list[Figures]:
    """The figures of these sequences with their first scopes; of the present period, if that can be listed.

    Sends at most REQUESTS_A_SEQUENCE requests for each sequence, and none of them after SECONDS_A_SEQUENCE. When
    DynamoDB does not answer for one sequence, the others of its client are not asked.
    """
    found: list[Figures] = []
    silent: dict[str, str] = {}  # by client, the sequence for which it did not answer
    for alias in aliases:
        figures = _looked_at(alias, limit, silent)
        if figures.away and figures.strategy:
            silent.setdefault(figures.strategy.config.client, alias)
        found.append(figures)
    return found


def _looked_at(alias: str, limit: int, silent: dict[str, str]) -> Figures:
    try:
        strategy = strategies[alias]
    except InvalidSequence as error:
        return Figures(alias=alias, trouble=str(error))
    if first := silent.get(strategy.config.client):
        return Figures(alias=alias, strategy=strategy, trouble=f"Not asked, as for {first}.", away=True)
    with dynamodb.at_most(REQUESTS_A_SEQUENCE, seconds=SECONDS_A_SEQUENCE):
        return figures_of(alias, None, limit, period=present_period(strategy))


def present_period(strategy: Strategy) -> str:
    """The period of today, if the sequence can list its scopes; otherwise empty, for all periods."""
    if not strategy.scopes.searches("period"):
        return ""
    return strategy.naming.period.name(strategy.naming.period.date_of(None, strategy.wall()))


def figures_of(alias: str, cursor: str | None, limit: int, *, prefix: str = "", period: str = "") -> Figures:
    """The figures of one sequence with a page of its scopes, or in words why there are none.

    Cost: the page of scopes (see `Scopes.page`), their rates (see `rates_of`), and one query for the audits.
    Raises InvalidSequence, and ValidationError for a cursor that is none.
    """
    strategy = strategies[alias]
    audit = None
    try:
        audit = last_audit(strategy)
        counters, following = strategy.scopes.page(cursor, limit, prefix=prefix, period=period)
        scopes = scope_figures(strategy, counters)
    except OperationNotSupported as error:
        return Figures(alias=alias, strategy=strategy, audit=audit, unlisted=str(error))
    except SequenceError as error:
        logger.error("the figures of %s cannot be read: %s", alias, error)
        said = f"The scopes cannot be read. {error}"
        return Figures(alias=alias, strategy=strategy, audit=audit, trouble=said, away=_is_away(error))
    return Figures(alias=alias, strategy=strategy, period=period, scopes=scopes, following=following, audit=audit)


def _is_away(error: SequenceError) -> bool:
    """Whether DynamoDB did not answer, or there is no way to it."""
    return isinstance(error, GaveUp | NotConfigured) or (isinstance(error, BudgetSpent) and error.too_slow)


def last_audit(strategy: Strategy) -> AuditResult | None:
    """The result of the last audit of a sequence that was kept. Costs one query; nothing where none can be kept."""
    if not strategy.history.is_apart:
        return None
    return next(iter(latest_audits(strategy.alias, 1)), None)


def scope_figures(strategy: Strategy, counters: Sequence[Counter]) -> list[ScopeFigures]:
    """The figures of some scopes. Cost: as `rates_of`."""
    return [
        ScopeFigures(
            counter=counter,
            rates=rates,
            usage=usage_of(strategy.alias, counter, rates),
        )
        for counter, rates in zip(counters, rates_of(strategy.alias, counters), strict=True)
    ]
