"""For an application's own rows beside its numbers: requests, with the same retries and errors.

`read` repeats a read until it is answered. `write_once` repeats a conditional write until its outcome is known. Both
take the operation's name and a request from the functions here, and raise the errors of `exceptions`.

    schema = KeySchema(table=table_name("tickets"))
    item = read("get_item", read_item(schema.table, schema.key("ABC", 42))).get("Item")
    ticket = unmarshal(item) if item else None
"""

from .dynamodb import marshal, table_name, unmarshal
from .expressions import (
    FIRST_VERSION,
    KeySchema,
    put_if_absent,
    query_numbers,
    read_item,
    transaction,
    update_version,
)
from .retries import new_token, read, write_once

__all__ = [
    "FIRST_VERSION",
    "KeySchema",
    "marshal",
    "new_token",
    "put_if_absent",
    "query_numbers",
    "read",
    "read_item",
    "table_name",
    "transaction",
    "unmarshal",
    "update_version",
    "write_once",
]
