"""Which tables the configured sequences need, and their creation."""

from __future__ import annotations

from typing import Literal

from . import dynamodb
from .registry import strategies
from .strategies.counters import COUNTER_KEY_NAMES, CounterStrategy

__all__ = ["create_tables"]


def create_tables() -> dict[str, bool]:
    """Create what is missing and return, by table name, whether it was. Safe to run again.

    Raises NotConfigured, AccessRefused, NotWritten (the engine is not reachable) and InvalidSequence.
    """
    wanted: dict[str, tuple[tuple[str, str], Literal["N", "S"]]] = {}
    for alias in strategies:
        strategy = strategies[alias]
        layout = strategy.layout
        sort_type: Literal["N", "S"] = "S" if layout.padded_width else "N"
        wanted[layout.table] = ((layout.partition_name, layout.sort_name), sort_type)
        if isinstance(strategy, CounterStrategy) and strategy.counter_table not in wanted:
            wanted[strategy.counter_table] = (COUNTER_KEY_NAMES, "S")
    created = {}
    for name, (key_names, sort_type) in wanted.items():
        created[name] = dynamodb.create_table(name, key_names, sort_type)
        if key_names != COUNTER_KEY_NAMES:
            dynamodb.expire_items(name, "expires_at")
    return created
