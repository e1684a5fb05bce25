"""Numbers that a sequence did not give, because somebody set or imported them: the counter moves past them."""

import datetime
from typing import Any
from weakref import WeakKeyDictionary

from django.db.models import Model
from django.db.models.query_utils import DeferredAttribute

from ..changes import seed
from ..registry import strategies
from ..rows.lru import LRU
from ..strategies import Strategy
from ..strategies.counter_strategy import advance_to
from ..types import Scope, parted

_cleared: WeakKeyDictionary[Strategy, LRU[tuple[Any, int | None]]] = WeakKeyDictionary()
"""Up to which value a strategy with blocks gives nothing any more, in each scope that was seeded here, and in which
life of its tables."""


def count_past(sequence: str, scope: str | None, day: datetime.date | None, number: int, who: str) -> None:
    """Make sure that no later value of a scope is this number, or one below it.

    A number below START, above MAXIMUM, or that this host knows to be given takes nothing. Else the counter is read (1
    read unit) and, if it is lower, moved by one write (1 write unit). That is no line in the history of changes: the
    row says what became of the number, and an import would bring thousands.

    Where numbers have no gaps, what is skipped must be explained. Where processes hold blocks (`BlockAllocator`), a
    line in the history is what makes them drop these. So in both it is the guarded change `seed`, with its cost. Until
    `watch_seconds` are over, another process may still give a number of its block, and the constraint of the column
    refuses one of the two rows.
    Raises SequenceFrozen, SequenceWentBack, SequenceContention, SequenceUnavailable and StorageRefused.
    """
    strategy = strategies.of(sequence, scope, day)
    counted, _ = strategy.naming.dated(scope, day)
    if not strategy.numbers.start <= number <= strategy.numbers.maximum or number <= _known(strategy, counted):
        return
    if strategy.ordered_across_processes and not strategy.gapless:
        advance_to(strategy, counted, number)
        return
    period = parted(counted)[1] or None
    (change,) = seed(sequence, number, scope=scope, period=period, by=who, reason="a number that was set by hand")
    _cleared.setdefault(strategy, LRU()).put(counted, (strategy.lives.current, change.after))


class NumberAttribute(DeferredAttribute):
    """The number of a row as an attribute, which notes that a stored row is given another one."""

    def __set__(self, row: Model, number: Any) -> None:
        values, name = row.__dict__, self.field.attname
        if not row._state.adding and values.get(name, number) != number:
            values[f"_{name}_before"] = values[name]
        values[name] = number

    def is_given(self, row: Model) -> bool:
        """Whether the row had another number, or none, when it was read."""
        name = self.field.attname
        return row.__dict__.get(name) is not None and f"_{name}_before" in row.__dict__

    def is_replaced(self, row: Model) -> bool:
        """Whether a stored row had another number. One that it got elsewhere, as `refresh_from_db` finds it, is new."""
        return row.__dict__.get(f"_{self.field.attname}_before") is not None


def _known(strategy: Strategy, scope: Scope) -> int:
    """Up to which value a scope gives nothing any more, as far as this host knows."""
    known: int | None
    if strategy.ordered_across_processes:
        known = strategy.evidence.known(scope) if strategy.evidence else None
    else:  # what is reserved in a block is known, and may still be given
        lives, known = _cleared.get(strategy, LRU()).get(scope) or ((), None)
        known = known if strategy.lives.are_still(lives) else None
    return strategy.numbers.before_start if known is None else known
