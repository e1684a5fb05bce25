"""For an application's own rows beside its numbers: requests, with the same retries and errors.

`read` repeats a read until it is answered. `write_once` repeats a conditional write until its outcome is known. Both
take the operation's name and a request from the functions here, and raise the errors of `exceptions`.

    schema = KeySchema(table=table_name("tickets"))
    item = read("get_item", read_item(schema.table, schema.key("ABC", 42))).get("Item")
    ticket = unmarshal(item) if item else None
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from .commit.retries import new_token, read, write_once
from .dynamodb import at_most, marshal, table_name, unmarshal
from .dynamodb.expressions import (
    FIRST_VERSION,
    MARKER_EXPIRY,
    KeySchema,
    put_if_absent,
    query_numbers,
    read_item,
    read_many,
    read_rest,
    transaction,
    update_version,
)
from .registry import strategies

__all__ = [
    "FIRST_VERSION",
    "MARKER_EXPIRY",
    "KeySchema",
    "at_most",
    "digest_of",
    "free_number",
    "marshal",
    "new_token",
    "personal_token",
    "put_if_absent",
    "query_numbers",
    "read",
    "read_item",
    "read_many",
    "read_rest",
    "table_name",
    "transaction",
    "unmarshal",
    "update_version",
    "write_once",
]


def digest_of(sequence: str, row: Mapping[str, Any]) -> str:
    """The digest that DIGEST stores with a row: the SHA-256, in hexadecimal, of its key and of all attributes but
    `void`, the token and the digest itself. The order of names makes no difference, and 1 is 1.0.
    """
    return strategies[sequence].layout.digest(marshal(row))


def free_number(sequence: str, *, scope: str | None = None) -> int:
    """The next number of a sequence, for an item of it that rides with an item of another sequence (`also`).

    Only `SortKeyMaximum` has such numbers. Put the item on the condition that its key is free; if it is not, ask again.
    Costs one read, 0.5 read units or 1 if it is consistent. Raises SequenceFrozen.
    """
    strategy = strategies[sequence]
    return strategy.scopes.free_value(strategy.naming.dated(scope, None, None)[0])


def personal_token(person: str, name: str | None) -> str | None:
    """The idempotency token for a request that a person has named; None without a name.

    It is a digest of both: the same name of another person is another token.
    """
    return None if name is None else hashlib.sha256(repr((person, name)).encode()).hexdigest()
