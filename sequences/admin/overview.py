"""What the administration shows of sequences and of the scopes of one: figures as people read them, and charts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest
from django.urls import reverse

from .. import dynamodb
from ..capabilities import in_words
from ..changes import history
from ..exceptions import InvalidPeriod, InvalidSequence, SequenceError
from ..ops.costs import cost_of_thousand, prices, units_alone
from ..ops.doctor.findings import Finding, Hand
from ..ops.doctor.scopes import EXAMINED_SCOPES, needs_a_hand
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
from ..rates import Rates
from ..registry import configured, strategies
from ..rows.soundness import Verdict
from ..services.arguments import LONGEST_SCOPE
from ..strategies import Strategy
from ..types import Change, Scope, parted

LATEST_AUDITS = 5
LATEST_CHANGES = 25
REQUESTS_OF_A_LOOK = 3 * EXAMINED_SCOPES + 6
"""For what needs a hand in one sequence: three for each scope, and some for its tables and for a scope set back."""
MOST_OF_ALL = MOST_REQUESTS + SEQUENCES_A_PAGE * REQUESTS_OF_A_LOOK
MOST_OF_ONE = 3 * (SCOPES_A_PAGE + 1) + REQUESTS_OF_A_LOOK

WIDTH, HEIGHT = 300, 72  # of a chart

Chart = Mapping[str, Any]
"""Counts by day or by hour as templates draw them: points at equal distances, oldest first, in units of a drawing.

