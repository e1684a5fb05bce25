"""Applies a change of a scope: looks at it, plans, writes the change with its line in the history, and looks again
after a lost race.

There are two ways. A scope with a counter is changed at its counter. A scope whose items are its count is changed by
void rows: the first one lies under the next number, where every writer must come by, and leads to the last one.

    writers   -- n stored --           |-- n + 1 is taken: look again --|-- `to` + 1 --
    change                 -- n + 1 and `to` are void rows --

While a switch is under way writers of both kinds count the items, so that void rows stop them all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from ..commit.retries import RETRYABLE_CANCELLATIONS, Deadline, new_token, write_once
from ..dynamodb import expressions
from ..exceptions import SequenceError, StorageRefused, TableRestored, WriteCancelled
from ..registry import strategies
from ..rows.stored_counter import StoredCounter
from ..strategies import Strategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Scope, parted
from .arguments import LONGEST_BY, LONGEST_REASON, check_text

Action = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What an operator asks for: the kind of change, who makes it and why. With `dry_run` nothing is written."""

    kind: str
    by: str
    reason: str
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeNote:
    """Who makes a change, when and why; `token` is stored with it, and recognises it after a lost answer."""

    by: str
    at: datetime
    reason: str
    token: str

    @property
    def about(self) -> dict[str, str]:
        """What a row says of the change."""
        return {"by": self.by, "at": self.at.isoformat(timespec="microseconds"), "reason": self.reason}

    @property
    def in_counter(self) -> dict[str, Any]:
        """What the change leaves in a counter: its token, and when."""
        return {"token": self.token, "updated_at": int(self.at.timestamp())}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A change that can be written: the last value before and after it, and its actions; none if nothing is to do.

    `stands` says who made the same change before. The updates in `marks` get no line in the history, and `refusal` is
    raised when they are stored.
    """

    before: int | None = None
    after: int | None = None
    actions: tuple[Action, ...] = ()
    stands: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[Action, ...] = ()
    refusal: SequenceError | None = None

    @classmethod
    def in_place(cls, seen: ScopeSnapshot, *actions: Action) -> Self:
        """The plan after which the last value is as before."""
        return cls(before=seen.last, after=seen.last, actions=actions)


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
        strategy.changed(scope, change.after, moves=change.after != change.before)
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
    except (SequenceError, KeyboardInterrupt) as error:
        may_be_stored = isinstance(error, KeyboardInterrupt) or getattr(error, "outcome_unknown", False)
        if not request.dry_run and (made or may_be_stored):
            error.add_note(f"Of the scopes, {'1 is' if len(made) == 1 else f'{len(made)} are'} done. {how_to_go_on}")
        raise
    return made


def write(
    strategy: Strategy, scope: Scope, request: ChangeRequest, plan: Callable[[ChangeNote], Plan], deadline: Deadline
) -> tuple[Change, bool]:
    """The change, and whether it is new."""
    check_text("by", request.by, LONGEST_BY)
    check_text("reason", request.reason, LONGEST_REASON)
    while True:
        at = datetime.fromtimestamp(strategy.wall(), UTC)
        note = ChangeNote(by=request.by, at=at, reason=request.reason, token=new_token())
        planned = plan(note)
        change = _change(strategy.alias, scope, request.kind, planned, note)
        if request.dry_run or _stored(strategy, change, planned, note.token, deadline):
            if planned.refusal:
                raise planned.refusal
            return change, bool(planned.actions)


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
    requests = [("update_item", mark) for mark in planned.marks]
    if planned.actions:
        actions = [*planned.actions, strategy.history.put(change, token)]
        requests.append(("transact_write_items", expressions.transaction(actions, request_token=token)))
    try:
        for operation, request in requests:
            write_once(operation, request, token=token, deadline=deadline)
    except WriteCancelled as error:
        if error.after_unknown and strategy.history.has(change, token, deadline.read):
            return True
        try_after(error, deadline)
        return False
    return True


def try_after(error: WriteCancelled, deadline: Deadline, items: Sequence[int] = ()) -> None:
    """Pause before the next attempt. Raises StorageRefused for a reason that does not pass.

    `items` are the values of what was to be stored beside a change that is.
    """
    may_pass = {"None", "ConditionalCheckFailed", *RETRYABLE_CANCELLATIONS}
    for place, reason in enumerate(error.reasons):
        if reason.code not in may_pass:
            what, others = "The change", ""
            if items:
                what, others = f"The item of {items[place]}", ". Others are stored: correct it, and repeat this."
            raise StorageRefused(f"{what} cannot be stored: {reason.code}: {reason.message}{others}") from error
    deadline.try_again(error)
