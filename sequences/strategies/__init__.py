"""The strategies, one a file.

`base` says what every strategy is, and `counter_strategy` what those share that take a value before its item is stored.
What they are made of: `item_writer`, `markers`, `stored_counter`, `supply` (of blocks), `item_collections`, `numbers`,
`lives` (of tables), `lru`, `options`.
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
