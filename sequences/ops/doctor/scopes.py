"""What needs a hand among the scopes of a sequence: set back, used up, frozen, not audited."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from ...exceptions import OperationNotSupported, ScopeNotFound, SequenceError, TableMissing
from ...registry import strategies
from ...rows import operator_errors
from ...rows.counter_rows import CLOSED
from ...rows.numbers import NEARLY_PERCENT
from ...rows.soundness import Verdict
from ...strategies import Strategy
from ...strategies.snapshot import ScopeSnapshot
from ...types import Counter, Dated, Scope, parted
from ..audit.results import AuditResult, latest_audits
from ..overview import Figures, present_period, scope_figures
from ..scope_report import counter_of, of_today, trouble_of
from .findings import Finding, Hand, Unknown

SCOPES_A_PAGE = 100
EXAMINED_SCOPES = 10
LONG_FROZEN = timedelta(days=1)
LONG_UNAUDITED = timedelta(days=30)


def read_scopes(strategy: Strategy, most: int) -> list[Finding]:
    """How many scopes were looked at, at most so many, then what each of them needs, and then the audits.

    They are those of the present period, if that can be listed. Cost: a request for each of its tables, one query for
    its audits, one for each SCOPES_A_PAGE scopes, and for each scope up to three reads of half a unit or one (its
    counter, its highest item). Nothing scans. A scope whose counter is behind its items costs up to four more, and one
    that is nearly used up what `rates_of` says.
    """
    try:
        return list(_read(strategy, most))
    except TableMissing:
        return [_summary(strategy, 0, unlisted="A table is missing.")]
    except SequenceError as error:
        return [_unread(strategy, error)]


def _read(strategy: Strategy, most: int) -> Iterator[Finding]:
    more, unlisted, seen = False, "", list[ScopeSnapshot]()
    try:
        counters, more = _listed(strategy, most)
        seen = _looked_at(strategy, counters)
    except OperationNotSupported as error:
        unlisted = str(error)
    yield _summary(strategy, len(seen), more=more, unlisted=unlisted)
    yield from _examined(strategy, seen, latest_audits(strategy) if _keeps_audits(strategy) else None)


def needs_a_hand(figures: Figures) -> list[Finding]:
    """What needs a hand in a sequence whose figures were just read; nothing if they could not be.

    Looks at EXAMINED_SCOPES of those that were read: the frozen ones and those that are nearly used up first, then by
    their use. Cost: as `read_scopes` without its queries.
    """
    strategy = figures.strategy
    if strategy is None or figures.trouble:
        return []
    urgent_first = sorted(figures.read, key=lambda one: not (one.frozen or one.percent_used >= NEARLY_PERCENT))
    audits = figures.audits if _keeps_audits(strategy) else None
    try:
        found = _examined(strategy, _looked_at(strategy, urgent_first[:EXAMINED_SCOPES]), audits)
        return [finding for finding in found if finding.verdict is not Verdict.GOOD]
    except SequenceError as error:
        return [_unread(strategy, error)]


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


def _looked_at(strategy: Strategy, counters: Iterable[Counter]) -> list[ScopeSnapshot]:
    """Scopes that were listed, each as it is found, without those that have no row any more."""
    with suppress(SequenceError):  # what this host remembers counts for the present tables, so that they must be known
        strategy.lives.bind(strategy.deadline().read)
    found = []
    for counter in counters:
        with suppress(ScopeNotFound):
            found.append(_seen(strategies.by_lines(strategy, counter.counted_in), counter.counted_in))
    return found


def _seen(strategy: Strategy, scope: Scope) -> ScopeSnapshot:
    """The scope as a writer finds it, which looks for an item that its counter should know before it first counts."""
    send = strategy.deadline().read
    seen = ScopeSnapshot(strategy, scope, send)
    if seen.counter and seen.top is not None and seen.last != seen.state.last_value:
        seen.counter.memory.check_items(scope, send)
        return ScopeSnapshot(strategy, scope, send)
    return seen


def _examined(
    strategy: Strategy, seen: Sequence[ScopeSnapshot], audits: Sequence[AuditResult] | None
) -> Iterator[Finding]:
    """The findings of each scope that needs a hand, then the audits; without these for None."""
    for one in seen:
        yield from of_scope(one, partial(_ends_on, one))
    counted = [one.scope for one in seen if one.last is not None]
    if audits is not None and (audits or counted):
        yield of_audits(strategy.alias, strategy.wall(), audits, counted)


def _ends_on(seen: ScopeSnapshot) -> date | None:
    return scope_figures(seen.strategy, [counter_of(seen)])[0].usage.ends_on


def _keeps_audits(strategy: Strategy) -> bool:
    return strategy.layout.in_collections and strategy.history.is_apart


def _unread(strategy: Strategy, error: SequenceError) -> Finding:
    return Finding.unknown(f"sequence {strategy.alias}", "scopes", Unknown(str(error)))


def _summary(strategy: Strategy, count: int, *, more: bool = False, unlisted: str = "") -> Finding:
    found = "none is listed" if unlisted else f"{count} looked at{', the first of more' if more else ''}"
    reason = unlisted or "What stops one of them, or soon will, has a line of its own."
    remedy = f"`manage.py sequences doctor --scopes {10 * max(count, 1)}` looks at more." if more else ""
    return Finding(f"sequence {strategy.alias}", "scopes", Verdict.GOOD, found, reason, remedy)


def of_scope(seen: ScopeSnapshot, ends_on: Callable[[], date | None]) -> Iterator[Finding]:
    """What a scope needs. Only of one that is nearly used up it asks on which day it ends."""
    alias = seen.strategy.alias
    text, period = parted(seen.scope)
    named = " ".join(filter(None, ["scope", repr(text), period and f"of {period}"]))
    finding, hand = partial(Finding, f"sequence {alias}", named), partial(Hand, sequence=alias, scope=seen.scope)
    if trouble_of(seen):
        stands_at = seen.state.last_value if seen.counter else seen.last
        found = f"it stands at {'nothing' if stands_at is None else stands_at}, but {seen.handed_out} was handed out"
        reason = "It was set back, or restored: every write is refused, so that no number comes twice."
        remedy = f"Run {operator_errors.command('recover', alias, seen.scope, '--past', str(seen.handed_out))}."
        yield finding(Verdict.UNSOUND, found, reason, remedy, hand=hand("recover"))
    yield from _of_its_end(of_today(seen), seen.last, ends_on, partial(finding, hand=hand("scope")))
    if seen.frozen and CLOSED not in seen.frozen:  # closed books stay so
        found = f"frozen {operator_errors.signature(seen.frozen)}"
        reason = _frozen_for(seen.frozen, seen.strategy.wall())
        remedy = f"Run {operator_errors.command('thaw', alias, seen.scope)}."
        yield finding(Verdict.CAREFUL, found, reason, remedy, hand=hand("thaw"))


def _of_its_end(
    strategy: Strategy, last: int | None, ends_on: Callable[[], date | None], finding: Callable[..., Finding]
) -> Iterator[Finding]:
    """What a scope needs because its values, or its line, come to their end."""
    numbers, warned = strategy.numbers, strategy.config.warn_on
    lines = f"`manage.py sequences series {strategy.alias}` lists its lines, and adds one."
    used_up = numbers.is_used_up(last)
    if used_up or (last is not None and last >= numbers.nearly_used_up):
        day = None if used_up else ends_on()
        ends = f"; all of them on {day} at the pace of the last 30 days" if day else ""
        found = f"{100 if used_up else numbers.percent_used(last)} % of its values are used{ends}"
        reason = "After the last value every write is refused."
        remedy = "Raise MAXIMUM, and the digits of FORMAT or `sort_key` where they are the limit."
        yield finding(
            Verdict.UNSOUND if used_up else Verdict.CAREFUL, found, reason, lines if numbers.of_line else remedy
        )
    if warned and warned <= datetime.fromtimestamp(strategy.wall(), UTC).date():
        found = f"the line of its rules comes to its end: a warning was set for {warned}"
        reason = "After its last number, or its last day, every write is refused unless another line follows."
        yield finding(Verdict.CAREFUL, found, reason, lines)


def _frozen_for(frozen: Mapping[str, Any], now: float) -> str:
    """Why it matters that a scope is frozen: it may be forgotten."""
    refused = "Every write is refused until it is thawed."
    with suppress(KeyError, TypeError, ValueError):  # somebody else may have written when
        since = datetime.fromtimestamp(now, UTC) - datetime.fromisoformat(frozen["at"])
        return f"{refused} It is so for {since.days} days already." if since >= LONG_FROZEN else refused
    return refused


def of_audits(sequence: str, now: float, audits: Sequence[AuditResult], counted: Sequence[Scope]) -> Finding:
    """Whether the last audit of a sequence, whose scopes have `counted`, is not long ago and found nothing wrong."""
    wrong = [one for one in audits if one.unexplained and not _is_outdated(one, audits)]
    moment = datetime.fromtimestamp(now, UTC)
    recent = [one for one in audits if moment - one.at < LONG_UNAUDITED]
    missed = [scope for scope in counted if recent and not any(_has_seen(one, scope) for one in recent)]
    found = "none was kept"
    if audits:
        found = f"the last one was {(moment - audits[0].at).days} days ago: {audits[0].verdict}"
    if missed:
        found = f"none for {LONG_UNAUDITED.days} days of the scope {parted(missed[0])[0]!r}"
    if wrong:
        where = "every scope" if wrong[0].every_scope else f"the scope {wrong[0].scope!r}"
        found = f"the one of {where} on {wrong[0].at:%Y-%m-%d}: {wrong[0].verdict}"
    places = [Dated.of(one.scope, one.period) for one in wrong if not one.every_scope]
    places += missed or counted
    hand = Hand("audit", sequence, places[0]) if places else None
    if recent and not (wrong or missed):
        reason = "A number that is missing, or there twice, would have been found."
        return Finding(f"sequence {sequence}", "audits", Verdict.GOOD, found, reason, hand=hand)
    reason = "Only an audit finds a number that is missing, or there twice."
    remedy = f"Run `manage.py sequences audit {sequence} --keep`, and do what it says."
    return Finding(f"sequence {sequence}", "audits", Verdict.CAREFUL, found, reason, remedy, hand=hand)


def _has_seen(result: AuditResult, counted: Scope) -> bool:
    """Whether an audit has looked at a scope in its period."""
    scope, period = parted(counted)
    return (result.every_scope or result.scope == scope) and result.period in ("", period)


def _is_outdated(result: AuditResult, audits: Sequence[AuditResult]) -> bool:
    """Whether a later audit of every scope has looked at the same again."""
    return any(one.every_scope and one.at > result.at and one.period in ("", result.period) for one in audits)
