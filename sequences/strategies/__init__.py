"""The strategies, one in each file.

`base` defines what every strategy is. `counter_strategy` has what the strategies share that take a value before they
store its item. Strategies are built from `item_writer`, `assignments`, `markers`, `stored_counter`, `supply` (of
blocks), `item_collections`, `numbers`, `lives` (of tables), `lru`, `options` and `put_requests`.
"""

from .atomic import AtomicCounter
from .base import Strategy
from .block import BlockAllocator
from .optimistic import OptimisticCounter
from .sort_key import SortKeyMaximum
from .transactional import TransactionalCounter

__all__ = [
    "AtomicCounter",
    "BlockAllocator",
    "OptimisticCounter",
    "SortKeyMaximum",
    "Strategy",
    "TransactionalCounter",
]
