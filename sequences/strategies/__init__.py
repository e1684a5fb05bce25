"""The strategies, one in each file.

`base` defines what every strategy is, and `counter_strategy` what the strategies share that take a value before they
store its item. `scopes` and `snapshot` show scopes to people. The rooms `rows` and `commit` have the parts.

Everything that a strategy of your own needs can be imported from here.
"""

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline, read
from ..rows.assignments import Assignment, Hint
from ..types import Scope
from .atomic import AtomicCounter
from .base import Strategy
from .block import BlockAllocator
from .optimistic import OptimisticCounter
from .sort_key import SortKeyMaximum
from .transactional import TransactionalCounter

__all__ = [
    "Assignment",
    "AtomicCounter",
    "BlockAllocator",
    "Deadline",
    "Hint",
    "OptimisticCounter",
    "Pending",
    "PutRequest",
    "Scope",
    "SortKeyMaximum",
    "Strategy",
    "TransactionalCounter",
    "read",
]
