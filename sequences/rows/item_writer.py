"""Writes items under their values, together with their markers and what rides with them.

An `Assigner` decides which value comes next. Each method makes one attempt; `commit_queues` decides which requests are
written together, and retries. Why a write was refused is read in `refusals`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from .. import dynamodb
from ..commit.host_lock import HostLock, hold_host_lock
from ..commit.requests import Committer, Decision, Pending, Placed, PreparedWrite, PutRequest, Refusal, Role
from ..commit.retries import Deadline, new_token
from ..dynamodb import expressions
from ..exceptions import SequenceExhausted, SequenceFrozen, SequenceWentBack
from ..metrics import metrics
from ..metrics.instruments import TURN
from ..types import Scope
from .answers import Answers, Markers
from .assignments import Assigner, Assignment, Hint
from .host_queue import HostQueue, Turn
from .put_requests import BroughtKeys, Requests
from .refusals import Refusals


@dataclass(eq=False, repr=False)
class ItemWriter(Committer):
    """Stores the items of one sequence. With a `line`, processes and hosts that race at a scope take turns."""

    assigner: Assigner
    markers: Markers
    line: HostQueue | None

    def __post_init__(self) -> None:
        self.layout, self.lives = self.assigner.layout, self.assigner.lives
        self.most_actions, self._clock = self.assigner.most_actions, self.assigner.timing.clock
        self.answers = Answers(self.assigner, self.markers)
        own_key = BroughtKeys(self.layout).of
        requests = Requests(self.assigner, own_key, self.markers.digest, self.answers.sample)
        self.request, self.reservation, self.parts = requests.put, requests.reservation, requests.parts
        self.refusals = Refusals(self.assigner, self.markers, self.answers, self._lost)
        self._turns: dict[Scope, tuple[HostLock, Turn]] = {}
        """The turns that this process has, on its host and in the queue of hosts."""

    @contextmanager
    def exclusively(self, scope: Scope, deadline: Deadline) -> Iterator[bool]:
        """Hold the host lock of the scope, and have a turn in the queue of hosts where there is one.

        Take over their hints before the block, and leave new ones when a write is stored in it.
        """
        if self.line is None:
            yield False
            return
        wanted_at, counted_in = self._clock(), f"{self.lives.name}|{self.layout.collection(scope)}"
        with hold_host_lock(counted_in, deadline.left) as lock:
            if metrics.on:
                metrics.tell(TURN, self._clock() - wanted_at, self.assigner.alias)
            given, own = lock.hint(), self.assigner.hint(scope)
            if given and given[1] <= self._clock() and (own is None or given[1] > own.at):
                self.assigner.accept_hint(scope, Hint(*given))
            with self.line.turn(scope, counted_in, wanted_at, deadline) as turn:
                if turn.last_value is not None:
                    self.assigner.accept_hint(scope, Hint(turn.last_value, self._clock()))
                self._turns[scope] = lock, turn
                try:
                    yield turn.place > 0
                finally:
                    self._turns.pop(scope, None)
                own = self.assigner.hint(scope) if turn.place else None
                turn.last_value = own.last_value if own and own.at >= wanted_at else None

    def _pass_on(self, scope: Scope) -> None:
        """Leave the hint, and let the next process of the host go on, before the callers of this one are answered.

        In the queue of hosts the place is given back first.
        """
        held = self._turns.get(scope)
        if held is None:
            return
        lock, turn = held
        if own := self.assigner.hint(scope):
            lock.leave_hint(own.last_value, own.at)
        if not turn.place:
            lock.release()

    def prepare(
        self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline
    ) -> PreparedWrite | None:
        """Prepare one write of these items, their markers, and the counter if the values come from one."""
        life = self.lives.current
        if not self.lives.takes_transactions:
            pendings = pendings[:1]
        assignment = self._assign(scope, pendings, deadline)
        if not assignment.pendings:
            return None
        is_new = assignment.values[0] == self.assigner.numbers.start
        self.assigner.scope_list.add(scope, deadline.send, pendings[0], is_new=is_new)
        self._charge(scope, assignment)
        signs = [new_token() for _ in assignment.pendings]
        actions, roles = self._actions(scope, assignment, signs)
        token = assignment.token or signs[0]
        if len(actions) == 1:
            operation, request = "put_item", expressions.single_write(actions[0])
        else:  # without a request token: exactness does not rest on it, and engines take longer to remember it
            operation, request = "transact_write_items", expressions.transaction(actions)
        return PreparedWrite(
            operation=operation,
            request=request,
            pendings=tuple(assignment.pendings),
            values=tuple(assignment.values),
            roles=tuple(roles),
            token=token,
            signs=frozenset((token, *signs)),
            first_day=assignment.first_day,
            life=life,
        )

    def _actions(
        self, scope: Scope, assignment: Assignment, signs: Sequence[str]
    ) -> tuple[list[Mapping[str, Any]], list[Role]]:
        """The actions of one write, and what each is for. Each request has a sign of its own."""
        actions = [assignment.counter] if assignment.counter else []
        roles = [Role("counter")] if assignment.counter else []
        for index, (pending, value) in enumerate(zip(assignment.pendings, assignment.values, strict=True)):
            request, sign = pending.request, signs[index]
            for place, item in enumerate(request.items):
                row = self.row(scope, request, item, self.answers.value(value, place), sign)
                actions.append(expressions.put_if_absent(self.layout.schema, row))
                roles.append(Role("item", index, place))
            if request.token:
                actions.append(self.markers.put(scope, request, value, sign))
                roles.append(Role("marker", index))
            if request.also:
                write = self.answers.writing(value, scope, request.day)
                actions += [action.wire(value, write) for action in request.also]
                roles += [Role("also", index, rider) for rider in range(len(request.also))]
        if assignment.check:
            actions.append(assignment.check)
            roles.append(Role("check"))
        return actions, roles

    def _charge(self, scope: Scope, assignment: Assignment) -> None:
        """Share out what it cost to find the values, and to have the turn."""
        _, turn = self._turns.get(scope, (None, Turn()))
        count, read_units = len(assignment.pendings), assignment.read_units + turn.read_units
        if read_units or turn.write_units:
            for pending in assignment.pendings:
                pending.charge(read_units=read_units / count, write_units=turn.write_units / count)
            turn.read_units = turn.write_units = 0.0

    def _assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        """Assign the next values. A repeat needs none, and is answered although there is none."""
        try:
            return self.assigner.assign(scope, pendings, deadline)
        except (SequenceExhausted, SequenceFrozen, SequenceWentBack):
            for pending in pendings:
                self.answers.repeat_if_marked(scope, pending, deadline)
            raise

    def row(self, scope: Scope, request: PutRequest, placed: Placed, value: int, sign: str) -> Mapping[str, Any]:
        """The row of an item of a request, under its value."""
        item, own_key = placed
        if request.has_blanks:
            item = dynamodb.filled(item, value, self.answers.writing(value, scope, request.day))
        text = self.assigner.naming.text(value, scope, request.day) if self.layout.text_name else ""
        written = self.layout.written(scope, value, request.token or sign, text, own_key=own_key is not None)
        return self.layout.with_digest({**item, **written})

    def committed(self, scope: Scope, write: PreparedWrite, answer: Mapping[str, Any]) -> None:
        """Answer the requests of a write that is stored."""
        if self.line is not None:
            self.line.won(scope)
        if self.lives.are_still(write.life):
            self.assigner.committed(scope, self.answers.value(write.values[-1], write.pendings[-1].request.count - 1))
        self._pass_on(scope)
        size = [*map(attrgetter("kind"), write.roles)].count("item")
        for pending, value in zip(write.pendings, write.values, strict=True):
            pending.group_size = size
            self.answers.allocate(scope, pending, value, pending.request.day)
        if metrics.on:
            metrics.wrote(self.assigner.alias, "items", size)

    def decide(self, refusal: Refusal) -> Decision:
        return self.refusals.decide(refusal)

    def refused(self, refusal: Refusal) -> None:
        self.refusals.read(refusal)

    def _lost(self, scope: Scope, count: int) -> None:
        if self.line is not None:
            self.line.lost(scope, count)
