"""What the administration's overview of sequences shows: which part of them, and figures as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.core.signing import BadSignature, Signer

from .. import dynamodb
from ..exceptions import InvalidSequence, SequenceError
from ..ops.costs import units_alone
from ..ops.overview import (
    MOST_REQUESTS,
    MOST_SECONDS,
    SCOPES_A_PAGE,
    SEQUENCES_A_PAGE,
    Figures,
    ScopeFigures,
    figures_of,
    overview,
    present_period,
)
from ..ops.prices import cost_of_thousand, prices
from ..rates import Rates
from ..registry import configured, strategies
from ..services.arguments import LONGEST_SCOPE

__all__ = ["REFRESHES", "Plot", "overview_content", "refresh_of", "used_in_words"]

REFRESHES = ("10", "60")
"""After how many seconds a page may load itself again, as texts in its address."""

BAR, SPACE, HEIGHT = 3, 1, 24


def refresh_of(given: Mapping[str, str]) -> str:
    """The seconds after which somebody wants the page again; empty for never."""
    return given.get("refresh", "") if given.get("refresh") in REFRESHES else ""


def overview_content(given: Mapping[str, str]) -> dict[str, Any]:
    """What the overview shows for a query, with its `status`: a page of the sequences, or of the scopes of one.

    Sends at most MOST_REQUESTS requests, and none after MOST_SECONDS.
    """
    try:
        aliases, price = list(configured()), prices()
    except InvalidSequence as error:
        return {"trouble": str(error), "status": 200}
    alias = given.get("sequence", "")
    content = {"aliases": aliases, "chosen": alias, "currency": price["CURRENCY"], "q": given.get("q", "")}
    if alias and alias not in aliases:
        return {**content, "trouble": f"There is no sequence {alias!r} in the setting SEQUENCES.", "status": 404}
    with dynamodb.at_most(MOST_REQUESTS, seconds=MOST_SECONDS) as budget:
        content |= _one(alias, given) if alias else _all(aliases, given)
    return {**content, "sent": budget.sent, "most": MOST_REQUESTS}


def _all(aliases: Sequence[str], given: Mapping[str, str]) -> dict[str, Any]:
    """A page of all sequences, each with its first scopes."""
    page = Paginator(aliases, SEQUENCES_A_PAGE).get_page(given.get("page"))
    found = overview(list(page.object_list))
    return {
        "page": page,
        "sequences": [_shown(figures) for figures in found],
        "status": 503 if any(figures.away for figures in found) else 200,
    }


def _one(alias: str, given: Mapping[str, str]) -> dict[str, Any]:
    """One sequence with the scopes that begin with the text `q`, of a period if it has periods."""
    prefix, period, cursor = given.get("q", ""), given.get("period", ""), given.get("cursor")
    if len(prefix) > LONGEST_SCOPE:
        return {"trouble": f"A scope has at most {LONGEST_SCOPE} characters: search for fewer.", "status": 400}
    signer = Signer(salt=f"sequences.ops.overview.{alias}.{period}.{prefix}")
    try:
        strategy = strategies[alias]
        period = period or present_period(strategy)
        figures = figures_of(alias, cursor and signer.unsign(cursor), SCOPES_A_PAGE, prefix=prefix, period=period)
    except (BadSignature, ValidationError):
        return {"trouble": "This is not a cursor of this list. Start again without one.", "status": 400}
    except SequenceError as error:
        return {"trouble": str(error), "status": 200}
    return {
        "sequences": [_shown(figures)],
        "in_periods": strategy.scopes.searches("period"),
        "period": period,
        "cursor": cursor,
        "next_cursor": figures.following and signer.sign(figures.following),
        "status": 503 if figures.away else 200,
    }


def _shown(figures: Figures) -> dict[str, Any]:
    """One sequence in the words of its module."""
    strategy = figures.strategy
    units, with_tokens = ((strategy and units_alone(strategy, tokens=tokens)) or None for tokens in (False, True))
    return {
        "figures": figures,
        "name": type(strategy).__name__ if strategy else "",
        "words": figures.words,
        "units": units and {"write": f"{units[0]:g}", "read": f"{units[1]:g}"},
        "write_units_with_tokens": with_tokens and f"{with_tokens[0]:g}",
        "cost": strategy and _money(strategy),
        "cost_with_tokens": strategy and _money(strategy, tokens=True),
        "scopes": [_scope(scope) for scope in figures.scopes],
    }


def _money(strategy: Any, *, tokens: bool = False) -> str:
    cost = cost_of_thousand(strategy, tokens=tokens)
    return "" if cost is None else f"{cost:f}".rstrip("0").rstrip(".")


def _scope(figures: ScopeFigures) -> dict[str, Any]:
    """One scope in the words of its row."""
    rates = figures.rates
    named = {"scope": figures.counter.scope, "period": figures.counter.period}
    return {
        "figures": figures,
        "counter": figures.counter,
        "query": urlencode({name: text for name, text in named.items() if text}),
        "counts": [_count(count, rates) for count in (rates.hour, rates.day, rates.month)],
        "plot": Plot.of(rates.days),
        "used": used_in_words(figures.usage.share),
    }


def _count(count: int | None, rates: Rates) -> str:
    if count is None:
        return ""
    return f"about {count}" if rates.approximate and count else str(count)


def used_in_words(share: float) -> str:
    """A share in percent, with as many digits as say something."""
    percent = 100 * share
    if 0 < percent < 0.01:
        return "< 0.01 %"
    return f"{percent:.2f}".rstrip("0").rstrip(".") + " %"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """Bars of equal width, one a day, oldest first, in units of a drawing; a day that is not known has none.

    `label` says the same in words.
    """

    width: int
    height: int
    bars: Sequence[Mapping[str, Any]]
    label: str

    @classmethod
    def of(cls, days: Sequence[int | None], today: datetime | None = None) -> Plot | None:
        """The plot of daily counts, the last one of today; None if none is known."""
        known = [count for count in days if count is not None]
        if not known:
            return None
        last, most = (today or datetime.now(UTC)).date(), max(known)
        bars = [_bar(place, count, most) for place, count in enumerate(days) if count]
        at = last - timedelta(len(days) - 1 - max(range(len(days)), key=lambda place: days[place] or 0))
        unknown = len(days) - len(known)
        said = [f"{len(days)} days: {most} at most in a day" + (f", on {at}" if most else "")]
        said += [f"{days[-1]} today"] if days[-1] is not None else []
        said += [f"{unknown} days are not known"] if unknown else []
        return cls(width=len(days) * (BAR + SPACE), height=HEIGHT, bars=bars, label=", ".join(said))


def _bar(place: int, count: int, most: int) -> Mapping[str, Any]:
    height = max(1, HEIGHT * count // most)  # whole numbers: a count may have 38 digits
    return {"x": place * (BAR + SPACE), "y": HEIGHT - height, "width": BAR, "height": height}
