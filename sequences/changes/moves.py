"""The changes `advance`, `seed` and `recover`: a scope moves forward, at its counter or by void rows."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from django.db.models import QuerySet

from ..dynamodb.expressions import BORN, CHANGED, CLOSING, GIVEN_BACK, SINCE
from ..exceptions import DateRefused, InvalidChange, OperationNotSupported, SequenceError
from ..registry import strategies
from ..rows import operator_errors
from ..rows.reading import pages
from ..rows.tallies import ALWAYS, known_from_start
from ..services.arguments import check_scope
from ..strategies import Strategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Dated, Scope, parted
from .apply import Action, ChangeNote, ChangeRequest, Plan, apply_change, apply_to_all
from .arguments import EVERY_SCOPE, Scopes, check_moment, check_whole, counted_in, scopes_of
from .columns import highest_numbers
from .voids import CLOCK_SECONDS, void_rows

ROWS_A_PAGE = 1000
MARGIN = 100
MOVES = ("advance", "seed", "recover", "switch", "adopt", "give", "series")


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

    def plan(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
        seen.require_order()
        least = seen.handed_out + seen.numbers.step
        if to < least:
            raise InvalidChange(
                f"to is {to}; a sequence only moves up, past all that was handed out: give {least} or more."
            )
        return moved_to(seen, to, note)

    request = ChangeRequest("advance", by, reason, dry_run)
    return apply_change(sequence, counted_in(sequence, scope, period), request, plan)


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
    set of rows that have numbers in `field`. `scope` is then as in a `SequenceField`: None, the name of a field, or a
    function from the row to a scope. Without `period` a row counts in the one of the field's own `date`. Columns cost
    one query, and every row with a function as scope. Raises InvalidChange for a column whose rows say no period,
    SequenceExhausted, and SequenceWentBack for a counter that must be recovered first.
    """
    return seeded(sequence, source, ChangeRequest("seed", by, reason, dry_run), field=field, scope=scope, period=period)


def seeded(
    sequence: str,
    source: Any,
    request: ChangeRequest,
    *,
    field: str,
    scope: Any,
    period: str | None,
    drops: bool = True,
) -> list[Change]:
    """The changes of `seed`. Unless it `drops` blocks, a scope that is further already stays where it is."""
    return [
        apply_change(sequence, each, request, partial(_seeded, number, drops))
        for each, number in _numbers_of(sequence, source, field, scope, period)
    ]


def _numbers_of(
    sequence: str, source: Any, field: str, scope: Any, period: str | None
) -> Iterator[tuple[Scope, int | None]]:
    """The scopes of a source and the highest number in each; None stands for the stored items."""
    if isinstance(source, QuerySet):
        yield from _numbers_of_rows(sequence, source, field, scope, period)
    elif source == "items":
        strategy = strategies[sequence]
        if not strategy.layout.in_collections:
            raise OperationNotSupported(f"The items of {strategy.alias!r} are not in collections: give a number.")
        yield from ((each, None) for each in scopes_of(strategy, scope, period))
    else:
        check_whole("source", source)
        yield counted_in(sequence, scope, period), source


def _numbers_of_rows(
    sequence: str, rows: QuerySet[Any], field: str, scope: Any, period: str | None
) -> Iterator[tuple[Scope, int]]:
    """The highest number in each scope and period: the one that is named, or the one that the field's own date says.

    Without numbers the sequence is not looked at, which need not be configured where a test database is migrated.
    """
    date = None if period else getattr(rows.model._meta.get_field(field), "date", None)
    highest: dict[Scope, int] = {}
    for each, day, number in highest_numbers(rows, field, scope, date):
        check_scope(each)
        naming = strategies.of(sequence, each, day, period).naming
        if naming.period.kind != "never" and not (date or period):
            raise InvalidChange(
                f"{sequence!r} begins again in each period, and no `date` of {field!r} says in which one a row is: "
                "name the period, and give its rows."
            )
        try:
            counted = naming.dated(each, day, period)[0]
        except DateRefused as error:
            raise InvalidChange(f"A row has the number {number} in {field!r}, and {error} Correct its date.") from error
        highest[counted] = max(number, highest.get(counted, number))
    yield from highest.items()


