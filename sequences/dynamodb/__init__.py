"""The gate to DynamoDB: the only folder that imports boto3 and botocore.

A call is one request: nothing here retries, because layers of retries multiply and a replayed addition skips a value
(`retries` is the one layer that does). In the folder:

    client        the client of this process, one request, the engine's clock
    connections   sockets on which one request has so many seconds in all
    errors        what every foreign error means for a write
    tables        making tables, and telling one life of a table from the next
    values        from Python values to attribute values and back
"""

from .client import account, call, now, plain_client, reset, shared_client
from .errors import ERROR_FATES, Fate, translate_errors
from .tables import create_table, delete_table, expire_items, forget_lives, keep_items, life_of, table_name
from .values import fingerprint, item_size, marshal, unmarshal, used_units

__all__ = [
    "ERROR_FATES",
    "Fate",
    "account",
    "call",
    "create_table",
    "delete_table",
    "expire_items",
    "fingerprint",
    "forget_lives",
    "item_size",
    "keep_items",
    "life_of",
    "marshal",
    "now",
    "plain_client",
    "reset",
    "shared_client",
    "table_name",
    "translate_errors",
    "unmarshal",
    "used_units",
]
