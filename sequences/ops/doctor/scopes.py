"""What needs a hand among the scopes of a sequence: set back, used up, frozen, not audited. Read first, then judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from ...commit.retries import read
from ...exceptions import OperationNotSupported, ScopeNotFound, SequenceError, TableMissing
from ...rows import operator_errors
from ...rows.layout import Send
from ...rows.numbers import NEARLY_PERCENT
from ...rows.soundness import Verdict
from ...strategies import Strategy
from ...strategies.snapshot import ScopeSnapshot
from ...types import Counter, Dated, Scope, parted
from ..audit.results import PLACES, AuditResult, latest_audits
from ..overview import Figures, present_period, scope_figures
from ..scope_report import trouble_of
from .facts import Finding, Hand, ScopeFacts, SequenceFacts, Unknown

__all__ = ["EXAMINED_SCOPES", "facts_of", "needs_a_hand", "of_scope", "of_scopes", "read_scopes"]

SCOPES_A_PAGE = 100
EXAMINED_SCOPES = 10
LONG_FROZEN = timedelta(days=1)
LONG_UNAUDITED = timedelta(days=30)


def read_scopes(strategy: Strategy, most: int) -> SequenceFacts:
    """Look at the first scopes of a sequence, at most so many; of the present period, if that can be listed.

    Cost: a request for each of its tables, one query for its audits, one for each SCOPES_A_PAGE scopes, and for each
    scope up to three reads of half a unit or one (its counter, its highest item). Nothing scans. A scope whose counter
    is behind its items costs up to four more, and one that is nearly used up what `rates_of` says.
    """
    facts = SequenceFacts(sequence=strategy.alias, now=strategy.wall())
    try:
        counters, more = _listed(strategy, most)
        return _examined(strategy, counters, _audits(strategy), more=more)
    except OperationNotSupported as error:
        return replace(facts, unlisted=str(error), audits=_audits(strategy))
    except TableMissing:
        return replace(facts, unlisted="A table is missing.")
    except SequenceError as error:
        return replace(facts, unread=Unknown(str(error)))


def _examined(
    strategy: Strategy, counters: Sequence[Counter], audits: Sequence[AuditResult] | None, *, more: bool
) -> SequenceFacts:
    """Look at scopes that were listed. Cost: as `read_scopes` without its queries. Raises what a read raises."""
    with suppress(SequenceError):  # what this host remembers counts for the present tables, so that they must be known
        strategy.lives.bind(_patient(strategy))
    scopes = list(_looked_at(strategy, counters))
    return SequenceFacts(sequence=strategy.alias, now=strategy.wall(), scopes=scopes, more=more, audits=audits)


def _listed(strategy: Strategy, most: int) -> tuple[list[Counter], bool]:
    """The first scopes of a sequence, and whether there are more."""
    found: list[Counter] = []
    cursor, period = None, present_period(strategy)
    while len(found) < most:
        page, cursor = strategy.scopes.page(cursor, min(SCOPES_A_PAGE, most - len(found)), period=period)
        found += page
        if cursor is None:
            break
    return found, cursor is not None


def _looked_at(strategy: Strategy, counters: Sequence[Counter]) -> Iterator[ScopeFacts]:
    for counter in counters:
        with suppress(ScopeNotFound):  # it is listed, and has no row any more
            seen = _seen(strategy, counter.counted_in)
            yield facts_of(seen, partial(_ends_on, strategy, counter))


def _ends_on(strategy: Strategy, counter: Counter) -> date | None:
    return scope_figures(strategy, [counter])[0].usage.ends_on


def facts_of(seen: ScopeSnapshot, ends_on: Callable[[], date | None]) -> ScopeFacts:
    """What a look at a scope says. Only of one that is nearly used up it asks on which day it ends."""
    is_near = seen.last is not None and seen.last >= seen.numbers.nearly_used_up
    return ScopeFacts(
        scope=seen.scope,
        last=seen.state.last_value if seen.counter else seen.last,
        handed_out=seen.handed_out,
        trouble=trouble_of(seen),
        frozen=seen.frozen,
        percent_used=seen.numbers.percent_used(seen.last) if is_near else 0,
        used_up=seen.last is not None and seen.last >= seen.numbers.maximum,
        ends_on=ends_on() if is_near else None,
    )


def _seen(strategy: Strategy, scope: Scope) -> ScopeSnapshot:
    """The scope as a writer finds it, which looks for an item that its counter should know before it first counts."""
    send = _patient(strategy)
    seen = ScopeSnapshot(strategy, scope, send)
    if seen.counter and seen.top is not None and seen.last != seen.state.last_value:
        seen.counter.memory.check_items(scope, send)
        return ScopeSnapshot(strategy, scope, send)
    return seen


def _patient(strategy: Strategy) -> Send:
    return partial(read, deadline=strategy.deadline())


def _audits(strategy: Strategy) -> Sequence[AuditResult] | None:
    """The audits that are kept; None where none can be made or kept."""
    return latest_audits(strategy.alias, PLACES) if _keeps_audits(strategy) else None


def _keeps_audits(strategy: Strategy) -> bool:
    return strategy.layout.in_collections and strategy.history.is_apart


def needs_a_hand(figures: Figures) -> list[Finding]:
    """What needs a hand in a sequence whose figures were just read; nothing if they could not be.

    Looks at EXAMINED_SCOPES of those that were read: the frozen ones and those that are nearly used up first, then by
    their use. Cost: as `read_scopes` without its queries.
    """
    strategy = figures.strategy
    if strategy is None or figures.trouble:
        return []
    chosen = sorted(figures.read, key=lambda one: not (one.frozen or one.percent_used >= NEARLY_PERCENT))[
        :EXAMINED_SCOPES
    ]
    audits = figures.audits if _keeps_audits(strategy) else None
    try:
        facts = _examined(strategy, chosen, audits, more=False)
    except SequenceError as error:
        facts = SequenceFacts(sequence=strategy.alias, now=strategy.wall(), unread=Unknown(str(error)))
    return [finding for finding in of_scopes(facts) if finding.verdict is not Verdict.GOOD]


def of_scopes(facts: SequenceFacts) -> Iterator[Finding]:
    """How many scopes were looked at, then the findings of each that needs a hand, then the audits."""
    if facts.unread:
        yield Finding.unknown(f"sequence {facts.sequence}", "scopes", facts.unread)
        return
    yield _summary(facts)
    for scope in facts.scopes:
        yield from of_scope(facts, scope)
    if facts.audits is not None and (facts.audits or any(one.last is not None for one in facts.scopes)):
        yield _audited(facts, facts.audits)


def _summary(facts: SequenceFacts) -> Finding:
    count = len(facts.scopes)
    return Finding(
        subject=f"sequence {facts.sequence}",
        about="scopes",
        verdict=Verdict.GOOD,
        found="none is listed" if facts.unlisted else f"{count} looked at{', the first of more' if facts.more else ''}",
        reason=facts.unlisted or "What stops one of them, or soon will, has a line of its own.",
        remedy=f"`manage.py sequences doctor --scopes {10 * max(count, 1)}` looks at more." if facts.more else "",
    )


def of_scope(facts: SequenceFacts, scope: ScopeFacts) -> Iterator[Finding]:
    """The findings of one scope that needs a hand."""
    text, period = parted(scope.scope)
    named = " ".join(filter(None, ["scope", repr(text), period and f"of {period}"]))
    finding = partial(Finding, subject=f"sequence {facts.sequence}", about=named)
    hand = partial(Hand, sequence=facts.sequence, scope=scope.scope)
    stands_at = "nothing" if scope.last is None else scope.last
    recover = operator_errors.command("recover", facts.sequence, scope.scope, "--past", str(scope.handed_out))
    if scope.trouble and not scope.used_up:
        yield finding(
            verdict=Verdict.UNSOUND,
            found=f"it stands at {stands_at}, but {scope.handed_out} was handed out",
            reason="It was set back, or restored: every write is refused, so that no number comes twice.",
            remedy=f"Run {recover}.",
            hand=hand("recover"),
        )
    if scope.percent_used:
        ends = f"; all of them on {scope.ends_on} at the pace of the last 30 days" if scope.ends_on else ""
        yield finding(
            verdict=Verdict.UNSOUND if scope.used_up else Verdict.CAREFUL,
            found=f"{scope.percent_used} % of its values are used{ends}",
            reason="After the last value every write is refused.",
            remedy="Raise MAXIMUM, and the digits of FORMAT or `sort_key` where they are the limit.",
            hand=hand("scope"),
        )
    if scope.frozen:
        yield finding(
            verdict=Verdict.CAREFUL,
            found=f"frozen {operator_errors.signature(scope.frozen)}",
            reason=_frozen_for(scope.frozen, facts.now),
            remedy=f"Run {operator_errors.command('thaw', facts.sequence, scope.scope)}.",
            hand=hand("thaw"),
        )


def _frozen_for(frozen: Mapping[str, Any], now: float) -> str:
    """Why it matters that a scope is frozen: it may be forgotten."""
    refused = "Every write is refused until it is thawed."
    with suppress(KeyError, TypeError, ValueError):  # somebody else may have written when
        since = datetime.fromtimestamp(now, UTC) - datetime.fromisoformat(frozen["at"])
        return f"{refused} It is so for {since.days} days already." if since >= LONG_FROZEN else refused
    return refused


def _audited(facts: SequenceFacts, audits: Sequence[AuditResult]) -> Finding:
    wrong = [one for one in audits if one.unexplained and not _is_outdated(one, audits)]
    days = (datetime.fromtimestamp(facts.now, UTC) - audits[0].at).days if audits else 0
    found = f"the last one was {days} days ago: {audits[0].verdict}" if audits else "none was kept"
    if wrong:
        where = "every scope" if wrong[0].every_scope else f"the scope {wrong[0].scope!r}"
        found = f"the one of {where} on {wrong[0].at:%Y-%m-%d}: {wrong[0].verdict}"
    finding = Finding.either(
        f"sequence {facts.sequence}",
        "audits",
        bool(audits) and not wrong and days < LONG_UNAUDITED.days,
        found,
        (
            "A number that is missing, or there twice, would have been found.",
            "Only an audit finds a number that is missing, or there twice.",
        ),
        f"Run `manage.py sequences audit {facts.sequence} --keep`, and do what it says.",
    )
    counted = [Dated.of(one.scope, one.period) for one in wrong if not one.every_scope]
    counted += [one.scope for one in facts.scopes if one.last is not None]
    return replace(finding, hand=Hand("audit", facts.sequence, counted[0]) if counted else None)


def _is_outdated(result: AuditResult, audits: Sequence[AuditResult]) -> bool:
    """Whether a later audit of every scope has looked at the same again."""
    return any(one.every_scope and one.at > result.at and one.period in ("", result.period) for one in audits)