def _seeded(number: int | None, drops: bool, seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    seen.require_order()
    stored = seen.numbers.before_start if seen.top is None else seen.top
    return moved_to(seen, stored if number is None else number, note, drops=drops)


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
    More cost: a query of all markers of the scope, and once of the history.
    Raises SequenceExhausted, and ScopeNotFound for a scope that is named and has no evidence at all.
    """
    check_whole("margin", margin)
    if past is not None:
        check_whole("past", past)
    if since is not None:
        check_moment("since", since)
    strategy = strategies[sequence]
    moment = (since or datetime.fromtimestamp(strategy.wall() - CLOCK_SECONDS, UTC)).isoformat()
    how = f"To go on without moving what is done again, repeat this with since={moment}, or --since {moment}."
    plan = partial(_recovered, margin, past, since, _Past(strategy.history.every()))
    request = ChangeRequest("recover", by, reason, dry_run)
    made = apply_to_all(sequence, scopes_of(strategy, scope, period), request, plan, how_to_go_on=how)
    if scope == EVERY_SCOPE and period is None and not dry_run:
        _accept_tables(strategy, how)
    return made


def _accept_tables(strategy: Strategy, how_to_go_on: str) -> None:
    """Let the sequence go on in tables that were restored, as all of its scopes are recovered."""
    try:
        strategy.rules.restored(strategy.deadline())
    except (SequenceError, KeyboardInterrupt) as error:
        error.add_note(f"All scopes are recovered, but the sequence is refused still. {how_to_go_on}")
        raise


class _Past:
    """What the history says of each scope: how far changes have moved it, and when it was last recovered."""

    def __init__(self, lines: Iterable[Change]) -> None:
        self.moved: dict[Scope, int] = {}
        self.recovered: dict[Scope, datetime] = {}
        for line in lines:
            scope = Dated.of(line.scope, line.period)
            if line.kind in MOVES and line.after is not None:  # clocks differ: all count
                self.moved[scope] = max(line.after, self.moved.get(scope, line.after))
            if line.kind == "recover":
                self.recovered[scope] = max(line.at, self.recovered.get(scope, line.at))


def _recovered(
    margin: int, past: int | None, since: datetime | None, history: _Past, seen: ScopeSnapshot, note: ChangeNote
) -> Plan:
    strategy, numbers, recovered = seen.strategy, seen.numbers, history.recovered.get(seen.scope)
    if since and recovered and recovered >= since:
        return Plan.in_place(seen)
    told = [each for each in (past, history.moved.get(seen.scope)) if each is not None]
    evidence = [*told, seen.handed_out, *_in_markers(strategy, seen.scope)]
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
    for page in pages(schema, strategy.markers.partition(scope), ROWS_A_PAGE, "value", "count", "items", "period"):
        own = (row for row in page if row.get("period", "") == period and isinstance(row.get("value"), int))
        yield from (row["value"] + step * (row.get("count", row.get("items", 1)) - 1) for row in own)


def moved_to(seen: ScopeSnapshot, value: int, note: ChangeNote, *, drops: bool = True, **more: Any) -> Plan:
    """The plan after which every new value is above `value`, if it `drops` also of blocks that processes hold.

    A scope that is frozen stays so. Its counter gets `more`. Imported rows are none of the values before.
    """
    before_start = seen.numbers.before_start
    counted = before_start if seen.state.last_value is None else seen.state.last_value
    base = before_start if seen.last is None else seen.numbers.reaching(seen.last, before_start)
    reached = seen.numbers.up_to(value, base)
    behind = reached > counted
    drops = drops and not behind and seen.may_be_held and value >= seen.numbers.start
    if drops and not seen.numbers.is_used_up(reached):
        reached += seen.numbers.step  # no process gives lower values any more, also not of a block that it holds
    if reached > seen.numbers.maximum:
        raise seen.numbers.exhausted()
    if seen.by_rows:
        actions = void_rows(seen, reached, note, seen.frozen_row) if reached > base else ()
    elif seen.frozen_row:
        raise operator_errors.frozen(seen.strategy.alias, seen.scope, seen.frozen_row)
    else:
        actions = counter_to(seen, reached, note, **more) if behind or drops or more else ()
    return Plan(before=seen.counted, after=reached if actions else seen.last, actions=tuple(actions))


def counter_to(seen: ScopeSnapshot, value: int, note: ChangeNote, **more: Any) -> tuple[Action, ...]:
    """The actions that put the counter on `value`, and set `more`.

    The counter of a gapless strategy must still be as it was seen, so that the history is exact. Another one may
    count on meanwhile, as a busy one always does; it must still be below `value`. Raises SequenceFrozen for one that
    would begin in a closed period.
    """
    assert seen.counter is not None
    opening = seen.counter.closings.opening(seen.scope, seen.state, seen.send)
    frozen, last_value = seen.state.frozen, seen.state.last_value
    kept = {name: told for name, told in frozen.items() if name != "highest"} if frozen else {}
    is_busy = not seen.strategy.gapless and not frozen and seen.state.highest == last_value
    moves = is_busy and last_value is not None and last_value < value
    exactly = ("frozen", "thawed") if moves else ("last_value", "highest", "token", "frozen")
    change = seen.change(
        unchanged={name: seen.row.get(name) for name in exactly},
        at_least={"last_value": last_value} if moves and last_value is not None else {},
        below={"last_value": value} if moves else {},
        sets={
            "last_value": value,
            **({"frozen": kept} if frozen else {"highest": value}),
            **({SINCE: ALWAYS} if _is_tallied(seen) else {}),
            **({CLOSING: opening.closing} if opening and opening.closing else {}),
            CHANGED: note.token,
            **note.in_counter,
            **more,
        },
        if_missing={BORN: note.token},
        removes=[GIVEN_BACK],
    )
    return (change, opening.unchanged) if opening else (change,)


def _is_tallied(seen: ScopeSnapshot) -> bool:
    """Whether the counter's tallies tell of all that was given, so that skipped values do not blur that."""
    known = known_from_start(seen.row, seen.numbers.before_start, seen.numbers.step)
    return known and (seen.state.last_value is not None or seen.last is None)
