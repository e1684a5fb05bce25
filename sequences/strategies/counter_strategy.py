"""What the strategies share that take a value from a counter first and store its item second.

How the counter is written is not here: that is where they differ.
"""

import datetime
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..commit.commit_queues import CommitQueues
from ..commit.requests import Committer, Pending, PreparedWrite, PutRequest, ReserveRequest, allocated, values_of
from ..commit.retries import Deadline
from ..exceptions import OperationNotSupported, SequenceError, SequenceExhausted
from ..metrics import metrics
from ..rows.assignments import Assignment
from ..rows.counter_rows import CounterState, require_gaps
from ..rows.options import Option
from ..rows.places import COUNTER_OPTIONS
from ..rows.stored_counter import StoredCounter
from ..types import Scope, SequenceConfig
from .base import Strategy
from .scopes import CounterScopes


class WithCounters(Strategy):
    """A strategy that has counters, which are its evidence and show its scopes."""

    counts_by_region = True
    options: ClassVar[Mapping[str, Option]] = {**Strategy.options, **COUNTER_OPTIONS}
    counter: StoredCounter

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        self.counter = StoredCounter(self)
        self.evidence = self.counter.evidence
        self.scopes = CounterScopes(self, self.counter)

    def last_value(self, scope: Scope) -> int | None:
        state = self.counter.state(scope, self.deadline().read, even_frozen=True)
        return state.last_value if state.stored is None else self.counter.last_value(state)


def counter_of(strategy: Strategy) -> StoredCounter:
    """The counters of the scopes. Raises OperationNotSupported for a strategy that has none."""
    if strategy.counter is None:
        raise OperationNotSupported(
            f"The sequence {strategy.alias!r} ({type(strategy).__name__}) has no counter to move: it counts on from "
            "its highest stored item. Store the item that has the highest number."
        )
    return strategy.counter


def advance_to(strategy: Strategy, scope: Scope, value: int, *, only_new: bool = False) -> int | None:
    """Move the counter up, so that the next value is above `value` (see `StoredCounter.advance_to`).

    Raises OperationNotSupported without a counter.
    """
    counter, deadline = counter_of(strategy), strategy.deadline()
    strategy.lives.bind(deadline.send, deadline)
    how = {"gapless": strategy.gapless, "drops": not strategy.ordered_across_processes}
    last_value = counter.advance_to(scope, value, deadline, only_new=only_new, **how)
    strategy.changed(scope, last_value)
    return last_value


def delete_counter(strategy: Strategy, scope: Scope) -> bool:
    """Delete the counter; return whether there was one. Raises OperationNotSupported without a counter."""
    counter, deadline = counter_of(strategy), strategy.deadline()
    strategy.lives.bind(deadline.send, deadline)  # what the host remembers has a name that they are in
    deleted = counter.delete(scope, deadline)
    strategy.changed(scope, None)
    return deleted


