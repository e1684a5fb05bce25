"""Which tables the configured sequences need, their creation, and by what attribute they let go of markers."""

from __future__ import annotations

from typing import Literal

from . import dynamodb
from .exceptions import StorageRefused
from .expressions import MARKER_EXPIRY
from .registry import strategies
from .strategies.stored_counter import COUNTER_KEY_NAMES

__all__ = ["create_tables"]


def create_tables(*, move_expiry: bool = False) -> dict[str, bool]:
    """Create what is missing and return, by table name, whether it was. Safe to run again.

    Markers expire by an attribute that no item can have. A table that deletes items by another attribute is refused,
    or with `move_expiry` changed. Raises StorageRefused for it, NotConfigured, AccessRefused, NotWritten (the engine
    is not reachable) and InvalidSequence.
    """
    wanted: dict[str, tuple[tuple[str, str], Literal["N", "S"]]] = {}
    for alias in strategies:
        strategy = strategies[alias]
        schema = strategy.schema
        sort_type: Literal["N", "S"] = "S" if schema.padded_width else "N"
        wanted[schema.table] = ((schema.partition_name, schema.sort_name), sort_type)
        if strategy.counter and strategy.counter.table not in wanted:
            wanted[strategy.counter.table] = (COUNTER_KEY_NAMES, "S")
    created = {name: dynamodb.create_table(name, *shape) for name, shape in wanted.items()}
    if any(created.values()):
        strategies.forget()
    for name, (key_names, _) in wanted.items():
        if key_names != COUNTER_KEY_NAMES:
            _expire_markers(name, move=move_expiry)
    return created


def _expire_markers(table: str, *, move: bool) -> None:
    attribute = dynamodb.expire_items(table, MARKER_EXPIRY)
    if attribute == MARKER_EXPIRY:
        return
    if not move:
        raise StorageRefused(
            f"The table {table!r} deletes items by {attribute!r}, which an item of a sequence may carry: "
            "its number would be a gap. Run `manage.py create_tables --move-expiry`, which turns that off and expires "
            f"markers by {MARKER_EXPIRY!r}. Markers of before stay until they are deleted by hand."
        )
    dynamodb.keep_items(table, attribute)
    try:
        dynamodb.expire_items(table, MARKER_EXPIRY)
    except StorageRefused as error:
        raise StorageRefused(
            f"The table {table!r} deletes no items by {attribute!r} any more. DynamoDB takes up to an hour until the "
            f"attribute can be another one: run `manage.py create_tables` again then. ({error})"
        ) from error
