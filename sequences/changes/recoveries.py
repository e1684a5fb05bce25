"""The change `recover`: past all that is stored or remembered of a scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial

from ..exceptions import SequenceError
from ..registry import strategies
from ..rows.reading import pages
from ..strategies import Strategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Scope, parted
from .apply import ChangeNote, ChangeRequest, Plan, apply_to_all
from .arguments import EVERY_SCOPE, Scopes, check_moment, check_whole, scopes_of
from .moves import moved_to

ROWS_A_PAGE = 1000
MARGIN = 100
MOVES = ("advance", "seed", "recover", "switch", "adopt", "give", "series")


def recover(  # noqa: PLR0913 - evidence, margin, moment and signature are each the operator's to name
    sequence: str,
    *,
    scope: Scopes = EVERY_SCOPE,
    period: str | None = None,
    margin: int = MARGIN,
    past: int | None = None,
    since: datetime | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> list[Change]:
    """After a restore or a fail-over, make every new number higher than all that is stored or remembered, by `margin`.

    The evidence of a scope is its highest item, the values in its markers, what its counter keeps beside its last
    value, the lines of its history that moved it, and `past`, a number that is known from elsewhere. The margin, in
    numbers, covers what was handed out and is remembered nowhere. It works while the sequence raises SequenceWentBack,
    and while it is frozen. A process that remembers an even higher number goes on refusing, and names it.

    Each time it moves a scope by its margin. A scope that was recovered at the moment `since`, or after it, stays: so
    can a run over many scopes be repeated that failed midway. A note of its error (`__notes__`) has the moment.
    More cost: a query of all markers of the scope, and of the history.
    Raises SequenceExhausted, and ScopeNotFound for a scope that is named and has no evidence at all.
    """
    check_whole("margin", margin)
    if past is not None:
        check_whole("past", past)
    if since is not None:
        check_moment("since", since)
    moment = (since or datetime.fromtimestamp(strategies[sequence].wall(), UTC)).isoformat()
    how = f"To go on without moving what is done again, repeat this with since={moment}, or --since {moment}."
    plan, request = partial(_recovered, margin, past, since), ChangeRequest("recover", by, reason, dry_run)
    made = apply_to_all(sequence, scopes_of(strategies[sequence], scope, period), request, plan, how_to_go_on=how)
    if scope == EVERY_SCOPE and period is None and not dry_run:
        _take_tables(strategies[sequence], how)
    return made


def _take_tables(strategy: Strategy, how_to_go_on: str) -> None:
    """Let the sequence go on in restored tables."""
    try:
        strategy.rules.restored(strategy.deadline())
    except SequenceError as error:
        error.add_note(f"All scopes are recovered, but the sequence is refused still. {how_to_go_on}")
        raise


def _recovered(margin: int, past: int | None, since: datetime | None, seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    strategy, numbers = seen.strategy, seen.numbers
    told, lines = [] if past is None else [past], list(strategy.history.of(seen.scope))
    if since and any(line.kind == "recover" and line.at >= since for line in lines):
        return Plan.in_place(seen)
    evidence = [*told, seen.handed_out, *_in_markers(strategy, seen.scope), *_moved_to(lines)]
    highest = numbers.reaching(max(evidence), numbers.before_start)
    if highest == numbers.before_start:
        seen.require_existing()
        return Plan.in_place(seen)
    return moved_to(seen, highest + margin * numbers.step, note)


def _in_markers(strategy: Strategy, scope: Scope) -> Iterator[int]:
    """The highest value of each marker of a scope in its period, the expired ones too."""
    schema, step, period = strategy.markers.schema, strategy.numbers.step, parted(scope)[1]
    if not schema.sort_name:
        return
    for page in pages(schema, strategy.markers.partition(scope), ROWS_A_PAGE, "value", "count", "period"):
        own = (row for row in page if row.get("period", "") == period and isinstance(row.get("value"), int))
        yield from (row["value"] + step * (row.get("count", 1) - 1) for row in own)


def _moved_to(lines: Iterable[Change]) -> Iterator[int]:
    """The values to which changes moved a scope. Clocks differ, so that the last line may not be it."""
    yield from (line.after for line in lines if line.kind in MOVES and line.after is not None)
