"""The gate to DynamoDB: the only folder that imports boto3 and botocore, and only when it needs them (see `foreign`).

A call is one request. Nothing here retries: two layers of retries multiply, and a repeated addition skips a value. The
callers retry (see `retries` and `leader`). In the folder:

    client        the clients of this process, and one request
    configuration the setting SEQUENCES_CLIENTS
    connections   sockets that limit the total time of a request
    engine_clock  the engine's clock, as its answers tell it
    foreign       boto3 and what it brings, imported when it is needed
    http1         one request and its answer over an open connection
    lean          a client that leaves out botocore's model
    errors        what every foreign error means for a write, and what to do about it
    lives         telling a table from an earlier one of the same name, and where it has copies
    limits        how long a request may take, and how many a page may send
    making        how a client is made, by a thread of its own, and how its requests go
    silence       how long DynamoDB has answered nothing
    tables        creating tables, and looking up their lives
    values        items as attribute values, and back
"""

from .client import (
    ClientNotMade,
    account,
    call,
    caller,
    is_silent,
    now,
    region,
    reset,
    shared_client,
    transport_lacks,
    try_client,
)
from .configuration import DEFAULT_CLIENT, client_options, clients
from .errors import INVALID, is_about_keys, translate_errors
from .limits import Budget, at_most, count_apart, in_request
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
    keep_items,
    keys_in,
    life_of,
    table_keys,
    table_name,
    table_shape,
)
from .values import (
    BLANK,
    Blank,
    filled,
    fingerprint,
    has_blanks,
    item_size,
    marshal,
    unmarshal,
    used_units,
    write_units,
)
