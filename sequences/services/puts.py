"""One call that stores items: its checked arguments, its writes, and its answers."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ..actions import Action
from ..commit.requests import Pending, PutRequest, allocated
from ..commit.retries import Deadline
from ..exceptions import GaveUp, InvalidToken, SequenceError
from ..metrics import NOTHING, metrics
from ..registry import strategies
from ..types import Allocation, Scope
from .arguments import check_scope, check_token
from .reporting import report

if TYPE_CHECKING:
    from ..strategies.base import Strategy

A = TypeVar("A")


@dataclass(slots=True, kw_only=True, eq=False)
class PutCall:
    """One valid call of `put_next` or `put_next_many`: its requests, and its deadline, which begins with it."""

    strategy: Strategy
    scope: Scope
    pendings: Sequence[Pending[PutRequest]]
    deadline: Deadline

    @classmethod
    def of(
        cls,
        sequence: str,
        items: Sequence[Mapping[str, Any]],
        scope: str | None,
        idempotency_tokens: Sequence[str | None] | None,
        also: Sequence[Action] = (),
        date: datetime.date | None = None,
    ) -> PutCall:
        """Check the arguments of a call.

        Raises InvalidScope, InvalidToken, InvalidSequence, InvalidItem, and ValueError for a wrong date.
        """
        began = time.monotonic()
        tokens = [None] * len(items) if idempotency_tokens is None else list(idempotency_tokens)
        if isinstance(idempotency_tokens, str) or len(tokens) != len(items):
            raise InvalidToken(
                f"There are {len(items)} items and {len(tokens)} idempotency tokens; give one for each, or none."
            )
        check_scope(scope)
        for token in tokens:
            check_token(token, sequence)
        strategy = strategies.of(sequence, scope, date)
        counted, day = strategy.naming.dated(scope, date)
        deadline, request = strategy.deadline(began), strategy.item_writer.request
        pendings = [
            Pending(request(item, token, also, day), deadline) for item, token in zip(items, tokens, strict=True)
        ]
        return cls(strategy=strategy, scope=counted, pendings=pendings, deadline=deadline)

    @classmethod
    def together(
        cls,
        sequence: str,
        items: Sequence[Mapping[str, Any]],
        scope: str | None,
        idempotency_token: str | None,
        date: datetime.date | None,
    ) -> PutCall:
        """Check the arguments of a call that stores all of its items or none. Raises what `of` raises."""
        began = time.monotonic()
        check_scope(scope)
        check_token(idempotency_token, sequence)
        strategy = strategies.of(sequence, scope, date)
        counted, day = strategy.naming.dated(scope, date)
        request = strategy.item_writer.request(items[0], idempotency_token, (), day, items[1:])
        deadline = strategy.deadline(began)
        return cls(strategy=strategy, scope=counted, pendings=[Pending(request, deadline)], deadline=deadline)

    @property
    def unanswered(self) -> list[Pending[PutRequest]]:
        """The requests that have no answer yet."""
        return [pending for pending in self.pendings if pending.answer is None]

    def again(self, make: Callable[[], PutCall]) -> PutCall | None:
        """The same call by the rules that its scope has now, for what failed by its former ones; None if nothing did.

        `make` makes it anew.
        """
        failed = {
            one
            for one in self.pendings
            if isinstance(error := one.answer, SequenceError) and strategies.go_on(self.strategy, self.scope, error)
        }
        if not failed:
            return None
        call = make()
        call.deadline.began = self.deadline.began
        call.pendings = [new if old in failed else old for old, new in zip(self.pendings, call.pendings, strict=True)]
        return call

    def allocations(self) -> list[Allocation]:
        """The allocations of its items. Raises the error of the first request that failed."""
        return [one for pending in self.pendings for one in (allocated(pending), *pending.rest)]

    def answers(self) -> list[Allocation | SequenceError]:
        """For each item its allocation or its error."""
        return [pending.answer for pending in self.pendings if isinstance(pending.answer, Allocation | SequenceError)]


def put(make: Callable[[], PutCall], answers: Callable[[PutCall], list[A]]) -> list[A]:
    """Store the items of one call, and report how it ended; return its answers, or raise the error that they raise."""
    call = make()
    with metrics.call("put", call.strategy.alias) if metrics.on else NOTHING:
        try:
            store(call.strategy, call.scope, call.pendings, call.deadline)
            while following := call.again(make):
                call = following
                store(call.strategy, call.scope, call.unanswered, call.deadline)
        except SequenceError as error:
            _settle(call.pendings, error)
            raise
        finally:
            report(call.strategy, call.scope, call.pendings)
        return answers(call)


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
