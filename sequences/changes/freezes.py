"""The changes `freeze` and `thaw`: every write in a scope is refused, until it goes on."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, overload

from ..dynamodb.expressions import BORN, CHANGED, CLOSING, GIVEN_BACK
from ..exceptions import InvalidChange, OperationNotSupported, SequenceError
from ..registry import strategies
from ..rows import operator_errors
from ..rows.counter_rows import CLOSED
from ..rows.numbers import LARGEST, highest
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Dated
from .apply import Action, ChangeNote, ChangeRequest, Plan, apply_change, apply_to_all
from .arguments import EveryScope, Scopes, counted_in, scopes_of
from .voids import marks_of, thawed_row, void_rows


@overload
def freeze(
    sequence: str, *, scope: str | None = None, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> Change: ...


@overload
def freeze(
    sequence: str, *, scope: EveryScope, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> list[Change]: ...


def freeze(
    sequence: str, *, scope: Scopes = None, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> Change | list[Change]:
    """Refuse every write in a scope from now on (SequenceFrozen), in every process, until `thaw`. Reads go on.

    The writes' own conditions refuse it, so that it costs nothing while nothing is frozen. Blocks that other processes
    hold are handed out for up to `watch_seconds` more (`BlockAllocator`): their values are up to the last value, which
    stays. Without a counter (`SortKeyMaximum`) the next number becomes a void row.
    With EVERY_SCOPE it freezes all scopes that the sequence can list, and returns a change for each. Those that are
    frozen already stay as they are, so that a run that failed midway can be repeated.
    Raises ScopeNotFound for a scope that is named and has neither a counter nor items, and SequenceFrozen for one that
    is frozen already. Either way a thaw from before that is still on its way does nothing when it arrives.
    """
    request = ChangeRequest("freeze", by, reason, dry_run)
    if isinstance(scope, EveryScope):
        made = apply_to_all(sequence, scopes_of(strategies[sequence], scope, period), request, _frozen_by_now)
        _look_again(sequence, made, request)
        return made
    change = apply_change(sequence, counted_in(sequence, scope, period), request, _frozen_now)
    _look_again(sequence, [change], request)
    return change


def _look_again(sequence: str, made: Sequence[Change], request: ChangeRequest) -> None:
    """Where processes serve blocks, note when the scopes were found frozen: `void` waits from then on.

    What fails here is left to that.
    """
    for scope in (Dated.of(change.scope, change.period) for change in made if not request.dry_run):
        with suppress(SequenceError):
            if not strategies.by_lines(strategies[sequence], scope).ordered_across_processes:
                apply_change(sequence, scope, request, lambda seen, note: Plan(marks=marks_of(seen, note)))


def _frozen_now(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    seen.require_existing()
    if not seen.frozen:
        return frozen(seen, note)
    return Plan(
        marks=marks_of(seen, note), refusal=operator_errors.frozen(seen.strategy.alias, seen.scope, seen.frozen)
    )


def _frozen_by_now(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    if not seen.frozen:
        return frozen(seen, note)
    return Plan(before=seen.last, after=seen.last, stands=seen.frozen, marks=marks_of(seen, note))


@overload
def thaw(
    sequence: str, *, scope: str | None = None, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> Change: ...


@overload
def thaw(
    sequence: str, *, scope: EveryScope, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> list[Change]: ...


def thaw(
    sequence: str, *, scope: Scopes = None, period: str | None = None, by: str, reason: str, dry_run: bool = False
) -> Change | list[Change]:
    """Let a frozen scope go on.

    With EVERY_SCOPE it thaws all scopes that the sequence can list, and returns a change for each. Those that are not
    frozen, or whose period is closed (see `reopen`), stay as they are.
    Raises InvalidChange for a scope that is named and not frozen, and ScopeNotFound for one that does not exist.
    """
    request = ChangeRequest("thaw", by, reason, dry_run)
    if isinstance(scope, EveryScope):
        return apply_to_all(sequence, scopes_of(strategies[sequence], scope, period), request, _thawed_by_now)
    return apply_change(sequence, counted_in(sequence, scope, period), request, _thawed_now)


def _thawed_now(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    seen.require_existing()
    if CLOSED in (seen.frozen or {}):
        command = operator_errors.command("reopen", seen.strategy.alias, seen.scope)
        raise InvalidChange(f"The period of {seen.scope!r} in {seen.strategy.alias!r} is closed: {command}.")
    return thawed(seen, note)


def _thawed_by_now(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    stays = not seen.frozen or CLOSED in seen.frozen
    return Plan.in_place(seen) if stays else thawed(seen, note)


def frozen(seen: ScopeSnapshot, note: ChangeNote, *, exactly: bool = False) -> Plan:
    """The plan after which every write in the scope raises SequenceFrozen, at `exactly` the last value of this look or
    where a busy counter is by then. Raises that if it is frozen already."""
    seen.require_thawed()
    if not seen.by_rows:
        return Plan.in_place(seen, frozen_counter(seen, note, note.about, exactly=exactly))
    if seen.numbers.others:  # their rows would lie above the one that freezes the scope
        raise OperationNotSupported(
            f"{seen.strategy.alias!r} counts the items of several Regions, whose rows would hide a freeze: "
            "set HOME_REGION to a Region without writers in place of its STARTs."
        )
    last = seen.numbers.following(seen.numbers.before_start if seen.last is None else seen.last)
    if last > seen.numbers.maximum:
        raise seen.numbers.exhausted()
    return Plan(before=seen.last, after=last, actions=void_rows(seen, last, note, note.about))


def frozen_counter(seen: ScopeSnapshot, note: ChangeNote, about: Mapping[str, Any], *, exactly: bool = False) -> Action:
    """Put the counter's `highest` out of reach, so that the condition of every write refuses it.

    A busy counter may count on between the look and the change, unless it must be `exactly` as it was seen. One
    that went back, or has no value, may not.
    """
    went_back = seen.state.should_be(None) is not None
    at_rest = exactly or went_back or seen.state.last_value is None
    stays = {name: seen.row.get(name) for name in ("last_value", "highest")} if at_rest else {}
    return seen.change(
        unchanged={"frozen": None, "thawed": seen.row.get("thawed"), **stays},
        at_least={} if at_rest else {"last_value": seen.state.last_value},
        sets={
            "frozen": {**about, **({"highest": seen.state.highest} if went_back else {})},
            "highest": LARGEST,
            CHANGED: note.token,
        },
        if_missing={BORN: note.token},
        removes=[GIVEN_BACK],
    )


def thawed(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """The plan after which the scope goes on. Raises InvalidChange if it is not frozen."""
    actions = (*_thawed_counter(seen, note), *thawed_row(seen))
    if not actions:
        raise InvalidChange(f"The sequence {seen.strategy.alias!r}, scope {seen.scope!r}, is not frozen.")
    return Plan.in_place(seen, *actions)


def _thawed_counter(seen: ScopeSnapshot, note: ChangeNote) -> Iterable[Action]:
    """Let `highest` be as before. An earlier freeze that is still on its way must not follow a later thaw."""
    if seen.counter and seen.state.frozen:
        known = highest(seen.state.last_value, seen.state.highest)
        ended = ["frozen", CLOSING] if CLOSED in seen.state.frozen else ["frozen"]
        yield seen.change(
            unchanged={name: seen.row.get(name) for name in ("last_value", "token", "frozen")},
            sets={**({} if known is None else {"highest": known}), "thawed": note.token, **note.in_counter},
            removes=[*ended, *(["highest"] if known is None else [])],
        )
