"""One call that stores items: its checked arguments, its writes, and its answers."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ..actions import Action
from ..commit.requests import Pending, PutRequest, allocated
from ..commit.retries import Deadline
from ..exceptions import GaveUp, InvalidToken, SequenceError
from ..metrics import NOTHING, metrics
from ..registry import strategies
from ..types import Allocation, Scope
from .arguments import check_token, placed
from .reporting import report

if TYPE_CHECKING:
    from ..strategies.base import Strategy

A = TypeVar("A")


@dataclass(slots=True, eq=False)
class PutCall:
    """One call that stores items: its arguments, and from `begin` on its requests and their deadline.

    Each item has an idempotency token or None; those that are stored `together` share one.
    """

    sequence: str
    items: Sequence[Mapping[str, Any]]
    scope: str | None
    tokens: Sequence[str | None] | None
    date: datetime.date | None
    also: Sequence[Action] = ()
    together: bool = False
    strategy: Strategy = field(init=False)
    counted: Scope = field(init=False)
    """The scope in its period."""
    pendings: Sequence[Pending[PutRequest]] = field(init=False)
    deadline: Deadline = field(init=False)

    def begin(self) -> None:
        """Check the arguments, and make the requests by the rules that the scope has now.

        Raises InvalidScope, InvalidToken, InvalidSequence, InvalidItem, and ValueError for a wrong date.
        """
        began = time.monotonic()
        wanted = 1 if self.together else len(self.items)
        tokens = [None] * wanted if self.tokens is None else list(self.tokens)
        if isinstance(self.tokens, str) or len(tokens) != wanted:
            raise InvalidToken(
                f"There are {wanted} items and {len(tokens)} idempotency tokens; give one for each, or none."
            )
        for token in tokens:
            if token is not None:
                check_token(token, self.sequence)
        strategy, counted, day = placed(self.sequence, self.scope, self.date)
        deadline, request = strategy.deadline(began), strategy.item_writer.request
        if self.together:
            pendings = [Pending(request(self.items[0], tokens[0], (), day, self.items[1:]), deadline)]
        else:
            each = zip(self.items, tokens, strict=True)
            pendings = [Pending(request(item, token, self.also, day), deadline) for item, token in each]
        self.strategy, self.counted, self.deadline, self.pendings = strategy, counted, deadline, pendings

    def again(self) -> bool:
        """Begin again with what failed by the former rules of its scope; False if nothing did."""
        failed = {
            one
            for one in self.pendings
            if isinstance(error := one.answer, SequenceError) and strategies.go_on(self.strategy, self.counted, error)
        }
        if failed:
            before, began = self.pendings, self.deadline.began
            try:
                self.begin()
            except SequenceError:
                if len(failed) == len(before):
                    raise
                return False  # what is stored keeps its answer, and the others their errors
            self.deadline.began = began
            self.pendings = [new if old in failed else old for old, new in zip(before, self.pendings, strict=True)]
        return bool(failed)

    def allocations(self) -> list[Allocation]:
        """The allocations of its items. Raises the error of the first request that failed."""
        return [one for pending in self.pendings for one in (allocated(pending), *pending.rest)]

    def answers(self) -> list[Allocation | SequenceError]:
        """For each item its allocation or its error."""
        return [pending.answer for pending in self.pendings if isinstance(pending.answer, Allocation | SequenceError)]


def put(call: PutCall, answers: Callable[[PutCall], list[A]]) -> list[A]:
    """Store the items of one call, and report how it ended; return its answers, or raise the error that they raise.

    An error of the whole call is raised if nothing is stored. Else it is the answer of each item without one.
    """
    call.begin()
    with metrics.call("put", call.strategy.alias) if metrics.on else NOTHING:
        try:
            store(call.strategy, call.counted, call.pendings, call.deadline)
            while call.again():
                unanswered = [pending for pending in call.pendings if pending.answer is None]
                store(call.strategy, call.counted, unanswered, call.deadline)
        except SequenceError as error:
            _settle(call.pendings, error)
            if not any_stored(call.pendings):
                raise  # else each item has its answer, as some are stored
        finally:
            report(call.strategy, call.counted, call.pendings)
        return answers(call)


def any_stored(pendings: Sequence[Pending[PutRequest]]) -> bool:
    """Whether any of these requests has stored its items."""
    return any(isinstance(pending.answer, Allocation) for pending in pendings)


def store(strategy: Strategy, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> None:
    """Store the items of one call, or of several calls, in as few writes as possible.

    After a write gave up on a request, the other writes are not tried.
    """
    for part in [pendings] if len(pendings) == 1 else strategy.item_writer.parts(pendings):
        try:
            strategy.put(scope, part, deadline)
        except GaveUp as early:  # while looking up a marker
            _settle(part, early)
        for pending in part:
            if isinstance(pending.answer, GaveUp):
                _settle(pendings, pending.answer)
                return


def _settle(pendings: Sequence[Pending[Any]], error: SequenceError) -> None:
    for pending in pendings:
        pending.settle(error)
