"""How a counter moves past a number that a row brings, so that nobody gets it again."""

import datetime
from typing import Any
from weakref import WeakKeyDictionary

from ..changes import seed
from ..exceptions import SequenceError
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
    try:
        _move_past(strategy, counted, number, who)
    except SequenceError as error:
        if not strategies.go_on(strategy, counted, error):
            raise
        count_past(sequence, scope, day, number, who)


def _move_past(strategy: Strategy, counted: Scope, number: int, who: str) -> None:
    if not strategy.numbers.start <= number <= strategy.numbers.maximum or number <= _known(strategy, counted):
        return
    if strategy.ordered_across_processes and not strategy.gapless:
        advance_to(strategy, counted, number)
        return
    scope, period = parted(counted)
    why = "a number that was set by hand"
    (change,) = seed(strategy.alias, number, scope=scope, period=period or None, by=who, reason=why)
    _cleared.setdefault(strategy, LRU()).put(counted, (strategy.lives.current, change.after))


def _known(strategy: Strategy, scope: Scope) -> int:
    """Up to which value a scope gives nothing any more, as far as this host knows."""
    known: int | None
    if strategy.ordered_across_processes:
        known = strategy.evidence.known(scope) if strategy.evidence else None
    else:  # what is reserved in a block is known, and may still be given
        lives, known = _cleared.get(strategy, LRU()).get(scope) or ((), None)
        known = known if strategy.lives.are_still(lives) else None
    return strategy.numbers.before_start if known is None else known
