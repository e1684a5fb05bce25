"""What a web process asks before it serves: whether its sequences are sound on their tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from .commit.retries import Deadline
from .exceptions import InvalidSequence, SequenceError, SequenceUnsound
from .registry import configured, strategies
from .strategies import Strategy

__all__ = ["require_sound"]

PATIENCE_SECONDS = 2.0  # for all tables of a client


def require_sound() -> None:
    """Raise SequenceUnsound for the first sequence that must not be written on its tables, and name it.

    Where nobody knows that, nothing is raised: DynamoDB may be away, or a table missing. Nor is it for a process in
    another Region than HOME_REGION: it may read, and takes over when the home is moved.

    Cost: a request for each table, which the first write then need not send.
    """
    deadlines: dict[str, Deadline] = {}
    for strategy in _usable():
        client = strategy.config.client
        deadline = deadlines.setdefault(client, Deadline(seconds=PATIENCE_SECONDS, client=client))
        try:
            strategy.lives.bind(deadline.send)
        except SequenceUnsound as error:
            if not strategy.lives.needs.is_elsewhere:
                raise type(error)(f"The sequence {strategy.alias!r}: {error}") from error
        except SequenceError:
            pass  # a write, a check or the doctor says so


def _usable() -> Iterator[Strategy]:
    with suppress(InvalidSequence):
        for alias in configured():
            with suppress(InvalidSequence):
                yield strategies[alias]
