"""Writes items under their values, together with their markers, and reads why a write was refused.

An `Assigner` decides which value comes next. Each method makes one attempt; `commit_queues` decides which requests are
written together, and retries.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from .. import dynamodb, expressions
from ..actions import Action
from ..commits import MOST_BYTES, Committer, Pending, PreparedWrite, PutRequest, Role
from ..exceptions import (
    AlsoRefused,
    CancellationReason,
    IdempotencyMismatch,
    InvalidItem,
    ItemExists,
    SequenceExhausted,
    SequenceFrozen,
    SequenceWentBack,
    StorageRefused,
    WriteCancelled,
)
from ..host_lock import hold_host_lock
from ..metrics import metrics
from ..retries import RETRYABLE_CANCELLATIONS, Deadline, new_token
from ..types import Allocation, Dated, Scope, parted
from . import remedies
from .assignments import Assigner, Assignment, Hint
from .host_line import HostLine, Turn
from .layout import ItemLayout, begins_skip, frozen_in
from .lives import TableLives
from .markers import Markers
from .put_requests import in_transactions, put_request, reservation

__all__ = ["ItemWriter", "Texts"]

Texts = Callable[[int, str | None, datetime.date | None, str], str]
"""The text of a value, with its scope, the document's date and its period."""


class ItemWriter(Committer):
    """Stores the items of one sequence. With a `line`, processes and hosts that race at a scope take turns."""

    def __init__(
        self,
        assigner: Assigner,
        layout: ItemLayout,
        markers: Markers,
        lives: TableLives,
        *,
        most_actions: int,
        line: HostLine | None,
        clock: Callable[[], float],
        texts: Texts,
    ) -> None:
        self.assigner = assigner
        self.layout = layout
        self.markers = markers
        self.lives = lives
        self.most_actions = most_actions
        self.line = line
        self.clock = clock
        self.texts = texts
        self._turns: dict[Scope, Turn] = {}
        """The turns in the line of hosts that are not paid for yet."""

    def request(
        self,
        item: Mapping[str, Any],
        token: str | None,
        also: Sequence[Action] = (),
        day: datetime.date | None = None,
        more: Sequence[Mapping[str, Any]] = (),
    ) -> PutRequest:
        """The request for an item, with or without an idempotency token of the caller. Raises InvalidItem.

        `more` has the items that are stored with it.
        """
        own_key, digest = self.layout.own_key, self.markers.digest
        request = put_request(item, token, more=more, also=also, day=day, own_key=own_key, digest=digest)
        if more:
            self._check_together(request)
        elif request.actions > self.most_actions:
            most = self.most_actions - request.actions + len(also)
            raise InvalidItem(f"also has {len(also)} actions; one transaction holds {most} beside this item.")
        return request

    def _check_together(self, request: PutRequest) -> None:
        most = self.most_actions - request.marked
        if request.count > most:
            raise InvalidItem(f"There are {request.count} items; one transaction holds {most} of them.")
        if request.size > MOST_BYTES:
            raise InvalidItem(f"The items have {request.size:,} bytes; one transaction holds {MOST_BYTES:,}.")

    def reservation(self, count: int, token: str, scope: Scope, day: datetime.date | None = None) -> PutRequest:
        """The request for `count` values that a repeat with the same token gets again."""
        return reservation(count, token, parted(scope)[1], day=day, digest=self.markers.digest)

    def parts(self, pendings: Sequence[Pending[PutRequest]]) -> Iterator[Sequence[Pending[PutRequest]]]:
        """Split requests, in their order, into as few parts as single writes can hold."""
        return in_transactions(pendings, self.most_actions)

    @contextmanager
    def exclusively(self, scope: Scope, deadline: Deadline) -> Iterator[bool]:
        """Hold the host lock of the scope, and have a turn in the line of hosts where there is one.

        Take over their hints before the block, and leave new ones after it.
        """
        if self.line is None:
            yield False
            return
        wanted_at = self.clock()
        with hold_host_lock(f"{self.lives}|{self.layout.partition(scope)}", deadline.left) as lock:
            if metrics.on:
                metrics.had_turn(self.markers.alias, self.clock() - wanted_at)
            given, own = lock.hint(), self.assigner.hint(scope)
            if given and given[1] <= self.clock() and (own is None or given[1] > own.at):
                self.assigner.accept_hint(scope, Hint(*given))
            with self.line.turn(scope, wanted_at, deadline) as turn:
                if turn.last_value is not None:
                    self.assigner.accept_hint(scope, Hint(turn.last_value, self.clock()))
                self._turns[scope] = turn
                yield turn.place > 0
                self._turns.pop(scope, None)
                own = self.assigner.hint(scope)
                turn.last_value = own.last_value if own else None
            if own:
                lock.leave_hint(own.last_value, own.at)

    def prepare(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> PreparedWrite:
        """Prepare one write of these items, their markers, and the counter if the values come from one."""
        life = self.lives.current
        if not self.lives.takes_transactions:
            pendings = pendings[:1]
        assignment = self._assign(scope, pendings, deadline)
        self._charge(scope, assignment)
        actions = [assignment.counter] if assignment.counter else []
        roles = [Role("counter")] if assignment.counter else []
        for index, (pending, value) in enumerate(zip(assignment.pendings, assignment.values, strict=True)):
            request = pending.request
            text = self._text(value, scope, request.day) if request.also or self.layout.text_name else ""
            if request.item is not None:
                actions.append(expressions.put_if_absent(self.layout.schema, self._item(scope, request, value, text)))
                roles.append(Role("item", index))
            if request.more:
                actions += self._following(scope, request, value)
                roles += [Role("item", index, place) for place in range(1, request.count)]
            if request.marked:
                actions.append(self.markers.put(scope, request, value))
                roles.append(Role("marker", index))
            if request.also:
                actions += [action.wire(value, text) for action in request.also]
                roles += [Role("also", index, rider) for rider in range(len(request.also))]
        single = len(actions) == 1
        token = assignment.token or new_token()
        return PreparedWrite(
            operation="put_item" if single else "transact_write_items",
            request=expressions.single_write(actions[0])
            if single
            else expressions.transaction(actions, request_token=token),
            pendings=tuple(assignment.pendings),
            values=tuple(assignment.values),
            roles=tuple(roles),
            token=token,
            life=life,
        )

    def _charge(self, scope: Scope, assignment: Assignment) -> None:
        """Share out what it cost to find the values, and to have the turn."""
        turn, count = self._turns.pop(scope, Turn()), len(assignment.pendings)
        read_units = assignment.read_units + turn.read_units
        for pending in assignment.pendings:
            pending.charge(read_units=read_units / count, write_units=turn.write_units / count)

    def _assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        """Assign the next values. A repeat needs none, and is answered although there is none."""
        try:
            return self.assigner.assign(scope, pendings, deadline)
        except (SequenceExhausted, SequenceFrozen, SequenceWentBack):
            for pending in pendings:
                if pending.request.marked:
                    self.answer_repeat(scope, pending, deadline)
            raise

    def _item(self, scope: Scope, request: PutRequest, value: int, text: str, place: int = 0) -> dict[str, Any]:
        item, own_key = request.items[place]
        return {**item, **self.layout.written(scope, value, request.token, text, own_key=own_key is not None)}

    def _following(self, scope: Scope, request: PutRequest, value: int) -> Iterator[Mapping[str, Any]]:
        """The actions that store the items after the first, under the values after the first one."""
        for place in range(1, request.count):
            number = self._value(value, place)
            text = self._text(number, scope, request.day) if self.layout.text_name else ""
            yield expressions.put_if_absent(self.layout.schema, self._item(scope, request, number, text, place))

    def committed(self, scope: Scope, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        """Answer the requests of a write that is stored."""
        if self.line is not None:
            self.line.won(scope)
        if write.life == self.lives.current:
            self.assigner.committed(scope, self._value(write.values[-1], write.pendings[-1].request.count - 1))
        size = sum(len(pending.request.items) for pending in write.pendings)
        for pending, value in zip(write.pendings, write.values, strict=True):
            pending.group_size = size
            self._allocate(scope, pending, value, pending.request.day)
        if metrics.on:
            metrics.wrote(self.markers.alias, "items", size)

    def _allocate(
        self,
        scope: Scope,
        pending: Pending[PutRequest],
        value: int,
        day: datetime.date | None,
        *,
        replayed: bool = False,
    ) -> None:
        """Answer a request with the allocation of each of its items. They share what it cost."""
        first = self._allocation(scope, pending, value, day, replayed=replayed)
        if pending.request.more:
            count = pending.request.count
            first = replace(first, write_units=first.write_units / count, read_units=first.read_units / count)
            values = [self._value(value, place) for place in range(1, count)]
            pending.rest = tuple(replace(first, value=one, text=self._text(one, scope, day)) for one in values)
        pending.settle(first)

    def _allocation(
        self,
        scope: Scope,
        pending: Pending[PutRequest],
        value: int,
        day: datetime.date | None,
        *,
        replayed: bool = False,
    ) -> Allocation:
        plain, period = parted(scope)
        return Allocation(
            sequence=self.markers.alias,
            scope=plain,
            value=value,
            attempts=pending.attempts,
            replayed=replayed,
            write_units=pending.write_units,
            read_units=pending.read_units,
            period=period,
            text=self.texts(value, plain, day, period),
        )

    def _value(self, first: int, place: int) -> int:
        """The value of an item, from that of the first item of its request."""
        return first + self.assigner.numbers.step * place

    def _text(self, value: int, scope: Scope, day: datetime.date | None) -> str:
        plain, period = parted(scope)
        return self.texts(value, plain, day, period)

    def refused(self, scope: Scope, write: PreparedWrite, error: WriteCancelled, deadline: Deadline) -> None:
        """Read the reasons one by one, each for its action.

        If a stored item is ours, an earlier send succeeded and only its answer was lost. Writes are all-or-nothing, so
        one match settles every request. A repeat fails on its marker, and on its item and what rides with it: only the
        marker counts then, as it has the first answer. Markers come first, so that a repeat is answered although its
        counter went back.
        """
        reasons = [
            (role, reason)
            for role, reason in zip(write.roles, error.reasons, strict=False)
            if reason.code != "None" and reason.code not in RETRYABLE_CANCELLATIONS
        ]
        if any(self._is_ours(write, role, reason) for role, reason in reasons):
            self.committed(scope, write, {})
            return
        if write.life != self.lives.current:
            return
        repeated = {role.pending for role, _ in reasons if role.kind == "marker"}
        raced = any(role.kind == "counter" for role, _ in reasons)
        try:
            for role, reason in sorted(reasons, key=lambda pair: pair[0].kind != "marker"):
                if role.kind == "counter":
                    self._refused_counter(scope, reason, error, deadline)
                elif role.kind == "marker" or role.pending not in repeated:
                    self._refused_action(
                        scope, role, write.pendings[role.pending], write.values[role.pending], reason, raced=raced
                    )
            if self.line is not None and (raced or write.lost_its_number(error)):
                self.line.lost(scope, len(write.pendings))
        finally:  # last: of a skipped range other numbers may be taken, too, after which it does not go on
            if any(role.kind == "item" and begins_skip(reason.old or {}) for role, reason in reasons):
                self.assigner.skipped(scope)

    def _is_ours(self, write: PreparedWrite, role: Role, reason: CancellationReason) -> bool:
        """Whether this write itself stored what its condition found."""
        old = reason.old or {}
        request = write.pendings[role.pending].request
        match role.kind:
            case "counter":
                return old.get("token") == write.token
            case "marker":
                return (old.get("request"), old.get("value")) == (request.request_id, write.values[role.pending])
            case "item":
                return not request.marked and old.get(self.layout.token_name) == request.token
            case _:
                return False

    def _refused_counter(
        self, scope: Scope, reason: CancellationReason, error: WriteCancelled, deadline: Deadline
    ) -> None:
        if reason.code != "ConditionalCheckFailed":
            raise StorageRefused(f"The counter cannot be written: {reason.code}: {reason.message}") from error
        self.assigner.counter_moved(scope, reason, deadline.send)

    def _refused_action(
        self,
        scope: Scope,
        role: Role,
        pending: Pending[PutRequest],
        value: int,
        reason: CancellationReason,
        *,
        raced: bool,
    ) -> None:
        if reason.code != "ConditionalCheckFailed":
            what = f"also[{role.rider}]" if role.kind == "also" else "The item"
            pending.settle(InvalidItem(f"{what} cannot be stored: {reason.code}: {reason.message}"))
        elif role.kind == "also":
            pending.settle(_also_refused(pending, role.rider, reason.old or {}))
        elif role.kind == "marker":
            if reason.old:  # without the old marker the next attempt asks again
                self._repeat(scope, pending, reason.old)
        elif own_key := pending.request.items[role.rider][1]:
            pending.settle(_item_exists(pending, own_key))
        elif not raced:  # otherwise who moved the counter has stored an item under the number
            self._number_taken(scope, pending, self._value(value, role.rider), reason.old or {})

    def _number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int, old: Mapping[str, Any]) -> None:
        """The row `old` is stored under the value."""
        if frozen := frozen_in(old):
            raise remedies.frozen(self.markers.alias, scope, frozen)
        self.assigner.number_taken(scope, pending, value)

    def answer_repeat(self, scope: Scope, pending: Pending[PutRequest], deadline: Deadline) -> None:
        """Answer a request whose token already has a marker, before it takes a value. One consistent read."""
        marker = self.markers.find(scope, pending, deadline)
        if marker:
            self._repeat(scope, pending, marker)

    def _repeat(self, scope: Scope, pending: Pending[PutRequest], marker: Mapping[str, Any]) -> None:
        """Answer a repeat with the first answer, or refuse it if its item differs."""
        if marker.get("digest") != pending.request.digest:
            pending.settle(
                IdempotencyMismatch(
                    f"The idempotency token {pending.request.token!r} was used in {self.markers.alias!r} for another "
                    "item. Use a new token for a new request, and repeat a request unchanged."
                )
            )
        if "value" not in marker:
            return
        value, scope = int(marker["value"]), Dated.of(parted(scope)[0], marker.get("period", ""))
        day = datetime.date.fromisoformat(marker["day"]) if "day" in marker else pending.request.day
        self._allocate(scope, pending, value, day, replayed=True)  # an earlier answer stays
        self.assigner.handed_out(scope, value)


def _item_exists(pending: Pending[PutRequest], own_key: Mapping[str, Any]) -> ItemExists:
    key = dynamodb.unmarshal(own_key)
    return ItemExists(f"An item with the key {key} is already stored; {_unused(pending)}.")


def _also_refused(pending: Pending[PutRequest], index: int, old: Mapping[str, Any]) -> AlsoRefused:
    action = pending.request.also[index]
    found = "the row is there" if old else "there is no such row"
    message = f"also[{index}], a {type(action).__name__}: its condition {action.condition!r} does not hold, {found}; "
    return AlsoRefused(f"{message}{_unused(pending)}.", index=index, old=old)


def _unused(pending: Pending[PutRequest]) -> str:
    """What became of the value of a request that is refused."""
    return "no value was used" if pending.value is None else f"the value {pending.value} stays unused"
