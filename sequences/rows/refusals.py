"""Reads why a write of items was refused: what that decides about it and earlier writes, and which request is at fault.

DynamoDB gives a reason for each action of a write, with the row on which its condition failed. Here each reason is read
for what its action is for. What the leader does with a decision is in `leader`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from .. import dynamodb
from ..commit.requests import Decision, Pending, PreparedWrite, PutRequest, Refusal, Role
from ..commit.retries import RETRYABLE_CANCELLATIONS
from ..dynamodb.expressions import LAST_DOCUMENT, MARKER_EXPIRY
from ..exceptions import AlsoRefused, CancellationReason, InvalidItem, ItemExists, StorageRefused, WriteCancelled
from ..types import Scope
from . import operator_errors
from .answers import Answers, Markers
from .assignments import Assigner
from .layout import begins_skip, frozen_in
from .reading import stored_row


@dataclass(frozen=True, slots=True)
class Refusals:
    """The refused writes of one sequence. `lost` is called after a lost race, with the number of its requests."""

    assigner: Assigner
    markers: Markers
    answers: Answers
    lost: Callable[[Scope, int], None]

    # What a refusal decides.

    def decide(self, refusal: Refusal) -> Decision:
        """What the stored rows decide on which conditions of the write failed.

        A row has the sign of the write that stored it, and a write stores all its rows or none. A row under a number is
        never deleted, so that a write whose number has the sign of another write is never stored. Nor is one whose
        marker belongs to another call. But a row under a key of the caller's own decides nothing: it may be deleted.
        """
        refusal = self._with_rows(refusal)
        write, undecided = refusal.write, refusal.undecided
        met = [(role, reason.old) for role, reason in refusal.reasons if reason.old]
        sign_names = {"counter": "token", "marker": "request", "item": self.assigner.layout.token_name}
        signs = {old.get(sign_names.get(role.kind, "")) for role, old in met}
        signs.update(self._signs_of_tokens(refusal, signs))
        stored = next((one for one in (write, *undecided) if not signs.isdisjoint(one.signs)), None)
        if stored is not None:
            return Decision(refusal, stored)
        taken = {self._number(write, role) for role, _ in met if _is_numbered(write, role)}
        repeated = {write.pendings[role.pending] for role, _ in met if role.kind == "marker"}
        lost = {write} if any(_has_passed(write, role, old) for role, old in met) else set()

        def is_open(one: PreparedWrite) -> bool:
            in_this_life = self.assigner.lives.are_still(one.life)
            numbers = {self._number(one, role) for role in one.roles if _is_numbered(one, role)}
            return in_this_life and one not in lost and taken.isdisjoint(numbers) and repeated.isdisjoint(one.pendings)

        return Decision(refusal, undecided=tuple(filter(is_open, undecided)))

    def _signs_of_tokens(self, refusal: Refusal, found: Collection[Any]) -> Iterator[Any]:
        """The signs of the writes that stored the tokens of undecided requests that were found.

        An item has the token of its caller in the place of the sign. Its marker has the sign.
        """
        requests = [pending.request for write in refusal.undecided for pending in write.pendings]
        for token in {request.token for request in requests if request.token and request.token in found}:
            place = self.markers.schema.table, self.markers.key(refusal.scope, token)
            yield stored_row(*place, refusal.deadline.send).get("request")

    def _with_rows(self, refusal: Refusal) -> Refusal:
        """The refusal with the rows that its conditions met.

        An engine or a gateway may leave them out. Beside an invalid action it need not tell which conditions failed:
        then all rows are read, as one may be the marker of a repeat.
        """
        hides = any(reason.code == "ValidationError" for _, reason in refusal.reasons)
        reasons = list(refusal.error.reasons)
        for place, (role, reason) in enumerate(refusal.reasons):
            failed, may_have = reason.code == "ConditionalCheckFailed", hides and reason.code == "None"
            if reason.old or not (failed or may_have) or role.kind not in ("item", "marker"):
                continue
            row = stored_row(*self._row_of(refusal, role), refusal.deadline.send)
            if row and (failed or row.get(MARKER_EXPIRY, inf) > self.markers.wall()):  # its condition failed
                reasons[place] = replace(reason, code="ConditionalCheckFailed", old=row)
        return replace(refusal, error=WriteCancelled(str(refusal.error), tuple(reasons)))

    def _row_of(self, refusal: Refusal, role: Role) -> tuple[str, Mapping[str, Any]]:
        """The table and the key of a row that an action stores."""
        scope, write = refusal.scope, refusal.write
        request = write.pendings[role.pending].request
        if role.kind == "marker":
            return self.markers.schema.table, self.markers.key(scope, request.token)
        own_key = request.items[role.rider][1]
        return self.assigner.layout.schema.table, own_key or self.assigner.layout.key(scope, self._number(write, role))

    def _number(self, write: PreparedWrite, role: Role) -> int:
        return self.answers.value(write.values[role.pending], role.rider)

    # Who is at fault.

    def read(self, refusal: Refusal) -> None:
        """Answer repeats, note the refusal of requests that are at fault, and learn which numbers are taken.

        A repeat fails on its marker, and on its item and what rides with it: only the marker counts then, as it has the
        first answer. Markers come first, so that a repeat is answered although its counter went back.
        """
        scope, write = refusal.scope, refusal.write
        if not self.assigner.lives.are_still(write.life):
            return
        reasons = [
            (role, reason)
            for role, reason in refusal.reasons
            if reason.code != "None" and reason.code not in RETRYABLE_CANCELLATIONS and role.kind != "check"
        ]
        repeated = {role.pending for role, _ in reasons if role.kind == "marker"}
        raced = any(role.kind == "counter" for role, _ in reasons)
        try:
            for role, reason in sorted(reasons, key=lambda pair: pair[0].kind != "marker"):
                if role.kind == "counter":
                    self._read_counter(refusal, reason)
                elif role.kind == "marker" or role.pending not in repeated:
                    self._read_action(refusal, role, reason, raced=raced)
            if raced or any(_is_numbered(write, role) for role, _ in reasons):
                self.lost(scope, len(write.pendings))
        finally:  # last: of a skipped range other numbers may be taken, too, after which it does not go on
            if any(role.kind == "item" and begins_skip(reason.old or {}) for role, reason in reasons):
                self.assigner.skipped(scope)

    def _read_counter(self, refusal: Refusal, reason: CancellationReason) -> None:
        if reason.code != "ConditionalCheckFailed":
            raise StorageRefused(f"The counter cannot be written: {reason.code}: {reason.message}") from refusal.error
        self.assigner.counter_moved(refusal.scope, reason, refusal.deadline.send)

    def _read_action(self, refusal: Refusal, role: Role, reason: CancellationReason, *, raced: bool) -> None:
        scope, write = refusal.scope, refusal.write
        pending, old = write.pendings[role.pending], reason.old or {}
        if reason.code != "ConditionalCheckFailed":
            what = f"also[{role.rider}]" if role.kind == "also" else "The item"
            pending.refuse(InvalidItem(f"{what} cannot be stored: {reason.code}: {reason.message}"))
        elif role.kind == "also":
            pending.refuse(_also_refused(pending, role.rider, old))
        elif role.kind == "marker":
            if old:  # without the old marker the next attempt asks again
                self.answers.repeat(scope, pending, old)
        elif own_key := pending.request.items[role.rider][1]:
            key = dynamodb.unmarshal(own_key)
            pending.refuse(ItemExists(f"An item with the key {key} is already stored; {_unused(pending)}."))
        elif not raced:  # otherwise who moved the counter has stored an item under the number
            if frozen := frozen_in(old):
                raise operator_errors.frozen(self.assigner.alias, scope, frozen)
            self.assigner.number_taken(scope, pending, self._number(write, role))


def _is_numbered(write: PreparedWrite, role: Role) -> bool:
    """Whether an action stores an item under its number."""
    return role.kind == "item" and not write.pendings[role.pending].request.items[role.rider][1]


def _has_passed(write: PreparedWrite, role: Role, old: Mapping[str, Any]) -> bool:
    """Whether the counter has reached the first value of a write, or its date: then it can never be stored."""
    if role.kind != "counter":
        return False
    last, first_day = old.get("last_value"), write.first_day
    if isinstance(last, int) and last >= write.values[0]:
        return True
    return bool(first_day) and first_day < old.get(LAST_DOCUMENT, {}).get("date", "")


def _also_refused(pending: Pending[PutRequest], index: int, old: Mapping[str, Any]) -> AlsoRefused:
    action = pending.request.also[index]
    found = f"does not hold, {'the row is there' if old else 'there is no such row'}"
    message = f"{action.named(index)}: its condition {action.condition!r} {found}; {_unused(pending)}."
    return AlsoRefused(message, index=index, old=old)


def _unused(pending: Pending[PutRequest]) -> str:
    """What became of the value of a request that is refused."""
    return "no value was used" if pending.value is None else f"the value {pending.value} stays unused"
