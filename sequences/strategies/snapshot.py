"""A scope as one look found it: its counter, its highest item, and what this host remembers."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ..dynamodb.expressions import GIVEN_BACK
from ..exceptions import ScopeNotFound
from ..rows import counter_rows, operator_errors
from ..rows.layout import Send
from ..rows.numbers import highest, is_below
from ..rows.reading import stored_row
from ..rows.stored_counter import StoredCounter
from ..types import Scope
from .base import Strategy


class ScopeSnapshot:
    """A scope as one look at it found it: its counter first, then its highest item. Costs up to three reads."""

    def __init__(self, strategy: Strategy, scope: Scope, send: Send, *, counter: StoredCounter | None = None) -> None:
        strategy.layout.check_scope(scope)
        self.strategy, self.scope, self.send = strategy, scope, send
        self.layout, self.numbers = strategy.layout, strategy.numbers
        self.counter = counter or strategy.counter
        evidence = (self.counter or strategy).evidence
        self._remembered = evidence.known(scope) if evidence else None  # before the reads: others may count on then
        self.row = stored_row(self.counter.table, self.counter.key(scope), send) if self.counter else {}
        self.state = counter_rows.CounterState.of(self.row)
        self.top, _, self.frozen_row = self.layout.top(scope, send)
        if is_below(self.last, self._remembered) and strategy.lives.changed(send):
            self._remembered = None
        if self.top is None and strategy.option.get("scope_must_exist"):
            raise ScopeNotFound.of(strategy.alias, scope, "create it before you change it")

    def change(self, **how: Any) -> dict[str, Any]:
        """An update of the counter, which must be there; `how` is as for `change_row`."""
        assert self.counter is not None
        return self.counter.rows.change(self.scope, **how)

    @property
    def may_be_held(self) -> bool:
        """Whether a process may still hand out a value that is not above the counter, of a block or a given back one.

        A row may offer some under any strategy, for BlockAllocator may be replaced, and come back, without a switch.
        """
        return not self.strategy.ordered_across_processes or GIVEN_BACK in self.row

    @cached_property
    def by_rows(self) -> bool:
        """Whether writers count the stored items: always, or while a switch is under way."""
        if self.strategy.counter is None:
            return True
        return self.layout.in_collections and self.strategy.following.now(self.send)

    @property
    def last(self) -> int | None:
        """The last value of the scope, as its counter and its items tell it.

        An item of another Region moves no counter; where items are the count, that goes on above it.
        """
        top = self.top if self.counts(self.top) else None
        if top is not None and self.numbers.is_of_others(top):
            top = None if self.counter else self.numbers.up_to(top, self.numbers.before_start)
        return highest(self.state.last_value, top)

    @property
    def counted(self) -> int | None:
        """The last value that writers count on from: an imported row moves no counter."""
        return self.last if self.by_rows else self.state.last_value

    @property
    def handed_out(self) -> int:
        """The highest value that is known to have been handed out or stored; the value before START if there is none.

        That is also what the counter and this host remember.
        """
        known = (self.last, self.state.highest, self._remembered)
        return max([self.numbers.before_start, *(value for value in known if value is not None)])

    @property
    def frozen(self) -> Mapping[str, Any] | None:
        """By whom, since when and why the scope is frozen, or its period is closed; None if it is not.

        At its counter or at its highest row.
        """
        return counter_rows.frozen_at(self.strategy.wall(), self.state.frozen, self.state.closing) or self.frozen_row

    def counts(self, number: int | None) -> bool:
        """Whether a stored number is one of the sequence's values, and not below START."""
        return number is not None and number >= self.numbers.start

    def require_existing(self) -> None:
        """Raise ScopeNotFound for a scope that has neither a counter nor items."""
        if not self.row and self.top is None:
            place = "without a scope" if self.scope is None else f"in the scope {self.scope!r}"
            raise ScopeNotFound(
                f"{self.strategy.alias!r} has counted nothing {place}, so nothing was changed: name a scope that has "
                "numbers, or take every one (--all-scopes, EVERY_SCOPE)."
            )

    def require_order(self) -> None:
        """Raise SequenceWentBack for a scope that is lower than a value it handed out."""
        alias, scope = self.strategy.alias, self.scope
        if self.counter and not self.by_rows:
            known = self.state.should_be(self._remembered)
            if known is not None:
                raise operator_errors.went_back(alias, scope, found=self.state.last_value, known=known)
        elif self.counter is None and self.handed_out > (self.numbers.before_start if self.last is None else self.last):
            raise operator_errors.items_went_back(alias, scope, found=self.last, known=self.handed_out)

    def require_stored(self) -> None:
        """Raise SequenceWentBack if a value was handed out that neither the counter nor an item has."""
        if self.last is not None and self.handed_out > self.last:
            found = self.state.last_value
            raise operator_errors.went_back(self.strategy.alias, self.scope, found=found, known=self.handed_out)

    def require_thawed(self) -> None:
        """Raise SequenceFrozen for a scope that is frozen."""
        if self.frozen:
            raise operator_errors.frozen(self.strategy.alias, self.scope, self.frozen)
