"""The strategies, one a file; `base` says what every strategy is, `counters` what those with a counter share."""

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
