"""The values that pass between modules: frozen, keyword-only, without DynamoDB's own types.

`Allocation` is the answer to a caller, `Counter` is what a page shows, and `SequenceConfig` is a checked entry of the
setting `SEQUENCES`. This module does not know how they are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["Allocation", "Counter", "SequenceConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Allocation:
    """The value of one stored item, and what storing it cost.

    `attempts` counts the writes that were sent with this item. `write_units` and `read_units` are this item's share of
    the capacity units that the engine reported; the shares of a group add up to the whole. They leave out lost answers,
    lost races, and the repair of a counter. `replayed` is true when an earlier request with the same idempotency token
    stored the item, and nothing was written now.
    """

    sequence: str
    scope: str | None
    value: int
    attempts: int
    replayed: bool
    write_units: float
    read_units: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """How far one scope of a sequence has counted; `last_value` is None if no value was handed out yet."""

    sequence: str
    scope: str | None
    last_value: int | None
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceConfig:
    """One checked entry of the setting `SEQUENCES`. `table` has no `TABLE_PREFIX`."""

    alias: str
    strategy: str
    table: str
    start: int
    step: int
    maximum: int
    client: str
    options: Mapping[str, Any]
