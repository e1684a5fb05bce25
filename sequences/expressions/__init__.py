"""The requests, made by pure functions from plain values, with readable #names and :values.

Nothing here sends anything. `KeySchema` turns numbers into sort keys. The functions write the conditions that keep
values exact.
"""

from .counters import (
    BORN,
    CHANGED,
    GIVEN_BACK,
    SINCE,
    CounterRow,
    Tally,
    add_to_counter,
    advance_counter,
    delete_counter,
    put_counter,
    with_tally,
)
from .items import (
    FIRST_VERSION,
    MARKER_EXPIRY,
    OLD_ITEM,
    Wire,
    beginning,
    change_row,
    marker_number,
    put_if_absent,
    put_marker,
    query_numbers,
    read_item,
    read_keys,
    read_many,
    read_rest,
    single_write,
    transaction,
    update_version,
)
from .key_schema import KeySchema, KeyType
from .lines import give_place_back, take_place

__all__ = [
    "BORN",
    "CHANGED",
    "FIRST_VERSION",
    "GIVEN_BACK",
    "MARKER_EXPIRY",
    "OLD_ITEM",
    "SINCE",
    "CounterRow",
    "KeySchema",
    "KeyType",
    "Tally",
    "Wire",
    "add_to_counter",
    "advance_counter",
    "beginning",
    "change_row",
    "delete_counter",
    "give_place_back",
    "marker_number",
    "put_counter",
    "put_if_absent",
    "put_marker",
    "query_numbers",
    "read_item",
    "read_keys",
    "read_many",
    "read_rest",
    "single_write",
    "take_place",
    "transaction",
    "update_version",
    "with_tally",
]
