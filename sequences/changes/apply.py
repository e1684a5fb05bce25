"""Applies a change of a scope: looks at it, plans, writes the change with its line in the history, and looks again
after a lost race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime

from ..commit.retries import RETRYABLE_CANCELLATIONS, Deadline, new_token, write_once
from ..dynamodb import expressions
from ..exceptions import SequenceError, StorageRefused, TableRestored, WriteCancelled
from ..registry import strategies
from ..rows.stored_counter import StoredCounter
from ..strategies import Strategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Scope, parted
from .arguments import LONGEST_BY, LONGEST_REASON, check_text
from .plans import ChangeNote, ChangeRequest, Plan

Planner = Callable[[ScopeSnapshot, ChangeNote], Plan]


def apply_change(
    sequence: str, scope: Scope, request: ChangeRequest, planner: Planner, *, counter: StoredCounter | None = None
) -> Change:
    """Look at a scope, plan, and write the change with its line in the history; look again after a lost race."""
    strategy = strategies.by_lines(strategies[sequence], scope)
    deadline = strategy.deadline()
    with suppress(*([TableRestored] if request.kind == "recover" else [])):
        strategy.lives.bind(deadline.send)
    strategy.lives.require_transactions(f"The change {request.kind!r}")

    def plan(note: ChangeNote) -> Plan:
        return planner(ScopeSnapshot(strategy, scope, deadline.read, counter=counter), note)

    with strategy.item_writer.exclusively(scope, deadline):
        change, is_new = write(strategy, scope, request, plan, deadline)
    if is_new and not request.dry_run:
        strategy.changed(scope, change.after)
    return change


def apply_to_all(
    sequence: str,
    scopes: Iterable[Scope],
    request: ChangeRequest,
    planner: Planner,
    *,
    how_to_go_on: str = "Repeat this: what is done stays as it is.",
) -> list[Change]:
    """Apply the change to these scopes. The note of an error says how many are done, and how to go on."""
    made: list[Change] = []
    try:
        for each in scopes:
            made.append(apply_change(sequence, each, request, planner))  # noqa: PERF401
    except SequenceError as error:
        if not request.dry_run and (made or getattr(error, "outcome_unknown", False)):
            error.add_note(f"Of the scopes, {'1 is' if len(made) == 1 else f'{len(made)} are'} done. {how_to_go_on}")
        raise
    return made


def write(
    strategy: Strategy,
    scope: Scope,
    request: ChangeRequest,
    plan: Callable[[ChangeNote], Plan],
    deadline: Deadline,
) -> tuple[Change, bool]:
    """The change, and whether it is new."""
    check_text("by", request.by, LONGEST_BY)
    check_text("reason", request.reason, LONGEST_REASON)
    while True:
        at = datetime.fromtimestamp(strategy.wall(), UTC)
        note = ChangeNote(by=request.by, at=at, reason=request.reason, token=new_token())
        planned = plan(note)
        change = _change(strategy.alias, scope, request.kind, planned, note)
        if request.dry_run or not planned.actions:
            return change, bool(planned.actions)
        if _stored(strategy, change, planned, note.token, deadline):
            return change, True


def _change(sequence: str, scope: Scope, kind: str, planned: Plan, note: ChangeNote) -> Change:
    """The change as its caller gets it; the earlier one if the same was made before."""
    plain, period = parted(scope)
    about = planned.stands or note.about
    return Change(
        sequence=sequence,
        scope=plain,
        period=period,
        kind=kind,
        by=str(about.get("by", "")),
        at=datetime.fromisoformat(about["at"]) if "at" in about else note.at,
        reason=str(about.get("reason", "")),
        before=planned.before,
        after=planned.after,
    )


def _stored(strategy: Strategy, change: Change, planned: Plan, token: str, deadline: Deadline) -> bool:
    """Whether the change is stored now; False after a lost race. Raises SequenceContention at the deadline."""
    actions = [*planned.actions, strategy.history.put(change, token)]
    request = expressions.transaction(actions, request_token=token)
    try:
        write_once("transact_write_items", request, token=token, deadline=deadline)
    except WriteCancelled as error:
        if error.after_unknown and strategy.history.has(change, token, deadline.read):
            return True
        may_pass = {"None", "ConditionalCheckFailed", *RETRYABLE_CANCELLATIONS}
        if permanent := [reason for reason in error.reasons if reason.code not in may_pass]:
            raise StorageRefused(f"The change cannot be stored: {permanent[0].code}: {permanent[0].message}") from error
        deadline.try_again(error)
        return False
    return True
