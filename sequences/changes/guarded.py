"""Writes a guarded change with its line in the history: looks at a scope, plans, writes, looks again after a race.

Each change is in a file of its own, with its plan; `plans` has what they share.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Literal

from ..commit.retries import RETRYABLE_CANCELLATIONS, Deadline, new_token, read, write_once
from ..dynamodb import expressions
from ..exceptions import InvalidChange, SequenceError, StorageRefused, WriteCancelled
from ..ops.audit import list_scopes
from ..registry import strategies
from ..rows.stored_counter import StoredCounter
from ..services.arguments import check_scope
from ..strategies import Strategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Scope, parted
from .plans import ChangeNote, Plan

__all__ = [
    "EVERY_SCOPE",
    "EveryScope",
    "Planner",
    "Scopes",
    "check_moment",
    "check_text",
    "check_whole",
    "counted_in",
    "make",
    "make_each",
    "scopes_of",
    "write",
]

LONGEST_BY = 200
LONGEST_REASON = 500


class _Every(enum.Enum):
    EVERY_SCOPE = "every scope"


EVERY_SCOPE: Final = _Every.EVERY_SCOPE
"""Every scope that a sequence can list (see `Scopes.page`)."""

EveryScope = Literal[_Every.EVERY_SCOPE]
Scopes = str | None | EveryScope

Planner = Callable[[ScopeSnapshot, ChangeNote], Plan]


def counted_in(sequence: str, scope: str | None, period: str | None) -> Scope:
    """The scope in the given period; in the one of today without it."""
    check_scope(scope)
    return strategies[sequence].naming.dated(scope, None, period)[0]


def scopes_of(strategy: Strategy, scope: Scopes, period: str | None) -> Iterator[Scope]:
    """The scope that is named, in its period; or every scope that the sequence can list."""
    if scope is EVERY_SCOPE:
        if period is not None:
            strategy.naming.period.check(period)
        yield from (each for each in list_scopes(strategy) if period in (None, parted(each)[1]))
    else:
        yield counted_in(strategy.alias, scope, period)


def make(
    sequence: str,
    scope: Scope,
    kind: str,
    planner: Planner,
    by: str,
    reason: str,
    *,
    dry_run: bool = False,
    counter: StoredCounter | None = None,
) -> Change:
    """Look at a scope, plan, and write the change with its line in the history; look again after a lost race."""
    strategy = strategies[sequence]
    deadline = strategy.deadline()
    strategy.lives.bind(deadline.send)
    strategy.lives.require_transactions(f"The change {kind!r}")
    send = partial(read, deadline=deadline)

    def plan(note: ChangeNote) -> Plan:
        return planner(ScopeSnapshot(strategy, scope, send, counter=counter), note)

    with strategy.item_writer.exclusively(scope, deadline):
        change, is_new = write(strategy, scope, kind, plan, by, reason, deadline, dry_run=dry_run)
    if is_new and not dry_run:
        strategy.changed(scope, change.after)
    return change


def make_each(  # noqa: PLR0913 - what a change has, and how it is repeated
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


def write(
    strategy: Strategy,
    scope: Scope,
    kind: str,
    plan: Callable[[ChangeNote], Plan],
    by: str,
    reason: str,
    deadline: Deadline,
    *,
    dry_run: bool,
) -> tuple[Change, bool]:
    """The change, and whether it is new."""
    check_text("by", by, LONGEST_BY)
    check_text("reason", reason, LONGEST_REASON)
    plain, period = parted(scope)
    while True:
        at = datetime.fromtimestamp(strategy.wall(), UTC)
        note = ChangeNote(by=by, at=at, reason=reason, token=new_token())
        planned = plan(note)
        told = planned.stands or {"by": by, "at": at.isoformat(), "reason": reason}
        change = Change(
            sequence=strategy.alias,
            scope=plain,
            period=period,
            kind=kind,
            by=str(told.get("by", "")),
            at=datetime.fromisoformat(told["at"]) if "at" in told else at,
            reason=str(told.get("reason", "")),
            before=planned.before,
            after=planned.after,
        )
        if dry_run or not planned.actions:
            return change, bool(planned.actions)
        if _stored(strategy, change, planned, note.token, deadline):
            return change, True


def _stored(strategy: Strategy, change: Change, planned: Plan, token: str, deadline: Deadline) -> bool:
    """Whether the change is stored now; False after a lost race. Raises SequenceContention at the deadline."""
    actions = [*planned.actions, strategy.history.put(change, token)]
    request = expressions.transaction(actions, request_token=token)
    try:
        write_once("transact_write_items", request, token=token, deadline=deadline)
    except WriteCancelled as error:
        if error.after_unknown and strategy.history.has(change, token, partial(read, deadline=deadline)):
            return True
        may_pass = {"None", "ConditionalCheckFailed", *RETRYABLE_CANCELLATIONS}
        if permanent := [reason for reason in error.reasons if reason.code not in may_pass]:
            raise StorageRefused(f"The change cannot be stored: {permanent[0].code}: {permanent[0].message}") from error
        deadline.try_again(error)
        return False
    return True


def check_text(name: str, text: str, longest: int) -> None:
    """Raise InvalidChange, which names the field, for a text that is empty, too long or not printable."""
    if not isinstance(text, str) or not 1 <= len(text.strip()) <= len(text) <= longest or not text.isprintable():
        raise InvalidChange(f"{name} is {text!r}; it must have 1 to {longest} printable characters.")


def check_whole(name: str, value: Any, least: int = 0) -> None:
    """Raise InvalidChange, which names the field, for what is no whole number from `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidChange(f"{name} is {value!r}; it must be a whole number from {least}.")


def check_moment(name: str, moment: Any) -> None:
    """Raise InvalidChange, which names the field, for what is no datetime with a time zone."""
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidChange(f"{name} is {moment!r}; it must be a datetime with a time zone.")