Each point has its moment and its count in words. What is not known has none, and parts the `lines`. `label` says in
words how many there were at most, and lately. `first` and `last` name the ends.
"""


def overview_content(request: HttpRequest) -> dict[str, Any]:
    """A page of all sequences with the scopes used most, and what needs a hand there; with its `status`.

    Sends at most MOST_OF_ALL requests, and none after MOST_SECONDS.
    """
    try:
        aliases, price = list(configured()), prices()
    except InvalidSequence as error:
        return {"trouble": str(error)}
    page = Paginator(aliases, SEQUENCES_A_PAGE).get_page(request.GET.get("page"))
    with dynamodb.at_most(MOST_OF_ALL, seconds=MOST_SECONDS) as budget:
        found = overview(list(page.object_list))
        needs = [finding for figures in found for finding in needs_a_hand(figures)]
    return {
        "aliases": aliases,
        "currency": price["CURRENCY"],
        "page": page,
        "needs": with_buttons(request, needs),
        "sequences": [_shown(figures) for figures in found],
        "unread": any(figures.trouble for figures in found),
        "examined": EXAMINED_SCOPES,
        "budget": budget,
        "status": 503 if any(figures.away for figures in found) else 200,
    }


def _wrong_in(strategy: Strategy, prefix: str, period: str) -> str:
    """What is wrong with a beginning of scopes and a period, whatever is stored; empty if nothing is."""
    if len(prefix) > LONGEST_SCOPE:
        return f"A scope has at most {LONGEST_SCOPE} characters: search for fewer."
    try:
        if period:
            strategy.scopes.check_period(period)
    except InvalidPeriod as error:
        return str(error)
    return ""


def scopes_content(request: HttpRequest, alias: str) -> dict[str, Any]:
    """The scopes of one sequence that begin with the text `q`, of a period if it has periods; with its `status`.

    Sends at most MOST_OF_ONE requests, and none after MOST_SECONDS.
    """
    given, strategy = request.GET.dict(), strategies[alias]
    prefix, period, cursor = given.get("q", ""), given.get("period", ""), given.get("cursor")
    if trouble := _wrong_in(strategy, prefix, period):
        return {"trouble": trouble, "status": 400}
    signer = Signer(salt=f"sequences.ops.overview.{alias}.{period}.{prefix}")
    with dynamodb.at_most(MOST_OF_ONE, seconds=MOST_SECONDS) as budget:
        try:
            price, period = prices(), period or present_period(strategy, prefix)
            figures = figures_of(alias, cursor and signer.unsign(cursor), SCOPES_A_PAGE, prefix=prefix, period=period)
            needs, latest = needs_a_hand(figures), _history(alias)
        except (BadSignature, ValidationError):
            return {"trouble": "This is not a cursor of this list. Start again without one.", "status": 400}
        except SequenceError as error:
            return {"trouble": str(error)}
    return {
        "sequence": _shown(figures),
        "audits": figures.audits[:LATEST_AUDITS],
        "history": latest,
        "currency": price["CURRENCY"],
        "needs": with_buttons(request, needs),
        "in_periods": strategy.scopes.searches("period"),
        "period": period,
        "unread": figures.trouble,
        "q": prefix,
        "cursor": cursor,
        "next_cursor": figures.following and signer.sign(figures.following),
        "examined": EXAMINED_SCOPES,
        "budget": budget,
        "status": 503 if figures.trouble else 200,
    }


def _history(alias: str) -> Sequence[Change]:
    """The latest guarded changes; none where the table of the history is missing or away."""
    try:
        return history(alias, limit=LATEST_CHANGES)[0]
    except SequenceError:
        return ()


def _shown(figures: Figures) -> dict[str, Any]:
    """One sequence in the words of its module."""
    strategy = figures.strategy
    units, with_tokens = ((strategy and units_alone(strategy, tokens=tokens)) or None for tokens in (False, True))
    return {
        "figures": figures,
        "name": type(strategy).__name__ if strategy else "",
        "words": in_words(type(strategy)) if strategy else [],
        "units": units and {"write": f"{units[0]:g}", "read": f"{units[1]:g}"},
        "write_units_with_tokens": with_tokens and f"{with_tokens[0]:g}",
        "cost": strategy and _money(cost_of_thousand(strategy)),
        "cost_with_tokens": strategy and _money(cost_of_thousand(strategy, tokens=True)),
        "scopes": [shown_scope(scope) for scope in figures.scopes],
    }


def _money(cost: Decimal | None) -> str:
    return "" if cost is None else f"{cost.normalize():f}"


def shown_scope(figures: ScopeFigures) -> dict[str, Any]:
    """One scope in the words of its row."""
    rates, counter = figures.rates, figures.counter
    return {
        "figures": figures,
        "counter": counter,
        "address": address_of("scope", counter.sequence, counter.counted_in),
        "counts": {name: _count(getattr(rates, name), rates) for name in ("hour", "day", "month")},
        "chart": by_day(rates),
        "used": _used(figures.usage.share),
    }


def _count(count: int | None, rates: Rates) -> str:
    if count is None:
        return "not known"
    return f"about {count}" if rates.approximate and count else str(count)


def _used(share: float) -> str:
    """A share in percent, with as many digits as say something."""
    percent = 100 * share
    if 0 < percent < 0.01:
        return "< 0.01 %"
    return f"{percent:.2f}".rstrip("0").rstrip(".") + " %"


def may(request: HttpRequest, what: str) -> bool:
    """Whether somebody may do this, such as "advance". Who may change sequences may do all of it."""
    return request.user.has_perm(f"sequences.{what}_sequence") or request.user.has_perm("sequences.change_sequence")


def address_of(page: str, alias: str, counted: Scope, *more: str) -> str:
    """The address of one of the pages about a scope."""
    scope, period = parted(counted)
    query = urlencode({name: text for name, text in {"scope": scope, "period": period}.items() if text})
    plain = reverse(f"admin:sequences_sequence_{page}", args=[alias, *more])
    return f"{plain}?{query}" if query else plain


def with_buttons(request: HttpRequest, findings: Iterable[Finding]) -> list[Mapping[str, Any]]:
    """The findings, the worst first, each with a button.

    It leads to what helps for who may do it, and to the page of the scope for everybody else.
    """
    worst_first = sorted(findings, key=lambda one: one.verdict is not Verdict.UNSOUND)
    return [{"finding": one, **(_button(request, one.hand) if one.hand else {})} for one in worst_first]


def _button(request: HttpRequest, hand: Hand) -> Mapping[str, str]:
    page = hand.page if may(request, hand.page) else "scope"
    if page in ("audit", "scope"):
        address = address_of(page, hand.sequence, hand.scope)
    else:
        address = address_of("change_scope", hand.sequence, hand.scope, page)
    return {"address": address, "label": "Look at it" if page == "scope" else page.capitalize()}


def _chart(counts: Sequence[int | None], each: timedelta, form: str, unit: str) -> Chart | None:
    """The chart of counts, each with the name of its day or hour; None if none is known."""
    most, step = max((count for count in counts if count is not None), default=None), WIDTH / (len(counts) or 1)
    if most is None:
        return None
    now = datetime.now(UTC)
    names = [(now - each * before).strftime(form) for before in reversed(range(len(counts)))]
    places = [
        (round((place + 0.5) * step, 1), HEIGHT - HEIGHT * (count or 0) // (most or 1), count, name)
        for place, (count, name) in enumerate(zip(counts, names, strict=True))
    ]
    stretches = [list(found) for known, found in groupby(places, lambda place: place[2] is not None) if known]
    begin, unknown = step / 2, sum(count is None for count in counts)
    said = [f"{len(counts)} {unit}s: {most} at most in one" + (f", {names[counts.index(most)]}" if most else "")]
    said += [f"{counts[-1]} in this one"] if counts[-1] is not None else []
    said += [f"{unknown} are not known"] if unknown else []
    return {
        "label": ", ".join(said),
        "points": [
            {"x": x, "y": y, "left": round(x - begin, 1), "width": round(step, 1), "count": count, "name": name}
            for x, y, count, name in places
            if count is not None
        ],
        "lines": [" ".join(f"{x},{y}" for x, y, *_ in (*found, found[-1])) for found in stretches],
        "first": names[0],
        "last": names[-1],
        "width": WIDTH,
        "height": HEIGHT,
    }


def by_day(rates: Rates) -> Chart | None:
    """The last 30 days."""
    return _chart(rates.days, timedelta(days=1), "%Y-%m-%d", "day")


def by_hour(rates: Rates) -> Chart | None:
    """The last 24 hours."""
    return _chart(rates.hours, timedelta(hours=1), "%d %b %H:00", "hour")
