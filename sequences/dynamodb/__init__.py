"""The gate to DynamoDB: the only folder that imports boto3 and botocore, and only when it needs them (see `foreign`).

A call is one request. Nothing here retries: two layers of retries multiply, and a repeated addition skips a value. The
callers retry (see `retries` and `leader`).

    client --> making, silence, errors --> lean, or boto3's client --> signing, connections --> http1
"""

from .client import (
    ClientNotMade,
    account,
    call,
    caller,
    elapsed,
    is_silent,
    now,
    region,
    reset,
    shared_client,
    transport_lacks,
    try_client,
    wrap_sending,
)
from .configuration import DEFAULT_CLIENT, client_options, clients
from .errors import INVALID, is_about_keys, translate_errors
from .limits import at_most, count_apart, in_request
from .lives import Copies, TableLife, copies_in
from .tables import (
    PLAIN,
    Indexes,
    TableOptions,
    ask_again,
    create_table,
    delete_table,
    expire_items,
    forget_lives,
    keys_in,
    life_of,
    set_expiry,
    table_keys,
    table_name,
    table_shape,
)
from .values import (
    BLANK,
    Blank,
    filled,
    fingerprint,
    have_blanks,
    item_size,
    marshal,
    unmarshal,
    used_units,
    write_units,
)
