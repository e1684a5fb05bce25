"""Every strategy of the installed package, held to the contract as somebody else's project holds its own.

`make matrix` runs it, on the embedded engine.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from sequences.testing.contract import StrategyContract


class OnEngine(StrategyContract):
    @pytest.fixture
    def sequence_tables(self, sequence_tables_on_engine: None) -> None:
        """The tables, where requests go over the wire."""


class TestAtomicCounter(OnEngine):
    entry: ClassVar[Mapping[str, Any]] = {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"}


class TestBlockAllocator(OnEngine):
    entry: ClassVar[Mapping[str, Any]] = {"STRATEGY": "sequences.strategies.block.BlockAllocator"}


class TestOptimisticCounter(OnEngine):
    entry: ClassVar[Mapping[str, Any]] = {"STRATEGY": "sequences.strategies.optimistic.OptimisticCounter"}


class TestTransactionalCounter(OnEngine):
    entry: ClassVar[Mapping[str, Any]] = {"STRATEGY": "sequences.strategies.transactional.TransactionalCounter"}


class TestSortKeyMaximum(OnEngine):
    entry: ClassVar[Mapping[str, Any]] = {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum"}
