"""Guarded changes of a sequence: each says who makes it, when and why, and stays in a history that is kept.

    advance    the next numbers begin above a given one
    seed       the same, above the numbers that are there already
    recover    the same, above all that is stored or remembered, after a restore
    freeze     nothing is numbered, until
    thaw       it goes on
    void       a number is withdrawn, and keeps its place

`switches` has one more: writers of two strategies number the same items, side by side. `adoptions` has one for settings
that have changed.
A change and its line in the history are stored in one transaction: both or neither. None of them makes a number come
again. `by` (1 to 200 printable characters) and `reason` (1 to 500) are required. A sequence with
a PERIOD is changed in the `period` that is named, such as "2026", or in the one of today. With `dry_run` the answer is
the same, and nothing is written.

Cost of a change of one scope: 2 to 4 reads (3 read units or more, see `SortKeyMaximum` for large items), and one
transaction of 2 to 4 rows, each 2 write units. All of it again after a lost race. Each raises, besides what it says:
InvalidChange, InvalidSequence, InvalidScope, ScopeNotFound, SequenceContention and SequenceUnavailable (10 s),
StorageRefused, and TableMissing if `manage.py create_tables` has not made the table of the history yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, overload

from django.db.models import QuerySet

from ..exceptions import InvalidChange, OperationNotSupported, SequenceError
from ..ops.audit.reading import changes_of, pages
from ..ops.columns import highest_numbers
from ..registry import strategies
from ..services import check_scope
from ..strategies import Strategy
from ..types import Change, Scope, parted
from .changing import Plan, Scene, Signature
from .guarded import EVERY_SCOPE, EveryScope, Planner, Scopes, check_moment, check_whole, counted_in, make, scopes_of

__all__ = ["EVERY_SCOPE", "advance", "freeze", "history", "recover", "seed", "thaw", "void"]

ROWS_A_PAGE = 1000
MARGIN = 100
MOVES = ("advance", "seed", "recover", "switch", "adopt")


def advance(
    sequence: str,
    *,
    to: int,
    scope: str | None = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Change:
    """Make every new number higher than `to`, or than the last value of the sequence below it.

    `to` must be above all that was handed out or is stored: InvalidChange names the least value that is allowed.
    Without a counter (`SortKeyMaximum`) void rows lie under the next number and under `to`. Other processes drop
    their blocks within `watch_seconds` (`BlockAllocator`).
    Raises SequenceExhausted for a value above MAXIMUM, and SequenceWentBack for a counter that must be recovered first.
    """
    check_whole("to", to)

    def plan(scene: Scene, sign: Signature) -> Plan:
        scene.require_order()
        least = scene.numbers.after(scene.handed_out, 1)[0]
        if to < least:
            raise InvalidChange(
                f"to is {to}; a sequence only moves up, past all that was handed out: give {least} or more."
            )
        return scene.moved_to(to, sign)

    return make(sequence, counted_in(sequence, scope, period), "advance", plan, by, reason, dry_run=dry_run)


def seed(
    sequence: str,
    source: int | Literal["items"] | QuerySet[Any, Any],
    *,
    field: str = "",
    scope: Scopes | Callable[[Any], str | None] = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> list[Change]:
    """Make every new number higher than those of a source. A scope that is further already stays: its `after` tells.
    Where processes hold blocks (`BlockAllocator`) it moves on by one value, and they drop them within `watch_seconds`.

    The source is a number, "items" for what the sequence's own table holds in a scope (or in EVERY_SCOPE), or a query
    set of rows that have numbers in `field`. `scope` is then that of a `SequenceField`: None, the name of a field, or a
    function from the row to a scope. Columns cost one query, and every row with a function as scope.
    Raises SequenceExhausted, and SequenceWentBack for a counter that must be recovered first.
    """
    return [
        make(sequence, each, "seed", partial(_seeded, number), by, reason, dry_run=dry_run)
        for each, number in _numbers_of(sequence, source, field, scope, period)
    ]


def _numbers_of(
    sequence: str, source: Any, field: str, scope: Any, period: str | None
) -> Iterator[tuple[Scope, int | None]]:
    """The scopes of a source and the highest number in each; None stands for the stored items."""
    if isinstance(source, QuerySet):
        for each, number in highest_numbers(source, field, scope):
            yield counted_in(sequence, each, period), number
    elif source == "items":
        strategy = strategies[sequence]
        if not strategy.layout.in_collections:
            raise OperationNotSupported(f"The items of {strategy.alias!r} are not in collections: give a number.")
        yield from ((each, None) for each in scopes_of(strategy, scope, period))
    else:
        check_whole("source", source)
        yield counted_in(sequence, scope, period), source


def _seeded(number: int | None, scene: Scene, sign: Signature) -> Plan:
    scene.require_order()
    stored = scene.numbers.before_start if scene.top is None else scene.top
    return scene.moved_to(stored if number is None else number, sign)


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
    plan = partial(_recovered, margin, past, since)
    return _of_each(sequence, scope, period, "recover", plan, by, reason, dry_run=dry_run, how_to_go_on=how)


def _of_each(  # noqa: PLR0913 - what a change has, and how it is repeated
    sequence: str,
    scope: Scopes,
    period: str | None,
    kind: str,
    plan: Planner,
    by: str,
    reason: str,
    *,
    dry_run: bool,
    how_to_go_on: str = "Repeat this: what is done stays as it is.",
) -> list[Change]:
    """Make the change of every scope that is meant. The note of an error says how many are done, and how to go on."""
    made: list[Change] = []
    try:
        for each in scopes_of(strategies[sequence], scope, period):
            made.append(make(sequence, each, kind, plan, by, reason, dry_run=dry_run))  # noqa: PERF401
    except SequenceError as error:
        if not dry_run and (made or getattr(error, "outcome_unknown", False)):
            error.add_note(f"Of the scopes, {'1 is' if len(made) == 1 else f'{len(made)} are'} done. {how_to_go_on}")
        raise
    return made


def _recovered(margin: int, past: int | None, since: datetime | None, scene: Scene, sign: Signature) -> Plan:
    strategy, numbers = scene.strategy, scene.numbers
    told, lines = [] if past is None else [past], list(changes_of(strategy.history, scene.scope))
    if since and any(line.kind == "recover" and line.at >= since for line in lines):
        return Plan(before=scene.last, after=scene.last)
    evidence = [*told, scene.handed_out, *_in_markers(strategy, scene.scope), *_moved_to(lines)]
    highest = numbers.reaching(max(evidence), numbers.before_start)
    if highest == numbers.before_start:
        scene.require_existing()
        return Plan(before=scene.last, after=scene.last)
    return scene.moved_to(highest + margin * numbers.step, sign)


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


@overload
def freeze(
    sequence: str,
    *,
    scope: str | None = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Change: ...


@overload
def freeze(
    sequence: str, *, scope: EveryScope, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> list[Change]: ...


def freeze(
    sequence: str,
    *,
    scope: Scopes = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Change | list[Change]:
    """Refuse every write in a scope from now on (SequenceFrozen), in every process, until `thaw`. Reads go on.

    The writes' own conditions refuse it, so that it costs nothing while nothing is frozen. Blocks that other processes
    hold are handed out for up to `watch_seconds` more (`BlockAllocator`): their values are up to the last value, which
    stays. Without a counter (`SortKeyMaximum`) the next number becomes a void row.
    With EVERY_SCOPE it freezes all scopes that the sequence can list, and returns a change for each. Those that are
    frozen already stay as they are, so that a run that failed midway can be repeated.
    Raises ScopeNotFound for a scope that is named and has neither a counter nor items, and SequenceFrozen for one that
    is frozen already.
    """
    if scope is EVERY_SCOPE:
        return _of_each(sequence, scope, period, "freeze", _frozen_by_now, by, reason, dry_run=dry_run)
    return make(sequence, counted_in(sequence, scope, period), "freeze", _frozen, by, reason, dry_run=dry_run)


def _frozen(scene: Scene, sign: Signature) -> Plan:
    scene.require_existing()
    return scene.freeze(sign)


def _frozen_by_now(scene: Scene, sign: Signature) -> Plan:
    if scene.frozen:
        return Plan(before=scene.last, after=scene.last, stands=scene.frozen)
    return scene.freeze(sign)


@overload
def thaw(
    sequence: str,
    *,
    scope: str | None = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Change: ...


@overload
def thaw(
    sequence: str, *, scope: EveryScope, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> list[Change]: ...


def thaw(
    sequence: str,
    *,
    scope: Scopes = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Change | list[Change]:
    """Let a frozen scope go on.

    With EVERY_SCOPE it thaws all scopes that the sequence can list, and returns a change for each. Those that are not
    frozen stay as they are.
    Raises InvalidChange for a scope that is named and not frozen, and ScopeNotFound for one that does not exist.
    """
    if scope is EVERY_SCOPE:
        return _of_each(sequence, scope, period, "thaw", _thawed_by_now, by, reason, dry_run=dry_run)
    return make(sequence, counted_in(sequence, scope, period), "thaw", _thawed, by, reason, dry_run=dry_run)


def _thawed(scene: Scene, sign: Signature) -> Plan:
    scene.require_existing()
    return scene.thaw(sign)


def _thawed_by_now(scene: Scene, sign: Signature) -> Plan:
    return scene.thaw(sign) if scene.frozen else Plan(before=scene.last, after=scene.last)


def void(
    sequence: str,
    value: int,
    *,
    scope: str | None = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Change:
    """Withdraw a number: it keeps its place, with who withdrew it, when and why. A void number stays as it is.

    The item under the value gets the attribute `void` and keeps the others. Where no item is stored, a row explains
    the gap; an item with a key of its own that has this value is not seen. Repeated, it returns the first void.
    One more read unit or more, for the item. Raises InvalidChange for a value above the last one, and for one without
    an item that the counter has not handed out, or that a process may hold in its block (`BlockAllocator`: freeze the
    scope first, and wait until every process follows). Raises OperationNotSupported where the value does not make the
    item's key.
    """
    check_whole("value", value)

    def plan(scene: Scene, sign: Signature) -> Plan:
        return scene.voided(value, sign)

    return make(sequence, counted_in(sequence, scope, period), "void", plan, by, reason, dry_run=dry_run)


def history(
    sequence: str,
    *,
    scope: Scopes = EVERY_SCOPE,
    period: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> tuple[list[Change], str | None]:
    """One page of a sequence's history, the newest change first, and the cursor of the next page.

    The history is one partition for all scopes and periods. So a page of one of them reads the lines of the others as
    well, and may have fewer than `limit` changes, or none. Changes within one second may change places. Cost: one
    query, 1 read unit for 4 KB, about 15 lines.
    Raises InvalidChange for a limit below 1 and a cursor of another history, InvalidSequence, InvalidScope,
    InvalidPeriod, SequenceUnavailable and StorageRefused.
    """
    strategy = strategies[sequence]
    check_whole("limit", limit, 1)
    if scope is not EVERY_SCOPE:
        check_scope(scope)
    if period is not None:
        strategy.period.check(period)
    changes, following = strategy.history.page(cursor, limit)
    if scope is not EVERY_SCOPE:
        changes = [change for change in changes if change.scope == scope]
    return [change for change in changes if period is None or change.period == period], following