class CounterStrategy(WithCounters):
    """A strategy that takes a value first and stores its item second.

    With an idempotency token the item and its marker are one transaction, so that a token never gets two items. A value
    stays unused if a process stops between the two requests, or if two repeats of a request come at the same moment.
    """

    gapless = False
    supports_reserve = True
    exactly_once = False
    takes_own_keys = True
    writes_together = False
    joins_reservations: ClassVar[bool] = True

    def __init__(self, config: SequenceConfig, **clocks: Any) -> None:
        super().__init__(config, **clocks)
        joins = self.joins_reservations and self.option["group"]
        self.reservations = CommitQueues(self.committer(), joins=joins)

    @abstractmethod
    def committer(self) -> Committer:
        """The committer that takes values from the counter."""

    def next_value(self, scope: Scope) -> int:
        """Take the next value before its item is stored."""
        return self.reserve(scope, 1, self.deadline())[0]

    def reserve(self, scope: Scope, count: int, deadline: Deadline) -> range | list[int]:
        """Take `count` values before their items are stored."""
        self.lives.bind(deadline.send, deadline)
        return values_of(self.take(scope, count, deadline))

    def reserve_once(
        self, scope: Scope, count: int, token: str, day: datetime.date | None, deadline: Deadline
    ) -> tuple[range, bool]:
        """Take `count` values, or give a repeat of the token the same ones; return them, and whether it is a repeat."""
        pending = Pending(self.item_writer.reservation(count, token, scope, day))
        self.put(scope, [pending], deadline)
        allocation, step = allocated(pending), self.numbers.step
        return range(allocation.value, allocation.value + step * count, step), allocation.replayed

    def reserve_all(self, scope: Scope, pendings: Sequence[Pending[ReserveRequest]], deadline: Deadline) -> None:
        """Take the values of many callers, by one write of the counter; or settle a request with its error."""
        self.lives.bind(deadline.send, deadline)
        least = min(pendings, key=lambda one: one.request.count)  # where not even that one fits, nothing moves
        self.scope_list.add(scope, deadline.read, least)
        self.reservations.submit(scope, pendings, deadline)
        self.counter.tidy(scope, deadline.send)

    def held(self, scope: Scope) -> int | None:
        """How many reserved values of a scope this process serves from memory; None if it never holds any."""
        return None

    def take(self, scope: Scope, count: int, deadline: Deadline) -> Pending[ReserveRequest]:
        """Take `count` values from the counter, together with other callers; return the answered request."""
        pending = Pending(ReserveRequest(count=count), deadline)
        self.scope_list.add(scope, deadline.read, pending)
        self.reservations.submit(scope, [pending], deadline)
        self.counter.tidy(scope, deadline.send)
        if isinstance(pending.answer, SequenceError):
            raise pending.answer
        return pending

    def take_in_a_row(self, scope: Scope, count: int, deadline: Deadline) -> Pending[ReserveRequest]:
        """Take values that follow each other, as `take` does: straight from the counter."""
        return CounterStrategy.take(self, scope, count, deadline)

    def takeable(
        self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline
    ) -> Sequence[Pending[PutRequest]]:
        """Answer a repeat from its marker first, so that it takes no value."""
        pendings = super().takeable(scope, pendings, deadline)
        for pending in pendings:
            self.item_writer.answers.repeat_if_marked(scope, pending, deadline)
        return [pending for pending in pendings if pending.answer is None]

    def assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        """Take values for the requests without one. A request keeps its value until another item is found under it.

        Where not enough values are left, the first requests get them.
        """
        self.counter.catch_up(scope, deadline.send)
        try:
            self._take_for(scope, pendings, deadline)
        except SequenceExhausted:
            if all(pending.value is None for pending in pendings):
                raise
        served = [(pending, pending.value) for pending in pendings if pending.value is not None]
        return Assignment([pending for pending, _ in served], [value for _, value in served])

    def _take_for(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> None:
        """Take values for the requests without one; if that is too many, for half of them."""
        waiting = [pending for pending in pendings if pending.value is None]
        singles = [pending for pending in waiting if pending.request.count == 1]
        try:
            if singles:
                _share(self.take(scope, len(singles), deadline), singles)
            for pending in waiting:
                if pending.request.count > 1:
                    _share(self.take_in_a_row(scope, pending.request.count, deadline), [pending])
        except SequenceExhausted:
            if len(waiting) == 1:
                raise
            self._take_for(scope, waiting[: len(waiting) // 2], deadline)

    def number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int) -> None:
        """An imported row has this number: the counter is behind the stored items."""
        pending.value = None
        self.counter.memory.fell_behind(scope, value)


def _share(taken: Pending[ReserveRequest], pendings: Sequence[Pending[PutRequest]]) -> None:
    """Give the first values that were taken to these requests, one each, and share what they cost."""
    for pending, value in zip(pendings, values_of(taken), strict=False):
        pending.value = value
        pending.charge(write_units=taken.write_units / len(pendings), read_units=taken.read_units / len(pendings))


class CounterCommitter(Committer):
    """Takes values from one counter for a group of callers, by one write of the counter.

    No write moves a counter that was switched to a gapless strategy (`unless_gapless`).
    """

    most_actions = 10_000

    def __init__(self, counter: StoredCounter) -> None:
        self.counter = counter

    def read(self, scope: Scope, deadline: Deadline) -> CounterState:
        """The counter now. Raises RulesChanged if a gapless strategy moves it, and what `state` raises."""
        state = self.counter.state(scope, deadline.send)
        require_gaps(self.counter.alias, scope, state)
        return state

    def taken(self, scope: Scope, write: PreparedWrite, last_value: int) -> None:
        """Give each request its share of the values up to `last_value`, in the order in which they came."""
        if self.counter.lives.are_still(write.life):
            self.counter.evidence.note(scope, last_value)
        step, given = self.counter.numbers.step, sum(pending.request.count for pending in write.pendings)
        if metrics.on:
            metrics.wrote(self.counter.alias, "values", given)
        value = last_value - step * (given - 1)
        for pending in write.pendings:
            count = pending.request.count
            pending.settle(range(value, value + step * count, step))
            value += step * count
