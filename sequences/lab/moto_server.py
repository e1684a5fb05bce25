"""moto in the engine's place: as a server of its own, which is this file as a program, and within a process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_call_at_a_time", "serve"]


@contextmanager
def one_call_at_a_time() -> Iterator[None]:
    """Make every call to moto atomic, as DynamoDB's are: moto alone gives duplicates to many threads."""
    from moto.dynamodb.responses import DynamoHandler

    lock, original = threading.Lock(), DynamoHandler.call_action

    def call_action(handler: DynamoHandler) -> object:
        with lock:
            return original(handler)

    DynamoHandler.call_action = call_action  # type: ignore[method-assign]
    try:
        yield
    finally:
        DynamoHandler.call_action = original  # type: ignore[method-assign]


def serve(host: str, port: str) -> None:
    """Answer on this address until the process ends."""
    from moto.server import main

    with one_call_at_a_time():
        main(["-H", host, "-p", port])


if __name__ == "__main__":
    serve(*sys.argv[1:])
