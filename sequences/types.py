"""The values that cross rooms: frozen, keyword-only, and free of DynamoDB's own types.

Here live the answer to a caller (`Allocation`), what a page shows (`Counter`), and a checked entry of the setting
`SEQUENCES` (`SequenceConfig`). How they are stored is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["Allocation", "Counter", "SequenceConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Allocation:
    """One value that a stored item carries, and what it took to get there.

    `attempts` counts the writes sent that held this item; `write_units` and `read_units` are this item's share of the
    capacity units that the engine reported for them (the shares of a group add up to the whole). `replayed` says that
    the item was stored by an earlier request with the same idempotency token, and that nothing was written now.
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
    """How far one scope of a sequence has come; `last_value` is None if no value was handed out yet."""

    sequence: str
    scope: str | None
    last_value: int | None
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceConfig:
    """One entry of the setting `SEQUENCES`, checked. `table` is without `TABLE_PREFIX`."""

    alias: str
    strategy: str
    table: str
    start: int
    step: int
    maximum: int
    options: Mapping[str, Any]
