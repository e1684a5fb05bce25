"""The changes `close` and `reopen`: the books of a period are closed over every scope, those without a number too."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ..dynamodb import expressions
from ..dynamodb.expressions import CLOSING
from ..exceptions import InvalidChange, OperationNotSupported
from ..registry import strategies
from ..rows.counter_rows import CLOSED, Opening
from ..rows.following import BY_ITEMS
from ..rows.layout import Send
from ..rows.stored_counter import StoredCounter
from ..strategies import Strategy
from ..strategies.counter_strategy import counter_of
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Dated, scope_text
from .apply import ChangeNote, ChangeRequest, Plan, apply_to_all, write
from .arguments import EVERY_SCOPE, EveryScope, Scopes, being_switched, check_moment, counted_in
from .freezes import frozen_counter, thawed

ABOUT = ("by", "at", "reason", "since", "open")


def close(
    sequence: str, period: str, *, at: datetime | None = None, by: str, reason: str, dry_run: bool = False
) -> list[Change]:
    """Refuse every number in a period (PeriodClosed), in all its scopes and every process, until `reopen`.

    Scopes without a number in the period are closed, too. No number is used by it. With `at`, a moment in the future,
    it holds from then on: a write that began before is still stored. Returns a change for each counter that was open.
    Safe to repeat: what is closed stays as it is, and costs no more than its place in the list of scopes, and a read
    and a write of the period's row. A reopen from before that is still on its way does nothing when it arrives.

    A counter is closed as by `freeze`. With TransactionalCounter no scope can begin any more, whatever a process has
    seen before, but by a transaction that is full (99 items together). With that, and with the other counters, a
    process that looked a moment earlier may still begin one: repeat this.
    Cost: as a freeze of each scope, and a change of its own.
    Raises OperationNotSupported for a sequence without PERIOD or counters, that cannot list its scopes, or for `at`
    without TransactionalCounter; and InvalidChange for an `at` that is past, or of a period that is closed, and while a
    switch is under way: with SortKeyMaximum, or for `at`.
    """
    strategy = _closable(sequence, period)
    _require_settled(strategy, at)
    request = ChangeRequest("close", by, reason, dry_run)
    since = 0 if at is None else _moment(strategy, at)
    about = _noted(strategy, period, request, partial(_closing, since))
    counters = strategy.scopes.counters(period)
    open_ones = (counter.counted_in for counter in counters if not (counter.frozen or "").startswith(CLOSED))
    return apply_to_all(sequence, open_ones, request, partial(_closed, since, about))


def reopen(
    sequence: str, period: str, *, scope: Scopes = EVERY_SCOPE, by: str, reason: str, dry_run: bool = False
) -> list[Change]:
    """Let numbers be given again in a closed period, in all its scopes or in one, until it is closed again.

    Returns a change for each counter of the period; one that was not closed stays as it is. Raises what `close` raises,
    and InvalidChange for scopes with a prefix.
    """
    strategy = _closable(sequence, period)
    request = ChangeRequest("reopen", by, reason, dry_run)
    if isinstance(scope, EveryScope) and scope.prefix:
        raise InvalidChange(f"scope is {scope!r}; books are opened in one scope, or in all of them.")
    if isinstance(scope, EveryScope):
        _noted(strategy, period, request, lambda before, note: {})
        return apply_to_all(sequence, strategy.scopes.every(period), request, partial(_opened, dry_run))
    counted = counted_in(sequence, scope, period)
    _noted(strategy, period, request, partial(_open_for, scope_text(scope)))
    return apply_to_all(sequence, [counted], request, partial(_opened, dry_run))


def require_open_books(strategy: Strategy, counter: StoredCounter, send: Send, *, only_later: bool = False) -> None:
    """Raise InvalidChange for a closed period that other writers would not see, or `only_later` one with a moment.

    `counter` has the books, and the history of `strategy` who closed them.
    """
    for period, since in _closed_periods(strategy, counter, send).items():
        if since or not only_later:
            raise InvalidChange(
                f"The books of {counter.alias!r} of {period} are closed, or will be: `reopen` them before, and `close` "
                "them after."
            )


def _closed_periods(strategy: Strategy, counter: StoredCounter, send: Send) -> Mapping[str, int]:
    """From which moment on each period is closed, 0 for always. Rows beside the items are no list: the history is."""
    if not counter.rows.beside_items:
        return counter.closings.listed(send)
    named = {line.period for line in strategy.history.every() if line.kind == "close"}
    rows = {period: counter.closings.read(period, send) for period in sorted(named)}
    return {period: row["since"] for period, row in rows.items() if "since" in row}


def _closable(sequence: str, period: str) -> Strategy:
    """The strategy. Raises OperationNotSupported if it has no periods that can be closed, and InvalidPeriod."""
    strategy = strategies[sequence]
    if not strategy.layout.in_periods:
        raise OperationNotSupported(f"{sequence!r} has no PERIOD: `freeze` its scopes.")
    if strategy.counter is None:
        raise OperationNotSupported(
            f"{sequence!r} ({type(strategy).__name__}) has no counters, and a number is used to hold a scope: `freeze` "
            "its scopes, or take TransactionalCounter."
        )
    strategy.scopes.check_period(period)
    strategy.scopes.page(None, 1)  # raises if nothing lists them, before anything is closed
    return strategy


def _require_settled(strategy: Strategy, at: datetime | None) -> None:
    """Raise InvalidChange while a switch lets processes write that do not see the books, or no such moment."""
    names = {name for row in strategy.rules.read(strategy.deadline().read) for name in row.switching}
    if BY_ITEMS in names or (names and at):
        raise being_switched(strategy.alias)


def _moment(strategy: Strategy, at: datetime) -> int:
    """A moment in the future, in seconds since 1970."""
    check_moment("at", at)
    if not strategy.gapless:
        raise OperationNotSupported(
            f"{strategy.alias!r} ({type(strategy).__name__}) hands values out before their items are stored: close its "
            "period at that moment, without `at`."
        )
    if at.timestamp() <= strategy.wall():
        raise InvalidChange(f"at is {at}, which is past: leave it out to close the period at once.")
    return int(at.timestamp())


def _noted(strategy: Strategy, period: str, request: ChangeRequest, change: Any) -> Mapping[str, Any]:
    """Change the row of the period, with a line in the history; return what it says."""
    closings, deadline = counter_of(strategy).closings, strategy.deadline()
    place = closings.place(period)
    strategy.lives.bind(deadline.send, deadline)
    strategy.lives.require_transactions(f"The change {request.kind!r}")
    said: dict[str, Any] = {}

    def plan(note: ChangeNote) -> Plan:
        row = closings.read(period, deadline.read)
        as_read = {"token": row.get("token")}
        before = {name: row[name] for name in ABOUT if name in row}
        said.clear()
        said.update(change(before, note))
        if said == before:
            # No earlier change that is still on its way finds the row as it was.
            mark = expressions.change_row(*place, unchanged=as_read, sets={"token": note.token})
            return Plan(marks=(mark,) if before else ())
        action = expressions.change_row(
            *place,
            unchanged=as_read,
            sets={**said, "token": note.token},
            removes=[name for name in before if name not in said],
        )
        return Plan(actions=(action,))

    write(strategy, Dated.of(None, period), request, plan, deadline)
    return said


def _closing(since: int, before: Mapping[str, Any], note: ChangeNote) -> Mapping[str, Any]:
    if before.get("since") == since and not before.get("open"):
        return before
    if since and "since" in before and before["since"] <= note.at.timestamp():
        raise InvalidChange("at is given, but the period is closed already: `reopen` it first.")
    moment = datetime.fromtimestamp(since, UTC).isoformat(timespec="microseconds")
    return {**note.about, **({"at": moment} if since else {}), "since": since}


def _open_for(scope: str, before: Mapping[str, Any], note: ChangeNote) -> Mapping[str, Any]:
    return {**before, "open": sorted({*before.get("open", ()), scope})} if before else {}


def _closed(since: int, about: Mapping[str, Any], seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """The plan after which a counter is closed, at once or from a moment on."""
    if CLOSED in (seen.state.frozen or {}):
        return Plan.in_place(seen)
    if since and (seen.state.closing or {}).get("since") == since:
        return Plan.in_place(seen)
    if since:  # the counter may count on until then, unless it is frozen
        closing = {name: about[name] for name in ("by", "at", "reason", "since")}
        stays = {CLOSING: seen.state.closing, "frozen": seen.state.frozen, "thawed": seen.row.get("thawed")}
        return Plan.in_place(seen, seen.change(unchanged=stays, sets={CLOSING: closing}))
    frozen = {**note.about, CLOSED: True}
    if before := seen.state.frozen:  # by `freeze`: no thaw may open it now
        return Plan.in_place(seen, seen.change(unchanged={"frozen": before}, sets={"frozen": {**before, **frozen}}))
    return Plan.in_place(seen, frozen_counter(seen, note, frozen))


def _opened(dry_run: bool, seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """The plan after which a counter goes on, unless its period is closed again before that is stored."""
    plan = _open(seen, note)
    if dry_run or not plan.actions:
        return plan
    assert seen.counter is not None
    assert isinstance(seen.scope, Dated)
    opening = Opening(seen.counter.closings, seen.scope, seen.send)
    return Plan.in_place(seen) if opening.closing else replace(plan, actions=(*plan.actions, opening.unchanged))


def _open(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """The plan after which a counter goes on, if its period is closed, or will be."""
    if seen.state.frozen and CLOSED in seen.state.frozen:
        return thawed(seen, note)
    if not seen.state.closing:
        return Plan.in_place(seen)
    action = seen.change(unchanged={CLOSING: seen.state.closing}, sets={"thawed": note.token}, removes=[CLOSING])
    return Plan.in_place(seen, action)
