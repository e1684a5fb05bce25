"""The requests, made by pure functions from plain values, with readable #names and :values.

Nothing here sends anything. `KeySchema` turns numbers into sort keys. The functions write the conditions that keep
values exact.
"""

from .counters import (
    BORN,
    CHANGED,
    CLOSING,
    GAPLESS_AFTER,
    GAPLESS_UNTIL,
    GIVEN_BACK,
    LAST_DOCUMENT,
    OWN_KEYS,
    OWN_KEYS_AFTER,
    SINCE,
    VERSION,
    CounterRow,
    Tally,
    add_to_counter,
    advance_counter,
    delete_counter,
    give_place_back,
    put_counter,
    take_place,
    unless_gapless,
    while_open,
    with_dates,
    with_fewer_own_keys,
    with_lines,
    with_own_keys,
    with_tally,
)
from .items import (
    FIRST_VERSION,
    MARKER_EXPIRY,
    OLD_ITEM,
    change_row,
    marker_number,
    put_if_absent,
    put_marker,
    single_write,
    transaction,
    update_version,
)
from .key_schema import KeySchema, KeyType, shown
from .reads import (
    Wire,
    beginning,
    query_numbers,
    read_item,
    read_keys,
    read_many,
    read_rest,
    read_tables,
    scan_partitions,
    whole_items,
)
