"""The tables that the configured sequences need: how they are created, and how their markers expire."""

from __future__ import annotations

from typing import Literal

from . import dynamodb
from .exceptions import StorageRefused
from .expressions import MARKER_EXPIRY
from .registry import strategies
from .strategies.stored_counter import COUNTER_KEY_NAMES

__all__ = ["create_tables"]


def create_tables(*, move_expiry: bool = False) -> dict[str, bool]:
    """Create the tables that are missing, and return whether each was created, by its name. Safe to run again.

    Markers expire by an attribute that items cannot have. A table that deletes items by another attribute is refused;
    with `move_expiry` that is turned off first. Raises StorageRefused for such a table, NotConfigured, AccessRefused,
    InvalidSequence, and NotWritten when the engine is not reachable.
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
            f"The table {table!r} deletes items by {attribute!r}, which items of a sequence may have: a deleted item "
            "leaves a gap. Run `manage.py create_tables --move-expiry`: it turns that off and expires markers by "
            f"{MARKER_EXPIRY!r}. Older markers stay until you delete them."
        )
    dynamodb.keep_items(table, attribute)
    try:
        dynamodb.expire_items(table, MARKER_EXPIRY)
    except StorageRefused as error:
        raise StorageRefused(
            f"The table {table!r} deletes no items by {attribute!r} any more. DynamoDB takes up to an hour before it "
            f"accepts another attribute: then run `manage.py create_tables` again. ({error})"
        ) from error
