"""What a web process asks before it serves: whether its sequences are sound on their tables, and which these are."""

from collections.abc import Iterator

from . import dynamodb
from .commit.retries import Deadline
from .dynamodb.expressions import KeySchema
from .exceptions import SequenceError, SequenceUnsound, TableMissing
from .ops.tables import schemas_of, usable
from .strategies import Strategy

__all__ = ["load", "require_sound", "table_identities"]

PATIENCE_SECONDS = 2.0  # for one sequence; after one that takes longer, no other of its client is asked


def load() -> None:
    """Import boto3 now, which takes longer than all the rest. Processes that fork afterwards share its memory."""
    dynamodb.foreign.boto3  # noqa: B018


def require_sound() -> None:
    """Raise SequenceUnsound for the first sequence that must not be written on its tables, and name it.

    Where nobody knows that, nothing is raised: DynamoDB may be away, or a table missing. Nor is it for a process in
    another Region than HOME_REGION: it may read, and takes over when the home is moved.

    Cost: a request for each table, which the first write then need not send.
    """
    for strategy, deadline in _usable():
        try:
            strategy.lives.bind(deadline.send)
        except SequenceUnsound as error:
            if not strategy.config.is_elsewhere:
                raise type(error)(f"The sequence {strategy.alias!r}: {error}") from error
        except SequenceError:
            pass  # a write, a check or the doctor says so


def table_identities() -> dict[str, str]:
    """What tells each table of the sequences from every other one, by its name without TABLE_PREFIX: ARN and `TableId`.

    It is empty for a table that is missing. A table that cannot be described is left out, as is a global one, whose
    copies have ARNs of their own. Cost: a request for each table that this process has not asked about.
    """
    asked = ((schema, deadline) for strategy, deadline in _usable() for schema in schemas_of(strategy))
    found = {schema.table: _identity(schema, deadline) for schema, deadline in asked}
    prefix = dynamodb.table_name("")
    return {table.removeprefix(prefix): told for table, told in found.items() if told is not None}


def _identity(schema: KeySchema, deadline: Deadline) -> str | None:
    """What tells a table from others; empty if it is missing, None if nobody knows."""
    try:
        life = dynamodb.life_of(schema.table, send=deadline.send, alias=schema.client)
    except TableMissing:
        return ""
    except SequenceError:
        return None
    return life.identity if life.table_id else None


def _usable() -> Iterator[tuple[Strategy, Deadline]]:
    """Each sequence whose settings are right, with its deadline, which has passed where the client's engine hangs."""
    deadlines: dict[str, Deadline] = {}
    for strategy in usable():
        client = strategy.config.client
        if client not in deadlines or not deadlines[client].over:
            deadlines[client] = Deadline(seconds=PATIENCE_SECONDS, client=client)
        yield strategy, deadlines[client]
